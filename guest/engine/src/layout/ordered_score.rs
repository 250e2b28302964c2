//! Scores as unsigned numbers that stand in the order of the scores: of negative ones all bits are flipped, of the others the sign bit alone. Both
//! zeros have the same number, and NaN has none.

/// The sign bit of a double.
const SIGN: u64 = 1 << 63;

/// The number by which a score is ordered. Not for NaN.
#[must_use]
pub fn encode(score: f64) -> u64 {
    let bits = if score == 0.0 { 0 } else { score.to_bits() };
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// The inverse of [`encode`]; zero is the positive one.
#[must_use]
pub const fn decode(ordered: u64) -> f64 {
    f64::from_bits(if ordered & SIGN == 0 { !ordered } else { ordered & !SIGN })
}

/// Whether a number is that of a score. Without comparing floats: this runs for every member of a range.
#[inline(always)]
#[must_use]
pub const fn is_one(number: u64) -> bool {
    const LEAST: u64 = !f64::NEG_INFINITY.to_bits();
    const RANGE: u64 = (f64::INFINITY.to_bits() | SIGN) - LEAST;
    // The negative zero would have this one.
    number.wrapping_sub(LEAST) <= RANGE && number != !SIGN
}
