//! WATCH, MULTI, some commands, EXEC; and another connection that comes in between.

use super::args;
use super::words::Words;
use crate::sequence::{Block, Step};

/// Blocks, so that what shrinking leaves of a transaction is still worth comparing.
pub fn transaction(w: &mut Words) -> Vec<Block> {
    let mut blocks = Vec::new();
    if w.percent(60) {
        blocks.push(vec![Step::new(w.repeated(args!["WATCH"], 3, |w| args![w.key()]))]);
        if w.percent(30) {
            blocks.push(super::block(w));
        }
        if w.percent(10) {
            blocks.push(vec![Step::new(args!["UNWATCH"])]);
        }
    }
    if w.percent(40) {
        blocks.push(from_elsewhere(w));
    }
    blocks.push(vec![Step::new(args!["MULTI"])]);
    for _ in 0..w.below(7) {
        blocks.push(super::block(w));
    }
    if w.percent(20) {
        blocks.push(from_elsewhere(w));
    }
    blocks.push(vec![Step::new(if w.percent(85) { args!["EXEC"] } else { args!["DISCARD"] })]);
    blocks
}

fn from_elsewhere(w: &mut Words) -> Block {
    let mut block = super::block(w);
    super::move_to_second_connection(&mut block);
    block
}
