//! Dbs and versions: the records of the keyspace `system`.

use super::records::{Garbage, system_key};
use super::{Orbweaver, corrupt, keyspace};
use crate::codec::Reader;
use crate::error::{Result, texts};
use crate::layout::{Catalog, Layout};
use crate::store::Direction;
use crate::transaction::Transaction;
use bytes::Bytes;

/// Spaces below this number belong to the dbs from the start: db `n` has space `n + 1`.
pub(super) const FIRST_FREE_SPACE: u32 = 1 << 16;
/// Version 0 is never given, so that it can stand for none.
pub(super) const FIRST_VERSION: u64 = 1;

fn db_key(db: usize) -> Bytes {
    let number = u32::try_from(db).unwrap_or(u32::MAX);
    [system_key::DB, &number.to_be_bytes()].concat().into()
}

fn first_space(db: usize) -> u32 {
    u32::try_from(db).map_or(0, |db| db.saturating_add(1))
}

impl Orbweaver {
    fn system_u32(&self, transaction: &mut Transaction<'_>, key: &Bytes) -> Result<Option<u32>> {
        let Some(value) = transaction.get(self.system, key)? else { return Ok(None) };
        let number = Reader::new(&value).u32("a number of four bytes is cut short");
        number.map(Some).map_err(|flaw| corrupt(keyspace::SYSTEM, key, flaw))
    }

    pub(super) fn load_spaces(&self, transaction: &mut Transaction<'_>, databases: usize) -> Result<Catalog> {
        let own = (0..databases).map(|db| Ok(self.system_u32(transaction, &db_key(db))?.unwrap_or(first_space(db))));
        Ok(Catalog { spaces: own.collect::<Result<_>>()? })
    }

    fn give_space(&self, transaction: &mut Transaction<'_>, catalog: &mut Catalog, db: usize, space: u32) -> Result<()> {
        *catalog.spaces.get_mut(db).ok_or(texts::DB_OUT_OF_RANGE)? = space;
        if space == first_space(db) {
            return Ok(transaction.delete(self.system, db_key(db))?);
        }
        Ok(transaction.put(self.system, db_key(db), Bytes::copy_from_slice(&space.to_be_bytes()))?)
    }

    pub(super) fn flush_space(&self, transaction: &mut Transaction<'_>, catalog: &mut Catalog, db: usize) -> Result<()> {
        let old = *catalog.spaces.get(db).ok_or(texts::DB_OUT_OF_RANGE)?;
        let (meta, range) = self.space(old);
        if transaction.first(meta, range, Direction::Forward)?.is_none() {
            return Ok(());
        }
        let next_space = Bytes::from_static(system_key::NEXT_SPACE);
        let space = self.system_u32(transaction, &next_space)?.unwrap_or(FIRST_FREE_SPACE);
        let next = Bytes::copy_from_slice(&space.saturating_add(1).to_be_bytes());
        transaction.put(self.system, next_space, next)?;
        self.put_garbage(transaction, &Garbage::Space(old))?;
        self.give_space(transaction, catalog, db, space)
    }

    pub(super) fn swap_spaces(&self, transaction: &mut Transaction<'_>, catalog: &mut Catalog, a: usize, b: usize) -> Result<()> {
        let space_of = |catalog: &Catalog, db: usize| catalog.spaces.get(db).copied().ok_or(texts::DB_OUT_OF_RANGE);
        let (space_a, space_b) = (space_of(catalog, a)?, space_of(catalog, b)?);
        if a == b {
            return Ok(());
        }
        self.give_space(transaction, catalog, a, space_b)?;
        self.give_space(transaction, catalog, b, space_a)
    }

    pub(super) fn take_versions(&self, transaction: &mut Transaction<'_>, count: u64) -> Result<u64> {
        let key = Bytes::from_static(system_key::NEXT_VERSION);
        let first = match transaction.get(self.system, &key)? {
            None => FIRST_VERSION,
            Some(value) => {
                let number = Reader::new(&value).u64("a number of eight bytes is cut short");
                number.map_err(|flaw| corrupt(keyspace::SYSTEM, &key, flaw))?
            }
        };
        transaction.touch(&self.versions_lock_key())?;
        let next = Bytes::copy_from_slice(&first.saturating_add(count).to_be_bytes());
        transaction.put(self.system, key, next)?;
        Ok(first)
    }
}
