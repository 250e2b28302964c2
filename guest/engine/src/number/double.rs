//! Doubles: the scores of sorted sets, distances and other replies of type double.

use super::binary::{Format, Unrounded};
use super::grisu;
use super::literal::{Literal, Magnitude};

/// IEEE 754 binary64.
const DOUBLE: Format = Format { precision: 53, min_exponent: -1074, max_exponent: 971 };

/// Integers up to this magnitude (2^62) are written digit by digit.
const MAX_PLAIN_INTEGER: f64 = 4_611_686_018_427_387_904.0;

/// Reads a double as Redis reads scores and other float arguments (C's `strtod` on the whole text).
///
/// Accepted are decimal and hexadecimal digits with an optional sign, point and exponent, and `inf` or `infinity` in any
/// case. `None` for NaN, the empty text, spaces, anything after the number, and for a number that would overflow to
/// infinity or vanish to zero. The result is correctly rounded and may be subnormal.
#[must_use]
pub fn parse_double(text: &[u8]) -> Option<f64> {
    if let Some(integer) = parse_short_integer(text) {
        return Some(f64::from(integer));
    }
    let literal = Literal::parse(text)?;
    let magnitude = match literal.magnitude {
        Magnitude::Infinity => f64::INFINITY,
        Magnitude::Decimal(digits) => {
            let value = str::from_utf8(text).ok()?.parse::<f64>().ok()?.abs();
            if value.is_infinite() || value == 0.0 && !digits.is_zero() {
                return None;
            }
            value
        }
        Magnitude::Hexadecimal(digits) => {
            let (significand, exponent) = Unrounded::from_hexadecimal(&digits).round(DOUBLE)?;
            if significand == 0 && !digits.is_zero() {
                return None;
            }
            from_parts(significand, exponent)?
        }
    };
    Some(if literal.negative { -magnitude } else { magnitude })
}

/// Reads up to nine digits, of which most scores are.
fn parse_short_integer(text: &[u8]) -> Option<u32> {
    if text.is_empty() || text.len() > 9 {
        return None;
    }
    text.iter().try_fold(0, |number, byte| Some(number * 10 + u32::from(byte.checked_sub(b'0').filter(|digit| *digit <= 9)?)))
}

/// Writes a double as Redis 7.2 does in replies, with RESP2 and RESP3 alike (`d2string`).
///
/// * `inf`, `-inf` and `nan`; zero is `0` or `-0`.
/// * Integers up to 2^62 have all their digits: `3`, `-17`, `100000000000000000`.
/// * Anything else has digits that read back as the same double, seldom more than needed, laid out by the power of
///   ten of the last digit: up to 10^7 without a point (`46116860184273880000`); from 10^-6, or if the number is at least
///   0.001 and below 10000, with a point (`0.1`, `3.0000000000000004`, `0.000001`); else with an exponent (`1e+20`,
///   `1.5e-7`).
#[must_use]
pub fn format_double(value: f64) -> String {
    lend_double(value, str::to_owned)
}

/// As [`format_double`], for who only looks at the text.
pub fn lend_double<T>(value: f64, look: impl FnOnce(&str) -> T) -> T {
    match to_integer(value) {
        Some(integer) => look(itoa::Buffer::new().format(integer)),
        None => look(&format_other(value)),
    }
}

/// The integer that a double is, up to [`MAX_PLAIN_INTEGER`]; `None` where it is none, and for -0.
fn to_integer(value: f64) -> Option<i64> {
    if value == 0.0 {
        return value.is_sign_positive().then_some(0);
    }
    if value.abs() < 1.0 || value.abs() > MAX_PLAIN_INTEGER || value.is_nan() {
        return None;
    }
    let (bits, fraction_bits) = (value.to_bits(), DOUBLE.precision - 1);
    let hidden_bit = 1_u64 << fraction_bits;
    let significand = i64::try_from(bits & (hidden_bit - 1) | hidden_bit).ok()?;
    // What the significand is to be multiplied by, or divided: a power of two.
    let exponent = i64::try_from(bits >> fraction_bits & 0x7ff).ok()? + DOUBLE.min_exponent - 1;
    let power = u32::try_from(exponent.unsigned_abs()).ok()?;
    let magnitude = if exponent >= 0 { significand << power } else { significand >> power };
    let is_whole = exponent >= 0 || significand.trailing_zeros() >= power;
    is_whole.then_some(if value.is_sign_negative() { -magnitude } else { magnitude })
}

/// Writes what is no integer, -0, and integers above [`MAX_PLAIN_INTEGER`].
fn format_other(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() || value == 0.0 {
        // This format writes inf, -inf and -0 as Redis does.
        return format!("{value:.0}");
    }
    let (digits, exponent) = grisu::digits(value.abs());
    let magnitude = lay_out(&digits.to_string(), exponent);
    if value.is_sign_negative() { format!("-{magnitude}") } else { magnitude }
}

/// Writes `digits * 10^exponent`.
fn lay_out(digits: &str, exponent: i32) -> String {
    let length = i32::try_from(digits.len()).unwrap_or(i32::MAX);
    // Digits before the point; zero or less counts the zeros after it.
    let point = length + exponent;
    let leading_exponent = point - 1;
    if (0..8).contains(&exponent) {
        let zeros = usize::try_from(exponent).unwrap_or(0);
        format!("{digits}{:0<zeros$}", "")
    } else if exponent < 0 && (exponent > -7 || leading_exponent.abs() < 4) {
        match usize::try_from(point).ok().filter(|point| *point > 0).and_then(|point| digits.split_at_checked(point)) {
            Some((whole, fraction)) => format!("{whole}.{fraction}"),
            None => {
                let zeros = usize::try_from(point.unsigned_abs()).unwrap_or(0);
                format!("0.{:0<zeros$}{digits}", "")
            }
        }
    } else {
        let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
        let dot = if rest.is_empty() { "" } else { "." };
        format!("{first}{dot}{rest}e{leading_exponent:+}")
    }
}

