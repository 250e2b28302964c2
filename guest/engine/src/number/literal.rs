//! The grammar of C's `strtod`, as far as Redis accepts it: one number, the whole text, no spaces, no NaN.

/// A floating point number as written.
#[derive(Debug, PartialEq)]
pub(super) struct Literal<'a> {
    pub(super) negative: bool,
    pub(super) magnitude: Magnitude<'a>,
}

/// What follows the sign.
#[derive(Debug, PartialEq)]
pub(super) enum Magnitude<'a> {
    Infinity,
    Decimal(Digits<'a>),
    Hexadecimal(Digits<'a>),
}

/// Digits around a point, at least one of them.
#[derive(Debug, PartialEq)]
pub(super) struct Digits<'a> {
    whole: &'a [u8],
    fraction: &'a [u8],
    /// Of ten in a decimal number, of two in a hexadecimal one; clamped to [`EXPONENT_LIMIT`].
    exponent: i64,
}

/// Far beyond what any length of digits could bring back into range, and far from overflow.
const EXPONENT_LIMIT: i64 = 1 << 48;

impl<'a> Literal<'a> {
    /// Reads the whole `text` as a number; `None` if it is not one.
    pub(super) fn parse(text: &'a [u8]) -> Option<Self> {
        let (negative, rest) = split_sign(text);
        let magnitude = if rest.eq_ignore_ascii_case(b"inf") || rest.eq_ignore_ascii_case(b"infinity") {
            Magnitude::Infinity
        } else if let [b'0', b'x' | b'X', rest @ ..] = rest {
            Magnitude::Hexadecimal(Digits::parse(rest, u8::is_ascii_hexdigit, b'p')?)
        } else {
            Magnitude::Decimal(Digits::parse(rest, u8::is_ascii_digit, b'e')?)
        };
        Some(Self { negative, magnitude })
    }
}

impl<'a> Digits<'a> {
    fn parse(text: &'a [u8], is_digit: fn(&u8) -> bool, exponent_mark: u8) -> Option<Self> {
        let (whole, rest) = split_digits(text, is_digit);
        let (fraction, rest) = match rest {
            [b'.', rest @ ..] => split_digits(rest, is_digit),
            _ => (&[][..], rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let exponent = match rest {
            [] => 0,
            [mark, exponent @ ..] if mark.eq_ignore_ascii_case(&exponent_mark) => parse_exponent(exponent)?,
            _ => return None,
        };
        Some(Self { whole, fraction, exponent })
    }

    /// The values of the digits, most significant first, without leading zeros.
    pub(super) fn significant(&self) -> impl Iterator<Item = u8> {
        let all = self.whole.iter().chain(self.fraction);
        all.filter_map(|digit| char::from(*digit).to_digit(16)).filter_map(|value| u8::try_from(value).ok()).skip_while(|value| *value == 0)
    }

    /// Whether every digit is 0.
    pub(super) fn is_zero(&self) -> bool {
        self.significant().next().is_none()
    }

    /// The exponent that applies to the digits read as one integer; a digit is worth `step` exponents.
    pub(super) fn exponent_of_last_digit(&self, step: i64) -> i64 {
        let fraction_length = i64::try_from(self.fraction.len()).unwrap_or(EXPONENT_LIMIT);
        self.exponent.saturating_sub(fraction_length.saturating_mul(step))
    }
}

fn split_sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    }
}

fn split_digits(text: &[u8], is_digit: fn(&u8) -> bool) -> (&[u8], &[u8]) {
    let length = text.iter().take_while(|byte| is_digit(byte)).count();
    text.split_at_checked(length).unwrap_or((text, &[]))
}

fn parse_exponent(text: &[u8]) -> Option<i64> {
    let (negative, digits) = split_sign(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let magnitude = digits.iter().fold(0_i64, |value, digit| {
        let value = value.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
        value.min(EXPONENT_LIMIT)
    });
    Some(if negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_strtod_would_not_read_whole_is_refused() {
        let refused = [
            "", "-", "+", ".", "-.", "e5", ".e5", "1e", "1e+", "1e5x", "1e1.5", "0x", "0x.", "0xp1", "0x1p", "0x1pa", "1p1", "infi",
            "infinit", "in", "nan", "-nan", "nan(1)", " 1", "1 ", "\t1", "1\0", "++1", "-+1", "1_0", "1,5", "--1", "0b1",
        ];
        for text in refused {
            assert_eq!(Literal::parse(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn a_number_comes_apart_into_sign_digits_and_exponent() {
        let literal = Literal::parse(b"-012.50E-3").unwrap();
        assert!(literal.negative);
        let Magnitude::Decimal(digits) = literal.magnitude else { panic!("a decimal number") };
        assert_eq!(digits.significant().collect::<Vec<_>>(), [1, 2, 5, 0]);
        assert_eq!(digits.exponent_of_last_digit(1), -5);
    }

    #[test]
    fn a_hexadecimal_number_counts_four_bits_a_digit() {
        let literal = Literal::parse(b"+0X0.fAP+4").unwrap();
        assert!(!literal.negative);
        let Magnitude::Hexadecimal(digits) = literal.magnitude else { panic!("a hexadecimal number") };
        assert_eq!(digits.significant().collect::<Vec<_>>(), [15, 10]);
        assert_eq!(digits.exponent_of_last_digit(4), -4);
    }

    #[test]
    fn infinity_is_read_in_any_case() {
        for text in ["inf", "INF", "+Inf", "infinity", "+InFiNiTy"] {
            let infinity = Literal { negative: false, magnitude: Magnitude::Infinity };
            assert_eq!(Literal::parse(text.as_bytes()), Some(infinity), "{text:?}");
        }
    }

    #[test]
    fn an_exponent_of_any_length_is_clamped() {
        let literal = Literal::parse(b"1e-99999999999999999999999999").unwrap();
        let Magnitude::Decimal(digits) = literal.magnitude else { panic!("a decimal number") };
        assert_eq!(digits.exponent_of_last_digit(1), -EXPONENT_LIMIT);
    }
}
