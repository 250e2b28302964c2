//! What the tools do to directories that they are only to read, and with those of other programs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use common::{DIRECTORIES, copy_of, expected_records, fixture, image, unhex};
use orbweaver_tests::orbweaver_server::{OrbweaverServer, executable};
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Runs `orbweaver` with `input` on its standard input: exit code, standard output, standard error.
fn run(args: &[&str], dir: &Path, input: &str) -> (Option<i32>, String, String) {
    let mut command = Command::new(executable());
    command.args(args).arg("--dir").arg(dir).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A tool that ends early does not read its input.
    let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn good(args: &[&str], dir: &Path, input: &str) -> String {
    let (code, out, err) = run(args, dir, input);
    assert_eq!(code, Some(0), "{args:?}: {out}{err}");
    out
}

/// A closed database of ours.
fn with_data() -> TempDir {
    let dir = TempDir::new().unwrap();
    let script = "SET text 'some text'\nHSET hash a 1 b 2\nSET fleeting value PXAT 1900000000000\n";
    assert_eq!(good(&["exec"], dir.path(), script), "OK\n2\nOK\n");
    dir
}

#[test]
fn no_tool_changes_a_file_of_a_directory_that_is_only_read() {
    let dir = with_data();
    let before = image(dir.path());
    let dump = good(&["dump", "--read-only"], dir.path(), "");
    assert_eq!(dump.lines().count(), 3);
    assert!(good(&["check", "--read-only"], dir.path(), "").contains("no record is wrong"));
    assert!(good(&["records", "export", "--read-only"], dir.path(), "").lines().count() > 3);
    assert_eq!(good(&["exec", "--read-only"], dir.path(), "GET text\nHLEN hash\n"), "some text\n2\n");
    let (code, out, err) = run(&["exec", "--read-only"], dir.path(), "SET text other\nDEL hash\n");
    assert_eq!(code, Some(1), "{out}{err}");
    assert!(image(dir.path()) == before, "a file was changed");
    assert_eq!(good(&["exec"], dir.path(), "GET text\n"), "some text\n");
}

#[test]
fn a_server_that_only_reads_changes_no_file_and_refuses_writes() {
    let dir = with_data();
    let before = image(dir.path());
    let mut server = OrbweaverServer::start(dir.path(), &["--read-only"]);
    let mut client = orbweaver_tests::client::Client::connect(server.address()).unwrap();
    let mut say = |words: &[&str]| client.call(&words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>()).unwrap();
    assert_eq!(say(&["GET", "text"]), orbweaver_engine::resp::Value::Bulk("some text".into()));
    assert!(matches!(say(&["SET", "text", "other"]), orbweaver_engine::resp::Value::Error(_)));
    // Longer than the sweep waits between two steps.
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(!server.process().log().contains("the sweep failed"), "{}", server.process().log());
    assert_eq!(server.terminate().code(), Some(0));
    assert!(image(dir.path()) == before, "a file was changed");
}

#[test]
fn tools_that_read_hold_the_clock_where_they_are_told_to() {
    let dir = with_data();
    for (now, keys) in [("1899999999999", 3), ("1900000000001", 2)] {
        assert_eq!(good(&["dump", "--read-only", "--now", now], dir.path(), "").lines().count(), keys);
        assert_eq!(
            good(&["exec", "--read-only", "--now", now], dir.path(), "DBSIZE\nEXISTS fleeting\n").lines().last(),
            Some(&*(keys - 2).to_string())
        );
        good(&["check", "--read-only", "--now", now], dir.path(), "");
    }
    assert_eq!(good(&["exec", "--now", "1899999999000"], dir.path(), "PTTL fleeting\n"), "1000\n");
}

#[test]
fn the_records_of_other_programs_are_exported_and_imported_as_they_are() {
    for (name, layout) in DIRECTORIES {
        let copy = copy_of(name);
        let before = image(copy.path());
        let exported = good(&["records", "export", "--read-only"], copy.path(), "");
        assert!(image(copy.path()) == before, "{name} was changed");
        let mut found = std::collections::BTreeMap::<String, common::Records>::new();
        for line in exported.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()) {
            let field = |name: &str| line[name].as_str().unwrap();
            found.entry(field("keyspace").to_owned()).or_default().push((unhex(field("k")), unhex(field("v"))));
        }
        assert!(found == expected_records(name), "{name}");
        let target = TempDir::new().unwrap();
        good(&["records", "import", "--layout", layout], target.path(), &exported);
        assert_eq!(good(&["records", "export"], target.path(), ""), exported, "{name}");
    }
}

