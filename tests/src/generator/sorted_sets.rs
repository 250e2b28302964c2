//! Commands on sorted sets. Members are short and few, so that the sets stay in Redis' small encoding: in the large one it is a
//! matter of chance what a range by member is of a set whose scores are not equal.

use super::lists::timeout;
use super::words::Words;
use super::{Rules, args};
use crate::client::Args;
use crate::sequence::{Block, Step};

const MEMBERS: &[&[u8]] = &[b"a", b"b", b"c", b"d", b"ab", b"", b"a\x00", b"\x00", b"\xff", b"1", b"01", b"9223372036854775807", b"1.0"];
const SCORES: &[&str] = &[
    "0",
    "0",
    "0",
    "1",
    "1",
    "2",
    "-1",
    "-0",
    "0.1",
    "1.5",
    "-1.5",
    "3.0000000000000004",
    "1e17",
    "1e20",
    "inf",
    "-inf",
    "+inf",
    "1e-320",
    "17179869184.5",
    "0x10",
    "nan",
    "",
    "abc",
    "1e400",
    " 1",
    "1 ",
];
const SCORE_BOUNDS: &[&str] = &[
    "-inf", "+inf", "inf", "(inf", "(-inf", "0", "(0", "1", "(1", "2", "(2", "-1", "1.5", "(1.5", "-0", "(-0", "1e400", "", "(", " 1",
    "1 ", "nan", "abc", "((1", "(1 ", "1\x002",
];
const MEMBER_BOUNDS: &[&[u8]] = &[
    b"-", b"+", b"-", b"+", b"[a", b"(a", b"[b", b"(b", b"[", b"(", b"[c", b"(ab", b"[\xff", b"(\x00", b"[1", b"", b"a", b"-x", b"+\x00x",
];

pub const RULES: Rules = &[
    (24, |w| {
        let command = args!["ZADD", w.sorted_set_key()];
        let mut command = w.optional(command, 2, |w| args![w.one(&["NX", "XX", "GT", "LT", "CH", "INCR", "ch", "CH"])]);
        let same_scores = w.percent(30);
        command.extend(args![score(w), member(w)]);
        w.optional(command, 4, |w| args![if same_scores { "0".into() } else { score(w) }, member(w)])
    }),
    (12, |w| {
        let command = args!["ZADD", w.sorted_set_key()];
        w.repeated(command, 8, |w| args![w.one(&["0", "0", "0", "1"]), member(w)])
    }),
    (3, |w| args!["ZCARD", w.sorted_set_key()]),
    (5, |w| args!["ZCOUNT", w.sorted_set_key(), score_bound(w), score_bound(w)]),
    (4, |w| args!["ZLEXCOUNT", w.sorted_set_key(), member_bound(w), member_bound(w)]),
    (5, |w| args!["ZINCRBY", w.sorted_set_key(), score(w), member(w)]),
    (4, |w| {
        let command = args!["ZMSCORE", w.sorted_set_key()];
        w.repeated(command, 4, |w| args![member(w)])
    }),
    (4, |w| args!["ZSCORE", w.sorted_set_key(), member(w)]),
    (6, |w| args![w.one(&["ZRANK", "ZREVRANK"]), w.sorted_set_key(), member(w)]),
    (4, |w| {
        let command = args!["ZREM", w.sorted_set_key()];
        w.repeated(command, 3, |w| args![member(w)])
    }),
    (5, |w| {
        let command = args![w.one(&["ZPOPMIN", "ZPOPMAX"]), w.sorted_set_key()];
        if w.percent(50) { command } else { [command, args![count(w)]].concat() }
    }),
    (2, |w| {
        let command = args![w.one(&["BZPOPMIN", "BZPOPMAX"])];
        let mut command = w.repeated(command, 3, |w| args![w.sorted_set_key()]);
        command.push(timeout(w));
        command
    }),
    (1, |w| args!["BZMPOP", timeout(w), "2", w.sorted_set_key(), w.sorted_set_key(), w.one(&["MIN", "MAX", "MID"]), "COUNT", count(w)]),
    (4, |w| {
        let command = sources(w, args!["ZMPOP"], Words::sorted_set_key);
        let command = [command, args![w.one(&["MIN", "MAX", "min", "MIN", "MAX", "MID"])]].concat();
        if w.percent(50) { command } else { [command, args!["COUNT", count(w)]].concat() }
    }),
    (10, |w| {
        let command = args!["ZRANGE", w.sorted_set_key()];
        range(w, command)
    }),
    (6, |w| {
        let command = args!["ZRANGESTORE", w.sorted_set_key(), w.sorted_set_key()];
        range(w, command)
    }),
    (4, |w| {
        let command = args!["ZREVRANGE", w.sorted_set_key(), rank(w), rank(w)];
        w.optional(command, 1, range_option)
    }),
    (6, |w| {
        let command = args![w.one(&["ZRANGEBYSCORE", "ZREVRANGEBYSCORE"]), w.sorted_set_key(), score_bound(w), score_bound(w)];
        w.optional(command, 2, range_option)
    }),
    (6, |w| {
        let command = args![w.one(&["ZRANGEBYLEX", "ZREVRANGEBYLEX"]), w.sorted_set_key(), member_bound(w), member_bound(w)];
        w.optional(command, 2, range_option)
    }),
    (2, |w| args!["ZREMRANGEBYRANK", w.sorted_set_key(), rank(w), rank(w)]),
    (2, |w| args!["ZREMRANGEBYSCORE", w.sorted_set_key(), score_bound(w), score_bound(w)]),
    (2, |w| args!["ZREMRANGEBYLEX", w.sorted_set_key(), member_bound(w), member_bound(w)]),
    (8, |w| {
        let command = args![w.one(&["ZUNION", "ZINTER", "ZDIFF"])];
        let command = sources(w, command, set_or_sorted_set);
        w.optional(command, 3, algebra_option)
    }),
    (8, |w| {
        let command = args![w.one(&["ZUNIONSTORE", "ZINTERSTORE", "ZDIFFSTORE"]), w.sorted_set_key()];
        // Members of other sets may be long.
        let command = sources(w, command, Words::sorted_set_only);
        w.optional(command, 2, algebra_option)
    }),
    (3, |w| {
        let command = sources(w, args!["ZINTERCARD"], set_or_sorted_set);
        w.optional(command, 1, |w| args!["LIMIT", w.one(&["0", "1", "2", "-1", "x", "100"])])
    }),
    (2, |w| {
        let command = args!["ZSCAN", w.sorted_set_key(), w.one(&["0", "0", "0", "17", "abc", "-1", "18446744073709551616"])];
        w.optional(command, 2, scan_option)
    }),
    (2, |w| args!["OBJECT", "ENCODING", w.sorted_set_key()]),
];

