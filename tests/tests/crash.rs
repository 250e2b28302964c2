//! Nothing lost: servers that are killed at any moment, and what is there when they are started again.
//!
//! SIGKILL ends the process, not the machine: what the operating system has been given is kept, synced or not. So every
//! `--durability` must keep everything here. That `always` syncs before it acknowledges is tested beside the store.

use std::net::SocketAddr;
use std::ops::Range;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use orbweaver_engine::resp::Value;
use orbweaver_tests::client::{Args, Client, args};
use orbweaver_tests::offline;
use orbweaver_tests::orbweaver_server::OrbweaverServer;
use orbweaver_tests::writer::{Model, Sent, Writer};
use tempfile::TempDir;

const WRITERS: usize = 4;
const COUNTERS: usize = 2;
/// A server lives at most this long once it answers.
const LIFE_MS: u64 = 120;
/// Every so many rounds all records are verified.
const CHECK_PERIOD: usize = 10;

/// How a server ends while clients write.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Kill,
    Terminate,
}

/// What the clients of one server got out of it.
struct Life {
    writers: Vec<Sent>,
    /// The highest value that each counter was told.
    counted: Vec<i64>,
}

/// INCRs one key that all counters share, until the server is gone. Returns the last reply; 0 if there was none.
fn count_until_gone(address: SocketAddr) -> i64 {
    let mut last = 0;
    let Ok(mut client) = Client::connect(address) else { return last };
    while let Ok(reply) = client.call(&args(["INCR", "shared"])) {
        let Value::Integer(value) = reply else { panic!("not a number: {reply:?}") };
        assert!(value > last, "{value} after {last}");
        last = value;
    }
    last
}

/// Has all clients write to the server until it is ended.
fn live(server: OrbweaverServer, writers: &mut [Writer], life: Duration, end: End) -> Life {
    let address = server.address();
    thread::scope(|scope| {
        let writers: Vec<_> = writers.iter_mut().map(|writer| scope.spawn(move || writer.write_until_gone(address))).collect();
        let counters: Vec<_> = (0..COUNTERS).map(|_| scope.spawn(move || count_until_gone(address))).collect();
        thread::sleep(life);
        match end {
            End::Kill => server.kill(),
            End::Terminate => assert!(server.terminate().success()),
        }
        Life {
            writers: writers.into_iter().map(|writer| writer.join().expect("the writer ends with its server")).collect(),
            counted: counters.into_iter().map(|counter| counter.join().expect("the counter ends with its server")).collect(),
        }
    })
}

fn integer_of(client: &mut Client, key: &str) -> i64 {
    match client.call(&args(["GET", key])).expect("the server answers") {
        Value::Bulk(text) => std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok()).expect("a number"),
        Value::Null => 0,
        other => panic!("not a string: {other:?}"),
    }
}

fn assert_kept(client: &mut Client, models: &mut [Model], life: &Life) {
    for (model, sent) in models.iter_mut().zip(&life.writers) {
        model.assert_kept(client, sent);
    }
    // Each counter may have sent one more than it was told of.
    let (told, unheard) = (life.counted.iter().max().copied().unwrap_or_default(), i64::try_from(COUNTERS).expect("few"));
    let shared = integer_of(client, "shared");
    assert!(told == 0 || (told..=told + unheard).contains(&shared), "told {told}, found {shared}");
}

/// How many commands a writer sends at once.
const FEW: Range<usize> = 1..6;
/// So many are several groups, of which one is written while the next one runs.
const MANY: Range<usize> = 200..500;

/// The same directory goes through all rounds.
fn assert_nothing_is_lost(options: &[&str], rounds: usize, end: End, at_once: Range<usize>) {
    let dir = TempDir::new().expect("a temporary directory");
    let dir = dir.path().join("data");
    let mut rng = fastrand::Rng::with_seed(u64::try_from(rounds).expect("few"));
    let names: Vec<String> = (0..WRITERS).map(|index| format!("writer{index}")).collect();
    let writer = |(name, seed): (&String, u64)| Writer::new(name, seed).with_pipelines_of(at_once.clone());
    let seeds: Vec<u64> = names.iter().map(|_| rng.u64(..)).collect();
    let mut writers: Vec<Writer> = names.iter().zip(seeds).map(writer).collect();
    let mut models: Vec<Model> = names.iter().map(|name| Model::new(name)).collect();
    let (mut acknowledged, mut cut_off) = (0, 0);
    let mut server = OrbweaverServer::start(&dir, options);
    for round in 1..=rounds {
        let life = live(server, &mut writers, Duration::from_millis(rng.u64(..LIFE_MS)), end);
        if round % CHECK_PERIOD == 0 {
            offline::assert_check_is_clean(&dir);
        }
        server = OrbweaverServer::start(&dir, options);
        assert_kept(&mut Client::connect(server.address()).expect("the server accepts"), &mut models, &life);
        acknowledged += life.writers.iter().map(|sent| sent.replies.len()).sum::<usize>();
        cut_off += life.writers.iter().filter(|sent| sent.replies.len() < sent.commands.len()).count();
    }
    server.kill();
    offline::assert_check_is_clean(&dir);
    assert!(acknowledged > 20 * rounds, "only {acknowledged} commands were acknowledged: the test says little");
    assert!(cut_off > 0, "no server was ended in the middle of commands");
}

#[test]
fn a_hundred_kills_lose_nothing_that_was_acknowledged() {
    assert_nothing_is_lost(&["--durability", "always"], 100, End::Kill, FEW);
}

#[test]
fn a_kill_of_the_process_alone_loses_nothing_with_fsync_every_second() {
    assert_nothing_is_lost(&["--durability", "everysec"], 15, End::Kill, FEW);
}

