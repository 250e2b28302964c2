//! Write batches: how changes cross the boundary, flat.
//!
//! ```text
//! op     = kind (1) | keyspace (u32) | first length (u32) | second length (u32) | first | second
//! kind 1 = put           first = key    second = value
//! kind 2 = delete        first = key    second = empty
//! kind 3 = delete range  first = start  second = end (exclusive; empty = to the end of the keyspace)
//! ```
//! Integers are little-endian. Operations apply in their order; the engine puts range deletes first and names no key twice.

use super::{KeyRange, Keyspace, Limits, StoreError};

const PUT: u8 = 1;
const DELETE: u8 = 2;
const DELETE_RANGE: u8 = 3;
const HEADER_BYTES: usize = 13;
/// Where in the header both lengths are.
const LENGTHS_AT: usize = 5;

/// One change of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchOp<'a> {
    /// Stores `value` under `key`, replacing what is there.
    Put {
        /// Where.
        keyspace: Keyspace,
        /// Empty only where a foreign layout has the empty key.
        key: &'a [u8],
        /// May be empty.
        value: &'a [u8],
    },
    /// Removes `key`; no error where there is none.
    Delete {
        /// Where.
        keyspace: Keyspace,
        /// As that of a put.
        key: &'a [u8],
    },
    /// Removes every key from `start` up to but not including `end`.
    DeleteRange {
        /// Where.
        keyspace: Keyspace,
        /// Empty = from the first key.
        start: &'a [u8],
        /// Empty = to the last key.
        end: &'a [u8],
    },
}

impl BatchOp<'_> {
    /// Where the change applies.
    #[must_use]
    pub const fn keyspace(&self) -> Keyspace {
        match *self {
            Self::Put { keyspace, .. } | Self::Delete { keyspace, .. } | Self::DeleteRange { keyspace, .. } => keyspace,
        }
    }
}

/// Changes that a store applies all or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    bytes: Vec<u8>,
    ops: u64,
}

impl Batch {
    /// A batch without changes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes room for `ops` more changes whose keys and values have `bytes` bytes together.
    pub fn reserve(&mut self, ops: usize, bytes: usize) {
        self.bytes.reserve(ops.saturating_mul(HEADER_BYTES).saturating_add(bytes));
    }

    /// For how many bytes there is room.
    #[must_use]
    pub fn room(&self) -> usize {
        self.bytes.capacity()
    }

