//! A Python virtual environment with redis-py, the real client library that the tests use.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::command;

/// The version of redis-py; a test that passes today should pass next year.
const REDIS_PY: &str = "8.1.0";

/// Makes the environment if it is missing or holds another version; returns the path of its Python.
pub fn install_missing() -> Result<PathBuf> {
    let folder = cache_folder()?.join("python");
    let python = folder.join("bin").join("python");
    if !has_redis_py(&python) {
        println!("Installing redis-py {REDIS_PY} into {}", folder.display());
        command::run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        command::run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).arg(requirement()))
            .context("cannot install redis-py from PyPI")?;
    }
    Ok(python)
}

fn requirement() -> String {
    format!("redis=={REDIS_PY}")
}

fn has_redis_py(python: &PathBuf) -> bool {
    let version = command::output(Command::new(python).args(["-c", "import redis; print(redis.__version__)"]));
    version.as_deref() == Some(REDIS_PY)
}

/// `$XDG_CACHE_HOME/orbweaver`, by default `~/.cache/orbweaver` (XDG Base Directory Specification).
fn cache_folder() -> Result<PathBuf> {
    let cache = match env::var_os("XDG_CACHE_HOME") {
        Some(cache) if !cache.is_empty() => PathBuf::from(cache),
        _ => env::home_dir().context("HOME is not set: cannot tell where the cache folder is")?.join(".cache"),
    };
    Ok(cache.join("orbweaver"))
}
