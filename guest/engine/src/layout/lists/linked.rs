//! Lists as linked nodes: each knows the one before it and the one behind it. A change touches a node and its neighbours wherever it
//! is, and a rank is found by following links from the nearer end.

use super::{Collection, End, INDEX_OVERFLOW, KeyAt, ListAlgorithm, ListHead, ListWalk, Side};
use crate::error::{Error, Result};
use crate::store::Direction;
use crate::transaction::Transaction;
use bytes::Bytes;
use std::ops::Range;

/// The number that no node has.
const NONE: u64 = 0;
/// The number of the first node of a list.
const FIRST: u64 = 1;
/// Formats keep numbers as signed integers.
const MAX_NUMBER: u64 = i64::MAX.cast_unsigned();

/// What [`ListAlgorithm::remove`] makes of the head when it takes the last element: no number is next. Nemo removes the head then, and keeps
/// it where the last element goes otherwise.
pub const NO_HEAD: ListHead = ListHead::Linked { left: NONE, right: NONE, next: NONE };

/// A node of a list. Nodes are known by their numbers; 0 is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The node before it.
    pub previous: u64,
    /// The node behind it.
    pub next: u64,
    /// What the list has there.
    pub element: Bytes,
}

/// The records of lists whose nodes are linked.
pub trait LinkedRecords {
    /// The node with a number.
    ///
    /// # Errors
    /// Store errors; corrupt records, also where there is no such node.
    fn node(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, number: u64) -> Result<Node>;

    /// Stores a node.
    ///
    /// # Errors
    /// Store errors.
    fn put_node(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, number: u64, node: &Node) -> Result<()>;

    /// Removes a node.
    ///
    /// # Errors
    /// Store errors.
    fn delete_node(&self, transaction: &mut Transaction<'_>, at: &KeyAt, number: u64) -> Result<()>;

    /// The error for a node that does not lead back to the one that leads to it.
    fn not_linked_back(&self, at: &KeyAt, number: u64) -> Error;
}

/// The algorithm of linked lists, on these records.
#[derive(Clone, Copy, Debug)]
pub struct Linked<R>(pub R);

/// Where a list begins and ends; see [`ListHead::Linked`].
#[derive(Clone, Copy)]
struct Ends {
    left: u64,
    right: u64,
    next: u64,
}

impl Ends {
    /// Those of a list without nodes: numbers begin anew.
    const EMPTY: Self = Self { left: NONE, right: NONE, next: FIRST };

    const fn of(list: &Collection) -> Self {
        match list.list {
            ListHead::Linked { left, right, next } => Self { left, right, next },
            _ => Self::EMPTY,
        }
    }

    const fn of_list(self, list: &Collection, count: u64) -> Collection {
        let Self { left, right, next } = if count == 0 { Self::EMPTY } else { self };
        Collection { list: ListHead::Linked { left, right, next }, count, ..*list }
    }
}

impl<R: LinkedRecords> Linked<R> {
    /// The node at a rank, and its number.
    fn seek(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, rank: u64) -> Result<(u64, Node)> {
        let ends = Ends::of(list);
        let from_right = list.count.saturating_sub(1).saturating_sub(rank);
        let (mut number, steps, direction) =
            if rank <= from_right { (ends.left, rank, Direction::Forward) } else { (ends.right, from_right, Direction::Reverse) };
        let mut from = NONE;
        for _ in 0..steps {
            let node = self.linked_node(transaction, at, list, number, (from, direction))?;
            (from, number) = (number, node.neighbour(direction));
        }
        Ok((number, self.linked_node(transaction, at, list, number, (from, direction))?))
    }

    /// The node that a walk comes to. It must lead back to the one before, so that no damage leads a walk in a circle.
    fn linked_node(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        list: &Collection,
        number: u64,
        (from, direction): (u64, Direction),
    ) -> Result<Node> {
        let node = self.0.node(transaction, at, list, number)?;
        let back = match direction {
            Direction::Forward => node.previous,
            Direction::Reverse => node.next,
        };
        if back == from { Ok(node) } else { Err(self.0.not_linked_back(at, number)) }
    }

    /// Changes a node; nothing where `number` is that of none.
    fn change(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        list: &Collection,
        number: u64,
        change: impl FnOnce(&mut Node),
    ) -> Result<()> {
        if number == NONE {
            return Ok(());
        }
        let mut node = self.0.node(transaction, at, list, number)?;
        change(&mut node);
        self.0.put_node(transaction, at, list, number, &node)
    }

    /// Makes a node between two others, of which there may be none.
    fn link(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, node: &Node) -> Result<Collection> {
        let mut ends = Ends::of(list);
        let number = ends.next;
        if number >= MAX_NUMBER {
            return Err(INDEX_OVERFLOW);
        }
        ends.next = number + 1;
        self.change(transaction, at, list, node.previous, |previous| previous.next = number)?;
        self.change(transaction, at, list, node.next, |next| next.previous = number)?;
        if node.previous == NONE {
            ends.left = number;
        }
        if node.next == NONE {
            ends.right = number;
        }
        self.0.put_node(transaction, at, list, number, node)?;
        Ok(ends.of_list(list, list.count.checked_add(1).ok_or(INDEX_OVERFLOW)?))
    }

