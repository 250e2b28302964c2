//! The records that a transaction has met, each of them once: by number, found by its name.

use super::expected::Expected;
use crate::store::Keyspace;
use bytes::Bytes;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry as Slot;
use std::hash::{BuildHasher, Hasher};

/// Most records that are kept because they were read one by one; what is read ahead and what is changed comes on top of them.
const MAX_KEPT: usize = 4096;
/// So many are looked through one after the other: a group of one command meets no more.
const MAX_UNINDEXED: usize = 8;

/// A record's place in the store.
type Name = (Keyspace, Bytes);

/// What is known of a record. Small: each record that is read has one.
#[derive(Debug, Default)]
pub struct Entry {
    /// Its value as the store has it, where it was read.
    value: Option<Bytes>,
    is_read: bool,
    /// Its keyspace has it among those that have changed.
    pub is_listed: bool,
    /// The number of the change that counts.
    pub change: Option<usize>,
}

impl Entry {
    /// As it was read; `None` where it was not.
    #[inline]
    pub fn read(&self) -> Option<Option<&Bytes>> {
        self.is_read.then_some(self.value.as_ref())
    }

    fn keep(&mut self, value: Option<Bytes>) {
        (self.value, self.is_read) = (value, true);
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Entries {
    names: Vec<Name>,
    /// One for each name.
    list: Vec<Entry>,
    /// The records by their names; empty while they are few.
    index: HashTable<usize>,
    /// What hashes depend on.
    state: FixedState,
    /// What was read ahead, each time in the order in which it will be asked for.
    expected: Vec<Expected>,
    /// How many were kept because they were read one by one.
    kept: usize,
}

#[inline]
fn hash(state: &FixedState, keyspace: Keyspace, key: &[u8]) -> u64 {
    let mut hasher = state.build_hasher();
    hasher.write_u32(keyspace.0);
    hasher.write(key);
    hasher.finish()
}

fn hash_of(state: &FixedState, names: &[Name], number: usize) -> u64 {
    names.get(number).map_or(0, |(keyspace, key)| hash(state, *keyspace, key))
}

#[inline]
fn is(names: &[Name], number: usize, keyspace: Keyspace, key: &[u8]) -> bool {
    names.get(number).is_some_and(|(of, name)| *of == keyspace && name == key)
}

impl Entries {
    /// None. Names that share a hash make a transaction slow, so clients are not to know the seed.
    pub fn seeded(seed: u64) -> Self {
        Self { state: FixedState::with_seed(seed), ..Self::default() }
    }

    /// The name of a record.
    pub fn name(&self, number: usize) -> Option<&Name> {
        self.names.get(number)
    }

    /// Brings records into the order of their keyspaces, and of the bytes of their keys.
    #[inline(never)]
    pub fn sort(&self, numbers: &mut [usize]) {
        numbers.sort_unstable_by(|one, other| self.name(*one).cmp(&self.name(*other)));
    }

    /// What is known of a record.
    pub fn get(&self, number: usize) -> Option<&Entry> {
        self.list.get(number)
    }

    /// As [`Entries::get`].
    pub fn get_mut(&mut self, number: usize) -> Option<&mut Entry> {
        self.list.get_mut(number)
    }

    /// The number of a record that has been met.
    pub fn search(&self, keyspace: Keyspace, key: &[u8]) -> Option<usize> {
        let is_it = |number: &usize| is(&self.names, *number, keyspace, key);
        if self.index.is_empty() {
            return (0..self.names.len()).find(is_it);
        }
        self.index.find(hash(&self.state, keyspace, key), is_it).copied()
    }

    /// As [`Entries::search`], of a record that may be the next one of those that were read ahead.
    #[inline]
    pub fn find(&self, keyspace: Keyspace, key: &[u8]) -> Option<usize> {
        self.find_expected(keyspace, key).or_else(|| self.search(keyspace, key))
    }

    #[inline]
    fn find_expected(&self, keyspace: Keyspace, key: &[u8]) -> Option<usize> {
        for expected in &self.expected {
            if let Some(number) = expected.find(|number| is(&self.names, number, keyspace, key)) {
                return Some(number);
            }
        }
        None
    }

    /// The number of a record, a new one where it has not been met.
    #[inline]
    pub fn find_or_add(&mut self, keyspace: Keyspace, key: Bytes) -> usize {
        self.find_expected(keyspace, &key).unwrap_or_else(|| self.number_or_push((keyspace, key)))
    }

    fn push(&mut self, name: Name) -> usize {
        self.names.push(name);
        self.list.push(Entry::default());
        self.list.len() - 1
    }

    fn complete_index(&mut self) {
        let Self { names, index, state, .. } = self;
        for number in index.len()..names.len() {
            index.insert_unique(hash_of(state, names, number), number, |number| hash_of(state, names, *number));
        }
    }

    /// Keeps what was read of a record, unless much is kept already. `number` is its number, where it has been met.
    pub fn keep(&mut self, number: Option<usize>, keyspace: Keyspace, key: Bytes, value: Option<Bytes>) {
        if self.kept >= MAX_KEPT {
            return;
        }
        self.kept += 1;
        let number = number.unwrap_or_else(|| self.number_or_push((keyspace, key)));
        if let Some(entry) = self.list.get_mut(number) {
            entry.keep(value);
        }
    }

    /// Keeps what `read` gives for those of the records that have not been met, each of them once. They will all be asked for, one after
    /// the other.
    ///
    /// # Errors
    /// Those of `read`, which gives a value for each record.
    pub fn keep_ahead<V: IntoIterator<Item = Option<Bytes>>, E>(
        &mut self,
        records: Vec<Name>,
        read: impl FnOnce(&[Name]) -> Result<V, E>,
    ) -> Result<(), E> {
        let first = self.list.len();
        self.names.reserve(records.len());
        self.list.reserve(records.len());
        let mut expected = Vec::with_capacity(records.len());
        for record in records {
            expected.push(self.number_or_push(record));
        }
        if let Some(unknown) = self.names.get(first..).filter(|unknown| !unknown.is_empty()) {
            for (entry, value) in self.list.iter_mut().skip(first).zip(read(unknown)?) {
                entry.keep(value);
            }
        }
        self.expected.push(Expected::new(expected));
        Ok(())
    }

    fn number_or_push(&mut self, record: Name) -> usize {
        // Commands on one key ask for the same, one after the other.
        let last = self.names.len().wrapping_sub(1);
        if is(&self.names, last, record.0, &record.1) {
            return last;
        }
        if self.names.len() < MAX_UNINDEXED {
            return self.search(record.0, &record.1).unwrap_or_else(|| self.push(record));
        }
        self.complete_index();
        let Self { names, index, state, .. } = self;
        let is_it = |number: &usize| is(names, *number, record.0, &record.1);
        match index.entry(hash(state, record.0, &record.1), is_it, |number| hash_of(state, names, *number)) {
            Slot::Occupied(known) => *known.get(),
            Slot::Vacant(slot) => {
                slot.insert(names.len());
                self.push(record)
            }
        }
    }

    /// Begins with the first of those that were read ahead again.
    pub fn rewind(&self) {
        self.expected.iter().for_each(Expected::rewind);
    }

    /// Forgets everything, and keeps the room.
    pub fn clear(&mut self) {
        self.names.clear();
        self.list.clear();
        self.index.clear();
        self.expected.clear();
        self.kept = 0;
    }

    /// For how many records there is room.
    pub fn room(&self) -> usize {
        self.list.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: u32) -> Name {
        (Keyspace(number % 3), number.to_string().into())
    }

    fn read(entries: &Entries, (keyspace, key): &Name) -> Option<Option<Bytes>> {
        entries.get(entries.find(*keyspace, key)?)?.read().map(Option::<&Bytes>::cloned)
    }

    #[test]
    fn records_are_found_however_many_there_are() {
        let mut entries = Entries::default();
        let value = |number: u32| number.is_multiple_of(2).then(|| Bytes::from_static(b"even"));
        for number in (0..1000).rev() {
            let (keyspace, key) = name(number);
            assert_eq!(entries.find(keyspace, &key), None);
            entries.keep(None, keyspace, key, value(number));
        }
        for number in 0..1000 {
            assert_eq!(read(&entries, &name(number)), Some(value(number)));
            assert_eq!(entries.find(Keyspace(3), &name(number).1), None);
        }
    }

    #[test]
    fn records_that_were_read_ahead_are_found_in_any_order() {
        for count in [1, MAX_UNINDEXED + 1, 100] {
            let names: Vec<Name> = (0..u32::try_from(count).unwrap()).map(name).collect();
            let mut entries = Entries::default();
            let twice = names.iter().chain(&names).cloned().collect();
            let asked = |asked: &[Name]| {
                assert_eq!(asked, names);
                Ok::<_, ()>(vec![None; count])
            };
            entries.keep_ahead(twice, asked).unwrap();
            for turn in [0, 1, 2] {
                let asked: Vec<&Name> = if turn == 1 { names.iter().rev().collect() } else { names.iter().collect() };
                for name in asked {
                    assert_eq!((read(&entries, name), read(&entries, name)), (Some(None), Some(None)));
                }
                assert_eq!(entries.find(Keyspace(0), b"other"), None);
            }
            entries.rewind();
            assert_eq!(read(&entries, &names[0]), Some(None));
        }
    }

    #[test]
    fn what_is_known_is_not_read_ahead_and_what_could_not_be_read_is_not_known() {
        for count in [2, 2 * u32::try_from(MAX_UNINDEXED).unwrap()] {
            let mut entries = Entries::default();
            (0..count).map(name).for_each(|(keyspace, key)| entries.keep(None, keyspace, key, Some(Bytes::from_static(b"before"))));
            let names = |range: std::ops::Range<u32>| range.map(name).collect::<Vec<Name>>();
            entries.keep_ahead(names(0..count), |_| Err::<Vec<_>, _>("nothing is to be read")).unwrap();
            entries.keep_ahead(names(0..2 * count), |asked| Ok::<_, ()>(vec![None; asked.len()])).unwrap();
            let known = |entries: &Entries, number| read(entries, &name(number)).map(|value| value.is_some());
            assert_eq!([0, count, 2 * count].map(|number| known(&entries, number)), [Some(true), Some(false), None]);
            assert_eq!(entries.keep_ahead(names(0..3 * count), |asked| Err::<Vec<_>, _>(asked.len())), Err(count as usize));
            assert_eq!([0, count, 2 * count].map(|number| known(&entries, number)), [Some(true), Some(false), None]);
            // It can be read, and kept, later.
            let (keyspace, key) = name(2 * count);
            entries.keep(entries.find(keyspace, &key), keyspace, key, None);
            assert_eq!(known(&entries, 2 * count), Some(false));
        }
    }
}
