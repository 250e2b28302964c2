//! Several `orbweaver serve` on one store: what one server does the others see, and what all of them do at once is harmless.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use orbweaver_engine::resp::Value;
use orbweaver_servers::{Cut, PostgresServer, Proxy};
use orbweaver_tests::client::{Client, args};
use orbweaver_tests::shared_store::{Servers, SharedStore, info};
use orbweaver_tests::shared_writer::{Addresses, Ledger, write_until_stopped};

const SERVERS: usize = 3;
const CLIENTS: usize = 16;
/// Connections that are cut in the middle of a commit.
const CUTS: usize = 40;
/// Something that takes longer has gone wrong.
const PATIENCE: Duration = Duration::from_secs(60);

fn ok() -> Value {
    Value::Simple("OK".into())
}

fn integer(client: &mut Client, words: &[&str]) -> i64 {
    let command: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
    match client.call(&command).expect("the server answers") {
        Value::Integer(number) => number,
        other => panic!("{words:?}: {other:?}"),
    }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what} did not come to pass");
        sleep(Duration::from_millis(20));
    }
}

/// What one server writes the others see at once, FLUSHALL and SWAPDB included, and an EXEC fails when another server has changed what
/// it watches.
fn assert_servers_see_each_other(store: &SharedStore) {
    let servers = Servers::start(&store.url(), 2, &[]);
    let (mut one, mut other) = (servers.client(0), servers.client(1));
    assert_eq!(one.call(&args(["SET", "key", "1"])).unwrap(), ok());
    assert_eq!(integer(&mut other, &["INCR", "key"]), 2);
    assert_eq!(integer(&mut one, &["INCR", "key"]), 3);

    let exec = |one: &mut Client, between: &mut dyn FnMut()| {
        assert_eq!(one.call(&args(["WATCH", "key"])).unwrap(), ok());
        between();
        assert_eq!(one.call(&args(["MULTI"])).unwrap(), ok());
        one.call(&args(["INCR", "key"])).unwrap();
        one.call(&args(["EXEC"])).unwrap()
    };
    assert_eq!(exec(&mut one, &mut || drop(other.call(&args(["SET", "key", "10"])).unwrap())), Value::NullArray);
    assert_eq!(exec(&mut one, &mut || ()), Value::Array(vec![Value::Integer(11)]));
    assert_eq!(exec(&mut one, &mut || drop(other.call(&args(["FLUSHALL"])).unwrap())), Value::NullArray);

    // What an engine keeps between calls is what only exclusive transactions change.
    assert_eq!(one.call(&args(["SET", "key", "here"])).unwrap(), ok());
    assert_eq!(other.call(&args(["SWAPDB", "0", "1"])).unwrap(), ok());
    assert_eq!(one.call(&args(["GET", "key"])).unwrap(), Value::Null);
    assert_eq!(one.call(&args(["SELECT", "1"])).unwrap(), ok());
    assert_eq!(one.call(&args(["GET", "key"])).unwrap(), Value::Bulk("here".into()));
    assert_eq!(info(&mut one, "store"), store.name());
    assert!(info(&mut one, "store_server").to_lowercase().contains(store.name()));
    assert_eq!(info(&mut one, "blocking_reach"), "server");
    store.assert_check_is_clean();
}

#[test]
fn servers_on_postgres_see_each_others_writes_and_watch_them() {
    assert_servers_see_each_other(&SharedStore::postgres());
}

#[test]
fn servers_on_etcd_see_each_others_writes_and_watch_them() {
    assert_servers_see_each_other(&SharedStore::etcd());
}

/// Keys that expire, and collections that are removed, for the sweep.
const SWEPT_KEYS: usize = 1_000;
const SWEPT_HASHES: usize = 200;

/// Two servers sweep the same at the same time: all of it goes, nothing else does, and they seldom get into each other's way.
fn assert_sweeps_are_harmless(store: &SharedStore) {
    let servers = Servers::start(&store.url(), 2, &[]);
    let mut client = servers.client(0);
    let mut commands = Vec::new();
    for key in 0..SWEPT_KEYS {
        commands.push(args(["SET", &format!("short:{key}"), "value", "PX", "500"]));
    }
    for hash in 0..SWEPT_HASHES {
        commands.push(args(["HSET", &format!("hash:{hash}"), "a", "1", "b", "2", "c", "3"]));
        commands.push(args(["DEL", &format!("hash:{hash}")]));
    }
    commands.push(args(["HSET", "kept", "field", "value"]));
    client.pipeline(&commands.iter().collect::<Vec<_>>()).unwrap();
    // INFO counts what each server has swept.
    let mut other = servers.client(1);
    wait_until("the end of the sweep", || {
        let swept = |client: &mut Client| info(client, "expired_keys").parse::<usize>().unwrap();
        swept(&mut client) + swept(&mut other) >= SWEPT_KEYS
    });
    assert_eq!(integer(&mut client, &["DBSIZE"]), 1);
    // The garbage of the hashes has gone when nothing is written any more.
    let commits = |client: &mut Client| info(client, "store_commits").parse::<u64>().unwrap();
    let (mut before, mut quiet) = (0, 0);
    wait_until("the end of the garbage", || {
        sleep(Duration::from_secs(1));
        let now = commits(&mut client) + commits(&mut other);
        quiet = if now == before { quiet + 1 } else { 0 };
        before = now;
        quiet >= 3
    });
    let conflicts: u64 = [&mut client, &mut other].into_iter().map(|client| info(client, "store_conflicts").parse::<u64>().unwrap()).sum();
    println!("{}: two sweeps of {SWEPT_KEYS} keys and {SWEPT_HASHES} hashes met {conflicts} conflicts in {before} commits", store.name());
    assert!(conflicts <= before, "the sweeps hinder each other: {conflicts} conflicts in {before} commits");
    assert_eq!(client.call(&args(["HGET", "kept", "field"])).unwrap(), Value::Bulk("value".into()));
    store.assert_check_is_clean();
}

