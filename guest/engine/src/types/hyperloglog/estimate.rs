//! From registers to an estimate: Otmar Ertl, "New cardinality estimation algorithms for HyperLogLog sketches"
//! (<https://arxiv.org/abs/1702.01284>), algorithm 6. The operations and their order are those of Redis, so that the digits are.

use super::INDEX_BITS;

/// A register has six bits.
const VALUES: usize = 64;
/// The highest run that a hash of 64 bits leaves room for.
const LONGEST_RUN: usize = (u64::BITS - INDEX_BITS + 1) as usize;
/// 1 / (2 ln 2)
const ALPHA: f64 = 0.721_347_520_444_481_7;
/// What a machine makes of a number beyond 64 bits; no elements lead there, only made-up registers.
const BEYOND: u64 = 1 << 63;

/// How many registers have each value.
pub(super) struct Histogram {
    registers: [u32; VALUES],
}

impl Default for Histogram {
    fn default() -> Self {
        Self { registers: [0; VALUES] }
    }
}

impl Histogram {
    /// Counts `registers` registers of a value, which is below 64.
    pub(super) fn add(&mut self, value: u8, registers: u32) {
        if let Some(count) = self.registers.get_mut(usize::from(value)) {
            *count += registers;
        }
    }

    fn of(&self, value: usize) -> f64 {
        self.registers.get(value).copied().map_or(0.0, f64::from)
    }
}

/// The estimated number of distinct elements.
pub(super) fn cardinality(histogram: &Histogram) -> u64 {
    // 2^14 is exact.
    let registers = f64::from(1_u32 << INDEX_BITS);
    let mut z = registers * tau((registers - histogram.of(LONGEST_RUN)) / registers);
    for run in (1..LONGEST_RUN).rev() {
        z += histogram.of(run);
        z *= 0.5;
    }
    z += registers * sigma(histogram.of(0) / registers);
    whole(ALPHA * registers * registers / z)
}

/// The nearest whole number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked: it is positive and fits")]
fn whole(estimate: f64) -> u64 {
    let rounded = estimate.round();
    if (0.0..9.2e18).contains(&rounded) { rounded as u64 } else { BEYOND }
}

fn sigma(mut x: f64) -> f64 {
    if x == 1.0 {
        return f64::INFINITY;
    }
    let (mut y, mut z) = (1.0, x);
    loop {
        x *= x;
        let before = z;
        z += x * y;
        y += y;
        if z == before {
            return z;
        }
    }
}

fn tau(mut x: f64) -> f64 {
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let (mut y, mut z) = (1.0, 1.0 - x);
    loop {
        x = x.sqrt();
        let before = z;
        y *= 0.5;
        z -= (1.0 - x) * (1.0 - x) * y;
        if z == before {
            return z / 3.0;
        }
    }
}
