//! Who may write: a second process is refused, a killed one is taken over, one that was paused notices.
//!
//! Every store has its own claim, also within one process, so the tests need no other process.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use orbweaver_engine::store::{Batch, Order, Scope, Store, StoreError};
use orbweaver_redb::RedbStore;
use orbweaver_redb::claim::LEASE;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

fn put(store: &mut RedbStore, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
    let keyspace = store.open_keyspace("data", Order::Bytes)?;
    store.begin(&Scope::Exclusive)?;
    let mut batch = Batch::new();
    batch.put(keyspace, key, value)?;
    store.commit(&batch, &[])
}

fn get(store: &mut RedbStore, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
    let keyspace = store.open_keyspace("data", Order::Bytes)?;
    store.begin(&Scope::Read)?;
    let value = store.get(keyspace, key);
    store.rollback();
    Ok(value?.map(Vec::from))
}

fn open(folder: &Path) -> RedbStore {
    RedbStore::open(folder, LEASE).unwrap()
}

fn refusal(folder: &Path) -> String {
    match RedbStore::open(folder, LEASE) {
        Ok(_) => panic!("a second store was opened"),
        Err(error) => error.to_string(),
    }
}

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Lets the claims of the folder run out, as if their owners had not touched them for a lease.
fn let_claims_run_out(folder: &Path) {
    for name in names(folder).iter().filter(|name| name.ends_with(".claim")) {
        let claim = File::options().write(true).open(folder.join(name)).unwrap();
        claim.set_modified(SystemTime::now() - 2 * LEASE).unwrap();
    }
}

#[test]
fn a_second_store_is_refused_and_the_first_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = open(folder.path());
    put(&mut first, b"k", b"1").unwrap();
    assert!(refusal(folder.path()).starts_with("another process has the database open"));
    put(&mut first, b"k", b"2").unwrap();
    assert_eq!(get(&mut first, b"k").unwrap(), Some(b"2".to_vec()));
}

#[test]
fn a_closed_database_is_opened_at_once_and_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    for round in [b"1", b"2", b"3"] {
        put(&mut open(folder.path()), round, round).unwrap();
    }
    let mut store = open(folder.path());
    for round in [b"1", b"2", b"3"] {
        assert_eq!(get(&mut store, round).unwrap(), Some(round.to_vec()));
    }
    assert_eq!(names(folder.path()), ["orbweaver-1.redb", "orbweaver-4.claim"].map(str::to_owned).into());
}

#[test]
fn after_a_crash_the_next_store_goes_on_when_the_claim_has_run_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut killed = open(folder.path());
    put(&mut killed, b"k", b"acknowledged").unwrap();
    std::mem::forget(killed);
    refusal(folder.path());
    let_claims_run_out(folder.path());
    let mut next = open(folder.path());
    assert_eq!(get(&mut next, b"k").unwrap(), Some(b"acknowledged".to_vec()));
    put(&mut next, b"k", b"new").unwrap();
    assert_eq!(names(folder.path()), ["orbweaver-2.claim", "orbweaver-2.redb"].map(str::to_owned).into());
}

#[test]
fn an_owner_that_was_paused_too_long_refuses_everything_and_harms_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut paused = open(folder.path());
    put(&mut paused, b"k", b"before").unwrap();
    let keyspace = paused.open_keyspace("data", Order::Bytes).unwrap();
    paused.begin(&Scope::Exclusive).unwrap();
    let mut batch = Batch::new();
    batch.put(keyspace, b"k", b"late").unwrap();

    let_claims_run_out(folder.path());
    let mut next = open(folder.path());
    put(&mut next, b"k", b"of the next").unwrap();

    let late = paused.commit(&batch, &[]).unwrap_err();
    assert_eq!(late, StoreError::Io("another process has taken the database over: open it again".into()));
    for _ in 0..2 {
        assert_eq!(get(&mut paused, b"k").unwrap_err(), late);
    }
    drop(paused);
    assert!(refusal(folder.path()).starts_with("another process has the database open"));
    assert_eq!(get(&mut next, b"k").unwrap(), Some(b"of the next".to_vec()));
    drop(next);
    assert_eq!(get(&mut open(folder.path()), b"k").unwrap(), Some(b"of the next".to_vec()));
}

#[test]
fn a_store_that_was_killed_while_it_took_over_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut killed = open(folder.path());
    put(&mut killed, b"k", b"acknowledged").unwrap();
    std::mem::forget(killed);
    // What is left where the next one was killed before its copy was whole, with the older claim removed.
    fs::rename(folder.path().join("orbweaver-1.claim"), folder.path().join("orbweaver-2.claim")).unwrap();
    fs::write(folder.path().join("orbweaver-2.part"), b"half a copy").unwrap();
    let_claims_run_out(folder.path());
    assert_eq!(get(&mut open(folder.path()), b"k").unwrap(), Some(b"acknowledged".to_vec()));
    assert_eq!(names(folder.path()), ["orbweaver-3.claim", "orbweaver-3.redb"].map(str::to_owned).into());
}

#[test]
fn a_claim_that_was_killed_before_it_was_written_runs_out_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    File::create(folder.path().join("orbweaver-1.claim")).unwrap();
    refusal(folder.path());
    let_claims_run_out(folder.path());
    put(&mut open(folder.path()), b"k", b"v").unwrap();
}

#[test]
fn a_clock_that_was_ahead_locks_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    std::mem::forget(open(folder.path()));
    let claim = File::options().write(true).open(folder.path().join("orbweaver-1.claim")).unwrap();
    claim.set_modified(SystemTime::now() + Duration::from_secs(86_400)).unwrap();
    put(&mut open(folder.path()), b"k", b"v").unwrap();
}

#[test]
fn of_stores_that_are_opened_at_the_same_moment_one_at_most_is_let_in() {
    let folder = tempfile::tempdir().unwrap();
    put(&mut open(folder.path()), b"opened", &0_u64.to_le_bytes()).unwrap();
    for _ in 0..20 {
        let opened: Vec<Option<RedbStore>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| RedbStore::open(folder.path(), LEASE).ok())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(opened.iter().flatten().count() <= 1);
    }
}

#[test]
fn a_folder_that_does_not_exist_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    assert!(RedbStore::open(&folder.path().join("missing"), LEASE).is_err());
}

#[test]
fn a_damaged_database_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    put(&mut open(folder.path()), b"k", b"v").unwrap();
    let path = folder.path().join("orbweaver-1.redb");
    fs::write(&path, b"not a database").unwrap();
    assert!(RedbStore::open(folder.path(), LEASE).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"not a database");
}
