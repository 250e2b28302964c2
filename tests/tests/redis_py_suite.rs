//! redis-py's own tests of the commands that we serve, in RESP2 and RESP3. Those that do not pass are in
//! `tests/clients/redis-py-failures.txt`, by reason: every other one must pass, and these must not.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::thread;

use orbweaver_tests::orbweaver_server::ServedTarget;
use orbweaver_tests::tools::{python, redis_py};

const FAILURES: &str = include_str!("../clients/redis-py-failures.txt");

/// What runs side by side, each part with a server of its own, for every test empties its database.
const PARTS: [&[&str]; 4] = [
    &[
        "test_commands.py",
        "test_hash.py",
        "test_pipeline.py",
        "test_lock.py",
        "test_keyspace_notifications.py",
        "test_encoding.py",
        "test_legacy_responses_arg.py",
        "test_client.py",
        "test_multiprocessing.py",
        "test_connection_pool.py",
        "test_asyncio/test_connection_pool.py",
    ],
    // These wait more than they work.
    &["test_pubsub.py"],
    &["test_asyncio/test_pubsub.py"],
    &[
        "test_asyncio/test_commands.py",
        "test_asyncio/test_hash.py",
        "test_asyncio/test_pipeline.py",
        "test_asyncio/test_lock.py",
        "test_asyncio/test_keyspace_notifications.py",
        "test_asyncio/test_encoding.py",
    ],
];

/// Tests that want servers of other kinds.
const MARKS: &str = "not redismod and not onlycluster and not ssl and not cp_integration and not replica and not multidb_integration";
/// About 1,500 pass: fewer mean that the suite skips what it should run.
const LEAST_PASSED: usize = 1_400;

/// The names of tests, as `test_asyncio/test_lock.py::TestLock::test_lock[pool]`.
#[derive(Default)]
struct Results {
    passed: BTreeSet<String>,
    /// With what pytest says of them.
    failed: BTreeMap<String, String>,
}

/// The list of failures: names without parameters, which stand for the tests of the same names in `test_asyncio`, too.
struct Failures<'t> {
    entries: Vec<&'t str>,
    /// Not to be run at all: what they do depends on the machine.
    not_run: Vec<&'t str>,
}

impl<'t> Failures<'t> {
    fn parse(text: &'t str) -> Self {
        let mut failures = Self { entries: Vec::new(), not_run: Vec::new() };
        let mut is_run = true;
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.strip_prefix('[') {
                Some(reason) => is_run = !reason.starts_with("not run: "),
                None if is_run => failures.entries.push(line),
                None => failures.not_run.push(line),
            }
        }
        failures
    }

    fn contains(&self, test: &str) -> bool {
        self.entries.iter().any(|entry| stands_for(entry, test))
    }
}

fn stands_for(entry: &str, test: &str) -> bool {
    let name = test.strip_prefix("test_asyncio/").unwrap_or(test);
    name.split('[').next() == Some(entry)
}

/// Runs pytest on `tests` (files, or single tests), against a server of its own.
fn run(protocol: &str, store: &str, tests: &[&str], not_run: &[&str]) -> Results {
    let server = ServedTarget::start(&["--store", store]);
    let url = format!("redis://{}/0", server.address());
    let mut command = Command::new(python());
    command
        .current_dir(redis_py())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        // Lines are cut where a terminal would end.
        .env("COLUMNS", "300")
        .args(["-m", "pytest", "-p", "no:cacheprovider", "--quiet", "-rpfE", "--tb=native", "--timeout=60"])
        .args(["--override-ini", "filterwarnings=ignore", "-m", MARKS])
        .args(["--redis-url", &url, "--redis-mod-url", &url, "--protocol", protocol])
        .args(tests.iter().map(|test| format!("tests/{test}")))
        .args(not_run.iter().flat_map(|test| ["", "test_asyncio/"].map(|folder| format!("--deselect=tests/{folder}{test}"))));
    let output = command.output().expect("Python starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut results = Results::default();
    for line in text.lines() {
        let Some((outcome @ ("PASSED" | "FAILED" | "ERROR"), rest)) = line.split_once(' ') else { continue };
        let Some(test) = rest.split(" - ").next().and_then(|test| test.trim().strip_prefix("tests/")) else { continue };
        if outcome == "PASSED" {
            results.passed.insert(test.to_owned());
        } else {
            results.failed.insert(test.to_owned(), line.to_owned());
        }
    }
    // 0: all passed, 1: some failed. Anything else is an error of pytest itself.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}\n{text}{}", output.status, String::from_utf8_lossy(&output.stderr));
    results
}

fn check(protocol: &str, store: &str) {
    let failures = Failures::parse(FAILURES);
    let parts = thread::scope(|scope| {
        let runs = PARTS.map(|files| scope.spawn(|| run(protocol, store, files, &failures.not_run)));
        runs.map(|run| run.join().expect("a part has run"))
    });
    let mut results = Results::default();
    for part in parts {
        results.passed.extend(part.passed);
        results.failed.extend(part.failed);
    }
    // A test can pass and fail nevertheless, while it cleans up.
    results.passed.retain(|test| !results.failed.contains_key(test));
    let unexpected: Vec<&str> = results.failed.keys().map(String::as_str).filter(|test| !failures.contains(test)).collect();
    if !unexpected.is_empty() {
        // Many tests give a message a fifth of a second, which is too little beside all the others: once more without them.
        let again = run(protocol, store, &unexpected, &[]).failed;
        assert!(again.is_empty(), "in RESP{protocol} these failed twice: {again:#?}");
    }
    let surprising: Vec<&String> = results.passed.iter().filter(|test| failures.contains(test)).collect();
    assert!(surprising.is_empty(), "in RESP{protocol} these pass, take them off the list: {surprising:#?}");
    let stale: Vec<_> = failures.entries.iter().filter(|entry| !results.failed.keys().any(|test| stands_for(entry, test))).collect();
    assert!(stale.is_empty(), "in RESP{protocol} no test failed for these entries, take them off the list: {stale:#?}");
    assert!(results.passed.len() >= LEAST_PASSED, "in RESP{protocol} only {} passed", results.passed.len());
}

#[test]
fn redis_py_s_own_tests_pass_in_resp2() {
    check("2", "memory");
}

#[test]
fn redis_py_s_own_tests_pass_in_resp3() {
    check("3", "rocksdb");
}

#[test]
fn entries_stand_for_asyncio_and_all_parameters() {
    let failures = Failures::parse("# comment\n\n[a reason]\nt.py::test_a\n[not run: another]\nt.py::test_b\n");
    for test in ["t.py::test_a", "test_asyncio/t.py::test_a", "test_asyncio/t.py::test_a[pool]"] {
        assert!(failures.contains(test), "{test}");
    }
    for test in ["t.py::test_ab", "t.py::test_b", "u.py::test_a"] {
        assert!(!failures.contains(test), "{test}");
    }
    assert_eq!(failures.not_run, ["t.py::test_b"]);
}
