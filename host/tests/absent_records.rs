//! Records that are not there: what the store knows of them in memory is true in every state, whoever writes at the same time.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use bytes::Bytes;
use fastrand::Rng;
use orbweaver::stores::rocksdb::{RocksHandle, RocksOptions, RocksStore};
use orbweaver_engine::store::{Batch, KeyRange, Keyspace, Order, Scope, Store};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// So little that there is room for what is known of a thousand new records, and then for that of others.
const CACHE_BYTES: usize = 16 << 10;

fn open(path: &Path) -> RocksStore {
    RocksStore::open(path, RocksOptions { record_cache_bytes: CACHE_BYTES, ..RocksOptions::default() }).unwrap()
}

fn data(handle: &mut RocksHandle) -> Keyspace {
    handle.open_keyspace("data", Order::Bytes).unwrap()
}

fn key(number: u64) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key
}

/// The scope of writers.
fn one_at_a_time() -> Scope {
    Scope::Keys(vec![Bytes::from_static(b"k")])
}

#[test]
fn reads_of_old_and_new_records_are_those_of_a_model_whatever_is_written_late_deleted_or_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let (mut model, mut random, mut newest) = (BTreeMap::<u64, u64>::new(), Rng::with_seed(88_172_645_463_325_252), 0);
    for _ in 0..4 {
        let store = open(directory.path());
        let mut handle = store.handle();
        let data = data(&mut handle);
        for step in 0..4000_u64 {
            handle.let_commits_be_late(step % 3 > 0);
            newest += random.u64(..4);
            let mut batch = Batch::new();
            handle.begin(&one_at_a_time()).unwrap();
            let asked: Vec<u64> =
                (0..8).map(|turn| if turn % 2 == 0 { newest + random.u64(..8) } else { random.u64(..newest + 8) }).collect();
            let keys: Vec<[u8; 12]> = asked.iter().map(|number| key(*number)).collect();
            let expected: Vec<Option<Vec<u8>>> = asked.iter().map(|number| Some(model.get(number)?.to_be_bytes().to_vec())).collect();
            let together: Vec<(Keyspace, &[u8])> = keys.iter().map(|key| (data, key.as_slice())).collect();
            let found: Vec<Option<Vec<u8>>> =
                handle.get_many(&together).unwrap().of_each(keys.len()).unwrap().map(|value| value.map(|value| value.to_vec())).collect();
            assert_eq!(found, expected, "step {step}");
            assert_eq!(handle.get(data, &keys[0]).unwrap().map(|value| value.to_vec()), expected[0]);
            for number in asked {
                match random.u64(..4) {
                    0 => {
                        batch.delete(data, &key(number)).unwrap();
                        model.remove(&number);
                    }
                    1 if step % 50 == 0 => {
                        let range = KeyRange { start: key(number).to_vec(), after_start: false, end: Some(key(number + 5).to_vec()) };
                        batch.delete_range(data, &range).unwrap();
                        model.retain(|other, _| !(number..number + 5).contains(other));
                    }
                    1 => {}
                    _ => {
                        batch.put(data, &key(number), &step.to_be_bytes()).unwrap();
                        model.insert(number, step);
                    }
                }
            }
            handle.commit(&batch, &[]).unwrap();
        }
        handle.settle(u64::MAX).unwrap();
    }
}

