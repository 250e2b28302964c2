//! Over sockets: `orbweaver serve` beside Debian's redis-server with an append-only file, both driven by redis-benchmark.

use crate::in_process::median;
use crate::workload::{BIG_HASHES, KEYS, Operation, VALUE_BYTES, encode, preparation, value};
use anyhow::{Context, Result};
use orbweaver_tests::orbweaver_server::OrbweaverServer;
use orbweaver_tests::redis_server::RedisServer;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

/// Requests a second for one operation.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    pub operation: Operation,
    pub pipeline: usize,
    pub orbweaver: f64,
    pub redis: f64,
}

const CLIENTS: &str = "50";

/// Measures both servers, in turns.
pub fn measure(requests: usize, rounds: usize) -> Result<Vec<Rate>> {
    let dir = tempfile::tempdir()?;
    let mut orbweaver = OrbweaverServer::start(dir.path(), &["--store", "rocksdb", "--durability", "everysec"]);
    let redis = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "everysec"]);
    let servers = [orbweaver.process().address(), redis.address()];
    for address in servers {
        prepare(address)?;
    }
    let mut rates = Vec::new();
    for operation in Operation::ALL {
        for pipeline in crate::in_process::PIPELINES {
            let mut samples = [Vec::new(), Vec::new()];
            for round in 0..=rounds {
                for (address, samples) in servers.iter().zip(&mut samples) {
                    let rate = requests_per_second(*address, operation, operation.repetitions(requests), pipeline)?;
                    if round > 0 {
                        samples.push(rate);
                    }
                }
            }
            let [orbweaver, redis] = samples.map(median);
            rates.push(Rate { operation, pipeline, orbweaver, redis });
        }
    }
    Ok(rates)
}

/// Makes the hashes that HGETALL reads.
fn prepare(address: SocketAddr) -> Result<()> {
    let mut socket = TcpStream::connect(address)?;
    for command in preparation() {
        socket.write_all(&encode(&command))?;
        let mut reply = [0; 64];
        let length = socket.read(&mut reply)?;
        anyhow::ensure!(reply.get(..length).is_some_and(|reply| reply.starts_with(b":")), "a server refused the preparation");
    }
    Ok(())
}

fn requests_per_second(address: SocketAddr, operation: Operation, requests: usize, pipeline: usize) -> Result<f64> {
    let key = |kind: &str| format!("{kind}:__rand_int__");
    let text = String::from_utf8_lossy(&value()).into_owned();
    debug_assert_eq!(text.len(), VALUE_BYTES);
    let command: Vec<String> = match operation {
        Operation::Set => vec!["SET".into(), key("string"), text],
        Operation::Get => vec!["GET".into(), key("string")],
        Operation::Incr => vec!["INCR".into(), key("counter")],
        Operation::HSet => vec!["HSET".into(), key("hash"), "field".into(), text],
        Operation::HGet => vec!["HGET".into(), key("hash"), "field".into()],
        Operation::HGetAll => vec!["HGETALL".into(), "big:__rand_int__".into()],
    };
    // redis-benchmark writes twelve digits; the prepared hashes have four, so HGETALL asks for the first of them.
    let command: Vec<String> = if operation == Operation::HGetAll { vec!["HGETALL".into(), "big:0000".into()] } else { command };
    let keys = if operation == Operation::HGetAll { BIG_HASHES } else { KEYS };
    let output = Command::new("redis-benchmark")
        .args(["-h", &address.ip().to_string(), "-p", &address.port().to_string(), "-c", CLIENTS])
        .args(["-n", &requests.to_string(), "-r", &keys.to_string(), "-P", &pipeline.to_string(), "--csv"])
        .args(command)
        .output()
        .context("redis-benchmark is missing: apt-get install redis-tools")?;
    let csv = String::from_utf8_lossy(&output.stdout);
    let rate = csv.lines().last().and_then(|line| line.rsplit("\",\"").nth(6)).and_then(|field| field.trim_matches('"').parse().ok());
    rate.with_context(|| format!("redis-benchmark printed no rate: {csv}{}", String::from_utf8_lossy(&output.stderr)))
}
