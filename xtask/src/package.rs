//! `cargo xtask package`.

use std::env;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::{command, setup};

/// Where the artefacts go, in the current folder.
pub const FOLDER: &str = "dist";

/// Builds the release artefacts. The program that does it, with its heavy crates, belongs to the workspace of the plugins.
pub fn package() -> Result<()> {
    setup::light()?;
    let out = env::current_dir()?.join(FOLDER);
    let mut package = command::cargo();
    package.args(["run", "--quiet", "--manifest-path", "plugins/Cargo.toml", "--package", "orbweaver-package", "--target-dir"]);
    command::run(package.arg(target_directory()).arg("--").arg(out).arg(target_directory()))
}

/// Prints imports, exports and sizes of the components that were built.
pub fn print_components() -> Result<()> {
    for page in ["artefacts.md", "sizes.txt"] {
        let path = env::current_dir()?.join(FOLDER).join(page);
        print!("\n{}", fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?);
    }
    Ok(())
}

/// Where the workspace of the plugins is built: beside what is built here, so that CI keeps both.
pub fn target_directory() -> PathBuf {
    command::target_directory().join("plugins")
}
