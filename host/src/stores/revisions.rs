//! How a store tells that something changed: revisions of lock keys, and the epoch.
//!
//! Every commit has a number, given once its records are written. A key's revision is the number of the last commit that
//! changed it (or a key of the same stripe); the epoch is that of the last exclusive commit.

use super::locks::STRIPES;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of one store. They begin anew when it is opened.
#[derive(Debug)]
pub struct Revisions {
    started: AtomicU64,
    finished: AtomicU64,
    exclusive: AtomicU64,
    stripes: Vec<AtomicU64>,
}

impl Revisions {
    pub fn new() -> Self {
        let stripes = (0..STRIPES).map(|_| AtomicU64::new(0)).collect();
        Self { started: AtomicU64::new(0), finished: AtomicU64::new(0), exclusive: AtomicU64::new(0), stripes }
    }

    /// To be called before a commit writes: whoever reads without a snapshot learns from it that records may change.
    pub fn start(&self) {
        self.started.fetch_add(1, Ordering::SeqCst);
    }

    /// How many commits have started.
    pub fn started(&self) -> u64 {
        self.started.load(Ordering::SeqCst)
    }

    /// To be called when a commit has written, while its locks are held. Returns its number.
    pub fn finish(&self, stripes: impl Iterator<Item = usize>, exclusive: bool) -> u64 {
        let number = self.finished.fetch_add(1, Ordering::SeqCst) + 1;
        let counters = stripes.filter_map(|stripe| self.stripes.get(stripe)).chain(exclusive.then_some(&self.exclusive));
        for counter in counters {
            counter.fetch_max(number, Ordering::SeqCst);
        }
        number
    }

    /// The number of the last commit.
    pub fn last(&self) -> u64 {
        self.finished.load(Ordering::SeqCst)
    }

    /// The revision of the keys of a stripe as of the commit `last`, which was the last one when the reader's state was taken.
    /// A later commit may be in that state already: it will then be reported as a change, which is a false alarm, never a
    /// missed one.
    pub fn revision(&self, stripe: usize, last: u64) -> u64 {
        self.stripes.get(stripe).map_or(0, |counter| counter.load(Ordering::SeqCst)).min(last)
    }

    /// The number of the last exclusive commit.
    pub fn epoch(&self) -> u64 {
        self.exclusive.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_of_an_old_state_sees_a_later_commit_as_a_change() {
        let revisions = Revisions::new();
        revisions.finish([7].into_iter(), false);
        let (state, before) = (revisions.last(), revisions.revision(7, revisions.last()));
        revisions.finish([7].into_iter(), false);
        assert_eq!(revisions.revision(7, state), before);
        assert_ne!(revisions.revision(7, revisions.last()), before);
        assert_eq!(revisions.revision(8, revisions.last()), 0);
    }

    #[test]
    fn an_exclusive_commit_changes_the_epoch_alone() {
        let revisions = Revisions::new();
        revisions.finish([1].into_iter(), false);
        assert_eq!(revisions.epoch(), 0);
        revisions.finish([].into_iter(), true);
        assert_eq!(revisions.epoch(), 2);
        assert_eq!((revisions.revision(1, 2), revisions.revision(2, 2)), (1, 0));
    }
}
