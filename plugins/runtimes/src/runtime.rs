//! The runtimes, each a program of its own.

use crate::script::Script;
use anyhow::{Context as _, Result, ensure};
use orbweaver_engine::resp::encode_request;
use orbweaver_tests::client::Args;
use orbweaver_tests::script::quote;
use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// The moment at which every clock is held: in January 2027.
const CLOCK_MS: &str = "1800000000000";
/// What every generator of random numbers starts from.
const SEED: &str = "7";

/// What a script leaves behind.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// All replies, as on the wire.
    pub replies: Vec<u8>,
    /// The lines of `maintenance.dump`.
    pub dump: Vec<String>,
    /// The raw records, as `orbweaver records export` writes them, sorted.
    pub records: Vec<String>,
}

/// Where things are.
pub struct Paths {
    /// The root of the repository.
    pub repository: PathBuf,
    /// The release artefacts.
    pub dist: PathBuf,
    /// The command `orbweaver`.
    pub orbweaver: PathBuf,
    /// The Python that has wasmtime.
    pub python: PathBuf,
}

impl Paths {
    /// From the environment, as `cargo xtask test` sets it: `ORBWEAVER_COMMAND`, `ORBWEAVER_DIST`, `ORBWEAVER_PYTHON`.
    ///
    /// # Errors
    /// Where a variable is missing.
    pub fn from_environment() -> Result<Self> {
        let path = |name: &str| env::var_os(name).map(PathBuf::from).with_context(|| format!("{name} is not set: run `cargo xtask test`"));
        Ok(Self {
            repository: Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."),
            dist: path("ORBWEAVER_DIST")?,
            orbweaver: path("ORBWEAVER_COMMAND")?,
            python: path("ORBWEAVER_PYTHON")?,
        })
    }
}

/// A runtime with a store.
pub enum Runtime {
    /// The command `orbweaver`, on RocksDB.
    RocksDb,
    /// PyPI's wasmtime, with the store of `examples/python`.
    PythonSqlite,
    /// Node, with the store of `examples/node`.
    NodeLmdb,
    /// PyPI's wasmtime, which runs this composition.
    Composition(&'static str),
    /// Chromium without a window, with the store of `web/store`.
    Chromium,
}

/// The rows of the table; the first is the one that the others are compared with.
pub const ALL: [(&str, Runtime); 6] = [
    ("wasmtime, RocksDB", Runtime::RocksDb),
    ("wasmtime from PyPI, memory composition", Runtime::Composition("orbweaver-on-memory.wasm")),
    ("wasmtime from PyPI, redb composition", Runtime::Composition("orbweaver-on-redb.wasm")),
    ("wasmtime from PyPI, SQLite in Python", Runtime::PythonSqlite),
    ("Node (jco), LMDB in JavaScript", Runtime::NodeLmdb),
    ("Chromium (jco), IndexedDB", Runtime::Chromium),
];

impl Runtime {
    /// Runs a script on an empty store.
    ///
    /// # Errors
    /// Where the runtime does not get to the end.
    pub fn run(&self, paths: &Paths, script: &Script) -> Result<Outcome> {
        let folder = tempfile::tempdir()?;
        match self {
            Self::RocksDb => return rocksdb(paths, folder.path(), script),
            Self::PythonSqlite => replay(python(paths, "sqlite", "orbweaver.wasm", folder.path()), script)?,
            Self::Composition(component) => replay(python(paths, "composition", component, folder.path()), script)?,
            Self::NodeLmdb => replay(javascript(paths, "plugins/runtimes/replay.mjs", folder.path()), script)?,
            Self::Chromium => replay(within_limits(&javascript(paths, "web/tests/replay.mjs", folder.path())), script)?,
        }
        let read = |name: &str| fs::read(folder.path().join(name)).with_context(|| format!("the runtime left no {name}"));
        Ok(Outcome { replies: read("replies")?, dump: lines(&read("dump")?), records: sorted(lines(&read("records")?)) })
    }
}

fn rocksdb(paths: &Paths, folder: &Path, script: &Script) -> Result<Outcome> {
    let orbweaver = |verb: &[&str]| {
        let mut command = Command::new(&paths.orbweaver);
        command.args(verb).arg("--dir").arg(folder);
        command
    };
    let held = ["--clock-ms", CLOCK_MS, "--seed", SEED];
    let line = |words: &Args| words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ") + "\n";
    let input: String = script.commands.iter().map(line).collect();
    // As the component does where nobody says otherwise.
    let replies = output(orbweaver(&["exec", "--wire", "--packed-bytes", "0"]).args(held), input.as_bytes())?;
    let dump = output(orbweaver(&["dump"]).args(held), b"")?;
    let records = output(&mut orbweaver(&["records", "export"]), b"")?;
    Ok(Outcome { replies, dump: lines(&dump), records: sorted(lines(&records)) })
}

fn python(paths: &Paths, store: &str, component: &str, folder: &Path) -> Command {
    let mut python = Command::new(&paths.python);
    python
        .env("PYTHONPATH", paths.repository.join("examples/python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg(paths.repository.join("plugins/runtimes/replay.py"))
        .arg(store)
        .arg(paths.dist.join(component))
        .arg(folder)
        .args([CLOCK_MS, SEED]);
    python
}

fn javascript(paths: &Paths, program: &str, folder: &Path) -> Command {
    let mut node = Command::new("node");
    node.arg(paths.repository.join(program)).arg(folder).args([CLOCK_MS, SEED]).env("ORBWEAVER_WEB", paths.dist.join("web"));
    node
}

/// The same under `timeout`: a browser that hangs also hangs when it is asked to end.
fn within_limits(program: &Command) -> Command {
    let mut timeout = Command::new("timeout");
    timeout.args(["--kill-after", "10", "600"]).arg(program.get_program()).args(program.get_args());
    timeout.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    timeout
}

/// Gives a host the requests, each as a line of hexadecimal digits.
fn replay(mut host: Command, script: &Script) -> Result<()> {
    let hex = |request: Vec<u8>| request.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n";
    let input: String = script.commands.iter().map(|words| hex(encode_request(words))).collect();
    output(&mut host, input.as_bytes()).map(drop)
}

/// What a program prints, which must not complain.
fn output(command: &mut Command, input: &[u8]) -> Result<Vec<u8>> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().context("a child with a pipe")?;
    let output = thread::scope(|scope| {
        // Beside the reading of the output, which would otherwise fill its pipe. A child that does not read says why itself.
        scope.spawn(move || stdin.write_all(input).ok());
        child.wait_with_output()
    })?;
    // `orbweaver exec` ends with 1 where a reply was an error; what went wrong is on the error stream.
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(complaint.is_empty() && output.status.code().is_some_and(|code| code <= 1), "{}: {complaint}", output.status);
    Ok(output.stdout)
}

fn lines(text: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(text).lines().map(str::to_owned).collect()
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort_unstable();
    lines
}
