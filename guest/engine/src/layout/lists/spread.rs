//! Lists that are spread: an index is any number, so that an element fits between two others without moving them. As long as the
//! indexes are integers without gaps the list is *sequential*, and a rank is one addition away from its record; otherwise ranks are
//! counted from the nearer end.

use super::{Collection, End, INDEX_OVERFLOW, Index, KeyAt, ListAlgorithm, ListHead, ListWalk, Side};
use crate::error::{Error, Result};
use crate::layout::{RecordKey, RecordRange};
use crate::store::{Direction, Keyspace};
use crate::transaction::{Scan, Transaction};
use bytes::Bytes;
use std::ops::Range;

/// Floats from here on (2^62) may not be an `i64` any more once there is one more or less.
const MAX_FLOAT: f64 = 4_611_686_018_427_387_904.0;

/// As many records are removed one by one; more at once as a range, which stores pay for when they read across it.
const MAX_SINGLE_DELETES: u64 = 100;

/// The records of lists that are spread.
pub trait SpreadRecords {
    /// The record of an element.
    fn element(&self, at: &KeyAt, index: Index) -> RecordKey;

    /// The records of all elements, in their order.
    fn elements(&self, at: &KeyAt) -> RecordRange;

    /// The index of a record of [`SpreadRecords::elements`].
    ///
    /// # Errors
    /// Corrupt records.
    fn decode_index(&self, key: &Bytes) -> Result<Index>;

    /// The value of a record.
    fn encode_element(&self, element: &[u8]) -> Bytes;

    /// The element from the key and value of its record.
    ///
    /// # Errors
    /// Corrupt records.
    fn decode_element(&self, key: &Bytes, value: &Bytes) -> Result<Bytes>;

    /// The error for an element that the list counts and that is not there.
    fn missing_element(&self, record: &RecordKey) -> Error;
}

/// The algorithm over these records.
#[derive(Clone, Debug)]
pub struct Spread<R>(pub R);

/// Where a list's head says that its elements are.
#[derive(Clone, Copy)]
struct Bounds {
    first: Index,
    last: Index,
    is_sequential: bool,
}

impl Bounds {
    /// Those of a list without elements.
    const NONE: Self = Self { first: Index::Integer(0), last: Index::Integer(0), is_sequential: true };

    /// Heads come from the layout whose algorithm this is.
    fn of(list: &Collection) -> Result<Self> {
        match list.list {
            ListHead::Spread { .. } if list.count == 0 => Ok(Self::NONE),
            ListHead::Spread { first, last, is_sequential } => Ok(Self { first, last, is_sequential }),
            _ => Err(INDEX_OVERFLOW),
        }
    }

    const fn head(self) -> ListHead {
        ListHead::Spread { first: self.first, last: self.last, is_sequential: self.is_sequential }
    }

    /// The first index of a sequential list.
    const fn start(self) -> Option<i64> {
        match self {
            Self { first: Index::Integer(first), is_sequential: true, .. } => Some(first),
            _ => None,
        }
    }
}

impl Index {
    /// The number, rounded where it is a large integer.
    #[must_use]
    pub fn as_float(self) -> f64 {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "integers are compared with floats as floats")]
            Self::Integer(number) => number as f64,
            Self::Float(bits) => f64::from_bits(bits),
        }
    }

    /// The number without what is behind the point.
    fn truncated(self) -> Result<i64> {
        match self {
            Self::Integer(number) => Ok(number),
            #[expect(clippy::cast_possible_truncation, reason = "it is an integer after all")]
            Self::Float(bits) if f64::from_bits(bits).abs() < MAX_FLOAT => Ok(f64::from_bits(bits) as i64),
            Self::Float(_) => Err(INDEX_OVERFLOW),
        }
    }
}

impl<R: SpreadRecords> ListAlgorithm for Spread<R> {
    fn empty(&self) -> ListHead {
        Bounds::NONE.head()
    }

    fn get(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, rank: u64) -> Result<Bytes> {
        let (key, value) = self.locate(transaction, at, list, rank)?;
        self.0.decode_element(&key, &value)
    }

    fn put(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, rank: u64, element: Bytes) -> Result<()> {
        let (keyspace, key) = match Bounds::of(list)?.start() {
            Some(start) => self.0.element(at, index(start, rank)?),
            None => (self.0.elements(at).0, self.locate(transaction, at, list, rank)?.0),
        };
        Ok(transaction.put(keyspace, key, self.0.encode_element(&element))?)
    }

