//! `orbweaver migrate`, as real processes on real directories.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod command;

use command::{good, run, run_with, start};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const MIGRATE: [&str; 5] = ["migrate", "--from", "data", "--to", "copy"];

/// A directory in which the database `data` holds what a script leaves.
fn with_data(script: &str) -> TempDir {
    let dir = TempDir::new().unwrap();
    let ran = run_with(dir.path(), &["exec", "--dir", "data"], script);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    dir
}

/// One key of each type, some of them with expiries, in two dbs.
const SCRIPT: &str = "SET text 'some text' PXAT 4102444800001\nHSET hash a 1 b 2\nHPEXPIREAT hash 4102444800001 FIELDS 1 a\n\
                      RPUSH list a b\nSADD set a b\nZADD zset 1.5 a -0 b\nSELECT 5\nSET empty ''\n";

/// What the files of a directory hold.
fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())).collect()
}

fn dumps_are_equal(dir: &Path) {
    assert_eq!(good(dir, &["dump", "--dir", "copy"]), good(dir, &["dump", "--dir", "data"]));
    assert_eq!(good(dir, &["check", "--dir", "copy"]), "copy: no record is wrong\n");
}

#[test]
fn a_migration_copies_every_key_and_leaves_the_source_as_it_is() {
    let dir = with_data(SCRIPT);
    let before = files(&dir.path().join("data"));
    assert_eq!(good(dir.path(), &MIGRATE), "6 keys migrated to copy, and compared with data\n");
    assert_eq!(files(&dir.path().join("data")), before);
    assert!(!dir.path().join("copy.migration").exists());
    dumps_are_equal(dir.path());
}

#[test]
fn a_directory_that_holds_something_is_refused() {
    let dir = with_data(SCRIPT);
    good(dir.path(), &MIGRATE);
    let again = run(dir.path(), &MIGRATE);
    assert_eq!((again.code, again.err.as_str()), (Some(1), "error: copy is not empty: a migration makes a new database\n"));
    let itself = run(dir.path(), &["migrate", "--from", "data", "--to", "./data"]);
    assert_eq!((itself.code, itself.err.as_str()), (Some(1), "error: data cannot be migrated into itself\n"));
    let absent = run(dir.path(), &["migrate", "--from", "absent", "--to", "new"]);
    assert!(absent.code == Some(1) && absent.err.starts_with("error: cannot read absent: "), "{absent:?}");
    let lossy = run(dir.path(), &["migrate", "--from", "data", "--to", "new", "--lossy", "hope"]);
    assert_eq!(lossy.code, Some(2));
    assert!(!dir.path().join("new").exists());
}

#[test]
fn what_a_layout_cannot_hold_is_listed_and_has_to_be_allowed() {
    let dir = with_data("SET session:1 a PXAT 2000000000001\nSET session:2 b PXAT 2000000000002\nRPUSH list a\nSELECT 1\nSET job c\n");
    let to_blackwidow = [&MIGRATE[..], &["--to-layout", "blackwidow"]].concat();
    let refused = run(dir.path(), &to_blackwidow);
    let documented = include_str!("../../docs/migration.md").split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!((refused.code, refused.err.as_str()), (Some(1), documented));
    assert!(!dir.path().join("copy").exists() && !dir.path().join("copy.migration").exists());
    let some = run(dir.path(), &[&to_blackwidow[..], &["--lossy", "dbs"]].concat());
    assert!(some.code == Some(1) && some.err.ends_with("allow the losses with --lossy milliseconds\n"), "{some:?}");
    let allowed = run(dir.path(), &[&to_blackwidow[..], &["--lossy", "milliseconds,dbs"]].concat());
    assert_eq!((allowed.code, allowed.out.as_str()), (Some(0), "3 keys migrated to copy, and compared with data\n"), "{allowed:?}");
}

/// So many keys that a migration takes a while: strings, and lists of several pieces.
fn with_much_data() -> TempDir {
    let dir = TempDir::new().unwrap();
    let mut lines = String::new();
    let value = "dmFs".repeat(200);
    for number in 0..40_000 {
        writeln!(lines, r#"{{"db":0,"key":"{number:08}","type":"string","expire_at_ms":null,"value":"{value}"}}"#).unwrap();
    }
    for number in 0..4 {
        let items = vec![format!("\"{value}\""); 4000].join(",");
        writeln!(lines, r#"{{"db":1,"key":"{number:08}","type":"list","expire_at_ms":null,"items":[{items}]}}"#).unwrap();
    }
    let ran = run_with(dir.path(), &["load", "--dir", "data"], &lines);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    dir
}

/// How many bytes the state says are written; `None` where there is none.
fn done(state: &Path) -> Option<u64> {
    let text = fs::read(state).ok()?;
    serde_json::from_slice::<serde_json::Value>(&text).unwrap()["done"].as_u64()
}

#[test]
fn a_migration_that_is_killed_goes_on() {
    let dir = with_much_data();
    let state = dir.path().join("copy.migration");
    let mut kills = 0;
    // Killed in the survey, and then each time when it has got on.
    for least in [None, Some(1), Some(10_000_000), Some(30_000_000)] {
        let mut child = start(dir.path(), &MIGRATE);
        let deadline = Instant::now() + Duration::from_secs(120);
        while child.try_wait().unwrap().is_none() && least.is_some() && done(&state) < least {
            assert!(Instant::now() < deadline, "the migration does not get on: {:?}", done(&state));
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += usize::from(state.exists());
    }
    assert_eq!(kills, 3, "each kill but the first left a migration that is not finished");
    let other = run(dir.path(), &[&MIGRATE[..], &["--lossy", "lists"]].concat());
    assert!(other.code == Some(1) && other.err.contains("with other options is not finished"), "{other:?}");
    assert_eq!(good(dir.path(), &MIGRATE), "40004 keys migrated to copy, and compared with data\n");
    assert!(!state.exists());
    assert_eq!(good(dir.path(), &["dump", "--dir", "copy"]), good(dir.path(), &["dump", "--dir", "data"]));
}

#[test]
fn a_migration_whose_target_was_removed_starts_over() {
    let dir = with_much_data();
    let state = dir.path().join("copy.migration");
    let mut child = start(dir.path(), &MIGRATE);
    while child.try_wait().unwrap().is_none() && done(&state).unwrap_or_default() == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(state.exists());
    fs::remove_dir_all(dir.path().join("copy")).unwrap();
    assert_eq!(good(dir.path(), &MIGRATE), "40004 keys migrated to copy, and compared with data\n");
}
