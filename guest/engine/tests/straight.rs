//! Calls that go straight do what they do otherwise: beside an engine whose every event is listened to, so that none does. Many keys of every kind,
//! which expire, hold something else, have fields that expire, or are packed.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod common;

use common::Client;
use orbweaver_engine::session::Delivery;
use orbweaver_engine::store::{Limits, MemoryStore};
use proptest::prelude::*;

/// Commands that go straight, on keys of their kind.
const STRAIGHT: [&str; 25] = [
    "GET s@",
    "STRLEN s@",
    "SET s@ text",
    "SET s@ 12",
    "SETNX s@ 7",
    "INCR s@",
    "DECR s@",
    "INCRBY s@ 9223372036854775800",
    "INCRBY s@ x",
    "DECRBY s@ -9223372036854775808",
    "HGET h@ #",
    "HEXISTS h@ #",
    "HSTRLEN h@ #",
    "HSET h@ # v",
    "HSETNX h@ # w",
    "HINCRBY h@ # 3",
    "SADD m@ #",
    "SISMEMBER m@ #",
    "ZADD z@ 1.5 #",
    "ZADD z@ -0 #",
    "ZADD z@ nx #",
    "ZINCRBY z@ -1.5 #",
    "ZSCORE z@ #",
    "LPUSH l@ #",
    "RPUSH l@ #",
];

/// Commands that do not, or that make it impossible for others.
const OTHERS: [&str; 22] = [
    "SET s@ text EX 1",
    "SET h@ text",
    "SET s@",
    "EXPIRE h@ 1",
    "EXPIRE z@ 100",
    "PEXPIRE l@ 5",
    "PERSIST h@",
    "HPEXPIRE h@ 5 FIELDS 1 #",
    "HSET h@ # v g x",
    "HDEL h@ #",
    "DEL s@",
    "DEL m@ z@",
    "RENAME s@ h@",
    "LPOP l@",
    "APPEND s@ more",
    "SREM m@ #",
    "ZREM z@ #",
    "MSET s@ 1 l@ 2",
    "HGETALL h@",
    "ZRANGE z@ 0 -1 WITHSCORES",
    "LRANGE l@ 0 -1",
    "GET m@",
];

/// How many keys of a kind there are.
const KEYS: usize = 6;

/// The replies to pipelines, and what they leave. Where `are_heard`, somebody listens to all events.
fn run(
    pipelines: &[(Vec<String>, u64)],
    limits: Limits,
    packed: usize,
    are_heard: bool,
) -> (Vec<String>, impl PartialEq + std::fmt::Debug + use<>) {
    const LISTENER: u64 = 77;
    const WATCHER: u64 = 78;
    let store = MemoryStore::with_limits(limits);
    let mut client = Client::on_any_packing(Box::new(store.clone()), packed);
    if are_heard {
        client.run("CONFIG SET notify-keyspace-events KEA");
        client.engine().connect(LISTENER, "127.0.0.1:9", None);
        client.engine().exchange(&[Delivery { connection: LISTENER, input: "PSUBSCRIBE *\r\n".into() }]);
    }
    client.engine().connect(WATCHER, "127.0.0.1:8", None);
    let watch = |client: &mut Client, input: String| {
        let outcome = client.engine().exchange(&[Delivery { connection: WATCHER, input: input.into() }]);
        outcome.answers.into_iter().find(|answer| answer.connection == WATCHER).map(|answer| String::from_utf8(answer.output).unwrap())
    };
    let mut replies = Vec::new();
    for (number, (pipeline, wait_ms)) in pipelines.iter().enumerate() {
        let watched = ["s", "h", "m", "z", "l"].map(|kind| format!("{kind}{}", number % KEYS));
        watch(&mut client, format!("WATCH {}\r\n", watched[number % watched.len()]));
        replies.push(String::from_utf8(client.run_bytes(&pipeline.join("\r\n"))).unwrap());
        // Whether what belongs to the key has changed.
        replies.extend(watch(&mut client, "MULTI\r\nPING\r\nEXEC\r\n".to_owned()));
        client.wait_ms(*wait_ms);
    }
    (replies, store.contents())
}

fn command() -> impl Strategy<Value = String> {
    let template = prop_oneof![12 => prop::sample::select(STRAIGHT.as_slice()), 1 => prop::sample::select(OTHERS.as_slice())];
    (template, 0..KEYS, 0..4).prop_map(|(template, key, name)| template.replace('@', &key.to_string()).replace('#', &format!("n{name}")))
}

proptest! {
    #[test]
    fn calls_that_go_straight_reply_and_leave_what_they_do_otherwise(
        pipelines in prop::collection::vec((prop::collection::vec(command(), 1..60), 0..20_u64), 1..40),
        max_batch_ops in prop::sample::select([50, u64::MAX].as_slice()),
        packed in prop::sample::select([0, 0, 0, 200].as_slice()),
    ) {
        let limits = Limits { max_batch_ops, ..Limits::NONE };
        let (straight, otherwise) = (run(&pipelines, limits, packed, false), run(&pipelines, limits, packed, true));
        prop_assert_eq!(straight.0, otherwise.0);
        prop_assert_eq!(straight.1, otherwise.1);
    }

    #[test]
    fn sorted_sets_that_become_large_get_their_trees(
        names in prop::collection::vec((0..700_u32, 0..5_u32), 600..1500),
        width in 1..300_usize,
    ) {
        let commands: Vec<String> = names.iter().map(|(name, score)| format!("ZADD z{} {score} {name}", name % 2)).collect();
        let pipelines: Vec<(Vec<String>, u64)> = commands.chunks(width).map(|pipeline| (pipeline.to_vec(), 0)).collect();
        let (straight, otherwise) = (run(&pipelines, Limits::NONE, 0, false), run(&pipelines, Limits::NONE, 0, true));
        prop_assert_eq!(straight.0, otherwise.0);
        prop_assert_eq!(straight.1, otherwise.1);
    }
}
