//! What a transaction knows of records: as the store has them, and its own changes, each of which can be taken back.
//!
//! The changes are in a log, in the order in which they came; the record's entry has the number of the one that counts. Records are found
//! by a hash. Only scans and deletions of ranges need those that have changed in the order of their keyspace: they are sorted when the first of these
//! comes.

use super::entries::Entries;
use super::in_hand::InHand;
use super::sorted::{Place, Sorted};
use crate::arena;
use crate::store::{Batch, KeyRange, Keyspace, Order, StoreError};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;

/// A step of the log.
#[derive(Debug)]
enum Change {
    Point(Point),
    /// A range was deleted; these records lay in it, with the changes that counted.
    Cleared(Keyspace, Vec<(usize, usize)>),
}

/// A change of one record.
#[derive(Debug)]
struct Point {
    keyspace: Keyspace,
    /// The number of the record.
    entry: usize,
    /// The record's key, where it is another one than that of its entry: its order takes both for the same.
    key: Option<Bytes>,
    /// `None` where it is deleted.
    value: Option<Bytes>,
    /// The change that counted before.
    before: Option<usize>,
}

/// The changes of a keyspace.
#[derive(Debug)]
struct Layer {
    keyspace: Keyspace,
    order: Order,
    /// How many records have a change that counts.
    changed: usize,
    /// The numbers of records that have been changed, also of those whose change was taken back: in their order, and those that came
    /// after that.
    sorted: Sorted,
    unsorted: Vec<usize>,
    /// What they are sorted by, where it is not their keys, and the other way round: keys that differ may be equal there, and are one record.
    sort_keys: BTreeMap<usize, Vec<u8>>,
    by_sort_key: BTreeMap<Vec<u8>, usize>,
    /// Ranges deleted before the changes were made that now count in them, in the order of deletion.
    cleared: Vec<KeyRange>,
    /// Counts every step, also those that take others back.
    generation: u64,
    /// There has been a step since the layer was cleared.
    was_changed: bool,
    /// The record that was changed last, where it was put; after changes were taken back, it may be an older one. Either holds a put that counts, or
    /// is not used.
    last_put: Option<usize>,
}

impl Layer {
    fn new(keyspace: Keyspace, order: Order) -> Self {
        let (sorted, unsorted, cleared) = (Sorted::default(), Vec::new(), Vec::new());
        let (sort_keys, by_sort_key) = (BTreeMap::new(), BTreeMap::new());
        Self {
            keyspace,
            order,
            changed: 0,
            sorted,
            unsorted,
            sort_keys,
            by_sort_key,
            cleared,
            generation: 0,
            was_changed: false,
            last_put: None,
        }
    }

    /// Notes a step.
    fn change(&mut self) {
        self.generation += 1;
        self.was_changed = true;
    }

    /// Forgets all changes, and keeps the room.
    fn clear(&mut self) {
        self.generation += 1;
        self.was_changed = false;
        self.last_put = None;
        self.changed = 0;
        self.sorted.clear();
        self.unsorted.clear();
        self.sort_keys.clear();
        self.by_sort_key.clear();
        self.cleared.clear();
    }

    /// The number of the record that is to be changed under a key, and the key, where the record has been changed under another one.
    fn number_for(&mut self, entries: &mut Entries, key: Bytes) -> (usize, Option<Bytes>) {
        if self.order == Order::Bytes {
            return (entries.find_or_add(self.keyspace, key), None);
        }
        let sort_key = self.order.sort_key(&key).into_owned();
        if let Some(&number) = self.by_sort_key.get(&sort_key) {
            return (number, Some(key));
        }
        let number = entries.find_or_add(self.keyspace, key);
        self.sort_keys.insert(number, sort_key.clone());
        self.by_sort_key.insert(sort_key, number);
        (number, None)
    }

    /// The number of the record that has been changed under a key, or under one that is equal in the keyspace's order. `found` is that of the
    /// record of this very key.
    fn changed_number(&self, key: &[u8], found: Option<usize>) -> Option<usize> {
        match self.order {
            Order::Bytes => found,
            order => self.by_sort_key.get(&*order.sort_key(key)).copied(),
        }
    }

    fn is_cleared(&self, key: &[u8]) -> bool {
        self.cleared.iter().any(|range| range.contains(self.order, key))
    }

