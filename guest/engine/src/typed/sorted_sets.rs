//! Operations on sorted sets, see [`crate::types::sorted_sets`].

use super::{Access, Members, Outcome, Perform, not_nan};
use crate::db::Db;
use crate::error::Result;
use crate::layout::KeyAt;
use crate::scan::{Filter, Positions};
use crate::store::Direction;
use crate::types::draw::Draw;
use crate::types::set_algebra::Operation as Algebra;
use crate::types::sorted_sets::algebra::{self, Aggregate, Source};
use crate::types::sorted_sets::ranges::{self, Range, Selection, copied};
use crate::types::sorted_sets::{self, Condition, Member};
use bytes::Bytes;
use std::ops::Bound;

/// An operation on sorted sets.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// On the sorted set under a key.
    One(Bytes, Action),
    /// What is made of several sets and sorted sets: [`Outcome::Members`].
    Combine(Combination),
    /// How many members all of several sets and sorted sets have, counted up to a limit: [`Outcome::Count`].
    CountCommon(Vec<Bytes>, u64),
}

/// What is done with a sorted set. A NaN is refused.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Gives members their scores: [`Outcome::Added`].
    Add(Vec<(f64, Bytes)>, Condition),
    /// Adds to the score of a member: the sum as [`Outcome::Score`], none where the condition does not allow it.
    Increment(Bytes, f64, Condition),
    /// The score of a member: [`Outcome::Score`].
    Score(Bytes),
    /// The scores of members: [`Outcome::Scores`].
    Scores(Vec<Bytes>),
    /// The rank of a member: [`Outcome::Position`].
    Rank(Bytes, Direction),
    /// How many members there are: [`Outcome::Count`].
    Count,
    /// How many members a range has: [`Outcome::Count`].
    CountRange(Range),
    /// The members of a range: [`Outcome::Members`].
    Range(Selection),
    /// Stores the members of a range of the sorted set under another key: how many, as [`Outcome::Count`].
    StoreRange(Bytes, Selection),
    /// Removes members: how many there were, as [`Outcome::Count`].
    Remove(Vec<Bytes>),
    /// Removes the members of a range: how many, as [`Outcome::Count`].
    RemoveRange(Range),
    /// Removes the first members: the members as [`Outcome::Members`].
    Pop(Direction, u64),
    /// Draws members at random: [`Outcome::Members`].
    Random(Draw),
    /// A step from a cursor on: [`Outcome::ScoredPage`].
    Scan(u64, Filter),
    /// Stores what is made of several sets and sorted sets: how many members it has, as [`Outcome::Count`].
    Store(Combination),
}

/// What is made of several sets and sorted sets; the members of sets have the score 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    /// Which members. A difference has the scores of the first source.
    pub operation: Algebra,
    /// The keys, and what the scores under each are multiplied with.
    pub sources: Vec<(Bytes, f64)>,
    /// How the scores of one member become one.
    pub aggregate: Aggregate,
}

impl Combination {
    fn keys(&self) -> impl Iterator<Item = &Bytes> {
        self.sources.iter().map(|(key, _)| key)
    }

    fn members(&self, db: &mut Db) -> Result<Vec<Member>> {
        not_nan(self.sources.iter().map(|(_, weight)| *weight))?;
        let find = |(key, weight): &(Bytes, f64)| {
            let at = db.own_at(key)?;
            let mut source = Source::find(db, at)?;
            source.weight = *weight;
            Ok(source)
        };
        let sources: Vec<Source> = self.sources.iter().map(find).collect::<Result<_>>()?;
        match self.operation {
            Algebra::Union => algebra::union(db, &sources, self.aggregate),
            Algebra::Intersection => algebra::intersection(db, &sources, self.aggregate),
            Algebra::Difference => algebra::difference(db, &sources),
        }
    }
}

impl Perform for Operation {
    fn access(&self) -> Access {
        match self {
            Self::Combine(_) | Self::CountCommon(..) => Access::Read,
            Self::One(_, action) => match action {
                Action::Score(_)
                | Action::Scores(_)
                | Action::Rank(..)
                | Action::Count
                | Action::CountRange(_)
                | Action::Range(_)
                | Action::Random(_)
                | Action::Scan(..) => Access::Read,
                Action::Add(..)
                | Action::Increment(..)
                | Action::StoreRange(..)
                | Action::Remove(_)
                | Action::RemoveRange(_)
                | Action::Pop(..)
                | Action::Store(_) => Access::Write,
            },
        }
    }

