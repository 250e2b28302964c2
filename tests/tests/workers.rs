//! `orbweaver serve --workers`: several instances behave as one server, and what they write to the same keys is exact.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use orbweaver_engine::resp::Value;
use orbweaver_tests::client::{Client, args, encode_command};
use orbweaver_tests::offline;
use orbweaver_tests::orbweaver_server::OrbweaverServer;
use tempfile::TempDir;

const WORKERS: [&str; 2] = ["--workers", "4"];
/// More than there are workers: each has several.
const CLIENTS: usize = 16;
const ROUNDS: i64 = 150;
const ACCOUNTS: usize = 6;
const DEPOSIT: i64 = 1000;

fn start(dir: &TempDir, options: &[&str]) -> OrbweaverServer {
    OrbweaverServer::start(&dir.path().join("data"), &[&WORKERS, &["--durability", "os"], options].concat())
}

fn connect(address: SocketAddr) -> Client {
    Client::connect(address).expect("the server accepts")
}

fn ask<const N: usize>(client: &mut Client, words: [&str; N]) -> Value {
    client.call(&args(words)).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

fn number<const N: usize>(client: &mut Client, words: [&str; N]) -> i64 {
    match ask(client, words) {
        Value::Integer(number) => number,
        other => panic!("{words:?}: {other:?}"),
    }
}

fn bulk(text: &str) -> Value {
    Value::Bulk(text.to_owned().into())
}

fn text(value: &Value) -> String {
    match value {
        Value::Bulk(bytes) | Value::Simple(bytes) | Value::Error(bytes) | Value::Verbatim { text: bytes, .. } => {
            String::from_utf8_lossy(bytes).into_owned()
        }
        other => panic!("not a text: {other:?}"),
    }
}

/// A line of INFO as a number.
fn info(client: &mut Client, name: &str) -> u64 {
    let info = text(&ask(client, ["INFO"]));
    let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name} in {info}")).parse().expect("a number")
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(60), "waited in vain until {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// What a client has written, as far as it was acknowledged.
#[derive(Default)]
struct Written {
    added: i64,
    pushed: i64,
    popped: i64,
    members: i64,
    swapped: i64,
}

/// Writes to keys that all clients share: every kind of write, in an order of the client's own.
fn write(address: SocketAddr, seed: usize) -> Written {
    let mut client = connect(address);
    let mut random = fastrand::Rng::with_seed(u64::try_from(seed).expect("few clients"));
    let mut written = Written::default();
    for round in 0..ROUNDS {
        let key = random.usize(..3).to_string();
        match random.usize(..9) {
            0 | 1 => {
                let by = random.i64(1..10);
                number(&mut client, ["INCRBY", &format!("counter:{key}"), &by.to_string()]);
                written.added += by;
            }
            2 => {
                number(&mut client, ["RPUSH", &format!("list:{key}"), "a", "b"]);
                written.pushed += 2;
            }
            3 => written.popped += i64::from(ask(&mut client, ["LPOP", &format!("list:{key}")]) != Value::Null),
            4 => written.members += number(&mut client, ["ZADD", &format!("ranks:{key}"), "1", &format!("{seed}:{round}")]),
            5 | 6 => {
                let [from, to] = [(); 2].map(|()| format!("account:{}", random.usize(..ACCOUNTS)));
                let sum = random.i64(1..20).to_string();
                ask(&mut client, ["MULTI"]);
                ask(&mut client, ["DECRBY", &from, &sum]);
                ask(&mut client, ["INCRBY", &to, &sum]);
                assert!(matches!(ask(&mut client, ["EXEC"]), Value::Array(replies) if replies.len() == 2));
            }
            7 => {
                ask(&mut client, ["SELECT", "1"]);
                number(&mut client, ["INCR", "swapped"]);
                ask(&mut client, ["SWAPDB", "1", "2"]);
                ask(&mut client, ["SELECT", "0"]);
                written.swapped += 1;
            }
            _ => {
                ask(&mut client, ["SELECT", "3"]);
                ask(&mut client, ["SADD", "scratch", &round.to_string()]);
                ask(&mut client, ["FLUSHDB"]);
                ask(&mut client, ["SELECT", "0"]);
            }
        }
    }
    written
}

/// Reads all accounts at once, again and again: nobody ever sees one half of a transfer.
fn audit(address: SocketAddr, done: &AtomicBool) -> usize {
    let mut client = connect(address);
    let accounts = (0..ACCOUNTS).map(|account| format!("account:{account}").into_bytes());
    let request: Vec<Vec<u8>> = std::iter::once(b"MGET".to_vec()).chain(accounts).collect();
    let mut audits = 0;
    while !done.load(Ordering::SeqCst) {
        let Value::Array(balances) = client.call(&request).expect("the server answers") else { panic!("not an array") };
        let sum: i64 = balances.iter().map(|balance| text(balance).parse::<i64>().expect("a number")).sum();
        assert_eq!(sum, DEPOSIT * i64::try_from(ACCOUNTS).expect("a few"), "{balances:?}");
        audits += 1;
    }
    audits
}

#[test]
fn nothing_is_lost_among_workers_that_write_to_the_same_keys() {
    for packed_bytes in ["0", "100"] {
        assert_nothing_is_lost_among_workers(&["--packed-bytes", packed_bytes]);
    }
}

fn assert_nothing_is_lost_among_workers(options: &[&str]) {
    let dir = TempDir::new().expect("a temporary directory");
    let server = start(&dir, options);
    let address = server.address();
    let mut client = connect(address);
    for account in 0..ACCOUNTS {
        ask(&mut client, ["SET", &format!("account:{account}"), &DEPOSIT.to_string()]);
    }
    let done = AtomicBool::new(false);
    let written = thread::scope(|scope| {
        let auditors: Vec<_> = (0..2).map(|_| scope.spawn(|| audit(address, &done))).collect();
        let writers: Vec<_> = (0..CLIENTS).map(|seed| scope.spawn(move || write(address, seed))).collect();
        let written: Vec<Written> = writers.into_iter().map(|writer| writer.join().expect("a writer ends well")).collect();
        done.store(true, Ordering::SeqCst);
        auditors.into_iter().for_each(|auditor| assert!(auditor.join().expect("an auditor ends well") > 0));
        written
    });
    let total = |of: fn(&Written) -> i64| written.iter().map(of).sum::<i64>();
    let mut sum = |command: &str, key: &str| (0..3).map(|at| number(&mut client, [command, &format!("{key}:{at}")])).sum::<i64>();
    assert_eq!(sum("LLEN", "list"), total(|written| written.pushed - written.popped));
    assert_eq!(sum("ZCARD", "ranks"), total(|written| written.members));
    let counters: i64 = (0..3).map(|at| number(&mut client, ["INCRBY", &format!("counter:{at}"), "0"])).sum();
    assert_eq!(counters, total(|written| written.added));
    let swapped: i64 = ["1", "2"]
        .map(|db| {
            ask(&mut client, ["SELECT", db]);
            number(&mut client, ["INCRBY", "swapped", "0"])
        })
        .iter()
        .sum();
    assert_eq!(swapped, total(|written| written.swapped));
    ask(&mut client, ["SELECT", "3"]);
    ask(&mut client, ["FLUSHDB"]);
    assert_eq!(number(&mut client, ["DBSIZE"]), 0);
    assert!(server.terminate().success());
    offline::assert_check_is_clean(&dir.path().join("data"));
}

#[test]
fn every_element_reaches_one_of_those_who_wait_on_all_workers() {
    let dir = TempDir::new().expect("a temporary directory");
    let server = start(&dir, &[]);
    let address = server.address();
    const TAKERS: usize = 8;
    const ELEMENTS: usize = 400;
    let taken = thread::scope(|scope| {
        let take = move || {
            let mut client = connect(address);
            let mut taken = Vec::new();
            loop {
                let Value::Array(reply) = ask(&mut client, ["BLPOP", "jobs", "other", "0"]) else { panic!("not an array") };
                match text(&reply[1]).as_str() {
                    "end" => return taken,
                    element => taken.push(element.to_owned()),
                }
            }
        };
        let takers: Vec<_> = (0..TAKERS).map(|_| scope.spawn(take)).collect();
        let give = move |giver: usize| {
            let mut client = connect(address);
            for element in (giver..ELEMENTS).step_by(2) {
                ask(&mut client, ["RPUSH", if element % 3 == 0 { "other" } else { "jobs" }, &element.to_string()]);
                if element % 16 < 2 {
                    // Long enough that all may wait.
                    thread::sleep(Duration::from_millis(5));
                }
            }
        };
        let givers: Vec<_> = (0..2).map(|giver| scope.spawn(move || give(giver))).collect();
        givers.into_iter().for_each(|giver| giver.join().expect("a giver ends well"));
        let mut client = connect(address);
        (0..TAKERS).for_each(|_| drop(ask(&mut client, ["RPUSH", "jobs", "end"])));
        takers.into_iter().flat_map(|taker| taker.join().expect("a taker ends well")).collect::<Vec<_>>()
    });
    assert_eq!(taken.len(), ELEMENTS);
    assert_eq!(taken.into_iter().collect::<BTreeSet<_>>().len(), ELEMENTS);
}

#[test]
fn commands_on_connections_reach_all_workers() {
    let dir = TempDir::new().expect("a temporary directory");
    let server = start(&dir, &["--max-clients", "8"]);
    let address = server.address();
    let mut clients = vec![connect(address)];
    wait_until("who looked whether the server is up has gone", || info(&mut clients[0], "connected_clients") == 1);
    clients.extend((1..8).map(|_| connect(address)));
    let ids: Vec<String> = clients.iter_mut().map(|client| number(client, ["CLIENT", "ID"]).to_string()).collect();
    let refused = connect(address).read_reply().expect("the server answers");
    assert_eq!(text(&refused), "ERR max number of clients reached");
    for asking in &mut clients[..4] {
        let list = text(&ask(asking, ["CLIENT", "LIST"]));
        let listed: Vec<&str> = list.lines().filter_map(|line| line.strip_prefix("id=")?.split(' ').next()).collect();
        assert_eq!(listed, ids);
        assert_eq!(info(asking, "connected_clients"), 8);
    }
    clients[5].send_raw(b"BLPOP never 0\r\n").expect("the server listens");
    wait_until("a client waits", || info(&mut clients[0], "blocked_clients") == 1);
    assert_eq!(number(&mut clients[2], ["CLIENT", "UNBLOCK", &ids[5]]), 1);
    assert_eq!(clients[5].read_reply().expect("the wait ends"), Value::NullArray);
    assert_eq!(number(&mut clients[3], ["CLIENT", "KILL", "ID", &ids[6]]), 1);
    assert!(clients[6].call(&args(["PING"])).is_err());
    ask(&mut clients[0], ["CONFIG", "SET", "notify-keyspace-events", "KEA"]);
    for client in &mut clients[1..4] {
        let Value::Array(pair) = ask(client, ["CONFIG", "GET", "notify-keyspace-events"]) else { panic!("not an array") };
        assert_eq!(pair[1], bulk("AKE"));
    }
    clients[1].send_raw(b"SHUTDOWN\r\n").expect("the server listens");
    let mut server = server;
    assert!(server.process().wait_for_exit().success());
}

#[test]
fn a_trap_costs_one_worker_its_instance_and_the_others_nothing() {
    let dir = TempDir::new().expect("a temporary directory");
    let server = start(&dir, &["--allow-debug-panic"]);
    let address = server.address();
    let mut clients: Vec<Client> = (0..8).map(|_| connect(address)).collect();
    clients[..4].iter_mut().for_each(|client| drop(ask(client, ["SUBSCRIBE", "all"])));
    let subscribers = |client: &mut Client| match ask(client, ["PUBSUB", "NUMSUB", "all"]) {
        Value::Array(pair) => pair[1].clone(),
        other => panic!("not an array: {other:?}"),
    };
    for culprit in &mut clients[4..] {
        assert!(text(&ask(culprit, ["DEBUG", "PANIC"])).starts_with("ERR internal"));
        for _ in 0..4 {
            let mut client = connect(address);
            wait_until("the new instance knows the subscribers", || subscribers(&mut client) == Value::Integer(4));
        }
    }
    assert_eq!(number(&mut connect(address), ["PUBLISH", "all", "still here"]), 4);
    for client in &mut clients[..4] {
        let Value::Array(message) = client.read_reply().expect("a message comes") else { panic!("not an array") };
        assert_eq!(text(&message[2]), "still here");
    }
}

/// What has come from fifty clients while the server was at something else is one call and one commit, whatever the speed of either.
#[test]
fn fifty_clients_without_pipelines_share_calls_and_commits() {
    const ROUNDS: u64 = 40;
    let dir = TempDir::new().expect("a temporary directory");
    let mut server = OrbweaverServer::start(&dir.path().join("data"), &["--durability", "os", "--workers", "1"]);
    let mut clients: Vec<Client> = (0..50).map(|_| connect(server.address())).collect();
    for round in 0..ROUNDS {
        server.process().pause();
        for (number, client) in clients.iter_mut().enumerate() {
            client.send_raw(&encode_command(&args(["SET", &format!("key:{number}"), &round.to_string()]))).expect("the socket takes it");
        }
        server.process().resume();
        for client in &mut clients {
            assert_eq!(text(&client.read_reply().expect("a reply comes")), "OK");
        }
    }
    // The server tells its counters once a second.
    thread::sleep(Duration::from_millis(2500));
    let (calls, commits) = (info(&mut clients[0], "exchange_calls"), info(&mut clients[0], "commits"));
    println!("{} commands: {calls} calls, {commits} commits", 50 * ROUNDS);
    // One for each round. It may have begun with some before it stood still.
    assert!((ROUNDS..ROUNDS * 4).contains(&commits), "{commits} commits for {ROUNDS} rounds of 50 commands");
    assert!((ROUNDS..ROUNDS * 4).contains(&calls), "{calls} calls for {ROUNDS} rounds of 50 commands");
}
