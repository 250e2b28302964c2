//! Records in memory, in front of RocksDB: those that were read lately, as the last commit has left them, keys that were found absent,
//! pages of scans within one structure, whole structures ([`super::residents`]), and which new records are not there
//! ([`super::frontiers`]). A read that RocksDB serves from its own memory takes some ten times as long, and a step of one of its
//! iterators as long as a record from here.
//!
//! # Which state a record is of
//! Commits have numbers, which they get when they have written ([`super::Revisions`]); a transaction that begins when `last` was
//! the last number reads a state that holds the commits up to `last`, and perhaps later ones. Every record has a [`Mark`], and so has
//! every range that is deleted, and every structure whose pages are kept: how many commits are changing what is under the mark, and
//! the number of the last one that has changed it. Where nobody changes anything and the last number is not above `last`, what is
//! under the mark is the same in the cache as in the state; otherwise the read goes to RocksDB and leaves nothing here. So a state
//! that is read from a snapshot never meets what came after it, and a record that was read from an old snapshot never hides a newer
//! one. A commit puts new values in the place of old ones, and keeps residents in step; pages it leaves behind: they are of no
//! state any more, and make room for others.

use super::frontiers::{Frontiers, Look};
use super::gaps::{Gaps, Structure, WHOLE};
use super::marks::{Mark, Marks};
use super::options::{PREFIX_BYTES, Scanned, within_prefix};
use super::prefetch::GROUP;
use super::question::{Asked, Question};
use super::records::{Known, Name, Records, Slot, length};
use super::resident_records::ResidentRecords;
use super::residents::Residents;
use super::shares::Shares;
use super::watches::{Watch, Watches};
use bytes::Bytes;
use foldhash::quality::SeedableRandomState;
use orbweaver_engine::store::{Changes, KeyRange, Numbered, Page, PageLimit};
use parking_lot::{Mutex, RwLock};
use smallvec::SmallVec;
use std::hash::BuildHasher;
use std::iter::successors;
use std::sync::Arc;

/// Parts with a lock each; as many as a number has bits.
const SHARDS: usize = u64::BITS as usize;
/// Longer values are left to RocksDB's block cache: copying them takes longer than finding them.
const MAX_VALUE_BYTES: usize = 16 << 10;
/// So are larger pages: a few of them would push everything else out.
const MAX_PAGE_BYTES: usize = 64 << 10;
/// The part of the cache's memory that residents may take. What they leave of it is the records'.
const RESIDENT_SHARE: usize = 4;
/// The part of it that the filter of frontiers takes.
const FILTER_SHARE: usize = 16;
/// Added to the number of a keyspace: its pages.
const PAGES: u32 = 1 << 31;

/// The cache of one store.
pub struct RecordCache {
    shards: Vec<RwLock<Records>>,
    /// What records and residents may take together.
    bytes: usize,
    records: Marks,
    /// By the first bytes of keys: ranges that were deleted.
    ranges: Marks,
    /// By the names of structures: whatever was changed.
    structures: Marks,
    gaps: Gaps,
    residents: Residents,
    shares: Shares,
    frontiers: Frontiers,
    watches: Watches,
    hasher: SeedableRandomState,
    /// The keyspaces: position of the database, and name of the column family.
    spaces: Mutex<Vec<(usize, String)>>,
}

/// What a commit changes.
pub enum Change<'b> {
    /// A record; no value where it is deleted.
    Record { space: u32, scanned: Scanned, key: &'b [u8], value: Option<&'b [u8]> },
    /// Every key from `start` up to `end`, and perhaps `end` itself; to the last key where `end` is empty.
    Range { space: u32, scanned: Scanned, start: &'b [u8], end: &'b [u8] },
}

