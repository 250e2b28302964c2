//! The records of a resident, in their order: few lie in one piece of memory, where a page is one pass over neighbours and a change moves
//! some hundred bytes; many are in a tree.

use super::question::Asked;
use orbweaver_engine::store::{Direction, Page, PageBuilder};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::ops::{Bound, Range};

/// What a resident takes beside its records.
const RESIDENT_BYTES: usize = 160;
/// What a record takes in a tree, beside its key and value: its place, and two allocations.
const TREE_BYTES: usize = 80;
/// In one piece lie at most so many records, and bytes.
const MOST_IN_A_PIECE: (usize, usize) = (64, 8 << 10);
/// The lengths of a key and a value, of two bytes each, in front of them.
const LENGTHS_BYTES: usize = 4;

/// The records of one structure.
pub enum ResidentRecords {
    /// Key behind key, each with its value behind it.
    Few {
        /// Lengths, key, value; and the next.
        bytes: Vec<u8>,
        /// How many records.
        count: usize,
    },
    /// In a tree.
    Many {
        /// By key.
        records: BTreeMap<Box<[u8]>, Box<[u8]>>,
        /// The weight of all.
        bytes: usize,
    },
}

/// A record, and where it lies with its lengths.
struct Lying<'r> {
    at: Range<usize>,
    key: &'r [u8],
    value: &'r [u8],
}

/// The records that lie in one piece, in their order.
struct Piece<'r> {
    bytes: &'r [u8],
    position: usize,
}

impl<'r> Iterator for Piece<'r> {
    type Item = Lying<'r>;

    fn next(&mut self) -> Option<Lying<'r>> {
        let (lengths, records) = self.bytes.get(self.position..)?.split_first_chunk::<LENGTHS_BYTES>()?;
        let [k0, k1, v0, v1] = *lengths;
        let (key, records) = records.split_at_checked(usize::from(u16::from_le_bytes([k0, k1])))?;
        let value = records.get(..usize::from(u16::from_le_bytes([v0, v1])))?;
        let start = self.position;
        self.position += LENGTHS_BYTES + key.len() + value.len();
        Some(Lying { at: start..self.position, key, value })
    }
}

impl ResidentRecords {
    /// None, with room for so many bytes of records and their lengths.
    pub fn with_room(bytes: usize) -> Self {
        Self::Few { bytes: Vec::with_capacity(bytes), count: 0 }
    }

    /// The records of a page.
    pub fn of(page: &Page) -> Self {
        let mut records = Self::with_room((page.bytes.len() + page.len() * LENGTHS_BYTES).min(MOST_IN_A_PIECE.1));
        page.pieces_from(0).for_each(|(key, value)| records.put(key, value));
        records
    }

    /// Whether a page of them is made as fast as one that was kept is found.
    pub fn are_few(&self) -> bool {
        matches!(self, Self::Few { .. })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        match self {
            Self::Few { count, .. } => *count,
            Self::Many { records, .. } => records.len(),
        }
    }

    /// What they take of memory.
    pub fn weight(&self) -> usize {
        RESIDENT_BYTES
            + match self {
                Self::Few { bytes, .. } => bytes.capacity(),
                Self::Many { bytes, .. } => *bytes,
            }
    }

    /// The value of a record.
    pub fn get(&self, key: &[u8]) -> Option<&[u8]> {
        match self {
            Self::Few { bytes, .. } => at_or_behind(bytes, key).filter(|lying| lying.key == key).map(|lying| lying.value),
            Self::Many { records, .. } => records.get(key).map(|value| &**value),
        }
    }

