//! Residents: structures that are in memory whole and in their order, because they are scanned and changed in turn. A change forgets
//! the pages of a structure, and a search in RocksDB's memtable gets slower with every version of its records that is still there: the
//! counted tree of a sorted set that is being written has a thousand nodes, and a thousand versions of each. Commits keep a
//! resident in step. Small structures become resident the second time that RocksDB would have to answer a scan of them: a search costs it as much as
//! some dozens of steps, and answers one question, where a resident answers all. The first time, a page is kept: it is all that a structure needs that is
//! not changed.
//!
//! What a resident holds is of the state behind the last commit that has changed the structure; whoever reads another state, or reads
//! while a commit is changing it, is told nothing (see [`super::record_cache`]).

use super::gaps::Structure;
use super::marks::{Mark, Marks};
use super::question::Asked;
use super::records::next_number;
use super::resident_records::ResidentRecords;
use bytes::Bytes;
use hashbrown::HashTable;
use orbweaver_engine::store::{Page, PageLimit};
use parking_lot::{Mutex, MutexGuard};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

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
/// Structures of no more records and bytes than these are small, where that is a little part of a shard.
const SMALL: PageLimit = PageLimit { max_items: 32, max_bytes: 4 << 10 };
const SMALL_SHARE: usize = 4;
/// One that is changed so many times for each of its records, and not scanned, goes.
const IDLE_CHANGES: usize = 4;
/// There is a place for so many bytes, within these bounds.
const BYTES_A_PLACE: usize = 256;
const PLACES: (usize, usize) = (1 << 12, 1 << 16);
/// Where there is no room, the one goes that was used longest ago of so many.
const SAMPLE: usize = 8;

/// The residents of one store.
pub struct Residents {
    shards: Vec<Mutex<Shard>>,
    shard_bytes: usize,
    /// What all shards take.
    bytes: AtomicUsize,
    places: Places,
}

/// By the hashes of structures, some of which share a place.
struct Places(Box<[Counts]>);

#[derive(Default)]
struct Counts {
    /// How many of them are resident. Most commits learn from it that there is nothing to do.
    residents: AtomicU32,
    /// How many scans RocksDB had to answer.
    missed: AtomicU32,
}

#[derive(Default)]
struct Shard {
    residents: HashTable<Resident>,
    bytes: usize,
    /// Counts uses.
    now: u64,
    /// Where the last sample ended.
    hand: usize,
}

/// A shard that is changed, which the number of all bytes follows.
struct Held<'r> {
    shard: MutexGuard<'r, Shard>,
    before: usize,
    all: &'r AtomicUsize,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if self.shard.bytes != self.before {
            // Wraps where there are fewer now, and so does the sum.
            self.all.fetch_add(self.shard.bytes.wrapping_sub(self.before), Ordering::SeqCst);
        }
    }
}

struct Resident {
    structure: Structure,
    hash: u64,
    records: ResidentRecords,
    used: u64,
    /// How often it was changed since.
    changes: usize,
}

impl Places {
    #[expect(clippy::indexing_slicing, reason = "there are places, and the remainder is below their number")]
    fn at(&self, hash: u64) -> &Counts {
        &self.0[usize::try_from(hash >> 16).unwrap_or_default() % self.0.len()]
    }

    fn has_residents(&self, hash: u64) -> bool {
        self.at(hash).residents.load(Ordering::SeqCst) > 0
    }

    fn left(&self, resident: &Resident) {
        self.at(resident.hash).residents.fetch_sub(1, Ordering::SeqCst);
    }
}

/// How many tries a structure has had that was scanned so many times.
fn tries(scans: u32) -> u32 {
    (scans / FIRST_TRY).min(MAX_RECORDS / RECORDS_A_SCAN / FIRST_TRY).checked_ilog2().map_or(0, |doublings| doublings + 1)
        + scans / LATER_TRIES
}

impl Shard {
    fn find(&mut self, hash: u64, structure: &Structure) -> Option<&mut Resident> {
        self.residents.find_mut(hash, |resident| resident.structure == *structure)
    }

