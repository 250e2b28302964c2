//! A bounded table of records and of pages of scans: one part of the cache of records ([`super::record_cache`]).
//!
//! A record that is not in the processor's own caches is waited for three times: for the place of its hash, for its slot, and for its
//! bytes. So a slot is found by its hash alone, and the key is compared when its bytes are there: who asks for many records finds all
//! their slots, then touches all their bytes, and then looks at them. The processor waits for all of a step at once.
//!
//! Where the table is full, a hand goes around it and takes what nobody has asked for since it last came by (CLOCK, with counts up to
//! [`MOST_USES`]).

use super::prefetch;
use hashbrown::HashTable;
use orbweaver_engine::store::{Numbered, Page};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// What a slot takes beside its bytes: itself, its share of places that are free, and what the allocator adds.
pub const OVERHEAD_BYTES: usize = 128;
/// How many rounds of the hand a slot stays that is no longer asked for, at most.
const MOST_USES: u8 = 2;

/// What is asked for: a key of a keyspace, or a question about one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Name<'a> {
    pub space: u32,
    pub bytes: &'a [u8],
}

/// What is known under a name.
pub enum Known<'a> {
    /// There is no such record.
    Absent,
    Value(&'a [u8]),
    Page(Page),
}

impl<'a> From<Option<&'a [u8]>> for Known<'a> {
    fn from(value: Option<&'a [u8]>) -> Self {
        value.map_or(Self::Absent, Self::Value)
    }
}

/// How many bytes a page takes.
pub fn length(page: &Page) -> usize {
    page.bytes.len() + size_of_val(page.ends.as_slice())
}

/// The number of a page, by which others know it: no other page of the process has it. A page with a number is not changed.
pub fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A page that is kept, and its number.
struct KeptPage {
    page: Page,
    number: u64,
}

impl KeptPage {
    fn new(page: Page) -> Box<Self> {
        Box::new(Self { page, number: next_number() })
    }
}

/// What is known under one name.
pub struct Slot {
    hash: u64,
    /// The commit that wrote it, or the last one when it was read.
    pub since: u64,
    /// The name's bytes, and behind them the value.
    bytes: Box<[u8]>,
    page: Option<Box<KeptPage>>,
    space: u32,
    name_length: u32,
    is_absent: bool,
    uses: AtomicU8,
}

impl Slot {
    /// `None` where the name is too long.
    fn new(hash: u64, name: &Name<'_>, known: Known<'_>, since: u64) -> Option<Self> {
        let (value, page, is_absent) = match known {
            Known::Absent => (&[] as &[u8], None, true),
            Known::Value(value) => (value, None, false),
            Known::Page(page) => (&[] as &[u8], Some(KeptPage::new(page)), false),
        };
        let bytes = [name.bytes, value].concat().into_boxed_slice();
        let name_length = u32::try_from(name.bytes.len()).ok()?;
        Some(Self { hash, since, bytes, page, space: name.space, name_length, is_absent, uses: AtomicU8::new(0) })
    }

    fn weight(&self) -> usize {
        let page = self.page.as_ref().map_or(0, |kept| size_of::<KeptPage>() + length(&kept.page));
        self.bytes.len() + page + OVERHEAD_BYTES
    }

    fn parts(&self) -> (&[u8], &[u8]) {
        // It is never longer than the bytes.
        self.bytes.split_at_checked(usize::try_from(self.name_length).unwrap_or(usize::MAX)).unwrap_or_default()
    }

    /// Whether this is what is known under the name: slots are found by hashes.
    pub fn is_of(&self, name: &Name<'_>) -> bool {
        self.space == name.space && self.parts().0 == name.bytes
    }

    /// The record: no value where it is absent. `None` where this is a page.
    pub fn record(&self) -> Option<Option<&[u8]>> {
        self.page.is_none().then(|| (!self.is_absent).then_some(self.parts().1))
    }