/// The double of a significand and exponent that are already rounded to [`DOUBLE`].
fn from_parts(significand: u64, exponent: i64) -> Option<f64> {
    let fraction_bits = DOUBLE.precision - 1;
    let hidden_bit = 1_u64 << fraction_bits;
    if significand < hidden_bit {
        return Some(f64::from_bits(significand));
    }
    let stored_exponent = u64::try_from(exponent - DOUBLE.min_exponent + 1).ok()?;
    Some(f64::from_bits(stored_exponent << fraction_bits | (significand - hidden_bit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<f64> {
        parse_double(text.as_bytes())
    }

    #[test]
    fn decimal_texts_are_read() {
        let accepted = [
            ("0", 0.0),
            ("+1", 1.0),
            ("1.", 1.0),
            (".5", 0.5),
            ("-012.50e1", -125.0),
            ("1E-3", 0.001),
            ("0e999999999999999999999", 0.0),
            ("4e-324", f64::from_bits(1)),
            ("1.7976931348623157e308", f64::MAX),
            ("9007199254740993", 9_007_199_254_740_992.0),
            ("007", 7.0),
            ("999999999", 999_999_999.0),
            ("0000000001", 1.0),
        ];
        for (text, value) in accepted {
            assert_eq!(parsed(text), Some(value), "{text:?}");
        }
        assert!(parsed("-0").unwrap().is_sign_negative());
    }

    #[test]
    fn hexadecimal_texts_are_read_and_rounded() {
        let accepted = [
            ("0x10", 16.0),
            ("-0X.8P1", -1.0),
            ("0x1.8", 1.5),
            ("0x0p99999999999999999999", 0.0),
            ("0x1p-1074", f64::from_bits(1)),
            ("0x1.00000001p-1075", f64::from_bits(1)),
            ("0x1p-1022", f64::MIN_POSITIVE),
            ("0x1.fffffffffffff7ffp1023", f64::MAX),
            ("0x20000000000001", 9_007_199_254_740_992.0),
            ("0x20000000000001.00000000000000000000000000001", 9_007_199_254_740_994.0),
        ];
        for (text, value) in accepted {
            assert_eq!(parsed(text), Some(value), "{text:?}");
        }
    }

    #[test]
    fn infinity_is_a_score() {
        assert_eq!(parsed("inf"), Some(f64::INFINITY));
        assert_eq!(parsed("+Infinity"), Some(f64::INFINITY));
        assert_eq!(parsed("-INF"), Some(f64::NEG_INFINITY));
    }

    #[test]
    fn a_number_out_of_range_is_refused() {
        let refused = [
            "1e400",
            "-1e400",
            "1e-400",
            "-1e-400",
            "2e-324",
            "1e-9999999999999999999999",
            "1e9999999999999999999999",
            "0x1p1024",
            "0x1.fffffffffffff8p1023",
            "0x1p-1075",
            "nan",
            "",
            " 1",
            "1 ",
            "1\0",
            "1e",
            "0x",
            "\u{661}",
        ];
        for text in refused {
            assert_eq!(parsed(text), None, "{text:?}");
        }
    }

    #[test]
    fn doubles_are_written_as_redis_writes_them() {
        let written = [
            (0.0, "0"),
            (-0.0, "-0"),
            (3.0, "3"),
            (-17.0, "-17"),
            (1.0, "1"),
            (1.5, "1.5"),
            (-4_611_686_018_427_387_904.0, "-4611686018427387904"),
            (9_007_199_254_740_991.0, "9007199254740991"),
            (-9_007_199_254_740_992.0, "-9007199254740992"),
            (4_503_599_627_370_495.5, "4503599627370495.5"),
            (4_503_599_627_370_497.0, "4503599627370497"),
            (1e17, "100000000000000000"),
            (4_611_686_018_427_387_904.0, "4611686018427387904"),
            (4_611_686_018_427_388_928.0, "4611686018427389000"),
            (-4_611_686_018_427_388_928.0, "-4611686018427389000"),
            (1e19, "1e+19"),
            (1e20, "1e+20"),
            (12_345_678_901_234_567_000.0, "12345678901234567000"),
            (1.234_567_8e27, "1.2345678e+27"),
            (1.5e300, "1.5e+300"),
            (1e100, "1e+100"),
            (f64::MAX, "1.7976931348623157e+308"),
            (0.1, "0.1"),
            (-0.1, "-0.1"),
            (0.1 + 0.2, "0.30000000000000004"),
            (3.000_000_000_000_000_4, "3.0000000000000004"),
            (1_234.567_890_123_456_7, "1234.5678901234567"),
            (12_345.5, "12345.5"),
            (12_345.678_912, "12345.678912"),
            (12_345.678_912_345, "1.2345678912345e+4"),
            (123_456.123_456_789, "1.23456123456789e+5"),
            (0.001, "0.001"),
            (0.000_001, "0.000001"),
            (0.000_001_5, "1.5e-6"),
            (0.000_000_1, "1e-7"),
            (0.000_000_15, "1.5e-7"),
            (0.001_234_567_890_123, "0.001234567890123"),
            (0.000_123_456_789, "1.23456789e-4"),
            (1e-10, "1e-10"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
            (f64::from_bits(1), "5e-324"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ];
        for (value, text) in written {
            assert_eq!(format_double(value), text, "{value:e}");
        }
    }
}
