//! Residents: structures that are in memory whole and in their order, because they are scanned and changed in turn. A change forgets
//! the pages of a structure, and a search in RocksDB's memtable gets slower with every version of its records that is still there: the
//! counted tree of a sorted set that is being written has a thousand nodes, and a thousand versions of each. Commits keep a
//! resident in step.
//!
//! What a resident holds is of the state behind the last commit that has changed the structure; whoever reads another state, or reads
//! while a commit is changing it, is told nothing (see [`super::record_cache`]).

use super::gaps::Structure;
use super::marks::{Flags, Mark, Marks};
use super::question::Asked;
use orbweaver_engine::store::{Direction, Page, PageBuilder, PageLimit};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::atomic::{AtomicU32, Ordering};

/// Parts with a lock each.
const SHARDS: usize = 8;
/// So many scans of a structure, and each doubling of them, are worth a try to make it resident.
const FIRST_TRY: u32 = 16;
/// From the largest try on they come in such steps: what fails costs a few percent of the scans.
const LATER_TRIES: u32 = 8192;
/// A scan that passes so many dead records counts as two, and so on.
const DEAD_A_SCAN: u64 = 32;
/// The most that one scan counts.
const MAX_COST: u32 = MAX_RECORDS / RECORDS_A_SCAN;
/// A structure is worth so many records for each scan that RocksDB had to answer.
const RECORDS_A_SCAN: u32 = 16;
/// Larger structures stay out.
const MAX_RECORDS: u32 = 16 << 10;
/// What a record takes beside its key and value: its place in the tree, and two allocations.
const OVERHEAD_BYTES: usize = 80;
/// What a resident takes beside its records.
const RESIDENT_BYTES: usize = 256;
/// One that is changed so many times for each of its records, and not scanned, goes.
const IDLE_CHANGES: usize = 4;

/// The residents of one store.
pub struct Residents {
    shards: Vec<Mutex<Shard>>,
    shard_bytes: usize,
    /// By the hashes of structures: whether one of them may be resident.
    may_have: Flags,
    /// By the hashes of structures: how many scans RocksDB had to answer.
    missed: Box<[AtomicU32]>,
}

#[derive(Default)]
struct Shard {
    residents: HashMap<Structure, Resident>,
    bytes: usize,
    /// Counts uses.
    now: u64,
}

struct Resident {
    records: BTreeMap<Box<[u8]>, Box<[u8]>>,
    bytes: usize,
    used: u64,
    /// How often it was changed since.
    changes: usize,
}

/// How many tries a structure has had that was scanned so many times.
fn tries(scans: u32) -> u32 {
    (scans / FIRST_TRY).min(MAX_RECORDS / RECORDS_A_SCAN / FIRST_TRY).checked_ilog2().map_or(0, |doublings| doublings + 1)
        + scans / LATER_TRIES
}

fn weight(key: &[u8], value: &[u8]) -> usize {
    key.len() + value.len() + OVERHEAD_BYTES
}

impl Resident {
    fn put(&mut self, key: &[u8], value: &[u8]) {
        if let Some(old) = self.records.get_mut(key) {
            self.bytes = self.bytes - old.len() + value.len();
            if old.len() == value.len() {
                old.copy_from_slice(value);
            } else {
                *old = value.into();
            }
            return;
        }
        self.bytes += weight(key, value);
        self.records.insert(key.into(), value.into());
    }

    fn delete(&mut self, key: &[u8]) {
        if let Some((key, value)) = self.records.remove_entry(key) {
            self.bytes -= weight(&key, &value);
        }
    }

    fn page(&self, Asked { range, direction, limit }: Asked<'_>) -> Page {
        let start = if range.after_start { Bound::Excluded(range.start.as_slice()) } else { Bound::Included(range.start.as_slice()) };
        let end = range.end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut page = PageBuilder::new(limit);
        if range.end.as_deref().is_some_and(|end| end <= range.start.as_slice()) {
            return page.finish(false);
        }
        let mut records = self.records.range::<[u8], _>((start, end));
        loop {
            let record = match direction {
                Direction::Forward => records.next(),
                Direction::Reverse => records.next_back(),
            };
            let Some((key, value)) = record else { return page.finish(false) };
            if page.is_full() || !page.push(key, value) {
                return page.finish(true);
            }
        }
    }
}

impl Shard {
    fn remove(&mut self, structure: &Structure) {
        if let Some(resident) = self.residents.remove(structure) {
            self.bytes -= resident.bytes;
        }
    }

