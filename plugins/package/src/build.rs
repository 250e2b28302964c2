//! The components that the others are made of.

use anyhow::{Result, anyhow, ensure};
use std::fs;
use std::path::{Path, PathBuf};

/// The components, as the build leaves them.
pub struct Parts {
    pub engine: Vec<u8>,
    pub redb: Vec<u8>,
    pub memory: Vec<u8>,
    pub log: Vec<u8>,
    pub command: Vec<u8>,
    pub conform: Vec<u8>,
    pub keyvalue: Vec<u8>,
    pub keyvalue_draft: Vec<u8>,
    /// Not released: applications that know one draft of `wasi:keyvalue`, the other one, or both, for the tests.
    pub clients: Clients,
    /// Not released: a store with a flaw, for the tests.
    pub broken: Vec<u8>,
}

/// The applications of `plugins/keyvalue/client`.
pub struct Clients {
    pub draft: Vec<u8>,
    pub draft2: Vec<u8>,
    pub both: Vec<u8>,
}

/// Builds the engine's component, and those of `plugins/`.
pub fn build(workspace: &Path, target_dir: &Path) -> Result<Parts> {
    let engine = orbweaver_component::build(workspace, target_dir).map_err(|error| anyhow!("{error}"))?;
    let plugins = Plugins { folder: workspace.join("plugins"), target_dir };
    plugins.build("wasm32-wasip2", &["redb", "memory", "log", "command", "conform", "broken", "keyvalue-client"])?;
    let read = |name: &str| fs::read(target_dir.join("wasm32-wasip2/component").join(name));
    // What needs nothing of WASI is built so that it imports nothing of WASI.
    plugins.build("wasm32-unknown-unknown", &["keyvalue-draft", "keyvalue-draft2"])?;
    let encode = |name: &str| orbweaver_component::encode(target_dir, name).map_err(|error| anyhow!("{name}: {error}"));
    Ok(Parts {
        engine,
        redb: read("orbweaver_redb.wasm")?,
        memory: read("orbweaver_memory.wasm")?,
        log: read("orbweaver_log.wasm")?,
        command: read("orbweaver-command.wasm")?,
        conform: read("orbweaver-conform.wasm")?,
        keyvalue: encode("orbweaver_keyvalue_draft2")?,
        keyvalue_draft: encode("orbweaver_keyvalue_draft")?,
        clients: Clients {
            draft: read("orbweaver-keyvalue-client-draft.wasm")?,
            draft2: read("orbweaver-keyvalue-client-draft2.wasm")?,
            both: read("orbweaver-keyvalue-client-both.wasm")?,
        },
        broken: read("orbweaver_broken.wasm")?,
    })
}

/// The workspace of the plugins.
struct Plugins<'a> {
    folder: PathBuf,
    target_dir: &'a Path,
}

impl Plugins<'_> {
    /// Builds the packages `orbweaver-NAME` for a target.
    fn build(&self, target: &str, names: &[&str]) -> Result<()> {
        let mut cargo = orbweaver_component::cargo();
        cargo.current_dir(&self.folder).args(["build", "--quiet", "--target", target, "--profile", "component"]);
        cargo.args(names.iter().flat_map(|name| ["--package".to_owned(), format!("orbweaver-{name}")]));
        let built = cargo.arg("--target-dir").arg(self.target_dir).status()?.success();
        ensure!(built, "the plugins did not build; is the target there? rustup target add {target}");
        Ok(())
    }
}