#[test]
fn readers_beside_a_writer_find_each_record_of_their_state_and_no_other() {
    const COMMITS: u64 = 20_000;
    const KEPT: u64 = 50;
    let directory = tempfile::tempdir().unwrap();
    let (store, is_over) = (open(directory.path()), AtomicBool::new(false));
    // The first record says up to which number all of the last so many are there.
    let bounds = |handle: &mut RocksHandle, data| {
        let newest = handle.get(data, &key(0)).unwrap().map_or(0, |value| u64::from_be_bytes(value.as_ref().try_into().unwrap()));
        (newest.saturating_sub(KEPT) + 1, newest)
    };
    // All of them first: while there is one only, it reads without a snapshot.
    let (mut handle, readers) = (store.handle(), [1, 2, 3].map(|reader| (reader, store.handle())));
    std::thread::scope(|scope| {
        for (reader, mut handle) in readers {
            let is_over = &is_over;
            scope.spawn(move || {
                let (data, mut random) = (data(&mut handle), Rng::with_seed(reader));
                while !is_over.load(Ordering::SeqCst) {
                    handle.begin(&Scope::Read).unwrap();
                    let (oldest, newest) = bounds(&mut handle, data);
                    let asked: Vec<u64> = (0..20).map(|_| (oldest + random.u64(..2 * KEPT)).saturating_sub(KEPT / 2).max(1)).collect();
                    let keys: Vec<[u8; 12]> = asked.iter().map(|number| key(*number)).collect();
                    let together: Vec<(Keyspace, &[u8])> = keys.iter().map(|key| (data, key.as_slice())).collect();
                    let found = handle.get_many(&together).unwrap().of_each(keys.len()).unwrap();
                    for (number, value) in asked.iter().zip(found) {
                        assert_eq!(value.is_some(), (oldest..=newest).contains(number), "{number} of {oldest} to {newest}");
                    }
                    handle.rollback();
                }
            });
        }
        let data = data(&mut handle);
        for number in 1..=COMMITS {
            handle.begin(&one_at_a_time()).unwrap();
            let mut batch = Batch::new();
            assert_eq!(handle.get(data, &key(number)).unwrap(), None);
            batch.put(data, &key(number), b"value").unwrap();
            batch.put(data, &key(0), &number.to_be_bytes()).unwrap();
            if let Some(old) = number.checked_sub(KEPT).filter(|old| *old > 0) {
                batch.delete(data, &key(old)).unwrap();
            }
            handle.commit(&batch, &[]).unwrap();
        }
        is_over.store(true, Ordering::SeqCst);
    });
}

#[test]
fn readers_of_a_state_find_what_is_deleted_at_the_end_while_they_read() {
    const COMMITS: u64 = 150_000;
    let directory = tempfile::tempdir().unwrap();
    let (store, is_over) = (open(directory.path()), AtomicBool::new(false));
    let (mut handle, readers) = (store.handle(), [1, 2, 3].map(|reader| (reader, store.handle())));
    let newest = AtomicU64::new(1);
    std::thread::scope(|scope| {
        for (reader, mut handle) in readers {
            let (is_over, newest) = (&is_over, &newest);
            scope.spawn(move || {
                let (data, mut random) = (data(&mut handle), Rng::with_seed(reader));
                while !is_over.load(Ordering::SeqCst) {
                    handle.begin(&Scope::Read).unwrap();
                    let first = (newest.load(Ordering::SeqCst) + 2 - random.u64(..4)) * 2;
                    let one = handle.get(data, &key(first)).unwrap();
                    std::thread::yield_now();
                    // One that was never there.
                    assert_eq!(handle.get(data, &key(u64::MAX - random.u64(..1000))).unwrap(), None);
                    let other = handle.get(data, &key(first + 1)).unwrap();
                    assert_eq!(one, other, "both are put, and deleted, by one commit");
                    handle.rollback();
                }
            });
        }
        let (data, mut random) = (data(&mut handle), Rng::with_seed(7));
        for number in 1..=COMMITS {
            newest.store(number, Ordering::SeqCst);
            let both = [key(number * 2), key(number * 2 + 1)];
            handle.begin(&one_at_a_time()).unwrap();
            let mut batch = Batch::new();
            both.iter().for_each(|key| batch.put(data, key, b"value").unwrap());
            handle.commit(&batch, &[]).unwrap();
            if random.u64(..4) > 0 {
                handle.begin(&one_at_a_time()).unwrap();
                let mut batch = Batch::new();
                both.iter().for_each(|key| batch.delete(data, key).unwrap());
                handle.commit(&batch, &[]).unwrap();
            }
        }
        is_over.store(true, Ordering::SeqCst);
    });
}
