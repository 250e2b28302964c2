//! A store in memory: for tests, caches and hosts without a disk.

use super::{
    Batch, BatchOp, Direction, KeyRange, Keyspace, Limits, Order, Page, PageBuilder, PageLimit, Revisions, Scope, Store, StoreError,
};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Sort key -> (key, value). The two keys are the same bytes in byte order.
type Records = BTreeMap<Vec<u8>, (Bytes, Bytes)>;

/// The two ends of a range, as sort keys.
type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

#[derive(Clone)]
struct Partition {
    name: String,
    order: Order,
    records: Arc<Records>,
}

struct Shared {
    partitions: Vec<Partition>,
    revisions: Revisions,
}

/// What a transaction sees and has declared.
struct Open {
    scope: Scope,
    partitions: Vec<Partition>,
    witness: Vec<u64>,
}

/// A handle on a store in memory; clones are further handles on the same store, also for other threads.
///
/// Transactions work on a snapshot and are checked when they commit: what collides gets [`StoreError::Conflict`].
pub struct MemoryStore {
    shared: Arc<Mutex<Shared>>,
    open: Option<Open>,
    limits: Limits,
}

impl Clone for MemoryStore {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), open: None, limits: self.limits }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limits(Limits::NONE)
    }

    /// Another handle on the same store, which refuses what is above `limits`.
    #[must_use]
    pub fn limited(&self, limits: Limits) -> Self {
        Self { limits, ..self.clone() }
    }

    /// An empty store that refuses what is above `limits`: how tests play a store that holds less than memory does.
    #[must_use]
    pub fn with_limits(limits: Limits) -> Self {
        let shared = Shared { partitions: Vec::new(), revisions: Revisions::new() };
        Self { shared: Arc::new(Mutex::new(shared)), open: None, limits }
    }

    /// The names and records of all keyspaces, in their orders: what tests compare.
    #[must_use]
    pub fn contents(&self) -> Vec<(String, Vec<(Bytes, Bytes)>)> {
        let shared = self.lock();
        shared.partitions.iter().map(|partition| (partition.name.clone(), partition.records.values().cloned().collect())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // A thread that panicked held the lock only between whole steps.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn partition(&self, keyspace: Keyspace) -> Result<&Partition, StoreError> {
        let open = self.open.as_ref().ok_or_else(no_transaction)?;
        find(&open.partitions, keyspace)
    }
}

fn no_transaction() -> StoreError {
    StoreError::Io("no transaction is open".into())
}

fn find(partitions: &[Partition], keyspace: Keyspace) -> Result<&Partition, StoreError> {
    let position = usize::try_from(keyspace.0).ok();
    position.and_then(|at| partitions.get(at)).ok_or_else(|| StoreError::Io(format!("keyspace {} is not open", keyspace.0)))
}

/// The bounds of a range as sort keys; `None` where it is empty.
fn bounds(order: Order, range: &KeyRange) -> Option<Bounds> {
    let start = match (range.start.as_slice(), range.after_start) {
        ([], false) => Bound::Unbounded,
        (start, true) => Bound::Excluded(order.sort_key(start).into_owned()),
        (start, false) => Bound::Included(order.sort_key(start).into_owned()),
    };
    let end = match &range.end {
        None => Bound::Unbounded,
        Some(end) => Bound::Excluded(order.sort_key(end).into_owned()),
    };
    match (&start, &end) {
        (Bound::Included(from) | Bound::Excluded(from), Bound::Excluded(to)) if from >= to => None,
        _ => Some((start, end)),
    }
}

impl Store for MemoryStore {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn open_keyspace(&mut self, name: &str, order: Order) -> Result<Keyspace, StoreError> {
        let mut shared = self.lock();
        let position = match shared.partitions.iter().position(|partition| partition.name == name) {
            Some(position) => position,
            None => {
                shared.partitions.push(Partition { name: name.to_owned(), order, records: Arc::default() });
                shared.partitions.len() - 1
            }
        };
        match shared.partitions.get(position) {
            Some(partition) if partition.order == order => u32::try_from(position)
                .map(Keyspace)
                .map_err(|_| StoreError::TooLarge { what: "the number of keyspaces".into(), limit: u64::from(u32::MAX) }),
            _ => Err(StoreError::UnsupportedOrder(format!("keyspace {name} exists with another order than {}", order.name()))),
        }
    }

