//! Drawing records of a collection at random, each with the same probability.
//!
//! A store in byte order has no positions to jump to. So ranks are drawn, and the collection is read up to them, each half from
//! its own end: a quarter of the records on average for a single draw, nearly all of them for many. What is
//! drawn with repetition is held in memory; of different records only the ranks are.

use crate::db::Db;
use crate::environment::random_below;
use crate::error::{Result, texts};
use crate::layout::RecordRange;
use crate::store::Direction;
use crate::transaction::Scan;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// Most draws with repetition: what is above would only fill the memory.
const MAX_REPEATED: u64 = 1 << 20;

/// How many records are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// This many different ones, all of them where there are not so many.
    Distinct(u64),
    /// This many, each drawn from all records.
    Repeated(u64),
}

/// What is done with a record: with its key and its value.
pub type Visit<'v> = dyn FnMut(&Bytes, &Bytes) -> Result<()> + 'v;

/// Hands records drawn from the `total` ones of a range to `visit`; different ones not in a random order.
///
/// # Errors
/// Store errors, and those of `visit`; `ERR value is out of range` for more than 1,048,576 repeated draws, and where the records
/// drawn so are more bytes than `proto-max-bulk-len`.
pub fn records(db: &mut Db, range: &RecordRange, total: u64, draw: Draw, visit: &mut Visit<'_>) -> Result<()> {
    match draw {
        Draw::Distinct(count) if count >= total => {
            let mut scan = walk(range, Direction::Forward, total);
            while let Some((key, value)) = db.transaction.next(&mut scan)? {
                visit(&key, &value)?;
            }
            Ok(())
        }
        Draw::Distinct(count) => {
            let ranks = distinct_ranks(db, total, count);
            at_ranks(db, range, total, ranks, &mut |_, key, value| visit(key, value))
        }
        Draw::Repeated(count) if count > MAX_REPEATED => Err(texts::OUT_OF_RANGE),
        Draw::Repeated(count) => repeated(db, range, total, count, visit),
    }
}

fn repeated(db: &mut Db, range: &RecordRange, total: u64, count: u64, visit: &mut Visit<'_>) -> Result<()> {
    let ranks: Vec<u64> = (0..count).map(|_| random_below(db.environment, total)).collect();
    let mut by_rank = BTreeMap::new();
    at_ranks(db, range, total, ranks.iter().copied().collect(), &mut |rank, key, value| {
        // Copies: a slice would keep the whole page that it came with.
        by_rank.insert(rank, (Bytes::copy_from_slice(key), Bytes::copy_from_slice(value)));
        Ok(())
    })?;
    let drawn = || ranks.iter().filter_map(|rank| by_rank.get(rank));
    let bytes = drawn().fold(0_usize, |sum, (key, value)| sum.saturating_add(key.len() + value.len()));
    if bytes > db.max_string_bytes {
        return Err(texts::OUT_OF_RANGE);
    }
    drawn().try_for_each(|(key, value)| visit(key, value))
}

/// `count` different numbers below `limit`, every set of them equally likely (Floyd's algorithm: Bentley, Programming Pearls,
/// Communications of the ACM 30/9, 1987).
fn distinct_ranks(db: &mut Db, limit: u64, count: u64) -> BTreeSet<u64> {
    let mut ranks = BTreeSet::new();
    for last in limit.saturating_sub(count)..limit {
        let rank = random_below(db.environment, last + 1);
        if !ranks.insert(rank) {
            ranks.insert(last);
        }
    }
    ranks
}

/// What is done with a record of a rank.
type VisitRank<'v> = dyn FnMut(u64, &Bytes, &Bytes) -> Result<()> + 'v;

/// Visits the records at these positions of a range that holds `total`.
fn at_ranks(db: &mut Db, range: &RecordRange, total: u64, ranks: BTreeSet<u64>, visit: &mut VisitRank<'_>) -> Result<()> {
    let mut front = ranks;
    let back = front.split_off(&(total / 2));
    at_distances(db, range, Direction::Forward, &front, visit)?;
    let from_the_end = |rank: u64| total.saturating_sub(rank).saturating_sub(1);
    let distances = back.into_iter().map(from_the_end).collect();
    at_distances(db, range, Direction::Reverse, &distances, &mut |distance, key, value| visit(from_the_end(distance), key, value))
}

/// Visits the records that are so far behind the first one of a walk.
fn at_distances(
    db: &mut Db,
    range: &RecordRange,
    direction: Direction,
    distances: &BTreeSet<u64>,
    visit: &mut VisitRank<'_>,
) -> Result<()> {
    let Some(&farthest) = distances.last() else { return Ok(()) };
    let mut scan = walk(range, direction, farthest.saturating_add(1));
    for distance in 0..=farthest {
        let Some((key, value)) = db.transaction.next(&mut scan)? else { break };
        if distances.contains(&distance) {
            visit(distance, &key, &value)?;
        }
    }
    Ok(())
}

/// A walk over the range, of which about `expected` records will be read.
fn walk((keyspace, range): &RecordRange, direction: Direction, expected: u64) -> Scan {
    Scan::new(*keyspace, range.clone(), direction, usize::try_from(expected).unwrap_or(usize::MAX))
}
