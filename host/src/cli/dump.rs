//! `orbweaver dump`.

use super::options::{ClockArgs, DirArgs, EngineArgs, ReadOnlyArgs};
use super::output::{Output, byte_progress};
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// Bytes that are asked of the engine at a time.
const STEP_BYTES: u32 = 1 << 20;

/// Writes every live key as a line of JSON, sorted by db and key. Keys and values are in base64.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  orbweaver dump --dir data --output backup.jsonl
  orbweaver dump | zstd > backup.jsonl.zst
  orbweaver dump --store etcd://a:2379,b:2379,c:2379 --output backup.jsonl
  orbweaver dump --dir /var/pika/db --read-only --output pika.jsonl

The format is described in docs/dump.md; `orbweaver load` reads it back.")]
pub struct DumpArgs {
    #[command(flatten)]
    dir: DirArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    access: ReadOnlyArgs,
    #[command(flatten)]
    clock: ClockArgs,
    /// File to write; one that exists is replaced [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub fn dump(args: &DumpArgs) -> anyhow::Result<ExitCode> {
    let database = args.dir.open_existing(args.access)?;
    let mut orbweaver = args.engine.open(&database, args.clock)?;
    let mut output = Output::create(args.output.as_deref())?;
    let progress = byte_progress(None);
    let mut cursor: Option<Vec<u8>> = None;
    loop {
        let (lines, next) = orbweaver.dump(cursor.as_deref(), STEP_BYTES)?;
        output.write_all(&lines)?;
        progress.inc(u64::try_from(lines.len()).unwrap_or(u64::MAX));
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    output.finish()?;
    progress.finish_and_clear();
    Ok(ExitCode::SUCCESS)
}
