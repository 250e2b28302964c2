//! Without sockets: raw RocksDB, the engine compiled natively on RocksDB, the component on RocksDB. One thread, WAL on, no sync.

use crate::raw::Raw;
use crate::workload::{Operation, encode, preparation};
use anyhow::{Result, anyhow, ensure};
use bytes::Bytes;
use cpu_time::ProcessTime;
use orbweaver::runtime::{self, Component};
use orbweaver::stores::rocksdb::{Durability, RocksOptions, RocksStore};
use orbweaver_engine::environment::SystemEnvironment;
use orbweaver_engine::session::{Delivery, Engine};
use orbweaver_engine::settings::Settings;
use std::path::Path;
use std::time::Instant;

/// The sides that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Raw,
    Native,
    Component,
}

impl Side {
    pub const ALL: [Self; 3] = [Self::Raw, Self::Native, Self::Component];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw RocksDB",
            Self::Native => "engine, native",
            Self::Component => "component",
        }
    }
}

/// Medians for one operation on one side.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    pub operation: Operation,
    pub pipeline: usize,
    pub side: Side,
    /// Microseconds an operation.
    pub wall_us: f64,
    /// Microseconds an operation, of all threads.
    pub cpu_us: f64,
}

/// How many requests one call brings.
pub const PIPELINES: [usize; 2] = [1, 32];

enum Subject {
    Raw(Raw),
    Native(Box<Engine>),
    Component(Box<runtime::Orbweaver>),
}

impl Subject {
    fn open(side: Side, dir: &Path, component: &Component) -> Result<Self> {
        let store = || -> Result<_> {
            let options = RocksOptions { durability: Durability::Os, ..RocksOptions::default() };
            Ok(Box::new(RocksStore::open(dir, options)?.handle()))
        };
        let mut subject = match side {
            Side::Raw => return Ok(Self::Raw(Raw::open(dir)?)),
            Side::Native => {
                let mut engine = Engine::open(store()?, Box::new(SystemEnvironment::default()), Settings::default())?;
                engine.connect(1, "bench", None);
                Self::Native(Box::new(engine))
            }
            Side::Component => {
                let mut orbweaver = runtime::Orbweaver::builder().open(component, store()?)?;
                orbweaver.connect(1, "bench")?;
                Self::Component(Box::new(orbweaver))
            }
        };
        for command in preparation() {
            subject.exchange(&Bytes::from(encode(&command)))?;
        }
        Ok(subject)
    }

    fn exchange(&mut self, input: &Bytes) -> Result<()> {
        let first = match self {
            Self::Raw(_) => return Ok(()),
            Self::Native(engine) => {
                let outcome = engine.exchange(&[Delivery { connection: 1, input: input.clone() }]);
                outcome.answers.first().and_then(|answer| answer.output.first().copied())
            }
            Self::Component(orbweaver) => orbweaver.exchange(&[runtime::Delivery { connection: 1, input }])?.output.first().copied(),
        };
        ensure!(first.is_some_and(|byte| byte != b'-'), "a command failed");
        Ok(())
    }

    /// Microseconds of wall and CPU time an operation, over `repetitions` of it.
    fn time(&mut self, operation: Operation, repetitions: usize, pipeline: usize) -> Result<(f64, f64)> {
        let calls: Vec<usize> = (0..repetitions / pipeline).map(|call| call * pipeline).collect();
        // Requests are made before the clock starts: a client makes them elsewhere.
        let request = |from: usize| Bytes::from((from..from + pipeline).flat_map(|n| encode(&operation.arguments(n))).collect::<Vec<u8>>());
        let requests: Vec<Bytes> = if let Self::Raw(_) = self { Vec::new() } else { calls.iter().map(|&from| request(from)).collect() };
        let (wall, cpu) = (Instant::now(), ProcessTime::now());
        match self {
            Self::Raw(raw) => calls.iter().try_for_each(|&from| raw.run(operation, from, pipeline))?,
            _ => requests.iter().try_for_each(|request| self.exchange(request))?,
        }
        let per_operation = |seconds: f64| seconds * 1e6 / (calls.len() * pipeline) as f64;
        Ok((per_operation(wall.elapsed().as_secs_f64()), per_operation(cpu.elapsed().as_secs_f64())))
    }
}

/// Measures everything; the sides take turns, so that a noisy moment does not fall on one of them alone.
pub fn measure(operations: usize, rounds: usize) -> Result<Vec<Figure>> {
    let component = Component::load().map_err(|error| anyhow!("{error:#}"))?;
    let dirs = Side::ALL.map(|_| tempfile::tempdir());
    let mut subjects = Vec::new();
    for (side, dir) in Side::ALL.into_iter().zip(&dirs) {
        let dir = dir.as_ref().map_err(|error| anyhow!("no temporary directory: {error}"))?;
        subjects.push((side, Subject::open(side, dir.path(), &component)?));
    }
    let mut figures = Vec::new();
    for operation in Operation::ALL {
        for pipeline in PIPELINES {
            let mut samples = vec![Vec::new(); subjects.len()];
            // The first round fills keys and caches and is not counted.
            for round in 0..=rounds {
                for ((_, subject), samples) in subjects.iter_mut().zip(&mut samples) {
                    let sample = subject.time(operation, operation.repetitions(operations), pipeline)?;
                    if round > 0 {
                        samples.push(sample);
                    }
                }
            }
            for ((side, _), samples) in subjects.iter().zip(&samples) {
                let median = |pick: fn(&(f64, f64)) -> f64| median(samples.iter().map(pick).collect());
                let (wall_us, cpu_us) = (median(|sample| sample.0), median(|sample| sample.1));
                figures.push(Figure { operation, pipeline, side: *side, wall_us, cpu_us });
            }
        }
    }
    Ok(figures)
}

/// The middle of several samples.
pub fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}
