//! What a build of the component that counts its branches is run through, so that the compiler knows what is hot: `cargo xtask profile`.
//!
//! What is measured most is run most; beside it every command on every layout, because the compiler takes what was never run for what
//! need not be fast. The store is in memory: only the component counts.

use crate::in_process::PIPELINES;
use crate::progress;
use crate::workload::{Fill, OPERATIONS, Operation};
use anyhow::{Context as _, Result, anyhow, ensure};
use orbweaver::runtime::{Component, Delivery, Orbweaver};
use orbweaver_engine::layout::NAMES;
use orbweaver_engine::store::MemoryStore;
use orbweaver_tests::client::encode_command;
use orbweaver_tests::{generator, sequence::Step};
use std::fs;
use std::path::Path;

/// How many times a plain operation runs for each pipeline: until what a call costs once does not count any more.
const OPERATIONS_OF_EACH: usize = 20_000;
/// Random sequences for each layout, and commands in one.
const SEQUENCES: u64 = 40;
const COMMANDS: usize = 500;
/// Clients that send at the same time.
const CLIENTS: u64 = 50;
/// What one step of a dump, a check or a sweep may take.
const BUDGET: u32 = 1000;

/// Builds a component that counts, in the folder `to`, and writes there what its instances have counted, a file each.
pub fn run(to: &Path) -> Result<()> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the package stands in a workspace")?;
    let wasm = orbweaver_component::build_counting(workspace, &to.join("target")).map_err(|error| anyhow!("{error}"))?;
    let component = Component::compile(&wasm).map_err(|error| anyhow!("{error:#}"))?;
    let bar = progress::bar("training", OPERATIONS.len() + NAMES.len());
    for operation in OPERATIONS {
        bar.set_message(operation.name);
        measured(&component, operation)?.write(&to.join(format!("{}.profraw", operation.name.replace(' ', "-"))))?;
        bar.inc(1);
    }
    for layout in NAMES {
        bar.set_message(layout);
        every_command(&component, layout)?.write(&to.join(format!("layout-{layout}.profraw")))?;
        bar.inc(1);
    }
    Ok(())
}

/// An instance on a store of its own.
struct Trainee(Orbweaver);

impl Trainee {
    fn new(component: &Component, layout: &str) -> Result<Self> {
        let mut orbweaver = Orbweaver::builder().setting("layout", layout).open(component, Box::new(MemoryStore::new()))?;
        (1..=CLIENTS).try_for_each(|connection| orbweaver.connect(connection, "training"))?;
        Ok(Self(orbweaver))
    }

    /// What came of a request does not matter; a connection that is closed or that waits is made anew.
    fn send(&mut self, connection: u64, input: &[u8]) -> Result<()> {
        let outcome = self.0.exchange(&[Delivery { connection, input }])?;
        if outcome.answers.iter().any(|answer| answer.connection == connection && (answer.close || answer.needed > 0)) {
            self.0.disconnect(connection);
            self.0.connect(connection, "training")?;
        }
        Ok(())
    }

    /// Writes what was counted so far.
    fn write(mut self, path: &Path) -> Result<()> {
        let counted = self.0.describe("profile", &[], &[])?.value;
        ensure!(!counted.is_empty(), "the component counts nothing: it was not built for it, or the compiler counts in another way");
        Ok(fs::write(path, counted)?)
    }
}

/// An operation as it is measured in process, and as many clients send it.
fn measured(component: &Component, operation: &Operation) -> Result<Trainee> {
    let mut trainee = Trainee::new(component, NAMES[0])?;
    let count = operation.runs(OPERATIONS_OF_EACH);
    if let Fill::Keys(..) = operation.fill {
        operation.preparation(0..operation.keys).try_for_each(|piece| trainee.send(1, &piece.bytes))?;
    }
    for pipeline in PIPELINES {
        if let Fill::Runs(..) = operation.fill {
            operation.preparation(0..count).try_for_each(|piece| trainee.send(1, &piece.bytes))?;
        }
        for from in (0..count).step_by(pipeline) {
            trainee.send(1, &operation.requests(from..(from + pipeline).min(count)))?;
        }
    }
    let requests: Vec<Vec<u8>> = (0..count).map(|run| operation.requests(run..run + 1)).collect();
    for turn in requests.chunks(requests.len().div_ceil(CLIENTS as usize)) {
        let deliveries: Vec<Delivery<'_>> =
            turn.iter().zip(1..=CLIENTS).map(|(input, connection)| Delivery { connection, input }).collect();
        trainee.0.exchange(&deliveries)?;
    }
    Ok(trainee)
}

/// Random sequences of all commands, and what is no command.
fn every_command(component: &Component, layout: &str) -> Result<Trainee> {
    let mut trainee = Trainee::new(component, layout)?;
    for seed in 0..SEQUENCES {
        for Step { connection, command, .. } in generator::sequence(seed, COMMANDS).concat() {
            trainee.send(1 + connection as u64, &encode_command(&command))?;
        }
        maintenance(&mut trainee.0)?;
    }
    Ok(trainee)
}

/// Checks, dumps and sweeps what is there.
fn maintenance(orbweaver: &mut Orbweaver) -> Result<()> {
    orbweaver.sweep(BUDGET)?;
    let mut from = None;
    while let Some(next) = orbweaver.check(from.as_deref(), BUDGET)?.next {
        from = Some(next);
    }
    let mut from = None;
    while let (_, Some(next)) = orbweaver.dump(from.as_deref(), 1 << 20)? {
        from = Some(next);
    }
    Ok(())
}
