//! The conformance suite itself: a right store passes, and every wrong one fails in the tests that are meant for its flaw.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use bytes::Bytes;
use orbweaver_engine::store::conformance::{self, Subject};
use orbweaver_engine::store::{
    Batch, BatchOp, Direction, KeyRange, Keyspace, Limits, MemoryStore, Order, Page, PageBuilder, PageLimit, Scope, Store, StoreError,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Small enough for the suite to exceed.
const LIMITS: Limits =
    Limits { max_key_bytes: 1 << 12, max_value_bytes: 1 << 20, max_batch_ops: 5000, max_batch_bytes: 3 << 20, read_only: false };

/// What a broken store does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    None,
    OrdersByLength,
    OrdersEverythingAsBytes,
    WalksForwardOnly,
    IgnoresAfterStart,
    IncludesEnd,
    StopsAfterOnePage,
    RepeatsPagesWithoutEnd,
    GivesEmptyPages,
    GivesTooLongPages,
    LosesEmptyValues,
    GetsInReverse,
    GetsWithoutAbsent,
    MixesKeyspaces,
    LosesDeletes,
    LosesRangeDeletesToTheEnd,
    DeletesTheEndOfRanges,
    DeletesRangesLast,
    TearsBatches,
    KeepsWhatFits,
    AcceptsEmptyKeys,
    InventsKeyspaces,
    ReadsWithoutTransaction,
    ForgetsTheFirstBegin,
    WritesInReadScope,
    ReadsTheLatest,
    LosesUpdates,
    SharesExclusive,
    EpochStands,
    EpochRuns,
    RevisionsStand,
    RevisionsRun,
    RevisesWhatIsDeclared,
    ForgetsOnReopening,
}

struct Broken {
    inner: MemoryStore,
    flaw: Flaw,
    scope: Option<Scope>,
}

static RUNNING: AtomicU64 = AtomicU64::new(1);

/// The batch with some of its operations, each perhaps changed.
fn rewritten<'a>(batch: &'a Batch, change: impl Fn(BatchOp<'a>) -> Option<BatchOp<'a>>) -> Batch {
    collected(batch.ops().filter_map(|op| change(op.unwrap())))
}

fn collected<'a>(ops: impl Iterator<Item = BatchOp<'a>>) -> Batch {
    let mut out = Batch::new();
    for op in ops {
        match op {
            BatchOp::Put { keyspace, key, value } => out.put(keyspace, key, value).unwrap(),
            BatchOp::Delete { keyspace, key } => out.delete(keyspace, key).unwrap(),
            BatchOp::DeleteRange { keyspace, start, end } => {
                let end = (!end.is_empty()).then(|| end.to_vec());
                out.delete_range(keyspace, &KeyRange { start: start.to_vec(), after_start: false, end }).unwrap();
            }
        }
    }
    out
}