#[test]
fn a_kill_of_the_process_alone_loses_nothing_without_fsync() {
    assert_nothing_is_lost(&["--durability", "os"], 15, End::Kill, FEW);
}

#[test]
fn a_kill_amid_long_pipelines_loses_nothing_that_was_acknowledged() {
    assert_nothing_is_lost(&["--durability", "everysec", "--packed-bytes", "0"], 20, End::Kill, MANY);
}

/// So little that what waits is written back at once, or heads are put past the tables, in the middle of a server's life.
#[test]
fn a_kill_with_little_memory_for_heads_loses_nothing_that_was_acknowledged() {
    assert_nothing_is_lost(&["--durability", "everysec", "--write-back", "128KiB"], 30, End::Kill, MANY);
}

#[test]
fn a_kill_loses_nothing_of_packed_collections() {
    for at_once in [FEW, MANY] {
        assert_nothing_is_lost(&["--durability", "everysec", "--packed-bytes", "200"], 15, End::Kill, at_once);
    }
}

#[test]
fn a_server_that_is_told_to_stop_keeps_everything() {
    for durability in ["always", "everysec", "os"] {
        assert_nothing_is_lost(&["--durability", durability], 5, End::Terminate, FEW);
    }
}

const KEPT_FIELDS: usize = 5_000;
const LARGE_FIELDS: usize = 20_000;
const SMALL_HASHES: usize = 300;
const SMALL_FIELDS: usize = 40;

/// HSET commands that make a hash of `fields` fields, of a handy size each.
fn hash(key: &str, fields: usize) -> Vec<Args> {
    let fields: Vec<String> = (0..fields).map(|index| format!("field:{index}")).collect();
    let command = |part: &[String]| {
        let pairs = part.iter().flat_map(|field| args([field.as_str(), "value"]));
        args(["HSET", key]).into_iter().chain(pairs).collect()
    };
    fields.chunks(500).map(command).collect()
}

fn send(client: &mut Client, commands: &[Args]) {
    for reply in client.pipeline(&commands.iter().collect::<Vec<_>>()).expect("the server answers") {
        assert!(!matches!(reply, Value::Error(_)), "{reply:?}");
    }
}

/// Leaves much for the sweep: a large hash, many small ones, keys that expire at once, a db that is flushed.
fn make_garbage(client: &mut Client) {
    send(client, &hash("large", LARGE_FIELDS));
    let names: Vec<String> = (0..SMALL_HASHES).map(|index| format!("small:{index}")).collect();
    send(client, &names.iter().flat_map(|name| hash(name, SMALL_FIELDS)).collect::<Vec<_>>());
    send(client, &names.iter().map(|name| args(["SET", &format!("short:{name}"), "value", "PX", "1"])).collect::<Vec<_>>());
    send(client, &[args(["SELECT", "1"])]);
    send(client, &names.iter().flat_map(|name| hash(name, SMALL_FIELDS)).collect::<Vec<_>>());
    let remove = args(["DEL", "large"]).into_iter().chain(names.iter().map(|name| name.clone().into_bytes())).collect();
    send(client, &[args(["FLUSHDB"]), args(["SELECT", "0"]), remove]);
}

fn assert_only_kept_is_there(client: &mut Client) {
    let expect = [("DBSIZE", "", 1), ("HLEN", "kept", KEPT_FIELDS), ("HSTRLEN", "kept field:4999", 5)];
    for (command, rest, expected) in expect {
        let words: Args = std::iter::once(command).chain(rest.split_whitespace()).map(Vec::from).collect();
        let reply = client.call(&words).expect("the server answers");
        assert_eq!(reply, Value::Integer(i64::try_from(expected).expect("few")), "{command} {rest}");
    }
}

/// How much is left of what was removed: records in `data` and `garbage` beside the hash that is kept.
fn left_behind(dir: &Path) -> usize {
    let counts = offline::count_records(dir);
    let count = |keyspace| counts.get(keyspace).copied().unwrap_or_default();
    count("data") - KEPT_FIELDS + count("garbage") + count("expiry") + count("meta") - 1
}

#[test]
fn kills_during_the_sweep_bring_nothing_back_and_leave_nothing_behind() {
    let dir = TempDir::new().expect("a temporary directory");
    let dir = dir.path().join("data");
    let mut rng = fastrand::Rng::with_seed(7);
    let start = || OrbweaverServer::start(&dir, &["--durability", "os"]);
    let connect = |server: &OrbweaverServer| Client::connect(server.address()).expect("the server accepts");
    let server = start();
    send(&mut connect(&server), &hash("kept", KEPT_FIELDS));
    server.kill();
    let mut interrupted = 0;
    for round in 0..10 {
        let server = start();
        let mut client = connect(&server);
        make_garbage(&mut client);
        thread::sleep(Duration::from_millis(rng.u64(..=20 * round)));
        server.kill();
        offline::assert_check_is_clean(&dir);
        interrupted += usize::from(left_behind(&dir) > 0);
        // Started again, and killed while it goes on with the sweep.
        let server = start();
        assert_only_kept_is_there(&mut connect(&server));
        thread::sleep(Duration::from_millis(rng.u64(..30)));
        server.kill();
    }
    assert!(interrupted > 0, "no kill met the sweep at work");
    let patience = Instant::now() + Duration::from_secs(60);
    while left_behind(&dir) > 0 {
        assert!(Instant::now() < patience, "the sweep leaves {} records", left_behind(&dir));
        let server = start();
        thread::sleep(Duration::from_millis(300));
        assert!(server.terminate().success());
    }
    offline::assert_check_is_clean(&dir);
}
