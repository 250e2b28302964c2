//! Packed collections: their records lie in their heads, and are seen where they would lie otherwise.
//!
//! A transaction knows the packed collections that it has found, and those that it makes, by their versions. Reads and scans of their records
//! are answered from the head. Changes are changes of records, as those of others are, so that they can be taken back; at the end
//! [`Heads::fold`] puts them into the heads, or all records in their own places where they have become too many.

use super::overlay::Overlay;
use crate::packed::{self, Records};
use crate::store::{Direction, KeyRange, Keyspace, Limits, Order, Page, PageBuilder, PageLimit, prefix_end};
use bytes::Bytes;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use std::fmt::Debug;

const ALL: PageLimit = PageLimit { max_items: u32::MAX, max_bytes: u32::MAX };

/// What heads look like.
pub trait HeadForm: Debug + Sync {
    /// The version of the collection whose head this is, which has no records in it; `None` where it is not that of a collection.
    fn version_of(&self, head: &[u8]) -> Option<u64>;

    /// How many bytes of records may lie in such a head, of so many that may lie in any; 0: none may.
    fn most_bytes(&self, head: &[u8], most: usize) -> usize;

    /// The head with records in it.
    fn with_records(&self, head: &[u8], records: &[u8]) -> Bytes;

    /// The head without its records, which begin at this byte.
    fn without_records(&self, head: &[u8], records_at: usize) -> Bytes;

    /// The second record of one, which has this key behind the version.
    fn second_of(&self, version: u64, key: &[u8], value: &[u8]) -> (Bytes, Bytes);
}

/// How a layout packs collections. Its keyspaces are in byte order.
#[derive(Clone, Copy, Debug)]
pub struct Packing {
    /// What heads look like.
    pub form: &'static dyn HeadForm,
    /// Where heads are.
    pub heads: Keyspace,
    /// Where records are that are not packed: each key begins with the version, eight bytes, big-endian.
    pub records: Keyspace,
    /// Where records are that follow from others, of collections that have such.
    pub seconds: Keyspace,
    /// So many bytes of records lie in a head at most; 0: none do in those that are written.
    pub max_bytes: usize,
}

/// A head with records in it, as the store has it.
#[derive(Debug)]
pub struct PackedHead {
    /// Its key.
    pub key: Bytes,
    /// All of it.
    pub value: Bytes,
    /// Where its records begin, which [`packed::check`] has passed.
    pub records_at: usize,
    /// Whether each record has a second one.
    pub has_seconds: bool,
}

impl Packing {
    /// Whether any are packed that are written.
    #[must_use]
    pub const fn packs(&self) -> bool {
        self.max_bytes > 0
    }

    /// What a head may hold in a store.
    #[must_use]
    pub fn room(&self, limits: &Limits) -> Room {
        let room = Room::within(limits);
        Room { bytes: room.bytes.min(self.max_bytes), ..room }
    }
}

impl PackedHead {
    fn records(&self) -> Records<'_> {
        Records::of(self.value.get(self.records_at..).unwrap_or_default())
    }
}

/// What a head may hold.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// So many records at most.
    pub records: usize,
    /// So many bytes of them at most.
    pub bytes: usize,
}

/// So many full heads are in a batch at most, or more that are smaller: groups have fewer commands, and most commands change one collection.
const HEADS_OF_A_BATCH: u64 = 512;
/// Each record of a head that becomes too large is put, maybe a second one, and other heads of the same group may become so.
const RECORDS_OF_A_BATCH: u64 = 32;
/// What a head holds beside records is less than this.
const HEAD_BYTES: u64 = 64;

