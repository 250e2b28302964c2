//! Ranges of a sorted set: by rank, by score, and by member where all scores are equal.
//!
//! All functions fail with WRONGTYPE where the key holds another type, and with store errors and corrupt records. They read the
//! records of the range, and of a range by rank also those up to the nearer end.

use super::{erase, expected, find, ranks};
use crate::db::Db;
use crate::error::Result;
use crate::layout::{Collection, KeyAt, RecordRange};
use crate::store::{Direction, KeyRange};
use crate::transaction::Scan;
use bytes::Bytes;
use std::ops::{Bound, ControlFlow};

/// Which members.
#[derive(Clone, Debug, PartialEq)]
pub enum Range {
    /// From one rank to another, both included; 0 is the first in the direction of the walk, -1 the last. Ranks beyond the ends mean
    /// the ends.
    Ranks(i64, i64),
    /// With scores between two bounds. NaN is no bound.
    Scores(Bound<f64>, Bound<f64>),
    /// Between two members in byte order. Meant for sets whose scores are all equal; in others these are the members behind the first
    /// one that is not below the first bound, up to the next one that is above the second, as in Redis' small encoding.
    Members(MemberBound, MemberBound),
}

/// An end of [`Range::Members`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberBound {
    /// Below every member (`-`).
    Lowest,
    /// Above every member (`+`).
    Highest,
    /// This member, included (`[`).
    Included(Bytes),
    /// This member, excluded (`(`).
    Excluded(Bytes),
}

impl MemberBound {
    fn is_below(&self, member: &[u8]) -> bool {
        match self {
            Self::Lowest => true,
            Self::Highest => false,
            Self::Included(bound) => member >= bound,
            Self::Excluded(bound) => member > bound,
        }
    }

    fn is_above(&self, member: &[u8]) -> bool {
        match self {
            Self::Lowest => false,
            Self::Highest => true,
            Self::Included(bound) => member <= bound,
            Self::Excluded(bound) => member < bound,
        }
    }
}

/// What [`each`] visits of a sorted set.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// Which members.
    pub range: Range,
    /// From the lowest score upwards, or from the highest downwards. The range's first bound is the lower one in any case.
    pub direction: Direction,
    /// How many members of the range to leave out at its beginning.
    pub offset: u64,
    /// How many to visit at most.
    pub limit: u64,
}

impl Selection {
    /// All of a range, upwards.
    #[must_use]
    pub const fn all_of(range: Range) -> Self {
        Self { range, direction: Direction::Forward, offset: 0, limit: u64::MAX }
    }
}

/// Hands the members of a selection with their scores to `visit`, in order; none where there is no sorted set.
///
/// # Errors
/// See the module.
pub fn each(db: &mut Db, at: &KeyAt, selection: &Selection, visit: impl FnMut(Bytes, f64)) -> Result<()> {
    match find(db, at)? {
        Some((_, set)) => walk(db, at, set, selection, visit),
        None => {
            db.notify_miss(at);
            Ok(())
        }
    }
}

/// Hands the members with scores from `scores.start` up to but not including `scores.end` to `visit`, upwards, until it breaks off;
/// none where there is no sorted set. About `wanted` of them will be read.
///
/// # Errors
/// See the module.
pub fn walk_scores(
    db: &mut Db,
    at: &KeyAt,
    scores: std::ops::Range<f64>,
    wanted: u64,
    visit: &mut dyn FnMut(Bytes, f64) -> ControlFlow<()>,
) -> Result<()> {
    let Some((_, set)) = find(db, at)? else { return Ok(()) };
    let (min, max) = (Bound::Included(scores.start), Bound::Excluded(scores.end));
    let Some((keyspace, records)) = by_score(db, at, set, min, max) else { return Ok(()) };
    let mut scan = Scan::new(keyspace, records, Direction::Forward, expected(wanted));
    while let Some((key, value)) = db.transaction.next(&mut scan)? {
        let (score, member) = db.layout.decode_scored(&key, &value)?;
        if visit(member, score).is_break() {
            break;
        }
    }
    Ok(())
}

/// How many members a range has; 0 where there is no sorted set.
///
/// # Errors
/// See the module.
pub fn count(db: &mut Db, at: &KeyAt, range: Range) -> Result<u64> {
    let Some((_, set)) = find(db, at)? else { return Ok(0) };
    if let Range::Scores(min, max) = range {
        return by_score(db, at, set, min, max).map_or(Ok(0), |range| ranks::count(db, range));
    }
    let mut count = 0;
    walk(db, at, set, &Selection::all_of(range), |_, _| count += 1)?;
    Ok(count)
}

/// Removes the members of a range, and the key with the last one. Returns how many there were.
///
/// # Errors
/// See the module.
pub fn remove(db: &mut Db, at: &KeyAt, range: Range) -> Result<u64> {
    let Some((old, set)) = find(db, at)? else { return Ok(0) };
    let mut members = Vec::new();
    let event = match range {
        Range::Ranks(..) => "zremrangebyrank",
        Range::Scores(..) => "zremrangebyscore",
        Range::Members(..) => "zremrangebylex",
    };
    walk(db, at, set, &Selection::all_of(range), |member, score| members.push((member, score)))?;
    erase(db, at, (&old, set), &members, event)
}

