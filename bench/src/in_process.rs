//! Without sockets: raw RocksDB, the engine compiled natively on RocksDB, the component on RocksDB. One thread, WAL on, no sync.

use crate::progress;
use crate::raw::Raw;
use crate::rest;
use crate::statistics::{mean, median};
use crate::workload::{Fill, Operation, RawCall};
use anyhow::{Context as _, Result, anyhow, ensure};
use bytes::Bytes;
use cpu_time::{ProcessTime, ThreadTime};
use orbweaver::runtime::{self, Component};
use orbweaver::stores::rocksdb::{Durability, RocksOptions, RocksStore};
use orbweaver_engine::environment::SystemEnvironment;
use orbweaver_engine::session::{Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::counting::{Counter, Counting};
use serde::Serialize;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

/// How many requests one call brings.
pub const PIPELINES: [usize; 2] = [1, 32];

/// So many times as many rounds are measured of pipelines: their calls take less, and RocksDB's threads write files in few of their rounds.
const ROUNDS_OF_PIPELINES: usize = 4;

/// How many pieces a round is measured in: most take some milliseconds.
const PIECES: usize = 20;

/// What an operation takes on one side, in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Time {
    pub wall_us: f64,
    /// Of the thread that calls, and of RocksDB's threads.
    pub cpu_us: f64,
}

/// One operation: medians of the rounds, but the mean of what RocksDB's threads do, who write files in some rounds and not in others.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Figure {
    pub operation: &'static str,
    pub pipeline: usize,
    pub raw: Time,
    pub native: Time,
    pub component: Time,
    pub blackwidow_us: f64,
    /// Calls of the store, of the engine compiled natively; of an operation, as the next.
    pub store_calls: f64,
    /// Calls of exports and imports, of the component.
    pub crossings: f64,
}

/// The engine on RocksDB, one way or the other.
pub enum Subject {
    Raw(Raw),
    Native(Box<Engine>, Counter),
    Component(Box<runtime::Orbweaver>),
}

/// What a round measures, of one operation.
#[derive(Clone, Copy)]
struct Sample {
    wall_us: f64,
    /// Of the thread that calls.
    own_cpu_us: f64,
    /// Of all other threads, until they rest.
    background_cpu_us: f64,
    /// Calls of the store, or crossings of the boundary.
    calls: f64,
}

/// A round's work, made before the clock starts: a client makes its requests elsewhere.
enum Work {
    Raw(Vec<Vec<RawCall>>),
    Requests(Vec<Bytes>),
}

impl Work {
    /// How many calls it is.
    fn len(&self) -> usize {
        match self {
            Self::Raw(calls) => calls.len(),
            Self::Requests(requests) => requests.len(),
        }
    }
}

impl Subject {
    /// The engine compiled natively, on an empty database in `dir`.
    pub fn native(dir: &Path, options: RocksOptions) -> Result<Self> {
        let counter = Counter::default();
        let store = Box::new(Counting::new(RocksStore::open(dir, options)?.handle(), counter.clone(), ()));
        let mut engine = Engine::open(store, Box::new(SystemEnvironment::default()), Settings::default())?;
        engine.connect(1, "bench", None);
        Ok(Self::Native(Box::new(engine), counter))
    }

    /// The component, on an empty database in `dir`.
    pub fn component(dir: &Path, component: &Component, options: RocksOptions) -> Result<Self> {
        let mut orbweaver = runtime::Orbweaver::builder().open(component, Box::new(RocksStore::open(dir, options)?.handle()))?;
        orbweaver.connect(1, "bench")?;
        Ok(Self::Component(Box::new(orbweaver)))
    }

    /// Runs requests in one call.
    pub fn exchange(&mut self, input: &Bytes) -> Result<()> {
        match self {
            Self::Raw(_) => Ok(()),
            Self::Native(engine, _) => {
                let outcome = engine.exchange(&[Delivery { connection: 1, input: input.clone() }]);
                succeeded(outcome.answers.first().map_or(&[], |answer| answer.output.as_slice()))
            }
            Self::Component(orbweaver) => {
                orbweaver.exchange_lent(&[runtime::Delivery { connection: 1, input }], |outcome| succeeded(outcome.output))?
            }
        }
    }

