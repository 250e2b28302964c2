//! Connections that are cut, and servers that die: what is acknowledged is there, and what is unknown is reported as such.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use bytes::Bytes;
use orbweaver_engine::store::{Batch, Keyspace, Order, Scope, Store, StoreError};
use orbweaver_postgres::{PostgresHandle, PostgresStore};
use orbweaver_servers::{Cut, PostgresServer, Proxy};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a client sends to commit, and what the server answers when it has.
const COMMIT: &[u8] = b"COMMIT\0";

/// A server, a proxy before it, and a handle that goes through the proxy.
struct Behind {
    server: PostgresServer,
    proxy: Proxy,
    store: PostgresStore,
    handle: PostgresHandle,
    data: Keyspace,
}

fn open(url: &str) -> (PostgresStore, PostgresHandle, Keyspace) {
    let store = PostgresStore::open(url).unwrap();
    let mut handle = store.handle();
    let data = handle.open_keyspace("data", Order::Bytes).unwrap();
    (store, handle, data)
}

impl Behind {
    fn new() -> Self {
        let server = PostgresServer::start(&["fsync=off"]).unwrap();
        let proxy = Proxy::start(server.port()).unwrap();
        // The only connection has to be given up before another one is taken.
        let (store, handle, data) = open(&PostgresServer::url_by("127.0.0.1", proxy.port(), "sslmode=disable&pool=1"));
        Self { server, proxy, store, handle, data }
    }

    fn direct(&self) -> (PostgresStore, PostgresHandle, Keyspace) {
        open(&self.server.url("sslmode=disable"))
    }
}

fn number(value: Option<Bytes>) -> u64 {
    value.map_or(0, |value| u64::from_be_bytes(value.as_ref().try_into().unwrap()))
}

fn read(handle: &mut PostgresHandle, data: Keyspace, key: &[u8]) -> Result<u64, StoreError> {
    handle.begin(&Scope::Read)?;
    let value = handle.get(data, key);
    handle.rollback();
    Ok(number(value?))
}

/// Adds one to a counter; `armed` is called right before the commit.
fn increment(handle: &mut PostgresHandle, data: Keyspace, key: &[u8], armed: impl FnOnce()) -> Result<(), StoreError> {
    handle.begin(&Scope::Keys(vec![Bytes::copy_from_slice(key)]))?;
    let before = handle.get(data, key).inspect_err(|_| handle.rollback())?;
    let mut batch = Batch::new();
    batch.put(data, key, &(number(before) + 1).to_be_bytes())?;
    armed();
    handle.commit(&batch, &[0])
}

#[test]
fn a_commit_that_did_not_arrive_is_a_conflict_and_one_whose_answer_is_lost_is_found() {
    let Behind { proxy, mut handle, data, store: _store, server: _server } = Behind::new();
    for (cut, outcome, value) in [
        (Cut::Request(COMMIT), Err(StoreError::Conflict), 0),
        (Cut::HalfOfRequest(COMMIT), Err(StoreError::Conflict), 0),
        (Cut::Answer(COMMIT), Ok(()), 1),
        (Cut::Request(COMMIT), Err(StoreError::Conflict), 1),
        (Cut::Answer(COMMIT), Ok(()), 2),
    ] {
        assert_eq!(increment(&mut handle, data, b"counter", || proxy.cut_once(cut)), outcome, "{cut:?}");
        assert!(proxy.has_cut());
        // The handle goes on, on a new connection.
        assert_eq!(read(&mut handle, data, b"counter"), Ok(value), "{cut:?}");
    }
}

#[test]
fn an_exclusive_commit_whose_answer_is_lost_is_found() {
    let Behind { proxy, mut handle, data, store: _store, server: _server } = Behind::new();
    let mut exclusive = |cut: Cut| {
        let epoch = handle.begin(&Scope::Exclusive).unwrap();
        handle.get(data, b"k").unwrap();
        let mut batch = Batch::new();
        batch.put(data, b"k", b"v").unwrap();
        proxy.cut_once(cut);
        let outcome = handle.commit(&batch, &[]);
        let next = handle.begin(&Scope::Read).and_then(|epoch| handle.get(data, b"k").map(|_| epoch));
        handle.rollback();
        (outcome, next.map(|next| next - epoch))
    };
    assert_eq!(exclusive(Cut::Request(COMMIT)), (Err(StoreError::Conflict), Ok(0)));
    // The epoch that was known is an old one: the first read says so, the next begin knows better.
    let (outcome, next) = exclusive(Cut::Answer(COMMIT));
    assert_eq!((outcome, next), (Ok(()), Err(StoreError::Conflict)));
    assert_eq!(exclusive(Cut::Request(COMMIT)), (Err(StoreError::Conflict), Ok(0)));
}

