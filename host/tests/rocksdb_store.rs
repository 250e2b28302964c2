//! What the RocksDB store promises beyond the store contract.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use bytes::Bytes;
use orbweaver::stores::rocksdb::{Compression, Durability, RocksHandle, RocksOptions, RocksStore};
use orbweaver_engine::store::{Batch, Direction, KeyRange, Keyspace, Order, PageLimit, Scope, Store, StoreError, lent};
use rocksdb::perf::{PerfContext, PerfMetric};
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn open(path: &Path) -> RocksStore {
    RocksStore::open(path, RocksOptions::default()).unwrap()
}

fn error_of(path: &Path, options: RocksOptions) -> String {
    match RocksStore::open(path, options) {
        Ok(_) => panic!("{} was opened", path.display()),
        Err(error) => error.to_string(),
    }
}

fn data(handle: &mut RocksHandle) -> Keyspace {
    handle.open_keyspace("data", Order::Bytes).unwrap()
}

/// One transaction.
fn write(handle: &mut RocksHandle, fill: impl FnOnce(&mut Batch)) -> Result<(), StoreError> {
    let mut batch = Batch::new();
    fill(&mut batch);
    handle.begin(&Scope::Keys(vec![Bytes::from("k")]))?;
    handle.commit(&batch, &[0])
}

fn put(handle: &mut RocksHandle, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
    let data = data(handle);
    write(handle, |batch| batch.put(data, key, value).unwrap())
}

fn get(handle: &mut RocksHandle, key: &[u8]) -> Option<Bytes> {
    let data = data(handle);
    handle.begin(&Scope::Read).unwrap();
    let value = handle.get(data, key).unwrap();
    handle.rollback();
    value
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "waited a minute until {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The lengths of the files in a directory whose names end so.
fn lengths(path: &Path, extension: &str) -> Vec<u64> {
    let paths = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    // One may go while we look.
    paths.filter(|path| path.extension().is_some_and(|end| end == extension)).filter_map(|path| Some(path.metadata().ok()?.len())).collect()
}

/// What RocksDB has written down of how it was opened last.
fn written_options(path: &Path) -> String {
    let files = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let newest = files.filter(|file| file.file_name().unwrap().to_string_lossy().starts_with("OPTIONS-")).max();
    std::fs::read_to_string(newest.unwrap()).unwrap()
}

#[test]
fn files_of_the_lowest_level_are_compressed_as_was_asked_for_and_read_whichever_is() {
    let directory = tempfile::tempdir().unwrap();
    let asked =
        [(Compression::Small, "bottommost_compression=kZSTD"), (Compression::Fast, "bottommost_compression=kDisableCompressionOption")];
    for (compression, written) in asked {
        let store = RocksStore::open(directory.path(), RocksOptions { compression, ..RocksOptions::default() }).unwrap();
        let mut handle = store.handle();
        assert_ne!(get(&mut handle, b"before").is_some(), compression == Compression::Small);
        put(&mut handle, b"before", &[b'v'; 1000]).unwrap();
        drop(handle);
        store.flush().unwrap();
        let options = written_options(directory.path());
        // One for each keyspace.
        assert!(options.matches(written).count() > 1 && options.contains("compression=kLZ4Compression"), "{compression:?}");
    }
}

#[test]
fn a_start_after_a_flush_has_no_log_to_read() {
    let directory = tempfile::tempdir().unwrap();
    let log_bytes = || lengths(directory.path(), "log").iter().sum();
    let store = open(directory.path());
    put(&mut store.handle(), b"k", b"v").unwrap();
    drop(store);
    let before: u64 = log_bytes();
    assert!(before > 0);
    let store = open(directory.path());
    put(&mut store.handle(), b"other", b"v").unwrap();
    store.flush().unwrap();
    drop(store);
    assert_eq!(log_bytes(), 0);
    let store = open(directory.path());
    assert_eq!([get(&mut store.handle(), b"k"), get(&mut store.handle(), b"other")], [Some(Bytes::from("v")), Some(Bytes::from("v"))]);
}

#[test]
fn a_directory_in_use_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    assert_eq!(
        error_of(directory.path(), RocksOptions::default()),
        format!("{} is open already in this process", directory.path().display())
    );
    drop(store);
    drop(open(directory.path()));
}

