//! Records in memory, in front of RocksDB: those that were read lately, as the last commit has left them, and keys that were found
//! absent. A read that RocksDB serves from its own memory takes some ten times as long.
//!
//! # Which state a record is of
//! Commits have numbers, which they get when they have written ([`super::Revisions`]); a transaction that begins when `last` was
//! the last number reads a state that holds the commits up to `last`, and perhaps later ones. Every record has a [`Mark`], and every
//! range that is deleted has some: how many commits are changing what is under the mark, and the number of the last one that has
//! changed it. Where nobody changes anything and the last number is not above `last`, what is under the mark is the same in the
//! cache as in the state; otherwise the read goes to RocksDB and leaves nothing here. So a state that is read from a snapshot never
//! meets what came after it, and a record that was read from an old snapshot never hides a newer one.

use super::handle::within_prefix;
use super::options::PREFIX_BYTES;
use bytes::Bytes;
use foldhash::quality::RandomState;
use parking_lot::Mutex;
use quick_cache::unsync::Cache;
use quick_cache::{Equivalent, Weighter};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Parts with a lock each.
const SHARDS: usize = 64;
/// A multiple of the shards: all records of a mark are in one.
const MARKS: usize = 64 * SHARDS;
/// Longer values are left to RocksDB's block cache: copying them takes longer than finding them.
const MAX_VALUE_BYTES: usize = 16 << 10;
/// What a record takes beside its key and value: the entry, its place in the index, and two allocations.
const OVERHEAD_BYTES: usize = 128;

/// The cache of one store.
pub struct RecordCache {
    shards: Vec<Mutex<Records>>,
    records: Vec<Mark>,
    /// By the first bytes of keys.
    ranges: Vec<Mark>,
    hasher: RandomState,
    /// The keyspaces: position of the database, and name of the column family.
    spaces: Mutex<Vec<(usize, String)>>,
}

type Records = Cache<Key, Entry, Bytewise, RandomState>;

/// What a commit changes.
pub enum Change<'b> {
    /// A record; no value where it is deleted.
    Record { space: u32, key: &'b [u8], value: Option<&'b [u8]> },
    /// Every key from `start` up to `end`, and perhaps `end` itself.
    Range { space: u32, start: &'b [u8], end: &'b [u8] },
}

/// Where commits leave what they have changed.
#[derive(Default)]
struct Mark {
    changing: AtomicU32,
    last: AtomicU64,
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    space: u32,
    bytes: Box<[u8]>,
}

#[derive(Hash)]
struct Name<'a> {
    space: u32,
    bytes: &'a [u8],
}

impl Equivalent<Key> for Name<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.space == key.space && *self.bytes == *key.bytes
    }
}

struct Entry {
    /// `None` where there is no such record.
    value: Option<Box<[u8]>>,
    /// The commit that wrote it, or the last one when it was read.
    since: u64,
}

/// Counts the bytes that an entry takes.
struct Bytewise;

