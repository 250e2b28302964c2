//! Runs artefacts of `cargo xtask package` in processes of their own.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A lease short enough to wait for.
pub const LEASE_SECONDS: u64 = 2;

/// The component `name` of the release.
///
/// `ORBWEAVER_DIST` is the folder of the release; `cargo xtask test` sets it.
fn released(name: &str) -> PathBuf {
    let dist = env::var_os("ORBWEAVER_DIST").map_or_else(|| package().join("../../dist"), PathBuf::from);
    dist.join(format!("{name}.wasm"))
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A script of this package. `ORBWEAVER_PYTHON` is the Python that has wasmtime; `cargo xtask test` sets it.
fn python(script: &str) -> Command {
    let mut command = Command::new(env::var_os("ORBWEAVER_PYTHON").unwrap_or_else(|| "python3".into()));
    command.arg(package().join(script)).stdin(Stdio::null());
    command
}

/// The command component `name` of the release, with `folder` open to it.
#[must_use]
pub fn component(name: &str, folder: &Path) -> Command {
    let mut command = python("run.py");
    command.arg("--dir").arg(folder).args(["--env", &format!("ORBWEAVER_LEASE_SECONDS={LEASE_SECONDS}")]).arg(released(name));
    command
}

/// `run.sh` of an example, which finds the release and Python by the same variables.
#[must_use]
pub fn example(name: &str) -> Command {
    let mut command = Command::new(package().join("../../examples").join(name).join("run.sh"));
    command.stdin(Stdio::null());
    command
}

/// The test-suite on a store with a flaw of the engine's `conformance::flaws`.
#[must_use]
pub fn conform_on_broken(flaw: &str) -> Command {
    let mut command = python("run.py");
    command.args(["--env", &format!("ORBWEAVER_FLAW={flaw}")]).arg(released("tests/orbweaver-conform-on-broken"));
    command
}

/// Participants of the test-suite's contention on a store of a Python host, which has a flaw if one is named.
#[must_use]
pub fn contend(participants: usize, flaw: Option<&str>) -> Command {
    let mut command = python("contend.py");
    command.arg(released("orbweaver-conform")).arg(participants.to_string()).args(flaw);
    command
}

/// What a program printed, and whether it ended well.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its standard output.
    pub output: String,
    /// Its standard error stream.
    pub errors: String,
    /// Its exit code.
    pub code: Option<i32>,
}

/// Runs a program to its end.
///
/// # Errors
/// Where it cannot be started.
pub fn outcome(command: &mut Command) -> std::io::Result<Outcome> {
    let output = command.output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Outcome { output: text(&output.stdout), errors: text(&output.stderr), code: output.status.code() })
}
