//! Operations on lists, see [`crate::types::lists`].

use super::{Access, Blobs, Outcome, Perform};
use crate::db::Db;
use crate::error::Result;
use crate::scan::Positions;
use crate::types::lists::{self, End, Insertion, Search, Side};
use bytes::Bytes;

/// An operation on the list under a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// The key.
    pub key: Bytes,
    /// What is done.
    pub action: Action,
}

/// What is done with a list.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Appends elements at an end: the length as [`Outcome::Count`].
    Push(End, Vec<Bytes>),
    /// The same where there is a list; its length, 0 where there is none, as [`Outcome::Count`].
    PushToExisting(End, Vec<Bytes>),
    /// Removes elements from an end: the elements as [`Outcome::List`].
    Pop(End, u64),
    /// How many elements there are: [`Outcome::Count`].
    Length,
    /// The element at a position: [`Outcome::Value`].
    Get(i64),
    /// The elements from one position to another: [`Outcome::List`].
    Range(i64, i64),
    /// Replaces the element at a position: [`Outcome::Done`].
    Set(i64, Bytes),
    /// Inserts an element beside the first one that equals the pivot: the length as [`Outcome::Position`], none where there is no
    /// pivot.
    Insert {
        /// On which side of the pivot.
        side: Side,
        /// Beside what.
        pivot: Bytes,
        /// What is inserted.
        element: Bytes,
    },
    /// Removes elements that equal one: how many, as [`Outcome::Count`].
    Remove {
        /// Equal to what.
        element: Bytes,
        /// Where the search begins.
        from: End,
        /// How many at most.
        most: u64,
    },
    /// Keeps the elements from one position to another: [`Outcome::Done`].
    Trim(i64, i64),
    /// Where the elements are that equal one: [`Outcome::Positions`].
    Find(Bytes, Search),
    /// Moves the element at one end to an end of the list under another key, or the same: the element as [`Outcome::Value`].
    Move {
        /// From which end.
        from_end: End,
        /// To the list under which key.
        to: Bytes,
        /// To which end of it.
        to_end: End,
    },
}

impl Perform for Operation {
    fn access(&self) -> Access {
        match self.action {
            Action::Length | Action::Get(_) | Action::Range(..) | Action::Find(..) => Access::Read,
            Action::Push(..)
            | Action::PushToExisting(..)
            | Action::Pop(..)
            | Action::Set(..)
            | Action::Insert { .. }
            | Action::Remove { .. }
            | Action::Trim(..)
            | Action::Move { .. } => Access::Write,
        }
    }

    fn keys(&self) -> Vec<&Bytes> {
        match &self.action {
            Action::Move { to, .. } => vec![&self.key, to],
            _ => vec![&self.key],
        }
    }

    fn perform(&self, db: &mut Db, _positions: &mut Positions) -> Result<Outcome> {
        let at = db.at(&self.key)?;
        Ok(match &self.action {
            Action::Push(end, elements) => Outcome::Count(lists::push(db, &at, *end, elements)?),
            Action::PushToExisting(end, elements) => Outcome::Count(lists::push_to_existing(db, &at, *end, elements)?),
            Action::Pop(end, count) => Outcome::List(lists::pop(db, &at, *end, *count)?.unwrap_or_default().into_iter().collect()),
            Action::Length => Outcome::Count(lists::len(db, &at)?),
            Action::Get(position) => Outcome::Value(lists::get(db, &at, *position)?),
            Action::Range(start, stop) => {
                let mut list = Blobs::default();
                lists::each(db, &at, *start, *stop, |elements| elements.rows().iter().for_each(|element| list.push(element)))?;
                Outcome::List(list)
            }
            Action::Set(position, element) => Outcome::Done(lists::set(db, &at, *position, element.clone())?),
            Action::Insert { side, pivot, element } => Outcome::Position(match lists::insert(db, &at, *side, pivot, element.clone())? {
                Insertion::Done(length) => Some(length),
                Insertion::NoPivot | Insertion::NoList => None,
            }),
            Action::Remove { element, from, most } => Outcome::Count(lists::remove(db, &at, element, *from, *most)?),
            Action::Trim(start, stop) => Outcome::Done(lists::trim(db, &at, *start, *stop)?),
            Action::Find(element, search) => Outcome::Positions(lists::positions(db, &at, element, *search)?),
            Action::Move { from_end, to, to_end } => {
                let to = db.at(to)?;
                Outcome::Value(lists::transfer(db, (&at, *from_end), (&to, *to_end))?)
            }
        })
    }
}