    /// Forgets all changes, and keeps the room.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ops = 0;
    }

    /// A batch from its flat form.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] where the bytes are not whole operations.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, StoreError> {
        let mut batch = Self { bytes, ops: 0 };
        let mut ops = 0;
        for op in batch.ops() {
            op?;
            ops += 1;
        }
        batch.ops = ops;
        Ok(batch)
    }

    /// The flat form.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many changes it holds.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.ops
    }

    /// Whether it changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ops == 0
    }

    /// Adds a put.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] above 4 GiB.
    pub fn put(&mut self, keyspace: Keyspace, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        self.push(PUT, keyspace, key, value)
    }

    /// Adds a put of what `value` appends under a key of these pieces, and returns the key.
    ///
    /// # Errors
    /// As [`Batch::put`].
    pub fn put_with<const N: usize>(
        &mut self,
        keyspace: Keyspace,
        key: [&[u8]; N],
        value: impl FnOnce(&mut Vec<u8>),
    ) -> Result<&[u8], StoreError> {
        self.push_with(PUT, keyspace, key, value)
    }

    /// Adds a delete of a key of these pieces.
    ///
    /// # Errors
    /// As [`Batch::put`].
    pub fn delete_with<const N: usize>(&mut self, keyspace: Keyspace, key: [&[u8]; N]) -> Result<(), StoreError> {
        self.push_with(DELETE, keyspace, key, |_| ()).map(|_| ())
    }

    /// Adds a delete.
    ///
    /// # Errors
    /// As [`Batch::put`].
    pub fn delete(&mut self, keyspace: Keyspace, key: &[u8]) -> Result<(), StoreError> {
        self.push(DELETE, keyspace, key, &[])
    }

    /// Adds a range delete. The range's start is always part of it. A range that ends with the empty key holds nothing.
    ///
    /// # Errors
    /// As [`Batch::put`].
    pub fn delete_range(&mut self, keyspace: Keyspace, range: &KeyRange) -> Result<(), StoreError> {
        if range.end.as_ref().is_some_and(Vec::is_empty) {
            return Ok(());
        }
        self.push(DELETE_RANGE, keyspace, &range.start, range.end.as_deref().unwrap_or_default())
    }

    fn push(&mut self, kind: u8, keyspace: Keyspace, first: &[u8], second: &[u8]) -> Result<(), StoreError> {
        let (first_len, second_len) = (length(first.len())?, length(second.len())?);
        self.bytes.reserve(HEADER_BYTES + first.len() + second.len());
        self.push_header(kind, keyspace, first_len, second_len);
        self.bytes.extend_from_slice(first);
        self.bytes.extend_from_slice(second);
        self.ops += 1;
        Ok(())
    }

    fn push_with<const N: usize>(
        &mut self,
        kind: u8,
        keyspace: Keyspace,
        first: [&[u8]; N],
        second: impl FnOnce(&mut Vec<u8>),
    ) -> Result<&[u8], StoreError> {
        let first_len = first.iter().map(|piece| piece.len()).sum();
        self.bytes.reserve(HEADER_BYTES + first_len);
        let lengths_at = self.bytes.len() + LENGTHS_AT;
        self.push_header(kind, keyspace, length(first_len)?, 0);
        let first_at = self.bytes.len();
        first.into_iter().for_each(|piece| self.bytes.extend_from_slice(piece));
        let second_at = self.bytes.len();
        second(&mut self.bytes);
        let second_len = length(self.bytes.len().saturating_sub(second_at))?;
        if let Some(place) = self.bytes.get_mut(lengths_at + size_of::<u32>()..first_at) {
            place.copy_from_slice(&second_len.to_le_bytes());
        }
        self.ops += 1;
        Ok(self.bytes.get(first_at..second_at).unwrap_or_default())
    }

    fn push_header(&mut self, kind: u8, keyspace: Keyspace, first_len: u32, second_len: u32) {
        let [k0, k1, k2, k3] = keyspace.0.to_le_bytes();
        let [f0, f1, f2, f3] = first_len.to_le_bytes();
        let [s0, s1, s2, s3] = second_len.to_le_bytes();
        self.bytes.extend_from_slice(&[kind, k0, k1, k2, k3, f0, f1, f2, f3, s0, s1, s2, s3]);
    }

    /// Whether no key is put or deleted twice.
    #[must_use]
    pub fn names_each_once(&self) -> bool {
        let mut named: Vec<(Keyspace, &[u8])> = self
            .ops()
            .filter_map(|op| match op {
                Ok(BatchOp::Put { keyspace, key, .. } | BatchOp::Delete { keyspace, key }) => Some((keyspace, key)),
                Ok(BatchOp::DeleteRange { .. }) | Err(_) => None,
            })
            .collect();
        named.sort_unstable();
        named.windows(2).all(|pair| pair.first() != pair.last())
    }

    /// The changes, for a store of these limits.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] where the batch or a part of it is above a limit.
    pub fn ops_within(&self, limits: Limits) -> Result<Vec<BatchOp<'_>>, StoreError> {
        if self.ops > limits.max_batch_ops {
            return Err(StoreError::TooLarge { what: format!("a batch of {} operations", self.ops), limit: limits.max_batch_ops });
        }
        check_bytes("a batch", self.bytes.len(), limits.max_batch_bytes)?;
        let ops = self.ops().collect::<Result<Vec<_>, _>>()?;
        ops.iter().try_for_each(|op| check_sizes(op, limits))?;
        Ok(ops)
    }

    /// The changes in turn. After an error (bytes that are no operation) the iterator ends.
    pub fn ops(&self) -> impl Iterator<Item = Result<BatchOp<'_>, StoreError>> {
        let mut rest = self.bytes.as_slice();
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let op = take_op(&mut rest);
            if op.is_none() {
                rest = &[];
            }
            Some(op.ok_or_else(|| StoreError::Corrupt("a write batch is not made of whole operations".into())))
        })
    }
}

