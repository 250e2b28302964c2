//! Commits: from a batch of the contract to writes of databases.

use super::database::Database;
use super::handle::{Kind, Open, OpenKeyspace, State, last_committed_key};
use super::journal::{self, Part};
use super::late::LateWriter;
use super::options::Scanned;
use super::raw_batch::RawBatch;
use super::reclaim::Stretch;
use super::record_cache::{Change, Changing};
use super::write_back::MANY_HEADS;
use super::{LIMITS, Shared};
use orbweaver_engine::store::{Batch, BatchOp, KeyRange, Keyspace, StoreError};
use rocksdb::{ReadOptions, WriteBatch};
use smallvec::SmallVec;
use std::path::Path;
use std::sync::atomic::Ordering;

/// What a batch is for RocksDB.
struct Writes<'b> {
    /// For each database of the store.
    batches: Batches,
    /// Those heads that may be written back later.
    heads: RawBatch,
    /// Whether heads are apart: not where a range of them is deleted.
    apart: bool,
    deleted: Vec<Stretch>,
    /// Not by their keys alone.
    deletes_ranges: bool,
    /// For the cache of records.
    changes: SmallVec<[Change<'b>; 2]>,
}

/// One for each database of a store; most have one.
type Batches = SmallVec<[RawBatch; 1]>;