    fn is_empty(&self) -> bool {
        self.changed == 0 && self.cleared.is_empty()
    }

    /// Brings all that has been changed into its order.
    fn sort(&mut self, entries: &Entries) {
        let Self { sorted, unsorted, sort_keys, .. } = self;
        for number in unsorted.drain(..) {
            let own = sort_key(entries, sort_keys, number);
            let place = sorted.place(|other| sort_key(entries, sort_keys, other) < own);
            sorted.insert(place, number);
        }
    }

    /// The places of the records within a range: from its start, or from behind it, to its end.
    fn places(&self, entries: &Entries, range: &KeyRange, after_start: bool) -> Range<Place> {
        let place = |key: &[u8], or_equal: bool| {
            let key = self.order.sort_key(key);
            self.sorted.place(|number| {
                let own = sort_key(entries, &self.sort_keys, number);
                if or_equal { own <= key.as_ref() } else { own < key.as_ref() }
            })
        };
        let from = place(&range.start, after_start);
        let to = match &range.end {
            Some(end) => place(end, false),
            None => self.sorted.place(|_| true),
        };
        from..to.max(from)
    }
}

/// What a record is sorted by.
fn sort_key<'o>(entries: &'o Entries, sort_keys: &'o BTreeMap<usize, Vec<u8>>, number: usize) -> &'o [u8] {
    let own = sort_keys.get(&number).map(Vec::as_slice);
    own.or_else(|| entries.name(number).map(|(_, key)| key.as_ref())).unwrap_or_default()
}

/// See the module.
#[derive(Debug, Default)]
pub struct Overlay {
    pub entries: Entries,
    log: Vec<Change>,
    /// How many steps of the log are not taken back any more.
    settled: usize,
    /// What a record holds instead of its change that counts.
    in_hand: Option<InHand>,
    /// By keyspace. Some may be empty.
    layers: Vec<Layer>,
    /// How many ranges are deleted.
    cleared: usize,
    /// How many records have a change that counts.
    changed: usize,
    bytes: usize,
}

fn point(log: &[Change], number: usize) -> Option<&Point> {
    match log.get(number) {
        Some(Change::Point(point)) => Some(point),
        _ => None,
    }
}

impl Overlay {
    /// Nothing known, see [`Entries::seeded`].
    pub fn seeded(seed: u64) -> Self {
        Self { entries: Entries::seeded(seed), ..Self::default() }
    }

    /// How many steps the log has.
    pub fn steps(&self) -> usize {
        self.log.len()
    }

    /// None of the steps so far is taken back any more.
    pub fn settle(&mut self) {
        self.settled = self.log.len();
    }

    /// As long as it is the same, nothing has been changed or taken back: in a keyspace, or in none of them.
    pub fn generation(&self, keyspace: Option<Keyspace>) -> u64 {
        match keyspace {
            Some(keyspace) => self.layers.iter().find(|layer| layer.keyspace == keyspace).map_or(0, |layer| layer.generation),
            None => self.layers.iter().map(|layer| layer.generation).sum(),
        }
    }

    /// Whether nothing is changed.
    pub fn is_unchanged(&self) -> bool {
        self.changed == 0 && self.cleared == 0
    }

