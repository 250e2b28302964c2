//! Command scripts, and the exact records that each must leave in a layout: `fixtures/golden/LAYOUT/NAME.script` and `NAME.records`.
//!
//! The records are made from the rules of the format, not by the engine. `fixtures/golden/README.md` says how both are written.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bytes::Bytes;
use orbweaver_engine::environment::Environment;
use orbweaver_engine::resp::split_inline;
use orbweaver_engine::session::{Delivery, Engine};

use crate::client::{Args, encode_command};
use crate::readers::Record;
use crate::script::quote;

/// A script, and what it leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Golden {
    /// The name of its files.
    pub name: String,
    /// Options of the layout, by name.
    pub options: BTreeMap<String, String>,
    /// What is done to an empty database. The first step sets the clock.
    pub steps: Vec<Step>,
    /// All records, sorted by keyspace and key; Camellia's and Ardb's after their garbage is collected.
    pub records: Vec<Record>,
}

/// A line of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// From now on the clock shows this time, in Unix milliseconds.
    Clock(u64),
    /// A command of the one connection.
    Command(Args),
}

impl Golden {
    /// What the clock shows at the end.
    ///
    /// # Panics
    /// When the script does not set it.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        let clock = |step: &Step| if let Step::Clock(now_ms) = step { Some(*now_ms) } else { None };
        self.steps.iter().rev().find_map(clock).expect("a script sets the clock")
    }

    /// What `records` have too much (`+`) and too little (`-`), a line each; empty when they are the golden ones.
    #[must_use]
    pub fn differences(&self, records: &[Record]) -> String {
        let line = |sign: char, Record { keyspace, key, value }: &Record| format!("{sign} {keyspace} {key:x} {value:x}\n");
        let extra = records.iter().filter(|record| !self.records.contains(record)).map(|record| line('+', record));
        let missing = self.records.iter().filter(|record| !records.contains(record)).map(|record| line('-', record));
        extra.chain(missing).collect()
    }

    /// Executes the script.
    ///
    /// # Panics
    /// When a command fails.
    pub fn replay(&self, engine: &mut Engine, clock: &Clock) {
        let connection = 1;
        engine.connect(connection, "in-process", None);
        for step in &self.steps {
            match step {
                Step::Clock(now_ms) => clock.0.set(*now_ms),
                Step::Command(command) => {
                    let input = encode_command(command).into();
                    let answers = engine.exchange(&[Delivery { connection, input }]).answers;
                    let reply = Bytes::from(answers.into_iter().flat_map(|answer| answer.output).collect::<Vec<_>>());
                    let line = || command.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ");
                    assert!(!reply.is_empty() && !reply.starts_with(b"-"), "{}: {}: {reply:?}", self.name, line());
                }
            }
        }
        engine.disconnect(connection);
    }
}

/// A clock that stands still until a script moves it; clones are the same clock. There is no randomness.
#[derive(Clone, Debug, Default)]
pub struct Clock(Rc<Cell<u64>>);

impl Clock {
    /// A clock that shows this time, in Unix milliseconds.
    #[must_use]
    pub fn at(now_ms: u64) -> Self {
        Self(Rc::new(Cell::new(now_ms)))
    }

    /// Sets the clock.
    pub fn set(&self, now_ms: u64) {
        self.0.set(now_ms);
    }

    /// Moves the clock forward.
    pub fn wait_ms(&self, ms: u64) {
        self.0.set(self.0.get() + ms);
    }
}

impl Environment for Clock {
    fn now_us(&self) -> u64 {
        self.0.get() * 1000
    }

    fn random(&mut self) -> u64 {
        0
    }
}