impl Room {
    /// What a store has room for.
    fn within(limits: &Limits) -> Self {
        let size = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        let bytes = limits.max_value_bytes.saturating_sub(HEAD_BYTES).min(limits.max_batch_bytes / HEADS_OF_A_BATCH);
        Self { records: size(limits.max_batch_ops / RECORDS_OF_A_BATCH), bytes: size(bytes) }
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Heads {
    packing: Option<Packing>,
    /// By version, what the store has of each collection of which all records are known; `None` where the transaction makes it, and the store has
    /// none.
    known: HashMap<u64, Option<PackedHead>, FixedState>,
}

impl Heads {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.known.clear();
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// For how many collections there is room.
    pub fn room(&self) -> usize {
        self.known.capacity()
    }

    /// Adds a collection that was found packed, or is made (`head` is `None`). It is known from then on.
    // Not within each of those who look for heads, as for the others below: most transactions meet no packed collections.
    #[inline(never)]
    pub fn add(&mut self, packing: Packing, version: u64, head: impl FnOnce() -> Option<PackedHead>) {
        self.packing = Some(packing);
        self.known.entry(version).or_insert_with(head);
    }

    /// Whether the collection was found packed.
    pub fn is_packed(&self, version: u64) -> bool {
        self.known.get(&version).is_some_and(Option::is_some)
    }

    /// The collection whose record has this key: its version and head, and whether the record is a second one.
    fn of_key(&self, keyspace: Keyspace, key: &[u8]) -> Option<(u64, Option<&PackedHead>, bool)> {
        let packing = self.packing.as_ref()?;
        let is_second = keyspace == packing.seconds;
        if !is_second && keyspace != packing.records {
            return None;
        }
        let version = version_of(key)?;
        Some((version, self.known.get(&version)?.as_ref(), is_second))
    }

    /// Whether the record belongs to a collection that is known.
    pub fn knows(&self, keyspace: Keyspace, key: &[u8]) -> bool {
        self.of_key(keyspace, key).is_some()
    }

    /// What the store would hold under a key of a collection that is known, were it not packed; `None` of others.
    #[inline(never)]
    pub fn get(&self, keyspace: Keyspace, key: &[u8]) -> Option<Option<Bytes>> {
        let (version, head, is_second) = self.of_key(keyspace, key)?;
        let (Some(head), Some(packing)) = (head, &self.packing) else { return Some(None) };
        if is_second {
            let mut seconds = head.records().map(|(own, value)| packing.form.second_of(version, own, value));
            return Some(seconds.find(|(own, _)| own == key).map(|(_, value)| value));
        }
        let name = key.get(size_of::<u64>()..)?;
        Some(head.records().value_of(name).map(|value| head.value.slice_ref(value)))
    }

    /// What a scan of the store would find in a range within a collection that is known, all of it; `None` of other ranges.
    #[inline(never)]
    pub fn page(&self, keyspace: Keyspace, range: &KeyRange, direction: Direction) -> Option<Page> {
        let (version, head, is_second) = self.of_key(keyspace, &range.start)?;
        let prefix = version.to_be_bytes();
        let is_within = match (&range.end, prefix_end(&prefix)) {
            (_, None) => true,
            (end, Some(all)) => end.as_ref().is_some_and(|end| *end <= all),
        };
        let packing = self.packing.as_ref().filter(|_| is_within)?;
        let mut page = PageBuilder::new(ALL);
        let mut add = |key: &[u8], value: &[u8]| {
            if range.contains(Order::Bytes, key) {
                page.push(key, value);
            }
        };
        let records = head.filter(|head| head.has_seconds || !is_second).map(PackedHead::records).unwrap_or_default();
        if is_second {
            let mut seconds: Vec<(Bytes, Bytes)> = Vec::new();
            for (key, value) in records {
                let second = packing.form.second_of(version, key, value);
                seconds.insert(seconds.partition_point(|before| *before < second), second);
            }
            seconds.iter().for_each(|(key, value)| add(key, value));
        } else {
            let mut key = prefix.to_vec();
            for (name, value) in records {
                key.truncate(prefix.len());
                key.extend_from_slice(name);
                add(&key, value);
            }
        }
        let page = page.finish(false);
        Some(if direction == Direction::Reverse { reversed(&page) } else { page })
    }

    /// Puts the changes of collections that are known into their heads, as far as these have room for them. The log of the overlay is not used any
    /// more.
    #[inline(never)]
    pub fn fold(&self, overlay: &mut Overlay, limits: &Limits) {
        let Some(packing) = self.packing.as_ref() else { return };
        let room = packing.room(limits);
        overlay.lay_down();
        let mut heads = HashMap::<u64, (Bytes, Bytes), FixedState>::default();
        for (_, key, value) in overlay.changes(packing.heads) {
            if let Some(value) = value
                && let Some(version) = packing.form.version_of(value).filter(|version| self.known.contains_key(version))
            {
                heads.insert(version, (key.clone(), value.clone()));
            }
        }
        let [records, seconds] = [packing.records, packing.seconds].map(|keyspace| {
            let own =
                overlay.changes(keyspace).filter(|(_, key, _)| version_of(key).is_some_and(|version| self.known.contains_key(&version)));
            let mut numbers: Vec<usize> = own.map(|(number, ..)| number).collect();
            overlay.entries.sort(&mut numbers);
            numbers
        });
        let mut merged = Vec::with_capacity(room.bytes);
        for (&version, stored) in &self.known {
            let records = of_version(overlay, &records, version);
            let seconds = of_version(overlay, &seconds, version);
            let mut fold = Fold { packing, overlay, version, stored: stored.as_ref(), records, seconds, room, merged: &mut merged };
            match heads.remove(&version) {
                Some((key, head)) => fold.write(key, &head, true),
                None => fold.without_new_head(),
            }
        }
    }
}

/// Those of a collection among records in the order of their keys.
fn of_version<'n>(overlay: &Overlay, numbers: &'n [usize], version: u64) -> &'n [usize] {
    let place = |is_before: &dyn Fn(u64) -> bool| {
        numbers.partition_point(|&number| overlay.entries.name(number).and_then(|(_, key)| version_of(key)).is_some_and(is_before))
    };
    numbers.get(place(&|own| own < version)..place(&|own| own <= version)).unwrap_or_default()
}

