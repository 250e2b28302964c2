//! Clients that are not ours: `redis-cli` and redis-py do every command there is, in RESP2 and RESP3, and what the documentation has
//! them do.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use orbweaver_engine::resp::Value;
use orbweaver_tests::client::{Client, args, encode_command};
use orbweaver_tests::orbweaver_server::OrbweaverServer;
use orbweaver_tests::redis_server::RedisServer;
use orbweaver_tests::tools::python;
use tempfile::TempDir;

const PROTOCOLS: [&str; 2] = ["2", "3"];
const CLI_COMMANDS: &str = include_str!("../clients/commands.redis");
const OPERATIONS: &str = include_str!("../../docs/operations.md");

/// Commands whose replies differ from server to server and from time to time, and what they contain.
const CLI_UNCERTAIN: &[(&[&str], &str)] = &[
    (&["INFO"], "redis_version:7.2"),
    (&["INFO", "persistence"], "store:rocksdb"),
    (&["CONFIG", "GET", "*"], "databases"),
    (&["COMMAND", "COUNT"], "(integer) "),
    (&["COMMAND", "DOCS", "get"], "Returns the string value of a key"),
    (&["HELLO"], "redis"),
    (&["TIME"], "1) \""),
    (&["CLIENT", "ID"], "(integer) "),
    (&["CLIENT", "INFO"], "addr=127.0.0.1:"),
    (&["CLIENT", "LIST"], "cmd=client|list"),
    (&["CLIENT", "SETINFO", "LIB-NAME", "tester"], "OK"),
    (&["CLIENT", "NO-TOUCH", "on"], "OK"),
    (&["CLIENT", "KILL", "TYPE", "normal"], "(integer) 0"),
    // Redis 7.4 brought them.
    (&["HEXPIRE", "nothing", "10", "FIELDS", "1", "f"], "-2"),
    (&["HPEXPIRE", "nothing", "10", "FIELDS", "1", "f"], "-2"),
    (&["HEXPIREAT", "nothing", "10", "FIELDS", "1", "f"], "-2"),
    (&["HPEXPIREAT", "nothing", "10", "FIELDS", "1", "f"], "-2"),
    (&["HTTL", "nothing", "FIELDS", "1", "f"], "-2"),
    (&["HPTTL", "nothing", "FIELDS", "1", "f"], "-2"),
    (&["HEXPIRETIME", "nothing", "FIELDS", "1", "f"], "-2"),
    (&["HPEXPIRETIME", "nothing", "FIELDS", "1", "f"], "-2"),
    (&["HPERSIST", "nothing", "FIELDS", "1", "f"], "-2"),
    (&["QUIT"], "OK"),
    (&["SHUTDOWN"], ""),
];

/// The families that tests of their own, and issues of their own, look after.
const OTHER_GROUPS: [&str; 13] =
    ["list", "set", "sorted-set", "bitmap", "hyperloglog", "geo", "stream", "pubsub", "scripting", "cluster", "module", "sentinel", "pika"];

/// What must be among the commands whatever else is.
const COMMANDS: &str = "
    append decr decrby get getdel getex getrange getset incr incrby incrbyfloat lcs mget mset msetnx psetex set setex setnx setrange
    strlen substr copy del dump exists expire expireat expiretime keys move object persist pexpire pexpireat pexpiretime pttl randomkey
    rename renamenx restore scan touch ttl type unlink dbsize flushdb flushall swapdb hdel hexists hget hgetall hincrby hincrbyfloat hkeys
    hlen hmget hmset hrandfield hscan hset hsetnx hstrlen hvals auth client command config debug echo hello info memory ping quit
    reset select time multi exec discard watch unwatch";

/// Asserts that the program succeeded, and returns its standard output.
fn succeeded(output: Output) -> String {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success() && stderr.is_empty(), "{}\n{stdout}{stderr}", output.status);
    stdout
}

fn cli(address: SocketAddr) -> Command {
    let mut command = Command::new("redis-cli");
    command.args(["-p", &address.port().to_string()]);
    command
}

/// Runs redis-cli with `options` and returns what it prints.
fn cli_prints(address: SocketAddr, options: &[&str]) -> String {
    succeeded(cli(address).args(options).output().expect("redis-cli is installed"))
}

/// Runs redis-cli with `options`, feeds it `input`, and returns what it prints.
fn cli_fed(address: SocketAddr, options: &[&str], input: &[u8]) -> String {
    let mut command = cli(address);
    let mut child =
        command.args(options).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("redis-cli is installed");
    // redis-cli reads while it writes little: its output fits the pipe until all is read.
    child.stdin.take().expect("it is piped").write_all(input).expect("redis-cli reads");
    succeeded(child.wait_with_output().expect("it is our child"))
}

