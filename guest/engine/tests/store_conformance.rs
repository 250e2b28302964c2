//! The conformance suite itself: a right store passes, and every wrong one fails in the tests that are meant for its flaw.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use orbweaver_engine::store::conformance::broken::Broken;
use orbweaver_engine::store::conformance::flaws::{Flaw, MAY, TABLE};
use orbweaver_engine::store::conformance::{self, Part, Subject};
use orbweaver_engine::store::{Batch, Direction, KeyRange, MemoryStore, Order, PageLimit, Scope, Store, StoreError};
use std::thread;

struct InMemory {
    store: Broken,
    flaw: Flaw,
}

impl InMemory {
    fn new(flaw: Flaw) -> Self {
        Self { store: Broken::new(flaw), flaw }
    }
}

impl Subject for InMemory {
    fn handle(&self) -> Result<Box<dyn Store + Send>, StoreError> {
        Ok(Box::new(self.store.handle()))
    }

    fn reopen(&mut self) -> Result<bool, StoreError> {
        if self.flaw == Flaw::ForgetsOnReopening {
            *self = Self::new(self.flaw);
        }
        Ok(true)
    }
}

fn failing_tests(flaw: Flaw) -> Vec<&'static str> {
    let failures = conformance::run(&|| Ok(Box::new(InMemory::new(flaw))));
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

#[test]
fn every_flaw_fails_the_tests_that_are_meant_for_it() {
    let mut wrong = Vec::new();
    for (flaw, expected) in TABLE {
        let sure = |tests: &[&'static str]| tests.iter().copied().filter(|test| !MAY.contains(&(*flaw, *test))).collect::<Vec<_>>();
        // Some flaws show in races, which one run may miss.
        let expected = sure(expected);
        let mut failed = Vec::new();
        let is_found = (0..5).any(|_| {
            failed = sure(&failing_tests(*flaw));
            failed == expected
        });
        if !is_found {
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

/// How the participants of a contention on one store fared: the names of what they failed.
fn failed_in_contention(flaw: Flaw) -> Vec<&'static str> {
    const PARTICIPANTS: u64 = 3;
    let subject = InMemory::new(flaw);
    let mut failed = thread::scope(|threads| {
        let run = |number| conformance::contend(&subject, Part { number, of: PARTICIPANTS }).unwrap();
        let running: Vec<_> = (0..PARTICIPANTS).map(|number| threads.spawn(move || run(number))).collect();
        let outcomes = running.into_iter().flat_map(|thread| thread.join().unwrap());
        outcomes.filter_map(|(name, outcome)| outcome.err().map(|_| name)).collect::<Vec<_>>()
    });
    let mut store = subject.store.handle();
    let keyspaces: Vec<_> = conformance::keyspaces().map(|(name, order)| store.open_keyspace(&name, order).unwrap()).collect();
    store.begin(&Scope::Read).unwrap();
    for keyspace in keyspaces {
        assert!(store.scan(keyspace, &KeyRange::all(), Direction::Forward, PageLimit::items(1)).unwrap().is_empty(), "{flaw:?}");
    }
    failed.sort_unstable();
    failed.dedup();
    failed
}

#[test]
fn contention_finds_what_only_simultaneous_conversations_show() {
    assert_eq!(failed_in_contention(Flaw::None), Vec::<&str>::new());
    for (flaw, expected) in [
        (Flaw::TearsBatches, "a batch is seen whole or not at all"),
        (Flaw::ReadsTheLatest, "a batch is seen whole or not at all"),
        (Flaw::LosesUpdates, "colliding transactions lose no update"),
        (Flaw::SharesExclusive, "an exclusive transaction runs alone"),
    ] {
        // It shows where participants get into each other's way, which one run may miss.
        let is_found = (0..20).any(|_| failed_in_contention(flaw).contains(&expected));
        assert!(is_found, "{flaw:?} never fails: {expected}");
    }
}

#[test]
fn contention_leaves_a_store_with_records_alone() {
    let subject = InMemory::new(Flaw::None);
    let mut store = subject.store.handle();
    let data = store.open_keyspace("data", Order::Bytes).unwrap();
    let mut batch = Batch::new();
    batch.put(data, b"somebody's", b"record").unwrap();
    store.begin(&Scope::Exclusive).unwrap();
    store.commit(&batch, &[]).unwrap();
    let refused = conformance::contend(&subject, Part { number: 0, of: 2 }).unwrap_err();
    assert!(refused.what.contains("give them an empty store"), "{refused}");
}