fn member(w: &mut Words) -> Vec<u8> {
    w.one(MEMBERS).to_vec()
}

fn score(w: &mut Words) -> Vec<u8> {
    if w.percent(30) { w.one(&["0", "1", "2", "3"]).into() } else { w.one(SCORES).into() }
}

fn score_bound(w: &mut Words) -> Vec<u8> {
    w.one(SCORE_BOUNDS).into()
}

fn member_bound(w: &mut Words) -> Vec<u8> {
    w.one(MEMBER_BOUNDS).to_vec()
}

fn rank(w: &mut Words) -> Vec<u8> {
    if w.percent(10) { w.integer() } else { w.one(&["0", "1", "2", "3", "5", "-1", "-2", "-3", "-100", "100"]).into() }
}

fn count(w: &mut Words) -> Vec<u8> {
    if w.percent(10) { w.integer() } else { w.one(&["0", "1", "2", "3", "100"]).into() }
}

fn set_or_sorted_set(w: &mut Words) -> Vec<u8> {
    if w.percent(20) { w.set_key() } else { w.sorted_set_key() }
}

/// A number of keys and the keys.
fn sources(w: &mut Words, mut command: Args, key: fn(&mut Words) -> Vec<u8>) -> Args {
    let number = 1 + w.below(3);
    let told = if w.percent(90) { number.to_string().into() } else { w.integer() };
    command.push(told);
    command.extend((0..number).map(|_| key(w)));
    command
}

/// The bounds and options of ZRANGE.
fn range(w: &mut Words, mut command: Args) -> Args {
    match w.below(4) {
        0 => command.extend(args![score_bound(w), score_bound(w), "BYSCORE"]),
        1 => command.extend(args![member_bound(w), member_bound(w), "BYLEX"]),
        _ => command.extend(args![rank(w), rank(w)]),
    }
    if w.percent(30) {
        command.push("REV".into());
    }
    w.optional(command, 2, range_option)
}

fn range_option(w: &mut Words) -> Args {
    match w.below(8) {
        0..=3 => args!["WITHSCORES"],
        4..=6 => args!["LIMIT", rank(w), rank(w)],
        _ => args![w.one(&["REV", "BYSCORE", "BYLEX", "LIMIT", "withscores", "WITHSCORE"])],
    }
}

fn algebra_option(w: &mut Words) -> Args {
    match w.below(6) {
        0 | 1 => args!["WITHSCORES"],
        2 | 3 => args!["AGGREGATE", w.one(&["SUM", "MIN", "MAX", "max", "AVG"])],
        _ => {
            let number = 1 + w.below(3);
            let mut option = args!["WEIGHTS"];
            option.extend((0..number).map(|_| Vec::from(w.one(&["1", "2", "0", "-1", "0.5", "inf", "-inf", "x"]))));
            option
        }
    }
}

fn scan_option(w: &mut Words) -> Args {
    match w.below(5) {
        0 | 1 => args!["MATCH", w.pattern()],
        2 => args!["COUNT", w.integer()],
        3 => args!["NOSCORES"],
        _ => args!["COUNT", "1000"],
    }
}

/// ZRANDMEMBER, after the ZRANGE that its reply must come from.
pub fn random_member(w: &mut Words) -> Block {
    let key = w.sorted_set_key();
    let mut command = args!["ZRANDMEMBER", key.clone()];
    match w.below(20) {
        0 => command.truncate(1),
        1 => command.extend(args![w.integer(), "WITHSCORES", w.junk()]),
        2..=6 => {}
        7..=12 => command.push(w.integer()),
        _ => command.extend(args![w.integer(), w.one(&["WITHSCORES", "withscores", "SCORES"])]),
    }
    if !super::guard::is_fit(&command) {
        command.truncate(2);
    }
    vec![Step::new(args!["ZRANGE", key, "0", "-1", "WITHSCORES"]), Step::new(command)]
}

/// A ZSCAN that is followed to its end.
pub fn whole_scan(w: &mut Words) -> Block {
    let mut command = args!["ZSCAN", w.sorted_set_key(), "0"];
    if w.percent(70) {
        command.extend(args!["COUNT", w.one(&["1", "2", "3", "10"])]);
    }
    if w.percent(30) {
        command.extend(args!["MATCH", w.pattern()]);
    }
    vec![Step { to_the_end: true, ..Step::new(command) }]
}
