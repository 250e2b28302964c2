//! What a build of the component that counts its branches is run through, so that the compiler knows what is hot: `cargo xtask profile`.
//!
//! What is measured most is run most; beside it every command on every layout, because the compiler takes what was never run for what
//! need not be fast. The store is in memory: only the component counts.

use crate::in_process::PIPELINES;
use crate::progress;
use crate::workload::{Fill, OPERATIONS, Operation};
use anyhow::{Context as _, Result, anyhow, ensure};
use orbweaver::runtime::{Component, Delivery, Orbweaver};
use orbweaver_component::{counting, profile};
use orbweaver_engine::layout::NAMES;
use orbweaver_engine::store::MemoryStore;
use orbweaver_tests::client::encode_command;
use orbweaver_tests::{generator, sequence::Step};
use std::fs;
use std::path::Path;

/// What else applications send in great numbers, on keys and with values that end in a number.
const OTHERS: [&str; 27] = [
    "SET s@ text@ EX 100",
    "SET s@ text@ PX 5000 NX",
    "SETNX s@ text@",
    "EXPIRE s@ 100",
    "TTL s@",
    "GETSET s@ text",
    "EXISTS s@",
    "MSET s@ text@ t@ more@ u@ other@",
    "MGET s@ t@ none@ u@",
    "GETDEL t@",
    "DEL s@",
    "DEL u@ t@ s@",
    "HSET h@ name text@ age @ mail m@@example.org",
    "HMGET h@ name none age",
    "HINCRBY h@ age 1",
    "HDEL h@ name mail",
    "SADD m@ a@ b@ c@ d@",
    "SMISMEMBER m@ a@ e@",
    "SREM m@ a@ b@",
    "ZADD z@ @ a 2 b@ 3.5 c@",
    "ZMSCORE z@ a none c@",
    "ZREM z@ a c@",
    "RPUSH l@ a@ b@ c@",
    "LINDEX l@ 0",
    "LLEN l@",
    "LPOP l@",
    "RPOP l@",
];
/// How many times each of them for each pipeline.
const TIMES: usize = 5_000;
/// On so many keys.
const KEYS: usize = 1_000;

/// How many times a plain operation runs for each pipeline: until what a call costs once does not count any more.
const OPERATIONS_OF_EACH: usize = 20_000;
/// Random sequences for each layout, and commands in one.
const SEQUENCES: u64 = 40;
const COMMANDS: usize = 500;
/// Small collections lie in records of their own, and are packed, in a run of its own each.
const PACKING: [(&str, &[(&str, &str)]); 2] = [("", &[]), ("-packed", &[("packed-bytes", "512")])];
/// Clients that send at the same time.
const CLIENTS: u64 = 50;
/// What one step of a dump, a check or a sweep may take.
const BUDGET: u32 = 1000;

/// Builds a component that counts its branches, in the folder `to`, and writes there what its instances have counted, a file each.
pub fn count_in_source(to: &Path) -> Result<()> {
    let wasm = orbweaver_component::build_counting(workspace()?, &to.join("target")).map_err(for_people)?;
    let component = Component::compile(&wasm).map_err(|error| anyhow!("{error:#}"))?;
    train(&component, |name, trainee| trainee.write(&to.join(format!("{}.profraw", name.replace(' ', "-")))))
}

/// Builds the component in the folder `to`, has the module that hosts run count how often each piece of it runs and what its calls mean, and writes that to
/// `component.branches`.
pub fn count_in_module(to: &Path) -> Result<()> {
    let target = to.join("target");
    orbweaver_component::build(workspace()?, &target).map_err(for_people)?;
    let module = orbweaver_component::module_with_checks(&target).map_err(for_people)?;
    let component =
        Component::compile_module(&counting::with_counts(&module).map_err(for_people)?).map_err(|error| anyhow!("{error:#}"))?;
    let mut instances = Vec::new();
    train(&component, |_, mut trainee| {
        let counts = trainee.0.memory(counting::COUNTS).context("the module counts nothing")?.as_chunks().0;
        instances.push(counts.iter().map(|&count| u64::from_le_bytes(count)).collect());
        Ok(())
    })?;
    Ok(fs::write(to.join("component.branches"), profile::profile(&module, &instances).map_err(for_people)?)?)
}

fn workspace() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the package stands in a workspace")
}

fn for_people(error: Box<dyn std::error::Error>) -> anyhow::Error {
    anyhow!("{error}")
}

/// Runs everything through instances of a component, and hands each of them over.
fn train(component: &Component, mut counted: impl FnMut(&str, Trainee) -> Result<()>) -> Result<()> {
    let bar = progress::bar("training", OPERATIONS.len() + NAMES.len() + 2);
    for operation in OPERATIONS {
        bar.set_message(operation.name);
        for (name, settings) in PACKING {
            counted(&format!("{}{name}", operation.name), measured(component, operation, settings)?)?;
        }
        bar.inc(1);
    }
    bar.set_message("others");
    for (name, settings) in PACKING {
        counted(&format!("others{name}"), others(component, settings)?)?;
    }
    bar.inc(1);
    for layout in NAMES {
        bar.set_message(layout);
        counted(&format!("layout-{layout}"), every_command(component, &[("layout", layout)])?)?;
        bar.inc(1);
    }
    bar.set_message("packed");
    counted("layout-packed", every_command(component, PACKING[1].1)?)?;
    bar.inc(1);
    Ok(())
}

/// An instance on a store of its own.
struct Trainee(Orbweaver);

impl Trainee {
    fn new(component: &Component, settings: &[(&str, &str)]) -> Result<Self> {
        let builder = settings.iter().fold(Orbweaver::builder(), |builder, (name, value)| builder.setting(name, value));
        let mut orbweaver = builder.open(component, Box::new(MemoryStore::new()))?;
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
fn measured(component: &Component, operation: &Operation, settings: &[(&str, &str)]) -> Result<Trainee> {
    let mut trainee = Trainee::new(component, settings)?;
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

/// Those of [`OTHERS`], one command after the other, and nearly all of them in turns.
fn others(component: &Component, settings: &[(&str, &str)]) -> Result<Trainee> {
    let mut trainee = Trainee::new(component, settings)?;
    let request = |template: &str, run: usize| {
        let number = (run % KEYS).to_string();
        let command: Vec<Vec<u8>> = template.split(' ').map(|word| word.replace('@', &number).into_bytes()).collect();
        encode_command(&command)
    };
    // It does not go straight beside what writes, and neither do those that it stands beside.
    let in_turns: Vec<&str> = OTHERS.into_iter().filter(|template| !template.starts_with("LINDEX")).collect();
    for pipeline in PIPELINES {
        let mut send = |of: &dyn Fn(usize) -> Vec<u8>| {
            let requests: Vec<Vec<u8>> = (0..TIMES).map(of).collect();
            requests.chunks(pipeline).try_for_each(|requests| trainee.send(1, &requests.concat()))
        };
        OTHERS.iter().try_for_each(|template| send(&|run| request(template, run)))?;
        send(&|run| in_turns.get(run % in_turns.len()).map_or_else(Vec::new, |template| request(template, run)))?;
    }
    Ok(trainee)
}

/// Random sequences of all commands, and what is no command.
fn every_command(component: &Component, settings: &[(&str, &str)]) -> Result<Trainee> {
    let mut trainee = Trainee::new(component, settings)?;
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
