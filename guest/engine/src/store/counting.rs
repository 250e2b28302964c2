//! A store that counts what is asked of it, around any other store: costs that no clock shows and no busy machine changes.

use super::{Batch, BatchOp, Direction, KeyRange, Keyspace, Limits, Order, Page, PageLimit, Scope, Store, StoreError, Values};
use bytes::Bytes;
use std::cell::Cell;
use std::rc::Rc;

/// What passed between an engine and its store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Each of them crosses the boundary where the engine is a component.
    pub calls: usize,
    /// Calls that read records or revisions: each of them is a round trip where the store is behind a network.
    pub reads: usize,
    /// Calls that write: another one.
    pub commits: usize,
    /// Records asked for by key, there or not, and records in pages of scans.
    pub records_read: usize,
    /// Records stored.
    pub puts: usize,
    /// Records removed one by one.
    pub deletes: usize,
    /// Ranges removed.
    pub range_deletes: usize,
}

/// What a [`Counting`] store has counted. Clones read the same counts.
#[derive(Clone, Debug, Default)]
pub struct Counter(Rc<Cell<Cost>>);

impl Counter {
    /// What was counted since the last call, or since the beginning.
    #[must_use]
    pub fn take(&self) -> Cost {
        self.0.take()
    }

    fn add(&self, change: impl FnOnce(&mut Cost)) {
        let mut cost = self.0.get();
        change(&mut cost);
        self.0.set(cost);
    }
}

/// What happens around each counted call of a store: `()` for nothing.
pub trait Around {
    /// Makes the call.
    fn call<T>(&self, call: impl FnOnce() -> T) -> T;
}

impl Around for () {
    fn call<T>(&self, call: impl FnOnce() -> T) -> T {
        call()
    }
}

/// Passes every call on to `inner`, and counts those of transactions.
#[derive(Debug)]
pub struct Counting<S, A = ()> {
    inner: S,
    counter: Counter,
    around: A,
}

impl<S: Store, A: Around> Counting<S, A> {
    /// A store that tells `counter`, and makes its calls within `around`.
    pub fn new(inner: S, counter: Counter, around: A) -> Self {
        Self { inner, counter, around }
    }

    fn call<T>(&mut self, call: impl FnOnce(&mut S) -> T) -> T {
        self.counter.add(|cost| cost.calls += 1);
        self.around.call(|| call(&mut self.inner))
    }
}

impl<S: Store, A: Around> Store for Counting<S, A> {
    fn limits(&self) -> Limits {
        self.inner.limits()
    }

    fn open_keyspace(&mut self, name: &str, order: Order) -> Result<Keyspace, StoreError> {
        self.inner.open_keyspace(name, order)
    }

    fn order(&self, keyspace: Keyspace) -> Order {
        self.inner.order(keyspace)
    }

    fn begin(&mut self, scope: &Scope) -> Result<u64, StoreError> {
        self.call(|store| store.begin(scope))
    }

    fn get(&mut self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.counter.add(|cost| {
            cost.reads += 1;
            cost.records_read += 1;
        });
        self.call(|store| store.get(keyspace, key))
    }

    fn get_many(&mut self, keys: &[(Keyspace, &[u8])]) -> Result<Values, StoreError> {
        self.counter.add(|cost| {
            cost.reads += 1;
            cost.records_read += keys.len();
        });
        self.call(|store| store.get_many(keys))
    }

    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        let page = self.call(|store| store.scan(keyspace, range, direction, limit))?;
        self.counter.add(|cost| {
            cost.reads += 1;
            cost.records_read += page.len();
        });
        Ok(page)
    }

    fn revisions(&mut self, keys: &[Bytes]) -> Result<Vec<u64>, StoreError> {
        self.counter.add(|cost| cost.reads += 1);
        self.call(|store| store.revisions(keys))
    }

    fn commit(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        self.counter.add(|cost| {
            cost.commits += 1;
            for op in batch.ops().flatten() {
                match op {
                    BatchOp::Put { .. } => cost.puts += 1,
                    BatchOp::Delete { .. } => cost.deletes += 1,
                    BatchOp::DeleteRange { .. } => cost.range_deletes += 1,
                }
            }
        });
        self.call(|store| store.commit(batch, changed))
    }

    fn rollback(&mut self) {
        self.call(S::rollback);
    }
}
