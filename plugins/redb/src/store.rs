//! The store: a redb table for each keyspace, snapshots that are checked at the commit.

use crate::claim::Claim;
use bytes::Bytes;
use orbweaver_engine::store::{
    Batch, BatchOp, Direction, KeyRange, Keyspace, Limits, Order, Page, PageBuilder, PageLimit, Revisions, Scope, Store, StoreError,
};
use redb::{
    Builder, CommitError, Database, DatabaseError, Durability, ReadOnlyTable, ReadTransaction, ReadableDatabase as _, StorageError, Table,
    TableDefinition, TableError, TransactionError, WriteTransaction,
};
use std::io;
use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// redb keeps this much of the file in memory; its default of a gibibyte is much for a component.
const CACHE_BYTES: usize = 128 << 20;

/// A record of redb holds less than 3.75 GiB, and its value less than 3 GiB.
const LIMITS: Limits = Limits { max_key_bytes: 512 << 20, max_value_bytes: 3 << 30, ..Limits::NONE };

type Records = ReadOnlyTable<&'static [u8], &'static [u8]>;

/// The two ends of a range.
type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// A handle on a database file; clones are further handles on the same one, also for other threads.
///
/// The file is closed, and the claim on its folder released, with the last of them. Commits are on the disk when they return.
pub struct RedbStore {
    shared: Arc<Shared>,
    open: Option<Open>,
}

struct Shared {
    // Closed first, then released.
    db: Database,
    claim: Owned,
    state: Mutex<State>,
}

/// A claim that is released when the database is closed.
struct Owned(Arc<Claim>);

impl Drop for Owned {
    fn drop(&mut self) {
        // Where this fails, the claim runs out.
        self.0.release().unwrap_or(());
    }
}

struct State {
    keyspaces: Vec<String>,
    revisions: Revisions,
    /// Why nothing more may be read or written.
    ended: Option<String>,
}

/// What a transaction sees and has declared.
struct Open {
    scope: Scope,
    witness: Vec<u64>,
    snapshot: ReadTransaction,
    /// The tables of the keyspaces, opened when they are needed.
    tables: Vec<(String, Option<Records>)>,
}

impl Clone for RedbStore {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), open: None }
    }
}

impl RedbStore {
    /// Opens the database of a folder, and makes it where there is none. `lease`: see [`crate::claim`].
    ///
    /// # Errors
    /// [`StoreError::Io`] where another process has the database open; [`StoreError::Corrupt`]; I/O errors.
    pub fn open(folder: &Path, lease: Duration) -> Result<Self, StoreError> {
        let claim = Owned(Arc::new(Claim::take(folder, lease).map_err(io_error)?));
        let db = open_database(&claim.0)?;
        claim.0.clean().map_err(io_error)?;
        let state = State { keyspaces: Vec::new(), revisions: Revisions::new(), ended: None };
        Ok(Self { shared: Arc::new(Shared { db, claim, state: Mutex::new(state) }), open: None })
    }

