//! Ranks from places, and places from ranks.
//!
//! Who looks for a place asks each level for all that one node of the level above counts, and no less: so those who look for others ask the
//! same, and a host that keeps answers has it.

use super::{MAX_FILL, MAX_ROOT_FILL, MISSING, Tree, WRONG_COUNT};
use crate::error::Result;
use crate::layout::{Cut, RecordRange};
use crate::store::Direction;
use crate::transaction::{Run, Transaction};
use std::ops::ControlFlow;

/// What a node counts of the level below it.
#[derive(Debug)]
struct Part {
    /// Where it begins: a node of the level below begins there, too.
    from: Vec<u8>,
    /// Where the next node begins.
    to: Option<Vec<u8>>,
    /// How many members there are in between.
    count: u64,
}

/// What is looked for in a tree.
#[derive(Clone, Copy)]
enum Target<'t> {
    /// A place.
    Place(&'t [u8]),
    /// A rank, 0 being the first.
    Rank(u64),
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

    /// The rank of a member of the set, 0 being the lowest. Also of a set without levels, all of which is asked for then: of one that is
    /// [small](Tree::tells_ranks) in one page.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    pub fn rank(&self, transaction: &mut Transaction<'_>, score: f64, member: &[u8]) -> Result<u64> {
        self.before(transaction, &self.records.place(score, member))
    }

    /// How many members stand before a place.
    fn before(&self, transaction: &mut Transaction<'_>, place: &[u8]) -> Result<u64> {
        let (mut before, mut part) = (0, self.whole());
        for level in (1..=self.set.rank_levels).rev() {
            part = self.descend(transaction, level, part, &mut before, Target::Place(place))?;
        }
        self.each_run(transaction, 0, &part, &mut |run, places_at| {
            let passed = run.take_before(|key| stands_before(key, places_at, place));
            before = before.saturating_add(u64::try_from(passed).unwrap_or(u64::MAX));
            Ok(if run.is_empty() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
        if before > self.set.count && self.set.rank_levels > 0 {
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
            part = self.descend(transaction, level, part, &mut before, Target::Rank(rank))?;
        }
        let left = rank.checked_sub(before).filter(|left| *left < part.count);
        let left = left.ok_or_else(|| self.damaged(1, &part.from, WRONG_COUNT))?;
        Ok((self.records.level(self.set.version, 0, &part.from, None), left))
    }

    /// Walks over the nodes of a level within a part of it up to the last one that begins before a place, or to the one that counts the member of a
    /// rank, and counts in `before` the members that those have which are passed. Returns what that node counts.
    fn descend(&self, transaction: &mut Transaction<'_>, level: u8, part: Part, before: &mut u64, target: Target<'_>) -> Result<Part> {
        let (mut found, mut to) = (None::<(Vec<u8>, u64)>, None);
        self.each_run(transaction, level, &part, &mut |run, places_at| {
            let mut last = found.as_ref().map(|(place, count)| (place.as_slice(), *count));
            let mut next = None;
            // Where the target is a place, how many of them begin before it: those are counted without a look at where they begin.
            let (passed, rank) = match target {
                Target::Place(place) => (run.clone().take_before(|key| stands_before(key, places_at, place)), u64::MAX),
                Target::Rank(rank) => (usize::MAX, rank),
            };
            for (position, (key, value)) in run.enumerate() {
                let node = self.records.decode(level, key, value)?;
                match last {
                    None if node.0 != part.from => return Err(self.damaged(level, &part.from, MISSING)),
                    None => {}
                    Some((_, count)) => {
                        let through = before.saturating_add(count);
                        if position >= passed || through > rank {
                            next = Some(node.0.to_vec());
                            break;
                        }
                        *before = through;
                    }
                }
                last = Some(node);
            }
            found = last.map(|(place, count)| (place.to_vec(), count));
            to = next;
            Ok(if to.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        let (from, count) = found.ok_or_else(|| self.damaged(level, &part.from, MISSING))?;
        Ok(Part { from, to: to.or(part.to), count })
    }

    /// All that there is of the highest level.
    const fn whole(&self) -> Part {
        Part { from: Vec::new(), to: None, count: self.set.count }
    }

    /// Hands the records of a part of a level to `visit`, all of them in one run where nodes have no more than they should, and where in each of their
    /// keys the place begins.
    fn each_run(
        &self,
        transaction: &mut Transaction<'_>,
        level: u8,
        Part { from, to, .. }: &Part,
        visit: &mut dyn FnMut(&mut Run<'_>, usize) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let records = self.records.level(self.set.version, level, from, to.as_deref());
        let places_at = records.1.start.len().saturating_sub(from.len());
        let most = if level == self.set.rank_levels { MAX_ROOT_FILL } else { MAX_FILL };
        let expected = usize::try_from(self.fanout.saturating_mul(most)).unwrap_or(usize::MAX);
        transaction.each_run_of(records, Direction::Forward, expected, &mut |run| visit(run, places_at))
    }
}

/// Whether the place in the key of a record comes before another one.
fn stands_before(key: &[u8], places_at: usize, place: &[u8]) -> bool {
    key.get(places_at..).is_some_and(|at| at < place)
}
