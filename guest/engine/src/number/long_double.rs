//! The x87 extended format (a "long double" of C on x86-64), in which Redis computes INCRBYFLOAT and HINCRBYFLOAT.
//!
//! No Rust target computes in it, so it is computed in integers: 128 bits wide for everyday numbers, unbounded for long
//! or extreme ones.

use std::ops::Add;

use num_bigint::BigUint;

use super::binary::{Format, Unrounded};
use super::literal::{Digits, Literal, Magnitude};

const EXTENDED: Format = Format { precision: 64, min_exponent: -16_445, max_exponent: 16_320 };

/// Texts of this many bytes and more are refused (`MAX_LONG_DOUBLE_CHARS` of Redis).
const MAX_TEXT_BYTES: usize = 5 * 1024;

/// Numbers of 10^this and more overflow.
const OVERFLOW_POWER: i64 = 4933;
/// Numbers below 10^this vanish.
const UNDERFLOW_POWER: i64 = -4951;

/// Fractions are written with this many decimals, before trailing zeros are taken away.
const DECIMALS: u32 = 17;

/// A number of 64 significant bits and magnitudes up to about 1.19e4932.
///
/// It has what [INCRBYFLOAT](https://redis.io/docs/latest/commands/incrbyfloat/) needs: reading, addition, and writing.
#[derive(Debug, Clone, Copy)]
pub struct LongDouble(Class);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    NotANumber,
    Infinite { negative: bool },
    Finite(Finite),
}

/// `significand * 2^exponent`; the highest bit of the significand is set unless the number is subnormal or zero, whose
/// exponent is the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Finite {
    negative: bool,
    significand: u64,
    exponent: i64,
}

impl LongDouble {
    /// The value of an absent key or field.
    pub const ZERO: Self = Self(Class::Finite(Finite { negative: false, significand: 0, exponent: EXTENDED.min_exponent }));

    /// Reads a number as INCRBYFLOAT reads its increment and the stored value (C's `strtold` on the whole text).
    ///
    /// Accepted are decimal and hexadecimal digits with an optional sign, point and exponent, and `inf` or `infinity` in
    /// any case. `None` for NaN, the empty text, texts of 5120 bytes and more, spaces, anything after the number, and for
    /// a number that would overflow to infinity or vanish to zero. The result is correctly rounded and may be subnormal.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.len() >= MAX_TEXT_BYTES {
            return None;
        }
        let Literal { negative, magnitude } = Literal::parse(text)?;
        let (unrounded, is_zero) = match magnitude {
            Magnitude::Infinity => return Some(Self(Class::Infinite { negative })),
            Magnitude::Hexadecimal(digits) => (Unrounded::from_hexadecimal(&digits), digits.is_zero()),
            Magnitude::Decimal(digits) => (decimal(&digits)?, digits.is_zero()),
        };
        let (significand, exponent) = unrounded.round(EXTENDED)?;
        let vanished = significand == 0 && !is_zero;
        (!vanished).then_some(Self(Class::Finite(Finite { negative, significand, exponent })))
    }

    /// Whether this is the sum of infinities of opposite signs.
    #[must_use]
    pub fn is_nan(self) -> bool {
        self.0 == Class::NotANumber
    }

    /// Whether this is positive or negative infinity.
    #[must_use]
    pub fn is_infinite(self) -> bool {
        matches!(self.0, Class::Infinite { .. })
    }

    /// A thousand times the number, rounded up to an integer: seconds as milliseconds. What is beyond 64 bits (and no NaN) is the
    /// integer nearest to it; NaN is 0.
    #[must_use]
    pub fn ceil_of_thousandfold(self) -> i64 {
        match self.0 {
            Class::NotANumber => 0,
            Class::Infinite { negative } => limit(negative),
            Class::Finite(Finite { negative, significand, exponent }) => {
                let product = Unrounded { significand: u128::from(significand) * 1000, exponent, inexact: false };
                let product = product.round(EXTENDED).map(|(significand, exponent)| Finite { negative, significand, exponent });
                product.and_then(Finite::ceil).unwrap_or(limit(negative))
            }
        }
    }

    /// Writes the number as INCRBYFLOAT stores and replies it (`ld2string` in human mode).
    ///
    /// All digits before the point, at most 17 after it, rounded to nearest with ties to even; no exponent, no trailing
    /// zeros, no point at the end, and never `-0`: `10.6`, `5200`, `0.00000000000000001`. At most 4934 bytes.
    #[must_use]
    pub fn format_human(self) -> String {
        match self.0 {
            Class::NotANumber => "nan".to_owned(),
            Class::Infinite { negative: false } => "inf".to_owned(),
            Class::Infinite { negative: true } => "-inf".to_owned(),
            Class::Finite(number) => number.format_human(),
        }
    }
}

