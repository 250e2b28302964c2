//! Integers: the strict reading of arguments and values, and the lenient one of cursors.

use crate::arena;
use bytes::Bytes;

/// The decimal text of a number, which [`parse_i64`] reads.
#[must_use]
pub fn format_i64(number: i64) -> Bytes {
    arena::join([itoa::Buffer::new().format(number).as_bytes()])
}

/// Reads a decimal `i64` as Redis reads integer arguments and values (`string2ll`).
///
/// Only the text that the number would be written as is accepted: no space, no plus sign, no leading zero and no `-0`.
/// `None` for anything else, for the empty text and for numbers beyond 64 bits.
#[must_use]
pub fn parse_i64(text: &[u8]) -> Option<i64> {
    let (negative, digits) = text.strip_prefix(b"-").map_or((false, text), |digits| (true, digits));
    match digits.first()? {
        b'1'..=b'9' => {}
        b'0' if text.len() == 1 => {}
        _ => return None,
    }
    // Towards the negative numbers, of which there is one more. By hand: every argument of every request has its length so.
    let opposite = digits.iter().try_fold(0_i64, |opposite, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        opposite.checked_mul(10)?.checked_sub(i64::from(digit))
    })?;
    if negative { Some(opposite) } else { opposite.checked_neg() }
}

/// Reads a `u64` as Redis reads the cursor of SCAN, HSCAN, SSCAN and ZSCAN (C's `strtoull`).
///
/// Lenient: leading zeros and a sign are fine, a negative number wraps around (`-1` is `u64::MAX`), the empty text is 0
/// and the text ends at the first NUL byte. `None` for leading spaces, any other trailing byte and numbers beyond 64 bits.
#[must_use]
pub fn parse_u64(text: &[u8]) -> Option<u64> {
    let text = text.split(|byte| *byte == 0).next()?;
    if text.is_empty() {
        return Some(0);
    }
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if !digits.first()?.is_ascii_digit() {
        return None;
    }
    let magnitude: u64 = str::from_utf8(digits).ok()?.parse().ok()?;
    Some(if negative { magnitude.wrapping_neg() } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_range_of_i64_is_read_back_as_written() {
        for number in [0, 1, -1, 10, 42, -90, i64::MAX, i64::MIN] {
            assert_eq!(parse_i64(number.to_string().as_bytes()), Some(number));
            assert_eq!(format_i64(number), number.to_string());
        }
    }

    #[test]
    fn a_text_that_no_integer_is_written_as_is_refused() {
        let refused = [
            "",
            "-",
            "+",
            "+1",
            "-0",
            "00",
            "01",
            "-01",
            " 1",
            "1 ",
            "1\0",
            "1.0",
            "1e3",
            "0x1",
            "--1",
            "-+1",
            "\u{661}",
            "9223372036854775808",
            "-9223372036854775809",
            "18446744073709551617",
            "99999999999999999999999",
        ];
        for text in refused {
            assert_eq!(parse_i64(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(parse_i64(b"1\xff"), None);
    }

    #[test]
    fn a_cursor_is_read_leniently() {
        let accepted = [
            ("", 0),
            ("0", 0),
            ("+5", 5),
            ("007", 7),
            ("-1", u64::MAX),
            ("-18446744073709551615", 1),
            ("18446744073709551615", u64::MAX),
            ("5\0x", 5),
        ];
        for (text, cursor) in accepted {
            assert_eq!(parse_u64(text.as_bytes()), Some(cursor), "{text:?}");
        }
    }

    #[test]
    fn a_text_that_is_no_cursor_is_refused() {
        for text in [" 5", "5 ", "\t5", "-", "+", "--1", "+-1", "0x5", "a", "18446744073709551616", "-18446744073709551616"] {
            assert_eq!(parse_u64(text.as_bytes()), None, "{text:?}");
        }
    }
}
