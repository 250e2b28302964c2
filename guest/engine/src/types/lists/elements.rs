//! The records of a list's elements. A *rank* is the distance from the head: rank 0 is at index `head`.
//!
//! The functions take a list's head and return the changed one; to store it is the caller's business.

use super::End;
use crate::db::Db;
use crate::error::{Error, Result};
use crate::layout::{Collection, KeyAt, RecordKey};
use crate::store::Direction;
use crate::transaction::Scan;
use bytes::Bytes;
use std::ops::Range;

const INDEX_OVERFLOW: Error = Error::client("ERR list index overflow");

/// As many records are removed one by one; more at once as a range, which stores pay for when they read across it.
const MAX_SINGLE_DELETES: u64 = 256;

/// The element at `rank`.
pub fn get(db: &mut Db, at: &KeyAt, list: &Collection, rank: u64) -> Result<Bytes> {
    let record = record(db, at, list, rank)?;
    let element = db.transaction.get(record.0, &record.1)?;
    element.ok_or_else(|| db.layout.missing(&record))
}

/// Stores the element at `rank`.
pub fn put(db: &mut Db, at: &KeyAt, list: &Collection, rank: u64, element: Bytes) -> Result<()> {
    let (keyspace, key) = record(db, at, list, rank)?;
    Ok(db.transaction.put(keyspace, key, element)?)
}

/// Adds an element at an end.
pub fn push(db: &mut Db, at: &KeyAt, list: Collection, end: End, element: Bytes) -> Result<Collection> {
    let longer = grown(list, end)?;
    let rank = match end {
        End::Head => 0,
        End::Tail => list.count,
    };
    put(db, at, &longer, rank, element)?;
    Ok(longer)
}

/// Removes all elements but those at `ranks`.
pub fn keep(db: &mut Db, at: &KeyAt, list: &Collection, ranks: Range<u64>) -> Result<Collection> {
    delete(db, at, list, 0..ranks.start)?;
    delete(db, at, list, ranks.end..list.count)?;
    slice(list, &ranks)
}

/// Puts an element at `rank` and moves those on the shorter side of it by one.
pub fn insert(db: &mut Db, at: &KeyAt, list: &Collection, rank: u64, element: Bytes) -> Result<Collection> {
    let behind = list.count - rank;
    let (end, moved, inwards) =
        if rank < behind { (End::Head, 0..rank, Direction::Forward) } else { (End::Tail, rank..list.count, Direction::Reverse) };
    let longer = grown(*list, end)?;
    // Ranks count from the head: it is there that they stay what they were when the head moves.
    let shift = u64::from(end == End::Tail);
    let expected = moved.end - moved.start;
    let mut walk = Walk::new(db, at, list, moved, inwards, expected);
    while let Some((rank, element)) = walk.next(db)? {
        put(db, at, &longer, rank + shift, element)?;
    }
    put(db, at, &longer, rank, element)?;
    Ok(longer)
}

/// Removes the elements at the ranks `gaps`, which are sorted and not empty, and closes up: some of the gaps from the head's side,
/// the others from the tail's, so that as few elements as possible move.
pub fn remove(db: &mut Db, at: &KeyAt, list: &Collection, gaps: &[u64]) -> Result<Collection> {
    let split = cheapest_split(list.count, gaps);
    let (from_head, from_tail) = gaps.split_at_checked(split).unwrap_or((gaps, &[]));
    if let Some(last) = from_head.last() {
        close_up(db, at, list, 0..last + 1, Direction::Reverse, from_head.iter().rev())?;
    }
    if let Some(first) = from_tail.first() {
        close_up(db, at, list, *first..list.count, Direction::Forward, from_tail.iter())?;
    }
    keep(db, at, list, length(from_head)..list.count - length(from_tail))
}

