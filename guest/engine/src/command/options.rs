//! Reading arguments: numbers and options with Redis' error texts.

use crate::error::{Result, texts};
use crate::number::parse_i64;
use bytes::Bytes;

/// A 64-bit integer.
///
/// # Errors
/// `ERR value is not an integer or out of range`.
pub fn integer(argument: &[u8]) -> Result<i64> {
    parse_i64(argument).ok_or(texts::NOT_AN_INTEGER)
}

/// Whether an argument is this option word, in any case.
#[must_use]
pub fn is_word(argument: &Bytes, word: &str) -> bool {
    argument.eq_ignore_ascii_case(word.as_bytes())
}

/// A length as replies have it.
#[must_use]
pub fn length(length: impl TryInto<i64>) -> i64 {
    length.try_into().unwrap_or(i64::MAX)
}
