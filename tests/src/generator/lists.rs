//! Commands on lists.

use super::words::Words;
use super::{Rules, args};
use crate::client::Args;

pub const RULES: Rules = &[
    (12, |w| pushed(w, "RPUSH")),
    (12, |w| pushed(w, "LPUSH")),
    (3, |w| pushed(w, "RPUSHX")),
    (3, |w| pushed(w, "LPUSHX")),
    (5, |w| popped(w, "LPOP")),
    (5, |w| popped(w, "RPOP")),
    (5, |w| {
        let mut command = args!["LMPOP"];
        let keys: Args = (0..=w.below(3)).map(|_| w.list_key()).collect();
        command.push(if w.percent(85) { keys.len().to_string().into() } else { w.integer() });
        command.extend(keys);
        command.push(end(w));
        w.optional(command, 1, |w| args!["COUNT", w.position()])
    }),
    (2, |w| {
        let command = args![w.one(&["BLPOP", "BRPOP"])];
        let mut command = w.repeated(command, 3, |w| args![w.list_key()]);
        command.push(timeout(w));
        command
    }),
    (1, |w| args!["BLMPOP", timeout(w), "2", w.list_key(), w.list_key(), end(w), "COUNT", w.position()]),
    (1, |w| args!["BLMOVE", w.list_key(), w.list_key(), end(w), end(w), timeout(w)]),
    (1, |w| args!["BRPOPLPUSH", w.list_key(), w.list_key(), timeout(w)]),
    (6, |w| args!["LMOVE", w.list_key(), w.list_key(), end(w), end(w)]),
    (4, |w| args!["RPOPLPUSH", w.list_key(), w.list_key()]),
    (5, |w| args!["LLEN", w.list_key()]),
    (6, |w| args!["LINDEX", w.list_key(), w.position()]),
    (8, |w| args!["LRANGE", w.list_key(), w.position(), w.position()]),
    (8, |w| args!["LRANGE", w.list_key(), "0", "-1"]),
    (6, |w| args!["LSET", w.list_key(), w.position(), w.element()]),
    (8, |w| args!["LINSERT", w.list_key(), w.one(&["BEFORE", "AFTER", "before", "after", "BESIDE"]), w.element(), w.element()]),
    (7, |w| args!["LREM", w.list_key(), w.position(), w.element()]),
    (4, |w| args!["LTRIM", w.list_key(), w.position(), w.position()]),
    (8, |w| {
        let command = args!["LPOS", w.list_key(), w.element()];
        w.optional(command, 3, |w| args![w.one(&["RANK", "COUNT", "MAXLEN", "rank", "count", "maxlen"]), w.position()])
    }),
];

fn pushed(w: &mut Words, name: &str) -> Args {
    let command = args![name, w.list_key()];
    w.repeated(command, 4, |w| args![w.element()])
}

fn popped(w: &mut Words, name: &str) -> Args {
    let command = args![name, w.list_key()];
    w.optional(command, 1, |w| args![w.position()])
}

/// How long to wait for an element, in seconds: never for ever.
pub const TIMEOUTS: &[&str] = &["0.001", "0.001", "1e-3", "0.0011", "-1", "x", "nan", ""];

pub fn timeout(w: &mut Words) -> Vec<u8> {
    w.one(TIMEOUTS).into()
}

fn end(w: &mut Words) -> Vec<u8> {
    w.one(&["LEFT", "RIGHT", "left", "right", "LEFT", "RIGHT", "UP"]).into()
}
