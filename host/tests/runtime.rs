//! The component under wasmtime: exchanges, traps and what survives them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use orbweaver::runtime::{Answer, BLOCKED, Builder, Component, Delivery, Orbweaver, Outcome};
use orbweaver::stores::rocksdb::{RocksOptions, RocksStore};
use orbweaver_engine::resp::Value;
use orbweaver_engine::store::MemoryStore;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

fn component() -> &'static Component {
    static COMPONENT: OnceLock<Component> = OnceLock::new();
    COMPONENT.get_or_init(|| Component::load().unwrap())
}

fn open(store: &MemoryStore, builder: Builder) -> Orbweaver {
    let mut orbweaver = builder.open(component(), Box::new(store.clone())).unwrap();
    (1..=3).for_each(|connection| orbweaver.connect(connection, "test").unwrap());
    orbweaver
}

/// On a new database whose logs are short: without its directory RocksDB fails as soon as it needs a new one.
fn on_small_buffers(path: &Path) -> Orbweaver {
    let options = RocksOptions { write_buffer_bytes: 64 << 10, ..RocksOptions::default() };
    let store = RocksStore::open(path, options).unwrap();
    Orbweaver::builder().open(component(), Box::new(store.handle())).unwrap()
}

fn with_panics() -> Builder {
    Orbweaver::builder().setting("allow-debug-panic", "yes")
}

/// The replies to what several connections sent, and whether each is to be closed.
fn exchange(orbweaver: &mut Orbweaver, inputs: &[(u64, &str)]) -> Vec<(String, bool)> {
    let inputs: Vec<(u64, String)> = inputs.iter().map(|(connection, lines)| (*connection, lines.replace('\n', "\r\n") + "\r\n")).collect();
    let deliveries: Vec<Delivery<'_>> =
        inputs.iter().map(|(connection, input)| Delivery { connection: *connection, input: input.as_bytes() }).collect();
    let outcome = orbweaver.exchange(&deliveries).unwrap();
    let show = |reply: &[u8]| String::from_utf8_lossy(reply).trim_end().replace("\r\n", " ");
    outcome.replies().map(|(answer, reply)| (show(reply), answer.close)).collect()
}

fn one(orbweaver: &mut Orbweaver, connection: u64, lines: &str) -> String {
    exchange(orbweaver, &[(connection, lines)]).remove(0).0
}

#[test]
fn connections_share_a_call_and_keep_their_own_replies() {
    let mut orbweaver = open(&MemoryStore::new(), Orbweaver::builder());
    let replies = exchange(&mut orbweaver, &[(1, "SET k 1\nINCR k"), (2, "INCR k"), (3, "GET missing")]);
    assert_eq!(replies, [("+OK :2".into(), false), (":3".into(), false), ("$-1".into(), false)]);
}

#[test]
fn replies_that_are_lent_are_those_that_are_given() {
    let mut orbweaver = open(&MemoryStore::new(), with_panics());
    assert_eq!(one(&mut orbweaver, 1, &format!("SET k {}", "v".repeat(10_000))), "+OK");
    // One call, several of them, and one that ends in a trap.
    for input in ["GET k\r\n".repeat(3), "GET k\r\nPING\r\n".repeat(1000), "DEBUG PANIC\r\n".to_owned()] {
        let deliveries = [Delivery { connection: 1, input: input.as_bytes() }, Delivery { connection: 2, input: b"PING\r\n" }];
        let shown = |replies: &mut dyn Iterator<Item = (&Answer, &[u8])>| {
            replies.map(|(answer, reply)| (answer.connection, answer.consumed, answer.close, reply.to_vec())).collect::<Vec<_>>()
        };
        let given = orbweaver.exchange(&deliveries).map(|outcome| shown(&mut outcome.replies())).unwrap();
        let lent = orbweaver.exchange_lent(&deliveries, |outcome| shown(&mut outcome.replies())).unwrap();
        assert_eq!(lent.len(), 2);
        assert!(lent == given, "{}", &input[..20.min(input.len())]);
    }
}

#[test]
fn all_that_was_delivered_is_run_also_where_it_ends_a_wait_that_was_long_in_coming() {
    let mut orbweaver = open(&MemoryStore::new(), Orbweaver::builder());
    // What is answered here counts as consumed with what the others have sent.
    assert_eq!(one(&mut orbweaver, 2, &format!("BLPOP list {} 0", "another_list ".repeat(500))), "");
    let lines = format!("RPUSH list x{}", "\nPING".repeat(300));
    let replies = exchange(&mut orbweaver, &[(1, &lines)]);
    assert_eq!(replies[0].0, format!(":1{}", " +PONG".repeat(300)));
    assert_eq!(replies[1].0, "*2 $4 list $1 x");
}

