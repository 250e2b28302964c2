//! A store that fails on demand, around any other store: how tests prove that a failure loses nothing and tears nothing. It refuses batches that name a
//! key twice, which stores need not take.

use super::{Batch, Direction, KeyRange, Keyspace, Limits, Order, Page, PageLimit, Scope, Store, StoreError, Values};
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the next failure is, and when. Clones steer the same store.
#[derive(Clone, Debug, Default)]
pub struct FaultPlan {
    calls: Arc<AtomicU64>,
    fail_at: Arc<AtomicU64>,
}

impl FaultPlan {
    /// Fails the call with this number, counted from 1 from now on, once; 0 for never.
    pub fn fail_at(&self, call: u64) {
        self.calls.store(0, Ordering::SeqCst);
        self.fail_at.store(call, Ordering::SeqCst);
    }

    /// How many calls that can fail have been made since [`FaultPlan::fail_at`].
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    fn strike(&self) -> bool {
        let call = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        call == self.fail_at.load(Ordering::SeqCst)
    }
}

/// Passes every call on to `inner`, except for the one that its [`FaultPlan`] names, which fails with `error` instead.
#[derive(Debug)]
pub struct FaultStore<S> {
    inner: S,
    plan: FaultPlan,
    error: StoreError,
}

impl<S: Store> FaultStore<S> {
    /// A store that fails with `error` when `plan` says so. A failing commit writes nothing and ends the transaction.
    pub fn new(inner: S, plan: FaultPlan, error: StoreError) -> Self {
        Self { inner, plan, error }
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.plan.strike() { Err(self.error.clone()) } else { Ok(()) }
    }
}

impl<S: Store> Store for FaultStore<S> {
    fn limits(&self) -> Limits {
        self.inner.limits()
    }

    fn open_keyspace(&mut self, name: &str, order: Order) -> Result<Keyspace, StoreError> {
        self.check()?;
        self.inner.open_keyspace(name, order)
    }

    fn order(&self, keyspace: Keyspace) -> Order {
        self.inner.order(keyspace)
    }

    fn begin(&mut self, scope: &Scope) -> Result<u64, StoreError> {
        self.check()?;
        self.inner.begin(scope)
    }

    fn get(&mut self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.check()?;
        self.inner.get(keyspace, key)
    }

    fn get_many(&mut self, keys: &[(Keyspace, &[u8])]) -> Result<Values, StoreError> {
        self.check()?;
        self.inner.get_many(keys)
    }

    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        self.check()?;
        self.inner.scan(keyspace, range, direction, limit)
    }

    fn revisions(&mut self, keys: &[Bytes]) -> Result<Vec<u64>, StoreError> {
        self.check()?;
        self.inner.revisions(keys)
    }

    fn commit(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        if let Err(error) = self.check() {
            self.inner.rollback();
            return Err(error);
        }
        if !batch.names_each_once() {
            self.inner.rollback();
            return Err(StoreError::Corrupt("a batch names a key twice".into()));
        }
        self.inner.commit(batch, changed)
    }

    fn rollback(&mut self) {
        self.inner.rollback();
    }
}