    fn remove(&mut self, places: &Places, hash: u64, structure: &Structure) {
        if let Ok(resident) = self.residents.find_entry(hash, |resident| resident.structure == *structure) {
            let (resident, _) = resident.remove();
            self.bytes -= resident.records.weight();
            places.left(&resident);
        }
    }

    /// Makes room, down to so many bytes.
    fn make_room(&mut self, places: &Places, bytes: usize) {
        while self.bytes > bytes && !self.residents.is_empty() {
            if self.residents.len() < self.residents.num_buckets() / 8 {
                // So that a sample is found within a few steps.
                self.residents.shrink_to(0, |resident| resident.hash);
            }
            let buckets = self.residents.num_buckets();
            let around = (1..=buckets).map(|step| (self.hand + step) % buckets);
            let sample = around.filter_map(|bucket| Some((self.residents.get_bucket(bucket)?.used, bucket))).take(SAMPLE);
            let sample: SmallVec<[(u64, usize); SAMPLE]> = sample.collect();
            self.hand = sample.last().map_or(0, |(_, bucket)| *bucket);
            let oldest = sample.into_iter().min().map_or(0, |(_, bucket)| bucket);
            if let Ok(resident) = self.residents.get_bucket_entry(oldest) {
                let (resident, _) = resident.remove();
                self.bytes -= resident.records.weight();
                places.left(&resident);
            }
        }
    }
}

