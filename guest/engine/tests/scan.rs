//! SCAN and HSCAN: their replies, and the guarantee that no element which stays is left out.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use common::Client;
use orbweaver_engine::environment::{HeldEnvironment, random_below};
use orbweaver_engine::store::MemoryStore;
use std::collections::BTreeSet;

const SYNTAX: &str = "-ERR syntax error";
const NO_CURSOR: &str = "-ERR invalid cursor";

/// Runs commands one after the other and compares each reply.
fn check(client: &mut Client, steps: &[(&str, &str)]) {
    for (number, (command, reply)) in steps.iter().enumerate() {
        assert_eq!(client.run(command), *reply, "step {number}: {command}");
    }
}

/// What is walked over.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Walked {
    Keys,
    Fields,
}

impl Walked {
    const BOTH: [Self; 2] = [Self::Keys, Self::Fields];

    fn add(self, client: &mut Client, name: &str) {
        client.run(&match self {
            Self::Keys => format!("SET {name} v"),
            Self::Fields => format!("HSET h {name} v"),
        });
    }

    fn remove(self, client: &mut Client, name: &str) {
        client.run(&match self {
            Self::Keys => format!("DEL {name}"),
            Self::Fields => format!("HDEL h {name}"),
        });
    }

    /// One step: the next cursor, and the names.
    fn step(self, client: &mut Client, cursor: &str, options: &str) -> (String, Vec<String>) {
        let command = if self == Self::Keys { "SCAN" } else { "HSCAN h" };
        let reply = client.run(&format!("{command} {cursor} {options}"));
        let words: Vec<&str> = reply.split(' ').collect();
        assert_eq!(words[0], "*2", "{reply}");
        let names = words[4..].chunks(2).map(|pair| pair[1].to_owned());
        let every = if self == Self::Keys { 1 } else { 2 };
        (words[2].to_owned(), names.step_by(every).collect())
    }
}

/// What becomes of the table of positions between two steps.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Table {
    Kept,
    /// Every step is answered by an engine that has just been started on the store.
    Lost,
}

/// Walks with the names of `client`'s server, calling `between` after each step, and returns what came and in how many steps.
fn walk(walked: Walked, table: Table, store: &MemoryStore, options: &str, mut between: impl FnMut(&mut Client)) -> (Vec<String>, usize) {
    let mut client = Client::on(store);
    let (mut cursor, mut names, mut steps) = ("0".to_owned(), Vec::new(), 0);
    loop {
        let (next, mut found) = walked.step(&mut client, &cursor, options);
        names.append(&mut found);
        steps += 1;
        assert!(steps < 10_000, "the walk does not end");
        if next == "0" {
            return (names, steps);
        }
        cursor = next;
        between(&mut client);
        if table == Table::Lost {
            client = Client::on(store);
        }
    }
}

fn filled(walked: Walked, count: usize) -> MemoryStore {
    let store = MemoryStore::new();
    let mut client = Client::on(&store);
    (0..count).for_each(|number| walked.add(&mut client, &format!("n{number:04}")));
    store
}

#[test]
fn scan_takes_the_options_of_redis() {
    check(
        &mut Client::new(),
        &[
            ("SCAN 0", "*2 $1 0 *0"),
            ("MSET a1 v a2 v b v \"\" v", "+OK"),
            ("HSET hash f v", ":1"),
            ("SCAN 0", "*2 $1 0 *5 $0  $2 a1 $2 a2 $1 b $4 hash"),
            ("SCAN 0 MATCH a*", "*2 $1 0 *2 $2 a1 $2 a2"),
            ("SCAN 0 MATCH *1", "*2 $1 0 *1 $2 a1"),
            ("SCAN 0 MATCH b", "*2 $1 0 *1 $1 b"),
            ("SCAN 0 MATCH b TYPE hash", "*2 $1 0 *0"),
            ("SCAN 0 MATCH nope", "*2 $1 0 *0"),
            ("SCAN 0 MATCH \"\"", "*2 $1 0 *1 $0"),
            ("SCAN 0 MATCH nope MATCH *", "*2 $1 0 *5 $0  $2 a1 $2 a2 $1 b $4 hash"),
            ("SCAN 0 TYPE HASH", "*2 $1 0 *1 $4 hash"),
            ("SCAN 0 TYPE string MATCH a? COUNT 100", "*2 $1 0 *2 $2 a1 $2 a2"),
            ("SCAN 0 TYPE zset", "*2 $1 0 *0"),
            ("SCAN 0 TYPE nonsense", "*2 $1 0 *0"),
            ("SCAN 0 COUNT 5", "*2 $1 0 *5 $0  $2 a1 $2 a2 $1 b $4 hash"),
            ("SCAN \"\" COUNT 9223372036854775807", "*2 $1 0 *5 $0  $2 a1 $2 a2 $1 b $4 hash"),
            ("SCAN -0 MATCH b", "*2 $1 0 *1 $1 b"),
            ("SCAN x", NO_CURSOR),
            ("SCAN x nonsense", NO_CURSOR),
            ("SCAN 0x", NO_CURSOR),
            ("SCAN \" 0\"", NO_CURSOR),
            ("SCAN 18446744073709551616", NO_CURSOR),
            ("SCAN 0 nonsense", SYNTAX),
            ("SCAN 0 MATCH", SYNTAX),
            ("SCAN 0 TYPE", SYNTAX),
            ("SCAN 0 COUNT 0", SYNTAX),
            ("SCAN 0 COUNT -1", SYNTAX),
            ("SCAN 0 COUNT 1.5", "-ERR value is not an integer or out of range"),
        ],
    );
}

