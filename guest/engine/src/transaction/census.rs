//! Censuses: how many records there are, at most, in each part of a range.
//!
//! They are in memory, for the few ranges that were asked about last. A put raises the bound of the part that it may have added a record
//! to; removals are not followed, so that a bound may be higher than it need be, and whoever reads a part corrects it. What a transaction
//! has found out after changes of its own is forgotten with those changes.

use crate::store::{KeyRange, Keyspace, Order};
use std::collections::VecDeque;

/// Most censuses that are kept.
const MAX_CENSUSES: usize = 16;
/// Most bytes of a census.
const MAX_BYTES: usize = 1 << 20;
/// What a part takes beside the bytes of its first key: bound, pointer, length, what an allocator adds.
const PART_BYTES: usize = 48;
/// Parts of a large range, about.
const PARTS: u64 = 8192;
/// Fewest records that make a part: to read so many takes a store about as long again as to find the first of them.
const MIN_PART_RECORDS: u64 = 32;
/// How many ranges without a census are remembered to have been asked about.
const MAX_ASKED: usize = 16;

/// Neighbouring parts, with a bound of the records of each.
#[derive(Debug)]
pub struct Parts {
    /// A part with more than twice as many records is divided.
    size: u64,
    /// The first key that belongs to each part but the first.
    starts: Vec<Box<[u8]>>,
    /// For each part how many records it has at most. Never empty.
    bounds: Vec<u64>,
    /// The sum of the bounds.
    total: u64,
    /// The bytes of the starts.
    start_bytes: usize,
}

impl Parts {
    fn of_size(size: u64) -> Self {
        Self { size, starts: Vec::new(), bounds: vec![0], total: 0, start_bytes: 0 }
    }

    /// How many records there are at most.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Counts a record behind all others.
    pub fn push(&mut self, key: &[u8]) {
        if self.bounds.last().is_some_and(|&last| last >= self.size) {
            self.starts.push(key.into());
            self.bounds.push(0);
            self.start_bytes += key.len();
            self.thin_out();
        }
        self.raise(self.starts.len());
    }

    fn raise(&mut self, part: usize) {
        if let Some(bound) = self.bounds.get_mut(part) {
            *bound = bound.saturating_add(1);
            self.total = self.total.saturating_add(1);
        }
    }

    /// Makes one of every two parts until they are not too many bytes.
    fn thin_out(&mut self) {
        while self.start_bytes + self.bounds.len() * PART_BYTES > MAX_BYTES && !self.starts.is_empty() {
            self.size = self.size.saturating_mul(2);
            let mut is_kept = true;
            self.starts.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
            self.bounds = self.bounds.chunks(2).map(|pair| pair.iter().sum()).collect();
            self.start_bytes = self.starts.iter().map(|start| start.len()).sum();
        }
    }

    /// The records of a part are these.
    fn replace(&mut self, part: usize, counted: Self) {
        let Some(bound) = self.bounds.get(part).copied() else { return };
        self.total = self.total.saturating_sub(bound).saturating_add(counted.total);
        if counted.total > self.size.saturating_mul(2) {
            self.start_bytes += counted.start_bytes;
            self.bounds.splice(part..=part, counted.bounds);
            self.starts.splice(part..part, counted.starts);
            self.thin_out();
        } else if counted.total == 0 && !self.starts.is_empty() {
            // A neighbour takes its place: the one behind it, or the one before the last.
            self.bounds.remove(part);
            self.start_bytes -= self.starts.remove(part.min(self.starts.len() - 1)).len();
        } else if let Some(bound) = self.bounds.get_mut(part) {
            *bound = counted.total;
        }
    }
}

/// The parts of a range.
#[derive(Debug)]
pub struct Census {
    keyspace: Keyspace,
    range: KeyRange,
    order: Order,
    parts: Parts,
    /// It may tell of changes that are not committed.
    is_tentative: bool,
}

impl Census {
    /// A census that has met no record yet. About `expected` will be counted, from the first to the last by [`Census::push`].
    pub(super) fn new(keyspace: Keyspace, range: KeyRange, order: Order, expected: u64) -> Self {
        let parts = Parts::of_size((expected / PARTS).max(MIN_PART_RECORDS));
        Self { keyspace, range, order, parts, is_tentative: false }
    }

    /// See [`Parts::push`].
    pub fn push(&mut self, key: &[u8]) {
        self.parts.push(key);
    }

    /// See [`Parts::total`].
    #[must_use]
    pub fn total(&self) -> u64 {
        self.parts.total
    }

    /// The part that a number below [`Census::total`] falls into where each part takes up as many numbers as its bound says, and the
    /// number's distance from the first of them.
    #[must_use]
    pub fn part_at(&self, number: u64) -> Option<(usize, u64)> {
        let mut rest = number;
        let part = self.parts.bounds.iter().position(|&bound| match rest.checked_sub(bound) {
            Some(less) => {
                rest = less;
                false
            }
            None => true,
        })?;
        Some((part, rest))
    }