    fn push(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &mut Collection, end: End, element: Bytes) -> Result<()> {
        let mut bounds = Bounds::of(list)?;
        if list.count != 0 {
            match end {
                End::Head => bounds.first = Index::Integer(bounds.first.truncated()?.checked_sub(1).ok_or(INDEX_OVERFLOW)?),
                End::Tail => bounds.last = Index::Integer(bounds.last.truncated()?.checked_add(1).ok_or(INDEX_OVERFLOW)?),
            }
        }
        let index = if end == End::Head { bounds.first } else { bounds.last };
        let count = list.count.checked_add(1).ok_or(INDEX_OVERFLOW)?;
        self.store(transaction, at, index, &element)?;
        (list.list, list.count) = (bounds.head(), count);
        Ok(())
    }

    fn keep(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, ranks: Range<u64>) -> Result<Collection> {
        let count = ranks.end.saturating_sub(ranks.start);
        let mut bounds = Bounds::of(list)?;
        if count == 0 {
            self.delete_all(transaction, at, list)?;
            bounds = Bounds::NONE;
        } else if let Some(start) = bounds.start() {
            self.delete_sequence(transaction, at, start, 0..ranks.start)?;
            self.delete_sequence(transaction, at, start, ranks.end..list.count)?;
            (bounds.first, bounds.last) = (index(start, ranks.start)?, index(start, ranks.end.saturating_sub(1))?);
        } else {
            if ranks.start != 0 {
                bounds.first = self.delete_outer(transaction, at, Direction::Forward, ranks.start)?;
            }
            if ranks.end < list.count {
                bounds.last = self.delete_outer(transaction, at, Direction::Reverse, list.count.saturating_sub(ranks.end))?;
            }
        }
        Ok(Collection { list: bounds.head(), count, ..*list })
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
        let rank = if side == Side::Before { pivot } else { pivot.saturating_add(1) };
        let (list, index) = match self.between(transaction, at, list, rank)? {
            Some(index) => (*list, index),
            // Nothing is between the two neighbours: there is once they are integers.
            None => {
                let list = self.renumber(transaction, at, list)?;
                (list, self.between(transaction, at, &list, rank)?.ok_or(INDEX_OVERFLOW)?)
            }
        };
        let mut bounds = Bounds::of(&list)?;
        let index_bits = Index::Float(index.to_bits());
        if index < bounds.first.as_float() {
            bounds.first = index_bits;
        }
        if index > bounds.last.as_float() {
            bounds.last = index_bits;
        }
        bounds.is_sequential = false;
        self.store(transaction, at, index_bits, &element)?;
        Ok(Collection { list: bounds.head(), count: list.count.checked_add(1).ok_or(INDEX_OVERFLOW)?, ..list })
    }

    fn remove(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, ranks: &[u64]) -> Result<Collection> {
        let mut bounds = Bounds::of(list)?;
        let (Some(first), Some(last)) = (ranks.first(), ranks.last()) else { return Ok(*list) };
        let mut gaps = ranks.iter().peekable();
        let expected = last.saturating_sub(*first).saturating_add(1);
        let mut walk = Elements::new(&self.0, at, list, *first..last.saturating_add(1), Direction::Forward, expected);
        while let Some((rank, key, _)) = walk.next_record(transaction)? {
            if gaps.next_if_eq(&&rank).is_some() {
                transaction.delete(walk.keyspace, key)?;
            }
        }
        bounds.is_sequential = false;
        let removed = u64::try_from(ranks.len()).unwrap_or(u64::MAX);
        Ok(Collection { list: bounds.head(), count: list.count.saturating_sub(removed), ..*list })
    }

    fn walk<'l>(
        &'l self,
        at: &KeyAt,
        list: &Collection,
        ranks: Range<u64>,
        direction: Direction,
        expected: u64,
    ) -> Result<Box<dyn ListWalk + 'l>> {
        Ok(Box::new(Elements::new(&self.0, at, list, ranks, direction, expected)))
    }
}

impl<R: SpreadRecords> Spread<R> {
    fn store(&self, transaction: &mut Transaction<'_>, at: &KeyAt, index: Index, element: &[u8]) -> Result<()> {
        let (keyspace, key) = self.0.element(at, index);
        Ok(transaction.put(keyspace, key, self.0.encode_element(element))?)
    }

    /// The record at a rank.
    fn locate(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, rank: u64) -> Result<(Bytes, Bytes)> {
        if let Some(start) = Bounds::of(list)?.start() {
            let record = self.0.element(at, index(start, rank)?);
            let value = transaction.get(record.0, &record.1)?;
            return value.map(|value| (record.1.clone(), value)).ok_or_else(|| self.0.missing_element(&record));
        }
        locate(&self.0, transaction, at, list, rank)
    }