/// The changes of one collection, on their way into its head.
struct Fold<'f> {
    packing: &'f Packing,
    overlay: &'f mut Overlay,
    version: u64,
    /// As the store has it; `None` where the transaction makes it.
    stored: Option<&'f PackedHead>,
    /// Its records that have changed, in the order of their keys, and their second ones.
    records: &'f [usize],
    seconds: &'f [usize],
    room: Room,
    /// The records as they are now, packed.
    merged: &'f mut Vec<u8>,
}

impl Fold<'_> {
    fn without_new_head(&mut self) {
        // What has no head after all is left as it is: it is written in several transactions, or was removed, and is garbage.
        let Some(stored) = self.stored else { return };
        if self.overlay.decides(self.packing.heads, &stored.key) {
            // The collection has gone, and with it what nobody else would remove.
            self.leave_changes_out();
        } else if !(self.records.is_empty() && self.seconds.is_empty()) {
            let head = self.packing.form.without_records(&stored.value, stored.records_at);
            self.write(stored.key.clone(), &head, false);
        }
    }

    fn write(&mut self, key: Bytes, head: &Bytes, is_changed: bool) {
        let Packing { form, heads, .. } = *self.packing;
        if self.merge(form.most_bytes(head, self.room.bytes)) {
            self.leave_changes_out();
            self.put(heads, key, form.with_records(head, self.merged));
        } else if self.stored.is_some() {
            self.spread();
            if !is_changed {
                self.put(heads, key, head.clone());
            }
        }
    }

    #[inline(never)]
    fn put(&mut self, keyspace: Keyspace, key: Bytes, value: Bytes) {
        self.overlay.set(keyspace, || Order::Bytes, key, Some(value));
    }

    fn leave_changes_out(&mut self) {
        self.records.iter().chain(self.seconds).for_each(|&number| self.overlay.leave_out(number));
    }

    /// Merges what was in the head and what has changed. False where there are no records, or too many for a head that takes so many bytes.
    fn merge(&mut self, most_bytes: usize) -> bool {
        let records = self.packing.records;
        let version = self.version.to_be_bytes();
        let changed = self.records.iter().filter_map(|&number| {
            let (_, key) = self.overlay.entries.name(number)?;
            Some((key.get(version.len()..)?, self.overlay.value(number)))
        });
        let is_left = |name: &[u8]| !self.overlay.clears(records, || [version.as_slice(), name].concat());
        let before = self.stored.map(PackedHead::records).unwrap_or_default().filter(|(name, _)| is_left(name));
        let (mut changed, mut before) = (changed.peekable(), before.peekable());
        let mut count = 0;
        self.merged.clear();
        loop {
            let next_changed = changed.peek().map(|(name, _)| *name);
            let record = match before.peek() {
                Some((name, _)) if next_changed == Some(name) => {
                    before.next();
                    continue;
                }
                Some((name, _)) if next_changed.is_none_or(|changed| *name < changed) => before.next(),
                _ => match changed.next() {
                    Some((name, value)) => value.map(|value| (name, value.as_ref())),
                    None => break,
                },
            };
            let Some((name, value)) = record else { continue };
            count += 1;
            if !packed::push(self.merged, name, value) || self.merged.len() > most_bytes || count > self.room.records {
                return false;
            }
        }
        count > 0
    }

    /// Puts the records that were in the head where they lie otherwise, unless they are changed.
    fn spread(&mut self) {
        let Some(head) = self.stored else { return };
        let Packing { form, records, seconds, .. } = *self.packing;
        let version = self.version;
        for (name, value) in head.records() {
            let key = [version.to_be_bytes().as_slice(), name].concat();
            if self.overlay.decides(records, &key) {
                continue;
            }
            self.put(records, key.into(), head.value.slice_ref(value));
            if head.has_seconds {
                let (key, value) = form.second_of(version, name, value);
                self.put(seconds, key, value);
            }
        }
    }
}

fn version_of(key: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*key.first_chunk()?))
}

/// The records of a page from the last one to the first.
fn reversed(page: &Page) -> Page {
    let mut reversed = PageBuilder::new(ALL);
    for (key, value) in (0..page.len()).rev().filter_map(|position| page.pieces(position)) {
        reversed.push(key, value);
    }
    reversed.finish(false)
}
