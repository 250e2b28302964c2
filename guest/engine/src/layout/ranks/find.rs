//! Ranks from places, and places from ranks.

use super::{MAX_ROOT_FILL, MISSING, Node, Nodes, Tree, WRONG_COUNT};
use crate::error::Result;
use crate::layout::{Cut, RecordRange};
use crate::store::Direction;
use crate::transaction::Transaction;
use bytes::Bytes;

impl<'l> Tree<'l> {
    /// How many members stand before a cut, which is the beginning of a range or its end.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    pub fn position(&self, transaction: &mut Transaction<'_>, cut: &Cut, is_end: bool) -> Result<u64> {
        match (self.records.cut(cut), cut) {
            (Some(place), _) => self.before(transaction, &place),
            (None, Cut::Edge) if !is_end => Ok(0),
            (None, _) => Ok(self.set.count),
        }
    }

    /// How many members stand before a place.
    fn before(&self, transaction: &mut Transaction<'_>, place: &[u8]) -> Result<u64> {
        let (mut before, mut from) = (0_u64, Bytes::new());
        for level in (1..=self.set.rank_levels).rev() {
            let (mut nodes, mut last) = self.walk_from(transaction, level, &from, Some(place), self.fanout * MAX_ROOT_FILL)?;
            while let Some(node) = nodes.next(transaction)? {
                before = before.saturating_add(last.count);
                last = node;
            }
            from = last.place;
        }
        let mut members = self.nodes(0, &from, Some(place), Direction::Forward, expected(self.fanout * 2));
        while members.next(transaction)?.is_some() {
            before = before.saturating_add(1);
        }
        if before > self.set.count {
            return Err(self.damaged(1, &from, WRONG_COUNT));
        }
        Ok(before)
    }

    /// The records from the node of level 1 on that counts the member of a rank, 0 being the first, and how many of them come before it.
    ///
    /// # Errors
    /// Store errors; corrupt records, also where the set has no such rank.
    pub fn at_rank(&self, transaction: &mut Transaction<'_>, rank: u64) -> Result<(RecordRange, u64)> {
        let (mut left, mut from) = (rank, Bytes::new());
        for level in (1..=self.set.rank_levels).rev() {
            let about = left.checked_div(self.unit(level)).unwrap_or(0).saturating_add(2);
            let (mut nodes, mut node) = self.walk_from(transaction, level, &from, None, about)?;
            while node.count <= left {
                left -= node.count;
                node = nodes.next(transaction)?.ok_or_else(|| self.damaged(level, &node.place, WRONG_COUNT))?;
            }
            from = node.place;
        }
        Ok((self.records.level(self.set.version, 0, &from, None), left))
    }

    /// A walk over the nodes of a level that comes behind the first one, which begins at a place: as one of the level above does.
    fn walk_from(
        &self,
        transaction: &mut Transaction<'_>,
        level: u8,
        place: &[u8],
        to: Option<&[u8]>,
        about: u64,
    ) -> Result<(Nodes<'l>, Node)> {
        let mut nodes = self.nodes(level, place, to, Direction::Forward, expected(about));
        let first = nodes.next(transaction)?.filter(|first| first.place == place);
        Ok((nodes, first.ok_or_else(|| self.damaged(level, place, MISSING))?))
    }
}

/// A number of records as scans expect it.
fn expected(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
