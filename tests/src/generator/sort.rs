//! SORT and SORT_RO.

use super::words::{SORTED_LIST_KEYS, Words};
use super::{Rules, args};
use crate::client::Args;
use crate::sequence::{Block, Step};

const NUMBERS: &[&str] = &["1", "2", "3", "10", "-1", "0", "-0", "1.5", "1e3", "01", "0x10", "inf", "-inf", "+1", " 1", ""];
const NO_NUMBERS: &[&[u8]] = &[b"x", b"nan", b"1 ", b"\xff", b"-", b"ab"];
const WITH_NUL: &[&[u8]] = &[b"a\x00b", b"a\x00c", b"1\x00x", b"\x00"];
const PATTERNS: &[&str] =
    &["w_*", "w_*", "v_*", "o_*->f", "o_*->g", "o_*->", "h*", "*", "#", "#x", "nothing", "o_*->f->", "->*", "**", "w_*_x"];

pub const RULES: Rules = &[
    (6, |w| {
        let command = args!["RPUSH", w.sorted_list_key()];
        w.repeated(command, 6, |w| args![if w.percent(5) { w.one(WITH_NUL).to_vec() } else { element(w) }])
    }),
    (4, |w| {
        let command = args!["SADD", "n3"];
        w.repeated(command, 6, |w| args![element(w)])
    }),
    (4, |w| {
        let command = args!["ZADD", "n4"];
        w.repeated(command, 6, |w| args![w.one(&["0", "1", "2", "-1"]), element(w)])
    }),
    (2, |w| args!["DEL", w.sort_key()]),
    // Weights that are all different: what is equal comes in any order.
    (8, |w| {
        let number = w.below(NUMBERS.len());
        args!["SET", format!("{}_{}", w.one(&["w", "v"]), NUMBERS[number]), weight(w, number)]
    }),
    (5, |w| {
        let number = w.below(NUMBERS.len());
        args!["HSET", format!("o_{}", NUMBERS[number]), w.one(&["f", "g"]), weight(w, number)]
    }),
    (1, |w| args!["DEL", format!("w_{}", w.one(NUMBERS))]),
    (3, |w| args!["LRANGE", w.sort_key(), "0", "-1"]),
];

fn element(w: &mut Words) -> Vec<u8> {
    if w.percent(8) { w.one(NO_NUMBERS).to_vec() } else { w.one(NUMBERS).into() }
}

fn weight(w: &mut Words, number: usize) -> Vec<u8> {
    if w.percent(5) { b"x".to_vec() } else { (number * 7 % 5 * 100 + number).to_string().into() }
}

/// SORT, with what it stores. Before it is a command that reads a number: Redis' SORT takes an `errno` that another one has left for
/// its own.
pub fn sort(w: &mut Words) -> Block {
    let command = command(w);
    let stored = command.iter().position(|word| word.eq_ignore_ascii_case(b"STORE"));
    let destination = stored.and_then(|at| command.get(at + 1)).cloned();
    let reads_a_number = args!["ZADD", "missing", "XX", "0", "m"];
    let shows = destination.map(|destination| args!["LRANGE", destination, "0", "-1"]);
    [Some(reads_a_number), Some(command), shows].into_iter().flatten().map(Step::new).collect()
}

/// SORT or SORT_RO, perhaps malformed.
pub fn command(w: &mut Words) -> Args {
    loop {
        let key = if w.percent(15) { w.other_sort_key() } else { w.sort_key() };
        let command = args![if w.percent(70) { "SORT" } else { "SORT_RO" }, key];
        let mut command = w.optional(command, 4, option);
        if w.percent(12) {
            super::malformed::spoil(w, &mut command);
        }
        if w.percent(25) {
            command.extend(args![w.one(&["STORE", "store"]), w.sorted_list_key()]);
        }
        if is_settled(&command) {
            return command;
        }
    }
}

/// Whether Redis leaves nothing of the order open: that of equal weights under BY and ALPHA is chance where the key is no list, or
/// where a LIMIT is given; that of a set that is not sorted always is.
fn is_settled(command: &Args) -> bool {
    let has = |word: &[u8]| command.iter().any(|own| own.eq_ignore_ascii_case(word));
    let is_list = command.get(1).is_some_and(|key| SORTED_LIST_KEYS.contains(&key.as_slice()));
    let is_sorted = command.windows(2).all(|two| !two[0].eq_ignore_ascii_case(b"BY") || two[1].contains(&b'*'));
    !has(b"BY") || if is_list { !has(b"ALPHA") || !has(b"LIMIT") } else { !has(b"ALPHA") && (is_sorted || has(b"STORE")) }
}

fn option(w: &mut Words) -> Args {
    match w.below(12) {
        0..=2 => args!["BY", w.one(PATTERNS)],
        3..=5 => args!["GET", w.one(PATTERNS)],
        6 | 7 => args!["LIMIT", limit(w), limit(w)],
        8 | 9 => args!["ALPHA"],
        10 => args![w.one(&["ASC", "DESC", "desc", "DESC"])],
        _ => args![w.one(&["STORE", "BY", "LIMIT", "GET", "NOSORT"])],
    }
}

fn limit(w: &mut Words) -> Vec<u8> {
    if w.percent(15) { w.integer() } else { w.one(&["0", "1", "2", "3", "-1", "100"]).into() }
}
