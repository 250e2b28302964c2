//! What filters spare, by RocksDB's own counters: a read of a record that is not there searches neither memtables nor files.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)]

use bytes::Bytes;
use orbweaver::stores::rocksdb::{RocksHandle, RocksOptions, RocksStore};
use orbweaver_engine::store::{Batch, Direction, KeyRange, Keyspace, Order, PageLimit, Scope, Store, lent};
use rocksdb::perf::{PerfContext, PerfMetric};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Records of a keyspace.
const RECORDS: u64 = 1000;

/// A handle, which keeps its store, and a keyspace.
fn open(path: &Path) -> (RocksHandle, Keyspace) {
    // Without records of its own in memory: every read is RocksDB's.
    let store = RocksStore::open(path, RocksOptions { record_cache_bytes: 0, ..RocksOptions::default() }).unwrap();
    let mut handle = store.handle();
    let keyspace = handle.open_keyspace("data", Order::Bytes).unwrap();
    (handle, keyspace)
}

/// Every second structure has a record.
fn key(structure: u64) -> Vec<u8> {
    [&structure.to_be_bytes()[..], b"member"].concat()
}

/// One transaction.
fn write(handle: &mut RocksHandle, fill: impl FnOnce(&mut Batch)) {
    let mut batch = Batch::new();
    fill(&mut batch);
    handle.begin(&Scope::Exclusive).unwrap();
    handle.commit(&batch, &[]).unwrap();
}

fn fill(handle: &mut RocksHandle, keyspace: Keyspace) {
    write(handle, |batch| (0..RECORDS).for_each(|number| batch.put(keyspace, &key(number * 2), b"value").unwrap()));
}

/// How much the counters of this thread grow while `read` runs.
fn counted<const N: usize>(metrics: [PerfMetric; N], read: impl FnOnce()) -> [u64; N] {
    let now = || metrics.map(|metric| PerfContext::default().metric(metric));
    let before = now();
    read();
    let after = now();
    std::array::from_fn(|at| after[at] - before[at])
}

/// Reads records that are there, or others, one by one and together, and the structures that they would be in.
fn read(handle: &mut RocksHandle, keyspace: Keyspace, are_there: bool) {
    let keys: Vec<Vec<u8>> = (0..RECORDS).map(|number| key(number * 2 + u64::from(!are_there))).collect();
    handle.begin(&Scope::Read).unwrap();
    for key in &keys {
        assert_eq!(handle.get(keyspace, key).unwrap().is_some(), are_there);
        let range = KeyRange { start: key[..8].to_vec(), after_start: false, end: Some([&key[..8], &[0xff]].concat()) };
        let page = handle.scan(keyspace, &range, Direction::Forward, PageLimit { max_items: 10, max_bytes: 1000 }).unwrap();
        assert_eq!(page.len(), usize::from(are_there));
    }
    let together: Vec<(Keyspace, &[u8])> = keys.iter().map(|key| (keyspace, key.as_slice())).collect();
    let mut values = handle.get_many(&together).unwrap().of_each(keys.len()).unwrap();
    assert!(values.all(|value| value.is_some() == are_there));
    handle.rollback();
}

#[test]
fn what_is_not_there_is_not_searched_for_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    let (mut handle, data) = open(directory.path());
    fill(&mut handle, data);
    let metrics = [PerfMetric::BloomMemtableHitCount, PerfMetric::BloomMemtableMissCount];
    // Each record is asked for by a get, a scan of its structure, and a get of many.
    let [hits, misses] = counted(metrics, || read(&mut handle, data, true));
    assert_eq!((hits, misses), (3 * RECORDS, 0));
    let [hits, misses] = counted(metrics, || read(&mut handle, data, false));
    assert_eq!(hits + misses, 3 * RECORDS);
    assert!(misses > RECORDS * 3 * 95 / 100, "{misses} of {} reads in vain were spared", 3 * RECORDS);
}

