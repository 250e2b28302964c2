//! The records that a transaction has read: none crosses the boundary twice.

use super::expected::Expected;
use crate::store::Keyspace;
use bytes::Bytes;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher;

/// Most records that are kept one by one; what is read ahead comes on top of them.
const MAX_KEPT: usize = 4096;
/// So many are looked through one after the other: a group of one command reads no more.
const MAX_UNINDEXED: usize = 8;

/// A record's place in the store.
type Name = (Keyspace, Bytes);

/// Records as they were read.
#[derive(Debug, Default)]
pub struct Reads {
    names: Vec<Name>,
    values: Vec<Option<Bytes>>,
    /// The records by their names; empty while they are few.
    index: HashTable<usize>,
    /// What was read ahead, each time in the order in which it will be asked for.
    expected: Vec<Expected>,
}

/// Those who choose names that share a hash make a transaction slow, not wrong, and no slower than its few thousand records allow.
fn hash(keyspace: Keyspace, key: &[u8]) -> u64 {
    FixedState::with_seed(u64::from(keyspace.0)).hash_one(key)
}

fn hash_of(names: &[Name], number: usize) -> u64 {
    names.get(number).map_or(0, |(keyspace, key)| hash(*keyspace, key))
}

fn is_of((of, name): &Name, keyspace: Keyspace, key: &[u8]) -> bool {
    *of == keyspace && name == key
}

impl Reads {
    /// What was read; `None` where the record was not.
    pub fn get(&self, keyspace: Keyspace, key: &[u8]) -> Option<Option<&Bytes>> {
        let value_of = |number: usize| {
            let name = self.names.get(number)?;
            is_of(name, keyspace, key).then(|| self.values.get(number).map(Option::as_ref)).flatten()
        };
        let expected = self.expected.iter().find_map(|expected| expected.find(value_of));
        expected.or_else(|| self.values.get(self.number(keyspace, key)?).map(Option::as_ref))
    }

    /// The number of a record.
    fn number(&self, keyspace: Keyspace, key: &[u8]) -> Option<usize> {
        let is_number = |number: &usize| self.names.get(*number).is_some_and(|name| is_of(name, keyspace, key));
        if self.index.is_empty() {
            return (0..self.names.len()).find(is_number);
        }
        self.index.find(hash(keyspace, key), is_number).copied()
    }

    /// Keeps a record that was not known, unless there are many already.
    pub fn keep(&mut self, record: Name, value: Option<Bytes>) {
        if self.names.len() < MAX_KEPT {
            self.add(record);
            self.values.push(value);
        }
    }

    fn add(&mut self, record: Name) {
        self.names.push(record);
        if self.names.len() > MAX_UNINDEXED {
            self.complete_index();
        }
    }

    fn complete_index(&mut self) {
        let Self { names, index, .. } = self;
        let hash = |number: &usize| hash_of(names, *number);
        for number in index.len()..names.len() {
            index.insert_unique(hash(&number), number, hash);
        }
    }

