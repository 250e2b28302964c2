//! Unions, intersections and differences of sorted sets and sets; a set's members have the score 1.
//!
//! Results are in the order of a sorted set. A union and a difference hold all their members in memory, an intersection reads the
//! smallest source and looks the members up in the others. All functions fail with store errors and corrupt records.

use super::Member;
use crate::db::Db;
use crate::error::{Result, texts};
use crate::layout::records::Record;
use crate::layout::{Collection, KeyAt, Kind, Meta, RecordKey};
use crate::store::Direction;
use bytes::Bytes;
use std::collections::BTreeMap;

/// Members that are looked up in one read.
const LOOK_UP: usize = 256;

/// A source: the key with what is under it, and what its scores are multiplied with.
#[derive(Clone, Debug)]
pub struct Source {
    at: KeyAt,
    collection: Option<Collection>,
    /// A number, infinities included. Differences do without.
    pub weight: f64,
}

/// How the scores of a member that several sources have become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aggregate {
    /// Their sum; 0 where it is no number.
    #[default]
    Sum,
    /// The least one.
    Min,
    /// The greatest one.
    Max,
}

impl Aggregate {
    fn of(self, score: f64, other: f64) -> f64 {
        match self {
            Self::Sum => or_zero(score + other),
            Self::Min if other < score => other,
            Self::Max if other > score => other,
            Self::Min | Self::Max => score,
        }
    }
}

impl Source {
    /// The source under a key, with the weight 1; an empty one where there is no key.
    ///
    /// # Errors
    /// WRONGTYPE where the key holds neither a set nor a sorted set.
    pub fn find(db: &mut Db, at: KeyAt) -> Result<Self> {
        let collection = match Self::meta(db, &at)? {
            None => {
                db.notify_miss(&at);
                None
            }
            Some(meta) => {
                let collection = meta.collection().filter(|found| matches!(found.kind, Kind::Set | Kind::SortedSet));
                Some(collection.ok_or(texts::WRONG_TYPE)?)
            }
        };
        Ok(Self { at, collection, weight: 1.0 })
    }

    /// A sorted set, or a set: it may be under the key beside it.
    fn meta(db: &mut Db, at: &KeyAt) -> Result<Option<Meta>> {
        match db.find_in_place_of(at, Kind::SortedSet)? {
            None if !db.layout.namespaces().is_empty() => db.find_in_place_of(at, Kind::Set),
            found => Ok(found),
        }
    }

    fn len(&self) -> u64 {
        self.collection.map_or(0, |collection| collection.count)
    }

    /// Hands every member with its score to `visit`, in byte order of the members, until it returns false.
    fn each(&self, db: &mut Db, mut visit: impl FnMut(&mut Db, Bytes, f64) -> Result<bool>) -> Result<()> {
        let Some(collection) = self.collection else { return Ok(()) };
        let mut walk = db.layout.members(&self.at, &collection).walk(Direction::Forward, super::expected(collection.count));
        while let Some(Record { key, value, .. }) = walk.next(db.transaction)? {
            let Some(score) = score(db, &collection, &key, &value)? else { continue };
            let member = db.layout.decode_member(&key)?;
            if !visit(db, member, score)? {
                break;
            }
        }
        Ok(())
    }

    /// The scores of members in one read; `None` for what is no member.
    fn scores(&self, db: &mut Db, members: &[Bytes]) -> Result<Vec<Option<f64>>> {
        let Some(collection) = self.collection else { return Ok(vec![None; members.len()]) };
        let records: Vec<RecordKey> = members.iter().map(|member| db.layout.member(&self.at, &collection, member)).collect();
        let values = db.transaction.get_many(&records)?;
        let decode = |key: &Bytes, value: Option<Bytes>| value.map_or(Ok(None), |value| score(db, &collection, key, &value));
        records.iter().zip(values).map(|((_, key), value)| decode(key, value)).collect()
    }
}

/// The members of any source, in the order of a sorted set.
///
/// # Errors
/// See the module.
pub fn union(db: &mut Db, sources: &[Source], aggregate: Aggregate) -> Result<Vec<Member>> {
    let mut members: BTreeMap<Bytes, f64> = BTreeMap::new();
    for source in by_size(sources) {
        source.each(db, |_, member, score| {
            let score = or_zero(score * source.weight);
            members.entry(member).and_modify(|sum| *sum = aggregate.of(*sum, score)).or_insert(score);
            Ok(true)
        })?;
    }
    Ok(ordered(members.into_iter().collect()))
}

