//! Numbers of records in the order of their keys, which are elsewhere: so that no key is there twice.

use std::ops::Range;

/// Most numbers in a chunk. Few enough that one more moves little, many enough that the list of chunks stays short.
const MAX_CHUNK: usize = 512;

/// A list of numbers in chunks, sorted by what the caller knows of them.
#[derive(Debug, Default)]
pub struct Sorted {
    /// None is empty but the first.
    chunks: Vec<Vec<usize>>,
}

/// A place in the list: before the number that is there, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    chunk: usize,
    at: usize,
}

impl Sorted {
    /// Forgets all numbers, and keeps room for as many as fit into a chunk.
    pub fn clear(&mut self) {
        self.chunks.truncate(1);
        self.chunks.iter_mut().for_each(Vec::clear);
    }

    /// The place behind all numbers that come before what is looked for.
    pub fn place(&self, comes_before: impl Fn(usize) -> bool) -> Place {
        // What is added in order is added at the end.
        if let Some(last) = self.chunks.last().filter(|last| last.last().is_none_or(|&number| comes_before(number))) {
            return Place { chunk: self.chunks.len() - 1, at: last.len() };
        }
        let chunk = self.chunks.partition_point(|chunk| chunk.last().is_some_and(|&last| comes_before(last)));
        let at = self.chunks.get(chunk).map_or(0, |chunk| chunk.partition_point(|&number| comes_before(number)));
        Place { chunk, at }
    }

    /// Puts a number before the one that is there.
    pub fn insert(&mut self, Place { chunk, at }: Place, number: usize) {
        let Some(own) = self.chunks.get_mut(chunk) else {
            self.chunks.push(vec![number]);
            return;
        };
        own.insert(at.min(own.len()), number);
        if own.len() > MAX_CHUNK {
            // Numbers that come in order leave full chunks behind them.
            let kept = if at + 1 == own.len() { MAX_CHUNK } else { MAX_CHUNK / 2 };
            let rest = own.split_off(kept);
            self.chunks.insert(chunk + 1, rest);
        }
    }

    /// The numbers from one place to another, which is not before it.
    pub fn range(&self, places: Range<Place>) -> impl DoubleEndedIterator<Item = usize> {
        let Range { start, end } = places;
        let chunks = self.chunks.iter().enumerate().skip(start.chunk).take((end.chunk + 1).saturating_sub(start.chunk));
        chunks.flat_map(move |(chunk, numbers)| {
            let from = if chunk == start.chunk { start.at } else { 0 };
            let to = if chunk == end.chunk { end.at } else { numbers.len() };
            numbers.get(from..to).unwrap_or_default().iter().copied()
        })
    }

    /// All numbers in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.chunks.iter().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn add(sorted: &mut Sorted, number: usize) {
        let place = sorted.place(|own| own < number);
        sorted.insert(place, number);
    }

    proptest! {
        #[test]
        fn numbers_stay_in_order_however_they_come(
            numbers in prop::collection::btree_set(0..5000_usize, 0..3000).prop_map(Vec::from_iter).prop_shuffle()
        ) {
            let mut sorted = Sorted::default();
            numbers.iter().for_each(|&number| add(&mut sorted, number));
            let model = std::collections::BTreeSet::from_iter(numbers);
            prop_assert!(sorted.iter().eq(model.iter().copied()));
            let places = sorted.place(|own| own < 1000)..sorted.place(|own| own < 4000);
            prop_assert!(sorted.range(places.clone()).eq(model.range(1000..4000).copied()));
            prop_assert!(sorted.range(places).rev().eq(model.range(1000..4000).rev().copied()));
        }
    }

    #[test]
    fn many_numbers_in_any_order_are_kept_in_chunks() {
        for count in [MAX_CHUNK, MAX_CHUNK + 1, 10 * MAX_CHUNK] {
            for step in [1, 7919] {
                let mut sorted = Sorted::default();
                (0..count).for_each(|number| add(&mut sorted, number * step % 104_729));
                assert!(sorted.iter().is_sorted());
                assert_eq!(sorted.iter().count(), count);
                assert!(sorted.chunks.iter().all(|chunk| (1..=MAX_CHUNK).contains(&chunk.len())));
            }
        }
    }
}
