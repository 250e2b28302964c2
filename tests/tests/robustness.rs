//! Clients that misbehave, calls that trap, and work that is too large: the server stays up, within its memory, and whole for the
//! others.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use orbweaver_engine::resp::Value;
use orbweaver_tests::client::{Args, Client, args, encode_command};
use orbweaver_tests::offline;
use orbweaver_tests::orbweaver_server::OrbweaverServer;
use tempfile::TempDir;

const MIB: usize = 1 << 20;
/// How long anything may take that happens in the background.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server and its directory.
struct Served {
    server: OrbweaverServer,
    dir: TempDir,
}

impl Served {
    fn start(options: &[&str]) -> Self {
        let dir = TempDir::new().expect("a temporary directory");
        let server = OrbweaverServer::start(&dir.path().join("data"), &[options, &["--durability", "os"]].concat());
        Self { server, dir }
    }

    fn connect(&self) -> Client {
        Client::connect(self.server.address()).expect("the server accepts")
    }

    /// The memory of the process, in bytes.
    fn resident_bytes(&mut self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.server.process().id())).expect("the server runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux tells it");
        line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") * 1024
    }

    /// Stops the server, and verifies what it leaves.
    fn assert_ends_well(self) {
        assert!(self.server.terminate().success());
        offline::assert_check_is_clean(&self.dir.path().join("data"));
    }
}

fn ask<const N: usize>(client: &mut Client, words: [&str; N]) -> Value {
    client.call(&args(words)).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

fn bulk(text: &str) -> Value {
    Value::Bulk(text.to_owned().into())
}

fn error_of(reply: Value) -> String {
    match reply {
        Value::Error(text) => String::from_utf8_lossy(&text).into_owned(),
        other => panic!("not an error: {other:?}"),
    }
}

/// Waits until `done` returns true.
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "waited in vain until {what}");
        thread::sleep(Duration::from_millis(100));
    }
}

/// Asserts that the server does what it is asked, over a connection of its own.
fn assert_works(served: &Served) {
    let mut client = served.connect();
    for index in 0..100 {
        let value = format!("value:{index}");
        assert_eq!(ask(&mut client, ["SET", "works", &value]), Value::Simple("OK".into()));
        assert_eq!(ask(&mut client, ["GET", "works"]), bulk(&value));
    }
}

#[test]
fn garbage_and_halves_of_requests_disturb_nobody() {
    let mut served = Served::start(&[]);
    let mut rng = fastrand::Rng::with_seed(11);
    let mut open = Vec::new();
    for index in 0..600 {
        let mut client = served.connect();
        let whole = encode_command(&args(["SET", "key", "a value of some length"]));
        let bytes = match index % 3 {
            0 => (0..rng.usize(1..2000)).map(|_| rng.u8(..)).collect(),
            _ => whole[..rng.usize(1..whole.len())].to_vec(),
        };
        // The server may have closed the connection before it has taken everything.
        let _ = client.send_raw(&bytes);
        if index % 3 == 2 {
            open.push(client);
        }
        if index % 60 == 0 {
            assert_works(&served);
        }
    }
    assert_eq!(open.len(), 200);
    assert_works(&served);
    assert_eq!(ask(&mut served.connect(), ["EXISTS", "key"]), Value::Integer(0), "half a request was executed");
    for mut client in open {
        // What was half is abandoned: the rest of another request does not complete it.
        let _ = client.send_raw(b"\r\n");
    }
    assert_works(&served);
    assert!(served.resident_bytes() < 300 * MIB, "{} bytes", served.resident_bytes());
    assert!(!served.server.process().log().contains("ERROR"), "{}", served.server.process().log());
    served.assert_ends_well();
}

#[test]
fn what_is_only_announced_takes_no_memory() {
    let mut served = Served::start(&[]);
    let announcements: [&[u8]; 4] = [
        b"*1000000000\r\n",
        b"*2\r\n$4\r\nECHO\r\n$536870912\r\nabc",
        b"*1000000000\r\n$536870912\r\n",
        b"*3\r\n$3\r\nSET\r\n$500000000\r\n",
    ];
    let mut open = Vec::new();
    for index in 0..400 {
        let mut client = served.connect();
        client.send_raw(announcements[index % announcements.len()]).expect("the server reads");
        open.push(client);
    }
    assert_works(&served);
    assert!(served.resident_bytes() < 300 * MIB, "{} bytes", served.resident_bytes());
    drop(open);
    served.assert_ends_well();
}

