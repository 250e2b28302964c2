//! Over sockets: `orbweaver serve` beside Debian's redis-server with an append-only file, both driven by redis-benchmark.

use crate::in_process::PIPELINES;
use crate::progress;
use crate::rest;
use crate::server::Server;
use crate::statistics::median;
use crate::template::VALUE_BYTES;
use crate::workload::{Fill, Operation, Piece};
use anyhow::{Context as _, Result};
use serde::Serialize;
use std::iter;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Connections of redis-benchmark.
const CLIENTS: &str = "50";

/// One operation on one server: medians of the rounds.
#[derive(Clone, Debug, Serialize)]
pub struct Rate {
    pub server: String,
    pub requests_per_second: f64,
    /// Of the server's process.
    pub cpu_seconds_per_million: f64,
}

/// One operation on all servers, redis-server last.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub operation: &'static str,
    pub pipeline: usize,
    pub rates: Vec<Rate>,
}

impl Comparison {
    /// How many times redis-server's requests a second a server answers.
    pub fn ratio(&self, rate: &Rate) -> f64 {
        self.rates.last().map_or(f64::NAN, |redis| rate.requests_per_second / redis.requests_per_second)
    }
}

/// The tests that redis-benchmark brings along, by its names for them: each on one key, with values of three bytes.
const OWN_TESTS: [&str; 7] = ["SET", "GET", "INCR", "LPUSH", "SADD", "HSET", "ZADD"];
/// They take so little in a pipeline that a round needs as many times the requests to last.
const OWN_REQUESTS_IN_A_PIPELINE: usize = 10;
/// The same of requests on many keys, but of those that take away what is made for a round.
const REQUESTS_IN_A_PIPELINE: usize = 5;

/// Starts what is measured: one orbweaver for each number of workers, and redis-server.
fn start(dir: &Path, workers: &[usize]) -> Result<Vec<Server>> {
    let mut servers = Vec::new();
    if workers.is_empty() {
        servers.push(Server::orbweaver(&dir.join("data"), None)?);
    }
    for &count in workers {
        servers.push(Server::orbweaver(&dir.join(count.to_string()), Some(count))?);
    }
    servers.push(Server::redis()?);
    Ok(servers)
}

