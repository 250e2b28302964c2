//! Reading arguments: numbers and options with Redis' error texts.

use crate::error::{Error, Result, texts};
use crate::number::parse_i64;
use crate::types::draw::Draw;
use bytes::Bytes;

/// A 64-bit integer.
///
/// # Errors
/// `ERR value is not an integer or out of range`.
pub fn integer(argument: &[u8]) -> Result<i64> {
    parse_i64(argument).ok_or(texts::NOT_AN_INTEGER)
}

/// How many elements to draw at random: a negative count allows the same one more than once.
///
/// # Errors
/// `ERR value is not an integer or out of range`; Redis' error for the one count that has no positive counterpart.
pub fn draw(argument: &[u8]) -> Result<Draw> {
    let number = integer(argument)?;
    if number == i64::MIN {
        let text = format!("ERR value is out of range, value must between {} and {}", -i64::MAX, i64::MAX);
        return Err(Error::Client(text.into()));
    }
    let count = number.unsigned_abs();
    Ok(if number < 0 { Draw::Repeated(count) } else { Draw::Distinct(count) })
}

/// How many elements to draw, and whether `options` is the word that asks for what belongs to each of them too.
///
/// # Errors
/// As [`draw`]; Redis' syntax error; `ERR value is out of range` where a reply of twice as many elements could not be.
pub fn draw_with(argument: &[u8], options: &[Bytes], word: &str) -> Result<(Draw, bool)> {
    let draw = draw(argument)?;
    let is_asked = match options {
        [] => false,
        [option] if is_word(option, word) => true,
        _ => return Err(texts::SYNTAX),
    };
    let (Draw::Distinct(count) | Draw::Repeated(count)) = draw;
    if is_asked && count > i64::MAX.unsigned_abs() / 2 {
        return Err(texts::OUT_OF_RANGE);
    }
    Ok((draw, is_asked))
}

/// The db number of an argument.
///
/// # Errors
/// Redis' errors for what is no 32-bit integer, and for what is no db.
pub fn db_number(argument: &[u8], databases: usize) -> Result<usize> {
    let number = i32::try_from(integer(argument)?)
        .map_err(|_| Error::client("ERR value is out of range, value must between -2147483648 and 2147483647"))?;
    known_db(number, databases)
}

/// The number of a db that there is.
///
/// # Errors
/// `ERR DB index is out of range`.
pub fn known_db(number: i32, databases: usize) -> Result<usize> {
    usize::try_from(number).ok().filter(|&number| number < databases).ok_or(texts::DB_OUT_OF_RANGE)
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