#[test]
fn a_directory_in_use_by_another_process_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    // The other process is this test binary again, running the test below.
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hold_a_database_for_another_test", "--nocapture", "--ignored"])
        .env("ORBWEAVER_TEST_HOLD", directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Kept until the other process has ended: it reports its outcome there.
    let mut output = BufReader::new(other.stdout.take().unwrap()).lines();
    assert!(output.any(|line| line.unwrap().contains("opened")));
    let error = error_of(directory.path(), RocksOptions::default());
    drop(other.stdin.take());
    assert!(other.wait().unwrap().success());
    assert_eq!(error, format!("{} is in use by another process: stop it, or open the directory read-only", directory.path().display()));
}

#[test]
#[ignore = "started as a process of its own by the test above"]
fn hold_a_database_for_another_test() {
    let path = std::env::var_os("ORBWEAVER_TEST_HOLD").unwrap();
    let _store = open(Path::new(&path));
    println!("opened");
    // Until the other process closes its end.
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn what_is_no_database_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let only_existing = RocksOptions { create_if_missing: false, ..RocksOptions::default() };
    assert_eq!(error_of(&path.join("absent"), only_existing), format!("there is no database in {}", path.join("absent").display()));
    assert!(!path.join("absent").exists());
    std::fs::write(path.join("letter.txt"), "not for us").unwrap();
    assert_eq!(error_of(path, RocksOptions::default()), format!("{} is not a RocksDB database: it holds other files", path.display()));
    assert_eq!(std::fs::read_dir(path).unwrap().count(), 1);
    let file = path.join("letter.txt");
    assert_eq!(error_of(&file, RocksOptions::default()), format!("{} is not a directory", file.display()));
}

#[test]
fn a_damaged_database_is_reported_as_such() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()));
    let manifest = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    for path in manifest.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("MANIFEST-")) {
        std::fs::write(path, [0x55; 300]).unwrap();
    }
    assert!(matches!(RocksStore::open(directory.path(), RocksOptions::default()), Err(StoreError::Corrupt(_))));
}

#[test]
fn a_read_only_store_reads_beside_its_writer_and_refuses_writes() {
    let directory = tempfile::tempdir().unwrap();
    let writer = open(directory.path());
    put(&mut writer.handle(), b"k", b"v").unwrap();
    let reader = RocksStore::open(directory.path(), RocksOptions { read_only: true, ..RocksOptions::default() }).unwrap();
    let mut handle = reader.handle();
    assert!(handle.limits().read_only);
    assert_eq!(get(&mut handle, b"k").as_deref(), Some(b"v".as_slice()));
    assert_eq!(handle.begin(&Scope::Exclusive), Err(StoreError::ReadOnly));
    assert_eq!(put(&mut handle, b"k", b"w"), Err(StoreError::ReadOnly));
    let absent = handle.open_keyspace("absent", Order::Bytes).unwrap();
    handle.begin(&Scope::Read).unwrap();
    assert_eq!(handle.get(absent, b"k").unwrap(), None);
}

#[test]
fn keyspaces_of_other_layouts_are_created_and_listed() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let mut handle = store.handle();
    let own = handle.open_keyspace("another layout's", Order::Bytes).unwrap();
    write(&mut handle, |batch| batch.put(own, b"k", b"v").unwrap()).unwrap();
    let names = ["another layout's", "data", "default", "expiry", "field-expiry", "garbage", "meta", "rank", "score", "system"];
    assert_eq!(store.keyspaces().unwrap(), names);
    drop((handle, store));
    let store = open(directory.path());
    assert_eq!(store.keyspaces().unwrap(), names);
    let mut handle = store.handle();
    let own = handle.open_keyspace("another layout's", Order::Bytes).unwrap();
    handle.begin(&Scope::Read).unwrap();
    assert_eq!(handle.get(own, b"k").unwrap().as_deref(), Some(b"v".as_slice()));
}