impl RecordCache {
    /// An empty cache of that size; `None` where it would hold nothing.
    pub fn new(bytes: usize) -> Option<Self> {
        if bytes == 0 {
            return None;
        }
        let hasher = SeedableRandomState::random();
        let (residents, filter) = (bytes / RESIDENT_SHARE, bytes / FILTER_SHARE);
        let bytes = bytes - filter;
        Some(Self {
            shards: (0..SHARDS).map(|_| RwLock::new(Records::new(bytes / SHARDS))).collect(),
            bytes,
            records: Marks::new(),
            ranges: Marks::new(),
            structures: Marks::new(),
            gaps: Gaps::new(),
            residents: Residents::new(residents),
            shares: Shares::new(residents),
            frontiers: Frontiers::new(filter),
            watches: Watches::default(),
            hasher,
            spaces: Mutex::default(),
        })
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
    /// Where the record `may_be_put` next, the processor is to fetch what that waits for.
    pub fn get(&self, space: u32, key: &[u8], last: u64, may_be_put: bool) -> Option<Option<Bytes>> {
        let name = Name { space, bytes: key };
        let hash = self.hash(&name);
        if may_be_put {
            self.frontiers.fetch(hash);
        }
        let records = self.shard(hash)?.read();
        self.known(records.find(hash)?, &name, hash, last).map(|value| value.map(Bytes::copy_from_slice))
    }

    /// As [`RecordCache::get`], of many records at once, which are waited for together: `take` is given the answers in their order. Nothing is
    /// known of what has no name.
    pub fn get_many<'k>(&self, names: impl IntoIterator<Item = Option<Name<'k>>>, last: u64, mut take: impl FnMut(Option<Option<&[u8]>>)) {
        let mut names = names.into_iter().map(|name| name.map(|name| (name, self.hash(&name))));
        loop {
            let group: SmallVec<[_; GROUP]> = names.by_ref().take(GROUP).collect();
            if group.is_empty() {
                return;
            }
            // All locks before all reads, each once, and in their order: so nobody waits for one who waits for him.
            let asked = group.iter().flatten().fold(0_u64, |asked, (_, hash)| asked | 1 << Self::shard_of(*hash));
            let bits = successors(Some(asked), |left| Some(left & left.wrapping_sub(1))).take_while(|left| *left > 0);
            let shards = bits.filter_map(|left| self.shards.get(usize::try_from(left.trailing_zeros()).ok()?));
            let locked: SmallVec<[_; GROUP]> = shards.map(RwLock::read).collect();
            let find = |named: &Option<(Name<'_>, u64)>| {
                let (_, hash) = named.as_ref()?;
                let before = (asked & ((1 << Self::shard_of(*hash)) - 1)).count_ones();
                locked.get(usize::try_from(before).ok()?)?.find(*hash)
            };
            let slots: SmallVec<[Option<&Slot>; GROUP]> = group.iter().map(find).collect();
            slots.iter().flatten().for_each(|slot| slot.touch());
            let known = slots.iter().zip(&group).map(|(slot, named)| {
                let (name, hash) = named.as_ref()?;
                self.known((*slot)?, name, *hash, last)
            });
            known.for_each(&mut take);
        }
    }

    /// What a slot of that hash says of a record in the state behind the commit `last`. Its shard is locked.
    fn known<'s>(&self, slot: &'s Slot, name: &Name<'_>, hash: u64, last: u64) -> Option<Option<&'s [u8]>> {
        let is_of_the_state = slot.is_of(name)
            && self.records.at(hash).is_unchanged_since(last)
            && self.range_of(name.space, name.bytes).is_unchanged_since(last.min(slot.since));
        is_of_the_state.then(|| slot.record()).flatten()
    }

    /// Keeps what was read from the state behind the commit `last`.
    pub fn keep(&self, space: u32, key: &[u8], last: u64, value: Option<&[u8]>) {
        if value.is_some_and(|value| value.len() > MAX_VALUE_BYTES) {
            return;
        }
        let name = Name { space, bytes: key };
        let hash = self.hash(&name);
        let Some(mut records) = self.shard(hash).map(RwLock::write) else { return };
        // A range that is deleted from here on has a number above `last`.
        if self.records.at(hash).is_unchanged_since(last) && self.range_of(space, key).is_unchanged_since(last) {
            records.put(hash, &name, value.into(), last);
        }
    }

