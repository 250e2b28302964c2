//! A store with damaged records: every command answers or names the record, maintenance ends, nothing panics. Input: records, as
//! `write_records` has them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use orbweaver_engine::store::MemoryStore;
use orbweaver_fuzz::{open, survive, write_records};

fuzz_target!(|data: &[u8]| {
    let mut store = MemoryStore::new();
    drop(open(&store));
    // Without its format the store is not opened again.
    write_records(&mut store, data, |key, _| key.is_empty() || key == b"format");
    survive(&mut open(&store));
});
