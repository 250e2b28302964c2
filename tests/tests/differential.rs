//! Orbweaver against Debian's redis-server over random command sequences, and the comparison itself against faults put in on purpose.
//!
//! `ORBWEAVER_SEED` and `ORBWEAVER_COMMANDS` choose another run, `ORBWEAVER_REPORTS` how many different commands are reported,
//! `ORBWEAVER_ONLY` (names between commas) which commands are used.

use std::io;

use orbweaver_engine::resp::Value;
use orbweaver_tests::client::Args;
use orbweaver_tests::differential::{Plan, Summary, compare};
use orbweaver_tests::engine_target::EngineTarget;
use orbweaver_tests::known_differences::SHARED_REVISION;
use orbweaver_tests::orbweaver_server::ServedTarget;
use orbweaver_tests::redis_server::RedisServer;
use orbweaver_tests::target::{SocketTarget, Target};

/// Every command that the sequences must reach.
const COMMANDS: &[&str] = &[
    "APPEND",
    "DECR",
    "DECRBY",
    "GET",
    "GETDEL",
    "GETEX",
    "GETRANGE",
    "GETSET",
    "INCR",
    "INCRBY",
    "INCRBYFLOAT",
    "LCS",
    "MGET",
    "MSET",
    "MSETNX",
    "PSETEX",
    "SET",
    "SETEX",
    "SETNX",
    "SETRANGE",
    "STRLEN",
    "SUBSTR",
    "COPY",
    "DEL",
    "EXISTS",
    "EXPIRE",
    "EXPIREAT",
    "EXPIRETIME",
    "KEYS",
    "MOVE",
    "OBJECT",
    "PERSIST",
    "PEXPIRE",
    "PEXPIREAT",
    "PEXPIRETIME",
    "PTTL",
    "RANDOMKEY",
    "RENAME",
    "RENAMENX",
    "SCAN",
    "TOUCH",
    "TTL",
    "TYPE",
    "UNLINK",
    "DBSIZE",
    "FLUSHDB",
    "FLUSHALL",
    "SWAPDB",
    "HDEL",
    "HEXISTS",
    "HGET",
    "HGETALL",
    "HINCRBY",
    "HINCRBYFLOAT",
    "HKEYS",
    "HLEN",
    "HMGET",
    "HMSET",
    "HRANDFIELD",
    "HSCAN",
    "HSET",
    "HSETNX",
    "HSTRLEN",
    "HVALS",
    "LINDEX",
    "LINSERT",
    "LLEN",
    "LMOVE",
    "BLMOVE",
    "BLMPOP",
    "BLPOP",
    "BRPOP",
    "BRPOPLPUSH",
    "LMPOP",
    "LPOP",
    "LPOS",
    "LPUSH",
    "LPUSHX",
    "LRANGE",
    "LREM",
    "LSET",
    "LTRIM",
    "RPOP",
    "RPOPLPUSH",
    "RPUSH",
    "RPUSHX",
    "SADD",
    "SCARD",
    "SDIFF",
    "SDIFFSTORE",
    "SINTER",
    "SINTERCARD",
    "SINTERSTORE",
    "SISMEMBER",
    "SMEMBERS",
    "SMISMEMBER",
    "SMOVE",
    "SPOP",
    "SRANDMEMBER",
    "SREM",
    "SSCAN",
    "SUNION",
    "SUNIONSTORE",
    "BITCOUNT",
    "BITFIELD",
    "BITFIELD_RO",
    "BITOP",
    "BITPOS",
    "GETBIT",
    "SETBIT",
    "PFADD",
    "PFCOUNT",
    "PFMERGE",
    "GEOADD",
    "GEODIST",
    "GEOHASH",
    "GEOPOS",
    "GEORADIUS",
    "GEORADIUS_RO",
    "GEORADIUSBYMEMBER",
    "GEORADIUSBYMEMBER_RO",
    "GEOSEARCH",
    "GEOSEARCHSTORE",
    "SORT",
    "SORT_RO",
    "ZADD",
    "ZCARD",
    "ZCOUNT",
    "ZDIFF",
    "ZDIFFSTORE",
    "ZINCRBY",
    "ZINTER",
    "ZINTERCARD",
    "ZINTERSTORE",
    "ZLEXCOUNT",
    "BZMPOP",
    "BZPOPMAX",
    "BZPOPMIN",
    "ZMPOP",
    "ZMSCORE",
    "ZPOPMAX",
    "ZPOPMIN",
    "ZRANDMEMBER",
    "ZRANGE",
    "ZRANGEBYLEX",
    "ZRANGEBYSCORE",
    "ZRANGESTORE",
    "ZRANK",
    "ZREM",
    "ZREMRANGEBYLEX",
    "ZREMRANGEBYRANK",
    "ZREMRANGEBYSCORE",
    "ZREVRANGE",
    "ZREVRANGEBYLEX",
    "ZREVRANGEBYSCORE",
    "ZREVRANK",
    "ZSCAN",
    "ZSCORE",
    "ZUNION",
    "ZUNIONSTORE",
    "PUBLISH",
    "SPUBLISH",
    "PUBSUB",
    "AUTH",
    "CLIENT",
    "COMMAND",
    "CONFIG",
    "ECHO",
    "HELLO",
    "INFO",
    "MEMORY",
    "PING",
    "QUIT",
    "RESET",
    "SELECT",
    "TIME",
    "MULTI",
    "EXEC",
    "DISCARD",
    "WATCH",
    "UNWATCH",
];

