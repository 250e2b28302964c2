//! The example of a Python component on top of `wasi:keyvalue`.
#![allow(clippy::unwrap_used, missing_docs)]

use orbweaver_plugin_tests::{component, outcome, package, python};
use std::path::Path;

/// Runs a script of the example; what it printed.
fn script(name: &str, arguments: &[(&str, &Path)]) -> String {
    let mut python = python();
    python.arg(package().join("../../examples/python-component").join(name));
    arguments.iter().for_each(|(option, value)| {
        python.arg(option).arg(value);
    });
    let outcome = outcome(&mut python).unwrap();
    assert_eq!(outcome.code, Some(0), "{}", outcome.errors);
    outcome.output
}

#[test]
fn the_example_is_built_and_counts_on_in_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    script("build.py", &[("--out", folder.path())]);
    let run = || script("run.py", &[("--component", &folder.path().join("visits.wasm")), ("--dir", &data)]);
    assert_eq!(run(), "run 1\n1500 visits on 2 pages, 1124250000 seconds\nconflict\nnotes: b'first\\nsecond\\n'\n");
    assert_eq!(run(), "run 2\n3000 visits on 3 pages, 2248500000 seconds\nconflict\nnotes: b'first\\nsecond\\nfirst\\nsecond\\n'\n");
    // What the application wrote is there for the command line, and the script has closed the store.
    assert_eq!(outcome(component("orbweaver-cli", &data).args(["GET", "counters:runs"])).unwrap().output, "2\n");
    assert_eq!(outcome(component("orbweaver-cli", &data).args(["GET", "notes:today"])).unwrap().output.lines().count(), 5);
}