impl State<'_> {
    /// Writes the batch of a transaction.
    pub fn write(&mut self, open: &Open, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        if open.kind == Kind::Read {
            return if batch.is_empty() { Ok(()) } else { Err(StoreError::ReadOnly) };
        }
        let shared = self.shared;
        shared.check_poison()?;
        check_limit("a batch", "operations", batch.len(), LIMITS.max_batch_ops)?;
        check_limit("a batch", "bytes", length(batch.as_bytes()), LIMITS.max_batch_bytes)?;
        self.create_absent(batch)?;
        let exclusive = open.kind == Kind::Exclusive;
        let alone = self.is_alone();
        let apart = alone && (self.may_be_late || batch.len() >= MANY_HEADS || shared.holds_heads());
        let writes = self.writes(batch, apart)?;
        let is_late = alone && self.may_be_late && !writes.deletes_ranges && !exclusive;
        // Whoever takes a state of several databases takes it before or behind a commit, and the journal holds one at a time.
        let publishing = (exclusive || shared.databases.len() > 1).then(|| shared.publishing.write());
        let changing = shared.cache.as_ref().map(|cache| cache.change(writes.changes));
        shared.revisions.start();
        let written = match writes.batches {
            _ if batch.is_empty() => Ok(()),
            batches if is_late => self.write_late(batches, &writes.heads, changing.iter().flat_map(Changing::hashes).collect()),
            mut batches if writes.apart => batches.pop().map_or(Ok(()), |batch| shared.write_heads_apart(batch, &writes.heads)),
            batches => shared.write(batches),
        };
        // Also after an error: the batch may have been written.
        let number = shared.revisions.finish(open.held.stripes(changed), exclusive);
        if let Some(changing) = changing {
            changing.finish(number, written.is_ok());
        }
        if is_late {
            shared.forget_unwritten();
        }
        drop(publishing);
        written?;
        shared.reclaim.add_deleted(writes.deleted);
        Ok(())
    }

    /// Whether nobody else reads what this handle has changed: there is one database, and no other handle.
    fn is_alone(&self) -> bool {
        self.shared.databases.len() == 1 && self.shared.handles.load(Ordering::SeqCst) == 1
    }

    /// Has the batch written with others, while the caller goes on.
    fn write_late(&mut self, mut batches: Batches, heads: &RawBatch, hashes: Vec<u64>) -> Result<(), StoreError> {
        if self.late_writer.is_none() {
            self.late_writer = LateWriter::start(self.shared).ok();
        }
        match (&mut self.late_writer, batches.pop()) {
            (Some(writer), Some(batch)) => writer.write(&batch, heads, hashes),
            (None, Some(batch)) => return self.shared.write_heads_apart(batch, heads),
            (_, None) => {}
        }
        Ok(())
    }

    /// See [`orbweaver_engine::store::Store::settle`].
    pub fn settle(&mut self, up_to: u64) -> Result<(), StoreError> {
        let Some(database) = self.shared.databases.first().filter(|_| self.late_writer.is_some()) else { return Ok(()) };
        let last = database.on_their_way.given().min(up_to);
        if last <= self.settled {
            return Ok(());
        }
        database.on_their_way.wait_up_to(last);
        self.settled = last;
        self.shared.check_poison()
    }

    /// Creates what the batch puts records into and is not there yet. Nothing is created for a batch that is refused.
    fn create_absent(&mut self, batch: &Batch) -> Result<(), StoreError> {
        if self.keyspaces.iter().all(|keyspace| keyspace.family.is_some()) {
            return Ok(());
        }
        let mut absent = Vec::new();
        for op in batch.ops() {
            let op = op?;
            check_sizes(&op)?;
            if self.keyspace(op.keyspace())?.family.is_none() && matches!(op, BatchOp::Put { .. }) {
                absent.push(op.keyspace());
            }
        }
        absent.sort_unstable();
        absent.dedup();
        for keyspace in absent {
            self.create(keyspace)?;
        }
        Ok(())
    }

    /// The batch in RocksDB's form, and the ranges that it deletes; `apart` with heads apart, unless a range of them is deleted.
    fn writes<'b>(&self, batch: &'b Batch, apart: bool) -> Result<Writes<'b>, StoreError> {
        // RocksDB's form is the shorter one: a batch that has this room does not grow on the way.
        let room = if self.shared.databases.len() == 1 { batch.as_bytes().len() } else { 0 };
        let batches = self.shared.databases.iter().map(|_| RawBatch::with_room(room)).collect();
        let heads = RawBatch::with_room(if apart { room } else { 0 });
        let mut writes = Writes { batches, heads, apart, deleted: Vec::new(), deletes_ranges: false, changes: SmallVec::new() };
        for op in batch.ops() {
            let op = op?;
            check_sizes(&op)?;
            let keyspace = self.keyspace(op.keyspace())?;
            // Where nothing has been put, there is nothing to delete.
            let (Some(family), Some(out)) = (&keyspace.family, writes.batches.get_mut(keyspace.database)) else { continue };
            if let Some(space) = keyspace.cached {
                writes.changes.push(change(space, keyspace.scanned, &op));
            }
            let family = family.number;
            let out = if apart && keyspace.is_written_back { &mut writes.heads } else { out };
            match op {
                BatchOp::Put { key, value, .. } => out.put(family, key, value),
                BatchOp::Delete { key, .. } => out.delete(family, key),
                BatchOp::DeleteRange { keyspace: number, start, end } => {
                    writes.deletes_ranges = true;
                    // They are put together with the rest, in their order.
                    writes.apart &= !keyspace.is_written_back;
                    let last = if end.is_empty() { self.last_key(keyspace, number, batch)? } else { None };
                    let end = last.as_deref().unwrap_or(end);
                    // RocksDB refuses ranges that end before they start.
                    if !end.is_empty() && (start.is_empty() || keyspace.order.compare(start, end).is_lt()) {
                        out.delete_range(family, start, end);
                        writes.deleted.push(keyspace.stretch(start.to_vec(), Some(end.to_vec())));
                    }
                    if let Some(last) = last.filter(|last| start.is_empty() || keyspace.order.compare(start, last).is_le()) {
                        out.delete(family, &last);
                    }
                }
            }
        }
        if let Some(batch) = writes.batches.first_mut().filter(|_| !writes.apart) {
            batch.append(&writes.heads);
        }
        Ok(writes)
    }

    /// The last key of the keyspace, or of what the batch puts into it; `None` where there is none. RocksDB's ranges need an end.
    fn last_key(&self, keyspace: &OpenKeyspace<'_>, number: Keyspace, batch: &Batch) -> Result<Option<Vec<u8>>, StoreError> {
        let mut last: Option<Vec<u8>> = None;
        self.write_back(keyspace, &KeyRange::all())?;
        if let (Some(db), Some(family)) = (self.database(keyspace), &keyspace.family) {
            last = last_committed_key(db, family, ReadOptions::default())?;
        }
        for op in batch.ops() {
            match op? {
                BatchOp::Put { keyspace: other, key, .. }
                    if other == number && last.as_deref().is_none_or(|last| keyspace.order.compare(key, last).is_gt()) =>
                {
                    last = Some(key.to_vec());
                }
                _ => {}
            }
        }
        Ok(last)
    }
}

