//! `orbweaver serve` on RocksDB, with many clients that send on without waiting for their replies.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use orbweaver_engine::resp::Value;
use orbweaver_tests::client::{Client, args};
use orbweaver_tests::orbweaver_server::OrbweaverServer;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

const CLIENTS: usize = 12;
const ROUNDS: usize = 3000;

/// What a client sends: three requests a round, each of which is answered with a number.
fn requests(client: usize) -> String {
    let round = |number: usize| format!("INCR own:{client}\r\nINCR all\r\nRPUSH list:{client} {number}\r\n");
    (0..ROUNDS).map(round).collect()
}

/// Sends in pieces that end anywhere, and reads at the same time what comes, until the server has closed the connection. Returns the lines that
/// came whole.
fn send_and_read(mut socket: TcpStream, client: usize, requests: String) -> Vec<String> {
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut sender = socket.try_clone().unwrap();
    let sending = thread::spawn(move || {
        let mut rest = requests.as_bytes();
        for length in (0..).map(|piece: usize| 1 + (piece * 7919 + client * 104_729) % 3000) {
            let piece = &rest[..length.min(rest.len())];
            // The server may be gone.
            if piece.is_empty() || sender.write_all(piece).is_err() {
                break;
            }
            rest = &rest[piece.len()..];
        }
        let _gone = sender.shutdown(Shutdown::Write);
    });
    let mut received = Vec::new();
    let mut part = [0; 1 << 14];
    while let Ok(count @ 1..) = socket.read(&mut part) {
        received.extend_from_slice(&part[..count]);
    }
    sending.join().unwrap();
    let whole = received.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    std::str::from_utf8(&received[..whole]).unwrap().lines().map(str::to_owned).collect()
}

/// What came of it, by clients, while `meanwhile` ran.
fn all_at_once(address: SocketAddr, requests: fn(usize) -> String, meanwhile: impl FnOnce()) -> Vec<Vec<String>> {
    let start = |client| {
        let socket = TcpStream::connect(address).unwrap();
        thread::spawn(move || send_and_read(socket, client, requests(client)))
    };
    let clients: Vec<_> = (0..CLIENTS).map(start).collect();
    meanwhile();
    clients.into_iter().map(|client| client.join().unwrap()).collect()
}

fn numbers(replies: &[String]) -> Vec<u64> {
    replies.iter().map(|line| line.strip_prefix(':').unwrap_or_else(|| panic!("{line}")).parse().unwrap()).collect()
}

/// The replies are in the order of the requests: those to INCR of the client's own counter, of everybody's, and to RPUSH.
fn check_order(replies: &[u64]) {
    let column = |which: usize| replies.iter().skip(which).step_by(3).copied();
    for own in [0, 2] {
        assert!(column(own).eq((1..).take(column(own).count())), "each request is run once, in its order");
    }
    assert!(column(1).is_sorted_by(|before, after| before < after));
}

fn number(client: &mut Client, request: [&str; 2]) -> u64 {
    match client.call(&args(request)).unwrap() {
        Value::Integer(number) => number.try_into().unwrap(),
        Value::Bulk(text) => std::str::from_utf8(&text).unwrap().parse().unwrap(),
        Value::Null => 0,
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_sends_on_without_waiting_gets_every_reply_once_and_in_order() {
    let dir = TempDir::new().unwrap();
    let server = OrbweaverServer::start(&dir.path().join("data"), &["--durability", "os"]);
    let replies: Vec<_> = all_at_once(server.address(), requests, || {}).iter().map(|replies| numbers(replies)).collect();
    for replies in &replies {
        assert_eq!(replies.len(), 3 * ROUNDS, "also of what was sent last: only then the server closes the connection");
        check_order(replies);
    }
    let mut all: Vec<u64> = replies.iter().flat_map(|replies| replies.iter().skip(1).step_by(3).copied()).collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(1..=u64::try_from(CLIENTS * ROUNDS).unwrap()));
}

#[test]
fn what_was_answered_in_pipelines_is_there_after_sigkill() {
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    for (pause, durability) in [(5, "os"), (20, "os"), (5, "always"), (20, "always"), (60, "always")] {
        let server = OrbweaverServer::start(&data, &["--durability", durability]);
        connect(&server).call(&args(["FLUSHALL"])).unwrap();
        let replies = all_at_once(server.address(), requests, || {
            thread::sleep(Duration::from_millis(pause));
            server.kill();
        });
        let server = OrbweaverServer::start(&data, &[]);
        let mut client = connect(&server);
        for (own, replies) in replies.iter().enumerate() {
            let replies = numbers(replies);
            check_order(&replies);
            let answered = |which: usize| replies.iter().skip(which).step_by(3).next_back().copied().unwrap_or(0);
            assert!(number(&mut client, ["GET", &format!("own:{own}")]) >= answered(0), "{durability}, {pause} ms");
            assert!(number(&mut client, ["LLEN", &format!("list:{own}")]) >= answered(2), "{durability}, {pause} ms");
            assert!(number(&mut client, ["GET", "all"]) >= answered(1), "{durability}, {pause} ms");
        }
    }
}

#[test]
fn what_cannot_be_written_is_not_answered_as_if_it_were() {
    let dir = TempDir::new().unwrap();
    let (data, moved) = (dir.path().join("data"), dir.path().join("moved"));
    let sets = |client| (0..ROUNDS).map(|number| format!("SET {client}:{number} {}\r\n", "v".repeat(1000))).collect();
    for _ in 0..3 {
        let server = OrbweaverServer::start(&data, &["--durability", "os"]);
        connect(&server).call(&args(["FLUSHALL"])).unwrap();
        // Without its directory RocksDB fails as soon as it needs a new log.
        std::fs::rename(&data, &moved).unwrap();
        let replies = all_at_once(server.address(), sets, || {});
        server.kill();
        std::fs::rename(&moved, &data).unwrap();
        let server = OrbweaverServer::start(&data, &[]);
        let mut client = connect(&server);
        assert!(
            replies.iter().flatten().any(|line| line.starts_with("-ERR storage: ")),
            "{:?}",
            replies.iter().map(|replies| replies.last())
        );
        for (own, replies) in replies.iter().enumerate() {
            let answered = replies.iter().take_while(|line| *line == "+OK").count();
            assert!(replies[answered..].iter().all(|line| line.starts_with("-ERR storage: ")), "{:?}", &replies[answered..]);
            for number in 0..answered {
                assert_eq!(client.call(&args(["EXISTS", &format!("{own}:{number}")])).unwrap(), Value::Integer(1), "{own}:{number}");
            }
        }
    }
}

fn connect(server: &OrbweaverServer) -> Client {
    Client::connect(server.address()).unwrap()
}
