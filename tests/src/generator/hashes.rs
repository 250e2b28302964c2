//! Commands on hashes.

use super::words::Words;
use super::{Rules, args};
use crate::client::Args;
use crate::sequence::{Block, Step};

pub const RULES: Rules = &[
    (7, |w| {
        let command = args!["HDEL", w.hash_key()];
        w.repeated(command, 4, |w| args![w.field()])
    }),
    (4, |w| args!["HEXISTS", w.hash_key(), w.field()]),
    (6, |w| args!["HGET", w.hash_key(), w.field()]),
    (6, |w| args!["HGETALL", w.hash_key()]),
    (7, |w| args!["HINCRBY", w.hash_key(), number_field(w), w.integer()]),
    (7, |w| args!["HINCRBYFLOAT", w.hash_key(), number_field(w), w.float()]),
    (3, |w| args!["HKEYS", w.hash_key()]),
    (5, |w| args!["HLEN", w.hash_key()]),
    (4, |w| {
        let command = args!["HMGET", w.hash_key()];
        w.repeated(command, 4, |w| args![w.field()])
    }),
    (4, |w| {
        let command = args!["HMSET", w.hash_key()];
        w.repeated(command, 3, field_and_value)
    }),
    (3, |w| {
        let command = args!["HSCAN", w.hash_key(), w.one(&["0", "0", "0", "17", "abc", "-1", "18446744073709551616"])];
        w.optional(command, 2, scan_option)
    }),
    (18, |w| {
        let command = args!["HSET", w.hash_key()];
        w.repeated(command, 4, field_and_value)
    }),
    (5, |w| args!["HSETNX", w.hash_key(), w.field(), w.value()]),
    (4, |w| args!["HSTRLEN", w.hash_key(), w.field()]),
    (3, |w| args!["HVALS", w.hash_key()]),
];

fn field_and_value(w: &mut Words) -> Args {
    args![w.field(), w.value()]
}

/// A field that mostly holds a number.
fn number_field(w: &mut Words) -> Vec<u8> {
    if w.percent(30) { w.field() } else { w.one(&["n", "n2", "n3"]).into() }
}

fn scan_option(w: &mut Words) -> Args {
    match w.below(5) {
        0 | 1 => args!["MATCH", w.pattern()],
        2 => args!["COUNT", w.integer()],
        3 => args!["NOVALUES"],
        _ => args!["COUNT", "1000"],
    }
}

/// HRANDFIELD, after the HGETALL that its reply must come from.
pub fn random_field(w: &mut Words) -> Block {
    let key = w.hash_key();
    let mut command = args!["HRANDFIELD", key.clone()];
    match w.below(20) {
        0 => command.truncate(1),
        1 => command.extend(args![w.integer(), "WITHVALUES", w.junk()]),
        2..=6 => {}
        7..=12 => command.push(w.integer()),
        _ => command.extend(args![w.integer(), w.one(&["WITHVALUES", "withvalues", "VALUES"])]),
    }
    if !super::guard::is_fit(&command) {
        command.truncate(2);
    }
    vec![Step::new(args!["HGETALL", key]), Step::new(command)]
}

/// An HSCAN that is followed to its end.
pub fn whole_scan(w: &mut Words) -> Block {
    let mut command = args!["HSCAN", w.hash_key(), "0"];
    if w.percent(70) {
        command.extend(args!["COUNT", w.one(&["1", "2", "3", "10"])]);
    }
    if w.percent(30) {
        command.extend(args!["MATCH", w.pattern()]);
    }
    vec![Step { to_the_end: true, ..Step::new(command) }]
}