#[test]
fn scans_within_and_across_the_prefixes_of_filters_see_every_file() {
    let directory = tempfile::tempdir().unwrap();
    let store = RocksStore::open(directory.path(), RocksOptions { write_buffer_bytes: 64 << 10, ..RocksOptions::default() }).unwrap();
    let mut handle = store.handle();
    let data = data(&mut handle);
    // Many structures, each in several files; some keys are shorter than a prefix.
    let mut expected = Vec::new();
    for member in 0_u32..40 {
        for structure in 0_u64..100 {
            let mut key = structure.to_be_bytes().to_vec();
            key.truncate(if member == 0 { 8 - usize::try_from(structure % 3).unwrap() } else { 8 });
            key.extend_from_slice(&member.to_be_bytes()[..if member == 0 { 0 } else { 4 }]);
            put(&mut handle, &key, &[7; 100]).unwrap();
            expected.push(key);
        }
    }
    expected.sort();
    expected.dedup();
    handle.begin(&Scope::Read).unwrap();
    let whole = PageLimit { max_items: u32::MAX, max_bytes: u32::MAX };
    let mut seen = |range: &KeyRange, direction| -> Vec<Vec<u8>> {
        handle.scan(data, range, direction, whole).unwrap().records().map(|(key, _)| key.to_vec()).collect()
    };
    let within = |range: &KeyRange| -> Vec<Vec<u8>> {
        expected.iter().filter(|key| **key >= range.start && range.end.as_ref().is_none_or(|end| *key < end)).cloned().collect()
    };
    let prefix = |structure: u64| KeyRange::prefix(&structure.to_be_bytes());
    let mut ranges: Vec<KeyRange> = (0..101).map(prefix).collect();
    ranges.extend((0..100).map(|structure| KeyRange { start: structure_member(structure, 5), ..prefix(structure) }));
    ranges.extend((0..100).map(|structure| KeyRange::between(&structure_member(structure, 5), &structure_member(structure, 9))));
    ranges.extend((0..99).map(|structure| KeyRange::between(&structure_member(structure, 5), &structure_member(structure + 1, 9))));
    ranges.extend([KeyRange::all(), KeyRange::prefix(&[0; 7]), KeyRange::between(&[0; 7], &[0, 0, 0, 0, 0, 0, 0, 50])]);
    for range in &ranges {
        let forward = within(range);
        assert_eq!(seen(range, Direction::Forward), forward, "{range:?}");
        assert_eq!(seen(range, Direction::Reverse), forward.into_iter().rev().collect::<Vec<_>>(), "{range:?} backwards");
    }
}

fn structure_member(structure: u64, member: u32) -> Vec<u8> {
    [structure.to_be_bytes().as_slice(), &member.to_be_bytes()].concat()
}

#[test]
fn the_only_handle_is_told_when_a_second_one_changes_what_it_reads() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let mut first = store.handle();
    put(&mut first, b"k", b"1").unwrap();
    let data = data(&mut first);
    first.begin(&Scope::Read).unwrap();
    let mut second = store.handle();
    assert_eq!(first.get(data, b"k").unwrap().as_deref(), Some(b"1".as_slice()));
    put(&mut second, b"k", b"2").unwrap();
    assert_eq!(first.get(data, b"k"), Err(StoreError::Expired));
    first.rollback();
    first.begin(&Scope::Read).unwrap();
    put(&mut second, b"k", b"3").unwrap();
    assert_eq!(first.get(data, b"k").unwrap().as_deref(), Some(b"2".as_slice()));
}

#[test]
fn revisions_within_a_transaction_do_not_run_ahead_of_what_it_reads() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let (mut reader, mut writer) = (store.handle(), store.handle());
    put(&mut writer, b"k", b"1").unwrap();
    let key = [Bytes::from("k")];
    reader.begin(&Scope::Read).unwrap();
    put(&mut writer, b"k", b"2").unwrap();
    let within = reader.revisions(&key).unwrap();
    reader.rollback();
    assert_ne!(reader.revisions(&key).unwrap(), within, "a watcher that read the old value would miss the change");
}

#[test]
fn a_failed_write_stops_all_further_writes_until_the_store_is_reopened() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let options = RocksOptions { write_buffer_bytes: 64 << 10, ..RocksOptions::default() };
    let store = RocksStore::open(&path, options.clone()).unwrap();
    let mut handle = store.handle();
    put(&mut handle, b"before", b"v").unwrap();
    // Without its directory RocksDB fails as soon as it needs a new log.
    let moved = directory.path().join("moved");
    std::fs::rename(&path, &moved).unwrap();
    let mut failure = None;
    for number in 0_u32..20_000 {
        if let Err(error) = put(&mut handle, &number.to_be_bytes(), &[1; 1000]) {
            failure = Some(error);
            break;
        }
    }
    std::fs::rename(&moved, &path).unwrap();
    assert!(matches!(failure, Some(StoreError::UnknownOutcome(_))), "{failure:?}");
    assert_eq!(put(&mut handle, b"after", b"v"), Err(failure.unwrap()), "also with the directory back in its place");
    assert!(put(&mut store.handle(), b"after", b"v").is_err(), "and through another handle");
    assert_eq!(get(&mut handle, b"before").as_deref(), Some(b"v".as_slice()), "reads go on");
    drop((handle, store));
    let store = RocksStore::open(&path, options).unwrap();
    let mut handle = store.handle();
    assert_eq!(get(&mut handle, b"before").as_deref(), Some(b"v".as_slice()));
    put(&mut handle, b"after", b"v").unwrap();
}

