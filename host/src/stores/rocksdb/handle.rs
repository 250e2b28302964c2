//! One conversation with the database: reads from the transaction's state, and its commit.

use super::reclaim::Deleted;
use super::{Db, Inner, LIMITS, Shared, options, read_error};
use crate::stores::locks::Held;
use bytes::Bytes;
use orbweaver_engine::store::{
    Batch, BatchOp, Direction, KeyRange, Keyspace, Limits, Order, Page, PageBuilder, PageLimit, Scope, Store, StoreError, prefix_end,
};
use rocksdb::{BoundColumnFamily, ReadOptions, SnapshotWithThreadMode, WriteBatch};
use self_cell::self_cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A handle on a [`super::RocksStore`], for one thread at a time. Dropping it rolls its transaction back.
pub struct RocksHandle {
    // Dropped first: its locks are released while the store is there for sure.
    open: Option<Open>,
    session: Session,
}

/// The open transaction.
struct Open {
    kind: Kind,
    held: Held,
    /// The last commit when the state was taken.
    last: u64,
    /// How many commits had started when the state was taken. A state without a snapshot ends with the next one.
    started: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Keys,
    Exclusive,
}

self_cell!(
    struct Session {
        owner: Arc<Inner>,
        #[covariant]
        dependent: State,
    }
);

/// What a handle borrows from the database.
struct State<'db> {
    shared: &'db Shared,
    keyspaces: Vec<OpenKeyspace<'db>>,
    snapshot: Option<SnapshotWithThreadMode<'db, Db>>,
}

struct OpenKeyspace<'db> {
    name: String,
    order: Order,
    cf: Arc<BoundColumnFamily<'db>>,
    filter_prefix: Option<usize>,
}

