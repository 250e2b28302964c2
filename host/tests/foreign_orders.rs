//! Directories that other programs wrote, with orders of their own: opened as they are, every record in its place.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use bytes::Bytes;
use orbweaver::stores::rocksdb::{RocksOptions, RocksStore};
use orbweaver_engine::store::{Batch, Direction, KeyRange, Order, PageLimit, Scope, Store, StoreError};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

type Records = Vec<(Bytes, Bytes)>;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures").join(name)
}

/// A copy of a database, as RocksDB writes into what it opens.
fn copy_of(directory: &Path) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    copy
}

fn unhex(text: &str) -> Bytes {
    let digits = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    text.as_bytes().chunks(2).map(digits).collect()
}

fn records(store: &RocksStore, keyspace: &str, direction: Direction, items: u32) -> Records {
    let mut handle = store.handle();
    let order = store.order(keyspace);
    let opened = handle.open_keyspace(keyspace, order).unwrap();
    handle.begin(&Scope::Read).unwrap();
    let (mut range, mut met) = (KeyRange::all(), Records::new());
    loop {
        let page = handle.scan(opened, &range, direction, PageLimit::items(items)).unwrap();
        met.extend(page.records());
        if !page.more {
            return met;
        }
        let last = met.last().unwrap().0.to_vec();
        match direction {
            Direction::Forward => range = KeyRange { start: last, after_start: true, end: None },
            Direction::Reverse => range.end = Some(last),
        }
    }
}

fn assert_walks_in_order(store: &RocksStore, keyspace: &str, expected: &Records) {
    let backwards: Records = expected.iter().rev().cloned().collect();
    for items in [1, 7, 10_000] {
        assert_eq!(records(store, keyspace, Direction::Forward, items), *expected, "{keyspace}, pages of {items}");
        assert_eq!(records(store, keyspace, Direction::Reverse, items), backwards, "{keyspace} backwards, pages of {items}");
    }
}

#[test]
fn ardbs_records_are_met_in_the_order_of_its_comparator() {
    let copy = copy_of(&fixture("ardb/rocksdb"));
    let store = RocksStore::open(copy.path(), RocksOptions { read_only: true, ..RocksOptions::default() }).unwrap();
    let lines = fs::read_to_string(fixture("ardb/records.hex")).unwrap();
    let mut namespaces: Vec<&str> = lines.lines().filter_map(|line| line.split(' ').next()).collect();
    namespaces.dedup();
    assert!(!namespaces.is_empty());
    for namespace in namespaces {
        assert_eq!(store.order(namespace), Order::Ardb);
        let of_namespace = lines.lines().map(|line| line.split(' ').collect::<Vec<_>>()).filter(|fields| fields[0] == namespace);
        let expected: Records = of_namespace.map(|fields| (unhex(fields[1]), unhex(fields[2]))).collect();
        assert_walks_in_order(&store, namespace, &expected);
    }
}

#[test]
fn blackwidows_elements_and_scores_are_met_in_the_order_of_its_comparators() {
    let set = fixture("blackwidow/a-flushed");
    let mut lines = String::new();
    let raw = fs::File::open(fixture("blackwidow/a-flushed.raw.jsonl.gz")).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(raw), &mut lines).unwrap();
    for (database, keyspace, order) in
        [("lists", "data_cf", Order::BlackwidowLists), ("zsets", "score_cf", Order::BlackwidowScores), ("hashes", "data_cf", Order::Bytes)]
    {
        let copy = copy_of(&set.join(database));
        let store = RocksStore::open(copy.path(), RocksOptions { read_only: true, ..RocksOptions::default() }).unwrap();
        assert_eq!(store.order(keyspace), order);
        let field = |line: &serde_json::Value, name: &str| line[name].as_str().unwrap().to_owned();
        let lines = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let own = lines.filter(|line| field(line, "db") == database && field(line, "cf") == keyspace);
        let expected: Records = own.map(|line| (unhex(&field(&line, "k")), unhex(&field(&line, "v")))).collect();
        assert!(expected.len() > 10, "{} records of {database}", expected.len());
        assert_walks_in_order(&store, keyspace, &expected);
    }
}

#[test]
fn a_keyspace_keeps_its_order_when_the_database_is_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = RocksStore::open(directory.path(), RocksOptions::default()).unwrap();
    let mut handle = store.handle();
    let keyspace = handle.open_keyspace("0", Order::Ardb).unwrap();
    let mut batch = Batch::new();
    let (minus_one, two) = (b"\x01k\x06\x01\x01\x01", b"\x01k\x06\x01\x01\x04");
    batch.put(keyspace, two, b"second").unwrap();
    batch.put(keyspace, minus_one, b"first").unwrap();
    handle.begin(&Scope::Exclusive).unwrap();
    handle.commit(&batch, &[]).unwrap();
    drop((handle, store));

    let store = RocksStore::open(directory.path(), RocksOptions::default()).unwrap();
    assert_eq!(store.order("0"), Order::Ardb);
    let values: Vec<Bytes> = records(&store, "0", Direction::Forward, 10).into_iter().map(|(_, value)| value).collect();
    assert_eq!(values, ["first", "second"]);
    let other = store.handle().open_keyspace("0", Order::Bytes);
    assert!(matches!(other, Err(StoreError::UnsupportedOrder(_))), "{other:?}");
}
