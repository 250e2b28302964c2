//! Names of keys, fields and members, told apart: most of a group begin alike, and end differently.

use crate::few::Few;

/// A place that nothing has taken.
const FREE: u32 = u32::MAX;
/// What words are multiplied by: odd, its bits as those of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// So many words of a long name say where it is looked for, from either end.
const MOST_WORDS: usize = 8;
/// So many others are met on the way to a name, in the mean, before it is given up: as many as 128 names take that are asked for twice and share one place.
const MOST_OTHERS: usize = 128;

/// Whether two names are the same. Their ends are compared first.
#[inline]
#[must_use]
pub fn are_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.last_chunk::<8>() == other.last_chunk::<8>() && one == other
}

/// Things that have a number and a name, each of them once. Their names are to be short. Whoever chooses names can have all of them share a place, where
/// each is compared with all before it: that is [given up](Distinct::into_list) some time.
pub struct Distinct<'n> {
    list: Few<(u32, &'n [u8])>,
    /// How many names that are others may still be met.
    patience: usize,
    /// The positions of all of them, where they are several: each at its place, or the next one that was free.
    places: Vec<u32>,
}

impl<'n> Distinct<'n> {
    /// None, with room for so many, at most.
    #[must_use]
    pub fn with_capacity(most: usize) -> Self {
        let places = if most > 1 { vec![FREE; most.saturating_mul(2).next_power_of_two()] } else { Vec::new() };
        Self { list: Few::with_capacity(most), patience: most.saturating_mul(MOST_OTHERS), places }
    }

    /// The position of one, which is added where it is not there. Any, where that was given up.
    #[inline]
    pub fn position_of(&mut self, number: u32, name: &'n [u8]) -> usize {
        let Self { list, patience, places } = self;
        let next = list.len();
        let is_it = |known: Option<&(u32, &[u8])>| known.is_some_and(|known| known.0 == number && are_same(known.1, name));
        if is_it(list.last()) {
            return next - 1;
        }
        if !places.is_empty() {
            let first = place(number, name);
            for further in 0..places.len() {
                let at = first.wrapping_add(further) & (places.len() - 1);
                let Some(taken) = places.get_mut(at) else { break };
                if *taken == FREE {
                    *taken = u32::try_from(next).unwrap_or(FREE);
                    break;
                }
                let position = usize::try_from(*taken).unwrap_or(usize::MAX);
                if is_it(list.get(position)) {
                    return position;
                }
                if *patience == 0 {
                    return 0;
                }
                *patience -= 1;
            }
        }
        list.push((number, name));
        next
    }

    /// All of them; `None` where it was given up to tell them apart, because too many shared their places.
    #[must_use]
    pub fn into_list(self) -> Option<Few<(u32, &'n [u8])>> {
        let is_done = self.patience > 0 || self.places.is_empty();
        is_done.then_some(self.list)
    }
}

/// Where a thing is looked for first: a number below 2^32.
#[inline]
#[must_use]
pub fn place(number: u32, name: &[u8]) -> usize {
    let mix = |sum: u64, word: u64| {
        let product = (sum ^ word).wrapping_mul(FACTOR);
        product ^ (product >> 32)
    };
    let mut sum = mix(u64::from(number), u64::try_from(name.len()).unwrap_or(u64::MAX));
    if let (Some(last), (words, _)) = (name.last_chunk(), name.as_chunks()) {
        sum = mix(sum, u64::from_le_bytes(*last));
        let half = MOST_WORDS / 2;
        let (first, behind) = words.split_at_checked(half).unwrap_or((words, &[]));
        for word in first.iter().chain(behind.iter().rev().take(half)) {
            sum = mix(sum, u64::from_le_bytes(*word));
        }
    } else {
        sum = name.iter().fold(sum, |sum, byte| mix(sum, u64::from(*byte)));
    }
    usize::try_from(sum & u64::from(u32::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_thing_has_the_position_at_which_it_came_first(
            things in prop::collection::vec((0..2_u32, "[ab]{0,3}", 0..12_usize), 0..128),
        ) {
            let things: Vec<(u32, String)> = things.into_iter().map(|(number, name, times)| (number, name.repeat(times))).collect();
            let mut distinct = Distinct::with_capacity(things.len());
            let mut known: Vec<(u32, &[u8])> = Vec::new();
            for (number, name) in &things {
                let thing = (*number, name.as_bytes());
                let position = known.iter().position(|before| *before == thing).unwrap_or_else(|| {
                    known.push(thing);
                    known.len() - 1
                });
                prop_assert_eq!(distinct.position_of(thing.0, thing.1), position);
            }
            let list = distinct.into_list().unwrap();
            prop_assert_eq!(list.as_slice(), known);
        }
    }

    #[test]
    fn names_that_share_a_place_are_told_apart() {
        // What is in the middle of a long name does not say where it is looked for.
        let names: Vec<Vec<u8>> = (0..128_u8).map(|number| [&[b'x'; 50][..], &[number], &[b'y'; 50]].concat()).collect();
        let mut distinct = Distinct::with_capacity(names.len());
        for _ in 0..2 {
            for (position, name) in names.iter().enumerate() {
                assert_eq!(distinct.position_of(7, name), position);
            }
        }
        assert_eq!(distinct.into_list().map(|list| list.len()), Some(names.len()));
    }

    #[test]
    fn very_many_names_that_share_a_place_are_given_up() {
        let names: Vec<Vec<u8>> = (0..4096_u16).map(|number| [&[b'x'; 50][..], &number.to_be_bytes(), &[b'y'; 50]].concat()).collect();
        let mut distinct = Distinct::with_capacity(names.len());
        for name in &names {
            distinct.position_of(7, name);
        }
        assert!(distinct.into_list().is_none());
    }
}