#[test]
fn what_is_not_there_is_not_read_from_files() {
    let directory = tempfile::tempdir().unwrap();
    {
        let (mut handle, data) = open(directory.path());
        fill(&mut handle, data);
    }
    // What the log holds becomes a file when the store is opened.
    let (mut handle, data) = open(directory.path());
    let metrics = [PerfMetric::BloomSstHitCount, PerfMetric::BloomSstMissCount];
    let [hits, misses] = counted(metrics, || read(&mut handle, data, true));
    assert!(hits >= 3 * RECORDS && misses == 0, "{hits} hits, {misses} misses");
    let [hits, misses] = counted(metrics, || read(&mut handle, data, false));
    assert!(misses > RECORDS * 3 * 95 / 100, "{misses} reads in vain were spared, {hits} were not");
}

/// How many records the larger stores have: their filter takes 1.2 MB.
const MANY: u64 = 1_000_000;

/// A key in no order: the files of the first level hold some of everything, and are compacted into large ones.
fn scattered(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

/// Names and lengths of the files in a directory; of those that go meanwhile no length.
fn files(path: &Path) -> BTreeMap<OsString, Option<u64>> {
    let files = std::fs::read_dir(path).unwrap().map(Result::unwrap);
    files.map(|file| (file.file_name(), file.metadata().ok().map(|file| file.len()))).collect()
}

/// Lengths of the files that hold records.
fn tables(path: &Path) -> Vec<u64> {
    files(path).into_iter().filter(|(name, _)| name.to_string_lossy().ends_with(".sst")).filter_map(|(_, size)| size).collect()
}

/// Waits until RocksDB writes no files any more.
fn rest(path: &Path) {
    let mut before = BTreeMap::new();
    while before != files(path) {
        before = files(path);
        thread::sleep(Duration::from_secs(1));
    }
}

/// A store for [`MANY`] small records, without records of its own in memory.
fn open_many(path: &Path, block_cache_bytes: usize) -> (RocksHandle, Keyspace) {
    // What is deleted is compacted soon, however little it is: see `merge_files`.
    let soon = RocksOptions { reclaim_bytes: 0, ..RocksOptions::default() };
    let options = RocksOptions { record_cache_bytes: 0, write_buffer_bytes: 8 << 20, block_cache_bytes, ..soon };
    let was_filled = path.join("CURRENT").exists();
    let mut handle = RocksStore::open(path, options).unwrap().handle();
    let data = handle.open_keyspace("data", Order::Bytes).unwrap();
    handle.begin(&Scope::Read).unwrap();
    for number in 0..RECORDS {
        assert_eq!(handle.get(data, &scattered(number * 991)).unwrap().is_some(), was_filled, "what files from before hold is found");
    }
    handle.rollback();
    (handle, data)
}

fn write_many(handle: &mut RocksHandle, data: Keyspace) {
    for first in (0..MANY).step_by(10_000) {
        write(handle, |batch| (first..first + 10_000).for_each(|number| batch.put(data, &scattered(number), b"").unwrap()));
    }
}

/// Reads [`RECORDS`] of [`MANY`]. How many bytes of files a read needs.
fn bytes_a_read(handle: &mut RocksHandle, data: Keyspace) -> u64 {
    handle.begin(&Scope::Read).unwrap();
    let [bytes] = counted([PerfMetric::BlockReadByte], || {
        for number in 0..RECORDS {
            assert!(handle.get(data, &scattered(number * 991)).unwrap().is_some());
        }
    });
    handle.rollback();
    assert!(bytes > RECORDS << 10, "{bytes} bytes: the records lie in files, and are not in memory");
    bytes / RECORDS
}

/// Has all that lies in files merged into one: how many are left by themselves is a question of time, and the newest keep their filters in
/// the cache. Files of the first level reach from end to end, and are compacted together where a range in the middle is.
fn merge_files(path: &Path, handle: &mut RocksHandle, data: Keyspace) {
    write(handle, |batch| batch.delete_range(data, &KeyRange::only(&scattered(1))).unwrap());
    // Beside it there are small ones of other keyspaces.
    let is_one = |sizes: Vec<u64>| sizes.iter().sum::<u64>() - sizes.iter().max().unwrap() < 64 << 10;
    let started = Instant::now();
    while !is_one(tables(path)) {
        assert!(started.elapsed() < Duration::from_secs(120), "files are merged: {:?}", files(path));
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn filters_of_files_of_small_records_stay_in_a_small_cache() {
    let directory = tempfile::tempdir().unwrap();
    let (mut handle, data) = open_many(directory.path(), 16 << 20);
    write_many(&mut handle, data);
    rest(directory.path());
    // A block of records for each, of 4 KiB.
    let bytes = bytes_a_read(&mut handle, data);
    assert!(bytes < 16 << 10, "{bytes} bytes were read from files for each record");
}

#[test]
fn where_filters_do_not_fit_into_the_cache_a_part_of_them_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let bytes_of_files_made_anew = || {
        let (mut handle, data) = open_many(directory.path(), 1 << 20);
        write_many(&mut handle, data);
        merge_files(directory.path(), &mut handle, data);
        bytes_a_read(&mut handle, data)
    };
    let whole = bytes_of_files_made_anew();
    assert!(whole > 1 << 20, "{whole} bytes were read for each record, which is not all of a filter");
    let size: u64 = tables(directory.path()).iter().sum();
    assert!(size > 8 << 20, "{size} bytes are not many times the cache");
    // Now it is large when it is opened, and all files are written anew.
    let in_parts = bytes_of_files_made_anew();
    assert!(in_parts < whole / 8, "{in_parts} bytes were read for each record, and {whole} before");
}

#[test]
fn what_is_new_is_asked_for_in_vain_once() {
    let directory = tempfile::tempdir().unwrap();
    let old = key(RECORDS);
    {
        let (mut handle, data) = open(directory.path());
        write(&mut handle, |batch| batch.put(data, &old, b"value").unwrap());
    }
    let store = RocksStore::open(directory.path(), RocksOptions::default()).unwrap();
    let mut handle = store.handle();
    let data = handle.open_keyspace("data", Order::Bytes).unwrap();
    let mut add = |structures: std::ops::Range<u64>| {
        for structure in structures {
            let keys = [0, 1, 2].map(|member: u64| [key(structure).as_slice(), &member.to_be_bytes()].concat());
            let mut batch = Batch::new();
            handle.begin(&Scope::Exclusive).unwrap();
            assert_eq!(handle.get(data, &keys[0]).unwrap(), None);
            let many: Vec<(Keyspace, &[u8])> = keys.iter().map(|key| (data, key.as_slice())).collect();
            assert_eq!(handle.get_many(&many).unwrap().of_each(3).unwrap().flatten().count(), 0);
            batch.put(data, &keys[1], b"value").unwrap();
            handle.commit(&batch, &[]).unwrap();
            handle.begin(&Scope::Read).unwrap();
            assert_eq!(handle.get(data, &keys[1]).unwrap().as_deref(), Some(&b"value"[..]), "what was put is there");
            assert_eq!(handle.get(data, &keys[2]).unwrap(), None);
            assert!(handle.get(data, &old).unwrap().is_some());
            handle.rollback();
        }
    };
    add(RECORDS + 1..RECORDS + 2);
    let metrics = [PerfMetric::BloomMemtableHitCount, PerfMetric::BloomMemtableMissCount];
    let [hits, misses] = counted(metrics, || add(RECORDS + 2..2 * RECORDS));
    // One read for each that is there.
    assert!(hits + misses < RECORDS * 11 / 10, "{hits} and {misses} reads asked a memtable");
}

#[test]
fn elements_that_follow_each_other_are_read_with_one_search() {
    let directory = tempfile::tempdir().unwrap();
    let (mut handle, data) = open(directory.path());
    let element = |structure: u64, number: u64| Bytes::from([structure.to_be_bytes(), number.to_be_bytes()].concat());
    let value = |structure: u64, number: u64| Bytes::from(format!("{structure}:{number}"));
    // Some are missing, and keys that are no elements stand between them.
    let is_there = |number: u64| number % 5 != 2;
    write(&mut handle, |batch| {
        for structure in [1, 2] {
            for number in (0..100).filter(|number| is_there(*number)) {
                batch.put(data, &element(structure, number), &value(structure, number)).unwrap();
                for longer in 0..number % 4 {
                    batch.put(data, &[&element(structure, number)[..], longer.to_string().as_bytes()].concat(), b"between").unwrap();
                }
            }
        }
    });

    let numbers = || (10..40).map(|number| (1, number)).chain([(2, 7), (2, 50), (2, 51)]).chain((90..110).map(|number| (2, number)));
    let expected = |(structure, number)| (number < 100 && is_there(number)).then(|| value(structure, number));
    let mut asked: Vec<(u64, u64)> = numbers().collect();
    handle.begin(&Scope::Read).unwrap();
    // In their order, from the other end, and as two clients ask for them in turn.
    for order in [|_: &(u64, u64)| 0, |(_, number): &(u64, u64)| 1000 - number, |(structure, number): &(u64, u64)| number % 10 + structure]
    {
        asked.sort_by_key(order);
        let keys: Vec<(Keyspace, Bytes)> = asked.iter().map(|&(structure, number)| (data, element(structure, number))).collect();
        let mut values = Vec::new();
        let [gets, seeks] = counted([PerfMetric::GetFromMemtableCount, PerfMetric::SeekOnMemtableCount], || {
            values = handle.get_many(&lent(&keys)).unwrap().of_each(keys.len()).unwrap().collect();
        });
        assert_eq!(values, asked.iter().copied().map(expected).collect::<Vec<_>>());
        // A batched read of RocksDB's own would not search at all.
        assert!(gets <= 3 && (2..30).contains(&seeks), "{gets} reads and {seeks} searches for {} elements", keys.len());
    }
}

#[test]
fn a_structure_that_is_scanned_and_changed_in_turn_is_searched_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    let store = RocksStore::open(directory.path(), RocksOptions::default()).unwrap();
    let mut handle = store.handle();
    let rank = handle.open_keyspace("rank", Order::Bytes).unwrap();
    let node = |number: u64| [7_u64.to_be_bytes(), number.to_be_bytes()].concat();
    let put = |handle: &mut RocksHandle, numbers: std::ops::Range<u64>, value: u64| {
        write(handle, |batch| numbers.for_each(|number| batch.put(rank, &node(number), &value.to_be_bytes()).unwrap()));
    };
    put(&mut handle, 0..200, 0);
    let mut round = |step: u64| {
        handle.begin(&Scope::Read).unwrap();
        let before = KeyRange { start: node(0), after_start: false, end: Some(node(step % 200 + 1)) };
        let page = handle.scan(rank, &before, Direction::Reverse, PageLimit::items(1)).unwrap();
        handle.rollback();
        let (key, value) = page.record(0).unwrap();
        assert_eq!((key.as_ref(), value.as_ref()), (node(step % 200).as_slice(), (step / 200).to_be_bytes().as_slice()));
        put(&mut handle, step % 200..step % 200 + 1, step / 200 + 1);
    };
    // So many searches are RocksDB's before the structure is held.
    (0..40).for_each(&mut round);
    let [seeks] = counted([PerfMetric::SeekOnMemtableCount], || (40..1000).for_each(&mut round));
    assert_eq!(seeks, 0);
}

#[test]
fn dead_records_between_the_live_ones_are_passed_a_few_times_and_not_by_every_scan() {
    const ALL: u64 = 20_000;
    let directory = tempfile::tempdir().unwrap();
    let store = RocksStore::open(directory.path(), RocksOptions::default()).unwrap();
    let mut handle = store.handle();
    let data = handle.open_keyspace("data", Order::Bytes).unwrap();
    let member = |number: u64| [7_u64.to_be_bytes(), number.to_be_bytes()].concat();
    write(&mut handle, |batch| (0..ALL).for_each(|number| batch.put(data, &member(number), b"").unwrap()));
    let is_dead = |number: &u64| !number.is_multiple_of(200);
    write(&mut handle, |batch| (0..ALL).filter(is_dead).for_each(|number| batch.delete(data, &member(number)).unwrap()));
    // What is left is taken one by one, as by SPOP from a set that was large, each found on a walk from the first.
    let [passed] = counted([PerfMetric::InternalDeleteSkippedCount], || {
        for taken in 0..ALL / 200 {
            handle.begin(&Scope::Read).unwrap();
            let page = handle.scan(data, &KeyRange::prefix(&7_u64.to_be_bytes()), Direction::Forward, PageLimit::items(1000)).unwrap();
            handle.rollback();
            assert_eq!(page.len() as u64, ALL / 200 - taken);
            let (key, _) = page.record(page.len() / 2).unwrap();
            write(&mut handle, |batch| batch.delete(data, &key).unwrap());
        }
    });
    assert!((ALL..10 * ALL).contains(&passed), "{passed} dead records were passed");
}
