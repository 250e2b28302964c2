//! Calls that go straight do what they do otherwise: beside an engine whose every event is listened to, so that none does. Many keys of every kind,
//! which expire, hold something else, have fields that expire, or are packed.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod common;
mod keeper;
mod measured;

use common::Client;
use measured::Measured;
use orbweaver_engine::session::Delivery;
use orbweaver_engine::store::fault::{FaultPlan, FaultStore};
use orbweaver_engine::store::{Batch, Limits, MemoryStore, Order, Scope, Store, StoreError};
use proptest::prelude::*;

/// Commands that go straight, on keys of their kind.
const STRAIGHT: [&str; 101] = [
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
    "HDEL h@ #",
    "SREM m@ #",
    "ZREM z@ #",
    "LPOP l@",
    "RPOP l@",
    "HLEN h@",
    "SCARD m@",
    "ZCARD z@",
    "LLEN l@",
    "EXISTS s@",
    "TOUCH l@",
    "TYPE h@",
    "PTTL m@",
    "TTL z@",
    "PEXPIRETIME l@",
    "SET s@ text EX 100",
    "SET s@ 12 px 7",
    "SET s@ text EX 0",
    "SET s@ text PX x",
    "SETEX s@ 100 text",
    "SETEX s@ -1 text",
    "PSETEX s@ 9 12",
    "EXPIRE s@ 100",
    "PEXPIRE h@ 5",
    "EXPIRE m@ 100",
    "PEXPIRE z@ 11",
    "EXPIRE l@ 9223372036854775807",
    "PEXPIRE l@ 8",
    "EXPIRE h@ x",
    "DEL s@",
    "UNLINK s@",
    "GETDEL s@",
    "GETSET s@ text",
    "GETSET s@ 5",
    "HSET h@ # v g x",
    "HSET h@ a 1 b 2 a 3 d 4 e 5",
    "HMSET h@ # v",
    "HMSET h@ # v g x # w",
    "HSET h@ # v g",
    "HDEL h@ # g",
    "HDEL h@ a b # a e",
    "SADD m@ a b c d e",
    "SADD m@ # a #",
    "SREM m@ # a",
    "SREM m@ a b c d e",
    "ZADD z@ 1 # 2.5 a",
    "ZADD z@ -inf a -0 b 3 a",
    "ZADD z@ 1 # x a",
    "ZREM z@ # a b",
    "RPUSH l@ a b c d e f",
    "LPUSH l@ # x",
    "HMGET h@ # g none #",
    "SMISMEMBER m@ # a",
    "ZMSCORE z@ # a #",
    "SET s@ text NX",
    "SET s@ 12 XX",
    "SET s@ text KEEPTTL",
    "SET s@ text GET",
    "SET s@ text NX GET",
    "SET s@ text XX GET KEEPTTL",
    "SET s@ text NX EX 100",
    "SET s@ text PX 9 NX",
    "SET s@ text px 7 xx get",
    "SET s@ text NX EX 0",
    "SET s@ text NX XX",
    "SET s@ text EX 9223372036854775",
    "PERSIST s@",
    "PERSIST h@",
    "PERSIST z@",
    "MSET s@ 1",
    "MSET s@ text s0 2 s@ 3",
    "MSET s@ text s1",
    "DEL s@ s2",
    "UNLINK s3 s@ s3",
    "MGET s@",
    "MGET s@ h@ s1 s@",
];

/// Those that only read: they may show collections, too, where nothing else in their group changes them.
const READS: [&str; 46] = [
    "GET s@",
    "STRLEN s@",
    "HGET h@ #",
    "HEXISTS h@ #",
    "HSTRLEN h@ #",
    "SISMEMBER m@ #",
    "ZSCORE z@ #",
    "HLEN h@",
    "SCARD m@",
    "ZCARD z@",
    "LLEN l@",
    "HGETALL h@",
    "HKEYS h@",
    "HVALS h@",
    "SMEMBERS m@",
    "LRANGE l@ 0 -1",
    "LRANGE l@ -2 1",
    "LRANGE l@ 1 x",
    "ZRANGE z@ 0 -1",
    "ZRANGE z@ 1 -2",
    "ZREVRANGE z@ -3 1",
    "ZREVRANGE z@ 1 x",
    "ZRANGEBYSCORE z@ (-3 1.5",
    "ZREVRANGEBYSCORE z@ +inf -1.5",
    "LINDEX l@ 0",
    "LINDEX l@ -1",
    "LINDEX l@ 3",
    "LINDEX l@ x",
    "ZRANK z@ #",
    "ZREVRANK z@ #",
    "EXISTS h@",
    "TYPE z@",
    "TYPE s@",
    "TTL h@",
    "PTTL s@",
    "EXPIRETIME m@",
    "HMGET h@ #",
    "HMGET h@ # g # a",
    "SMISMEMBER m@ #",
    "SMISMEMBER m@ # a #",
    "ZMSCORE z@ #",
    "ZMSCORE z@ # a #",
    "MGET s@",
    "MGET s@ s0 h@ s2 s@ none",
    "MGET h@",
    "MGET z@ z@",
];

