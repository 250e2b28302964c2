//! Whole sequences of commands, delivered together and in small parts: both answer alike and leave the same, sound database. Input:
//! what a client sends.
#![no_main]

use libfuzzer_sys::fuzz_target;
use orbweaver_fuzz::{assert_sound, deliver, dump, fresh};

/// So few bytes hold at most one command that does something.
const PART: usize = 8;

fuzz_target!(|data: &[u8]| {
    let (mut together, mut apart) = (fresh(), fresh());
    let replies = deliver(&mut together, data, data.len());
    let others = deliver(&mut apart, data, PART);
    assert_sound(&mut together);
    assert_sound(&mut apart);
    let text = |engine| dump(engine, 1 << 20).map(|lines| lines.escape_ascii().to_string());
    assert_eq!(text(&mut together), text(&mut apart));
    assert_eq!(replies.escape_ascii().to_string(), others.escape_ascii().to_string());
});
