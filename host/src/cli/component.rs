//! `orbweaver component`.

use super::output::Output;
use anyhow::Context as _;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Writes the WebAssembly component that this command runs, byte for byte, for other hosts.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  orbweaver component --output orbweaver.wasm")]
pub struct ComponentArgs {
    /// File to write
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

pub fn component(args: &ComponentArgs) -> anyhow::Result<ExitCode> {
    let mut output = Output::create(Some(&args.output))?;
    let written = output.write_all(orbweaver::runtime::wasm()).and_then(|()| output.finish());
    written.with_context(|| format!("cannot write {}", args.output.display()))?;
    Ok(ExitCode::SUCCESS)
}