/// Puts a record together with so many others that a few such commits are worth being written.
fn put_among_others(handle: &mut RocksHandle, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
    let data = data(handle);
    write(handle, |batch| {
        batch.put(data, key, value).unwrap();
        (0_u8..40).for_each(|number| batch.put(data, &[b"other".as_slice(), &[number]].concat(), &[1; 250]).unwrap());
    })
}

#[test]
fn late_commits_are_there_for_their_own_handle_at_once_and_for_another_before_it_reads() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let mut handle = store.handle();
    put(&mut handle, b"k", b"before").unwrap();
    assert_eq!(get(&mut handle, b"k").as_deref(), Some(b"before".as_slice()), "it is in the cache of records from now on");
    handle.let_commits_be_late(true);
    for number in 0_u32..2000 {
        let bytes = number.to_be_bytes();
        put_among_others(&mut handle, b"k", &bytes).unwrap();
        put_among_others(&mut handle, &bytes, b"of its own").unwrap();
        assert_eq!(get(&mut handle, b"k").as_deref(), Some(bytes.as_slice()));
        if number % 100 == 0 {
            assert_eq!(get(&mut handle, &bytes).as_deref(), Some(b"of its own".as_slice()), "RocksDB is asked for it");
        }
    }
    let mut other = store.handle();
    assert_eq!(get(&mut other, b"k").as_deref(), Some(1999_u32.to_be_bytes().as_slice()));
    assert!((0_u32..2000).all(|number| get(&mut other, &number.to_be_bytes()).is_some()));
    // Not late any more: there is another one.
    put(&mut handle, b"k", b"after").unwrap();
    assert_eq!(get(&mut other, b"k").as_deref(), Some(b"after".as_slice()));
    handle.settle(u64::MAX).unwrap();
}

#[test]
fn small_late_commits_are_written_together_when_somebody_waits_for_them() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let mut handle = store.handle();
    put(&mut handle, b"before", b"v").unwrap();
    let log_bytes = || lengths(directory.path(), "log").iter().sum::<u64>();
    for round in 0_u32..50 {
        let before = log_bytes();
        handle.let_commits_be_late(true);
        let key = |number: u32| (round * 100 + number).to_be_bytes();
        for number in 0..100 {
            put(&mut handle, &key(number), b"v").unwrap();
            put(&mut handle, b"last", &key(number)).unwrap();
        }
        assert_eq!(log_bytes(), before, "200 of them are not worth a write");
        match round % 3 {
            0 => handle.settle(u64::MAX).unwrap(),
            // Reads that the cache of records cannot answer, of the handle's own and of another's.
            1 => assert_eq!(get(&mut handle, &key(7)).as_deref(), Some(b"v".as_slice())),
            _ => assert_eq!(get(&mut store.handle(), b"last").as_deref(), Some(key(99).as_slice())),
        }
        assert!(log_bytes() > before);
        assert!((0..100).all(|number| get(&mut handle, &key(number)).is_some()));
        handle.settle(u64::MAX).unwrap();
    }
}

#[test]
fn a_record_is_gone_at_once_when_a_range_without_an_end_has_deleted_it_among_many_other_changes() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let mut handle = store.handle();
    let data = data(&mut handle);
    handle.let_commits_be_late(true);
    for round in 0_u32..200 {
        put(&mut handle, b"the last one", &round.to_be_bytes()).unwrap();
        assert_eq!(get(&mut handle, b"the last one").as_deref(), Some(round.to_be_bytes().as_slice()));
        write(&mut handle, |batch| {
            (0_u8..40).for_each(|number| batch.put(data, &[b"other".as_slice(), &[number]].concat(), &[1; 4000]).unwrap());
            batch.delete_range(data, &KeyRange { start: b"the last one".to_vec(), after_start: false, end: None }).unwrap();
        })
        .unwrap();
        assert_eq!(get(&mut handle, b"the last one"), None, "in round {round}");
    }
    handle.settle(u64::MAX).unwrap();
}

#[test]
fn late_commits_are_in_the_log_once_the_store_is_settled() {
    let (directory, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = open(directory.path());
    let mut handle = store.handle();
    handle.let_commits_be_late(true);
    for round in 0_u32..20 {
        (0_u32..50).for_each(|number| put_among_others(&mut handle, &number.to_be_bytes(), &round.to_be_bytes()).unwrap());
        handle.settle(u64::MAX).unwrap();
        // What is on the disk now, as a crash would leave it.
        let copy = copies.path().join(round.to_string());
        std::fs::create_dir(&copy).unwrap();
        for file in std::fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().path()).filter(|path| path.is_file()) {
            std::fs::copy(&file, copy.join(file.file_name().unwrap())).unwrap();
        }
        let crashed = open(&copy);
        let mut copied = crashed.handle();
        assert!((0_u32..50).all(|number| get(&mut copied, &number.to_be_bytes()).as_deref() == Some(round.to_be_bytes().as_slice())));
    }
}