/// The names of all commands that are not of another family.
fn names(address: SocketAddr) -> BTreeSet<String> {
    let mut client = Client::connect(address).expect("the server accepts");
    client.call(&args(["HELLO", "3"])).expect("the server speaks RESP3");
    let Value::Map(docs) = client.call(&args(["COMMAND", "DOCS"])).expect("the server answers") else { panic!("not a map") };
    let names = docs.into_iter().filter_map(|(name, doc)| {
        let Value::Map(doc) = doc else { panic!("not a map: {doc:?}") };
        let group = doc.into_iter().find(|(key, _)| text(key) == "group").map(|(_, group)| text(&group));
        (!OTHER_GROUPS.contains(&group.expect("every command has a group").as_str())).then(|| text(&name))
    });
    names.collect()
}

fn text(value: &Value) -> String {
    match value {
        Value::Bulk(text) | Value::Simple(text) => String::from_utf8_lossy(text).into_owned(),
        other => panic!("not a text: {other:?}"),
    }
}

/// Names the commands that the server has and that are not among `exercised`.
fn assert_nothing_is_left_out(address: SocketAddr, exercised: &BTreeSet<String>) {
    let names = names(address);
    let missing: Vec<&str> = COMMANDS.split_whitespace().filter(|name| !names.contains(*name)).collect();
    assert!(missing.is_empty(), "the server does not have {missing:?}");
    let left_out: Vec<&String> = names.difference(exercised).collect();
    assert!(left_out.is_empty(), "add these to what is tested: {left_out:?}");
}

/// A server on RocksDB and the directory that it needs.
fn server(options: &[&str]) -> (OrbweaverServer, TempDir) {
    let dir = TempDir::new().expect("a temporary directory");
    (OrbweaverServer::start(&dir.path().join("data"), &[options, &["--durability", "os"]].concat()), dir)
}

/// The lines of the script for redis-cli.
fn cli_lines() -> impl Iterator<Item = &'static str> {
    CLI_COMMANDS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[test]
fn redis_cli_prints_what_it_prints_with_redis() {
    let script: String = cli_lines().map(|line| format!("{line}\n")).collect();
    for protocol in PROTOCOLS {
        let (ours, _dir) = server(&[]);
        let redis = RedisServer::start(&["--enable-debug-command", "local"]);
        let options = ["--no-raw", &format!("-{protocol}")];
        let [expected, got] = [redis.address(), ours.address()].map(|address| cli_fed(address, &options, script.as_bytes()));
        assert!(expected.lines().count() >= cli_lines().count(), "redis-cli printed too little:\n{expected}");
        assert_eq!(got, expected, "in RESP{protocol}");
    }
}

#[test]
fn redis_cli_does_every_command() {
    for protocol in PROTOCOLS {
        let (mut server, _dir) = server(&[]);
        let address = server.address();
        let uncertain = CLI_UNCERTAIN.iter().map(|(command, _)| command[0]);
        let exercised = cli_lines().filter_map(|line| line.split(' ').next()).chain(uncertain).map(str::to_lowercase).collect();
        assert_nothing_is_left_out(address, &exercised);
        for (command, part) in CLI_UNCERTAIN {
            let printed = cli_prints(address, &[&["--no-raw", &format!("-{protocol}")], *command].concat());
            assert!(printed.contains(part), "{command:?} in RESP{protocol}: {printed}");
        }
        assert!(server.process().wait_for_exit().success(), "SHUTDOWN stops the server");
    }
}

#[test]
fn redis_cli_scans_selects_and_loads_in_bulk() {
    let (server, _dir) = server(&[]);
    let address = server.address();
    let commands: Vec<u8> = (0..10_000).flat_map(|index| encode_command(&args(["SET", &format!("key:{index}"), "value"]))).collect();
    let printed = cli_fed(address, &["-n", "3", "--pipe"], &commands);
    assert!(printed.contains("errors: 0, replies: 10000"), "{printed}");
    let scanned = cli_prints(address, &["-n", "3", "--scan"]);
    let found: BTreeSet<&str> = scanned.lines().collect();
    let expected: Vec<String> = (0..10_000).map(|index| format!("key:{index}")).collect();
    assert_eq!(found, expected.iter().map(String::as_str).collect(), "--scan");
    assert_eq!(cli_prints(address, &["-n", "3", "--scan", "--pattern", "key:42??"]).lines().count(), 100);
    assert_eq!(cli_prints(address, &["-n", "3", "GET", "key:1"]), "value\n");
    assert_eq!(cli_prints(address, &["GET", "key:1"]), "\n");
}