#[test]
fn a_pattern_of_high_bytes_bounds_the_walk_at_the_end_of_the_db() {
    let mut client = Client::new();
    client.run("SET \"\\x7f\\x7f\" v");
    assert_eq!(client.run("SCAN 0 MATCH \"\\x7f*\""), "*2 $1 0 *1 $2 \u{7f}\u{7f}");
    client.run("SELECT 1");
    client.run("SET other v");
    client.run("SELECT 0");
    assert_eq!(client.run("SCAN 0 MATCH \"\\xff*\""), "*2 $1 0 *0");
}

#[test]
fn a_walk_that_nothing_disturbs_returns_everything_once() {
    for walked in Walked::BOTH {
        let store = filled(walked, 100);
        for table in [Table::Kept, Table::Lost] {
            for (count, expected_steps) in [(1, 100), (7, 15), (10, 10), (99, 2), (100, 1)] {
                let (names, steps) = walk(walked, table, &store, &format!("COUNT {count}"), |_| {});
                let expected: Vec<String> = (0..100).map(|number| format!("n{number:04}")).collect();
                assert_eq!((names, steps), (expected, expected_steps), "{walked:?} {table:?} COUNT {count}");
            }
        }
    }
}

#[test]
fn a_pattern_bounds_the_keys_that_are_visited() {
    let store = filled(Walked::Keys, 300);
    let (names, steps) = walk(Walked::Keys, Table::Kept, &store, "MATCH n01*", |_| {});
    assert_eq!((names.len(), steps), (100, 10));
    let (names, steps) = walk(Walked::Keys, Table::Lost, &store, "MATCH n01*5", |_| {});
    assert_eq!((names.len(), steps), (10, 10));
}

#[test]
fn expired_keys_are_left_out() {
    let mut client = Client::new();
    check(&mut client, &[("SET a v PX 100", "+OK"), ("SET b v", "+OK"), ("SCAN 0", "*2 $1 0 *2 $1 a $1 b")]);
    client.wait_ms(101);
    check(&mut client, &[("SCAN 0", "*2 $1 0 *1 $1 b"), ("SCAN 0 MATCH a", "*2 $1 0 *0")]);
}

#[test]
fn the_walk_goes_on_behind_a_removed_element_or_starts_over_without_the_table() {
    for walked in Walked::BOTH {
        for (table, expected) in [(Table::Kept, ["n0002", "n0003"]), (Table::Lost, ["n0000", "n0002"])] {
            let store = filled(walked, 10);
            let mut client = Client::on(&store);
            let (cursor, _) = walked.step(&mut client, "0", "COUNT 2");
            walked.remove(&mut client, "n0001");
            if table == Table::Lost {
                client = Client::on(&store);
            }
            assert_eq!(walked.step(&mut client, &cursor, "COUNT 2").1, expected, "{walked:?} {table:?}");
        }
    }
}

#[test]
fn a_cursor_of_another_collection_starts_over_and_shows_nothing_of_it() {
    let mut client = Client::new();
    check(&mut client, &[("HSET h1 a v b v c v", ":3"), ("HSET h2 x v y v", ":2"), ("HSET h3 z v", ":1"), ("SET k v", "+OK")]);
    let reply = client.run("HSCAN h1 0 COUNT 1");
    let cursor = reply.split(' ').nth(2).unwrap();
    assert_eq!(client.run(&format!("HSCAN h2 {cursor}")), "*2 $1 0 *4 $1 x $1 v $1 y $1 v");
    assert_eq!(client.run(&format!("SCAN {cursor}")), "*2 $1 0 *4 $2 h1 $2 h2 $2 h3 $1 k");
    // A new hash under the same key.
    check(&mut client, &[("DEL h1", ":1"), ("HSET h1 b v", ":1")]);
    assert_eq!(client.run(&format!("HSCAN h1 {cursor}")), "*2 $1 0 *2 $1 b $1 v");
}

#[test]
fn a_cursor_that_was_never_given_starts_over() {
    let store = filled(Walked::Keys, 3);
    for cursor in ["1", "18446744073709551615", "-1", "9223372036854775808"] {
        assert_eq!(Walked::Keys.step(&mut Client::on(&store), cursor, "").1.len(), 3, "{cursor}");
    }
}

#[test]
fn an_element_that_is_there_from_the_first_step_to_the_last_is_returned() {
    for seed in 0..60 {
        for walked in Walked::BOTH {
            for table in [Table::Kept, Table::Lost] {
                let mut random = HeldEnvironment::new(0, seed);
                let size = usize::try_from(random_below(&mut random, 120)).unwrap();
                let store = filled(walked, size);
                let mut steady: BTreeSet<String> = (0..size).map(|number| format!("n{number:04}")).collect();
                // The walk has to end: it is disturbed for a while only.
                let mut disturbances = 40;
                let options = format!("COUNT {}", 1 + random_below(&mut random, 9));
                let (names, _) = walk(walked, table, &store, &options, |client| {
                    for _ in 0..random_below(&mut random, 4) {
                        if disturbances == 0 {
                            return;
                        }
                        disturbances -= 1;
                        let name = format!("n{:04}", random_below(&mut random, 150));
                        if random_below(&mut random, 2) == 0 {
                            walked.remove(client, &name);
                            steady.remove(&name);
                        } else {
                            walked.add(client, &name);
                        }
                    }
                });
                let returned: BTreeSet<String> = names.into_iter().collect();
                let missed: Vec<&String> = steady.difference(&returned).collect();
                assert!(missed.is_empty(), "seed {seed}, {walked:?}, table {table:?}, {options}: {missed:?}");
            }
        }
    }
}
