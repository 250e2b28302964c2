//! Directories that other programs wrote, with orders of their own: opened as they are, every record in its place.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use bytes::Bytes;
use common::{DIRECTORIES, Records, copy_of, expected_records, records};
use orbweaver::stores::rocksdb::{RocksOptions, RocksStore, recognise};
use orbweaver_engine::store::{Batch, Direction, Order, Scope, Store, StoreError};

fn assert_walks_in_order(store: &RocksStore, keyspace: &str, expected: &Records) {
    let backwards: Records = expected.iter().rev().cloned().collect();
    for items in [1, 7, 10_000] {
        assert_eq!(records(store, keyspace, Direction::Forward, items), *expected, "{keyspace}, pages of {items}");
        assert_eq!(records(store, keyspace, Direction::Reverse, items), backwards, "{keyspace} backwards, pages of {items}");
    }
}

#[test]
fn every_record_of_other_programs_is_met_in_the_order_of_their_comparators() {
    for (name, layout) in DIRECTORIES {
        let copy = copy_of(name);
        let place = recognise(copy.path(), None).unwrap();
        assert_eq!((place.layout.name(), place.directory.as_path()), (layout, copy.path()));
        let options = RocksOptions { layout: place.layout, read_only: true, ..RocksOptions::default() };
        let store = RocksStore::open(&place.directory, options).unwrap();
        let expected = expected_records(name);
        assert!(expected.len() > 1, "{name}: {:?}", expected.keys());
        for keyspace in store.keyspaces().unwrap() {
            assert_walks_in_order(&store, &keyspace, expected.get(&keyspace).unwrap_or(&Records::new()));
        }
        assert!(expected.keys().all(|keyspace| store.keyspaces().unwrap().contains(keyspace)), "{name}");
    }
}

#[test]
fn the_orders_are_those_of_the_directory() {
    for (name, keyspace, order) in [
        ("blackwidow/a-flushed", "lists/data_cf", Order::BlackwidowLists),
        ("blackwidow/a-flushed", "zsets/score_cf", Order::BlackwidowScores),
        ("blackwidow/a-flushed", "hashes/data_cf", Order::Bytes),
        ("nemo/db", "zset/default", Order::Bytes),
        ("ardb/rocksdb", "0", Order::Ardb),
    ] {
        let copy = copy_of(name);
        let layout = recognise(copy.path(), None).unwrap().layout;
        let store = RocksStore::open(copy.path(), RocksOptions { layout, ..RocksOptions::default() }).unwrap();
        assert_eq!(store.order(keyspace), order);
        let other = if order == Order::Bytes { Order::Ardb } else { Order::Bytes };
        let refused = store.handle().open_keyspace(keyspace, other);
        assert!(matches!(refused, Err(StoreError::UnsupportedOrder(_))), "{refused:?}");
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