    /// Makes what these runs of an operation find.
    pub fn prepare(&mut self, operation: &Operation, runs: Range<usize>) -> Result<()> {
        match self {
            Self::Raw(raw) => raw.prepare(operation, runs),
            _ => operation.preparation(runs).try_for_each(|piece| self.exchange(&Bytes::from(piece.bytes))),
        }
    }

    fn work(&self, operation: &Operation, runs: Range<usize>, pipeline: usize) -> Work {
        let calls = runs.step_by(pipeline).map(|from| from..from + pipeline);
        match self {
            Self::Raw(_) => Work::Raw(calls.map(|runs| runs.flat_map(|run| operation.calls(run)).collect()).collect()),
            _ => Work::Requests(calls.map(|runs| Bytes::from(operation.requests(runs))).collect()),
        }
    }

    /// Makes some calls of the work.
    fn run(&mut self, work: &Work, calls: Range<usize>) -> Result<()> {
        match (work, self) {
            (Work::Raw(work), Self::Raw(raw)) => work.get(calls).unwrap_or_default().iter().try_for_each(|calls| raw.run(calls)),
            (Work::Requests(work), subject) => work.get(calls).unwrap_or_default().iter().try_for_each(|request| subject.exchange(request)),
            (Work::Raw(_), _) => Ok(()),
        }
    }

    /// Calls of the store or of the boundary, up to now or since the last call.
    fn calls(&self) -> usize {
        match self {
            Self::Raw(_) => 0,
            Self::Native(_, counter) => counter.take().calls,
            Self::Component(orbweaver) => usize::try_from(orbweaver.crossings()).unwrap_or(usize::MAX),
        }
    }

    /// Calls of the store or of the boundary since [`Subject::calls`] was `before`, and was asked last.
    fn calls_since(&self, before: usize) -> usize {
        let calls = self.calls();
        if let Self::Component(_) = self { calls - before } else { calls }
    }
}

/// Measures some runs of an operation on sides that take turns, a piece after the other, in either order: a noisy moment falls on all of them. What
/// RocksDB's threads take is shared out evenly, as sides that are measured together write the same.
fn measure_in_turns(sides: &mut [Subject], operation: &Operation, runs: Range<usize>, pipeline: usize) -> Result<Vec<Sample>> {
    if matches!(operation.fill, Fill::Runs(..)) {
        sides.iter_mut().try_for_each(|side| side.prepare(operation, runs.clone()))?;
    }
    let works: Vec<Work> = sides.iter().map(|side| side.work(operation, runs.clone(), pipeline)).collect();
    let calls = works.iter().map(Work::len).max().unwrap_or(0);
    settle();
    // The processor has slept, and the first write may begin another log: not what an operation costs.
    let uncounted = usize::from(calls > 1);
    sides.iter_mut().zip(&works).try_for_each(|(side, work)| side.run(work, 0..uncounted))?;
    let count = ((calls - uncounted) * pipeline) as f64;
    let before: Vec<usize> = sides.iter().map(Subject::calls).collect();
    let mut took = vec![(Duration::ZERO, Duration::ZERO); sides.len()];
    let (own, all) = (ThreadTime::now(), ProcessTime::now());
    let width = (calls - uncounted).div_ceil(PIECES).max(1);
    for (piece, from) in (uncounted..calls).step_by(width).enumerate() {
        let mut turns: Vec<_> = sides.iter_mut().zip(&works).zip(&mut took).collect();
        if piece % 2 == 1 {
            turns.reverse();
        }
        for ((side, work), (wall, cpu)) in turns {
            let (wall_before, cpu_before) = (Instant::now(), ThreadTime::now());
            side.run(work, from..(from + width).min(calls))?;
            *wall += wall_before.elapsed();
            *cpu += cpu_before.elapsed();
        }
    }
    let calls: Vec<usize> = sides.iter().zip(before).map(|(side, before)| side.calls_since(before)).collect();
    settle();
    let background = all.elapsed().saturating_sub(own.elapsed()) / u32::try_from(sides.len())?;
    let per_operation = |time: Duration| time.as_secs_f64() * 1e6 / count;
    let sample = |((wall, cpu), calls): ((Duration, Duration), usize)| Sample {
        wall_us: per_operation(wall),
        own_cpu_us: per_operation(cpu),
        background_cpu_us: per_operation(background),
        calls: calls as f64 / count,
    };
    Ok(took.into_iter().zip(calls).map(sample).collect())
}