    /// The number of a record, a new one where it has none.
    fn number_or_add(&mut self, record: Name) -> usize {
        if self.names.len() < MAX_UNINDEXED {
            let known = self.number(record.0, &record.1);
            return known.unwrap_or_else(|| {
                self.add(record);
                self.names.len() - 1
            });
        }
        self.complete_index();
        let Self { names, index, .. } = self;
        let (of, name) = &record;
        let is_number = |number: &usize| names.get(*number).is_some_and(|other| is_of(other, *of, name));
        match index.entry(hash(*of, name), is_number, |number| hash_of(names, *number)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                place.insert(names.len());
                names.push(record);
                names.len() - 1
            }
        }
    }

    /// Keeps what `read` gives for those of the records that are not known, each of them once. They will all be asked for, one after the
    /// other. After an error nothing is known any more.
    ///
    /// # Errors
    /// Those of `read`, which gives a value for each record.
    pub fn keep_ahead<E>(&mut self, records: Vec<Name>, read: impl FnOnce(&[Name]) -> Result<Vec<Option<Bytes>>, E>) -> Result<(), E> {
        let first = self.names.len();
        self.names.reserve(records.len());
        let mut expected = Vec::with_capacity(records.len());
        for record in records {
            expected.push(self.number_or_add(record));
        }
        if let Some(unknown) = self.names.get(first..).filter(|unknown| !unknown.is_empty()) {
            match read(unknown) {
                Ok(values) => self.values.extend(values),
                Err(error) => {
                    self.clear();
                    return Err(error);
                }
            }
        }
        self.expected.push(Expected::new(expected));
        Ok(())
    }

    /// Begins with the first of those that were read ahead again.
    pub fn rewind(&self) {
        self.expected.iter().for_each(Expected::rewind);
    }

    /// Forgets everything, and keeps the room.
    pub fn clear(&mut self) {
        self.names.clear();
        self.values.clear();
        self.index.clear();
        self.expected.clear();
    }

    /// For how many records there is room.
    pub fn room(&self) -> usize {
        self.names.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: u32) -> Name {
        (Keyspace(number % 3), number.to_string().into())
    }

    #[test]
    fn records_are_found_however_many_there_are() {
        let mut reads = Reads::default();
        let value = |number: u32| number.is_multiple_of(2).then(|| Bytes::from_static(b"even"));
        for number in (0..1000).rev() {
            assert_eq!(reads.get(name(number).0, &name(number).1), None);
            reads.keep(name(number), value(number));
        }
        for number in 0..1000 {
            assert_eq!(reads.get(name(number).0, &name(number).1), Some(value(number).as_ref()));
            assert_eq!(reads.get(Keyspace(3), &name(number).1), None);
        }
    }

    #[test]
    fn records_that_were_read_ahead_are_found_in_any_order() {
        for count in [1, MAX_UNINDEXED + 1, 100] {
            let names: Vec<Name> = (0..u32::try_from(count).unwrap()).map(name).collect();
            let mut reads = Reads::default();
            let twice = names.iter().chain(&names).cloned().collect();
            let read = |asked: &[Name]| {
                assert_eq!(asked, names);
                Ok::<_, ()>(vec![None; count])
            };
            reads.keep_ahead(twice, read).unwrap();
            for turn in [0, 1, 2] {
                let asked: Vec<&Name> = if turn == 1 { names.iter().rev().collect() } else { names.iter().collect() };
                for (keyspace, key) in asked {
                    assert_eq!((reads.get(*keyspace, key), reads.get(*keyspace, key)), (Some(None), Some(None)));
                }
                assert_eq!(reads.get(Keyspace(0), b"other"), None);
            }
            reads.rewind();
            assert_eq!(reads.get(names[0].0, &names[0].1), Some(None));
        }
    }

    #[test]
    fn what_is_known_is_not_read_ahead_and_what_could_not_be_read_is_not_known() {
        for count in [2, 2 * u32::try_from(MAX_UNINDEXED).unwrap()] {
            let mut reads = Reads::default();
            (0..count).for_each(|number| reads.keep(name(number), Some(Bytes::from_static(b"before"))));
            let names = |range: std::ops::Range<u32>| range.map(name).collect::<Vec<Name>>();
            reads.keep_ahead(names(0..count), |_| Err("nothing is to be read")).unwrap();
            reads.keep_ahead(names(0..2 * count), |asked| Ok::<_, ()>(vec![None; asked.len()])).unwrap();
            let known = |reads: &Reads, number| reads.get(name(number).0, &name(number).1).map(|value| value.is_some());
            assert_eq!([0, count, 2 * count].map(|number| known(&reads, number)), [Some(true), Some(false), None]);
            assert_eq!(reads.keep_ahead(names(0..3 * count), |asked| Err(asked.len())), Err(count as usize));
            assert_eq!([0, count, 2 * count].map(|number| known(&reads, number)), [None; 3]);
        }
    }
}
