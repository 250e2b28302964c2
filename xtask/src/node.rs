//! ioredis and node-redis, the client libraries of Node.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::command;
use crate::installation::Installation;

const PACKAGE: &str = include_str!("../../tests/clients/node/package.json");
const LOCK: &str = include_str!("../../tests/clients/node/package-lock.json");

/// Installs the libraries if they are missing or were installed by another lock file; returns the folder `node_modules`.
pub fn install_missing() -> Result<PathBuf> {
    let installation = Installation::new("node", &[PACKAGE, LOCK])?;
    installation.install_missing(install).context("cannot install ioredis and node-redis from npm")?;
    Ok(installation.folder().join("node_modules"))
}

fn install(folder: &Path) -> Result<()> {
    println!("Installing ioredis and node-redis into {}", folder.display());
    fs::write(folder.join("package.json"), PACKAGE)?;
    fs::write(folder.join("package-lock.json"), LOCK)?;
    install_locked(folder)
}

/// Installs what the lock file in `folder` names, into its `node_modules`.
pub fn install_locked(folder: &Path) -> Result<()> {
    command::run(Command::new("npm").args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder))
}
