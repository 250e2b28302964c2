//! Stores that take little at once: what arrived together is written in several transactions, what belongs together in one or not at all.
#![allow(clippy::unwrap_used)]

mod common;

use common::Client;
use orbweaver_engine::store::{Limits, MemoryStore};

/// A client of a store that takes `ops` operations, or `bytes` bytes, in one batch.
fn client(ops: u64, bytes: u64) -> Client {
    Client::on(&MemoryStore::with_limits(Limits { max_batch_ops: ops, max_batch_bytes: bytes, ..Limits::NONE }))
}

fn send(client: &mut Client, requests: &str) -> String {
    String::from_utf8_lossy(&client.exchange(requests.to_owned().into())).into_owned()
}

fn too_large(reply: &str) -> bool {
    reply.starts_with("-ERR storage: ") && reply.contains("is above the store's limit of ")
}

#[test]
fn a_pipeline_is_written_in_as_many_batches_as_it_takes() {
    for mut client in [client(30, u64::MAX), client(u64::MAX, 1000)] {
        let requests: String = (0..200).map(|number| format!("SET key:{number} value\r\nRPUSH list {number}\r\n")).collect();
        let replies: String = (1..=200).map(|length| format!("+OK\r\n:{length}\r\n")).collect();
        assert_eq!(send(&mut client, &requests), replies);
        assert_eq!(send(&mut client, "DBSIZE\r\nLLEN list\r\nLINDEX list -1\r\n"), ":201\r\n:200\r\n$3\r\n199\r\n");
    }
}

#[test]
fn a_command_that_is_too_large_alone_fails_alone() {
    let mut client = client(30, u64::MAX);
    let fields: String = (0..100).map(|number| format!(" f{number} v")).collect();
    let replies = send(&mut client, &format!("SET before 1\r\nHSET hash{fields}\r\nSET behind 1\r\n"));
    let lines: Vec<&str> = replies.lines().collect();
    let ["+OK", refused, "+OK"] = lines.as_slice() else { unreachable!("{replies}") };
    assert!(too_large(refused), "{replies}");
    assert_eq!(send(&mut client, "EXISTS before hash behind\r\n"), ":2\r\n");
}

#[test]
fn a_transaction_that_is_too_large_changes_nothing() {
    let mut client = client(30, u64::MAX);
    let parts: String = (0..50).map(|number| format!("SET key:{number} value\r\n")).collect();
    let replies = send(&mut client, &format!("MULTI\r\n{parts}EXEC\r\n"));
    let last = replies.lines().last().unwrap_or_default();
    assert!(too_large(last), "{replies}");
    assert_eq!(send(&mut client, "DBSIZE\r\n"), ":0\r\n");
}