impl Weighter<Key, Entry> for Bytewise {
    fn weight(&self, key: &Key, entry: &Entry) -> u64 {
        let bytes = key.bytes.len() + entry.value.as_ref().map_or(0, |value| value.len()) + OVERHEAD_BYTES;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

impl Mark {
    fn begin(&self) {
        self.changing.fetch_add(1, Ordering::SeqCst);
    }

    /// The number first: who finds that nobody is changing anything sees it.
    fn finish(&self, number: u64) {
        self.last.fetch_max(number, Ordering::SeqCst);
        self.changing.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether what is under the mark is as it was when the last commit was `last`.
    fn is_unchanged_since(&self, last: u64) -> bool {
        self.changing.load(Ordering::SeqCst) == 0 && self.last.load(Ordering::SeqCst) <= last
    }
}

impl RecordCache {
    /// An empty cache of that size; `None` where it would hold nothing.
    pub fn new(bytes: usize) -> Option<Self> {
        if bytes == 0 {
            return None;
        }
        let hasher = RandomState::default();
        let (shard_bytes, records) = (bytes / SHARDS, bytes / SHARDS / (2 * OVERHEAD_BYTES));
        let weight = u64::try_from(shard_bytes).unwrap_or(u64::MAX);
        let shard = || Mutex::new(Cache::with(records, weight, Bytewise, hasher.clone(), Default::default()));
        let marks = || (0..MARKS).map(|_| Mark::default()).collect();
        Some(Self { shards: (0..SHARDS).map(|_| shard()).collect(), records: marks(), ranges: marks(), hasher, spaces: Mutex::default() })
    }

    /// The number of a keyspace, the same for every handle.
    pub fn space(&self, database: usize, family: &str) -> u32 {
        let mut spaces = self.spaces.lock();
        let position = spaces.iter().position(|(other, name)| *other == database && name == family).unwrap_or_else(|| {
            spaces.push((database, family.to_owned()));
            spaces.len() - 1
        });
        u32::try_from(position).unwrap_or(u32::MAX)
    }

    /// The value of a record, or that it is absent, in the state behind the commit `last`; `None` where that is not known here.
    pub fn get(&self, space: u32, key: &[u8], last: u64) -> Option<Option<Bytes>> {
        let (name, mark, shard) = self.find(space, key)?;
        let records = shard.lock();
        if !mark.is_unchanged_since(last) {
            return None;
        }
        let entry = records.get(&name)?;
        if !self.range_of(space, key)?.is_unchanged_since(last.min(entry.since)) {
            return None;
        }
        Some(entry.value.as_deref().map(Bytes::copy_from_slice))
    }

    /// Keeps what was read from the state behind the commit `last`.
    pub fn keep(&self, space: u32, key: &[u8], last: u64, value: Option<&[u8]>) {
        if value.is_some_and(|value| value.len() > MAX_VALUE_BYTES) {
            return;
        }
        let Some((_, mark, shard)) = self.find(space, key) else { return };
        let mut records = shard.lock();
        // A range that is deleted from here on has a number above `last`.
        if mark.is_unchanged_since(last) && self.range_of(space, key).is_some_and(|range| range.is_unchanged_since(last)) {
            records.insert(Key { space, bytes: key.into() }, Entry { value: value.map(Into::into), since: last });
        }
    }

    /// To be called before a commit writes.
    pub fn change<'c>(&'c self, changes: Vec<Change<'c>>) -> Changing<'c> {
        changes.iter().flat_map(|change| self.marks_of(change)).for_each(Mark::begin);
        Changing { cache: self, changes, outcome: None }
    }

    fn find<'a>(&self, space: u32, key: &'a [u8]) -> Option<(Name<'a>, &Mark, &Mutex<Records>)> {
        let name = Name { space, bytes: key };
        let at = self.position(&name);
        Some((name, self.records.get(at)?, self.shards.get(at % SHARDS)?))
    }

    fn range_of(&self, space: u32, key: &[u8]) -> Option<&Mark> {
        let bytes = key.get(..PREFIX_BYTES).unwrap_or(key);
        self.ranges.get(self.position(&Name { space, bytes }))
    }

    fn position(&self, name: &Name<'_>) -> usize {
        // Other bits than the index of a shard goes by; below the number of marks.
        usize::try_from(self.hasher.hash_one(name) >> 24 & 0xffff).unwrap_or(0) % MARKS
    }

    fn marks_of(&self, change: &Change<'_>) -> &[Mark] {
        let (marks, at) = match *change {
            Change::Record { space, key, .. } => (&self.records, self.position(&Name { space, bytes: key })),
            Change::Range { space, start, end } if within_prefix(start, Some(end), Some(PREFIX_BYTES)) => {
                let bytes = start.get(..PREFIX_BYTES).unwrap_or_default();
                (&self.ranges, self.position(&Name { space, bytes }))
            }
            Change::Range { .. } => return &self.ranges,
        };
        marks.get(at..=at).unwrap_or_default()
    }
}

/// A commit that is being written. When it is dropped, the cache holds what the commit has written, or nothing of it where it has
/// failed.
pub struct Changing<'c> {
    cache: &'c RecordCache,
    changes: Vec<Change<'c>>,
    /// What it has got, and whether everything was written.
    outcome: Option<(u64, bool)>,
}

impl Changing<'_> {
    /// The commit has got this number; `written` where everything was written for sure.
    pub fn finish(mut self, number: u64, written: bool) {
        self.outcome = Some((number, written));
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        let (number, written) = self.outcome.unwrap_or((u64::MAX, false));
        for change in &self.changes {
            if let Change::Record { space, key, value } = *change
                && let Some((name, mark, shard)) = self.cache.find(space, key)
            {
                let mut records = shard.lock();
                let value = written.then_some(value).filter(|value| value.is_none_or(|value| value.len() <= MAX_VALUE_BYTES));
                replace(&mut records, &name, value, number);
                mark.finish(number);
            } else {
                self.cache.marks_of(change).iter().for_each(|mark| mark.finish(number));
            }
        }
    }
}

