//! The store contract over one handle.

use crate::failure::{Failure, of_read};
use crate::{LIMITS, STRIPES, TikvStore, mark_number};
use bytes::Bytes;
use orbweaver_engine::store::{
    Batch, BatchOp, Direction, KeyRange, Keyspace, Limits, Order, Page, PageLimit, Scope, Store, StoreError, Values,
};
use orbweaver_remote::{Contention, Found, Meter, RoundTrips, Stripes, block_on, decode_keyspace, encode_keyspace, read_page};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use tikv_client::{KvPair, TimestampExt, Transaction, TransactionOptions};

/// TiKV's own bound of one scan.
const MOST_RECORDS: u32 = 10_240;
/// Range deletes of one batch remove at most so many records: TiKV's transactions know single keys only.
const MOST_DELETED: usize = 100_000;

/// One conversation with the store. Every call waits for its answers on the calling thread.
pub struct TikvHandle {
    store: TikvStore,
    meter: Meter,
    contention: Contention,
    keyspaces: BTreeSet<Keyspace>,
    open: Option<Open>,
}

/// The handle's transaction.
struct Open {
    scope: Scope,
    /// The epoch that it began with.
    epoch: u64,
    /// TiKV's; `None` before the first read.
    transaction: Option<Transaction>,
}

fn no_transaction() -> StoreError {
    StoreError::Io("no transaction is open".into())
}

impl TikvHandle {
    pub(crate) fn new(store: TikvStore) -> Self {
        let (meter, contention) = (store.inner.meter.of_handle(), Contention::new(Arc::clone(&store.inner.turns)));
        Self { store, meter, contention, keyspaces: BTreeSet::new(), open: None }
    }

    /// The requests of this handle so far. What the client asks for beside them (timestamps, regions, retries) is not counted.
    #[must_use]
    pub fn round_trips(&self) -> RoundTrips {
        self.meter.round_trips()
    }

    fn record(&self, keyspace: Keyspace, key: &[u8]) -> Result<Vec<u8>, StoreError> {
        self.check(keyspace)?;
        Ok(self.store.inner.keys.record(keyspace, key))
    }

    fn check(&self, keyspace: Keyspace) -> Result<(), StoreError> {
        let is_open = self.keyspaces.contains(&keyspace);
        if is_open { Ok(()) } else { Err(StoreError::Io(format!("keyspace {} is not open", keyspace.0))) }
    }

    /// The values of keys within the transaction. The first read asks for the epoch, too.
    fn read(&mut self, mut keys: Vec<Vec<u8>>) -> Result<Vec<Option<Bytes>>, StoreError> {
        let open = self.open.as_mut().ok_or_else(no_transaction)?;
        let epoch_key = self.store.inner.keys.epoch();
        let is_first = open.transaction.is_none();
        if is_first {
            keys.push(epoch_key.clone());
        }
        if open.transaction.is_none() {
            open.transaction = Some(block_on(self.store.begin())??);
        }
        let transaction = open.transaction.as_mut().ok_or_else(no_transaction)?;
        self.meter.count_read();
        let asked = keys.clone();
        let found = block_on(async move { Ok::<Vec<KvPair>, tikv_client::Error>(transaction.batch_get(asked).await?.collect()) })?;
        let mut found: BTreeMap<Vec<u8>, Bytes> =
            found.map_err(of_read)?.into_iter().map(|KvPair(key, value)| (key.into(), Bytes::from(value))).collect();
        if is_first {
            keys.pop();
            let epoch = mark_number(found.get(&epoch_key).map(Bytes::as_ref));
            self.store.learn_epoch(epoch);
            if epoch != open.epoch {
                open.transaction = None;
                return Err(StoreError::Conflict);
            }
        }
        // A key may be asked for twice.
        let last = |key: &Vec<u8>| found.get(key).cloned();
        let values = keys.iter().map(last).collect();
        found.clear();
        Ok(values)
    }

    /// One request of a scan.
    fn scan_once(&mut self, range: Range<Vec<u8>>, direction: Direction, limit: u32) -> Result<Vec<KvPair>, StoreError> {
        if self.open.as_ref().ok_or_else(no_transaction)?.transaction.is_none() {
            self.read(Vec::new())?;
        }
        let transaction = self.open.as_mut().and_then(|open| open.transaction.as_mut()).ok_or_else(no_transaction)?;
        self.meter.count_read();
        let found = block_on(async move {
            Ok::<Vec<KvPair>, tikv_client::Error>(match direction {
                Direction::Forward => transaction.scan(range, limit).await?.collect(),
                Direction::Reverse => transaction.scan_reverse(range, limit).await?.collect(),
            })
        })?;
        found.map_err(of_read)
    }

