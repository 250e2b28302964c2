//! Pages: how records cross the boundary, flat.

use bytes::Bytes;

/// How much a page may hold. A page always holds at least one record where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLimit {
    /// Most records.
    pub max_items: u32,
    /// Keys and values together, in bytes; the record that crosses the limit is still in the page.
    pub max_bytes: u32,
}

impl PageLimit {
    /// `max_items` records, up to a mebibyte.
    #[must_use]
    pub const fn items(max_items: u32) -> Self {
        Self { max_items, max_bytes: 1 << 20 }
    }
}

/// Records in one flat buffer: key, value, key, value ..., with the end of each piece.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Keys and values, one behind the other.
    pub bytes: Bytes,
    /// For each key and each value, in turn, its end within `bytes`. An even number.
    pub ends: Vec<u32>,
    /// Whether the range may hold more records behind this page.
    pub more: bool,
}

impl Page {
    /// How many records the page holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len() / 2
    }

    /// Whether the page holds no record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.len() < 2
    }

    /// The record at `position`, counted from 0; `None` behind the last one, or where the ends contradict the bytes.
    #[must_use]
    pub fn record(&self, position: usize) -> Option<(Bytes, Bytes)> {
        let (start, key_end, value_end) = self.ends_of(position)?;
        (value_end <= self.bytes.len()).then(|| (self.bytes.slice(start..key_end), self.bytes.slice(key_end..value_end)))
    }

    /// As [`Page::record`], for who only looks at it.
    #[must_use]
    pub fn pieces(&self, position: usize) -> Option<(&[u8], &[u8])> {
        let (start, key_end, value_end) = self.ends_of(position)?;
        Some((self.bytes.get(start..key_end)?, self.bytes.get(key_end..value_end)?))
    }

    /// [`Page::pieces`] of the record at `position` and of those behind it.
    #[must_use]
    pub fn pieces_from(&self, position: usize) -> Pieces<'_> {
        let before = position.checked_mul(2).and_then(|first| first.checked_sub(1)).and_then(|before| self.ends.get(before));
        let start = before.and_then(|&end| usize::try_from(end).ok()).unwrap_or(0);
        // Behind a record that is not within the bytes there is none.
        let ends = self.ends.get(position.saturating_mul(2)..).filter(|_| start <= self.bytes.len());
        let (ends, _) = ends.unwrap_or_default().as_chunks::<2>();
        Pieces { bytes: &self.bytes, start, ends: ends.iter() }
    }

    /// Where the record at `position` starts, and where its key and its value end, in ascending order.
    fn ends_of(&self, position: usize) -> Option<(usize, usize, usize)> {
        let end = |at: usize| self.ends.get(at).and_then(|&end| usize::try_from(end).ok());
        let first = position.checked_mul(2)?;
        let start = first.checked_sub(1).map_or(Some(0), end)?;
        let (key_end, value_end) = (end(first)?, end(first + 1)?);
        (start <= key_end && key_end <= value_end).then_some((start, key_end, value_end))
    }

    /// The records of the page in turn.
    pub fn records(&self) -> impl Iterator<Item = (Bytes, Bytes)> + '_ {
        (0..self.len()).map_while(|position| self.record(position))
    }
}

/// A page, or that it is one which is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// The page; `None`: it is the one with that number, which the asker has.
    pub page: Option<Page>,
    /// What it is known by: no other page of any store of the process has the number. 0: it will not be known again.
    pub number: u64,
}

impl From<Page> for Numbered {
    fn from(page: Page) -> Self {
        Self { page: Some(page), number: 0 }
    }
}

/// Keys and values of a page, see [`Page::pieces_from`].
#[derive(Clone, Debug, Default)]
pub struct Pieces<'p> {
    bytes: &'p [u8],
    /// Where the next key starts.
    start: usize,
    ends: std::slice::Iter<'p, [u32; 2]>,
}

