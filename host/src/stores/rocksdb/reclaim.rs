//! Giving the space of large range deletes back.
//!
//! A range delete is a marker; the records below it keep their space until a compaction meets both. Here the ranges wait for a
//! background thread that compacts them. It does not drop whole files (`DeleteFilesInRange`): that would take records from open
//! snapshots, records written into the range since, and, after a crash, records whose delete was not yet on disk.

use super::database::Database;
use parking_lot::Mutex;
use rocksdb::{BottommostLevelCompaction, CompactOptions, Range};

/// Ranges that wait; further ones are left to ordinary compactions.
const MOST_WAITING: usize = 4096;

/// A range that was deleted: position of the database, column family, first key, first key behind it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deleted {
    pub database: usize,
    pub family: String,
    pub start: Vec<u8>,
    pub end: Vec<u8>,
}

/// The ranges that wait for their compaction.
#[derive(Debug, Default)]
pub struct Queue {
    waiting: Mutex<Vec<Deleted>>,
}

impl Queue {
    pub fn add(&self, ranges: Vec<Deleted>) {
        if ranges.is_empty() {
            return;
        }
        let mut waiting = self.waiting.lock();
        let room = MOST_WAITING.saturating_sub(waiting.len());
        waiting.extend(ranges.into_iter().take(room));
    }

    /// Compacts the waiting ranges whose files hold at least `least_bytes`.
    pub fn work(&self, databases: &[Database], least_bytes: u64) {
        for range in merged(std::mem::take(&mut *self.waiting.lock())) {
            let database = databases.get(range.database);
            let Some((database, db)) = database.and_then(|database| Some((database, database.get()?))) else { continue };
            let Some(cf) = database.family(&range.family) else { continue };
            let sizes = db.get_approximate_sizes_cf(&cf, &[Range::new(&range.start, &range.end)]);
            if sizes.first().is_some_and(|&bytes| bytes >= least_bytes) {
                let mut options = CompactOptions::default();
                // Beside automatic compactions, not instead of them.
                options.set_exclusive_manual_compaction(false);
                options.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
                db.compact_range_cf_opt(&cf, Some(range.start), Some(range.end), &options);
            }
        }
    }
}

/// The ranges in order, those that touch as one.
fn merged(mut ranges: Vec<Deleted>) -> Vec<Deleted> {
    ranges.sort_unstable();
    let mut out: Vec<Deleted> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if (last.database, &last.family) == (range.database, &range.family) && range.start <= last.end => {
                if range.end > last.end {
                    last.end = range.end;
                }
            }
            _ => out.push(range),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deleted(family: &str, start: &str, end: &str) -> Deleted {
        Deleted { database: 0, family: family.into(), start: start.into(), end: end.into() }
    }

    #[test]
    fn ranges_that_touch_are_compacted_together() {
        let ranges =
            vec![deleted("b", "a", "c"), deleted("a", "m", "p"), deleted("a", "a", "c"), deleted("a", "c", "d"), deleted("a", "n", "o")];
        assert_eq!(merged(ranges), [deleted("a", "a", "d"), deleted("a", "m", "p"), deleted("b", "a", "c")]);
    }

    #[test]
    fn the_queue_is_bounded() {
        let queue = Queue::default();
        queue.add(vec![deleted("a", "a", "b"); MOST_WAITING + 1]);
        queue.add(vec![deleted("a", "a", "b")]);
        assert_eq!(queue.waiting.lock().len(), MOST_WAITING);
    }
}
