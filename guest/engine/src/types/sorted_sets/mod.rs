//! Sorted sets: members in the order of their scores, and of their bytes where scores are equal, under one key.
//! <https://redis.io/docs/latest/commands/?group=sorted-set>
//!
//! A member has two records: its own with its exact score, and one in the score index, which is in the order of the set. Both are
//! written and removed together; the count in the key's meta record is exact. A sorted set without members does not exist: the last
//! member takes the key with it. All functions fail with WRONGTYPE where the key holds another type, and with store errors and
//! corrupt records.
//!
//! Scores are doubles, infinities included, NaN not. 0 and -0 are equal in every comparison; which of both a member was given
//! first is kept, and shown. (Redis forgets it in its small encoding and shows it in the large one.)

pub mod algebra;
mod change;
pub mod ranges;
pub(crate) mod ranks;

use super::distinct;
use super::draw::{self, Draw, Seek, Urn};
use crate::db::Db;
use crate::error::{Error, Result};
use crate::events::Classes;
use crate::layout::records::Record;
use crate::layout::{Body, Collection, Cut, KeyAt, Kind, Meta, RecordKey};
use crate::scan::{self, Filter, Positions, Step};
use crate::store::Direction;
use bytes::Bytes;
use change::Change;

pub(crate) const SUM_IS_NAN: Error = Error::client("ERR resulting score is not a number (NaN)");

/// A member with its score.
pub type Member = (Bytes, f64);

/// Which members [`add`] and [`increment`] may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// By whether they are there.
    pub members: Members,
    /// By their scores, where they are there.
    pub scores: Scores,
}

/// See [`Condition`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Members {
    /// All.
    #[default]
    Any,
    /// Those that are not there yet (NX).
    New,
    /// Those that are there (XX).
    Existing,
}

/// See [`Condition`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scores {
    /// All.
    #[default]
    Any,
    /// Those that become greater (GT).
    Greater,
    /// Those that become less (LT).
    Less,
}

impl Condition {
    /// Whether a member that has the score `current` may get `score`.
    fn allows(self, current: Option<f64>, score: f64) -> bool {
        let Some(current) = current else { return self.members != Members::Existing };
        let is_wanted = match self.scores {
            Scores::Any => true,
            Scores::Greater => score > current,
            Scores::Less => score < current,
        };
        self.members != Members::New && is_wanted
    }
}

/// What [`add`] has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// New members.
    pub added: u64,
    /// Changes of scores.
    pub updated: u64,
}

/// The sum of a score and another number; a member that is not there counts as 0.
///
/// # Errors
/// It is not a number.
pub fn sum(score: Option<f64>, increment: f64) -> Result<f64> {
    let sum = score.map_or(increment, |score| score + increment);
    if sum.is_nan() { Err(SUM_IS_NAN) } else { Ok(sum) }
}

/// How many members the sorted set has; 0 where there is none.
///
/// # Errors
/// See the module.
pub fn len(db: &mut Db, at: &KeyAt) -> Result<u64> {
    Ok(db.find_counted(at, Kind::SortedSet)?.map_or(0, |(_, set)| set.count))
}

/// The scores of members in one read, in their order; `None` for what is no member.
///
/// # Errors
/// See the module.
pub fn scores(db: &mut Db, at: &KeyAt, members: &[Bytes]) -> Result<Vec<Option<f64>>> {
    match find(db, at)? {
        Some((_, set)) => scores_in(db, at, set, members),
        None => Ok(vec![None; members.len()]),
    }
}

/// The score of a member; `None` where there is no such member.
///
/// # Errors
/// See the module.
pub fn score(db: &mut Db, at: &KeyAt, member: &Bytes) -> Result<Option<f64>> {
    match find(db, at)? {
        Some((_, set)) => score_in(db, at, set, member),
        None => Ok(None),
    }
}

/// The rank of a member, 0 being the first in `direction`, and its score; `None` where there is no such member.
///
/// # Errors
/// See the module.
pub fn rank(db: &mut Db, at: &KeyAt, member: &Bytes, direction: Direction) -> Result<Option<(u64, f64)>> {
    let Some((_, set)) = db.find_counted(at, Kind::SortedSet)? else { return Ok(None) };
    let Some(score) = score_in(db, at, set, member)? else { return Ok(None) };
    Ok(Some((ranks::of(db, at, set, member, score, direction)?, score)))
}

/// Gives members their scores, one pair after the other, as far as the condition allows. A score that is equal to the one that the
/// member has changes nothing.
///
/// # Errors
/// See the module.
pub fn add(db: &mut Db, at: &KeyAt, pairs: &[(f64, Bytes)], condition: Condition) -> Result<Added> {
    let mut done = Added::default();
    add_each(db, at, std::iter::once((pairs, condition)), |added| done = added)?;
    Ok(done)
}