impl Pieces<'_> {
    /// Only so many of the records that are left, if there are more.
    #[must_use]
    pub fn first(self, count: usize) -> Self {
        let ends = self.ends.as_slice();
        Self { ends: ends.get(..count).unwrap_or(ends).iter(), ..self }
    }

    /// How many records are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.ends.len()
    }

    /// Takes the records whose keys are before something else: the first ones, as keys lie in their order. Returns how many. Looks at few of them.
    pub fn take_before(&mut self, is_before: impl Fn(&[u8]) -> bool) -> usize {
        let all = self.ends.as_slice();
        let start_of = |position: usize| {
            let before = position.checked_sub(1).and_then(|before| all.get(before));
            before.map_or(Some(self.start), |&[_, end]| usize::try_from(end).ok())
        };
        let key = |position: usize| self.bytes.get(start_of(position)?..usize::try_from(*all.get(position)?.first()?).ok()?);
        let (mut taken, mut end) = (0, all.len());
        while taken < end {
            let middle = taken.midpoint(end);
            if key(middle).is_some_and(&is_before) {
                taken = middle + 1;
            } else {
                end = middle;
            }
        }
        // One that is not within the bytes is before nothing, and what it is behind of has been looked at.
        (self.start, self.ends) = (start_of(taken).unwrap_or(self.start), all.get(taken..).unwrap_or_default().iter());
        taken
    }

    /// How many bytes the first `count` records have, or those that are left.
    #[must_use]
    pub fn bytes_of(&self, count: usize) -> usize {
        let ends = self.ends.as_slice();
        let last = ends.get(..count).unwrap_or(ends).last();
        // Not more than there are, where the ends contradict the bytes.
        last.and_then(|&[_, end]| usize::try_from(end).ok()).unwrap_or(0).min(self.bytes.len()).saturating_sub(self.start)
    }
}

/// Where a record lies in the bytes of its page, by the ends of the page, which may contradict the bytes: an end may come before the start.
#[derive(Clone, Copy, Debug)]
pub struct Lying {
    /// How many records were taken before it.
    pub before: usize,
    /// Where its key starts.
    pub start: usize,
    /// Where its key ends, and its value starts.
    pub key_end: usize,
    /// Where its value ends.
    pub end: usize,
}

impl Lying {
    /// How many bytes its key has; where it ends before it starts, more than any page.
    #[inline(always)]
    #[must_use]
    pub const fn key_bytes(self) -> usize {
        self.key_end.wrapping_sub(self.start)
    }

    /// How many bytes its value has; see [`Lying::key_bytes`].
    #[inline(always)]
    #[must_use]
    pub const fn value_bytes(self) -> usize {
        self.end.wrapping_sub(self.key_end)
    }
}

/// Chunks of a length that is known when this is compiled, anywhere in some bytes: what lies behind a string comes along, as to copy a little more than is
/// wanted costs less than to copy just as much. To take one is one comparison: the last place that has one is known before the loop.
#[derive(Clone, Copy, Debug)]
pub struct Chunks<'b> {
    bytes: &'b [u8],
    length: usize,
    last: usize,
}

impl<'b> Chunks<'b> {
    /// Chunks of `length` bytes; `None` where there are fewer.
    #[inline(always)]
    #[must_use]
    pub fn of(bytes: &'b [u8], length: usize) -> Option<Self> {
        Some(Self { bytes, length, last: bytes.len().checked_sub(length)? })
    }

    /// The one at a place; `None` where fewer bytes lie behind it.
    #[inline(always)]
    #[must_use]
    pub fn at(&self, place: usize) -> Option<&'b [u8]> {
        if place > self.last {
            return None;
        }
        self.bytes.get(place..)?.get(..self.length)
    }
}

/// A string at the head of a chunk: the chunk, and how many bytes the string has, which may be more.
pub type Headed<'c, const C: usize> = (&'c [u8; C], usize);

/// Where strings of a page are put. The default one takes none: it stands in the place of one that is in use.
pub trait StringSink: Default {
    /// The last place of it at which there is room for so many strings with so many bytes together; `None` where there is none. Loops ask for it before
    /// they begin, and tell it then.
    fn last_for(&self, strings: usize, bytes: usize) -> Option<usize>;

    /// Puts a string that is in its chunk, without a call: what is called within a loop takes registers from it. `false`: it is not, or there is no room, and
    /// nothing is put.
    fn put<const C: usize>(&mut self, last: usize, string: Headed<'_, C>) -> bool;

    /// As [`StringSink::put`], of two of which both or none is put.
    fn put_pair<const A: usize, const B: usize>(&mut self, last: usize, first: Headed<'_, A>, second: Headed<'_, B>) -> bool;

    /// Puts strings of any length, all or none. `false`: there is no room.
    fn put_any<const N: usize>(&mut self, strings: [&[u8]; N]) -> bool;
}

impl<'p> Pieces<'p> {
    /// The bytes of the page.
    #[must_use]
    pub const fn bytes(&self) -> &'p [u8] {
        self.bytes
    }

