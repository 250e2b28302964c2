//! A pipeline on few keys: what one command leaves is what the next one finds, as if each had come alone. Every layout.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;
mod measured;

use common::Client;
use measured::Measured;
use orbweaver_engine::layout::NAMES;
use orbweaver_engine::store::fault::{FaultPlan, FaultStore};
use orbweaver_engine::store::{Limits, MemoryStore, StoreError};
use proptest::prelude::*;

/// Commands on a key, `@`, and another one, `#`: every kind, most of them failing where another kind is there; some make the key, empty it, or
/// change it in other ways than by writing what was found.
const COMMANDS: [&str; 52] = [
    "SET @ text",
    "SET @ 7 EX 100",
    "SET @ 7 NX GET",
    "GET @",
    "GETDEL @",
    "INCR @",
    "INCRBY @ 9223372036854775807",
    "APPEND @ more",
    "SETRANGE @ 3 x",
    "SETBIT @ 9 1",
    "STRLEN @",
    "MSET @ 1 # 2 @ 3",
    "HSET @ f v",
    "HSET @ f w g x",
    "HSETNX @ f y",
    "HINCRBY @ f 1",
    "HGET @ f",
    "HDEL @ f",
    "HDEL @ f g",
    "HLEN @",
    "HGETALL @",
    "LPUSH @ a",
    "RPUSH @ b c",
    "LPOP @",
    "RPOP @ 2",
    "LSET @ 5 z",
    "LINSERT @ BEFORE b y",
    "LINSERT @ AFTER b y",
    "RPOP @",
    "LMOVE @ # LEFT RIGHT",
    "LRANGE @ 0 -1",
    "SADD @ m",
    "SADD @ m n",
    "SREM @ m",
    "SMOVE @ # m",
    "SISMEMBER @ m",
    "SMEMBERS @",
    "ZADD @ 1 m",
    "ZADD @ 2 m 3 n",
    "ZADD @ 0 m",
    "ZADD @ -0 m",
    "ZINCRBY @ inf m",
    "ZINCRBY @ -inf m",
    "ZREM @ m",
    "ZSCORE @ m",
    "ZRANGE @ 0 -1",
    "EXPIRE @ 100",
    "EXPIRE @ -1",
    "PERSIST @",
    "TYPE @",
    "DEL @",
    "RENAME @ #",
];

/// How many requests come in one call.
const WIDTH: usize = 32;

/// The replies to the commands in pipelines of `width`, and what they leave in the store.
fn run(layout: &str, limits: Limits, commands: &[String], width: usize) -> (String, impl PartialEq + std::fmt::Debug) {
    let store = MemoryStore::with_limits(limits);
    let mut client = Client::on_layout(&store, layout);
    let mut replies = Vec::new();
    for pipeline in commands.chunks(width) {
        replies.extend(client.run_bytes(&pipeline.join("\r\n")));
    }
    (String::from_utf8(replies).unwrap(), store.contents())
}

proptest! {
    #[test]
    fn pipelines_leave_what_single_commands_do(
        // Some of them several times, one behind the other, and more often than a group has room.
        steps in prop::collection::vec(
            (prop::sample::select(COMMANDS.as_slice()), 0..8, prop_oneof![20 => Just(1), 4 => 2..6_usize, 1 => Just(300)]),
            1..80,
        ),
        layout in prop::sample::select(NAMES.as_slice()),
        max_batch_ops in prop::sample::select([50, u64::MAX].as_slice()),
    ) {
        // Mostly one key, so that commands on it come one behind the other.
        let with_keys = |&(command, chosen, times): &(&str, i32, usize)| {
            let (own, other) = if chosen == 0 { ("other", "key") } else { ("key", "other") };
            std::iter::repeat_n(command.replace('@', own).replace('#', other), times)
        };
        let commands: Vec<String> = steps.iter().flat_map(with_keys).collect();
        let limits = Limits { max_batch_ops, ..Limits::NONE };
        let (alone, in_pipelines) = (run(layout, limits, &commands, 1), run(layout, limits, &commands, 1500));
        prop_assert_eq!(&alone.0, &in_pipelines.0);
        prop_assert_eq!(alone.1, in_pipelines.1);
    }
}

