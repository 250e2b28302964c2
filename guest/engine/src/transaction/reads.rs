//! The records that a transaction has read: none crosses the boundary twice.

use super::expected::Expected;
use super::sorted::Sorted;
use crate::store::Keyspace;
use bytes::Bytes;

/// Most records that are kept one by one; what is read ahead comes on top of them.
const MAX_KEPT: usize = 4096;
/// So many are looked through one after the other: a group of one command reads no more.
const MAX_UNSORTED: usize = 8;

/// A record's place in the store.
type Name = (Keyspace, Bytes);

/// Records as they were read.
#[derive(Debug, Default)]
pub struct Reads {
    records: Vec<(Name, Option<Bytes>)>,
    /// The records by their keys; empty while they are few.
    sorted: Sorted,
    /// What was read ahead, each time in the order in which it will be asked for.
    expected: Vec<Expected>,
}

impl Reads {
    /// What was read; `None` where the record was not.
    pub fn get(&self, keyspace: Keyspace, key: &[u8]) -> Option<Option<&Bytes>> {
        let value_of = |number: usize| {
            let ((of, name), value) = self.records.get(number)?;
            (*of == keyspace && name == key).then_some(value.as_ref())
        };
        if self.sorted.is_empty() {
            return (0..self.records.len()).find_map(value_of);
        }
        if let Some(value) = self.expected.iter().find_map(|expected| expected.find(value_of)) {
            return Some(value);
        }
        let place = self.sorted.place(|number| self.comes_before(number, keyspace, key));
        value_of(self.sorted.get(place)?)
    }

    fn comes_before(&self, number: usize, keyspace: Keyspace, key: &[u8]) -> bool {
        self.records.get(number).is_some_and(|((of, name), _)| (*of, name.as_ref()) < (keyspace, key))
    }

    /// Keeps a record that was not known, unless there are many already.
    pub fn keep(&mut self, record: Name, value: Option<Bytes>) {
        if self.records.len() < MAX_KEPT {
            self.records.push((record, value));
            self.sort();
        }
    }

    /// Keeps records that were not known: `names`, each once and in order, with their values. `expected` are the positions among them of
    /// the records that will be asked for, one after the other.
    pub fn keep_ahead(&mut self, names: Vec<Name>, values: Vec<Option<Bytes>>, mut expected: Vec<usize>) {
        let first = self.records.len();
        expected.iter_mut().for_each(|number| *number += first);
        self.records.extend(names.into_iter().zip(values));
        if first == 0 && self.records.len() > MAX_UNSORTED {
            (0..self.records.len()).for_each(|number| self.sorted.push(number));
        }
        self.sort();
        self.expected.push(Expected::new(expected));
    }

    /// Begins with the first of those that were read ahead again.
    pub fn rewind(&self) {
        self.expected.iter().for_each(Expected::rewind);
    }

    /// Sorts what is not sorted yet.
    fn sort(&mut self) {
        if self.records.len() <= MAX_UNSORTED {
            return;
        }
        for number in self.sorted.len()..self.records.len() {
            let Some(((keyspace, key), _)) = self.records.get(number) else { continue };
            let place = self.sorted.place(|other| self.comes_before(other, *keyspace, key));
            self.sorted.insert(place, number);
        }
    }

    /// Forgets everything, and keeps the room.
    pub fn clear(&mut self) {
        self.records.clear();
        self.sorted.clear();
        self.expected.clear();
    }

    /// For how many records there is room.
    pub fn room(&self) -> usize {
        self.records.capacity()
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
        for count in [1, MAX_UNSORTED + 1, 100] {
            let mut names: Vec<Name> = (0..u32::try_from(count).unwrap()).map(name).collect();
            names.sort_unstable();
            let mut reads = Reads::default();
            reads.keep_ahead(names.clone(), vec![None; count], (0..count).chain(0..count).collect());
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
}