impl<'db> State<'db> {
    fn keyspace(&self, keyspace: Keyspace) -> Result<&OpenKeyspace<'db>, StoreError> {
        let position = usize::try_from(keyspace.0).ok();
        position.and_then(|at| self.keyspaces.get(at)).ok_or_else(|| StoreError::Io(format!("keyspace {} is not open", keyspace.0)))
    }

    fn open_keyspace(&mut self, name: &str, order: Order) -> Result<Keyspace, StoreError> {
        let position = match self.keyspaces.iter().position(|open| open.name == name && open.order == order) {
            Some(position) => position,
            None => {
                let cf = find_or_create(self.shared, name, order)?;
                self.keyspaces.push(OpenKeyspace { name: name.into(), order, cf, filter_prefix: options::filter_prefix(name) });
                self.keyspaces.len() - 1
            }
        };
        u32::try_from(position).map(Keyspace).map_err(|_| StoreError::Io("too many keyspaces".into()))
    }

    /// Options for reading the transaction's state.
    fn read_options(&self) -> ReadOptions {
        let mut read = ReadOptions::default();
        if let Some(snapshot) = &self.snapshot {
            read.set_snapshot(snapshot);
        }
        read
    }

    fn get(&self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let cf = &self.keyspace(keyspace)?.cf;
        let value = self.shared.db.get_pinned_cf_opt(cf, key, &self.read_options()).map_err(|error| read_error(&error))?;
        Ok(value.map(|value| Bytes::copy_from_slice(&value)))
    }

    /// One batched read for each keyspace that occurs among the keys.
    fn get_many(&self, keys: &[(Keyspace, Bytes)]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let mut values = vec![None; keys.len()];
        let mut names: Vec<Keyspace> = keys.iter().map(|(keyspace, _)| *keyspace).collect();
        names.sort_unstable();
        names.dedup();
        let read = self.read_options();
        for name in names {
            let cf = &self.keyspace(name)?.cf;
            let wanted = || keys.iter().zip(0..).filter(|((keyspace, _), _)| *keyspace == name);
            let got = self.shared.db.batched_multi_get_cf_opt(cf, wanted().map(|((_, key), _)| key.as_ref()), false, &read);
            for ((_, position), value) in wanted().zip(got) {
                let value = value.map_err(|error| read_error(&error))?;
                if let Some(slot) = values.get_mut::<usize>(position) {
                    *slot = value.map(|value| Bytes::copy_from_slice(&value));
                }
            }
        }
        Ok(values)
    }

    fn scan(&self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        let keyspace = self.keyspace(keyspace)?;
        let mut page = PageBuilder::new(limit);
        let mut first = range.start.clone();
        if range.after_start && keyspace.order == Order::Bytes {
            // The smallest key behind another one. The other orders have no such thing: there the first key is passed over.
            first.push(0);
        }
        if range.end.as_ref().is_some_and(|end| !first.is_empty() && keyspace.order.compare(end, &first).is_le()) {
            return Ok(page.finish(false));
        }
        let mut read = self.read_options();
        read.set_total_order_seek(direction == Direction::Reverse || !within_prefix(&first, range.end.as_deref(), keyspace.filter_prefix));
        // Both bounds: tombstones outside of the range are not walked over.
        if !first.is_empty() {
            read.set_iterate_lower_bound(first.as_slice());
        }
        if let Some(end) = &range.end {
            read.set_iterate_upper_bound(end.as_slice());
        }
        let mut records = self.shared.db.raw_iterator_cf_opt(&keyspace.cf, read);
        match direction {
            Direction::Forward if first.is_empty() => records.seek_to_first(),
            Direction::Forward => records.seek(&first),
            Direction::Reverse => records.seek_to_last(),
        }
        let is_passed =
            |key: &[u8]| range.after_start && keyspace.order != Order::Bytes && keyspace.order.compare(key, &range.start).is_eq();
        while let Some((key, value)) = records.item() {
            if is_passed(key) {
                match direction {
                    Direction::Forward => records.next(),
                    Direction::Reverse => break,
                }
                continue;
            }
            if page.is_full() || !page.push(key, value) {
                return Ok(page.finish(true));
            }
            match direction {
                Direction::Forward => records.next(),
                Direction::Reverse => records.prev(),
            }
        }
        records.status().map_err(|error| read_error(&error))?;
        Ok(page.finish(false))
    }

    /// The batch in RocksDB's form, and the ranges that it deletes.
    fn write_batch(&self, batch: &Batch) -> Result<(WriteBatch, Vec<Deleted>), StoreError> {
        check_limit("a batch", "operations", batch.len(), LIMITS.max_batch_ops)?;
        check_limit("a batch", "bytes", length(batch.as_bytes()), LIMITS.max_batch_bytes)?;
        let mut out = WriteBatch::default();
        let mut deleted = Vec::new();
        for op in batch.ops() {
            let op = op?;
            let keyspace = self.keyspace(op.keyspace())?;
            match op {
                BatchOp::Put { key, value, .. } => {
                    check_key(key)?;
                    check_limit("a value", "bytes", length(value), LIMITS.max_value_bytes)?;
                    out.put_cf(&keyspace.cf, key, value);
                }
                BatchOp::Delete { key, .. } => {
                    check_key(key)?;
                    out.delete_cf(&keyspace.cf, key);
                }
                BatchOp::DeleteRange { keyspace: number, start, end } => {
                    let end = if end.is_empty() { self.behind_the_last(keyspace, number, batch)? } else { end.to_vec() };
                    // RocksDB refuses ranges that end before they start.
                    if start.is_empty() || keyspace.order.compare(start, &end).is_lt() {
                        out.delete_range_cf(&keyspace.cf, start, &end);
                        deleted.push(Deleted { keyspace: keyspace.name.clone(), start: start.to_vec(), end });
                    }
                }
            }
        }
        Ok((out, deleted))
    }

    /// A key behind every key of the keyspace, and of what the batch puts into it: RocksDB's ranges need an end.
    fn behind_the_last(&self, keyspace: &OpenKeyspace<'_>, number: Keyspace, batch: &Batch) -> Result<Vec<u8>, StoreError> {
        if keyspace.order != Order::Bytes {
            let name = keyspace.order.name();
            return Err(StoreError::UnsupportedOrder(format!("a range in the order {name} needs an end to be deleted")));
        }
        let mut read = ReadOptions::default();
        read.set_total_order_seek(true);
        let mut records = self.shared.db.raw_iterator_cf_opt(&keyspace.cf, read);
        records.seek_to_last();
        records.status().map_err(|error| read_error(&error))?;
        let mut last = records.key().unwrap_or_default().to_vec();
        for op in batch.ops() {
            match op? {
                BatchOp::Put { keyspace, key, .. } if keyspace == number && key > last.as_slice() => last = key.to_vec(),
                _ => {}
            }
        }
        last.push(0);
        Ok(last)
    }

    fn write(&self, open: &Open, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        if open.kind == Kind::Read {
            return if batch.is_empty() { Ok(()) } else { Err(StoreError::ReadOnly) };
        }
        self.shared.check_poison()?;
        let (write_batch, deleted) = self.write_batch(batch)?;
        let (shared, exclusive) = (self.shared, open.kind == Kind::Exclusive);
        let publishing = exclusive.then(|| shared.publishing.write());
        shared.revisions.start();
        let written = if batch.is_empty() { Ok(()) } else { shared.db.write_opt(write_batch, &shared.write_options()) };
        // Also after an error: the batch may have been written.
        shared.revisions.finish(open.held.stripes(changed), exclusive);
        drop(publishing);
        written.map_err(|error| shared.poison(&error))?;
        shared.deleted.add(deleted);
        Ok(())
    }
}

