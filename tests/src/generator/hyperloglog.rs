//! Commands on HyperLogLogs.

use super::words::Words;
use super::{Rules, args};
use crate::sequence::{Block, Step};

/// Damaged ones are left out: Redis keeps half of a PFADD that meets the damage, Orbweaver nothing of it. The engine's own tests have
/// them.
pub const RULES: Rules = &[
    (10, |w| {
        let command = args!["PFADD", w.sketch_key()];
        w.optional(command, 5, |w| args![w.value()])
    }),
    // Enough elements for the change to the dense representation, now and then.
    (6, |w| {
        let (command, first) = (args!["PFADD", w.sketch_key()], w.below(5_000));
        let elements = w.one(&[1, 10, 100, 2_000]);
        command.into_iter().chain((first..first + elements).map(|number| number.to_string().into())).collect()
    }),
    (6, |w| {
        let command = args!["PFMERGE", w.sketch_key()];
        w.optional(command, 3, |w| args![w.sketch_key()])
    }),
    (5, |w| args!["GET", w.sketch_key()]),
];

/// A PFCOUNT of one key, with what it keeps there, or of several.
pub fn count(w: &mut Words) -> Block {
    if w.percent(40) {
        let command = args!["PFCOUNT", w.sketch_key(), w.sketch_key()];
        return vec![Step::new(w.optional(command, 3, |w| args![w.sketch_key()]))];
    }
    let key = w.sketch_key();
    [args!["PFCOUNT", key.clone()], args!["GET", key]].into_iter().map(Step::new).collect()
}

/// What is no HyperLogLog, or a damaged one, and a command on it. It is removed again: a PFADD of several elements that fails
/// leaves some of them behind in Redis.
pub fn damaged(w: &mut Words) -> Block {
    let key = w.sketch_key();
    let command = match w.below(4) {
        0 => args!["PFADD", key.clone(), w.value()],
        1 => args!["PFCOUNT", w.sketch_key(), key.clone()],
        2 => args!["PFMERGE", w.sketch_key(), key.clone()],
        _ => args!["PFMERGE", key.clone(), w.sketch_key()],
    };
    let commands = [args!["SET", key.clone(), w.one(DAMAGED)], command, args!["GET", key.clone()], args!["DEL", key]];
    commands.into_iter().map(Step::new).collect()
}

/// Headers that are too short or of no known kind, one that keeps an estimate of 0, and registers that are too few and too many.
const DAMAGED: &[&[u8]] = &[
    b"HYLL",
    b"HYLL\x02\0\0\0\0\0\0\0\0\0\0\x80\x7f\xff",
    b"hyll\x01\0\0\0\0\0\0\0\0\0\0\x80\x7f\xff",
    b"HYLL\x00\0\0\0\0\0\0\0\0\0\0\x80",
    b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\0",
    b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80\x7f\xfe",
    b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80\x7f\xff\x00",
    b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\x80\x80\x7f\xff",
    b"HYLL\x01ab\xff\x01\0\0\0\0\0\0\x80\x80\x84\x7f\xfd",
];
