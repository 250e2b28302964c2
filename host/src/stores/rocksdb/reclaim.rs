//! Compactions that RocksDB would do late: of ranges that were deleted, and of ranges where scans meet many dead records. A background
//! thread does them.
//!
//! A range delete is a marker; the records below it keep their space until a compaction meets both. No whole files are dropped for it
//! (`DeleteFilesInRange`): that would take records from open snapshots, records written into the range since, and, after a crash, records
//! whose delete was not yet on disk.
//!
//! A record that was deleted is a marker too, and scans walk over it. RocksDB can have each file compacted soon that holds many of them
//! (`CompactOnDeletion`). But then every file that is written of a memtable is merged with the whole level below it, also where nobody
//! scans. So it is the scans that tell: once they have walked over as many dead records as a compaction is worth.

use super::database::Database;
use parking_lot::Mutex;
use rocksdb::{BottommostLevelCompaction, CompactOptions, Range};
use std::mem::take;
use std::time::{Duration, Instant};

/// Deleted ranges that wait; further ones are left to ordinary compactions.
const MOST_WAITING: usize = 4096;
/// Ranges that scans have walked over, of which this is known; the one with the fewest dead records makes room.
const MOST_WALKED: usize = 64;
/// Between longer keys nothing is counted.
const MAX_KEY_BYTES: usize = 1 << 10;
/// To walk over so many dead records takes some 50 ms, and a compaction seldom less.
const MANY_WALKED: u64 = 500_000;
/// Where it takes longer to come to so many, they may as well stay, and ordinary compactions may have taken them.
const COUNTED_FOR: Duration = Duration::from_secs(60);
/// What a compaction of such ranges took is rested so many times before the next: where a snapshot keeps dead records, it helps nobody.
const RESTS: u32 = 4;

/// A range of a column family.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stretch {
    /// The position of the database.
    pub database: usize,
    pub family: String,
    pub start: Vec<u8>,
    /// The first key behind it; none where it goes to the last.
    pub end: Option<Vec<u8>>,
}

impl Stretch {
    /// Whether the other one, which does not start before this one, begins within this one or right behind it.
    fn reaches(&self, other: &Self) -> bool {
        let is_of_the_same = (self.database, &self.family) == (other.database, &other.family);
        is_of_the_same && self.end.as_ref().is_none_or(|end| other.start <= *end)
    }

    fn touches(&self, other: &Self) -> bool {
        if self.start <= other.start { self.reaches(other) } else { other.reaches(self) }
    }

    /// Takes another one in that it touches.
    fn join(&mut self, other: Self) {
        self.end = take(&mut self.end).zip(other.end).map(|(end, other)| end.max(other));
        if other.start < self.start {
            self.start = other.start;
        }
    }

    /// Drops what is dead in it, on all levels, where its files hold at least so many bytes; 0: whatever they hold.
    fn compact(&self, databases: &[Database], least_bytes: u64) {
        let database = databases.get(self.database);
        let Some((database, db)) = database.and_then(|database| Some((database, database.get()?))) else { return };
        let Some(cf) = database.family(&self.family) else { return };
        if least_bytes > 0 {
            let Some(end) = &self.end else { return };
            let sizes = db.get_approximate_sizes_cf(&cf, &[Range::new(&self.start, end)]);
            if sizes.first().is_none_or(|&bytes| bytes < least_bytes) {
                return;
            }
        }
        let mut options = CompactOptions::default();
        // Beside automatic compactions, not instead of them.
        options.set_exclusive_manual_compaction(false);
        options.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
        db.compact_range_cf_opt(&cf, Some(&self.start), self.end.as_ref(), &options);
    }
}

/// What waits for the background thread.
#[derive(Debug, Default)]
pub struct Queue {
    deleted: Mutex<Vec<Stretch>>,
    walked: Mutex<Walked>,
}

impl Queue {
    /// Ranges were deleted.
    pub fn add_deleted(&self, ranges: Vec<Stretch>) {
        if ranges.is_empty() {
            return;
        }
        let mut deleted = self.deleted.lock();
        let room = MOST_WAITING.saturating_sub(deleted.len());
        deleted.extend(ranges.into_iter().take(room));
    }

    /// A scan has walked over a range in which most records are dead: so many.
    pub fn add_walked(&self, range: Stretch, dead: u64) {
        let length = range.start.len().max(range.end.as_ref().map_or(0, Vec::len));
        if length <= MAX_KEY_BYTES {
            self.walked.lock().add(range, dead, Instant::now());
        }
    }

    /// Compacts the deleted ranges whose files hold at least `least_bytes`, and those that scans have walked over often enough.
    pub fn work(&self, databases: &[Database], least_bytes: u64) {
        for range in merged(take(&mut *self.deleted.lock())) {
            range.compact(databases, least_bytes);
        }
        let start = Instant::now();
        let due = merged(self.walked.lock().due(start));
        if !due.is_empty() {
            due.iter().for_each(|range| range.compact(databases, 0));
            self.walked.lock().done(&due, start, Instant::now());
        }
    }
}

/// What scans have walked over.
#[derive(Debug, Default)]
struct Walked {
    ranges: Vec<Counted>,
    rest_until: Option<Instant>,
}

