//! The records that a transaction has read: none crosses the boundary twice.

use super::sorted::Sorted;
use crate::store::Keyspace;
use bytes::Bytes;

/// Most records that are kept one by one; what is read ahead comes on top of them.
const MAX_KEPT: usize = 4096;
/// So many are looked through one after the other: a group of one command reads no more.
const MAX_UNSORTED: usize = 8;

/// Records as they were read.
#[derive(Debug, Default)]
pub struct Reads {
    records: Vec<((Keyspace, Bytes), Option<Bytes>)>,
    /// The records by their keys; empty while they are few.
    sorted: Sorted,
}

impl Reads {
    /// What was read; `None` where the record was not.
    pub fn get(&self, keyspace: Keyspace, key: &[u8]) -> Option<&Option<Bytes>> {
        if self.sorted.is_empty() {
            let mut all = self.records.iter();
            return all.find(|((of, name), _)| *of == keyspace && name == key).map(|(_, value)| value);
        }
        let place = self.sorted.place(|number| self.comes_before(number, keyspace, key));
        let ((of, name), value) = self.records.get(self.sorted.get(place)?)?;
        (*of == keyspace && name == key).then_some(value)
    }

    fn comes_before(&self, number: usize, keyspace: Keyspace, key: &[u8]) -> bool {
        self.records.get(number).is_some_and(|((of, name), _)| (*of, name.as_ref()) < (keyspace, key))
    }

    /// Keeps a record that was not known, unless there are many already.
    pub fn keep(&mut self, record: (Keyspace, Bytes), value: Option<Bytes>) {
        if self.records.len() < MAX_KEPT {
            self.add(record, value);
        }
    }

    /// As [`Reads::keep`], however many there are.
    pub fn add(&mut self, record: (Keyspace, Bytes), value: Option<Bytes>) {
        self.records.push((record, value));
        if self.records.len() > MAX_UNSORTED {
            (self.sorted.len()..self.records.len()).for_each(|number| self.sort(number));
        }
    }

    fn sort(&mut self, number: usize) {
        if let Some(((keyspace, key), _)) = self.records.get(number) {
            let place = self.sorted.place(|other| self.comes_before(other, *keyspace, key));
            self.sorted.insert(place, number);
        }
    }

    /// Forgets everything, and keeps the room.
    pub fn clear(&mut self) {
        self.records.clear();
        self.sorted.clear();
    }

    /// For how many records there is room.
    pub fn room(&self) -> usize {
        self.records.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_found_however_many_there_are() {
        let mut reads = Reads::default();
        for number in (0..1000_u32).rev() {
            let key = Bytes::from(number.to_string());
            assert_eq!(reads.get(Keyspace(number % 3), &key), None);
            reads.keep((Keyspace(number % 3), key), (number % 2 == 0).then(|| Bytes::from_static(b"even")));
        }
        for number in 0..1000_u32 {
            let value = (number % 2 == 0).then(|| Bytes::from_static(b"even"));
            assert_eq!(reads.get(Keyspace(number % 3), number.to_string().as_bytes()), Some(&value));
            assert_eq!(reads.get(Keyspace(3), number.to_string().as_bytes()), None);
        }
    }
}