/// The members that all sources have, in the order of a sorted set.
///
/// # Errors
/// See the module.
pub fn intersection(db: &mut Db, sources: &[Source], aggregate: Aggregate) -> Result<Vec<Member>> {
    let mut members = Vec::new();
    each_common(db, sources, aggregate, |member, score| {
        members.push((member, score));
        true
    })?;
    Ok(ordered(members))
}

/// How many members all sources have, counted up to `limit`.
///
/// # Errors
/// See the module.
pub fn intersection_len(db: &mut Db, sources: &[Source], limit: u64) -> Result<u64> {
    let mut count = 0;
    each_common(db, sources, Aggregate::Sum, |_, _| {
        count += 1;
        count < limit
    })?;
    Ok(count)
}

/// The members of the first source that no other has, with their scores, in the order of a sorted set.
///
/// # Errors
/// See the module.
pub fn difference(db: &mut Db, sources: &[Source]) -> Result<Vec<Member>> {
    let Some((first, others)) = sources.split_first() else { return Ok(Vec::new()) };
    let mut members = Vec::new();
    in_blocks(db, first, |db, mut block| {
        for other in others {
            let names: Vec<Bytes> = block.iter().map(|(member, _)| member.clone()).collect();
            let mut scores = other.scores(db, &names)?.into_iter();
            block.retain(|_| scores.next().flatten().is_none());
        }
        members.append(&mut block);
        Ok(true)
    })?;
    Ok(ordered(members))
}

/// Hands the members that all sources have to `visit`, until it returns false.
fn each_common(db: &mut Db, sources: &[Source], aggregate: Aggregate, mut visit: impl FnMut(Bytes, f64) -> bool) -> Result<()> {
    let sources = by_size(sources);
    let Some((first, others)) = sources.split_first() else { return Ok(()) };
    in_blocks(db, first, |db, mut block| {
        block.iter_mut().for_each(|(_, score)| *score = or_zero(*score * first.weight));
        for other in others {
            let names: Vec<Bytes> = block.iter().map(|(member, _)| member.clone()).collect();
            let scores = other.scores(db, &names)?;
            let both = block.into_iter().zip(scores).filter_map(|((member, sum), score)| {
                let score = score? * other.weight;
                Some((member, aggregate.of(sum, score)))
            });
            block = both.collect();
        }
        Ok(block.into_iter().all(|(member, score)| visit(member, score)))
    })
}

/// Hands the members of a source with their scores to `visit`, some at a time, until it returns false.
fn in_blocks(db: &mut Db, source: &Source, mut visit: impl FnMut(&mut Db, Vec<Member>) -> Result<bool>) -> Result<()> {
    let mut block = Vec::new();
    let mut goes_on = true;
    source.each(db, |db, member, score| {
        block.push((member, score));
        if block.len() == LOOK_UP {
            goes_on = visit(db, std::mem::take(&mut block))?;
        }
        Ok(goes_on)
    })?;
    if goes_on {
        visit(db, block)?;
    }
    Ok(())
}

/// Smaller sources first, as Redis takes them: the order shows in sums of floating point numbers.
fn by_size(sources: &[Source]) -> Vec<&Source> {
    let mut sources: Vec<&Source> = sources.iter().collect();
    sources.sort_by_key(|source| source.len());
    sources
}

/// Members in byte order, brought into the order of a sorted set.
fn ordered(mut members: Vec<Member>) -> Vec<Member> {
    // No score is NaN. Members of sets do not come in byte order in every layout.
    members.sort_by(|left, right| left.1.partial_cmp(&right.1).unwrap_or(std::cmp::Ordering::Equal).then_with(|| left.0.cmp(&right.0)));
    members
}

/// Infinities may cancel out, and vanish with the weight 0: what is no number counts as 0.
fn or_zero(score: f64) -> f64 {
    if score.is_nan() { 0.0 } else { score }
}

fn score(db: &Db, collection: &Collection, key: &Bytes, value: &Bytes) -> Result<Option<f64>> {
    let score = db.layout.decode_score(collection, key, value)?;
    Ok(if collection.kind == Kind::Set { score.map(|_| 1.0) } else { score })
}
