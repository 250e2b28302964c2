//! `orbweaver serve` as its clients and its users see it: real processes, real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use orbweaver_engine::resp::Value;
use orbweaver_tests::client::{Client, args, encode_command};
use orbweaver_tests::orbweaver_server::{OrbweaverServer, executable};
use orbweaver_tests::process::free_address;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const MIB: usize = 1 << 20;

fn ok() -> Value {
    Value::Simple("OK".into())
}

/// A server in memory: for everything that is not about data that stays.
fn in_memory(dir: &TempDir, options: &[&str]) -> OrbweaverServer {
    OrbweaverServer::start(dir.path(), &[&["--store", "memory"], options].concat())
}

fn connect(server: &OrbweaverServer) -> Client {
    Client::connect(server.address()).unwrap()
}

/// A socket without a client around it.
fn plain_socket(server: &OrbweaverServer) -> TcpStream {
    let socket = TcpStream::connect(server.address()).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    socket
}

/// Everything that the server sends until it closes the connection; a connection that is reset is closed as well.
fn read_to_end(socket: &mut TcpStream) -> Vec<u8> {
    let mut received = Vec::new();
    let mut part = [0; 1 << 16];
    loop {
        match socket.read(&mut part) {
            Ok(0) => return received,
            Ok(count) => received.extend_from_slice(&part[..count]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return received,
            Err(error) => panic!("the server does not close the connection: {error}"),
        }
    }
}

/// Runs a `serve` that must end by itself.
fn failing_serve(dir: &TempDir, options: &[&str]) -> (Option<i32>, String) {
    let mut serve = Command::new(executable());
    serve.arg("serve").arg("--dir").arg(dir.path().join("data")).args(options).env_remove("ORBWEAVER_PASSWORD");
    let Output { status, stderr, .. } = serve.output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

#[test]
fn sigterm_stops_the_server_and_what_it_acknowledged_stays() {
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    let server = OrbweaverServer::start(&data, &[]);
    let mut client = connect(&server);
    assert_eq!(client.call(&args(["SET", "key", "value"])).unwrap(), ok());
    let _idle = connect(&server);
    assert_eq!(server.terminate().code(), Some(0));

    let server = OrbweaverServer::start(&data, &[]);
    assert_eq!(connect(&server).call(&args(["GET", "key"])).unwrap(), Value::Bulk("value".into()));
}

#[test]
fn sigkill_loses_nothing_that_was_acknowledged() {
    let dir = TempDir::new().unwrap();
    let data = dir.path().join("data");
    for durability in ["always", "everysec", "os"] {
        let server = OrbweaverServer::start(&data, &["--durability", durability]);
        assert_eq!(connect(&server).call(&args(["SET", durability, "value"])).unwrap(), ok());
        server.kill();
    }
    let server = OrbweaverServer::start(&data, &[]);
    assert_eq!(connect(&server).call(&args(["EXISTS", "always", "everysec", "os"])).unwrap(), Value::Integer(3));
}

#[test]
fn shutdown_ends_the_server_with_exit_code_0_and_the_replies_before_it_arrive() {
    let dir = TempDir::new().unwrap();
    let mut server = in_memory(&dir, &[]);
    let mut socket = plain_socket(&server);
    socket.write_all(b"PING\r\nECHO last\r\nSHUTDOWN\r\n").unwrap();
    assert_eq!(read_to_end(&mut socket), b"+PONG\r\n$4\r\nlast\r\n");
    assert_eq!(server.process().wait_for_exit().code(), Some(0));
}

#[test]
fn the_first_line_of_the_log_says_how_to_connect() {
    let dir = TempDir::new().unwrap();
    let mut server = OrbweaverServer::start(&dir.path().join("data"), &["--durability", "always"]);
    let port = server.address().port();
    let log = server.process().log();
    assert!(log.contains(&format!("listening on 127.0.0.1:{port}")), "{log}");
    assert!(log.contains("(rocksdb, durability always)"), "{log}");
    assert!(log.contains(&format!("redis-cli -p {port}")), "{log}");
}

#[test]
fn info_tells_of_the_server() {
    let dir = TempDir::new().unwrap();
    let mut server = OrbweaverServer::start(&dir.path().join("data"), &["--durability", "os", "--max-clients", "77"]);
    let Value::Bulk(info) = connect(&server).call(&args(["INFO"])).unwrap() else { panic!("INFO is a bulk") };
    let info = String::from_utf8(info.to_vec()).unwrap();
    let (port, process) = (server.address().port(), server.process().id());
    for line in [
        format!("tcp_port:{port}"),
        format!("process_id:{process}"),
        "maxclients:77".into(),
        "durability:os".into(),
        "store:rocksdb".into(),
        "record_cache_size:134217728".into(),
        "write_back_size:67108864".into(),
    ] {
        assert!(info.lines().any(|shown| shown == line), "{line} is not in {info}");
    }
}

/// Connects again until there is room: the server may still hold connections that have just ended.
fn connect_where_there_is_room(server: &OrbweaverServer) -> Client {
    let in_time = Instant::now() + Duration::from_secs(10);
    loop {
        let mut client = connect(server);
        if client.call(&args(["PING"])).is_ok_and(|reply| reply == Value::Simple("PONG".into())) {
            return client;
        }
        assert!(Instant::now() < in_time, "there is no room");
    }
}

#[test]
fn clients_beyond_the_limit_are_told_so() {
    let dir = TempDir::new().unwrap();
    let server = in_memory(&dir, &["--max-clients", "2"]);
    let mut first = connect_where_there_is_room(&server);
    let second = connect_where_there_is_room(&server);
    assert_eq!(read_to_end(&mut plain_socket(&server)), b"-ERR max number of clients reached\r\n");
    assert!(first.call(&args(["PING"])).is_ok());
    drop(second);
    connect_where_there_is_room(&server);
}

#[test]
fn an_address_that_others_can_reach_needs_a_password() {
    let dir = TempDir::new().unwrap();
    let (code, text) = failing_serve(&dir, &["--listen", "0.0.0.0:0"]);
    assert_eq!(code, Some(2));
    assert!(text.contains("set a password with --password-file or ORBWEAVER_PASSWORD, or listen on 127.0.0.1"), "{text}");
    assert!(!dir.path().join("data").exists(), "nothing is made before the options are found to be right");
}

#[test]
fn options_that_cannot_be_right_are_refused() {
    let dir = TempDir::new().unwrap();
    let empty = dir.path().join("empty");
    std::fs::write(&empty, "\n").unwrap();
    let cases: [(&[&str], i32, &str); 7] = [
        (&["--listen", "here"], 2, "--listen here"),
        (&["--memory-limit", "8GiB"], 2, "a size from 16MiB to 4GiB is needed"),
        (&["--databases", "0"], 2, "--databases"),
        (&["--durability", "never"], 2, "always, everysec, os"),
        (&["--deadline", "soon"], 2, "--deadline"),
        (&["--password-file", "/nowhere/at/all"], 1, "cannot read the password file /nowhere/at/all"),
        (&["--password-file", empty.to_str().unwrap()], 2, "the password is empty"),
    ];
    for (options, expected, part) in cases {
        let (code, text) = failing_serve(&dir, options);
        assert_eq!(code, Some(expected), "{options:?}: {text}");
        assert!(text.contains(part), "{options:?}: {text}");
    }
}

#[test]
fn an_address_in_use_is_named() {
    let dir = TempDir::new().unwrap();
    let server = in_memory(&dir, &[]);
    let address = server.address().to_string();
    let (code, text) = failing_serve(&dir, &["--listen", &address]);
    assert_eq!(code, Some(1));
    assert!(text.contains(&format!("cannot listen on {address}")) && text.contains("--listen"), "{text}");
}

#[test]
fn a_directory_in_use_is_named() {
    let dir = TempDir::new().unwrap();
    let _server = OrbweaverServer::start(&dir.path().join("data"), &[]);
    let (code, text) = failing_serve(&dir, &["--listen", &free_address().unwrap().to_string()]);
    assert_eq!(code, Some(1));
    assert!(text.contains("data is in use by another process"), "{text}");
}

#[test]
fn clients_must_say_the_password_wherever_it_comes_from() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("password");
    std::fs::write(&file, "secret\n").unwrap();
    for options in [["--password", "secret"], ["--password-file", file.to_str().unwrap()]] {
        let server = in_memory(&dir, &options);
        let mut client = connect(&server);
        assert_eq!(client.call(&args(["GET", "key"])).unwrap(), Value::Error("NOAUTH Authentication required.".into()));
        assert!(matches!(client.call(&args(["AUTH", "wrong"])).unwrap(), Value::Error(text) if text.starts_with(b"WRONGPASS ")));
        assert_eq!(client.call(&args(["AUTH", "secret"])).unwrap(), ok());
        assert_eq!(client.call(&args(["GET", "key"])).unwrap(), Value::Null);
    }
}

#[test]
fn a_trap_costs_one_connection_only() {
    let dir = TempDir::new().unwrap();
    let mut server = OrbweaverServer::start(&dir.path().join("data"), &["--allow-debug-panic"]);
    let mut other = connect(&server);
    assert_eq!(other.call(&args(["SELECT", "3"])).unwrap(), ok());
    assert_eq!(other.call(&args(["SET", "key", "value"])).unwrap(), ok());

    let mut socket = plain_socket(&server);
    socket.write_all(b"DEBUG PANIC\r\n").unwrap();
    let last_words = String::from_utf8(read_to_end(&mut socket)).unwrap();
    assert!(last_words.starts_with("-ERR internal: ") && last_words.ends_with("\r\n"), "{last_words}");

    assert_eq!(other.call(&args(["GET", "key"])).unwrap(), Value::Bulk("value".into()), "the other one is still in its db");
    assert!(connect(&server).call(&args(["PING"])).is_ok());
    assert!(server.process().log().contains("the component trapped"));
    assert_eq!(server.terminate().code(), Some(0));
}

#[test]
fn garbage_leaves_the_server_alive() {
    let dir = TempDir::new().unwrap();
    let server = in_memory(&dir, &[]);
    let mut other = connect(&server);
    let noise: Vec<u8> = (0..100_000_u32).map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    let inputs: [&[u8]; 7] = [
        &noise,
        b"*1000000\r\n",
        b"*1\r\n$99999999999999999999\r\n",
        b"*-5\r\n*0\r\n\r\n\r\n",
        b"\"open\r\n",
        &[0; 70_000],
        b"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$5\r\nab",
    ];
    for input in inputs {
        let mut socket = plain_socket(&server);
        // The server may close before it has read everything.
        let _ = socket.write_all(input);
        let _ = socket.shutdown(Shutdown::Write);
        let reply = read_to_end(&mut socket);
        assert!(reply.is_empty() || reply.starts_with(b"-ERR "), "{}", String::from_utf8_lossy(&reply));
        assert_eq!(other.call(&args(["PING"])).unwrap(), Value::Simple("PONG".into()));
    }
    assert_eq!(other.call(&args(["DBSIZE"])).unwrap(), Value::Integer(0), "half a request does nothing");
}

#[test]
fn a_mistake_in_an_unfinished_request_is_answered_at_once() {
    let dir = TempDir::new().unwrap();
    let server = in_memory(&dir, &[]);
    let mut socket = plain_socket(&server);
    socket.write_all(b"*1000\r\n").unwrap();
    std::thread::sleep(Duration::from_millis(50));
    socket.write_all(b"wrong\r\n").unwrap();
    assert_eq!(read_to_end(&mut socket), b"-ERR Protocol error: expected '$', got 'w'\r\n");
}

#[test]
fn requests_may_be_cut_anywhere() {
    let dir = TempDir::new().unwrap();
    let server = in_memory(&dir, &[]);
    let mut client = connect(&server);
    let mut requests = encode_command(&args(["SET", "key", "a value"]));
    requests.extend_from_slice(b"GET key\r\n");
    for byte in requests.chunks(1) {
        client.send_raw(byte).unwrap();
    }
    assert_eq!(client.read_reply().unwrap(), ok());
    assert_eq!(client.read_reply().unwrap(), Value::Bulk("a value".into()));
}

#[test]
fn a_request_may_be_larger_than_what_is_read_in_a_turn() {
    let dir = TempDir::new().unwrap();
    let server = in_memory(&dir, &[]);
    let value = vec![b'x'; 20 * MIB];
    let mut client = connect(&server);
    assert_eq!(client.call(&[b"SET".to_vec(), b"key".to_vec(), value.clone()]).unwrap(), ok());
    let mut socket = plain_socket(&server);
    socket.write_all(b"GET key\r\n").unwrap();
    let mut reply = vec![0; value.len() + b"$20971520\r\n\r\n".len()];
    socket.read_exact(&mut reply).unwrap();
    assert!(reply.starts_with(b"$20971520\r\nxxx") && reply.ends_with(b"xxx\r\n"));
}

#[test]
fn a_client_that_only_stops_sending_gets_its_replies() {
    let dir = TempDir::new().unwrap();
    let server = in_memory(&dir, &[]);
    let mut client = connect(&server);
    let mut expected = Vec::new();
    let mut requests = Vec::new();
    for number in 0..20_000 {
        requests.extend_from_slice(format!("ECHO {number}\r\n").as_bytes());
        expected.extend_from_slice(format!("${}\r\n{number}\r\n", number.to_string().len()).as_bytes());
    }
    client.send_raw(&requests).unwrap();
    assert_eq!(client.finish().unwrap(), expected);
}

#[test]
fn a_client_that_only_stops_sending_gets_all_of_many_large_replies() {
    let dir = TempDir::new().unwrap();
    let server = in_memory(&dir, &[]);
    let value = "v".repeat(MIB);
    assert_eq!(connect(&server).call(&args(["SET", "large", &value])).unwrap(), ok());
    let mut socket = plain_socket(&server);
    // More than an exchange answers at once, and more than waits to be sent.
    socket.write_all("GET large\r\n".repeat(40).as_bytes()).unwrap();
    socket.shutdown(Shutdown::Write).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let expected = format!("${MIB}\r\n{value}\r\n").len() * 40;
    assert_eq!(read_to_end(&mut socket).len(), expected);
}

#[test]
fn a_request_above_the_limit_is_refused_when_it_is_announced() {
    let dir = TempDir::new().unwrap();
    let server = in_memory(&dir, &["--max-request", "1MiB"]);
    let mut socket = plain_socket(&server);
    socket.write_all(b"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$2000000\r\n").unwrap();
    assert_eq!(read_to_end(&mut socket), b"-ERR Protocol error: a request may have 1048576 bytes at most\r\n");
    let mut client = connect(&server);
    assert_eq!(client.call(&[b"SET".to_vec(), b"key".to_vec(), vec![b'x'; 1_000_000]]).unwrap(), ok());
}

#[test]
fn a_client_that_does_not_read_its_replies_is_disconnected() {
    let dir = TempDir::new().unwrap();
    let server = in_memory(&dir, &["--max-output", "8MiB"]);
    let mut other = connect(&server);
    assert_eq!(other.call(&[b"SET".to_vec(), b"key".to_vec(), vec![b'x'; MIB]]).unwrap(), ok());
    let mut socket = plain_socket(&server);
    socket.write_all("GET key\r\n".repeat(40).as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(other.call(&args(["PING"])).unwrap(), Value::Simple("PONG".into()));
    let received = read_to_end(&mut socket);
    assert!(received.len() < 40 * MIB, "{} bytes", received.len());
}

#[test]
fn of_too_much_unfinished_input_the_largest_goes() {
    let dir = TempDir::new().unwrap();
    let server = in_memory(&dir, &["--max-pending", "4MiB"]);
    let mut other = connect(&server);
    let mut small = plain_socket(&server);
    small.write_all(b"*2\r\n$4\r\nECHO\r\n$2\r\n").unwrap();
    let mut large = plain_socket(&server);
    large.write_all(b"*2\r\n$4\r\nECHO\r\n$100000000\r\n").unwrap();
    // The server may close before everything is sent.
    let _ = large.write_all(&vec![b'x'; 16 * MIB]);
    assert!(read_to_end(&mut large).is_empty());
    assert_eq!(other.call(&args(["PING"])).unwrap(), Value::Simple("PONG".into()));
    small.write_all(b"hi\r\n").unwrap();
    small.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_to_end(&mut small), b"$2\r\nhi\r\n");
}

#[test]
fn a_silent_client_is_disconnected_where_that_is_asked_for() {
    let dir = TempDir::new().unwrap();
    let server = in_memory(&dir, &["--timeout", "1s"]);
    let started = Instant::now();
    assert!(read_to_end(&mut plain_socket(&server)).is_empty());
    assert!(started.elapsed() >= Duration::from_secs(1), "{:?}", started.elapsed());
    assert!(connect(&server).call(&args(["PING"])).is_ok());
}

#[test]
fn expired_keys_are_swept_while_nobody_asks() {
    let dir = TempDir::new().unwrap();
    let server = in_memory(&dir, &[]);
    let mut client = connect(&server);
    for key in ["a", "b", "c"] {
        assert_eq!(client.call(&args(["SET", key, "value", "PX", "1"])).unwrap(), ok());
    }
    let in_time = Instant::now() + Duration::from_secs(10);
    loop {
        let Value::Bulk(info) = client.call(&args(["INFO", "stats"])).unwrap() else { panic!("INFO is a bulk") };
        if String::from_utf8_lossy(&info).contains("expired_keys:3\r\n") {
            return;
        }
        assert!(Instant::now() < in_time, "{info:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until so many clients wait in blocking commands.
fn wait_for_blocked(client: &mut Client, expected: usize) {
    let line = format!("blocked_clients:{expected}\r\n");
    let in_time = Instant::now() + Duration::from_secs(10);
    loop {
        let Value::Bulk(info) = client.call(&args(["INFO", "clients"])).unwrap() else { panic!("INFO is a bulk") };
        if String::from_utf8_lossy(&info).contains(&line) {
            return;
        }
        assert!(Instant::now() < in_time, "{line} is not in {info:?}");
    }
}

fn texts<const N: usize>(texts: [&str; N]) -> Value {
    Value::Array(texts.map(|text| Value::Bulk(text.to_owned().into())).to_vec())
}

#[test]
fn a_blocking_client_is_woken_by_another_and_goes_on_with_its_pipeline() {
    let dir = TempDir::new().unwrap();
    let server = in_memory(&dir, &["--timeout", "1s"]);
    let (mut waiting, mut pushing) = (connect(&server), connect(&server));
    let requests = [args(["BLPOP", "none", "list", "0"]), args(["SELECT", "1"]), args(["GET", "missing"])];
    waiting.send_raw(&requests.iter().flat_map(|request| encode_command(request)).collect::<Vec<u8>>()).unwrap();
    for _ in 0..30 {
        // Longer than the idle timeout, which is not for those who wait.
        wait_for_blocked(&mut pushing, 1);
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(pushing.call(&args(["RPUSH", "list", "element"])).unwrap(), Value::Integer(1));
    assert_eq!(waiting.read_reply().unwrap(), texts(["list", "element"]));
    assert_eq!(waiting.read_reply().unwrap(), ok());
    assert_eq!(waiting.read_reply().unwrap(), Value::Null);
}

#[test]
fn a_wait_ends_in_time_although_nobody_says_anything() {
    let dir = TempDir::new().unwrap();
    let server = in_memory(&dir, &[]);
    let mut client = connect(&server);
    let start = Instant::now();
    assert_eq!(client.call(&args(["BZPOPMIN", "none", "0.25"])).unwrap(), Value::NullArray);
    let waited = start.elapsed();
    assert!(waited >= Duration::from_millis(250) && waited < Duration::from_secs(5), "{waited:?}");
}

#[test]
fn a_client_that_goes_away_waits_no_more() {
    let dir = TempDir::new().unwrap();
    let server = in_memory(&dir, &[]);
    let (mut gone, mut client) = (plain_socket(&server), connect(&server));
    gone.write_all(b"BLPOP list 0\r\n").unwrap();
    wait_for_blocked(&mut client, 1);
    drop(gone);
    wait_for_blocked(&mut client, 0);
    assert_eq!(client.call(&args(["RPUSH", "list", "kept"])).unwrap(), Value::Integer(1));
    assert_eq!(client.call(&args(["LLEN", "list"])).unwrap(), Value::Integer(1));
}

#[test]
fn who_waits_goes_on_waiting_after_a_trap() {
    let dir = TempDir::new().unwrap();
    let server = in_memory(&dir, &["--allow-debug-panic"]);
    let (mut waiting, mut client) = (connect(&server), connect(&server));
    waiting.send_raw(&[encode_command(&args(["BLPOP", "list", "0"])), encode_command(&args(["PING"]))].concat()).unwrap();
    wait_for_blocked(&mut client, 1);
    let mut socket = plain_socket(&server);
    socket.write_all(b"DEBUG PANIC\r\n").unwrap();
    assert!(read_to_end(&mut socket).starts_with(b"-ERR internal: "));
    wait_for_blocked(&mut client, 1);
    assert_eq!(client.call(&args(["RPUSH", "list", "element"])).unwrap(), Value::Integer(1));
    assert_eq!(waiting.read_reply().unwrap(), texts(["list", "element"]));
    assert_eq!(waiting.read_reply().unwrap(), Value::Simple("PONG".into()));
}
