//! `orbweaver check`.

use super::options::{ClockArgs, DirArgs, EngineArgs, ReadOnlyArgs};
use super::output::count_progress;
use clap::Args;
use std::process::ExitCode;

/// Records that are verified before progress is shown again.
const STEP_RECORDS: u32 = 10_000;

/// Verifies every record: that it can be read, that counts and bounds are right, that what belongs together is there.
///
/// Writes a line for each finding: keyspace, key in hexadecimal, and what is wrong.
#[derive(Args, Debug)]
#[command(after_help = "Exit code: 0 when all is well, 1 when something is wrong.

Examples:
  orbweaver check --dir data
  orbweaver check --dir /var/pika/db --read-only
  orbweaver check --store postgres://ada@db.example/app --store-password-file secret")]
pub struct CheckArgs {
    #[command(flatten)]
    dir: DirArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    access: ReadOnlyArgs,
    #[command(flatten)]
    clock: ClockArgs,
}

pub fn check(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let database = args.dir.open_existing(args.access)?;
    let mut orbweaver = args.engine.open(&database, args.clock)?;
    let progress = count_progress("records");
    let mut cursor: Option<Vec<u8>> = None;
    let mut wrong: u64 = 0;
    loop {
        let findings = orbweaver.check(cursor.as_deref(), STEP_RECORDS)?;
        progress.inc(u64::from(STEP_RECORDS));
        for finding in findings.found {
            wrong += 1;
            progress.suspend(|| println!("{} {}: {}", finding.keyspace, hex::encode(&finding.key), finding.what));
        }
        cursor = findings.next;
        if cursor.is_none() {
            break;
        }
    }
    progress.finish_and_clear();
    let shown = database.store.shown();
    if wrong == 0 {
        println!("{shown}: no record is wrong");
        return Ok(ExitCode::SUCCESS);
    }
    println!("{shown}: findings: {wrong}");
    Ok(ExitCode::FAILURE)
}
