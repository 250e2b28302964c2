//! `HyperLogLog` commands, from bytes in to bytes out. The expected replies are those of redis-server.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use common::Client;
use orbweaver_engine::store::{Limits, MemoryStore};

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const NO_SKETCH: &str = "-WRONGTYPE Key is not a valid HyperLogLog string value.";
const DAMAGED: &str = "-INVALIDOBJ Corrupted HLL object detected";

/// Runs commands one after the other and compares each reply.
fn check(client: &mut Client, steps: &[(&str, &str)]) {
    for (number, (command, reply)) in steps.iter().enumerate() {
        assert_eq!(client.run(command), *reply, "step {number}: {command}");
    }
}

#[test]
fn elements_are_counted_once() {
    check(
        &mut Client::new(),
        &[
            ("PFADD k a b c", ":1"),
            ("PFADD k a", ":0"),
            ("PFADD k d e", ":1"),
            ("PFCOUNT k", ":5"),
            ("PFCOUNT missing", ":0"),
            ("PFADD empty", ":1"),
            ("PFADD empty", ":0"),
            ("PFCOUNT empty", ":0"),
            ("TYPE k", "+string"),
            ("PFADD other a x y", ":1"),
            ("PFCOUNT k other missing", ":7"),
            ("PFCOUNT missing missing", ":0"),
        ],
    );
}

#[test]
fn a_merge_adds_to_its_target() {
    check(
        &mut Client::new(),
        &[
            ("PFADD a 1 2 3", ":1"),
            ("PFADD b 3 4", ":1"),
            ("PFMERGE t a b missing", "+OK"),
            ("PFCOUNT t", ":4"),
            ("PFMERGE t", "+OK"),
            ("PFCOUNT t", ":4"),
            ("PFMERGE new missing", "+OK"),
            ("PFCOUNT new", ":0"),
            ("STRLEN new", ":18"),
            ("PFMERGE a b", "+OK"),
            ("PFCOUNT a", ":4"),
        ],
    );
}

#[test]
fn the_expiry_stays_when_elements_are_added() {
    check(
        &mut Client::new(),
        &[
            ("PFADD k a", ":1"),
            ("EXPIRE k 100", ":1"),
            ("PFADD k b", ":1"),
            ("TTL k", ":100"),
            ("PFMERGE k k", "+OK"),
            ("TTL k", ":100"),
            ("PFCOUNT k", ":2"),
            ("TTL k", ":100"),
        ],
    );
}

#[test]
fn the_estimate_that_is_kept_does_not_depend_on_what_else_is_in_the_group() {
    let together = MemoryStore::new();
    Client::on(&together).run("PFADD k a b\r\nPFCOUNT k");
    let alone = MemoryStore::new();
    let mut client = Client::on(&alone);
    client.run("PFADD k a b");
    let without_estimate = alone.contents();
    assert_eq!(client.run("PFCOUNT k"), ":2");
    assert_ne!(alone.contents(), without_estimate);
    assert_eq!(alone.contents(), together.contents());
}

#[test]
fn a_store_that_cannot_be_written_is_counted_without_keeping_the_estimate() {
    let store = MemoryStore::new();
    Client::on(&store).run("PFADD k a b");
    let before = store.contents();
    let mut reader = Client::on(&store.limited(Limits { read_only: true, ..Limits::NONE }));
    check(&mut reader, &[("PFCOUNT k", ":2"), ("PFCOUNT k missing", ":2")]);
    assert_eq!(store.contents(), before);
}

#[test]
fn what_is_no_sketch_is_refused() {
    check(
        &mut Client::new(),
        &[
            ("SET k text", "+OK"),
            ("HSET h f v", ":1"),
            ("PFADD k a", NO_SKETCH),
            ("PFCOUNT k", NO_SKETCH),
            ("PFCOUNT k k", NO_SKETCH),
            ("PFMERGE k", NO_SKETCH),
            ("PFMERGE new k", NO_SKETCH),
            ("EXISTS new", ":0"),
            ("PFADD h a", WRONG_TYPE),
            ("PFCOUNT h", WRONG_TYPE),
            ("PFCOUNT missing h", WRONG_TYPE),
            ("PFMERGE h", WRONG_TYPE),
            ("SET k 12345678901234567890", "+OK"),
            ("PFADD k", NO_SKETCH),
            ("SET k \"HYLL\"", "+OK"),
            ("PFADD k a", NO_SKETCH),
            ("SET k \"HYLL\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x80\"", "+OK"),
            ("PFADD k a", NO_SKETCH),
            ("SET k \"HYLL\\x02\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x80\\x7f\\xff\"", "+OK"),
            ("PFADD k a", NO_SKETCH),
            ("PFADD", "-ERR wrong number of arguments for 'pfadd' command"),
            ("PFCOUNT", "-ERR wrong number of arguments for 'pfcount' command"),
            ("PFMERGE", "-ERR wrong number of arguments for 'pfmerge' command"),
        ],
    );
}

