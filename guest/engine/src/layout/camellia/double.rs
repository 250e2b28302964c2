//! Doubles as Java writes and reads them: the scores of sorted sets.

/// Writes a double as `Double.toString` does since Java 19: the fewest digits that read back as the same double, but at least two; as a
/// decimal from 0.001 up to below 10^7, and else as `d.dE[-]n`.
pub fn format(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if value == 0.0 || (1e-3..1e7).contains(&value.abs()) {
        return format!("{value:?}");
    }
    let shortest = format!("{value:e}");
    // Of one digit, the two digits that come closest.
    let digits = if shortest.contains('.') { shortest } else { format!("{value:.1e}") };
    digits.replace('e', "E")
}

/// Reads what `Double.parseDouble` reads: with spaces around it, a `d` or `f` behind it, in decimal or hexadecimal digits.
pub fn parse(text: &[u8]) -> Option<f64> {
    let text = str::from_utf8(text).ok()?.trim_matches(|char| char <= ' ');
    match text.strip_prefix(['+', '-']).unwrap_or(text) {
        "NaN" => return Some(f64::NAN),
        "Infinity" => return Some(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY }),
        unsigned if unsigned.starts_with("0x") || unsigned.starts_with("0X") => {
            return crate::number::parse_double(text.trim_end_matches(['d', 'D', 'f', 'F']).as_bytes());
        }
        _ => {}
    }
    let digits = text.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(text);
    let is_decimal = digits.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    digits.parse().ok().filter(|_| is_decimal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_written_as_java_writes_them() {
        for (value, text) in [
            (-2.5, "-2.5"),
            (3.0, "3.0"),
            (-100.0, "-100.0"),
            (1e10, "1.0E10"),
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (0.001, "0.001"),
            (0.000_999, "9.99E-4"),
            (9_999_999.0, "9999999.0"),
            (9_999_999.999_999_998, "9999999.999999998"),
            (1e7, "1.0E7"),
            (12_345_678.9, "1.23456789E7"),
            (5e-324, "4.9E-324"),
            (2e-323, "2.0E-323"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(format(value), text);
            assert_eq!(parse(text.as_bytes()).unwrap().to_bits(), value.to_bits(), "{text}");
        }
    }

    #[test]
    fn doubles_are_read_in_every_form_of_java() {
        for (text, value) in
            [("1", 1.0), (" 1.5 ", 1.5), ("+.5", 0.5), ("5.", 5.0), ("1e3", 1000.0), ("1.0D", 1.0), ("2f", 2.0), ("1e999", f64::INFINITY)]
        {
            assert_eq!(parse(text.as_bytes()), Some(value), "{text}");
        }
        assert_eq!(parse(b"0x1.8p1"), Some(3.0));
        for text in ["", " ", "inf", "infinity", "nan", "1 2", "1e", "--1", "0x", "1.0L", "\u{e4}"] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse(b"\xff"), None);
    }
}
