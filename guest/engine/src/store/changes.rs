//! What a store tells of changes, so that who keeps its pages knows which of them may be another by now.

/// How many words there are, of 64 places each.
const WORDS: usize = 16;
/// So many first bytes of a key tell its structure: versions, with which the keys of all structures begin, have as many.
const PREFIX_BYTES: usize = 8;
/// What they are multiplied by: odd, its bits as those of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Which structures may have changed. Each has a place, which others may have, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changes([u64; WORDS]);

impl Changes {
    /// How many places there are.
    pub const PLACES: usize = WORDS * 64;
    /// How many words they are.
    pub const WORDS: usize = WORDS;
    /// Nothing has changed.
    pub const NONE: Self = Self([0; WORDS]);
    /// Everything may have.
    pub const ALL: Self = Self([u64::MAX; WORDS]);

    /// The place of the structure that a key is of, below [`Changes::PLACES`].
    #[must_use]
    pub fn place(key: &[u8]) -> usize {
        let prefix = key.first_chunk().copied().unwrap_or_else(|| {
            let mut prefix = [0; PREFIX_BYTES];
            prefix.iter_mut().zip(key).for_each(|(byte, of_key)| *byte = *of_key);
            prefix
        });
        // The uppermost bits depend on all of the prefix.
        let place = u64::from_be_bytes(prefix).wrapping_mul(FACTOR) >> (u64::BITS - Self::PLACES.ilog2());
        usize::try_from(place).unwrap_or_default()
    }

    /// Something has changed at a place.
    pub fn add(&mut self, place: usize) {
        if let Some(word) = self.0.get_mut(place / 64) {
            *word |= 1 << (place % 64);
        }
    }

    /// The places where something may have changed, in ascending order.
    pub fn places(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(position, word)| {
            let left = |left: &u64| Some(left & left.wrapping_sub(1)).filter(|left| *left > 0);
            let bits = std::iter::successors(Some(*word).filter(|word| *word > 0), left);
            bits.map(move |left| position * 64 + usize::try_from(left.trailing_zeros()).unwrap_or_default())
        })
    }

    /// As words, the places of the first one first, its lowest bit before the others.
    #[must_use]
    pub const fn words(&self) -> &[u64; WORDS] {
        &self.0
    }
}

impl From<[u64; WORDS]> for Changes {
    fn from(words: [u64; WORDS]) -> Self {
        Self(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_places_that_were_added_are_told_each_once_and_in_order() {
        let mut changes = Changes::NONE;
        assert_eq!(changes.places().count(), 0);
        for place in [1023, 64, 0, 63, 64, Changes::PLACES] {
            changes.add(place);
        }
        assert_eq!(changes.places().collect::<Vec<_>>(), [0, 63, 64, 1023]);
        assert_eq!(Changes::from(*changes.words()), changes);
        assert!(Changes::ALL.places().eq(0..Changes::PLACES));
    }

    #[test]
    fn keys_of_a_structure_have_one_place_and_structures_mostly_have_others() {
        let place = |version: u64, rest: &[u8]| Changes::place(&[version.to_be_bytes().as_slice(), rest].concat());
        assert_eq!((place(7, b""), place(7, b"field")), (place(7, b"other"), place(7, b"\0")));
        let mut places: Vec<usize> = (0..100).map(|version| place(version << (version % 56), b"")).collect();
        places.sort_unstable();
        places.dedup();
        assert!(places.len() > 80 && places.iter().all(|place| *place < Changes::PLACES), "{}", places.len());
        // Shorter ones are as if zeros followed.
        assert_eq!(Changes::place(b"a"), place(u64::from(b'a') << 56, b""));
    }
}
