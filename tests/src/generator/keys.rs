//! Commands on keys of any type, and on dbs.

use super::words::Words;
use super::{Rules, args};
use crate::client::Args;
use crate::sequence::{Block, Step};

/// What Redis 7.0 dumps, and payloads that no server takes.
const PAYLOADS: [&[u8]; 8] = [
    // The string "hello".
    b"\x00\x05hello\x0a\x00cr\xdfve4 \x0a",
    // The list of a and 1, a quicklist.
    b"\x12\x01\x02\x0c\x0c\x00\x00\x00\x02\x00\x81a\x02\x01\x01\xff\x0a\x00\x94\x96+#\xac\x17\xaa\x85",
    // The set of 1 and a, a hash table.
    b"\x02\x02\xc0\x01\x01a\x0a\x00\xb0d\xe3\xd3l\xb0~\xb6",
    // The set of 1 and 2, an intset.
    b"\x0b\x0c\x02\x00\x00\x00\x02\x00\x00\x00\x01\x00\x02\x00\x0a\x00oy8\xb14\xeb .",
    // The sorted set of a (1) and b (2.5), a listpack.
    b"\x11\x14\x14\x00\x00\x00\x04\x00\x81a\x02\x01\x01\x81b\x02\x832.5\x04\xff\x0a\x00\xd4Ln\xa4\xf6D\xd9\xd7",
    // The hash of a with the value 1, a listpack.
    b"\x10\x0c\x0c\x00\x00\x00\x02\x00\x81a\x02\x01\x01\xff\x0a\x00\x84\xa6\x93\xe8\xaa\x17\xe4\xdb",
    // A wrong checksum, and less than a footer.
    b"\x00\x05hello\x0a\x00cr\xdfve4 \x0b",
    b"hello",
];

pub const RULES: Rules = &[
    (6, |w| {
        let command = args!["COPY", w.key(), w.key()];
        w.optional(command, 2, |w| if w.percent(50) { args!["REPLACE"] } else { args!["DB", w.db()] })
    }),
    (6, |w| w.repeated(args!["DEL"], 3, |w| args![w.key()])),
    (4, |w| w.repeated(args!["EXISTS"], 4, |w| args![w.key()])),
    (6, |w| {
        let command = args!["EXPIRE", w.key(), w.seconds()];
        w.optional(command, 2, condition)
    }),
    (4, |w| {
        let command = args!["EXPIREAT", w.key(), w.at_s()];
        w.optional(command, 2, condition)
    }),
    (3, |w| args!["EXPIRETIME", w.key()]),
    (3, |w| args!["KEYS", w.pattern()]),
    (4, |w| args!["MOVE", w.key(), w.db()]),
    (5, |w| args!["OBJECT", w.one(&["ENCODING", "encoding", "FREQ", "IDLETIME", "REFCOUNT", "HELP", "NOTHING"]), w.key()]),
    (4, |w| args!["PERSIST", w.key()]),
    (5, |w| {
        let command = args!["PEXPIRE", w.key(), w.milliseconds()];
        w.optional(command, 2, condition)
    }),
    (4, |w| {
        let command = args!["PEXPIREAT", w.key(), w.at_ms()];
        w.optional(command, 2, condition)
    }),
    (3, |w| args!["PEXPIRETIME", w.key()]),
    (5, |w| args!["PTTL", w.key()]),
    (5, |w| args!["RENAME", w.key(), w.key()]),
    (4, |w| args!["RENAMENX", w.key(), w.key()]),
    (4, |w| {
        let command = args!["SCAN", w.one(&["0", "0", "0", "17", "abc", "-1", "18446744073709551616", "00", ""])];
        w.optional(command, 2, scan_option)
    }),
    (2, |w| w.repeated(args!["TOUCH"], 3, |w| args![w.key()])),
    (5, |w| args!["TTL", w.key()]),
    (6, |w| args!["TYPE", w.key()]),
    (2, |w| args!["DUMP", w.key()]),
    (5, |w| {
        let absolute = w.percent(30);
        let time = if absolute { w.at_ms() } else { w.milliseconds() };
        let payload = w.one(&PAYLOADS);
        let mut command = args!["RESTORE", w.key(), time, payload];
        if absolute {
            command.push("ABSTTL".into());
        }
        w.optional(command, 3, restore_option)
    }),
    (3, |w| w.repeated(args!["UNLINK"], 3, |w| args![w.key()])),
    (1, |w| if w.percent(50) { args!["FLUSHDB"] } else { args!["FLUSHDB", w.one(&["ASYNC", "SYNC", "sync", "NOW"])] }),
    (1, |w| if w.percent(30) { args!["FLUSHALL"] } else { args!["FLUSHALL", w.one(&["ASYNC", "SYNC", "NOW", "1"])] }),
    (2, |w| args!["SWAPDB", w.db(), w.db()]),
    (3, |w| args!["SELECT", w.db()]),
    // Errors only; sound ones follow a SCAN and a KEYS.
    (1, |w| args![w.one(&["DBSIZE", "RANDOMKEY"]), w.key()]),
];