impl Broken {
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
    fn reader(&mut self) -> MemoryStore {
        let mut other = self.inner.clone();
        other.begin(&Scope::Read).unwrap();
        other
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
            return self.reader().get(keyspace, key);
        }
        if self.flaw == Flaw::InventsKeyspaces && keyspace.0 > 100 {
            return Ok(None);
        }
        let value = self.inner.get(keyspace, key)?;
        Ok(value.filter(|value| self.flaw != Flaw::LosesEmptyValues || !value.is_empty()))
    }

    fn get_many(&mut self, keys: &[(Keyspace, Bytes)]) -> Result<Vec<Option<Bytes>>, StoreError> {
        let mut values = keys.iter().map(|(keyspace, key)| self.get(*keyspace, key)).collect::<Result<Vec<_>, _>>()?;
        match self.flaw {
            Flaw::GetsInReverse => values.reverse(),
            Flaw::GetsWithoutAbsent => values.retain(Option::is_some),
            _ => {}
        }
        Ok(values)
    }

    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        if self.reads_elsewhere() {
            return self.reader().scan(keyspace, range, direction, limit);
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
                records.iter().for_each(|(key, value)| assert!(sorted.push(key, value)));
                page = sorted.finish(page.more);
            }
            _ => {}
        }
        Ok(page)
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
        let (Some(scope), false) = (scope, batch.is_empty()) else { return self.inner.commit(batch, changed) };
        match self.flaw {
            Flaw::LosesUpdates if scope != Scope::Exclusive && scope != Scope::Read => {
                std::thread::sleep(Duration::from_micros(300));
                return self.force(&scope, batch, changed);
            }
            Flaw::SharesExclusive if scope == Scope::Exclusive => {
                std::thread::sleep(Duration::from_micros(300));
                return self.force(&Scope::Keys(Vec::new()), batch, changed);
            }
            Flaw::TearsBatches if batch.len() == 300 => {
                let (first, second) =
                    (collected(batch.ops().take(150).map(Result::unwrap)), collected(batch.ops().skip(150).map(Result::unwrap)));
                self.force(&scope, &first, changed)?;
                std::thread::sleep(Duration::from_millis(1));
                return self.force(&scope, &second, changed);
            }
            Flaw::KeepsWhatFits => {
                let outcome = self.inner.commit(batch, changed);
                if matches!(outcome, Err(StoreError::TooLarge { .. })) {
                    self.force(&scope, &collected(batch.ops().take(1).map(Result::unwrap)), changed)?;
                }
                return outcome;
            }
            Flaw::RevisesWhatIsDeclared => {
                let Scope::Keys(keys) = &scope else { return self.inner.commit(batch, changed) };
                let all: Vec<u32> = (0..).take(keys.len()).collect();
                return self.inner.commit(batch, &all);
            }
            _ => {}
        }
        let mut batch = rewritten(batch, |op| match (self.flaw, op) {
            (Flaw::LosesDeletes, BatchOp::Delete { .. }) => None,
            (Flaw::LosesRangeDeletesToTheEnd, BatchOp::DeleteRange { end: b"", .. }) => None,
            (Flaw::AcceptsEmptyKeys, BatchOp::Put { key: b"", .. } | BatchOp::Delete { key: b"", .. }) => None,
            (Flaw::InventsKeyspaces, op) if op.keyspace().0 > 100 => None,
            _ => Some(op),
        });
        match self.flaw {
            Flaw::DeletesTheEndOfRanges => {
                let ends: Vec<(Keyspace, Vec<u8>)> = batch
                    .ops()
                    .filter_map(|op| match op.unwrap() {
                        BatchOp::DeleteRange { keyspace, end, .. } if !end.is_empty() => Some((keyspace, end.to_vec())),
                        _ => None,
                    })
                    .collect();
                ends.iter().for_each(|(keyspace, end)| batch.delete(*keyspace, end).unwrap());
            }
            Flaw::DeletesRangesLast => {
                let is_range = |op: &BatchOp<'_>| matches!(op, BatchOp::DeleteRange { .. });
                let others = batch.ops().map(Result::unwrap).filter(|op| !is_range(op));
                batch = collected(others.chain(batch.ops().map(Result::unwrap).filter(is_range)));
            }
            _ => {}
        }
        self.inner.commit(&batch, changed)
    }

    fn rollback(&mut self) {
        self.scope = None;
        self.inner.rollback();
    }
}

struct InMemory {
    store: MemoryStore,
    flaw: Flaw,
}

impl Subject for InMemory {
    fn handle(&self) -> Result<Box<dyn Store + Send>, StoreError> {
        Ok(Box::new(Broken { inner: self.store.clone(), flaw: self.flaw, scope: None }))
    }

    fn reopen(&mut self) -> Result<bool, StoreError> {
        if self.flaw == Flaw::ForgetsOnReopening {
            self.store = MemoryStore::with_limits(LIMITS);
        }
        Ok(true)
    }
}

fn failing_tests(flaw: Flaw) -> Vec<&'static str> {
    let failures = conformance::run(&|| Ok(Box::new(InMemory { store: MemoryStore::with_limits(LIMITS), flaw })));
    failures.iter().map(|failure| failure.test).collect()
}

#[test]
fn the_memory_store_passes() {
    struct Unlimited(MemoryStore);
    impl Subject for Unlimited {
        fn handle(&self) -> Result<Box<dyn Store + Send>, StoreError> {
            Ok(Box::new(self.0.clone()))
        }
    }
    assert_eq!(conformance::run(&|| Ok(Box::new(Unlimited(MemoryStore::new())))), []);
    assert_eq!(failing_tests(Flaw::None), Vec::<&str>::new());
}

const ONE_STATE: &str = "a transaction sees one state";
const COMMITTED: &str = "what is committed outlives the store";
const ORDERS: &str = "a keyspace keeps the order that it was opened with";