/// How many of the gaps, from the first one on, are closed from the head's side.
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
fn close_up<'g>(
    db: &mut Db,
    at: &KeyAt,
    list: &Collection,
    ranks: Range<u64>,
    direction: Direction,
    gaps: impl Iterator<Item = &'g u64>,
) -> Result<()> {
    let (mut gaps, mut passed) = (gaps.peekable(), 0);
    let expected = ranks.end - ranks.start;
    let mut walk = Walk::new(db, at, list, ranks, direction, expected);
    while let Some((rank, element)) = walk.next(db)? {
        if gaps.next_if_eq(&&rank).is_some() {
            passed += 1;
            continue;
        }
        let target = match direction {
            Direction::Forward => rank - passed,
            Direction::Reverse => rank + passed,
        };
        put(db, at, list, target, element)?;
    }
    Ok(())
}

fn delete(db: &mut Db, at: &KeyAt, list: &Collection, ranks: Range<u64>) -> Result<()> {
    if ranks.end - ranks.start > MAX_SINGLE_DELETES {
        let (keyspace, range) = db.layout.elements(at, &slice(list, &ranks)?);
        return Ok(db.transaction.delete_range(keyspace, range)?);
    }
    for rank in ranks {
        let (keyspace, key) = record(db, at, list, rank)?;
        db.transaction.delete(keyspace, key)?;
    }
    Ok(())
}

/// A walk over the elements at some ranks. The elements passed may be changed on the way.
pub struct Walk {
    at: KeyAt,
    list: Collection,
    ranks: Range<u64>,
    direction: Direction,
    scan: Scan,
}

impl Walk {
    /// A walk over `ranks`, of which about `expected` elements will be read.
    pub fn new(db: &Db, at: &KeyAt, list: &Collection, ranks: Range<u64>, direction: Direction, expected: u64) -> Self {
        let part = Collection { head: list.head.saturating_add(ranks.start), count: ranks.end.saturating_sub(ranks.start), ..*list };
        let (keyspace, range) = db.layout.elements(at, &part);
        let expected = usize::try_from(expected).unwrap_or(usize::MAX);
        let scan = Scan::new(keyspace, range, direction, expected);
        Self { at: at.clone(), list: *list, ranks, direction, scan }
    }

    /// The next element with its rank; `None` behind the last one.
    pub fn next(&mut self, db: &mut Db) -> Result<Option<(u64, Bytes)>> {
        let rank = match self.direction {
            Direction::Forward => self.ranks.next(),
            Direction::Reverse => self.ranks.next_back(),
        };
        let Some(rank) = rank else { return Ok(None) };
        let index = index(&self.list, rank)?;
        match db.transaction.next(&mut self.scan)? {
            Some((key, element)) if db.layout.decode_element(&key)? == index => Ok(Some((rank, element))),
            _ => Err(db.layout.missing(&record(db, &self.at, &self.list, rank)?)),
        }
    }
}

fn record(db: &Db, at: &KeyAt, list: &Collection, rank: u64) -> Result<RecordKey> {
    Ok(db.layout.element(at, list.version, index(list, rank)?))
}

fn index(list: &Collection, rank: u64) -> Result<u64> {
    list.head.checked_add(rank).ok_or(INDEX_OVERFLOW)
}

/// The head of the list with room for one more at an end.
fn grown(list: Collection, end: End) -> Result<Collection> {
    let head = match end {
        End::Head => list.head.checked_sub(1).ok_or(INDEX_OVERFLOW)?,
        End::Tail => list.head,
    };
    let count = list.count.checked_add(1).ok_or(INDEX_OVERFLOW)?;
    head.checked_add(count).ok_or(INDEX_OVERFLOW)?;
    Ok(Collection { head, count, ..list })
}

/// The head of the part of the list at `ranks`.
fn slice(list: &Collection, ranks: &Range<u64>) -> Result<Collection> {
    Ok(Collection { head: index(list, ranks.start)?, count: ranks.end.saturating_sub(ranks.start), ..*list })
}

fn length(gaps: &[u64]) -> u64 {
    u64::try_from(gaps.len()).unwrap_or(u64::MAX)
}
