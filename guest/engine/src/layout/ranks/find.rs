//! Ranks from places, and places from ranks.
//!
//! Who looks for a place asks each level for all that one node of the level above counts, and no less: so those who look for others ask the
//! same, and a host that keeps answers has it.

use super::{MAX_FILL, MAX_ROOT_FILL, MISSING, Tree, WRONG_COUNT};
use crate::error::{Error, Result};
use crate::layout::{Cut, RecordRange};
use crate::store::Direction;
use crate::transaction::{Scan, Transaction};
use bytes::Bytes;
use std::ops::ControlFlow;

/// What a node counts of the level below it.
#[derive(Debug)]
struct Part {
    /// Where it begins: a node of the level below begins there, too.
    from: Bytes,
    /// Where the next node begins.
    to: Option<Bytes>,
    /// How many members there are in between.
    count: u64,
}

impl Tree<'_> {
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
        let (mut before, mut part) = (0, self.whole());
        for level in (1..=self.set.rank_levels).rev() {
            part = self.descend(transaction, level, &part, &mut before, |_, next| next >= place)?;
        }
        let (_, here) = self.records.level(self.set.version, 0, place, None);
        let mut members = self.scan(0, &part);
        transaction.each_run::<Error>(&mut members, |run| {
            for (key, _) in run {
                if key >= here.start.as_slice() {
                    return Ok(ControlFlow::Break(()));
                }
                before = before.saturating_add(1);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        if before > self.set.count {
            return Err(self.damaged(1, &part.from, WRONG_COUNT));
        }
        Ok(before)
    }

    /// The records from the node of level 1 on that counts the member of a rank, 0 being the first, and how many of them come before it.
    ///
    /// # Errors
    /// Store errors; corrupt records, also where the set has no such rank.
    pub fn at_rank(&self, transaction: &mut Transaction<'_>, rank: u64) -> Result<(RecordRange, u64)> {
        let (mut before, mut part) = (0, self.whole());
        for level in (1..=self.set.rank_levels).rev() {
            part = self.descend(transaction, level, &part, &mut before, |through, _| through > rank)?;
        }
        let left = rank.checked_sub(before).filter(|left| *left < part.count);
        let left = left.ok_or_else(|| self.damaged(1, &part.from, WRONG_COUNT))?;
        Ok((self.records.level(self.set.version, 0, &part.from, None), left))
    }

    /// Walks over the nodes of a level within a part of it, and counts in `before` the members that those have which are passed. Where it
    /// stops is the last node, or the one at which `is_it` says so, which is told how many members there are up to its end, and the place of
    /// the next node. Returns what that node counts.
    fn descend(
        &self,
        transaction: &mut Transaction<'_>,
        level: u8,
        part: &Part,
        before: &mut u64,
        is_it: impl Fn(u64, &[u8]) -> bool,
    ) -> Result<Part> {
        let mut nodes = self.scan(level, part);
        let (mut found, mut to) = (None::<(Bytes, u64)>, None);
        transaction.each_run::<Error>(&mut nodes, |run| {
            let mut last = found.as_ref().map(|(place, count)| (place.as_ref(), *count));
            let mut next = None;
            for (key, value) in run {
                let node = self.records.decode(level, key, value)?;
                match last {
                    None if node.0 != part.from => return Err(self.damaged(level, &part.from, MISSING)),
                    None => {}
                    Some((_, count)) => {
                        let through = before.saturating_add(count);
                        if is_it(through, node.0) {
                            next = Some(Bytes::copy_from_slice(node.0));
                            break;
                        }
                        *before = through;
                    }
                }
                last = Some(node);
            }
            found = last.map(|(place, count)| (Bytes::copy_from_slice(place), count));
            to = next;
            Ok(if to.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        let (from, count) = found.ok_or_else(|| self.damaged(level, &part.from, MISSING))?;
        Ok(Part { from, to: to.or_else(|| part.to.clone()), count })
    }

    /// All that there is of the highest level.
    const fn whole(&self) -> Part {
        Part { from: Bytes::new(), to: None, count: self.set.count }
    }

    /// A scan of a part of a level, all of it in one page where nodes have no more than they should.
    fn scan(&self, level: u8, Part { from, to, .. }: &Part) -> Scan {
        let (keyspace, range) = self.records.level(self.set.version, level, from, to.as_deref());
        let most = if level == self.set.rank_levels { MAX_ROOT_FILL } else { MAX_FILL };
        let expected = usize::try_from(self.fanout.saturating_mul(most)).unwrap_or(usize::MAX);
        Scan::new(keyspace, range, Direction::Forward, expected)
    }
}
