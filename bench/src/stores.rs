//! `cargo xtask bench --stores`: the same requests to servers on RocksDB, on PostgreSQL and on three nodes of etcd, all on this
//! machine, one server and three, with pipelines and without: operations a second, and round trips to the store for each.

use anyhow::{Context as _, Result, ensure};
use comfy_table::{Table, presets::ASCII_MARKDOWN};
use orbweaver_engine::resp::Value;
use orbweaver_tests::client::{Args, Client};
use orbweaver_tests::shared_store::{Servers, SharedStore, info};
use std::net::SocketAddr;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

const CLIENTS: usize = 24;
const PIPELINES: [usize; 2] = [1, 32];
/// Each on so many keys, in a scattered order.
const KEYS: usize = 100_000;
const VALUE: &str = "a value of a hundred bytes, which is what is mostly measured: .......................................";

/// A command: its words, `#` for a key's number.
type Operation = &'static [&'static str];
const OPERATIONS: [Operation; 5] = [
    &["SET", "string:#", VALUE],
    &["GET", "string:#"],
    &["INCR", "counter:#"],
    &["HSET", "hash:#", "field", VALUE],
    &["HGET", "hash:#", "field"],
];

/// The `n`th request.
fn request(operation: Operation, n: usize) -> Args {
    let key = format!("{:08}", n.wrapping_mul(7919) % KEYS);
    operation.iter().map(|word| word.replace('#', &key).into_bytes()).collect()
}
/// How long each operation is measured.
const LENGTH: Duration = Duration::from_secs(3);
/// INFO is told of round trips once a second.
const FACTS_PERIOD: Duration = Duration::from_millis(1200);

/// Measures, and prints the table.
pub fn run() -> Result<()> {
    let mut table = Table::new();
    table.load_preset(ASCII_MARKDOWN).set_header([
        "store",
        "servers",
        "pipeline",
        "operation",
        "operations /s",
        "round trips an operation",
    ]);
    let stores = [None, Some(SharedStore::postgres()), Some(SharedStore::etcd())];
    for store in &stores {
        let name = store.as_ref().map_or("rocksdb", SharedStore::name);
        // A directory has one server.
        let counts: &[usize] = if store.is_some() { &[1, 3] } else { &[1] };
        for &count in counts {
            let url = store.as_ref().map_or_else(|| "rocksdb".to_owned(), SharedStore::url);
            let servers = Servers::start(&url, count, &[]);
            for pipeline in PIPELINES {
                for operation in OPERATIONS {
                    let (rate, trips) = measure(&servers, count, operation, pipeline, store.is_some())?;
                    let trips = trips.map_or_else(|| "none".to_owned(), |trips| format!("{trips:.2}"));
                    let cells = [count.to_string(), pipeline.to_string(), operation[0].to_owned(), format!("{rate:.0}"), trips];
                    table.add_row(std::iter::once(name.to_owned()).chain(cells).collect::<Vec<_>>());
                }
            }
        }
    }
    println!("{table}");
    Ok(())
}

/// Operations a second, and round trips for each where the store is behind a network.
fn measure(servers: &Servers, count: usize, operation: Operation, pipeline: usize, is_remote: bool) -> Result<(f64, Option<f64>)> {
    let before = round_trips(servers, count, is_remote)?;
    let addresses: Vec<SocketAddr> = (0..count).map(|number| servers.address(number)).collect();
    let start = Instant::now();
    let done = scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let address = addresses[number % count];
                scope.spawn(move || client(address, operation, pipeline, number))
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap_or_else(|_| Ok(0))).sum::<Result<usize>>()
    })?;
    let elapsed = start.elapsed().as_secs_f64();
    ensure!(done > 0, "{} was never answered", operation[0]);
    let after = round_trips(servers, count, is_remote)?;
    let trips = before.zip(after).map(|(before, after)| (after - before) as f64 / done as f64);
    Ok((done as f64 / elapsed, trips))
}

fn round_trips(servers: &Servers, count: usize, is_remote: bool) -> Result<Option<u64>> {
    if !is_remote {
        return Ok(None);
    }
    sleep(FACTS_PERIOD);
    let names = ["store_read_round_trips", "store_commit_round_trips"];
    let of = |number: usize| names.map(|name| info(&mut servers.client(number), name).parse::<u64>());
    (0..count).flat_map(of).sum::<Result<u64, _>>().map(Some).context("INFO tells no number of round trips")
}

/// Sends pipelines until the time is over. Returns how many requests were answered.
fn client(address: SocketAddr, operation: Operation, pipeline: usize, number: usize) -> Result<usize> {
    let mut client = Client::connect(address)?;
    let start = Instant::now();
    let (mut done, mut next) = (0, number * 1_000_003);
    while start.elapsed() < LENGTH {
        let commands: Vec<Args> = (next..next + pipeline).map(|n| request(operation, n)).collect();
        for reply in client.pipeline(&commands.iter().collect::<Vec<_>>())? {
            ensure!(!matches!(reply, Value::Error(_)), "{}: {reply:?}", operation[0]);
        }
        (done, next) = (done + pipeline, next + pipeline);
    }
    Ok(done)
}
