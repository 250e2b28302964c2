//! A store with a flaw: what the suite has to find.

use super::flaws::Flaw;
use crate::store::{
    Batch, BatchOp, Changes, Direction, KeyRange, Keyspace, Limits, MemoryStore, Numbered, Order, Page, PageBuilder, PageLimit, Scope,
    Store, StoreError, Values,
};
use bytes::Bytes;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Small enough for the suite to exceed.
const LIMITS: Limits =
    Limits { max_key_bytes: 1 << 12, max_value_bytes: 1 << 20, max_batch_ops: 5000, max_batch_bytes: 3 << 20, read_only: false };

/// The batch that is written in two steps: that of the test of atomicity.
const TORN_OPS: u64 = 300;

/// Long enough for others to get in between.
const PAUSE: Duration = Duration::from_micros(300);

/// A handle on a store in memory that does one thing wrong.
pub struct Broken {
    inner: MemoryStore,
    flaw: Flaw,
    scope: Option<Scope>,
}

static RUNNING: AtomicU64 = AtomicU64::new(1);

/// The batch of these operations.
fn collected<'a>(ops: impl IntoIterator<Item = BatchOp<'a>>) -> Result<Batch, StoreError> {
    let mut out = Batch::new();
    for op in ops {
        match op {
            BatchOp::Put { keyspace, key, value } => out.put(keyspace, key, value)?,
            BatchOp::Delete { keyspace, key } => out.delete(keyspace, key)?,
            BatchOp::DeleteRange { keyspace, start, end } => {
                let end = (!end.is_empty()).then(|| end.to_vec());
                out.delete_range(keyspace, &KeyRange { start: start.to_vec(), after_start: false, end })?;
            }
        }
    }
    Ok(out)
}

impl Broken {
    /// A handle on a new store.
    #[must_use]
    pub fn new(flaw: Flaw) -> Self {
        Self { inner: MemoryStore::with_limits(LIMITS), flaw, scope: None }
    }

    /// A further handle on the same store.
    #[must_use]
    pub fn handle(&self) -> Self {
        Self { inner: self.inner.clone(), flaw: self.flaw, scope: None }
    }

    /// Commits `batch` in a transaction of its own, again and again until nobody is in the way.
    fn force(&mut self, scope: &Scope, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        self.inner.rollback();
        loop {
            self.inner.begin(scope)?;
            match self.inner.commit(batch, changed) {
                Err(StoreError::Conflict) => {}
                other => return other,
            }
        }
    }

    /// A handle whose open transaction is what a read sees.
    fn reader(&self) -> Result<MemoryStore, StoreError> {
        let mut other = self.inner.clone();
        other.begin(&Scope::Read)?;
        Ok(other)
    }

    fn reads_elsewhere(&self) -> bool {
        match self.flaw {
            Flaw::ReadsTheLatest => self.scope.is_some(),
            Flaw::ReadsWithoutTransaction => self.scope.is_none(),
            _ => false,
        }
    }
}

impl Store for Broken {
    fn limits(&self) -> Limits {
        self.inner.limits()
    }

    fn open_keyspace(&mut self, name: &str, order: Order) -> Result<Keyspace, StoreError> {
        let order = if self.flaw == Flaw::OrdersEverythingAsBytes { Order::Bytes } else { order };
        self.inner.open_keyspace(if self.flaw == Flaw::MixesKeyspaces { "all" } else { name }, order)
    }

    fn order(&self, keyspace: Keyspace) -> Order {
        self.inner.order(keyspace)
    }