#[test]
fn a_panic_costs_one_connection_an_error_and_the_others_go_on_with_what_they_had_said() {
    let store = MemoryStore::new();
    let mut orbweaver = open(&store, with_panics());
    assert!(one(&mut orbweaver, 2, "SELECT 5\nSET kept 1\nHELLO 3 SETNAME second").starts_with("+OK +OK "));
    let replies = exchange(&mut orbweaver, &[(1, "SET first 1"), (3, "DEBUG PANIC"), (2, "INCR kept\nCLIENT GETNAME\nGET missing")]);
    assert_eq!(replies[0], ("+OK".into(), false));
    assert!(replies[1].0.starts_with("-ERR internal: ") && replies[1].1, "{replies:?}");
    assert_eq!(replies[2], (":2 $6 second _".into(), false), "db, name and protocol survive");
    assert_eq!(orbweaver.traps(), 2, "once in the group, once alone");
    assert_eq!(one(&mut orbweaver, 1, "GET first"), "$1 1");
}

#[test]
fn a_transaction_under_way_is_refused_after_a_trap() {
    let mut orbweaver = open(&MemoryStore::new(), with_panics());
    assert_eq!(one(&mut orbweaver, 1, "MULTI\nSET k 1"), "+OK +QUEUED");
    assert_eq!(one(&mut orbweaver, 2, "WATCH k"), "+OK");
    let _ = exchange(&mut orbweaver, &[(3, "DEBUG PANIC")]);
    assert!(one(&mut orbweaver, 1, "EXEC").starts_with("-EXECABORT"));
    assert_eq!(one(&mut orbweaver, 2, "MULTI\nSET k 2\nEXEC"), "+OK +QUEUED *-1");
    assert_eq!(one(&mut orbweaver, 2, "GET k"), "$-1");
}

#[test]
fn a_call_beyond_its_deadline_ends_and_the_data_is_whole() {
    let mut orbweaver = open(&MemoryStore::new(), Orbweaver::builder().deadline(Duration::from_millis(50)));
    // A table just below the limit of LCS: seconds of work.
    let long = "xy".repeat(5_700);
    assert_eq!(one(&mut orbweaver, 1, &format!("MSET a {long} b {long}y")), "+OK");
    let (reply, close) = exchange(&mut orbweaver, &[(1, &"LCS a b IDX\n".repeat(20))]).remove(0);
    assert!(reply.starts_with("-ERR internal: ") && close, "{reply}");
    assert_eq!(one(&mut orbweaver, 2, "STRLEN b"), ":11401");
}

#[test]
fn memory_beyond_the_limit_ends_the_call_and_not_the_host() {
    let mut orbweaver = open(&MemoryStore::new(), Orbweaver::builder().memory_limit(16 << 20));
    assert_eq!(one(&mut orbweaver, 2, "SET k v"), "+OK");
    let (reply, close) = exchange(&mut orbweaver, &[(1, "SETRANGE big 100000000 x")]).remove(0);
    assert!(reply.starts_with("-ERR internal: ") && close, "{reply}");
    assert_eq!(one(&mut orbweaver, 2, "GET k\nEXISTS big"), "$1 v :0");
}

#[test]
fn what_is_not_whole_is_not_consumed() {
    let mut orbweaver = open(&MemoryStore::new(), Orbweaver::builder());
    let input = b"SET k 1\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100\r\nxx";
    let outcome = orbweaver.exchange(&[Delivery { connection: 1, input }]).unwrap();
    let answer = &outcome.answers[0];
    assert_eq!((answer.consumed, outcome.output.as_slice()), (9, &b"+OK\r\n"[..]));
    assert_eq!(answer.needed, 4 + 9 + 7 + 6 + 102, "the request's own length");
}

#[test]
fn an_unknown_setting_is_refused() {
    let builder = Orbweaver::builder().setting("colour", "blue");
    let error = builder.open(component(), Box::new(MemoryStore::new())).err().unwrap();
    assert_eq!(error.to_string(), "unknown setting colour");
}