impl Add for LongDouble {
    type Output = Self;

    /// The sum, rounded once to nearest, ties to even.
    ///
    /// Too large a sum is infinite; infinities of opposite signs add up to NaN.
    fn add(self, other: Self) -> Self {
        Self(match (self.0, other.0) {
            (Class::Finite(left), Class::Finite(right)) => left.plus(right),
            (Class::Infinite { negative: left }, Class::Infinite { negative: right }) if left != right => Class::NotANumber,
            (Class::NotANumber, _) | (_, Class::NotANumber) => Class::NotANumber,
            (infinite @ Class::Infinite { .. }, _) | (_, infinite) => infinite,
        })
    }
}

impl Finite {
    fn plus(self, other: Self) -> Class {
        if other.significand == 0 || self.significand == 0 {
            let nonzero = if self.significand == 0 { other } else { self };
            let both_negative = self.negative && other.negative;
            let negative = if nonzero.significand == 0 { both_negative } else { nonzero.negative };
            return Class::Finite(Self { negative, ..nonzero });
        }
        let is_larger = (self.exponent, self.significand) >= (other.exponent, other.significand);
        let (larger, smaller) = if is_larger { (self, other) } else { (other, self) };

        // The larger one with room for a carry above it. Bits that the smaller one loses below matter as one: they are
        // far below the sum's last bit.
        let headroom = 62;
        let base = u128::from(larger.significand) << headroom;
        let addend = u128::from(smaller.significand) << headroom;
        let distance = u32::try_from(larger.exponent - smaller.exponent).unwrap_or(u32::MAX);
        let shifted = addend.checked_shr(distance).unwrap_or(0);
        let inexact = shifted.checked_shl(distance) != Some(addend);

        let significand = if larger.negative == smaller.negative {
            base + shifted
        } else {
            // What was lost is missing from the difference, so the difference is a little more than one unit less.
            base - shifted - u128::from(inexact)
        };
        if significand == 0 {
            return LongDouble::ZERO.0;
        }
        let sum = Unrounded { significand, exponent: larger.exponent - i64::from(headroom), inexact };
        match sum.round(EXTENDED) {
            Some((significand, exponent)) => Class::Finite(Self { negative: larger.negative, significand, exponent }),
            None => Class::Infinite { negative: larger.negative },
        }
    }

    /// The least integer that is not less; `None` beyond 64 bits.
    fn ceil(self) -> Option<i64> {
        let significand = u128::from(self.significand);
        let magnitude = match u32::try_from(self.exponent) {
            Ok(exponent) if significand == 0 || exponent < 64 => significand.checked_shl(exponent)?,
            Ok(_) => return None,
            Err(_) => {
                let fraction_bits = u32::try_from(self.exponent.unsigned_abs()).unwrap_or(u32::MAX);
                let whole = significand.checked_shr(fraction_bits).unwrap_or(0);
                let is_exact = whole.checked_shl(fraction_bits) == Some(significand) || significand == 0;
                whole + u128::from(!is_exact && !self.negative)
            }
        };
        let magnitude = i64::try_from(magnitude).ok()?;
        Some(if self.negative { -magnitude } else { magnitude })
    }

