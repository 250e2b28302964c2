//! How many heads that are put past the tables come again: whether a table would spare their puts is known without one.

use super::super::heads_table::{ENTRY_BYTES, Head, spares_little};
use super::Most;
use foldhash::fast::RandomState;
use std::hash::BuildHasher as _;

/// A table holds about one head for so many bytes, and there is a place for each.
const BYTES_PER_PLACE: usize = 2 * ENTRY_BYTES;
/// What comes again is told once there were so many heads, as a part of the places, or the table would be full.
const TOLD_SHARE: usize = 4;

/// The heads that a table would hold, had one been filled: of each place, the hash of the last one that came there. Two that share a place
/// are each new whenever they come, so that a few are not known again.
pub struct Repeats {
    most: Most,
    hasher: RandomState,
    places: Vec<u32>,
    /// What the table would have been given, and what it would hold.
    puts: usize,
    entries: usize,
    table_bytes: usize,
    log_bytes: usize,
    writes: usize,
}

impl Repeats {
    pub fn new(most: Most) -> Self {
        let places = vec![0; (most.table_bytes / BYTES_PER_PLACE).next_power_of_two()];
        Self { most, hasher: RandomState::default(), places, puts: 0, entries: 0, table_bytes: 0, log_bytes: 0, writes: 0 }
    }

    /// Notes the heads of a write that takes so many bytes of the log. Whether so many have come again that a table is worth it.
    pub fn are_many<'h>(&mut self, heads: impl Iterator<Item = Head<'h>>, log_bytes: usize) -> bool {
        self.log_bytes += log_bytes;
        let puts_before = self.puts;
        for (key, value) in heads {
            let hash = self.hasher.hash_one(key);
            // The low half tells the place, the high one the head.
            let [low, tag] = [hash & u64::from(u32::MAX), hash >> 32].map(|half| u32::try_from(half).unwrap_or(0));
            let place = usize::try_from(low).unwrap_or(0) % self.places.len();
            let Some(known) = self.places.get_mut(place) else { return false };
            self.puts += 1;
            if *known != tag {
                *known = tag;
                self.entries += 1;
                self.table_bytes += ENTRY_BYTES + key.len() + value.unwrap_or_default().len();
            }
        }
        self.writes += usize::from(self.puts > puts_before);
        let is_full = self.most.is_reached(self.table_bytes, self.log_bytes, self.writes);
        let is_told = is_full || self.puts * TOLD_SHARE >= self.places.len();
        let are_many = is_told && !spares_little(self.entries, self.puts);
        if is_full {
            // Another table would be begun.
            *self = Self::new(self.most);
        }
        are_many
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const MOST: Most = Most { table_bytes: 1 << 20, log_bytes: 1 << 20 };

    /// How many of the keys of these numbers, sixteen a write, are noted until there are many that come again.
    fn noted(keys: impl Iterator<Item = usize>) -> Option<usize> {
        let mut repeats = Repeats::new(MOST);
        let keys: Vec<String> = keys.map(|number| format!("key {number}")).collect();
        let mut writes = keys.chunks(16);
        let at = writes.position(|keys| repeats.are_many(keys.iter().map(|key| (key.as_bytes(), Some(&b"value"[..]))), 400));
        at.map(|write| (write + 1) * 16)
    }

    #[test]
    fn keys_that_do_not_come_again_are_not_many_however_often_a_table_would_be_full() {
        assert_eq!(noted(0..200_000), None);
        // Each comes again, but when the table that held it would be written back.
        assert_eq!(noted((0..200_000).map(|number| number % 50_000)), None);
    }

    #[test]
    fn a_table_that_the_log_fills_tells_what_comes_again_by_few_heads() {
        let written = |different: usize| {
            let (mut repeats, value) = (Repeats::new(MOST), [0; 2000]);
            let writes: Vec<[String; 16]> =
                (0..1000).map(|write| std::array::from_fn(|at| format!("key {}", (write * 16 + at) % different))).collect();
            writes.iter().position(|keys| repeats.are_many(keys.iter().map(|key| (key.as_bytes(), Some(&value[..]))), 16 * 2020))
        };
        let full = MOST.log_bytes / (16 * 2020);
        assert!(full * 16 < MOST.table_bytes / BYTES_PER_PLACE / TOLD_SHARE);
        assert_eq!((written(200), written(2000)), (Some(full), None));
    }

    #[test]
    fn keys_that_come_again_while_a_table_would_hold_them_are_many() {
        let told = MOST.table_bytes / BYTES_PER_PLACE / TOLD_SHARE;
        assert_eq!(noted((0..200_000).map(|_| 7)), Some(told), "one key");
        let at = noted((0..20_000).chain((0..200_000).map(|number| number % 2000))).unwrap();
        assert!((20_000..30_000).contains(&at), "a load, and then changes: {at}");
        assert!(noted((0..200_000).map(|number| number * 7919 % 3001)).unwrap() < 5000, "a table of keys, again and again");
    }
}