/// The scripts of `layout`, one of [`LAYOUTS`](crate::readers::LAYOUTS), by name.
///
/// # Panics
/// When there are none, or one cannot be read.
#[must_use]
pub fn all(layout: &str) -> Vec<Golden> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/golden").join(layout);
    let entries = fs::read_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut scripts: Vec<PathBuf> = entries.map(|entry| entry.expect("a directory entry").path()).collect();
    scripts.retain(|path| path.extension().is_some_and(|extension| extension == "script"));
    scripts.sort();
    scripts.iter().map(|path| read(path)).collect()
}

fn read(script: &Path) -> Golden {
    let text = |path: &Path| fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let name = script.file_stem().expect("it has a name").to_string_lossy().into_owned();
    parse(name, &text(script), &text(&script.with_extension("records"))).unwrap_or_else(|line| panic!("{}: {line}", script.display()))
}

/// `Err` is the line that makes no sense.
fn parse(name: String, script: &str, records: &str) -> Result<Golden, String> {
    let mut golden = Golden { name, options: BTreeMap::new(), steps: Vec::new(), records: Vec::new() };
    for line in lines_of(script) {
        if let Some(option) = line.strip_prefix("@option ") {
            let (name, value) = option.split_once(' ').ok_or(line)?;
            golden.options.insert(name.into(), value.into());
        } else if let Some(now_ms) = line.strip_prefix("@clock ") {
            golden.steps.push(Step::Clock(now_ms.parse().map_err(|_| line)?));
        } else {
            golden.steps.push(Step::Command(split_inline(line.as_bytes()).ok_or(line)?));
        }
    }
    golden.records = lines_of(records).map(|line| record(line).ok_or(line)).collect::<Result<_, _>>()?;
    Ok(golden)
}

fn lines_of(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// `KEYSPACE KEY VALUE`.
fn record(line: &str) -> Option<Record> {
    let [keyspace, key, value] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
    Some(Record { keyspace: keyspace.into(), key: bytes(key)?, value: bytes(value)? })
}

/// Bytes as records have them: hexadecimal digits in runs between dots; `00*16` is a byte so many times; `-` is empty. `None` where
/// the text is something else.
#[must_use]
pub fn bytes(text: &str) -> Option<Bytes> {
    let mut bytes = Vec::new();
    for run in text.split('.').filter(|_| text != "-") {
        let (digits, times) = run.split_once('*').unwrap_or((run, "1"));
        bytes.extend(hex::decode(digits).ok()?.repeat(times.parse().ok()?));
    }
    Some(bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_has_options_a_clock_and_commands() {
        let script = "# remark\n@option namespace ns\n@clock 5\nSET \"a b\" c\n\n@clock 7\n";
        let golden = parse("name".into(), script, "# remark\nk 6b.61*3 -\nk - 00ff\n").expect("a sound script");
        let record = |key: &'static [u8], value: &'static [u8]| Record { keyspace: "k".into(), key: key.into(), value: value.into() };
        assert_eq!(golden.options, BTreeMap::from([("namespace".into(), "ns".into())]));
        assert_eq!(golden.steps, [Step::Clock(5), Step::Command(["SET", "a b", "c"].map(Vec::from).to_vec()), Step::Clock(7)]);
        assert_eq!(golden.records, [record(b"kaaa", b""), record(b"", b"\x00\xff")]);
        assert_eq!(golden.now_ms(), 7);
    }

    #[test]
    fn differences_are_shown_record_by_record() {
        let golden = parse("name".into(), "@clock 5", "k 61 00\nk 62 -\n").expect("a sound script");
        let mut records = golden.records.clone();
        assert_eq!(golden.differences(&records), "");
        records[0].value = "x".into();
        assert_eq!(golden.differences(&records), "+ k 61 78\n- k 61 00\n");
    }

    #[test]
    fn a_line_that_makes_no_sense_is_named() {
        for (script, records) in [("@clock x", ""), ("@option a", ""), ("GET \"a", ""), ("", "k 6"), ("", "k 61"), ("", "k 61*x -")] {
            assert_eq!(parse("name".into(), script, records), Err(format!("{script}{records}")));
        }
    }
}
