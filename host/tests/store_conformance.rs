//! The RocksDB store against the store contract.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

use orbweaver::stores::rocksdb::{Durability, RocksOptions, RocksStore};
use orbweaver_engine::store::conformance::{self, Subject};
use orbweaver_engine::store::{Store, StoreError};
use tempfile::TempDir;

struct OnDisk {
    directory: TempDir,
    options: RocksOptions,
    /// None only while it is reopened.
    store: Option<RocksStore>,
}

impl OnDisk {
    fn fresh(options: &RocksOptions) -> Result<Box<dyn Subject>, StoreError> {
        let directory = tempfile::tempdir().unwrap();
        let store = Some(RocksStore::open(directory.path(), options.clone())?);
        Ok(Box::new(Self { directory, options: options.clone(), store }))
    }
}

impl Subject for OnDisk {
    fn handle(&self) -> Result<Box<dyn Store + Send>, StoreError> {
        Ok(Box::new(self.store.as_ref().unwrap().handle()))
    }

    fn reopen(&mut self) -> Result<bool, StoreError> {
        self.store = None;
        self.store = Some(RocksStore::open(self.directory.path(), self.options.clone())?);
        Ok(true)
    }
}

#[test]
fn the_rocksdb_store_passes() {
    let options = RocksOptions { durability: Durability::Os, ..RocksOptions::default() };
    assert_eq!(conformance::run(&|| OnDisk::fresh(&options)), []);
}

#[test]
fn it_passes_with_small_buffers_and_synced_commits() {
    let options = RocksOptions {
        durability: Durability::Always,
        write_buffer_bytes: 64 << 10,
        block_cache_bytes: 64 << 10,
        record_cache_bytes: 64 << 10,
        reclaim_bytes: 1,
        ..RocksOptions::default()
    };
    assert_eq!(conformance::run(&|| OnDisk::fresh(&options)), []);
}

#[test]
fn it_passes_without_a_cache_of_records() {
    let options = RocksOptions { durability: Durability::Os, record_cache_bytes: 0, ..RocksOptions::default() };
    assert_eq!(conformance::run(&|| OnDisk::fresh(&options)), []);
}