/// Measures operations on all servers, in turns.
pub fn measure(operations: &[&'static Operation], requests: usize, rounds: usize, workers: &[usize]) -> Result<Vec<Comparison>> {
    let dir = tempfile::tempdir()?;
    let mut servers = start(dir.path(), workers)?;
    let operations: Vec<&Operation> = operations.iter().copied().filter(|operation| operation.socket).collect();
    let mut comparisons = Vec::new();
    let bar = progress::bar("over sockets", operations.len() * PIPELINES.len());
    for operation in operations {
        let mut runs = prepare(&servers, operation, requests)?;
        for pipeline in PIPELINES {
            bar.set_message(format!("{}, {pipeline}", operation.name));
            let is_long = pipeline > 1 && !matches!(operation.fill, Fill::Runs(..));
            let requests = if is_long { requests * REQUESTS_IN_A_PIPELINE } else { requests };
            let test = Test { name: operation.name, pipeline, requests: operation.runs(requests), arguments: arguments(operation) };
            comparisons.push(test.compare(&mut servers, rounds, |servers| {
                runs = prepare_round(servers, operation, runs, requests)?;
                Ok(())
            })?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(comparisons)
}

/// Measures the tests that redis-benchmark brings along, those of these operations.
pub fn measure_own_tests(operations: &[&Operation], requests: usize, rounds: usize, workers: &[usize]) -> Result<Vec<Comparison>> {
    let is_asked_for = |test: &&str| operations.iter().any(|operation| operation.name == *test);
    let tests: Vec<&str> = OWN_TESTS.into_iter().filter(is_asked_for).collect();
    let dir = tempfile::tempdir()?;
    let mut servers = start(dir.path(), workers)?;
    let mut comparisons = Vec::new();
    let bar = progress::bar("redis-benchmark's own tests", tests.len() * PIPELINES.len());
    for name in tests {
        for pipeline in PIPELINES {
            bar.set_message(format!("{name}, {pipeline}"));
            let requests = if pipeline > 1 { requests * OWN_REQUESTS_IN_A_PIPELINE } else { requests };
            let test = Test { name, pipeline, requests, arguments: vec!["-t".to_owned(), name.to_lowercase()] };
            comparisons.push(test.compare(&mut servers, rounds, |_| Ok(()))?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(comparisons)
}

/// What redis-benchmark is asked for.
struct Test {
    name: &'static str,
    pipeline: usize,
    /// Of a round.
    requests: usize,
    /// What says which requests.
    arguments: Vec<String>,
}

impl Test {
    /// Measures all servers in each round, behind what `prepare` does.
    fn compare(self, servers: &mut [Server], rounds: usize, mut prepare: impl FnMut(&[Server]) -> Result<()>) -> Result<Comparison> {
        let mut samples = vec![(Vec::new(), Vec::new()); servers.len()];
        // The first round fills caches and is not counted.
        for round in 0..=rounds {
            prepare(servers)?;
            for (server, (rates, times)) in servers.iter_mut().zip(&mut samples) {
                let before = rested(server);
                let rate = self.requests_per_second(server.address)?;
                // What is left to do in the background is of this operation.
                let seconds = rested(server) - before;
                if round > 0 {
                    rates.push(rate);
                    times.push(seconds * 1e6 / self.requests as f64);
                }
            }
        }
        let rates = servers.iter().zip(samples).map(|(server, (rates, times))| Rate {
            server: server.name.clone(),
            requests_per_second: median(rates),
            cpu_seconds_per_million: median(times),
        });
        Ok(Comparison { operation: self.name, pipeline: self.pipeline, rates: rates.collect() })
    }

    fn requests_per_second(&self, address: SocketAddr) -> Result<f64> {
        let output = Command::new("redis-benchmark")
            .args(["-h", &address.ip().to_string(), "-p", &address.port().to_string(), "-c", CLIENTS])
            .args(["-n", &self.requests.to_string(), "-P", &self.pipeline.to_string(), "--csv"])
            .args(&self.arguments)
            .output()
            .context("redis-benchmark is missing: apt-get install redis-tools")?;
        let csv = String::from_utf8_lossy(&output.stdout);
        let rate = csv.lines().last().and_then(|line| line.rsplit("\",\"").nth(6)).and_then(|field| field.trim_matches('"').parse().ok());
        rate.with_context(|| format!("redis-benchmark printed no rate: {csv}{}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// An operation's request, each sign a random number below that of its keys, in twelve digits.
fn arguments(operation: &Operation) -> Vec<String> {
    // What is as it was need not be written: so values vary.
    let value = format!("__rand_int__{}", "x".repeat(VALUE_BYTES - "__rand_int__".len()));
    let request = operation.request.replace(['#', '@'], "__rand_int__").replace('$', &value);
    let keys = ["-r".to_owned(), operation.keys.to_string()];
    keys.into_iter().chain(request.split(' ').map(str::to_owned)).collect()
}

/// Waits until a server rests, at most some seconds, and returns how long it has worked: what an operation has left to compact is neither
/// the next one's nor the other server's.
fn rested(server: &mut Server) -> f64 {
    // The clock has a hundred ticks a second.
    rest::until_little(0.015, Duration::from_millis(50), || server.cpu_seconds())
}

/// Makes what an operation finds. Returns the first run that nothing was made for.
fn prepare(servers: &[Server], operation: &Operation, requests: usize) -> Result<usize> {
    let runs = match operation.fill {
        Fill::Nothing => 0,
        Fill::Keys(..) => operation.keys,
        // The keys are random, some have more than their turn.
        Fill::Runs(..) => operation.runs(requests).max(operation.keys) * 5,
    };
    servers.iter().try_for_each(|server| server.send(operation.preparation(0..runs)))?;
    Ok(runs)
}

/// Makes what a round takes away; what begins with nothing does so in each round, so that collections are as small in the last one as in the first.
fn prepare_round(servers: &[Server], operation: &Operation, runs: usize, requests: usize) -> Result<usize> {
    match operation.fill {
        Fill::Nothing => {
            let flush = || iter::once(Piece { bytes: b"FLUSHALL\r\n".to_vec(), requests: 1 });
            servers.iter().try_for_each(|server| server.send(flush()))?;
            Ok(runs)
        }
        Fill::Keys(..) => Ok(runs),
        Fill::Runs(..) => {
            let end = runs + operation.runs(requests);
            servers.iter().try_for_each(|server| server.send(operation.preparation(runs..end)))?;
            Ok(end)
        }
    }
}
