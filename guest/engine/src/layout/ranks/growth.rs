//! The making of nodes: levels are cut from what is below them, and nodes that have become too large are cut into several.

use super::{MAX_LEVELS, MAX_ROOT_FILL, Node, Tree, WRONG_COUNT};
use crate::error::Result;
use crate::store::Direction;
use crate::transaction::Transaction;
use bytes::Bytes;

/// What is still to be cut into nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cutting {
    level: u8,
    /// Where it begins.
    place: Bytes,
    /// How many members it has.
    members: u64,
    /// How many nodes it is to become.
    pieces: u64,
}

impl Tree<'_> {
    /// What is to be cut next so that the set gets the levels that it wants; `None` where it has them.
    #[must_use]
    pub fn wants(&self) -> Option<Cutting> {
        let level = self.set.rank_levels.checked_add(1).filter(|level| *level <= MAX_LEVELS)?;
        let (unit, members) = (self.unit(level), self.set.count);
        let is_wanted = members > unit.saturating_mul(MAX_ROOT_FILL);
        is_wanted.then(|| Cutting { level, place: Bytes::new(), members, pieces: members.checked_div(unit).unwrap_or(1) })
    }

    /// Cuts up to `max_nodes` nodes, and goes on with the next level after one. Returns what is still to be cut, `None` once the set has the
    /// levels that it wants.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    pub fn grow(&mut self, transaction: &mut Transaction<'_>, mut cutting: Option<Cutting>, max_nodes: usize) -> Result<Option<Cutting>> {
        for _ in 0..max_nodes {
            let Some(next) = cutting else { break };
            cutting = self.cut(transaction, next)?;
            if cutting.is_none() {
                self.set.rank_levels = self.set.rank_levels.saturating_add(1);
                cutting = self.wants();
            }
        }
        Ok(cutting)
    }

    /// Cuts a node of a level into several of the usual size.
    pub(super) fn split(&self, transaction: &mut Transaction<'_>, level: u8, node: Node) -> Result<()> {
        let pieces = node.count.checked_div(self.unit(level)).unwrap_or(1);
        let mut rest = Some(Cutting { level, place: node.place, members: node.count, pieces });
        while let Some(cutting) = rest {
            rest = self.cut(transaction, cutting)?;
        }
        Ok(())
    }

    /// Makes the first of the nodes, and returns what is left. The next one begins where one of the level below does.
    fn cut(&self, transaction: &mut Transaction<'_>, cutting: Cutting) -> Result<Option<Cutting>> {
        let Cutting { level, place, members, pieces } = cutting;
        let size = members.checked_div(pieces).unwrap_or(members);
        let below = level.saturating_sub(1);
        let about = size.checked_div(self.unit(below)).unwrap_or(0).saturating_add(1);
        let mut children = self.nodes(below, &place, None, Direction::Forward, usize::try_from(about).unwrap_or(usize::MAX));
        let (mut count, mut next) = (0_u64, None);
        while pieces > 1 && count < members {
            let child = children.next(transaction)?.ok_or_else(|| self.damaged(level, &place, WRONG_COUNT))?;
            if count >= size {
                next = Some(child.place);
                break;
            }
            count = count.saturating_add(child.count);
        }
        let Some(next) = next else {
            self.put(transaction, level, &Node { place, count: members })?;
            return Ok(None);
        };
        self.put(transaction, level, &Node { place, count })?;
        Ok(Some(Cutting { level, place: next, members: members.saturating_sub(count), pieces: pieces - 1 }))
    }
}
