//! `orbweaver inspect`.

mod json;
mod render;

use super::options::{ClockArgs, DirArgs, EngineArgs, ReadOnlyArgs};
use anyhow::bail;
use clap::Args;
use orbweaver::runtime::Orbweaver;
use orbweaver_engine::glob;
use orbweaver_engine::layout::anatomy::Anatomy;
use render::Painter;
use std::ffi::OsString;
use std::io::{StdoutLock, Write as _};
use std::process::ExitCode;

/// Records that are asked of the engine at a time.
const STEP_RECORDS: u32 = 100;
/// Keys that are asked of the engine at a time.
const STEP_KEYS: u32 = 1000;
/// Records of a key that people are shown when they do not say how many.
const SHOWN_RECORDS: u64 = 24;

/// Shows the records that a key is stored in: a line for each field, with its bytes in hexadecimal and as text, its name in the
/// description of the format, and what it says.
///
/// Without a key, the first keys are shown. Keys that have expired, and records that are damaged, are shown where the key is named.
#[derive(Args, Debug)]
#[command(after_help = "Colours are for terminals; NO_COLOR turns them off. The fields of --json are described in docs/inspect.md.

Examples:
  orbweaver inspect --dir data user:1
  orbweaver inspect --dir data --db 3 --match 'user:*' --limit 5
  orbweaver inspect --dir data --json user:1 | jq .value.fields
  orbweaver inspect --store etcd://a:2379 user:1")]
pub struct InspectArgs {
    #[command(flatten)]
    dir: DirArgs,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    clock: ClockArgs,
    /// Number of the db that the keys are in
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    db: u32,
    /// The first keys that match a glob pattern, in byte order, instead of one key
    #[arg(long = "match", value_name = "PATTERN", conflicts_with = "key")]
    pattern: Option<OsString>,
    /// Most keys to show
    #[arg(long, value_name = "COUNT", default_value_t = 10, conflicts_with = "key")]
    limit: u64,
    /// Most records of each key to show [default: 24; all with --json]
    #[arg(long, value_name = "COUNT")]
    records: Option<u64>,
    /// Most bytes of each field to show
    #[arg(long, value_name = "COUNT", default_value_t = 64, conflicts_with = "json")]
    bytes: usize,
    /// Write each record as a line of JSON
    #[arg(long)]
    json: bool,
    /// The key
    key: Option<OsString>,
}

pub fn inspect(args: &InspectArgs) -> anyhow::Result<ExitCode> {
    let database = args.dir.open_existing(ReadOnlyArgs { read_only: true })?;
    let mut orbweaver = args.engine.open(&database, args.clock)?;
    let keys = match &args.key {
        Some(key) => vec![key.as_encoded_bytes().to_vec()],
        None => {
            let pattern = args.pattern.as_ref().map_or(b"*".as_slice(), |pattern| pattern.as_encoded_bytes());
            matching_keys(&mut orbweaver, args.db, pattern, args.limit)?
        }
    };
    let mut show = Show { args, out: anstream::stdout().lock(), painter: Painter::new(args.bytes), shown: 0 };
    for key in &keys {
        show.key(&mut orbweaver, key)?;
    }
    show.finish()
}

/// The first keys that match, in byte order.
fn matching_keys(orbweaver: &mut Orbweaver, db: u32, pattern: &[u8], limit: u64) -> anyhow::Result<Vec<Vec<u8>>> {
    let (prefix, _) = glob::literal_prefix(pattern);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    let mut after: Option<Vec<u8>> = None;
    while found.len() < limit {
        let page = orbweaver.keys().list_keys(db, &prefix, after.as_deref(), STEP_KEYS)?;
        after = page.iter().last().map(<[u8]>::to_vec);
        if after.is_none() {
            break;
        }
        // The glob functions leave the empty key out of `*`, as Redis' do.
        let matching = page.iter().filter(|key| pattern == b"*" || glob::matches(pattern, key, false));
        found.extend(matching.take(limit - found.len()).map(<[u8]>::to_vec));
    }
    Ok(found)
}

/// Shows keys.
struct Show<'a> {
    args: &'a InspectArgs,
    out: anstream::AutoStream<StdoutLock<'static>>,
    painter: Painter,
    /// Records shown so far.
    shown: u64,
}

impl Show<'_> {
    fn key(&mut self, orbweaver: &mut Orbweaver, key: &[u8]) -> anyhow::Result<()> {
        let (db, json) = (self.args.db, self.args.json);
        let most = self.args.records.unwrap_or(if json { u64::MAX } else { SHOWN_RECORDS });
        if !json {
            write!(self.out, "{}", self.painter.heading(db, key))?;
        }
        let mut left = most;
        let mut cursor: Option<Vec<u8>> = None;
        loop {
            let step = u32::try_from(left).unwrap_or(u32::MAX).min(STEP_RECORDS);
            let (records, next) = orbweaver.inspect(db, key, cursor.as_deref(), step)?;
            for record in &records {
                self.record(db, key, record)?;
            }
            left = left.saturating_sub(u64::try_from(records.len()).unwrap_or(u64::MAX));
            cursor = next;
            if cursor.is_none() {
                return Ok(());
            }
            if left == 0 {
                if !json {
                    writeln!(self.out, "  There are more records of this key: --records COUNT shows them.\n")?;
                }
                return Ok(());
            }
        }
    }

    fn record(&mut self, db: u32, key: &[u8], record: &Anatomy) -> anyhow::Result<()> {
        self.shown += 1;
        if self.args.json {
            writeln!(self.out, "{}", serde_json::to_string(&json::Line::new(db, key, record))?)?;
        } else {
            write!(self.out, "{}", self.painter.record(record))?;
        }
        Ok(())
    }

    /// The legend; a failure where there was nothing to show.
    fn finish(mut self) -> anyhow::Result<ExitCode> {
        if self.shown == 0 {
            match self.args.key {
                Some(_) => bail!("there is no such key in db {}", self.args.db),
                None => bail!("there is no such key in db {} that has not expired", self.args.db),
            }
        }
        if !self.args.json {
            write!(self.out, "{}", self.painter.legend())?;
        }
        self.out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}
