//! Small structures that are held in memory: what is read of them, in whatever way, is that of a model, whoever changes them; and RocksDB is
//! not asked again.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use bytes::Bytes;
use fastrand::Rng;
use orbweaver::stores::rocksdb::{RocksHandle, RocksOptions, RocksStore};
use orbweaver_engine::store::{Batch, Direction, KeyRange, Keyspace, Order, PageLimit, Scope, Store};
use rocksdb::perf::{PerfContext, PerfMetric};
use std::collections::BTreeMap;
use std::path::Path;

type Records = BTreeMap<Vec<u8>, Vec<u8>>;

fn open(path: &Path, record_cache_bytes: usize) -> RocksStore {
    RocksStore::open(path, RocksOptions { record_cache_bytes, ..RocksOptions::default() }).unwrap()
}

fn data(handle: &mut RocksHandle) -> Keyspace {
    handle.open_keyspace("data", Order::Bytes).unwrap()
}

fn member(structure: u64, number: u64) -> Vec<u8> {
    // Of lengths of their own, so that their order is not that of the numbers.
    [&structure.to_be_bytes()[..], number.to_string().as_bytes()].concat()
}

fn scope() -> Scope {
    Scope::Keys(vec![Bytes::from_static(b"k")])
}

/// A range within a structure, in either direction, up to some records.
fn question(random: &mut Rng, structure: u64, members: u64) -> (KeyRange, Direction, PageLimit) {
    let mut range = KeyRange::prefix(&structure.to_be_bytes());
    if random.bool() {
        (range.start, range.after_start) = (member(structure, random.u64(..members)), random.bool());
    }
    if random.bool() {
        range.end = Some(member(structure, random.u64(..members)));
    }
    let direction = if random.bool() { Direction::Forward } else { Direction::Reverse };
    let most_bytes = if random.bool() { u32::MAX } else { random.u32(1..500) };
    (range, direction, PageLimit { max_items: [1, 3, 1000][random.usize(..3)], max_bytes: most_bytes })
}

/// Reads a structure in some way.
fn read(handle: &mut RocksHandle, data: Keyspace, model: &Records, random: &mut Rng, (structure, members): (u64, u64)) {
    let asked: Vec<Vec<u8>> = (0..3).map(|_| member(structure, random.u64(..members))).collect();
    match random.u8(..4) {
        0 => assert_eq!(handle.get(data, &asked[0]).unwrap().as_deref(), model.get(&asked[0]).map(Vec::as_slice)),
        1 => {
            let together: Vec<(Keyspace, &[u8])> = asked.iter().map(|key| (data, key.as_slice())).collect();
            let values = handle.get_many(&together).unwrap();
            let values: Vec<Option<Bytes>> = values.of_each(asked.len()).unwrap().collect();
            assert!(values.iter().zip(&asked).all(|(value, key)| value.as_deref() == model.get(key).map(Vec::as_slice)));
        }
        _ => {
            let (range, direction, limit) = question(random, structure, members);
            let page = handle.scan(data, &range, direction, limit).unwrap();
            let within = model.iter().filter(|(key, _)| range.contains(Order::Bytes, key));
            let mut expected: Vec<(Vec<u8>, Vec<u8>)> = within.map(|(key, value)| (key.clone(), value.clone())).collect();
            if direction == Direction::Reverse {
                expected.reverse();
            }
            let all = expected.len();
            // One record is in any page, and the one that reaches the limit of bytes.
            let mut bytes = 0;
            let before_limit = expected.iter().take_while(|(key, value)| {
                let is_within = bytes < usize::try_from(limit.max_bytes).unwrap();
                bytes += key.len() + value.len();
                is_within
            });
            let most = before_limit.count().min(usize::try_from(limit.max_items).unwrap());
            expected.truncate(most);
            let met: Vec<(Vec<u8>, Vec<u8>)> = page.records().map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
            assert_eq!(met, expected, "{range:?} {direction:?} {limit:?}");
            assert!(page.more || met.len() == all);
        }
    }
}

/// Some changes of a structure, in the batch and the model.
fn change(batch: &mut Batch, data: Keyspace, model: &mut Records, random: &mut Rng, (structure, members): (u64, u64)) {
    for _ in 0..random.u8(..5) {
        let key = member(structure, random.u64(..members));
        if random.u8(..3) == 0 {
            batch.delete(data, &key).unwrap();
            model.remove(&key);
        } else {
            let most = if random.u8(..50) == 0 { 50 << 10 } else { 60 };
            let value = vec![random.u8(..); random.usize(..most)];
            batch.put(data, &key, &value).unwrap();
            model.insert(key, value);
        }
    }
}