    /// A record has this value from now on.
    pub fn put(&mut self, key: &[u8], value: &[u8]) {
        match self {
            Self::Few { bytes, count } => {
                let place = place(bytes, key);
                let added = LENGTHS_BYTES + key.len() + value.len();
                let (most_records, most_bytes) = MOST_IN_A_PIECE;
                let added_records = usize::from(place.is_empty());
                if *count + added_records <= most_records && bytes.len() - place.len() + added <= most_bytes {
                    *count += added_records;
                    put_in_a_piece(bytes, place, key, value);
                } else {
                    let many = Piece { bytes, position: 0 }.map(|Lying { key, value, .. }| (key.into(), value.into()));
                    let records: BTreeMap<Box<[u8]>, Box<[u8]>> = many.collect();
                    let weight = records.iter().map(|(key, value)| tree_weight(key, value)).sum();
                    *self = Self::Many { records, bytes: weight };
                    self.put(key, value);
                }
            }
            Self::Many { records, bytes } => {
                if let Some(old) = records.get_mut(key) {
                    *bytes = *bytes - old.len() + value.len();
                    if old.len() == value.len() {
                        old.copy_from_slice(value);
                    } else {
                        *old = value.into();
                    }
                    return;
                }
                *bytes += tree_weight(key, value);
                records.insert(key.into(), value.into());
            }
        }
    }

    /// A record is not there any more.
    pub fn delete(&mut self, key: &[u8]) {
        match self {
            Self::Few { bytes, count } => {
                let place = place(bytes, key);
                *count -= usize::from(!place.is_empty());
                bytes.drain(place);
            }
            Self::Many { records, bytes } => {
                if let Some((key, value)) = records.remove_entry(key) {
                    *bytes -= tree_weight(&key, &value);
                }
            }
        }
    }

    /// A page of a range of them.
    pub fn page(&self, asked: Asked<'_>) -> Page {
        let Asked { range, direction, limit } = asked;
        if range.end.as_deref().is_some_and(|end| end <= range.start.as_slice()) {
            return PageBuilder::new(limit).finish(false);
        }
        match self {
            Self::Few { bytes, count } => {
                // Most questions are for all of them, or for one.
                let (most, room) = if limit.max_items == 1 { (1, 0) } else { (*count, bytes.len()) };
                let page = PageBuilder::with_room(limit, most, room);
                let is_before = |key: &[u8]| if range.after_start { key <= range.start.as_slice() } else { key < range.start.as_slice() };
                let records = Piece { bytes, position: 0 }.map(|Lying { key, value, .. }| (key, value));
                let records = records.skip_while(|(key, _)| is_before(key));
                let records = records.take_while(|(key, _)| range.end.as_deref().is_none_or(|end| *key < end));
                match direction {
                    Direction::Forward => fill(page, records),
                    Direction::Reverse => {
                        let records: SmallVec<[(&[u8], &[u8]); MOST_IN_A_PIECE.0]> = records.collect();
                        fill(page, records.into_iter().rev())
                    }
                }
            }
            Self::Many { records, .. } => {
                let start = range.start.as_slice();
                let start = if range.after_start { Bound::Excluded(start) } else { Bound::Included(start) };
                let end = range.end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
                let records = records.range::<[u8], _>((start, end)).map(|(key, value)| (&**key, &**value));
                let page = PageBuilder::new(limit);
                match direction {
                    Direction::Forward => fill(page, records),
                    Direction::Reverse => fill(page, records.rev()),
                }
            }
        }
    }
}

/// The record of a key, or the first one behind it.
fn at_or_behind<'r>(bytes: &'r [u8], key: &[u8]) -> Option<Lying<'r>> {
    Piece { bytes, position: 0 }.find(|lying| lying.key >= key)
}

/// Where a record lies in a piece; where it would, and nothing lies, if it is not there.
fn place(bytes: &[u8], key: &[u8]) -> Range<usize> {
    match at_or_behind(bytes, key) {
        Some(lying) if lying.key == key => lying.at,
        Some(Lying { at, .. }) => at.start..at.start,
        None => bytes.len()..bytes.len(),
    }
}

/// Puts a record, whose lengths are below those of a piece, in the place of the one that it replaces.
fn put_in_a_piece(bytes: &mut Vec<u8>, place: Range<usize>, key: &[u8], value: &[u8]) {
    let length = |bytes: &[u8]| u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_le_bytes();
    let lengths = [length(key), length(value)];
    let added = LENGTHS_BYTES + key.len() + value.len();
    let (start, tail) = (place.start, bytes.len() - place.end);
    let moved = start + added;
    if moved + tail > bytes.len() {
        bytes.resize(moved + tail, 0);
    }
    bytes.copy_within(place.end..place.end + tail, moved);
    bytes.truncate(moved + tail);
    let parts: [&[u8]; 3] = [lengths.as_flattened(), key, value];
    let mut at = start;
    for part in parts {
        if let Some(room) = bytes.get_mut(at..at + part.len()) {
            room.copy_from_slice(part);
        }
        at += part.len();
    }
}