fn walk(db: &mut Db, at: &KeyAt, set: Collection, selection: &Selection, visit: impl FnMut(Bytes, f64)) -> Result<()> {
    let Selection { ref range, direction, offset, limit } = *selection;
    match range {
        Range::Ranks(first, last) => {
            let Some((first, last)) = resolve(*first, *last, set.count) else { return Ok(()) };
            let first = first.saturating_add(offset);
            let limit = limit.min(last.saturating_add(1).saturating_sub(first));
            let mut scan = ranks::seek(db, at, set, first, direction, limit)?;
            pass(db, &mut scan, limit, visit)
        }
        Range::Scores(min, max) => {
            let Some((keyspace, records)) = by_score(db, at, set, *min, *max) else { return Ok(()) };
            let mut scan = Scan::new(keyspace, records, direction, expected(offset.saturating_add(limit)));
            pass(db, &mut scan, offset, |_, _| ())?;
            pass(db, &mut scan, limit, visit)
        }
        Range::Members(min, max) => {
            let Some((keyspace, records)) = by_member(db, at, set, min, max)? else { return Ok(()) };
            let mut scan = Scan::new(keyspace, records, direction, expected(offset.saturating_add(limit)));
            let follows_min = |member: &[u8]| min.is_below(member);
            let precedes_max = |member: &[u8]| max.is_above(member);
            match direction {
                Direction::Forward => pass_members(db, &mut scan, selection, &follows_min, &precedes_max, visit),
                Direction::Reverse => pass_members(db, &mut scan, selection, &precedes_max, &follows_min, visit),
            }
        }
    }
}

/// Visits the next `limit` records of the score index.
fn pass(db: &mut Db, scan: &mut Scan, limit: u64, mut visit: impl FnMut(Bytes, f64)) -> Result<()> {
    for _ in 0..limit {
        let Some((key, value)) = db.transaction.next(scan)? else { break };
        let (score, member) = db.layout.decode_scored(&key, &value)?;
        visit(member, score);
    }
    Ok(())
}

/// Visits members from the first one that `begins` takes up to the next one that `goes_on` does not. Members that the offset leaves
/// out are not held against `goes_on`, which makes a difference only where scores are not equal.
fn pass_members(
    db: &mut Db,
    scan: &mut Scan,
    selection: &Selection,
    begins: &dyn Fn(&[u8]) -> bool,
    goes_on: &dyn Fn(&[u8]) -> bool,
    mut visit: impl FnMut(Bytes, f64),
) -> Result<()> {
    let Selection { offset, limit, .. } = *selection;
    let mut position: Option<u64> = None;
    while let Some((key, value)) = db.transaction.next(scan)? {
        let (score, member) = db.layout.decode_scored(&key, &value)?;
        let here = match position {
            None if !begins(&member) => continue,
            None if !goes_on(&member) => break,
            None => 0,
            Some(before) => before.saturating_add(1),
        };
        position = Some(here);
        if here < offset {
            continue;
        }
        if here - offset >= limit || !goes_on(&member) {
            break;
        }
        visit(member, score);
    }
    Ok(())
}

/// Ranks that count from the first member, of what there is between two that may count from the last one.
fn resolve(first: i64, last: i64, count: u64) -> Option<(u64, u64)> {
    let from_first = |rank: i64| if rank < 0 { count.checked_sub(rank.unsigned_abs()) } else { Some(rank.unsigned_abs()) };
    let (first, last) = (from_first(first).unwrap_or(0), from_first(last)?.min(count.saturating_sub(1)));
    (first <= last).then_some((first, last))
}

/// The records of the score index with scores between two bounds; `None` where no score can be.
fn by_score(db: &Db, at: &KeyAt, set: Collection, min: Bound<f64>, max: Bound<f64>) -> Option<RecordRange> {
    let (keyspace, all) = db.layout.scores(at, set.version);
    // Where the members with that score begin: those of the next score begin where these end.
    let begin = |score: f64| db.layout.scored(at, set.version, score, b"").0.1.to_vec();
    let start = match min {
        Bound::Unbounded | Bound::Included(f64::NEG_INFINITY) => all.start,
        Bound::Included(score) => begin(score),
        Bound::Excluded(f64::INFINITY) => return None,
        Bound::Excluded(score) => begin(score.next_up()),
    };
    let end = match max {
        Bound::Unbounded | Bound::Included(f64::INFINITY) => all.end,
        Bound::Included(score) => Some(begin(score.next_up())),
        Bound::Excluded(score) => Some(begin(score)),
    };
    Some((keyspace, KeyRange { start, after_start: false, end }))
}

/// The records of the score index among which those between two members are: no others where all scores are equal, all where they
/// are not. `None` where there can be none.
fn by_member(db: &mut Db, at: &KeyAt, set: Collection, min: &MemberBound, max: &MemberBound) -> Result<Option<RecordRange>> {
    let (keyspace, all) = db.layout.scores(at, set.version);
    let mut end = |direction| {
        let record = db.transaction.first(keyspace, all.clone(), direction)?;
        record.map(|(key, value)| db.layout.decode_scored(&key, &value)).transpose()
    };
    let (Some((lowest, first)), Some((highest, last))) = (end(Direction::Forward)?, end(Direction::Reverse)?) else { return Ok(None) };
    if !min.is_below(&last) || !max.is_above(&first) {
        return Ok(None);
    }
    if lowest < highest {
        return Ok(Some((keyspace, all)));
    }
    let place = |member: &[u8]| db.layout.scored(at, set.version, lowest, member).0.1;
    let start = match min {
        MemberBound::Included(member) | MemberBound::Excluded(member) => place(member).to_vec(),
        MemberBound::Lowest | MemberBound::Highest => all.start,
    };
    let end = match max {
        MemberBound::Included(member) | MemberBound::Excluded(member) => Some(ranks::behind(&place(member))),
        MemberBound::Lowest | MemberBound::Highest => all.end,
    };
    Ok(Some((keyspace, KeyRange { start, after_start: false, end })))
}
