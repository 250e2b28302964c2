//! The keyspace `field-expiry`: when which field expires, by hash, and which hash has the next one that does.

use super::{Orbweaver, corrupt, keyspace};
use crate::arena;
use crate::codec::{Flaw, Reader};
use crate::error::Result;
use crate::layout::field_expiry::FieldIndex;
use crate::layout::{KeyAt, Meta, RecordKey, RecordRange};
use crate::store::KeyRange;
use crate::transaction::Transaction;
use bytes::Bytes;

/// First byte of the key of a field that expires.
pub const FIELD: u8 = 1;
/// First byte of the key of a hash with such fields.
pub const HASH: u8 = 2;

/// A record of the keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldExpiry {
    /// A field that expires: `1 | version u64 | expire_at_ms u64 | field` -> empty.
    Field {
        /// The version of its hash.
        version: u64,
        /// When it expires.
        expire_at_ms: u64,
        /// Its name.
        field: Bytes,
    },
    /// A hash with such fields: `2 | next_ms u64 | version u64` -> `space u32 | user key`.
    Hash {
        /// The earliest time of its fields.
        next_ms: u64,
        /// Its version.
        version: u64,
    },
}

/// The key of a record.
pub fn encode(record: &FieldExpiry) -> Bytes {
    match record {
        FieldExpiry::Field { version, expire_at_ms, field } => encode_key(FIELD, *version, *expire_at_ms, field),
        FieldExpiry::Hash { next_ms, version } => encode_key(HASH, *next_ms, *version, b""),
    }
}

/// The inverse of [`encode`].
pub fn decode(key: &Bytes) -> std::result::Result<FieldExpiry, Flaw> {
    let mut reader = Reader::new(key);
    match reader.u8("a kind of record is missing")? {
        FIELD => {
            let version = reader.u64("a version is cut short")?;
            let expire_at_ms = reader.u64("an expiry is cut short")?;
            Ok(FieldExpiry::Field { version, expire_at_ms, field: reader.rest() })
        }
        HASH => {
            let next_ms = reader.u64("an expiry is cut short")?;
            let version = reader.u64("a version is cut short")?;
            reader.end()?;
            Ok(FieldExpiry::Hash { next_ms, version })
        }
        _ => Err(Flaw { offset: 0, what: "an unknown kind of record" }),
    }
}

fn encode_key(kind: u8, first: u64, second: u64, rest: &[u8]) -> Bytes {
    arena::join([&[kind], &first.to_be_bytes(), &second.to_be_bytes(), rest])
}

/// The records of a hash's fields.
pub fn fields_of(version: u64) -> KeyRange {
    KeyRange::prefix(&[&[FIELD], version.to_be_bytes().as_slice()].concat())
}

/// The records of the hashes with a field that is past its time.
pub fn hashes_due(now_ms: u64) -> KeyRange {
    let key = |at: u64| [&[HASH], at.to_be_bytes().as_slice()].concat();
    KeyRange::between(&key(0), &key(now_ms))
}

/// The record that leads to a hash with fields that expire.
pub fn of_hash(meta: Option<&Meta>) -> Option<Bytes> {
    let hash = meta?.collection()?;
    let next_ms = hash.expiries?.next_ms;
    Some(encode(&FieldExpiry::Hash { next_ms, version: hash.version }))
}

impl Orbweaver {
    /// Moves the record that leads to a hash from where `old` had it to where `new` has it.
    pub(super) fn move_field_expiry(
        &self,
        transaction: &mut Transaction<'_>,
        lock_key: &Bytes,
        old: Option<&Meta>,
        new: Option<&Meta>,
    ) -> Result<()> {
        let (old, new) = (of_hash(old), of_hash(new));
        if old == new {
            return Ok(());
        }
        if let Some(key) = old {
            transaction.delete(self.field_expiry, key)?;
        }
        if let Some(key) = new {
            transaction.put(self.field_expiry, key, lock_key.clone())?;
        }
        Ok(())
    }

    /// The time and the name of the field that a record stands for.
    pub(super) fn decode_expiring_field(&self, key: &Bytes) -> Result<(u64, Bytes)> {
        match decode(key) {
            Ok(FieldExpiry::Field { expire_at_ms, field, .. }) => Ok((expire_at_ms, field)),
            Ok(FieldExpiry::Hash { .. }) => {
                Err(corrupt(keyspace::FIELD_EXPIRY, key, Flaw { offset: 0, what: "not the record of a field" }))
            }
            Err(flaw) => Err(corrupt(keyspace::FIELD_EXPIRY, key, flaw)),
        }
    }
}

impl FieldIndex for Orbweaver {
    fn records(&self, _at: &KeyAt, version: u64) -> RecordRange {
        (self.field_expiry, fields_of(version))
    }

    fn record(&self, _at: &KeyAt, version: u64, expire_at_ms: u64, field: &[u8]) -> RecordKey {
        (self.field_expiry, encode_key(FIELD, version, expire_at_ms, field))
    }

    fn decode(&self, key: &Bytes) -> Result<u64> {
        self.decode_expiring_field(key).map(|(expire_at_ms, _)| expire_at_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_the_documented_bytes() {
        let field = FieldExpiry::Field { version: 7, expire_at_ms: 258, field: "f".into() };
        let hash = FieldExpiry::Hash { next_ms: 258, version: 7 };
        for (record, key) in
            [(field, b"\x01\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\x01\x02f".as_slice()), (hash, b"\x02\0\0\0\0\0\0\x01\x02\0\0\0\0\0\0\0\x07")]
        {
            assert_eq!(encode(&record), key);
            assert_eq!(decode(&Bytes::from_static(key)), Ok(record));
        }
    }

    #[test]
    fn damaged_records_are_refused() {
        let mut long = encode(&FieldExpiry::Hash { next_ms: 258, version: 7 }).to_vec();
        long.push(0);
        for key in [b"".as_slice(), b"\x03", b"\x01\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\x01", b"\x02\0\0\0\0\0\0\x01\x02\0\0\0", &long] {
            assert!(decode(&Bytes::copy_from_slice(key)).is_err(), "{key:?}");
        }
    }
}
