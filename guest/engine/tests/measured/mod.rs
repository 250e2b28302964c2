//! What commands cost: calls of the store, records read, records written.

use super::common::Client;
use bytes::Bytes;
use orbweaver_engine::store::{
    Batch, BatchOp, Direction, KeyRange, Keyspace, Limits, MemoryStore, Order, Page, PageLimit, Scope, Store, StoreError,
};
use std::cell::Cell;
use std::rc::Rc;

/// What passed between the engine and its store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub calls: usize,
    pub records_read: usize,
    pub puts: usize,
    pub deletes: usize,
    pub range_deletes: usize,
}

/// A store that counts.
struct Counting {
    inner: MemoryStore,
    cost: Rc<Cell<Cost>>,
}

impl Counting {
    fn count(&self, change: impl Fn(&mut Cost)) {
        let mut cost = self.cost.get();
        change(&mut cost);
        self.cost.set(cost);
    }
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
        self.count(|cost| cost.calls += 1);
        self.inner.begin(scope)
    }

    fn get(&mut self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.count(|cost| {
            cost.calls += 1;
            cost.records_read += 1;
        });
        self.inner.get(keyspace, key)
    }

    fn get_many(&mut self, keys: &[(Keyspace, Bytes)]) -> Result<Vec<Option<Bytes>>, StoreError> {
        self.count(|cost| {
            cost.calls += 1;
            cost.records_read += keys.len();
        });
        self.inner.get_many(keys)
    }

    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        let page = self.inner.scan(keyspace, range, direction, limit)?;
        self.count(|cost| {
            cost.calls += 1;
            cost.records_read += page.len();
        });
        Ok(page)
    }

    fn revisions(&mut self, keys: &[Bytes]) -> Result<Vec<u64>, StoreError> {
        self.count(|cost| cost.calls += 1);
        self.inner.revisions(keys)
    }

    fn commit(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        self.count(|cost| {
            cost.calls += 1;
            for op in batch.ops() {
                match op.unwrap() {
                    BatchOp::Put { .. } => cost.puts += 1,
                    BatchOp::Delete { .. } => cost.deletes += 1,
                    BatchOp::DeleteRange { .. } => cost.range_deletes += 1,
                }
            }
        });
        self.inner.commit(batch, changed)
    }

    fn rollback(&mut self) {
        self.inner.rollback();
    }
}

/// A client of an engine, and what it asks of its store.
pub struct Measured {
    pub client: Client,
    cost: Rc<Cell<Cost>>,
}

impl Measured {
    /// A client of an engine on `store`.
    pub fn on(store: MemoryStore) -> Self {
        let cost = Rc::new(Cell::new(Cost::default()));
        let mut client = Client::on_any(Box::new(Counting { inner: store, cost: Rc::clone(&cost) }));
        // What an engine reads once.
        client.run("RPUSH warm up");
        Self { client, cost }
    }

    /// What a command costs, with its reply.
    pub fn cost_of(&mut self, command: &str) -> (Cost, String) {
        self.cost.set(Cost::default());
        let reply = self.client.run(command);
        (self.cost.get(), reply)
    }
}
