//! `orbweaver load`.

use super::options::{ClockArgs, DirArgs, EngineArgs, ReadOnlyArgs};
use super::output::{byte_progress, open_input};
use super::refused::Refused;
use anyhow::{Context as _, anyhow};
use clap::Args;
use orbweaver::runtime::{CallError, Orbweaver};
use std::io::BufRead as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Bytes of lines that go to the engine at a time, unless a single line is longer.
const STEP_BYTES: usize = 1 << 20;

/// Reads lines as `orbweaver dump` writes them. Keys that exist are replaced; keys whose time is past are left out.
///
/// A line that is wrong ends the command with its number; the lines before it are written.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  orbweaver load --dir data backup.jsonl
  zstd -dc backup.jsonl.zst | orbweaver load --dir data
  orbweaver dump --dir data | orbweaver load --store postgres://ada@db.example/app
  orbweaver load --dir for-pika --layout blackwidow backup.jsonl")]
pub struct LoadArgs {
    #[command(flatten)]
    dir: DirArgs,
    #[command(flatten)]
    engine: EngineArgs,
    /// File to read [default: standard input]
    file: Option<PathBuf>,
}

pub fn load(args: &LoadArgs) -> anyhow::Result<ExitCode> {
    let (mut input, size) = open_input(args.file.as_deref())?;
    let database = args.dir.open_or_create(ReadOnlyArgs { read_only: false })?;
    let mut loader = Loader { orbweaver: args.engine.open(&database, ClockArgs { now: None })?, lines: 0, keys: 0, expired: 0 };
    let progress = byte_progress(size);
    let mut chunk = Vec::new();
    let mut count: u64 = 0;
    loop {
        let read = input.read_until(b'\n', &mut chunk).context("cannot read the lines")?;
        count += u64::from(read > 0);
        if chunk.len() >= STEP_BYTES || read == 0 {
            loader.load(&chunk, count)?;
            progress.inc(u64::try_from(chunk.len()).unwrap_or(u64::MAX));
            chunk.clear();
            count = 0;
        }
        if read == 0 {
            break;
        }
    }
    progress.finish_and_clear();
    eprintln!("{} keys loaded, {} left out because their time is past", loader.keys, loader.expired);
    Ok(ExitCode::SUCCESS)
}

struct Loader {
    orbweaver: Orbweaver,
    /// Lines that have been loaded.
    lines: u64,
    keys: u64,
    expired: u64,
}

impl Loader {
    /// Loads `count` whole lines.
    fn load(&mut self, chunk: &[u8], count: u64) -> anyhow::Result<()> {
        let (keys, expired) = self.orbweaver.load(chunk).map_err(|error| self.locate(error))?;
        self.lines += count;
        self.keys += keys;
        self.expired += expired;
        Ok(())
    }

    /// The engine counts lines within a call; people count them within the file.
    fn locate(&self, error: CallError) -> anyhow::Error {
        let text = error.to_string();
        match Refused::parse(&text) {
            Some(Refused { line, reason }) => anyhow!("line {}: {reason}", self.lines + line),
            None => anyhow!("behind line {}: {}", self.lines, text.strip_prefix("ERR ").unwrap_or(&text)),
        }
    }
}
