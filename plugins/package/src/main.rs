//! Builds the release artefacts into a folder: `cargo xtask package`.

mod artefacts;
mod build;
mod compose;
mod page;
#[cfg(test)]
mod versions;
mod wit;

use anyhow::{Context as _, Result, bail};
use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    match package() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn package() -> Result<()> {
    let arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let [out, target_dir] = arguments.as_slice() else { bail!("usage: orbweaver-package FOLDER TARGET-DIRECTORY") };
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("the package stands in plugins/ of the repository")?;
    artefacts::write(workspace, out, target_dir)
}