    fn index_at(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, rank: u64) -> Result<f64> {
        match Bounds::of(list)?.start() {
            Some(start) => Ok(index(start, rank)?.as_float()),
            None => Ok(self.0.decode_index(&self.locate(transaction, at, list, rank)?.0)?.as_float()),
        }
    }

    /// An index before the element at `rank` and behind the one before it; `None` where there is none.
    fn between(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, rank: u64) -> Result<Option<f64>> {
        let before = match rank.checked_sub(1) {
            Some(rank) => Some(self.index_at(transaction, at, list, rank)?),
            None => None,
        };
        let behind = if rank < list.count { Some(self.index_at(transaction, at, list, rank)?) } else { None };
        let index = match (before, behind) {
            // Halves first: the sum of two large ones is no number.
            (Some(before), Some(behind)) => before / 2.0 + behind / 2.0,
            (None, Some(behind)) => behind - 1.0,
            (Some(before), None) => before + 1.0,
            (None, None) => 0.0,
        };
        let is_between = before.is_none_or(|before| before < index) && behind.is_none_or(|behind| index < behind);
        Ok((is_between && index.abs() < MAX_FLOAT).then_some(index))
    }

    /// Gives all elements integers as their indexes, from 0 on.
    fn renumber(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection) -> Result<Collection> {
        let mut elements = Vec::new();
        let mut walk = Elements::new(&self.0, at, list, 0..list.count, Direction::Forward, list.count);
        while let Some((_, element)) = walk.next(transaction)? {
            elements.push(element);
        }
        let (keyspace, range) = self.0.elements(at);
        transaction.delete_range(keyspace, range)?;
        let mut last = 0;
        for (index, element) in (0..).zip(&elements) {
            self.store(transaction, at, Index::Integer(index), element)?;
            last = index;
        }
        let bounds = Bounds { last: Index::Integer(last), ..Bounds::NONE };
        Ok(Collection { list: bounds.head(), ..*list })
    }

    /// Removes the elements at some ranks of a sequential list.
    fn delete_sequence(&self, transaction: &mut Transaction<'_>, at: &KeyAt, start: i64, ranks: Range<u64>) -> Result<()> {
        if ranks.end.saturating_sub(ranks.start) > MAX_SINGLE_DELETES {
            let (keyspace, range) = sequence(&self.0, at, start, &ranks)?;
            return Ok(transaction.delete_range(keyspace, range)?);
        }
        for rank in ranks {
            let (keyspace, key) = self.0.element(at, index(start, rank)?);
            transaction.delete(keyspace, key)?;
        }
        Ok(())
    }

    /// Removes elements from an end. Returns the index of the outermost one that is left.
    fn delete_outer(&self, transaction: &mut Transaction<'_>, at: &KeyAt, direction: Direction, count: u64) -> Result<Index> {
        let (keyspace, range) = self.0.elements(at);
        let mut scan = Scan::new(keyspace, range.clone(), direction, usize::try_from(count.saturating_add(1)).unwrap_or(usize::MAX));
        for _ in 0..count {
            if let Some((key, _)) = transaction.next(&mut scan)? {
                transaction.delete(keyspace, key)?;
            }
        }
        let outermost = transaction.next(&mut scan)?;
        let (key, _) = outermost.ok_or_else(|| missing(&self.0, (keyspace, range)))?;
        self.0.decode_index(&key)
    }

    fn delete_all(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection) -> Result<()> {
        let (keyspace, range) = self.0.elements(at);
        if list.count > MAX_SINGLE_DELETES {
            return Ok(transaction.delete_range(keyspace, range)?);
        }
        let mut scan = Scan::new(keyspace, range, Direction::Forward, usize::try_from(list.count).unwrap_or(usize::MAX));
        while let Some((key, _)) = transaction.next(&mut scan)? {
            transaction.delete(keyspace, key)?;
        }
        Ok(())
    }
}

/// The index at a rank of a sequential list.
fn index(start: i64, rank: u64) -> Result<Index> {
    start.checked_add_unsigned(rank).map(Index::Integer).ok_or(INDEX_OVERFLOW)
}

/// The records at some ranks of a sequential list.
fn sequence<R: SpreadRecords>(records: &R, at: &KeyAt, start: i64, ranks: &Range<u64>) -> Result<RecordRange> {
    let (keyspace, mut range) = records.elements(at);
    range.start = records.element(at, index(start, ranks.start)?).1.to_vec();
    // Behind the last integer of all there is nothing but the end of the list.
    if let Ok(end) = index(start, ranks.end) {
        range.end = Some(records.element(at, end).1.to_vec());
    }
    Ok((keyspace, range))
}