/// Commands that do not, or that make it impossible for others.
const OTHERS: [&str; 35] = [
    "SET s@ text PXAT 5",
    "SET s@ text VX 12",
    "GETEX s@ EX 100",
    "SET s@ text KEEPTTL EX 1",
    "SET h@ text EX 1",
    "SET h@ text",
    "SET s@",
    "EXPIRE h@ 0",
    "EXPIRE z@ 100 NX",
    "PEXPIRE l@ -5",
    "HPEXPIRE h@ 5 FIELDS 1 #",
    "ZADD z@ XX CH 1 # 2 a",
    "ZADD z@ GT 1 # 2 a",
    "HINCRBYFLOAT h@ # 1",
    "PEXPIREAT m@ 100",
    "DEL s@ h@",
    "DEL h@",
    "UNLINK m@ z@",
    "GETDEL l@",
    "RENAME s@ h@",
    "LPOP l@ 2",
    "APPEND s@ more",
    "MSET s@ 1 l@ 2",
    "HGETALL h@",
    "ZRANGE z@ 0 -1 WITHSCORES",
    "LRANGE l@ 0 -1",
    "GET m@",
    "EXISTS s@ h@",
    "ZRANK z@ # WITHSCORE",
    "ZRANK l@ #",
    "LINDEX l@ 1",
    "SELECT 1",
    "SELECT 0",
    "SWAPDB 0 1",
    "FLUSHDB",
];

/// In pipelines of their own: where somebody listens, they end a group, and what has expired is removed by who reads it only in a group that writes.
const PROTOCOLS: [&str; 2] = ["HELLO 2", "HELLO 3"];

/// How many keys of a kind there are.
const KEYS: usize = 6;

const LISTENER: u64 = 77;
const CLIENT: u64 = 78;
const WATCHER: u64 = 79;
const WAITER: u64 = 80;

/// Pipelines, each with how long it is waited behind it.
type Pipelines = Vec<(Vec<String>, u64)>;

/// The store, as one that refuses batches which name a key twice.
fn strict(store: &MemoryStore) -> FaultStore<MemoryStore> {
    FaultStore::new(store.clone(), FaultPlan::default(), StoreError::Conflict)
}

/// What is told to whom by pipelines, and the store that they leave. Where `are_heard`, somebody listens to all events. One client watches a key
/// meanwhile; where `some_wait`, another one now and then waits for a list.
fn run(pipelines: &Pipelines, limits: Limits, packed: usize, some_wait: bool, are_heard: bool) -> (Vec<(u64, String)>, MemoryStore) {
    let store = MemoryStore::with_limits(limits);
    let is_split = limits.max_batch_ops != u64::MAX || limits.max_batch_bytes != u64::MAX;
    let mut client = Client::on_any_packing(Box::new(strict(&store)), packed);
    let mut told = Vec::new();
    let mut exchange = |client: &mut Client, connection: u64, input: String| {
        let outcome = client.engine().exchange(&[Delivery { connection, input: input.into() }]);
        let others = outcome.answers.into_iter().filter(|answer| answer.connection != LISTENER);
        told.extend(others.map(|answer| (answer.connection, String::from_utf8(answer.output).unwrap())));
    };
    for connection in [LISTENER, CLIENT, WATCHER, WAITER] {
        client.engine().connect(connection, "127.0.0.1:9", None);
    }
    if are_heard {
        exchange(&mut client, LISTENER, "CONFIG SET notify-keyspace-events KEA\r\nPSUBSCRIBE *\r\n".into());
    }
    for (number, (pipeline, wait_ms)) in pipelines.iter().enumerate() {
        let key = number % KEYS;
        let watched = ["s", "h", "m", "z", "l"].map(|kind| format!("{kind}{key}"));
        exchange(&mut client, WATCHER, format!("WATCH {}\r\n", watched[number % watched.len()]));
        if some_wait && number % 3 == 0 {
            exchange(&mut client, WAITER, format!("BLPOP l{key} 0.01\r\n"));
        }
        let is_silent = number % 7 == 6;
        let silence = |mode| if is_silent { format!("CLIENT REPLY {mode}\r\n") } else { String::new() };
        exchange(&mut client, CLIENT, silence("OFF") + &pipeline.join("\r\n") + "\r\n" + &silence("ON"));
        // Whether what belongs to the key has changed.
        exchange(&mut client, WATCHER, "MULTI\r\nPING\r\nEXEC\r\n".into());
        client.wait_ms(*wait_ms);
        // Where groups are split depends on how they run, and on that which reads remove what has expired: so it is gone before.
        while is_split && client.engine().sweep(1).unwrap().more {}
    }
    exchange(&mut client, WATCHER, "INFO errorstats\r\n".into());
    (told, store)
}

fn command(of: impl Strategy<Value = &'static str>) -> impl Strategy<Value = String> {
    (of, 0..KEYS, 0..4).prop_map(|(template, key, name)| template.replace('@', &key.to_string()).replace('#', &format!("n{name}")))
}

