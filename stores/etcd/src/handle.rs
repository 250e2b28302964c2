//! The store contract over one handle.

use crate::EtcdStore;
use crate::changes::changes;
use crate::cluster::{Failure, Route};
use crate::commit::{Reliance, txn};
use crate::keys::stripe;
use crate::outcome::Lost;
use crate::reads::{Appetite, Snapshot, Wanted, answers, damaged, mod_revision};
use bytes::Bytes;
use etcd_client::{GetResponse, KeyValue};
use orbweaver_engine::store::{
    Batch, Direction, KeyRange, Keyspace, Limits, Order, Page, PageBuilder, PageLimit, Scope, Store, StoreError,
};
use orbweaver_remote::{Backoff, BackoffPolicy, Meter, RoundTrips, Turn, block_on};
use std::collections::BTreeSet;
use std::time::Duration;

/// How long a transaction waits for others of this process that write to the same stripe.
const PATIENCE: Duration = Duration::from_secs(1);

/// One conversation with the store. Every call waits for its answers on the calling thread.
pub struct EtcdHandle {
    store: EtcdStore,
    route: Route,
    meter: Meter,
    conflicts: Backoff,
    keyspaces: BTreeSet<Keyspace>,
    open: Option<Open>,
    /// Held until the transaction ends.
    turn: Option<Turn>,
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
        let conflicts = Backoff::new(BackoffPolicy::CONFLICTS);
        Self { store, route, meter, conflicts, keyspaces: BTreeSet::new(), open: None, turn: None }
    }

    /// The requests of this handle so far.
    #[must_use]
    pub fn round_trips(&self) -> RoundTrips {
        self.meter.round_trips()
    }

    /// Waits where the transaction would collide: for others of this process, and, where that does not help, for those of others.
    fn wait(&mut self, scope: &Scope) -> Result<(), StoreError> {
        let (turns, failures) = (&self.store.inner.turns, self.conflicts.failures());
        if let Scope::Keys(keys) = scope
            && let Some(first) = keys.iter().map(|key| u64::from(stripe(key))).min()
            && (failures > 0 || turns.is_taken(first))
        {
            self.turn = turns.take(first, PATIENCE);
        }
        let needs_no_pause = self.turn.is_some() && failures < 2;
        if needs_no_pause { Ok(()) } else { self.conflicts.pause() }
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
        let (stripes, marked) = stripes(&open.scope, changed);
        let marked: Vec<Vec<u8>> = match marked {
            None => vec![inner.keys.epoch()],
            Some(marked) => marked.into_iter().map(|stripe| inner.keys.stripe(stripe)).collect(),
        };
        let first_marked = marked.first().cloned().ok_or_else(|| damaged("a commit without a mark"))?;
        let mark = inner.next_mark();
        let reliance = Reliance { scope: &open.scope, stripes: &stripes, revision };
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

/// The stripes of a scope's lock keys, and those that get the mark: of the changed ones, or, where none is said to have changed, one of
/// those declared, which is a false alarm at worst. `None`: the epoch record gets it.
fn stripes(scope: &Scope, changed: &[u32]) -> (BTreeSet<u16>, Option<BTreeSet<u16>>) {
    let Scope::Keys(keys) = scope else { return (BTreeSet::new(), None) };
    let mut all: BTreeSet<u16> = keys.iter().map(|key| stripe(key)).collect();
    if all.is_empty() {
        all.insert(stripe(&[]));
    }
    let of_changed = changed.iter().filter_map(|&position| keys.get(usize::try_from(position).ok()?)).map(|key| stripe(key));
    let mut marked: BTreeSet<u16> = of_changed.collect();
    if marked.is_empty() {
        marked.extend(all.first());
    }
    (all, Some(marked))
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
        self.wait(scope)?;
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

    fn get_many(&mut self, keys: &[(Keyspace, Bytes)]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let wanted = keys.iter().map(|(keyspace, key)| self.wanted(*keyspace, key)).collect::<Result<Vec<_>, _>>()?;
        Ok(self.read(wanted)?.iter_mut().map(value).collect())
    }

    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        self.check(keyspace)?;
        let keys = self.store.inner.keys.clone();
        let mut rest = keys.records(keyspace, &range.start, range.end.as_deref());
        if range.after_start {
            rest.start.push(0);
        }
        let (mut page, mut appetite) = (PageBuilder::new(limit), Appetite::new(limit));
        while rest.start < rest.end && !page.is_full() {
            let wanted = Wanted::range(rest.clone(), appetite.next(), direction);
            let mut answers = self.read(vec![wanted])?;
            let answer = answers.first_mut().ok_or_else(|| damaged("a range without an answer"))?;
            let is_last = !answer.more();
            for record in answer.take_kvs() {
                let key = keys.user_key(record.key()).ok_or_else(|| damaged("a key without its prefix"))?;
                if page.is_full() || !page.push(key, record.value()) {
                    return Ok(page.finish(true));
                }
                appetite.had(key.len() + record.value().len());
                match direction {
                    Direction::Forward => rest.start = [record.key(), &[0]].concat(),
                    Direction::Reverse => rest.end = record.key().to_vec(),
                }
            }
            if is_last {
                return Ok(page.finish(false));
            }
        }
        let is_full = page.is_full();
        Ok(page.finish(is_full))
    }

    fn revisions(&mut self, keys: &[Bytes]) -> Result<Vec<u64>, StoreError> {
        let wanted = keys.iter().map(|key| Wanted::one(self.store.inner.keys.stripe(stripe(key)))).collect();
        let found = match &self.open {
            Some(_) => self.read(wanted)?,
            None => block_on(self.store.read(&self.route, &self.meter, &mut Snapshot::default(), wanted))??,
        };
        Ok(found.iter().map(|answer| unsigned(mod_revision(answer))).collect())
    }

    fn commit(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        let open = self.open.take().ok_or_else(no_transaction)?;
        let outcome = self.write(open, batch, changed);
        match &outcome {
            Ok(()) => self.conflicts.succeeded(),
            Err(StoreError::Conflict) => self.conflicts.failed(),
            Err(_) => {}
        }
        self.turn = None;
        outcome
    }

    fn rollback(&mut self) {
        self.open = None;
        self.turn = None;
    }
}

/// The value of the only record of an answer.
fn value(answer: &mut GetResponse) -> Option<Bytes> {
    answer.take_kvs().pop().map(|record: KeyValue| Bytes::from(record.into_key_value().1))
}
