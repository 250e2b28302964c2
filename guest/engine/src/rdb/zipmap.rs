//! Zipmaps: small hashes of Redis before 2.6 (`src/zipmap.c`).
//!
//! ```text
//! fields (u8, 254: not counted) | { length | name | length | unused bytes (u8) | value | unused bytes } ... | 0xff
//! ```

use super::{Budget, Refusal, TRUNCATED, integers};
use crate::codec::{Flaw, Reader};
use bytes::Bytes;

/// Ends a zipmap.
const END: u8 = 0xff;
/// A length of 254 and more follows, in four bytes; as a number of fields: they are not counted.
const LONG: u8 = 0xfe;

/// Names and values, one after the other.
pub fn elements(blob: &Bytes, budget: &mut Budget) -> Result<Vec<Bytes>, Refusal> {
    let mut reader = Reader::new(blob);
    let count = reader.u8(TRUNCATED)?;
    let mut elements = Vec::new();
    while let Some(length) = length(&mut reader)? {
        let name = reader.slice(length, TRUNCATED)?;
        budget.keep(&mut elements, name)?;
        let length = self::length(&mut reader)?.ok_or(reader.flaw("the value of a field"))?;
        let unused = reader.u8(TRUNCATED)?;
        let value = reader.slice(length, TRUNCATED)?;
        budget.keep(&mut elements, value)?;
        reader.slice(usize::from(unused), TRUNCATED)?;
    }
    if count < LONG && usize::from(count) != elements.len() / 2 {
        return Err(reader.flaw("the number of fields").into());
    }
    reader.end()?;
    Ok(elements)
}

/// The length of a name or value; `None` at the end.
fn length(reader: &mut Reader) -> Result<Option<usize>, Flaw> {
    Ok(match reader.u8(TRUNCATED)? {
        END => None,
        LONG => Some(integers::size(reader)?),
        short => Some(usize::from(short)),
    })
}