    fn write(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        let ops = batch.ops_within(LIMITS)?;
        ops.iter().try_for_each(|op| self.check(op.keyspace()))?;
        let scope = self.open.as_ref().ok_or_else(no_transaction)?.scope.clone();
        if scope == Scope::Read {
            return if batch.is_empty() { Ok(()) } else { Err(StoreError::ReadOnly) };
        }
        if batch.is_empty() && changed.is_empty() && scope != Scope::Exclusive {
            return Ok(());
        }
        if self.open.as_ref().is_some_and(|open| open.transaction.is_none()) {
            self.read(Vec::new())?;
        }
        let doomed = self.doomed(&ops)?;
        let mut open = self.open.take().ok_or_else(no_transaction)?;
        let mut transaction = open.transaction.take().ok_or_else(no_transaction)?;
        let mark = transaction.start_timestamp().version();
        let (marked, locked) = self.marks(&scope, changed);
        let lost_key = marked.first().cloned().ok_or_else(no_transaction)?;
        let keys = &self.store.inner.keys;
        self.meter.count_commit();
        let committed = block_on(async {
            for key in doomed {
                transaction.delete(key).await?;
            }
            for op in ops {
                match op {
                    BatchOp::Put { keyspace, key, value } => transaction.put(keys.record(keyspace, key), value.to_vec()).await?,
                    BatchOp::Delete { keyspace, key } => transaction.delete(keys.record(keyspace, key)).await?,
                    // Its records are deleted one by one.
                    BatchOp::DeleteRange { .. } => {}
                }
            }
            for key in marked {
                transaction.put(key, mark.to_be_bytes().to_vec()).await?;
            }
            transaction.lock_keys(locked).await?;
            transaction.commit().await
        })?;
        match committed.map_err(Failure::from) {
            Ok(_) => {
                if scope == Scope::Exclusive {
                    self.store.learn_epoch(mark);
                }
                Ok(())
            }
            Err(Failure::Refused(error)) => {
                self.store.forget_epoch();
                Err(error)
            }
            Err(Failure::Lost(why)) => {
                self.store.forget_epoch();
                self.resolve(lost_key, mark, &why)
            }
        }
    }

    /// The keys of the records that range deletes remove.
    fn doomed(&mut self, ops: &[BatchOp<'_>]) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut doomed = Vec::new();
        for op in ops {
            let BatchOp::DeleteRange { keyspace, start, end } = *op else { continue };
            let mut rest = self.store.inner.keys.records(keyspace, start, (!end.is_empty()).then_some(end));
            while rest.start < rest.end {
                let found = self.scan_once(rest.clone(), Direction::Forward, MOST_RECORDS)?;
                let is_last = u32::try_from(found.len()).is_ok_and(|count| count < MOST_RECORDS);
                doomed.extend(found.into_iter().map(|pair| Vec::<u8>::from(pair.0)));
                if doomed.len() > MOST_DELETED {
                    let limit = u64::try_from(MOST_DELETED).unwrap_or(u64::MAX);
                    return Err(StoreError::TooLarge { what: "a range delete of more records".into(), limit });
                }
                match doomed.last() {
                    Some(last) if !is_last => rest.start = [last.as_slice(), &[0]].concat(),
                    _ => break,
                }
            }
        }
        Ok(doomed)
    }

    /// The records that get the mark, and those that are locked: declared, but not changed. An exclusive transaction marks every
    /// stripe, so that it collides with whoever declares one.
    fn marks(&self, scope: &Scope, changed: &[u32]) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let keys = &self.store.inner.keys;
        let records = |stripes: &BTreeSet<u16>| stripes.iter().map(|&stripe| keys.stripe(stripe)).collect::<Vec<_>>();
        match Stripes::new(scope, changed, STRIPES) {
            Some(Stripes { declared, changed }) => (records(&changed), records(&declared.difference(&changed).copied().collect())),
            None => {
                let all = (0..STRIPES).filter_map(|stripe| u16::try_from(stripe).ok()).collect();
                (std::iter::once(keys.epoch()).chain(records(&all)).collect(), Vec::new())
            }
        }
    }

    /// What has become of a commit whose answer was lost, by the record that has its mark if it happened. Who reads a record that a
    /// transaction has locked makes TiKV decide on that transaction.
    fn resolve(&self, marked: Vec<u8>, mark: u64, why: &str) -> Result<(), StoreError> {
        let unknown = |error: &dyn std::fmt::Display| StoreError::UnknownOutcome(format!("{why}; {error}"));
        let before = tikv_client::Timestamp::from_version(mark);
        self.meter.count_read();
        let found = block_on(async {
            let old = self.store.inner.client.snapshot(before, TransactionOptions::new_optimistic()).get(marked.clone()).await?;
            let now = self.store.begin_snapshot().await?.get(marked).await?;
            Ok::<_, tikv_client::Error>((mark_number(old.as_deref()), mark_number(now.as_deref())))
        })?;
        match found {
            Ok((_, now)) if now == mark => Ok(()),
            Ok((old, now)) if now == old => Err(StoreError::Conflict),
            Ok(_) => Err(unknown(&"others have changed the same since")),
            Err(error) => Err(unknown(&error)),
        }
    }
}

