//! What each operation costs in requests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use bytes::Bytes;
use common::{cluster, fresh_store, fresh_url, open, put, scope};
use orbweaver_engine::store::{Batch, Direction, KeyRange, Keyspace, PageLimit, Scope, Store, StoreError, lent};
use orbweaver_etcd::{EtcdHandle, EtcdStore};
use orbweaver_remote::RoundTrips;

/// What `step` costs.
fn cost<T>(handle: &mut EtcdHandle, step: impl FnOnce(&mut EtcdHandle) -> T) -> (RoundTrips, T) {
    let before = handle.round_trips();
    let outcome = step(handle);
    (handle.round_trips().since(before), outcome)
}

const fn trips(reads: u64, commits: u64) -> RoundTrips {
    RoundTrips { reads, commits }
}

fn keys(keyspace: Keyspace, count: u32) -> Vec<(Keyspace, Bytes)> {
    (0..count).map(|number| (keyspace, Bytes::copy_from_slice(&number.to_be_bytes()))).collect()
}

fn fill(handle: &mut EtcdHandle, keyspace: Keyspace, count: u32) {
    let mut batch = Batch::new();
    for (_, key) in keys(keyspace, count) {
        batch.put(keyspace, &key, b"value").unwrap();
    }
    handle.begin(&scope(b"fill")).unwrap();
    handle.commit(&batch, &[0]).unwrap();
}

#[test]
fn a_transaction_costs_a_request_for_its_reads_and_one_for_its_commit() {
    let cluster = cluster();
    let store = fresh_store(&cluster);
    let (mut handle, data) = open(&store);
    fill(&mut handle, data, 1000);
    let total = store.round_trips();

    let (begin, epoch) = cost(&mut handle, |handle| handle.begin(&scope(b"key")));
    assert_eq!((begin, epoch.is_ok()), (trips(0, 0), true), "the epoch is known");
    let (get, value) = cost(&mut handle, |handle| handle.get(data, &7_u32.to_be_bytes()));
    assert_eq!((get, value.unwrap().as_deref()), (trips(1, 0), Some(&b"value"[..])), "with the epoch");
    let (get, values) = cost(&mut handle, |handle| handle.get_many(&lent(&keys(data, 100))));
    assert_eq!((get, values.unwrap().of_each(100).unwrap().flatten().count()), (trips(1, 0), 100));
    let (get, values) = cost(&mut handle, |handle| handle.get_many(&lent(&keys(data, 1000))));
    assert_eq!((get, values.unwrap().of_each(1000).unwrap().flatten().count()), (trips(1, 0), 1000), "eight requests under way together");
    let (scan, page) = cost(&mut handle, |handle| handle.scan(data, &KeyRange::all(), Direction::Forward, PageLimit::items(100)));
    assert_eq!((scan, page.unwrap().len()), (trips(1, 0), 100));
    let (scan, page) = cost(&mut handle, |handle| handle.scan(data, &KeyRange::all(), Direction::Reverse, PageLimit::items(100)));
    assert_eq!((scan, page.unwrap().len()), (trips(2, 0), 100), "backwards, if the range has more than 256 records");
    let (scan, page) = cost(&mut handle, |handle| handle.scan(data, &KeyRange::all(), Direction::Forward, PageLimit::items(1000)));
    assert_eq!((scan, page.unwrap().len()), (trips(2, 0), 1000), "the second request knows how large records are");
    let (revisions, _) = cost(&mut handle, |handle| handle.revisions(&[Bytes::from_static(b"key")]));
    assert_eq!(revisions, trips(1, 0));
    let mut batch = Batch::new();
    batch.put(data, b"key", b"value").unwrap();
    let (commit, outcome) = cost(&mut handle, |handle| handle.commit(&batch, &[0]));
    assert_eq!((commit, outcome), (trips(0, 1), Ok(())));
    assert_eq!(store.round_trips().since(total), trips(9, 1), "all handles together");
}

