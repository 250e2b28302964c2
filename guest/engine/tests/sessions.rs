//! What sessions promise when connections, pipelines and transactions meet. Replies that no comment explains are those of a real Redis.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use orbweaver_engine::environment::HeldEnvironment;
use orbweaver_engine::session::{Answer, Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::MemoryStore;

const FIRST: u64 = 1;
const SECOND: u64 = 2;

/// An engine on `store` with two connections.
fn engine_on(store: &MemoryStore) -> Engine {
    let mut engine = Engine::open(Box::new(store.clone()), Box::new(HeldEnvironment::new(1000, 1)), Settings::default()).unwrap();
    engine.connect(FIRST, "127.0.0.1:5", None);
    engine.connect(SECOND, "127.0.0.1:6", None);
    engine
}

fn engine() -> Engine {
    engine_on(&MemoryStore::new())
}

/// The answer to lines that come in one delivery.
fn answer(engine: &mut Engine, connection: u64, lines: &[&str]) -> Answer {
    engine.exchange(&[Delivery { connection, input: format!("{}\r\n", lines.join("\r\n")).into() }]).answers.remove(0)
}

/// The replies to lines that come in one delivery; ends of lines are shown as spaces.
fn run(engine: &mut Engine, connection: u64, lines: &[&str]) -> String {
    String::from_utf8(answer(engine, connection, lines).output).unwrap().trim_end().replace("\r\n", " ")
}

#[test]
fn a_change_in_one_transaction_with_a_flush_is_seen_by_watch() {
    for flush in ["FLUSHALL", "FLUSHDB", "SWAPDB 1 2"] {
        let mut engine = engine();
        assert_eq!(run(&mut engine, FIRST, &["WATCH k", "MULTI", "GET k"]), "+OK +OK +QUEUED");
        // The db is empty: the flush itself changes nothing.
        run(&mut engine, SECOND, &["MULTI", flush, "SET k other", "EXEC"]);
        assert_eq!(run(&mut engine, FIRST, &["EXEC"]), "*-1", "{flush}");
    }
}

#[test]
fn a_change_in_one_pipeline_with_a_refused_flush_is_seen_by_watch() {
    let mut engine = engine();
    run(&mut engine, FIRST, &["WATCH k", "MULTI"]);
    assert_eq!(run(&mut engine, SECOND, &["FLUSHALL ODD", "SET k other"]), "-ERR syntax error +OK");
    assert_eq!(run(&mut engine, FIRST, &["EXEC"]), "*-1");
}

#[test]
fn a_flush_that_flushes_nothing_changes_no_watched_key() {
    let mut engine = engine();
    run(&mut engine, FIRST, &["SET k v", "WATCH k", "MULTI", "GET k"]);
    assert_eq!(run(&mut engine, SECOND, &["FLUSHALL ODD", "SELECT 1", "FLUSHDB", "SWAPDB 3 3"]), "-ERR syntax error +OK +OK +OK");
    assert_eq!(run(&mut engine, FIRST, &["EXEC"]), "*1 $1 v");
}

#[test]
fn a_command_that_leaves_a_record_as_it_was_is_seen_by_watch() {
    for (first, again) in [("SET k v", "SET k v"), ("HSET k f v", "HSET k f v"), ("HSET k f v g w", "HSET k g w")] {
        let mut engine = engine();
        run(&mut engine, FIRST, &[first, "WATCH k", "MULTI", "TYPE k"]);
        run(&mut engine, SECOND, &[again]);
        assert_eq!(run(&mut engine, FIRST, &["EXEC"]), "*-1", "{again}");
    }
}

#[test]
fn watching_a_key_again_does_not_forget_that_it_has_changed() {
    let mut engine = engine();
    run(&mut engine, FIRST, &["WATCH k"]);
    run(&mut engine, SECOND, &["SET k other"]);
    assert_eq!(run(&mut engine, FIRST, &["WATCH k k", "MULTI", "GET k", "EXEC"]), "+OK +OK +QUEUED *-1");
    assert_eq!(run(&mut engine, FIRST, &["WATCH k k", "MULTI", "GET k", "EXEC"]), "+OK +OK +QUEUED *1 $5 other");
}

#[test]
fn a_change_by_another_engine_on_the_store_is_seen_by_watch() {
    let store = MemoryStore::new();
    let (mut engine, mut other) = (engine_on(&store), engine_on(&store));
    run(&mut engine, FIRST, &["WATCH k", "MULTI", "SELECT 1", "GET k"]);
    run(&mut other, FIRST, &["FLUSHALL", "SET k other"]);
    assert_eq!(run(&mut engine, FIRST, &["EXEC", "GET k"]), "*-1 $5 other");
}

#[test]
fn hello_within_a_transaction_changes_the_replies_behind_it_alone() {
    let mut engine = engine();
    let replies = run(&mut engine, FIRST, &["HSET h f v", "MULTI", "HGETALL h", "HELLO 3", "HGETALL h", "EXEC"]);
    assert!(replies.starts_with(":1 +OK +QUEUED +QUEUED +QUEUED *3 *2 $1 f $1 v %7 "), "{replies}");
    assert!(replies.ends_with(" %1 $1 f $1 v"), "{replies}");
}

#[test]
fn a_transaction_selects_dbs_for_its_own_commands_and_those_behind() {
    let mut engine = engine();
    let lines = ["SET k zero", "MULTI", "GET k", "SELECT 1", "SET k one", "MOVE k 2", "SELECT 2", "EXEC", "GET k"];
    let replies = run(&mut engine, FIRST, &lines);
    assert!(replies.ends_with("*5 $4 zero +OK +OK :1 +OK $3 one"), "{replies}");
}

#[test]
fn quit_within_a_transaction_runs_nothing_of_it_and_nothing_behind() {
    let mut engine = engine();
    let quit = answer(&mut engine, FIRST, &["MULTI", "SET k v", "QUIT", "EXEC"]);
    assert_eq!((quit.output.as_slice(), quit.close), (&b"+OK\r\n+QUEUED\r\n+OK\r\n"[..], true));
    assert_eq!(run(&mut engine, SECOND, &["EXISTS k"]), ":0");
}

#[test]
fn a_client_that_kills_itself_in_a_transaction_gets_its_replies() {
    let mut engine = engine();
    let killed = answer(&mut engine, FIRST, &["MULTI", "CLIENT KILL ID 1 SKIPME no", "SET k v", "EXEC", "SET k more"]);
    assert_eq!((killed.output.as_slice(), killed.close), (&b"+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n+OK\r\n"[..], true));
    assert_eq!(run(&mut engine, SECOND, &["GET k"]), "$1 v");
}

#[test]
fn what_config_sets_does_not_hold_for_commands_before_it() {
    let mut engine = engine();
    let long = format!("SETRANGE k {} x", 2 << 20);
    let replies = run(&mut engine, FIRST, &[&long, "CONFIG SET proto-max-bulk-len 1mb", &long]);
    assert_eq!(replies, ":2097153 +OK -ERR string exceeds maximum allowed size (proto-max-bulk-len)");
}

#[test]
fn a_client_that_wants_no_replies_is_not_told_of_a_broken_request() {
    let mut engine = engine();
    let answer = answer(&mut engine, FIRST, &["CLIENT REPLY OFF", "*x"]);
    assert_eq!((answer.output.as_slice(), answer.close), (&b""[..], true));
}

/// Redis 7.2 looks at every option before it follows one.
#[test]
fn hello_with_an_error_changes_nothing() {
    let mut engine = engine();
    let wrong = ["HELLO 3 SETNAME me SETNAME \"a b\"", "HELLO 3 SETNAME \"a b\" SETNAME me", "HELLO 3 SETNAME me ODD"];
    for line in wrong {
        let replies = run(&mut engine, FIRST, &[line, "CLIENT GETNAME"]);
        assert!(replies.starts_with("-ERR ") && replies.ends_with(" $-1"), "{line}: {replies}");
    }
}
