//! `sorted-sets`.

use super::{answers, perform, strings_of};
use crate::bindings::exports::orbweaver::engine::sorted_sets::{self as wit, Draw, Error, Filter, Guest};
use crate::exports::Orbweaver;
use bytes::Bytes;
use orbweaver_engine::store::Direction;
use orbweaver_engine::typed;
use orbweaver_engine::typed::sorted_sets::{Action, Combination, Operation};
use orbweaver_engine::types::sorted_sets::algebra::Aggregate;
use orbweaver_engine::types::sorted_sets::ranges::{MemberBound, Range, Selection};
use orbweaver_engine::types::sorted_sets::{Added, Condition, Members, Scores};
use std::ops::Bound;

answers! {
    Added => wit::Added: wit::Added::from,
    typed::Members => wit::Scored: wit::Scored::from,
    typed::ScoredPage => wit::ScoredPage: |page: typed::ScoredPage| wit::ScoredPage { elements: page.members.into(), cursor: page.cursor },
}

impl From<Added> for wit::Added {
    fn from(done: Added) -> Self {
        Self { added: done.added, updated: done.updated }
    }
}

impl From<typed::Members> for wit::Scored {
    fn from(members: typed::Members) -> Self {
        Self { members: members.members.into(), scores: members.scores }
    }
}

impl From<wit::Update> for Condition {
    fn from(update: wit::Update) -> Self {
        let members = match update.which {
            wit::Which::Any => Members::Any,
            wit::Which::New => Members::New,
            wit::Which::Existing => Members::Existing,
        };
        let scores = match update.comparison {
            wit::Comparison::Any => Scores::Any,
            wit::Comparison::Greater => Scores::Greater,
            wit::Comparison::Less => Scores::Less,
        };
        Self { members, scores }
    }
}

impl From<wit::Direction> for Direction {
    fn from(direction: wit::Direction) -> Self {
        match direction {
            wit::Direction::Ascending => Self::Forward,
            wit::Direction::Descending => Self::Reverse,
        }
    }
}

fn score_bound(bound: wit::ScoreBound) -> Bound<f64> {
    match bound {
        wit::ScoreBound::Unbounded => Bound::Unbounded,
        wit::ScoreBound::Inclusive(score) => Bound::Included(score),
        wit::ScoreBound::Exclusive(score) => Bound::Excluded(score),
    }
}

fn member_bound(bound: wit::MemberBound, unbounded: MemberBound) -> MemberBound {
    match bound {
        wit::MemberBound::Unbounded => unbounded,
        wit::MemberBound::Inclusive(member) => MemberBound::Included(member.into()),
        wit::MemberBound::Exclusive(member) => MemberBound::Excluded(member.into()),
    }
}

impl From<wit::MemberRange> for Range {
    fn from(range: wit::MemberRange) -> Self {
        match range {
            wit::MemberRange::Ranks((first, last)) => Self::Ranks(first, last),
            wit::MemberRange::Scores((min, max)) => Self::Scores(score_bound(min), score_bound(max)),
            wit::MemberRange::Members((min, max)) => {
                Self::Members(member_bound(min, MemberBound::Lowest), member_bound(max, MemberBound::Highest))
            }
        }
    }
}

impl From<wit::Selection> for Selection {
    fn from(selection: wit::Selection) -> Self {
        let wit::Selection { range, direction, offset, limit } = selection;
        Self { range: range.into(), direction: direction.into(), offset, limit: limit.unwrap_or(u64::MAX) }
    }
}

impl From<wit::Combination> for Combination {
    fn from(combination: wit::Combination) -> Self {
        let aggregate = match combination.aggregate {
            wit::Aggregate::Sum => Aggregate::Sum,
            wit::Aggregate::Min => Aggregate::Min,
            wit::Aggregate::Max => Aggregate::Max,
        };
        let sources = combination.sources.into_iter().map(|(key, weight)| (key.into(), weight)).collect();
        Self { operation: combination.algebra.into(), sources, aggregate }
    }
}

