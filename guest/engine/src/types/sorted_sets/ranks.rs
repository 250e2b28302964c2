//! Ranks: at which position of the score index a member is, and which one is at a position.
//!
//! A large set has a tree that tells it ([`crate::layout::ranks`]), and is kept right here as members come and go. The score index of a
//! small one has no positions to jump to: a very small one is read whole, in one page, in which the member is looked for; in others, and in all sets where
//! the layout has no trees, a rank is found by walking the index from the nearer end, so it costs as many records as
//! there are between that end and the member. Counting a range in a set without a tree costs the records in it.

use super::expected;
use crate::db::Db;
use crate::error::Result;
use crate::layout::ranks::{MAX_MEMBERS_WITHOUT, Tree};
use crate::layout::records::{Record, Records, Walk};
use crate::layout::{Collection, Cut, KeyAt, Layout};
use crate::store::Direction;
use crate::transaction::Transaction;
use bytes::Bytes;
use std::ops::ControlFlow;

/// Records that the first page of a walk of unknown length asks for.
const FIRST_PAGE: usize = 64;
/// As far as this from an end, a walk costs no more than a look into a tree.
pub const WALKED: u64 = 128;
/// Records behind a node of a tree are asked for in multiples of these.
const PAGE: u64 = 128;
/// A range between two scores may have no more members than these: it is walked before a tree is asked for its ends.
const FEW: u64 = 32;

/// The rank of a member of the set, 0 being the first in `direction`.
///
/// # Errors
/// Store errors, corrupt records.
pub fn of(db: &mut Db, at: &KeyAt, set: Collection, member: &Bytes, score: f64, direction: Direction) -> Result<u64> {
    if let Some(tree) = Tree::of(db.layout, set).filter(Tree::tells_ranks) {
        let rank = tree.rank(db.transaction, score, member)?;
        return Ok(counted_from(direction, rank, set.count));
    }
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
        return Ok(if arrived == direction { steps } else { opposite(set.count, steps) });
    }
}

/// How many members there are between two cuts.
///
/// # Errors
/// Store errors, corrupt records.
pub fn count(db: &mut Db, at: &KeyAt, set: Collection, from: &Cut, to: &Cut) -> Result<u64> {
    let records = db.layout.scores(at, &set, from, to);
    let Some(tree) = Tree::grown(db.layout, set) else { return records.count(db.transaction) };
    // Up to an edge there are mostly many, and only one place to look for.
    if !matches!((from, to), (Cut::Edge, _) | (_, Cut::Edge)) {
        let few = skip(db, &mut records.walk(Direction::Forward, expected(FEW)), FEW)?;
        if few.passed < FEW {
            return Ok(few.passed);
        }
    }
    let before = tree.position(db.transaction, from, false)?;
    Ok(tree.position(db.transaction, to, true)?.saturating_sub(before))
}

/// A walk over the score index in `direction` whose next record is that of `rank`, a rank that the set has, counted in that direction.
/// `wanted` is about how many records will be read.
///
/// # Errors
/// Store errors, corrupt records.
pub fn seek(db: &mut Db, at: &KeyAt, set: Collection, rank: u64, direction: Direction, wanted: u64) -> Result<Walk> {
    let all = db.layout.scores(at, &set, &Cut::Edge, &Cut::Edge);
    let (backwards, steps) = (reversed(direction), opposite(set.count, rank));
    let tree = Tree::grown(db.layout, set).filter(|_| rank.min(steps) > WALKED);
    let (mut walk, steps) = match (tree, direction) {
        (Some(tree), Direction::Forward) => {
            let (records, before) = tree.at_rank(db.transaction, rank)?;
            let mut walk = Records::Range(records).walk(direction, page(before.saturating_add(wanted)));
            skip(db, &mut walk, before)?;
            return Ok(walk);
        }
        (Some(tree), Direction::Reverse) => {
            let (records, before) = tree.at_rank(db.transaction, steps)?;
            (Records::Range(records).walk(backwards, page(before.saturating_add(1))), before)
        }
        (None, _) if rank <= steps => {
            let mut walk = all.walk(direction, expected(rank.saturating_add(wanted)));
            skip(db, &mut walk, rank)?;
            return Ok(walk);
        }
        (None, _) => (all.clone().walk(backwards, expected(steps.saturating_add(1))), steps),
    };
    let Some(record) = skip(db, &mut walk, steps.saturating_add(1))?.last else { return Ok(all.walk(direction, expected(wanted))) };
    let (score, member) = db.layout.decode_scored(&record)?;
    let part = match direction {
        Direction::Forward => db.layout.scores(at, &set, &Cut::BeforeMember(score, member), &Cut::Edge),
        Direction::Reverse => db.layout.scores(at, &set, &Cut::Edge, &Cut::BehindMember(score, member)),
    };
    Ok(part.walk(direction, expected(wanted)))
}