/// Seldom more than a group has room for, even of a row.
fn times() -> impl Strategy<Value = usize> {
    prop_oneof![100 => 0..4_usize, 1 => Just(270), 1 => Just(1100)]
}

/// What fills and empties lists at their ends, and what is no list.
const AT_ENDS: [&str; 13] = [
    "LPUSH @ a",
    "LPUSH @ b c",
    "LPUSH @ d",
    "RPUSH @ e",
    "RPUSH @ f g h",
    "RPUSH # i",
    "LPOP @",
    "RPOP @",
    "RPOP @ 3",
    "LPOP @ x",
    "EXPIRE @ 100",
    "SET @ text",
    "DEL @",
];

proptest! {
    #[test]
    fn rows_of_pushes_and_pops_leave_what_single_ones_do_whatever_is_under_their_key(
        steps in prop::collection::vec((prop::sample::select(&AT_ENDS[..9]), times(), prop::sample::select(AT_ENDS.as_slice())), 1..60),
        layout in prop::sample::select(NAMES.as_slice()),
        max_batch_ops in prop::sample::select([20, u64::MAX].as_slice()),
    ) {
        // Most of what comes is a push or a pop, or several of them.
        let commands = steps.iter().flat_map(|&(at_end, times, other)| {
            std::iter::repeat_n(at_end, times).chain((times % 2 == 0).then_some(other)).map(|command| command.replace('@', "key").replace('#', "other"))
        });
        let commands: Vec<String> = commands.collect();
        let limits = Limits { max_batch_ops, ..Limits::NONE };
        let (alone, in_pipelines) = (run(layout, limits, &commands, 1), run(layout, limits, &commands, 1500));
        prop_assert_eq!(&alone.0, &in_pipelines.0);
        prop_assert_eq!(alone.1, in_pipelines.1);
    }
}

/// What gives members scores, and what takes them away or is no sorted set.
const ADDITIONS: [&str; 19] = [
    "ZINCRBY @ 2 a",
    "ZINCRBY @ -0.5 b",
    "ZADD @ 1 a",
    "ZADD @ 2 a 3 b 1 a",
    "ZADD @ CH 1 b -0 c",
    "ZADD @ NX 5 a 5 d",
    "ZADD @ XX CH 7 a 7 e",
    "ZADD @ GT CH 4 a 4 b",
    "ZADD @ LT 4 a 4 f",
    "ZADD @ XX 1 g",
    "ZADD @ INCR 2 a",
    "ZADD @ NX XX 1 a",
    "ZADD @ 1 a x b",
    "ZINCRBY @ inf a",
    "ZINCRBY @ -inf a",
    "ZINCRBY @ x b",
    "ZREM @ a",
    "DEL @",
    "SET @ text",
];

proptest! {
    #[test]
    fn rows_of_zadds_and_zincrbys_leave_what_single_ones_do_whatever_is_under_their_key(
        steps in prop::collection::vec((prop::sample::select(&ADDITIONS[..10]), times(), prop::sample::select(ADDITIONS.as_slice())), 1..60),
        layout in prop::sample::select(NAMES.as_slice()),
        max_batch_ops in prop::sample::select([30, u64::MAX].as_slice()),
    ) {
        let commands = steps.iter().flat_map(|&(addition, times, other)| {
            std::iter::repeat_n(addition, times).chain((times % 2 == 0).then_some(other)).map(|command| command.replace('@', "key"))
        });
        let commands: Vec<String> = commands.collect();
        let limits = Limits { max_batch_ops, ..Limits::NONE };
        let (alone, in_pipelines) = (run(layout, limits, &commands, 1), run(layout, limits, &commands, 1500));
        prop_assert_eq!(&alone.0, &in_pipelines.0);
        prop_assert_eq!(alone.1, in_pipelines.1);
    }
}

