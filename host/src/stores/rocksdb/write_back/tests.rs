//! A store that writes heads back later, beside a model: whatever is asked, whoever asks, and whenever it crashes.

use super::*;
use crate::stores::rocksdb::{RocksHandle, RocksOptions, RocksStore};
use fastrand::Rng;
use orbweaver_engine::store::{Batch, Direction, KeyRange, Keyspace, Order, PageLimit, Scope, Store as _, StoreError};
use rocksdb::checkpoint::Checkpoint;
use std::collections::BTreeMap;
use std::path::Path;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Tables that are full after a few writes.
fn options() -> RocksOptions {
    RocksOptions { record_cache_bytes: 64 << 10, write_buffer_bytes: 16 << 10, write_back_bytes: 64 << 10, ..RocksOptions::default() }
}

fn open(path: &Path, read_only: bool) -> RocksStore {
    RocksStore::open(path, RocksOptions { read_only, ..options() }).unwrap()
}

fn heads_of(store: &RocksStore) -> &WriteBack {
    &store.inner.shared.databases[0].write_back
}

/// What the process would leave, and the log of the machine, if it were killed now.
fn crash(store: &RocksStore, path: &Path) {
    let db = store.inner.shared.databases[0].get_at_once().unwrap();
    Checkpoint::new(db).unwrap().create_checkpoint_with_log_size(path, u64::MAX).unwrap();
}

fn keyspaces(handle: &mut RocksHandle) -> [Keyspace; 2] {
    [HEADS, "data"].map(|name| handle.open_keyspace(name, Order::Bytes).unwrap())
}

/// Puts, or deletes, in both keyspaces.
fn commit(handle: &mut RocksHandle, changes: &[(Vec<u8>, Option<Vec<u8>>)]) {
    try_commit(handle, changes).unwrap();
}

fn try_commit(handle: &mut RocksHandle, changes: &[(Vec<u8>, Option<Vec<u8>>)]) -> Result<(), StoreError> {
    let both = keyspaces(handle);
    handle.begin(&Scope::Keys(vec![Bytes::from_static(b"k")])).unwrap();
    let mut batch = Batch::new();
    for (key, value) in changes {
        for keyspace in both {
            match value {
                Some(value) => batch.put(keyspace, key, value).unwrap(),
                None => batch.delete(keyspace, key).unwrap(),
            }
        }
    }
    handle.commit(&batch, &[])
}

fn apply(model: &mut Model, changes: &[(Vec<u8>, Option<Vec<u8>>)]) {
    for (key, value) in changes {
        match value {
            Some(value) => _ = model.insert(key.clone(), value.clone()),
            None => _ = model.remove(key),
        }
    }
}

fn scan(handle: &mut RocksHandle, keyspace: Keyspace, range: &KeyRange, direction: Direction) -> Vec<(Vec<u8>, Vec<u8>)> {
    let (mut range, mut records) = (range.clone(), Vec::new());
    loop {
        let limit = PageLimit { max_items: 7, max_bytes: 300 };
        let page = handle.scan(keyspace, &range, direction, limit).unwrap();
        let found: Vec<_> = page.records().map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
        let last = found.last().map(|(key, _)| key.clone());
        records.extend(found);
        let Some(last) = last.filter(|_| page.more) else { return records };
        match direction {
            Direction::Forward => (range.start, range.after_start) = (last, true),
            Direction::Reverse => range.end = Some(last),
        }
    }
}

