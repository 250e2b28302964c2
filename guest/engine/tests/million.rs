//! Collections of a million elements: what costs the same whatever the size does, and what reads a range reads no more than it.
//! In release only, where it takes seconds: without optimisation it would be minutes.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;
mod measured;

use common::Client;
use measured::Measured;
use orbweaver_engine::store::MemoryStore;

const FEW: usize = 10;
const MANY: usize = 1_000_000;
/// Elements that one command adds.
const TOGETHER: usize = 2000;

/// A collection `c` of so many elements, which `add` adds: 0000000, 0000001 and so on, with their numbers as values and scores.
fn with_collection_of(count: usize, add: &str) -> Measured {
    let store = MemoryStore::new();
    let mut filler = Client::on(&store);
    for first in (0..count).step_by(TOGETHER) {
        let numbers = first..count.min(first + TOGETHER);
        let word = |number: usize| match add {
            "HSET" => format!("{number:07} {number}"),
            "ZADD" => format!("{number} {number:07}"),
            _ => format!("{number:07}"),
        };
        let words: Vec<String> = numbers.map(word).collect();
        assert!(filler.run(&format!("{add} c {}", words.join(" "))).starts_with(':'));
    }
    Measured::on(store)
}

/// Asserts that each command has the same cost in a collection of ten and of a million elements: the same calls of the store, the same
/// number of records read and written. Returns the large collection.
fn assert_same_costs(add: &str, commands: &[&str]) -> Measured {
    let (mut small, mut large) = (with_collection_of(FEW, add), with_collection_of(MANY, add));
    for command in commands {
        let ((in_small, _), (in_large, reply)) = (small.cost_of(command), large.cost_of(command));
        assert!(!reply.starts_with('-'), "{command}: {reply}");
        assert_eq!(in_small, in_large, "{command}");
        // Begin, the head of the collection, its records, commit.
        assert!(in_large.calls <= 5 && in_large.records_read <= 7, "{command}: {in_large:?}");
    }
    large
}

/// Asserts that a reply of `count` elements reads about as many records.
fn assert_reads(large: &mut Measured, command: &str, count: usize) {
    let (cost, reply) = large.cost_of(command);
    assert!(reply.starts_with('*'), "{command}: {}", reply.chars().take(100).collect::<String>());
    // The head of the collection and the score of a member, and the rest of the last page.
    assert!((count..=count + 2 + count / 100).contains(&cost.records_read), "{command}: {cost:?}");
}

/// What a collection leaves behind is for the sweep: DEL costs the same.
const DEL: &str = "DEL c";

#[test]
#[cfg_attr(debug_assertions, ignore = "in release only")]
fn a_hash_of_a_million_fields() {
    let mut large = assert_same_costs(
        "HSET",
        &[
            "HLEN c",
            "HGET c 0000005",
            "HGET c nope",
            "HEXISTS c 0000005",
            "HSTRLEN c 0000005",
            "HMGET c 0000001 0000002 nope",
            "HSET c 0000005 x",
            "HSET c new x",
            "HSETNX c new y",
            "HINCRBY c 0000006 1",
            "HINCRBYFLOAT c 0000006 1.5",
            "HDEL c new 0000005",
            "TYPE c",
            "EXISTS c",
            "EXPIRE c 1000",
            "PERSIST c",
            "RENAME c d",
            "RENAME d c",
        ],
    );
    assert_reads(&mut large, "HSCAN c 0 COUNT 1000", 1000);
    assert_reads(&mut large, "HGETALL c", MANY - 1);
    assert!(large.cost_of(DEL).0.calls <= 5);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "in release only")]
fn a_list_of_a_million_elements() {
    let mut large = assert_same_costs(
        "RPUSH",
        &[
            "LLEN c",
            "LINDEX c 0",
            "LINDEX c -1",
            "LINDEX c 5",
            "LPUSH c x",
            "RPUSH c y",
            "LPUSHX c x",
            "LSET c 5 z",
            "LPOP c",
            "RPOP c",
            "LPOP c 2",
            "RPOP c 2",
            "LMOVE c c LEFT RIGHT",
            "RPOPLPUSH c c",
            "LMPOP 1 c RIGHT",
            "LTRIM c 1 -2",
            "LRANGE c 0 2",
            "LRANGE c -3 -1",
        ],
    );
    for count in [1, 10, 1000, 100_000] {
        let last = 400_000 + count - 1;
        assert_reads(&mut large, &format!("LRANGE c 400000 {last}"), count);
    }
    assert!(large.cost_of(DEL).0.calls <= 5);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "in release only")]
fn a_set_of_a_million_members() {
    let mut large = assert_same_costs(
        "SADD",
        &[
            "SCARD c",
            "SISMEMBER c 0000005",
            "SMISMEMBER c 0000005 nope",
            "SADD c new",
            "SADD c 0000005",
            "SREM c new 0000006",
            "SMOVE c d 0000007",
        ],
    );
    assert_reads(&mut large, "SSCAN c 0 COUNT 1000", 1000);
    assert_reads(&mut large, "SMEMBERS c", MANY - 2);
    assert!(large.cost_of(DEL).0.calls <= 5);
}

#[test]
#[cfg_attr(debug_assertions, ignore = "in release only")]
fn a_sorted_set_of_a_million_members() {
    let mut large = assert_same_costs(
        "ZADD",
        &[
            "ZCARD c",
            "ZSCORE c 0000005",
            "ZMSCORE c 0000005 nope",
            "ZCOUNT c (2 4",
            "ZRANGE c 0 2",
            "ZRANGE c -3 -1",
            "ZRANGEBYSCORE c 2 4",
        ],
    );
    // What changes also changes a node of each of two levels for each place: both are read, and put.
    for (command, places) in [
        ("ZADD c 1.5 0000005", 2),
        ("ZADD c 7 new", 1),
        ("ZADD c 700000.5 newer", 1),
        ("ZINCRBY c 2 0000005", 2),
        ("ZREM c new", 1),
        ("ZPOPMIN c", 1),
        ("ZPOPMAX c 2", 2),
    ] {
        let (cost, reply) = large.cost_of(command);
        assert!(!reply.starts_with('-'), "{command}: {reply}");
        assert!(cost.calls <= 4 + 2 * places && cost.records_read <= 3 + 2 * places, "{command}: {cost:?}");
        assert!(cost.puts <= 3 + 2 * places, "{command}: {cost:?}");
    }
    for count in [1, 10, 1000, 100_000] {
        let last = 400_000 + count - 1;
        assert_reads(&mut large, &format!("ZRANGEBYSCORE c 400000 {last}"), count);
        assert_reads(&mut large, &format!("ZRANGE c 0 {}", count - 1), count);
        assert_reads(&mut large, &format!("ZREVRANGE c 0 {}", count - 1), count);
    }
    assert_reads(&mut large, "ZSCAN c 0 COUNT 1000", 1000);
    assert!(large.cost_of(DEL).0.calls <= 5);
}
