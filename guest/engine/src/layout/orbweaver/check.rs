//! The check: every record verified, and both halves of what has two.
//!
//! It goes through the keyspaces in turn, in steps. Collections are verified from their meta records (`collections.rs`). What
//! remains are records that no meta record leads to: they are looked for in *windows* of at most [`owners::WINDOW`] versions, so
//! that memory stays bounded: one walk over all meta records for each window (`owners.rs`).
//!
//! Each step sees one state of the store. On a database that changes between two steps, a collection that has changed meanwhile
//! is passed over, and a key that was renamed may be missed; findings are then to be confirmed by a second run.

mod collections;
mod cursor;
mod field_expiry;
mod owners;
mod ranks;

use super::records::{self, Garbage, system_key};
use super::{Orbweaver, catalog, keyspace};
use crate::codec::{Flaw, Reader};
use crate::error::Result;
use crate::layout::{Finding, Meta};
use crate::store::{Direction, KeyRange, Keyspace};
use crate::transaction::{Scan, Transaction};
use bytes::Bytes;
use cursor::{Cursor, Phase};
use std::collections::BTreeMap;

impl Orbweaver {
    pub(super) fn check_step(&self, transaction: &mut Transaction<'_>, cursor: &mut Vec<u8>, budget: usize) -> Result<Vec<Finding>> {
        let mut at = Cursor::decode(cursor)?;
        let system = self.load_system(transaction)?;
        let mut step = Step { layout: self, transaction, system, findings: Vec::new(), left: budget.max(1) };
        while step.left > 0 {
            let done = match at.phase {
                Phase::System => step.system_records()?,
                Phase::Meta => step.metas(&mut at)?,
                Phase::Data => step.owners(&mut at, self.data, keyspace::DATA)?,
                Phase::Score => step.owners(&mut at, self.score, keyspace::SCORE)?,
                Phase::Rank => step.owners(&mut at, self.rank, keyspace::RANK)?,
                Phase::Expiry => step.each_record(&mut at, self.expiry, Step::expiry)?,
                Phase::FieldExpiry => step.each_record(&mut at, self.field_expiry, Step::field_expiry)?,
                Phase::Garbage => step.each_record(&mut at, self.garbage, Step::garbage)?,
            };
            if done {
                let Some(next) = at.phase.next() else {
                    cursor.clear();
                    return Ok(step.findings);
                };
                at = Cursor::at(next);
            }
        }
        *cursor = at.encode();
        Ok(step.findings)
    }

    /// What the keyspace `system` says, as far as it can be read.
    fn load_system(&self, transaction: &mut Transaction<'_>) -> Result<System> {
        let mut system = System::default();
        let mut scan = Scan::new(self.system, KeyRange::all(), Direction::Forward, 32);
        while let Some((key, value)) = transaction.next(&mut scan)? {
            match SystemRecord::decode(&key, &value) {
                Ok(SystemRecord::NextVersion(next)) => system.next_version = next,
                Ok(SystemRecord::NextSpace(next)) => system.next_space = next,
                Ok(SystemRecord::Db(db, space)) => {
                    system.spaces.insert(db, space);
                }
                Ok(SystemRecord::Format) | Err(_) => {}
            }
        }
        Ok(system)
    }
}

/// A record of the keyspace `system`.
enum SystemRecord {
    Format,
    NextVersion(u64),
    NextSpace(u32),
    Db(u32, u32),
}

impl SystemRecord {
    fn decode(key: &Bytes, value: &Bytes) -> std::result::Result<Self, Flaw> {
        let mut reader = Reader::new(value);
        let record = if key == system_key::FORMAT {
            return records::version_of_marker(value).map(|_| Self::Format);
        } else if key == system_key::NEXT_VERSION {
            Self::NextVersion(reader.u64("a version is cut short")?)
        } else if key == system_key::NEXT_SPACE {
            Self::NextSpace(reader.u32("a space is cut short")?)
        } else {
            let db = key.strip_prefix(system_key::DB).and_then(|number| number.try_into().ok());
            let db = u32::from_be_bytes(db.ok_or(reader.flaw("an unknown record"))?);
            Self::Db(db, reader.u32("a space is cut short")?)
        };
        reader.end()?;
        Ok(record)
    }
}

/// The numbers of the keyspace `system`.
struct System {
    next_version: u64,
    next_space: u32,
    /// Spaces of the dbs that have another one than at first.
    spaces: BTreeMap<u32, u32>,
}

impl Default for System {
    fn default() -> Self {
        Self { next_version: catalog::FIRST_VERSION, next_space: catalog::FIRST_FREE_SPACE, spaces: BTreeMap::new() }
    }
}

impl System {
    /// The dbs that a space is of; one at most where all is well.
    fn dbs_of(&self, space: u32) -> Vec<u32> {
        let first = (1..catalog::FIRST_FREE_SPACE).contains(&space).then(|| space.saturating_sub(1));
        let first = first.filter(|db| !self.spaces.contains_key(db));
        first.into_iter().chain(self.spaces.iter().filter(|(_, given)| **given == space).map(|(db, _)| *db)).collect()
    }

