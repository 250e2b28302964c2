//! The example of a Python component on top of `wasi:keyvalue`, as its readers start it.
#![allow(clippy::unwrap_used, missing_docs)]

use orbweaver_plugin_tests::{component, example, outcome};

const PRINTED: &str = r"run 1
1500 visits on 2 pages, 1124250000 seconds
conflict
notes: b'first\nsecond\n'
run 2
3000 visits on 3 pages, 2248500000 seconds
conflict
notes: b'first\nsecond\nfirst\nsecond\n'
";

#[test]
fn a_python_component_goes_on_in_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    let run = outcome(example("python-component").arg(folder.path())).unwrap();
    assert_eq!((run.output.as_str(), run.code), (PRINTED, Some(0)), "{}", run.errors);
    // The host has closed the store, so that the command line need not wait.
    let read = |key: &str| outcome(component("orbweaver-cli", folder.path()).args(["GET", key])).unwrap().output;
    assert_eq!(read("counters:runs"), "2\n");
    assert_eq!(read("notes:today"), "first\nsecond\nfirst\nsecond\n\n");
}
