//! `cargo xtask bench`: the same operations on raw RocksDB, on the engine compiled natively, on the component, and over sockets beside
//! redis-server; side by side in one run, as ratios. And what shows over millions of operations: churn, growth, memory.

mod charts;
mod churn;
mod flame;
mod growth;
mod in_process;
mod machine;
mod memory;
mod options;
mod progress;
mod raw;
mod report;
mod rest;
mod server;
mod simulation;
mod socket;
mod start;
mod statistics;
mod stores;
mod template;
mod training;
mod workload;

use anyhow::Result;
use clap::Parser as _;
use options::{Options, Part};
use report::Results;
use tikv_jemallocator::Jemalloc;

/// The command's.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> Result<()> {
    let options = Options::parse();
    if options.simulation {
        return simulation::run(&options.docs.join("charts"));
    }
    if options.stores {
        return stores::run();
    }
    if let Some(folder) = &options.train {
        return training::count_in_source(folder);
    }
    if let Some(folder) = &options.train_branches {
        return training::count_in_module(folder);
    }
    let operations = options.operations()?;
    if let Some((operation, pipeline)) = options.flame()? {
        let path = flame::draw(operation, pipeline, options.operations, &options.charts())?;
        println!("{}", path.display());
        return Ok(());
    }
    let mut results = Results {
        machine: machine::Machine::look()?,
        in_process: Vec::new(),
        socket: Vec::new(),
        own_tests: Vec::new(),
        start: None,
        memory: None,
        charts: Vec::new(),
    };
    for part in options.parts() {
        let shown = results.sections().len();
        match part {
            Part::InProcess => results.in_process = in_process::measure(&operations, options.operations, options.rounds, options.rocks()?)?,
            Part::Socket => results.socket = socket::measure(&operations, options.requests, options.rounds, &options.workers)?,
            Part::OwnTests => {
                results.own_tests = socket::measure_own_tests(&operations, options.requests, options.rounds, &options.workers)?
            }
            Part::Start => results.start = Some(start::measure()?),
            Part::Memory => results.memory = Some(memory::measure(options.data_bytes.as_u64())?),
            Part::Churn => results.charts.extend(churn::measure(options.churn_operations)?),
            Part::Growth => results.charts.extend(growth::measure(options.growth_size)?),
        }
        // As soon as it is there: a run takes long, and may be stopped.
        results.sections().iter().skip(shown).for_each(|section| println!("{section}"));
        results.draw(&options.charts())?;
        if options.write {
            report::write(&options.docs.join("benchmarks.md"), &results.sections())?;
        }
        if let Some(path) = &options.json {
            std::fs::write(path, serde_json::to_string_pretty(&results)?)?;
        }
    }
    Ok(())
}
