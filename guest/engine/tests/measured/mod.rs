//! What commands cost: calls of the store, records read, records written, and what the engine does for them itself.
#![allow(dead_code, reason = "every test file uses a part of it")]

pub mod workload;

use super::common::Client;
use bytes::Bytes;
use orbweaver_engine::store::{
    Batch, BatchOp, Direction, KeyRange, Keyspace, Limits, MemoryStore, Order, Page, PageLimit, Scope, Store, StoreError,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region};
use std::cell::Cell;
use std::rc::Rc;
use workload::Operation;

/// What passed between the engine and its store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Each of them crosses the boundary where the engine is a component.
    pub calls: usize,
    /// Calls that read records: each of them is a round trip where the store is behind a network.
    pub reads: usize,
    /// Calls that write: another one.
    pub commits: usize,
    pub records_read: usize,
    pub puts: usize,
    pub deletes: usize,
    pub range_deletes: usize,
}

/// What is counted while something is measured.
#[derive(Clone, Copy, Default)]
struct Tally {
    cost: Cost,
    /// Allocations within the store: not the engine's. 0 where the process does not count them.
    store_allocations: usize,
}

/// A store that counts.
struct Counting {
    inner: MemoryStore,
    /// `None` while nothing is measured.
    tally: Rc<Cell<Option<Tally>>>,
}

impl Counting {
    fn count(&self, change: impl FnOnce(&mut Cost)) {
        if let Some(mut tally) = self.tally.get() {
            change(&mut tally.cost);
            self.tally.set(Some(tally));
        }
    }

    /// Calls the store.
    fn call<T>(&mut self, call: impl FnOnce(&mut MemoryStore) -> T) -> T {
        let Some(mut tally) = self.tally.get() else { return call(&mut self.inner) };
        let region = Region::new(&INSTRUMENTED_SYSTEM);
        let outcome = in_the_store(|| call(&mut self.inner));
        tally.cost.calls += 1;
        tally.store_allocations += allocations(&region);
        self.tally.set(Some(tally));
        outcome
    }
}

fn allocations(region: &Region<'_, std::alloc::System>) -> usize {
    let change = region.change();
    change.allocations + change.reallocations
}

/// A function of its own, so that callgrind can leave out what runs in it.
#[inline(never)]
fn in_the_store<T>(call: impl FnOnce() -> T) -> T {
    std::hint::black_box(call())
}

impl Store for Counting {
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
        self.count(|cost| {
            cost.reads += 1;
            cost.records_read += 1;
        });
        self.call(|store| store.get(keyspace, key))
    }

    fn get_many(&mut self, keys: &[(Keyspace, Bytes)]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.count(|cost| {
            cost.reads += 1;
            cost.records_read += keys.len();
        });
        self.call(|store| store.get_many(keys))
    }

    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        let page = self.call(|store| store.scan(keyspace, range, direction, limit))?;
        self.count(|cost| {
            cost.reads += 1;
            cost.records_read += page.len();
        });
        Ok(page)
    }

    fn revisions(&mut self, keys: &[Bytes]) -> Result<Vec<u64>, StoreError> {
        self.count(|cost| cost.reads += 1);
        self.call(|store| store.revisions(keys))
    }

    fn commit(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        self.count(|cost| {
            cost.commits += 1;
            for op in batch.ops() {
                match op.unwrap() {
                    BatchOp::Put { .. } => cost.puts += 1,
                    BatchOp::Delete { .. } => cost.deletes += 1,
                    BatchOp::DeleteRange { .. } => cost.range_deletes += 1,
                }
            }
        });
        self.call(|store| store.commit(batch, changed))
    }

    fn rollback(&mut self) {
        self.call(MemoryStore::rollback);
    }
}

/// A client of an engine, and what it asks of its store.
pub struct Measured {
    pub client: Client,
    tally: Rc<Cell<Option<Tally>>>,
}

impl Measured {
    /// A client of an engine on `store`.
    pub fn on(store: MemoryStore) -> Self {
        let tally = Rc::default();
        let mut client = Client::on_any(Box::new(Counting { inner: store, tally: Rc::clone(&tally) }));
        // What an engine reads once.
        client.run("RPUSH warm up");
        Self { client, tally }
    }

    /// What a command costs, with its reply.
    pub fn cost_of(&mut self, command: &str) -> (Cost, String) {
        self.tally.set(Some(Tally::default()));
        let reply = self.client.run_bytes(command);
        (self.take().cost, String::from_utf8_lossy(&reply).trim_end().replace("\r\n", " "))
    }

    /// What `pipeline` requests of an operation in one call cost, and how often the engine allocates for them.
    pub fn cost_of_many(&mut self, operation: Operation, first: usize, pipeline: usize) -> (Cost, usize) {
        let requests = operation.requests(first, pipeline);
        self.tally.set(Some(Tally::default()));
        let region = Region::new(&INSTRUMENTED_SYSTEM);
        let output = in_the_engine(|| self.client.exchange(requests));
        let all = allocations(&region);
        assert!(output.first().is_some_and(|&byte| byte != b'-'), "{operation:?}: {}", output.escape_ascii());
        let Tally { cost, store_allocations } = self.take();
        (cost, all - store_allocations)
    }

    fn take(&self) -> Tally {
        self.tally.take().unwrap()
    }
}

/// A function of its own, so that callgrind can count what runs in it.
#[inline(never)]
fn in_the_engine<T>(call: impl FnOnce() -> T) -> T {
    std::hint::black_box(call())
}
