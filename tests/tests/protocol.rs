//! Bytes that are no sound requests: inline commands, broken lengths, garbage. Replies are compared byte for byte with those of Redis,
//! up to the end of the connection.

use std::net::SocketAddr;

use orbweaver_engine::settings::Settings;
use orbweaver_tests::client::{Client, args, encode_command};
use orbweaver_tests::engine_target::EngineTarget;
use orbweaver_tests::orbweaver_server::ServedTarget;
use orbweaver_tests::redis_server::RedisServer;
const RANDOM_REQUESTS: u64 = 3_000;
/// The text of an error as Redis 7.0 has it, and as Redis 7.2 does.
const SINCE_7_2: (&[u8], &[u8]) = (b"otherwise the HELLO AUTH <user>", b"otherwise the HELLO <proto> AUTH <user>");

const REQUESTS: &[&[u8]] = &[
    b"PING\r\n",
    b"PING\n",
    b"  PING   \r\n",
    b"\r\n\r\nPING\r\n",
    b"ECHO \"a b\\x41\\n\"\r\nECHO 'it\\'s'\r\n",
    b"ECHO \"open\r\nPING\r\n",
    b"ECHO \"a\"b\r\nPING\r\n",
    b"ping\r\nNOTHING x\r\nPING\r\n",
    b"QUIT\r\nPING\r\n",
    b"*1\r\n$4\r\nPING\r\nPING\r\n*1\r\n$4\r\nping\r\n",
    b"*0\r\n*-1\r\n*1\r\n$4\r\nPING\r\n",
    b"*1\r\n$0\r\n\r\nPING\r\n",
    b"*1\r\n$-1\r\nPING\r\n",
    b"*1\r\n$4\r\nPINGxxPING\r\n",
    b"*1\r\nPING\r\n",
    b"*1\r\n:4\r\nPING\r\n",
    b"*x\r\nPING\r\n",
    b"*+1\r\n$4\r\nPING\r\n",
    b"*01\r\n$4\r\nPING\r\n",
    b"*1\r\n$04\r\nPING\r\n",
    b"*1\r\n$ 4\r\nPING\r\n",
    b"*1 \r\n$4\r\nPING\r\n",
    b"*-2\r\nPING\r\n",
    b"*2147483648\r\n$4\r\nPING\r\n",
    b"*9223372036854775808\r\n$4\r\nPING\r\n",
    b"*1\r\n$536870913\r\nPING\r\n",
    b"*1\r\n$9223372036854775808\r\nPING\r\n",
    b"*2\r\n$4\r\nECHO\r\n$3\r\na\0b\r\n",
    b"*1\n$4\nPING\n",
    b"*1\r\n$4\r\nPIN",
    b"*",
    b"\0\0\0\0\r\nPING\r\n",
    b"POST / HTTP/1.1\r\n\r\nPING\r\n",
    b"host: x\r\nPING\r\n",
    b"CLIENT REPLY OFF\r\nPING\r\nCLIENT REPLY ON\r\nPING\r\n",
    b"CLIENT REPLY SKIP\r\nPING\r\nECHO a\r\n",
    b"CLIENT REPLY SKIP\r\nCLIENT REPLY OFF\r\nPING\r\nCLIENT REPLY SKIP\r\nCLIENT REPLY ON\r\nPING\r\n",
    b"CLIENT REPLY MAYBE\r\nPING\r\n",
    b"MULTI\r\nGET\r\n*x\r\n",
];

/// A web request whose first line is a sound command: the connection closes before its reply is sent, if all came together.
const WEB_REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/// To servers that want the password `secret`.
const REQUESTS_WITHOUT_PASSWORD: &[&[u8]] = &[
    b"GET a\r\nPING\r\nMULTI\r\nNOTHING\r\nGET\r\nCLIENT ID\r\nCOMMAND COUNT\r\nCONFIG GET port\r\nECHO a\r\n",
    b"AUTH wrong\r\nAUTH default wrong\r\nAUTH nobody secret\r\nAUTH\r\nAUTH a b c\r\nGET a\r\n",
    b"AUTH secret\r\nGET a\r\nAUTH wrong\r\nGET a\r\n",
    b"AUTH default secret\r\nGET a\r\nRESET\r\nGET a\r\nAUTH secret\r\nPING\r\n",
    b"HELLO\r\nHELLO 3\r\nHELLO 3 AUTH default wrong\r\nHELLO 4\r\nHELLO x\r\nHELLO 3 AUTH default\r\nHELLO 3 SETNAME a\r\n",
    b"RESET\r\nQUIT\r\nPING\r\n",
    b"*10\r\n",
    b"*11\r\n",
    b"*2\r\n$4\r\nECHO\r\n$16385\r\n",
    b"*2\r\n$4\r\nECHO\r\n$16384\r\n",
    b"AUTH secret\r\n*11\r\n$4\r\nECHO\r\n$16385\r\n",
];

