//! The stores of the release under the contract's test-suite, as a host author runs it.
#![allow(clippy::unwrap_used, missing_docs)]

use orbweaver_plugin_tests::{LEASE_SECONDS, component, outcome};
use std::thread;
use std::time::Duration;

/// How many obligations one conversation shows.
const TESTED: usize = 25;

fn passes(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let outcome = outcome(&mut component(name, folder.path())).unwrap();
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!(outcome.output.lines().filter(|line| line.starts_with("ok    ")).count(), TESTED, "{}", outcome.output);
    assert!(!outcome.output.contains("FAIL"), "{}", outcome.output);
}

#[test]
fn the_store_in_memory_passes() {
    passes("orbweaver-conform-on-memory");
}

#[test]
fn the_store_over_redb_passes() {
    passes("orbweaver-conform-on-redb");
}

#[test]
fn what_is_committed_to_redb_outlives_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let run = |verb: &str| outcome(component("orbweaver-conform-on-redb", folder.path()).arg(verb)).unwrap();
    assert_eq!(run("leave").code, Some(0));
    // The suite knows no stores that need to be closed, so that its claim runs out as after a crash.
    thread::sleep(Duration::from_secs(LEASE_SECONDS + 1));
    let found = run("find");
    assert_eq!((found.code, found.output.as_str()), (Some(0), "ok    what is committed outlives the process\n"));
}

#[test]
fn a_store_that_lost_what_was_left_fails() {
    let folder = tempfile::tempdir().unwrap();
    let found = outcome(component("orbweaver-conform-on-memory", folder.path()).arg("find")).unwrap();
    assert_eq!(found.code, Some(1));
    assert!(found.output.starts_with("FAIL  what is committed outlives the process: "), "{}", found.output);
}

#[test]
fn a_store_that_holds_records_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(outcome(component("orbweaver-cli", folder.path()).args(["SET", "k", "v"])).unwrap().code, Some(0));
    let refused = outcome(&mut component("orbweaver-conform-on-redb", folder.path())).unwrap();
    assert_eq!(refused.code, Some(1));
    assert!(refused.errors.contains("give them an empty store"), "{}", refused.errors);
    thread::sleep(Duration::from_secs(LEASE_SECONDS + 1));
    assert_eq!(outcome(component("orbweaver-cli", folder.path()).args(["GET", "k"])).unwrap().output, "v\n");
}
