//! Drawing records of a collection at random, each with the same probability. `docs/sampling.md` says what was weighed.
//!
//! A store in byte order has no positions to jump to. So ranks are drawn, and the collection is read up to them, each half from
//! its own end: a quarter of the records on average for a single draw, nearly all of them for many. A few draws from many records go by
//! an index that leads to ranks, where there is one, and otherwise by a census of the records (`by_census`): the second of them reads
//! all records, those after it some tens to hundreds each. What is drawn with repetition is held in memory; of different records only the ranks are,
//! or the keys.

mod by_census;

use crate::db::Db;
use crate::environment::random_below;
use crate::error::{Result, texts};
use crate::layout::records::{self, Record, Records};
use crate::store::Direction;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// Most draws with repetition: what is above would only fill the memory.
const MAX_REPEATED: u64 = 1 << 20;

/// Records that it takes to find the one at a rank where there is a way to it, about.
const RECORDS_OF_A_SEEK: u64 = 128;

/// How many records are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// This many different ones, all of them where there are not so many.
    Distinct(u64),
    /// This many, each drawn from all records.
    Repeated(u64),
}

/// What is done with a record.
pub type Visit<'v> = dyn FnMut(&Record) -> Result<()> + 'v;

/// The records that are drawn from.
pub struct Urn<'u> {
    /// The records that hold them.
    pub records: &'u Records,
    /// How many they are.
    pub total: u64,
    /// Which of the records they are; `None`: all.
    pub only: Option<&'u Only<'u>>,
    /// How to come to one by its rank without a walk over those before it; `None`: in no way.
    pub seek: Option<&'u Seek<'u>>,
}

/// The record at a rank; `None` where there are not so many.
pub type Seek<'s> = dyn Fn(&mut Db, u64) -> Result<Option<Record>> + 's;

/// Whether a record is drawn from.
pub type Only<'o> = dyn Fn(&Record) -> Result<bool> + 'o;

fn takes(only: Option<&Only<'_>>, record: &Record) -> Result<bool> {
    only.map_or(Ok(true), |only| only(record))
}

/// Hands records drawn from an urn to `visit`; different ones not in a random order.
///
/// # Errors
/// Store errors, and those of `visit`; `ERR value is out of range` for more than 1,048,576 repeated draws, and where the records
/// drawn so are more bytes than `proto-max-bulk-len`.
pub fn records(db: &mut Db, urn: &Urn<'_>, draw: Draw, visit: &mut Visit<'_>) -> Result<()> {
    match draw {
        Draw::Distinct(count) if count >= urn.total => {
            let mut walk = Walk::new(urn, Direction::Forward, urn.total);
            while let Some(record) = walk.next(db)? {
                visit(&record)?;
            }
            Ok(())
        }
        Draw::Distinct(count) => distinct(db, urn, count, visit),
        Draw::Repeated(count) if count > MAX_REPEATED => Err(texts::OUT_OF_RANGE),
        Draw::Repeated(count) => repeated(db, urn, count, visit),
    }
}

/// Whether it costs less to find so many records one by one, for so many records read each, than to walk to them.
fn are_few(urn: &Urn<'_>, count: u64, records_of_one: u64) -> bool {
    count.saturating_mul(records_of_one) < urn.total / 4
}

fn distinct(db: &mut Db, urn: &Urn<'_>, count: u64, visit: &mut Visit<'_>) -> Result<()> {
    let mut keys = BTreeSet::new();
    let count_left = by_census::draw(db, urn, count, &mut |record| {
        let is_new = !keys.contains(&record.key);
        if is_new {
            visit(&record)?;
            keys.insert(record.key);
        }
        Ok(is_new)
    })?;
    if count_left == 0 {
        return Ok(());
    }
    let is_left = |record: &Record| Ok(!keys.contains(&record.key) && takes(urn.only, record)?);
    let only: Option<&Only<'_>> = if keys.is_empty() { urn.only } else { Some(&is_left) };
    let left = Urn { total: urn.total.saturating_sub(count - count_left), only, ..*urn };
    let ranks = distinct_ranks(db, left.total, count_left);
    at_ranks(db, &left, ranks, &mut |_, record| visit(record))
}