/// Whether every key of the range begins with the same bytes, as many as the filters know.
fn within_prefix(first: &[u8], end: Option<&[u8]>, filter_prefix: Option<usize>) -> bool {
    let prefix = filter_prefix.and_then(|length| first.get(..length));
    let behind = prefix.and_then(prefix_end);
    matches!((end, behind), (Some(end), Some(behind)) if end <= behind.as_slice())
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

fn check_key(key: &[u8]) -> Result<(), StoreError> {
    if key.is_empty() {
        return Err(StoreError::Io("the empty key is not allowed".into()));
    }
    check_limit("a key", "bytes", length(key), LIMITS.max_key_bytes)
}

fn check_limit(what: &str, unit: &str, size: u64, limit: u64) -> Result<(), StoreError> {
    if size <= limit { Ok(()) } else { Err(StoreError::TooLarge { what: format!("{what} of {size} {unit}"), limit }) }
}

fn find_or_create<'db>(shared: &'db Shared, name: &str, order: Order) -> Result<Arc<BoundColumnFamily<'db>>, StoreError> {
    let mut orders = shared.orders.lock();
    if let Some(cf) = shared.db.cf_handle(name) {
        let existing = orders.get(name).copied().unwrap_or(Order::Bytes);
        let other = || StoreError::UnsupportedOrder(format!("keyspace {name} is ordered as {}, not as {}", existing.name(), order.name()));
        return if existing == order { Ok(cf) } else { Err(other()) };
    }
    let missing = || StoreError::Io(format!("there is no keyspace {name} in {}", shared.path.display()));
    if shared.options.read_only {
        return Err(missing());
    }
    let options = options::keyspace(name, order, &shared.options, &shared.cache);
    shared.db.create_cf(name, &options).map_err(|error| StoreError::Io(error.to_string()))?;
    shared.created.lock().push(options);
    orders.insert(name.to_owned(), order);
    shared.db.cf_handle(name).ok_or_else(missing)
}

fn no_transaction() -> StoreError {
    StoreError::Io("no transaction is open".into())
}

impl RocksHandle {
    pub(super) fn new(store: Arc<Inner>) -> Self {
        store.shared.handles.fetch_add(1, Ordering::SeqCst);
        let session = Session::new(store, |store| State { shared: &store.shared, keyspaces: Vec::new(), snapshot: None });
        Self { open: None, session }
    }

    /// Takes the state that the transaction reads, and returns the epoch.
    fn take_state(&mut self, kind: Kind, held: Held) -> u64 {
        self.session.with_dependent_mut(|_, state| {
            let shared = state.shared;
            // Before the handles are counted: a commit of a handle that comes later is noticed.
            let started = shared.revisions.started();
            // Nobody else commits beside an exclusive transaction, or beside the only handle.
            let alone = kind == Kind::Exclusive || shared.handles.load(Ordering::SeqCst) == 1;
            let _publishing = (!alone).then(|| shared.publishing.read());
            let (last, epoch) = (shared.revisions.last(), shared.revisions.epoch());
            state.snapshot = (!alone).then(|| shared.db.snapshot());
            self.open = Some(Open { kind, held, last, started });
            epoch
        })
    }

    /// Reads from the state of the open transaction.
    fn read<T>(&self, read: impl FnOnce(&State<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let open = self.open.as_ref().ok_or_else(no_transaction)?;
        let state = self.session.borrow_dependent();
        let outcome = read(state)?;
        if state.snapshot.is_none() && state.shared.revisions.started() != open.started {
            return Err(StoreError::Expired);
        }
        Ok(outcome)
    }
}

impl Drop for RocksHandle {
    fn drop(&mut self) {
        self.rollback();
        self.session.borrow_owner().shared.handles.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Store for RocksHandle {
    fn limits(&self) -> Limits {
        Limits { read_only: self.session.borrow_owner().shared.options.read_only, ..LIMITS }
    }

    fn open_keyspace(&mut self, name: &str, order: Order) -> Result<Keyspace, StoreError> {
        self.session.with_dependent_mut(|_, state| state.open_keyspace(name, order))
    }

    fn order(&self, keyspace: Keyspace) -> Order {
        self.session.borrow_dependent().keyspace(keyspace).map_or(Order::Bytes, |keyspace| keyspace.order)
    }

    fn begin(&mut self, scope: &Scope) -> Result<u64, StoreError> {
        if self.open.is_some() {
            return Err(StoreError::Io("a transaction is open already".into()));
        }
        let kind = match scope {
            Scope::Read => Kind::Read,
            Scope::Keys(_) => Kind::Keys,
            Scope::Exclusive => Kind::Exclusive,
        };
        let shared = &self.session.borrow_owner().shared;
        if kind != Kind::Read && shared.options.read_only {
            return Err(StoreError::ReadOnly);
        }
        let held = shared.locks.acquire(scope);
        Ok(self.take_state(kind, held))
    }

    fn get(&mut self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.read(|state| state.get(keyspace, key))
    }

    fn get_many(&mut self, keys: &[(Keyspace, Bytes)]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.read(|state| state.get_many(keys))
    }

    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        self.read(|state| state.scan(keyspace, range, direction, limit))
    }

    fn revisions(&mut self, keys: &[Bytes]) -> Result<Vec<u64>, StoreError> {
        let shared = &self.session.borrow_owner().shared;
        let last = self.open.as_ref().map_or(u64::MAX, |open| open.last);
        Ok(keys.iter().map(|key| shared.revisions.revision(shared.locks.stripe(key), last)).collect())
    }

    fn commit(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        let open = self.open.take().ok_or_else(no_transaction)?;
        self.session.with_dependent_mut(|_, state| {
            state.snapshot = None;
            state.write(&open, batch, changed)
        })
    }

    fn rollback(&mut self) {
        self.open = None;
        self.session.with_dependent_mut(|_, state| state.snapshot = None);
    }
}
