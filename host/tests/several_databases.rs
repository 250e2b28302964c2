//! Five databases as one store: states, commits, and what a crash in the middle of one leaves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use bytes::Bytes;
use common::records;
use orbweaver::stores::rocksdb::{Durability, Layout, RocksHandle, RocksOptions, RocksStore};
use orbweaver_engine::store::conformance::{self, Subject};
use orbweaver_engine::store::{Batch, Direction, KeyRange, Keyspace, Limits, Order, Page, PageLimit, Scope, Store, StoreError, Values};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

const JOURNAL: &str = "orbweaver.journal";

/// A keyspace of each database.
const ONE_OF_EACH: [&str; 5] = ["strings/default", "hashes/data_cf", "sets/member_cf", "lists/default", "zsets/data_cf"];

fn options() -> RocksOptions {
    RocksOptions { layout: Layout::Blackwidow, ..RocksOptions::default() }
}

fn open(path: &Path) -> RocksStore {
    RocksStore::open(path, options()).unwrap()
}

fn keyspaces(handle: &mut RocksHandle) -> Vec<Keyspace> {
    ONE_OF_EACH.iter().map(|name| handle.open_keyspace(name, Order::Bytes).unwrap()).collect()
}

/// One commit that puts a record into all five.
fn put_in_all(handle: &mut RocksHandle, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
    let mut batch = Batch::new();
    for keyspace in keyspaces(handle) {
        batch.put(keyspace, key, value).unwrap();
    }
    handle.begin(&Scope::Exclusive)?;
    handle.commit(&batch, &[])
}

/// What a key holds in each of the five.
fn get_in_all(store: &RocksStore, key: &[u8]) -> Vec<Option<Bytes>> {
    let mut handle = store.handle();
    let keyspaces = keyspaces(&mut handle);
    handle.begin(&Scope::Read).unwrap();
    let keys: Vec<(Keyspace, &[u8])> = keyspaces.iter().map(|keyspace| (*keyspace, key)).collect();
    handle.get_many(&keys).unwrap().of_each(keys.len()).unwrap().collect()
}

#[test]
fn a_commit_in_all_five_databases_outlives_the_store_and_leaves_no_journal() {
    for durability in [Durability::Always, Durability::EverySecond, Durability::Os] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db");
        let store = RocksStore::open(&path, RocksOptions { durability, ..options() }).unwrap();
        put_in_all(&mut store.handle(), b"k", b"v").unwrap();
        assert_eq!(get_in_all(&store, b"k"), vec![Some(Bytes::from("v")); 5]);
        drop(store);
        assert!(!path.join(JOURNAL).exists());
        assert_eq!(get_in_all(&open(&path), b"k"), vec![Some(Bytes::from("v")); 5]);
    }
}

#[test]
fn a_commit_whose_journal_cannot_be_written_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    put_in_all(&mut store.handle(), b"k", b"before").unwrap();
    std::fs::create_dir(directory.path().join(JOURNAL)).unwrap();
    let failure = put_in_all(&mut store.handle(), b"k", b"after").unwrap_err();
    assert!(matches!(failure, StoreError::UnknownOutcome(_)), "the journal cannot be removed, either: {failure:?}");
    assert_eq!(get_in_all(&store, b"k"), vec![Some(Bytes::from("before")); 5]);
    assert_eq!(put_in_all(&mut store.handle(), b"k", b"later"), Err(failure));
}

#[test]
fn a_keyspace_that_is_not_there_reads_as_empty_and_takes_deletes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let store = open(&path);
    assert_eq!(get_in_all(&store, b"k"), vec![None; 5]);
    let mut handle = store.handle();
    let scores = handle.open_keyspace("zsets/score_cf", Order::BlackwidowScores).unwrap();
    let mut batch = Batch::new();
    batch.delete(scores, b"k").unwrap();
    batch.delete_range(scores, &KeyRange::between(b"a", b"b")).unwrap();
    handle.begin(&Scope::Exclusive).unwrap();
    handle.commit(&batch, &[]).unwrap();
    assert!(!path.exists(), "deletes create nothing");
    assert!(records(&store, "lists/data_cf", Direction::Reverse, 10).is_empty());
    for unknown in ["hashes/other", "streams/default", "strings"] {
        assert!(matches!(handle.open_keyspace(unknown, Order::Bytes), Err(StoreError::Io(_))), "{unknown}");
    }
}

#[test]
fn a_refused_batch_creates_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let store = open(&path);
    let mut handle = store.handle();
    let strings = handle.open_keyspace("strings/default", Order::Bytes).unwrap();
    let mut batch = Batch::new();
    batch.put(strings, b"k", b"v").unwrap();
    batch.put(strings, &vec![0; 9 << 20], b"too long").unwrap();
    handle.begin(&Scope::Exclusive).unwrap();
    assert!(matches!(handle.commit(&batch, &[]), Err(StoreError::TooLarge { .. })));
    assert!(!path.exists());
}

