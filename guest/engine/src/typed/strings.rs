//! Operations on strings, see [`crate::types::strings`].

use super::{Access, Outcome, Perform, number, text};
use crate::db::Db;
use crate::error::Result;
use crate::layout::KeyAt;
use crate::scan::Positions;
use crate::types::strings::{self, Comparison, Condition, Expiry};
use bytes::Bytes;

/// An operation on strings.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// On the string under a key.
    One(Bytes, Action),
    /// The strings under keys, none for a key of another type: [`Outcome::Values`].
    GetMany(Vec<Bytes>),
    /// Stores strings where the condition holds for all of their keys: whether it did, as [`Outcome::Flag`].
    SetMany(Vec<(Bytes, Bytes)>, Condition),
}

/// What is done with a string.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// The value: [`Outcome::Value`].
    Get,
    /// Stores a value: whether the condition held, as [`Outcome::Flag`].
    Set(Bytes, Condition, Expiry),
    /// Stores a value: the one before as [`Outcome::Value`].
    GetAndSet(Bytes, Condition, Expiry),
    /// Removes the string: its value as [`Outcome::Value`].
    Take,
    /// Puts the second in the place of the first: whether it was there, as [`Outcome::Flag`].
    CompareAndSet(Option<Bytes>, Option<Bytes>),
    /// Adds bytes at the end: the length as [`Outcome::Count`].
    Append(Bytes),
    /// How many bytes: [`Outcome::Count`].
    Length,
    /// The bytes from one position to another: [`Outcome::Value`].
    Range(i64, i64),
    /// Writes over the bytes from an offset on: the length as [`Outcome::Count`].
    SetRange(u64, Bytes),
    /// Adds to an integer: the sum as [`Outcome::Integer`].
    Increment(i64),
    /// Adds to a number: the sum as [`Outcome::Float`].
    IncrementFloat(f64),
}

impl Perform for Operation {
    fn access(&self) -> Access {
        match self {
            Self::GetMany(_) | Self::One(_, Action::Get | Action::Length | Action::Range(..)) => Access::Read,
            Self::One(..) | Self::SetMany(..) => Access::Write,
        }
    }

    fn keys(&self) -> Vec<&Bytes> {
        match self {
            Self::One(key, _) => vec![key],
            Self::GetMany(keys) => keys.iter().collect(),
            Self::SetMany(pairs, _) => pairs.iter().map(|(key, _)| key).collect(),
        }
    }

    fn perform(&self, db: &mut Db, _positions: &mut Positions) -> Result<Outcome> {
        match self {
            Self::One(key, action) => {
                let at = db.at(key)?;
                action.perform(db, &at)
            }
            Self::GetMany(keys) => {
                let places = super::places(db, keys)?;
                let values = places.iter().map(|at| strings::get_if_string(db, at));
                Ok(Outcome::Values(values.collect::<Result<_>>()?))
            }
            Self::SetMany(pairs, condition) => {
                let place = |(key, value): &(Bytes, Bytes)| Ok((db.own_at(key)?, value.clone()));
                let pairs = pairs.iter().map(place).collect::<Result<Vec<(KeyAt, Bytes)>>>()?;
                Ok(Outcome::Flag(strings::set_many(db, &pairs, *condition)?))
            }
        }
    }
}

impl Action {
    fn perform(&self, db: &mut Db, at: &KeyAt) -> Result<Outcome> {
        Ok(match self {
            Self::Get => Outcome::Value(strings::get(db, at)?),
            Self::Set(value, condition, expiry) => Outcome::Flag(strings::set(db, at, value.clone(), *condition, *expiry)?),
            Self::GetAndSet(value, condition, expiry) => Outcome::Value(strings::get_and_set(db, at, value.clone(), *condition, *expiry)?),
            Self::Take => Outcome::Value(strings::take(db, at)?),
            Self::CompareAndSet(expected, new) => Outcome::Flag(compare_and_set(db, at, expected.as_deref(), new.clone())?),
            Self::Append(tail) => length(strings::append(db, at, tail)?),
            Self::Length => length(strings::get(db, at)?.map_or(0, |value| value.len())),
            Self::Range(start, end) => Outcome::Value(strings::get(db, at)?.map(|value| strings::range(&value, *start, *end))),
            Self::SetRange(offset, patch) => length(strings::set_range(db, at, *offset, patch)?),
            Self::Increment(by) => Outcome::Integer(strings::add(db, at, *by)?),
            Self::IncrementFloat(by) => Outcome::Float(number(&strings::add_float(db, at, text(*by).as_bytes())?)?),
        })
    }
}

fn length(length: usize) -> Outcome {
    Outcome::Count(u64::try_from(length).unwrap_or(u64::MAX))
}

/// Puts `new` in the place of `expected`; none stands for an absent key on both sides. The expiry stays.
fn compare_and_set(db: &mut Db, at: &KeyAt, expected: Option<&[u8]>, new: Option<Bytes>) -> Result<bool> {
    Ok(match (expected, new) {
        (Some(expected), Some(new)) => strings::compare_and_set(db, at, expected, new, Expiry::Keep)? == Comparison::Equal,
        (Some(expected), None) => strings::compare_and_remove(db, at, expected)? == Comparison::Equal,
        (None, new) => {
            let is_absent = strings::get(db, at)?.is_none();
            if let Some(new) = new.filter(|_| is_absent) {
                strings::set(db, at, new, Condition::Always, Expiry::Never)?;
            }
            is_absent
        }
    })
}
