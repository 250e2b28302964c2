//! Lists as arrays: the elements are at indexes without gaps, between two ends that both grow. A rank is one addition away from
//! its record, and a change in the middle moves the elements of one side.

use super::{Collection, End, INDEX_OVERFLOW, KeyAt, ListAlgorithm, ListHead, ListWalk, Side};
use crate::error::{Error, Result};
use crate::layout::lots::{Form, Lot, lend_lots};
use crate::layout::records::{LentRecord, LentRecords, Records};
use crate::layout::{RecordKey, RecordRange};
use crate::store::Direction;
use crate::transaction::{Scan, Transaction};
use bytes::Bytes;
use std::cell::Cell;
use std::ops::{ControlFlow, Range};

/// As many records are removed one by one; more at once as a range, which stores pay for when they read across it.
const MAX_SINGLE_DELETES: u64 = 256;

/// The records of lists that are arrays.
pub trait ArrayRecords {
    /// The index of the first element of a list that is made by appending.
    fn first_index(&self) -> u64;

    /// Which elements move when one is put between others or taken from there.
    fn moves(&self) -> Moves {
        Moves::Fewest
    }

    /// The record of an element; its value is the element.
    fn element(&self, at: &KeyAt, version: u64, index: u64) -> RecordKey;

    /// The records of the elements at some indexes, in their order.
    fn elements(&self, at: &KeyAt, version: u64, indexes: Range<u64>) -> RecordRange;

    /// The index of a record of [`ArrayRecords::elements`].
    ///
    /// # Errors
    /// Corrupt records.
    fn decode_element(&self, key: &[u8]) -> Result<u64>;

    /// The form of the record of an element, where it is one of those that can be taken as they lie.
    fn form_of_element(&self, _index: u64) -> Option<Form> {
        None
    }

    /// The error for an element that the list counts and that is not there.
    fn missing_element(&self, record: &RecordKey) -> Error;
}

/// Which elements move when one is put between others or taken from there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// As few as possible: from both sides where several are taken.
    Fewest,
    /// All on one side, which Blackwidow chooses by where the outermost elements are that it looks for (its format, section 8).
    OneSide,
}

impl Moves {
    /// The end that an element moves towards to make room beside the one at the rank `pivot`.
    fn end_for_insert(self, count: u64, pivot: u64, rank: u64) -> End {
        let is_head = match self {
            Self::Fewest => rank < count - rank,
            Self::OneSide => pivot < count.div_ceil(2),
        };
        if is_head { End::Head } else { End::Tail }
    }

    /// How many of the gaps, from the first one on, are closed from the head's side.
    fn split(self, count: u64, gaps: &[u64]) -> usize {
        match (self, gaps) {
            (Self::OneSide, [first, .., last] | [first @ last]) => {
                if *last <= count.saturating_sub(1).saturating_sub(*first) {
                    gaps.len()
                } else {
                    0
                }
            }
            _ => cheapest_split(count, gaps),
        }
    }
}

impl<T: ArrayRecords> ListAlgorithm for T {
    fn empty(&self) -> ListHead {
        ListHead::Array { head: self.first_index() }
    }

    fn get(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, rank: u64) -> Result<Bytes> {
        let record = record(self, at, list, rank)?;
        let element = transaction.get(record.0, &record.1)?;
        element.ok_or_else(|| self.missing_element(&record))
    }

    fn record(&self, at: &KeyAt, list: &Collection, rank: u64) -> Option<RecordKey> {
        record(self, at, list, rank).ok()
    }

    fn put(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, rank: u64, element: Bytes) -> Result<()> {
        let (keyspace, key) = record(self, at, list, rank)?;
        Ok(transaction.put(keyspace, key, element)?)
    }

    fn push(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &mut Collection, end: End, element: Bytes) -> Result<()> {
        let (index, head) = pushed(head(list)?, list.count, end)?;
        (list.list, list.count) = (ListHead::Array { head }, list.count.saturating_add(1));
        let (keyspace, key) = self.element(at, list.version, index);
        Ok(transaction.put(keyspace, key, element)?)
    }

    fn keep(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, ranks: Range<u64>) -> Result<Collection> {
        delete(self, transaction, at, list, 0..ranks.start)?;
        delete(self, transaction, at, list, ranks.end..list.count)?;
        slice(list, &ranks)
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
        let rank = if side == Side::Before { pivot } else { pivot + 1 };
        let end = self.moves().end_for_insert(list.count, pivot, rank);
        let (moved, inwards) = match end {
            End::Head => (0..rank, Direction::Forward),
            End::Tail => (rank..list.count, Direction::Reverse),
        };
        let longer = grown(list, end)?;
        // Ranks count from the head: it is there that they stay what they were when the head moves.
        let shift = u64::from(end == End::Tail);
        let expected = moved.end - moved.start;
        let mut walk = Walk::new(self, at, list, moved, inwards, expected)?;
        while let Some((rank, element)) = walk.next(transaction)? {
            self.put(transaction, at, &longer, rank + shift, element)?;
        }
        self.put(transaction, at, &longer, rank, element)?;
        Ok(longer)
    }

