//! Applications that know only `wasi:keyvalue`, on the adapters of the release.
#![allow(clippy::unwrap_used, missing_docs)]

use orbweaver_plugin_tests::{LEASE_SECONDS, component, outcome};
use std::fs::{self, File};
use std::thread;
use std::time::Duration;

/// Knows draft2, on redb.
const APPLICATION: &str = "tests/client-draft2-on-redb";

/// What an application prints that knows draft2.
const DRAFT2: &str = r#"open a:b: Err(Error::NoSuchStore)
absent: Ok(None) Ok(false) Ok(())
binary: Some([0, 255, 13, 10]) true
by its whole name: Some([0, 255, 13, 10])
in another bucket: None
empty: Some([]) true
deleted: None false
no name: Some([110, 111, 32, 110, 97, 109, 101]) KeyResponse { keys: [""], cursor: None }
from nothing: Ok(-3)
and on: Ok(7) Some([55])
by nothing: Ok(0)
too far: Err(Error::Other("the sum does not fit 64 bits"))
as it was: true
no integer: Err(Error::Other("the value is not a 64-bit integer in decimal digits"))
many: [("b", Some([])), ("absent", None), ("a", Some([50])), ("b", Some([]))]
none: Ok([]) Ok(()) Ok(())
left: KeyResponse { keys: [], cursor: None }
pages: [1000, 1000, 500], all of the keys in order: true
exactly two pages: [1000, 1000], all of the keys in order: true
current: None
swap from nothing: done
conflict: Some([102, 105, 114, 115, 116]), the key has Some([102, 105, 114, 115, 116])
swap again: done, the key has Some([115, 101, 99, 111, 110, 100])
swap of what is gone: failed, current is Ok(None), the key has None
"#;

/// What an application prints that knows the first draft.
const DRAFT: &str = r#"open a:b: Err(Error::NoSuchStore)
values: Some([0, 255]) None
exist: true false
many: [Some(("binary", [0, 255])), None, Some(("empty", []))]
left: KeyResponse { keys: [], cursor: None }
from nothing: Ok(5)
beyond 2^63: Ok(18446744073709551615)
too far: Err(Error::Other("the sum does not fit 64 bits"))
as it was: true
negative: Err(Error::Other("the value is not an integer from 0 to 2^64 - 1 in decimal digits"))
pages: [1000, 1000, 500], all of the keys: true
"#;

/// What an application prints that goes through all functions, on an empty store.
fn told(application: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let outcome = outcome(&mut component(application, folder.path())).unwrap();
    assert_eq!((outcome.code, outcome.errors.as_str()), (Some(0), ""));
    outcome.output
}

#[test]
fn draft2_works_over_both_stores() {
    assert_eq!(told("tests/client-draft2-on-memory"), DRAFT2);
    assert_eq!(told("tests/client-draft2-on-redb"), DRAFT2);
}

#[test]
fn the_first_draft_works_over_both_stores() {
    assert_eq!(told("tests/client-draft-on-memory"), DRAFT);
    assert_eq!(told("tests/client-draft-on-redb"), DRAFT);
}

#[test]
fn both_drafts_share_one_engine() {
    assert_eq!(told("tests/client-both-on-memory"), [DRAFT, DRAFT2].concat());
}

#[test]
fn a_counter_goes_on_in_the_next_process_and_is_seen_by_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let counts = |expected: &str| {
        let counted = outcome(component(APPLICATION, folder.path()).args(["count", "visits", "n"])).unwrap();
        assert_eq!((counted.output.as_str(), counted.errors.as_str()), (expected, ""));
        // The application knows no stores that need to be closed, so that its claim runs out as after a crash.
        thread::sleep(Duration::from_secs(LEASE_SECONDS + 1));
    };
    counts("1\n");
    counts("2\n");
    assert_eq!(outcome(component("orbweaver-cli", folder.path()).args(["INCRBY", "visits:n", "40"])).unwrap().output, "42\n");
    counts("43\n");
}

#[test]
fn keys_that_an_application_cannot_read_are_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    // More than a page of names that are not UTF-8, between others, and a set.
    let lines: String = (0..1500).map(|number| format!("SET \"b:\\x80{number}\" x\n")).collect();
    let script = folder.path().join("script.txt");
    fs::write(&script, lines + "SET b:ada 1815\nSADD b:set x\nSET b:é x\nSET \"b:\\xff\" x\n").unwrap();
    let mut loading = component("orbweaver-cli", folder.path());
    assert_eq!(outcome(loading.stdin(File::open(&script).unwrap())).unwrap().code, Some(0));
    let words = ["keys", "b", "keys", "", "get", "b", "set", "get", "b", "ada"];
    let read = outcome(component(APPLICATION, folder.path()).args(words)).unwrap();
    let expected = r#"["ada", "set"]
["é"]
["b:ada", "b:set"]
["b:é"]
Err(Error::Other("the key holds another type than a string"))
Ok(Some([49, 56, 49, 53]))
"#;
    assert_eq!((read.output.as_str(), read.errors.as_str()), (expected, ""));
}
