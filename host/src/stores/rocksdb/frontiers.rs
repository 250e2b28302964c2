//! Frontiers: behind the last key that a keyspace held at some time, only those records can be there that were put since, and a filter in
//! memory knows all of them. RocksDB's own filters tell the same, but there is one for each memtable and file, and each is waited for.
//! Collections that are new lie behind everything, as their versions are given in turn: what a command is about to add to one, and asks
//! for first, is mostly answered from here.
//!
//! A keyspace gets its frontier when a record was looked for in vain. Where the filter is full, it is emptied, and all frontiers are gone.
//!
//! # Which states are told
//! A frontier is found while no commit that puts anything is between its first write and its number. Commits that delete may be: of these
//! the database may show some, which all have started. So the frontier is of the states that hold as many commits as had started by then
//! (`since`): one that was taken before the last key was looked for holds that many only if nothing was under way, and then it shows the same.

use super::prefetch::fetch;
use super::records::Name;
use parking_lot::{RwLock, RwLockReadGuard};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The filter's size for a record when it is full: one in twenty of those that are not there seems to be then.
const BITS_A_RECORD: usize = 8;
/// How many bits of its word a record sets.
const BITS_SET: u32 = 4;
/// With a smaller filter the search for last keys would take more time than it saves.
const LEAST_BYTES: usize = 1 << 10;
/// Where a last key is not found soon, so many misses pass before it is looked for again.
const PAUSE: usize = 1 << 10;

/// Those of the keyspaces of one store.
pub struct Frontiers {
    /// It is emptied only while nobody has a look.
    filter: Filter,
    /// By the numbers of keyspaces in the cache. Commits that put anything hold the lock from before they write until they have their number.
    known: RwLock<Vec<Option<Frontier>>>,
    /// How many misses are to pass.
    pause: AtomicUsize,
}

fn frontier_of(known: &[Option<Frontier>], space: u32) -> Option<&Frontier> {
    known.get(usize::try_from(space).ok()?)?.as_ref()
}

/// In the states behind the commit `since`, all that is behind the key `last` was put later; all that is there, where it is `None`.
struct Frontier {
    last: Option<Vec<u8>>,
    since: u64,
}

impl Frontier {
    fn is_before(&self, key: &[u8]) -> bool {
        self.last.as_deref().is_none_or(|last| last < key)
    }
}

/// A Bloom filter whose every record is in one word, so that one wait tells.
struct Filter {
    bytes: usize,
    /// Made when it is needed.
    words: OnceLock<Box<[AtomicU64]>>,
    /// How many records it was told of that it did not seem to know.
    records: AtomicUsize,
}

impl Filter {
    fn new(bytes: usize) -> Self {
        Self { bytes, words: OnceLock::new(), records: AtomicUsize::new(0) }
    }

    /// Forgets all records.
    fn clear(&self) {
        match self.words.get() {
            Some(words) => words.iter().for_each(|word| word.store(0, Ordering::Relaxed)),
            None => _ = self.words.set((0..self.bytes / size_of::<u64>()).map(|_| AtomicU64::new(0)).collect()),
        }
        self.records.store(0, Ordering::Relaxed);
    }

    /// The word of a hash, and its bits there: by the upper and the lower bits of the hash.
    fn place(&self, hash: u64) -> Option<(&AtomicU64, u64)> {
        let words = self.words.get()?;
        let word = (u128::from(hash) * words.len() as u128) >> 64;
        let bits = (0..BITS_SET).fold(0, |bits, number| bits | 1 << (hash >> (6 * number) & 63));
        Some((words.get(usize::try_from(word).ok()?)?, bits))
    }

    fn has(&self, hash: u64) -> bool {
        self.place(hash).is_none_or(|(word, bits)| word.load(Ordering::Relaxed) & bits == bits)
    }

    /// Has the processor fetch the word of a hash.
    fn fetch(&self, hash: u64) {
        if let Some((word, _)) = self.place(hash) {
            fetch(word, |word| word.load(Ordering::Relaxed));
        }
    }

    fn add(&self, hash: u64) {
        if let Some((word, bits)) = self.place(hash)
            && word.load(Ordering::Relaxed) & bits != bits
        {
            // Whoever must find the record has learnt of it from the database, which its writer told later.
            word.fetch_or(bits, Ordering::Relaxed);
            self.records.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// One without words is.
    fn is_full(&self) -> bool {
        let words = self.words.get().map_or(0, |words| words.len());
        self.records.load(Ordering::Relaxed) >= words * (u64::BITS as usize / BITS_A_RECORD)
    }
}

/// A look at the frontiers, which stay as they are as long as it is there.
pub struct Look<'f> {
    known: RwLockReadGuard<'f, Vec<Option<Frontier>>>,
    filter: &'f Filter,
}

impl Look<'_> {
    /// Whether there is no record of that name and hash for sure, in the state behind the commit `last`.
    pub fn is_absent(&self, name: &Name<'_>, hash: u64, last: u64) -> bool {
        let frontier = frontier_of(&self.known, name.space);
        frontier.is_some_and(|frontier| frontier.since <= last && frontier.is_before(name.bytes)) && !self.filter.has(hash)
    }