impl Shared {
    /// Writes what each database is to get, whole or not at all across crashes.
    fn write(&self, batches: Batches) -> Result<(), StoreError> {
        drop(self.write_back()?);
        let filled = self.databases.iter().zip(batches).filter(|(_, batch)| !batch.is_empty());
        let mut writes: SmallVec<[(&Database, RawBatch); 1]> = filled.collect();
        let journaled = writes.len() > 1;
        if journaled {
            self.write_journal(&writes)?;
        }
        for (database, batch) in writes.drain(..) {
            let Some(db) = database.get() else { continue };
            // A late commit may have failed by now, whose records this one was made from.
            self.check_poison()?;
            db.write_opt(batch.to_batch(), &self.write).map_err(|error| self.poison(error.as_ref()))?;
        }
        if journaled {
            // One that stays is harmless: the sequence numbers tell that its parts have been written.
            let _stays = journal::remove(&self.path);
        }
        Ok(())
    }

    /// Writes what the one database is to get, heads apart from the rest.
    fn write_heads_apart(&self, mut batch: RawBatch, heads: &RawBatch) -> Result<(), StoreError> {
        let database = self.databases.first();
        let Some((database, db)) = database.and_then(|database| Some((database, database.get()?))) else { return Ok(()) };
        self.check_poison()?;
        database.write_back.write(db, &mut batch, heads, &self.write).map_err(|error| self.poison(&error))
    }

    /// Whether heads wait to be written back.
    fn holds_heads(&self) -> bool {
        self.databases.iter().any(|database| database.write_back.is_holding())
    }

    fn write_journal(&self, writes: &[(&Database, RawBatch)]) -> Result<(), StoreError> {
        let part = |(database, batch): &(&Database, RawBatch)| Part {
            folder: database.folder().to_owned(),
            sequence: database.get().map_or(0, |db| db.latest_sequence_number()),
            batch: batch.as_bytes().to_vec(),
        };
        let parts: Vec<Part> = writes.iter().map(part).collect();
        let written = journal::write(&self.path, &parts, self.must_sync());
        written.map_err(|error| match journal::remove(&self.path) {
            Ok(()) => StoreError::Io(format!("cannot write the journal in {}: {error}", self.path.display())),
            // It may be whole, and would be written when the store is opened.
            Err(_) => self.poison(&format!("the journal could not be written: {error}")),
        })
    }
}

/// Gives their parts of the commit that a crash has interrupted to the databases that did not get them.
///
/// # Errors
/// [`StoreError::Io`] where the databases are only read, and where one of them is not there.
pub fn finish_interrupted(store: &Path, databases: &[Database], read_only: bool) -> Result<(), StoreError> {
    let failed = |what: &str| StoreError::Io(format!("{} holds a commit that a crash has interrupted, and {what}", store.display()));
    for part in journal::read(store).map_err(|error| failed(&format!("its journal cannot be read: {error}")))? {
        let db = databases.iter().find(|database| database.folder() == part.folder).and_then(Database::get);
        let db = db.ok_or_else(|| failed(&format!("its database {} is missing: copy the whole directory again", part.folder)))?;
        if db.latest_sequence_number() > part.sequence {
            continue;
        }
        if read_only {
            return Err(failed("it is only to be read: open it once for writing, with `orbweaver check` for example"));
        }
        let mut write = rocksdb::WriteOptions::default();
        write.set_sync(true);
        db.write_opt(WriteBatch::from_data(&part.batch), &write).map_err(|error| failed(error.as_ref()))?;
    }
    if read_only {
        return Ok(());
    }
    journal::remove(store).map_err(|error| failed(&format!("its journal cannot be removed: {error}")))
}

