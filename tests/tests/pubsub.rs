//! Publish and subscribe: every connection gets what it gets from Debian's redis-server, in the same order.

use bytes::Bytes;
use orbweaver_engine::environment::SystemEnvironment;
use orbweaver_engine::resp::{Value, decode_reply};
use orbweaver_engine::session::{Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::MemoryStore;
use orbweaver_tests::client::Client;
use orbweaver_tests::orbweaver_server::OrbweaverServer;
use orbweaver_tests::redis_server::RedisServer;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const CONNECTIONS: usize = 3;

/// Conversations: lines, each on one connection. The lines of one step are sent together. No client sends messages to itself: Redis 7.0
/// sends them before the reply, Redis 7.2 behind it.
const CONVERSATIONS: &[&[(usize, &str)]] = &[
    &[
        (0, "SUBSCRIBE a b a"),
        (1, "PSUBSCRIBE a* [xy]"),
        (2, "PUBLISH a one\r\nPUBLISH b two\r\nPUBLISH x three\r\nPUBLISH none four\r\nPUBLISH a \"\""),
        (0, "UNSUBSCRIBE a"),
        (2, "PUBLISH a five\r\nPUBSUB NUMSUB a b\r\nPUBSUB NUMPAT"),
        (0, "UNSUBSCRIBE\r\nGET k\r\nUNSUBSCRIBE"),
        (1, "PUNSUBSCRIBE none\r\nPUNSUBSCRIBE a*"),
        (2, "PUBLISH a six\r\nPUBLISH x seven"),
    ],
    &[
        (0, "HELLO 3\r\nSUBSCRIBE a\r\nPSUBSCRIBE *\r\nSET k v\r\nGET k"),
        (1, "MULTI\r\nSET k w\r\nPUBLISH a in\r\nGET k\r\nEXEC\r\nPUBLISH b behind"),
        (1, "MULTI\r\nPUBLISH a never\r\nNOSUCH\r\nEXEC"),
        (0, "UNSUBSCRIBE\r\nPUNSUBSCRIBE\r\nUNSUBSCRIBE\r\nPUNSUBSCRIBE"),
        (1, "PUBLISH a gone"),
    ],
    &[
        (0, "SSUBSCRIBE s t"),
        (1, "SUBSCRIBE s"),
        (2, "SPUBLISH s shard\r\nPUBLISH s channel\r\nPUBSUB SHARDNUMSUB s t u\r\nPUBSUB SHARDCHANNELS t*"),
        (0, "SUNSUBSCRIBE s\r\nSUBSCRIBE c\r\nGET k\r\nPING\r\nPING word\r\nSUNSUBSCRIBE\r\nUNSUBSCRIBE\r\nSUNSUBSCRIBE"),
        (1, "RESET\r\nGET k"),
        (2, "SPUBLISH s none\r\nPUBLISH s none"),
    ],
    &[
        (0, "MULTI\r\nSUBSCRIBE x y\r\nSSUBSCRIBE s\r\nPSUBSCRIBE p\r\nUNSUBSCRIBE x\r\nEXEC"),
        (1, "PUBLISH x 1\r\nPUBLISH y 2\r\nPUBLISH p 3"),
        (0, "MULTI\r\nEXEC\r\nSUBSCRIBE\r\nNOSUCH\r\nPING a b"),
    ],
    &[
        (0, "CONFIG SET notify-keyspace-events KEA\r\nCONFIG GET notify-keyspace-events\r\nPSUBSCRIBE __key*"),
        (
            1,
            "SET k v\r\nSETRANGE k 1 x\r\nMULTI\r\nDEL k\r\nLPUSH l a\r\nRPOP l\r\nEXEC\r\nSELECT 2\r\nSADD s m\r\nMOVE s 0\r\nGETDEL none",
        ),
        (2, "CONFIG SET notify-keyspace-events Kg\r\nEXPIRE s 100\r\nDEL s\r\nCONFIG SET notify-keyspace-events \"\"\r\nSET k v"),
    ],
];

/// What each connection of a server has got in the end.
fn talk(address: SocketAddr, conversation: &[(usize, &str)]) -> Vec<Vec<Value>> {
    let mut clients: Vec<Client> = (0..CONNECTIONS).map(|_| Client::connect(address).expect("the server takes connections")).collect();
    clients[0].send_raw(b"FLUSHALL\r\n").expect("the server listens");
    clients[0].read_reply().expect("the server answers");
    let mut got = vec![Vec::new(); CONNECTIONS];
    let everybody = (0..CONNECTIONS).map(|connection| (connection, "PING last"));
    for (connection, lines) in conversation.iter().copied().chain(everybody) {
        // The reply to the last line is the end of what this step brings to its connection.
        clients[connection].send_raw(format!("{lines}\r\nPING end\r\n").as_bytes()).expect("the server listens");
        loop {
            let reply = clients[connection].read_reply().expect("the server answers");
            if format!("{reply:?}").contains("\"end\"") {
                break;
            }
            got[connection].push(reply);
        }
    }
    got.into_iter().map(without_hello).collect()
}

/// HELLO's reply has the version in it, and the connection's number.
fn without_hello(mut replies: Vec<Value>) -> Vec<Value> {
    replies.retain(|reply| !matches!(reply, Value::Map(_)));
    replies
}

/// What each connection of an engine in this process has got in the end.
fn talk_in_process(conversation: &[(usize, &str)]) -> Vec<Vec<Value>> {
    let store = Box::new(MemoryStore::new());
    let mut engine = Engine::open(store, Box::new(SystemEnvironment::default()), Settings::default()).expect("an empty store opens");
    let mut got = vec![Vec::new(); CONNECTIONS];
    let numbers = 0..u64::try_from(CONNECTIONS).expect("a few");
    numbers.for_each(|connection| engine.connect(connection, "in-process", None));
    let everybody = (0..CONNECTIONS).map(|connection| (connection, "PING last"));
    for (connection, lines) in conversation.iter().copied().chain(everybody) {
        let connection = u64::try_from(connection).expect("a few");
        for answer in engine.exchange(&[Delivery { connection, input: format!("{lines}\r\n").into() }]).answers {
            got[usize::try_from(answer.connection).expect("a few")].extend(answer.output);
        }
    }
    got.into_iter().map(|bytes| without_hello(decode_all(bytes.into()))).collect()
}

fn decode_all(mut bytes: Bytes) -> Vec<Value> {
    let mut values = Vec::new();
    while let Some((value, used)) = decode_reply(&bytes).expect("replies of Redis' protocol") {
        values.push(value);
        bytes = bytes.slice(used..);
    }
    values
}

#[test]
fn every_connection_of_the_engine_gets_what_it_gets_from_redis() {
    let redis = RedisServer::start(&[]);
    for (number, conversation) in CONVERSATIONS.iter().enumerate() {
        let (theirs, mine) = (talk(redis.address(), conversation), talk_in_process(conversation));
        for (connection, (theirs, mine)) in theirs.iter().zip(&mine).enumerate() {
            assert_eq!(theirs, mine, "conversation {number}, connection {connection}");
        }
    }
}

#[test]
fn every_connection_of_the_server_gets_what_it_gets_from_redis() {
    let redis = RedisServer::start(&[]);
    let dir = TempDir::new().expect("a temporary directory");
    for workers in ["1", "3"] {
        let ours = OrbweaverServer::start(&dir.path().join("data"), &["--store", "memory", "--workers", workers]);
        for (number, conversation) in CONVERSATIONS.iter().enumerate() {
            let [theirs, mine] = [redis.address(), ours.address()].map(|address| talk(address, conversation));
            for (connection, (theirs, mine)) in theirs.iter().zip(&mine).enumerate() {
                assert_eq!(theirs, mine, "conversation {number}, connection {connection}, {workers} workers");
            }
        }
    }
}

#[test]
fn a_key_that_the_sweep_removes_is_told_to_a_client_that_only_waits() {
    let dir = TempDir::new().expect("a temporary directory");
    let server = OrbweaverServer::start(&dir.path().join("data"), &["--store", "memory", "--notify-keyspace-events", "Ex"]);
    let [mut listener, mut client] = [(); 2].map(|()| Client::connect(server.address()).expect("the server takes connections"));
    listener.send_raw(b"SUBSCRIBE __keyevent@0__:expired\r\n").expect("the server listens");
    listener.read_reply().expect("the server answers");
    client.send_raw(b"SET k v PX 50\r\n").expect("the server listens");
    client.read_reply().expect("the server answers");
    let start = Instant::now();
    let message = listener.read_reply().expect("a message comes");
    let words = ["message", "__keyevent@0__:expired", "k"].map(|word| Value::Bulk(word.into()));
    assert_eq!(message, Value::Array(words.to_vec()));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[test]
fn subscriptions_outlive_the_instance() {
    let dir = TempDir::new().expect("a temporary directory");
    let server = OrbweaverServer::start(&dir.path().join("data"), &["--store", "memory", "--allow-debug-panic"]);
    let [mut listener, mut client, mut culprit] = [(); 3].map(|()| Client::connect(server.address()).expect("connections are taken"));
    listener.send_raw(b"HELLO 3\r\nSUBSCRIBE c\r\n").expect("the server listens");
    listener.read_reply().expect("the server answers");
    listener.read_reply().expect("the server answers");
    culprit.send_raw(b"DEBUG PANIC\r\n").expect("the server listens");
    culprit.read_reply().expect("the server answers");
    client.send_raw(b"PUBLISH c hi\r\n").expect("the server listens");
    assert_eq!(client.read_reply().expect("the server answers"), Value::Integer(1));
    let words = ["message", "c", "hi"].map(|word| Value::Bulk(word.into()));
    assert_eq!(listener.read_reply().expect("a message comes"), Value::Push(words.to_vec()));
}
