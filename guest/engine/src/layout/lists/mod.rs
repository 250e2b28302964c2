//! Lists: the algorithms behind the formats. An *array* has its elements at indexes without gaps between two ends, a *linked* list
//! knows its neighbours, a *spread* one has gaps and indexes between indexes. Each is one file behind [`ListAlgorithm`].
//!
//! A *rank* is the distance from the head, from 0 on. The functions take a list's head and return the changed one; to store it is
//! the caller's business.

mod array;
mod linked;
mod spread;

pub use array::{ArrayRecords, Elements, Moves, pushed};
pub use linked::{Linked, LinkedRecords, NO_HEAD, Node};
pub use spread::{Spread, SpreadRecords};

use super::{Collection, KeyAt, RecordKey};
use crate::error::{Error, Result};
use crate::layout::lots::Lot;
use crate::store::Direction;
use crate::transaction::Transaction;
use bytes::Bytes;
use std::ops::Range;

/// No room is left at an end.
pub const INDEX_OVERFLOW: Error = Error::client("ERR list index overflow");

/// Where a list's elements are, as far as its head says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListHead {
    /// Not a list.
    None,
    /// At `head` and the indexes that follow.
    Array {
        /// Index of the first element.
        head: u64,
    },
    /// In nodes that know their neighbours; 0 is no node.
    Linked {
        /// The first node.
        left: u64,
        /// The last one.
        right: u64,
        /// The number of the next node that is made.
        next: u64,
    },
    /// At indexes from `first` to `last`, of which not all are used.
    Spread {
        /// Not above the first index in use.
        first: Index,
        /// Not below the last index in use.
        last: Index,
        /// The indexes are integers without a gap: `first` is the first one.
        is_sequential: bool,
    },
}

impl ListHead {
    /// The index of the first element of an array; 0 for what is none.
    #[must_use]
    pub const fn first_index(self) -> u64 {
        match self {
            Self::Array { head } => head,
            _ => 0,
        }
    }
}

/// The index of an element in a list that is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// An integer.
    Integer(i64),
    /// The bits of a double: between two others.
    Float(u64),
}

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The first element's, LEFT in Redis.
    Head,
    /// The last element's, RIGHT in Redis.
    Tail,
}

/// A side of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Nearer to the head.
    Before,
    /// Nearer to the tail.
    After,
}

/// What lists do with their records. Ranks that are given are those of elements that the list has. All functions fail with
/// store errors and corrupt records; those that add fail with [`INDEX_OVERFLOW`] where an end has no room left.
pub trait ListAlgorithm {
    /// What the head of a list says that is made by appending, before it has an element.
    fn empty(&self) -> ListHead;

    /// The element at a rank.
    ///
    /// # Errors
    /// See the trait.
    fn get(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, rank: u64) -> Result<Bytes>;

    /// The record of the element at a rank, where the head of the list tells it.
    fn record(&self, _at: &KeyAt, _list: &Collection, _rank: u64) -> Option<RecordKey> {
        None
    }

    /// Replaces the element at a rank.
    ///
    /// # Errors
    /// See the trait.
    fn put(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, rank: u64, element: Bytes) -> Result<()>;

    /// Adds an element at an end, and to what the head says.
    ///
    /// # Errors
    /// See the trait; the head then says what it did.
    fn push(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &mut Collection, end: End, element: Bytes) -> Result<()>;

    /// Removes all elements but those at `ranks`, which may be none.
    ///
    /// # Errors
    /// See the trait.
    fn keep(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, ranks: Range<u64>) -> Result<Collection>;

    /// Puts an element beside the one at the rank `pivot`.
    ///
    /// # Errors
    /// See the trait.
    fn insert(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        list: &Collection,
        pivot: u64,
        side: Side,
        element: Bytes,
    ) -> Result<Collection>;

    /// Removes the elements at these ranks, which are sorted and not none.
    ///
    /// # Errors
    /// See the trait.
    fn remove(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, ranks: &[u64]) -> Result<Collection>;

    /// A walk over the elements at `ranks`, of which about `expected` will be read. The elements passed may be changed on the way.
    ///
    /// # Errors
    /// See the trait.
    fn walk<'l>(
        &'l self,
        at: &KeyAt,
        list: &Collection,
        ranks: Range<u64>,
        direction: Direction,
        expected: u64,
    ) -> Result<Box<dyn ListWalk + 'l>>;

    /// Hands the elements at `ranks` to `visit`, in their order, some at a time.
    ///
    /// # Errors
    /// See the trait.
    fn each(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        list: &Collection,
        ranks: Range<u64>,
        visit: &mut dyn FnMut(Lot<'_, '_, &[u8]>),
    ) -> Result<()> {
        let expected = ranks.end.saturating_sub(ranks.start);
        let mut walk = self.walk(at, list, ranks, Direction::Forward, expected)?;
        while let Some((_, element)) = walk.next(transaction)? {
            visit(Lot::Rows(&[&element]));
        }
        Ok(())
    }
}

/// See [`ListAlgorithm::walk`].
pub trait ListWalk {
    /// The next element with its rank; `None` behind the last one.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    fn next(&mut self, transaction: &mut Transaction<'_>) -> Result<Option<(u64, Bytes)>>;
}
