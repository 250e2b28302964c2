//! The engine's clock and randomness: WASI's.

use crate::bindings::wasi::{clocks::wall_clock, random::random};
use orbweaver_engine::environment::Environment;
use std::cell::Cell;

thread_local! {
    static TOLD: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Runs `work` at the time that the host has told, Unix time in microseconds: the clock is not asked.
pub fn at<T>(now_us: u64, work: impl FnOnce() -> T) -> T {
    TOLD.set(Some(now_us));
    let done = work();
    TOLD.set(None);
    done
}

/// WASI's wall clock and randomness.
pub struct Wasi;

impl Environment for Wasi {
    fn now_us(&self) -> u64 {
        TOLD.get().unwrap_or_else(|| {
            let now = wall_clock::now();
            now.seconds.saturating_mul(1_000_000).saturating_add(u64::from(now.nanoseconds / 1000))
        })
    }

    fn random(&mut self) -> u64 {
        random::get_random_u64()
    }
}
