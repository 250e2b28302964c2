//! A Python virtual environment with what the tests use from PyPI: redis-py, a real client library, with the tests that it has itself,
//! a WebAssembly runtime that nobody here builds, and what makes components of Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::command;
use crate::installation::Installation;

const REDIS_PY: &str = include_str!("../../tests/clients/redis-py.txt");
const REQUIREMENTS: &str = include_str!("../../tests/clients/requirements.txt");

/// What [`install_missing`] returns.
pub struct Environment {
    /// The Python that has everything.
    pub python: PathBuf,
    /// The unpacked source distribution of redis-py, with its folder `tests`.
    pub redis_py: PathBuf,
}

/// Makes the environment if it is missing or was made by other pins.
pub fn install_missing() -> Result<Environment> {
    let installation = Installation::new("python-environment", &[REDIS_PY, REQUIREMENTS])?;
    installation.install_missing(install).context("cannot install packages from PyPI")?;
    Ok(Environment { python: python(installation.folder()), redis_py: redis_py(installation.folder()) })
}

fn python(folder: &Path) -> PathBuf {
    folder.join("bin").join("python")
}

fn redis_py(folder: &Path) -> PathBuf {
    folder.join("redis-py")
}

fn install(folder: &Path) -> Result<()> {
    println!("Installing what the tests use from PyPI into {}", folder.display());
    command::run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    let pins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/clients");
    let download = folder.join("download");
    let pip = |arguments: &[&str]| {
        let mut pip = Command::new(python(folder));
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]).args(arguments);
        pip
    };
    command::run(
        pip(&["download", "--require-hashes", "--no-deps", "--no-binary", "redis", "--dest"])
            .arg(&download)
            .arg("--requirement")
            .arg(pins.join("redis-py.txt")),
    )?;
    command::run(pip(&["install", "--requirement"]).arg(pins.join("requirements.txt")))?;
    let redis_py = redis_py(folder);
    fs::create_dir(&redis_py)?;
    let archive = fs::read_dir(&download)?.next().context("pip has downloaded nothing")??;
    let unpack = ["--extract", "--gzip", "--strip-components", "1", "--file"];
    command::run(Command::new("tar").args(unpack).arg(archive.path()).arg("--directory").arg(&redis_py))?;
    command::run(pip(&["install"]).arg(&redis_py))
}