/// A length as the flat form has it.
fn length(bytes: usize) -> Result<u32, StoreError> {
    u32::try_from(bytes).map_err(|_| StoreError::TooLarge { what: format!("a record of {bytes} bytes"), limit: u64::from(u32::MAX) })
}

fn check_sizes(op: &BatchOp<'_>, limits: Limits) -> Result<(), StoreError> {
    let (key, value): (&[u8], &[u8]) = match *op {
        BatchOp::Put { key, value, .. } => (key, value),
        BatchOp::Delete { key, .. } => (key, &[]),
        BatchOp::DeleteRange { .. } => return Ok(()),
    };
    check_bytes("a key", key.len(), limits.max_key_bytes)?;
    check_bytes("a value", value.len(), limits.max_value_bytes)
}

fn check_bytes(what: &str, bytes: usize, limit: u64) -> Result<(), StoreError> {
    let fits = u64::try_from(bytes).is_ok_and(|bytes| bytes <= limit);
    if fits { Ok(()) } else { Err(StoreError::TooLarge { what: format!("{what} of {bytes} bytes"), limit }) }
}

fn take_op<'a>(rest: &mut &'a [u8]) -> Option<BatchOp<'a>> {
    let (&kind, tail) = rest.split_first()?;
    let (keyspace, tail) = take_u32(tail)?;
    let (first_len, tail) = take_u32(tail)?;
    let (second_len, tail) = take_u32(tail)?;
    let (first, tail) = tail.split_at_checked(usize::try_from(first_len).ok()?)?;
    let (second, tail) = tail.split_at_checked(usize::try_from(second_len).ok()?)?;
    *rest = tail;
    let keyspace = Keyspace(keyspace);
    match kind {
        PUT => Some(BatchOp::Put { keyspace, key: first, value: second }),
        DELETE => Some(BatchOp::Delete { keyspace, key: first }),
        DELETE_RANGE => Some(BatchOp::DeleteRange { keyspace, start: first, end: second }),
        _ => None,
    }
}

fn take_u32(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (head, tail) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_le_bytes(*head), tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_the_documented_bytes_and_reads_back() {
        let mut batch = Batch::new();
        let key = batch.put_with(Keyspace(2), [b"k", b""], |value| value.extend_from_slice(b"vv"));
        assert_eq!(key.unwrap(), b"k");
        batch.delete_with(Keyspace(0), [b"go", b"ne"]).unwrap();
        batch.delete_range(Keyspace(1), &KeyRange::between(b"a", b"b")).unwrap();
        let expected: &[u8] =
            b"\x01\x02\0\0\0\x01\0\0\0\x02\0\0\0kvv\x02\0\0\0\0\x04\0\0\0\0\0\0\0gone\x03\x01\0\0\0\x01\0\0\0\x01\0\0\0ab";
        assert_eq!(batch.as_bytes(), expected);
        let mut pieces = Batch::new();
        pieces.put(Keyspace(2), b"k", b"vv").unwrap();
        pieces.delete(Keyspace(0), b"gone").unwrap();
        assert_eq!(pieces.as_bytes(), &expected[..pieces.as_bytes().len()]);
        let read = Batch::from_bytes(expected.to_vec()).unwrap();
        assert_eq!(read.len(), 3);
        assert_eq!(read, batch);
    }

    #[test]
    fn torn_and_unknown_operations_are_refused() {
        let mut batch = Batch::new();
        batch.put(Keyspace(2), b"key", b"value").unwrap();
        for cut in 1..batch.as_bytes().len() {
            assert!(Batch::from_bytes(batch.as_bytes()[..cut].to_vec()).is_err(), "cut at {cut}");
        }
        let mut unknown = batch.as_bytes().to_vec();
        unknown[0] = 9;
        assert!(Batch::from_bytes(unknown).is_err());
    }
}
