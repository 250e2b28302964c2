//! Commands on sets.

use super::words::Words;
use super::{Rules, args};
use crate::client::Args;
use crate::sequence::{Block, Step};

pub const RULES: Rules = &[
    (20, |w| {
        let command = args!["SADD", w.set_key()];
        w.repeated(command, 6, |w| args![w.member()])
    }),
    (4, |w| args!["SCARD", w.set_key()]),
    (5, |w| w.repeated(args!["SDIFF"], 3, |w| args![w.set_key()])),
    (4, |w| {
        let command = args!["SDIFFSTORE", w.set_key()];
        w.repeated(command, 3, |w| args![w.set_key()])
    }),
    (5, |w| w.repeated(args!["SINTER"], 3, |w| args![w.set_key()])),
    (6, intersection_count),
    (4, |w| {
        let command = args!["SINTERSTORE", w.set_key()];
        w.repeated(command, 3, |w| args![w.set_key()])
    }),
    (4, |w| args!["SISMEMBER", w.set_key(), w.member()]),
    (6, |w| args!["SMEMBERS", w.set_key()]),
    (4, |w| {
        let command = args!["SMISMEMBER", w.set_key()];
        w.repeated(command, 4, |w| args![w.member()])
    }),
    (6, |w| args!["SMOVE", w.set_key(), w.set_key(), w.member()]),
    // Errors and empty replies; what draws a member follows an SMEMBERS.
    (2, |w| args!["SPOP", w.set_key(), w.one(&["0", "-1", "abc", "", "9223372036854775808"])]),
    (7, |w| {
        let command = args!["SREM", w.set_key()];
        w.repeated(command, 4, |w| args![w.member()])
    }),
    (3, |w| {
        let command = args!["SSCAN", w.set_key(), w.one(&["0", "0", "0", "17", "abc", "-1", "18446744073709551616"])];
        w.optional(command, 2, scan_option)
    }),
    (5, |w| w.repeated(args!["SUNION"], 3, |w| args![w.set_key()])),
    (4, |w| {
        let command = args!["SUNIONSTORE", w.set_key()];
        w.repeated(command, 3, |w| args![w.set_key()])
    }),
];

fn intersection_count(w: &mut Words) -> Args {
    let count = 1 + w.below(3);
    let mut command = args!["SINTERCARD", if w.percent(90) { count.to_string().into() } else { w.integer() }];
    for _ in 0..count {
        command.push(w.set_key());
    }
    w.optional(command, 1, |w| args![w.one(&["LIMIT", "limit"]), w.integer()])
}

fn scan_option(w: &mut Words) -> Args {
    if w.percent(40) { args!["MATCH", w.pattern()] } else { args!["COUNT", w.one(&["1000", "1000", "0", "-1", "abc"])] }
}

/// SRANDMEMBER, after the SMEMBERS that its reply must come from.
pub fn random_member(w: &mut Words) -> Block {
    let key = w.set_key();
    let mut command = args!["SRANDMEMBER", key.clone()];
    match w.below(20) {
        0 => command.extend(args![w.integer(), w.junk()]),
        1..=6 => {}
        _ => command.push(w.integer()),
    }
    if !super::guard::is_fit(&command) {
        command.truncate(2);
    }
    vec![Step::new(args!["SMEMBERS", key]), Step::new(command)]
}

/// SPOP, after the SMEMBERS that its reply must come from. What two servers keep is a matter of chance: only its size is looked at.
pub fn pop(w: &mut Words) -> Block {
    let key = w.set_key();
    let mut command = args!["SPOP", key.clone()];
    if w.percent(60) {
        command.push(w.integer());
    }
    let commands = [args!["SMEMBERS", key.clone()], command, args!["SCARD", key.clone()], args!["EXISTS", key.clone()], args!["DEL", key]];
    commands.into_iter().map(Step::new).collect()
}

/// An SSCAN that is followed to its end.
pub fn whole_scan(w: &mut Words) -> Block {
    let mut command = args!["SSCAN", w.set_key(), "0"];
    if w.percent(70) {
        command.extend(args!["COUNT", w.one(&["1", "2", "3", "10"])]);
    }
    if w.percent(30) {
        command.extend(args!["MATCH", w.pattern()]);
    }
    vec![Step { to_the_end: true, ..Step::new(command) }]
}
