//! `orbweaver serve` on stores behind a network against Debian's redis-server, over random command sequences: in pipelines, where
//! requests share round trips, and one by one.

use std::io;

use orbweaver_engine::resp::Value;
use orbweaver_servers::EtcdCluster;
use orbweaver_tests::client::Args;
use orbweaver_tests::differential::{Plan, compare};
use orbweaver_tests::orbweaver_server::ServedTarget;
use orbweaver_tests::redis_server::RedisServer;
use orbweaver_tests::shared_store::SharedStore;
use orbweaver_tests::target::{SocketTarget, Target};

const COMMANDS: usize = 20_000;

/// Some sequences have a MULTI that changes thousands of records, which etcd's usual limits refuse: a difference that is wanted, and leaves
/// everything behind it different. Such transactions are compared on nodes that take them; the limits are tested beside the store.
const ROOM: [&str; 2] = ["--max-txn-ops=1024", "--max-request-bytes=10485760"];
const OPTIONS: &str = "max-txn-ops=1024&max-request-bytes=10485760";

/// One command at a time, where others are given whole pipelines.
struct OneByOne<T>(T);

impl<T: Target> Target for OneByOne<T> {
    fn reset(&mut self) -> io::Result<()> {
        self.0.reset()
    }

    fn execute(&mut self, connection: usize, commands: &[&Args]) -> io::Result<Vec<Value>> {
        commands.iter().map(|command| Ok(self.0.execute(connection, &[command])?.remove(0))).collect()
    }
}

fn assert_as_redis(name: &str, ours: &mut dyn Target) {
    let redis = RedisServer::start(&[]);
    let summary = compare(&mut SocketTarget::new(redis.address()), ours, &Plan::from_environment(COMMANDS)).expect("both servers live");
    println!("{name}: {} commands compared; known differences met: {:?}", summary.commands, summary.known);
    assert!(summary.reports.is_empty(), "replies differ:\n\n{}", summary.reports.join("\n"));
    assert!(summary.commands >= COMMANDS);
}

fn on_postgres(store: &SharedStore) -> ServedTarget {
    ServedTarget::start(&["--store", &store.url()])
}

fn etcd() -> EtcdCluster {
    EtcdCluster::start(&ROOM).expect("etcd starts")
}

fn on_etcd(cluster: &EtcdCluster) -> ServedTarget {
    ServedTarget::start(&["--store", &format!("{}?{OPTIONS}", cluster.url("orbweaver"))])
}

#[test]
fn the_server_on_postgres_answers_as_redis_does() {
    let store = SharedStore::postgres();
    assert_as_redis("postgres, pipelined", &mut on_postgres(&store));
}

#[test]
fn the_server_on_postgres_answers_commands_one_by_one_as_redis_does() {
    let store = SharedStore::postgres();
    assert_as_redis("postgres, one by one", &mut OneByOne(on_postgres(&store)));
}

#[test]
fn the_server_on_etcd_answers_as_redis_does() {
    let cluster = etcd();
    assert_as_redis("etcd, pipelined", &mut on_etcd(&cluster));
}

#[test]
fn the_server_on_etcd_answers_commands_one_by_one_as_redis_does() {
    let cluster = etcd();
    assert_as_redis("etcd, one by one", &mut OneByOne(on_etcd(&cluster)));
}
