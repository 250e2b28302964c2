//! How the time of an operation grows with the size of the collection that it works on, in the component on RocksDB.

use crate::charts::{Axes, Chart, Line};
use crate::in_process::{Subject, component, rocks_options};
use crate::progress;
use crate::statistics::median;
use crate::template::{Numbers, filling, request};
use anyhow::Result;
use bytes::Bytes;
use orbweaver::runtime::Component;
use std::time::{Duration, Instant};

/// Elements, or bytes of a string.
const SIZES: [usize; 5] = [100, 1000, 10_000, 100_000, 1_000_000];
/// Elements that one request brings while a collection is made.
const ELEMENTS_PER_REQUEST: usize = 1000;
/// A command runs so often, or as often as it can in [`PATIENCE`]; the median counts.
const RUNS: usize = 1000;
const PATIENCE: Duration = Duration::from_secs(1);

struct Structure {
    name: &'static str,
    /// What makes it: a command and its elements, none where the command alone does.
    fill: (&'static str, Option<&'static str>),
    commands: &'static [Command],
}

struct Command {
    /// A template; its name is the first word, if nothing else is said.
    request: &'static str,
    name: Option<&'static str>,
    /// What makes good what it changed, outside of the time that counts.
    undo: Option<&'static str>,
}

const fn plain(request: &'static str) -> Command {
    Command { request, name: None, undo: None }
}

const fn named(name: &'static str, request: &'static str) -> Command {
    Command { name: Some(name), ..plain(request) }
}

const fn undone(request: &'static str, undo: &'static str) -> Command {
    Command { undo: Some(undo), ..plain(request) }
}

const STRUCTURES: [Structure; 5] = [
    Structure {
        name: "string",
        fill: ("SETRANGE string = x", None),
        commands: &[
            named("SETRANGE in the middle", "SETRANGE string & x"),
            named("GETRANGE in the middle", "GETRANGE string & &"),
            named("GETBIT in the middle", "GETBIT string &"),
            named("SETBIT in the middle", "SETBIT string & 1"),
            plain("STRLEN string"),
            plain("BITCOUNT string"),
        ],
    },
    Structure {
        name: "hash",
        fill: ("HSET hash", Some("field:% $")),
        commands: &[
            undone("HSET hash new:@ $", "HDEL hash new:@"),
            plain("HGET hash field:%"),
            undone("HDEL hash field:%", "HSET hash field:% $"),
            plain("HLEN hash"),
            plain("HRANDFIELD hash"),
            named("HSCAN from the beginning", "HSCAN hash 0"),
        ],
    },
    Structure {
        name: "list",
        fill: ("RPUSH list", Some("$")),
        commands: &[
            undone("LPUSH list $", "LPOP list"),
            undone("LPOP list", "LPUSH list $"),
            undone("RPOP list", "RPUSH list $"),
            named("LINDEX in the middle", "LINDEX list &"),
            named("LSET in the middle", "LSET list & $"),
            named("LRANGE of 1 in the middle", "LRANGE list & &"),
            plain("LLEN list"),
        ],
    },
    Structure {
        name: "set",
        fill: ("SADD set", Some("member:%")),
        commands: &[
            undone("SADD set new:@", "SREM set new:@"),
            plain("SISMEMBER set member:%"),
            undone("SREM set member:%", "SADD set member:%"),
            undone("SPOP set", "SADD set popped:@"),
            plain("SRANDMEMBER set"),
            plain("SCARD set"),
        ],
    },
    Structure {
        name: "sorted-set",
        fill: ("ZADD zset", Some("% member:%")),
        commands: &[
            undone("ZADD zset ? new:@", "ZREM zset new:@"),
            plain("ZSCORE zset member:%"),
            plain("ZINCRBY zset 1 member:%"),
            plain("ZRANK zset member:%"),
            named("ZRANGE of 1 in the middle", "ZRANGE zset & &"),
            named("ZCOUNT to the end", "ZCOUNT zset % +inf"),
            undone("ZPOPMIN zset", "ZADD zset 0 popped:@"),
            undone("ZREMRANGEBYRANK zset & &", "ZADD zset & removed:@"),
        ],
    },
];

/// A chart for each structure, of collections of at most so many elements.
pub fn measure(largest: usize) -> Result<Vec<Chart>> {
    let component = component()?;
    let sizes: Vec<usize> = SIZES.into_iter().filter(|&size| size <= largest).collect();
    let bar = progress::bar("growth", STRUCTURES.len() * sizes.len());
    let mut charts = Vec::new();
    for structure in &STRUCTURES {
        let name = |command: &Command| command.name.unwrap_or_else(|| command.request.split(' ').next().unwrap_or_default()).to_owned();
        let mut lines: Vec<Line> = structure.commands.iter().map(|command| Line { name: name(command), points: Vec::new() }).collect();
        for &size in &sizes {
            bar.set_message(format!("{} of {size}", structure.name));
            for (line, time) in lines.iter_mut().zip(structure.measure(size, &component)?) {
                line.points.push((size as f64, time));
            }
            bar.inc(1);
        }
        let (file, title) =
            (format!("growth-{}", structure.name), format!("Time an operation by size: {}", structure.name.replace('-', " ")));
        let x = if structure.name == "string" { "bytes" } else { "elements" };
        charts.push(Chart { file, title, x, y: "microseconds an operation", axes: Axes::Logarithmic, lines });
    }
    bar.finish_and_clear();
    Ok(charts)
}

impl Structure {
    /// The microseconds of each command at a size.
    fn measure(&self, size: usize, component: &Component) -> Result<Vec<f64>> {
        let dir = tempfile::tempdir()?;
        let mut subject = Subject::component(dir.path(), component, rocks_options())?;
        let numbers = Numbers { size, ..Numbers::default() };
        match self.fill {
            (command, None) => subject.exchange(&request(command, numbers).into())?,
            (command, Some(element)) => {
                for from in (0..size).step_by(ELEMENTS_PER_REQUEST) {
                    let elements = from..(from + ELEMENTS_PER_REQUEST).min(size);
                    subject.exchange(&filling(command, element, numbers, elements).into())?;
                }
            }
        }
        self.commands.iter().map(|command| command.measure(size, &mut subject)).collect()
    }
}

impl Command {
    fn measure(&self, size: usize, subject: &mut Subject) -> Result<f64> {
        let mut times = Vec::new();
        let start = Instant::now();
        let mut random = fastrand::Rng::with_seed(1);
        // The first one finds nothing in any cache, and counts as one of many.
        for run in 0..RUNS {
            let numbers = Numbers { run, element: random.usize(..size), size, key: 0 };
            let request = Bytes::from(request(self.request, numbers));
            let call = Instant::now();
            subject.exchange(&request)?;
            times.push(call.elapsed().as_secs_f64() * 1e6);
            if let Some(undo) = self.undo {
                subject.exchange(&crate::template::request(undo, numbers).into())?;
            }
            if start.elapsed() > PATIENCE {
                break;
            }
        }
        Ok(median(times))
    }
}
