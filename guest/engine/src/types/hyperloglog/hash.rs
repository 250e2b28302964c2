//! The hash of an element: `MurmurHash64A` by Austin Appleby, read as little-endian on every machine, with the seed that Redis took.

use super::{INDEX_BITS, REGISTERS};

const SEED: u64 = 0xadc8_3b19;
const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
const SHIFT: u32 = 47;

/// The register that an element belongs to, and the length of the run of zeros that its hash goes on with, plus one: 1 to 51.
pub(super) fn register_and_run(element: &[u8]) -> (usize, u8) {
    let hash = murmur64a(element);
    let [low, high, ..] = hash.to_le_bytes();
    let register = usize::from(u16::from_le_bytes([low, high])) % REGISTERS;
    // The bit above the last one ends every run.
    let rest = hash >> INDEX_BITS | 1 << (u64::BITS - INDEX_BITS);
    let run = rest.trailing_zeros() + 1;
    (register, u8::try_from(run).unwrap_or(u8::MAX))
}

fn murmur64a(data: &[u8]) -> u64 {
    let length = u64::try_from(data.len()).unwrap_or(u64::MAX);
    let (words, rest) = data.as_chunks();
    let mut hash = SEED ^ length.wrapping_mul(MULTIPLIER);
    for word in words {
        let word = u64::from_le_bytes(*word).wrapping_mul(MULTIPLIER);
        hash = (hash ^ (word ^ word >> SHIFT).wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
    }
    if !rest.is_empty() {
        let last = rest.iter().rev().fold(0, |last, &byte| last << 8 | u64::from(byte));
        hash = (hash ^ last).wrapping_mul(MULTIPLIER);
    }
    hash = (hash ^ hash >> SHIFT).wrapping_mul(MULTIPLIER);
    hash ^ hash >> SHIFT
}

#[cfg(test)]
mod tests {
    use super::{murmur64a, register_and_run};

    /// The values were made with another implementation of the hash.
    #[test]
    fn the_hash_is_murmur64a() {
        let cases: &[(&str, u64)] = &[
            ("", 0xd8df_ea65_85bc_9732),
            ("a", 0x53d2_470a_9b43_b1a7),
            ("foo", 0xe646_09b8_b014_1cb4),
            ("1234567", 0x8556_3db1_6363_2857),
            ("12345678", 0x95eb_b863_8913_2953),
            ("123456789", 0x2175_32cb_09f2_a44d),
            ("The quick brown fox jumps over the lazy dog", 0x5160_6c5c_5b56_1ace),
        ];
        for (text, expected) in cases {
            assert_eq!(murmur64a(text.as_bytes()), *expected, "{text}");
        }
    }

    #[test]
    fn registers_and_runs_stay_within_their_bounds() {
        for number in 0..100_000_u32 {
            let (register, run) = register_and_run(&number.to_le_bytes());
            assert!(register < 16_384 && (1..=51).contains(&run), "{number}: {register} {run}");
        }
    }
}
