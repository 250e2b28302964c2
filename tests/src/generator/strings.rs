//! Commands on strings.

use super::words::Words;
use super::{Rules, args};
use crate::client::Args;

pub const RULES: Rules = &[
    (6, |w| args!["APPEND", w.string_key(), w.value()]),
    (4, |w| args!["DECR", w.string_key()]),
    (4, |w| args!["DECRBY", w.string_key(), w.integer()]),
    (10, |w| args!["GET", w.string_key()]),
    (4, |w| args!["GETDEL", w.string_key()]),
    (6, |w| {
        let command = args!["GETEX", w.string_key()];
        w.optional(command, 2, expiry)
    }),
    (6, |w| args!["GETRANGE", w.string_key(), w.integer(), w.integer()]),
    (3, |w| args!["GETSET", w.string_key(), w.value()]),
    (6, |w| args!["INCR", w.string_key()]),
    (6, |w| args!["INCRBY", w.string_key(), w.integer()]),
    (6, |w| args!["INCRBYFLOAT", w.string_key(), w.float()]),
    (5, |w| {
        let command = args!["LCS", w.string_key(), w.string_key()];
        w.optional(command, 3, lcs_option)
    }),
    (3, |w| w.repeated(args!["MGET"], 4, |w| args![w.key()])),
    (5, |w| w.repeated(args!["MSET"], 3, |w| args![w.string_key(), w.value()])),
    (4, |w| w.repeated(args!["MSETNX"], 2, |w| args![w.string_key(), w.value()])),
    (3, |w| args!["PSETEX", w.string_key(), w.milliseconds(), w.value()]),
    (20, |w| {
        let command = args!["SET", w.string_key(), w.value()];
        w.optional(command, 3, set_option)
    }),
    (3, |w| args!["SETEX", w.string_key(), w.seconds(), w.value()]),
    (4, |w| args!["SETNX", w.string_key(), w.value()]),
    (5, |w| args!["SETRANGE", w.string_key(), w.integer(), w.value()]),
    (4, |w| args!["STRLEN", w.string_key()]),
    (2, |w| args!["SUBSTR", w.string_key(), w.integer(), w.integer()]),
];

fn set_option(w: &mut Words) -> Args {
    match w.below(6) {
        0 => args!["NX"],
        1 => args!["XX"],
        2 => args!["GET"],
        3 => args!["KEEPTTL"],
        _ => expiry(w),
    }
}

fn expiry(w: &mut Words) -> Args {
    match w.below(6) {
        0 => args!["EX", w.seconds()],
        1 => args!["PX", w.milliseconds()],
        2 => args!["EXAT", w.at_s()],
        3 => args!["PXAT", w.at_ms()],
        4 => args!["PERSIST"],
        _ => args!["px", w.milliseconds()],
    }
}

fn lcs_option(w: &mut Words) -> Args {
    match w.below(4) {
        0 => args!["LEN"],
        1 => args!["IDX"],
        2 => args!["MINMATCHLEN", w.integer()],
        _ => args!["WITHMATCHLEN"],
    }
}