    fn was_given(&self, version: u64) -> bool {
        (catalog::FIRST_VERSION..self.next_version).contains(&version)
    }
}

/// One step of the check.
struct Step<'l, 't, 's> {
    layout: &'l Orbweaver,
    transaction: &'t mut Transaction<'s>,
    system: System,
    findings: Vec<Finding>,
    /// How many records it may still look at.
    left: usize,
}

impl Step<'_, '_, '_> {
    fn find(&mut self, keyspace: &'static str, key: &Bytes, what: impl Into<String>) {
        self.findings.push(Finding { keyspace, key: key.clone(), what: what.into() });
    }

    fn find_flaw(&mut self, keyspace: &'static str, key: &Bytes, flaw: Flaw) {
        self.find(keyspace, key, format!("{} at offset {}", flaw.what, flaw.offset));
    }

    fn looked_at_one(&mut self) {
        self.left = self.left.saturating_sub(1);
    }

    /// A walk from `start` on that reads no more ahead than the step may look at.
    fn scan(&self, keyspace: Keyspace, start: &[u8], end: Option<Vec<u8>>) -> Scan {
        Scan::new(keyspace, KeyRange { start: start.to_vec(), after_start: false, end }, Direction::Forward, self.left)
    }

    /// Verifies a keyspace record by record. True once it is done.
    fn each_record(
        &mut self,
        cursor: &mut Cursor,
        keyspace: Keyspace,
        verify: fn(&mut Self, &Bytes, &Bytes) -> Result<()>,
    ) -> Result<bool> {
        let mut scan = self.scan(keyspace, &cursor.next, None);
        while let Some((key, value)) = self.transaction.next(&mut scan)? {
            verify(self, &key, &value)?;
            cursor.next = after(&key);
            self.looked_at_one();
            if self.left == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// There are few of them: one step takes them all.
    fn system_records(&mut self) -> Result<bool> {
        let mut scan = self.scan(self.layout.system, b"", None);
        while let Some((key, value)) = self.transaction.next(&mut scan)? {
            self.looked_at_one();
            match SystemRecord::decode(&key, &value) {
                Ok(SystemRecord::Db(_, space)) => {
                    let dbs = self.system.dbs_of(space);
                    if dbs.len() > 1 {
                        self.find(keyspace::SYSTEM, &key, format!("space {space} is that of several dbs: {dbs:?}"));
                    }
                    if space == 0 || space >= self.system.next_space {
                        self.find(keyspace::SYSTEM, &key, format!("space {space} was never given"));
                    }
                }
                Ok(_) => {}
                Err(flaw) => self.find_flaw(keyspace::SYSTEM, &key, flaw),
            }
        }
        Ok(true)
    }

    fn expiry(&mut self, key: &Bytes, value: &Bytes) -> Result<()> {
        const KEYSPACE: &str = keyspace::EXPIRY;
        let (at_ms, lock_key) = match records::decode_expiry_key(key) {
            Ok((at_ms, space, user_key)) => (at_ms, crate::layout::lock_key(space, &user_key)),
            Err(flaw) => {
                self.find_flaw(KEYSPACE, key, flaw);
                return Ok(());
            }
        };
        if !value.is_empty() {
            self.find(KEYSPACE, key, "an expiry record's value is not empty");
        }
        match self.transaction.get(self.layout.meta, &lock_key)?.map(|meta| records::decode_meta(&meta)) {
            None => self.find(KEYSPACE, key, "its key does not exist"),
            Some(Ok(Meta { expire_at_ms: Some(own), .. })) if own != at_ms => {
                self.find(KEYSPACE, key, format!("its key expires at {own}, not at {at_ms}"));
            }
            Some(Ok(Meta { expire_at_ms: None, .. })) => self.find(KEYSPACE, key, "its key does not expire"),
            // A meta record that cannot be read has been named already.
            Some(Ok(_) | Err(_)) => {}
        }
        Ok(())
    }

    fn garbage(&mut self, key: &Bytes, value: &Bytes) -> Result<()> {
        const KEYSPACE: &str = keyspace::GARBAGE;
        match records::decode_garbage(key, value) {
            Ok(Garbage::Collection { version, .. } | Garbage::Unfinished { version, .. }) => {
                if !self.system.was_given(version) {
                    self.find(KEYSPACE, key, format!("version {version} was never given"));
                }
            }
            Ok(Garbage::Space(space)) => {
                if let Some(db) = self.system.dbs_of(space).first() {
                    self.find(KEYSPACE, key, format!("space {space} is that of db {db}"));
                }
            }
            Err(flaw) => self.find_flaw(KEYSPACE, key, flaw),
        }
        Ok(())
    }

    /// Whether a version is that of a removed or an unfinished collection.
    fn is_garbage(&mut self, version: u64) -> Result<bool> {
        for key in [records::encode_garbage_collection_key(version), records::encode_unfinished_key(version)] {
            if self.transaction.get(self.layout.garbage, &key)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The smallest key above `key`.
fn after(key: &Bytes) -> Vec<u8> {
    [key.as_ref(), &[0]].concat()
}
