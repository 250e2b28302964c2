//! Places as members of a sorted set: what is where, and what is near.
//!
//! All functions fail with WRONGTYPE where the key holds another type, and with store errors and corrupt records.

use super::{Position, Search};
use crate::db::Db;
use crate::error::Result;
use crate::layout::KeyAt;
use crate::types::sorted_sets;
use crate::types::sorted_sets::ranges::walk_scores;
use bytes::Bytes;
use std::ops::ControlFlow;

/// 2^63, from where on a score needs all bits of an unsigned integer.
const SIGN_BIT: f64 = 9_223_372_036_854_775_808.0;

/// A member that a search has found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The member.
    pub member: Bytes,
    /// Its score.
    pub score: f64,
    /// The position that the score stands for.
    pub position: Position,
    /// How far it is from the centre of the search, in metres.
    pub distance_m: f64,
}

/// The positions of members in one read, in their order; `None` for what is no member. Every score has a position, also one that
/// GEOADD would not give.
///
/// # Errors
/// See the module.
pub fn positions(db: &mut Db, at: &KeyAt, members: &[Bytes]) -> Result<Vec<Option<Position>>> {
    let scores = sorted_sets::scores(db, at, members)?;
    Ok(scores.into_iter().map(|score| score.map(|score| Position::of_score(bits(score)))).collect())
}

/// The members that a search covers, in the order of [`Search::score_ranges`] and of the scores within; the first `limit` of them.
/// Reads all members within these ranges, up to the last one that it takes.
///
/// # Errors
/// See the module.
pub fn search(db: &mut Db, at: &KeyAt, search: &Search, limit: u64) -> Result<Vec<Found>> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    for range in search.score_ranges() {
        let missing = u64::try_from(limit.saturating_sub(found.len())).unwrap_or(u64::MAX);
        if missing == 0 {
            break;
        }
        walk_scores(db, at, score(range.start)..score(range.end), missing, &mut |member, score| {
            let position = Position::of_score(bits(score));
            if let Some(distance_m) = search.distance_m(position) {
                found.push(Found { member, score, position, distance_m });
            }
            if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
    }
    Ok(found)
}

/// The score as sorted sets have it. Those of the very end of the longitudes have more bits than a double, and are rounded.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "rounded as strtod rounds what GEOADD hands to ZADD in Redis")]
pub fn score(bits: u64) -> f64 {
    bits as f64
}

/// The bits of any score, as an x86-64 processor converts it for Redis: negative ones wrap around, what is too large becomes 0.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "fractions are cut off; what is out of range is seen to")]
pub fn bits(score: f64) -> u64 {
    let is_large = score >= SIGN_BIT;
    let rest = if is_large { score - SIGN_BIT } else { score };
    let integer = if rest < SIGN_BIT { rest as i64 } else { i64::MIN };
    integer.cast_unsigned() ^ u64::from(is_large) << 63
}