#[test]
fn a_commit_that_too_many_others_have_followed_is_reported_as_unknown() {
    let mut behind = Behind::new();
    let (_store, mut direct, data) = behind.direct();
    let proxy = &behind.proxy;
    let outcome = std::thread::scope(|scope| {
        let committing = scope.spawn(|| {
            let cut = || proxy.cut_once_and_hold(Cut::Answer(COMMIT));
            increment(&mut behind.handle, behind.data, b"counter", cut)
        });
        // The client cannot ask until others have written the same key more often than a stripe remembers.
        while !(proxy.has_cut() && committing_has_been_cut(&mut direct, data)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        (0..20).for_each(|_| increment(&mut direct, data, b"counter", || {}).unwrap());
        proxy.release();
        committing.join().unwrap()
    });
    assert!(matches!(outcome, Err(StoreError::UnknownOutcome(_))), "{outcome:?}");
    assert_eq!(read(&mut behind.handle, behind.data, b"counter"), Ok(21), "it was committed, and the handle goes on");
}

#[test]
fn a_commit_that_nobody_can_be_asked_about_is_reported_as_unknown() {
    let server = PostgresServer::start(&["fsync=off"]).unwrap();
    let proxy = Proxy::start(server.port()).unwrap();
    let (_store, mut handle, data) = open(&PostgresServer::url_by("127.0.0.1", proxy.port(), "sslmode=disable&connect_timeout=1s"));
    let outcome = increment(&mut handle, data, b"counter", || proxy.cut_once_and_hold(Cut::Answer(COMMIT)));
    assert!(matches!(outcome, Err(StoreError::UnknownOutcome(_))), "{outcome:?}");
    proxy.release();
    assert_eq!(read(&mut handle, data, b"counter"), Ok(1), "it was committed, and the handle goes on");
}

#[test]
fn locks_of_a_client_that_falls_silent_are_given_up_by_the_server() {
    let mut behind = Behind::new();
    let (_store, mut direct, data) = behind.direct();
    behind.handle.begin(&Scope::Keys(vec![Bytes::from_static(b"counter")])).unwrap();
    behind.handle.get(behind.data, b"counter").unwrap();
    behind.proxy.hold();
    let start = Instant::now();
    assert_eq!(increment(&mut direct, data, b"counter", || {}), Ok(()));
    assert!(start.elapsed() > Duration::from_secs(10), "the lock was held until then");
    behind.proxy.release();
    assert!(behind.handle.get(behind.data, b"counter").is_err(), "what the silent client has read is void");
    behind.handle.rollback();
    assert_eq!(increment(&mut behind.handle, behind.data, b"counter", || {}), Ok(()));
    assert_eq!(read(&mut direct, data, b"counter"), Ok(2));
}

/// Whether the commit is there: its answer was cut, then.
fn committing_has_been_cut(direct: &mut PostgresHandle, data: Keyspace) -> bool {
    read(direct, data, b"counter").unwrap() > 0
}

#[test]
fn a_connection_that_is_cut_while_reading_ends_the_transaction_alone() {
    let Behind { proxy, mut handle, data, store: _store, server: _server } = Behind::new();
    increment(&mut handle, data, b"counter", || {}).unwrap();
    // With the first request of a transaction nothing is lost: it is made again.
    proxy.cut_at_the_next_answer();
    assert_eq!(read(&mut handle, data, b"counter"), Ok(1));
    assert!(proxy.has_cut());
    // With a later one the state that was read is.
    handle.begin(&Scope::Read).unwrap();
    handle.get(data, b"counter").unwrap();
    proxy.cut_at_the_next_answer();
    assert_eq!(handle.get(data, b"other"), Err(StoreError::Expired));
    assert_eq!(handle.get(data, b"counter"), Err(StoreError::Expired), "the transaction is over");
    handle.rollback();
    assert_eq!(read(&mut handle, data, b"counter"), Ok(1));
}

/// What became of increments, by all clients.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    done: u64,
    again: u64,
    unknown: u64,
    refused: u64,
}