/// Both keyspaces hold what the model holds, by gets, by gets of many, and by scans in both directions.
fn assert_holds(handle: &mut RocksHandle, model: &Model, random: &mut Rng) {
    let both = keyspaces(handle);
    handle.begin(&Scope::Read).unwrap();
    let keys: Vec<Vec<u8>> = (0..20).map(|_| key(random, 600)).collect();
    for keyspace in both {
        let asked: Vec<(Keyspace, &[u8])> = keys.iter().map(|key| (keyspace, key.as_slice())).collect();
        let many = handle.get_many(&asked).unwrap();
        let many: Vec<_> = many.of_each(keys.len()).unwrap().map(|value| value.map(|value| value.to_vec())).collect();
        for (key, value) in keys.iter().zip(many) {
            assert_eq!(
                (value.as_ref(), handle.get(keyspace, key).unwrap().as_deref()),
                (model.get(key), model.get(key).map(Vec::as_slice))
            );
        }
        let (start, end) = (key(random, 600), random.bool().then(|| key(random, 600)).filter(|end| !end.is_empty()));
        let range = KeyRange { start: start.clone(), after_start: random.bool(), end: end.clone() };
        let is_within =
            |key: &Vec<u8>| (if range.after_start { *key > start } else { *key >= start }) && end.as_ref().is_none_or(|end| key < end);
        let mut expected: Vec<_> =
            model.iter().filter(|(key, _)| is_within(key)).map(|(key, value)| (key.clone(), value.clone())).collect();
        assert_eq!(scan(handle, keyspace, &range, Direction::Forward), expected);
        expected.reverse();
        assert_eq!(scan(handle, keyspace, &range, Direction::Reverse), expected);
    }
    handle.rollback();
}

/// Both keyspaces hold the same.
fn assert_is_of_one_commit(handle: &mut RocksHandle) {
    let both = keyspaces(handle);
    handle.begin(&Scope::Read).unwrap();
    let all = KeyRange { start: Vec::new(), after_start: false, end: None };
    let [heads, data] = both.map(|keyspace| scan(handle, keyspace, &all, Direction::Forward));
    assert_eq!(heads, data);
}

fn key(random: &mut Rng, different: u64) -> Vec<u8> {
    format!("key {}", random.u64(..different)).into_bytes()
}

/// Some of `different` keys, put and deleted.
fn changes(random: &mut Rng, different: u64) -> Vec<(Vec<u8>, Option<Vec<u8>>)> {
    let value = |random: &mut Rng| (random.u8(..5) > 0).then(|| vec![random.u8(..); random.usize(..20)]);
    (0..random.usize(1..60)).map(|_| (key(random, different), value(random))).collect()
}

#[test]
fn a_store_holds_what_its_model_holds_whoever_reads_and_whenever_it_crashes() {
    let (directory, mut random) = (tempfile::tempdir().unwrap(), Rng::with_seed(7));
    let (mut model, mut past, mut held) = (Model::new(), 0, 0);
    for round in 0..6 {
        let store = open(directory.path(), false);
        let mut handle = store.handle();
        for step in 0..400 {
            handle.let_commits_be_late(random.u8(..20) > 0);
            // Now and then keys that do not come back.
            let different = if step / 100 % 2 == 0 { 40 } else { 5000 };
            let changes = changes(&mut random, different);
            commit(&mut handle, &changes);
            apply(&mut model, &changes);
            held += usize::from(heads_of(&store).is_holding());
            past += usize::from(matches!(heads_of(&store).writing.lock().state, State::Past(_)));
            match random.u8(..60) {
                0 => assert_holds(&mut handle, &model, &mut random),
                1 => assert_holds(&mut store.handle(), &model, &mut random),
                7 => {
                    let (mut other, more) = (store.handle(), self::changes(&mut random, 40));
                    commit(&mut other, &more);
                    apply(&mut model, &more);
                    assert_holds(&mut other, &model, &mut random);
                }
                2 => {
                    let keyspace = keyspaces(&mut handle)[0];
                    handle.begin(&Scope::Read).unwrap();
                    let key = key(&mut random, 600);
                    assert_eq!(handle.get(keyspace, &key).unwrap().as_deref(), model.get(&key).map(Vec::as_slice));
                    handle.rollback();
                }
                3 => {
                    let range = KeyRange { start: key(&mut random, 40), after_start: false, end: random.bool().then(|| b"key 3".to_vec()) };
                    let mut batch = Batch::new();
                    keyspaces(&mut handle).into_iter().for_each(|keyspace| batch.delete_range(keyspace, &range).unwrap());
                    handle.begin(&Scope::Exclusive).unwrap();
                    handle.commit(&batch, &[]).unwrap();
                    model.retain(|key, _| *key < range.start || range.end.as_ref().is_some_and(|end| key >= end));
                }
                4..=6 => {
                    handle.settle(u64::MAX).unwrap();
                    let crashed = directory.path().join(format!("crashed {round} {step}"));
                    crash(&store, &crashed);
                    let read = open(&crashed, true);
                    assert_holds(&mut read.handle(), &model, &mut random);
                    drop(read);
                    let again = open(&crashed, false);
                    assert!(!heads_of(&again).is_holding());
                    assert_holds(&mut again.handle(), &model, &mut random);
                    drop(again);
                    std::fs::remove_dir_all(&crashed).unwrap();
                }
                _ => {}
            }
        }
        assert_holds(&mut handle, &model, &mut random);
    }
    assert!(held > 500 && past > 100, "held {held} times, put past {past} times");
}

