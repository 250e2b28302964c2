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
        let (ends, _) = self.ends.get(position.saturating_mul(2)..).unwrap_or_default().as_chunks::<2>();
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

/// Keys and values of a page, see [`Page::pieces_from`].
#[derive(Clone, Debug, Default)]
pub struct Pieces<'p> {
    bytes: &'p [u8],
    /// Where the next key starts.
    start: usize,
    ends: std::slice::Iter<'p, [u32; 2]>,
}

impl Pieces<'_> {
    /// How many records are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.ends.len()
    }

    /// How many bytes the first `count` records have, or those that are left, by their ends, which may contradict the bytes.
    #[must_use]
    pub fn bytes_of(&self, count: usize) -> usize {
        let ends = self.ends.as_slice();
        let last = ends.get(..count).unwrap_or(ends).last();
        last.and_then(|&[_, end]| usize::try_from(end).ok()).unwrap_or(0).saturating_sub(self.start)
    }
}

/// What [`Pieces::short_keys`] hands over: the end of a key, and how long it is; bytes behind that mean nothing.
pub type ShortEnd = ([u8; SHORT_BYTES], usize);

/// How many bytes the end of a key has at most, to be short.
pub const SHORT_BYTES: usize = 16;

impl Pieces<'_> {
    /// Takes records of empty values, `most` at most, whose keys are a head that `is_right` and a short end, as long as `take` takes those ends.
    /// Returns how many. This is a loop without calls, and little in it depends on how long an end is: a component takes half the
    /// instructions of [`Pieces::next`] and what follows (docs/boundary.md).
    #[inline(always)]
    pub fn short_keys<const HEAD: usize>(
        &mut self,
        most: usize,
        is_right: impl Fn(&[u8; HEAD]) -> bool,
        mut take: impl FnMut(ShortEnd) -> bool,
    ) -> usize {
        let (bytes, all) = (self.bytes, self.ends.as_slice());
        let (mut start, mut taken) = (self.start, 0);
        for &[key_end, value_end] in all.get(..most).unwrap_or(all) {
            let Some((head, behind)) = bytes.get(start..).and_then(|key| key.split_first_chunk()) else { break };
            let next = usize::try_from(key_end).unwrap_or(usize::MAX);
            // Where the key is shorter than the head this is more than any end has.
            let length = next.wrapping_sub(start + HEAD);
            if value_end != key_end || length > SHORT_BYTES || !is_right(head) {
                break;
            }
            // The next key's bytes come along; behind the last key there may be too few.
            let Some(end) = behind.first_chunk().copied().or_else(|| last_of(bytes.get(..next)?, length)) else { break };
            if !take((end, length)) {
                break;
            }
            start = next;
            taken += 1;
        }
        self.start = start;
        self.ends = all.get(taken..).unwrap_or_default().iter();
        taken
    }
}

/// The last `length` bytes, [`SHORT_BYTES`] at most, at the front of a word; `None` where there are fewer than a word. In arithmetic, for a copy of so many
/// bytes is a call.
#[inline(always)]
fn last_of(bytes: &[u8], length: usize) -> Option<[u8; SHORT_BYTES]> {
    let ([low, high], _) = bytes.last_chunk::<SHORT_BYTES>()?.as_chunks::<8>() else { return None };
    let (low, high) = (u64::from_le_bytes(*low), u64::from_le_bytes(*high));
    let bits = u32::try_from(SHORT_BYTES.checked_sub(length)? * 8).ok()?;
    // A shift by all bits is none at all.
    let (low, high) = match bits {
        0 => (low, high),
        1..64 => (low >> bits | high << (64 - bits), high >> bits),
        64..128 => (high >> (bits - 64), 0),
        _ => (0, 0),
    };
    let mut word = [0; SHORT_BYTES];
    let (front, back) = word.split_first_chunk_mut::<8>()?;
    *front = low.to_le_bytes();
    *back.first_chunk_mut()? = high.to_le_bytes();
    Some(word)
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

    /// Whether the page takes no further record.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let items = u32::try_from(self.ends.len() / 2).unwrap_or(u32::MAX);
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
    fn short_keys_are_those_at_the_front_that_a_walk_over_all_records_comes_to() {
        let mut random = HeldEnvironment::new(0, 3);
        let mut below = |limit: u64| usize::try_from(random_below(&mut random as &mut dyn Environment, limit)).unwrap_or_default();
        let (mut short, mut others) = (0, 0);
        for _ in 0..3000 {
            let records: Vec<(Vec<u8>, Vec<u8>)> = (0..below(8))
                .map(|_| {
                    // Mostly a head and a short end; now and then a key without a whole head, a long one, a value, a wrong head.
                    let length = if below(16) == 0 { below(8) } else { 8 + below(18) };
                    let mut key: Vec<u8> = (0..length).map(|_| b'a' + u8::try_from(below(26)).unwrap_or_default()).collect();
                    if below(20) == 0 && !key.is_empty() {
                        key.splice(..1, [b'!']);
                    }
                    (key, if below(20) == 0 { b"v".to_vec() } else { Vec::new() })
                })
                .collect();
            let (page, most, refused) = (page(&records), below(9), below(9));
            let is_right = |head: &[u8]| head.first() != Some(&b'!');
            // The first key of a page that is over soon: no word can be read there.
            let total: usize = records.iter().map(|(key, value)| key.len() + value.len()).sum();
            let is_read =
                |(place, (key, _)): (usize, &(Vec<u8>, Vec<u8>))| place > 0 || key.len() >= SHORT_BYTES || total >= 8 + SHORT_BYTES;
            let is_short = |&(place, record): &(usize, &(Vec<u8>, Vec<u8>))| {
                let (key, value) = record;
                value.is_empty() && key.get(..8).is_some_and(is_right) && key.len() <= 8 + SHORT_BYTES && is_read((place, record))
            };
            let expected = records.iter().enumerate().take_while(is_short).take(most.min(refused));
            let expected: Vec<&[u8]> = expected.filter_map(|(_, (key, _))| key.get(8..)).collect();
            for from in 0..=records.len() {
                let mut pieces = page.pieces_from(from);
                let mut taken = Vec::new();
                let count = pieces.short_keys::<8>(
                    most,
                    |head| is_right(head),
                    |(bytes, length)| {
                        let is_taken = taken.len() < refused;
                        if is_taken {
                            taken.push(bytes[..length].to_vec());
                        }
                        is_taken
                    },
                );
                assert_eq!(count, taken.len());
                let left: Vec<(&[u8], &[u8])> = pieces.collect();
                let rest: Vec<(&[u8], &[u8])> = page.pieces_from(from + count).collect();
                assert_eq!(left, rest);
                if from == 0 {
                    assert_eq!(taken, expected, "{records:?}");
                    short += count;
                    others += records.len() - count;
                }
            }
        }
        assert!(short > 2500 && others > 2500, "{short} {others}");
    }

    #[test]
    fn ends_that_contradict_the_bytes_are_taken_for_the_end() {
        for ends in [vec![9, 8], vec![12, 12], vec![u32::MAX, u32::MAX], vec![9, 9, 4, 4]] {
            let page = Page { bytes: Bytes::from_static(b"12345678ab"), ends, more: false };
            let mut taken = Vec::new();
            page.pieces_from(0).short_keys::<8>(
                usize::MAX,
                |_| true,
                |(bytes, length)| {
                    taken.push(bytes[..length].to_vec());
                    true
                },
            );
            assert!(taken.is_empty() || taken == [b"a"], "{taken:?}");
        }
    }
}
