//! The engine's clock and randomness: WASI's.

use crate::bindings::wasi::{clocks::wall_clock, random::random};
use orbweaver_engine::environment::Environment;

/// WASI's wall clock and randomness.
pub struct Wasi;

impl Environment for Wasi {
    fn now_us(&self) -> u64 {
        let now = wall_clock::now();
        now.seconds.saturating_mul(1_000_000).saturating_add(u64::from(now.nanoseconds / 1000))
    }

    fn random(&mut self) -> u64 {
        random::get_random_u64()
    }
}
