//! The store contract over one handle.

use crate::backwards::read_backwards;
use crate::changes::changes;
use crate::cluster::{Failure, Route};
use crate::commit::{Reliance, txn};
use crate::outcome::Lost;
use crate::reads::{Snapshot, Wanted, answers, damaged, mod_revision};
use crate::{EtcdStore, STRIPES};
use bytes::Bytes;
use etcd_client::{GetResponse, KeyValue};
use orbweaver_engine::store::{Batch, Direction, KeyRange, Keyspace, Limits, Order, Page, PageLimit, Scope, Store, StoreError, Values};
use orbweaver_remote::{Contention, Found, Meter, RoundTrips, Stripes, block_on, read_page};
use std::collections::BTreeSet;
use std::sync::Arc;

/// One conversation with the store. Every call waits for its answers on the calling thread.
pub struct EtcdHandle {
    store: EtcdStore,
    route: Route,
    meter: Meter,
    contention: Contention,
    keyspaces: BTreeSet<Keyspace>,
    open: Option<Open>,
}

/// The handle's transaction.
struct Open {
    scope: Scope,
    snapshot: Snapshot,
}

fn no_transaction() -> StoreError {
    StoreError::Io("no transaction is open".into())
}

/// A revision as the contract has them: etcd's are never negative.
fn unsigned(revision: i64) -> u64 {
    u64::try_from(revision).unwrap_or_default()
}

impl EtcdHandle {
    pub(crate) fn new(store: EtcdStore) -> Self {
        let (route, meter) = (store.inner.cluster.route(), store.inner.meter.of_handle());
        let contention = Contention::new(Arc::clone(&store.inner.turns));
        Self { store, route, meter, contention, keyspaces: BTreeSet::new(), open: None }
    }

    /// The requests of this handle so far.
    #[must_use]
    pub fn round_trips(&self) -> RoundTrips {
        self.meter.round_trips()
    }

    fn check(&self, keyspace: Keyspace) -> Result<(), StoreError> {
        let is_open = self.keyspaces.contains(&keyspace);
        if is_open { Ok(()) } else { Err(StoreError::Io(format!("keyspace {} is not open", keyspace.0))) }
    }

    fn read(&mut self, wanted: Vec<Wanted>) -> Result<Vec<GetResponse>, StoreError> {
        let open = self.open.as_mut().ok_or_else(no_transaction)?;
        block_on(self.store.read(&self.route, &self.meter, &mut open.snapshot, wanted))?
    }

    /// The record that a key must have for etcd: its value.
    fn wanted(&self, keyspace: Keyspace, key: &[u8]) -> Result<Wanted, StoreError> {
        self.check(keyspace)?;
        Ok(Wanted::one(self.store.inner.keys.record(keyspace, key)))
    }

    fn write(&mut self, mut open: Open, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        let inner = &self.store.inner;
        let ops = batch.ops_within(inner.limits)?;
        ops.iter().try_for_each(|op| self.check(op.keyspace()))?;
        if open.scope == Scope::Read {
            return if batch.is_empty() { Ok(()) } else { Err(StoreError::ReadOnly) };
        }
        if batch.is_empty() && changed.is_empty() && open.scope != Scope::Exclusive {
            return Ok(());
        }
        if open.snapshot.revision.is_none() {
            // Without a revision nobody could tell, if the answer is lost, whether the commit will still happen.
            block_on(self.store.read(&self.route, &self.meter, &mut open.snapshot, Vec::new()))??;
        }
        let revision = open.snapshot.revision.ok_or_else(|| damaged("a read without a revision"))?;
        let stripes = Stripes::new(&open.scope, changed, STRIPES);
        let marked: Vec<Vec<u8>> = match &stripes {
            None => vec![inner.keys.epoch()],
            Some(stripes) => stripes.changed.iter().map(|&stripe| inner.keys.stripe(stripe)).collect(),
        };
        let first_marked = marked.first().cloned().ok_or_else(|| damaged("a commit without a mark"))?;
        let mark = inner.next_mark();
        let reliance = Reliance { stripes: stripes.as_ref().map(|stripes| &stripes.declared), revision };
        let txn = txn(&inner.keys, inner.sizes, &reliance, changes(&inner.keys, &ops), marked, &mark)?;
        self.meter.count_commit();
        match block_on(inner.cluster.txn(&self.route, txn))? {
            Ok(answer) if answer.succeeded() => {
                if open.scope == Scope::Exclusive {
                    inner.learn_epoch(crate::reads::revision(&answer)?);
                }
                Ok(())
            }
            Ok(answer) => {
                inner.learn_epoch(answers(&answer).first().map_or(0, mod_revision));
                Err(StoreError::Conflict)
            }
            Err(Failure::Refused(error)) => Err(error),
            Err(Failure::Lost(why)) => {
                // What others know of the epoch, they learn from their reads.
                inner.forget_epoch();
                let lost = Lost { marked: &first_marked, mark: &mark, revision };
                block_on(self.store.resolve(&self.route, &self.meter, &lost, &why))?
            }
        }
    }
}