#[test]
fn a_crash_in_the_middle_leaves_no_part_of_a_commit() {
    let (directory, mut random) = (tempfile::tempdir().unwrap(), Rng::with_seed(8));
    let store = open(&directory.path().join("store"), false);
    let mut handle = store.handle();
    handle.let_commits_be_late(true);
    for step in 0..60 {
        (0..20).for_each(|_| commit(&mut handle, &changes(&mut random, 100)));
        // The thread that writes is at work.
        let crashed = directory.path().join(step.to_string());
        crash(&store, &crashed);
        let again = open(&crashed, false);
        assert_is_of_one_commit(&mut again.handle());
    }
}

#[test]
fn a_second_handle_sees_each_commit_whole_while_the_first_has_just_been_the_only_one() {
    let (directory, mut random) = (tempfile::tempdir().unwrap(), Rng::with_seed(9));
    let store = open(directory.path(), false);
    let mut handle = store.handle();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            for _ in 0..150 {
                assert_is_of_one_commit(&mut store.handle());
                std::thread::yield_now();
            }
        });
        while !reader.is_finished() {
            handle.let_commits_be_late(true);
            commit(&mut handle, &changes(&mut random, 100));
        }
        reader.join().unwrap();
    });
}

#[test]
fn what_was_written_back_takes_no_room_in_the_log_or_in_files() {
    let (directory, mut random) = (tempfile::tempdir().unwrap(), Rng::with_seed(10));
    let store = open(directory.path(), false);
    let mut handle = store.handle();
    handle.let_commits_be_late(true);
    (0..2000).for_each(|_| commit(&mut handle, &changes(&mut random, 40)));
    handle.settle(u64::MAX).unwrap();
    assert!(heads_of(&store).is_holding());
    drop(handle);
    store.flush().unwrap();
    assert!(!heads_of(&store).is_holding());
    let db = store.inner.shared.databases[0].get().unwrap();
    for keyspace in redo::KEYSPACES {
        let family = db.cf_handle(keyspace).unwrap();
        let number = |name: &str| db.property_int_value_cf(&family, name).unwrap().unwrap();
        assert_eq!(number("rocksdb.estimate-num-keys"), 0, "{keyspace}");
        assert!(number("rocksdb.total-sst-files-size") < 64 << 10, "{keyspace}");
    }
    assert_eq!(store.keyspaces().unwrap().iter().filter(|name| name.starts_with("redo")).count(), 0, "they are nobody's records");
}

