//! Data that comes and goes, on `orbweaver serve`, with the sweep and the compactions that it has: whether the time of an operation and the
//! disk stay as they are, however many operations were before.

use crate::charts::{Axes, Chart, Line};
use crate::progress;
use crate::server::{Server, send};
use crate::template::{Numbers, filling, request};
use crate::workload::Piece;
use anyhow::Result;
use orbweaver_tests::client::Client;
use std::fs;
use std::path::Path;
use std::time::Instant;

/// Points of a line.
const POINTS: usize = 100;
/// Requests that are sent together.
const PIPELINE: usize = 32;

struct Scenario {
    name: &'static str,
    /// What is there at first: a command and its elements.
    fill: Option<(&'static str, &'static str)>,
    /// One round: templates.
    round: &'static [&'static str],
}

/// Elements that are there at first, and stay so many.
const ELEMENTS: usize = 1000;

const SCENARIOS: [Scenario; 5] = [
    Scenario { name: "top list of 1000", fill: None, round: &["ZADD top ? member:@", "ZREMRANGEBYRANK top 0 -1001"] },
    Scenario { name: "sorted set as a queue", fill: Some(("ZADD jobs", "% job:%")), round: &["ZADD jobs 1@ job:1@", "ZPOPMIN jobs"] },
    Scenario { name: "list as a queue", fill: Some(("RPUSH queue", "$")), round: &["RPUSH queue $", "LPOP queue"] },
    Scenario { name: "set with SPOP", fill: Some(("SADD set", "member:%")), round: &["SADD set new:@", "SPOP set"] },
    Scenario { name: "keys that live 100 ms", fill: None, round: &["SET session:@ $ PX 100", "GET session:@"] },
];

/// Runs every scenario for so many operations.
pub fn measure(operations: usize) -> Result<Vec<Chart>> {
    let (mut times, mut sizes) = (Vec::new(), Vec::new());
    let bar = progress::bar("churn", SCENARIOS.len() * POINTS);
    for scenario in &SCENARIOS {
        bar.set_message(scenario.name);
        let dir = tempfile::tempdir()?;
        let (time, size) = scenario.run(operations, &dir.path().join("data"), || bar.inc(1))?;
        times.push(Line { name: scenario.name.to_owned(), points: time });
        sizes.push(Line { name: scenario.name.to_owned(), points: size });
    }
    bar.finish_and_clear();
    let x = "operations, millions";
    let chart = |file: &str, title: &str, y, axes, lines| Chart { file: file.into(), title: title.into(), x, y, axes, lines };
    let (time, size) = ("Data that comes and goes: time an operation", "Data that comes and goes: disk used");
    Ok(vec![
        chart("churn-time", time, "microseconds an operation", Axes::LogarithmicTime, times),
        chart("churn-disk", size, "MB on disk", Axes::Linear, sizes),
    ])
}

type Points = Vec<(f64, f64)>;

impl Scenario {
    /// Microseconds an operation, and megabytes on disk, by millions of operations.
    fn run(&self, operations: usize, dir: &Path, mut step: impl FnMut()) -> Result<(Points, Points)> {
        let server = Server::orbweaver(dir, None)?;
        let mut client = Client::connect(server.address)?;
        if let Some((command, element)) = self.fill {
            let bytes = filling(command, element, Numbers::default(), 0..ELEMENTS);
            send(&mut client, &Piece { bytes, requests: 1 })?;
        }
        let (mut times, mut sizes) = (Points::new(), Points::new());
        let rounds = (operations / POINTS / self.round.len()).max(1);
        for point in 0..POINTS {
            let start = Instant::now();
            for from in (0..rounds).step_by(PIPELINE / self.round.len()) {
                let runs = point * rounds + from..point * rounds + (from + PIPELINE / self.round.len()).min(rounds);
                send(&mut client, &self.piece(runs))?;
            }
            let done = rounds * self.round.len();
            let millions = (done * (point + 1)) as f64 / 1e6;
            times.push((millions, start.elapsed().as_secs_f64() * 1e6 / done as f64));
            sizes.push((millions, bytes_on_disk(dir)? / 1e6));
            step();
        }
        Ok((times, sizes))
    }

    fn piece(&self, runs: std::ops::Range<usize>) -> Piece {
        let requests = runs.len() * self.round.len();
        let bytes =
            runs.flat_map(|run| self.round.iter().flat_map(move |template| request(template, Numbers { run, ..Numbers::default() })));
        Piece { bytes: bytes.collect(), requests }
    }
}

/// The bytes of all files in a folder; those that go away meanwhile do not count.
fn bytes_on_disk(dir: &Path) -> Result<f64> {
    let mut bytes = 0;
    for entry in fs::read_dir(dir)? {
        bytes += entry?.metadata().map_or(0, |file| file.len());
    }
    Ok(bytes as f64)
}