fn pipelines() -> impl Strategy<Value = Pipelines> {
    let straight = || prop::sample::select(STRAIGHT.as_slice());
    let read = || prop::sample::select(READS.as_slice());
    let beside_writes = prop_oneof![1 => straight(), 6 => read()];
    let mixed = prop_oneof![12 => straight(), 1 => prop::sample::select(OTHERS.as_slice())];
    let commands = prop_oneof![
        3 => prop::collection::vec(command(straight()), 1..60).boxed(),
        2 => prop::collection::vec(command(read()), 1..60).boxed(),
        2 => prop::collection::vec(command(beside_writes), 1..12).boxed(),
        1 => prop::collection::vec(command(mixed), 1..60).boxed(),
        1 => prop::sample::select(PROTOCOLS.as_slice()).prop_map(|command| vec![command.to_owned()]).boxed(),
    ];
    prop::collection::vec((commands, 0..20_u64), 1..50)
}

proptest! {
    #[test]
    fn calls_that_go_straight_reply_and_leave_what_they_do_otherwise(
        pipelines in pipelines(),
        (max_batch_ops, max_batch_bytes) in prop::sample::select([(50, u64::MAX), (u64::MAX, 2000), (300, u64::MAX), (u64::MAX, 60_000), (u64::MAX, u64::MAX)].as_slice()),
        packed in prop::sample::select([0, 0, 0, 20, 60, 200].as_slice()),
        some_wait in prop::bool::weighted(0.2),
    ) {
        let limits = Limits { max_batch_ops, max_batch_bytes, ..Limits::NONE };
        let [straight, otherwise] = [false, true].map(|are_heard| run(&pipelines, limits, packed, some_wait, are_heard));
        prop_assert_eq!(straight.0, otherwise.0);
        if packed == 0 {
            prop_assert_eq!(straight.1.contents(), otherwise.1.contents());
        } else {
            // What is packed depends on what is committed together, and that on who listens.
            let [mut straight, mut otherwise] = [straight.1, otherwise.1].map(|store| Client::on_any_packing(Box::new(store), packed));
            prop_assert_eq!(keeper::check(straight.engine(), 1000), Vec::<String>::new());
            prop_assert_eq!(keeper::dump(straight.engine(), 1 << 16), keeper::dump(otherwise.engine(), 1 << 16));
        }
    }

}

proptest! {
    // Each is thousands of commands.
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn sorted_sets_that_become_large_get_their_trees(
        names in prop::collection::vec((0..900_u32, 0..5_u32), 1200..2000),
        width in 1..128_usize,
    ) {
        // Not in rows: no two of one key come one behind the other.
        let beside = |name: u32, score: u32| if name.is_multiple_of(50) { "EXPIRE large 1000".to_owned() } else { format!("SET s{} {score}", name % 5) };
        let add = |name: u32, score: u32| match name % 3 {
            0 => format!("ZADD large {score} {name} {name} more{name} 1 more{score}"),
            1 if score == 4 => format!("ZINCRBY large -2 {name}"),
            1 if score == 3 => format!("ZREM large {name} more{name} none"),
            _ => format!("ZADD large {score} {name}"),
        };
        let pair = |&(name, score): &(u32, u32)| [add(name, score), beside(name, score)];
        let commands: Vec<String> = names.iter().flat_map(pair).collect();
        let pipelines: Pipelines = commands.chunks(width).map(|pipeline| (pipeline.to_vec(), 0)).collect();
        let [straight, otherwise] = [false, true].map(|are_heard| run(&pipelines, Limits::NONE, 0, false, are_heard));
        prop_assert_eq!(straight.0, otherwise.0);
        let contents = straight.1.contents();
        prop_assert!(contents.iter().any(|(keyspace, records)| keyspace == "rank" && !records.is_empty()));
        prop_assert_eq!(contents, otherwise.1.contents());
    }
}

#[test]
fn a_score_that_changes_its_sign_at_zero_keeps_its_record() {
    let store = MemoryStore::new();
    let mut client = Client::on_any(Box::new(strict(&store)));
    client.run("ZADD z 0 a");
    assert_eq!(client.run("ZADD z 1 a\r\nSET x 1\r\nZADD z -0 a"), ":0 +OK :0");
    assert_eq!(client.run("ZRANGE z 0 -1 WITHSCORES"), "*2 $1 a $2 -0");
}

/// Whether pipelines leave and reply the same, whether somebody listens or not, behind `before`.
fn is_the_same(before: &[&str], pipeline: &[&str], limits: Limits) {
    let pipelines: Pipelines = [before, pipeline].map(|pipeline| (pipeline.iter().map(|&command| command.to_owned()).collect(), 0)).into();
    let [straight, otherwise] = [false, true].map(|are_heard| run(&pipelines, limits, 0, false, are_heard));
    assert_eq!(straight.0, otherwise.0, "{pipeline:?} behind {before:?}");
    assert_eq!(straight.1.contents(), otherwise.1.contents(), "{pipeline:?} behind {before:?}");
}

