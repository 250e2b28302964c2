//! Rounding to a binary floating point format: the one place where a number loses bits.

use super::literal::Digits;

/// A positive number on its way to a format: `significand * 2^exponent`, or a little more if `inexact`.
///
/// An inexact number carries at least two bits more than the format's precision, so that rounding sees the half.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unrounded {
    pub(super) significand: u128,
    pub(super) exponent: i64,
    pub(super) inexact: bool,
}

/// A binary floating point format; exponents are those of the significand's last bit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    /// Bits of the significand, at most 64.
    pub(super) precision: u32,
    /// The exponent of subnormal numbers.
    pub(super) min_exponent: i64,
    pub(super) max_exponent: i64,
}

impl Unrounded {
    /// The number that hexadecimal `digits` say.
    pub(super) fn from_hexadecimal(digits: &Digits<'_>) -> Self {
        let mut number = Self { significand: 0, exponent: digits.exponent_of_last_digit(4), inexact: false };
        for digit in digits.significant() {
            if number.significand >> 124 == 0 {
                number.significand = number.significand << 4 | u128::from(digit);
            } else {
                number.exponent = number.exponent.saturating_add(4);
                number.inexact |= digit != 0;
            }
        }
        number
    }

    /// Rounds to the nearest number of `format`, ties to even, and returns its significand and exponent.
    ///
    /// The significand fills the precision unless the number is subnormal or zero. `None` if the number is too large.
    pub(super) fn round(self, format: Format) -> Option<(u64, i64)> {
        if self.significand == 0 {
            return Some((0, format.min_exponent));
        }
        let length = i64::from(u128::BITS - self.significand.leading_zeros());
        let surplus = length - i64::from(format.precision);
        let dropped = surplus.max(format.min_exponent.saturating_sub(self.exponent));
        if dropped > i64::from(u128::BITS) {
            return Some((0, format.min_exponent));
        }
        let exponent = self.exponent.saturating_add(dropped);
        let Ok(dropped) = u32::try_from(dropped) else {
            let significand = self.significand.checked_shl(u32::try_from(-dropped).ok()?)?;
            return format.in_range(significand, exponent);
        };
        let kept = self.significand.checked_shr(dropped).unwrap_or(0);
        let rounded = if self.rounds_up(kept, dropped) { kept + 1 } else { kept };
        if rounded >> format.precision == 0 {
            format.in_range(rounded, exponent)
        } else {
            format.in_range(rounded >> 1, exponent.saturating_add(1))
        }
    }

    fn rounds_up(self, kept: u128, dropped: u32) -> bool {
        let Some(half) = dropped.checked_sub(1).and_then(|bit| 1_u128.checked_shl(bit)) else {
            // Nothing was dropped.
            return false;
        };
        let rest = self.significand & (half | (half - 1));
        rest > half || rest == half && (self.inexact || kept % 2 == 1)
    }
}

impl Format {
    fn in_range(self, significand: u128, exponent: i64) -> Option<(u64, i64)> {
        let significand = u64::try_from(significand).ok()?;
        (exponent <= self.max_exponent).then_some((significand, exponent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR_BITS: Format = Format { precision: 4, min_exponent: -10, max_exponent: 10 };

    fn round(significand: u128, exponent: i64, inexact: bool) -> Option<(u64, i64)> {
        Unrounded { significand, exponent, inexact }.round(FOUR_BITS)
    }

    #[test]
    fn a_short_number_is_brought_to_full_precision() {
        assert_eq!(round(1, 0, false), Some((8, -3)));
        assert_eq!(round(0b1001, 5, false), Some((9, 5)));
    }

    #[test]
    fn ties_go_to_even_unless_the_number_is_a_little_more() {
        assert_eq!(round(0b100110, 0, false), Some((0b1010, 2)));
        assert_eq!(round(0b100010, 0, false), Some((0b1000, 2)));
        assert_eq!(round(0b100010, 0, true), Some((0b1001, 2)));
        assert_eq!(round(0b100001, 0, true), Some((0b1000, 2)));
    }

    #[test]
    fn a_carry_moves_to_the_next_exponent() {
        assert_eq!(round(0b11111, 0, false), Some((0b1000, 2)));
    }

    #[test]
    fn a_number_beyond_the_largest_is_refused() {
        assert_eq!(round(0b1111, 10, false), Some((0b1111, 10)));
        assert_eq!(round(0b11111, 9, false), None);
        assert_eq!(round(1, i64::MAX, false), None);
    }

    #[test]
    fn a_small_number_loses_precision_before_it_becomes_zero() {
        assert_eq!(round(0b1011, -12, false), Some((0b11, -10)));
        assert_eq!(round(0b1, -11, false), Some((0, -10)));
        assert_eq!(round(0b1, -11, true), Some((1, -10)));
        assert_eq!(round(u128::MAX, -10_000, true), Some((0, -10)));
        assert_eq!(round(1, i64::MIN, false), Some((0, -10)));
    }
}
