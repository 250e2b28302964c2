//! The examples whose stores are their own, as their readers start them.
#![allow(clippy::unwrap_used, missing_docs)]

use orbweaver_plugin_tests::{Outcome, outcome};
use std::path::Path;
use std::process::Command;

const LEADERBOARD: &str = "\
This is run 1
2 new players
   120.5 ada
   109.0 bob
This is run 2
0 new players
   120.5 ada
   119.0 bob
";

/// `run.sh` of an example, which finds the release and Python by the same variables as the tests.
fn run(example: &str, arguments: &[&str]) -> Outcome {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example).join("run.sh");
    outcome(Command::new(script).args(arguments)).unwrap()
}

fn said(output: &str) -> Outcome {
    Outcome { output: output.to_owned(), errors: String::new(), code: Some(0) }
}

/// The whole suite, what is left behind for another process, and what three processes at once come to.
fn passes_the_suite(example: &str) {
    let suite = run(example, &["conform"]);
    assert_eq!(suite.code, Some(0), "{suite:#?}");
    assert!(!suite.output.contains("FAIL"), "{}", suite.output);
    assert!(suite.output.contains("ok    pages backwards add up to the whole range\n"), "{}", suite.output);
    assert!(suite.output.contains("ok    what is committed outlives the process\n"), "{}", suite.output);
    assert_eq!(suite.output.matches("ok    colliding transactions lose no update\n").count(), 3, "{}", suite.output);
}

#[test]
fn the_leaderboard_in_python_lasts() {
    assert_eq!(run("python", &[]), said(LEADERBOARD));
}

#[test]
fn the_store_in_python_passes_the_suite() {
    passes_the_suite("python");
}

// One after the other: each makes JavaScript of the component, in the same folder.
#[test]
fn the_leaderboard_in_node_lasts_and_its_store_passes_the_suite() {
    assert_eq!(run("node", &[]), said(LEADERBOARD));
    passes_the_suite("node");
}
