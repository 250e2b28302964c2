//! The ends of ranges: `5`, `(5`, `-inf` for scores; `-`, `+`, `[a`, `(a` for members.

use crate::error::{Error, Result};
use crate::number::parse_double;
use crate::types::sorted_sets::ranges::{MemberBound, Range};
use bytes::Bytes;
use std::ops::Bound;

const NOT_A_SCORE: Error = Error::client("ERR min or max is not a float");
const NOT_A_MEMBER: Error = Error::client("ERR min or max not valid string range item");

/// A range of scores.
///
/// # Errors
/// `ERR min or max is not a float`.
pub(super) fn scores(min: &[u8], max: &[u8]) -> Result<Range> {
    Ok(Range::Scores(score(min)?, score(max)?))
}

/// A range of members.
///
/// # Errors
/// `ERR min or max not valid string range item`.
pub(super) fn members(min: &Bytes, max: &Bytes) -> Result<Range> {
    Ok(Range::Members(member(min)?, member(max)?))
}

fn score(argument: &[u8]) -> Result<Bound<f64>> {
    match argument {
        [b'(', score @ ..] => number(score).map(Bound::Excluded),
        score => number(score).map(Bound::Included),
    }
}

/// A number as C's `strtod` reads it off a C string, which is more than a score may be: spaces before it, nothing at all, anything
/// behind a NUL, and numbers out of range, which are infinite or 0.
fn number(text: &[u8]) -> Result<f64> {
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    if text.is_empty() {
        return Ok(0.0);
    }
    let digits = text.trim_ascii_start();
    let out_of_range = || std::str::from_utf8(digits).ok()?.parse().ok().filter(|number: &f64| !number.is_nan());
    parse_double(digits).or_else(out_of_range).ok_or(NOT_A_SCORE)
}

fn member(argument: &Bytes) -> Result<MemberBound> {
    match argument.as_ref() {
        // The rest of a C string begins behind its NUL.
        b"-" | [b'-', 0, ..] => Ok(MemberBound::Lowest),
        b"+" | [b'+', 0, ..] => Ok(MemberBound::Highest),
        [b'[', ..] => Ok(MemberBound::Included(argument.slice(1..))),
        [b'(', ..] => Ok(MemberBound::Excluded(argument.slice(1..))),
        _ => Err(NOT_A_MEMBER),
    }
}