#[test]
fn who_only_reads_finds_what_is_only_in_the_redo_also_after_a_read_in_vain() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(&directory.path().join("store"), false);
    let mut handle = store.handle();
    handle.let_commits_be_late(true);
    commit(&mut handle, &[(b"key 1".to_vec(), Some(b"one".to_vec())), (b"key 2".to_vec(), Some(b"two".to_vec()))]);
    handle.settle(u64::MAX).unwrap();
    let crashed = directory.path().join("crashed");
    crash(&store, &crashed);
    let read = open(&crashed, true);
    let mut reader = read.handle();
    let [heads, _] = keyspaces(&mut reader);
    reader.begin(&Scope::Read).unwrap();
    assert_eq!(reader.get(heads, b"absent").unwrap(), None);
    assert_eq!(reader.get(heads, b"key 1").unwrap().as_deref(), Some(&b"one"[..]));
    let many = reader.get_many(&[(heads, b"key 2"), (heads, b"key 3")]).unwrap();
    assert_eq!(many.of_each(2).unwrap().collect::<Vec<_>>(), [Some(Bytes::from_static(b"two")), None]);
}

#[test]
fn new_heads_go_past_the_tables_however_many_a_write_has_and_large_ones_and_all_where_there_are_none() {
    let put = |handle: &mut RocksHandle, range: std::ops::Range<usize>, bytes: usize| {
        let changes: Vec<_> = range.map(|number| (format!("key {number}").into_bytes(), Some(vec![b'v'; bytes]))).collect();
        commit(handle, &changes);
        handle.settle(u64::MAX).unwrap();
    };
    for each in [100, 3000] {
        let directory = tempfile::tempdir().unwrap();
        let options = RocksOptions { write_back_bytes: 4 << 20, ..RocksOptions::default() };
        let store = RocksStore::open(directory.path(), options).unwrap();
        let mut handle = store.handle();
        handle.let_commits_be_late(true);
        (0..60_000 / each).for_each(|round| put(&mut handle, round * each..(round + 1) * each, 10));
        assert!(matches!(heads_of(&store).writing.lock().state, State::Past(_)), "{each} heads a write");
        assert!(!heads_of(&store).is_holding());
    }
    let directory = tempfile::tempdir().unwrap();
    let store = RocksStore::open(directory.path(), RocksOptions { write_back_bytes: 40 << 10, ..RocksOptions::default() }).unwrap();
    let mut handle = store.handle();
    handle.let_commits_be_late(true);
    put(&mut handle, 0..20, 10);
    assert!(heads_of(&store).is_holding());
    put(&mut handle, 0..1, 10 << 10);
    assert!(!heads_of(&store).is_holding());
    let directory = tempfile::tempdir().unwrap();
    let store = RocksStore::open(directory.path(), RocksOptions { write_back_bytes: 0, ..RocksOptions::default() }).unwrap();
    let mut handle = store.handle();
    handle.let_commits_be_late(true);
    put(&mut handle, 0..20, 10);
    assert!(!heads_of(&store).is_holding());
}

