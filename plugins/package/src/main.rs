//! Builds the release artefacts into a folder (`cargo xtask package`), or composes components as the release's are.

mod artefacts;
mod build;
mod compose;
mod page;
#[cfg(test)]
mod versions;
mod wit;

use anyhow::{Context as _, Result, bail};
use compose::{Part, compose};
use std::env;
use std::fs;
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

const USAGE: &str = "\
usage: orbweaver-package FOLDER TARGET-DIRECTORY
       orbweaver-package compose OUT PART...

The second form composes components: each imports what a part before it exports, and OUT exports what any part exports.";

fn package() -> Result<()> {
    let arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    match arguments.as_slice() {
        [verb, out, parts @ ..] if verb == Path::new("compose") && !parts.is_empty() => compose_files(out, parts),
        [out, target_dir] => {
            let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
            artefacts::write(workspace.context("the package stands in plugins/ of the repository")?, out, target_dir)
        }
        _ => bail!(USAGE),
    }
}

fn compose_files(out: &Path, files: &[PathBuf]) -> Result<()> {
    let read = |file: &PathBuf| Ok((file.display().to_string(), fs::read(file).with_context(|| format!("reading {}", file.display()))?));
    let parts = files.iter().map(read).collect::<Result<Vec<_>>>()?;
    let parts: Vec<Part<'_>> = parts.iter().map(|(name, wasm)| Part::outer(name, wasm)).collect();
    fs::write(out, compose(&parts)?).with_context(|| format!("writing {}", out.display()))
}
