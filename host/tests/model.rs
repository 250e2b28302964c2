//! The engine against plain maps, on RocksDB that is closed and opened again on the way. The same in memory is in `tests/`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use orbweaver::stores::rocksdb::{Durability, Layout, RocksOptions, RocksStore};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::conformance::Subject;
use orbweaver_engine::store::{Store, StoreError};
use orbweaver_tests::model::{Plan, prove, prove_on};
use tempfile::TempDir;

struct OnDisk {
    layout: Layout,
    directory: TempDir,
    /// None only while it is reopened.
    store: Option<RocksStore>,
}

impl OnDisk {
    /// With buffers so small that records reach the disk, and are reclaimed there, all the time.
    fn open(directory: &TempDir, layout: Layout) -> Result<RocksStore, StoreError> {
        let options = RocksOptions {
            layout,
            durability: Durability::Os,
            write_buffer_bytes: 64 << 10,
            block_cache_bytes: 64 << 10,
            reclaim_bytes: 1,
            ..RocksOptions::default()
        };
        RocksStore::open(directory.path(), options)
    }

    fn fresh(layout: Layout) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Some(Self::open(&directory, layout).unwrap());
        Self { layout, directory, store }
    }
}

impl Subject for OnDisk {
    fn handle(&self) -> Result<Box<dyn Store + Send>, StoreError> {
        Ok(Box::new(self.store.as_ref().unwrap().handle()))
    }

    fn reopen(&mut self) -> Result<bool, StoreError> {
        self.store = None;
        self.store = Some(Self::open(&self.directory, self.layout)?);
        Ok(true)
    }
}

#[test]
fn pipelines_do_what_plain_maps_do() {
    for seed in 11..=13 {
        prove(&mut OnDisk::fresh(Layout::Orbweaver), Plan { seed, commands: 20_000, together: 150, reopen_after: 2000 });
    }
}

#[test]
fn commands_with_a_transaction_each_do_what_plain_maps_do() {
    for seed in 11..=13 {
        prove(&mut OnDisk::fresh(Layout::Orbweaver), Plan { seed, commands: 20_000, together: 1, reopen_after: 2000 });
    }
}

#[test]
fn foreign_layouts_do_what_plain_maps_do() {
    for layout in Layout::ALL.into_iter().filter(|layout| *layout != Layout::Orbweaver) {
        let settings = Settings { layout: layout.name().to_owned(), ..Settings::default() };
        let plan = Plan { seed: 14, commands: 5_000, together: 150, reopen_after: 1000 };
        for together in [plan.together, 1] {
            let refused = prove_on(&settings, &mut OnDisk::fresh(layout), Plan { together, ..plan });
            assert!(refused * 3 < plan.commands, "{}: {refused} commands refused", layout.name());
        }
    }
}
