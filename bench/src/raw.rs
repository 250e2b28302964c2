//! The RocksDB calls that an operation cannot do without, made directly.

use crate::workload::{BIG_HASHES, FIELDS, KEYS, Operation, big_hash, field, value};
use anyhow::{Result, ensure};
use rocksdb::{DB, IteratorMode, Options, ReadOptions, WriteBatch};
use std::path::Path;

/// A database without Orbweaver.
pub struct Raw {
    db: DB,
}

impl Raw {
    /// An empty database, and in it what [`Operation::HGetAll`] reads.
    pub fn open(path: &Path) -> Result<Self> {
        let mut options = Options::default();
        options.create_if_missing(true);
        let db = DB::open(&options, path)?;
        for n in 0..BIG_HASHES {
            let mut batch = WriteBatch::default();
            (0..FIELDS).for_each(|number| batch.put([big_hash(n), field(number)].concat(), value()));
            db.write(batch)?;
        }
        Ok(Self { db })
    }

    /// The runs `from..from + count` of an operation: one write batch for all of them, where they write.
    pub fn run(&self, operation: Operation, from: usize, count: usize) -> Result<()> {
        let mut batch = WriteBatch::default();
        for n in from..from + count {
            let key = operation.arguments(n).swap_remove(1);
            match operation {
                Operation::Set | Operation::HSet => batch.put(key, value()),
                Operation::Get | Operation::HGet => {
                    let found = self.db.get_pinned(key)?;
                    ensure!(found.is_some() || n >= KEYS, "a key is missing");
                }
                Operation::Incr => {
                    let old = self.db.get_pinned(&key)?;
                    let number: i64 = old.and_then(|old| std::str::from_utf8(&old).ok()?.parse().ok()).unwrap_or(0);
                    batch.put(key, (number + 1).to_string());
                }
                Operation::HGetAll => {
                    let mut options = ReadOptions::default();
                    options.set_iterate_upper_bound([key.as_slice(), b"g"].concat());
                    let records = self.db.iterator_opt(IteratorMode::From(&key, rocksdb::Direction::Forward), options);
                    ensure!(records.count() == FIELDS, "fields are missing");
                }
            }
        }
        if !batch.is_empty() {
            self.db.write(batch)?;
        }
        Ok(())
    }
}
