//! Operations on hashes, see [`crate::types::hashes`].

use super::{Access, Blobs, Outcome, Perform, number, text};
use crate::db::Db;
use crate::error::{Result, texts};
use crate::number::LongDouble;
use crate::scan::{Filter, Positions};
use crate::types::draw::Draw;
use crate::types::hashes;
use bytes::Bytes;

/// An operation on the hash under a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The key.
    pub key: Bytes,
    /// What is done.
    pub action: Action,
}

/// What is done with a hash.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// The value of a field: [`Outcome::Value`].
    Get(Bytes),
    /// The values of fields: [`Outcome::Values`].
    GetMany(Vec<Bytes>),
    /// Fields and values, one behind the other, in byte order of the fields: [`Outcome::List`].
    GetAll,
    /// All fields in byte order: [`Outcome::List`].
    Fields,
    /// All values in byte order of their fields: [`Outcome::List`].
    Values,
    /// How many fields there are: [`Outcome::Count`].
    Length,
    /// Whether there is this field: [`Outcome::Flag`].
    Exists(Bytes),
    /// Sets fields: how many are new, as [`Outcome::Count`].
    Set(Vec<(Bytes, Bytes)>),
    /// Sets a field that does not exist: whether it was set, as [`Outcome::Flag`].
    SetIfAbsent(Bytes, Bytes),
    /// Removes fields: how many there were, as [`Outcome::Count`].
    Remove(Vec<Bytes>),
    /// Adds to an integer: the sum as [`Outcome::Integer`].
    Increment(Bytes, i64),
    /// Adds to a number: the sum as [`Outcome::Float`].
    IncrementFloat(Bytes, f64),
    /// Draws fields at random, each with its value behind it: [`Outcome::List`].
    Random(Draw),
    /// A step from a cursor on: [`Outcome::Page`].
    Scan(u64, Filter),
}

impl Perform for Operation {
    fn access(&self) -> Access {
        match self.action {
            Action::Get(_)
            | Action::GetMany(_)
            | Action::GetAll
            | Action::Fields
            | Action::Values
            | Action::Length
            | Action::Exists(_)
            | Action::Random(_)
            | Action::Scan(..) => Access::Read,
            Action::Set(_) | Action::SetIfAbsent(..) | Action::Remove(_) | Action::Increment(..) | Action::IncrementFloat(..) => {
                Access::Write
            }
        }
    }

    fn keys(&self) -> Vec<&Bytes> {
        vec![&self.key]
    }

    fn perform(&self, db: &mut Db, positions: &mut Positions) -> Result<Outcome> {
        let at = db.at(&self.key)?;
        let mut list = Blobs::default();
        Ok(match &self.action {
            Action::Get(field) => Outcome::Value(hashes::get(db, &at, field)?),
            Action::GetMany(fields) => Outcome::Values(hashes::get_many(db, &at, fields)?.into_iter().collect()),
            Action::GetAll | Action::Fields | Action::Values => {
                let (fields, values) = (self.action != Action::Values, self.action != Action::Fields);
                hashes::each(db, &at, |field, value| {
                    if fields {
                        list.push(field);
                    }
                    if values {
                        list.push(value);
                    }
                })?;
                Outcome::List(list)
            }
            Action::Length => Outcome::Count(hashes::len(db, &at)?),
            Action::Exists(field) => Outcome::Flag(hashes::get(db, &at, field)?.is_some()),
            Action::Set(pairs) => Outcome::Count(hashes::set(db, &at, pairs.iter().map(|(field, value)| (field, value)))?),
            Action::SetIfAbsent(field, value) => Outcome::Flag(hashes::set_new(db, &at, field, value)?),
            Action::Remove(fields) => Outcome::Count(hashes::remove(db, &at, fields)?),
            Action::Increment(field, by) => Outcome::Integer(hashes::add_integer(db, &at, field, *by)?),
            Action::IncrementFloat(field, by) => {
                let by = LongDouble::parse(text(*by).as_bytes()).ok_or(texts::NOT_A_FLOAT)?;
                Outcome::Float(number(&hashes::add_float(db, &at, field, by)?)?)
            }
            Action::Random(draw) => {
                hashes::random(db, &at, *draw, |field, value| {
                    list.push(field);
                    list.push(value);
                })?;
                Outcome::List(list)
            }
            Action::Scan(cursor, filter) => Outcome::Page(hashes::scan(db, positions, &at, *cursor, filter)?.into()),
        })
    }
}
