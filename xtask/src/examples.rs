//! What the example in Node needs: packages of npm, and the components as JavaScript.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::command;

const LOCK: &str = include_str!("../../examples/node/package-lock.json");
/// Holds the lock file that was installed; written last, so that an installation that broke off is done again.
const MARK: &str = "node_modules/.installed-lock";

/// Installs the packages if they are missing or were installed by another lock file.
pub fn install_missing() -> Result<()> {
    let mark = command::root().join("examples/node").join(MARK);
    if fs::read_to_string(&mark).is_ok_and(|installed| installed == LOCK) {
        return Ok(());
    }
    println!("Installing jco and lmdb from npm into examples/node");
    command::run(npm().args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])).context("cannot install packages from npm")?;
    fs::write(&mark, LOCK).with_context(|| format!("cannot write {}", mark.display()))
}

/// Makes JavaScript of the components of the release in `dist`.
pub fn transpile(dist: &Path) -> Result<()> {
    ["transpile", "transpile-conform"]
        .iter()
        .try_for_each(|script| command::run(npm().args(["run", "--silent", script]).env("ORBWEAVER_DIST", dist)))
}

fn npm() -> Command {
    let mut npm = Command::new("npm");
    npm.current_dir(command::root().join("examples/node"));
    npm
}