#[test]
fn a_state_that_began_before_the_databases_were_created_stays_empty() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("db"));
    let (mut reader, mut writer) = (store.handle(), store.handle());
    let keyspaces = keyspaces(&mut reader);
    reader.begin(&Scope::Read).unwrap();
    put_in_all(&mut writer, b"k", b"v").unwrap();
    for keyspace in &keyspaces {
        assert_eq!(reader.get(*keyspace, b"k").unwrap(), None);
    }
    reader.rollback();
    reader.begin(&Scope::Read).unwrap();
    for keyspace in keyspaces {
        assert_eq!(reader.get(keyspace, b"k").unwrap().as_deref(), Some(b"v".as_slice()));
    }
}

#[test]
fn every_state_is_one_of_all_five_databases() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    put_in_all(&mut store.handle(), b"k", &0_u32.to_be_bytes()).unwrap();
    let mut writer = store.handle();
    let reader = store.clone();
    std::thread::scope(|scope| {
        let writing = scope.spawn(move || {
            for number in 1_u32..500 {
                put_in_all(&mut writer, b"k", &number.to_be_bytes()).unwrap();
            }
        });
        while !writing.is_finished() {
            let values = get_in_all(&reader, b"k");
            assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
        }
    });
}

#[test]
fn a_commit_is_whole_after_the_process_was_killed_at_any_time() {
    for round in 0_u64..12 {
        let directory = tempfile::tempdir().unwrap();
        // The other process is this test binary again, running the test below.
        let mut other = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "write_until_killed_for_another_test", "--nocapture", "--ignored"])
            .env("ORBWEAVER_TEST_WRITE", directory.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(other.stdout.take().unwrap()).lines();
        assert!(output.any(|line| line.unwrap().contains("writing")));
        std::thread::sleep(Duration::from_micros(2_000 + 3_701 * round));
        other.kill().unwrap();
        other.wait().unwrap();
        let store = open(directory.path());
        assert!(!directory.path().join(JOURNAL).exists());
        let numbers = get_in_all(&store, b"number");
        assert!(numbers.iter().all(|number| *number == numbers[0] && number.is_some()), "round {round}: {numbers:?}");
        let acknowledged = output.map_while(Result::ok).filter_map(|line| line.parse::<u32>().ok()).last().unwrap_or(0);
        let found = u32::from_be_bytes(numbers[0].as_deref().unwrap().try_into().unwrap());
        assert!(found >= acknowledged, "{found} is there, {acknowledged} was acknowledged");
    }
}

#[test]
#[ignore = "started as a process of its own by the test above"]
fn write_until_killed_for_another_test() {
    let path = std::env::var_os("ORBWEAVER_TEST_WRITE").unwrap();
    let store = open(Path::new(&path));
    let mut handle = store.handle();
    for number in 0_u32.. {
        put_in_all(&mut handle, b"number", &number.to_be_bytes()).unwrap();
        if number == 0 {
            println!("writing");
        }
        println!("{number}");
    }
}

/// The keyspaces of the conformance suite, spread over the five databases.
struct Spread(RocksHandle);

impl Store for Spread {
    fn limits(&self) -> Limits {
        self.0.limits()
    }

    fn open_keyspace(&mut self, name: &str, order: Order) -> Result<Keyspace, StoreError> {
        let place = match (order, name) {
            (Order::BlackwidowLists, _) => "lists/data_cf",
            (Order::BlackwidowScores, _) => "zsets/score_cf",
            (Order::Bytes, "system") => "strings/default",
            (Order::Bytes, "meta") => "hashes/default",
            (Order::Bytes, "data") => "hashes/data_cf",
            (Order::Bytes, "score") => "zsets/data_cf",
            _ => return Err(StoreError::UnsupportedOrder(name.to_owned())),
        };
        self.0.open_keyspace(place, order)
    }

    fn order(&self, keyspace: Keyspace) -> Order {
        self.0.order(keyspace)
    }

    fn begin(&mut self, scope: &Scope) -> Result<u64, StoreError> {
        self.0.begin(scope)
    }

    fn get(&mut self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.0.get(keyspace, key)
    }

    fn get_many(&mut self, keys: &[(Keyspace, &[u8])]) -> Result<Values, StoreError> {
        self.0.get_many(keys)
    }

    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        self.0.scan(keyspace, range, direction, limit)
    }

    fn revisions(&mut self, keys: &[Bytes]) -> Result<Vec<u64>, StoreError> {
        self.0.revisions(keys)
    }

    fn commit(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        self.0.commit(batch, changed)
    }

    fn rollback(&mut self) {
        self.0.rollback();
    }
}

struct Five {
    directory: TempDir,
    /// None only while it is reopened.
    store: Option<RocksStore>,
}

impl Five {
    fn options() -> RocksOptions {
        RocksOptions { durability: Durability::Os, ..options() }
    }
}

impl Subject for Five {
    fn handle(&self) -> Result<Box<dyn Store + Send>, StoreError> {
        Ok(Box::new(Spread(self.store.as_ref().unwrap().handle())))
    }

    fn reopen(&mut self) -> Result<bool, StoreError> {
        self.store = None;
        self.store = Some(RocksStore::open(self.directory.path(), Self::options())?);
        Ok(true)
    }
}

#[test]
fn five_databases_pass_the_test_suite_of_the_store_contract() {
    let failures = conformance::run(&|| {
        let directory = tempfile::tempdir().unwrap();
        let store = Some(RocksStore::open(directory.path(), Five::options())?);
        Ok(Box::new(Five { directory, store }))
    });
    assert_eq!(failures, []);
}
