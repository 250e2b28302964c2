//! RocksDB's form of a batch, written by ourselves: what its log holds, and what its `WriteBatch` is made from. A call of the library for each
//! operation costs more than the bytes.
//!
//! ```text
//! batch = sequence number, which a write gives (u64) | number of operations (u32) | operation ...
//! operation = tag (u8) | number of the column family (varint; not of the default one) | key | value or end of the range (not of a delete)
//! ```
//! Integers are little-endian, keys and values behind their lengths (varints). See `db/write_batch.cc` and `db/dbformat.h` of RocksDB, whose
//! logs have kept this form since it has column families.

use orbweaver_engine::store::StoreError;
use rocksdb::{BoundColumnFamily, WriteBatch};
use std::iter;
use std::sync::Arc;

const HEADER_BYTES: usize = 12;
const COUNT_AT: usize = 8;

/// The tags of an operation, on the default column family and on another one.
type Tags = (u8, u8);
const DELETE: Tags = (0x0, 0x4);
const PUT: Tags = (0x1, 0x5);
const SINGLE_DELETE: Tags = (0x7, 0x8);
const DELETE_RANGE: Tags = (0xF, 0xE);

/// A column family with its number.
pub struct Family<'db> {
    pub handle: Arc<BoundColumnFamily<'db>>,
    pub number: FamilyNumber,
}

/// What a batch knows a column family by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FamilyNumber(u32);

impl<'db> Family<'db> {
    /// The library does not tell the number: it is read off what it makes of a delete.
    ///
    /// # Errors
    /// [`StoreError::Io`] where that is none of the two forms: what is written by a wrong number goes to another family.
    pub fn new(handle: Arc<BoundColumnFamily<'db>>) -> Result<Self, StoreError> {
        let mut batch = WriteBatch::default();
        batch.delete_cf(&handle, b"");
        let number = match batch.data().get(HEADER_BYTES..) {
            Some([tag, ..]) if *tag == DELETE.0 => 0,
            Some([tag, number @ ..]) if *tag == DELETE.1 => varint(number),
            _ => return Err(StoreError::Io("this RocksDB writes batches in a form that is not known here".into())),
        };
        Ok(Self { handle, number: FamilyNumber(number) })
    }
}

/// Operations on a database, in their order.
pub struct RawBatch {
    bytes: Vec<u8>,
    operations: u32,
}

impl RawBatch {
    /// None, with room for operations of so many bytes.
    pub fn with_room(bytes: usize) -> Self {
        let mut with_header = Vec::with_capacity(HEADER_BYTES.saturating_add(bytes));
        with_header.resize(HEADER_BYTES, 0);
        Self { bytes: with_header, operations: 0 }
    }

    pub fn put(&mut self, family: FamilyNumber, key: &[u8], value: &[u8]) {
        self.begin(PUT, family);
        self.string(key);
        self.string(value);
    }

    pub fn delete(&mut self, family: FamilyNumber, key: &[u8]) {
        self.begin(DELETE, family);
        self.string(key);
    }

    /// Deletes what was put once and never again: both are gone with the next file.
    pub fn single_delete(&mut self, family: FamilyNumber, key: &[u8]) {
        self.begin(SINGLE_DELETE, family);
        self.string(key);
    }

    /// From `start` up to `end`, which is not deleted.
    pub fn delete_range(&mut self, family: FamilyNumber, start: &[u8], end: &[u8]) {
        self.begin(DELETE_RANGE, family);
        self.string(start);
        self.string(end);
    }

    /// Adds another batch behind this one.
    pub fn append(&mut self, other: &Self) {
        self.bytes.extend_from_slice(other.bytes.get(HEADER_BYTES..).unwrap_or_default());
        self.count(other.operations);
    }

    /// The keys that it puts, with their values, and those that it deletes, in its order; up to the first operation of another kind.
    pub fn changes(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        changes(&self.bytes)
    }

    pub const fn operations(&self) -> u32 {
        self.operations
    }