#[test]
fn two_servers_sweep_postgres_at_once_and_nothing_else_goes() {
    assert_sweeps_are_harmless(&SharedStore::postgres());
}

#[test]
fn two_servers_sweep_etcd_at_once_and_nothing_else_goes() {
    assert_sweeps_are_harmless(&SharedStore::etcd());
}

/// Has clients write to all servers while `disturb` does its worst, and returns what they were told.
fn write_through(servers: &mut Servers, disturb: impl FnOnce(&mut Servers, &Addresses)) -> Ledger {
    let addresses: Addresses = Mutex::new((0..SERVERS).map(|number| servers.address(number)).collect());
    let stop = AtomicBool::new(false);
    scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (addresses, stop) = (&addresses, &stop);
                scope.spawn(move || write_until_stopped(number, addresses, stop))
            })
            .collect();
        disturb(servers, &addresses);
        stop.store(true, Ordering::Relaxed);
        clients.into_iter().fold(Ledger::default(), |mut all, client| {
            all.merge(client.join().expect("a client ends when it is told to"));
            all
        })
    })
}

/// A server is killed in the middle of everything; another one takes its place.
fn kill_a_server(servers: &mut Servers, addresses: &Addresses) {
    sleep(Duration::from_secs(2));
    servers.kill(1);
    sleep(Duration::from_secs(2));
    servers.revive(1);
    addresses.lock().unwrap()[1] = servers.address(1);
    sleep(Duration::from_secs(2));
}

fn assert_nothing_is_lost(store: &SharedStore, servers: &mut Servers, ledger: &Ledger) {
    let (written, unknown) = (ledger.acknowledged(), ledger.unknown());
    println!("{}: {written} writes acknowledged, {unknown} unknown, {} refused", store.name(), ledger.refused);
    // Every server tells the same.
    for number in 0..SERVERS {
        ledger.assert_kept(&mut servers.client(number));
    }
    store.assert_check_is_clean();
    assert!(written > 500, "only {written} writes were acknowledged: the test says little");
    assert!(unknown > 0, "nothing was cut in the middle");
}

#[test]
fn servers_on_etcd_lose_nothing_when_a_server_and_a_node_are_killed() {
    let mut store = SharedStore::etcd();
    let mut servers = Servers::start(&store.url(), SERVERS, &[]);
    let SharedStore::Etcd(cluster) = &mut store else { unreachable!("it is etcd") };
    let ledger = write_through(&mut servers, |servers, addresses| {
        kill_a_server(servers, addresses);
        // One of the three is the leader: each has its turn.
        for node in 0..3 {
            cluster.kill(node).expect("the node ends");
            sleep(Duration::from_secs(3));
            cluster.revive(node).expect("the node comes back");
            sleep(Duration::from_secs(3));
        }
    });
    assert_nothing_is_lost(&store, &mut servers, &ledger);
}

#[test]
fn servers_on_postgres_lose_nothing_when_commits_are_cut_and_servers_are_killed() {
    let postgres = PostgresServer::start(&[]).expect("PostgreSQL starts");
    let proxy = Proxy::start(postgres.port()).expect("a proxy");
    let url = PostgresServer::url_by("127.0.0.1", proxy.port(), "sslmode=disable");
    let mut store = SharedStore::Postgres(postgres);
    let mut servers = Servers::start(&url, SERVERS, &[]);
    let SharedStore::Postgres(postgres) = &mut store else { unreachable!("it is PostgreSQL") };
    let ledger = write_through(&mut servers, |servers, addresses| {
        kill_a_server(servers, addresses);
        for turn in 0..CUTS {
            // The commit has happened, or it has not: its server does not know which.
            proxy.cut_once(if turn % 2 == 0 { Cut::Answer(b"COMMIT") } else { Cut::Request(b"COMMIT") });
            wait_until("a cut in a commit", || proxy.has_cut());
        }
        // A crash, and what the log brings back.
        postgres.kill().expect("the server ends");
        sleep(Duration::from_secs(1));
        postgres.revive().expect("the server comes back");
        sleep(Duration::from_secs(3));
    });
    assert_nothing_is_lost(&store, &mut servers, &ledger);
}