/// Stores have thousands of counters for the changes of keys: that two keys share one must be as rare.
const MIN_COMMANDS_PER_ALARM: usize = 100_000;

fn assert_no_difference(summary: &Summary) {
    assert!(summary.reports.is_empty(), "replies differ:\n\n{}", summary.reports.join("\n"));
}

/// Commands in one comparison. A million take half a minute in this process; without optimisation, or over a socket, it would be minutes.
const COMMANDS_COMPARED: usize = 100_000;
const COMMANDS_COMPARED_IN_PROCESS: usize = if cfg!(debug_assertions) { COMMANDS_COMPARED } else { 1_000_000 };

fn assert_as_redis(name: &str, ours: &mut dyn Target, commands: usize) {
    let redis = RedisServer::start(&[]);
    let summary = compare(&mut SocketTarget::new(redis.address()), ours, &Plan::from_environment(commands)).expect("both servers live");
    println!("{name}: {} commands compared; known differences met: {:?}", summary.commands, summary.known);
    assert_no_difference(&summary);
    let alarms = summary.known.get(SHARED_REVISION).copied().unwrap_or(0);
    assert!(alarms <= 2 + summary.commands / MIN_COMMANDS_PER_ALARM, "{alarms} times a change of another key has failed an EXEC");
}

#[test]
fn the_engine_in_this_process_answers_as_redis_does() {
    assert_as_redis("engine", &mut EngineTarget::default(), COMMANDS_COMPARED_IN_PROCESS);
}

/// An engine that is given one command at a time, where others are given whole pipelines.
struct OneByOne(EngineTarget);

impl Target for OneByOne {
    fn reset(&mut self) -> io::Result<()> {
        self.0.reset()
    }

    fn execute(&mut self, connection: usize, commands: &[&Args]) -> io::Result<Vec<Value>> {
        commands.iter().map(|command| Ok(self.0.execute(connection, &[command])?.remove(0))).collect()
    }
}

#[test]
fn the_engine_answers_commands_one_by_one_as_redis_does() {
    assert_as_redis("one by one", &mut OneByOne(EngineTarget::default()), COMMANDS_COMPARED);
}

#[test]
fn the_server_on_memory_answers_as_redis_does() {
    assert_as_redis("memory", &mut ServedTarget::start(&["--store", "memory"]), COMMANDS_COMPARED);
}

#[test]
fn the_server_on_rocksdb_answers_as_redis_does() {
    assert_as_redis("rocksdb", &mut ServedTarget::start(&["--store", "rocksdb", "--packed-bytes", "0"]), COMMANDS_COMPARED);
}

#[test]
fn the_server_with_packed_collections_answers_as_redis_does() {
    assert_as_redis("packed", &mut ServedTarget::start(&["--store", "rocksdb", "--packed-bytes", "60"]), COMMANDS_COMPARED);
}

#[test]
fn redis_does_not_differ_from_itself_and_every_command_is_reached() {
    let (one, two) = (RedisServer::start(&[]), RedisServer::start(&[]));
    let plan = Plan::new(80_000);
    let summary = compare(&mut SocketTarget::new(one.address()), &mut SocketTarget::new(two.address()), &plan).expect("both servers live");
    assert_no_difference(&summary);
    for name in COMMANDS {
        let count = summary.by_command.get(*name).unwrap_or_else(|| panic!("{name} does not occur"));
        assert!(count.total >= 10, "{name} occurs {} times only", count.total);
        assert!(*name == "AUTH" || count.errors < count.total, "{name} is always answered with an error");
    }
}

/// A server with a fault: what `replace` answers is sent instead of the command.
struct Faulty {
    server: SocketTarget,
    replace: fn(&Args) -> Option<Args>,
}

impl Target for Faulty {
    fn reset(&mut self) -> io::Result<()> {
        self.server.reset()
    }

    fn execute(&mut self, connection: usize, commands: &[&Args]) -> io::Result<Vec<Value>> {
        let commands: Vec<Args> = commands.iter().map(|command| (self.replace)(command).unwrap_or_else(|| (*command).clone())).collect();
        self.server.execute(connection, &commands.iter().collect::<Vec<_>>())
    }
}

/// The report on a fault: the commands of the shortest script, without replies and remarks.
fn shortest_script(replace: fn(&Args) -> Option<Args>) -> Vec<String> {
    let (one, two) = (RedisServer::start(&[]), RedisServer::start(&[]));
    let mut faulty = Faulty { server: SocketTarget::new(two.address()), replace };
    let plan = Plan::new(20_000);
    let summary = compare(&mut SocketTarget::new(one.address()), &mut faulty, &plan).expect("both servers live");
    let report = summary.reports.first().expect("the fault is found");
    report.lines().filter(|line| !line.starts_with(['#', '>'])).map(str::to_owned).collect()
}

#[test]
fn a_command_without_its_effect_is_found_and_shrunk_to_a_few_commands() {
    let script = shortest_script(|command| {
        let is_persist = command[0] == b"PERSIST" && command.len() == 2;
        is_persist.then(|| vec![b"EXISTS".to_vec(), command[1].clone()])
    });
    assert!(script.len() <= 3, "{script:#?}");
    assert!(script.iter().any(|line| line.contains("PERSIST")), "{script:#?}");
}

#[test]
fn a_wrong_error_text_is_found_and_shrunk_to_one_command() {
    let script = shortest_script(|command| (command == &[b"GET".to_vec()]).then(|| vec![b"STRLEN".to_vec()]));
    assert_eq!(script.len(), 1, "{script:#?}");
}