#[test]
fn pushes_of_very_many_elements_are_committed_on_the_way_also_where_these_are_empty() {
    let mut measured = Measured::on(MemoryStore::new());
    let push = format!("RPUSH list{}", " \"\"".repeat(15_000));
    let (cost, replies) = measured.cost_of(&[push.as_str(); 30].join("\r\n"));
    assert!(replies.starts_with(":15000 :30000 ") && replies.ends_with(" :450000"));
    assert!(cost.commits > 1, "{} elements in one batch", cost.puts);
}

#[test]
fn a_row_is_one_commit_where_eight_groups_of_other_requests_are_eight() {
    let commands = |one: &dyn Fn(usize) -> String| (0..1024).map(one).collect::<Vec<_>>().join("\r\n");
    let additions = commands(&|number| format!("ZADD sorted {number} m{number}"));
    let increments = commands(&|number| format!("ZINCRBY sorted {number} m{}", number % 700));
    let pushes = commands(&|number| format!("RPUSH list {number}"));
    for (commands, commits, stops) in [
        (&additions, 1, None),
        (&increments, 1, None),
        (&pushes, 1, None),
        (&commands(&|_| "RPUSH list x".into()), 1, None),
        // What is taken is read before, and may be large.
        (&format!("{pushes}\r\n{}", commands(&|_| "LPOP list".into())), 9, None),
        // What is not like the others behind them, or among them.
        (&format!("{pushes}\r\nSET text x"), 2, None),
        (&commands(&|number| format!("RPUSH list{} {number}", number % 2)), 8, None),
        (&commands(&|number| format!("SET key{number} text")), 8, None),
        // Stores that do not take a long row, and that just do.
        (&additions, 8, Some(10_000)),
        (&additions, 1, Some(16 << 10)),
    ] {
        let limits = Limits { max_batch_ops: stops.unwrap_or(u64::MAX), ..Limits::NONE };
        let (cost, _) = Measured::on(MemoryStore::with_limits(limits)).cost_of(commands);
        assert_eq!(cost.commits, commits, "{}, {stops:?}", &commands[..30]);
    }
}

#[test]
fn equal_pushes_fit_into_any_store_that_one_of_them_fits_into() {
    for max_batch_ops in [100, 4096, 6000, 16 << 10, u64::MAX] {
        for (elements, times) in [(1, 70), (40, 70), (90, 70), (2000, 3), (2046, 3), (2700, 3), (1, 1500)] {
            let commands = vec![format!("RPUSH list{}", " x".repeat(elements)); times];
            let limits = Limits { max_batch_ops, ..Limits::NONE };
            assert_eq!(
                run("orbweaver", limits, &commands, 1500).0,
                run("orbweaver", limits, &commands, 1).0,
                "{elements}, {max_batch_ops}"
            );
        }
    }
}

#[test]
fn equal_requests_that_each_write_a_large_value_are_committed_on_the_way() {
    let mut measured = Measured::on(MemoryStore::new());
    // More than a group has changed before it is committed.
    measured.client.run("SETRANGE key 5242879 x");
    let (cost, replies) = measured.cost_of(&["APPEND key y"; 6].join("\r\n"));
    assert_eq!(replies, ":5242881 :5242882 :5242883 :5242884 :5242885 :5242886");
    assert_eq!(cost.commits, 6);
}

#[test]
fn a_store_that_fails_is_told_to_each_of_the_equal_requests_that_read() {
    let plan = FaultPlan::default();
    let store = FaultStore::new(MemoryStore::new(), plan.clone(), StoreError::Io("gone".into()));
    let mut client = Client::on_any(Box::new(store));
    client.run("SET key value");
    let alone = |client: &mut Client| client.run_bytes("GET key");
    plan.fail_at(1);
    let failed = alone(&mut client);
    assert!(failed.starts_with(b"-"), "{}", failed.escape_ascii());
    plan.fail_at(1);
    assert_eq!(client.run_bytes(&["GET key"; 5].join("\r\n")), failed.repeat(5));
    plan.fail_at(0);
    assert_eq!(client.run_bytes(&["GET key"; 5].join("\r\n")), alone(&mut client).repeat(5));
}

