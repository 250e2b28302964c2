//! The subcommands that open a database while no server has it.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::orbweaver_server::executable;

/// Runs `orbweaver SUBCOMMAND --dir DIR REST...` and returns its standard output.
///
/// # Panics
/// When it fails: the text shows all of its output.
pub fn run(dir: &Path, subcommand: &str, rest: &[&str]) -> String {
    let output = Command::new(executable()).arg(subcommand).arg("--dir").arg(dir).args(rest).output().expect("the command starts");
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "orbweaver {subcommand} {rest:?}: {}\n{stdout}{stderr}", output.status);
    stdout
}

/// Verifies every record with `orbweaver check`.
///
/// # Panics
/// When a record is wrong.
pub fn assert_check_is_clean(dir: &Path) {
    run(dir, "check", &[]);
}

/// How many records each keyspace holds, by `orbweaver records export`. Empty keyspaces are not there.
///
/// # Panics
/// When the export fails.
#[must_use]
pub fn count_records(dir: &Path) -> BTreeMap<String, usize> {
    let mut export = Command::new(executable())
        .args(["records", "export", "--dir"])
        .arg(dir)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut counts = BTreeMap::new();
    for line in BufReader::new(export.stdout.take().expect("it is piped")).lines() {
        let line = line.expect("the export writes text");
        let keyspace = line.strip_prefix("{\"keyspace\":\"").and_then(|rest| rest.split('"').next());
        *counts.entry(keyspace.expect("a keyspace comes first").to_owned()).or_default() += 1;
    }
    assert!(export.wait().expect("it is our child").success(), "the export failed");
    counts
}
