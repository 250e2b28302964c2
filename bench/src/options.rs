//! What is measured, and how long.

use crate::in_process::rocks_options;
use crate::workload::{OPERATIONS, Operation};
use anyhow::{Context as _, Result, ensure};
use bytesize::ByteSize;
use clap::Parser;
use orbweaver::stores::rocksdb::RocksOptions;
use std::path::PathBuf;

/// A part of a run, in the order in which they run and stand in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    InProcess,
    Socket,
    OwnTests,
    Start,
    Memory,
    Churn,
    Growth,
}

/// Measures Orbweaver beside raw RocksDB and redis-server.
///
/// Without a part: in process, over sockets in two ways, and the start. Figures are medians of rounds in which the sides take turns.
#[derive(Parser)]
#[command(
    name = "cargo xtask bench",
    after_help = "Examples:
  cargo xtask bench
  cargo xtask bench --all --write
  cargo xtask bench --in-process --only SET,GET --json results.json
  cargo xtask bench --in-process --record-cache 0B
  cargo xtask bench --socket --workers 1,2
  cargo xtask bench --churn --churn-operations 10000000
  cargo xtask bench --memory --data-bytes 10GB
  cargo xtask bench --flame SET:32
  cargo xtask bench --stores
  cargo xtask bench --simulation
  cargo xtask bench --browser"
)]
pub struct Options {
    /// Measure raw RocksDB, the engine compiled natively, and the component
    #[arg(long, help_heading = "Parts")]
    in_process: bool,
    /// Measure `orbweaver serve` beside redis-server
    #[arg(long, help_heading = "Parts")]
    socket: bool,
    /// Measure both by the tests that redis-benchmark brings along, each on one key
    #[arg(long, help_heading = "Parts")]
    own_tests: bool,
    /// Measure the start on an existing database
    #[arg(long, help_heading = "Parts")]
    start: bool,
    /// Measure the server's memory while more data than fits is loaded and read
    #[arg(long, help_heading = "Parts")]
    memory: bool,
    /// Measure time and disk while data comes and goes
    #[arg(long, help_heading = "Parts")]
    churn: bool,
    /// Measure time against the size of collections
    #[arg(long, help_heading = "Parts")]
    growth: bool,
    /// Measure everything
    #[arg(long, help_heading = "Parts")]
    all: bool,
    /// Leave out the servers that are compared
    #[arg(long, help_heading = "Parts")]
    skip_socket: bool,
    /// Draw a flame graph of the component instead: an operation, and how many requests come in one call
    #[arg(long, value_name = "OPERATION[:PIPELINE]", help_heading = "Parts")]
    flame: Option<String>,

    /// Measure servers on RocksDB, PostgreSQL and etcd side by side instead: rates and round trips, one server and three
    #[arg(long, conflicts_with_all = ["simulation", "flame"], help_heading = "Parts")]
    pub stores: bool,
    /// Simulate conflicts of servers on one store instead, and draw the charts into docs/charts
    #[arg(long, conflicts_with = "flame", help_heading = "Parts")]
    pub simulation: bool,

    /// Count branches of the component instead, into this folder; `cargo xtask profile` says it
    #[arg(long, value_name = "DIR", hide = true)]
    pub train: Option<PathBuf>,

    /// Count what runs of the component's module instead, into this folder; `cargo xtask profile` says it
    #[arg(long, value_name = "DIR", hide = true)]
    pub train_branches: Option<PathBuf>,

    /// Only these operations, by their commands, in process and over sockets
    #[arg(long, value_name = "COMMANDS", value_delimiter = ',')]
    only: Vec<String>,
    /// How many times a plain operation runs in a round, in process; large ones run a tenth of it
    #[arg(long, value_name = "COUNT", default_value_t = 100_000)]
    pub operations: usize,
    /// How many requests of a plain operation redis-benchmark sends in a round
    #[arg(long, value_name = "COUNT", default_value_t = 200_000)]
    pub requests: usize,
    /// How many rounds are measured, behind one that is not; four times as many in process in pipelines
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    pub rounds: usize,
    /// Measure a server for each of these numbers of workers
    #[arg(long, value_name = "COUNTS", value_delimiter = ',')]
    pub workers: Vec<usize>,
    /// Operations of each scenario of churn
    #[arg(long, value_name = "COUNT", default_value_t = 2_000_000)]
    pub churn_operations: usize,
    /// The size of the largest collections that are measured
    #[arg(long, value_name = "COUNT", default_value_t = 1_000_000)]
    pub growth_size: usize,
    /// How much is loaded for the chart of memory
    #[arg(long, value_name = "SIZE", default_value = "2GiB")]
    pub data_bytes: ByteSize,

    /// The host's cache of records and pages, in process; 0B: none, so that what is read comes from RocksDB [default: that of `orbweaver serve`]
    #[arg(long, value_name = "SIZE", conflicts_with = "write")]
    pub record_cache: Option<ByteSize>,