impl Store for EtcdHandle {
    fn limits(&self) -> Limits {
        self.store.inner.limits
    }

    fn open_keyspace(&mut self, name: &str, order: Order) -> Result<Keyspace, StoreError> {
        let keyspace = block_on(self.store.keyspace(&self.route, &self.meter, name, order))??;
        self.keyspaces.insert(keyspace);
        Ok(keyspace)
    }

    fn order(&self, _keyspace: Keyspace) -> Order {
        Order::Bytes
    }

    /// The epoch is the one that this process knows: whether it is still so shows in the first read, which costs no request of its own.
    fn begin(&mut self, scope: &Scope) -> Result<u64, StoreError> {
        if self.open.is_some() {
            return Err(StoreError::Io("a transaction is open already".into()));
        }
        self.contention.begin(scope)?;
        let mut snapshot = Snapshot { revision: None, epoch: self.store.inner.known_epoch() };
        if snapshot.epoch.is_none() {
            block_on(self.store.read(&self.route, &self.meter, &mut snapshot, Vec::new()))??;
            snapshot.epoch = self.store.inner.known_epoch();
        }
        self.open = Some(Open { scope: scope.clone(), snapshot });
        Ok(unsigned(snapshot.epoch.unwrap_or_default()))
    }

    fn get(&mut self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let wanted = self.wanted(keyspace, key)?;
        Ok(self.read(vec![wanted])?.first_mut().and_then(value))
    }

    fn get_many(&mut self, keys: &[(Keyspace, &[u8])]) -> Result<Values, StoreError> {
        let wanted = keys.iter().map(|(keyspace, key)| self.wanted(*keyspace, key)).collect::<Result<Vec<_>, _>>()?;
        let values: Vec<Option<Bytes>> = self.read(wanted)?.iter_mut().map(value).collect();
        Values::from_each(&values)
    }

    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        self.check(keyspace)?;
        let keys = self.store.inner.keys.clone();
        read_page(&keys, keyspace, range, direction, limit, |rest, most| {
            if direction == Direction::Reverse {
                return read_backwards(rest, i64::from(most), |wanted| self.read(wanted));
            }
            let mut answers = self.read(vec![Wanted::range(rest, i64::from(most), direction)])?;
            let answer = answers.first_mut().ok_or_else(|| damaged("a range without an answer"))?;
            let more = answer.more();
            Ok(Found { records: answer.take_kvs().into_iter().map(KeyValue::into_key_value).collect(), more })
        })
    }

    fn revisions(&mut self, keys: &[Bytes]) -> Result<Vec<u64>, StoreError> {
        let wanted = keys.iter().map(|key| Wanted::one(self.store.inner.keys.stripe(Stripes::of(key, STRIPES)))).collect();
        let found = match &self.open {
            Some(_) => self.read(wanted)?,
            None => block_on(self.store.read(&self.route, &self.meter, &mut Snapshot::default(), wanted))??,
        };
        Ok(found.iter().map(|answer| unsigned(mod_revision(answer))).collect())
    }

    fn commit(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        let open = self.open.take().ok_or_else(no_transaction)?;
        let outcome = self.write(open, batch, changed);
        self.contention.committed(&outcome);
        outcome
    }

    fn rollback(&mut self) {
        self.open = None;
        self.contention.ended();
    }
}

/// The value of the only record of an answer.
fn value(answer: &mut GetResponse) -> Option<Bytes> {
    answer.take_kvs().pop().map(|record: KeyValue| Bytes::from(record.into_key_value().1))
}
