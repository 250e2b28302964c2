//! What the engine takes from outside besides the store: a clock and randomness.

/// A clock and randomness. A host that holds both still gets the same bytes from the same commands.
pub trait Environment {
    /// Unix time in microseconds.
    fn now_us(&self) -> u64;

    /// Sixty-four random bits.
    fn random(&mut self) -> u64;
}

/// A random number below `limit`, without bias; 0 where `limit` is 0.
pub fn random_below(environment: &mut dyn Environment, limit: u64) -> u64 {
    // The largest multiple of `limit` that fits: numbers above it would favour small remainders.
    let Some(zone) = u64::MAX.checked_rem(limit).map(|rest| u64::MAX - rest) else { return 0 };
    let mut number = environment.random();
    // A host may hold randomness still: then bias is what it asked for.
    for _ in 0..64 {
        if number < zone {
            break;
        }
        number = environment.random();
    }
    number % limit
}

/// The system's clock, and a generator seeded from it and a per-process hash seed: for the engine compiled natively.
#[cfg(not(target_family = "wasm"))]
#[derive(Debug)]
pub struct SystemEnvironment {
    state: u64,
}

#[cfg(not(target_family = "wasm"))]
impl Default for SystemEnvironment {
    fn default() -> Self {
        use std::hash::{BuildHasher, Hasher};
        let seed = std::hash::RandomState::new().build_hasher().finish();
        Self { state: seed }
    }
}

#[cfg(not(target_family = "wasm"))]
impl Environment for SystemEnvironment {
    fn now_us(&self) -> u64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    }

    fn random(&mut self) -> u64 {
        split_mix(&mut self.state)
    }
}

/// A clock that stands still until it is moved, and a seeded generator: for tests.
#[derive(Clone, Debug)]
pub struct HeldEnvironment {
    /// Unix time in microseconds.
    pub now_us: u64,
    state: u64,
}

impl HeldEnvironment {
    /// A clock that shows `now_ms`, and a generator that starts from `seed`.
    #[must_use]
    pub const fn new(now_ms: u64, seed: u64) -> Self {
        Self { now_us: now_ms.saturating_mul(1000), state: seed }
    }
}

impl Environment for HeldEnvironment {
    fn now_us(&self) -> u64 {
        self.now_us
    }

    fn random(&mut self) -> u64 {
        split_mix(&mut self.state)
    }
}

/// `SplitMix64` (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
const fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