fn condition(w: &mut Words) -> Args {
    args![w.one(&["NX", "XX", "GT", "LT", "gt", "lt"])]
}

/// What RESTORE understands. An IDLETIME is only told from nothing by OBJECT IDLETIME, which is always 0 here.
fn restore_option(w: &mut Words) -> Args {
    match w.below(8) {
        0 => args!["IDLETIME", w.one(&["0", "-1", "abc"])],
        1 => args!["FREQ", w.one(&["0", "255", "256", "-1", "abc"])],
        2 => args!["absttl"],
        _ => args!["REPLACE"],
    }
}

/// What SCAN understands; a COUNT that covers every key.
fn scan_option(w: &mut Words) -> Args {
    match w.below(5) {
        0 => args!["MATCH", w.pattern()],
        1 => args!["TYPE", w.one(&["string", "hash", "HASH", "list", "zset"])],
        2 => args!["COUNT", w.integer()],
        _ => args!["COUNT", "1000"],
    }
}

/// DBSIZE counts expired keys until something meets them: a SCAN first meets them all.
pub fn dbsize(_: &mut Words) -> Block {
    vec![Step::new(args!["SCAN", "0", "COUNT", "1000"]), Step::new(args!["DBSIZE"])]
}

/// INFO keyspace, after a SCAN of every db that sequences use, for the same reason.
pub fn info_keyspace(_: &mut Words) -> Block {
    let scan = |db: &&str| [Step::new(args!["SELECT", *db]), Step::new(args!["SCAN", "0", "COUNT", "1000"])];
    super::words::DBS.iter().rev().flat_map(scan).chain([Step::new(args!["INFO", "keyspace"])]).collect()
}

/// RANDOMKEY, after the KEYS that its reply must be one of.
pub fn random_key(_: &mut Words) -> Block {
    vec![Step::new(args!["KEYS", "*"]), Step::new(args!["RANDOMKEY"])]
}

/// MEMORY USAGE, after the EXISTS that removes an expired key: Redis still tells an expired key's size.
pub fn memory_usage(w: &mut Words) -> Block {
    let key = w.key();
    let mut command = args!["MEMORY", "USAGE", key.clone()];
    match w.below(6) {
        0 => command.truncate(2),
        1 => command.extend(args!["SAMPLES", w.integer()]),
        2 => command.push(w.junk()),
        _ => {}
    }
    vec![Step::new(args!["EXISTS", key]), Step::new(command)]
}

/// A SCAN that is followed to its end.
pub fn whole_scan(w: &mut Words) -> Block {
    let mut command = args!["SCAN", "0"];
    if w.percent(70) {
        command.extend(args!["COUNT", w.one(&["1", "2", "3", "10"])]);
    }
    if w.percent(30) {
        command.extend(args!["MATCH", w.pattern()]);
    }
    if w.percent(30) {
        command.extend(args!["TYPE", w.one(&["string", "hash", "list"])]);
    }
    vec![Step { to_the_end: true, ..Step::new(command) }]
}