    /// Makes room for what a resident has grown by, or is: those that were used longest ago go.
    fn make_room(&mut self, bytes: usize) {
        while self.bytes > bytes
            && let Some(oldest) = self.residents.iter().min_by_key(|(_, resident)| resident.used).map(|(structure, _)| *structure)
        {
            self.remove(&oldest);
        }
    }
}

impl Residents {
    /// None yet; together they take at most so many bytes.
    pub fn new(bytes: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            shard_bytes: bytes / SHARDS,
            may_have: Flags::new(),
            missed: (0..Marks::COUNT).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// A page of a resident in the state behind the commit `last`; `None` where it is not resident, or of another state.
    pub fn page(&self, (structure, hash): (&Structure, u64), mark: &Mark, asked: Asked<'_>, last: u64) -> Option<Page> {
        if !self.may_have.is_raised(hash) {
            return None;
        }
        let mut shard = self.shard(hash)?.lock();
        // A commit that begins from here on waits for the lock before it changes the resident.
        if !mark.is_unchanged_since(last) {
            return None;
        }
        shard.now += 1;
        let now = shard.now;
        let resident = shard.residents.get_mut(structure)?;
        (resident.used, resident.changes) = (now, 0);
        Some(resident.page(asked))
    }

    /// RocksDB had to answer a scan of a structure, and passed so many dead records. How many of its live ones, and bytes, would be worth
    /// being resident, where it is time for a try.
    pub fn missed(&self, hash: u64, passed: u64) -> Option<PageLimit> {
        let cost = u32::try_from(passed / DEAD_A_SCAN).unwrap_or(u32::MAX).saturating_add(1).min(MAX_COST);
        let before = self.missed.get(Marks::position(hash))?.fetch_add(cost, Ordering::Relaxed);
        let after = before.wrapping_add(cost);
        (tries(before) != tries(after)).then(|| PageLimit {
            max_items: after.saturating_mul(RECORDS_A_SCAN).min(MAX_RECORDS),
            max_bytes: u32::try_from(self.shard_bytes / 2).unwrap_or(u32::MAX),
        })
    }

    /// Makes a structure resident: all its records in the state behind the commit `last`. Not where the structure, whose mark is
    /// given, has been changed since.
    pub fn add<'p>(
        &self,
        (structure, hash): (Structure, u64),
        mark: &Mark,
        records: impl Iterator<Item = (&'p [u8], &'p [u8])>,
        last: u64,
    ) {
        let mut resident = Resident { records: BTreeMap::new(), bytes: RESIDENT_BYTES, used: 0, changes: 0 };
        records.for_each(|(key, value)| resident.put(key, value));
        let Some(shard) = self.shard(hash) else { return };
        let Some(room) = self.shard_bytes.checked_sub(resident.bytes) else { return };
        let mut shard = shard.lock();
        // Whoever changes the structure from here on sees the flag, or is seen by its mark.
        self.may_have.raise(hash);
        if !mark.is_unchanged_since(last) {
            return;
        }
        shard.remove(&structure);
        shard.make_room(room);
        shard.now += 1;
        resident.used = shard.now;
        shard.bytes += resident.bytes;
        shard.residents.insert(structure, resident);
        if let Some(missed) = self.missed.get(Marks::position(hash)) {
            missed.store(0, Ordering::Relaxed);
        }
    }

    /// A commit has written a record, or deleted it. To be called before [`Mark::finish`] of the structure.
    pub fn change(&self, space: u32, hash: u64, key: &[u8], value: Option<&[u8]>) {
        if !self.may_have.is_raised(hash) {
            return;
        }
        let (Some(prefix), Some(shard)) = (key.first_chunk(), self.shard(hash)) else { return };
        let structure = (space, *prefix);
        let mut shard = shard.lock();
        let Some(resident) = shard.residents.get_mut(&structure) else { return };
        let before = resident.bytes;
        match value {
            Some(value) => resident.put(key, value),
            None => resident.delete(key),
        }
        resident.changes += 1;
        let (after, is_idle) = (resident.bytes, resident.changes / IDLE_CHANGES > resident.records.len());
        shard.bytes = shard.bytes + after - before;
        if is_idle || after > self.shard_bytes / 2 {
            shard.remove(&structure);
        }
        shard.make_room(self.shard_bytes);
    }

    /// A structure is not known any more: a range of it is deleted, or a commit has failed. To be called behind [`Mark::begin`] and
    /// before [`Mark::finish`].
    pub fn forget(&self, space: u32, hash: u64, key: &[u8]) {
        if let (true, Some(prefix), Some(shard)) = (self.may_have.is_raised(hash), key.first_chunk(), self.shard(hash)) {
            shard.lock().remove(&(space, *prefix));
        }
    }

