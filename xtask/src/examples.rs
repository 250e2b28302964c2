//! What the example in Node needs: packages of npm, and the components as JavaScript.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::installation::Installation;
use crate::{command, node};

const LOCK: &str = include_str!("../../examples/node/package-lock.json");

/// Installs the packages if they are missing or were installed by another lock file.
pub fn install_missing() -> Result<()> {
    let install = |_: &Path| {
        println!("Installing jco and lmdb from npm into examples/node");
        node::install_locked(&folder())
    };
    Installation::at(folder().join("node_modules"), LOCK).install_missing(install).context("cannot install packages from npm")
}

/// Makes JavaScript of the components of the release in `dist`.
pub fn transpile(dist: &Path) -> Result<()> {
    ["transpile", "transpile-conform"]
        .iter()
        .try_for_each(|script| command::run(npm().args(["run", "--silent", script]).env("ORBWEAVER_DIST", dist)))
}

fn npm() -> Command {
    let mut npm = Command::new("npm");
    npm.current_dir(folder());
    npm
}

fn folder() -> PathBuf {
    command::root().join("examples/node")
}
