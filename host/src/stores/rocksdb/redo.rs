//! The redo: heads as they are in the log, until [`super::write_back`] has put them into their keyspace.
//!
//! ```text
//! key = number (u64, big-endian), above those before it
//! value = the puts and deletes of heads, as a batch of RocksDB (raw_batch.rs)
//! ```
//! Two keyspaces hold it, in turn: one for the table of heads that is filled, one for that which is written back. Each record is put
//! once, and deleted with the last heads of its table.

use super::database::Database;
use super::layout::Layout;
use super::raw_batch;
use super::write_back::HEADS;
use super::{Db, read_error};
use orbweaver_engine::store::StoreError;
use rocksdb::{IteratorMode, WriteBatch};
use std::collections::BTreeMap;

/// The keyspaces.
pub const KEYSPACES: [&str; 2] = ["redo-0", "redo-1"];

/// Whether a keyspace of this layout is not one of records: only our own has redo.
pub fn is_redo(layout: Layout, keyspace: &str) -> bool {
    layout == Layout::Orbweaver && KEYSPACES.contains(&keyspace)
}

/// Heads with their last values, `None` where they are deleted.
pub type Heads = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

/// The redo that a crash, or a process that is running, has left: where its records are, and what it comes to.
struct Left {
    records: Vec<(&'static str, Box<[u8]>)>,
    heads: Heads,
}

fn read(db: &Db) -> Result<Left, StoreError> {
    let mut records = Vec::new();
    for keyspace in KEYSPACES {
        let Some(family) = db.cf_handle(keyspace) else { continue };
        for record in db.iterator_cf(&family, IteratorMode::Start) {
            let (number, heads) = record.map_err(|error| read_error(&error))?;
            records.push((number, keyspace, heads));
        }
    }
    records.sort_unstable();
    let mut left = Left { records: Vec::new(), heads: Heads::new() };
    for (number, keyspace, batch) in records {
        let mut count = 0;
        for (key, value) in raw_batch::changes(&batch) {
            left.heads.insert(key.to_vec(), value.map(<[u8]>::to_vec));
            count += 1;
        }
        if raw_batch::operations(&batch) != Some(count) {
            return Err(StoreError::Corrupt(format!("the record {} of {keyspace} is no batch of heads", number.escape_ascii())));
        }
        left.records.push((keyspace, number));
    }
    Ok(left)
}

/// Carries out the redo that a crash has left, when a store is opened. For one that is only read, what it comes to: to be looked at
/// before the keyspace of heads.
///
/// # Errors
/// [`StoreError::Corrupt`] where it cannot be understood, [`StoreError::Io`] where it cannot be read or written. It is there as before.
pub fn carry_out(database: &Database, layout: Layout, read_only: bool) -> Result<Heads, StoreError> {
    let Some(db) = database.get().filter(|_| layout == Layout::Orbweaver) else { return Ok(Heads::new()) };
    let Left { records, heads } = read(db)?;
    if read_only || records.is_empty() {
        return Ok(heads);
    }
    let family = db.cf_handle(HEADS).ok_or_else(|| StoreError::Corrupt(format!("there is redo, and no keyspace {HEADS}")))?;
    let mut batch = WriteBatch::default();
    for (key, value) in heads {
        match value {
            Some(value) => batch.put_cf(&family, key, value),
            None => batch.delete_cf(&family, key),
        }
    }
    for (keyspace, number) in records {
        if let Some(family) = db.cf_handle(keyspace) {
            batch.single_delete_cf(&family, number);
        }
    }
    db.write(batch).map_err(|error| StoreError::Io(format!("cannot write what a crash has left in the log: {error}")))?;
    Ok(Heads::new())
}