#[test]
fn damaged_registers_are_refused() {
    check(
        &mut Client::new(),
        &[
            ("SET short \"HYLL\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x80\\x7f\\xfe\"", "+OK"),
            ("PFCOUNT short", DAMAGED),
            ("PFCOUNT short missing", DAMAGED),
            ("PFMERGE short", DAMAGED),
            ("PFMERGE new short", DAMAGED),
            ("EXISTS new", ":0"),
            ("SET long \"HYLL\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x80\\x7f\\xff\\x80\"", "+OK"),
            ("PFCOUNT long", DAMAGED),
            ("PFMERGE new long", DAMAGED),
            ("SET none \"HYLL\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x80\"", "+OK"),
            ("PFADD none a", DAMAGED),
            ("PFCOUNT none", DAMAGED),
            ("SET cut \"HYLL\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x80\\x7f\"", "+OK"),
            ("PFCOUNT cut", DAMAGED),
            ("SET kept \"HYLL\\x01\\x00\\x00\\x00\\x07\\x00\\x00\\x00\\x00\\x00\\x00\\x00\"", "+OK"),
            ("PFCOUNT kept", ":7"),
        ],
    );
}

#[test]
fn the_bytes_are_those_of_redis() {
    check(
        &mut Client::new(),
        &[
            ("PFADD k", ":1"),
            ("BITFIELD k GET u32 #0 GET u32 #1 GET i64 #1 GET u16 #8", "*4 :1213811788 :16777216 :128 :32767"),
            ("STRLEN k", ":18"),
            ("PFADD k a", ":1"),
            ("BITFIELD k GET u32 #1 GET i64 #1 GET u16 #8 GET u8 #18 GET u16 152", "*5 :16777216 :128 :29094 :132 :20055"),
            ("STRLEN k", ":21"),
        ],
    );
}

#[test]
fn the_estimate_is_near_the_count_and_the_sketch_becomes_dense() {
    let mut client = Client::new();
    let mut most_sparse_bytes = 0;
    for hundred in 0..200_u32 {
        let elements: String = (hundred * 100..(hundred + 1) * 100).map(|number| format!(" {number}")).collect();
        assert_eq!(client.run(&format!("PFADD k{elements}")), ":1");
        let count: f64 = client.run("PFCOUNT k")[1..].parse().unwrap();
        let expected = f64::from((hundred + 1) * 100);
        assert!((count / expected - 1.0).abs() < 0.03, "{count} of {expected}");
        let bytes: usize = client.run("STRLEN k")[1..].parse().unwrap();
        if bytes != 12_304 {
            most_sparse_bytes = bytes.max(most_sparse_bytes);
        }
    }
    assert!((2900..=3000).contains(&most_sparse_bytes), "{most_sparse_bytes}");
    assert_eq!(client.run("STRLEN k"), ":12304");
}

#[test]
fn an_estimate_is_kept_until_elements_are_added() {
    let mut client = Client::new();
    // In one transaction with a change: the estimate is then stored.
    let steps = ["PFADD k a b", "MULTI", "PFADD k c", "PFCOUNT k", "EXEC"];
    steps.iter().for_each(|command| drop(client.run(command)));
    let kept = "BITFIELD k GET u8 #8 GET u8 #15";
    assert_eq!(client.run(kept), "*2 :3 :0");
    assert_eq!(client.run("PFADD k d"), ":1");
    assert_eq!(client.run(kept), "*2 :3 :128");
    assert_eq!(client.run("PFCOUNT k"), ":4");
}

#[test]
fn no_string_makes_it_panic() {
    let mut client = Client::new();
    let mut random = 1_u64;
    for round in 0..3_000 {
        let mut value = String::from(if round % 2 == 0 { "HYLL\\x01" } else { "HYLL\\x01\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\x80" });
        for _ in 0..round % 40 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            value.push_str(&format!("\\x{:02x}", random >> 56));
        }
        for command in ["PFADD k a b c", "PFADD k", "PFCOUNT k", "PFCOUNT k k", "PFMERGE k", "PFMERGE new k"] {
            assert_eq!(client.run(&format!("SET k \"{value}\"")), "+OK");
            let reply = client.run(command);
            assert!(reply.starts_with(['+', ':']) || reply == NO_SKETCH || reply == DAMAGED, "{command}: {reply}");
        }
    }
}