    /// How many records a part has at most; 0 where there is no such part.
    #[must_use]
    pub fn bound(&self, part: usize) -> u64 {
        self.parts.bounds.get(part).copied().unwrap_or_default()
    }

    /// The first key that belongs to a part and the first that does not any more; `None`: those of the range.
    #[must_use]
    pub fn ends(&self, part: usize) -> (Option<&[u8]>, Option<&[u8]>) {
        let start = |part: usize| self.parts.starts.get(part).map(|start| &**start);
        (part.checked_sub(1).and_then(start), start(part))
    }

    /// What the records of a part are counted with: all of them by [`Parts::push`], then [`Census::correct`].
    #[must_use]
    pub fn recount(&self) -> Parts {
        Parts::of_size(self.parts.size)
    }

    /// Lets the census know how many records a part has.
    pub fn correct(&mut self, part: usize, counted: Parts) {
        self.parts.replace(part, counted);
    }

    fn is_of(&self, keyspace: Keyspace, range: &KeyRange) -> bool {
        self.keyspace == keyspace && self.range == *range
    }

    fn note_put(&mut self, keyspace: Keyspace, key: &[u8]) {
        if self.keyspace == keyspace && self.range.contains(self.order, key) {
            let part = self.parts.starts.partition_point(|start| self.order.compare(start, key).is_le());
            self.parts.raise(part);
        }
    }
}

/// The censuses of the ranges that were asked about last, for one transaction after the other.
#[derive(Debug, Default)]
pub struct Censuses {
    /// The one that was used last comes last.
    kept: Vec<Census>,
    /// Ranges that have none, the one that was asked about last at the end.
    asked: VecDeque<(Keyspace, KeyRange)>,
}

impl Censuses {
    pub(super) fn take(&mut self, keyspace: Keyspace, range: &KeyRange) -> Option<Census> {
        let place = self.kept.iter().position(|census| census.is_of(keyspace, range))?;
        Some(self.kept.remove(place))
    }

    /// Whether a range that has no census was asked about before, not long ago: one that is asked about once is not worth a census, nor
    /// are more ranges in turn than are kept.
    pub(super) fn is_asked_again(&mut self, range: &(Keyspace, KeyRange)) -> bool {
        if let Some(place) = self.asked.iter().position(|asked| asked == range) {
            self.asked.remove(place);
            return true;
        }
        if self.asked.len() >= MAX_ASKED {
            self.asked.pop_front();
        }
        self.asked.push_back(range.clone());
        false
    }

    /// `has_changes`: the transaction has changed records of that keyspace.
    pub(super) fn keep(&mut self, mut census: Census, has_changes: impl FnOnce(Keyspace) -> bool) {
        census.is_tentative |= has_changes(census.keyspace);
        if self.kept.len() >= MAX_CENSUSES {
            self.kept.remove(0);
        }
        self.kept.push(census);
    }

    /// A record has been put.
    #[inline]
    pub(super) fn note_put(&mut self, keyspace: Keyspace, key: &[u8]) {
        self.kept.iter_mut().for_each(|census| census.note_put(keyspace, key));
    }

    /// Whether none is kept.
    pub(super) const fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The changes of a transaction are committed.
    pub(super) fn settle(&mut self) {
        self.kept.iter_mut().for_each(|census| census.is_tentative = false);
    }

