//! As `damage`, in the foreign layouts; each record is taken apart as well. Input: a byte that chooses the layout, then records.
#![no_main]

use libfuzzer_sys::fuzz_target;
use orbweaver_engine::layout;
use orbweaver_engine::layout::ardb::merge::{MERGE, WRITING_AT_AN_OFFSET};
use orbweaver_engine::store::MemoryStore;
use orbweaver_fuzz::{open_layout, survive, write_records};

/// Whether a value may have an operation of Ardb in it that makes half a gigabyte, which every command would carry. The target `ardb`
/// applies them.
fn writes_far(value: &[u8]) -> bool {
    let is_one = |op: &u16| WRITING_AT_AN_OFFSET.as_flattened().contains(op);
    value.array_windows().any(|&[first, low, high]| first == MERGE && is_one(&u16::from_le_bytes([low, high])))
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
