//! Loading the JSON lines of a dump. Input: the lines.
#![no_main]

use libfuzzer_sys::fuzz_target;
use orbweaver_fuzz::{assert_sound, dump, fresh};

fuzz_target!(|data: &[u8]| {
    let mut engine = fresh();
    // Lines before the one that is refused have been loaded.
    let _ = engine.load(data);
    assert_sound(&mut engine);
    let lines = dump(&mut engine, 1 << 20).unwrap();
    let mut copy = fresh();
    copy.load(&lines).unwrap();
    assert_eq!(dump(&mut copy, 1 << 20).unwrap(), lines);
});