    fn begin(&mut self, scope: &Scope) -> Result<u64, StoreError> {
        if self.flaw == Flaw::ForgetsTheFirstBegin {
            self.inner.rollback();
        }
        let inner_scope = match (self.flaw, scope) {
            (Flaw::WritesInReadScope, Scope::Read) | (Flaw::SharesExclusive, Scope::Exclusive) => Scope::Keys(Vec::new()),
            (Flaw::LosesUpdates, Scope::Keys(_)) => Scope::Read,
            _ => scope.clone(),
        };
        let epoch = self.inner.begin(&inner_scope)?;
        self.scope = Some(scope.clone());
        Ok(match self.flaw {
            Flaw::EpochStands => 1,
            Flaw::EpochRuns => RUNNING.fetch_add(1, Ordering::SeqCst),
            _ => epoch,
        })
    }

    fn get(&mut self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        if self.reads_elsewhere() {
            return self.reader()?.get(keyspace, key);
        }
        if self.flaw == Flaw::InventsKeyspaces && is_invented(keyspace) {
            return Ok(None);
        }
        let value = self.inner.get(keyspace, key)?;
        Ok(value.filter(|value| self.flaw != Flaw::LosesEmptyValues || !value.is_empty()))
    }

    fn get_many(&mut self, keys: &[(Keyspace, &[u8])]) -> Result<Values, StoreError> {
        let mut values = keys.iter().map(|(keyspace, key)| self.get(*keyspace, key)).collect::<Result<Vec<_>, _>>()?;
        match self.flaw {
            Flaw::GetsInReverse => values.reverse(),
            Flaw::GetsWithoutAbsent => values.retain(Option::is_some),
            _ => {}
        }
        Values::from_each(&values)
    }

    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        if self.reads_elsewhere() {
            return self.reader()?.scan(keyspace, range, direction, limit);
        }
        let (mut range, mut direction, mut limit) = (range.clone(), direction, limit);
        match self.flaw {
            Flaw::WalksForwardOnly => direction = Direction::Forward,
            Flaw::IgnoresAfterStart => range.after_start = false,
            Flaw::IncludesEnd => range.end.iter_mut().for_each(|end| end.push(0)),
            Flaw::GivesTooLongPages => limit = PageLimit { max_items: u32::MAX, max_bytes: u32::MAX },
            Flaw::GivesEmptyPages if limit.max_items == 0 || limit.max_bytes == 0 => {
                return Ok(PageBuilder::new(limit).finish(true));
            }
            _ => {}
        }
        let mut page = self.inner.scan(keyspace, &range, direction, limit)?;
        match self.flaw {
            Flaw::StopsAfterOnePage => page.more = false,
            Flaw::RepeatsPagesWithoutEnd => page.more = true,
            Flaw::OrdersByLength if direction == Direction::Forward => {
                let mut records: Vec<_> = page.records().collect();
                records.sort_by_key(|(key, _)| key.len());
                let mut sorted = PageBuilder::new(limit);
                records.iter().all(|(key, value)| sorted.push(key, value));
                page = sorted.finish(page.more);
            }
            _ => {}
        }
        Ok(page)
    }

    fn scan_unless_known(
        &mut self,
        keyspace: Keyspace,
        range: &KeyRange,
        direction: Direction,
        limit: PageLimit,
        known: u64,
    ) -> Result<Numbered, StoreError> {
        let page = self.scan(keyspace, range, direction, limit)?;
        let number = match self.flaw {
            Flaw::NumbersQuestions => number_of((&range.start, limit.max_items)),
            Flaw::TellsNoChanges => number_of((&page.bytes, &page.ends, page.more)),
            _ => return Ok(page.into()),
        };
        Ok(Numbered { page: (number != known).then_some(page), number })
    }

    fn take_changes(&mut self) -> Changes {
        if self.flaw == Flaw::TellsNoChanges { Changes::NONE } else { Changes::ALL }
    }

    fn revisions(&mut self, keys: &[Bytes]) -> Result<Vec<u64>, StoreError> {
        let revisions = self.inner.revisions(keys)?;
        Ok(match self.flaw {
            Flaw::RevisionsStand => vec![0; keys.len()],
            Flaw::RevisionsRun => keys.iter().map(|_| RUNNING.fetch_add(1, Ordering::SeqCst)).collect(),
            _ => revisions,
        })
    }

    fn commit(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        let scope = self.scope.take();
        let Some(scope) = scope else { return self.inner.commit(batch, changed) };
        match (self.flaw, &scope) {
            (Flaw::RevisesWhatIsWritten, _) if batch.is_empty() => {
                self.inner.rollback();
                Ok(())
            }
            // That one has begun to read only.
            (flaw, _) if batch.is_empty() && flaw != Flaw::LosesUpdates => self.inner.commit(batch, changed),
            (Flaw::LosesUpdates, Scope::Keys(_)) => {
                std::thread::sleep(PAUSE);
                self.force(&scope, batch, changed)
            }
            (Flaw::SharesExclusive, Scope::Exclusive) => {
                std::thread::sleep(PAUSE);
                self.force(&Scope::Keys(Vec::new()), batch, changed)
            }
            (Flaw::TearsBatches, _) if batch.len() == TORN_OPS => {
                let ops = batch.ops().collect::<Result<Vec<_>, _>>()?;
                let (first, second) = ops.split_at(ops.len() / 2);
                self.force(&scope, &collected(first.iter().copied())?, changed)?;
                std::thread::sleep(3 * PAUSE);
                self.force(&scope, &collected(second.iter().copied())?, changed)
            }
            (Flaw::KeepsWhatFits, _) => {
                let outcome = self.inner.commit(batch, changed);
                if matches!(outcome, Err(StoreError::TooLarge { .. })) {
                    let first = batch.ops().next().transpose()?;
                    self.force(&scope, &collected(first)?, changed)?;
                }
                outcome
            }
            (Flaw::RevisesWhatIsDeclared, Scope::Keys(keys)) => {
                let all: Vec<u32> = (0..).take(keys.len()).collect();
                self.inner.commit(batch, &all)
            }
            (flaw, _) => self.inner.commit(&rewritten(flaw, batch)?, changed),
        }
    }

    fn rollback(&mut self) {
        self.scope = None;
        self.inner.rollback();
    }
}

