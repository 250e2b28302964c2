//! As `damage`, in the foreign layouts; each record is taken apart as well. Input: a byte that chooses the layout, then records.
#![no_main]

use libfuzzer_sys::fuzz_target;
use orbweaver_engine::layout;
use orbweaver_engine::store::MemoryStore;
use orbweaver_fuzz::{open_layout, survive, write_records};

fuzz_target!(|data: &[u8]| {
    let Some((chosen, records)) = data.split_first() else { return };
    let foreign = &layout::NAMES[1..];
    let name = foreign[usize::from(*chosen) % foreign.len()];
    let mut store = MemoryStore::new();
    // Before the records: not every layout opens a store whose first record is none of its own.
    let mut engine = open_layout(&store, name);
    write_records(&mut store, records, |_| false);
    for (keyspace, records) in store.contents() {
        for (key, value) in records {
            let anatomy = engine.describe(&keyspace, &key, &value);
            let covered = |runs: &[layout::anatomy::Run]| runs.iter().map(|run| run.range.len()).sum::<usize>();
            assert_eq!((covered(&anatomy.key_runs), covered(&anatomy.value_runs)), (key.len(), value.len()));
        }
    }
    survive(&mut engine);
});