#[test]
fn a_late_commit_that_fails_is_told_when_the_store_is_settled_and_is_not_seen_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let options = RocksOptions { write_buffer_bytes: 64 << 10, ..RocksOptions::default() };
    let store = RocksStore::open(&path, options.clone()).unwrap();
    let mut handle = store.handle();
    put(&mut handle, b"k", b"before").unwrap();
    get(&mut handle, b"k").unwrap();
    handle.let_commits_be_late(true);
    // Without its directory RocksDB fails as soon as it needs a new log.
    let moved = directory.path().join("moved");
    std::fs::rename(&path, &moved).unwrap();
    let mut failure = None;
    for number in 0_u32..2000 {
        let put = put_among_others(&mut handle, b"k", &number.to_be_bytes());
        if let Err(error) = put.and(handle.settle(u64::MAX)) {
            failure = Some(error);
            break;
        }
    }
    std::fs::rename(&moved, &path).unwrap();
    assert!(matches!(failure, Some(StoreError::UnknownOutcome(_))), "{failure:?}");
    assert_eq!(put(&mut handle, b"after", b"v"), Err(failure.unwrap()));
    handle.settle(u64::MAX).unwrap();
    let seen = get(&mut handle, b"k");
    drop((handle, store));
    let store = RocksStore::open(&path, options).unwrap();
    assert_eq!(get(&mut store.handle(), b"k"), seen, "the cache has nothing that was not written");
}

#[test]
fn a_read_in_vain_returns_where_the_late_commits_that_it_waits_for_fail() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let store = RocksStore::open(&path, RocksOptions { write_buffer_bytes: 64 << 10, ..RocksOptions::default() }).unwrap();
    let mut handle = store.handle();
    put(&mut handle, b"k", b"before").unwrap();
    handle.let_commits_be_late(true);
    let moved = directory.path().join("moved");
    std::fs::rename(&path, &moved).unwrap();
    // None of them is settled, and each keyspace looks for its last key at its first read in vain.
    let names = ["data", "meta", "score", "rank", "expire", "garbage", "system"];
    let keyspaces = names.map(|name| handle.open_keyspace(name, Order::Bytes).unwrap());
    for number in 0_u32..2000 {
        if put_among_others(&mut handle, b"k", &number.to_be_bytes()).is_err() {
            break;
        }
        if let Some(keyspace) = keyspaces.get(number as usize / 200) {
            handle.begin(&Scope::Read).unwrap();
            assert!(!handle.get(*keyspace, b"absent").is_ok_and(|value| value.is_some()));
            handle.rollback();
        }
    }
    assert!(matches!(handle.settle(u64::MAX), Err(StoreError::UnknownOutcome(_))));
    std::fs::rename(&moved, &path).unwrap();
}

#[test]
fn the_log_is_synced_every_second_where_that_is_asked_for() {
    let (often, never) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let synced = RocksStore::open(often.path(), RocksOptions { durability: Durability::EverySecond, ..RocksOptions::default() }).unwrap();
    let unsynced = RocksStore::open(never.path(), RocksOptions { durability: Durability::Os, ..RocksOptions::default() }).unwrap();
    wait_until("the log was synced twice", || synced.background_syncs() >= 2);
    assert_eq!(unsynced.background_syncs(), 0);
    let closing = Instant::now();
    drop(synced);
    assert!(closing.elapsed() < Duration::from_millis(900), "closing does not wait for the next round");
}

#[test]
fn a_large_range_delete_gives_its_space_back() {
    let directory = tempfile::tempdir().unwrap();
    let options = RocksOptions { write_buffer_bytes: 1 << 20, reclaim_bytes: 1 << 20, ..RocksOptions::default() };
    let store = RocksStore::open(directory.path(), options).unwrap();
    let mut handle = store.handle();
    let data = data(&mut handle);
    let mut noise = 1_u64;
    for chunk in 0_u64..160 {
        write(&mut handle, |batch| {
            for number in 0_u64..100 {
                // Xorshift: nothing that a compression finds shorter.
                let value: Vec<u8> = (0..250)
                    .flat_map(|_| {
                        noise ^= noise << 13;
                        noise ^= noise >> 7;
                        noise ^= noise << 17;
                        noise.to_le_bytes()
                    })
                    .collect();
                batch.put(data, &(chunk * 100 + number).to_be_bytes(), &value).unwrap();
            }
        })
        .unwrap();
    }
    let size = || -> u64 {
        let files = std::fs::read_dir(directory.path()).unwrap().filter_map(|entry| entry.unwrap().metadata().ok());
        files.map(|file| file.len()).sum()
    };
    let full = size();
    assert!(full > 25 << 20, "{full} bytes of 32 MB on disk");
    let kept = KeyRange { start: 100_u64.to_be_bytes().to_vec(), after_start: false, end: None };
    write(&mut handle, |batch| batch.delete_range(data, &kept).unwrap()).unwrap();
    wait_until("a fifth of the space was left", || size() < full / 5);
    assert!(get(&mut handle, &99_u64.to_be_bytes()).is_some());
    assert!(get(&mut handle, &100_u64.to_be_bytes()).is_none());
}