    /// Also write everything to this file, as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write the tables into docs/benchmarks.md and the charts into docs/charts
    #[arg(long)]
    pub write: bool,
    /// Where charts are written [default: docs/charts with --write, otherwise orbweaver-charts among the temporary files]
    #[arg(long, value_name = "DIR")]
    charts: Option<PathBuf>,
    /// Where docs are; `cargo xtask bench` says it
    #[arg(long, value_name = "DIR", default_value = "docs", hide = true)]
    pub docs: PathBuf,
}

impl Options {
    /// What is measured.
    pub fn parts(&self) -> Vec<Part> {
        use Part::{Churn, Growth, InProcess, Memory, OwnTests, Socket, Start};
        let named = [
            (InProcess, self.in_process),
            (Socket, self.socket),
            (OwnTests, self.own_tests),
            (Start, self.start),
            (Memory, self.memory),
            (Churn, self.churn),
            (Growth, self.growth),
        ];
        let none_named = named.iter().all(|(_, named)| !named);
        let is_usual = |part: Part| none_named && matches!(part, InProcess | Socket | OwnTests | Start);
        let is_chosen =
            |(part, named): (Part, bool)| (named || self.all || is_usual(part)) && !(self.skip_socket && matches!(part, Socket | OwnTests));
        named.into_iter().filter(|&part| is_chosen(part)).map(|(part, _)| part).collect()
    }

    /// The operations that are measured.
    pub fn operations(&self) -> Result<Vec<&'static Operation>> {
        if self.only.is_empty() {
            return Ok(OPERATIONS.iter().collect());
        }
        self.only.iter().map(|command| find(command)).collect()
    }

    /// How the engine's RocksDB is opened, in process.
    pub fn rocks(&self) -> Result<RocksOptions> {
        let usual = rocks_options();
        let record_cache_bytes = match self.record_cache {
            Some(size) => usize::try_from(size.as_u64()).context("--record-cache is more than this machine can have")?,
            None => usual.record_cache_bytes,
        };
        Ok(RocksOptions { record_cache_bytes, ..usual })
    }

    /// What a flame graph is drawn of.
    pub fn flame(&self) -> Result<Option<(&'static Operation, usize)>> {
        let Some(text) = &self.flame else { return Ok(None) };
        let (command, pipeline) = text.split_once(':').unwrap_or((text, "1"));
        let pipeline = pipeline.parse().with_context(|| format!("--flame {text}: a pipeline is a number"))?;
        ensure!(pipeline > 0, "--flame {text}: a pipeline brings at least one request");
        Ok(Some((find(command)?, pipeline)))
    }

    /// Where charts are written.
    pub fn charts(&self) -> PathBuf {
        let usual = || if self.write { self.docs.join("charts") } else { std::env::temp_dir().join("orbweaver-charts") };
        self.charts.clone().unwrap_or_else(usual)
    }
}

/// The operation of a command.
fn find(command: &str) -> Result<&'static Operation> {
    let name = |operation: &Operation| operation.name.split(' ').next().unwrap_or_default().to_owned();
    let known = || OPERATIONS.iter().map(name).collect::<Vec<_>>().join(", ");
    let found = OPERATIONS.iter().find(|operation| name(operation).eq_ignore_ascii_case(command));
    found.with_context(|| format!("{command} is not measured; there are {}", known()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Options {
        Options::parse_from(["bench"].iter().chain(arguments))
    }

    #[test]
    fn parts_are_those_named_or_the_usual_ones() {
        assert_eq!(parse(&[]).parts(), [Part::InProcess, Part::Socket, Part::OwnTests, Part::Start]);
        assert_eq!(parse(&["--skip-socket"]).parts(), [Part::InProcess, Part::Start]);
        assert_eq!(parse(&["--growth", "--churn"]).parts(), [Part::Churn, Part::Growth]);
        assert_eq!(parse(&["--all"]).parts().len(), 7);
    }

    #[test]
    fn operations_are_named_by_their_commands() {
        let names = |options: Options| options.operations().map(|found| found.iter().map(|found| found.name).collect::<Vec<_>>());
        assert_eq!(names(parse(&["--only", "hgetall,SET"])).expect("known"), ["HGETALL of 100", "SET"]);
        assert!(names(parse(&["--only", "PING"])).is_err());
    }

    #[test]
    fn a_flame_graph_is_of_one_request_a_call_where_nothing_is_said() {
        let (operation, pipeline) = parse(&["--flame", "zadd"]).flame().expect("right").expect("asked for");
        assert_eq!((operation.name, pipeline), ("ZADD", 1));
        assert!(parse(&["--flame", "SET:many"]).flame().is_err());
        assert!(parse(&["--flame", "SET:0"]).flame().is_err());
    }
}
