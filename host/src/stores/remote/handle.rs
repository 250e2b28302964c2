//! A handle of a store behind a network: counts what becomes of transactions, and writes nothing while the clock is wrong.

use super::clock::Verdict;
use bytes::Bytes;
use orbweaver_engine::store::{Batch, Direction, KeyRange, Keyspace, Limits, Order, Page, PageLimit, Scope, Store, StoreError, Values};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What has become of the transactions of all handles.
#[derive(Debug, Default)]
pub struct Counters {
    transactions: AtomicU64,
    commits: AtomicU64,
    conflicts: AtomicU64,
    unknown_outcomes: AtomicU64,
}

impl Counters {
    /// Names and numbers, for INFO.
    pub fn list(&self) -> [(&'static str, u64); 4] {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [
            ("store_transactions", read(&self.transactions)),
            ("store_commits", read(&self.commits)),
            ("store_conflicts", read(&self.conflicts)),
            ("store_unknown_outcomes", read(&self.unknown_outcomes)),
        ]
    }

    fn count<T>(&self, outcome: &Result<T, StoreError>, success: &AtomicU64) {
        let counter = match outcome {
            Ok(_) => success,
            Err(StoreError::Conflict | StoreError::Expired) => &self.conflicts,
            Err(StoreError::UnknownOutcome(_)) => &self.unknown_outcomes,
            Err(_) => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// A handle around one of the store's own.
pub struct RemoteHandle {
    pub(super) inner: Box<dyn Store + Send>,
    pub(super) counters: Arc<Counters>,
    pub(super) verdict: Arc<Verdict>,
    pub(super) read_only: bool,
}

impl Store for RemoteHandle {
    fn limits(&self) -> Limits {
        let limits = self.inner.limits();
        Limits { read_only: limits.read_only || self.read_only, ..limits }
    }

    fn open_keyspace(&mut self, name: &str, order: Order) -> Result<Keyspace, StoreError> {
        self.inner.open_keyspace(name, order)
    }

    fn order(&self, keyspace: Keyspace) -> Order {
        self.inner.order(keyspace)
    }

    fn begin(&mut self, scope: &Scope) -> Result<u64, StoreError> {
        if *scope != Scope::Read {
            if self.read_only {
                return Err(StoreError::ReadOnly);
            }
            self.verdict.check()?;
        }
        let begun = self.inner.begin(scope);
        self.counters.count(&begun, &self.counters.transactions);
        begun
    }

    fn get(&mut self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(keyspace, key)
    }

    fn get_many(&mut self, keys: &[(Keyspace, &[u8])]) -> Result<Values, StoreError> {
        self.inner.get_many(keys)
    }

    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        self.inner.scan(keyspace, range, direction, limit)
    }

    fn revisions(&mut self, keys: &[Bytes]) -> Result<Vec<u64>, StoreError> {
        self.inner.revisions(keys)
    }

    fn commit(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        let committed = self.inner.commit(batch, changed);
        self.counters.count(&committed, &self.counters.commits);
        committed
    }

    fn rollback(&mut self) {
        self.inner.rollback();
    }
}