fn repeated(db: &mut Db, urn: &Urn<'_>, count: u64, visit: &mut Visit<'_>) -> Result<()> {
    let mut first = Vec::new();
    let count_left = by_census::draw(db, urn, count, &mut |record| {
        first.push(record);
        Ok(true)
    })?;
    let ranks: Vec<u64> = (0..count_left).map(|_| random_below(db.environment, urn.total)).collect();
    let mut by_rank = BTreeMap::new();
    at_ranks(db, urn, ranks.iter().copied().collect(), &mut |rank, Record { keyspace, key, value }| {
        // Copies: a slice would keep the whole page that it came with.
        let copy = Record { keyspace: *keyspace, key: Bytes::copy_from_slice(key), value: Bytes::copy_from_slice(value) };
        by_rank.insert(rank, copy);
        Ok(())
    })?;
    let drawn = || first.iter().chain(ranks.iter().filter_map(|rank| by_rank.get(rank)));
    let bytes = drawn().fold(0_usize, |sum, Record { key, value, .. }| sum.saturating_add(key.len() + value.len()));
    if bytes > db.max_string_bytes {
        return Err(texts::OUT_OF_RANGE);
    }
    drawn().try_for_each(visit)
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
type VisitRank<'v> = dyn FnMut(u64, &Record) -> Result<()> + 'v;

/// Visits the records of an urn at these positions.
fn at_ranks(db: &mut Db, urn: &Urn<'_>, ranks: BTreeSet<u64>, visit: &mut VisitRank<'_>) -> Result<()> {
    let sought = u64::try_from(ranks.len()).unwrap_or(u64::MAX);
    if let Some(seek) = urn.seek.filter(|_| are_few(urn, sought, RECORDS_OF_A_SEEK)) {
        for rank in ranks {
            if let Some(record) = seek(db, rank)? {
                visit(rank, &record)?;
            }
        }
        return Ok(());
    }
    let mut front = ranks;
    let back = front.split_off(&(urn.total / 2));
    at_distances(db, urn, Direction::Forward, &front, visit)?;
    let from_the_end = |rank: u64| urn.total.saturating_sub(rank).saturating_sub(1);
    let distances = back.into_iter().map(from_the_end).collect();
    at_distances(db, urn, Direction::Reverse, &distances, &mut |distance, record| visit(from_the_end(distance), record))
}

/// Visits the records that are so far behind the first one of a walk.
fn at_distances(db: &mut Db, urn: &Urn<'_>, direction: Direction, distances: &BTreeSet<u64>, visit: &mut VisitRank<'_>) -> Result<()> {
    let Some(&farthest) = distances.last() else { return Ok(()) };
    let mut walk = Walk::new(urn, direction, farthest.saturating_add(1));
    for distance in 0..=farthest {
        let Some(record) = walk.next(db)? else { break };
        if distances.contains(&distance) {
            visit(distance, &record)?;
        }
    }
    Ok(())
}

/// A walk over the records of an urn.
struct Walk<'u> {
    records: records::Walk,
    only: Option<&'u Only<'u>>,
}

impl<'u> Walk<'u> {
    /// About `expected` records will be read.
    fn new(urn: &Urn<'u>, direction: Direction, expected: u64) -> Self {
        let records = urn.records.clone().walk(direction, usize::try_from(expected).unwrap_or(usize::MAX));
        Self { records, only: urn.only }
    }

    fn next(&mut self, db: &mut Db) -> Result<Option<Record>> {
        while let Some(record) = self.records.next(db.transaction)? {
            if takes(self.only, &record)? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }
}