#[test]
fn what_is_taken_away_is_as_otherwise_at_the_last_member_with_an_expiry_and_at_either_end() {
    let lists =
        ["RPUSH l a b c d e", "RPUSH one a", "RPUSH short a", "EXPIRE short 100", "SET x 1", "RPUSH long a b c d e", "EXPIRE long 100"];
    let others = ["HSET h f 1 g 2", "HSET last f 1", "SADD m a", "ZADD z 0 a 5 b", "ZADD only -0 a", "SET x 1"];
    let few = Limits { max_batch_ops: 4, ..Limits::NONE };
    for limits in [Limits::NONE, few] {
        is_the_same(&lists, &["LPUSH l p", "RPOP l", "LPUSH l q", "RPOP l", "GET x", "RPOP l"], limits);
        is_the_same(&lists, &["RPUSH l p", "LPOP l", "RPUSH l q", "LPOP l", "GET x", "LPOP l"], limits);
        is_the_same(&lists, &["LPUSH l p", "LPOP l", "LPUSH l q", "RPOP l"], limits);
        is_the_same(&lists, &["LPOP l", "RPOP l", "GET x", "LPOP l", "LPOP l", "LPOP l", "GET x", "LPOP l"], limits);
        is_the_same(&lists, &["GET x", "LPOP l", "LPOP l", "LPOP l", "GET x", "LPOP l", "LPOP l", "LPOP l"], limits);
        is_the_same(&lists, &["LPOP one", "GET x", "LPOP one", "LPOP none"], limits);
        is_the_same(&lists, &["LPOP one", "RPUSH one b", "LPOP one", "RPUSH one c"], limits);
        is_the_same(&lists, &["LPOP short", "GET x", "RPOP long", "LPUSH long p", "GET x", "RPOP long"], limits);
        is_the_same(&others, &["HDEL h f", "HDEL h f", "HDEL h none", "HDEL last f", "HGET last f", "HDEL absent f"], limits);
        is_the_same(&others, &["HDEL h f", "HSET h f 3", "HDEL last f", "HSET last g 3", "HDEL absent f", "HSET absent f 1"], limits);
        is_the_same(&others, &["SREM m a", "SREM m a", "SISMEMBER m a", "SADD new a", "GET x"], limits);
        is_the_same(&others, &["ZREM z a", "SET x 2", "ZADD z -0 a", "SET x 3", "ZREM z b", "ZADD z 5 b"], limits);
        is_the_same(&others, &["ZREM only a", "ZSCORE only a", "GET x"], limits);
    }
}

#[test]
fn a_command_that_comes_with_other_arguments_than_before_does_what_these_say() {
    let before = ["HSET h a 1 b 2 c 3", "SET s 0", "RPUSH l a b c"];
    for pipeline in [
        ["SET s 1", "SET s 2 EX 100", "GET s", "SET s 3"],
        ["HDEL h a", "HDEL h a b", "HDEL h c", "HGET h c"],
        ["LPUSH l p", "GET s", "LPUSH l q r", "LPUSH l s"],
        ["LPOP l", "GET s", "LPOP l 2", "RPOP l"],
        ["GET s", "GET s s", "GET", "GET s"],
    ] {
        is_the_same(&before, &pipeline, Limits::NONE);
    }
}

#[test]
fn several_members_elements_and_strings_are_as_otherwise_however_many_and_long_they_are() {
    let before = ["HSET h a 1 b 2", "SADD m a b", "ZADD z 1 a", "RPUSH l a", "SET x 1 EX 100", "SET y 2"];
    let many = |of: &str| (0..5000).map(|number| of.replace('#', &number.to_string())).collect::<String>();
    let long = "n".repeat(2000);
    // They differ where nobody looks first, so that it is given up to tell them apart.
    let alike = (0..2000).map(|number| format!(" {0}{number:04}{0}", "x".repeat(50))).collect::<String>();
    let few = Limits { max_batch_ops: 20, ..Limits::NONE };
    for limits in [Limits::NONE, few] {
        is_the_same(&before, &["HSET h a 3 c 4 a 5", "HLEN h", "HMGET h a b c d", "HDEL h a d a", "HLEN h"], limits);
        is_the_same(&before, &["HDEL h a b", "HSET y f 1 g 2", "HMGET y f", "HMGET none f g"], limits);
        is_the_same(&before, &["SADD m a c c", "SMISMEMBER m c d", "SREM m a b c", "SMISMEMBER m a b", "SCARD m"], limits);
        is_the_same(&before, &["ZADD z 2 a 3 b 4 b", "ZMSCORE z a b c", "ZADD z 5 c x d", "ZREM z a b", "ZCARD z"], limits);
        is_the_same(&before, &["RPUSH l b c", "LPUSH l d e", "LLEN l", "RPUSH x a b", "RPUSH new a b"], limits);
        is_the_same(&before, &["MSET x 2 y 3 x 4", "GET x", "TTL x", "DEL x y x", "MSET x 5 z 6", "DEL x none"], limits);
        is_the_same(&before, &["MSET x 2 y", "DEL y z", "MSET h 1 y 2", "GET y"], limits);
        is_the_same(&before, &["MGET y x none y h", "GET y", "MGET x x", "MGET none", "HGET h a", "MGET y"], limits);
        is_the_same(&before, &["MGET h", "HGET h x", "HMGET h y"], limits);
        is_the_same(&before, &["MGET m m", "SISMEMBER m x", "SMISMEMBER m y a"], limits);
        is_the_same(&before, &["MGET y x none y h", "SET y 3", "MGET y x h none", "MSET none 4 x 5", "MGET y x none y"], limits);
    }
    for pipeline in [
        [format!("HSET h{}", many(" # v")), "GET y".into(), "HLEN h".into()],
        [format!("HMGET h{}", many(" #")), "GET y".into(), "HLEN h".into()],
        [format!("ZADD z{}", many(" # m#")), "SET y 1".into(), "ZADD z 1 a 2 b".into()],
        [format!("HSET h {long} 1 c 2"), "GET y".into(), format!("HMGET h {long} c")],
        [format!("HMSET h {long} 1"), "GET y".into(), format!("HMGET h {long}")],
        [format!("SADD m{alike}"), "GET y".into(), format!("SMISMEMBER m{alike}")],
        [format!("MGET{alike}"), "GET y".into(), "SCARD m".into()],
        [format!("MSET {long} 1 y 2"), "GET y".into(), format!("DEL {long} y")],
    ] {
        is_the_same(&before, &pipeline.each_ref().map(String::as_str), Limits::NONE);
    }
}