/// Whether the first command has succeeded: it tells enough, and costs nothing to look at.
fn succeeded(replies: &[u8]) -> Result<()> {
    ensure!(replies.first().is_some_and(|&byte| byte != b'-'), "a command failed: {}", replies.escape_ascii());
    Ok(())
}

/// Those of `orbweaver serve`, without a flush to the disk.
pub fn rocks_options() -> RocksOptions {
    RocksOptions { durability: Durability::Os, ..RocksOptions::default() }
}

/// Waits until the background threads of all sides rest, at most some seconds.
fn settle() {
    let start = ProcessTime::now();
    rest::until_little(0.001, Duration::from_millis(10), || start.elapsed().as_secs_f64());
}

/// Loads the component.
pub fn component() -> Result<Component> {
    Component::load().map_err(|error| anyhow!("{error:#}"))
}

/// Measures operations. What is compared most closely, the engine one way and the other, takes turns within a round.
pub fn measure(operations: &[&'static Operation], count: usize, rounds: usize, options: RocksOptions) -> Result<Vec<Figure>> {
    let component = component()?;
    let dir = tempfile::tempdir().context("no temporary directory")?;
    let at = |name: &str| dir.path().join(name);
    let mut sides = [
        Subject::Raw(Raw::open(&at("raw"))?),
        Subject::native(&at("native"), options.clone())?,
        Subject::component(&at("component"), &component, options)?,
    ];
    let mut figures = Vec::new();
    let bar = progress::bar("in process", operations.len());
    for operation in operations {
        bar.set_message(operation.name);
        if matches!(operation.fill, Fill::Keys(..)) {
            sides.iter_mut().try_for_each(|side| side.prepare(operation, 0..operation.keys))?;
        }
        let mut runs = 0;
        for pipeline in PIPELINES {
            let each = operation.runs(count) / pipeline * pipeline;
            if each == 0 {
                continue;
            }
            let rounds = if pipeline > 1 { rounds * ROUNDS_OF_PIPELINES } else { rounds };
            let mut samples: [Vec<Sample>; 3] = Default::default();
            // The first round fills caches and is not counted.
            for round in 0..=rounds {
                let (raw, engines) = sides.split_at_mut(1);
                let measure = |sides: &mut [Subject]| measure_in_turns(sides, operation, runs..runs + each, pipeline);
                let of_round = [measure(raw)?, measure(engines)?].concat();
                if round > 0 {
                    samples.iter_mut().zip(of_round).for_each(|(samples, sample)| samples.push(sample));
                }
                runs += each;
            }
            figures.push(figure(operation, pipeline, &samples));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(figures)
}

fn figure(operation: &Operation, pipeline: usize, samples: &[Vec<Sample>; 3]) -> Figure {
    let [raw, native, component] = samples;
    let pick = |samples: &[Sample], pick: fn(&Sample) -> f64| median(samples.iter().map(pick).collect());
    let time = |samples: &[Sample]| Time {
        wall_us: pick(samples, |sample| sample.wall_us),
        cpu_us: pick(samples, |sample| sample.own_cpu_us) + mean(samples.iter().map(|sample| sample.background_cpu_us)),
    };
    Figure {
        operation: operation.name,
        pipeline,
        raw: time(raw),
        native: time(native),
        component: time(component),
        blackwidow_us: operation.blackwidow_us,
        store_calls: pick(native, |sample| sample.calls),
        crossings: pick(component, |sample| sample.calls),
    }
}