/// etcd sorts what it reads backwards: a small part of a large range.
#[test]
fn backwards_a_large_range_is_narrowed_before_it_is_sorted() {
    const RECORDS: u32 = 12_000;
    let cluster = cluster();
    let (mut handle, data) = open(&fresh_store(&cluster));
    let key = |number: u32| format!("member {number:06}").into_bytes();
    for from in (0..RECORDS).step_by(2000) {
        let mut batch = Batch::new();
        (from..from + 2000).for_each(|number| batch.put(data, &key(number), b"value").unwrap());
        handle.begin(&scope(b"fill")).unwrap();
        handle.commit(&batch, &[0]).unwrap();
    }
    let reverse = |handle: &mut EtcdHandle, range: &KeyRange, items: u32| {
        handle.begin(&Scope::Read).unwrap();
        let (cost, page) =
            cost(handle, |handle| handle.scan(data, range, Direction::Reverse, PageLimit { max_items: items, max_bytes: u32::MAX }));
        handle.rollback();
        let page = page.unwrap();
        (cost.reads, page.records().map(|(key, _)| key.to_vec()).collect::<Vec<_>>(), page.more)
    };
    let last = |end: u32, count: u32| (end - count..end).rev().map(key).collect::<Vec<_>>();
    let (reads, records, more) = reverse(&mut handle, &KeyRange::all(), 10);
    assert_eq!((records, more), (last(RECORDS, 10), true));
    println!("{reads} requests to read backwards from {RECORDS} records");
    assert!(reads <= 6, "{reads}");
    let (_, records, more) = reverse(&mut handle, &KeyRange::between(&key(100), &key(11_111)), 9000);
    assert_eq!((records, more), (last(11_111, 9000), true));
    let (_, records, more) = reverse(&mut handle, &KeyRange::all(), RECORDS + 1);
    assert_eq!((records, more), (last(RECORDS, RECORDS), false));
    let (reads, records, more) = reverse(&mut handle, &KeyRange::between(&key(5), &key(205)), 300);
    assert_eq!((reads, records, more), (1, last(205, 200), false));
}

#[test]
fn the_first_read_asks_for_everything_at_once() {
    let cluster = cluster();
    let (mut handle, data) = open(&fresh_store(&cluster));
    fill(&mut handle, data, 200);
    for (count, reads) in [(127, 1), (128, 2), (200, 2)] {
        handle.begin(&Scope::Read).unwrap();
        let (get, values) = cost(&mut handle, |handle| handle.get_many(&lent(&keys(data, count))));
        let count = usize::try_from(count).unwrap();
        assert_eq!((get, values.unwrap().of_each(count).unwrap().flatten().count()), (trips(reads, 0), count));
        let (commit, outcome) = cost(&mut handle, |handle| handle.commit(&Batch::new(), &[]));
        assert_eq!((commit, outcome), (trips(0, 0), Ok(())));
    }
}

#[test]
fn a_commit_that_has_read_nothing_reads_the_revision() {
    let cluster = cluster();
    let (mut handle, data) = open(&fresh_store(&cluster));
    fill(&mut handle, data, 1);
    let (blind, outcome) = cost(&mut handle, |handle| put(handle, data, b"key", b"value"));
    assert_eq!((blind, outcome), (trips(1, 1), Ok(())));
}

#[test]
fn a_conflict_costs_what_the_transaction_costs_again() {
    let cluster = cluster();
    let store = fresh_store(&cluster);
    let ((mut one, data), (mut other, _)) = (open(&store), open(&store));
    put(&mut other, data, b"key", b"0").unwrap();
    let mut batch = Batch::new();
    batch.put(data, b"key", b"1").unwrap();
    let attempt = |one: &mut EtcdHandle, other: Option<&mut EtcdHandle>| {
        one.begin(&scope(b"key"))?;
        one.get(data, b"key")?;
        if let Some(other) = other {
            put(other, data, b"key", b"2")?;
        }
        one.commit(&batch, &[0])
    };
    let (first, outcome) = cost(&mut one, |one| attempt(one, Some(&mut other)));
    assert_eq!((first, outcome), (trips(1, 1), Err(StoreError::Conflict)));
    let (again, outcome) = cost(&mut one, |one| attempt(one, None));
    assert_eq!((again, outcome), (trips(1, 1), Ok(())));
}

#[test]
fn an_epoch_that_is_outdated_costs_the_first_read_alone() {
    let cluster = cluster();
    let url = fresh_url(&cluster);
    // Stores that were opened by themselves know nothing of each other.
    let [(mut one, data), (mut other, _)] = [(); 2].map(|()| open(&EtcdStore::open(&url).unwrap()));
    let before = one.begin(&Scope::Read).unwrap();
    one.rollback();
    other.begin(&Scope::Exclusive).unwrap();
    other.commit(&Batch::new(), &[]).unwrap();

    assert_eq!(one.begin(&scope(b"key")), Ok(before));
    let (get, outcome) = cost(&mut one, |one| one.get(data, b"key"));
    assert_eq!((get, outcome), (trips(1, 0), Err(StoreError::Conflict)));
    one.rollback();
    let (begin, epoch) = cost(&mut one, |one| one.begin(&scope(b"key")));
    assert_eq!(begin, trips(0, 0));
    assert_ne!(epoch, Ok(before));
    assert_eq!(one.get(data, b"key"), Ok(None));
    let mut batch = Batch::new();
    batch.put(data, b"key", b"value").unwrap();
    other.begin(&Scope::Exclusive).unwrap();
    other.commit(&Batch::new(), &[]).unwrap();
    assert_eq!(one.commit(&batch, &[0]), Err(StoreError::Conflict), "the commit looks, too");
}