/// The error for a list that has fewer records than it counts.
fn missing<R: SpreadRecords>(records: &R, (keyspace, range): RecordRange) -> Error {
    records.missing_element(&(keyspace, range.start.into()))
}

/// The record at a rank, counted from the nearer end.
fn locate<R: SpreadRecords>(
    records: &R,
    transaction: &mut Transaction<'_>,
    at: &KeyAt,
    list: &Collection,
    rank: u64,
) -> Result<(Bytes, Bytes)> {
    let behind = list.count.saturating_sub(rank).saturating_sub(1);
    let (direction, mut passed) = if rank <= behind { (Direction::Forward, rank) } else { (Direction::Reverse, behind) };
    let (keyspace, range) = records.elements(at);
    let mut scan = Scan::new(keyspace, range.clone(), direction, usize::try_from(passed.saturating_add(1)).unwrap_or(usize::MAX));
    while let Some(found) = transaction.next(&mut scan)? {
        match passed.checked_sub(1) {
            Some(left) => passed = left,
            None => return Ok(found),
        }
    }
    Err(missing(records, (keyspace, range)))
}

/// A walk over the elements at some ranks.
struct Elements<'l, R> {
    records: &'l R,
    at: KeyAt,
    list: Collection,
    /// The ranks that are still to come.
    ranks: Range<u64>,
    direction: Direction,
    expected: usize,
    keyspace: Keyspace,
    /// `None` before the first step.
    scan: Option<Scan>,
}

impl<'l, R: SpreadRecords> Elements<'l, R> {
    fn new(records: &'l R, at: &KeyAt, list: &Collection, ranks: Range<u64>, direction: Direction, expected: u64) -> Self {
        let expected = usize::try_from(expected).unwrap_or(usize::MAX);
        let keyspace = records.elements(at).0;
        Self { records, at: at.clone(), list: *list, ranks, direction, expected, keyspace, scan: None }
    }

    /// A scan over the ranks that are still to come.
    fn begin(&self, transaction: &mut Transaction<'_>) -> Result<Scan> {
        let (keyspace, range) = match Bounds::of(&self.list)?.start() {
            Some(start) => sequence(self.records, &self.at, start, &self.ranks)?,
            None => {
                let mut range = self.records.elements(&self.at).1;
                if self.direction == Direction::Forward && self.ranks.start != 0 {
                    range.start = self.key_at(transaction, self.ranks.start)?;
                }
                if self.direction == Direction::Reverse && self.ranks.end < self.list.count {
                    range.end = Some(self.key_at(transaction, self.ranks.end)?);
                }
                (self.keyspace, range)
            }
        };
        Ok(Scan::new(keyspace, range, self.direction, self.expected))
    }

    fn key_at(&self, transaction: &mut Transaction<'_>, rank: u64) -> Result<Vec<u8>> {
        Ok(locate(self.records, transaction, &self.at, &self.list, rank)?.0.to_vec())
    }

    /// The next rank with its record.
    fn next_record(&mut self, transaction: &mut Transaction<'_>) -> Result<Option<(u64, Bytes, Bytes)>> {
        if self.ranks.is_empty() {
            return Ok(None);
        }
        let mut scan = match self.scan.take() {
            Some(scan) => scan,
            None => self.begin(transaction)?,
        };
        let rank = match self.direction {
            Direction::Forward => self.ranks.next(),
            Direction::Reverse => self.ranks.next_back(),
        };
        let found = transaction.next(&mut scan)?;
        self.scan = Some(scan);
        let (Some(rank), Some((key, value))) = (rank, found) else {
            return Err(missing(self.records, self.records.elements(&self.at)));
        };
        if let Some(start) = Bounds::of(&self.list)?.start() {
            let index = index(start, rank)?;
            if self.records.decode_index(&key)? != index {
                return Err(self.records.missing_element(&self.records.element(&self.at, index)));
            }
        }
        Ok(Some((rank, key, value)))
    }
}

impl<R: SpreadRecords> ListWalk for Elements<'_, R> {
    fn next(&mut self, transaction: &mut Transaction<'_>) -> Result<Option<(u64, Bytes)>> {
        let Some((rank, key, value)) = self.next_record(transaction)? else { return Ok(None) };
        Ok(Some((rank, self.records.decode_element(&key, &value)?)))
    }
}
