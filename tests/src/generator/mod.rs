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
    (4, pubsub::RULES),
    (14, server::RULES),