#[test]
fn a_space_is_searched_and_emptied_while_heads_of_another_wait() {
    let (directory, mut random) = (tempfile::tempdir().unwrap(), Rng::with_seed(5));
    let key = |space: u32, number: usize| [&space.to_be_bytes()[..], format!("key {number}").as_bytes()].concat();
    let [path, crashed] = ["store", "crashed"].map(|name| directory.path().join(name));
    let store = RocksStore::open(&path, RocksOptions { write_back_bytes: 40 << 10, write_buffer_bytes: 16 << 10, ..options() }).unwrap();
    let mut handle = store.handle();
    handle.let_commits_be_late(true);
    let mut model = Model::new();
    let mut others = Rng::with_seed(6);
    let mut change = |handle: &mut RocksHandle, model: &mut Model, changes: Vec<_>| {
        commit(handle, &changes);
        apply(model, &changes);
        if others.u8(..20) > 0 {
            // Otherwise it is written together with what comes next.
            handle.settle(u64::MAX).unwrap();
        }
    };
    change(&mut handle, &mut model, (0..2000).map(|number| (key(1, number), Some(vec![1; 9]))).collect());
    let [heads, _] = keyspaces(&mut handle);
    let (old, mut waited, mut searches) = (KeyRange::prefix(&1_u32.to_be_bytes()), 0, 0);
    let put = |random: &mut Rng| (0..20).map(|_| (key(2, random.usize(..200)), Some(vec![2; random.usize(..30)]))).collect();
    change(&mut handle, &mut model, put(&mut random));
    loop {
        handle.begin(&Scope::Read).unwrap();
        let many = if random.u8(..20) > 0 { 16 } else { 1 };
        let found: Vec<_> = scan(&mut handle, heads, &old, Direction::Forward).into_iter().take(many).collect();
        handle.rollback();
        let expected = model.range(key(1, 0)[..4].to_vec()..2_u32.to_be_bytes().to_vec()).take(found.len());
        assert!(found.iter().map(|(key, value)| (key, value)).eq(expected));
        if found.is_empty() {
            break;
        }
        searches += 1;
        waited += usize::from(heads_of(&store).is_holding());
        // Some are put again, so that the redo knows them, and deleted once more.
        if random.u8(..20) == 0 {
            change(&mut handle, &mut model, found.iter().cycle().take(20).map(|(key, _)| (key.clone(), Some(vec![3; 3]))).collect());
        }
        change(&mut handle, &mut model, found.into_iter().map(|(key, _)| (key, None)).collect());
        change(&mut handle, &mut model, put(&mut random));
    }
    handle.settle(u64::MAX).unwrap();
    assert!(searches > 100 && waited > searches / 2, "heads waited beside {waited} of {searches} searches");
    crash(&store, &crashed);
    for handle in [&mut handle, &mut open(&crashed, false).handle()] {
        let [heads, data] = keyspaces(handle);
        handle.begin(&Scope::Read).unwrap();
        for keyspace in [data, heads] {
            assert!(scan(handle, keyspace, &KeyRange::all(), Direction::Forward).into_iter().eq(model.clone()));
        }
        handle.rollback();
    }
}

#[test]
fn commits_of_few_heads_leave_nothing_waiting_after_a_while_and_each_writes_back_a_little() {
    let directory = tempfile::tempdir().unwrap();
    let store = RocksStore::open(directory.path(), RocksOptions::default()).unwrap();
    let mut handle = store.handle();
    let number = |number: usize| (format!("key {number}").into_bytes(), Some(b"value".to_vec()));
    handle.let_commits_be_late(true);
    (0..40).for_each(|round| commit(&mut handle, &(0..500).map(|at| number(round * 500 + at)).collect::<Vec<_>>()));
    handle.settle(u64::MAX).unwrap();
    handle.let_commits_be_late(false);
    let mut left = heads_of(&store).tables.read().all().len();
    assert!(left > 15_000, "{left} heads wait");
    let mut commits = 0;
    while heads_of(&store).is_holding() {
        commit(&mut handle, &[number(7)]);
        let now = heads_of(&store).tables.read().all().len();
        assert!(left.saturating_sub(now) <= LITTLE / ENTRY_BYTES, "a commit wrote {left} heads back less {now}");
        left = now;
        commits += 1;
    }
    assert!((100..5000).contains(&commits), "{commits} commits");
}

