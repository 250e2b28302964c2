//! The components that the others are made of.

use anyhow::{Result, anyhow, ensure};
use std::fs;
use std::path::Path;

/// The components, as the build leaves them.
pub struct Parts {
    pub engine: Vec<u8>,
    pub redb: Vec<u8>,
    pub memory: Vec<u8>,
    pub log: Vec<u8>,
    pub command: Vec<u8>,
    pub conform: Vec<u8>,
    /// Not released: a store with a flaw, for the tests.
    pub broken: Vec<u8>,
}

/// Builds the engine's component, and those of `plugins/`.
pub fn build(workspace: &Path, target_dir: &Path) -> Result<Parts> {
    let engine = orbweaver_component::build(workspace, target_dir).map_err(|error| anyhow!("{error}"))?;
    let mut cargo = orbweaver_component::cargo();
    cargo.current_dir(workspace.join("plugins")).args(["build", "--quiet", "--target", "wasm32-wasip2", "--profile", "component"]);
    let packages = ["redb", "memory", "log", "command", "conform", "broken"];
    cargo.args(packages.iter().flat_map(|name| ["--package".to_owned(), format!("orbweaver-{name}")]));
    let built = cargo.arg("--target-dir").arg(target_dir).status()?.success();
    ensure!(built, "the plugins did not build; is the target there? rustup target add wasm32-wasip2");
    let read = |name: &str| fs::read(target_dir.join("wasm32-wasip2/component").join(name));
    Ok(Parts {
        engine,
        redb: read("orbweaver_redb.wasm")?,
        memory: read("orbweaver_memory.wasm")?,
        log: read("orbweaver_log.wasm")?,
        command: read("orbweaver-command.wasm")?,
        conform: read("orbweaver-conform.wasm")?,
        broken: read("orbweaver_broken.wasm")?,
    })
}