/// The batch as a store with this flaw understands it.
fn rewritten(flaw: Flaw, batch: &Batch) -> Result<Batch, StoreError> {
    let mut ops = batch.ops().collect::<Result<Vec<_>, _>>()?;
    let is_range = |op: &BatchOp<'_>| matches!(op, BatchOp::DeleteRange { .. });
    match flaw {
        Flaw::LosesDeletes => ops.retain(|op| !matches!(op, BatchOp::Delete { .. })),
        Flaw::LosesRangeDeletesToTheEnd => ops.retain(|op| !matches!(op, BatchOp::DeleteRange { end: b"", .. })),
        Flaw::AcceptsEmptyKeys => ops.retain(|op| !matches!(op, BatchOp::Put { key: b"", .. } | BatchOp::Delete { key: b"", .. })),
        Flaw::InventsKeyspaces => ops.retain(|op| !is_invented(op.keyspace())),
        // A stable sort: apart from that, the order stays.
        Flaw::DeletesRangesLast => ops.sort_by_key(is_range),
        Flaw::DeletesTheEndOfRanges => {
            let ends: Vec<_> = ops.iter().copied().filter_map(end_of_range).collect();
            ops.extend(ends);
        }
        _ => {}
    }
    collected(ops)
}

/// The delete of the end of a range.
fn end_of_range(op: BatchOp<'_>) -> Option<BatchOp<'_>> {
    match op {
        BatchOp::DeleteRange { keyspace, end, .. } if !end.is_empty() => Some(BatchOp::Delete { keyspace, key: end }),
        _ => None,
    }
}

/// A number that tells things apart, above 0.
fn number_of(thing: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    thing.hash(&mut hasher);
    hasher.finish() | 1
}

/// Whether no store gives this number to a keyspace of the suite.
const fn is_invented(keyspace: Keyspace) -> bool {
    keyspace.0 > 100
}