#[test]
fn what_waits_stays_within_its_bounds_whatever_is_written() {
    const TABLE_BYTES: usize = 1 << 20;
    let mut random = Rng::with_seed(11);
    for values in [0..40, 0..2000, 10_000..60_000_usize] {
        let directory = tempfile::tempdir().unwrap();
        let options = RocksOptions { write_back_bytes: 2 * TABLE_BYTES, write_buffer_bytes: 1 << 20, ..RocksOptions::default() };
        let store = RocksStore::open(directory.path(), options).unwrap();
        let mut handle = store.handle();
        let (mut most_bytes, mut most_records, mut sides) = (0, 0, Vec::new());
        for step in 0..3000 {
            let (large, few) = (step / 200 % 2 == 1, step / 50 % 3 == 1);
            handle.let_commits_be_late(!few);
            let bytes = if large { random.usize(values.clone()) } else { random.usize(0..20) };
            let keys = if few { 1 } else { 16.max(random.usize(0..60).min(200_000 / (bytes + 1))) };
            let changes: Vec<_> = (0..keys).map(|_| (key(&mut random, 300), Some(vec![b'v'; bytes]))).collect();
            commit(&mut handle, &changes);
            let heads = heads_of(&store);
            let (writing, tables) = (heads.writing.lock(), heads.tables.read());
            most_bytes = most_bytes.max(tables.bytes());
            most_records = most_records.max(writing.filled.numbers.len());
            sides.push(writing.filled.side);
        }
        assert!(most_bytes <= 2 * TABLE_BYTES, "{most_bytes} bytes where values have {values:?}");
        sides.dedup();
        assert!(most_records <= MOST_RECORDS + 100, "{most_records} records");
        assert!(sides.len() > 2, "one table after the other is filled");
    }
}

#[test]
fn what_was_acknowledged_before_a_write_failed_is_there_when_the_store_is_opened_again() {
    for seed in 0..10 {
        let (directory, mut random) = (tempfile::tempdir().unwrap(), Rng::with_seed(seed));
        let [path, moved] = ["store", "moved"].map(|name| directory.path().join(name));
        let store = open(&path, false);
        let mut handle = store.handle();
        handle.let_commits_be_late(true);
        let numbered = |number: u32| -> Vec<_> {
            (0..30_u8).map(|key| (vec![b'k', key], Some([&number.to_be_bytes()[..], &[0; 90]].concat()))).collect()
        };
        let (mut acknowledged, fails_from) = (0, random.u32(20..200));
        for number in 1.. {
            if number == fails_from {
                // Without its directory RocksDB fails as soon as it needs a new log.
                std::fs::rename(&path, &moved).unwrap();
            }
            if try_commit(&mut handle, &numbered(number)).and(handle.settle(u64::MAX)).is_err() {
                break;
            }
            acknowledged = number;
        }
        assert!(acknowledged >= fails_from - 1);
        std::fs::rename(&moved, &path).unwrap();
        // It can be written again: nothing is, as nobody knows what is in the log.
        assert!(store.flush().is_err());
        drop((handle, store));
        let again = open(&path, false);
        let mut reader = again.handle();
        let both = keyspaces(&mut reader);
        reader.begin(&Scope::Read).unwrap();
        for key in 0..30_u8 {
            let found = both.map(|keyspace| reader.get(keyspace, &[b'k', key]).unwrap().unwrap());
            assert_eq!(found[0], found[1]);
            let number = u32::from_be_bytes(found[0][..4].try_into().unwrap());
            assert!((acknowledged..=acknowledged + 1).contains(&number), "{number}, and {acknowledged} was acknowledged");
        }
    }
}

#[test]
fn the_redo_is_no_keyspace_of_records_and_what_is_no_redo_is_refused_and_stays() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path(), false);
    let error = store.handle().open_keyspace("redo-0", Order::Bytes).unwrap_err();
    assert!(error.to_string().contains("redo-0"), "{error}");
    let db = store.inner.shared.databases[0].get().unwrap();
    db.put_cf(&db.cf_handle("redo-1").unwrap(), b"number", b"no batch").unwrap();
    drop(store);
    for read_only in [true, false, true] {
        let error = RocksStore::open(directory.path(), RocksOptions { read_only, ..options() }).map(drop).unwrap_err().to_string();
        assert!(error.contains("the record number of redo-1 is no batch of heads"), "{error}");
    }
}