/// Moves an amount between two accounts, or makes all of them anew.
fn change_accounts(handle: &mut RocksHandle, accounts: &[Bytes], round: usize) {
    let data = data(handle);
    let mut batch = Batch::new();
    if round.is_multiple_of(50) {
        handle.begin(&Scope::Exclusive).unwrap();
        batch.delete_range(data, &KeyRange::all()).unwrap();
        accounts.iter().for_each(|account| batch.put(data, account, b"100").unwrap());
        handle.commit(&batch, &[]).unwrap();
        return;
    }
    let (from, to) = (round * 7 % accounts.len(), (round * 7 + 3) % accounts.len());
    let keys = [from.min(to), from.max(to)].map(|position| accounts[position].clone());
    handle.begin(&Scope::Keys(keys.to_vec())).unwrap();
    let mut balance = |account: &Bytes| -> i64 { String::from_utf8_lossy(&handle.get(data, account).unwrap().unwrap()).parse().unwrap() };
    let (one, other) = (balance(&keys[0]), balance(&keys[1]));
    batch.put(data, &keys[0], (one - 1).to_string().as_bytes()).unwrap();
    batch.put(data, &keys[1], (other + 1).to_string().as_bytes()).unwrap();
    handle.commit(&batch, &[0, 1]).unwrap();
}

/// The values of whole structures, in small pages.
fn scanned(handle: &mut RocksHandle, structures: &[&[u8]]) -> Vec<Option<Bytes>> {
    let (data, mut values) = (data(handle), Vec::new());
    for structure in structures {
        let mut range = KeyRange::prefix(structure);
        loop {
            let page = handle.scan(data, &range, Direction::Forward, PageLimit::items(3)).unwrap();
            let Some((last, _)) = page.records().last() else { break };
            values.extend(page.records().map(|(_, value)| Some(value)));
            range = KeyRange { start: last.to_vec(), after_start: true, ..range };
        }
    }
    values
}

#[test]
fn readers_beside_writers_see_whole_states_through_the_cache_of_records() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let accounts: Vec<Bytes> = (0..10).map(|number| Bytes::from(format!("account{}:{number}", number % 2))).collect();
    change_accounts(&mut store.handle(), &accounts, 0);
    // All of them first: while there is one only, it reads without a snapshot.
    let (writers, readers) = ([(); 2].map(|()| store.handle()), [(); 3].map(|()| store.handle()));
    std::thread::scope(|scope| {
        for (writer, mut handle) in writers.into_iter().enumerate() {
            let accounts = &accounts;
            scope.spawn(move || (1..2000).for_each(|round| change_accounts(&mut handle, accounts, round * 2 + writer)));
        }
        for (reader, mut handle) in readers.into_iter().enumerate() {
            let accounts = &accounts;
            scope.spawn(move || {
                let data = data(&mut handle);
                let names: Vec<(Keyspace, Bytes)> = accounts.iter().map(|account| (data, account.clone())).collect();
                for _ in 0..3000 {
                    handle.begin(&Scope::Read).unwrap();
                    let values = match reader {
                        0 => handle.get_many(&lent(&names)).unwrap().of_each(names.len()).unwrap().collect(),
                        1 => accounts.iter().map(|account| handle.get(data, account).unwrap()).collect(),
                        _ => scanned(&mut handle, &[b"account0", b"account1"]),
                    };
                    handle.rollback();
                    let sum: i64 =
                        values.iter().map(|value| String::from_utf8_lossy(value.as_ref().unwrap()).parse::<i64>().unwrap()).sum();
                    assert_eq!(sum, 1000);
                }
            });
        }
    });
}