impl Residents {
    /// None yet; together they take at most so many bytes.
    pub fn new(bytes: usize) -> Self {
        let places = (bytes / BYTES_A_PLACE).clamp(PLACES.0, PLACES.1);
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            shard_bytes: bytes / SHARDS,
            bytes: AtomicUsize::new(0),
            places: Places((0..places).map(|_| Counts::default()).collect()),
        }
    }

    /// A page of a resident in the state behind the commit `last`, and its [number](next_number), or 0; `None` where it is not resident, or of another state, or
    /// has many records and only `few` are asked for. Of these the page has a number where it is not the first one since a change: it may be asked for again.
    pub fn page(
        &self,
        (structure, hash): (&Structure, u64),
        mark: &Mark,
        (asked, few): (Asked<'_>, bool),
        last: u64,
    ) -> Option<(Page, u64)> {
        if !self.places.has_residents(hash) {
            return None;
        }
        let mut shard = self.shard(hash)?.lock();
        // A commit that begins from here on waits for the lock before it changes the resident.
        if !mark.is_unchanged_since(last) {
            return None;
        }
        shard.now += 1;
        let now = shard.now;
        let resident = shard.find(hash, structure)?;
        let changes = std::mem::take(&mut resident.changes);
        resident.used = now;
        if few && !resident.records.are_few() {
            return None;
        }
        let number = if few && changes == 0 { next_number() } else { 0 };
        Some((resident.records.page(asked), number))
    }

    /// The value of a record of a resident in the state behind the commit `last`; `None` where it is not resident, or of another state.
    pub fn record(&self, (structure, hash): (&Structure, u64), mark: &Mark, key: &[u8], last: u64) -> Option<Option<Bytes>> {
        if !self.places.has_residents(hash) {
            return None;
        }
        let mut shard = self.shard(hash)?.lock();
        if !mark.is_unchanged_since(last) {
            return None;
        }
        Some(shard.find(hash, structure)?.records.get(key).map(Bytes::copy_from_slice))
    }

    /// How much of a structure that is not resident is to be read at once, as far as it is small: the second time that RocksDB has to answer, and
    /// where it was not small then, not again soon.
    pub fn small(&self, hash: u64) -> Option<PageLimit> {
        let missed = self.places.at(hash).missed.load(Ordering::Relaxed);
        let most = u32::try_from(self.shard_bytes / SMALL_SHARE).unwrap_or(u32::MAX);
        (missed == 1).then_some(PageLimit { max_bytes: SMALL.max_bytes.min(most), ..SMALL })
    }

    /// RocksDB had to answer a scan of a structure, and passed so many dead records. How many of its live ones, and bytes, would be worth
    /// being resident, where it is time for a try.
    pub fn missed(&self, hash: u64, passed: u64) -> Option<PageLimit> {
        let cost = u32::try_from(passed / DEAD_A_SCAN).unwrap_or(u32::MAX).saturating_add(1).min(MAX_COST);
        let before = self.places.at(hash).missed.fetch_add(cost, Ordering::Relaxed);
        let after = before.wrapping_add(cost);
        (tries(before) != tries(after)).then(|| PageLimit {
            max_items: after.saturating_mul(RECORDS_A_SCAN).min(MAX_RECORDS),
            max_bytes: u32::try_from(self.shard_bytes / 2).unwrap_or(u32::MAX),
        })
    }

    /// Makes a structure resident: all its records in the state behind the commit `last`. Not where the structure, whose mark is
    /// given, has been changed since.
    pub fn add(&self, (structure, hash): (Structure, u64), mark: &Mark, records: ResidentRecords, last: u64) {
        let weight = records.weight();
        if weight > self.shard_bytes / 2 {
            return;
        }
        let Some(mut held) = self.hold(hash) else { return };
        let shard = &mut *held.shard;
        let place = self.places.at(hash);
        // Whoever changes the structure from here on sees the count, or is seen by its mark.
        place.residents.fetch_add(1, Ordering::SeqCst);
        if !mark.is_unchanged_since(last) {
            place.residents.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        shard.remove(&self.places, hash, &structure);
        shard.make_room(&self.places, self.shard_bytes - weight);
        shard.now += 1;
        shard.bytes += weight;
        let resident = Resident { structure, hash, records, used: shard.now, changes: 0 };
        shard.residents.insert_unique(hash, resident, |resident| resident.hash);
        place.missed.store(0, Ordering::Relaxed);
    }

    /// A commit has written a record, or deleted it. To be called before [`Mark::finish`] of the structure.
    pub fn change(&self, space: u32, hash: u64, key: &[u8], value: Option<&[u8]>) {
        if !self.places.has_residents(hash) {
            return;
        }
        let (Some(prefix), Some(mut held)) = (key.first_chunk(), self.hold(hash)) else { return };
        let structure = (space, *prefix);
        let shard = &mut *held.shard;
        let Some(resident) = shard.find(hash, &structure) else { return };
        let before = resident.records.weight();
        match value {
            Some(value) => resident.records.put(key, value),
            None => resident.records.delete(key),
        }
        resident.changes += 1;
        let (after, is_idle) = (resident.records.weight(), resident.changes / IDLE_CHANGES > resident.records.count());
        shard.bytes = shard.bytes + after - before;
        if is_idle || after > self.shard_bytes / 2 {
            shard.remove(&self.places, hash, &structure);
        }
        shard.make_room(&self.places, self.shard_bytes);
    }

    /// A structure is not known any more: a range of it is deleted, or a commit has failed. To be called behind [`Mark::begin`] and
    /// before [`Mark::finish`].
    pub fn forget(&self, space: u32, hash: u64, key: &[u8]) {
        if !self.places.has_residents(hash) {
            return;
        }
        if let (Some(prefix), Some(mut held)) = (key.first_chunk(), self.hold(hash)) {
            held.shard.remove(&self.places, hash, &(space, *prefix));
        }
    }

    /// None is known any more.
    pub fn forget_all(&self) {
        for shard in &self.shards {
            let shard = &mut *self.held(shard).shard;
            shard.residents.drain().for_each(|resident| self.places.left(&resident));
            *shard = Shard::default();
        }
    }

    /// How many bytes the residents take.
    pub fn bytes(&self) -> usize {
        self.bytes.load(Ordering::SeqCst)
    }

    fn hold(&self, hash: u64) -> Option<Held<'_>> {
        self.shard(hash).map(|shard| self.held(shard))
    }

    fn held<'r>(&'r self, shard: &'r Mutex<Shard>) -> Held<'r> {
        let shard = shard.lock();
        Held { before: shard.bytes, shard, all: &self.bytes }
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
    use orbweaver_engine::store::{Direction, KeyRange};
    use std::collections::BTreeMap;

    const SPACE: u32 = 3;
    const HASH: u64 = 7;
    const TREE: Structure = (SPACE, *b"prefix_1");

    fn key(number: u32) -> Vec<u8> {
        [TREE.1.as_slice(), &number.to_be_bytes()].concat()
    }

    fn records<'r>(records: impl IntoIterator<Item = (&'r Vec<u8>, &'r Vec<u8>)>) -> ResidentRecords {
        let mut of = ResidentRecords::with_room(0);
        records.into_iter().for_each(|(key, value)| of.put(key, value));
        of
    }

    fn add(residents: &Residents, mark: &Mark, of: &BTreeMap<Vec<u8>, Vec<u8>>, last: u64) {
        residents.add((TREE, HASH), mark, records(of), last);
    }

    fn whole(residents: &Residents, mark: &Mark, last: u64) -> Option<Page> {
        let asked = Asked { range: &KeyRange::prefix(&TREE.1), direction: Direction::Forward, limit: PageLimit::items(10_000) };
        residents.page((&TREE, HASH), mark, (asked, false), last).map(|(page, _)| page)
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
    fn a_structure_is_tried_as_a_small_one_at_its_second_miss_and_again_when_it_has_been_resident() {
        let residents = Residents::new(1 << 20);
        for _ in 0..2 {
            assert_eq!(residents.small(HASH), None);
            assert_eq!(residents.missed(HASH, 0), None);
            assert_eq!(residents.small(HASH).map(|small| (small.max_items, small.max_bytes)), Some((32, 4096)));
            assert_eq!(residents.small(HASH + (1 << 24)), None, "another structure");
            assert_eq!(residents.missed(HASH, 0), None);
            assert_eq!(residents.small(HASH), None, "it was too large");
            add(&residents, &Mark::default(), &some(), 0);
        }
        let few = Residents::new(16 << 10);
        assert_eq!(few.missed(HASH, 0), None);
        assert_eq!(few.small(HASH).map(|small| small.max_bytes), Some((16 << 10) / 8 / 4));
    }

    #[test]
    fn what_takes_half_of_a_shard_is_not_made_resident_and_pushes_nothing_out() {
        let (residents, mark) = (Residents::new(1 << 20), Mark::default());
        add(&residents, &mark, &some(), 0);
        let large = BTreeMap::from([(b"prefix_2".to_vec(), vec![0; 100 << 10])]);
        residents.add(((SPACE, *b"prefix_2"), HASH), &mark, records(&large), 0);
        assert_eq!(residents.shard(HASH).unwrap().lock().residents.len(), 1);
        assert!(whole(&residents, &mark, 0).is_some());
    }

    #[test]
    fn a_place_counts_those_that_are_resident() {
        let (residents, mark) = (Residents::new(1 << 20), Mark::default());
        let count = || residents.places.at(HASH).residents.load(Ordering::SeqCst);
        for _ in 0..2 {
            add(&residents, &mark, &some(), 0);
            assert_eq!(count(), 1);
        }
        residents.forget(SPACE, HASH, &key(3));
        assert_eq!(count(), 0);
        mark.begin();
        add(&residents, &mark, &some(), 0);
        mark.finish(1);
        assert_eq!(count(), 0, "it was being changed");
        add(&residents, &mark, &some(), 1);
        (0..1000).for_each(|_| residents.change(SPACE, HASH, &key(2), Some(b"changed")));
        assert_eq!(count(), 0, "it went idle");
        for number in 0..2000_u64 {
            let of: BTreeMap<Vec<u8>, Vec<u8>> = (0..60_u32).map(|record| (key(record), vec![0; 8])).collect();
            residents.add(((SPACE, number.to_be_bytes()), HASH), &mark, records(&of), 1);
        }
        assert_eq!(usize::try_from(count()).unwrap(), residents.shard(HASH).unwrap().lock().residents.len());
        residents.forget_all();
        assert_eq!(count(), 0);
    }

    #[test]
    fn a_record_of_a_resident_is_told_in_its_state_and_a_page_of_few_records_at_once() {
        let (residents, mark) = (Residents::new(1 << 20), Mark::default());
        let record = |number, last| residents.record((&TREE, HASH), &mark, &key(number), last);
        assert_eq!(record(1, 0), None);
        let of_few = |last| {
            let asked = Asked { range: &KeyRange::prefix(&TREE.1), direction: Direction::Forward, limit: PageLimit::items(100) };
            residents.page((&TREE, HASH), &mark, (asked, true), last).map(|(page, _)| page.len())
        };
        add(&residents, &mark, &BTreeMap::from([(key(1), b"one".to_vec())]), 4);
        assert_eq!((record(1, 4), record(2, 4), of_few(4)), (Some(Some(Bytes::from_static(b"one"))), Some(None), Some(1)));
        mark.begin();
        residents.change(SPACE, HASH, &key(2), Some(b"two"));
        assert_eq!(record(2, 4), None);
        mark.finish(5);
        assert_eq!((record(2, 4), record(2, 5)), (None, Some(Some(Bytes::from_static(b"two")))));
        (3..100).for_each(|number| residents.change(SPACE, HASH, &key(number), Some(b"more")));
        assert_eq!((of_few(5), record(99, 5)), (None, Some(Some(Bytes::from_static(b"more")))));
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
        let mut random = fastrand::Rng::with_seed(5);
        let mut model = some();
        add(&residents, &mark, &model, 0);
        for step in 1..20_000 {
            let name = key(random.u32(..220));
            mark.begin();
            if random.u8(..3) == 0 {
                residents.change(SPACE, HASH, &name, None);
                model.remove(&name);
            } else {
                let value = vec![9; random.usize(..12)];
                residents.change(SPACE, HASH, &name, Some(&value));
                model.insert(name, value);
            }
            mark.finish(step);
            let page = whole(&residents, &mark, step).unwrap();
            assert!(page.pieces_from(0).eq(model.iter().map(|(key, value)| (key.as_slice(), value.as_slice()))), "step {step}");
            let shard = residents.shard(HASH).unwrap().lock();
            assert_eq!(shard.bytes, shard.residents.iter().map(|resident| resident.records.weight()).sum::<usize>());
            assert_eq!(residents.bytes(), shard.bytes);
        }
    }

    #[test]
    fn a_small_one_that_is_scanned_again_without_a_change_has_pages_with_numbers_each_its_own() {
        let (residents, mark) = (Residents::new(1 << 20), Mark::default());
        let asked = Asked { range: &KeyRange::prefix(&TREE.1), direction: Direction::Forward, limit: PageLimit::items(100) };
        let number = |few: bool, last: u64| residents.page((&TREE, HASH), &mark, (asked, few), last).unwrap().1;
        add(&residents, &mark, &BTreeMap::from([(key(1), b"one".to_vec())]), 0);
        assert!(number(true, 0) > 0 && number(true, 0) != number(true, 0));
        mark.begin();
        residents.change(SPACE, HASH, &key(2), Some(b"two"));
        mark.finish(1);
        assert_eq!(number(true, 1), 0);
        assert!(number(true, 1) > 0);
        // Those of searches have none.
        assert_eq!(number(false, 1), 0);
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
            residents.add((structure, number << 24), &mark, records(keys.iter().map(|key| (key, const { &Vec::new() }))), 0);
        }
        assert!(bytes().iter().all(|bytes| (1..=(1 << 20) / SHARDS).contains(bytes)), "{:?}", bytes());
        // One that grows pushes others out, and goes itself when it is half of its part.
        add(&residents, &mark, &some(), 0);
        for number in 0..10_000 {
            residents.change(SPACE, HASH, &key(number), Some(&[0; 100]));
        }
        assert_eq!(whole(&residents, &mark, 0), None);
        assert!(bytes().iter().all(|bytes| *bytes <= (1 << 20) / SHARDS), "{:?}", bytes());
        assert_eq!(residents.bytes(), bytes().iter().sum::<usize>());
        residents.forget_all();
        assert_eq!(residents.bytes(), 0);
    }
}