    /// The page, if it is one, for who knows the one with that number; 0 of none.
    pub fn page(&self, known: u64) -> Option<Numbered> {
        self.page.as_deref().map(|KeptPage { page, number }| Numbered { page: (*number != known).then(|| page.clone()), number: *number })
    }

    /// Has the processor fetch the bytes.
    pub fn touch(&self) {
        prefetch::touch(&self.bytes);
    }
}

/// The table.
pub struct Records {
    slots: HashTable<Slot>,
    /// Where the hand is.
    hand: usize,
    bytes: usize,
    most_bytes: usize,
}

impl Records {
    /// An empty table, whose slots will take so many bytes at most.
    pub fn new(most_bytes: usize) -> Self {
        Self { slots: HashTable::new(), hand: 0, bytes: 0, most_bytes }
    }

    /// The slot of a hash. Whether it is the name's says [`Slot::is_of`]: not looked at here, because its bytes may have to be waited for.
    pub fn find(&self, hash: u64) -> Option<&Slot> {
        let slot = self.slots.find(hash, |slot| slot.hash == hash)?;
        let uses = slot.uses.load(Ordering::Relaxed);
        if uses < MOST_USES {
            // Another thread's may be lost.
            slot.uses.store(uses + 1, Ordering::Relaxed);
        }
        Some(slot)
    }

    /// Puts what is known in the place of what was known.
    pub fn put(&mut self, hash: u64, name: &Name<'_>, known: Known<'_>, since: u64) {
        self.remove(hash);
        let Some(slot) = Slot::new(hash, name, known, since) else { return };
        let weight = slot.weight();
        if weight > self.most_bytes {
            return;
        }
        self.make_room(weight);
        self.bytes += weight;
        self.slots.insert_unique(hash, slot, |slot| slot.hash);
    }

    /// Puts a new value in the place of an old one. What is not here stays out.
    pub fn replace(&mut self, hash: u64, name: &Name<'_>, value: &[u8], since: u64) {
        let Some(slot) = self.slots.find_mut(hash, |slot| slot.hash == hash) else { return };
        let start = name.bytes.len();
        if !slot.is_of(name) || slot.page.is_some() {
            return;
        }
        if slot.bytes.len() != start + value.len() {
            return self.put(hash, name, Known::Value(value), since);
        }
        if let Some(old) = slot.bytes.get_mut(start..) {
            old.copy_from_slice(value);
            (slot.since, slot.is_absent) = (since, false);
        }
    }

    /// Forgets what is known under a name of that hash.
    pub fn remove(&mut self, hash: u64) {
        if let Ok(slot) = self.slots.find_entry(hash, |slot| slot.hash == hash) {
            self.bytes -= slot.remove().0.weight();
        }
    }

    /// From now on its slots take so many bytes at most.
    pub fn bound(&mut self, most_bytes: usize) {
        self.most_bytes = most_bytes;
        self.make_room(0);
        // Not to the last place: the next slot would have it grow again.
        self.slots.shrink_to(self.slots.len() + self.slots.len() / 16, |slot| slot.hash);
    }

    /// Takes slots away until so many bytes are free.
    fn make_room(&mut self, bytes: usize) {
        while self.bytes + bytes > self.most_bytes && !self.slots.is_empty() {
            self.hand = (self.hand + 1) % self.slots.num_buckets();
            let Ok(mut slot) = self.slots.get_bucket_entry(self.hand) else { continue };
            let uses = slot.get_mut().uses.get_mut();
            if *uses > 0 {
                *uses -= 1;
            } else {
                self.bytes -= slot.remove().0.weight();
            }
        }
    }

    /// How many bytes its slots take.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::hash::BuildHasher;

    fn hash(name: &Name<'_>) -> u64 {
        foldhash::fast::FixedState::default().hash_one(name)
    }

    fn put(records: &mut Records, bytes: &[u8], value: &[u8]) {
        let name = Name { space: 1, bytes };
        records.put(hash(&name), &name, Known::Value(value), 0);
    }