    /// Of these records, which are not there for sure in the state behind the commit `last`, although nothing is kept of them.
    pub fn are_absent<'k>(&self, names: impl IntoIterator<Item = Name<'k>>, last: u64) -> impl Iterator<Item = bool> {
        let look = self.frontiers.look();
        names.into_iter().map(move |name| look.is_absent(&name, self.hash(&name), last))
    }

    /// A record of the keyspace was looked for in vain, see [`Frontiers::find`].
    pub fn find_frontier(&self, space: u32, last: impl FnOnce() -> Option<(Option<Vec<u8>>, u64)>) {
        self.frontiers.find(space, last);
    }

    /// The answer to a question in the state behind the commit `last`, for who knows the page with the number `known`, 0 of none; `None` where the answer is not
    /// known here.
    pub fn page(&self, space: u32, question: &Question, last: u64, known: u64) -> Option<Numbered> {
        let name = Name { space: space | PAGES, bytes: &question.bytes };
        let hash = self.hash(&name);
        let records = self.shard(hash)?.read();
        let slot = records.find(hash).filter(|slot| slot.is_of(&name))?;
        let is_of_the_state = self.structure_of(space, &question.prefix).is_unchanged_since(last.min(slot.since));
        if is_of_the_state { slot.page(known) } else { None }
    }

    /// Keeps what was read from the state behind the commit `last`. What is changed from here on has a number above it.
    pub fn keep_page(&self, space: u32, question: &Question, last: u64, page: &Page) {
        if length(page) > MAX_PAGE_BYTES || !self.structure_of(space, &question.prefix).is_unchanged_since(last) {
            return;
        }
        let name = Name { space: space | PAGES, bytes: &question.bytes };
        let hash = self.hash(&name);
        if let Some(records) = self.shard(hash) {
            // Without the room that it was made with.
            let page = Page { bytes: Bytes::copy_from_slice(&page.bytes), ends: page.ends.as_slice().into(), more: page.more };
            records.write().put(hash, &name, Known::Page(page), last);
        }
    }

    /// What is left of a range within one structure, or a keyspace that is one, without what is known to hold nothing in the state behind
    /// the commit `last`.
    pub fn around_gaps(&self, structure: &Structure, range: KeyRange, last: u64) -> Vec<KeyRange> {
        self.gaps.around(structure, self.hash_of_prefix(structure.0, &structure.1), range, last)
    }

    /// In the state behind the commit `last` there is no record of the structure from `start` up to `end`.
    pub fn add_gap(&self, structure: Structure, start: Vec<u8>, end: Vec<u8>, last: u64) {
        let hash = self.hash_of_prefix(structure.0, &structure.1);
        self.gaps.add(structure, hash, self.structures.at(hash), start, end, last);
    }

    /// A page of a structure that is resident, in the state behind the commit `last`, and its number, or 0; with `few`, only of one that is small.
    pub fn resident_page(&self, structure: &Structure, (asked, few): (Asked<'_>, bool), last: u64) -> Option<(Page, u64)> {
        let hash = self.hash_of_prefix(structure.0, &structure.1);
        self.residents.page((structure, hash), self.structures.at(hash), (asked, few), last)
    }

    /// The value of a record of a structure that is resident, in the state behind the commit `last`.
    pub fn resident_record(&self, structure: &Structure, key: &[u8], last: u64) -> Option<Option<Bytes>> {
        let hash = self.hash_of_prefix(structure.0, &structure.1);
        self.residents.record((structure, hash), self.structures.at(hash), key, last)
    }

    /// How much of a structure that is not resident is to be read at once, see [`Residents::small`].
    pub fn small(&self, structure: &Structure) -> Option<PageLimit> {
        self.residents.small(self.hash_of_prefix(structure.0, &structure.1))
    }

    /// A scan of a structure was not known here, and RocksDB passed so many dead records. How much of the structure is to be read to
    /// make it resident, if any.
    pub fn missed(&self, structure: &Structure, passed: u64) -> Option<PageLimit> {
        self.residents.missed(self.hash_of_prefix(structure.0, &structure.1), passed)
    }

    /// Makes a structure resident, of which these are all records in the state behind the commit `last`.
    pub fn add_resident(&self, structure: Structure, whole: ResidentRecords, last: u64) {
        let hash = self.hash_of_prefix(structure.0, &structure.1);
        self.residents.add((structure, hash), self.structures.at(hash), whole, last);
        self.share();
    }

    /// To be called where residents have been changed: what they leave is the records'.
    fn share(&self) {
        let bound = |kept: usize| {
            let records = self.bytes.saturating_sub(kept) / SHARDS;
            self.shards.iter().for_each(|shard| shard.write().bound(records));
        };
        self.shares.follow(|| self.residents.bytes(), bound);
    }

    /// A handle is told from now on what commits change of which pages are kept.
    pub fn watch(&self) -> Arc<Watch> {
        self.watches.begin()
    }

    /// It is not told any more.
    pub fn end_watch(&self, watch: &Arc<Watch>) {
        self.watches.end(watch);
    }

    /// To be called before a commit writes.
    pub fn change<'c>(&'c self, changes: impl IntoIterator<Item = Change<'c>>) -> Changing<'c> {
        let changes = changes.into_iter();
        let records = SmallVec::with_capacity(changes.size_hint().0);
        let mut changing = Changing { cache: self, records, outdated: 0, marks: SmallVec::new(), look: None, outcome: None };
        let mut last: Option<(Name<'_>, u64)> = None;
        let mut ranges = Changes::NONE;
        for change in changes {
            match change {
                Change::Record { space, scanned, key, value } => {
                    let name = Name { space, bytes: key };
                    let hash = self.hash(&name);
                    self.records.at(hash).begin();
                    let structure = structure_name(scanned, key).map(|bytes| {
                        let prefix = Name { space, bytes };
                        // Neighbours are often of the same structure.
                        let (_, hash) = last.take_if(|(before, _)| *before == prefix).unwrap_or_else(|| (prefix, self.hash(&prefix)));
                        last = Some((prefix, hash));
                        changing.mark(self.structures.at(hash));
                        if let (Some(_), Ok(prefix)) = (value, bytes.try_into()) {
                            self.gaps.put(&(space, prefix), hash, key);
                        }
                        hash
                    });
                    changing.records.push(Changed { name, hash, scanned, structure, value });
                }
                Change::Range { space, scanned, start, end } => {
                    // The records before it may be within it.
                    changing.outdated = changing.records.len();
                    if !end.is_empty() && within_prefix(start, Some(end), Some(PREFIX_BYTES)) {
                        changing.mark(self.range_of(space, start));
                        if let Some(name) = structure_name(scanned, start) {
                            changing.mark(self.structure_of(space, name));
                            ranges.add(Changes::place(name));
                            self.residents.forget(space, self.hash_of_prefix(space, name), start);
                        }
                    } else {
                        self.ranges.all().chain(self.structures.all()).for_each(|mark| changing.mark(mark));
                        self.residents.forget_all();
                        ranges = Changes::ALL;
                    }
                }
            }
        }
        // Behind the marks.
        self.watches.tell(|| {
            let with_pages = changing.records.iter().filter(|changed| changed.scanned == Scanned::ByStructure);
            with_pages.fold(ranges, |mut changes, changed| {
                changes.add(Changes::place(changed.name.bytes));
                changes
            })
        });
        let puts = || changing.records.iter().filter(|changed| changed.value.is_some()).map(|changed| (&changed.name, changed.hash));
        if puts().next().is_some() {
            let look = self.frontiers.look();
            look.put(puts);
            changing.look = Some(look);
        }
        changing
    }

    /// What tells a record from most others.
    pub fn hash(&self, name: &Name<'_>) -> u64 {
        self.hasher.hash_one(name)
    }

    /// The records of a mark are all in one.
    fn shard_of(hash: u64) -> usize {
        Marks::position(hash) % SHARDS
    }

    fn shard(&self, hash: u64) -> Option<&RwLock<Records>> {
        self.shards.get(Self::shard_of(hash))
    }

    fn range_of(&self, space: u32, key: &[u8]) -> &Mark {
        self.ranges.at(self.hash_of_prefix(space, key))
    }

    fn structure_of(&self, space: u32, key: &[u8]) -> &Mark {
        self.structures.at(self.hash_of_prefix(space, key))
    }

    fn hash_of_prefix(&self, space: u32, key: &[u8]) -> u64 {
        self.hash(&Name { space, bytes: prefix_of(key) })
    }
}

/// What tells the structure of a key.
fn prefix_of(key: &[u8]) -> &[u8] {
    key.get(..PREFIX_BYTES).unwrap_or(key)
}

/// The name of the structure of a key; `None` where it belongs to none.
fn structure_name(scanned: Scanned, key: &[u8]) -> Option<&[u8]> {
    match scanned {
        Scanned::Apart => None,
        Scanned::ByStructure => Some(prefix_of(key)),
        Scanned::Whole => Some(&WHOLE),
    }
}

/// A record that a commit changes.
struct Changed<'c> {
    name: Name<'c>,
    hash: u64,
    scanned: Scanned,
    /// The hash of its structure, where it belongs to one.
    structure: Option<u64>,
    /// Its new value; none where it is deleted.
    value: Option<&'c [u8]>,
}