/// As [`add`] for each of `additions`, one after the other; `added` is told what each has done. All is written once.
///
/// # Errors
/// As [`add`]: then some members may be there, and the head is as before.
pub fn add_each<'p>(
    db: &mut Db,
    at: &KeyAt,
    additions: impl Iterator<Item = (&'p [(f64, Bytes)], Condition)> + Clone,
    mut added: impl FnMut(Added),
) -> Result<()> {
    let found = find(db, at)?;
    if found.is_none() && additions.clone().all(|(_, condition)| condition.members == Members::Existing) {
        additions.for_each(|_| added(Added::default()));
        return Ok(());
    }
    let members = additions.clone().flat_map(|(pairs, _)| pairs.iter().map(|(_, member)| member));
    let mut change = Change::of(db, at, found, members)?;
    for (pairs, condition) in additions {
        let before = change.done();
        for (score, member) in pairs {
            change.set(member, *score, condition);
        }
        let after = change.done();
        added(Added { added: after.added - before.added, updated: after.updated - before.updated });
    }
    change.finish(db, "zadd").map(|_| ())
}

/// Adds to the score of a member, and returns the sum; a member that is not there counts as 0. `None`, and nothing changed, where
/// the condition does not allow the sum.
///
/// # Errors
/// See the module; `ERR resulting score is not a number (NaN)` for a sum of opposite infinities.
pub fn increment(db: &mut Db, at: &KeyAt, member: &Bytes, increment: f64, condition: Condition) -> Result<Option<f64>> {
    let found = find(db, at)?;
    if found.is_none() && condition.members == Members::Existing {
        return Ok(None);
    }
    let mut change = Change::of(db, at, found, [member])?;
    let sum = change.increment(member, increment, condition)?;
    change.finish(db, "zincr")?;
    Ok(sum)
}

/// As [`increment`], without conditions, for each of `increments`, one after the other; `summed` is told each sum. All is written once.
///
/// # Errors
/// As [`increment`]: then some members may be there, and the head is as before.
pub fn increment_each<'m>(
    db: &mut Db,
    at: &KeyAt,
    increments: impl Iterator<Item = (f64, &'m Bytes)> + Clone,
    mut summed: impl FnMut(f64),
) -> Result<()> {
    let found = find(db, at)?;
    let mut change = Change::of(db, at, found, increments.clone().map(|(_, member)| member))?;
    for (increment, member) in increments {
        change.increment(member, increment, Condition::default())?.into_iter().for_each(&mut summed);
    }
    change.finish(db, "zincr").map(|_| ())
}

/// Removes members, and the key with the last one. Returns how many there were; a member that comes twice counts once.
///
/// # Errors
/// See the module.
pub fn remove(db: &mut Db, at: &KeyAt, members: &[Bytes]) -> Result<u64> {
    let Some((old, set)) = find(db, at)? else { return Ok(0) };
    let members: Vec<Bytes> = distinct(members).into_iter().cloned().collect();
    let scores = scores_in(db, at, set, &members)?;
    let present: Vec<Member> = members.into_iter().zip(scores).filter_map(|(member, score)| Some((member, score?))).collect();
    erase(db, at, (&old, set), &present, "zrem")
}

/// Removes the first `count` members in `direction`, all where there are not so many, and returns them in that order.
///
/// # Errors
/// See the module.
pub fn pop(db: &mut Db, at: &KeyAt, direction: Direction, count: u64) -> Result<Vec<Member>> {
    let Some((old, set)) = find(db, at)? else { return Ok(Vec::new()) };
    let mut walk = db.layout.scores(at, &set, &Cut::Edge, &Cut::Edge).walk(direction, expected(count));
    let mut popped = Vec::new();
    for _ in 0..count.min(set.count) {
        let Some(record) = walk.next(db.transaction)? else { break };
        let (score, member) = db.layout.decode_scored(&record)?;
        popped.push((member, score));
    }
    let event = match direction {
        Direction::Forward => "zpopmin",
        Direction::Reverse => "zpopmax",
    };
    erase(db, at, (&old, set), &popped, event)?;
    Ok(popped)
}

/// [`pop`] from the first of the keys that has members: its position among `keys`, and what was removed. `None` where none has.
///
/// # Errors
/// See the module; keys behind the first one with members are not looked at.
pub fn pop_first(db: &mut Db, keys: &[KeyAt], direction: Direction, count: u64) -> Result<Option<(usize, Vec<Member>)>> {
    for (position, at) in keys.iter().enumerate() {
        if find(db, at)?.is_some() {
            return Ok(Some((position, pop(db, at, direction, count)?)));
        }
    }
    Ok(None)
}

/// Puts a sorted set of these members, each once, in the place of whatever is under the key, and tells the event; removes the key
/// where there are none.
///
/// # Errors
/// Store errors.
pub fn replace(db: &mut Db, at: &KeyAt, members: &[Member], event: &'static str) -> Result<()> {
    if members.is_empty() {
        return db.remove_in_place_of(at, Kind::SortedSet).map(|_| ());
    }
    let old = db.find_in_place_of(at, Kind::SortedSet)?;
    let set = db.replacement(at, old.as_ref(), Kind::SortedSet)?;
    for (member, score) in members {
        let record = db.layout.member(at, &set, member);
        db.layout.write_score(db.transaction, at, &set, member, record, None, Some(*score))?;
    }
    let count = u64::try_from(members.len()).unwrap_or(u64::MAX);
    let set = ranks::grown(db.transaction, db.layout, Collection { count, ..set })?;
    let new = Meta { expire_at_ms: None, body: Body::Collection(set) };
    db.write(at, old.as_ref(), Some(&new))?;
    db.notify(Classes::SORTED_SET, event, at);
    Ok(())
}

