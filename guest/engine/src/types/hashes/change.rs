//! A hash that is being changed: its records, its count and the expiries of its fields stay in step.

use crate::db::Db;
use crate::error::Result;
use crate::few::Few;
use crate::layout::field_expiry::{self, FieldExpiries};
use crate::layout::{Collection, FieldValue, KeyAt, Kind, Meta, RecordKey};
use bytes::Bytes;

/// A hash under change, stored by [`Change::finish`].
pub(super) struct Change<'k> {
    at: &'k KeyAt,
    /// What was stored before; `None` for a new hash.
    old: Option<Meta>,
    hash: Collection,
    /// The field with the next expiry has lost it: which one is next must be looked up.
    lost_next: bool,
}

/// A field as it is stored: its name, its record, and its value, past its time or not; `None` where there is none.
pub(super) struct Stored<'f> {
    field: &'f Bytes,
    record: RecordKey,
    pub value: Option<FieldValue>,
}

impl Stored<'_> {
    /// The value, unless it is past its time.
    pub fn live(&self, now_ms: u64) -> Option<&FieldValue> {
        self.value.as_ref().filter(|value| !value.is_expired(now_ms))
    }
}

impl<'k> Change<'k> {
    /// Of the hash under a key; `None` where there is none.
    pub fn of(db: &mut Db, at: &'k KeyAt) -> Result<Option<Self>> {
        let found = super::find(db, at)?;
        Ok(found.map(|(old, hash)| Self { at, old: Some(old), hash, lost_next: false }))
    }

    /// Of the hash under a key, or of a new one.
    pub fn of_or_new(db: &mut Db, at: &'k KeyAt) -> Result<Self> {
        match Self::of(db, at)? {
            Some(change) => Ok(change),
            None => Ok(Self { at, old: None, hash: db.new_collection(at, Kind::Hash)?, lost_next: false }),
        }
    }

    /// Fields as they are stored, read at once. No field comes twice.
    pub fn read<'f>(&self, db: &mut Db, fields: impl IntoIterator<Item = &'f Bytes>) -> Result<Few<Stored<'f>>> {
        let record = |field: &Bytes| db.layout.field(self.at, &self.hash, field);
        let mut all: Few<Stored<'f>> = fields.into_iter().map(|field| Stored { field, record: record(field), value: None }).collect();
        if self.old.is_none() {
            return Ok(all);
        }
        let values = db.transaction.get_many(all.iter().map(|stored| &stored.record))?;
        for (stored, value) in all.iter_mut().zip(values) {
            if let Some(value) = value {
                stored.value = db.layout.decode_field_value(&self.hash, &stored.record.1, &value)?;
            }
        }
        Ok(all)
    }

    /// Gives a field a value.
    pub fn put(&mut self, db: &mut Db, stored: Stored<'_>, new: &FieldValue) -> Result<()> {
        let Stored { field, record, value: old } = stored;
        self.hash = self.hash.changed_by(u64::from(old.is_none()), 0);
        self.move_expiry(db, field, old.and_then(|old| old.expire_at_ms), new.expire_at_ms)?;
        db.layout.write_field(db.transaction, self.at, &self.hash, field, record, Some(new))
    }

    /// Removes a field, where it is there.
    pub fn remove(&mut self, db: &mut Db, stored: Stored<'_>) -> Result<()> {
        let Stored { field, record, value } = stored;
        let Some(old) = value else { return Ok(()) };
        self.hash = self.hash.changed_by(0, 1);
        self.move_expiry(db, field, old.expire_at_ms, None)?;
        db.layout.write_field(db.transaction, self.at, &self.hash, field, record, None)
    }

    fn move_expiry(&mut self, db: &mut Db, field: &[u8], old: Option<u64>, new: Option<u64>) -> Result<()> {
        if old == new {
            return Ok(());
        }
        let index = field_expiry::index(db.layout)?;
        let mut expiries = self.hash.expiries.unwrap_or(FieldExpiries { count: 0, next_ms: u64::MAX });
        if let Some(expire_at_ms) = old {
            let (keyspace, key) = index.record(self.at, self.hash.version, expire_at_ms, field);
            db.transaction.delete(keyspace, key)?;
            expiries.count = expiries.count.saturating_sub(1);
            self.lost_next |= expire_at_ms <= expiries.next_ms;
        }
        if let Some(expire_at_ms) = new {
            let (keyspace, key) = index.record(self.at, self.hash.version, expire_at_ms, field);
            db.transaction.put(keyspace, key, Bytes::new())?;
            expiries.count = expiries.count.saturating_add(1);
            expiries.next_ms = expiries.next_ms.min(expire_at_ms);
        }
        self.hash.expiries = Some(expiries);
        Ok(())
    }

    /// Stores the head: for watchers only where it is the same. The key goes with its last field.
    pub fn finish(mut self, db: &mut Db) -> Result<()> {
        self.hash.expiries = match self.hash.expiries {
            Some(expiries) if expiries.count == 0 => None,
            Some(expiries) if self.lost_next => {
                let next_ms = field_expiry::first_ms(db.layout, db.transaction, self.at, self.hash.version)?;
                Some(FieldExpiries { next_ms, ..expiries })
            }
            other => other,
        };
        if self.hash.is_counted && self.old.as_ref().and_then(Meta::collection) == Some(self.hash) {
            return Ok(db.transaction.touch(self.at.lock_key())?);
        }
        db.write_collection(self.at, self.old.as_ref(), self.hash)
    }
}