    fn keys(&self) -> Vec<&Bytes> {
        match self {
            Self::One(key, Action::StoreRange(source, _)) => vec![key, source],
            Self::One(key, Action::Store(combination)) => std::iter::once(key).chain(combination.keys()).collect(),
            Self::One(key, _) => vec![key],
            Self::Combine(combination) => combination.keys().collect(),
            Self::CountCommon(sources, _) => sources.iter().collect(),
        }
    }

    fn perform(&self, db: &mut Db, positions: &mut Positions) -> Result<Outcome> {
        match self {
            Self::One(key, action) => {
                let at = db.at(key)?;
                action.perform(db, positions, &at)
            }
            Self::Combine(combination) => Ok(Outcome::Members(combination.members(db)?.into_iter().collect())),
            Self::CountCommon(sources, limit) => {
                let sources = super::places(db, sources)?.into_iter().map(|at| Source::find(db, at)).collect::<Result<Vec<_>>>()?;
                Ok(Outcome::Count(algebra::intersection_len(db, &sources, *limit)?))
            }
        }
    }
}

impl Action {
    fn perform(&self, db: &mut Db, positions: &mut Positions, at: &KeyAt) -> Result<Outcome> {
        let mut members = Members::default();
        Ok(match self {
            Self::Add(pairs, condition) => {
                not_nan(pairs.iter().map(|(score, _)| *score))?;
                Outcome::Added(sorted_sets::add(db, at, pairs, *condition)?)
            }
            Self::Increment(member, by, condition) => {
                not_nan([*by])?;
                Outcome::Score(sorted_sets::increment(db, at, member, *by, *condition)?)
            }
            Self::Score(member) => Outcome::Score(sorted_sets::score(db, at, member)?),
            Self::Scores(members) => Outcome::Scores(sorted_sets::scores(db, at, members)?),
            Self::Rank(member, direction) => Outcome::Position(sorted_sets::rank(db, at, member, *direction)?.map(|(rank, _)| rank)),
            Self::Count => Outcome::Count(sorted_sets::len(db, at)?),
            Self::CountRange(range) => {
                check(range)?;
                Outcome::Count(ranges::count(db, at, range.clone())?)
            }
            Self::Range(selection) => {
                check(&selection.range)?;
                ranges::each(db, at, selection, |some| some.rows().iter().for_each(|(member, score)| members.push(member, *score)))?;
                Outcome::Members(members)
            }
            Self::StoreRange(source, selection) => {
                check(&selection.range)?;
                let source = db.at(source)?;
                let mut selected: Vec<Member> = Vec::new();
                ranges::each(db, &source, selection, |members| selected.extend(members.rows().iter().map(copied)))?;
                store(db, at, &selected, "zrangestore")?
            }
            Self::Remove(members) => Outcome::Count(sorted_sets::remove(db, at, members)?),
            Self::RemoveRange(range) => {
                check(range)?;
                Outcome::Count(ranges::remove(db, at, range.clone())?)
            }
            Self::Pop(direction, count) => Outcome::Members(sorted_sets::pop(db, at, *direction, *count)?.into_iter().collect()),
            Self::Random(draw) => {
                sorted_sets::random(db, at, *draw, |member, score| members.push(member, score))?;
                Outcome::Members(members)
            }
            Self::Scan(cursor, filter) => Outcome::ScoredPage(sorted_sets::scan(db, positions, at, *cursor, filter)?.into()),
            Self::Store(combination) => {
                let members = combination.members(db)?;
                let event = match combination.operation {
                    Algebra::Union => "zunionstore",
                    Algebra::Intersection => "zinterstore",
                    Algebra::Difference => "zdiffstore",
                };
                store(db, at, &members, event)?
            }
        })
    }
}

fn store(db: &mut Db, at: &KeyAt, members: &[Member], event: &'static str) -> Result<Outcome> {
    sorted_sets::replace(db, at, members, event)?;
    Ok(Outcome::Count(u64::try_from(members.len()).unwrap_or(u64::MAX)))
}

/// Refuses bounds that are no numbers.
fn check(range: &Range) -> Result<()> {
    let Range::Scores(min, max) = range else { return Ok(()) };
    not_nan([min, max].into_iter().filter_map(|bound| match bound {
        Bound::Included(score) | Bound::Excluded(score) => Some(*score),
        Bound::Unbounded => None,
    }))
}