/// Puts a new value into the place of an old one, or forgets the record. What nobody has read stays out.
fn replace(records: &mut Records, name: &Name<'_>, value: Option<Option<&[u8]>>, since: u64) {
    match value {
        Some(value) => {
            if let Some(mut entry) = records.peek_mut(name) {
                *entry = Entry { value: value.map(Into::into), since };
            }
        }
        None => {
            records.remove(name);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SPACE: u32 = 3;

    fn cache() -> RecordCache {
        RecordCache::new(1 << 20).unwrap()
    }

    fn record<'b>(key: &'b [u8], value: Option<&'b [u8]>) -> Change<'b> {
        Change::Record { space: SPACE, key, value }
    }

    fn found(value: &'static [u8]) -> Option<Option<Bytes>> {
        Some(Some(Bytes::from_static(value)))
    }

    #[test]
    fn what_was_read_is_known_also_that_it_is_absent() {
        let cache = cache();
        assert_eq!(cache.get(SPACE, b"k", 7), None);
        cache.keep(SPACE, b"k", 7, Some(b"v"));
        cache.keep(SPACE, b"absent", 7, None);
        assert_eq!((cache.get(SPACE, b"k", 7), cache.get(SPACE, b"absent", 7)), (found(b"v"), Some(None)));
        assert_eq!(cache.get(SPACE + 1, b"k", 7), None);
    }

    #[test]
    fn a_commit_replaces_what_is_there_and_adds_nothing() {
        let cache = cache();
        cache.keep(SPACE, b"k", 0, Some(b"old"));
        cache.keep(SPACE, b"gone", 0, Some(b"old"));
        cache.change(vec![record(b"k", Some(b"new")), record(b"gone", None), record(b"other", Some(b"new"))]).finish(1, true);
        assert_eq!((cache.get(SPACE, b"k", 1), cache.get(SPACE, b"gone", 1)), (found(b"new"), Some(None)));
        assert_eq!(cache.get(SPACE, b"other", 1), None);
    }

    #[test]
    fn nothing_is_known_of_a_record_while_it_is_changed() {
        let cache = cache();
        cache.keep(SPACE, b"k", 0, Some(b"old"));
        let changing = cache.change(vec![record(b"k", Some(b"new"))]);
        assert_eq!(cache.get(SPACE, b"k", 0), None);
        cache.keep(SPACE, b"k", 0, Some(b"old"));
        changing.finish(1, true);
        assert_eq!(cache.get(SPACE, b"k", 1), found(b"new"));
    }

    #[test]
    fn an_older_state_sees_nothing_that_came_after_it_and_leaves_nothing() {
        let cache = cache();
        cache.keep(SPACE, b"k", 4, Some(b"old"));
        cache.change(vec![record(b"k", Some(b"new"))]).finish(5, true);
        assert_eq!(cache.get(SPACE, b"k", 4), None);
        cache.keep(SPACE, b"k", 4, Some(b"old"));
        assert_eq!(cache.get(SPACE, b"k", 5), found(b"new"));
    }

    #[test]
    fn a_commit_that_failed_leaves_nothing_of_its_records() {
        let cache = cache();
        for written in [Some(false), None] {
            cache.keep(SPACE, b"k", 0, Some(b"old"));
            let changing = cache.change(vec![record(b"k", Some(b"new"))]);
            if let Some(written) = written {
                changing.finish(1, written);
            }
            assert_eq!(cache.get(SPACE, b"k", 1), None);
        }
    }

    #[test]
    fn a_deleted_range_takes_its_records_along_and_no_others() {
        let cache = cache();
        let keys: [&[u8]; 4] = [b"prefix_1a", b"prefix_1", b"prefix_2a", b"short"];
        keys.iter().for_each(|key| cache.keep(SPACE, key, 0, Some(b"v")));
        let range = |start, end| vec![Change::Range { space: SPACE, start, end }];
        cache.change(range(b"prefix_1", b"prefix_2")).finish(1, true);
        assert_eq!(keys.map(|key| cache.get(SPACE, key, 1).is_some()), [false, false, true, true]);
        // Also those that come later, but not for those who read what was before.
        cache.keep(SPACE, b"prefix_1", 1, None);
        assert_eq!((cache.get(SPACE, b"prefix_1", 1), cache.get(SPACE, b"prefix_1", 0)), (Some(None), None));
        cache.change(range(b"", b"z")).finish(2, true);
        assert_eq!(keys.map(|key| cache.get(SPACE, key, 2).is_some()), [false; 4]);
    }

    #[test]
    fn it_stays_within_its_size() {
        let cache = cache();
        for number in 0..100_000_u32 {
            cache.keep(SPACE, &number.to_be_bytes(), 0, Some(&[0; 100]));
        }
        let bytes: u64 = cache.shards.iter().map(|shard| shard.lock().weight()).sum();
        assert!(bytes <= 1 << 20, "{bytes}");
        cache.keep(SPACE, b"long", 0, Some(&[0; MAX_VALUE_BYTES + 1]));
        assert_eq!(cache.get(SPACE, b"long", 0), None);
    }
}
