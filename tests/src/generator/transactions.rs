//! WATCH, MULTI, some commands, EXEC; and another connection that comes in between.

use super::args;
use super::words::Words;
use crate::client::Args;
use crate::sequence::{Block, Step};

/// Blocks, so that what shrinking leaves of a transaction is still worth comparing.
pub fn transaction(w: &mut Words) -> Vec<Block> {
    let mut blocks = Vec::new();
    let key = w.key();
    if w.percent(60) {
        blocks.push(vec![Step::new(w.repeated(args!["WATCH", key.clone()], 2, |w| args![w.key()]))]);
        if w.percent(30) {
            blocks.push(super::block(w));
        }
        if w.percent(10) {
            blocks.push(vec![Step::new(args!["UNWATCH"])]);
        }
    }
    if w.percent(40) {
        blocks.push(from_elsewhere(w, &key));
    }
    blocks.push(vec![Step::new(args!["MULTI"])]);
    for _ in 0..w.below(7) {
        blocks.push(super::block(w));
    }
    if w.percent(20) {
        blocks.push(from_elsewhere(w, &key));
    }
    blocks.push(vec![Step::new(if w.percent(85) { args!["EXEC"] } else { args!["DISCARD"] })]);
    blocks
}

/// What the other connection does meanwhile, often to the watched key.
fn from_elsewhere(w: &mut Words, key: &[u8]) -> Block {
    let mut block = if w.percent(50) { super::block(w) } else { vec![Step::new(meddle(w, key))] };
    super::move_to_second_connection(&mut block);
    block
}

/// A command that changes the key, or looks as if it did.
fn meddle(w: &mut Words, key: &[u8]) -> Args {
    match w.below(14) {
        0 => args!["SET", key, w.value()],
        1 => args!["DEL", key],
        2 => args!["HSET", key, w.field(), w.value()],
        3 => args!["EXPIRE", key, w.seconds()],
        4 => args!["PERSIST", key],
        5 => args!["SETRANGE", key, "0", ""],
        6 => args!["APPEND", key, ""],
        7 => args!["GETEX", key],
        8 => args!["RENAME", key, key],
        9 => args!["COPY", w.key(), key, "REPLACE"],
        10 => args!["MOVE", key, "1"],
        11 => args!["SWAPDB", w.db(), w.db()],
        12 => args![w.one(&["FLUSHDB", "FLUSHALL"])],
        _ => args!["HDEL", key, w.field()],
    }
}
