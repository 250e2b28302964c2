//! Ranges of a sorted set: by rank, by score, and by member where all scores are equal.
//!
//! All functions fail with WRONGTYPE where the key holds another type, and with store errors and corrupt records. They read the
//! records of the range, and of a range by rank also those up to the nearer end.

use super::{erase, expected, find, ranks};
use crate::db::Db;
use crate::error::Result;
use crate::layout::lots::Lot;
use crate::layout::records::Walk;
use crate::layout::{Collection, Cut, KeyAt, LentScored};
use crate::store::Direction;
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

/// Hands the members of a selection with their scores to `visit`, in order, some at a time; none where there is no sorted set.
///
/// # Errors
/// See the module.
pub fn each(db: &mut Db, at: &KeyAt, selection: &Selection, visit: impl FnMut(Lot<'_, '_, LentScored<'_>>)) -> Result<()> {
    match find(db, at)? {
        Some((_, set)) => walk(db, at, set, selection, visit),
        None => {
            db.notify_miss(at);
            Ok(())
        }
    }
}

/// A member and its score, copied.
#[must_use]
pub fn copied((member, score): &LentScored<'_>) -> (Bytes, f64) {
    (Bytes::copy_from_slice(member), *score)
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
    let (from, to) = by_score(min, max);
    let mut walk = db.layout.scores(at, &set, &from, &to).walk(Direction::Forward, expected(wanted));
    while let Some(record) = walk.next(db.transaction)? {
        let (score, member) = db.layout.decode_scored(&record)?;
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
    match &range {
        Range::Scores(min, max) => {
            let (from, to) = by_score(*min, *max);
            return ranks::count(db, at, set, &from, &to);
        }
        Range::Members(min, max) => match by_member(db, at, &set, min, max)? {
            // Scores are not equal: members of the range and others alternate.
            Some((Cut::Edge, Cut::Edge)) => {}
            Some((from, to)) => return ranks::count(db, at, set, &from, &to),
            None => return Ok(0),
        },
        Range::Ranks(..) => {}
    }
    let mut count = 0_usize;
    walk(db, at, set, &Selection::all_of(range), |members| count += members.rows().len())?;
    Ok(u64::try_from(count).unwrap_or(u64::MAX))
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
    walk(db, at, set, &Selection::all_of(range), |some| members.extend(some.rows().iter().map(copied)))?;
    erase(db, at, (&old, set), &members, event)
}

fn walk(db: &mut Db, at: &KeyAt, set: Collection, selection: &Selection, visit: impl FnMut(Lot<'_, '_, LentScored<'_>>)) -> Result<()> {
    let Selection { ref range, direction, offset, limit } = *selection;
    match range {
        Range::Ranks(first, last) => {
            let set = Collection { count: db.count(at, &set)?, ..set };
            let Some((first, limit)) = ranks_of(selection, *first, *last, set.count) else { return Ok(()) };
            let mut walk = ranks::seek(db, at, set, first, direction, limit)?;
            pass(db, &mut walk, limit, visit)
        }
        Range::Scores(min, max) => {
            let (from, to) = by_score(*min, *max);
            if let Some((mut walk, left)) = ranks::seek_between(db, at, set, (&from, &to), direction, offset, limit)? {
                return pass(db, &mut walk, limit.min(left), visit);
            }
            let mut walk = db.layout.scores(at, &set, &from, &to).walk(direction, expected(offset.saturating_add(limit)));
            pass(db, &mut walk, offset, |_| ())?;
            pass(db, &mut walk, limit, visit)
        }
        Range::Members(min, max) => {
            let Some((from, to)) = by_member(db, at, &set, min, max)? else { return Ok(()) };
            let mut walk = db.layout.scores(at, &set, &from, &to).walk(direction, expected(offset.saturating_add(limit)));
            let follows_min = |member: &[u8]| min.is_below(member);
            let precedes_max = |member: &[u8]| max.is_above(member);
            match direction {
                Direction::Forward => pass_members(db, &mut walk, selection, &follows_min, &precedes_max, visit),
                Direction::Reverse => pass_members(db, &mut walk, selection, &precedes_max, &follows_min, visit),
            }
        }
    }
}

/// Visits the next `limit` records of the score index.
fn pass(db: &mut Db, walk: &mut Walk, limit: u64, mut visit: impl FnMut(Lot<'_, '_, LentScored<'_>>)) -> Result<()> {
    db.layout.each_scored(db.transaction, walk, limit, &mut |members| {
        visit(members);
        ControlFlow::Continue(())
    })
}

/// Visits members from the first one that `begins` takes up to the next one that `goes_on` does not. Members that the offset leaves
/// out are not held against `goes_on`, which makes a difference only where scores are not equal.
fn pass_members(
    db: &mut Db,
    walk: &mut Walk,
    selection: &Selection,
    begins: &dyn Fn(&[u8]) -> bool,
    goes_on: &dyn Fn(&[u8]) -> bool,
    mut visit: impl FnMut(Lot<'_, '_, LentScored<'_>>),
) -> Result<()> {
    let Selection { offset, limit, .. } = *selection;
    let mut position = None::<u64>;
    let mut visit_one = |scored: &LentScored<'_>| {
        let (member, _) = scored;
        let here = match position {
            None if !begins(member) => return ControlFlow::Continue(()),
            None if !goes_on(member) => return ControlFlow::Break(()),
            None => 0,
            Some(before) => before.saturating_add(1),
        };
        position = Some(here);
        if here >= offset {
            if here - offset >= limit || !goes_on(member) {
                return ControlFlow::Break(());
            }
            visit(Lot::Rows(std::slice::from_ref(scored)));
        }
        ControlFlow::Continue(())
    };
    db.layout.each_scored(db.transaction, walk, u64::MAX, &mut |members| members.rows().iter().try_for_each(&mut visit_one))
}

/// Of a selection by ranks, from a set of `count` members: the first rank, and how many there are from there. `None` where there are none.
#[must_use]
pub fn ranks_of(selection: &Selection, first: i64, last: i64, count: u64) -> Option<(u64, u64)> {
    let (first, last) = resolve(first, last, count)?;
    let first = first.saturating_add(selection.offset);
    Some((first, selection.limit.min(last.saturating_add(1).saturating_sub(first))))
}

/// Ranks that count from the first member, of what there is between two that may count from the last one.
fn resolve(first: i64, last: i64, count: u64) -> Option<(u64, u64)> {
    let from_first = |rank: i64| if rank < 0 { count.checked_sub(rank.unsigned_abs()) } else { Some(rank.unsigned_abs()) };
    let (first, last) = (from_first(first).unwrap_or(0), from_first(last)?.min(count.saturating_sub(1)));
    (first <= last).then_some((first, last))
}

/// The cuts between which the scores are that two bounds take.
#[must_use]
pub const fn by_score(min: Bound<f64>, max: Bound<f64>) -> (Cut, Cut) {
    let from = match min {
        Bound::Unbounded => Cut::Edge,
        Bound::Included(score) => Cut::Before(score),
        Bound::Excluded(score) => Cut::Behind(score),
    };
    let to = match max {
        Bound::Unbounded => Cut::Edge,
        Bound::Included(score) => Cut::Behind(score),
        Bound::Excluded(score) => Cut::Before(score),
    };
    (from, to)
}

/// The cuts between which those between two members are: no others where all scores are equal, all where they are not. `None` where there
/// can be none.
fn by_member(db: &mut Db, at: &KeyAt, set: &Collection, min: &MemberBound, max: &MemberBound) -> Result<Option<(Cut, Cut)>> {
    let all = db.layout.scores(at, set, &Cut::Edge, &Cut::Edge);
    let mut end = |direction| {
        let record = all.first(db.transaction, direction)?;
        record.map(|record| db.layout.decode_scored(&record)).transpose()
    };
    let (Some((lowest, first)), Some((highest, last))) = (end(Direction::Forward)?, end(Direction::Reverse)?) else { return Ok(None) };
    if !min.is_below(&last) || !max.is_above(&first) {
        return Ok(None);
    }
    if lowest < highest {
        return Ok(Some((Cut::Edge, Cut::Edge)));
    }
    let from = match min {
        MemberBound::Included(member) => Cut::BeforeMember(lowest, member.clone()),
        MemberBound::Excluded(member) => Cut::BehindMember(lowest, member.clone()),
        MemberBound::Lowest | MemberBound::Highest => Cut::Before(lowest),
    };
    let to = match max {
        MemberBound::Included(member) => Cut::BehindMember(lowest, member.clone()),
        MemberBound::Excluded(member) => Cut::BeforeMember(lowest, member.clone()),
        MemberBound::Lowest | MemberBound::Highest => Cut::Behind(lowest),
    };
    Ok(Some((from, to)))
}
