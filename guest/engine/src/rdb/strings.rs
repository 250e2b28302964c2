//! Lengths, strings and doubles of RDB (`rdbLoadLen`, `rdbGenericLoadStringObject`, `rdbLoadDoubleValue` in Redis' `src/rdb.c`).

use super::{Budget, Refusal, TRUNCATED, integers, lzf};
use crate::codec::{Flaw, Reader};
use crate::number::{format_i64, parse_double};
use bytes::Bytes;

/// A length, or that a string in a special encoding follows.
enum Length {
    Plain(u64),
    Special(u8),
}

fn length_or_special(reader: &mut Reader) -> Result<Length, Flaw> {
    let first = reader.u8(TRUNCATED)?;
    let low = first & 0x3f;
    Ok(match first >> 6 {
        0 => Length::Plain(u64::from(low)),
        1 => Length::Plain(u64::from(low) << 8 | u64::from(reader.u8(TRUNCATED)?)),
        2 if low == 0 => Length::Plain(u64::from(reader.u32(TRUNCATED)?)),
        2 if low == 1 => Length::Plain(reader.u64(TRUNCATED)?),
        2 => return Err(reader.flaw("a length")),
        _ => Length::Special(low),
    })
}

/// How many elements, nodes or bytes follow.
pub fn length(reader: &mut Reader) -> Result<u64, Flaw> {
    match length_or_special(reader)? {
        Length::Plain(length) => Ok(length),
        Length::Special(_) => Err(reader.flaw("a length, not a string")),
    }
}

/// A string: plain, an integer, or compressed.
pub fn string(reader: &mut Reader, budget: &mut Budget) -> Result<Bytes, Refusal> {
    match length_or_special(reader)? {
        Length::Plain(length) => Ok(reader.slice(to_size(reader, length)?, TRUNCATED)?),
        Length::Special(0) => Ok(format_i64(integers::signed::<1>(reader)?)),
        Length::Special(1) => Ok(format_i64(integers::signed::<2>(reader)?)),
        Length::Special(2) => Ok(format_i64(integers::signed::<4>(reader)?)),
        Length::Special(3) => compressed(reader, budget),
        Length::Special(_) => Err(reader.flaw("a known encoding of a string").into()),
    }
}

/// Both lengths, then the compressed bytes.
fn compressed(reader: &mut Reader, budget: &mut Budget) -> Result<Bytes, Refusal> {
    let packed_length = length(reader)?;
    let length = length(reader)?;
    let (packed_length, length) = (to_size(reader, packed_length)?, to_size(reader, length)?);
    let packed = reader.slice(packed_length, TRUNCATED)?;
    budget.charge(length)?;
    let unpacked = lzf::decompress(&packed, length).ok_or(reader.flaw("LZF of that length"))?;
    Ok(unpacked.into())
}

fn to_size(reader: &Reader, length: u64) -> Result<usize, Flaw> {
    usize::try_from(length).map_err(|_| reader.flaw(TRUNCATED))
}

/// A score as a text, with its length in one byte; three lengths stand for what has no digits.
pub fn text_score(reader: &mut Reader) -> Result<f64, Flaw> {
    match reader.u8(TRUNCATED)? {
        255 => Ok(f64::NEG_INFINITY),
        254 => Ok(f64::INFINITY),
        253 => Ok(f64::NAN),
        length => {
            let text = reader.slice(usize::from(length), TRUNCATED)?;
            parse_double(&text).ok_or(reader.flaw("a number"))
        }
    }
}

/// A score as a little-endian double.
pub fn binary_score(reader: &mut Reader) -> Result<f64, Flaw> {
    reader.take(TRUNCATED).map(f64::from_le_bytes)
}

/// A Unix time in milliseconds.
pub fn time_ms(reader: &mut Reader) -> Result<u64, Flaw> {
    reader.take(TRUNCATED).map(u64::from_le_bytes)
}
