//! As `damage`, in the foreign layouts; each record is taken apart as well. Input: a byte that chooses the layout, then records.
#![no_main]

use libfuzzer_sys::fuzz_target;
use orbweaver_engine::layout;
use orbweaver_engine::store::MemoryStore;
use orbweaver_fuzz::{open_layout, survive, write_records};

/// Whether a value may have one of Ardb's SETRANGE and SETBIT in it that waits to be applied: a few bytes make half a gigabyte, and every
/// command carries it. The target `ardb` applies them.
fn writes_far(value: &[u8]) -> bool {
    value.array_windows().any(|window| matches!(window, [0x1e, 121 | 118, 0] | [0x1e, 0xf1, 3] | [0x1e, 4, 4]))
}

fuzz_target!(|data: &[u8]| {
    let Some((chosen, records)) = data.split_first() else { return };
    let foreign = &layout::NAMES[1..];
    let name = foreign[usize::from(*chosen) % foreign.len()];
    let mut store = MemoryStore::new();
    // Opened before there are records that could tell it that they are another layout's.
    let mut engine = open_layout(&store, name);
    write_records(&mut store, records, |_, value| writes_far(value));
    for (keyspace, records) in store.contents() {
        for (key, value) in records {
            let anatomy = engine.describe(&keyspace, &key, &value);
            let covered = |runs: &[layout::anatomy::Run]| runs.iter().map(|run| run.range.len()).sum::<usize>();
            assert_eq!((covered(&anatomy.key_runs), covered(&anatomy.value_runs)), (key.len(), value.len()));
        }
    }
    survive(&mut engine);
});