    /// Changes of a transaction are undone: records that were deleted are back.
    pub(super) fn forget_tentative(&mut self) {
        self.kept.retain(|census| !census.is_tentative);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> Vec<u8> {
        format!("{number:08}").into_bytes()
    }

    fn census_of(count: u64) -> Census {
        let mut census = Census::new(Keyspace(0), KeyRange::all(), Order::Bytes, count);
        (0..count).for_each(|number| census.push(&key(number)));
        census
    }

    fn recounted(census: &Census, numbers: impl IntoIterator<Item = u64>) -> Parts {
        let mut parts = census.recount();
        numbers.into_iter().for_each(|number| parts.push(&key(number)));
        parts
    }

    /// Bounds and their sum, keys and their bytes fit together; keys are in order.
    fn check(census: &Census) {
        let Parts { starts, bounds, total, start_bytes, .. } = &census.parts;
        assert_eq!((bounds.len(), bounds.iter().sum::<u64>()), (starts.len() + 1, *total));
        assert_eq!(*start_bytes, starts.iter().map(|start| start.len()).sum::<usize>());
        assert!(starts.is_sorted() && start_bytes + bounds.len() * PART_BYTES <= MAX_BYTES);
    }

    #[test]
    fn every_number_below_the_total_falls_into_the_part_that_has_it() {
        let census = census_of(1000);
        check(&census);
        for number in 0..1000 {
            let (part, rank) = census.part_at(number).unwrap();
            let (start, end) = census.ends(part);
            assert!(start.is_none_or(|start| *start <= *key(number)) && end.is_none_or(|end| *key(number) < *end));
            assert!(rank < census.bound(part) && census.bound(part) <= MIN_PART_RECORDS);
        }
        assert_eq!(census.part_at(1000), None);
    }

    #[test]
    fn a_put_raises_the_bound_of_its_part_and_of_no_other_range() {
        let mut censuses = Censuses::default();
        censuses.keep(census_of(1000), |_| false);
        censuses.note_put(Keyspace(0), b"00000032");
        censuses.note_put(Keyspace(0), b"00000031+");
        censuses.note_put(Keyspace(1), b"00000032");
        assert!(censuses.take(Keyspace(1), &KeyRange::all()).is_none());
        let census = censuses.take(Keyspace(0), &KeyRange::all()).unwrap();
        assert_eq!((census.bound(0), census.bound(1), census.bound(2), census.total()), (33, 33, 32, 1002));
        assert!(censuses.take(Keyspace(0), &KeyRange::all()).is_none());
    }

    #[test]
    fn parts_that_are_read_are_corrected_divided_and_given_to_their_neighbours() {
        let mut census = Census::new(Keyspace(0), KeyRange::all(), Order::Bytes, 0);
        (0..128).for_each(|number| census.push(&key(10 * number)));
        census.correct(1, recounted(&census, 500..514));
        assert_eq!((census.bound(1), census.total()), (14, 110));
        census.correct(2, recounted(&census, 640..704));
        assert_eq!((census.bound(2), census.parts.bounds.len()), (64, 4));
        census.correct(2, recounted(&census, 640..705));
        assert_eq!(census.parts.bounds, [32, 14, 32, 32, 1, 32]);
        check(&census);
        for _ in 0..5 {
            census.correct(0, recounted(&census, []));
            check(&census);
        }
        assert_eq!((census.ends(0), census.total()), ((None, None), 32));
        census.correct(0, recounted(&census, []));
        assert_eq!((census.part_at(0), census.total()), (None, 0));
        let mut census = census_of(64);
        census.correct(1, recounted(&census, []));
        assert_eq!((census.ends(0), census.total()), ((None, None), 32));
    }

    #[test]
    fn a_census_stays_within_its_bytes_whatever_its_keys_are() {
        for key_bytes in [10, 1000, 400_000] {
            let mut census = Census::new(Keyspace(0), KeyRange::all(), Order::Bytes, 0);
            for number in 0..20_000_u64 {
                let mut key = vec![b'x'; key_bytes];
                key.splice(..8, number.to_be_bytes());
                census.push(&key);
            }
            assert_eq!(census.total(), 20_000);
            check(&census);
        }
        let mut census = census_of(MIN_PART_RECORDS);
        for numbers in 0..1000 {
            census.correct(census.parts.starts.len(), recounted(&census, numbers * 4096..(numbers + 1) * 4096));
            check(&census);
        }
    }

    #[test]
    fn a_range_is_asked_about_again_unless_too_many_others_were_between() {
        let mut censuses = Censuses::default();
        let range = |number: usize| (Keyspace(0), KeyRange::prefix(&[u8::try_from(number).unwrap()]));
        let asks = |censuses: &mut Censuses, count: usize| (0..count).filter(|&number| censuses.is_asked_again(&range(number))).count();
        assert_eq!([0; 3].map(|_| asks(&mut censuses, MAX_ASKED + 1)), [0; 3]);
        let mut censuses = Censuses::default();
        assert_eq!([0; 3].map(|_| asks(&mut censuses, MAX_ASKED)), [0, MAX_ASKED, 0]);
    }

    #[test]
    fn what_was_found_out_after_changes_is_forgotten_with_them_and_kept_when_they_are_committed() {
        let mut censuses = Censuses::default();
        for is_committed in [true, false] {
            censuses.keep(census_of(100), |_| true);
            if is_committed {
                censuses.settle();
            }
            censuses.forget_tentative();
            assert_eq!(censuses.take(Keyspace(0), &KeyRange::all()).is_some(), is_committed);
        }
    }

    #[test]
    fn the_census_that_was_not_used_for_longest_goes_first() {
        let mut censuses = Censuses::default();
        let range = |number: usize| KeyRange::prefix(&[u8::try_from(number).unwrap()]);
        for number in 0..=MAX_CENSUSES {
            censuses.keep(Census::new(Keyspace(0), range(number), Order::Bytes, 0), |_| false);
            let first = censuses.take(Keyspace(0), &range(0)).unwrap();
            censuses.keep(first, |_| false);
        }
        assert_eq!(censuses.kept.len(), MAX_CENSUSES);
        assert!(censuses.take(Keyspace(0), &range(1)).is_none());
        assert!(censuses.take(Keyspace(0), &range(2)).is_some());
    }
}
