//! Nodes that die, answers that are lost, requests that arrive late: nothing that was acknowledged is lost, nothing happens twice.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use bytes::Bytes;
use common::{cluster, fresh_url, get, open, put, scope};
use orbweaver_engine::store::{Batch, Keyspace, Order, Store, StoreError};
use orbweaver_etcd::{EtcdHandle, EtcdStore};
use orbweaver_servers::{EtcdCluster, Proxy};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What became of additions to a counter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    done: u64,
    conflicts: u64,
    unknown: u64,
    refused: u64,
}

fn number(value: Option<Bytes>) -> u64 {
    value.map_or(0, |value| u64::from_le_bytes(value.as_ref().try_into().unwrap()))
}

/// Adds one to a counter.
fn increment(handle: &mut EtcdHandle, data: Keyspace, key: &[u8]) -> Result<(), StoreError> {
    handle.begin(&scope(key))?;
    let before = handle.get(data, key).inspect_err(|_| handle.rollback())?;
    let mut batch = Batch::new();
    batch.put(data, key, &(number(before) + 1).to_le_bytes())?;
    handle.commit(&batch, &[0])
}

impl Tally {
    fn count(&mut self, outcome: Result<(), StoreError>) {
        match outcome {
            Ok(()) => self.done += 1,
            Err(StoreError::Conflict | StoreError::Expired) => self.conflicts += 1,
            Err(StoreError::UnknownOutcome(_)) => self.unknown += 1,
            Err(StoreError::Io(_)) => self.refused += 1,
            Err(other) => panic!("{other}"),
        }
    }

    /// Whether the counter holds what was acknowledged, and of what is unknown, some.
    fn explains(self, counter: u64) -> bool {
        (self.done..=self.done + self.unknown).contains(&counter)
    }
}

/// A proxy before the first node, and a URL that names only the proxy.
fn behind_proxy(cluster: &EtcdCluster, prefix: &str) -> (Proxy, String) {
    let proxy = Proxy::start(cluster.port(0).unwrap()).unwrap();
    let url = format!("etcd://127.0.0.1:{}/{prefix}?timeout=4s", proxy.port());
    (proxy, url)
}

#[test]
fn a_commit_whose_answer_is_lost_is_found_out_about() {
    let cluster = cluster();
    let (proxy, url) = behind_proxy(&cluster, "lost-answers");
    let (mut handle, data) = open(&EtcdStore::open(&url).unwrap());
    let mut tally = Tally::default();
    for _ in 0..60 {
        handle.begin(&scope(b"counter")).unwrap();
        let before = number(handle.get(data, b"counter").unwrap());
        let mut batch = Batch::new();
        batch.put(data, b"counter", &(before + 1).to_le_bytes()).unwrap();
        proxy.cut_at_the_next_answer();
        let outcome = handle.commit(&batch, &[0]);
        let is_done = number(get(&mut handle, data, b"counter").unwrap()) == before + 1;
        assert_eq!(is_done, outcome.is_ok(), "{outcome:?}");
        tally.count(outcome);
    }
    println!("{tally:?}");
    assert_eq!((tally.unknown, tally.refused), (0, 0), "all servers were there to be asked");
    assert!(tally.done > 0, "{tally:?}");
}

/// The commit is under way while its handle asks what has become of it: the answer must stay true when it arrives.
#[test]
fn a_commit_that_arrives_after_it_was_given_up_has_no_effect() {
    let cluster = cluster();
    let (proxy, _) = behind_proxy(&cluster, "");
    let url = format!("etcd://127.0.0.1:{},127.0.0.1:{}/late?timeout=6s", proxy.port(), cluster.port(1).unwrap());
    let store = EtcdStore::open(&url).unwrap();
    let (mut other, data) = open(&store);
    put(&mut other, data, b"key", b"before").unwrap();
    for round in 0_u8..5 {
        // Handles take the nodes in turn, and opening the store took the first one: this one begins at the proxy.
        let mut handle = store.handle();
        drop(store.handle());
        handle.open_keyspace("data", Order::Bytes).unwrap();
        handle.begin(&scope(b"key")).unwrap();
        handle.get(data, b"key").unwrap();
        let mut batch = Batch::new();
        batch.put(data, b"key", &[round]).unwrap();
        proxy.hold();
        let start = Instant::now();
        assert_eq!(handle.commit(&batch, &[0]), Err(StoreError::Conflict));
        assert!(start.elapsed() >= Duration::from_millis(1500), "it was given up after {:?}", start.elapsed());
        proxy.release();
        thread::sleep(Duration::from_millis(300));
        assert_eq!(get(&mut other, data, b"key").unwrap().unwrap(), &b"before"[..], "it happened after it was said not to");
    }
}