/// Hands members drawn at random, each with the same probability, with their scores to `visit`; none where there is no sorted set.
/// What it costs: see [`draw`].
///
/// # Errors
/// See the module, and [`draw::records`].
pub fn random(db: &mut Db, at: &KeyAt, draw: Draw, mut visit: impl FnMut(&Bytes, f64)) -> Result<()> {
    let Some((_, set)) = db.find_counted(at, Kind::SortedSet)? else { return Ok(()) };
    let (layout, records) = (db.layout, db.layout.scores(at, &set, &Cut::Edge, &Cut::Edge));
    let by_rank = |db: &mut Db, rank| ranks::seek(db, at, set, rank, Direction::Forward, 1)?.next(db.transaction);
    let seek: Option<&Seek<'_>> = if set.rank_levels > 0 { Some(&by_rank) } else { None };
    draw::records(db, &Urn { records: &records, total: set.count, only: None, seek }, draw, &mut |record| {
        let (score, member) = layout.decode_scored(record)?;
        visit(&member, score);
        Ok(())
    })
}

/// One step over the members, with their scores: [ZSCAN](https://redis.io/docs/latest/commands/zscan/). Members come in byte order,
/// so that one whose score changes is not met twice or left out.
///
/// # Errors
/// See the module.
pub fn scan(db: &mut Db, positions: &mut Positions, at: &KeyAt, cursor: u64, filter: &Filter) -> Result<Step<Member>> {
    let Some((_, set)) = find(db, at)? else { return Ok(Step::over()) };
    let records = db.layout.members(at, &set);
    let visited = scan::records(db.transaction, positions, &records, cursor, filter.count)?;
    let mut step = Step { elements: Vec::new(), cursor: visited.cursor };
    for Record { key, value, .. } in &visited.elements {
        let member = db.layout.decode_member(key)?;
        if filter.takes(&member)
            && let Some(score) = db.layout.decode_score(&set, key, value)?
        {
            step.elements.push((member, score));
        }
    }
    Ok(step)
}

fn find(db: &mut Db, at: &KeyAt) -> Result<Option<(Meta, Collection)>> {
    db.find_collection(at, Kind::SortedSet)
}

fn score_in(db: &mut Db, at: &KeyAt, set: Collection, member: &[u8]) -> Result<Option<f64>> {
    let record = db.layout.member(at, &set, member);
    score_of(db, &set, &record)
}

/// The score of the member that has that record; `None` where it is not there.
fn score_of(db: &mut Db, set: &Collection, (keyspace, key): &RecordKey) -> Result<Option<f64>> {
    let layout = db.layout;
    let score = db.transaction.look(*keyspace, key, |value| value.map(|value| layout.decode_score(set, key, value)))?;
    Ok(score.transpose()?.flatten())
}

fn scores_in(db: &mut Db, at: &KeyAt, set: Collection, members: &[Bytes]) -> Result<Vec<Option<f64>>> {
    let records: Vec<RecordKey> = members.iter().map(|member| db.layout.member(at, &set, member)).collect();
    let values = db.transaction.get_many(&records)?;
    let decode = |key: &Bytes, value: Option<Bytes>| value.map_or(Ok(None), |value| db.layout.decode_score(&set, key, &value));
    records.iter().zip(values).map(|((_, key), value)| decode(key, value)).collect()
}

/// Removes members that the set has with these scores, and tells the event where there are any. Returns how many.
fn erase(db: &mut Db, at: &KeyAt, (old, set): (&Meta, Collection), members: &[Member], event: &'static str) -> Result<u64> {
    if members.is_empty() {
        return Ok(0);
    }
    for (member, score) in members {
        let record = db.layout.member(at, &set, member);
        db.layout.write_score(db.transaction, at, &set, member, record, Some(*score), None)?;
    }
    let erased = u64::try_from(members.len()).unwrap_or(u64::MAX);
    let new =
        ranks::follow(db, set, set.changed_by(0, erased), || members.iter().map(|(member, score)| (*score, member, false)).collect())?;
    db.notify(Classes::SORTED_SET, event, at);
    db.write_collection(at, Some(old), new)?;
    Ok(erased)
}

/// Stores the head after members have changed: for watchers only where its count is the same.
fn write(db: &mut Db, at: &KeyAt, old: Option<&Meta>, set: Collection) -> Result<()> {
    if old.and_then(Meta::collection) == Some(set) {
        return Ok(db.transaction.touch(at.lock_key())?);
    }
    db.write_collection(at, old, set)
}

/// A number of records as scans expect it.
fn expected(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