/// The keys that a scan of a keyspace finds: all pages of a range.
fn keys_of(handle: &mut RocksHandle, keyspace: &str, range: &KeyRange, direction: Direction, items: u32) -> Vec<Vec<u8>> {
    let (keyspace, mut range, mut keys) = (handle.open_keyspace(keyspace, Order::Bytes).unwrap(), range.clone(), Vec::new());
    loop {
        let page = handle.scan(keyspace, &range, direction, PageLimit::items(items)).unwrap();
        keys.extend(page.records().map(|(key, _)| key.to_vec()));
        let Some(last) = keys.last().filter(|_| page.more) else { return keys };
        match direction {
            Direction::Forward => range = KeyRange { start: last.clone(), after_start: true, ..range },
            Direction::Reverse => range.end = Some(last.clone()),
        }
    }
}

#[test]
fn scans_among_many_dead_records_find_what_is_there_in_every_state() {
    // In one all records are of structures, in the other they are taken from the front.
    for keyspace in ["data", "expiry"] {
        scans_find_what_is_there(keyspace);
    }
}

fn scans_find_what_is_there(keyspace: &str) {
    let directory = tempfile::tempdir().unwrap();
    let options = RocksOptions { write_buffer_bytes: 64 << 10, durability: Durability::Os, ..RocksOptions::default() };
    let store = RocksStore::open(directory.path(), options).unwrap();
    let (mut writer, mut reader) = (store.handle(), store.handle());
    let records = writer.open_keyspace(keyspace, Order::Bytes).unwrap();
    let key = |number: usize| format!("queue_1:{number:06}").into_bytes();
    let (mut model, mut old) = (BTreeSet::new(), BTreeSet::new());
    reader.begin(&Scope::Read).unwrap();
    let mut noise = 7_usize;
    let mut random = |below: usize| {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (noise >> 33) % below
    };
    for step in 0..400 {
        // Now at the back, now anywhere; taken from the front, from the back, or from the middle.
        let added: Vec<Vec<u8>> = (0..60).map(|number| if step % 3 == 0 { key(random(30_000)) } else { key(step * 60 + number) }).collect();
        let mut taken = Vec::new();
        model.extend(added.iter().cloned());
        for _ in 0..random(120).min(model.len()) {
            let place = [0, model.len() - 1, random(model.len())][step / 7 % 3];
            let gone = model.iter().nth(place).cloned().unwrap();
            model.remove(&gone);
            taken.push(gone);
        }
        write(&mut writer, |batch| added.iter().for_each(|key| batch.put(records, key, b"v").unwrap())).unwrap();
        write(&mut writer, |batch| taken.iter().for_each(|key| batch.delete(records, key).unwrap())).unwrap();
        if step % 9 == 4 {
            // Some of them as a range, and now and then all.
            let (from, length) = if step % 4 == 0 { (0, 40_000) } else { (random(30_000), 50) };
            let range = KeyRange::between(&key(from), &key(from + length));
            write(&mut writer, |batch| batch.delete_range(records, &range).unwrap()).unwrap();
            model.retain(|record| *record < range.start || Some(record) >= range.end.as_ref());
        }
        let (one, other) = (key(random(30_000)), key(random(30_000)));
        let some = KeyRange::between(one.as_slice().min(&other), one.as_slice().max(&other));
        let items = u32::try_from(1 + random(40)).unwrap();
        writer.begin(&Scope::Read).unwrap();
        for (handle, expected) in [(&mut reader, &old), (&mut writer, &model)] {
            for range in [&KeyRange::prefix(b"queue_1:"), &KeyRange::all(), &some] {
                let mut within: Vec<Vec<u8>> = expected
                    .iter()
                    .filter(|key| **key >= range.start && range.end.as_ref().is_none_or(|end| *key < end))
                    .cloned()
                    .collect();
                assert_eq!(keys_of(handle, keyspace, range, Direction::Forward, items), within, "{keyspace}, step {step}");
                within.reverse();
                assert_eq!(keys_of(handle, keyspace, range, Direction::Reverse, items), within, "{keyspace}, step {step}, backwards");
            }
        }
        writer.rollback();
        if step % 5 == 0 {
            reader.rollback();
            reader.begin(&Scope::Read).unwrap();
            old.clone_from(&model);
        }
    }
}

/// The first ten keys of a keyspace, and how many deletes RocksDB has passed to find them.
fn first_page(handle: &mut RocksHandle, keyspace: Keyspace) -> (Vec<Vec<u8>>, u64) {
    let deletes_passed = || PerfContext::default().metric(PerfMetric::InternalDeleteSkippedCount);
    let before = deletes_passed();
    handle.begin(&Scope::Read).unwrap();
    let page = handle.scan(keyspace, &KeyRange::all(), Direction::Forward, PageLimit::items(10)).unwrap();
    handle.rollback();
    (page.records().map(|(key, _)| key.to_vec()).collect(), deletes_passed() - before)
}