#[test]
fn equal_requests_of_a_pipeline_fail_each_for_itself() {
    let mut client = Client::on(&MemoryStore::with_limits(Limits { read_only: true, ..Limits::NONE }));
    let alone = client.run_bytes("SET key value");
    assert!(alone.starts_with(b"-"));
    assert_eq!(client.run_bytes(&["SET key value"; 5].join("\r\n")), alone.repeat(5));
    let mut client = Client::on(&MemoryStore::new());
    client.run("SET key value");
    let alone = client.run_bytes("LPUSH key element");
    assert!(alone.starts_with(b"-WRONGTYPE"));
    assert_eq!(client.run_bytes(&["LPUSH key element"; 5].join("\r\n")), alone.repeat(5));
    assert_eq!(client.run("GET key"), "$5 value");
}

/// A request that comes again right behind itself, as pipelines on one counter or one list are: it is prepared and read ahead once.
#[test]
fn a_pipeline_of_one_request_reads_what_the_request_reads_alone_and_writes_each_record_once() {
    let mut measured = Measured::on(MemoryStore::new());
    measured.client.run("MSET string text number 7");
    measured.client.run("HSET hash field value");
    measured.client.run("SADD set member");
    measured.client.run("ZADD sorted 1 member");
    // Calls, records read, records put.
    let table = [
        ("GET string", (3, 1, 0)),
        // What is as it was is not put.
        ("SET string text", (3, 1, 0)),
        ("SET string other", (3, 1, 1)),
        ("INCR number", (3, 1, 1)),
        ("HGET hash field", (4, 2, 0)),
        ("HSET hash field value", (4, 2, 0)),
        ("HSET hash field other", (4, 2, 1)),
        ("SADD set member", (4, 2, 0)),
        ("ZADD sorted 1 member", (4, 2, 0)),
        ("ZINCRBY sorted 1 member", (4, 2, 2)),
        // An element each, and the head.
        ("RPUSH list element", (3, 1, WIDTH + 1)),
    ];
    for (request, expected) in table {
        let (cost, _) = measured.cost_of(&[request; WIDTH].join("\r\n"));
        assert_eq!((cost.calls, cost.records_read, cost.puts), expected, "{request}");
    }
}

#[test]
fn a_packed_collection_that_stays_as_it_was_is_not_put() {
    let mut measured = Measured::packing(MemoryStore::new(), 1000);
    measured.client.run("HSET hash field value other value");
    for (request, puts) in [("HSET hash field value", 0), ("HSET hash field new", 1), ("HSET hash field value\r\nHSET hash field new", 0)] {
        assert_eq!(measured.cost_of(request).0.puts, puts, "{request}");
    }
    assert_eq!(measured.client.run("HGETALL hash"), "*4 $5 field $3 new $5 other $5 value");
}

#[test]
fn keys_are_counted_once_for_all_that_ask_until_something_is_written() {
    let mut measured = Measured::on(MemoryStore::new());
    // And a list that is there before.
    let pairs: Vec<String> = (0..99).map(|n| format!("key:{n} value")).collect();
    measured.client.run(&format!("MSET {}", pairs.join(" ")));
    let (once, _) = measured.cost_of("DBSIZE");
    let (often, replies) = measured.cost_of(&["DBSIZE"; WIDTH].join("\r\n"));
    assert_eq!((often.calls, often.records_read, replies), (once.calls, once.records_read, [":100"; WIDTH].join(" ")));
    let (_, replies) = measured.cost_of("DBSIZE\r\nSET new value\r\nDBSIZE\r\nDEL key:1 new\r\nDBSIZE\r\nSELECT 1\r\nDBSIZE\r\nDBSIZE");
    assert_eq!(replies, ":100 +OK :101 :2 :99 +OK :0 :0");
}
