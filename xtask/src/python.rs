//! A Python virtual environment with what the tests use from PyPI: a real client library, a WebAssembly runtime that nobody
//! here builds, and what makes components of Python.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::command;

/// What is installed; a test that passes today should pass next year.
const REQUIREMENTS: [&str; 3] = ["redis==8.1.0", "wasmtime==50.0.1", "componentize-py==0.25.1"];

/// Makes the environment if something in it is missing or of another version; returns the path of its Python.
pub fn install_missing() -> Result<PathBuf> {
    let folder = cache_folder()?.join("python");
    let python = folder.join("bin").join("python");
    if !has_requirements(&python) {
        println!("Installing {} into {}", REQUIREMENTS.join(", "), folder.display());
        command::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        command::run(pip(&python).args(["install", "--quiet"]).args(REQUIREMENTS)).context("cannot install packages from PyPI")?;
    }
    Ok(python)
}

fn pip(python: &Path) -> Command {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "--disable-pip-version-check"]);
    pip
}

fn has_requirements(python: &Path) -> bool {
    let installed = command::output(pip(python).arg("freeze")).unwrap_or_default();
    REQUIREMENTS.iter().all(|requirement| installed.lines().any(|line| line == *requirement))
}

/// `$XDG_CACHE_HOME/orbweaver`, by default `~/.cache/orbweaver` (XDG Base Directory Specification).
fn cache_folder() -> Result<PathBuf> {
    let cache = match env::var_os("XDG_CACHE_HOME") {
        Some(cache) if !cache.is_empty() => PathBuf::from(cache),
        _ => env::home_dir().context("HOME is not set: cannot tell where the cache folder is")?.join(".cache"),
    };
    Ok(cache.join("orbweaver"))
}