/// An operation on one sorted set.
pub(super) fn on(key: Vec<u8>, action: Action) -> Operation {
    Operation::One(key.into(), action)
}

/// Scores, each with its member.
pub(super) fn scored(list: Vec<(f64, Vec<u8>)>) -> Vec<(f64, Bytes)> {
    list.into_iter().map(|(score, member)| (score, member.into())).collect()
}

impl Guest for Orbweaver {
    fn add(db: u32, key: Vec<u8>, pairs: Vec<(f64, Vec<u8>)>, update: wit::Update) -> Result<wit::Added, Error> {
        perform(db, on(key, Action::Add(scored(pairs), update.into())))
    }

    fn increment(db: u32, key: Vec<u8>, member: Vec<u8>, by: f64, update: wit::Update) -> Result<Option<f64>, Error> {
        perform(db, on(key, Action::Increment(member.into(), by, update.into())))
    }

    fn score(db: u32, key: Vec<u8>, member: Vec<u8>) -> Result<Option<f64>, Error> {
        perform(db, on(key, Action::Score(member.into())))
    }

    fn scores(db: u32, key: Vec<u8>, members: Vec<Vec<u8>>) -> Result<Vec<Option<f64>>, Error> {
        perform(db, on(key, Action::Scores(strings_of(members))))
    }

    fn rank(db: u32, key: Vec<u8>, member: Vec<u8>, direction: wit::Direction) -> Result<Option<u64>, Error> {
        perform(db, on(key, Action::Rank(member.into(), direction.into())))
    }

    fn count(db: u32, key: Vec<u8>) -> Result<u64, Error> {
        perform(db, on(key, Action::Count))
    }

    fn count_range(db: u32, key: Vec<u8>, range: wit::MemberRange) -> Result<u64, Error> {
        perform(db, on(key, Action::CountRange(range.into())))
    }

    fn range(db: u32, key: Vec<u8>, selection: wit::Selection) -> Result<wit::Scored, Error> {
        perform(db, on(key, Action::Range(selection.into())))
    }

    fn range_to(db: u32, destination: Vec<u8>, key: Vec<u8>, selection: wit::Selection) -> Result<u64, Error> {
        perform(db, on(destination, Action::StoreRange(key.into(), selection.into())))
    }

    fn remove(db: u32, key: Vec<u8>, members: Vec<Vec<u8>>) -> Result<u64, Error> {
        perform(db, on(key, Action::Remove(strings_of(members))))
    }

    fn remove_range(db: u32, key: Vec<u8>, range: wit::MemberRange) -> Result<u64, Error> {
        perform(db, on(key, Action::RemoveRange(range.into())))
    }

    fn pop(db: u32, key: Vec<u8>, direction: wit::Direction, count: u64) -> Result<wit::Scored, Error> {
        perform(db, on(key, Action::Pop(direction.into(), count)))
    }

    fn random(db: u32, key: Vec<u8>, draw: Draw) -> Result<wit::Scored, Error> {
        perform(db, on(key, Action::Random(draw.into())))
    }

    fn scan(db: u32, key: Vec<u8>, cursor: u64, filter: Filter) -> Result<wit::ScoredPage, Error> {
        perform(db, on(key, Action::Scan(cursor, filter.into())))
    }

    fn combine(db: u32, combination: wit::Combination) -> Result<wit::Scored, Error> {
        perform(db, Operation::Combine(combination.into()))
    }

    fn combine_to(db: u32, destination: Vec<u8>, combination: wit::Combination) -> Result<u64, Error> {
        perform(db, on(destination, Action::Store(combination.into())))
    }

    fn count_common(db: u32, keys: Vec<Vec<u8>>, limit: Option<u64>) -> Result<u64, Error> {
        perform(db, Operation::CountCommon(strings_of(keys), limit.unwrap_or(u64::MAX)))
    }
}