#[test]
fn a_string_that_is_too_long_keeps_all_of_an_mset_from_being_put() {
    let mut client = Client::on(&MemoryStore::new());
    client.run("CONFIG SET proto-max-bulk-len 1048576\r\nSET a 1");
    let told = client.run(&format!("MSET a 2 b {} c 3\r\nEXISTS a b c\r\nGET a", "x".repeat((1 << 20) + 1)));
    assert!(told.ends_with(":1 $1 1") && told.starts_with('-'), "{told}");
}

#[test]
fn what_is_named_again_and_again_is_read_once() {
    let mut measured = Measured::on(MemoryStore::new());
    measured.client.run("MSET a one b three n 1 m 10");
    measured.client.run("HSET h f four g fifteen");
    measured.client.run("RPUSH l one two three\r\nZADD z 1 m 2 n");
    let pipelines = [
        ("STRLEN a\r\nSTRLEN b", ":3 :5", 2),
        ("HSTRLEN h f\r\nHSTRLEN h g", ":4 :7", 3),
        ("LINDEX l 0\r\nLINDEX l -1", "$3 one $5 three", 3),
        ("ZSCORE z m\r\nZSCORE z n", "$1 1 $1 2", 3),
        ("EXISTS a\r\nTYPE b", ":1 +string", 2),
        ("GET b\r\nGET h\r\nGET a", "$5 three -WRONGTYPE Operation against a key holding the wrong kind of value $3 one", 3),
    ];
    for (requests, replies, records) in pipelines {
        let (cost, told) = measured.cost_of(&[requests; 20].join("\r\n"));
        assert_eq!(cost.records_read, records, "{requests}");
        assert_eq!(told, [replies; 20].join(" "));
    }
    let (cost, told) = measured.cost_of(&["INCR n\r\nINCR m"; 20].join("\r\n"));
    let sums: Vec<String> = (1..=20).map(|turn| format!(":{} :{}", 1 + turn, 10 + turn)).collect();
    assert_eq!((cost.records_read, cost.puts, told), (2, 2, sums.join(" ")));
}

#[test]
fn a_key_that_expires_is_told_of_beside_what_writes_others_and_loses_its_expiry_to_a_set() {
    for (pipeline, replies) in [("SET a 1\r\nTTL b\r\nGET b", "+OK :100 $1 x"), ("GET b\r\nTYPE b\r\nSET a 2", "$1 x +string +OK")] {
        let mut measured = Measured::on(MemoryStore::new());
        measured.client.run("SET b x EX 100\r\nSET a 0");
        let (cost, told) = measured.cost_of(pipeline);
        assert_eq!((told.as_str(), cost.records_read, cost.puts, cost.calls), (replies, 2, 1, 3), "{pipeline}");
    }
    is_the_same(&["SET b x EX 100", "SET a 0"], &["SET a 1", "SET b y", "TTL b", "SET a 2", "TTL a"], Limits::NONE);
    is_the_same(&["SET b x EX 100", "SET a 0"], &["SET a 1", "INCR n", "TTL b", "GET b", "STRLEN b"], Limits::NONE);
}

