//! Command lines typed by people: words and quotes.

/// Splits a line into words.
///
/// Words are separated by white space. Between double quotes, `\n`, `\r`, `\t`, `\b`, `\a` and `\xHH` stand for one byte, and a backslash
/// in front of anything else stands for what follows; between single quotes only `\'` is special. A closing quote ends its word.
///
/// `None` if a quote is left open or something other than white space follows a closing quote. An empty or blank line has no words.
///
/// The same rules hold for [inline commands](https://redis.io/docs/latest/develop/reference/protocol-spec/#inline-commands) and for
/// the lines of a script on standard input.
pub fn split_inline(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut words = Vec::new();
    let mut rest = skip_space(line);
    while !rest.is_empty() {
        let (word, after) = split_word(rest)?;
        words.push(word);
        rest = skip_space(after);
    }
    Some(words)
}

/// White space in front of a word and behind a closing quote. An unquoted word does not end at the last two, as in Redis.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

fn skip_space(line: &[u8]) -> &[u8] {
    let start = line.iter().position(|byte| !is_space(*byte)).unwrap_or(line.len());
    line.get(start..).unwrap_or_default()
}

/// The word at the start of `rest`, and what is behind it.
fn split_word(mut rest: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut word = Vec::new();
    loop {
        match rest {
            [] | [b' ' | b'\t' | b'\n' | b'\r', ..] => return Some((word, rest)),
            [b'"', after @ ..] => return finish_double_quoted(word, after),
            [b'\'', after @ ..] => return finish_single_quoted(word, after),
            [byte, after @ ..] => {
                word.push(*byte);
                rest = after;
            }
        }
    }
}

fn finish_double_quoted(mut word: Vec<u8>, mut rest: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    loop {
        let (byte, after) = match rest {
            [b'"', after @ ..] => return ends_word(after).then_some((word, after)),
            [b'\\', b'x', high, low, after @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                (hex_digit(*high) << 4 | hex_digit(*low), after)
            }
            [b'\\', escaped, after @ ..] => (unescape(*escaped), after),
            [byte, after @ ..] => (*byte, after),
            [] => return None,
        };
        word.push(byte);
        rest = after;
    }
}

fn finish_single_quoted(mut word: Vec<u8>, mut rest: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    loop {
        let (byte, after) = match rest {
            [b'\'', after @ ..] => return ends_word(after).then_some((word, after)),
            [b'\\', b'\'', after @ ..] => (b'\'', after),
            [byte, after @ ..] => (*byte, after),
            [] => return None,
        };
        word.push(byte);
        rest = after;
    }
}

fn ends_word(rest: &[u8]) -> bool {
    rest.first().is_none_or(|byte| is_space(*byte))
}

fn unescape(letter: u8) -> u8 {
    match letter {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'a' => 0x07,
        other => other,
    }
}

/// The value of a byte known to be a hexadecimal digit.
fn hex_digit(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        letter => letter.to_ascii_lowercase() - b'a' + 10,
    }
}

#[cfg(test)]
mod tests {
    use super::split_inline;

    fn words(line: &[u8]) -> Vec<Vec<u8>> {
        split_inline(line).unwrap()
    }

    #[test]
    fn words_are_separated_by_white_space() {
        assert_eq!(words(b"SET  key\tvalue\r"), [&b"SET"[..], b"key", b"value"]);
        assert_eq!(words(b"ECHO a\rb"), [&b"ECHO"[..], b"a", b"b"]);
    }

    #[test]
    fn a_blank_line_has_no_words() {
        assert!(words(b"").is_empty());
        assert!(words(b" \t\r\n\x0b\x0c").is_empty());
    }

    #[test]
    fn vertical_tab_and_form_feed_do_not_end_a_word() {
        assert_eq!(words(b"\x0bPING\x0b\x0c"), [b"PING\x0b\x0c"]);
    }

    #[test]
    fn double_quotes_know_escapes() {
        assert_eq!(words(br#"ECHO "\x41\xfF\n\r\t\b\a\q\x4\"\\""#), [&b"ECHO"[..], b"A\xff\n\r\t\x08\x07qx4\"\\"]);
    }

    #[test]
    fn single_quotes_know_only_the_escaped_quote() {
        assert_eq!(words(br"'it\'s\n' ' '"), [&br"it's\n"[..], b" "]);
    }

    #[test]
    fn quotes_may_start_inside_a_word_and_be_empty() {
        assert_eq!(words(br#"a"b" """#), [&b"ab"[..], b""]);
        assert_eq!(words(b"a'b'\x0b''"), [&b"ab"[..], b""]);
    }

    #[test]
    fn unbalanced_quotes_are_refused() {
        for line in [r#"""#, r#""a"#, r#"'a"#, r#""a"b"#, r#"'a'b"#, r#"a"b"c"#, r#""a\"#, r#"'a\'"#, r#""a"'b'"#] {
            assert_eq!(split_inline(line.as_bytes()), None, "{line}");
        }
    }
}
