//! The bytes of HyperLogLogs, which any client can SET. Input: the string.
#![no_main]

use libfuzzer_sys::fuzz_target;
use orbweaver_fuzz::{assert_sound, fresh, run};

fuzz_target!(|data: &[u8]| {
    let mut engine = fresh();
    run(&mut engine, &[b"SET", b"given", data]);
    run(&mut engine, &[b"PFADD", b"own", b"a", b"b", b"c"]);
    let count = run(&mut engine, &[b"PFCOUNT", b"given"]);
    let united = run(&mut engine, &[b"PFCOUNT", b"given", b"own"]);
    let merged = run(&mut engine, &[b"PFMERGE", b"target", b"given", b"own"]);
    let added = run(&mut engine, &[b"PFADD", b"given", b"a", b"b", b"c", b"d"]);
    for reply in [&count, &united, &added] {
        assert!(reply.starts_with(b":") || reply.starts_with(b"-"), "{}", reply.escape_ascii());
    }
    if merged == b"+OK\r\n" {
        // What was merged is sound, whatever it was made of.
        let count = run(&mut engine, &[b"PFCOUNT", b"target"]);
        assert!(count.starts_with(b":"), "{}", count.escape_ascii());
        assert_eq!(run(&mut engine, &[b"PFMERGE", b"target", b"own"]), b"+OK\r\n");
        assert_eq!(run(&mut engine, &[b"PFCOUNT", b"target"]), count);
    }
    assert_sound(&mut engine);
});
