//! Sketches of Blackwidow and Nemo: 2^17 registers of one byte each and nothing else, section 11 of Blackwidow's format. An empty
//! string is a sketch to which nothing was added.

use super::NO_SKETCH;
use crate::error::Result;
use bytes::Bytes;

/// Bits of the hash that choose a register.
const INDEX_BITS: u32 = 17;
/// Registers of a sketch, and its bytes.
const REGISTERS: usize = 1 << INDEX_BITS;
/// The longest run of zeros that counts.
const LONGEST_RUN: u32 = 15;
const SEED: u32 = 313;

/// A sketch.
pub(super) struct Registers {
    values: Vec<u8>,
}

impl Registers {
    /// An empty one.
    pub(super) fn new() -> Self {
        Self { values: vec![0; REGISTERS] }
    }

    /// The sketch in a string.
    ///
    /// # Errors
    /// It has another length. (The original reads beyond the end of a shorter one.)
    pub(super) fn read(value: &Bytes) -> Result<Self> {
        match value.len() {
            0 => Ok(Self::new()),
            REGISTERS => Ok(Self { values: value.to_vec() }),
            _ => Err(NO_SKETCH),
        }
    }

    pub(super) fn into_bytes(self) -> Bytes {
        self.values.into()
    }

    /// Adds an element. False where that changes nothing.
    pub(super) fn add(&mut self, element: &[u8]) -> bool {
        let (register, rank) = register_and_rank(element);
        match self.values.get_mut(register).filter(|value| **value < rank) {
            Some(value) => {
                *value = rank;
                true
            }
            None => false,
        }
    }

    /// Adds all that was added to another one.
    pub(super) fn merge(&mut self, other: &Self) {
        for (value, other) in self.values.iter_mut().zip(&other.values) {
            *value = (*value).max(*other);
        }
    }

    /// The estimated number of distinct elements.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "cut off as in the original; it is positive")]
    pub(super) fn cardinality(&self) -> u64 {
        const HASHES: f64 = 4_294_967_296.0;
        // 2^17 is exact.
        let registers = f64::from(1_u32 << INDEX_BITS);
        let alpha = 0.7213 / (1.0 + 1.079 / registers);
        let sum: f64 = self.values.iter().map(|value| 0.5_f64.powi(i32::from(*value))).sum();
        let estimate = alpha * registers * registers / sum;
        let zeros = u32::try_from(self.values.iter().filter(|value| **value == 0).count()).unwrap_or(u32::MAX);
        let corrected = if estimate <= 2.5 * registers && zeros > 0 {
            registers * (registers / f64::from(zeros)).ln()
        } else if (HASHES / 30.0..HASHES).contains(&estimate) {
            -HASHES * (-estimate / HASHES).ln_1p()
        } else {
            // Above that there are more elements than hashes, or registers that no hash leads to.
            estimate
        };
        corrected as u64
    }
}

/// The register that an element belongs to, and the run of zeros that its hash goes on with, plus one: 1 to 16.
fn register_and_rank(element: &[u8]) -> (usize, u8) {
    let hash = murmur3_32(element, SEED);
    let register = usize::try_from(hash).unwrap_or_default() % REGISTERS;
    let run = (hash >> INDEX_BITS).trailing_zeros().min(LONGEST_RUN);
    (register, u8::try_from(run + 1).unwrap_or(u8::MAX))
}

/// `MurmurHash3_x86_32` by Austin Appleby.
fn murmur3_32(data: &[u8], seed: u32) -> u32 {
    let scramble = |word: u32| word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (words, rest) = data.as_chunks();
    let mut hash = seed;
    for word in words {
        hash = (hash ^ scramble(u32::from_le_bytes(*word))).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    // No bytes scramble to nothing.
    hash ^= scramble(rest.iter().rev().fold(0, |last, &byte| last << 8 | u32::from(byte)));
    hash ^= u32::try_from(data.len()).unwrap_or(u32::MAX);
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::{REGISTERS, Registers, murmur3_32, register_and_rank};
    use bytes::Bytes;

    #[test]
    fn the_hash_is_murmur3_of_32_bits() {
        let cases: [(&str, u32, u32); 6] = [
            ("", 0, 0),
            ("", 1, 0x514e_28b7),
            ("test", 0, 0xba6b_d213),
            ("Hello, world!", 0, 0xc036_3e43),
            ("The quick brown fox jumps over the lazy dog", 0, 0x2e4f_f723),
            ("The quick brown fox jumps over the lazy dog", 313, 0xe4c8_74c6),
        ];
        for (text, seed, expected) in cases {
            assert_eq!(murmur3_32(text.as_bytes(), seed), expected, "{text}");
        }
    }

    /// From a sketch that the original has made.
    #[test]
    fn elements_belong_to_the_registers_of_the_original() {
        assert_eq!(register_and_rank(b"foo"), (38_133, 1));
        assert_eq!(register_and_rank(b"bar"), (96_999, 1));
    }

    #[test]
    fn estimates_are_close_at_every_size() {
        let mut registers = Registers::new();
        let mut added = 0_u32;
        for (size, tolerance) in [(0, 0.0), (1, 0.0), (100, 0.01), (10_000, 0.01), (200_000, 0.01), (1_000_000, 0.01)] {
            while added < size {
                registers.add(&added.to_le_bytes());
                added += 1;
            }
            let (estimate, size) = (f64::from(u32::try_from(registers.cardinality()).unwrap()), f64::from(size));
            assert!((estimate - size).abs() <= size * tolerance, "{estimate} for {size}");
        }
    }

    #[test]
    fn registers_of_other_values_than_hashes_lead_to_have_an_estimate_too() {
        let estimate = |value| Registers::read(&vec![value; REGISTERS].into()).unwrap_or(Registers::new()).cardinality();
        assert!(estimate(16) > 1 << 32);
        assert_eq!(estimate(u8::MAX), u64::MAX);
    }

    #[test]
    fn strings_of_another_length_are_refused() {
        assert!(Registers::read(&Bytes::new()).is_ok_and(|empty| empty.cardinality() == 0));
        assert!(Registers::read(&Bytes::from_static(b"text")).is_err());
        assert!(Registers::read(&vec![0; REGISTERS + 1].into()).is_err());
    }
}