    /// None is known any more.
    pub fn forget_all(&self) {
        for shard in &self.shards {
            *shard.lock() = Shard::default();
        }
    }

    fn shard(&self, hash: u64) -> Option<&Mutex<Shard>> {
        self.shards.get(Marks::position(hash) % SHARDS)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use orbweaver_engine::store::KeyRange;

    const SPACE: u32 = 3;
    const HASH: u64 = 7;
    const TREE: Structure = (SPACE, *b"prefix_1");

    fn key(number: u32) -> Vec<u8> {
        [TREE.1.as_slice(), &number.to_be_bytes()].concat()
    }

    fn add(residents: &Residents, mark: &Mark, records: &BTreeMap<Vec<u8>, Vec<u8>>, last: u64) {
        let records = records.iter().map(|(key, value)| (key.as_slice(), value.as_slice()));
        residents.add((TREE, HASH), mark, records, last);
    }

    fn page(residents: &Residents, mark: &Mark, (range, direction, items): (&KeyRange, Direction, u32), last: u64) -> Option<Page> {
        residents.page((&TREE, HASH), mark, Asked { range, direction, limit: PageLimit::items(items) }, last)
    }

    fn whole(residents: &Residents, mark: &Mark, last: u64) -> Option<Page> {
        page(residents, mark, (&KeyRange::prefix(&TREE.1), Direction::Forward, 10_000), last)
    }

    fn some() -> BTreeMap<Vec<u8>, Vec<u8>> {
        (0..100).map(|number| (key(number * 2), vec![0; 8])).collect()
    }

    #[test]
    fn a_try_comes_after_so_many_scans_and_then_each_time_they_double() {
        let residents = Residents::new(1 << 20);
        let tries: Vec<(u32, u32)> =
            (1..=20_000).filter_map(|scan| residents.missed(HASH, 0).map(|limit| (scan, limit.max_items))).collect();
        let doublings = (4..=10).map(|doubling| (1 << doubling, 16 << doubling));
        assert_eq!(tries, doublings.chain([(8192, MAX_RECORDS), (16_384, MAX_RECORDS)]).collect::<Vec<_>>());
        assert_eq!(residents.missed(HASH + (1 << 24), 0), None, "another structure");
        add(&residents, &Mark::default(), &some(), 0);
        assert_eq!(residents.missed(HASH, 0), None, "from the start again");
    }

    #[test]
    fn scans_over_dead_records_come_to_a_try_sooner() {
        let residents = Residents::new(1 << 20);
        assert_eq!(residents.missed(HASH, 14 * DEAD_A_SCAN), None);
        assert_eq!(residents.missed(HASH, 0).map(|limit| limit.max_items), Some(256));
        assert_eq!(residents.missed(HASH, u64::MAX).map(|limit| limit.max_items), Some(MAX_RECORDS));
        let tries = (0..1000).filter(|_| residents.missed(HASH, u64::MAX).is_some()).count();
        assert_eq!(tries, 125, "every eighth");
    }

    #[test]
    fn pages_of_a_resident_are_those_of_a_model_that_the_same_commits_change() {
        let (residents, mark) = (Residents::new(1 << 20), Mark::default());
        let mut noise = 88_172_645_463_325_252_u64;
        let mut random = |below: u32| {
            noise ^= noise << 13;
            noise ^= noise >> 7;
            noise ^= noise << 17;
            u32::try_from(noise % u64::from(below)).unwrap()
        };
        let mut model = some();
        add(&residents, &mark, &model, 0);
        for step in 1..20_000 {
            let (one, other) = (random(220), random(220));
            mark.begin();
            if random(3) == 0 {
                residents.change(SPACE, HASH, &key(one), None);
                model.remove(&key(one));
            } else {
                let value = vec![9; usize::try_from(random(12)).unwrap()];
                residents.change(SPACE, HASH, &key(one), Some(&value));
                model.insert(key(one), value);
            }
            mark.finish(step);
            let range = KeyRange { start: key(one), after_start: random(2) == 0, end: Some(key(other)) };
            let direction = if random(2) == 0 { Direction::Forward } else { Direction::Reverse };
            let items = 1 + random(30);
            let mut expected: Vec<(Bytes, Bytes)> = model
                .iter()
                .filter(|(key, _)| range.contains(orbweaver_engine::store::Order::Bytes, key))
                .map(|(key, value)| (Bytes::from(key.clone()), Bytes::from(value.clone())))
                .collect();
            if direction == Direction::Reverse {
                expected.reverse();
            }
            let page = page(&residents, &mark, (&range, direction, items), step).unwrap();
            assert_eq!(page.more, expected.len() > usize::try_from(items).unwrap());
            expected.truncate(usize::try_from(items).unwrap());
            assert_eq!(page.records().collect::<Vec<_>>(), expected, "step {step}");
            let bytes: usize = RESIDENT_BYTES + model.iter().map(|(key, value)| weight(key, value)).sum::<usize>();
            assert_eq!(residents.shard(HASH).unwrap().lock().bytes, bytes);
        }
    }

    #[test]
    fn nothing_is_told_while_a_commit_changes_the_structure_or_of_an_older_state() {
        let (residents, mark) = (Residents::new(1 << 20), Mark::default());
        add(&residents, &mark, &some(), 4);
        assert_eq!(whole(&residents, &mark, 4).unwrap().len(), 100);
        mark.begin();
        assert_eq!(whole(&residents, &mark, 4), None);
        residents.change(SPACE, HASH, &key(1), Some(b"new"));
        assert_eq!(whole(&residents, &mark, 4), None);
        mark.finish(5);
        assert_eq!(whole(&residents, &mark, 4), None, "the state before it");
        assert_eq!(whole(&residents, &mark, 5).unwrap().len(), 101);
    }

    #[test]
    fn a_structure_that_was_changed_while_it_was_read_does_not_become_resident() {
        let (residents, mark) = (Residents::new(1 << 20), Mark::default());
        mark.begin();
        add(&residents, &mark, &some(), 4);
        mark.finish(5);
        assert_eq!(whole(&residents, &mark, 5), None);
        add(&residents, &mark, &some(), 4);
        assert_eq!(whole(&residents, &mark, 5), None, "read from the state before");
        add(&residents, &mark, &some(), 5);
        assert!(whole(&residents, &mark, 5).is_some());
    }

    #[test]
    fn what_is_forgotten_is_not_resident_and_others_are() {
        let (residents, mark) = (Residents::new(1 << 20), Mark::default());
        for forget in [|residents: &Residents| residents.forget(SPACE, HASH, &key(3)), Residents::forget_all] {
            add(&residents, &mark, &some(), 0);
            residents.forget(SPACE + 1, HASH, &key(3));
            residents.forget(SPACE, HASH, b"prefix_2 of the same hash");
            assert!(whole(&residents, &mark, 0).is_some());
            forget(&residents);
            assert_eq!(whole(&residents, &mark, 0), None);
        }
    }

    #[test]
    fn one_that_is_changed_and_not_scanned_goes() {
        let (residents, mark) = (Residents::new(1 << 20), Mark::default());
        add(&residents, &mark, &some(), 0);
        for round in 0..10 {
            (0..300).for_each(|_| residents.change(SPACE, HASH, &key(2), Some(b"changed")));
            assert!(whole(&residents, &mark, 0).is_some(), "scanned in round {round}");
        }
        (0..1000).for_each(|_| residents.change(SPACE, HASH, &key(2), Some(b"changed")));
        assert_eq!(whole(&residents, &mark, 0), None);
    }

    #[test]
    fn residents_stay_within_their_memory() {
        let (residents, mark) = (Residents::new(1 << 20), Mark::default());
        let bytes = || -> Vec<usize> { residents.shards.iter().map(|shard| shard.lock().bytes).collect() };
        for number in 0..2000_u64 {
            let structure = (SPACE, number.to_be_bytes());
            let keys: Vec<Vec<u8>> = (0..number % 90).map(|record| [structure.1, record.to_be_bytes()].concat()).collect();
            residents.add((structure, number << 24), &mark, keys.iter().map(|key| (key.as_slice(), [].as_slice())), 0);
        }
        assert!(bytes().iter().all(|bytes| (1..=(1 << 20) / SHARDS).contains(bytes)), "{:?}", bytes());
        // One that grows pushes others out, and goes itself when it is half of its part.
        add(&residents, &mark, &some(), 0);
        for number in 0..10_000 {
            residents.change(SPACE, HASH, &key(number), Some(&[0; 100]));
        }
        assert_eq!(whole(&residents, &mark, 0), None);
        assert!(bytes().iter().all(|bytes| *bytes <= (1 << 20) / SHARDS), "{:?}", bytes());
    }
}
