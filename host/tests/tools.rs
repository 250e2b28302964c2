//! The tools: `exec`, `dump`, `load`, `records`, `inspect`, `check`, `component`, as real processes on real directories.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod command;

use command::{good, run, run_with};
use orbweaver_tests::orbweaver_server::OrbweaverServer;
use tempfile::TempDir;

/// A directory in which the database `data` holds a string, a hash that is not packed, and an empty value.
fn with_data() -> TempDir {
    let dir = TempDir::new().unwrap();
    let script = "SET text 'some text'\nHSET hash a 1 b 2\nSELECT 5\nSET empty '' PX 1000000\n";
    let ran = run_with(dir.path(), &["exec", "--dir", "data", "--packed-bytes", "0"], script);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "OK\n2\nOK\nOK\n"), "{ran:?}");
    dir
}

#[test]
fn exec_prints_replies_as_redis_cli_does() {
    let dir = with_data();
    assert_eq!(good(dir.path(), &["exec", "GET", "text"]), "some text\n");
    assert_eq!(good(dir.path(), &["exec", "--human", "GET", "text"]), "\"some text\"\n");
    assert_eq!(good(dir.path(), &["exec", "--wire", "GET", "text"]), "$9\r\nsome text\r\n");
    assert_eq!(good(dir.path(), &["exec", "--human", "HGETALL", "hash"]), "1) \"a\"\n2) \"1\"\n3) \"b\"\n4) \"2\"\n");
    assert_eq!(good(dir.path(), &["exec", "--human", "--resp3", "HGETALL", "hash"]), "1# \"a\" => \"1\"\n2# \"b\" => \"2\"\n");
    assert_eq!(good(dir.path(), &["exec", "GETRANGE", "text", "-4", "-1"]), "text\n", "arguments may begin with a dash");
}

#[test]
fn exec_fails_where_a_reply_is_an_error_but_goes_on_with_the_script() {
    let dir = with_data();
    let ran = run(dir.path(), &["exec", "GET"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), "ERR wrong number of arguments for 'get' command\n\n"));
    let ran = run_with(dir.path(), &["exec", "--human"], "# a comment\n\nINCR text\nINCR count\nQUIT\nINCR count\n");
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), "(error) ERR value is not an integer or out of range\n(integer) 1\nOK\n"));
}

#[test]
fn exec_names_the_line_whose_quote_is_open() {
    let dir = with_data();
    let ran = run_with(dir.path(), &["exec"], "PING\nSET key \"value\n");
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), "PONG\n"));
    assert_eq!(ran.err, "error: line 2 of the script: a quote is not closed\n");
}

#[test]
fn a_held_clock_and_seed_leave_the_same_records() {
    let dir = TempDir::new().unwrap();
    let script = "SET key value EX 100\nHSET hash a 1\nDEL hash\nHSET hash b 2\n";
    for name in ["first", "second"] {
        let ran = run_with(dir.path(), &["exec", "--dir", name, "--clock-ms", "1000000", "--seed", "7"], script);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    let records = good(dir.path(), &["records", "export", "--dir", "first"]);
    assert_eq!(records, good(dir.path(), &["records", "export", "--dir", "second"]));
    assert!(records.lines().count() > 3, "{records}");
}

#[test]
fn tools_make_no_database_where_there_is_none() {
    let dir = TempDir::new().unwrap();
    let tools: [&[&str]; 7] = [
        &["exec", "PING"],
        &["dump"],
        &["load"],
        &["check"],
        &["records", "export"],
        &["records", "import"],
        &["dump", "--dir", "elsewhere"],
    ];
    for tool in tools {
        let ran = run(dir.path(), tool);
        assert_eq!(ran.code, Some(1), "{tool:?}");
        assert!(ran.err.contains("there is no database in "), "{tool:?}: {}", ran.err);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "{tool:?}");
    }
}

#[test]
fn a_directory_that_a_server_has_open_is_refused_with_its_name() {
    let dir = TempDir::new().unwrap();
    let _server = OrbweaverServer::start(&dir.path().join("data"), &[]);
    for tool in [&["exec", "PING"][..], &["dump"], &["check"], &["records", "export"]] {
        let ran = run(dir.path(), tool);
        assert_eq!(ran.code, Some(1), "{tool:?}");
        assert!(ran.err.contains("data is in use by another process"), "{tool:?}: {}", ran.err);
    }
}