#[test]
fn where_nobody_can_be_asked_the_outcome_is_unknown_and_the_handle_goes_on() {
    let cluster = cluster();
    let (proxy, url) = behind_proxy(&cluster, "unknown");
    let (mut handle, data) = open(&EtcdStore::open(&url).unwrap());
    put(&mut handle, data, b"key", b"before").unwrap();
    handle.begin(&scope(b"key")).unwrap();
    handle.get(data, b"key").unwrap();
    let mut batch = Batch::new();
    batch.put(data, b"key", b"behind").unwrap();
    proxy.hold();
    let start = Instant::now();
    let outcome = handle.commit(&batch, &[0]);
    assert!(matches!(outcome, Err(StoreError::UnknownOutcome(_))), "{outcome:?}");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    proxy.release();
    // The commit, and the questions about it, arrive now, and may get in between.
    while let Err(error) = put(&mut handle, data, b"key", b"later") {
        assert_eq!(error, StoreError::Conflict);
    }
    assert_eq!(get(&mut handle, data, b"key").unwrap().unwrap(), &b"later"[..]);
}

#[test]
fn nodes_may_die_and_come_back_amid_writes() {
    const THREADS: usize = 4;
    let mut cluster = EtcdCluster::start(&[]).unwrap();
    let url = fresh_url(&cluster);
    let store = EtcdStore::open(&url).unwrap();
    let ended = AtomicBool::new(false);
    let tallies: Vec<(Vec<u8>, Tally)> = thread::scope(|threads| {
        let (store, ended) = (&store, &ended);
        let count = |number: usize| {
            threads.spawn(move || {
                let ((mut handle, data), mut tally) = (open(store), Tally::default());
                // Two threads share a counter.
                let key = format!("counter {}", number / 2).into_bytes();
                while !ended.load(Ordering::Relaxed) {
                    tally.count(increment(&mut handle, data, &key));
                }
                (key, tally)
            })
        };
        let running: Vec<_> = (0..THREADS).map(count).collect();
        for node in 0..3 {
            thread::sleep(Duration::from_millis(700));
            cluster.kill(node).unwrap();
            thread::sleep(Duration::from_millis(2500));
            cluster.revive(node).unwrap();
        }
        thread::sleep(Duration::from_secs(2));
        ended.store(true, Ordering::Relaxed);
        running.into_iter().map(|running| running.join().unwrap()).collect()
    });
    let (mut handle, data) = open(&store);
    for pair in tallies.chunks(2) {
        let (one, other) = (pair[0].1, pair[1].1);
        let both = Tally { done: one.done + other.done, unknown: one.unknown + other.unknown, ..one };
        let counter = number(get(&mut handle, data, &pair[0].0).unwrap());
        println!("{counter}: {one:?}, {other:?}");
        assert!(both.explains(counter), "{counter} is not {both:?}");
        assert!(one.done > 10 && other.done > 10, "they wrote while a node was down");
    }

    let store = EtcdStore::open(&format!("{url}?timeout=1s")).unwrap();
    let (mut handle, data) = open(&store);
    (0..3).for_each(|node| cluster.kill(node).unwrap());
    let told = get(&mut handle, data, b"key").unwrap_err().to_string();
    assert!(told.contains(&cluster.hosts()) && told.contains("does not answer within 1s"), "{told}");
    let told = EtcdStore::open(&format!("{url}?timeout=1s")).err().unwrap().to_string();
    assert!(told.contains(&cluster.hosts()), "{told}");
}