    /// Takes records, `most` at most, as long as `take` takes them. Returns how many. This is a loop without calls, and one that counts as little as can
    /// be, as it has few registers: a component takes half the instructions of [`Pieces::next`] and what follows (docs/boundary.md).
    #[inline(always)]
    pub fn take_lying(&mut self, most: usize, mut take: impl FnMut(Lying) -> bool) -> usize {
        let all = self.ends.as_slice();
        let some = all.get(..most).unwrap_or(all);
        let (mut start, mut left) = (self.start, some.iter());
        while let Some(&[key_end, end]) = left.as_slice().first() {
            let (Ok(key_end), Ok(end)) = (usize::try_from(key_end), usize::try_from(end)) else { break };
            if !take(Lying { before: some.len() - left.len(), start, key_end, end }) {
                break;
            }
            start = end;
            left.next();
        }
        let taken = some.len() - left.len();
        (self.start, self.ends) = (start, all.get(taken..).unwrap_or_default().iter());
        taken
    }
}

impl<'p> Iterator for Pieces<'p> {
    type Item = (&'p [u8], &'p [u8]);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let &[key_end, value_end] = self.ends.next()?;
        let (key_end, value_end) = (usize::try_from(key_end).ok()?, usize::try_from(value_end).ok()?);
        let start = std::mem::replace(&mut self.start, value_end);
        let pieces = self.bytes.get(start..key_end).zip(self.bytes.get(key_end..value_end));
        if pieces.is_none() {
            // What follows ends that contradict the bytes is not trusted.
            self.ends = Default::default();
        }
        pieces
    }
}

/// Fills a [`Page`] up to a [`PageLimit`].
#[derive(Debug)]
pub struct PageBuilder {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    limit: PageLimit,
}

impl PageBuilder {
    /// An empty page that takes at most `limit`.
    #[must_use]
    pub fn new(limit: PageLimit) -> Self {
        Self { bytes: Vec::new(), ends: Vec::new(), limit }
    }

