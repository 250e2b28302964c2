//! Ranks of large sorted sets: a counted tree over the members in the order of their scores. `docs/ranks.md` says why this one.
//!
//! A *place* is where a member stands in that order: bytes that sort as the members do. Level 0 are the members. A *node* of level 1
//! begins at a place, and counts the members from there on up to where the next node of its level begins. A node of a higher level
//! counts the members in the same way, and begins where a node of the level below begins. The first node of each level begins at
//! the empty place, before all members. So a rank is the sum of a few counts of each level, the highest first.
//!
//! Small sets have no level. The functions take the head of a set and leave the changed one in [`Tree::set`]; to store it is the
//! caller's business.

mod change;
mod find;
mod growth;
#[cfg(test)]
mod tests;

pub use change::Change;
pub use growth::Cutting;

use super::{Collection, Cut, Kind, Layout, RecordKey, RecordRange};
use crate::error::{Error, Result};
use crate::store::Direction;
use crate::transaction::{Scan, Transaction};
use bytes::Bytes;

/// How many nodes of the level below a node should cover, or members.
const FANOUT: u64 = 128;
/// A node is cut once it counts more than this many times what it should.
const MAX_FILL: u64 = 2;
/// A set gets another level once it counts more than this many times what a node of that level should.
const MAX_ROOT_FILL: u64 = 4;
/// A set without a tree gets none as long as it has no more members than these.
pub const MEMBERS_BEFORE_A_TREE: u64 = FANOUT * MAX_ROOT_FILL;
/// A set without a tree that has no more members than these is read whole to tell a rank: a walk from both ends would read as many, with two calls, and
/// others for each member, which no host keeps.
pub const MEMBERS_READ_WHOLE: u64 = FANOUT;
/// Levels of the largest set that a count can tell.
pub const MAX_LEVELS: u8 = 8;
/// A set without a tree that has more members than this stays without: to make one would be too much for one command.
pub const MAX_MEMBERS_WITHOUT: u64 = 1 << 13;

const MISSING: &str = "a missing record";
const WRONG_COUNT: &str = "a count of members that are not there";

/// A node, or at level 0 a member, which counts itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Where it begins.
    pub place: Bytes,
    /// How many members there are up to the next node of its level.
    pub count: u64,
}

impl Node {
    /// Of what [`RankRecords::decode`] has lent.
    fn copied((place, count): (&[u8], u64)) -> Self {
        Self { place: Bytes::copy_from_slice(place), count }
    }
}

/// The records of trees. All of them are in byte order.
pub trait RankRecords {
    /// The place of a member.
    fn place(&self, score: f64, member: &[u8]) -> Bytes;

    /// The first place behind a cut; `None` at an edge.
    fn cut(&self, cut: &Cut) -> Option<Bytes>;

    /// The records of a level, from a place on and before another one; without an end, all that follow. Level 0: those of the scores.
    fn level(&self, version: u64, level: u8, from: &[u8], to: Option<&[u8]>) -> RecordRange;

    /// The record of a node.
    fn node(&self, version: u64, level: u8, place: &[u8]) -> RecordKey;

    /// The value of a node's record.
    fn encode_count(&self, count: u64) -> Bytes;

    /// What a record of a level stands for: where the node begins, and how many members it counts.
    ///
    /// # Errors
    /// Corrupt records.
    fn decode<'k>(&self, level: u8, key: &'k [u8], value: &[u8]) -> Result<(&'k [u8], u64)>;

    /// The error for the record of a node that is not as it must be.
    fn damaged(&self, node: &RecordKey, what: &'static str) -> Error;
}

/// As [`Tree::tells_ranks`], of a set with so many levels and members.
#[must_use]
pub const fn tells_ranks(levels: u8, count: u64) -> bool {
    levels > 0 || count <= MEMBERS_READ_WHOLE
}

/// The tree of a sorted set.
pub struct Tree<'l> {
    records: &'l dyn RankRecords,
    /// The head of the set.
    pub set: Collection,
    fanout: u64,
}