#[test]
fn an_expiry_comes_moves_and_goes_with_what_has_it() {
    // As long as a value may be on a store below, where it does not expire.
    let set_longest = format!("SET longest {}", "x".repeat(98));
    let before = ["SET s x EX 100", "SET n 5", "RPUSH one a", "EXPIRE one 100", "HSET h f 1 g 2", "SADD m a", &set_longest];
    let few = Limits { max_batch_ops: 4, ..Limits::NONE };
    let short = Limits { max_value_bytes: 100, ..Limits::NONE };
    for limits in [Limits::NONE, few, short, Limits { max_batch_bytes: 200, ..Limits::NONE }] {
        for pipeline in [
            ["INCR n", "EXPIRE n 60", "INCR n", "EXPIRE n 60", "TTL n"],
            ["INCR new", "EXPIRE new 60", "SETNX new 1", "TTL new", "SET new 2"],
            ["SETEX s 50 y", "TTL s", "SET s z", "TTL s", "SET s w PX 7000"],
            ["PEXPIRE s 100000", "PTTL s", "SET s x EX 100", "GET s", "SETEX s 100 x"],
            ["LPOP one", "TTL one", "EXPIRE one 10", "EXISTS one", "GET n"],
            ["EXPIRE one 10", "LPOP one", "TTL one", "LLEN one", "GET n"],
            ["LPOP one", "RPUSH one b", "TTL one", "EXPIRE one 10", "TTL one"],
            ["HSET h f 3", "EXPIRE h 10", "HDEL h f", "TTL h", "HGETALL m"],
            ["SADD made a", "EXPIRE made 10", "SISMEMBER made a", "TTL made", "EXPIRE absent 10"],
            ["EXPIRE longest 10", "SET n 6", "TTL longest", "STRLEN longest", "EXPIRE n 10"],
            ["SETEX n 0 7", "GET n", "EXPIRE n 9223372036854775807", "SET n 7 EX x", "TTL n"],
            ["EXPIRE n 10", "EXPIRE h 0", "GET n", "HLEN h", "EXPIRE n -1"],
            ["DEL s", "TTL s", "SET s y", "EXPIRE s 50", "GETDEL s"],
            ["GETSET s y", "TTL s", "DEL s", "SETNX s z", "GETSET new 1"],
            ["DEL n", "HSET n f 1", "HSET other f 1", "DEL other", "UNLINK s"],
            ["SETEX new 10 x", "UNLINK new", "EXISTS new", "DEL new", "EXPIRE new 10"],
            ["SET m x EX 10", "SMEMBERS m", "SETEX h 10 y", "SET n 1 EX 10", "TTL n"],
        ] {
            is_the_same(&before, &pipeline, limits);
        }
    }
    let members: String = (0..600).map(|n| format!(" {n} member{n}")).collect();
    is_the_same(&[&format!("ZADD large{members}")], &["EXPIRE large 10", "TTL large", "ZRANK large member500"], Limits::NONE);
    is_the_same(&[&format!("ZADD large{members}")], &["PEXPIRE large 5000"], Limits::NONE);
}

#[test]
fn a_collection_is_shown_beside_what_changes_others_and_not_beside_what_changes_it() {
    let before = ["HSET h a 1 b 2", "HSET i a 1", "ZADD z 1 a 2 b", "RPUSH l a b", "SADD m a", "SET s x"];
    // To begin, the heads, what the changed ones are asked for, the scan, and to commit.
    for (pipeline, replies, calls) in [
        ("HSET i a 2\r\nHGETALL h", ":0 *4 $1 a $1 1 $1 b $1 2", 5),
        ("HGETALL h\r\nSET s y", "*4 $1 a $1 1 $1 b $1 2 +OK", 4),
        ("SADD m b\r\nLRANGE l 0 -1", ":1 *2 $1 a $1 b", 5),
        ("RPUSH l c\r\nZRANGEBYSCORE z 1 2\r\nSMEMBERS m", ":3 *2 $1 a $1 b *1 $1 a", 5),
        ("ZRANK z b\r\nHDEL h a", ":1 :1", 5),
    ] {
        let mut measured = Measured::on(MemoryStore::new());
        before.iter().for_each(|command| _ = measured.client.run(command));
        let (cost, told) = measured.cost_of(pipeline);
        assert_eq!((told.as_str(), cost.calls), (replies, calls), "{pipeline}");
        is_the_same(&before, &pipeline.split("\r\n").collect::<Vec<_>>(), Limits::NONE);
    }
    for pipeline in [
        ["HSET h a 2", "HGETALL h", "SMEMBERS m", "HGETALL h"],
        ["HGETALL h", "HSET h c 2", "HGETALL h", "GET s"],
        ["HDEL i a", "HGETALL i", "HSET i b 1", "HGETALL i"],
        ["HSET new a 1", "HGETALL new", "HGETALL h", "SMEMBERS none"],
        ["RPUSH l c", "LRANGE l 0 -1", "LPOP l", "LRANGE l 0 -1"],
        ["LPOP l", "LINDEX l 0", "RPUSH other x", "LINDEX l -1"],
        ["ZADD z 0 c", "ZRANK z b", "ZRANGE z 0 -1", "ZREVRANK z c"],
        ["SET s y", "HGETALL s", "SMEMBERS h", "ZRANK l a"],
    ] {
        is_the_same(&before, &pipeline, Limits::NONE);
        is_the_same(&before, &pipeline, Limits { max_batch_ops: 1, ..Limits::NONE });
    }
}

#[test]
fn a_rank_is_that_of_the_members_that_the_same_transaction_has_left() {
    let mut client = Client::on(&MemoryStore::new());
    client.run("ZADD z 1 a 2 b 3 c\r\nZADD other 1 a");
    let told = client.run("MULTI\r\nZADD z 0 first\r\nDEL other\r\nZRANK z c\r\nZREM z a\r\nZRANK z c\r\nZREVRANK z first\r\nEXEC");
    assert!(told.ends_with("*6 :1 :1 :3 :1 :2 :2"), "{told}");
}

