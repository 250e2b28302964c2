//! What the main commands cost the engine, its store not counted: calls of the store, allocations and, where valgrind is installed,
//! instructions. A table without a clock: it is the same on a busy machine.
//!
//! `cargo run --profile component -p orbweaver-engine --example costs`
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "shares code with the tests")]

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/measured/mod.rs"]
mod measured;

use measured::Measured;
use measured::workload::Operation;
use orbweaver_engine::store::MemoryStore;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;
use std::process::Command;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Requests for each operation.
const REQUESTS: usize = 320;

fn main() {
    let mut arguments = std::env::args().skip(1);
    if let (Some(operation), Some(pipeline)) = (arguments.next(), arguments.next()) {
        run(find(&operation), pipeline.parse().unwrap());
        return;
    }
    println!("| operation | pipeline | store calls | allocations | instructions |");
    println!("|---|---|---|---|---|");
    for operation in Operation::ALL {
        for pipeline in [1, 32] {
            let (calls, allocations) = run(operation, pipeline);
            let instructions = instructions(operation, pipeline).map_or("?".to_owned(), |count| format!("{count:.0}"));
            println!("| {operation:?} | {pipeline} | {calls:.2} | {allocations:.1} | {instructions} |");
        }
    }
}

fn find(name: &str) -> Operation {
    Operation::ALL.into_iter().find(|operation| format!("{operation:?}") == name).unwrap()
}

/// Calls of the store and allocations, a request.
fn run(operation: Operation, pipeline: usize) -> (f64, f64) {
    let mut measured = Measured::on(MemoryStore::new());
    measured.client.exchange(operation.preparation(REQUESTS));
    let (mut calls, mut allocations) = (0, 0);
    for first in (0..REQUESTS).step_by(pipeline) {
        let (cost, allocated) = measured.cost_of_many(operation, first, pipeline);
        calls += cost.calls;
        allocations += allocated;
    }
    (calls as f64 / REQUESTS as f64, allocations as f64 / REQUESTS as f64)
}

/// Instructions a request, as callgrind counts them within the engine and not within the store. `None` without valgrind.
fn instructions(operation: Operation, pipeline: usize) -> Option<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args(["--toggle-collect=*in_the_engine*", "--toggle-collect=*in_the_store*"])
        .arg(std::env::current_exe().ok()?)
        .args([format!("{operation:?}"), pipeline.to_string()])
        .output()
        .ok()?;
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    let collected = report.lines().find_map(|line| line.split("Collected :").nth(1))?;
    Some(collected.trim().parse::<f64>().ok()? / REQUESTS as f64)
}