    /// These records are about to be put: the look is to be kept until the commit that puts them has its number.
    pub fn put<'n, N: Iterator<Item = (&'n Name<'n>, u64)>>(&self, names: impl Fn() -> N) {
        let are_behind =
            || names().filter(|(name, _)| frontier_of(&self.known, name.space).is_some_and(|frontier| frontier.is_before(name.bytes)));
        // Waited for together, and not one after the other by changes, each of which waits for those before it.
        are_behind().for_each(|(_, hash)| self.filter.fetch(hash));
        are_behind().for_each(|(_, hash)| self.filter.add(hash));
    }
}

impl Frontiers {
    /// None yet; the filter takes so many bytes once there is one.
    pub fn new(filter_bytes: usize) -> Self {
        Self { filter: Filter::new(filter_bytes), known: RwLock::default(), pause: AtomicUsize::new(0) }
    }

    pub fn look(&self) -> Look<'_> {
        Look { known: self.known.read(), filter: &self.filter }
    }

    /// A record of that hash may be put next: has the processor fetch what is known of it.
    pub fn fetch(&self, hash: u64) {
        self.filter.fetch(hash);
    }

    /// A record was looked for in vain: gives its keyspace a frontier if it has none. `last` says the last key that is there, and how many
    /// commits have started behind that; `None` where that cannot be said soon. Not to be called by whoever has a look.
    pub fn find(&self, space: u32, last: impl FnOnce() -> Option<(Option<Vec<u8>>, u64)>) {
        let is_found = |known: &[Option<Frontier>]| frontier_of(known, space).is_some() && !self.filter.is_full();
        let Ok(at) = usize::try_from(space) else { return };
        if self.filter.bytes < LEAST_BYTES || is_found(&self.known.read()) {
            return;
        }
        let pause = self.pause.load(Ordering::Relaxed);
        if pause > 0 {
            // Another thread's may be lost.
            return self.pause.store(pause - 1, Ordering::Relaxed);
        }
        let mut known = self.known.write();
        if self.filter.is_full() {
            known.clear();
            self.filter.clear();
        }
        if is_found(&known) {
            return;
        }
        let Some((last, since)) = last() else { return self.pause.store(PAUSE, Ordering::Relaxed) };
        if known.len() <= at {
            known.resize_with(at + 1, || None);
        }
        if let Some(place) = known.get_mut(at) {
            *place = Some(Frontier { last, since });
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use foldhash::quality::FixedState;
    use std::hash::BuildHasher;
    use std::thread;
    use std::time::Duration;

    const SPACE: u32 = 3;
    const RECORDS: u64 = 4096;

    fn frontiers() -> Frontiers {
        Frontiers::new(usize::try_from(RECORDS).unwrap() * BITS_A_RECORD / 8)
    }

    fn hash(name: &Name<'_>) -> u64 {
        FixedState::default().hash_one(name)
    }

    fn is_absent(frontiers: &Frontiers, key: &[u8], last: u64) -> bool {
        let name = Name { space: SPACE, bytes: key };
        frontiers.look().is_absent(&name, hash(&name), last)
    }

    fn put(frontiers: &Frontiers, key: &[u8]) {
        let name = Name { space: SPACE, bytes: key };
        frontiers.look().put(|| [(&name, hash(&name))].into_iter());
    }

    fn missed(frontiers: &Frontiers, last: Option<&[u8]>, since: u64) {
        frontiers.find(SPACE, || Some((last.map(<[u8]>::to_vec), since)));
    }

    fn key(number: u64) -> [u8; 8] {
        number.to_be_bytes()
    }

    #[test]
    fn behind_the_frontier_is_what_was_put_since() {
        let frontiers = frontiers();
        assert!(!is_absent(&frontiers, b"n", 9), "nothing is known before a miss");
        missed(&frontiers, Some(b"m"), 5);
        for there in [b"a".as_slice(), b"m"] {
            assert!(!is_absent(&frontiers, there, 9), "the database may have it");
        }
        assert!(is_absent(&frontiers, b"m\0", 5) && is_absent(&frontiers, b"n", 9));
        put(&frontiers, b"n");
        assert!(!is_absent(&frontiers, b"n", 9) && is_absent(&frontiers, b"o", 9));
        let other = Name { space: SPACE + 1, bytes: b"n" };
        assert!(!frontiers.look().is_absent(&other, hash(&other), 9), "another keyspace");
    }

    #[test]
    fn a_keyspace_that_held_nothing_has_all_its_records_known() {
        let frontiers = frontiers();
        missed(&frontiers, None, 0);
        assert!(is_absent(&frontiers, b"", 0));
        put(&frontiers, b"");
        assert!(!is_absent(&frontiers, b"", 0));
    }

    #[test]
    fn a_state_from_before_the_frontier_is_told_nothing() {
        let frontiers = frontiers();
        missed(&frontiers, Some(b"m"), 5);
        assert!(!is_absent(&frontiers, b"n", 4), "it may hold what was deleted since");
        assert!(is_absent(&frontiers, b"n", 5));
    }

    #[test]
    fn a_frontier_stays_where_it_was_found_first() {
        let frontiers = frontiers();
        missed(&frontiers, Some(b"m"), 5);
        missed(&frontiers, None, 6);
        assert!(!is_absent(&frontiers, b"a", 9));
    }

    #[test]
    fn none_is_found_beside_a_commit_that_is_being_written() {
        let (frontiers, is_found) = (frontiers(), AtomicUsize::new(0));
        thread::scope(|scope| {
            let commit = frontiers.look();
            scope.spawn(|| {
                missed(&frontiers, None, 5);
                is_found.store(1, Ordering::SeqCst);
            });
            thread::sleep(Duration::from_millis(50));
            assert_eq!(is_found.load(Ordering::SeqCst), 0);
            drop(commit);
        });
        assert!(is_absent(&frontiers, b"n", 9));
    }

    #[test]
    fn a_last_key_that_is_not_found_soon_is_not_looked_for_at_each_miss() {
        let (frontiers, mut searches) = (frontiers(), 0);
        for _ in 0..=PAUSE {
            frontiers.find(SPACE, || {
                searches += 1;
                None
            });
        }
        assert_eq!(searches, 1);
        missed(&frontiers, None, 5);
        assert!(is_absent(&frontiers, b"n", 9));
    }

    #[test]
    fn a_small_filter_is_none() {
        let frontiers = Frontiers::new(LEAST_BYTES - 1);
        frontiers.find(SPACE, || panic!("nothing is looked for"));
        assert!(!is_absent(&frontiers, b"n", 9));
    }

    #[test]
    fn one_in_twenty_seems_to_be_there_and_none_of_those_that_are_seems_not_to() {
        let frontiers = frontiers();
        missed(&frontiers, None, 0);
        (0..RECORDS).for_each(|number| put(&frontiers, &key(number)));
        assert!((0..RECORDS).all(|number| !is_absent(&frontiers, &key(number), 0)));
        let seem = (RECORDS..RECORDS + 100_000).filter(|number| !is_absent(&frontiers, &key(*number), 0)).count();
        assert!(seem < 5000, "{seem} of 100,000");
    }

    #[test]
    fn a_full_filter_begins_anew_with_another_frontier() {
        let frontiers = frontiers();
        missed(&frontiers, None, 0);
        (0..2 * RECORDS).for_each(|number| put(&frontiers, &key(number)));
        missed(&frontiers, Some(&key(2 * RECORDS)), 7);
        let known = |number, last| is_absent(&frontiers, &key(number), last);
        assert!(!known(0, 9) && !known(2 * RECORDS, 9), "they are there");
        assert!(known(2 * RECORDS + 1, 9) && !known(2 * RECORDS + 1, 6));
        assert!((3 * RECORDS..4 * RECORDS).all(|number| known(number, 9)), "nothing is left in it");
        put(&frontiers, &key(3 * RECORDS));
        assert!(!known(3 * RECORDS, 9));
    }

    #[test]
    fn a_full_filter_is_not_emptied_beside_a_look() {
        let frontiers = frontiers();
        missed(&frontiers, None, 0);
        (0..2 * RECORDS).for_each(|number| put(&frontiers, &key(number)));
        thread::scope(|scope| {
            let look = frontiers.look();
            scope.spawn(|| missed(&frontiers, Some(&key(2 * RECORDS)), 7));
            thread::sleep(Duration::from_millis(50));
            for bytes in (0..2 * RECORDS).map(key) {
                let name = Name { space: SPACE, bytes: &bytes };
                assert!(!look.is_absent(&name, hash(&name), 9));
            }
        });
        assert!(is_absent(&frontiers, &key(2 * RECORDS + 1), 9));
    }
}