    fn format_human(self) -> String {
        let significand = u128::from(self.significand);
        let text = match (u32::try_from(self.exponent), u32::try_from(-self.exponent)) {
            (Ok(exponent), _) if exponent <= 64 => (significand << exponent).to_string(),
            (Ok(exponent), _) => (BigUint::from(significand) << exponent).to_string(),
            (_, Ok(fraction_bits)) => with_decimals(significand, fraction_bits),
            _ => "0".to_owned(),
        };
        if self.negative && text != "0" { format!("-{text}") } else { text }
    }
}

const fn limit(negative: bool) -> i64 {
    if negative { i64::MIN } else { i64::MAX }
}

/// Writes `significand / 2^fraction_bits` for a significand of up to 64 bits.
fn with_decimals(significand: u128, fraction_bits: u32) -> String {
    let whole = significand.checked_shr(fraction_bits).unwrap_or(0);
    let fraction = significand - whole.checked_shl(fraction_bits).unwrap_or(0);
    // Below 2^64 * 10^17, which is below 2^121.
    let scaled = fraction * 10_u128.pow(DECIMALS);
    let decimals = scaled.checked_shr(fraction_bits).unwrap_or(0);
    let rest = scaled - decimals.checked_shl(fraction_bits).unwrap_or(0);
    let rounds_up = match fraction_bits.checked_sub(1).and_then(|bit| 1_u128.checked_shl(bit)) {
        Some(half) => rest > half || rest == half && decimals % 2 == 1,
        None => false,
    };
    let decimals = decimals + u128::from(rounds_up);
    let one = 10_u128.pow(DECIMALS);
    let whole = whole + decimals / one;
    let width = usize::try_from(DECIMALS).unwrap_or(0);
    let text = format!("{whole}.{:0width$}", decimals % one);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The number that decimal `digits` say; `None` if it is far too large, zero if it is far too small.
fn decimal(digits: &Digits<'_>) -> Option<Unrounded> {
    let exponent = digits.exponent_of_last_digit(1);
    if let Some(number) = short_decimal(digits, exponent) {
        return Some(number);
    }
    let digits: Vec<u8> = digits.significant().collect();
    let power = exponent.saturating_add(i64::try_from(digits.len()).ok()?);
    if power > OVERFLOW_POWER {
        return None;
    }
    if power < UNDERFLOW_POWER {
        return Some(Unrounded { significand: 0, exponent: 0, inexact: true });
    }
    let integer = BigUint::from_radix_be(&digits, 10)?;
    let power_of_five = BigUint::from(5_u32).pow(u32::try_from(exponent.unsigned_abs()).ok()?);
    if exponent >= 0 {
        return leading_bits(&(integer * power_of_five), exponent, false);
    }
    // Enough bits in front of the division to get 128 out of it.
    let shift = (power_of_five.bits() + u64::from(u128::BITS)).saturating_sub(integer.bits());
    let dividend = integer << shift;
    let quotient = &dividend / &power_of_five;
    let inexact = &quotient * power_of_five != dividend;
    leading_bits(&quotient, exponent.saturating_sub(i64::try_from(shift).ok()?), inexact)
}

/// The number in 128 bits, if it has few enough digits and a small enough exponent: `None` otherwise.
fn short_decimal(digits: &Digits<'_>, exponent: i64) -> Option<Unrounded> {
    let integer = digits.significant().try_fold(0_u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(digit)))?;
    if integer == 0 {
        return Some(Unrounded { significand: 0, exponent: 0, inexact: false });
    }
    // 5^27 is the largest power of five in 63 bits.
    let power = u32::try_from(exponent.unsigned_abs()).ok().filter(|power| *power <= 27)?;
    let power_of_five = 5_u128.pow(power);
    if exponent >= 0 {
        return Some(Unrounded { significand: u128::from(integer) * power_of_five, exponent, inexact: false });
    }
    // A dividend of 128 bits by a divisor of 63 leaves at least 65.
    let shift = u128::from(integer).leading_zeros();
    let dividend = u128::from(integer) << shift;
    Some(Unrounded { significand: dividend / power_of_five, exponent: exponent - i64::from(shift), inexact: dividend % power_of_five != 0 })
}