fn tree_weight(key: &[u8], value: &[u8]) -> usize {
    key.len() + value.len() + TREE_BYTES
}

fn fill<'r>(mut page: PageBuilder, records: impl Iterator<Item = (&'r [u8], &'r [u8])>) -> Page {
    for (key, value) in records {
        if page.is_full() || !page.push(key, value) {
            return page.finish(true);
        }
    }
    page.finish(false)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use orbweaver_engine::store::{KeyRange, PageLimit};

    fn key(number: u64) -> Vec<u8> {
        // Keys of several lengths, the order of which is not that of the numbers.
        number.to_string().into_bytes()
    }

    #[test]
    fn few_and_many_are_what_a_map_holds_that_is_changed_likewise() {
        let mut random = fastrand::Rng::with_seed(9);
        for most in [3, 20, 120, 400] {
            let (mut records, mut model) = (ResidentRecords::with_room(0), BTreeMap::<Vec<u8>, Vec<u8>>::new());
            for step in 0..3000 {
                let name = key(random.u64(..most));
                if random.u8(..3) == 0 {
                    records.delete(&name);
                    model.remove(&name);
                } else {
                    let value = vec![random.u8(..); random.usize(..40)];
                    records.put(&name, &value);
                    model.insert(name, value);
                }
                assert_eq!(records.count(), model.len(), "step {step}");
                let asked = key(random.u64(..most));
                assert_eq!(records.get(&asked), model.get(&asked).map(Vec::as_slice));
                let range = KeyRange {
                    start: key(random.u64(..most)),
                    after_start: random.bool(),
                    end: random.bool().then(|| key(random.u64(..most))),
                };
                let direction = if random.bool() { Direction::Forward } else { Direction::Reverse };
                let limit = PageLimit { max_items: random.u32(1..80), max_bytes: random.u32(1..3000) };
                let mut expected: Vec<(Bytes, Bytes)> = model
                    .iter()
                    .filter(|(key, _)| range.contains(orbweaver_engine::store::Order::Bytes, key))
                    .map(|(key, value)| (Bytes::from(key.clone()), Bytes::from(value.clone())))
                    .collect();
                if direction == Direction::Reverse {
                    expected.reverse();
                }
                let page = records.page(Asked { range: &range, direction, limit });
                assert_eq!(page.more, page.len() < expected.len());
                assert!(!page.is_empty() || expected.is_empty());
                expected.truncate(page.len());
                assert_eq!(page.records().collect::<Vec<_>>(), expected, "step {step} of {most}");
            }
            assert_eq!(records.are_few(), most <= 20, "{most}");
        }
    }

    #[test]
    fn what_a_page_holds_is_taken_as_it_is() {
        let mut page = PageBuilder::new(PageLimit { max_items: 100, max_bytes: 1000 });
        assert!(page.push(b"a", b"1") && page.push(b"b", b""));
        let records = ResidentRecords::of(&page.finish(false));
        assert!(matches!(&records, ResidentRecords::Few { bytes, count: 2 } if bytes == b"\x01\0\x01\0a1\x01\0\0\0b"));
    }

    #[test]
    fn a_record_that_is_replaced_needs_no_place_of_its_own() {
        let mut records = ResidentRecords::with_room(0);
        (0..64).for_each(|number| records.put(&key(number), b"value"));
        records.put(&key(1), b"other");
        assert!(records.are_few());
        records.put(b"one more", b"");
        assert!(!records.are_few());
    }

    #[test]
    fn large_records_are_many() {
        let mut records = ResidentRecords::with_room(0);
        records.put(b"a", &[1; 9 << 10]);
        records.put(b"b", &[2; 100 << 10]);
        assert!(!records.are_few());
        assert_eq!((records.count(), records.weight()), (2, RESIDENT_BYTES + 2 * (TREE_BYTES + 1) + (109 << 10)));
        records.delete(b"b");
        assert_eq!(records.weight(), RESIDENT_BYTES + TREE_BYTES + 1 + (9 << 10));
    }
}