#[test]
fn a_directory_of_pika_is_read_and_written_by_every_tool() {
    let name = "blackwidow/a-flushed";
    let copy = copy_of(name);
    let before = image(copy.path());
    let expected = std::fs::read_to_string(fixture(&format!("{name}.expected.json"))).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
    let now = format!("{}000", expected["reference_now"]);
    let dump = good(&["dump", "--read-only", "--now", &now], copy.path(), "");
    assert_eq!(dump.lines().count(), expected["live"].as_array().unwrap().len());
    good(&["check", "--read-only", "--now", &now], copy.path(), "");
    assert_eq!(
        good(&["exec", "--read-only", "--now", &now], copy.path(), "GET str:plain\nGET ''\n"),
        "hello world\nvalue of the empty key\n"
    );
    assert!(image(copy.path()) == before, "a file was changed");

    assert_eq!(good(&["exec"], copy.path(), "SET written value\nHSET table field value\nLPUSH row b a\n"), "OK\n1\n2\n");
    let mut server = OrbweaverServer::start(copy.path(), &[]);
    assert!(server.process().log().contains("data of the layout blackwidow in "));
    let mut client = orbweaver_tests::client::Client::connect(server.address()).unwrap();
    let mut say = |words: &[&str]| client.call(&words.iter().map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>()).unwrap();
    assert_eq!(say(&["LINDEX", "row", "-1"]), orbweaver_engine::resp::Value::Bulk("b".into()));
    assert_eq!(say(&["HSET", "table", "other", "value"]), orbweaver_engine::resp::Value::Integer(1));
    assert_eq!(server.terminate().code(), Some(0));
    let records = good(&["records", "export", "--read-only"], copy.path(), "");
    assert!(records.contains(r#"{"keyspace":"strings/default","k":"7772697474656e","v":"76616c756500000000"}"#), "{records}");
    good(&["check", "--now", &now], copy.path(), "");
}

#[test]
fn the_empty_key_is_imported() {
    let target = TempDir::new().unwrap();
    let line = "{\"keyspace\":\"strings/default\",\"k\":\"\",\"v\":\"7600000000\"}\n";
    good(&["records", "import", "--layout", "blackwidow"], target.path(), line);
    assert_eq!(good(&["records", "export"], target.path(), ""), line);
    assert!(!target.path().join("orbweaver.journal").exists());
}

#[test]
fn camellias_rows_are_kept_in_a_database_of_ours() {
    let target = TempDir::new().unwrap();
    let line = "{\"keyspace\":\"camellia_kv\",\"k\":\"6d236e736b\",\"v\":\"0001\"}\n";
    good(&["records", "import", "--layout", "camellia"], target.path(), line);
    assert_eq!(good(&["records", "export"], target.path(), ""), line);
    let (code, _, err) = run(&["dump", "--layout", "orbweaver"], target.path(), "");
    assert_eq!(code, Some(1));
    assert!(err.contains("is of the layout camellia, not orbweaver"), "{err}");
}

#[test]
fn options_of_another_layout_are_refused() {
    let dir = with_data();
    let before = image(dir.path());
    for option in [&["--camellia-slot-prefix"][..], &["--camellia-namespace", "ns"], &["--camellia-zset-version", "1"]] {
        let (code, _, err) = run(&[&["dump", "--read-only"], option].concat(), dir.path(), "");
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains(option[0]) && err.contains("is for the layout camellia, and this one is orbweaver"), "{err}");
    }
    let (code, _, err) = run(&["dump", "--camellia-hash-version", "2"], dir.path(), "");
    assert_eq!(code, Some(2), "{err}");
    assert!(image(dir.path()) == before);
}

#[test]
fn every_tool_says_what_is_wrong_with_a_directory() {
    let tools: [&[&str]; 5] = [&["exec", "PING"], &["dump"], &["check"], &["records", "export"], &["serve", "--listen", "127.0.0.1:0"]];
    let copy = copy_of("blackwidow/a-flushed");
    std::fs::remove_file(copy.path().join("sets/CURRENT")).unwrap();
    for tool in tools {
        let named = |arguments: &[&str], dir: &Path| {
            let (verb, rest) = tool.split_at(if tool[0] == "records" { 2 } else { 1 });
            let arguments = [verb, &["--dir", dir.to_str().unwrap()], arguments, rest].concat();
            let output = Command::new(executable()).args(arguments).stdin(Stdio::null()).output().unwrap();
            assert_eq!(output.status.code(), Some(1), "{tool:?}");
            String::from_utf8(output.stderr).unwrap()
        };
        let error = named(&[], copy.path());
        assert!(error.contains("sets is not whole: CURRENT is missing"), "{tool:?}: {error}");
        let error = named(&["--read-only", "--layout", "ardb"], &fixture("nemo/db"));
        assert!(error.contains("is of the layout nemo, not ardb"), "{tool:?}: {error}");
    }
}