    pub const fn is_empty(&self) -> bool {
        self.operations == 0
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The same for the library.
    pub fn to_batch(&self) -> WriteBatch {
        WriteBatch::from_data(&self.bytes)
    }

    fn begin(&mut self, (tag, tag_of_another): Tags, family: FamilyNumber) {
        self.count(1);
        if family.0 == 0 {
            self.bytes.push(tag);
        } else {
            self.bytes.push(tag_of_another);
            self.varint(family.0);
        }
    }

    fn count(&mut self, more: u32) {
        // A batch of the contract has fewer operations than that by far.
        self.operations = self.operations.saturating_add(more);
        if let Some(count) = self.bytes.get_mut(COUNT_AT..HEADER_BYTES) {
            count.copy_from_slice(&self.operations.to_le_bytes());
        }
    }

    fn string(&mut self, bytes: &[u8]) {
        // No batch of the contract is longer: its limit is below that.
        self.varint(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        self.bytes.extend_from_slice(bytes);
    }

    fn varint(&mut self, mut number: u32) {
        let lowest = |number: u32| number.to_le_bytes().into_iter().take(1);
        while number >= 0x80 {
            self.bytes.extend(lowest(number | 0x80));
            number >>= 7;
        }
        self.bytes.extend(lowest(number));
    }
}

/// As [`RawBatch::changes`], of a batch that has been read back.
pub fn changes(batch: &[u8]) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
    let mut left = batch.get(HEADER_BYTES..).unwrap_or_default();
    iter::from_fn(move || {
        let (&tag, rest) = left.split_first()?;
        left = rest;
        if tag == PUT.1 || tag == DELETE.1 {
            take_varint(&mut left)?;
        }
        let key = take_string(&mut left)?;
        let is_put = tag == PUT.0 || tag == PUT.1;
        if is_put {
            return Some((key, Some(take_string(&mut left)?)));
        }
        (tag == DELETE.0 || tag == DELETE.1).then_some((key, None))
    })
}

/// How many operations a batch has that has been read back; `None` where it is none.
pub fn operations(batch: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(batch.get(COUNT_AT..HEADER_BYTES)?.try_into().ok()?))
}

fn take_string<'b>(left: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = usize::try_from(take_varint(left)?).ok()?;
    let (string, rest) = left.split_at_checked(length)?;
    *left = rest;
    Some(string)
}

fn take_varint(left: &mut &[u8]) -> Option<u32> {
    let length = left.iter().take_while(|byte| **byte >= 0x80).count() + 1;
    let (bytes, rest) = left.split_at_checked(length)?;
    *left = rest;
    Some(varint(bytes))
}

/// The number that these bytes begin with.
fn varint(bytes: &[u8]) -> u32 {
    let length = bytes.iter().take_while(|byte| **byte >= 0x80).count() + 1;
    bytes.iter().take(length).rev().fold(0, |number, byte| number << 7 | u32::from(byte & 0x7F))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use rocksdb::{DBWithThreadMode, MultiThreaded, Options};

    #[test]
    fn a_batch_is_what_the_library_makes_of_the_same_operations() {
        let directory = tempfile::tempdir().unwrap();
        let mut options = Options::default();
        options.create_if_missing(true);
        let db: DBWithThreadMode<MultiThreaded> = DBWithThreadMode::open_cf(&options, directory.path(), ["default"]).unwrap();
        // Numbers of one byte and of two.
        (0..130).for_each(|number| db.create_cf(format!("family {number}"), &options).unwrap());
        let (mut raw, mut librarys) = (RawBatch::with_room(100), WriteBatch::default());
        let (long, longer) = (vec![b'l'; 200], vec![b'L'; 20_000]);
        for name in ["default", "family 0", "family 129"] {
            let handle = db.cf_handle(name).unwrap();
            let family = Family::new(Arc::clone(&handle)).unwrap().number;
            for (key, value) in [("".as_bytes(), "".as_bytes()), (b"key", b"value"), (&long, &longer)] {
                raw.put(family, key, value);
                librarys.put_cf(&handle, key, value);
                raw.delete(family, key);
                librarys.delete_cf(&handle, key);
                raw.single_delete(family, key);
                librarys.single_delete_cf(&handle, key);
                raw.delete_range(family, key, value);
                librarys.delete_range_cf(&handle, key, value);
            }
        }
        assert_eq!(raw.as_bytes(), librarys.data());
        let mut twice = RawBatch::with_room(0);
        twice.append(&raw);
        assert_eq!(twice.as_bytes(), librarys.data());
        twice.append(&raw);
        assert_eq!((twice.operations(), twice.to_batch().len()), (72, 72));
    }

    #[test]
    fn puts_and_deletes_are_read_back_and_what_is_cut_short_ends_them() {
        let long = vec![b'l'; 300];
        let changes = [(&b"key"[..], Some(&b"value"[..])), (b"", None), (&long, Some(&long)), (b"k", Some(b""))];
        for number in [0, 7, 300].map(FamilyNumber) {
            let mut batch = RawBatch::with_room(0);
            for (key, value) in changes {
                match value {
                    Some(value) => batch.put(number, key, value),
                    None => batch.delete(number, key),
                }
            }
            assert_eq!(batch.changes().collect::<Vec<_>>(), changes);
            for end in 0..batch.as_bytes().len() {
                let read: Vec<_> = super::changes(&batch.as_bytes()[..end]).collect();
                assert!(read.len() < changes.len() && changes.starts_with(&read));
            }
            batch.delete_range(number, b"a", b"b");
            batch.put(number, b"behind", b"a range");
            assert_eq!(batch.changes().count(), changes.len());
        }
    }
}
