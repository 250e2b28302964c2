//! `orbweaver records`: the raw records of a store, which the engine does not see.

use super::options::{DirArgs, ReadOnlyArgs};
use super::output::{Output, byte_progress, count_progress, open_input};
use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use orbweaver::stores::rocksdb::{RocksHandle, RocksStore};
use orbweaver_engine::store::{Batch, Direction, KeyRange, Keyspace, PageLimit, Scope, Store as _};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::BufRead as _;
use std::path::PathBuf;
use std::process::ExitCode;

const PAGE: PageLimit = PageLimit { max_items: 1000, max_bytes: 1 << 20 };
/// Bytes of records that are written in one batch, unless a single one is larger.
const BATCH_BYTES: usize = 1 << 20;

/// Raw records as lines of JSON, `{"keyspace":NAME,"k":HEX,"v":HEX}`, in the order of keyspaces and keys.
#[derive(Debug, Subcommand)]
pub enum RecordsVerb {
    /// Write every record.
    #[command(after_help = "Examples:
  orbweaver records export --dir data --output records.jsonl
  orbweaver records export --dir /var/ardb/data --read-only")]
    Export(ExportArgs),
    /// Read records into an empty database.
    #[command(after_help = "Examples:
  orbweaver records import --dir copy records.jsonl
  orbweaver records import --dir copy --layout blackwidow records.jsonl")]
    Import(ImportArgs),
}

/// Writes every record as it is, without decoding it.
#[derive(Args, Debug)]
pub struct ExportArgs {
    #[command(flatten)]
    dir: DirArgs,
    #[command(flatten)]
    access: ReadOnlyArgs,
    /// File to write; one that exists is replaced [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Reads records as `records export` writes them, without looking into them: verify them with `orbweaver check`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    #[command(flatten)]
    dir: DirArgs,
    /// Import into a database that holds records already; those of the same key are replaced
    #[arg(long)]
    force: bool,
    /// File to read [default: standard input]
    file: Option<PathBuf>,
}

/// One line.
#[derive(Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Record {
    keyspace: String,
    #[serde(with = "hex::serde")]
    k: Vec<u8>,
    #[serde(with = "hex::serde")]
    v: Vec<u8>,
}

pub fn records(verb: &RecordsVerb) -> anyhow::Result<ExitCode> {
    match verb {
        RecordsVerb::Export(args) => export(args)?,
        RecordsVerb::Import(args) => import(args)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn export(args: &ExportArgs) -> anyhow::Result<()> {
    let store = args.dir.open_existing(args.access)?.store.into_rocksdb("records export")?;
    let mut output = Output::create(args.output.as_deref())?;
    let progress = count_progress("records");
    for name in store.keyspaces()? {
        let mut handle = store.handle();
        let keyspace = handle.open_keyspace(&name, store.order(&name))?;
        handle.begin(&Scope::Read)?;
        let mut range = KeyRange::all();
        loop {
            let page = handle.scan(keyspace, &range, Direction::Forward, PAGE)?;
            for (key, value) in page.records() {
                let record = Record { keyspace: name.clone(), k: key.to_vec(), v: value.to_vec() };
                let mut line = serde_json::to_vec(&record)?;
                line.push(b'\n');
                output.write_all(&line)?;
                progress.inc(1);
                range = KeyRange { start: record.k, after_start: true, end: None };
            }
            if !page.more {
                break;
            }
        }
    }
    output.finish()?;
    progress.finish_and_clear();
    Ok(())
}

fn import(args: &ImportArgs) -> anyhow::Result<()> {
    let (mut input, size) = open_input(args.file.as_deref())?;
    let store = args.dir.open_or_create(ReadOnlyArgs { read_only: false })?.store.into_rocksdb("records import")?;
    if !args.force {
        for name in store.keyspaces()? {
            if !is_empty(&store, &name)? {
                let shown = args.dir.path().display();
                bail!("{shown} holds records already: name an empty directory, or add --force to replace those of the same key");
            }
        }
    }
    let mut importer = Importer { handle: store.handle(), store, keyspaces: BTreeMap::new(), batch: Batch::new(), written: 0 };
    let progress = byte_progress(size);
    let mut line = Vec::new();
    let mut number: u64 = 0;
    while input.read_until(b'\n', &mut line).context("cannot read the lines")? > 0 {
        number += 1;
        let added = importer.add(&line);
        added.with_context(|| format!("line {number} ({} records before it are written)", importer.written))?;
        progress.inc(u64::try_from(line.len()).unwrap_or(u64::MAX));
        line.clear();
    }
    importer.write()?;
    progress.finish_and_clear();
    eprintln!("{} records imported", importer.written);
    Ok(())
}

fn is_empty(store: &RocksStore, name: &str) -> anyhow::Result<bool> {
    let mut handle = store.handle();
    let keyspace = handle.open_keyspace(name, store.order(name))?;
    handle.begin(&Scope::Read)?;
    let page = handle.scan(keyspace, &KeyRange::all(), Direction::Forward, PageLimit { max_items: 1, max_bytes: 1 })?;
    handle.rollback();
    Ok(page.is_empty())
}

/// Collects records and writes them in batches.
struct Importer {
    store: RocksStore,
    handle: RocksHandle,
    keyspaces: BTreeMap<String, Keyspace>,
    batch: Batch,
    written: u64,
}

impl Importer {
    fn add(&mut self, line: &[u8]) -> anyhow::Result<()> {
        let record: Record = serde_json::from_slice(line)?;
        let keyspace = match self.keyspaces.get(&record.keyspace) {
            Some(&keyspace) => keyspace,
            None => {
                let keyspace = self.handle.open_keyspace(&record.keyspace, self.store.order(&record.keyspace))?;
                self.keyspaces.insert(record.keyspace, keyspace);
                keyspace
            }
        };
        self.batch.put(keyspace, &record.k, &record.v)?;
        if self.batch.as_bytes().len() >= BATCH_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> anyhow::Result<()> {
        let batch = std::mem::take(&mut self.batch);
        self.handle.begin(&Scope::Exclusive)?;
        self.handle.commit(&batch, &[])?;
        self.written += batch.len();
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_the_documented_line() {
        let record = Record { keyspace: "meta".into(), k: vec![0, 0xff], v: Vec::new() };
        let line = r#"{"keyspace":"meta","k":"00ff","v":""}"#;
        assert_eq!(serde_json::to_string(&record).unwrap(), line);
        assert_eq!(serde_json::from_str::<Record>(line).unwrap(), record);
    }

    #[test]
    fn lines_that_are_no_records_are_refused() {
        for line in [
            "",
            "{}",
            r#"{"keyspace":"a","k":"0","v":""}"#,
            r#"{"keyspace":"a","k":"zz","v":""}"#,
            r#"{"keyspace":"a","k":"","v":"","x":1}"#,
        ] {
            assert!(serde_json::from_str::<Record>(line).is_err(), "{line}");
        }
    }
}