impl<'l> Tree<'l> {
    /// The tree of a set, which has no level yet where the set is small; `None` in layouts without trees, and for other kinds.
    #[must_use]
    pub fn of(layout: &'l dyn Layout, set: Collection) -> Option<Self> {
        layout.rank_records().filter(|_| set.kind == Kind::SortedSet).map(|records| Self::on(records, set))
    }

    /// The tree of a sorted set with these records.
    #[must_use]
    pub const fn on(records: &'l dyn RankRecords, set: Collection) -> Self {
        Self { records, set, fanout: FANOUT }
    }

    /// As [`Tree::of`], but `None` as well where there is no level.
    #[must_use]
    pub fn grown(layout: &'l dyn Layout, set: Collection) -> Option<Self> {
        Self::of(layout, set).filter(|tree| tree.set.rank_levels > 0)
    }

    /// Whether [`Tree::rank`] reads few records: the set has a level, or is small.
    #[must_use]
    pub const fn tells_ranks(&self) -> bool {
        tells_ranks(self.set.rank_levels, self.set.count)
    }

    /// How many members a node of a level should count.
    fn unit(&self, level: u8) -> u64 {
        self.fanout.saturating_pow(u32::from(level))
    }

    fn damaged(&self, level: u8, place: &[u8], what: &'static str) -> Error {
        self.records.damaged(&self.records.node(self.set.version, level, place), what)
    }

    /// A walk over the nodes of a level, see [`RankRecords::level`]. About `expected` records will be read.
    fn nodes(&self, level: u8, from: &[u8], to: Option<&[u8]>, direction: Direction, expected: usize) -> Nodes<'l> {
        let (keyspace, range) = self.records.level(self.set.version, level, from, to);
        Nodes { records: self.records, level, scan: Scan::new(keyspace, range, direction, expected) }
    }

    /// The node of a level that begins at a place.
    fn get(&self, transaction: &mut Transaction<'_>, level: u8, place: &[u8]) -> Result<Option<Node>> {
        let (keyspace, key) = self.records.node(self.set.version, level, place);
        let value = transaction.get(keyspace, &key)?;
        value.map(|value| node(self.records, level, &key, &value)).transpose()
    }

    fn put(&self, transaction: &mut Transaction<'_>, level: u8, node: &Node) -> Result<()> {
        let (keyspace, key) = self.records.node(self.set.version, level, &node.place);
        Ok(transaction.put(keyspace, key, self.records.encode_count(node.count))?)
    }

    fn delete(&self, transaction: &mut Transaction<'_>, level: u8, node: &Node) -> Result<()> {
        let (keyspace, key) = self.records.node(self.set.version, level, &node.place);
        Ok(transaction.delete(keyspace, key)?)
    }

    /// The node of a level that counts what stands at a place, behind another one where a node of the level begins.
    fn covering(&self, transaction: &mut Transaction<'_>, level: u8, from: &[u8], place: &[u8]) -> Result<Node> {
        let before = self.nodes(level, from, Some(&behind(place)), Direction::Reverse, 1).next(transaction)?;
        before.ok_or_else(|| self.damaged(level, from, MISSING))
    }

    /// The node of a level behind the one that begins at a place.
    fn following(&self, transaction: &mut Transaction<'_>, level: u8, place: &[u8]) -> Result<Option<Node>> {
        self.nodes(level, &behind(place), None, Direction::Forward, 1).next(transaction)
    }
}

/// The first place behind one.
fn behind(place: &[u8]) -> Vec<u8> {
    [place, &[0]].concat()
}

/// A walk over nodes.
struct Nodes<'l> {
    records: &'l dyn RankRecords,
    level: u8,
    scan: Scan,
}

impl Nodes<'_> {
    fn next(&mut self, transaction: &mut Transaction<'_>) -> Result<Option<Node>> {
        let record = transaction.next(&mut self.scan)?;
        record.map(|(key, value)| node(self.records, self.level, &key, &value)).transpose()
    }
}

/// What a record of a level stands for.
fn node(records: &dyn RankRecords, level: u8, key: &Bytes, value: &[u8]) -> Result<Node> {
    records.decode(level, key, value).map(|(place, count)| Node { place: key.slice_ref(place), count })
}