    /// Whether anything is changed in the keyspace.
    pub fn touches(&self, keyspace: Keyspace) -> bool {
        self.layer(keyspace).is_some()
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Most operations that a batch of the changes has.
    pub fn ops(&self) -> usize {
        self.changed + self.cleared
    }

    /// The keyspace's layer, where anything is in it.
    fn layer(&self, keyspace: Keyspace) -> Option<&Layer> {
        self.layers.iter().find(|layer| layer.keyspace == keyspace).filter(|layer| !layer.is_empty())
    }

    /// The keyspace's layer in `layers`; `order` tells that of the keyspace.
    #[inline]
    fn layer_mut(layers: &mut Vec<Layer>, keyspace: Keyspace, order: impl FnOnce() -> Order) -> Option<&mut Layer> {
        let at = layers.iter().position(|layer| layer.keyspace >= keyspace).unwrap_or(layers.len());
        if layers.get(at).is_none_or(|layer| layer.keyspace != keyspace) {
            layers.insert(at, Layer::new(keyspace, order()));
        }
        layers.get_mut(at)
    }

    /// What is known of a record, and its number where it has been met.
    // Not within each of those who look at records: it is large.
    #[inline(never)]
    pub fn known(&mut self, keyspace: Keyspace, key: &[u8]) -> (Option<usize>, Option<Option<&Bytes>>) {
        let number = self.entries.find(keyspace, key);
        if self.in_hand.as_ref().is_some_and(|in_hand| Some(in_hand.number) == number) {
            self.lay_down();
        }
        let Some(layer) = self.layer(keyspace) else { return (number, self.read(number)) };
        let changed = layer.changed_number(key, number).and_then(|number| self.change(number));
        let known = match changed {
            Some(change) => Some(change.value.as_ref()),
            None if layer.is_cleared(key) => Some(None),
            None => self.read(number),
        };
        (number, known)
    }

    /// A record as it was read.
    fn read(&self, number: Option<usize>) -> Option<Option<&Bytes>> {
        self.entries.get(number?)?.read()
    }

    /// The change of a record that counts.
    fn change(&self, number: usize) -> Option<&Point> {
        point(&self.log, self.entries.get(number)?.change?)
    }

    /// The changes of a keyspace that count: the number of each record, its key, and its value, where it is not deleted. Nothing has been put over
    /// another value.
    pub fn changes(&self, keyspace: Keyspace) -> impl Iterator<Item = (usize, &Bytes, Option<&Bytes>)> {
        let numbers = self.layer(keyspace).into_iter().flat_map(|layer| layer.sorted.iter().chain(layer.unsorted.iter().copied()));
        numbers.filter_map(|number| {
            let Point { key, value, .. } = self.change(number)?;
            Some((number, key.as_ref().or(self.entries.name(number).map(|(_, key)| key))?, value.as_ref()))
        })
    }

    /// The value of the change of a record that counts; `None` also where there is none.
    pub fn value(&self, number: usize) -> Option<&Bytes> {
        self.change(number)?.value.as_ref()
    }

    /// Whether the record is in a range that was deleted, if any was.
    pub fn clears(&self, keyspace: Keyspace, key: impl FnOnce() -> Vec<u8>) -> bool {
        self.layer(keyspace).is_some_and(|layer| !layer.cleared.is_empty() && layer.is_cleared(&key()))
    }

    /// Lets the change of a record not be part of a batch: it is what it was before. Nothing is taken back any more.
    pub fn leave_out(&mut self, number: usize) {
        let Some(&(keyspace, _)) = self.entries.name(number) else { return };
        if self.entries.get_mut(number).and_then(|entry| entry.change.take()).is_none() {
            return;
        }
        if let Some(layer) = self.layers.iter_mut().find(|layer| layer.keyspace == keyspace) {
            layer.changed -= 1;
            self.changed -= 1;
        }
    }

    /// Whether the changes decide what `key` holds.
    pub fn decides(&self, keyspace: Keyspace, key: &[u8]) -> bool {
        let Some(layer) = self.layer(keyspace) else { return false };
        let found = if layer.order == Order::Bytes { self.entries.search(keyspace, key) } else { None };
        layer.changed_number(key, found).is_some_and(|number| self.change(number).is_some()) || layer.is_cleared(key)
    }

    pub fn set(&mut self, keyspace: Keyspace, order: impl FnOnce() -> Order, key: Bytes, value: Option<Bytes>) {
        let Self { entries, log, settled, in_hand, layers, bytes, changed, .. } = self;
        let Some(layer) = Self::layer_mut(layers, keyspace, order) else { return };
        layer.change();
        *bytes += key.len() + value.as_ref().map_or(0, Bytes::len);
        let (number, key) = layer.number_for(entries, key);
        let Some(entry) = entries.get_mut(number) else { return };
        let before = entry.change.replace(log.len());
        if !std::mem::replace(&mut entry.is_listed, true) {
            layer.unsorted.push(number);
        }
        layer.last_put = value.is_some().then_some(number);
        in_hand.take_if(|in_hand| in_hand.number == number);
        match before.and_then(|before| point(log, before)) {
            Some(replaced) => {
                *bytes = bytes.saturating_sub(replaced.value.as_ref().map_or(0, Bytes::len));
                // Nothing comes back to the value before one that stays.
                if before < Some(*settled)
                    && let Some(Change::Point(bygone)) = replaced.before.and_then(|bygone| log.get_mut(bygone))
                {
                    bygone.value = None;
                }
            }
            None => {
                layer.changed += 1;
                *changed += 1;
            }
        }
        log.push(Change::Point(Point { keyspace, entry: number, key, value, before }));
    }

    /// The number of the record, if it was the last one of its keyspace that was changed, and was put under this very key in memory.
    #[inline]
    pub fn last_put(&self, keyspace: Keyspace, key: &[u8]) -> Option<usize> {
        let layer = self.layers.iter().find(|layer| layer.keyspace == keyspace && layer.order == Order::Bytes)?;
        let number = layer.last_put.filter(|&number| self.entries.name(number).is_some_and(|(_, name)| std::ptr::eq(&**name, key)))?;
        self.change(number)?.value.as_ref().map(|_| number)
    }

    /// Room for a value of `length` bytes that is put over that of a record of the keyspace, which [`Overlay::last_put`] has told.
    #[inline]
    pub fn put_over(&mut self, keyspace: Keyspace, number: usize, length: usize) -> &mut [u8] {
        if self.in_hand.as_ref().is_some_and(|in_hand| in_hand.number != number) {
            self.lay_down();
        }
        if let Some(layer) = self.layers.iter_mut().find(|layer| layer.keyspace == keyspace) {
            layer.change();
        }
        self.in_hand.get_or_insert_with(|| InHand::of(number)).room(length)
    }

    /// The value that was put over another one, for a savepoint.
    pub fn in_hand(&self) -> Option<InHand> {
        self.in_hand
    }

    /// Makes a change of the value that was put over another one. What the record holds stays what it was: the generation as well.
    #[cold]
    pub fn lay_down(&mut self) {
        let Self { entries, log, bytes, .. } = self;
        let Some(in_hand) = self.in_hand.take() else { return };
        let Some(&(keyspace, _)) = entries.name(in_hand.number) else { return };
        let Some(entry) = entries.get_mut(in_hand.number) else { return };
        let value = arena::join([in_hand.value()]);
        *bytes += value.len();
        let before = entry.change.replace(log.len());
        log.push(Change::Point(Point { keyspace, entry: in_hand.number, key: None, value: Some(value), before }));
    }

    pub fn clear_range(&mut self, keyspace: Keyspace, order: impl FnOnce() -> Order, range: KeyRange) {
        self.lay_down();
        let Self { entries, log, layers, cleared, changed, .. } = self;
        let Some(layer) = Self::layer_mut(layers, keyspace, order) else { return };
        layer.change();
        layer.last_put = None;
        layer.sort(entries);
        // The start of a range is always part of it here, as in a batch.
        let mut inside = Vec::new();
        for number in layer.sorted.range(layer.places(entries, &range, false)) {
            inside.extend(entries.get_mut(number).and_then(|entry| entry.change.take()).map(|change| (number, change)));
        }
        layer.changed -= inside.len();
        *changed -= inside.len();
        layer.cleared.push(range);
        *cleared += 1;
        log.push(Change::Cleared(keyspace, inside));
    }

    /// Takes the last steps back, until the log has no more than `steps`; `in_hand` is what [`Overlay::in_hand`] was then.
    pub fn undo_to(&mut self, steps: usize, in_hand: Option<InHand>) {
        if let Some(InHand { number, .. }) = self.in_hand.take().or(in_hand)
            && let Some((keyspace, _)) = self.entries.name(number)
            && let Some(layer) = self.layers.iter_mut().find(|layer| layer.keyspace == *keyspace)
        {
            layer.change();
        }
        self.in_hand = in_hand;
        let Self { entries, log, layers, cleared, changed, .. } = self;
        while log.len() > steps {
            let Some(change) = log.pop() else { return };
            let (Change::Point(Point { keyspace, .. }) | Change::Cleared(keyspace, _)) = change;
            let Some(layer) = layers.iter_mut().find(|layer| layer.keyspace == keyspace) else { return };
            layer.change();
            match change {
                Change::Point(Point { entry, before, .. }) => {
                    layer.changed -= usize::from(before.is_none());
                    *changed -= usize::from(before.is_none());
                    if let Some(entry) = entries.get_mut(entry) {
                        entry.change = before;
                    }
                }
                Change::Cleared(_, inside) => {
                    layer.cleared.pop();
                    *cleared -= 1;
                    layer.changed += inside.len();
                    *changed += inside.len();
                    for (number, change) in inside {
                        if let Some(entry) = entries.get_mut(number) {
                            entry.change = Some(change);
                        }
                    }
                }
            }
        }
    }

    /// Brings the changes of a keyspace into their order, for [`Overlay::next_set`].
    pub fn sort(&mut self, keyspace: Keyspace) {
        self.lay_down();
        let Self { entries, layers, .. } = self;
        if let Some(layer) = layers.iter_mut().find(|layer| layer.keyspace == keyspace) {
            layer.sort(entries);
        }
    }

    /// The first (or, `reverse`, last) key set within the range, with its value. Deleted keys are passed over. The keyspace has been sorted
    /// since it was changed.
    pub fn next_set(&self, keyspace: Keyspace, range: &KeyRange, reverse: bool) -> Option<(&Bytes, &Bytes)> {
        let mut set = self.changed_within(keyspace, range)?.filter_map(|(key, value)| Some((key, value?)));
        if reverse { set.next_back() } else { set.next() }
    }

    /// As [`Overlay::next_set`], whether the key is set or deleted.
    pub fn next_changed(&self, keyspace: Keyspace, range: &KeyRange, reverse: bool) -> Option<&Bytes> {
        let mut changed = self.changed_within(keyspace, range)?.map(|(key, _)| key);
        if reverse { changed.next_back() } else { changed.next() }
    }

    /// The keys of a range that have been changed, and what is put there.
    fn changed_within(&self, keyspace: Keyspace, range: &KeyRange) -> Option<impl DoubleEndedIterator<Item = (&Bytes, Option<&Bytes>)>> {
        let layer = self.layer(keyspace)?;
        let numbers = layer.sorted.range(layer.places(&self.entries, range, range.after_start));
        Some(numbers.filter_map(|number| {
            let Point { key, value, .. } = self.change(number)?;
            Some((key.as_ref().or(self.entries.name(number).map(|(_, key)| key))?, value.as_ref()))
        }))
    }

    /// Whether ranges of a keyspace have been deleted.
    pub fn clears_ranges(&self, keyspace: Keyspace) -> bool {
        self.layer(keyspace).is_some_and(|layer| !layer.cleared.is_empty())
    }

    /// Adds the changes to a batch: cleared ranges first, then each key once, those of a keyspace in the order of its keys, which is how
    /// stores find their places soonest. What a record was read as is not put again.
    pub fn fill(&mut self, batch: &mut Batch) -> Result<(), StoreError> {
        self.lay_down();
        batch.reserve(self.changed, self.bytes);
        for layer in &self.layers {
            for range in &layer.cleared {
                batch.delete_range(layer.keyspace, range)?;
            }
        }
        for layer in self.layers.iter_mut().filter(|layer| layer.changed > 0) {
            self.entries.sort(&mut layer.unsorted);
            for number in layer.sorted.iter().chain(layer.unsorted.iter().copied()) {
                let Some(entry) = self.entries.get(number) else { continue };
                let change = entry.change.and_then(|change| point(&self.log, change));
                let (Some(Point { key, value, .. }), Some((keyspace, name))) = (change, self.entries.name(number)) else { continue };
                // In other orders the store may have it under another key.
                if layer.order == Order::Bytes && entry.read() == Some(value.as_ref()) && !layer.is_cleared(name) {
                    continue;
                }
                let key = key.as_ref().unwrap_or(name);
                match value {
                    Some(value) => batch.put(*keyspace, key, value)?,
                    // What a range delete of this batch removes anyhow needs no second word.
                    None if layer.is_cleared(key) => {}
                    None => batch.delete(*keyspace, key)?,
                }
            }
        }
        Ok(())
    }

    /// Forgets all records and changes, and keeps the room.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.log.clear();
        self.in_hand = None;
        (self.settled, self.cleared, self.changed, self.bytes) = (0, 0, 0, 0);
        self.layers.iter_mut().filter(|layer| layer.was_changed).for_each(Layer::clear);
    }

    /// For how many records and changes there is room.
    pub fn room(&self) -> usize {
        self.log.capacity().max(self.entries.room())
    }
}
