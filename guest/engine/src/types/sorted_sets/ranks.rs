//! Ranks: at which position of the score index a member is, and which one is at a position.
//!
//! The index has no positions to jump to: a rank is found by walking the index from the nearer end, so it costs as many records as
//! there are between that end and the member. Counting a range costs the records in it.

use super::expected;
use crate::db::Db;
use crate::error::Result;
use crate::layout::{Collection, KeyAt, RecordRange};
use crate::store::{Direction, KeyRange};
use crate::transaction::Scan;
use bytes::Bytes;

/// Records that the first page of a walk of unknown length asks for.
const FIRST_PAGE: usize = 64;

/// The rank of a member of the set, 0 being the first in `direction`.
///
/// # Errors
/// Store errors.
pub fn of(db: &mut Db, at: &KeyAt, set: Collection, member: &[u8], score: f64, direction: Direction) -> Result<u64> {
    let (keyspace, all) = db.layout.scores(at, set.version);
    let ((_, key), _) = db.layout.scored(at, set.version, score, member);
    let below = KeyRange { end: Some(key.to_vec()), ..all.clone() };
    let above = KeyRange { start: key.to_vec(), after_start: true, ..all };
    let mut from_lowest = Scan::new(keyspace, below, Direction::Forward, FIRST_PAGE);
    let mut from_highest = Scan::new(keyspace, above, Direction::Reverse, FIRST_PAGE);
    // Both walks take the same steps: the first to arrive came from the nearer end.
    let mut steps = 0;
    loop {
        let arrived = if db.transaction.next(&mut from_lowest)?.is_none() {
            Direction::Forward
        } else if db.transaction.next(&mut from_highest)?.is_none() {
            Direction::Reverse
        } else {
            steps += 1;
            continue;
        };
        return Ok(if arrived == direction { steps } else { opposite(set, steps) });
    }
}

/// A scan over the score index in `direction` whose next record is that of `rank`, a rank that the set has, counted in that direction.
/// `wanted` is about how many records will be read.
///
/// # Errors
/// Store errors.
pub fn seek(db: &mut Db, at: &KeyAt, set: Collection, rank: u64, direction: Direction, wanted: u64) -> Result<Scan> {
    let (keyspace, range) = db.layout.scores(at, set.version);
    let (backwards, steps) = (reversed(direction), opposite(set, rank));
    if rank <= steps {
        let mut scan = Scan::new(keyspace, range, direction, expected(rank.saturating_add(wanted)));
        skip(db, &mut scan, rank)?;
        return Ok(scan);
    }
    let mut scan = Scan::new(keyspace, range.clone(), backwards, expected(steps.saturating_add(1)));
    let range = match skip(db, &mut scan, steps.saturating_add(1))? {
        Some(key) if direction == Direction::Forward => KeyRange { start: key.to_vec(), after_start: false, ..range },
        Some(key) => KeyRange { end: Some(behind(&key)), ..range },
        None => range,
    };
    Ok(Scan::new(keyspace, range, direction, expected(wanted)))
}

/// How many records of the score index a range holds.
///
/// # Errors
/// Store errors.
pub fn count(db: &mut Db, (keyspace, range): RecordRange) -> Result<u64> {
    let mut scan = Scan::new(keyspace, range, Direction::Forward, FIRST_PAGE);
    let mut count = 0;
    while db.transaction.next(&mut scan)?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// The smallest key above `key`.
pub fn behind(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// Passes records, and returns the key of the last one.
fn skip(db: &mut Db, scan: &mut Scan, steps: u64) -> Result<Option<Bytes>> {
    let mut last = None;
    for _ in 0..steps {
        let Some((key, _)) = db.transaction.next(scan)? else { break };
        last = Some(key);
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
