//! The command line over redb, one process after another and beside another.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use orbweaver_plugin_tests::{LEASE_SECONDS, Outcome, component, outcome};
use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::thread;
use std::time::Duration;

fn cli(folder: &Path, words: &[&str]) -> Outcome {
    outcome(component("orbweaver-cli", folder).args(words)).unwrap()
}

fn said(output: &str) -> Outcome {
    Outcome { output: output.to_owned(), errors: String::new(), code: Some(0) }
}

/// A command line that stays, fed line by line.
struct Session {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Session {
    fn start(folder: &Path) -> Self {
        let mut child = component("orbweaver-cli", folder).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()).lines());
        Self { child, input, output }
    }

    /// Sends a command and waits for its reply, which is one line.
    fn ask(&mut self, line: &str) -> String {
        writeln!(self.input, "{line}").unwrap();
        self.input.flush().unwrap();
        self.output.next().unwrap().unwrap()
    }

    /// SIGKILL: no destructor runs, no buffer is written.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn data_lasts_from_one_process_to_the_next() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(cli(folder.path(), &["SET", "foo", "bar"]), said("OK\n"));
    assert_eq!(cli(folder.path(), &["GET", "foo"]), said("bar\n"));
    assert_eq!(cli(folder.path(), &["HSET", "user:1", "name", "Ada", "born", "1815"]), said("2\n"));
    assert_eq!(cli(folder.path(), &["HGETALL", "user:1"]), said("born\n1815\nname\nAda\n"));
}

#[test]
fn an_error_is_printed_and_is_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    cli(folder.path(), &["SET", "foo", "bar"]);
    let refused = cli(folder.path(), &["LPUSH", "foo", "x"]);
    assert_eq!(refused.output, "WRONGTYPE Operation against a key holding the wrong kind of value\n\n");
    assert_eq!(refused.code, Some(1));
}

#[test]
fn without_arguments_it_runs_a_script() {
    let folder = tempfile::tempdir().unwrap();
    let mut session = Session::start(folder.path());
    assert_eq!(session.ask(r#"SET binary "\x00\xff""#), "OK");
    assert_eq!(session.ask("# a comment\n\nSTRLEN binary"), "2");
    drop(session.input);
    assert_eq!(session.child.wait().unwrap().code(), Some(0));
    assert_eq!(cli(folder.path(), &["STRLEN", "binary"]), said("2\n"));
}

#[test]
fn a_second_process_is_refused_and_the_first_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = Session::start(folder.path());
    assert_eq!(first.ask("SET k 1"), "OK");
    let second = cli(folder.path(), &["SET", "k", "of the second"]);
    assert_eq!((second.code, second.output.as_str()), (Some(1), ""));
    assert!(second.errors.contains("another process has the database open"), "{}", second.errors);
    assert_eq!(first.ask("GET k"), "1");
    assert_eq!(first.ask("INCR k"), "2");
    drop(first.input);
    assert_eq!(first.child.wait().unwrap().code(), Some(0));
    assert_eq!(cli(folder.path(), &["GET", "k"]), said("2\n"));
}

#[test]
fn acknowledged_writes_survive_sigkill() {
    const ROUNDS: u64 = 3;
    let folder = tempfile::tempdir().unwrap();
    for round in 0..ROUNDS {
        let mut session = Session::start(folder.path());
        assert_eq!(session.ask("LLEN acknowledged"), (round * 20).to_string());
        for number in 1..=20 {
            assert_eq!(session.ask("RPUSH acknowledged x"), (round * 20 + number).to_string());
        }
        // One more is under way, acknowledged to nobody: it must not change what the next round counts on.
        writeln!(session.input, "SET unacknowledged {round}").unwrap();
        session.kill();
        thread::sleep(Duration::from_secs(LEASE_SECONDS + 1));
    }
    assert_eq!(cli(folder.path(), &["LLEN", "acknowledged"]), said(&format!("{}\n", ROUNDS * 20)));
}