#[test]
fn a_single_command_does_not_wait_and_its_connection_stays_as_it_is() {
    let mut orbweaver = open(&MemoryStore::new(), Orbweaver::builder());
    orbweaver.command(&[b"SELECT", b"5"]).unwrap();
    let error = orbweaver.command(&[b"BLPOP", b"list", b"0"]).unwrap_err();
    assert_eq!(error.to_string(), "there is nothing to take, and a single command does not wait for it");
    assert_eq!(one(&mut orbweaver, 1, "SELECT 5\nRPUSH list a b\nLLEN list"), "+OK :2 :2", "nobody waits any more");
    let taken = orbweaver.command(&[b"BLPOP", b"list", b"0"]).unwrap();
    assert_eq!(taken, Value::Array(vec![Value::Bulk("list".into()), Value::Bulk("a".into())]));
}

#[test]
fn a_wait_ends_when_its_time_is_up_or_another_connection_pushes() {
    let mut orbweaver = open(&MemoryStore::new(), Orbweaver::builder());
    let input = b"BLPOP list 0.01\r\nPING\r\n";
    let outcome = orbweaver.exchange(&[Delivery { connection: 1, input }]).unwrap();
    assert_eq!((outcome.answers[0].consumed, outcome.answers[0].needed), (0, BLOCKED));
    std::thread::sleep(Duration::from_millis(outcome.wake_after_ms.unwrap()));
    let outcome = orbweaver.exchange(&[]).unwrap();
    assert_eq!((outcome.answers[0].consumed, outcome.answers[0].needed, outcome.output), (17, 0, b"*-1\r\n".to_vec()));
    assert_eq!(one(&mut orbweaver, 2, "BLPOP list 0"), "");
    let replies = exchange(&mut orbweaver, &[(3, "RPUSH list a")]);
    assert_eq!(replies, [(":1".into(), false), ("*2 $4 list $1 a".into(), false)]);
}

#[test]
fn a_call_that_reads_the_store_all_the_time_ends_at_its_deadline_and_the_server_goes_on() {
    let store = MemoryStore::new();
    let mut filling = open(&store, Orbweaver::builder());
    let pairs: String = (0..20_000).map(|n| format!(" key:{n} {n}")).collect();
    assert_eq!(one(&mut filling, 1, &format!("MSET{pairs}")), "+OK");
    drop(filling);
    let mut orbweaver = open(&store, Orbweaver::builder().deadline(Duration::from_millis(20)));
    let start = Instant::now();
    let (reply, close) = exchange(&mut orbweaver, &[(1, &"KEYS *none\n".repeat(100))]).remove(0);
    assert!(reply.ends_with("-ERR internal: the call took longer than 20ms") && close, "{reply}");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    assert_eq!(orbweaver.traps(), 1);
    assert_eq!(one(&mut orbweaver, 2, "DBSIZE\nGET key:19999\nSET key:19999 new\nGET key:19999"), ":20000 $5 19999 +OK $3 new");
}

#[test]
fn a_late_write_that_fails_costs_the_instance_so_that_those_who_wait_can_wait_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let mut orbweaver = on_small_buffers(&path);
    [1, 2].into_iter().for_each(|connection| orbweaver.connect(connection, "test").unwrap());
    let wait = [Delivery { connection: 2, input: b"BLPOP queue 0\r\n" }];
    assert_eq!(orbweaver.exchange(&wait).unwrap().answers[0].needed, BLOCKED);
    let moved = directory.path().join("moved");
    std::fs::rename(&path, &moved).unwrap();
    let sets: String = (0..2000).map(|number| format!("SET key:{number} {}\n", "v".repeat(500))).collect();
    let replies = exchange(&mut orbweaver, &[(1, &format!("RPUSH queue x\n{sets}PING"))]);
    std::fs::rename(&moved, &path).unwrap();
    assert!(matches!(&*replies, [(reply, true)] if reply.starts_with("-ERR storage: ")), "{replies:?}");
    assert_eq!(orbweaver.traps(), 1, "a host delivers again what was blocked");
    assert_eq!(orbweaver.exchange(&wait).unwrap().answers[0].needed, BLOCKED, "it has not been told of x, which may not be written");
    assert_eq!(one(&mut orbweaver, 2, "PING"), "");
    orbweaver.disconnect(2);
    orbweaver.connect(3, "test").unwrap();
    assert_eq!(one(&mut orbweaver, 3, "GET never"), "$-1", "reads go on");
}

