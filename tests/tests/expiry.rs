//! Keys whose time passes while nobody looks: to every command they are absent, as in Redis.

use std::thread::sleep;
use std::time::Duration;

use orbweaver_engine::resp::{Value, render_human, split_inline};
use orbweaver_tests::client::{Args, args};
use orbweaver_tests::engine_target::EngineTarget;
use orbweaver_tests::orbweaver_server::ServedTarget;
use orbweaver_tests::redis_server::RedisServer;
use orbweaver_tests::target::{SocketTarget, Target};

/// How long the keys live, and how long the test sleeps.
const TTL_MS: &str = "20";
const SLEEP: Duration = Duration::from_millis(60);

/// Each finds a string `s` and a hash `h`, both expired, and a string `t` that lives.
const COMMANDS: &[&str] = &[
    "GET s",
    "STRLEN s",
    "EXISTS s h t",
    "TYPE s",
    "TTL s",
    "PTTL h",
    "EXPIRETIME s",
    "PERSIST s",
    "EXPIRE h 1000",
    "TOUCH s h t",
    "DEL s h t",
    "UNLINK h t",
    "KEYS *",
    "SCAN 0 COUNT 1000",
    "RANDOMKEY",
    "OBJECT ENCODING s",
    "RENAME s u",
    "RENAMENX t s",
    "RENAME t h",
    "COPY s u",
    "COPY t s",
    "MOVE s 1",
    "MOVE h 1",
    "SET s new XX",
    "SET s new NX",
    "SET s new GET",
    "SET s new KEEPTTL",
    "SETNX h string",
    "MSETNX s 1 u 2",
    "MSET h 1",
    "GETSET s new",
    "GETDEL s",
    "GETEX s PERSIST",
    "APPEND s more",
    "SETRANGE s 2 x",
    "INCR s",
    "INCRBYFLOAT h 1.5",
    "LCS s t",
    "MGET s t",
    "HGET h f",
    "HGETALL h",
    "HLEN h",
    "HSET h g 2",
    "HSETNX h f 2",
    "HINCRBY h f 5",
    "HDEL h f",
    "HSET s f 1",
    "HSCAN h 0",
    "HRANDFIELD h",
];

/// What is left after the command: the type and the time to live of every key.
const AFTERWARDS: &[&str] =
    &["GET t", "TYPE s", "TTL s", "TYPE h", "TTL h", "GET u", "SCAN 0 COUNT 1000", "DBSIZE", "SELECT 1", "SCAN 0 COUNT 1000", "DBSIZE"];

fn words(line: &str) -> Args {
    split_inline(line.as_bytes()).expect("a sound line")
}

/// The replies to `command` and to those afterwards.
fn replies(target: &mut dyn Target, command: &str) -> Vec<Value> {
    target.reset().expect("the target lives");
    let prepare =
        [args(["SET", "s", "5", "PX", TTL_MS]), args(["HSET", "h", "f", "1"]), args(["PEXPIRE", "h", TTL_MS]), args(["SET", "t", "live"])];
    target.execute(0, &prepare.iter().collect::<Vec<_>>()).expect("the target lives");
    sleep(SLEEP);
    let commands: Vec<Args> = std::iter::once(command).chain(AFTERWARDS.iter().copied()).map(words).collect();
    let mut replies = target.execute(0, &commands.iter().collect::<Vec<_>>()).expect("the target lives");
    replies.iter_mut().for_each(sort_listings);
    replies
}

/// KEYS and SCAN list in any order.
fn sort_listings(reply: &mut Value) {
    if let Value::Array(items) = reply {
        items.iter_mut().for_each(sort_listings);
        if items.iter().all(|item| matches!(item, Value::Bulk(_))) {
            items.sort_by_cached_key(render_human);
        }
    }
}

fn assert_as_redis(ours: &mut dyn Target) {
    let redis = RedisServer::start(&[]);
    let mut redis = SocketTarget::new(redis.address());
    for command in COMMANDS {
        let (expected, got) = (replies(&mut redis, command), replies(ours, command));
        let shown = |replies: &[Value]| replies.iter().map(render_human).collect::<String>();
        assert_eq!(shown(&got), shown(&expected), "{command} on expired keys, and {AFTERWARDS:?}");
    }
}

#[test]
fn expired_keys_are_absent_in_the_engine() {
    assert_as_redis(&mut EngineTarget::default());
}

#[test]
fn expired_keys_are_absent_on_the_server() {
    assert_as_redis(&mut ServedTarget::start(&["--store", "rocksdb"]));
}