/// An inline command longer than Redis reads, and one with the longest command line that it does.
fn long_lines() -> Vec<Vec<u8>> {
    let line = |length: usize| [b"ECHO ".to_vec(), vec![b'a'; length], b"\r\nPING\r\n".to_vec()].concat();
    let count = [b"*".to_vec(), vec![b'1'; 70_000]].concat();
    let size = [b"*1\r\n$".to_vec(), vec![b'1'; 70_000]].concat();
    vec![line(60_000), line(70_000), vec![b'a'; 70_000], count, size]
}

/// Sound requests with a few bytes changed.
fn spoiled_requests(seed: u64) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let commands =
        [args(["SET", "k", "value"]), args(["GET", "k"]), args(["ECHO", "world"]), args(["PING"]), args(["HSET", "h", "f", "v"])];
    let mut bytes: Vec<u8> = (0..rng.usize(1..5)).flat_map(|_| encode_command(&commands[rng.usize(..commands.len())])).collect();
    for _ in 0..rng.usize(1..4) {
        let at = rng.usize(..bytes.len());
        match rng.u8(..4) {
            0 => bytes[at] = b"*$:+-0123456789\r\n \"'x\0"[rng.usize(..21)],
            1 => bytes.insert(at, b"*$0123456789\r\n -"[rng.usize(..16)]),
            2 if bytes.len() > 1 => {
                bytes.remove(at);
            }
            _ => bytes.truncate(at.max(1)),
        }
    }
    bytes
}

fn all_requests() -> impl Iterator<Item = Vec<u8>> {
    REQUESTS.iter().map(|request| request.to_vec()).chain(long_lines()).chain((0..RANDOM_REQUESTS).map(spoiled_requests))
}

/// What a server answers to these bytes on a connection of their own.
fn answer_of(address: SocketAddr, request: &[u8]) -> Vec<u8> {
    let mut client = Client::connect(address).expect("the server lives");
    // A server that has closed the connection already takes no more.
    let _ = client.send_raw(request);
    client.finish().map(|bytes| bytes.to_vec()).unwrap_or_else(|error| format!("the connection broke: {error}").into_bytes())
}

/// A reply of Redis 7.0 as Redis 7.2 words it.
fn as_7_2(reply: &[u8]) -> Vec<u8> {
    let (old, new) = SINCE_7_2;
    let mut reply = reply.to_vec();
    let mut from = 0;
    while let Some(at) = reply[from..].windows(old.len()).position(|part| part == old) {
        reply.splice(from + at..from + at + old.len(), new.iter().copied());
        from += at + new.len();
    }
    reply
}

fn assert_as_redis(redis: &RedisServer, requests: impl Iterator<Item = Vec<u8>>, mut ours: impl FnMut(&[u8]) -> Vec<u8>) {
    let mut differences = Vec::new();
    for request in requests {
        let (expected, got) = (as_7_2(&answer_of(redis.address(), &request)), ours(&request));
        if got != expected {
            let shown = &request[..request.len().min(200)];
            let [shown, expected, got] = [shown, &expected, &got].map(|bytes| bytes.escape_ascii().to_string());
            differences.push(format!("request  {shown}\nexpected {expected}\ngot      {got}\n"));
        }
    }
    assert!(differences.is_empty(), "{} differences, such as:\n{}", differences.len(), differences[..differences.len().min(10)].join("\n"));
}

#[test]
fn the_engine_answers_garbage_as_redis_does() {
    let mut engine = EngineTarget::new(Settings::default());
    let requests = all_requests().chain([WEB_REQUEST.to_vec()]);
    assert_as_redis(&RedisServer::start(&[]), requests, |request| engine.deliver(request, usize::MAX));
}

#[test]
fn the_engine_answers_garbage_cut_anywhere_as_redis_does() {
    let mut engine = EngineTarget::new(Settings::default());
    assert_as_redis(&RedisServer::start(&[]), all_requests(), |request| engine.deliver(request, 1 + request.len() / 7));
}

#[test]
fn the_server_answers_garbage_as_redis_does() {
    let served = ServedTarget::start(&["--store", "memory"]);
    assert_as_redis(&RedisServer::start(&[]), all_requests(), |request| answer_of(served.address(), request));
}

fn requests_without_password() -> impl Iterator<Item = Vec<u8>> {
    REQUESTS_WITHOUT_PASSWORD.iter().map(|request| request.to_vec())
}

#[test]
fn the_engine_asks_for_its_password_as_redis_does() {
    let mut engine = EngineTarget::new(Settings { password: Some("secret".into()), ..Settings::default() });
    let redis = RedisServer::start(&["--requirepass", "secret"]);
    assert_as_redis(&redis, requests_without_password(), |request| engine.deliver(request, usize::MAX));
}

#[test]
fn the_server_asks_for_its_password_as_redis_does() {
    let served = ServedTarget::start(&["--store", "memory", "--password", "secret"]);
    let redis = RedisServer::start(&["--requirepass", "secret"]);
    assert_as_redis(&redis, requests_without_password(), |request| answer_of(served.address(), request));
}