    /// Takes a node out.
    fn unlink(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, number: u64) -> Result<Collection> {
        let mut ends = Ends::of(list);
        let Node { previous, next, .. } = self.0.node(transaction, at, list, number)?;
        self.change(transaction, at, list, previous, |node| node.next = next)?;
        self.change(transaction, at, list, next, |node| node.previous = previous)?;
        if previous == NONE {
            ends.left = next;
        }
        if next == NONE {
            ends.right = previous;
        }
        self.0.delete_node(transaction, at, number)?;
        Ok(ends.of_list(list, list.count.saturating_sub(1)))
    }
}

impl Node {
    const fn neighbour(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Forward => self.next,
            Direction::Reverse => self.previous,
        }
    }
}

impl<R: LinkedRecords> ListAlgorithm for Linked<R> {
    fn empty(&self) -> ListHead {
        let Ends { left, right, next } = Ends::EMPTY;
        ListHead::Linked { left, right, next }
    }

    fn get(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, rank: u64) -> Result<Bytes> {
        Ok(self.seek(transaction, at, list, rank)?.1.element)
    }

    fn put(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, rank: u64, element: Bytes) -> Result<()> {
        let (number, node) = self.seek(transaction, at, list, rank)?;
        self.0.put_node(transaction, at, list, number, &Node { element, ..node })
    }

    fn push(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &mut Collection, end: End, element: Bytes) -> Result<()> {
        let Ends { left, right, .. } = Ends::of(list);
        let (previous, next) = match end {
            End::Head => (NONE, left),
            End::Tail => (right, NONE),
        };
        *list = self.link(transaction, at, list, &Node { previous, next, element })?;
        Ok(())
    }

    fn keep(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, ranks: Range<u64>) -> Result<Collection> {
        let mut rest = *list;
        for _ in 0..list.count.saturating_sub(ranks.end) {
            rest = self.unlink(transaction, at, &rest, Ends::of(&rest).right)?;
        }
        for _ in 0..ranks.start.min(ranks.end) {
            rest = self.unlink(transaction, at, &rest, Ends::of(&rest).left)?;
        }
        Ok(rest)
    }

    fn insert(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        list: &Collection,
        pivot: u64,
        side: Side,
        element: Bytes,
    ) -> Result<Collection> {
        let (number, pivot) = self.seek(transaction, at, list, pivot)?;
        let (previous, next) = match side {
            Side::Before => (pivot.previous, number),
            Side::After => (number, pivot.next),
        };
        self.link(transaction, at, list, &Node { previous, next, element })
    }

    fn remove(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, ranks: &[u64]) -> Result<Collection> {
        let (Some(first), Some(last)) = (ranks.first(), ranks.last()) else { return Ok(*list) };
        let mut doomed = ranks.iter().peekable();
        let (mut number, _) = self.seek(transaction, at, list, *first)?;
        let mut rest = *list;
        for rank in *first..=*last {
            let next = self.0.node(transaction, at, list, number)?.next;
            if doomed.next_if_eq(&&rank).is_some() {
                rest = self.unlink(transaction, at, &rest, number)?;
            }
            number = next;
        }
        if rest.count == 0 {
            rest.list = NO_HEAD;
        }
        Ok(rest)
    }

    fn walk<'l>(
        &'l self,
        at: &KeyAt,
        list: &Collection,
        ranks: Range<u64>,
        direction: Direction,
        _expected: u64,
    ) -> Result<Box<dyn ListWalk + 'l>> {
        Ok(Box::new(Walk { lists: self, at: at.clone(), list: *list, ranks, direction, ahead: None }))
    }
}

struct Walk<'l, R> {
    lists: &'l Linked<R>,
    at: KeyAt,
    list: Collection,
    ranks: Range<u64>,
    direction: Direction,
    /// The node passed last, and the one to come; `None` before the first.
    ahead: Option<(u64, u64)>,
}

impl<R: LinkedRecords> ListWalk for Walk<'_, R> {
    fn next(&mut self, transaction: &mut Transaction<'_>) -> Result<Option<(u64, Bytes)>> {
        let rank = match self.direction {
            Direction::Forward => self.ranks.next(),
            Direction::Reverse => self.ranks.next_back(),
        };
        let Some(rank) = rank else { return Ok(None) };
        let Self { lists, at, list, direction, .. } = self;
        let (number, node) = match self.ahead {
            Some((from, number)) => (number, lists.linked_node(transaction, at, list, number, (from, *direction))?),
            None => lists.seek(transaction, at, list, rank)?,
        };
        self.ahead = Some((number, node.neighbour(*direction)));
        Ok(Some((rank, node.element)))
    }
}
