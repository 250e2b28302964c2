//! The contract's records as the engine's types, and back.

use crate::bindings::exports::orbweaver::kv::store as wit;
use bytes::Bytes;
use orbweaver_engine::store::{Direction, KeyRange, Limits, Page, Scope, StoreError, Values};

pub fn error(error: StoreError) -> wit::Error {
    match error {
        StoreError::Conflict => wit::Error::Conflict,
        StoreError::Expired => wit::Error::Expired,
        StoreError::TooLarge { what, limit } => wit::Error::TooLarge(wit::Excess { what, limit }),
        StoreError::UnknownOutcome(text) => wit::Error::UnknownOutcome(text),
        StoreError::ReadOnly => wit::Error::ReadOnly,
        StoreError::UnsupportedOrder(text) => wit::Error::UnsupportedOrder(text),
        StoreError::Corrupt(text) => wit::Error::Corrupt(text),
        StoreError::Io(text) => wit::Error::Io(text),
    }
}

pub fn limits(limits: Limits) -> wit::Limits {
    let Limits { max_key_bytes, max_value_bytes, max_batch_ops, max_batch_bytes, read_only } = limits;
    wit::Limits { max_key_bytes, max_value_bytes, max_batch_ops, max_batch_bytes, read_only }
}

/// The byte strings of `pieces`, as slices of its buffer.
pub fn strings(pieces: wit::Pieces) -> Result<Vec<Bytes>, StoreError> {
    let bytes = Bytes::from(pieces.bytes);
    let mut start = 0;
    let cut = |end: u32| {
        let end = usize::try_from(end).ok().filter(|end| (start..=bytes.len()).contains(end));
        let end = end.ok_or_else(|| StoreError::Io("the ends of a list of byte strings contradict its bytes".into()))?;
        let piece = bytes.slice(start..end);
        start = end;
        Ok(piece)
    };
    pieces.ends.into_iter().map(cut).collect()
}

pub fn scope(scope: wit::Scope) -> Result<Scope, StoreError> {
    Ok(match scope {
        wit::Scope::Read => Scope::Read,
        wit::Scope::Keys(keys) => Scope::Keys(strings(keys)?),
        wit::Scope::Exclusive => Scope::Exclusive,
    })
}

pub fn range(range: wit::KeyRange) -> KeyRange {
    KeyRange { start: range.start, after_start: range.after_start, end: range.end }
}

pub fn direction(direction: wit::Direction) -> Direction {
    match direction {
        wit::Direction::Forward => Direction::Forward,
        wit::Direction::Reverse => Direction::Reverse,
    }
}

pub fn page(page: Page) -> wit::Page {
    wit::Page { records: wit::Pieces { bytes: page.bytes.into(), ends: page.ends }, more: page.more }
}

/// The answer of `get-many`.
pub fn found(values: Values) -> wit::Found {
    let Values { bytes, ends, absent } = values;
    wit::Found { values: wit::Pieces { bytes, ends }, absent }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn pieces(bytes: &[u8], ends: &[u32]) -> wit::Pieces {
        wit::Pieces { bytes: bytes.to_vec(), ends: ends.to_vec() }
    }

    #[test]
    fn pieces_are_cut_at_their_ends() {
        assert_eq!(strings(pieces(b"abcd", &[1, 1, 4])).unwrap(), [&b"a"[..], b"", b"bcd"]);
        assert!(strings(pieces(b"", &[])).unwrap().is_empty());
    }

    #[test]
    fn ends_that_go_back_or_beyond_are_refused() {
        assert!(strings(pieces(b"abcd", &[3, 2])).is_err());
        assert!(strings(pieces(b"abcd", &[5])).is_err());
    }
}
