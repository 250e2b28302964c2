//! How often the boundary of the component is crossed for the main commands, alone and in pipelines: counts, which no clock disturbs.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

#[allow(dead_code, reason = "the engine's tests use the rest")]
#[path = "../../guest/engine/tests/measured/workload.rs"]
mod workload;

use orbweaver::runtime::{Component, Delivery, Orbweaver};
use orbweaver::stores::rocksdb::{RocksOptions, RocksStore};
use orbweaver_engine::store::MemoryStore;
use workload::Operation;

const PIPELINE: usize = 32;

/// Calls of exports and imports for one exchange that brings `pipeline` requests. The second such exchange: the first one makes what
/// later ones find.
fn crossings(component: &Component, operation: Operation, pipeline: usize) -> u64 {
    let mut orbweaver = Orbweaver::builder().open(component, Box::new(MemoryStore::new())).unwrap();
    orbweaver.connect(1, "test").unwrap();
    let mut exchange = |input: &[u8]| {
        let before = orbweaver.crossings();
        let outcome = orbweaver.exchange(&[Delivery { connection: 1, input }]).unwrap();
        assert_ne!(outcome.output[0], b'-', "{operation:?}: {}", outcome.output.escape_ascii());
        orbweaver.crossings() - before
    };
    exchange(&operation.preparation(2 * pipeline));
    exchange(&operation.requests(0, pipeline));
    exchange(&operation.requests(pipeline, pipeline))
}

#[test]
fn the_main_commands_cross_the_boundary_no_more_often_than_they_did() {
    let component = Component::load().unwrap();
    // The export, and the calls of the store that `hot_path.rs` of the engine counts, alone and in a pipeline: without the clock, the
    // end of what is not committed, and the beginning of what reads behind what has read, which are the host's.
    let table = [
        (Operation::Set, 4, 4),
        (Operation::Get, 2, 2),
        (Operation::Incr, 4, 4),
        (Operation::HSet, 5, 5),
        (Operation::HGet, 3, 3),
        (Operation::LPush, 4, 4),
        (Operation::LPop, 5, 5),
        (Operation::SAdd, 5, 5),
        (Operation::ZAdd, 5, 5),
        (Operation::ZScore, 3, 3),
        (Operation::HGetAll, 3, 2 + PIPELINE),
        (Operation::LRange, 3, 2 + PIPELINE),
        (Operation::ZRange, 3, 2 + PIPELINE),
    ];
    for (operation, alone, in_a_pipeline) in table {
        assert_eq!(crossings(&component, operation, 1), alone, "{operation:?}");
        assert_eq!(crossings(&component, operation, PIPELINE), u64::try_from(in_a_pipeline).unwrap(), "{operation:?} in a pipeline");
    }
}

#[test]
fn a_transaction_that_was_left_to_the_host_is_ended_before_another_one_in_the_same_call() {
    let store = MemoryStore::new();
    let mut orbweaver = Orbweaver::builder().open(&Component::load().unwrap(), Box::new(store.clone())).unwrap();
    orbweaver.connect(1, "test").unwrap();
    // GET reads, WATCH asks for revisions outside of a transaction, EXEC begins one to see whether they are the same, and a last one.
    let input = b"GET a\r\nWATCH a\r\nGET a\r\nMULTI\r\nGET a\r\nEXEC\r\nGET a\r\n";
    let outcome = orbweaver.exchange(&[Delivery { connection: 1, input }]).unwrap();
    assert_eq!(outcome.output, b"$-1\r\n+OK\r\n$-1\r\n+OK\r\n+QUEUED\r\n*1\r\n$-1\r\n$-1\r\n");
    // The locks of one that changed nothing are free again, for another instance.
    let outcome = orbweaver.exchange(&[Delivery { connection: 1, input: b"DEL a\r\n" }]).unwrap();
    assert_eq!(outcome.output, b":0\r\n");
    let mut other = Orbweaver::builder().open(&Component::load().unwrap(), Box::new(store)).unwrap();
    other.connect(1, "test").unwrap();
    assert_eq!(other.exchange(&[Delivery { connection: 1, input: b"SET a 1\r\n" }]).unwrap().output, b"+OK\r\n");
}

#[test]
fn a_transaction_that_the_host_has_begun_is_ended_where_the_call_does_not_begin_with_a_read() {
    let store = MemoryStore::new();
    let component = Component::load().unwrap();
    let open = || {
        let mut orbweaver = Orbweaver::builder().open(&component, Box::new(store.clone())).unwrap();
        orbweaver.connect(1, "test").unwrap();
        move |input: &[u8]| String::from_utf8(orbweaver.exchange(&[Delivery { connection: 1, input }]).unwrap().output).unwrap()
    };
    let (mut one, mut other) = (open(), open());
    // Behind each GET of `one` its next transaction is begun by the host.
    for (input, reply) in [
        ("GET a\r\n", "$-1\r\n"),
        // One that writes, one that does nothing at all, and one that asks for revisions outside of any.
        ("SET a 1\r\n", "+OK\r\n"),
        ("GET a\r\n", "$1\r\n1\r\n"),
        ("PING\r\n", "+PONG\r\n"),
        ("GET a\r\n", "$1\r\n1\r\n"),
        ("WATCH a\r\nMULTI\r\nINCR a\r\nEXEC\r\n", "+OK\r\n+OK\r\n+QUEUED\r\n*1\r\n:2\r\n"),
        ("GET a\r\n", "$1\r\n2\r\n"),
        ("GET a\r\nINCR a\r\nGET a\r\n", "$1\r\n2\r\n:3\r\n$1\r\n3\r\n"),
        ("GET a\r\n", "$1\r\n3\r\n"),
    ] {
        assert_eq!(one(input.as_bytes()), reply, "{input}");
    }
    // It sees what is there when the call begins, and holds nothing between two calls.
    for number in 4..10 {
        assert_eq!(other(b"INCR a\r\n"), format!(":{number}\r\n"));
        assert_eq!(one(b"GET a\r\n"), format!("$1\r\n{number}\r\n"));
    }
}

#[test]
fn reads_are_begun_ahead_on_rocksdb_where_one_handle_is_alone() {
    let dir = tempfile::tempdir().unwrap();
    let store = RocksStore::open(dir.path(), RocksOptions::default()).unwrap();
    let mut orbweaver = Orbweaver::builder().open(&Component::load().unwrap(), Box::new(store.handle())).unwrap();
    orbweaver.connect(1, "test").unwrap();
    let mut crossings = |input: &[u8], reply: &[u8]| {
        let before = orbweaver.crossings();
        assert_eq!(orbweaver.exchange(&[Delivery { connection: 1, input }]).unwrap().output, reply);
        orbweaver.crossings() - before
    };
    crossings(b"GET a\r\n", b"$-1\r\n");
    assert_eq!(crossings(b"GET a\r\n", b"$-1\r\n"), 2);
    let mut other = Orbweaver::builder().open(&Component::load().unwrap(), Box::new(store.handle())).unwrap();
    other.connect(1, "test").unwrap();
    // With snapshots it would not be for nothing.
    assert_eq!(crossings(b"GET a\r\n", b"$-1\r\n"), 3);
    assert_eq!(other.exchange(&[Delivery { connection: 1, input: b"SET a 1\r\n" }]).unwrap().output, b"+OK\r\n");
    assert_eq!(crossings(b"GET a\r\n", b"$1\r\n1\r\n"), 3);
    drop(other);
    assert_eq!(crossings(b"GET a\r\n", b"$1\r\n1\r\n"), 2);
}