    fn order(&self, keyspace: Keyspace) -> Order {
        self.partition(keyspace).map_or(Order::Bytes, |partition| partition.order)
    }

    fn begin(&mut self, scope: &Scope) -> Result<u64, StoreError> {
        if self.open.is_some() {
            return Err(StoreError::Io("a transaction is open already".into()));
        }
        if self.limits.read_only && *scope != Scope::Read {
            return Err(StoreError::ReadOnly);
        }
        let shared = self.lock();
        let open = Open { scope: scope.clone(), partitions: shared.partitions.clone(), witness: shared.revisions.witness(scope) };
        let epoch = shared.revisions.epoch();
        drop(shared);
        self.open = Some(open);
        Ok(epoch)
    }

    fn get(&mut self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let partition = self.partition(keyspace)?;
        Ok(partition.records.get(partition.order.sort_key(key).as_ref()).map(|(_, value)| value.clone()))
    }

    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        let partition = self.partition(keyspace)?;
        let mut page = PageBuilder::new(limit);
        let Some(bounds) = bounds(partition.order, range) else { return Ok(page.finish(false)) };
        let records = partition.records.range(bounds).map(|(_, record)| record);
        let mut fill = |records: &mut dyn Iterator<Item = &(Bytes, Bytes)>| {
            for (key, value) in records {
                if page.is_full() || !page.push(key, value) {
                    return true;
                }
            }
            false
        };
        let more = match direction {
            Direction::Forward => fill(&mut records.into_iter()),
            Direction::Reverse => fill(&mut records.rev()),
        };
        Ok(page.finish(more))
    }

    fn revisions(&mut self, keys: &[Bytes]) -> Result<Vec<u64>, StoreError> {
        let shared = self.lock();
        Ok(keys.iter().map(|key| shared.revisions.revision(key)).collect())
    }

    fn commit(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        let open = self.open.take().ok_or_else(no_transaction)?;
        // The snapshot is let go first: records that nobody else looks at are then changed in place, not copied.
        drop(open.partitions);
        let ops = batch.ops_within(self.limits)?;

        let mut shared = self.lock();
        if open.scope == Scope::Read {
            return if batch.is_empty() { Ok(()) } else { Err(StoreError::ReadOnly) };
        }
        if shared.revisions.witness(&open.scope) != open.witness {
            return Err(StoreError::Conflict);
        }
        for op in &ops {
            find(&shared.partitions, op.keyspace())?;
        }
        for op in ops {
            apply(&mut shared.partitions, &op);
        }
        shared.revisions.committed(&open.scope, changed);
        Ok(())
    }

    fn rollback(&mut self) {
        self.open = None;
    }

    fn begins_reads_for_nothing(&self) -> bool {
        true
    }
}

fn apply(partitions: &mut [Partition], op: &BatchOp<'_>) {
    let position = usize::try_from(op.keyspace().0).ok();
    let Some(partition) = position.and_then(|at| partitions.get_mut(at)) else { return };
    let order = partition.order;
    let records = Arc::make_mut(&mut partition.records);
    match *op {
        BatchOp::Put { key, value, .. } => {
            let record = (Bytes::copy_from_slice(key), Bytes::copy_from_slice(value));
            records.insert(order.sort_key(key).into_owned(), record);
        }
        BatchOp::Delete { key, .. } => {
            records.remove(order.sort_key(key).as_ref());
        }
        BatchOp::DeleteRange { start, end, .. } => {
            let end = (!end.is_empty()).then(|| end.to_vec());
            let range = KeyRange { start: start.to_vec(), after_start: false, end };
            if let Some(bounds) = bounds(order, &range) {
                let doomed: Vec<_> = records.range(bounds).map(|(key, _)| key.clone()).collect();
                for key in doomed {
                    records.remove(&key);
                }
            }
        }
    }
}