fn check_against_model(record_cache_bytes: usize, structures: u64, members: u64) {
    let directory = tempfile::tempdir().unwrap();
    let (mut model, mut random) = (Records::new(), Rng::with_seed(7));
    for _ in 0..2 {
        let store = open(directory.path(), record_cache_bytes);
        let mut handle = store.handle();
        let data = data(&mut handle);
        for step in 0..6000_u32 {
            handle.let_commits_be_late(step % 3 > 0);
            let (mut batch, committed) = (Batch::new(), model.clone());
            handle.begin(&scope()).unwrap();
            for _ in 0..4 {
                let structure = random.u64(..structures);
                read(&mut handle, data, &model, &mut random, (structure, members));
            }
            if random.u8(..100) == 0 {
                let structure = random.u64(..structures);
                batch.delete_range(data, &KeyRange::prefix(&structure.to_be_bytes())).unwrap();
                model.retain(|key, _| !key.starts_with(&structure.to_be_bytes()));
            }
            let structure = random.u64(..structures);
            change(&mut batch, data, &mut model, &mut random, (structure, members));
            if random.u8(..20) == 0 {
                handle.rollback();
                model = committed;
            } else {
                handle.commit(&batch, &[]).unwrap();
            }
        }
        handle.settle(u64::MAX).unwrap();
    }
}

#[test]
fn small_structures_read_like_a_model_whatever_is_written_late_deleted_or_opened_again() {
    check_against_model(8 << 20, 50, 12);
}

#[test]
fn structures_that_grow_beyond_small_ones_and_back_read_like_a_model() {
    check_against_model(8 << 20, 6, 150);
}

#[test]
fn more_structures_than_there_is_room_for_read_like_a_model() {
    check_against_model(64 << 10, 300, 10);
}

#[test]
fn a_reader_of_a_state_does_not_meet_what_another_handle_changes() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), 8 << 20);
    let (mut writer, mut reader) = (store.handle(), store.handle());
    let (data, of_reader) = (data(&mut writer), data(&mut reader));
    let (mut model, mut random) = (Records::new(), Rng::with_seed(11));
    for _ in 0..1500 {
        reader.begin(&Scope::Read).unwrap();
        let state = model.clone();
        for _ in 0..4 {
            let structure = random.u64(..20);
            read(&mut reader, of_reader, &state, &mut random, (structure, 12));
            writer.begin(&scope()).unwrap();
            read(&mut writer, data, &model, &mut random, (structure, 12));
            let mut batch = Batch::new();
            change(&mut batch, data, &mut model, &mut random, (structure, 12));
            writer.commit(&batch, &[]).unwrap();
            read(&mut reader, of_reader, &state, &mut random, (structure, 12));
        }
        reader.rollback();
    }
}

#[test]
fn rocksdb_is_asked_twice_for_a_small_structure_that_is_read_in_many_ways_and_changed() {
    const STRUCTURES: u64 = 2000;
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), 64 << 20);
    let mut handle = store.handle();
    let data = data(&mut handle);
    let (mut model, mut random) = (Records::new(), Rng::with_seed(3));
    let mut batch = Batch::new();
    for structure in 0..STRUCTURES {
        for number in 0..8 {
            batch.put(data, &member(structure, number), b"value").unwrap();
            model.insert(member(structure, number), b"value".to_vec());
        }
    }
    handle.begin(&Scope::Exclusive).unwrap();
    handle.commit(&batch, &[]).unwrap();
    let mut round = |structure: u64| {
        handle.begin(&scope()).unwrap();
        let all = handle.scan(data, &KeyRange::prefix(&structure.to_be_bytes()), Direction::Forward, PageLimit::items(1000)).unwrap();
        assert!(!all.is_empty());
        (0..4).for_each(|_| read(&mut handle, data, &model, &mut random, (structure, 10)));
        let mut batch = Batch::new();
        batch.put(data, &member(structure, 9), b"more").unwrap();
        model.insert(member(structure, 9), b"more".to_vec());
        handle.commit(&batch, &[]).unwrap();
    };
    let seeks = || PerfContext::default().metric(PerfMetric::SeekOnMemtableCount);
    let before = seeks();
    (0..3).for_each(|_| (0..STRUCTURES).for_each(&mut round));
    let first = seeks() - before;
    // The first scan and the second; of some that share their counts with another one, a few more.
    assert!((STRUCTURES * 2..STRUCTURES * 9 / 4).contains(&first), "{first} searches for {STRUCTURES}");
    let before = seeks();
    (0..3).for_each(|_| (0..STRUCTURES).for_each(&mut round));
    assert_eq!(seeks() - before, 0);
}