    fn remove(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, ranks: &[u64]) -> Result<Collection> {
        let split = self.moves().split(list.count, ranks);
        let (from_head, from_tail) = ranks.split_at_checked(split).unwrap_or((ranks, &[]));
        if let Some(last) = from_head.last() {
            close_up(self, transaction, at, list, 0..last + 1, Direction::Reverse, from_head.iter().rev())?;
        }
        if let Some(first) = from_tail.first() {
            close_up(self, transaction, at, list, *first..list.count, Direction::Forward, from_tail.iter())?;
        }
        self.keep(transaction, at, list, length(from_head)..list.count - length(from_tail))
    }

    fn walk<'l>(
        &'l self,
        at: &KeyAt,
        list: &Collection,
        ranks: Range<u64>,
        direction: Direction,
        expected: u64,
    ) -> Result<Box<dyn ListWalk + 'l>> {
        Ok(Box::new(Walk::new(self, at, list, ranks, direction, expected)?))
    }

    fn each(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        list: &Collection,
        ranks: Range<u64>,
        visit: &mut dyn FnMut(Lot<'_, '_, &[u8]>),
    ) -> Result<()> {
        let indexes = index(list, ranks.start)?..index(list, ranks.end)?;
        let expected = usize::try_from(indexes.end.saturating_sub(indexes.start)).unwrap_or(usize::MAX);
        let mut walk = Records::Range(self.elements(at, list.version, indexes.clone())).walk(Direction::Forward, expected);
        let mut elements = Elements::at(indexes);
        let missing = |index| self.missing_element(&self.element(at, list.version, index));
        walk.each_run(transaction, |records| {
            elements.lend(records, |index| self.form_of_element(index), |key| self.decode_element(key), missing, visit)
        })?;
        elements.check_complete(missing)
    }
}

/// The elements at some indexes, while they are handed over: each behind the one before it, and none is missing.
#[derive(Debug)]
pub struct Elements {
    next: Cell<u64>,
    end: u64,
    left: u64,
}

impl Elements {
    /// Those at these indexes.
    #[must_use]
    pub const fn at(indexes: Range<u64>) -> Self {
        Self { next: Cell::new(indexes.start), end: indexes.end, left: indexes.end.saturating_sub(indexes.start) }
    }

    /// Hands over those that are in these records. `form` is that of the record at an index, `decode` tells the index of a record's key, `missing` is the
    /// error for one that is not there.
    ///
    /// # Errors
    /// These.
    #[inline(always)]
    pub fn lend(
        &mut self,
        records: &mut LentRecords<'_>,
        form: impl Fn(u64) -> Option<Form>,
        decode: impl Fn(&[u8]) -> Result<u64>,
        missing: impl Fn(u64) -> Error,
        visit: &mut dyn FnMut(Lot<'_, '_, &[u8]>),
    ) -> Result<ControlFlow<()>> {
        let Self { next, left, .. } = self;
        let lend = |LentRecord { key, value, .. }| {
            if decode(key)? != next.get() {
                return Err(missing(next.get()));
            }
            next.set(next.get().saturating_add(1));
            Ok(Some(value))
        };
        lend_lots(
            records,
            left,
            || form(next.get()),
            lend,
            |some| {
                match some {
                    Lot::Stored(stored) => {
                        let before = stored.most();
                        visit(Lot::Stored(stored));
                        let taken = u64::try_from(before.saturating_sub(stored.most())).unwrap_or(u64::MAX);
                        next.set(next.get().saturating_add(taken));
                    }
                    Lot::Rows(_) => visit(some),
                }
                ControlFlow::Continue(())
            },
        )
    }

    /// To be asked behind the last record: all have been handed over.
    ///
    /// # Errors
    /// `missing`, of the first that has not.
    pub fn check_complete(&self, missing: impl Fn(u64) -> Error) -> Result<()> {
        if self.next.get() < self.end { Err(missing(self.next.get())) } else { Ok(()) }
    }
}

/// How many of the gaps, from the first one on, are closed from the head's side so that as few elements as possible move.
fn cheapest_split(count: u64, gaps: &[u64]) -> usize {
    let moved = |split: &usize| {
        let (from_head, from_tail) = gaps.split_at_checked(*split).unwrap_or((gaps, &[]));
        let before = from_head.last().map_or(0, |last| last + 1 - length(from_head));
        let behind = from_tail.first().map_or(0, |first| count - first - length(from_tail));
        before + behind
    };
    (0..=gaps.len()).min_by_key(moved).unwrap_or(0)
}