#[test]
fn a_large_value_among_small_ones_leaves_a_group_in_one_piece() {
    let limits = Limits { max_batch_bytes: 1 << 20, ..Limits::NONE };
    let mut measured = Measured::on(MemoryStore::with_limits(limits));
    let blob = "x".repeat(300_000);
    // A string without an expiry, one that gets one, one that gets another, which is put again, and one that loses it.
    for (large, puts, deletes) in [
        (format!("SET blob {blob}"), 100, 0),
        (format!("SETEX blob 100 {blob}"), 101, 0),
        ("EXPIRE blob 50".to_owned(), 101, 1),
        (format!("SET blob y{blob}"), 100, 1),
    ] {
        let pipeline: Vec<String> = (0..100).map(|n| if n == 50 { large.clone() } else { format!("INCR c{n}") }).collect();
        let (cost, _) = measured.cost_of(&pipeline.join("\r\n"));
        assert_eq!((cost.commits, cost.puts, cost.deletes), (1, puts, deletes), "{}", &large[..14]);
    }
}

/// What shows collections, of which there are many pages, and goes straight.
const SHOWS: [&str; 31] = [
    "HGETALL h",
    "HKEYS h",
    "HVALS h",
    "SMEMBERS m",
    "LRANGE l 0 -1",
    "LRANGE l 700 -701",
    "LRANGE l 5 2",
    "LRANGE none 0 -1",
    "ZRANGE z 0 -1",
    "ZRANGE z 128 900",
    "ZRANGE few 1 -2",
    "ZREVRANGE z 0 9",
    "ZREVRANGE z 128 2000",
    "ZRANGE few 9 10",
    "ZRANGEBYSCORE z 3 (7",
    "ZRANGEBYSCORE z 7 3",
    "ZRANGEBYSCORE z -inf +inf",
    "ZREVRANGEBYSCORE z (7 3",
    "ZREVRANGEBYSCORE z x 3",
    "LINDEX l 0",
    "LINDEX l -1",
    "LINDEX l 2499",
    "LINDEX l 2500",
    "LINDEX none x",
    "ZRANK z member:0",
    "ZRANK z member:1234",
    "ZREVRANK z member:2499",
    "ZRANK z none",
    "ZREVRANK few b",
    "ZRANK few d",
    "ZRANK none a",
];

/// Ranks that are far from the end they count from, or nearer to the other, or of a set that is neither small nor has a tree: a group with one of them does not
/// go straight.
const FAR: [&str; 7] = [
    "ZRANGE z 129 900",
    "ZREVRANGE z 129 900",
    "ZREVRANGE z -2 -1",
    "ZRANGE few 2 -1",
    "ZRANGE z -129 -1",
    "ZRANK middle member:77",
    "ZREVRANK middle member:200",
];

#[test]
fn collections_of_many_pages_are_shown_as_otherwise() {
    let row = |command: &str, one: &dyn Fn(usize) -> String| (0..2500).fold(command.to_owned(), |row, place| row + " " + &one(place));
    let before = [
        row("HSET h", &|place| format!("field:{place} {}", "v".repeat(place % 300))),
        row("SADD m", &|place| format!("member:{place}")),
        row("RPUSH l", &|place| "e".repeat(place % 200)),
        row("ZADD z", &|place| format!("{} member:{place}", place % 10)),
        "ZADD few 1 a 2 b -0 c 4 d".to_owned(),
        (0..300).fold("ZADD middle".to_owned(), |row, place| format!("{row} {} member:{place}", place % 9)),
    ];
    let before: Vec<&str> = before.iter().map(String::as_str).collect();
    for protocol in ["HELLO 2", "HELLO 3"] {
        let before = [&before[..], &[protocol]].concat();
        is_the_same(&before, &SHOWS, Limits::NONE);
        is_the_same(&before, &[&["SET w 1"], &SHOWS[..], &["HSET i a 1"]].concat(), Limits::NONE);
        SHOWS.iter().for_each(|show| is_the_same(&before, &[show], Limits::NONE));
        FAR.iter().for_each(|far| is_the_same(&before, &[SHOWS[0], far, SHOWS[9]], Limits::NONE));
    }
}