/// How many dead records scans have met in a range.
#[derive(Debug)]
struct Counted {
    range: Stretch,
    dead: u64,
    since: Instant,
}

impl Walked {
    fn add(&mut self, range: Stretch, dead: u64, now: Instant) {
        self.ranges.retain(|counted| now.saturating_duration_since(counted.since) < COUNTED_FOR);
        if let Some(known) = self.ranges.iter_mut().find(|known| known.range.touches(&range)) {
            known.range.join(range);
            known.dead += dead;
            return;
        }
        if self.ranges.len() >= MOST_WALKED
            && let Some(least) = (0..self.ranges.len()).min_by_key(|&at| self.ranges.get(at).map(|counted| counted.dead))
        {
            self.ranges.swap_remove(least);
        }
        self.ranges.push(Counted { range, dead, since: now });
    }

    /// Takes out what is to be compacted now.
    fn due(&mut self, now: Instant) -> Vec<Stretch> {
        if self.rest_until.is_some_and(|until| now < until) {
            return Vec::new();
        }
        self.ranges.extract_if(.., |counted| counted.dead >= MANY_WALKED).map(|counted| counted.range).collect()
    }

    /// These have been compacted.
    fn done(&mut self, ranges: &[Stretch], start: Instant, end: Instant) {
        // Scans have met the same dead records meanwhile.
        self.ranges.retain(|counted| !ranges.iter().any(|range| range.touches(&counted.range)));
        self.rest_until = Some(end + (end - start) * RESTS);
    }
}

/// The ranges in order, those that touch as one.
fn merged(mut ranges: Vec<Stretch>) -> Vec<Stretch> {
    ranges.sort_unstable();
    let mut out: Vec<Stretch> = Vec::new();
    for range in ranges {
        match out.last_mut() {
            Some(last) if last.reaches(&range) => last.join(range),
            _ => out.push(range),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(family: &str, start: &str, end: &str) -> Stretch {
        Stretch { database: 0, family: family.into(), start: start.into(), end: (!end.is_empty()).then(|| end.into()) }
    }

    #[test]
    fn ranges_that_touch_are_compacted_together() {
        let ranges = vec![
            stretch("b", "a", "c"),
            stretch("a", "m", "p"),
            stretch("a", "a", "c"),
            stretch("a", "c", "d"),
            stretch("a", "n", "o"),
            stretch("b", "b", ""),
            stretch("b", "x", "y"),
        ];
        assert_eq!(merged(ranges), [stretch("a", "a", "d"), stretch("a", "m", "p"), stretch("b", "a", "")]);
    }

    #[test]
    fn the_queue_is_bounded() {
        let queue = Queue::default();
        queue.add_deleted(vec![stretch("a", "a", "b"); MOST_WAITING + 1]);
        queue.add_deleted(vec![stretch("a", "a", "b")]);
        assert_eq!(queue.deleted.lock().len(), MOST_WAITING);
        let one_of = |at: u64| stretch("a", &format!("{at:04}"), &format!("{at:04}z"));
        (0..200).for_each(|at| queue.add_walked(one_of(at), (at * 7) % 200 + 1));
        let walked = queue.walked.lock();
        assert_eq!(walked.ranges.len(), MOST_WALKED);
        assert!(walked.ranges.iter().any(|counted| counted.dead == 200), "the one with the most is left");
        drop(walked);
        queue.add_walked(stretch("b", &"k".repeat(MAX_KEY_BYTES + 1), ""), 1000);
        assert!(queue.walked.lock().ranges.iter().all(|counted| counted.range.family == "a"));
    }

    #[test]
    fn ranges_are_due_when_scans_have_met_many_dead_records_in_them_and_then_begin_anew() {
        let (mut walked, now) = (Walked::default(), Instant::now());
        walked.add(stretch("a", "m", "p"), MANY_WALKED / 2, now);
        walked.add(stretch("b", "m", "p"), MANY_WALKED / 2, now);
        walked.add(stretch("a", "a", "c"), MANY_WALKED / 2, now);
        assert_eq!(walked.due(now), []);
        walked.add(stretch("a", "k", "n"), MANY_WALKED / 2, now);
        assert_eq!(walked.due(now), [stretch("a", "k", "p")]);
        walked.add(stretch("a", "k", "n"), MANY_WALKED / 2, now);
        assert_eq!(walked.due(now), []);
    }

    #[test]
    fn what_is_met_slowly_is_forgotten() {
        let (mut walked, now) = (Walked::default(), Instant::now());
        (0..10).for_each(|minute| walked.add(stretch("a", "a", ""), MANY_WALKED - 1, now + minute * COUNTED_FOR));
        assert_eq!(walked.due(now + 10 * COUNTED_FOR), []);
    }

    #[test]
    fn what_was_met_while_its_range_was_compacted_is_forgotten_and_the_next_compaction_waits() {
        let (mut walked, now) = (Walked::default(), Instant::now());
        let second = Duration::from_secs(1);
        walked.add(stretch("a", "b", "c"), MANY_WALKED, now);
        walked.add(stretch("a", "x", "y"), MANY_WALKED, now);
        walked.done(&[stretch("a", "a", "d")], now, now + second);
        assert_eq!(walked.due(now + 4 * second), []);
        assert_eq!(walked.due(now + 5 * second), [stretch("a", "x", "y")]);
    }
}
