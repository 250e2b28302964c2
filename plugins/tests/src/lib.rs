//! Runs artefacts of `cargo xtask package` in processes of their own.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A lease short enough to wait for.
pub const LEASE_SECONDS: u64 = 2;

/// This package's folder.
#[must_use]
pub fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The component `name` of the release: in the folder `ORBWEAVER_DIST`, which `cargo xtask test` sets.
#[must_use]
pub fn artefact(name: &str) -> PathBuf {
    let dist = env::var_os("ORBWEAVER_DIST").map_or_else(|| package().join("../../dist"), PathBuf::from);
    dist.join(format!("{name}.wasm"))
}

/// The Python that has what the tests take from PyPI: `ORBWEAVER_PYTHON`, which `cargo xtask test` sets.
#[must_use]
pub fn python() -> Command {
    let mut python = Command::new(env::var_os("ORBWEAVER_PYTHON").unwrap_or_else(|| "python3".into()));
    python.stdin(Stdio::null());
    python
}

/// The command component `name` of the release, with `folder` open to it.
#[must_use]
pub fn component(name: &str, folder: &Path) -> Command {
    component_in(&artefact(name), folder)
}

/// The command component in `file`, with `folder` open to it.
#[must_use]
pub fn component_in(file: &Path, folder: &Path) -> Command {
    let mut command = python();
    command
        .arg(package().join("run.py"))
        .arg("--dir")
        .arg(folder)
        .args(["--env", &format!("ORBWEAVER_LEASE_SECONDS={LEASE_SECONDS}")])
        .arg(file);
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
