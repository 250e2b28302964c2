//! Cursors that come back from outside: of checks, of dumps, and of SCAN and its kin. Input: a byte that chooses, then the cursor.
#![no_main]

use libfuzzer_sys::fuzz_target;
use orbweaver_fuzz::{deliver, fresh, run};

/// Some of everything.
const DATA: &str = "SET string value\r\nRPUSH list a b c\r\nSADD set a b c\r\nZADD zset -1 a 0 b 1e300 c\r\nHSET hash f v\r\nEXPIRE hash 100\r\n\
    SELECT 3\r\nHSET other f v\r\nDEL other\r\nSET key value PX 100000\r\n";

fuzz_target!(|data: &[u8]| {
    let Some((choice, cursor)) = data.split_first() else { return };
    let mut engine = fresh();
    deliver(&mut engine, DATA.as_bytes(), DATA.len());
    match choice % 6 {
        0 => {
            let mut cursor = cursor.to_vec();
            let _ = engine.check(&mut cursor, 5);
            let _ = engine.check(&mut cursor, 1000);
        }
        1 => {
            let mut cursor = cursor.to_vec();
            let _ = engine.dump(&mut cursor, 10);
            let _ = engine.dump(&mut cursor, 1 << 20);
        }
        2 => answered(&run(&mut engine, &[b"SCAN", cursor])),
        3 => answered(&run(&mut engine, &[b"HSCAN", b"hash", cursor, b"COUNT", b"1"])),
        4 => answered(&run(&mut engine, &[b"SSCAN", b"set", cursor, b"COUNT", b"1"])),
        _ => answered(&run(&mut engine, &[b"ZSCAN", b"zset", cursor, b"COUNT", b"1"])),
    }
});

fn answered(reply: &[u8]) {
    assert!(reply.starts_with(b"*2\r\n$") || reply == b"-ERR invalid cursor\r\n", "{}", reply.escape_ascii());
}