/// What an operation is for the cache of records.
fn change<'b>(space: u32, scanned: Scanned, op: &BatchOp<'b>) -> Change<'b> {
    match *op {
        BatchOp::Put { key, value, .. } => Change::Record { space, scanned, key, value: Some(value) },
        BatchOp::Delete { key, .. } => Change::Record { space, scanned, key, value: None },
        BatchOp::DeleteRange { start, end, .. } => Change::Range { space, scanned, start, end },
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

fn check_sizes(op: &BatchOp<'_>) -> Result<(), StoreError> {
    let (key, value): (&[u8], &[u8]) = match *op {
        BatchOp::Put { key, value, .. } => (key, value),
        BatchOp::Delete { key, .. } => (key, &[]),
        BatchOp::DeleteRange { .. } => return Ok(()),
    };
    check_limit("a key", "bytes", length(key), LIMITS.max_key_bytes)?;
    check_limit("a value", "bytes", length(value), LIMITS.max_value_bytes)
}

fn check_limit(what: &str, unit: &str, size: u64, limit: u64) -> Result<(), StoreError> {
    if size <= limit { Ok(()) } else { Err(StoreError::TooLarge { what: format!("{what} of {size} {unit}"), limit }) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::stores::rocksdb::{Layout, RocksOptions, RocksStore};
    use orbweaver_engine::store::{Order, Scope, Store as _};

    fn open(path: &Path, read_only: bool) -> Result<RocksStore, StoreError> {
        RocksStore::open(path, RocksOptions { layout: Layout::Nemo, read_only, ..RocksOptions::default() })
    }

    fn put_in(store: &RocksStore, names: &[&str], value: &[u8]) {
        let mut handle = store.handle();
        let mut batch = Batch::new();
        for name in names {
            let keyspace = handle.open_keyspace(name, Order::Bytes).unwrap();
            batch.put(keyspace, b"k", value).unwrap();
        }
        handle.begin(&Scope::Exclusive).unwrap();
        handle.commit(&batch, &[]).unwrap();
    }

    fn get_in(store: &RocksStore, name: &str) -> Vec<u8> {
        let mut handle = store.handle();
        let keyspace = handle.open_keyspace(name, Order::Bytes).unwrap();
        handle.begin(&Scope::Read).unwrap();
        handle.get(keyspace, b"k").unwrap().unwrap_or_default().to_vec()
    }

    /// A store in which a commit of the value `new` has reached `kv` alone, as after a crash; its journal lies beside.
    fn interrupted(path: &Path) {
        let store = open(path, false).unwrap();
        put_in(&store, &["kv/default", "set/default"], b"old");
        let mut parts = Vec::new();
        for database in store.inner.shared.databases.iter().filter(|database| ["kv", "set"].contains(&database.folder())) {
            let db = database.get().unwrap();
            let mut batch = WriteBatch::default();
            batch.put(b"k", b"new");
            parts.push(Part { folder: database.folder().into(), sequence: db.latest_sequence_number(), batch: batch.data().to_vec() });
            if database.folder() == "kv" {
                db.write(batch).unwrap();
            }
        }
        drop(store);
        journal::write(path, &parts, true).unwrap();
    }

    #[test]
    fn an_interrupted_commit_is_finished_when_the_store_is_opened() {
        let directory = tempfile::tempdir().unwrap();
        interrupted(directory.path());
        let error = open(directory.path(), true).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("a commit that a crash has interrupted"), "{error}");
        let store = open(directory.path(), false).unwrap();
        assert_eq!((get_in(&store, "kv/default"), get_in(&store, "set/default")), (b"new".to_vec(), b"new".to_vec()));
        assert_eq!(journal::read(directory.path()).unwrap(), []);
    }

    #[test]
    fn a_journal_that_came_back_after_its_commit_takes_nothing_back() {
        let directory = tempfile::tempdir().unwrap();
        interrupted(directory.path());
        let parts = journal::read(directory.path()).unwrap();
        let store = open(directory.path(), false).unwrap();
        put_in(&store, &["kv/default"], b"newer");
        put_in(&store, &["set/default"], b"newest");
        drop(store);
        // The removal of the file had not reached the disk when the machine stopped.
        journal::write(directory.path(), &parts, true).unwrap();
        drop(open(directory.path(), true).unwrap());
        let store = open(directory.path(), false).unwrap();
        assert_eq!((get_in(&store, "kv/default"), get_in(&store, "set/default")), (b"newer".to_vec(), b"newest".to_vec()));
    }
}