/// The flaw, and the tests that find it.
const TABLE: &[(Flaw, &[&str])] = &[
    (Flaw::OrdersByLength, &["scans walk in byte order", "scans keep within their range"]),
    (
        Flaw::WalksForwardOnly,
        &[
            "scans walk backwards",
            "scans backwards keep within their range",
            ORDERS,
            "pages backwards add up to the whole range",
            ONE_STATE,
        ],
    ),
    (
        Flaw::IgnoresAfterStart,
        &["scans keep within their range", "scans backwards keep within their range", ORDERS, "pages add up to the whole range"],
    ),
    (
        Flaw::IncludesEnd,
        &[
            "scans keep within their range",
            "scans backwards keep within their range",
            ORDERS,
            "pages add up to the whole range",
            "pages backwards add up to the whole range",
        ],
    ),
    (
        Flaw::StopsAfterOnePage,
        &["pages add up to the whole range", "pages backwards add up to the whole range", "a page holds at least one record"],
    ),
    (Flaw::OrdersEverythingAsBytes, &[ORDERS]),
    (Flaw::RepeatsPagesWithoutEnd, &["a page holds at least one record"]),
    (Flaw::GivesEmptyPages, &["a page holds at least one record"]),
    (
        Flaw::GivesTooLongPages,
        &["pages add up to the whole range", "pages backwards add up to the whole range", "a page holds at least one record"],
    ),
    (Flaw::LosesEmptyValues, &["get tells empty values from absent keys", "get_many answers in the order of its keys", COMMITTED]),
    (Flaw::GetsInReverse, &["get_many answers in the order of its keys"]),
    (Flaw::GetsWithoutAbsent, &["get_many answers in the order of its keys"]),
    (
        Flaw::MixesKeyspaces,
        &["get_many answers in the order of its keys", "keyspaces are separate", "a range delete removes its range", COMMITTED],
    ),
    (Flaw::LosesDeletes, &["a commit is seen by every handle", "an empty key is refused", ONE_STATE]),
    (
        Flaw::LosesRangeDeletesToTheEnd,
        &["a range delete removes its range", "a put survives the range delete before it", "an unknown keyspace is refused"],
    ),
    (Flaw::DeletesTheEndOfRanges, &[ORDERS, "a range delete removes its range", COMMITTED]),
    (Flaw::DeletesRangesLast, &["a put survives the range delete before it", COMMITTED]),
    (Flaw::TearsBatches, &["a batch is seen whole or not at all"]),
    (Flaw::KeepsWhatFits, &["what is too large changes nothing"]),
    (Flaw::AcceptsEmptyKeys, &["an empty key is refused"]),
    (Flaw::InventsKeyspaces, &["an unknown keyspace is refused"]),
    (Flaw::ReadsWithoutTransaction, &["reads and commits need a transaction"]),
    (Flaw::ForgetsTheFirstBegin, &["a handle has one transaction"]),
    (Flaw::WritesInReadScope, &["a transaction that reads does not write"]),
    (Flaw::ReadsTheLatest, &["a batch is seen whole or not at all", ONE_STATE]),
    (Flaw::LosesUpdates, &["colliding transactions lose no update", "transactions on several keys lose no update"]),
    (Flaw::SharesExclusive, &["an exclusive transaction runs alone", "the epoch changes with exclusive commits"]),
    (Flaw::EpochStands, &["the epoch changes with exclusive commits"]),
    (Flaw::EpochRuns, &["the epoch changes with exclusive commits", "the epoch stays without exclusive commits"]),
    (Flaw::RevisionsStand, &["a revision changes with its key"]),
    (Flaw::RevisionsRun, &["a revision stays without a change of its key"]),
    (Flaw::RevisesWhatIsDeclared, &["a revision stays without a change of its key"]),
    (Flaw::ForgetsOnReopening, &[COMMITTED, "what is rolled back stays away"]),
];

/// Tests that a flaw may fail as well, depending on which thread runs first.
const MAY: &[(Flaw, &str)] =
    &[(Flaw::LosesUpdates, "an exclusive transaction runs alone"), (Flaw::ReadsTheLatest, "a batch is seen whole or not at all")];

#[test]
fn every_flaw_fails_the_tests_that_are_meant_for_it() {
    let mut wrong = Vec::new();
    for (flaw, expected) in TABLE {
        let sure = |tests: &[&'static str]| tests.iter().copied().filter(|test| !MAY.contains(&(*flaw, *test))).collect::<Vec<_>>();
        let (failed, expected) = (sure(&failing_tests(*flaw)), sure(expected));
        if failed != expected {
            wrong.push((flaw, failed, expected));
        }
    }
    assert!(wrong.is_empty(), "flaw, failed, expected: {wrong:#?}");
}

#[test]
fn every_test_of_the_suite_is_failed_by_some_flaw() {
    let unfailed: Vec<&str> =
        conformance::TESTS.iter().map(|test| test.name).filter(|name| !TABLE.iter().any(|(_, tests)| tests.contains(name))).collect();
    // Only a store with locks can fail these: by keeping them.
    assert_eq!(unfailed, ["a rollback leaves nothing", "transactions on other keys all succeed"]);
}