#[test]
fn what_is_taken_from_the_front_of_the_expiries_is_not_walked_over_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let mut handle = store.handle();
    let expiry = handle.open_keyspace("expiry", Order::Bytes).unwrap();
    let key = |number: u32| number.to_be_bytes();
    write(&mut handle, |batch| (0..5000).for_each(|number| batch.put(expiry, &key(number), b"").unwrap())).unwrap();
    write(&mut handle, |batch| (0..4000).for_each(|number| batch.delete(expiry, &key(number)).unwrap())).unwrap();
    let first = |(keys, passed): (Vec<Vec<u8>>, u64)| (keys.first().cloned(), passed);
    assert_eq!(first(first_page(&mut handle, expiry)), (Some(key(4000).to_vec()), 4000));
    assert_eq!(first(first_page(&mut handle, expiry)), (Some(key(4000).to_vec()), 0));
    // What is put there is found, also by who has read that there was nothing.
    write(&mut handle, |batch| batch.put(expiry, &key(1234), b"").unwrap()).unwrap();
    let (found, passed) = first(first_page(&mut handle, expiry));
    assert!(found == Some(key(1234).to_vec()) && passed < 10, "{found:?}, {passed} dead records");
    // Nor where nothing is left at all.
    write(&mut handle, |batch| (1234..5000).for_each(|number| batch.delete(expiry, &key(number)).unwrap())).unwrap();
    let (found, passed) = first_page(&mut handle, expiry);
    assert!(found.is_empty() && passed >= 1000, "{found:?}, {passed} dead records");
    let (found, passed) = first_page(&mut handle, expiry);
    assert!(found.is_empty() && passed < 10, "{found:?}, {passed} dead records");
}

#[test]
fn files_that_hold_deletes_are_left_alone_where_nobody_scans() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let mut handle = store.handle();
    let data = data(&mut handle);
    for round in 0..5_u32 {
        let key = |number: u32| [b"queue_1:".as_slice(), &(round * 1000 + number).to_be_bytes()].concat();
        write(&mut handle, |batch| (0..1000).for_each(|number| batch.put(data, &key(number), b"v").unwrap())).unwrap();
        store.flush().unwrap();
        write(&mut handle, |batch| (0..1000).for_each(|number| batch.delete(data, &key(number)).unwrap())).unwrap();
        store.flush().unwrap();
    }
    // A compaction would begin at once. They are fewer than the sixteen that are compacted together.
    std::thread::sleep(Duration::from_millis(500));
    let tables = lengths(directory.path(), "sst").len();
    assert!(tables >= 10, "{tables} files");
}

#[test]
fn a_keyspace_is_written_and_compacted_early_where_scans_meet_many_tombstones() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let mut handle = store.handle();
    // Not a structure: nothing but RocksDB answers such scans.
    let meta = handle.open_keyspace("meta", Order::Bytes).unwrap();
    let key = |number: u32| [b"key:".as_slice(), &number.to_be_bytes()].concat();
    write(&mut handle, |batch| (0..20_000).for_each(|number| batch.put(meta, &key(number), b"v").unwrap())).unwrap();
    store.flush().unwrap();
    write(&mut handle, |batch| (0..19_999).for_each(|number| batch.delete(meta, &key(number)).unwrap())).unwrap();
    let mut scan = || {
        let (found, passed) = first_page(&mut handle, meta);
        assert_eq!(found, [key(19_999)]);
        passed
    };
    assert_eq!(scan(), 19_999);
    // Some dozens of scans, one after the other, are worth a compaction.
    wait_until("a scan passes few deletes", || scan() < 100);
}

#[test]
fn a_keyspace_that_hardly_changes_does_not_keep_old_logs() {
    const MIB: u64 = 1 << 20;
    let directory = tempfile::tempdir().unwrap();
    let options = RocksOptions { write_buffer_bytes: 1 << 20, ..RocksOptions::default() };
    let store = RocksStore::open(directory.path(), options).unwrap();
    let mut handle = store.handle();
    let score = handle.open_keyspace("score", Order::Bytes).unwrap();
    write(&mut handle, |batch| batch.put(score, b"once", b"").unwrap()).unwrap();
    for step in 0..20 * MIB / 4096 {
        put(&mut handle, &step.to_be_bytes(), &[7; 4096]).unwrap();
    }
    let bytes = || lengths(directory.path(), "log").iter().sum::<u64>();
    wait_until("the logs are a few write buffers", || bytes() <= 4 * MIB);
    assert!(bytes() > 0);
}