    /// The same, with room made at once for so many records, which have so many bytes in all.
    #[must_use]
    pub fn with_room(limit: PageLimit, records: usize, bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ends: Vec::with_capacity(records * 2), limit }
    }

    /// How many records the page has.
    #[must_use]
    pub const fn items(&self) -> usize {
        self.ends.len() / 2
    }

    /// Whether the page takes no further record.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let items = u32::try_from(self.items()).unwrap_or(u32::MAX);
        let bytes = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        items > 0 && (items >= self.limit.max_items || bytes >= self.limit.max_bytes)
    }

    /// Adds a record. False, and nothing added, where the page would grow beyond 4 GiB.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> bool {
        let end = self.bytes.len() + key.len();
        let (Ok(key_end), Ok(value_end)) = (u32::try_from(end), u32::try_from(end + value.len())) else {
            return false;
        };
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.ends.push(key_end);
        self.ends.push(value_end);
        true
    }

    /// The page; `more` says whether the range may hold records behind it.
    #[must_use]
    pub fn finish(self, more: bool) -> Page {
        Page { bytes: self.bytes.into(), ends: self.ends, more }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{Environment, HeldEnvironment, random_below};

    fn page(records: &[(Vec<u8>, Vec<u8>)]) -> Page {
        let mut page = PageBuilder::new(PageLimit::items(u32::MAX));
        assert!(records.iter().all(|(key, value)| page.push(key, value)));
        page.finish(false)
    }

    #[test]
    fn what_is_before_something_is_taken_by_a_search_as_by_a_walk() {
        let mut random = HeldEnvironment::new(0, 4);
        let mut below = |limit: u64| usize::try_from(random_below(&mut random as &mut dyn Environment, limit)).unwrap_or_default();
        for _ in 0..1000 {
            let mut keys: Vec<Vec<u8>> = (0..below(20)).map(|_| vec![b'a'; below(3)]).collect();
            keys.iter_mut().for_each(|key| key.push(u8::try_from(below(9)).unwrap_or_default()));
            keys.sort();
            let page = page(&keys.iter().map(|key| (key.clone(), key.repeat(2))).collect::<Vec<_>>());
            let (from, bound) = (below(20).min(keys.len()), [u8::try_from(below(100)).unwrap_or_default()]);
            let mut pieces = page.pieces_from(from);
            let taken = pieces.take_before(|key| key < bound.as_slice());
            assert_eq!(taken, keys.iter().skip(from).take_while(|key| key.as_slice() < bound.as_slice()).count());
            assert_eq!(pieces.collect::<Vec<_>>(), page.pieces_from(from + taken).collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_key_is_taken_that_is_not_within_the_bytes_of_its_page() {
        for (ends, whole) in [(vec![9, 10, 11, 12], 0), (vec![2, 1, 0, 5], 1), (vec![u32::MAX; 6], 0), (vec![3, 4, 5, 5], 1)] {
            let page = Page { bytes: b"abcd".as_slice().into(), ends, more: false };
            assert_eq!(page.pieces_from(0).take_before(|_| true), whole);
            assert_eq!(page.pieces_from(1).take_before(|_| true), 0);
        }
    }

    /// The key and the value that lie there; `None` where the bytes do not have them.
    fn record_at(bytes: &[u8], lying: Lying) -> Option<(Vec<u8>, Vec<u8>)> {
        Some((bytes.get(lying.start..lying.key_end)?.to_vec(), bytes.get(lying.key_end..lying.end)?.to_vec()))
    }

    #[test]
    fn records_that_are_taken_as_they_lie_are_those_that_a_walk_comes_to() {
        let mut random = HeldEnvironment::new(0, 3);
        let mut below = |limit: u64| usize::try_from(random_below(&mut random as &mut dyn Environment, limit)).unwrap_or_default();
        for _ in 0..1000 {
            let mut bytes =
                |most: u64| -> Vec<u8> { (0..below(most)).map(|_| b'a' + u8::try_from(below(26)).unwrap_or_default()).collect() };
            let records: Vec<(Vec<u8>, Vec<u8>)> = (0..bytes(9).len()).map(|_| (bytes(30), bytes(30))).collect();
            let (page, most, refused) = (page(&records), below(9), below(9));
            for from in 0..=records.len() {
                let mut pieces = page.pieces_from(from);
                let (bytes, mut taken) = (pieces.bytes(), Vec::new());
                let count = pieces.take_lying(most, |lying| {
                    assert_eq!(lying.before, taken.len());
                    let is_taken = lying.before < refused;
                    if is_taken {
                        let (key, value) = record_at(bytes, lying).unwrap();
                        assert_eq!((key.len(), value.len()), (lying.key_bytes(), lying.value_bytes()));
                        taken.push((key, value));
                    }
                    is_taken
                });
                let expected: Vec<_> = records.iter().skip(from).take(most.min(refused)).cloned().collect();
                assert_eq!((count, taken), (expected.len(), expected));
                let left: Vec<(&[u8], &[u8])> = pieces.collect();
                let rest: Vec<(&[u8], &[u8])> = page.pieces_from(from + count).collect();
                assert_eq!(left, rest);
            }
        }
    }

    #[test]
    fn a_chunk_is_what_lies_at_a_place_with_what_follows_or_none_where_that_is_too_little() {
        let chunks = Chunks::of(b"0123456789", 4).unwrap();
        assert_eq!([0, 6, 7, usize::MAX].map(|place| chunks.at(place)), [Some(b"0123".as_slice()), Some(b"6789"), None, None]);
        assert_eq!(Chunks::of(b"0123", 4).and_then(|chunks| chunks.at(0)), Some(b"0123".as_slice()));
        assert!(Chunks::of(b"012", 4).is_none());
    }

    #[test]
    fn ends_that_contradict_the_bytes_make_no_record() {
        for ends in [vec![9, 8], vec![12, 12], vec![u32::MAX, u32::MAX], vec![9, 9, 4, 4], vec![5, 11]] {
            let page = Page { bytes: Bytes::from_static(b"12345678ab"), ends, more: false };
            let mut taken = Vec::new();
            page.pieces_from(0).take_lying(usize::MAX, |lying| {
                let record = record_at(&page.bytes, lying);
                let is_there = record.is_some();
                taken.extend(record);
                is_there
            });
            assert!(taken.is_empty() || taken == [(b"12345678a".to_vec(), Vec::new())], "{taken:?}");
        }
    }
}
