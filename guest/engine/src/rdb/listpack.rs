//! Listpacks: small collections in one string, since Redis 7.0 (<https://github.com/antirez/listpack/blob/master/listpack.md>).
//!
//! ```text
//! bytes (u32) | elements (u16, 65535: not counted) | { element | its length, backwards } ... | 0xff
//! ```

use super::{Budget, Refusal, TRUNCATED, integers};
use crate::codec::{Flaw, Reader};
use crate::number::format_i64;
use bytes::Bytes;

/// The elements of a listpack.
pub fn elements(blob: &Bytes, budget: &mut Budget) -> Result<Vec<Bytes>, Refusal> {
    let mut reader = Reader::new(blob);
    if integers::size(&mut reader)? != blob.len() {
        return Err(reader.flaw("the length of the listpack").into());
    }
    let count = u16::from_le_bytes(reader.take(TRUNCATED)?);
    let mut elements = Vec::new();
    loop {
        let start = reader.offset();
        let Some(element) = element(&mut reader)? else { break };
        let length = reader.offset() - start;
        back_length(&mut reader, length)?;
        budget.keep(&mut elements, element)?;
    }
    if count != u16::MAX && usize::from(count) != elements.len() {
        return Err(reader.flaw("the number of elements").into());
    }
    reader.end()?;
    Ok(elements)
}

/// The next element; `None` at the end.
fn element(reader: &mut Reader) -> Result<Option<Bytes>, Flaw> {
    let first = reader.u8(TRUNCATED)?;
    let number = match first {
        0x00..=0x7f => i64::from(first),
        0xc0..=0xdf => {
            let number = i64::from(first & 0x1f) << 8 | i64::from(reader.u8(TRUNCATED)?);
            // 13 bits with a sign.
            if number < 1 << 12 { number } else { number - (1 << 13) }
        }
        0xf1 => integers::signed::<2>(reader)?,
        0xf2 => integers::signed::<3>(reader)?,
        0xf3 => integers::signed::<4>(reader)?,
        0xf4 => integers::signed::<8>(reader)?,
        0x80..=0xbf => return reader.slice(usize::from(first & 0x3f), TRUNCATED).map(Some),
        0xe0..=0xef => {
            let length = usize::from(first & 0x0f) << 8 | usize::from(reader.u8(TRUNCATED)?);
            return reader.slice(length, TRUNCATED).map(Some);
        }
        0xf0 => {
            let length = integers::size(reader)?;
            return reader.slice(length, TRUNCATED).map(Some);
        }
        0xff => return Ok(None),
        0xf5..=0xfe => return Err(reader.flaw("an element of a listpack")),
    };
    Ok(Some(format_i64(number)))
}

/// The length of an element behind it: seven bits a byte, the highest first, all bytes but the first one marked.
fn back_length(reader: &mut Reader, length: usize) -> Result<(), Flaw> {
    // The limits are Redis', which gives a byte more to some lengths that would not need it (`lpEncodeBacklen`).
    let bytes: u32 = match length {
        0..=127 => 1,
        128..16_383 => 2,
        16_383..2_097_151 => 3,
        2_097_151..268_435_455 => 4,
        _ => 5,
    };
    for position in (0..bytes).rev() {
        let mark = if position + 1 == bytes { 0 } else { 0x80 };
        let expected = length.checked_shr(7 * position).unwrap_or(0) & 0x7f | mark;
        if usize::from(reader.u8(TRUNCATED)?) != expected {
            return Err(reader.flaw("the length of the element before"));
        }
    }
    Ok(())
}