/// Walks over `ranks` and moves every element back over the gaps that it has passed, which come in the order of the walk.
fn close_up<'g, T: ArrayRecords>(
    records: &T,
    transaction: &mut Transaction<'_>,
    at: &KeyAt,
    list: &Collection,
    ranks: Range<u64>,
    direction: Direction,
    gaps: impl Iterator<Item = &'g u64>,
) -> Result<()> {
    let (mut gaps, mut passed) = (gaps.peekable(), 0);
    let expected = ranks.end - ranks.start;
    let mut walk = Walk::new(records, at, list, ranks, direction, expected)?;
    while let Some((rank, element)) = walk.next(transaction)? {
        if gaps.next_if_eq(&&rank).is_some() {
            passed += 1;
            continue;
        }
        let target = match direction {
            Direction::Forward => rank - passed,
            Direction::Reverse => rank + passed,
        };
        records.put(transaction, at, list, target, element)?;
    }
    Ok(())
}

fn delete<T: ArrayRecords>(records: &T, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, ranks: Range<u64>) -> Result<()> {
    if ranks.end - ranks.start > MAX_SINGLE_DELETES {
        let (keyspace, range) = records.elements(at, list.version, index(list, ranks.start)?..index(list, ranks.end)?);
        return Ok(transaction.delete_range(keyspace, range)?);
    }
    for rank in ranks {
        let (keyspace, key) = record(records, at, list, rank)?;
        transaction.delete(keyspace, key)?;
    }
    Ok(())
}

struct Walk<'l, T> {
    records: &'l T,
    at: KeyAt,
    list: Collection,
    ranks: Range<u64>,
    direction: Direction,
    scan: Scan,
}

impl<'l, T: ArrayRecords> Walk<'l, T> {
    fn new(records: &'l T, at: &KeyAt, list: &Collection, ranks: Range<u64>, direction: Direction, expected: u64) -> Result<Self> {
        let (keyspace, range) = records.elements(at, list.version, index(list, ranks.start)?..index(list, ranks.end)?);
        let scan = Scan::new(keyspace, range, direction, usize::try_from(expected).unwrap_or(usize::MAX));
        Ok(Self { records, at: at.clone(), list: *list, ranks, direction, scan })
    }
}

impl<T: ArrayRecords> ListWalk for Walk<'_, T> {
    fn next(&mut self, transaction: &mut Transaction<'_>) -> Result<Option<(u64, Bytes)>> {
        let rank = match self.direction {
            Direction::Forward => self.ranks.next(),
            Direction::Reverse => self.ranks.next_back(),
        };
        let Some(rank) = rank else { return Ok(None) };
        match transaction.next(&mut self.scan)? {
            Some((key, element)) if self.records.decode_element(&key)? == index(&self.list, rank)? => Ok(Some((rank, element))),
            _ => Err(missing(self.records, &self.at, &self.list, rank)?),
        }
    }
}

fn record<T: ArrayRecords>(records: &T, at: &KeyAt, list: &Collection, rank: u64) -> Result<RecordKey> {
    Ok(records.element(at, list.version, index(list, rank)?))
}

/// The error for an element that is not there.
fn missing<T: ArrayRecords>(records: &T, at: &KeyAt, list: &Collection, rank: u64) -> Result<Error> {
    Ok(records.missing_element(&record(records, at, list, rank)?))
}

/// The index of the first element. Heads come from the layout whose algorithm this is.
fn head(list: &Collection) -> Result<u64> {
    match list.list {
        ListHead::Array { head } => Ok(head),
        _ => Err(INDEX_OVERFLOW),
    }
}

fn index(list: &Collection, rank: u64) -> Result<u64> {
    within(head(list)?.checked_add(rank))
}

/// An index, where there is one. (`ok_or` would make the error in any case, and drop it: that shows in loops over elements.)
fn within(index: Option<u64>) -> Result<u64> {
    match index {
        Some(index) => Ok(index),
        None => Err(INDEX_OVERFLOW),
    }
}

/// The head of the list with room for one more at an end.
fn grown(list: &Collection, end: End) -> Result<Collection> {
    let (head, count) = grown_bounds(head(list)?, list.count, end)?;
    Ok(Collection { list: ListHead::Array { head }, count, ..*list })
}

/// The index of an element that is put at an end of a list, and that of the first one then.
///
/// # Errors
/// `ERR list index overflow`.
pub fn pushed(head: u64, count: u64, end: End) -> Result<(u64, u64)> {
    let grown = grown_bounds(head, count, end)?.0;
    match end {
        End::Head => Ok((grown, grown)),
        End::Tail => Ok((within(head.checked_add(count))?, grown)),
    }
}

/// The index of the first element, and how many there are, of the list with one more at an end.
fn grown_bounds(head: u64, count: u64, end: End) -> Result<(u64, u64)> {
    let head = match end {
        End::Head => within(head.checked_sub(1))?,
        End::Tail => head,
    };
    let count = within(count.checked_add(1))?;
    within(head.checked_add(count))?;
    Ok((head, count))
}

/// The head of the part of the list at `ranks`.
fn slice(list: &Collection, ranks: &Range<u64>) -> Result<Collection> {
    let head = index(list, ranks.start)?;
    Ok(Collection { list: ListHead::Array { head }, count: ranks.end.saturating_sub(ranks.start), ..*list })
}

fn length(gaps: &[u64]) -> u64 {
    u64::try_from(gaps.len()).unwrap_or(u64::MAX)
}
