//! The engine against plain maps, on the memory store. The same on RocksDB is in `host/tests`.

use orbweaver_engine::settings::{MAX_PACKED_BYTES, Settings};
use orbweaver_engine::store::conformance::Subject;
use orbweaver_engine::store::{MemoryStore, Store, StoreError};
use orbweaver_tests::layouts;
use orbweaver_tests::model::{Plan, prove, prove_on};

/// A store that stays when its handles go: opening the engine again finds what it left.
struct InMemory(MemoryStore);

impl Subject for InMemory {
    fn handle(&self) -> Result<Box<dyn Store + Send>, StoreError> {
        Ok(Box::new(self.0.clone()))
    }
}

#[test]
fn pipelines_do_what_plain_maps_do() {
    for seed in 1..=4 {
        prove(&mut InMemory(MemoryStore::new()), Plan { seed, commands: 10_000, together: 150, reopen_after: 1000 });
    }
}

#[test]
fn commands_with_a_transaction_each_do_what_plain_maps_do() {
    for seed in 1..=4 {
        prove(&mut InMemory(MemoryStore::new()), Plan { seed, commands: 10_000, together: 1, reopen_after: 1000 });
    }
}

#[test]
fn packed_collections_do_what_plain_maps_do() {
    for (max_packed_bytes, together) in [(60, 150), (60, 1), (MAX_PACKED_BYTES, 150)] {
        let settings = Settings { max_packed_bytes: Some(max_packed_bytes), ..Settings::default() };
        let plan = Plan { seed: 1, commands: 10_000, together, reopen_after: 1000 };
        assert_eq!(prove_on(&settings, &mut InMemory(MemoryStore::new()), plan), 0);
    }
}

#[test]
fn every_layout_does_what_plain_maps_do() {
    for settings in layouts::all() {
        for (seed, together) in [(1, 150), (2, 1)] {
            let plan = Plan { seed, commands: 10_000, together, reopen_after: 1000 };
            let refused = prove_on(&settings, &mut InMemory(MemoryStore::new()), plan);
            println!("{}: {} commands, {together} together; {refused} refused", layouts::name(&settings), plan.commands);
            assert!(refused * 3 < plan.commands, "{refused} refused");
        }
    }
}
