//! Clients that wait, on several sockets at once: who is sent what, after which step, on Redis and on `orbweaver serve`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use orbweaver_tests::client::{Client, args};
use orbweaver_tests::orbweaver_server::ServedTarget;
use orbweaver_tests::redis_server::RedisServer;

/// A step a line: a client's name with its requests, or `wait` with milliseconds. Clients speak RESP2, but for the one called so.
const SCRIPTS: &[&str] = &[
    "1 BLPOP k 0\n2 BRPOP k 0\n3 BLPOP other k 0\n4 RPUSH k a b;LLEN k\n4 RPUSH k c d\n4 LRANGE k 0 -1",
    "1 BLPOP k 0\n2 MULTI;RPUSH k a;DEL k;EXEC\n2 MULTI;RPUSH k a;LPUSH k b;EXEC\n2 LRANGE k 0 -1",
    "1 BLMOVE c d LEFT RIGHT 0\n2 BLMOVE b c LEFT RIGHT 0\n3 BRPOPLPUSH a b 0\n4 BLPOP d 0\n5 RPUSH a x;EXISTS a b c d",
    "1 BLMOVE a b LEFT RIGHT 0\n2 BLMOVE b a LEFT RIGHT 0\n3 RPUSH a x;LRANGE a 0 -1;EXISTS b",
    "1 BLMOVE from to LEFT RIGHT 0\n2 BLPOP from 0\n3 SET to string\n3 RPUSH from x\n3 EXISTS from",
    "1 BLPOP k 0\n2 BZPOPMAX k 0\nRESP3 BZMPOP 0 2 x k MIN COUNT 2\n4 ZADD k 1 a 2 b 3 c;EXISTS k\n4 RPUSH k x",
    "1 BZPOPMIN k 0\n2 ZADD o 1 x;ZUNIONSTORE k 1 o\n1 BZPOPMIN k 0\n2 ZRANGESTORE k o 0 -1\n1 BLMPOP 0 2 l m RIGHT COUNT 2\n2 RPUSH m a b c",
    "1 BLPOP k 0\n2 RPUSH o x;RENAME o k\n1 BLPOP k 0\n2 RPUSH o x;COPY o k\n1 BLPOP k 0\n2 SELECT 1;RPUSH k x;MOVE k 0",
    "1 BLPOP k 0\n2 SET k string\n2 RPUSH o x;COPY o k REPLACE\n3 BZPOPMIN k 0\n2 SET k string;ZADD z 1 x;ZUNIONSTORE k 1 z\n2 TYPE k;RENAME z k;EXISTS k",
    "1 BLPOP k 0\n2 SELECT 1;RPUSH k x\n2 SWAPDB 1 2\n2 SWAPDB 0 2\n2 FLUSHALL",
    "1 BLPOP k 0.05\n2 BLMOVE k l LEFT LEFT 0.05\nRESP3 BZPOPMIN k 0.05;PING\nwait 100\n1 PING\n2 BRPOPLPUSH k l 0.05\nwait 100",
    "1 SET b 1;BLPOP k 0;GET b;SELECT 3;BLPOP k 0.05;ECHO last\n1 ECHO later\n2 SET b 2;RPUSH k x\nwait 100",
    "1 CLIENT REPLY OFF;BLPOP k 0;CLIENT REPLY ON\n2 CLIENT REPLY SKIP;BLPOP k 0;PING\n3 RPUSH k a b c\n3 LLEN k",
    "1 MULTI;BLPOP k 0;BLMOVE k l LEFT LEFT 0;BRPOPLPUSH k l 0;BLMPOP 0 1 k LEFT;BZPOPMIN z 0;BZMPOP 0 1 z MIN;EXEC",
    "1 BLPOP k x;BLPOP k -1;BLMPOP x 0 k LEFT;BLMOVE a b UP RIGHT x;BZMPOP 0 1 k MIN COUNT 0;BLPOP k;BRPOPLPUSH a b nan",
    "1 BLPOP k 0\n2 BLPOP k 0\n3 PEXPIRE k 1;RPUSH k a;PEXPIRE k 1\nwait 20\n3 RPUSH k b;PEXPIRE k 20000",
    "1 BLPOP k 0;PING\n2 RPUSHX k x;LPUSHX k x\n2 LINSERT k BEFORE a b\n2 ZADD k 1 a\n2 LMOVE k k LEFT LEFT\n2 DEL k;LPUSH k y",
];

/// What each step makes clients receive.
fn transcript(address: SocketAddr, script: &str) -> String {
    let mut control = Client::connect(address).expect("the server lives");
    control.call(&args(["FLUSHALL"])).expect("the server answers");
    let mut clients: BTreeMap<&str, TcpStream> = BTreeMap::new();
    let mut transcript = String::new();
    for step in script.lines() {
        let (client, requests) = step.split_once(' ').expect("a step has two parts");
        if client == "wait" {
            std::thread::sleep(Duration::from_millis(requests.parse().expect("a number")));
        } else {
            let socket = clients.entry(client).or_insert_with(|| connect(address, client == "RESP3"));
            socket.write_all(format!("{}\r\n", requests.replace(';', "\r\n")).as_bytes()).expect("the server reads");
        }
        // The first may be read together with the step, the second is not; what is behind a wait takes turns of its own.
        for _ in 0..10 {
            control.call(&args(["PING"])).expect("the server answers");
        }
        let _ = writeln!(transcript, "> {step}");
        for (client, socket) in &mut clients {
            let received = available(socket);
            if !received.is_empty() {
                let _ = writeln!(transcript, "{client}: {}", received.replace("\r\n", " "));
            }
        }
    }
    transcript
}

fn connect(address: SocketAddr, resp3: bool) -> TcpStream {
    let mut socket = TcpStream::connect(address).expect("the server lives");
    if resp3 {
        socket.write_all(b"HELLO 3\r\n").expect("the server reads");
        let (mut hello, mut byte) = (Vec::new(), [0]);
        while !hello.ends_with(b"modules\r\n*0\r\n") {
            socket.read_exact(&mut byte).expect("the server answers");
            hello.extend_from_slice(&byte);
        }
    }
    socket.set_nonblocking(true).expect("a socket can be set");
    socket
}

/// Everything that has arrived.
fn available(socket: &mut TcpStream) -> String {
    let (mut received, mut part) = (Vec::new(), [0; 4096]);
    loop {
        match socket.read(&mut part) {
            Ok(0) => panic!("the server has closed the connection"),
            Ok(count) => received.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return String::from_utf8(received).expect("texts"),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn who_waits_is_served_as_by_redis() {
    let (redis, served) = (RedisServer::start(&[]), ServedTarget::start(&["--store", "memory"]));
    for script in SCRIPTS {
        assert_eq!(transcript(served.address(), script), transcript(redis.address(), script));
    }
}