/// A commit that is being written. When it is dropped, the cache holds what the commit has written, or nothing of it where it has
/// failed.
pub struct Changing<'c> {
    cache: &'c RecordCache,
    records: SmallVec<[Changed<'c>; 2]>,
    /// How many of them stand before a range that the commit deletes.
    outdated: usize,
    /// The marks of ranges and structures.
    marks: SmallVec<[&'c Mark; 4]>,
    /// Keeps frontiers as they are. Not taken where nothing is put: [`super::Shared::forget_unwritten`] deletes everything where a late commit
    /// fails, which whoever finds a frontier may be waiting for.
    look: Option<Look<'c>>,
    /// What it has got, and whether everything was written.
    outcome: Option<(u64, bool)>,
}

impl<'c> Changing<'c> {
    /// Neighbours are often of the same structure.
    fn mark(&mut self, mark: &'c Mark) {
        if self.marks.last().is_none_or(|last| !std::ptr::eq(*last, mark)) {
            mark.begin();
            self.marks.push(mark);
        }
    }

    /// The [hashes](RecordCache::hash) of the records that the commit changes.
    pub fn hashes(&self) -> impl Iterator<Item = u64> {
        self.records.iter().map(|changed| changed.hash)
    }

    /// The commit has got this number; `written` where everything was written for sure.
    pub fn finish(mut self, number: u64, written: bool) {
        self.outcome = Some((number, written));
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        let (number, written) = self.outcome.unwrap_or((u64::MAX, false));
        for (position, Changed { name, hash, structure, value, .. }) in self.records.iter().enumerate() {
            let is_known = written && position >= self.outdated;
            match structure {
                Some(structure) if is_known => self.cache.residents.change(name.space, *structure, name.bytes, *value),
                Some(structure) => self.cache.residents.forget(name.space, *structure, name.bytes),
                None => {}
            }
            let Some(mut records) = self.cache.shard(*hash).map(RwLock::write) else { continue };
            match value.filter(|value| is_known && value.len() <= MAX_VALUE_BYTES) {
                Some(value) => records.replace(*hash, name, value, number),
                // Also a record that is deleted: few are asked for again.
                None => records.remove(*hash),
            }
            self.cache.records.at(*hash).finish(number);
        }
        self.marks.iter().for_each(|mark| mark.finish(number));
        // Whoever waits for it need not wait for bounds as well.
        drop(self.look.take());
        self.cache.share();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use orbweaver_engine::store::Direction;

    const SPACE: u32 = 3;

    /// With the same hashes in each run: by other ones, two names of a test may share a mark.
    fn cache() -> RecordCache {
        RecordCache { hasher: SeedableRandomState::fixed(), ..RecordCache::new(1 << 20).unwrap() }
    }

    fn record<'b>(key: &'b [u8], value: Option<&'b [u8]>) -> Change<'b> {
        Change::Record { space: SPACE, scanned: Scanned::ByStructure, key, value }
    }

    fn found(value: &'static [u8]) -> Option<Option<Bytes>> {
        Some(Some(Bytes::from_static(value)))
    }

    #[test]
    fn what_was_read_is_known_also_that_it_is_absent() {
        let cache = cache();
        assert_eq!(cache.get(SPACE, b"k", 7, true), None);
        cache.keep(SPACE, b"k", 7, Some(b"v"));
        cache.keep(SPACE, b"absent", 7, None);
        assert_eq!((cache.get(SPACE, b"k", 7, false), cache.get(SPACE, b"absent", 7, false)), (found(b"v"), Some(None)));
        assert_eq!(cache.get(SPACE + 1, b"k", 7, false), None);
    }

    #[test]
    fn of_many_records_the_same_is_known_as_of_each_alone() {
        let cache = cache();
        let keys: Vec<Vec<u8>> = (0..100_u32).map(|number| format!("prefix_{}", number % 70).into()).collect();
        keys.iter().step_by(3).for_each(|key| cache.keep(SPACE, key, 4, Some(key)));
        keys.iter().step_by(7).for_each(|key| cache.keep(SPACE, key, 4, None));
        let changing = cache.change(vec![record(b"prefix_3", Some(b"new")), record(b"prefix_5", None)]);
        for last in [3, 4, 5] {
            // Every tenth has no name, as keys of a keyspace in another order.
            let name = |(number, key): (usize, &Vec<u8>)| (number % 10 > 0).then(|| key.clone());
            let asked: Vec<Option<Vec<u8>>> = keys.iter().enumerate().map(name).collect();
            let names = asked.iter().map(|key| Some(Name { space: SPACE, bytes: key.as_ref()? }));
            let mut known = Vec::new();
            cache.get_many(names, last, |value| known.push(value.map(|value| value.map(Bytes::copy_from_slice))));
            let alone: Vec<_> = asked.iter().map(|key| cache.get(SPACE, key.as_ref()?, last, false)).collect();
            assert_eq!(known, alone);
            assert!(known.iter().any(Option::is_some) && known.iter().any(Option::is_none));
        }
        changing.finish(5, true);
    }

    #[test]
    fn those_who_read_many_records_and_those_who_write_do_not_wait_for_each_other_for_ever() {
        let cache = cache();
        let keys: Vec<[u8; 4]> = (0..200_u32).map(u32::to_be_bytes).collect();
        std::thread::scope(|scope| {
            for reader in 0..4 {
                let (cache, keys) = (&cache, &keys);
                scope.spawn(move || {
                    for turn in 0..500 {
                        // Not in the order of anything.
                        let asked = (0..64).filter_map(|number| keys.get((number * 37 + turn * 11 + reader) % keys.len()));
                        cache.get_many(asked.map(|key| Some(Name { space: SPACE, bytes: key })), 1 << 40, |_| ());
                        keys.iter().skip(turn % 10).step_by(10).for_each(|key| cache.keep(SPACE, key, 1 << 40, Some(b"value")));
                    }
                });
            }
        });
    }

    #[test]
    fn a_commit_replaces_what_is_there_forgets_what_it_deletes_and_adds_nothing() {
        let cache = cache();
        cache.keep(SPACE, b"k", 0, Some(b"old"));
        cache.keep(SPACE, b"gone", 0, Some(b"old"));
        cache.change(vec![record(b"k", Some(b"new")), record(b"gone", None), record(b"other", Some(b"new"))]).finish(1, true);
        assert_eq!(cache.get(SPACE, b"k", 1, false), found(b"new"));
        assert_eq!([cache.get(SPACE, b"gone", 1, false), cache.get(SPACE, b"other", 1, false)], [None, None]);
    }

    #[test]
    fn nothing_is_known_of_a_record_while_it_is_changed() {
        let cache = cache();
        cache.keep(SPACE, b"k", 0, Some(b"old"));
        let changing = cache.change(vec![record(b"k", Some(b"new"))]);
        assert_eq!(cache.get(SPACE, b"k", 0, false), None);
        cache.keep(SPACE, b"k", 0, Some(b"old"));
        changing.finish(1, true);
        assert_eq!(cache.get(SPACE, b"k", 1, false), found(b"new"));
    }

    #[test]
    fn an_older_state_sees_nothing_that_came_after_it_and_leaves_nothing() {
        let cache = cache();
        cache.keep(SPACE, b"k", 4, Some(b"old"));
        cache.change(vec![record(b"k", Some(b"new"))]).finish(5, true);
        assert_eq!(cache.get(SPACE, b"k", 4, false), None);
        cache.keep(SPACE, b"k", 4, Some(b"old"));
        assert_eq!(cache.get(SPACE, b"k", 5, false), found(b"new"));
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
            assert_eq!(cache.get(SPACE, b"k", 1, false), None);
        }
    }

    #[test]
    fn a_deleted_range_takes_its_records_along_and_no_others() {
        let cache = cache();
        let keys: [&[u8]; 4] = [b"prefix_1a", b"prefix_1", b"prefix_2a", b"short"];
        keys.iter().for_each(|key| cache.keep(SPACE, key, 0, Some(b"v")));
        let range = |start, end| vec![Change::Range { space: SPACE, scanned: Scanned::ByStructure, start, end }];
        cache.change(range(b"prefix_1", b"prefix_2")).finish(1, true);
        assert_eq!(keys.map(|key| cache.get(SPACE, key, 1, false).is_some()), [false, false, true, true]);
        // Also those that come later, but not for those who read what was before.
        cache.keep(SPACE, b"prefix_1", 1, None);
        assert_eq!((cache.get(SPACE, b"prefix_1", 1, false), cache.get(SPACE, b"prefix_1", 0, false)), (Some(None), None));
        cache.change(range(b"", b"z")).finish(2, true);
        assert_eq!(keys.map(|key| cache.get(SPACE, key, 2, false).is_some()), [false; 4]);
    }

    fn question(range: &KeyRange) -> Option<Question> {
        Question::new(range, Direction::Forward, PageLimit::items(10))
    }

    fn page(value: &'static [u8]) -> Page {
        Page { bytes: value.into(), ends: vec![0, 4], more: false }
    }

    #[test]
    fn a_page_is_known_until_something_of_its_structure_is_changed() {
        let cache = cache();
        let (one, other) = (KeyRange::prefix(b"prefix_1"), KeyRange::prefix(b"prefix_2"));
        let keep = |range: &KeyRange, last| cache.keep_page(SPACE, &question(range).unwrap(), last, &page(b"kept"));
        let known = |range: &KeyRange, last| cache.page(SPACE, &question(range).unwrap(), last, 0).is_some();
        let changes = [
            record(b"prefix_1a", Some(b"new")),
            record(b"prefix_1", None),
            Change::Range { space: SPACE, scanned: Scanned::ByStructure, start: b"prefix_1", end: b"prefix_1z" },
        ];
        for (change, number) in changes.into_iter().zip(1..) {
            keep(&one, number - 1);
            keep(&other, number - 1);
            let found = cache.page(SPACE, &question(&one).unwrap(), number - 1, 0).unwrap();
            assert_eq!(found.page, Some(page(b"kept")));
            // Who knows it is told so, and nobody has it who knows the one before.
            let again = |known| cache.page(SPACE, &question(&one).unwrap(), number - 1, known).unwrap();
            assert_eq!(again(found.number), Numbered { page: None, number: found.number });
            assert_eq!(again(found.number - 1), found);
            let changing = cache.change(vec![change]);
            assert_eq!((known(&one, number - 1), known(&other, number - 1)), (false, true));
            changing.finish(number, true);
            // Not for those who still read what was before, either.
            assert_eq!([known(&one, number), known(&one, number - 1), known(&other, number)], [false, false, true]);
            keep(&one, number - 1);
            assert!(!known(&one, number), "a page of an old state is not kept");
        }
        keep(&one, 9);
        cache.change(vec![Change::Range { space: SPACE, scanned: Scanned::ByStructure, start: b"", end: b"z" }]).finish(10, true);
        assert_eq!((known(&one, 10), known(&other, 10)), (false, false));
    }

    #[test]
    fn each_question_has_its_own_answer_and_only_those_within_a_structure_are_kept() {
        let cache = cache();
        let range = KeyRange::prefix(b"prefix_1");
        let limit = PageLimit::items(10);
        cache.keep_page(SPACE, &Question::new(&range, Direction::Forward, limit).unwrap(), 0, &page(b"kept"));
        let known =
            |space, range: &KeyRange, direction, limit| cache.page(space, &Question::new(range, direction, limit).unwrap(), 0, 0).is_some();
        assert!(known(SPACE, &range, Direction::Forward, limit));
        let behind = KeyRange { after_start: true, ..range.clone() };
        // The same bytes in one row, cut elsewhere.
        let cut = KeyRange { start: [range.start.as_slice(), b"p"].concat(), end: Some(b"refix_2".to_vec()), after_start: false };
        assert!(Question::new(&cut, Direction::Forward, limit).is_none());
        assert!(!known(SPACE, &behind, Direction::Forward, limit));
        assert!(!known(SPACE, &range, Direction::Reverse, limit));
        assert!(!known(SPACE, &range, Direction::Forward, PageLimit::items(11)));
        assert!(!known(SPACE, &range, Direction::Forward, PageLimit { max_bytes: 1, ..limit }));
        assert!(!known(SPACE + 1, &range, Direction::Forward, limit));
        for wide in [KeyRange::all(), KeyRange::prefix(b"prefix_"), KeyRange::between(b"prefix_1", b"prefix_3")] {
            assert!(question(&wide).is_none(), "{wide:?}");
        }
        let large = Page { bytes: vec![0; MAX_PAGE_BYTES].into(), ends: vec![1, 2], more: false };
        cache.keep_page(SPACE, &question(&behind).unwrap(), 0, &large);
        assert!(!known(SPACE, &behind, Direction::Forward, limit));
    }

    #[test]
    fn a_watch_is_told_of_a_commit_before_it_writes_and_no_page_of_it_is_known_until_it_has() {
        let (cache, range) = (cache(), KeyRange::prefix(b"prefix_1"));
        let question = Question::new(&range, Direction::Forward, PageLimit::items(10)).unwrap();
        let watch = cache.watch();
        for (number, change) in [
            (1, record(b"prefix_1a", Some(b"v"))),
            (2, record(b"prefix_1a", None)),
            (3, Change::Range { space: SPACE, scanned: Scanned::ByStructure, start: b"prefix_1", end: b"prefix_1z" }),
            (4, Change::Range { space: SPACE, scanned: Scanned::ByStructure, start: b"", end: b"z" }),
        ] {
            cache.keep_page(SPACE, &question, number - 1, &page(b"kept"));
            assert!(cache.page(SPACE, &question, number - 1, 0).is_some());
            let changing = cache.change(vec![change]);
            assert!(watch.take().places().any(|place| place == Changes::place(b"prefix_1")), "{number}");
            assert!(cache.page(SPACE, &question, u64::MAX, 0).is_none(), "{number}");
            changing.finish(number, true);
            assert!(cache.page(SPACE, &question, number, 0).is_none(), "{number}");
            assert_eq!(watch.take(), Changes::NONE);
        }
        // What belongs to no structure is not told.
        cache.change(vec![Change::Record { space: SPACE, scanned: Scanned::Apart, key: b"prefix_1", value: Some(b"v") }]).finish(5, true);
        assert_eq!(watch.take(), Changes::NONE);
    }

    #[test]
    fn it_stays_within_its_size() {
        let cache = cache();
        for number in 0..100_000_u32 {
            cache.keep(SPACE, &number.to_be_bytes(), 0, Some(&[0; 100]));
        }
        let bytes: usize = cache.shards.iter().map(|shard| shard.read().bytes()).sum();
        assert!(bytes <= 1 << 20, "{bytes}");
        cache.keep(SPACE, b"long", 0, Some(&[0; MAX_VALUE_BYTES + 1]));
        assert_eq!(cache.get(SPACE, b"long", 0, false), None);
    }

    #[test]
    fn records_take_what_residents_leave_and_give_it_back_when_residents_come() {
        let cache = cache();
        let fill = || (0..20_000_u32).for_each(|number| cache.keep(SPACE, &number.to_be_bytes(), 0, Some(&[0; 100])));
        let bytes = || cache.shards.iter().map(|shard| shard.read().bytes()).sum::<usize>();
        let most = (1 << 20) - (1 << 20) / FILTER_SHARE;
        fill();
        assert!((most * 95 / 100..=most).contains(&bytes()), "{}", bytes());
        let structure = |number: u64| (SPACE, number.to_be_bytes());
        for number in 0..2000 {
            let mut whole = ResidentRecords::with_room(0);
            (0..20_u32).for_each(|record| whole.put(&[structure(number).1.as_slice(), &record.to_be_bytes()].concat(), b"value"));
            cache.add_resident(structure(number), whole, 0);
            assert!(bytes() + cache.residents.bytes() <= most, "{} {}", bytes(), cache.residents.bytes());
        }
        assert!(cache.residents.bytes() > (1 << 20) / RESIDENT_SHARE / 2);
        fill();
        assert!(bytes() + cache.residents.bytes() <= most);
        // A range that is no structure's own takes all residents along.
        cache.change(vec![Change::Range { space: SPACE, scanned: Scanned::ByStructure, start: b"", end: b"" }]).finish(1, true);
        assert_eq!(cache.residents.bytes(), 0);
        (0..20_000_u32).for_each(|number| cache.keep(SPACE, &number.to_be_bytes(), 1, Some(&[0; 100])));
        assert!((most * 95 / 100..=most).contains(&bytes()), "{}", bytes());
    }

    #[test]
    fn it_stays_within_its_size_when_records_grow() {
        let cache = cache();
        for number in 0..5000_u32 {
            cache.keep(SPACE, &number.to_be_bytes(), 0, None);
        }
        for number in 0..5000_u32 {
            cache.change(vec![record(&number.to_be_bytes(), Some(&[0; 10_000]))]).finish(1, true);
        }
        let bytes: usize = cache.shards.iter().map(|shard| shard.read().bytes()).sum();
        assert!(bytes <= 1 << 20, "{bytes}");
    }

    #[test]
    fn a_range_without_an_end_takes_everything_behind_it_along() {
        let cache = cache();
        cache.keep(SPACE, b"prefix_2", 0, Some(b"v"));
        cache.change(vec![Change::Range { space: SPACE, scanned: Scanned::ByStructure, start: b"prefix_1", end: b"" }]).finish(1, true);
        assert_eq!(cache.get(SPACE, b"prefix_2", 1, false), None);
    }

    #[test]
    fn what_a_commit_puts_before_it_deletes_a_range_is_not_known_and_what_it_puts_behind_is() {
        let cache = cache();
        cache.keep(SPACE, b"prefix_1a", 0, None);
        cache.keep(SPACE, b"prefix_1b", 0, None);
        let range = Change::Range { space: SPACE, scanned: Scanned::ByStructure, start: b"prefix_1", end: b"prefix_2" };
        cache.change(vec![record(b"prefix_1a", Some(b"v")), range, record(b"prefix_1b", Some(b"w"))]).finish(1, true);
        assert_eq!(cache.get(SPACE, b"prefix_1a", 1, false), None);
        assert_eq!(cache.get(SPACE, b"prefix_1b", 1, false), found(b"w"));
    }
}
