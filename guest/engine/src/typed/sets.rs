//! Operations on sets, see [`crate::types::sets`] and [`crate::types::set_algebra`].

use super::{Access, Blobs, Outcome, Perform};
use crate::db::Db;
use crate::error::Result;
use crate::layout::KeyAt;
use crate::scan::{Filter, Positions};
use crate::types::draw::Draw;
use crate::types::set_algebra::{self, Operation as Algebra};
use crate::types::sets;
use bytes::Bytes;

/// An operation on sets.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// On the set under a key.
    One(Bytes, Action),
    /// What is made of the sets under several keys, in byte order: [`Outcome::List`].
    Combine(Algebra, Vec<Bytes>),
    /// How many members all of them have, counted up to a limit: [`Outcome::Count`].
    CountCommon(Vec<Bytes>, u64),
}

/// What is done with a set.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Adds members: how many are new, as [`Outcome::Count`].
    Add(Vec<Bytes>),
    /// Removes members: how many there were, as [`Outcome::Count`].
    Remove(Vec<Bytes>),
    /// Whether there is this member: [`Outcome::Flag`].
    Contains(Bytes),
    /// Which of these members there are: [`Outcome::Flags`].
    ContainsMany(Vec<Bytes>),
    /// All members in byte order: [`Outcome::List`].
    Members,
    /// How many members there are: [`Outcome::Count`].
    Count,
    /// Removes members drawn at random: the members as [`Outcome::List`].
    Pop(u64),
    /// Draws members at random: [`Outcome::List`].
    Random(Draw),
    /// A step from a cursor on: [`Outcome::Page`].
    Scan(u64, Filter),
    /// Moves a member to the set under another key: whether it was there, as [`Outcome::Flag`].
    Move(Bytes, Bytes),
    /// Stores what is made of the sets under several keys: how many members it has, as [`Outcome::Count`].
    Store(Algebra, Vec<Bytes>),
}

impl Perform for Operation {
    fn access(&self) -> Access {
        match self {
            Self::Combine(..) | Self::CountCommon(..) => Access::Read,
            Self::One(_, action) => match action {
                Action::Contains(_) | Action::ContainsMany(_) | Action::Members | Action::Count | Action::Random(_) | Action::Scan(..) => {
                    Access::Read
                }
                Action::Add(_) | Action::Remove(_) | Action::Pop(_) | Action::Move(..) | Action::Store(..) => Access::Write,
            },
        }
    }

    fn keys(&self) -> Vec<&Bytes> {
        match self {
            Self::One(key, Action::Move(to, _)) => vec![key, to],
            Self::One(key, Action::Store(_, sources)) => std::iter::once(key).chain(sources).collect(),
            Self::One(key, _) => vec![key],
            Self::Combine(_, sources) | Self::CountCommon(sources, _) => sources.iter().collect(),
        }
    }

    fn perform(&self, db: &mut Db, positions: &mut Positions) -> Result<Outcome> {
        match self {
            Self::One(key, action) => {
                let at = db.at(key)?;
                action.perform(db, positions, &at)
            }
            Self::Combine(operation, sources) => {
                let sources = super::places(db, sources)?;
                let mut members = set_algebra::Members::new(db, *operation, &sources)?;
                let mut list = Blobs::default();
                while let Some(member) = members.next(db)? {
                    list.push(&member);
                }
                Ok(Outcome::List(list))
            }
            Self::CountCommon(sources, limit) => {
                let sources = super::places(db, sources)?;
                Ok(Outcome::Count(set_algebra::intersection_len(db, &sources, *limit)?))
            }
        }
    }
}

impl Action {
    fn perform(&self, db: &mut Db, positions: &mut Positions, at: &KeyAt) -> Result<Outcome> {
        let mut list = Blobs::default();
        Ok(match self {
            Self::Add(members) => Outcome::Count(sets::add(db, at, members)?),
            Self::Remove(members) => Outcome::Count(sets::remove(db, at, members)?),
            Self::Contains(member) => Outcome::Flag(sets::has(db, at, member)?),
            Self::ContainsMany(members) => Outcome::Flags(sets::contains(db, at, members)?),
            Self::Members => {
                sets::each(db, at, &mut |members| members.rows().iter().for_each(|member| list.push(member)))?;
                Outcome::List(list)
            }
            Self::Count => Outcome::Count(sets::len(db, at)?),
            Self::Pop(count) => {
                sets::pop(db, at, *count, &mut |members| members.rows().iter().for_each(|member| list.push(member)))?;
                Outcome::List(list)
            }
            Self::Random(draw) => {
                sets::random(db, at, *draw, |member| list.push(member))?;
                Outcome::List(list)
            }
            Self::Scan(cursor, filter) => Outcome::Page(sets::scan(db, positions, at, *cursor, filter)?.into()),
            Self::Move(to, member) => {
                let to = db.at(to)?;
                Outcome::Flag(sets::move_member(db, at, &to, member)?)
            }
            Self::Store(operation, sources) => {
                let sources = super::places(db, sources)?;
                Outcome::Count(set_algebra::store(db, *operation, at, &sources)?)
            }
        })
    }
}