/// The first 128 bits of `integer * 2^exponent`, or a little more of it if `inexact`.
fn leading_bits(integer: &BigUint, exponent: i64, inexact: bool) -> Option<Unrounded> {
    let surplus = integer.bits().saturating_sub(u64::from(u128::BITS));
    let significand = u128::try_from(integer >> surplus).ok()?;
    Some(Unrounded {
        significand,
        exponent: exponent.saturating_add(i64::try_from(surplus).ok()?),
        inexact: inexact || integer.trailing_zeros().is_some_and(|zeros| zeros < surplus),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<LongDouble> {
        LongDouble::parse(text.as_bytes())
    }

    fn sum(left: &str, right: &str) -> LongDouble {
        parsed(left).unwrap() + parsed(right).unwrap()
    }

    #[test]
    fn sums_are_those_of_a_real_redis() {
        // Value, increment and reply of INCRBYFLOAT, taken from Redis 7.0.15 on x86-64.
        let replies = [
            ("0", "0", "0"),
            ("0", "-0", "0"),
            ("-0", "-0", "0"),
            ("0.1", "0.2", "0.3"),
            ("10.50", "0.1", "10.6"),
            ("5.0e3", "2.0e2", "5200"),
            ("5.0e3", "-2.0e2", "4800"),
            ("1", "-1", "0"),
            ("1.5", "-1.5", "0"),
            ("3", "0.7", "3.7"),
            ("-0.1", "-0.2", "-0.3"),
            ("100", ".5", "100.5"),
            ("1.", "1", "2"),
            ("+1", "+1", "2"),
            ("007", "1", "8"),
            ("1e20", "1", "100000000000000000000"),
            ("1e19", "1", "10000000000000000001"),
            ("18446744073709551615", "1", "18446744073709551616"),
            ("36893488147419103232", "1", "36893488147419103232"),
            ("36893488147419103233", "1", "36893488147419103232"),
            ("36893488147419103233", "2", "36893488147419103232"),
            ("9223372036854775807", "1", "9223372036854775808"),
            ("-9223372036854775808", "-1", "-9223372036854775809"),
            ("0", "1e-17", "0.00000000000000001"),
            ("0", "1e-18", "0"),
            ("0", "-1e-18", "0"),
            ("0", "0x1p-18", "0.00000381469726562"),
            ("0", "0x3p-18", "0.00001144409179688"),
            ("1", "0x1p-63", "1"),
            ("1", "0x1p-64", "1"),
            ("1", "0x1.8p-64", "1"),
            ("1", "-0x1p-64", "1"),
            ("1", "-0x1p-65", "1"),
            ("1", "1e-4900", "1"),
            ("0x10", "0x1p-3", "16.125"),
            ("0X.8P1", "0", "1"),
            ("0xffffffffffffffff8", "0", "295147905179352825856"),
            ("1.1", "1.1", "2.2"),
            ("3.0e0", "0.000000000000000001", "3"),
            ("0.99999999999999999", "0.000000000000000009", "1"),
            ("12345678901234567890.123", "0.001", "12345678901234567890"),
            ("1e25", "-1e25", "0"),
            ("123456789.123456789", "987654321.987654321", "1111111111.11111110995989293"),
            ("1e-4940", "0", "0"),
            ("3.6451995318824746e-4951", "0", "0"),
            ("1e30", "1e-30", "1000000000000000000024696061952"),
            ("1.7976931348623157e308", "-1.7976931348623157e308", "0"),
            ("79228162514264337593543950336", "-1", "79228162514264337593543950336"),
            ("0.3333333333333333333333333333333333", "0.6666666666666666666666666666666667", "1"),
            ("2.5e-17", "0", "0.00000000000000002"),
            ("0.000000000000000005", "0", "0"),
        ];
        for (value, increment, reply) in replies {
            assert_eq!(sum(value, increment).format_human(), reply, "{value:?} {increment:?}");
        }
    }

    #[test]
    fn an_absent_value_counts_as_zero() {
        assert_eq!((LongDouble::ZERO + parsed("-1.5").unwrap()).format_human(), "-1.5");
        assert_eq!((LongDouble::ZERO + parsed("-0").unwrap()).format_human(), "0");
    }

    #[test]
    fn a_small_addend_decides_a_tie() {
        // Above 2^65 the numbers are four apart, so two more is a tie, which goes to even.
        assert_eq!(sum("36893488147419103236", "2").format_human(), "36893488147419103240");
        assert_eq!(sum("36893488147419103232", "2").format_human(), "36893488147419103232");
        assert_eq!(sum("36893488147419103232", "2.0000001").format_human(), "36893488147419103236");
        assert_eq!(sum("36893488147419103236", "-2").format_human(), "36893488147419103232");
        assert_eq!(sum("36893488147419103236", "-1.9999999").format_human(), "36893488147419103236");
    }

    #[test]
    fn the_largest_numbers_are_written_in_full() {
        let text = sum("1e4931", "1e4931").format_human();
        assert_eq!(text.len(), 4932);
        assert!(text.starts_with("200000000000000000001203789877592778264767554850906622954757"));
        assert!(text.ends_with("232628217307683622758377324544"));
        let text = sum("-1.18973149535723176502e+4932", "1e4900").format_human();
        assert_eq!(text.len(), 4934);
        assert!(text.ends_with("444156604419552086811989770240"));
    }

    #[test]
    fn a_sum_beyond_the_largest_number_is_infinite() {
        let largest = "1.18973149535723176502e+4932";
        assert!(!sum(largest, "0x1p16318").is_infinite());
        assert!(sum(largest, "0x1p16319").is_infinite());
        assert!(sum("1e4932", "1e4932").is_infinite());
        assert_eq!(sum("-1e4932", "-1e4932").format_human(), "-inf");
    }

    #[test]
    fn infinities_add_up_to_infinity_or_nan() {
        assert!(sum("inf", "1").is_infinite());
        assert!(sum("1", "-Infinity").is_infinite());
        assert!(sum("inf", "inf").is_infinite());
        assert!(sum("inf", "-inf").is_nan());
        assert!((sum("inf", "-inf") + LongDouble::ZERO).is_nan());
        assert!(!sum("1", "2").is_nan());
    }

    #[test]
    fn a_thousandfold_is_rounded_up() {
        let milliseconds = [
            ("0", 0),
            ("0.1", 100),
            ("1.001", 1001),
            ("0.0001", 1),
            ("1e-4940", 1),
            ("-0.0001", 0),
            ("-1.0005", -1000),
            ("1.0005", 1001),
            ("0x10", 16_000),
            ("9223372036854775", 9_223_372_036_854_775_000),
            ("9223372036854776", i64::MAX),
            ("1e30", i64::MAX),
            ("inf", i64::MAX),
            ("-1e4000", i64::MIN),
        ];
        for (seconds, expected) in milliseconds {
            assert_eq!(parsed(seconds).unwrap().ceil_of_thousandfold(), expected, "{seconds:?}");
        }
    }

    #[test]
    fn a_number_out_of_range_is_refused() {
        let refused = [
            "",
            "nan",
            " 1",
            "1 ",
            "1e",
            "0x",
            "1e4933",
            "-1e4933",
            "1.189731495357231765085759326628007016196469e4932",
            "1e99999999999999999999",
            "0x1p16384",
            "1e-4951",
            "-1e-5000",
            "1e-99999999999999999999",
            "0x1p-16446",
        ];
        for text in refused {
            assert!(parsed(text).is_none(), "{text:?}");
        }
        for text in ["0e99999999999999999999", "0x1p16383", "0x1p-16445", "0x1.1p-16446"] {
            assert!(parsed(text).is_some(), "{text:?}");
        }
    }

    #[test]
    fn a_text_of_five_kibibytes_is_refused() {
        let longest = format!("0.{}", "7".repeat(MAX_TEXT_BYTES - 3));
        assert_eq!(sum(&longest, "0").format_human(), "0.77777777777777778");
        assert!(parsed(&format!("{longest}7")).is_none());
    }
}
