//! RocksDB without Orbweaver: the calls that an operation cannot do without, in the memory that Orbweaver's store takes.

use crate::workload::{Fill, Operation, RawCall};
use anyhow::{Result, ensure};
use orbweaver::stores::rocksdb::RocksOptions;
use rocksdb::{BlockBasedOptions, Cache, DB, Direction, IteratorMode, Options, ReadOptions, WriteBatch};
use std::ops::Range;
use std::path::Path;

/// A database.
pub struct Raw {
    db: DB,
}

impl Raw {
    /// An empty database with the memory and the filters of Orbweaver's.
    pub fn open(path: &Path) -> Result<Self> {
        let own = RocksOptions::default();
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(&Cache::new_lru_cache(own.block_cache_bytes));
        table.set_bloom_filter(10.0, false);
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_write_buffer_size(own.write_buffer_bytes);
        options.set_block_based_table_factory(&table);
        Ok(Self { db: DB::open(&options, path)? })
    }

    /// Makes what these runs of an operation read.
    pub fn prepare(&self, operation: &Operation, runs: Range<usize>) -> Result<()> {
        if matches!(operation.fill, Fill::Nothing) {
            return Ok(());
        }
        for run in runs {
            let mut batch = WriteBatch::default();
            for call in operation.calls(run) {
                match call {
                    RawCall::Get(key) => batch.put(key, value()),
                    RawCall::Scan(prefix, records) => {
                        (0..records)
                            .for_each(|record| batch.put([prefix.as_slice(), format!("{record:012}").as_bytes()].concat(), value()));
                    }
                    RawCall::Put(..) | RawCall::Delete(_) => (),
                }
            }
            self.db.write(batch)?;
        }
        Ok(())
    }

    /// What some runs call: one write batch for all of them, where they write.
    pub fn run(&self, calls: &[RawCall]) -> Result<()> {
        let mut batch = WriteBatch::default();
        for call in calls {
            match call {
                RawCall::Get(key) => {
                    std::hint::black_box(self.db.get_pinned(key)?);
                }
                RawCall::Put(key, value) => batch.put(key, value),
                RawCall::Delete(key) => batch.delete(key),
                RawCall::Scan(prefix, records) => ensure!(self.scan(prefix) == *records, "records are missing"),
            }
        }
        if !batch.is_empty() {
            self.db.write(batch)?;
        }
        Ok(())
    }

    fn scan(&self, prefix: &[u8]) -> usize {
        let mut options = ReadOptions::default();
        // The prefix ends with a slash, and nothing else begins with what comes behind it.
        options.set_iterate_upper_bound([prefix, b"\xff"].concat());
        self.db.iterator_opt(IteratorMode::From(prefix, Direction::Forward), options).count()
    }
}

fn value() -> [u8; crate::template::VALUE_BYTES] {
    [b'x'; crate::template::VALUE_BYTES]
}
