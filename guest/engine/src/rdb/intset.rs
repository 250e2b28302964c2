//! Intsets: small sets of integers, sorted, all of one width (`src/intset.c`).
//!
//! ```text
//! bytes of an integer (u32: 2, 4 or 8) | integers (u32) | integer ...
//! ```

use super::{Budget, Refusal, integers};
use crate::codec::Reader;
use crate::number::format_i64;
use bytes::Bytes;

/// The members of an intset.
pub fn elements(blob: &Bytes, budget: &mut Budget) -> Result<Vec<Bytes>, Refusal> {
    let mut reader = Reader::new(blob);
    let (width, count) = (integers::size(&mut reader)?, integers::size(&mut reader)?);
    let mut elements = Vec::new();
    let mut before = None;
    for _ in 0..count {
        let number = match width {
            2 => integers::signed::<2>(&mut reader)?,
            4 => integers::signed::<4>(&mut reader)?,
            8 => integers::signed::<8>(&mut reader)?,
            _ => return Err(reader.flaw("integers of 2, 4 or 8 bytes").into()),
        };
        if before.is_some_and(|before| before >= number) {
            return Err(reader.flaw("integers in their order").into());
        }
        before = Some(number);
        budget.keep(&mut elements, format_i64(number))?;
    }
    reader.end()?;
    Ok(elements)
}