impl Tally {
    fn count(&mut self, outcome: &Result<(), StoreError>) {
        match outcome {
            Ok(()) => self.done += 1,
            Err(StoreError::Conflict | StoreError::Expired) => self.again += 1,
            Err(StoreError::UnknownOutcome(_)) => self.unknown += 1,
            Err(StoreError::Io(_)) => self.refused += 1,
            Err(other) => panic!("{other}"),
        }
    }

    fn add(self, other: Self) -> Self {
        Self {
            done: self.done + other.done,
            again: self.again + other.again,
            unknown: self.unknown + other.unknown,
            refused: self.refused + other.refused,
        }
    }

    /// Whether a sum holds everything that was acknowledged, and of what is unknown, some.
    fn explains(self, sum: u64) -> bool {
        (self.done..=self.done + self.unknown).contains(&sum)
    }
}

/// Clients that increment `counters` until they are told to end, beside `disturb`.
fn count_while(url: &str, counters: u64, disturb: impl FnOnce()) -> Tally {
    const CLIENTS: u64 = 8;
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                // Each two clients are a process.
                let (_store, mut handle, data) = open(url);
                let ends = &ends;
                scope.spawn(move || {
                    let mut tally = Tally::default();
                    for round in 0.. {
                        if ends.load(Ordering::SeqCst) {
                            break;
                        }
                        let key = ((client + round) % counters).to_be_bytes();
                        tally.count(&increment(&mut handle, data, &key, || {}));
                    }
                    tally
                })
            })
            .collect();
        disturb();
        ends.store(true, Ordering::SeqCst);
        clients.into_iter().map(|client| client.join().unwrap()).fold(Tally::default(), Tally::add)
    })
}

fn sum(url: &str, counters: u64) -> u64 {
    let (_store, mut handle, data) = open(url);
    (0..counters).map(|counter| read(&mut handle, data, &counter.to_be_bytes()).unwrap()).sum()
}

#[test]
fn nothing_acknowledged_is_lost_when_connections_are_cut_in_the_middle_of_commits() {
    const COUNTERS: u64 = 3;
    const CUTS: usize = 60;
    let server = PostgresServer::start(&["fsync=off"]).unwrap();
    let proxy = Proxy::start(server.port()).unwrap();
    let url = PostgresServer::url_by("127.0.0.1", proxy.port(), "sslmode=disable");
    let tally = count_while(&url, COUNTERS, || {
        let places = [Cut::Request(COMMIT), Cut::HalfOfRequest(COMMIT), Cut::Answer(COMMIT), Cut::Answer(b"")];
        for cut in places.into_iter().cycle().take(CUTS) {
            proxy.cut_once(cut);
            while !proxy.has_cut() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
    let sum = sum(&server.url("sslmode=disable"), COUNTERS);
    println!("{CUTS} connections cut: {tally:?}, and a sum of {sum}");
    assert!(tally.explains(sum), "{tally:?} does not explain a sum of {sum}");
    assert!(tally.done > 0 && tally.refused == 0);
}

#[test]
fn nothing_acknowledged_is_lost_when_the_server_is_killed_and_comes_back() {
    const COUNTERS: u64 = 5;
    let mut server = PostgresServer::start(&[]).unwrap();
    let url = server.url("sslmode=disable&connect_timeout=30s");
    let tally = count_while(&url, COUNTERS, || {
        for _ in 0..2 {
            std::thread::sleep(Duration::from_millis(700));
            server.kill().unwrap();
            std::thread::sleep(Duration::from_millis(300));
            server.revive().unwrap();
        }
        std::thread::sleep(Duration::from_millis(700));
    });
    let sum = sum(&url, COUNTERS);
    println!("a server killed twice: {tally:?}, and a sum of {sum}");
    assert!(tally.explains(sum), "{tally:?} does not explain a sum of {sum}");
    assert!(tally.done > 0);
}

#[test]
fn a_server_that_stays_away_is_told_of_and_found_again() {
    let mut server = PostgresServer::start(&["fsync=off"]).unwrap();
    let (_store, mut handle, data) = open(&server.url("sslmode=disable&connect_timeout=1s"));
    increment(&mut handle, data, b"counter", || {}).unwrap();
    server.kill().unwrap();
    // A process of the server may outlive it for a moment.
    let error = std::iter::repeat_with(|| read(&mut handle, data, b"counter")).find_map(Result::err).unwrap().to_string();
    assert!(error.contains(&format!("127.0.0.1:{}", server.port())) && error.contains("start it"), "{error}");
    server.revive().unwrap();
    assert_eq!(read(&mut handle, data, b"counter"), Ok(1));
}
