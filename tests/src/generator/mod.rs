//! Random command sequences from a seed: mostly sensible commands over few keys, so that they meet, with every option, with
//! numbers at the edges, and with an eighth of malformed ones.
//!
//! Nothing is generated whose outcome depends on the moment: relative expiries are far away, and no two of a sequence are equal.

mod bitmaps;
mod geo;
mod guard;
mod hashes;
mod hyperloglog;
mod keys;
mod large_sorted_sets;
mod lists;
mod malformed;
mod pubsub;
mod server;
mod sets;
mod sort;
mod sorted_sets;
mod strings;
mod transactions;
mod words;

use crate::client::Args;
use crate::sequence::{Block, Step};
use words::Words;

/// Makes one command.
type Rule = fn(&mut Words) -> Args;
/// Rules with their weights.
type Rules = &'static [(u32, Rule)];

/// A family is chosen by its weight, then a rule of the family by its own.
const FAMILIES: &[(u32, Rules)] = &[
    (34, strings::RULES),
    (26, keys::RULES),
    (30, hashes::RULES),
    (30, lists::RULES),
    (30, sets::RULES),
    (40, sorted_sets::RULES),
    (20, bitmaps::RULES),
    (8, hyperloglog::RULES),
    (24, geo::RULES),
    (10, sort::RULES),
    (4, pubsub::RULES),
    (14, server::RULES),
];

/// Of 100 commands, this many are spoiled.
const MALFORMED_PERCENT: u32 = 12;
/// Of 100 sequences, this many speak RESP3 from the start.
const RESP3_PERCENT: u32 = 40;

/// The sequence of this seed: at least `min_commands` commands in blocks.
#[must_use]
pub fn sequence(seed: u64, min_commands: usize) -> Vec<Block> {
    let mut words = Words::new(seed);
    let mut blocks = Vec::new();
    for connection in 0..crate::target::CONNECTIONS {
        if words.percent(RESP3_PERCENT) {
            blocks.push(vec![Step { connection, ..Step::new(args!["HELLO", "3"]) }]);
        }
    }
    let mut length = blocks.len();
    while length < min_commands {
        let new = if words.percent(4) { transactions::transaction(&mut words) } else { vec![block(&mut words)] };
        length += new.iter().map(Vec::len).sum::<usize>();
        blocks.extend(new);
    }
    blocks
}

/// A command, or some that belong together, mostly on the first connection.
fn block(words: &mut Words) -> Block {
    let mut block = match words.below(50) {
        6 if words.percent(30) => keys::info_keyspace(words),
        0 => keys::dbsize(words),
        1 => keys::random_key(words),
        2 => keys::whole_scan(words),
        3 => hashes::random_field(words),
        4 => hashes::whole_scan(words),
        5 => keys::memory_usage(words),
        6 => sets::random_member(words),
        7 => sets::pop(words),
        8 => sets::whole_scan(words),
        9 => hyperloglog::count(words),
        10 => sorted_sets::random_member(words),
        11 => sorted_sets::whole_scan(words),
        12 => hyperloglog::damaged(words),
        13 | 14 => sort::sort(words),
        15 if words.percent(25) => large_sorted_sets::leaderboard(words),
        _ => vec![Step::new(command(words))],
    };
    if words.percent(5) {
        move_to_second_connection(&mut block);
    }
    block
}

fn move_to_second_connection(block: &mut Block) {
    for step in block {
        step.connection = 1;
    }
}

/// One command, perhaps malformed, that is neither costly nor a matter of timing.
fn command(words: &mut Words) -> Args {
    loop {
        let mut command = sound_command(words);
        if words.percent(MALFORMED_PERCENT) {
            malformed::spoil(words, &mut command);
        }
        if words.percent(3) {
            command[0].make_ascii_lowercase();
        }
        if guard::is_fit(&command) {
            return command;
        }
    }
}

fn sound_command(words: &mut Words) -> Args {
    let family = words.weighted(FAMILIES);
    let rule = words.weighted(family);
    rule(words)
}

/// A command from words of any kind that becomes a byte string.
macro_rules! args {
    ($($word:expr),* $(,)?) => { vec![$(Vec::<u8>::from($word)),*] };
}
use args;