#[test]
fn impossible_requests_are_refused_and_end_the_connection() {
    let served = Served::start(&["--max-request", "1MiB"]);
    let above_limit = [b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1048577\r\n".to_vec(), vec![b'x'; 4096]].concat();
    let nested = b"*1\r\n".repeat(10_000);
    let requests: [(&[u8], &str); 5] = [
        (b"*1\r\n$999999999999\r\n", "-ERR Protocol error: invalid bulk length\r\n"),
        (b"*99999999999\r\n", "-ERR Protocol error: invalid multibulk length\r\n"),
        (b"*1\r\n:4\r\n", "-ERR Protocol error: expected '$', got ':'\r\n"),
        (&nested, "-ERR Protocol error: expected '$', got '*'\r\n"),
        (&above_limit, "-ERR Protocol error: a request may have 1048576 bytes at most\r\n"),
    ];
    for (request, expected) in requests {
        let mut client = served.connect();
        client.send_raw(request).expect("the server reads");
        let shown = request[..request.len().min(60)].escape_ascii();
        let error = client.read_reply().unwrap_or_else(|error| panic!("{shown}: {error}"));
        assert_eq!(format!("-{}\r\n", error_of(error)), expected, "{shown}");
        let end = client.read_reply().map_err(|error| error.kind());
        assert!(end.is_err(), "{shown}: the connection goes on with {end:?}");
    }
    let mut client = served.connect();
    let just_fits = "x".repeat(MIB - 100);
    assert_eq!(ask(&mut client, ["SET", "k", &just_fits]), Value::Simple("OK".into()));
    assert_eq!(ask(&mut client, ["STRLEN", "k"]), Value::Integer(i64::try_from(just_fits.len()).expect("small")));
    served.assert_ends_well();
}

#[test]
fn ten_thousand_requests_in_one_write_are_answered_in_order() {
    let served = Served::start(&[]);
    let mut client = served.connect();
    let requests: Vec<u8> = encode_command(&args(["INCR", "counter"])).repeat(10_000);
    client.send_raw(&requests).expect("the server reads");
    for expected in 1..=10_000 {
        assert_eq!(client.read_reply().expect("a reply"), Value::Integer(expected));
    }
    client.send_raw(&encode_command(&args(["MULTI"]))).expect("the server reads");
    client.send_raw(&requests).expect("the server reads");
    client.send_raw(&encode_command(&args(["EXEC"]))).expect("the server reads");
    assert_eq!(client.read_reply().expect("a reply"), Value::Simple("OK".into()));
    for _ in 0..10_000 {
        assert_eq!(client.read_reply().expect("a reply"), Value::Simple("QUEUED".into()));
    }
    assert_eq!(client.read_reply().expect("a reply"), Value::Array((10_001..=20_000).map(Value::Integer).collect()));
    served.assert_ends_well();
}

#[test]
fn a_client_that_never_reads_cannot_fill_the_memory() {
    let mut served = Served::start(&[]);
    assert_eq!(ask(&mut served.connect(), ["SET", "large", &"x".repeat(MIB)]), Value::Simple("OK".into()));
    let request = encode_command(&args(["GET", "large"])).repeat(1000);
    let silent: Vec<Client> = (0..4)
        .map(|_| {
            let mut client = served.connect();
            client.send_raw(&request).expect("the server reads");
            client
        })
        .collect();
    let mut most = 0;
    for _ in 0..10 {
        assert_works(&served);
        most = most.max(served.resident_bytes());
        thread::sleep(Duration::from_millis(100));
    }
    assert!(most < 600 * MIB, "{most} bytes for 4 GiB of replies that nobody reads");
    // One that reads after all gets everything.
    let mut late = silent.into_iter().next().expect("there are four");
    for _ in 0..1000 {
        match late.read_reply().expect("a reply") {
            Value::Bulk(value) => assert_eq!(value.len(), MIB),
            other => panic!("not a string: {other:?}"),
        }
    }
    drop(late);
    assert_works(&served);
    served.assert_ends_well();
}

#[test]
fn a_client_that_lets_replies_pile_up_above_the_limit_is_disconnected() {
    let served = Served::start(&["--max-output", "1MiB"]);
    assert_eq!(ask(&mut served.connect(), ["SET", "large", &"x".repeat(16 * MIB)]), Value::Simple("OK".into()));
    let mut greedy = served.connect();
    greedy.send_raw(&encode_command(&args(["GET", "large"]))).expect("the server reads");
    thread::sleep(Duration::from_millis(500));
    assert!(greedy.read_reply().is_err(), "the reply came whole");
    assert_works(&served);
    served.assert_ends_well();
}

#[test]
fn clients_above_the_limit_are_told_and_closed() {
    let served = Served::start(&["--max-clients", "10"]);
    let mut clients: Vec<Client> = Vec::new();
    // The connection that found the server ready may be in the last of its places.
    wait_until("ten clients are in", || {
        clients = (0..10).map(|_| served.connect()).collect();
        let are_in = clients.iter_mut().all(|client| matches!(client.call(&args(["PING"])), Ok(Value::Simple(_))));
        if !are_in {
            clients.clear();
        }
        are_in
    });
    let mut refused = served.connect();
    assert_eq!(error_of(refused.read_reply().expect("a reason")), "ERR max number of clients reached");
    assert!(refused.read_reply().is_err(), "the connection goes on");
    for client in &mut clients {
        assert_eq!(ask(client, ["PING"]), Value::Simple("PONG".into()));
    }
    clients.pop();
    wait_until("a place is free again", || matches!(served.connect().call(&args(["PING"])), Ok(Value::Simple(_))));
    drop(clients);
    served.assert_ends_well();
}

const BYSTANDERS: usize = 20;
const PANICS: usize = 10;

/// Writes the count again, in a transaction. A trap takes what was queued with it, and says so: then it is sent again.
fn copy(client: &mut Client, key: &str, count: i64) {
    loop {
        assert_eq!(ask(client, ["MULTI"]), Value::Simple("OK".into()));
        let queued = ask(client, ["HSET", key, "copy", &count.to_string()]);
        match ask(client, ["EXEC"]) {
            Value::Array(_) => return assert_eq!(queued, Value::Simple("QUEUED".into())),
            other => assert_eq!(error_of(other), "EXECABORT Transaction discarded because of previous errors."),
        }
    }
}

/// Counts, in a hash and in a transaction, until `done`; returns how often.
fn count(mut client: Client, index: usize, done: &std::sync::atomic::AtomicBool) -> i64 {
    let key = format!("bystander:{index}");
    assert_eq!(ask(&mut client, ["CLIENT", "SETNAME", &key]), Value::Simple("OK".into()));
    assert_eq!(ask(&mut client, ["SELECT", "2"]), Value::Simple("OK".into()));
    let mut count = 0;
    while !done.load(std::sync::atomic::Ordering::Relaxed) {
        count += 1;
        assert_eq!(ask(&mut client, ["HINCRBY", &key, "count", "1"]), Value::Integer(count));
        copy(&mut client, &key, count);
    }
    assert_eq!(ask(&mut client, ["CLIENT", "GETNAME"]), bulk(&key), "the connection's state is kept");
    count
}

#[test]
fn a_trap_costs_its_own_connection_only() {
    let mut served = Served::start(&["--allow-debug-panic"]);
    let done = std::sync::atomic::AtomicBool::new(false);
    let counts: Vec<i64> = thread::scope(|scope| {
        let bystanders: Vec<_> = (0..BYSTANDERS)
            .map(|index| {
                let (client, done) = (served.connect(), &done);
                scope.spawn(move || count(client, index, done))
            })
            .collect();
        for _ in 0..PANICS {
            let mut client = served.connect();
            assert_eq!(ask(&mut client, ["SET", "before", "kept"]), Value::Simple("OK".into()));
            let error = error_of(ask(&mut client, ["DEBUG", "PANIC"]));
            assert!(error.starts_with("ERR internal: "), "{error}");
            assert!(client.read_reply().is_err(), "the connection goes on");
            thread::sleep(Duration::from_millis(50));
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        bystanders.into_iter().map(|bystander| bystander.join().expect("its connection goes on")).collect()
    });
    let mut client = served.connect();
    assert_eq!(ask(&mut client, ["GET", "before"]), bulk("kept"));
    assert_eq!(ask(&mut client, ["SELECT", "2"]), Value::Simple("OK".into()));
    for (index, count) in counts.iter().enumerate() {
        let count = bulk(&count.to_string());
        assert_eq!(ask(&mut client, ["HMGET", &format!("bystander:{index}"), "count", "copy"]), Value::Array(vec![count.clone(), count]));
    }
    let log = served.server.process().log();
    assert!(log.matches("the component trapped").count() >= PANICS, "{log}");
    served.assert_ends_well();
}

/// The sizes of all files, in bytes.
fn size_of(dir: &Path) -> u64 {
    // Files come and go while RocksDB works.
    let files = std::fs::read_dir(dir).expect("the directory").filter_map(Result::ok);
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
}

const FIELDS: usize = 1_000_000;
const FIELDS_A_COMMAND: usize = 2_000;

fn load_large_hash(client: &mut Client) {
    let mut rng = fastrand::Rng::with_seed(3);
    for first in (0..FIELDS).step_by(FIELDS_A_COMMAND) {
        let mut command: Args = args(["HSET", "large"]);
        // Values that do not compress: less than 32 MiB of files are left to ordinary compactions.
        let mut field = |index| [format!("field:{index}").into_bytes(), (0..64).map(|_| rng.u8(..)).collect()];
        command.extend((first..first + FIELDS_A_COMMAND).flat_map(&mut field));
        let added = client.call(&command).expect("the server answers");
        assert_eq!(added, Value::Integer(i64::try_from(FIELDS_A_COMMAND).expect("few")));
    }
}

#[test]
fn del_of_a_million_fields_writes_little_and_their_space_comes_back() {
    let Served { server, dir } = Served::start(&[]);
    let data = dir.path().join("data");
    load_large_hash(&mut Client::connect(server.address()).expect("the server accepts"));
    assert!(server.terminate().success());
    // Without a server nothing sweeps: what DEL itself does is seen.
    assert_eq!(offline::run(&data, "exec", &["DEL", "large"]), "1\n");
    let after_del = offline::count_records(&data);
    assert_eq!(after_del.get("data"), Some(&FIELDS), "DEL touches no field");
    assert_eq!((after_del.get("meta"), after_del.get("garbage")), (None, Some(&1)));
    let full = size_of(&data);
    let server = OrbweaverServer::start(&data, &[]);
    assert_eq!(ask(&mut Client::connect(server.address()).expect("the server accepts"), ["DBSIZE"]), Value::Integer(0));
    wait_until("the files are smaller", || size_of(&data) < full / 4);
    assert!(server.terminate().success());
    let swept = offline::count_records(&data);
    assert_eq!((swept.get("data"), swept.get("garbage")), (None, None));
    offline::assert_check_is_clean(&data);
}

#[test]
fn expired_keys_are_removed_without_being_asked_for() {
    let Served { server, dir } = Served::start(&[]);
    let data = dir.path().join("data");
    let mut client = Client::connect(server.address()).expect("the server accepts");
    for index in 0..3000 {
        let key = format!("key:{index}");
        // Some of the hashes are too large to be packed.
        let value = "value".repeat(if index % 2 == 0 { 1 } else { 200 });
        let command = if index % 3 == 0 { ["HSET", &key, "field", &value] } else { ["SETEX", &key, "1", "value"] };
        client.send_raw(&encode_command(&args(command))).expect("the server reads");
        client.send_raw(&encode_command(&args(["PEXPIRE", &key, "100"]))).expect("the server reads");
        client.read_reply().expect("a reply");
        client.read_reply().expect("a reply");
    }
    assert_eq!(ask(&mut client, ["SET", "stays", "value", "EX", "1000"]), Value::Simple("OK".into()));
    wait_until("all keys have expired", || ask(&mut client, ["DBSIZE"]) == Value::Integer(1));
    wait_until("the sweep has counted them", || match ask(&mut client, ["INFO", "stats"]) {
        Value::Bulk(info) => String::from_utf8_lossy(&info).contains("expired_keys:3000\r\n"),
        other => panic!("not a text: {other:?}"),
    });
    assert!(server.terminate().success());
    let left = offline::count_records(&data);
    assert_eq!((left.get("meta"), left.get("expiry"), left.get("data")), (Some(&1), Some(&1), None), "{left:?}");
    offline::assert_check_is_clean(&data);
}