/// A walk over the members between two cuts whose next record is behind the first `offset` of them, and how many are left up to its end.
/// `wanted` is about how many of them will be read. `None` where a walk over what is left out costs no more.
///
/// # Errors
/// Store errors, corrupt records.
pub fn seek_between(
    db: &mut Db,
    at: &KeyAt,
    set: Collection,
    (from, to): (&Cut, &Cut),
    direction: Direction,
    offset: u64,
    wanted: u64,
) -> Result<Option<(Walk, u64)>> {
    let Some(tree) = Tree::grown(db.layout, set).filter(|_| offset > WALKED) else { return Ok(None) };
    let (first, end) = (tree.position(db.transaction, from, false)?, tree.position(db.transaction, to, true)?);
    let left = end.saturating_sub(first).saturating_sub(offset);
    if left == 0 {
        return Ok(Some((db.layout.scores(at, &set, from, to).walk(direction, 1), 0)));
    }
    let first = if direction == Direction::Forward { first } else { set.count.saturating_sub(end) };
    Ok(Some((seek(db, at, set, first.saturating_add(offset), direction, wanted.min(left))?, left)))
}

/// How many records to ask for where so many will be read: no other number than for most ranks nearby, as what was asked before may be known.
fn page(records: u64) -> usize {
    expected(records.checked_next_multiple_of(PAGE).unwrap_or(records))
}

/// Members that come or go, with their scores and whether they come.
pub type Changes<'m> = Vec<(f64, &'m Bytes, bool)>;

/// Keeps the tree of a set right after members have come and gone; makes it where the set has become large. `old` is the head of the set
/// before, `new` with the count that it has now. Returns the head to store. `changes` is asked only where there is a tree.
///
/// # Errors
/// Store errors, corrupt records.
pub fn follow<'m>(db: &mut Db, old: Collection, new: Collection, changes: impl FnOnce() -> Changes<'m>) -> Result<Collection> {
    if old.rank_levels == 0 {
        return if old.count < new.count && old.count <= MAX_MEMBERS_WITHOUT { grown(db.transaction, db.layout, new) } else { Ok(new) };
    }
    let Some(mut tree) = Tree::of(db.layout, new).filter(|_| new.count > 0) else { return Ok(new) };
    let changes = changes().into_iter().map(|(score, member, comes)| tree.change(score, member, comes)).collect();
    tree.update(db.transaction, changes)?;
    Ok(tree.set)
}

/// Makes the tree of a set whose members have all been written, where it is large. Returns the head to store.
///
/// # Errors
/// Store errors, corrupt records.
pub fn grown(transaction: &mut Transaction<'_>, layout: &dyn Layout, set: Collection) -> Result<Collection> {
    let Some(mut tree) = Tree::of(layout, set) else { return Ok(set) };
    tree.grow(transaction, tree.wants(), usize::MAX)?;
    Ok(tree.set)
}

/// What [`skip`] has passed.
struct Skipped {
    passed: u64,
    /// The last of as many as it was to pass; `None` where there were fewer.
    last: Option<Record>,
}

/// Passes so many records, where there are as many.
fn skip(db: &mut Db, walk: &mut Walk, steps: u64) -> Result<Skipped> {
    let mut skipped = Skipped { passed: 0, last: None };
    if steps == 0 {
        return Ok(skipped);
    }
    walk.each_run(db.transaction, |records| {
        for record in records {
            skipped.passed += 1;
            if skipped.passed == steps {
                skipped.last = Some(record.to_record());
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(skipped)
}

/// A rank among `count` members, 0 being the lowest, counted in `direction`.
#[must_use]
pub fn counted_from(direction: Direction, rank: u64, count: u64) -> u64 {
    if direction == Direction::Forward { rank } else { opposite(count, rank) }
}

/// The same rank, counted from the other end.
fn opposite(count: u64, rank: u64) -> u64 {
    count.saturating_sub(rank).saturating_sub(1)
}

fn reversed(direction: Direction) -> Direction {
    match direction {
        Direction::Forward => Direction::Reverse,
        Direction::Reverse => Direction::Forward,
    }
}
