//! Ranks: at which position of the score index a member is, and which one is at a position.
//!
//! The index has no positions to jump to: a rank is found by walking the index from the nearer end, so it costs as many records as
//! there are between that end and the member. Counting a range costs the records in it.

use super::expected;
use crate::db::Db;
use crate::error::Result;
use crate::layout::records::{Record, Walk};
use crate::layout::{Collection, Cut, KeyAt};
use crate::store::Direction;
use bytes::Bytes;

/// Records that the first page of a walk of unknown length asks for.
const FIRST_PAGE: usize = 64;

/// The rank of a member of the set, 0 being the first in `direction`.
///
/// # Errors
/// Store errors.
pub fn of(db: &mut Db, at: &KeyAt, set: Collection, member: &Bytes, score: f64, direction: Direction) -> Result<u64> {
    let below = db.layout.scores(at, &set, &Cut::Edge, &Cut::BeforeMember(score, member.clone()));
    let above = db.layout.scores(at, &set, &Cut::BehindMember(score, member.clone()), &Cut::Edge);
    let mut from_lowest = below.walk(Direction::Forward, FIRST_PAGE);
    let mut from_highest = above.walk(Direction::Reverse, FIRST_PAGE);
    // Both walks take the same steps: the first to arrive came from the nearer end.
    let mut steps = 0;
    loop {
        let arrived = if from_lowest.next(db.transaction)?.is_none() {
            Direction::Forward
        } else if from_highest.next(db.transaction)?.is_none() {
            Direction::Reverse
        } else {
            steps += 1;
            continue;
        };
        return Ok(if arrived == direction { steps } else { opposite(set, steps) });
    }
}

/// A walk over the score index in `direction` whose next record is that of `rank`, a rank that the set has, counted in that direction.
/// `wanted` is about how many records will be read.
///
/// # Errors
/// Store errors.
pub fn seek(db: &mut Db, at: &KeyAt, set: Collection, rank: u64, direction: Direction, wanted: u64) -> Result<Walk> {
    let all = db.layout.scores(at, &set, &Cut::Edge, &Cut::Edge);
    let (backwards, steps) = (reversed(direction), opposite(set, rank));
    if rank <= steps {
        let mut walk = all.walk(direction, expected(rank.saturating_add(wanted)));
        skip(db, &mut walk, rank)?;
        return Ok(walk);
    }
    let mut walk = all.clone().walk(backwards, expected(steps.saturating_add(1)));
    let Some(record) = skip(db, &mut walk, steps.saturating_add(1))? else { return Ok(all.walk(direction, expected(wanted))) };
    let (score, member) = db.layout.decode_scored(&record)?;
    let part = match direction {
        Direction::Forward => db.layout.scores(at, &set, &Cut::BeforeMember(score, member), &Cut::Edge),
        Direction::Reverse => db.layout.scores(at, &set, &Cut::Edge, &Cut::BehindMember(score, member)),
    };
    Ok(part.walk(direction, expected(wanted)))
}

/// Passes records, and returns the last one.
fn skip(db: &mut Db, walk: &mut Walk, steps: u64) -> Result<Option<Record>> {
    let mut last = None;
    for _ in 0..steps {
        let Some(record) = walk.next(db.transaction)? else { break };
        last = Some(record);
    }
    Ok(last)
}

/// The same rank, counted from the other end.
fn opposite(set: Collection, rank: u64) -> u64 {
    set.count.saturating_sub(rank).saturating_sub(1)
}

fn reversed(direction: Direction) -> Direction {
    match direction {
        Direction::Forward => Direction::Reverse,
        Direction::Reverse => Direction::Forward,
    }
}