    fn table(&mut self, keyspace: Keyspace) -> Result<&Records, StoreError> {
        let open = self.open.as_mut().ok_or_else(no_transaction)?;
        let place = usize::try_from(keyspace.0).ok().and_then(|at| open.tables.get_mut(at));
        let (name, table) = place.ok_or_else(|| unknown(keyspace))?;
        match table {
            Some(table) => Ok(table),
            None => Ok(table.insert(open.snapshot.open_table(definition(name)).map_err(table_error)?)),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A thread that panicked held the lock only between whole steps.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails, now and for ever, where another process has taken the database over.
    fn confirm(&self, state: &mut State) -> Result<(), StoreError> {
        if state.ended.is_none() {
            self.claim.0.touch().map_err(io_error)?;
            if !self.claim.0.is_held().map_err(io_error)? {
                state.ended = Some("another process has taken the database over: open it again".into());
            }
        }
        state.ended.clone().map_or(Ok(()), |why| Err(StoreError::Io(why)))
    }

    /// Writes and syncs. Nothing is written unless the error says that the outcome is unknown.
    fn write(&self, ops: &[BatchOp<'_>], state: &mut State) -> Result<(), StoreError> {
        let mut write = self.db.begin_write().map_err(transaction_error)?;
        write.set_durability(Durability::Immediate).map_err(|error| StoreError::Io(error.to_string()))?;
        apply(&write, ops, &state.keyspaces)?;
        self.confirm(state)?;
        let outcome = write.commit().map_err(commit_error).and_then(|()| self.confirm(state));
        outcome.map_err(|error| {
            let why = error.to_string();
            state.ended = Some(format!("a commit before had an unknown outcome ({why}): open the database again"));
            StoreError::UnknownOutcome(why)
        })
    }
}

fn open_database(claim: &Arc<Claim>) -> Result<Database, StoreError> {
    let builder = || {
        let mut builder = Builder::new();
        builder.set_cache_size(CACHE_BYTES);
        builder
    };
    let path = match claim.database().map_err(io_error)? {
        Some(path) => path,
        None => {
            drop(builder().create(claim.draft()).map_err(database_error)?);
            claim.publish().map_err(io_error)?;
            claim.database().map_err(io_error)?.ok_or_else(|| StoreError::Io("the new database is gone".into()))?
        }
    };
    let repairing = Arc::clone(claim);
    let mut builder = builder();
    builder.set_repair_callback(move |repair| {
        if repairing.touch().is_err() {
            repair.abort();
        }
    });
    builder.open(path).map_err(database_error)
}

fn definition(name: &str) -> TableDefinition<'_, &'static [u8], &'static [u8]> {
    TableDefinition::new(name)
}

fn no_transaction() -> StoreError {
    StoreError::Io("no transaction is open".into())
}

fn unknown(keyspace: Keyspace) -> StoreError {
    StoreError::Io(format!("keyspace {} is not open", keyspace.0))
}

/// The bounds of a range; `None` where it is empty.
fn bounds(range: &KeyRange) -> Option<Bounds<'_>> {
    if range.is_empty(Order::Bytes) || range.end.as_deref() == Some(b"") {
        return None;
    }
    let start = range.start.as_slice();
    let first = if range.after_start { Bound::Excluded(start) } else { Bound::Included(start) };
    Some((first, range.end.as_deref().map_or(Bound::Unbounded, Bound::Excluded)))
}

impl Store for RedbStore {
    fn limits(&self) -> Limits {
        LIMITS
    }

    fn open_keyspace(&mut self, name: &str, order: Order) -> Result<Keyspace, StoreError> {
        if order != Order::Bytes {
            return Err(StoreError::UnsupportedOrder(order.name().to_owned()));
        }
        let mut state = self.shared.lock();
        let position = match state.keyspaces.iter().position(|other| other == name) {
            Some(position) => position,
            None => {
                self.shared.confirm(&mut state)?;
                let read = self.shared.db.begin_read().map_err(transaction_error)?;
                if let Err(TableError::TableDoesNotExist(_)) = read.open_table(definition(name)) {
                    let write = self.shared.db.begin_write().map_err(transaction_error)?;
                    write.open_table(definition(name)).map_err(table_error)?;
                    write.commit().map_err(commit_error)?;
                }
                state.keyspaces.push(name.to_owned());
                state.keyspaces.len() - 1
            }
        };
        let too_many = |_| StoreError::TooLarge { what: "the number of keyspaces".into(), limit: u64::from(u32::MAX) };
        u32::try_from(position).map(Keyspace).map_err(too_many)
    }

    fn order(&self, _keyspace: Keyspace) -> Order {
        Order::Bytes
    }

    fn begin(&mut self, scope: &Scope) -> Result<u64, StoreError> {
        if self.open.is_some() {
            return Err(StoreError::Io("a transaction is open already".into()));
        }
        let mut state = self.shared.lock();
        self.shared.confirm(&mut state)?;
        let snapshot = self.shared.db.begin_read().map_err(transaction_error)?;
        let tables = state.keyspaces.iter().map(|name| (name.clone(), None)).collect();
        self.open = Some(Open { scope: scope.clone(), witness: state.revisions.witness(scope), snapshot, tables });
        Ok(state.revisions.epoch())
    }