impl Store for TikvHandle {
    fn limits(&self) -> Limits {
        LIMITS
    }

    fn open_keyspace(&mut self, name: &str, order: Order) -> Result<Keyspace, StoreError> {
        if order != Order::Bytes {
            return Err(StoreError::UnsupportedOrder(format!("TiKV orders keys by their bytes, not by {}", order.name())));
        }
        let keys = &self.store.inner.keys;
        let (key, all, counter) = (keys.keyspace(name), keys.keyspaces(), keys.format());
        loop {
            self.meter.count_read();
            let outcome = block_on(async {
                let mut transaction = self.store.inner.client.begin_with_options(crate::options()).await?;
                let records: Vec<KvPair> = transaction.scan(all.clone(), MOST_RECORDS).await?.collect();
                let numbers =
                    records.iter().filter_map(|KvPair(key, value)| Some((Vec::<u8>::from(key.clone()), decode_keyspace(value)?.0)));
                let numbers: BTreeMap<Vec<u8>, u32> = numbers.collect();
                if let Some(&number) = numbers.get(&key) {
                    return Ok(Some(number));
                }
                let next = numbers.values().max().map_or(0, |last| last.saturating_add(1));
                transaction.put(key.clone(), encode_keyspace(next, order)).await?;
                // Two new names must not have one number.
                transaction.lock_keys([counter.clone()]).await?;
                transaction.commit().await?;
                Ok::<Option<u32>, tikv_client::Error>(None)
            })?;
            match outcome.map_err(of_read) {
                Ok(Some(number)) => {
                    self.keyspaces.insert(Keyspace(number));
                    return Ok(Keyspace(number));
                }
                // The next look finds it, whoever made it.
                Ok(None) | Err(StoreError::Conflict) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn order(&self, _keyspace: Keyspace) -> Order {
        Order::Bytes
    }

    /// The epoch is the one that this process knows: whether it is still so shows in the first read.
    fn begin(&mut self, scope: &Scope) -> Result<u64, StoreError> {
        if self.open.is_some() {
            return Err(StoreError::Io("a transaction is open already".into()));
        }
        self.contention.begin(scope)?;
        let epoch = match self.store.known_epoch() {
            Some(epoch) => epoch,
            None => {
                self.meter.count_read();
                let epoch = block_on(async {
                    let found = self.store.begin_snapshot().await?.get(self.store.inner.keys.epoch()).await?;
                    Ok::<u64, tikv_client::Error>(mark_number(found.as_deref()))
                })?;
                let epoch = epoch.map_err(of_read)?;
                self.store.learn_epoch(epoch);
                epoch
            }
        };
        self.open = Some(Open { scope: scope.clone(), epoch, transaction: None });
        Ok(epoch)
    }

    fn get(&mut self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let key = self.record(keyspace, key)?;
        Ok(self.read(vec![key])?.pop().flatten())
    }

    fn get_many(&mut self, keys: &[(Keyspace, &[u8])]) -> Result<Values, StoreError> {
        let keys = keys.iter().map(|(keyspace, key)| self.record(*keyspace, key)).collect::<Result<Vec<_>, _>>()?;
        Values::from_each(&self.read(keys)?)
    }

    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        self.check(keyspace)?;
        let keys = self.store.inner.keys.clone();
        read_page(&keys, keyspace, range, direction, limit, |rest, most| {
            let most = most.min(MOST_RECORDS);
            let found = self.scan_once(rest, direction, most)?;
            let more = u32::try_from(found.len()).is_ok_and(|count| count >= most);
            Ok(Found { records: found.into_iter().map(|KvPair(key, value)| (key.into(), value)).collect(), more })
        })
    }

    fn revisions(&mut self, keys: &[Bytes]) -> Result<Vec<u64>, StoreError> {
        let stripes: Vec<Vec<u8>> = keys.iter().map(|key| self.store.inner.keys.stripe(Stripes::of(key, STRIPES))).collect();
        let values = if self.open.is_some() {
            self.read(stripes)?
        } else {
            self.begin(&Scope::Read)?;
            let values = self.read(stripes);
            self.rollback();
            values?
        };
        Ok(values.iter().map(|value| mark_number(value.as_deref())).collect())
    }

    fn commit(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        if self.open.is_none() {
            return Err(no_transaction());
        }
        let outcome = self.write(batch, changed);
        self.open = None;
        self.contention.committed(&outcome);
        outcome
    }

    fn rollback(&mut self) {
        // An optimistic transaction that has not begun to commit has left nothing in TiKV.
        self.open = None;
        self.contention.ended();
    }
}