#[test]
fn a_scan_that_fails_is_made_again_with_its_group_or_fails_one_call() {
    let store = MemoryStore::new();
    Client::on(&store).run("HSET h a 1 b 2\r\nRPUSH l a b c\r\nZADD z 1 a 2 b\r\nSET s 1");
    let pipeline = "GET s\r\nHGETALL h\r\nLRANGE l 0 -1\r\nZRANGEBYSCORE z 1 2\r\nGET s";
    let replies = Client::on(&store).run(pipeline);
    let failures = |error: StoreError| {
        let plan = FaultPlan::default();
        let mut client = Client::on_any(Box::new(FaultStore::new(store.clone(), plan.clone(), error)));
        client.run("GET s");
        // To begin, the heads, and three scans; or not that far.
        (1..=5)
            .map(|call| {
                plan.fail_at(call);
                let told = client.run(pipeline);
                assert!(plan.calls() >= call);
                (told, client.run("INFO errorstats"))
            })
            .collect::<Vec<_>>()
    };
    for error in [StoreError::Conflict, StoreError::Expired] {
        for (told, errors) in failures(error) {
            assert_eq!(told, replies);
            assert!(!errors.contains("errorstat_"), "{errors}");
        }
    }
    // Beside what writes, the group is made again whole, and written once.
    Client::on(&store).run("SET n 0");
    for error in [StoreError::Conflict, StoreError::Expired] {
        for call in 1..=6 {
            let plan = FaultPlan::default();
            let mut client = Client::on_any(Box::new(FaultStore::new(store.clone(), plan.clone(), error.clone())));
            client.run("SET n 0");
            plan.fail_at(call);
            assert_eq!(client.run(&format!("INCR n\r\n{pipeline}\r\nGET n")), format!(":1 {replies} $1 1"), "{error:?} {call}");
            assert!(plan.calls() >= call);
            assert_eq!(client.run("GET n"), "$1 1");
        }
    }
    let errors_told: Vec<usize> = failures(StoreError::Io("broken".into()))
        .iter()
        .map(|(told, _)| told.matches("-ERR").count() + told.matches("-IO").count())
        .collect();
    assert_eq!(errors_told, [5, 5, 1, 1, 1]);
}

#[test]
fn what_counts_other_records_than_are_packed_in_it_is_answered_as_otherwise() {
    for (count, ask) in [1_u64, 3, 1 << 40, u64::MAX].into_iter().flat_map(|count| {
        let asks = ["SADD s c d", "SREM s a b", "SCARD s", "EXPIRE s 10", "SMEMBERS s", "SADD s a-member-that-has-no-room-in-the-head"];
        asks.map(|ask| (count, ask))
    }) {
        let replies = [false, true].map(|are_heard| {
            let store = MemoryStore::new();
            let mut client = Client::on_any_packing(Box::new(store.clone()), 30);
            if are_heard {
                client.run("CONFIG SET notify-keyspace-events KEA");
            }
            client.run("SADD s a b");
            let mut handle = store.clone();
            let meta = handle.open_keyspace("meta", Order::Bytes).unwrap();
            let (key, head) = store.contents().into_iter().find(|(name, _)| name == "meta").unwrap().1[0].clone();
            let mut batch = Batch::new();
            batch.put(meta, &key, &[&head[..10], &count.to_be_bytes(), &head[18..]].concat()).unwrap();
            handle.begin(&Scope::Exclusive).unwrap();
            handle.commit(&batch, &[]).unwrap();
            [client.run(ask), client.run("SCARD s"), client.run("SMEMBERS s")]
        });
        assert_eq!(replies[0], replies[1], "{count} {ask}");
    }
}

#[test]
fn collections_with_records_that_are_damaged_or_missing_are_answered_as_otherwise() {
    let replies = [false, true].map(|are_heard| {
        let store = MemoryStore::new();
        let mut client = Client::on(&store);
        if are_heard {
            client.run("CONFIG SET notify-keyspace-events KEA");
        }
        client.run("HSET h a 1 b 2 c 3\r\nSADD m a b c\r\nZADD z 1 a 2 b 3 c\r\nRPUSH l a b c\r\nRPUSH m2 a b\r\nSET s 1");
        let mut handle = store.clone();
        let mut batch = Batch::new();
        for name in ["data", "score"] {
            let keyspace = handle.open_keyspace(name, Order::Bytes).unwrap();
            let records = store.contents().into_iter().find(|(keyspace, _)| keyspace == name).unwrap().1;
            for (position, (key, _)) in records.iter().enumerate() {
                match position % 4 {
                    1 => batch.put(keyspace, key, b"\x09damaged").unwrap(),
                    2 => batch.delete(keyspace, key).unwrap(),
                    _ => {}
                }
            }
        }
        handle.begin(&Scope::Exclusive).unwrap();
        handle.commit(&batch, &[]).unwrap();
        let reads = [
            "HGETALL h",
            "HKEYS h",
            "HVALS h",
            "SMEMBERS m",
            "ZRANGE z 0 -1",
            "ZRANGE z 1 1",
            "ZREVRANGE z 1 2",
            "ZRANGEBYSCORE z 2 5",
            "ZREVRANGEBYSCORE z 5 2",
            "ZRANK z a",
            "ZREVRANK z a",
            "ZRANK z c",
            "LINDEX l 0",
            "LINDEX l 1",
            "LINDEX l 2",
            "LRANGE l 0 -1",
            "LRANGE l 1 1",
            "LRANGE l 2 2",
            "LRANGE m2 0 -1",
            "GET s",
        ];
        // An element does not go straight beside what writes.
        let beside_writes: Vec<&str> = reads.into_iter().filter(|read| !read.starts_with("LINDEX")).collect();
        let beside_writes = format!("SET w 1\r\n{}\r\nGET w", beside_writes.join("\r\n"));
        let mut replies = vec![client.run(&reads.join("\r\n")), client.run(&beside_writes)];
        replies.extend(reads.map(|read| client.run(read)));
        replies
    });
    assert!(replies[0].iter().any(|reply| reply.starts_with('-')), "{replies:?}");
    assert_eq!(replies[0], replies[1]);
}