    fn get(&mut self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let value = self.table(keyspace)?.get(key).map_err(storage_error)?;
        Ok(value.map(|value| Bytes::copy_from_slice(value.value())))
    }

    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        let table = self.table(keyspace)?;
        let mut page = PageBuilder::new(limit);
        let Some(bounds) = bounds(range) else { return Ok(page.finish(false)) };
        let mut records = table.range::<&[u8]>(bounds).map_err(storage_error)?;
        loop {
            let record = match direction {
                Direction::Forward => records.next(),
                Direction::Reverse => records.next_back(),
            };
            let Some(record) = record else { return Ok(page.finish(false)) };
            let (key, value) = record.map_err(storage_error)?;
            if page.is_full() || !page.push(key.value(), value.value()) {
                return Ok(page.finish(true));
            }
        }
    }

    fn revisions(&mut self, keys: &[Bytes]) -> Result<Vec<u64>, StoreError> {
        let state = self.shared.lock();
        Ok(keys.iter().map(|key| state.revisions.revision(key)).collect())
    }

    fn commit(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        let Open { scope, witness, snapshot, tables } = self.open.take().ok_or_else(no_transaction)?;
        // The snapshot is let go first: the pages that only it needs can then be used again.
        drop((snapshot, tables));
        let ops = batch.ops_within(LIMITS)?;
        if scope == Scope::Read {
            return if ops.is_empty() { Ok(()) } else { Err(StoreError::ReadOnly) };
        }
        let mut state = self.shared.lock();
        if state.revisions.witness(&scope) != witness {
            return Err(StoreError::Conflict);
        }
        if !ops.is_empty() {
            self.shared.write(&ops, &mut state)?;
        }
        state.revisions.committed(&scope, changed);
        Ok(())
    }

    fn rollback(&mut self) {
        self.open = None;
    }
}

fn apply(write: &WriteTransaction, ops: &[BatchOp<'_>], keyspaces: &[String]) -> Result<(), StoreError> {
    let mut tables: Vec<Option<Table<'_, &[u8], &[u8]>>> = keyspaces.iter().map(|_| None).collect();
    for op in ops {
        let keyspace = op.keyspace();
        let position = usize::try_from(keyspace.0).unwrap_or(usize::MAX);
        let (Some(name), Some(table)) = (keyspaces.get(position), tables.get_mut(position)) else { return Err(unknown(keyspace)) };
        let table = match table {
            Some(table) => table,
            None => table.insert(write.open_table(definition(name)).map_err(table_error)?),
        };
        match *op {
            BatchOp::Put { key, value, .. } => drop(table.insert(key, value).map_err(storage_error)?),
            BatchOp::Delete { key, .. } => drop(table.remove(key).map_err(storage_error)?),
            BatchOp::DeleteRange { start, end, .. } => {
                let end = (!end.is_empty()).then(|| end.to_vec());
                let range = KeyRange { start: start.to_vec(), after_start: false, end };
                if let Some(bounds) = bounds(&range) {
                    table.retain_in::<&[u8], _>(bounds, |_, _| false).map_err(storage_error)?;
                }
            }
        }
    }
    Ok(())
}

fn io_error(error: io::Error) -> StoreError {
    StoreError::Io(error.to_string())
}

fn storage_error(error: StorageError) -> StoreError {
    match error {
        StorageError::Corrupted(what) => StoreError::Corrupt(what),
        StorageError::ValueTooLarge(bytes) => {
            StoreError::TooLarge { what: format!("a record of {bytes} bytes"), limit: LIMITS.max_value_bytes }
        }
        other => StoreError::Io(other.to_string()),
    }
}

fn database_error(error: DatabaseError) -> StoreError {
    match error {
        DatabaseError::Storage(error) => storage_error(error),
        other => StoreError::Io(other.to_string()),
    }
}

fn transaction_error(error: TransactionError) -> StoreError {
    match error {
        TransactionError::Storage(error) => storage_error(error),
        other => StoreError::Io(other.to_string()),
    }
}

fn table_error(error: TableError) -> StoreError {
    match error {
        TableError::Storage(error) => storage_error(error),
        other => StoreError::Corrupt(other.to_string()),
    }
}

fn commit_error(error: CommitError) -> StoreError {
    match error {
        CommitError::Storage(error) => storage_error(error),
        other => StoreError::Io(other.to_string()),
    }
}
