//! Members that come and go: the nodes above them count on, are cut, or become one with a neighbour.

use super::{MAX_FILL, Node, Tree, WRONG_COUNT, behind};
use crate::error::{Error, Result};
use crate::store::Direction;
use crate::transaction::{Scan, Transaction};
use bytes::Bytes;
use std::ops::ControlFlow;

/// So many changes may be worth a walk over all nodes between them.
const MANY: usize = 8;
/// A search for a node costs as much as a walk over so many.
const NODES_FOR_A_SEARCH: usize = 8;

/// A member that comes or goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where it stands.
    place: Bytes,
    comes: bool,
}

/// A node whose count is another one, and what it was before.
struct Changed {
    level: u8,
    node: Node,
    before: u64,
}

impl Tree<'_> {
    /// A member that comes to the set, or goes.
    #[must_use]
    pub fn change(&self, score: f64, member: &[u8], comes: bool) -> Change {
        Change { place: self.records.place(score, member), comes }
    }

    /// Counts changes of the members, which have been written, in a set that has levels and is not empty afterwards.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    pub fn update(&mut self, transaction: &mut Transaction<'_>, mut changes: Vec<Change>) -> Result<()> {
        changes.sort_unstable_by(|left, right| left.place.cmp(&right.place));
        let mut changed = Vec::new();
        self.count(transaction, self.set.rank_levels, (b"", self.set.count), &changes, &mut changed)?;
        // Behind all reads: a scan that meets changes is slower.
        for Changed { level, node, .. } in &changed {
            self.put(transaction, *level, node)?;
        }
        // Nodes are cut where nodes of the level below begin: those must be cut before.
        changed.sort_by_key(|changed| changed.level);
        let mut top_is_smaller = false;
        for Changed { level, node, before } in changed {
            if node.count > self.unit(level).saturating_mul(MAX_FILL) {
                // It may be in its neighbour by now.
                if let Some(node) = self.get(transaction, level, &node.place)? {
                    self.split(transaction, level, node)?;
                }
            } else if is_halved(before, node.count) {
                let is_merged = self.merge(transaction, level, &node.place)?;
                top_is_smaller |= is_merged && level == self.set.rank_levels;
            }
        }
        if top_is_smaller {
            self.drop_levels(transaction)?;
        }
        self.grow(transaction, self.wants(), usize::MAX).map(|_| ())
    }

    /// Counts changes, which are in order and behind a place, at a level and at those below it; there are about `members` from the place on.
    /// `changed` is told the nodes that count more or fewer than before, which are still to be put. (From the top, as a node tells how far
    /// back the search below it has to look.)
    fn count(
        &self,
        transaction: &mut Transaction<'_>,
        level: u8,
        (from, members): (&[u8], u64),
        changes: &[Change],
        changed: &mut Vec<Changed>,
    ) -> Result<()> {
        let Some(last) = changes.last().filter(|_| level > 0) else { return Ok(()) };
        let nodes = usize::try_from(members / self.unit(level)).unwrap_or(usize::MAX);
        if changes.len() >= MANY && nodes <= changes.len().saturating_mul(NODES_FOR_A_SEARCH) {
            return self.count_along(transaction, level, (from, nodes), changes, changed);
        }
        let last = self.covering(transaction, level, from, &last.place)?;
        let (mut rest, mut found) = (changes, None);
        while let Some(first) = rest.first() {
            let node = match found.take() {
                Some(node) => node,
                None if rest.len() == 1 => last.clone(),
                None => self.covering(transaction, level, from, &first.place)?,
            };
            let own = if node.place == last.place { rest.len() } else { self.own(transaction, level, &node, rest, &mut found)? };
            let (inside, outside) = rest.split_at(own);
            rest = outside;
            self.count_in(transaction, level, node, inside, changed)?;
        }
        Ok(())
    }

    /// As [`Tree::count`], by a walk over the nodes, which are about `nodes`.
    fn count_along(
        &self,
        transaction: &mut Transaction<'_>,
        level: u8,
        (from, nodes): (&[u8], usize),
        changes: &[Change],
        changed: &mut Vec<Changed>,
    ) -> Result<()> {
        let (Some(first), Some(last)) = (changes.first(), changes.last()) else { return Ok(()) };
        // The node that was met last, and those that cover changes, with how many.
        let mut node = self.covering(transaction, level, from, &first.place)?;
        let (mut rest, mut covering) = (changes, Vec::with_capacity(nodes.min(changes.len())));
        let (keyspace, range) = self.records.level(self.set.version, level, &behind(&node.place), Some(&behind(&last.place)));
        transaction.each_run(&mut Scan::new(keyspace, range, Direction::Forward, nodes), |run| {
            let mut met = None;
            for (key, value) in run {
                let (place, count) = self.records.decode(level, key, value)?;
                let own = rest.iter().take_while(|change| *change.place < *place).count();
                if own > 0 {
                    covering.push((met.map_or_else(|| node.clone(), Node::copied), own));
                    rest = rest.get(own..).unwrap_or_default();
                }
                met = Some((place, count));
            }
            if let Some(met) = met {
                node = Node::copied(met);
            }
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
        covering.push((node, rest.len()));
        let mut rest = changes;
        for (node, own) in covering {
            let (inside, outside) = rest.split_at(own);
            rest = outside;
            self.count_in(transaction, level, node, inside, changed)?;
        }
        Ok(())
    }

    /// Counts changes, all of which a node covers, there and below it.
    fn count_in(
        &self,
        transaction: &mut Transaction<'_>,
        level: u8,
        node: Node,
        changes: &[Change],
        changed: &mut Vec<Changed>,
    ) -> Result<()> {
        self.count(transaction, level.saturating_sub(1), (&node.place, node.count), changes, changed)?;
        let added = u64::try_from(changes.iter().filter(|change| change.comes).count()).unwrap_or(u64::MAX);
        let removed = u64::try_from(changes.len()).unwrap_or(u64::MAX).saturating_sub(added);
        let before = node.count;
        let count = before.checked_add(added).and_then(|count| count.checked_sub(removed));
        let count = count.ok_or_else(|| self.damaged(level, &node.place, WRONG_COUNT))?;
        if count != before {
            let node = Node { count, ..node };
            changed.push(Changed { level, node, before });
        }
        Ok(())
    }

    /// How many of the first of some changes a node covers; it covers the first one, and not the last. Where it covers no other, `found` is
    /// the node of the second one.
    fn own(
        &self,
        transaction: &mut Transaction<'_>,
        level: u8,
        node: &Node,
        changes: &[Change],
        found: &mut Option<Node>,
    ) -> Result<usize> {
        let Some(second) = changes.get(1).filter(|_| changes.len() > 2) else { return Ok(1) };
        let other = self.covering(transaction, level, &node.place, &second.place)?;
        if other.place != node.place {
            *found = Some(other);
            return Ok(1);
        }
        let next = self.following(transaction, level, &node.place)?;
        Ok(next.map_or(changes.len(), |next| changes.partition_point(|change| change.place < next.place)))
    }

    /// Makes a node that has become small one with its neighbours, where they are below the same node of the next level and have room.
    /// True where a node is gone.
    fn merge(&self, transaction: &mut Transaction<'_>, level: u8, place: &[u8]) -> Result<bool> {
        let Some(mut node) = self.get(transaction, level, place)? else { return Ok(false) };
        let small = self.unit(level) / 2;
        if node.count > small {
            return Ok(false);
        }
        let mut gone: Vec<Bytes> = Vec::new();
        while node.count <= small
            // Behind the last one that is gone: a scan from further back would pass all of them again.
            && let Some(right) = self.following(transaction, level, gone.last().unwrap_or(&node.place))?
            && self.may_merge(transaction, level, &node, &right)?
        {
            self.delete(transaction, level, &right)?;
            node.count = node.count.saturating_add(right.count);
            gone.push(right.place);
        }
        if node.count <= small
            && !node.place.is_empty()
            && let Some(left) = self.nodes(level, b"", Some(&node.place), Direction::Reverse, 1).next(transaction)?
            && self.may_merge(transaction, level, &left, &node)?
        {
            self.delete(transaction, level, &node)?;
            gone.push(node.place);
            node = Node { count: left.count.saturating_add(node.count), ..left };
        }
        if !gone.is_empty() {
            self.put(transaction, level, &node)?;
        }
        if let Some(below) = level.checked_sub(1).filter(|below| *below > 0) {
            // What was the first below a node, and so could not become one with its left neighbour, now can. From the right, so that a scan
            // to the left does not pass those that are gone.
            for place in gone.iter().rev() {
                self.merge(transaction, below, place)?;
            }
        }
        Ok(!gone.is_empty())
    }

    /// Whether a node can take in the one on its right.
    fn may_merge(&self, transaction: &mut Transaction<'_>, level: u8, left: &Node, right: &Node) -> Result<bool> {
        let unit = self.unit(level);
        // What it takes in should not make it one that is cut again soon.
        let has_room = left.count.saturating_add(right.count) <= unit.saturating_add(unit / 2) || left.count == 0 || right.count == 0;
        Ok(has_room && (level >= self.set.rank_levels || self.get(transaction, level.saturating_add(1), &right.place)?.is_none()))
    }

    /// Removes the highest level as long as it has one node only.
    fn drop_levels(&mut self, transaction: &mut Transaction<'_>) -> Result<()> {
        while self.set.rank_levels > 0 && self.following(transaction, self.set.rank_levels, b"")?.is_none() {
            self.delete(transaction, self.set.rank_levels, &Node { place: Bytes::new(), count: 0 })?;
            self.set.rank_levels = self.set.rank_levels.saturating_sub(1);
        }
        Ok(())
    }
}

/// Whether a count has fallen below a power of two: often enough to look after a small node, and seldom enough to cost nothing.
fn is_halved(before: u64, count: u64) -> bool {
    count < before && before.checked_ilog2() > count.checked_ilog2()
}