    fn value<'r>(records: &'r Records, bytes: &[u8]) -> Option<&'r [u8]> {
        let name = Name { space: 1, bytes };
        records.find(hash(&name)).filter(|slot| slot.is_of(&name))?.record()?
    }

    #[test]
    fn what_is_asked_for_stays_while_others_come_and_go() {
        let mut records = Records::new(1000 * (OVERHEAD_BYTES + 12));
        let hot: Vec<[u8; 4]> = (0..300_u32).map(u32::to_be_bytes).collect();
        hot.iter().for_each(|key| put(&mut records, key, b"asked_for"));
        for number in 1000..20_000_u32 {
            put(&mut records, &number.to_be_bytes(), b"not_again");
            if number % 100 == 0 {
                hot.iter().for_each(|key| _ = value(&records, key));
            }
        }
        assert_eq!(hot.iter().filter(|key| value(&records, *key).is_some()).count(), 300);
        // And goes when it no longer is.
        (20_000..30_000_u32).for_each(|number| put(&mut records, &number.to_be_bytes(), b"not_again"));
        assert!(hot.iter().filter(|key| value(&records, *key).is_some()).count() < 10);
    }

    #[test]
    fn a_value_is_replaced_where_it_is_and_absence_is_no_empty_value() {
        let mut records = Records::new(1 << 20);
        let name = Name { space: 1, bytes: b"key" };
        let hash = hash(&name);
        records.replace(hash, &name, b"new", 1);
        assert!(records.find(hash).is_none());
        records.put(hash, &name, Known::Absent, 0);
        assert_eq!(records.find(hash).unwrap().record(), Some(None));
        for (new, since) in [(&b""[..], 1), (b"longer", 2), (b"equal_", 3), (b"short", 4)] {
            records.replace(hash, &name, new, since);
            let slot = records.find(hash).unwrap();
            assert_eq!((slot.record(), slot.since), (Some(Some(new)), since));
        }
        records.remove(hash);
        assert!(records.find(hash).is_none());
        assert_eq!(records.bytes(), 0);
    }

    #[test]
    fn names_of_one_hash_are_not_taken_for_each_other() {
        let mut records = Records::new(1 << 20);
        let names = [(1, &b"one"[..]), (2, b"one"), (1, b"two")].map(|(space, bytes)| Name { space, bytes });
        records.put(7, &names[0], Known::Value(b"value"), 0);
        assert_eq!(names.map(|name| records.find(7).unwrap().is_of(&name)), [true, false, false]);
        records.replace(7, &names[1], b"other", 1);
        assert_eq!(records.find(7).unwrap().record(), Some(Some(&b"value"[..])));
        records.put(7, &names[2], Known::Value(b"other"), 1);
        assert_eq!(names.map(|name| records.find(7).unwrap().is_of(&name)), [false, false, true]);
    }

    #[test]
    fn a_lower_bound_takes_away_what_is_beyond_it_at_once_and_a_higher_one_lets_more_in() {
        let mut records = Records::new(1000 * (OVERHEAD_BYTES + 8));
        let fill = |records: &mut Records| (0..2000_u32).for_each(|number| put(records, &number.to_be_bytes(), b"four"));
        for most in [1000, 100, 0, 1500] {
            records.bound(most * (OVERHEAD_BYTES + 8));
            assert!(records.slots.len() <= most, "{most}");
            fill(&mut records);
            assert_eq!(records.slots.len(), most);
        }
    }

    #[test]
    fn what_does_not_fit_at_all_is_not_kept_and_takes_nothing_away() {
        let mut records = Records::new(1000);
        put(&mut records, b"small", b"value");
        put(&mut records, b"large", &[0; 1000]);
        assert_eq!((value(&records, b"small"), value(&records, b"large")), (Some(&b"value"[..]), None));
    }
}
