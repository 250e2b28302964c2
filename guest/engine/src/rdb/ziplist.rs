//! Ziplists: what listpacks were before Redis 7.0 (`src/ziplist.c`).
//!
//! ```text
//! bytes (u32) | offset of the last entry (u32) | entries (u16, 65535: not counted) | { length of the entry before | entry } ... | 0xff
//! ```

use super::{Budget, Refusal, TRUNCATED, integers};
use crate::codec::{Flaw, Reader};
use crate::number::format_i64;
use bytes::Bytes;

/// Ends a ziplist.
const END: u8 = 0xff;
/// A length of 254 and more follows, in four bytes.
const LONG: u8 = 0xfe;

/// The entries of a ziplist.
pub fn elements(blob: &Bytes, budget: &mut Budget) -> Result<Vec<Bytes>, Refusal> {
    let mut reader = Reader::new(blob);
    if integers::size(&mut reader)? != blob.len() {
        return Err(reader.flaw("the length of the ziplist").into());
    }
    let tail = integers::size(&mut reader)?;
    let count = u16::from_le_bytes(reader.take(TRUNCATED)?);
    let mut elements = Vec::new();
    let (mut last, mut length) = (reader.offset(), 0);
    loop {
        let start = reader.offset();
        let length_before = match reader.u8(TRUNCATED)? {
            END => break,
            LONG => integers::size(&mut reader)?,
            short => usize::from(short),
        };
        if length_before != length {
            return Err(reader.flaw("the length of the entry before").into());
        }
        let entry = entry(&mut reader)?;
        budget.keep(&mut elements, entry)?;
        (last, length) = (start, reader.offset() - start);
    }
    if tail != last || count != u16::MAX && usize::from(count) != elements.len() {
        return Err(reader.flaw("the number of entries, and where the last one is").into());
    }
    reader.end()?;
    Ok(elements)
}

/// An entry behind the length of the one before it.
fn entry(reader: &mut Reader) -> Result<Bytes, Flaw> {
    let first = reader.u8(TRUNCATED)?;
    let number = match first {
        0x00..=0x3f => return reader.slice(usize::from(first), TRUNCATED),
        0x40..=0x7f => {
            let length = usize::from(first & 0x3f) << 8 | usize::from(reader.u8(TRUNCATED)?);
            return reader.slice(length, TRUNCATED);
        }
        // The one number in here that is big-endian.
        0x80..=0xbf => return reader.bytes(TRUNCATED),
        0xc0 => integers::signed::<2>(reader)?,
        0xd0 => integers::signed::<4>(reader)?,
        0xe0 => integers::signed::<8>(reader)?,
        0xf0 => integers::signed::<3>(reader)?,
        0xfe => integers::signed::<1>(reader)?,
        0xf1..=0xfd => i64::from(first & 0x0f) - 1,
        _ => return Err(reader.flaw("an entry of a ziplist")),
    };
    Ok(format_i64(number))
}
