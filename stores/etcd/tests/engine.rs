//! The engine on etcd: commands, many servers at once, and how often they collide.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use bytes::Bytes;
use common::{cluster, fresh_store, fresh_url};
use orbweaver_engine::environment::SystemEnvironment;
use orbweaver_engine::session::{Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::Store;
use orbweaver_etcd::EtcdStore;
use orbweaver_remote::RoundTrips;
use orbweaver_servers::EtcdCluster;
use std::thread;
use std::time::Instant;

/// The number of a client's connection: each engine has but one.
const CONNECTION: u64 = 1;

/// A client of a server of its own.
struct Client(Engine);

impl Client {
    fn on(store: Box<dyn Store>) -> Self {
        let mut engine = Engine::open(store, Box::new(SystemEnvironment::default()), Settings::default()).unwrap();
        engine.connect(CONNECTION, "127.0.0.1:1", None);
        Self(engine)
    }

    /// The replies to inline commands, line ends shown as spaces.
    fn run(&mut self, lines: &str) -> String {
        let input = Bytes::from(format!("{}\r\n", lines.replace('\n', "\r\n")));
        let mut outcome = self.0.exchange(&[Delivery { connection: CONNECTION, input }]);
        let output = outcome.answers.pop().map(|answer| answer.output).unwrap_or_default();
        String::from_utf8_lossy(&output).trim_end().replace("\r\n", " ")
    }
}

fn check(client: &mut Client, script: &[(&str, &str)]) {
    for (line, reply) in script {
        assert_eq!(client.run(line), *reply, "{line}");
    }
}

#[test]
fn commands_answer_as_they_do_on_any_store() {
    let cluster = cluster();
    let mut client = Client::on(Box::new(fresh_store(&cluster).handle()));
    check(
        &mut client,
        &[
            ("SET key value", "+OK"),
            ("GET key", "$5 value"),
            ("INCR key", "-ERR value is not an integer or out of range"),
            ("RPUSH list a b c", ":3"),
            ("LRANGE list 0 -1", "*3 $1 a $1 b $1 c"),
            ("LPOP list", "$1 a"),
            ("ZADD zset 1 a 2 b 3 c", ":3"),
            ("ZREVRANGE zset 0 1", "*2 $1 c $1 b"),
            ("ZRANGEBYSCORE zset 2 3", "*2 $1 b $1 c"),
            ("HSET hash f 1 g 2", ":2"),
            ("HINCRBY hash f 5", ":6"),
            ("SADD set x y z", ":3"),
            ("SISMEMBER set y", ":1"),
            ("RENAME hash other", "+OK"),
            ("HGETALL other", "*4 $1 f $1 6 $1 g $1 2"),
            ("EXPIRE key 100", ":1"),
            ("TTL key", ":100"),
            ("DBSIZE", ":5"),
            ("DEL list zset", ":2"),
            ("MULTI\nSET a 1\nINCR a\nEXEC", "+OK +QUEUED +QUEUED *2 +OK :2"),
            ("FLUSHALL", "+OK"),
            ("DBSIZE", ":0"),
        ],
    );
}

#[test]
fn watched_keys_and_flushed_dbs_are_seen_by_other_servers() {
    let cluster = cluster();
    let url = fresh_url(&cluster);
    let [mut one, mut other] = [(); 2].map(|()| Client::on(Box::new(EtcdStore::open(&url).unwrap().handle())));
    check(&mut one, &[("SET key 1", "+OK"), ("WATCH key", "+OK"), ("MULTI", "+OK"), ("SET key 2", "+QUEUED")]);
    check(&mut other, &[("GET key", "$1 1"), ("SET key other", "+OK")]);
    check(&mut one, &[("EXEC", "*-1"), ("GET key", "$5 other"), ("WATCH key", "+OK"), ("MULTI", "+OK"), ("SET key 3", "+QUEUED")]);
    check(&mut one, &[("EXEC", "*1 +OK"), ("WATCH key", "+OK"), ("MULTI", "+OK"), ("SET key 4", "+QUEUED")]);
    check(&mut other, &[("FLUSHALL", "+OK"), ("GET key", "$-1")]);
    check(&mut one, &[("EXEC", "*-1"), ("GET key", "$-1"), ("SET key 5", "+OK")]);
    check(&mut other, &[("GET key", "$1 5"), ("SWAPDB 0 1", "+OK"), ("GET key", "$-1")]);
    check(&mut one, &[("GET key", "$-1"), ("SELECT 1", "+OK"), ("GET key", "$1 5")]);
}

#[test]
fn large_collections_are_written_whole_or_refused() {
    let cluster = cluster();
    let mut client = Client::on(Box::new(fresh_store(&cluster).handle()));
    let fields = |count: u32| (0..count).map(|number| format!(" f{number} v")).collect::<String>();
    assert_eq!(client.run(&format!("HSET hash{}", fields(2000))), ":2000");
    assert_eq!(client.run("HLEN hash"), ":2000");
    let refused = client.run(&format!("HSET large{}", fields(3000)));
    assert_eq!(refused, "-ERR storage: a batch of 3001 operations is above the store's limit of 2048");
    assert_eq!(client.run("EXISTS large\nDEL hash\nEXISTS hash"), ":0 :1 :0");
    let pipeline: String = (0..3000).map(|number| format!("SET key:{number} {number}\n")).collect();
    assert_eq!(client.run(&format!("{pipeline}DBSIZE")).split(' ').next_back(), Some(":3000"));
}

/// What commands cost in round trips: a read, and a commit where something is written.
#[test]
fn a_command_costs_one_request_to_read_and_one_to_write() {
    let cluster = cluster();
    let store = fresh_store(&cluster);
    let mut client = Client::on(Box::new(store.handle()));
    // The first commands reserve versions, and learn the catalog.
    client.run("SET key 1\nRPUSH list a\nHSET hash f v\nZADD zset 1 a\nSADD set a\nMSET a 1 b 2");
    let mut costs = Vec::new();
    for (line, reads, commits) in [
        ("GET key", 1, 0),
        ("MGET key a b", 1, 0),
        ("SET key 2", 1, 1),
        ("INCR key", 1, 1),
        ("MSET a 1 b 2", 1, 1),
        ("HGET hash f", 2, 0),
        ("HSET hash f w", 2, 1),
        ("RPUSH list b", 1, 1),
        ("LRANGE list 0 -1", 2, 0),
        ("SADD set b", 2, 1),
        ("ZADD zset 2 b", 2, 1),
        ("ZREVRANGE zset 0 0", 2, 0),
        ("DEL a b", 1, 1),
        ("GET key\nSET key 3\nINCR key\nGET other\nSET other 1", 1, 1),
    ] {
        let before = store.round_trips();
        let reply = client.run(line);
        assert!(!reply.contains("-ERR"), "{line}: {reply}");
        let cost = store.round_trips().since(before);
        println!("{line:?}: {cost:?}");
        costs.push((line, cost == RoundTrips { reads, commits }, cost));
    }
    assert!(costs.iter().all(|(_, is_right, _)| *is_right), "{costs:#?}");
}

/// How many requests were commits for each command that wrote: 1 without conflicts.
fn commits_a_command(store: &EtcdStore, before: RoundTrips, commands: u64) -> f64 {
    let commits = u32::try_from(store.round_trips().since(before).commits).unwrap();
    f64::from(commits) / f64::from(u32::try_from(commands).unwrap())
}

/// Has threads, each a server, send commands; prints how often they collided.
fn contend(cluster: &EtcdCluster, name: &str, threads: u64, rounds: u64, key: impl Fn(u64, u64) -> String + Sync) -> (EtcdStore, f64) {
    let store = fresh_store(cluster);
    // The store is made before they compete.
    Client::on(Box::new(store.handle())).run("GET key");
    let (start, before) = (Instant::now(), store.round_trips());
    thread::scope(|scope| {
        for thread in 0..threads {
            let (store, key) = (&store, &key);
            scope.spawn(move || {
                let mut client = Client::on(Box::new(store.handle()));
                for round in 0..rounds {
                    let reply = client.run(&format!("INCR {}", key(thread, round)));
                    assert!(reply.starts_with(':'), "{reply}");
                }
            });
        }
    });
    let rate = commits_a_command(&store, before, threads * rounds);
    println!("{name}: {threads} clients, {} commands in {:?}, {rate:.2} commits a command", threads * rounds, start.elapsed());
    (store, rate)
}

#[test]
fn thirty_two_clients_on_one_counter_end_with_the_exact_sum() {
    let cluster = cluster();
    let (store, _) = contend(&cluster, "one counter", 32, 20, |_, _| "counter".into());
    assert_eq!(Client::on(Box::new(store.handle())).run("GET counter"), "$3 640");
}

#[test]
fn on_a_thousand_counters_conflicts_are_rare() {
    let key = |thread: u64, round: u64| format!("counter:{}", (thread * 7919 + round * 104_729) % 1000);
    let cluster = cluster();
    let (store, rate) = contend(&cluster, "a thousand counters", 16, 40, key);
    assert!(rate < 1.5, "{rate} commits a command");
    let mut client = Client::on(Box::new(store.handle()));
    let names: Vec<String> = (0..1000).map(|number| format!("counter:{number}")).collect();
    let values = client.run(&format!("MGET {}", names.join(" ")));
    let sum: u64 = values.split(' ').skip(1).filter(|word| !word.starts_with('$')).map(|word| word.parse::<u64>().unwrap()).sum();
    assert_eq!(sum, 640);
}