#[test]
fn redis_cli_authenticates() {
    let (server, _dir) = server(&["--password", "secret"]);
    assert_eq!(cli_prints(server.address(), &["GET", "a"]), "NOAUTH Authentication required.\n\n");
    assert_eq!(cli_prints(server.address(), &["--no-auth-warning", "-a", "secret", "SET", "a", "1"]), "OK\n");
    assert_eq!(cli_prints(server.address(), &["--no-auth-warning", "--user", "default", "--pass", "secret", "-3", "GET", "a"]), "1\n");
    let refused = cli(server.address()).args(["--no-auth-warning", "-a", "wrong", "PING"]).output().expect("redis-cli is installed");
    let printed = String::from_utf8_lossy(&refused.stdout).into_owned() + &String::from_utf8_lossy(&refused.stderr);
    assert!(printed.contains("WRONGPASS") && printed.contains("NOAUTH"), "{printed}");
}

/// Runs a script of `tests/clients` and returns what it prints.
fn python_prints(script: &str, words: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(script);
    // Some commands are done through methods that redis-py would rather have replaced: servers must answer them all the same.
    succeeded(Command::new(python()).args(["-W", "ignore::DeprecationWarning"]).arg(script).args(words).output().expect("Python starts"))
}

#[test]
fn redis_py_does_every_command() {
    for protocol in PROTOCOLS {
        let (mut server, _dir) = server(&[]);
        let address = server.address();
        let names = names(address);
        let printed = python_prints("commands.py", &[&address.port().to_string(), protocol, "--of-7.2", "--shutdown"]);
        assert!(server.process().wait_for_exit().success(), "SHUTDOWN stops the server");
        let exercised: BTreeSet<String> = printed.lines().map(str::to_owned).collect();
        let left_out: Vec<&String> = names.difference(&exercised).collect();
        assert!(left_out.is_empty(), "add these to commands.py: {left_out:?}");
    }
}

#[test]
fn redis_py_finds_the_same_with_redis() {
    let redis = RedisServer::start(&["--enable-debug-command", "local"]);
    for protocol in PROTOCOLS {
        python_prints("commands.py", &[&redis.address().port().to_string(), protocol]);
    }
}

#[test]
fn redis_py_authenticates() {
    let (server, _dir) = server(&["--password", "secret"]);
    for protocol in PROTOCOLS {
        python_prints("password.py", &[&server.address().port().to_string(), protocol, "secret"]);
    }
}

/// Keys of every type, with and without an expiry.
const MOVED_KEYS: &str = r#"
SET string "bytes \x00\xff"
SET soon value PX 100000000
RPUSH list a 1 a
SADD integers 1 2 3
SADD members a b 1
ZADD scores 1 a -inf b 2.5 c
HSET fields a 1 b 2
PFADD visitors a b c
EXPIRE fields 100000
"#;

/// Redis' digest of everything that the server holds.
fn digest(server: &RedisServer) -> String {
    cli_prints(server.address(), &["DEBUG", "DIGEST"])
}

#[test]
fn the_script_of_the_operations_page_moves_keys_both_ways() {
    let section = OPERATIONS.split("## Moving keys to and from Redis").nth(1).expect("the section is there");
    let script = section.split("```python\n").nth(1).and_then(|rest| rest.split("```").next()).expect("the script is there");
    let dir = TempDir::new().expect("a temporary directory");
    let path = dir.path().join("move_keys.py");
    std::fs::write(&path, script).expect("the script can be written");

    let [redis, other_redis] = [(); 2].map(|()| RedisServer::start(&["--enable-debug-command", "local"]));
    let (ours, _dir) = server(&[]);
    cli_fed(redis.address(), &[], MOVED_KEYS.as_bytes());
    let url = |address: SocketAddr| format!("redis://{address}/0");
    for (source, target) in [(redis.address(), ours.address()), (ours.address(), other_redis.address())] {
        let output = Command::new(python()).arg(&path).args([url(source), url(target)]).output().expect("Python starts");
        assert_eq!(succeeded(output), "8 moved, 0 refused\n");
    }
    assert_eq!(digest(&other_redis), digest(&redis));
    assert_eq!(cli_prints(ours.address(), &["TTL", "list"]), "-1\n");

    cli_prints(redis.address(), &["XADD", "stream", "*", "field", "value"]);
    let output = Command::new(python()).arg(&path).args([url(redis.address()), url(ours.address())]).output().expect("Python starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "8 moved, 1 refused\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "b'stream': Bad data format\n");
    assert_eq!(output.status.code(), Some(1));
}
