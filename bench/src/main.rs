//! `cargo xtask bench`: the same operations on raw RocksDB, on the engine compiled natively, on the component, and over sockets
//! beside redis-server; side by side in one run, as ratios.

mod in_process;
mod raw;
mod report;
mod simulation;
mod socket;
mod stores;
mod workload;

use anyhow::Result;
use clap::Parser;
use std::path::Path;

/// Measures Orbweaver beside raw RocksDB and redis-server.
#[derive(Parser)]
#[command(
    after_help = "Examples:\n  cargo xtask bench\n  cargo xtask bench --operations 200000 --json results.json\n  cargo xtask bench --skip-socket\n  cargo xtask bench --stores\n  cargo xtask bench --simulation"
)]
struct Arguments {
    /// How many times each operation runs in process (a tenth of it for those that read a hundred fields).
    #[arg(long, default_value_t = 100_000)]
    operations: usize,
    /// How many requests redis-benchmark sends for each operation.
    #[arg(long, default_value_t = 200_000)]
    requests: usize,
    /// How many rounds are measured; the median counts.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Leave out the servers.
    #[arg(long)]
    skip_socket: bool,
    /// Instead: servers on RocksDB, PostgreSQL and etcd side by side.
    #[arg(long, conflicts_with = "simulation")]
    stores: bool,
    /// Instead: simulate conflicts of servers on one store, and draw the charts into docs/charts.
    #[arg(long)]
    simulation: bool,
    /// Also write the results to this file, as JSON.
    #[arg(long)]
    json: Option<std::path::PathBuf>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if arguments.simulation {
        return simulation::run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/charts"));
    }
    if arguments.stores {
        return stores::run();
    }
    let in_process = in_process::measure(arguments.operations, arguments.rounds)?;
    println!("{}", report::in_process(&in_process));
    let socket = if arguments.skip_socket { Vec::new() } else { socket::measure(arguments.requests, arguments.rounds)? };
    if !socket.is_empty() {
        println!("{}", report::socket(&socket));
    }
    if let Some(path) = arguments.json {
        std::fs::write(path, serde_json::to_string_pretty(&report::json(&in_process, &socket))?)?;
    }
    Ok(())
}
