//! Frontiers: behind the last key that a keyspace held at some time, only those records can be there that were put since, and a filter in
//! memory knows all of them. RocksDB's own filters tell the same, but there is one for each memtable and file, and each is waited for.
//! Collections that are new lie behind everything, as their versions are given in turn: what a command is about to add to one, and asks
//! for first, is mostly answered from here.
//!
//! A keyspace gets its frontier when a record was looked for in vain. Where the filter is full, it is emptied, and all frontiers are gone.

use super::records::Name;
use parking_lot::{RwLock, RwLockReadGuard};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The filter's size for a record when it is full: one in twenty of those that are not there seems to be then.
const BITS_A_RECORD: usize = 8;
/// How many bits of its word a record sets.
const BITS_SET: u32 = 4;

/// Those of the keyspaces of one store.
pub struct Frontiers {
    /// By the numbers of keyspaces in the cache. Commits hold the lock from before they write until they have their number.
    known: RwLock<Vec<Option<Frontier>>>,
    filter: Filter,
}

/// In the state behind the commit `since`, nothing was behind the key `last`, or nothing at all was there.
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
    words: Box<[AtomicU64]>,
    /// How many records it was told of that it did not seem to know.
    records: AtomicUsize,
}

impl Filter {
    fn new(bytes: usize) -> Self {
        Self { words: (0..bytes / size_of::<u64>()).map(|_| AtomicU64::new(0)).collect(), records: AtomicUsize::new(0) }
    }

    /// The word of a hash, and its bits there.
    fn place(&self, hash: u64) -> Option<(&AtomicU64, u64)> {
        // Other bits than those by which the cache finds records.
        let hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let word = (u128::from(hash) * self.words.len() as u128) >> 64;
        let bits = (0..BITS_SET).fold(0, |bits, number| bits | 1 << (hash >> (6 * number) & 63));
        Some((self.words.get(usize::try_from(word).ok()?)?, bits))
    }

    fn has(&self, hash: u64) -> bool {
        self.place(hash).is_none_or(|(word, bits)| word.load(Ordering::Relaxed) & bits == bits)
    }

    /// Has the processor fetch the word of a hash.
    fn touch(&self, hash: u64) {
        black_box(self.has(hash));
    }

    fn add(&self, hash: u64) {
        if let Some((word, bits)) = self.place(hash)
            && word.load(Ordering::Relaxed) & bits != bits
        {
            // Whoever finds the record in the database, or must find it, has it from who wrote it there after this.
            word.fetch_or(bits, Ordering::Relaxed);
            self.records.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn is_full(&self) -> bool {
        self.records.load(Ordering::Relaxed) >= self.words.len() * (u64::BITS as usize / BITS_A_RECORD)
    }

    fn clear(&self) {
        self.words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
        self.records.store(0, Ordering::Relaxed);
    }
}

/// A look at the frontiers, which stay as they are as long as it is there.
pub struct Look<'f> {
    known: RwLockReadGuard<'f, Vec<Option<Frontier>>>,
    filter: &'f Filter,
}

impl Look<'_> {
    fn of(&self, space: u32) -> Option<&Frontier> {
        self.known.get(usize::try_from(space).ok()?)?.as_ref()
    }

    /// Whether there is no record of that name and hash for sure, in the state behind the commit `last`.
    pub fn is_absent(&self, name: &Name<'_>, hash: u64, last: u64) -> bool {
        self.of(name.space).is_some_and(|frontier| frontier.since <= last && frontier.is_before(name.bytes)) && !self.filter.has(hash)
    }

    /// These records are about to be put: the look is to be kept until the commit that puts them has its number.
    pub fn put<'n, N: Iterator<Item = (&'n Name<'n>, u64)>>(&self, names: impl Fn() -> N) {
        let are_behind = || names().filter(|(name, _)| self.of(name.space).is_some_and(|frontier| frontier.is_before(name.bytes)));
        // Waited for together, and not one after the other by changes, each of which waits for those before it.
        are_behind().for_each(|(_, hash)| self.filter.touch(hash));
        are_behind().for_each(|(_, hash)| self.filter.add(hash));
    }
}

impl Frontiers {
    /// None yet; the filter takes so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self { known: RwLock::default(), filter: Filter::new(bytes) }
    }

    pub fn look(&self) -> Look<'_> {
        Look { known: self.known.read(), filter: &self.filter }
    }

    /// A record was looked for in vain. Gives its keyspace a frontier if it has none and no commit is being written. `last` says the last key that is
    /// there and the number of the last commit; nothing is known where it does not.
    pub fn missed<E>(&self, space: u32, last: impl FnOnce() -> Result<(Option<Vec<u8>>, u64), E>) -> Result<(), E> {
        let has_one = |known: &[Option<Frontier>], at: usize| known.get(at).is_some_and(Option::is_some);
        let Ok(at) = usize::try_from(space) else { return Ok(()) };
        if !self.filter.is_full() && has_one(&self.known.read(), at) {
            return Ok(());
        }
        let Some(mut known) = self.known.try_write() else { return Ok(()) };
        if self.filter.is_full() {
            known.clear();
            self.filter.clear();
        }
        if has_one(&known, at) {
            return Ok(());
        }
        let (last, since) = last()?;
        if known.len() <= at {
            known.resize_with(at + 1, || None);
        }
        if let Some(place) = known.get_mut(at) {
            *place = Some(Frontier { last, since });
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use foldhash::fast::FixedState;
    use std::convert::Infallible;
    use std::hash::BuildHasher;

    const SPACE: u32 = 3;
    const RECORDS: u64 = 1000;

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
        frontiers.missed(SPACE, || Ok::<_, Infallible>((last.map(<[u8]>::to_vec), since))).unwrap();
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
        let frontiers = frontiers();
        let commit = frontiers.look();
        missed(&frontiers, None, 5);
        drop(commit);
        assert!(!is_absent(&frontiers, b"n", 9));
        missed(&frontiers, None, 5);
        assert!(is_absent(&frontiers, b"n", 9));
    }

    #[test]
    fn one_in_twenty_seems_to_be_there_and_none_of_those_that_are_seems_not_to() {
        let frontiers = frontiers();
        missed(&frontiers, None, 0);
        (0..RECORDS).for_each(|number| put(&frontiers, &key(number)));
        assert!((0..RECORDS).all(|number| !is_absent(&frontiers, &key(number), 0)));
        let seem = (RECORDS..101 * RECORDS).filter(|number| !is_absent(&frontiers, &key(*number), 0)).count();
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
    }
}