#[test]
fn an_exchange_behind_one_that_could_not_be_written_is_not_answered_either() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let mut orbweaver = on_small_buffers(&path);
    (1..=3).for_each(|connection| orbweaver.connect(connection, "test").unwrap());
    let moved = directory.path().join("moved");
    std::fs::rename(&path, &moved).unwrap();
    let mut failed = false;
    for round in 0..2000 {
        let set = format!("SET key {round:0500}\r\n");
        let (first, unsettled) = orbweaver.exchange_ahead(&[Delivery { connection: 1, input: set.as_bytes() }], true);
        let (second, behind) = orbweaver.exchange_ahead(&[Delivery { connection: 2, input: b"GET key\r\n" }], true);
        let told = |outcome: Outcome, instead: Option<Outcome>| {
            let outcome = instead.unwrap_or(outcome);
            (outcome.answers[0].close, String::from_utf8_lossy(&outcome.output).into_owned())
        };
        let first = told(first.unwrap(), orbweaver.settle(unsettled).unwrap());
        let second = told(second.unwrap(), orbweaver.settle(behind).unwrap());
        failed = first.0;
        if failed {
            assert!([&first, &second].iter().all(|(close, reply)| *close && reply.starts_with("-ERR storage: ")), "{first:?}, {second:?}");
            break;
        }
        assert_eq!((first.1, second.1), ("+OK\r\n".into(), format!("$500\r\n{round:0500}\r\n")));
    }
    std::fs::rename(&moved, &path).unwrap();
    assert!(failed && orbweaver.traps() == 1);
    assert_eq!(one(&mut orbweaver, 3, "GET never"), "$-1", "reads go on");
}

#[test]
fn many_groups_of_one_exchange_are_all_written_before_it_answers() {
    let directory = tempfile::tempdir().unwrap();
    let store = RocksStore::open(directory.path(), RocksOptions::default()).unwrap();
    let mut orbweaver = Orbweaver::builder().open(component(), Box::new(store.handle())).unwrap();
    (1..=3).for_each(|connection| orbweaver.connect(connection, "test").unwrap());
    // Each connection reads what it has written in groups before, of which some are on their way to the log.
    let lines = |connection: u64| {
        let line = |number: u32| {
            format!("INCR n{connection}\nRPUSH list{connection} {number}\nLINDEX list{connection} -1\nSET k{connection}:{number} v")
        };
        (0..300).map(line).collect::<Vec<String>>().join("\n")
    };
    let inputs: Vec<(u64, String)> = (1..=3).map(|connection| (connection, lines(connection))).collect();
    let inputs: Vec<(u64, &str)> = inputs.iter().map(|(connection, lines)| (*connection, lines.as_str())).collect();
    let commits = orbweaver.commits();
    let replies = exchange(&mut orbweaver, &inputs);
    assert!(orbweaver.commits() - commits >= 20, "{} commits", orbweaver.commits() - commits);
    let expected: String =
        (0..300).map(|number: u32| format!(" :{n} :{n} ${} {number} +OK", number.to_string().len(), n = number + 1)).collect();
    assert!(replies.iter().all(|reply| *reply == (expected.trim_start().to_owned(), false)));
    let mut other = Orbweaver::builder().open(component(), Box::new(store.handle())).unwrap();
    other.connect(1, "test").unwrap();
    assert_eq!(one(&mut other, 1, "GET n1\nLLEN list2\nEXISTS k3:0 k3:299\nDBSIZE"), "$3 300 :300 :2 :906");
}

#[test]
fn an_exchange_whose_writes_fail_says_so_to_each_of_its_connections_and_closes_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let mut orbweaver = on_small_buffers(&path);
    (1..=2).for_each(|connection| orbweaver.connect(connection, "test").unwrap());
    assert_eq!(one(&mut orbweaver, 1, "SET kept 1"), "+OK");
    let moved = directory.path().join("moved");
    std::fs::rename(&path, &moved).unwrap();
    let lines = (0..500).map(|number| format!("SET k{number} {}", "v".repeat(500))).collect::<Vec<String>>().join("\n");
    let failed =
        (0..50).map(|_| exchange(&mut orbweaver, &[(1, &lines), (2, &lines)])).find(|replies| !replies[0].0.starts_with("+OK +OK"));
    std::fs::rename(&moved, &path).unwrap();
    let failed = failed.unwrap();
    assert_eq!(failed.len(), 2);
    assert!(failed.iter().all(|(reply, close)| reply.starts_with("-ERR ") && !reply.contains("+OK") && *close), "{failed:?}");
    assert!(one(&mut orbweaver, 1, "SET k 2").starts_with('-'));
    assert_eq!(one(&mut orbweaver, 1, "GET kept"), "$1 1");
}