#[test]
fn a_dump_is_loaded_back() {
    let dir = with_data();
    let dump = good(dir.path(), &["dump"]);
    let keys: Vec<&str> = dump.lines().map(|line| line.split(",\"type\"").next().unwrap()).collect();
    assert_eq!(keys, [r#"{"db":0,"key":"aGFzaA==""#, r#"{"db":0,"key":"dGV4dA==""#, r#"{"db":5,"key":"ZW1wdHk=""#]);
    assert_eq!(good(dir.path(), &["dump", "--output", "file.jsonl"]), "");
    assert_eq!(std::fs::read_to_string(dir.path().join("file.jsonl")).unwrap(), dump);

    let from_file = run(dir.path(), &["load", "--dir", "copy", "file.jsonl"]);
    assert_eq!((from_file.code, from_file.err.as_str()), (Some(0), "3 keys loaded, 0 left out because their time is past\n"));
    assert_eq!(good(dir.path(), &["dump", "--dir", "copy"]), dump);
    let from_pipe = run_with(dir.path(), &["load", "--dir", "other"], dump.trim_end());
    assert_eq!(from_pipe.code, Some(0), "{from_pipe:?}");
    assert_eq!(good(dir.path(), &["dump", "--dir", "other"]), dump);
}

#[test]
fn load_names_the_line_of_the_file_that_is_wrong() {
    let dir = TempDir::new().unwrap();
    let line = |number: u32| {
        format!("{{\"db\":0,\"key\":\"{number:08}\",\"type\":\"string\",\"expire_at_ms\":null,\"value\":\"{}\"}}\n", "eHh4".repeat(100))
    };
    // More than one call of the engine takes.
    let mut lines: String = (1..=5000).map(line).collect();
    lines.push_str("{\"db\":0}\n");
    let ran = run_with(dir.path(), &["load", "--dir", "data"], &lines);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.starts_with("error: line 5001: "), "{}", ran.err);
    assert_eq!(good(dir.path(), &["exec", "DBSIZE"]), "5000\n", "the lines before it are written");
    let missing = run(dir.path(), &["load", "nothing.jsonl"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.starts_with("error: cannot read nothing.jsonl: "), "{}", missing.err);
}

#[test]
fn records_are_exported_in_order_and_imported_as_they_are() {
    let dir = with_data();
    let records = good(dir.path(), &["records", "export"]);
    let names: Vec<&str> = records.lines().map(|line| line.split("\",\"v\"").next().unwrap()).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(names, sorted);
    assert!(names.contains(&r#"{"keyspace":"meta","k":"0000000168617368"#), "{records}");

    let imported = run_with(dir.path(), &["records", "import", "--dir", "copy"], &records);
    assert_eq!(imported.code, Some(0), "{imported:?}");
    assert_eq!(imported.err, format!("{} records imported\n", records.lines().count()));
    assert_eq!(good(dir.path(), &["records", "export", "--dir", "copy"]), records);
    assert_eq!(good(dir.path(), &["exec", "--dir", "copy", "GET", "text"]), "some text\n");
}

#[test]
fn records_are_not_imported_over_others_unless_forced() {
    let dir = with_data();
    let line = r#"{"keyspace":"other","k":"01","v":"02"}"#;
    let refused = run_with(dir.path(), &["records", "import"], line);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("data holds records already") && refused.err.contains("--force"), "{}", refused.err);
    let forced = run_with(dir.path(), &["records", "import", "--force"], line);
    assert_eq!(forced.code, Some(0), "{forced:?}");
    assert!(good(dir.path(), &["records", "export"]).contains(line));
}

#[test]
fn a_line_that_is_no_record_is_named() {
    let dir = TempDir::new().unwrap();
    let first = r#"{"keyspace":"meta","k":"01","v":"02"}"#;
    for wrong in ["text", r#"{"keyspace":"meta","k":"1","v":""}"#, r#"{"k":"01","v":""}"#] {
        let ran = run_with(dir.path(), &["records", "import", "--dir", "data", "--force"], &format!("{first}\n{wrong}\n"));
        assert_eq!(ran.code, Some(1), "{wrong}");
        assert!(ran.err.starts_with("error: line 2 (0 records before it are written): "), "{}", ran.err);
    }
}

#[test]
fn check_names_what_is_wrong() {
    let dir = with_data();
    assert_eq!(good(dir.path(), &["check"]), "data: no record is wrong\n");
    let records = good(dir.path(), &["records", "export"]);
    // A hash that has lost a field.
    let damaged: String = records.lines().filter(|line| !line.contains(r#""v":"0032""#)).map(|line| format!("{line}\n")).collect();
    assert_eq!(damaged.lines().count() + 1, records.lines().count());
    assert_eq!(run_with(dir.path(), &["records", "import", "--dir", "bad"], &damaged).code, Some(0));
    let ran = run(dir.path(), &["check", "--dir", "bad"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 2, "{ran:?}");
    assert!(lines.first().is_some_and(|line| line.starts_with("meta 0000000168617368: ")), "{ran:?}");
    assert_eq!(lines.get(1), Some(&"bad: findings: 1"));
}

#[test]
fn inspect_shows_the_records_of_a_key_as_documented() {
    let dir = TempDir::new().unwrap();
    let exec = ["exec", "--dir", "data", "--packed-bytes", "0"];
    assert_eq!(run_with(dir.path(), &exec, "HSET h f v\nRPUSH l a\n").code, Some(0));
    let documented = include_str!("../../docs/inspect.md").split("```text\n").nth(1).and_then(|rest| rest.split("\n```").next()).unwrap();
    let shown = good(dir.path(), &["inspect", "l"]);
    assert_eq!(shown.split("\n\nEach line is a field").next(), Some(documented));
}

#[test]
fn a_new_database_packs_small_collections_and_one_from_before_does_not() {
    let dir = with_data();
    let keyspaces = |name: &str| -> Vec<String> {
        let records = good(dir.path(), &["records", "export", "--dir", name]);
        records.lines().filter_map(|line| Some(line.split('"').nth(3)?.to_owned())).collect()
    };
    for name in ["data", "new"] {
        assert_eq!(good(dir.path(), &["exec", "--dir", name, "SADD", "set", "a", "b"]), "2\n");
    }
    let in_data = |name: &str| keyspaces(name).iter().filter(|keyspace| *keyspace == "data").count();
    assert_eq!((in_data("data"), in_data("new")), (4, 0));
    assert!(good(dir.path(), &["inspect", "--dir", "new", "set"]).contains("packed"));
}

#[test]
fn inspect_shows_the_keys_that_match_and_says_when_there_is_none() {
    let dir = with_data();
    let keys = |args: &[&str]| -> Vec<String> {
        let out = good(dir.path(), &[&["inspect"], args].concat());
        out.lines().filter(|line| line.starts_with("key ")).map(str::to_owned).collect()
    };
    assert_eq!(keys(&[]), [r#"key "hash" in db 0"#, r#"key "text" in db 0"#]);
    assert_eq!(keys(&["--match", "t*t"]), [r#"key "text" in db 0"#]);
    assert_eq!(keys(&["--limit", "1"]), [r#"key "hash" in db 0"#]);
    assert_eq!(keys(&["--db", "5", "empty"]), [r#"key "empty" in db 5"#]);
    let cut = good(dir.path(), &["inspect", "hash", "--records", "2"]);
    assert!(cut.contains("There are more records of this key") && !cut.contains("\"b\""), "{cut}");
    let ran = run(dir.path(), &["inspect", "absent"]);
    assert_eq!((ran.code, ran.err.as_str()), (Some(1), "error: there is no such key in db 0\n"));
}

#[test]
fn inspect_writes_a_line_of_json_for_each_record() {
    let dir = with_data();
    let out = good(dir.path(), &["inspect", "--json", "hash"]);
    let lines: Vec<serde_json::Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    let first = lines.first().unwrap();
    assert_eq!(
        (&first["user_key"], &first["keyspace"], &first["key"]["hex"]),
        (&"68617368".into(), &"meta".into(), &"0000000168617368".into())
    );
    assert_eq!(first["value"]["fields"][0], serde_json::json!({ "field": "kind", "offset": 0, "length": 1, "shown": "2 = hash" }));
}

#[test]
fn the_component_is_written_byte_for_byte() {
    let dir = TempDir::new().unwrap();
    good(dir.path(), &["component", "--output", "orbweaver.wasm"]);
    assert_eq!(std::fs::read(dir.path().join("orbweaver.wasm")).unwrap(), orbweaver::runtime::wasm());
    let ran = run(dir.path(), &["component", "--output", "nowhere/orbweaver.wasm"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.starts_with("error: cannot write nowhere/orbweaver.wasm: "), "{}", ran.err);
}

#[test]
fn a_wrong_command_line_ends_with_code_2() {
    let dir = TempDir::new().unwrap();
    for wrong in [&[][..], &["fly"], &["dump", "--nothing"], &["exec", "--human", "--raw", "PING"], &["component"], &["records"]] {
        assert_eq!(run(dir.path(), wrong).code, Some(2), "{wrong:?}");
    }
    assert!(good(dir.path(), &["--help"]).contains("Serve a database to redis clients"));
}
