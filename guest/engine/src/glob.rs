//! Glob patterns of KEYS, SCAN, PSUBSCRIBE and CONFIG GET, byte for byte as Redis matches them (`stringmatchlen`).
//!
//! `*` is any run of bytes, `?` any one byte, `[abc]` and `[a-c]` one of a class, `[^abc]` one outside of it, and `\`
//! takes the next byte as it is. See the [KEYS](https://redis.io/docs/latest/commands/keys/) page; what it leaves open
//! (open brackets, reversed ranges, letter case in classes) is pinned by the tests.

/// Whether the whole `text` matches `pattern`; with `nocase`, ASCII letters match in either case.
///
/// The time is bounded by the product of both lengths. The empty text matches the empty pattern only, not even `*`:
/// KEYS and SCAN have to know the pattern `*` themselves, as they do in Redis.
#[must_use]
pub fn matches(pattern: &[u8], text: &[u8], nocase: bool) -> bool {
    if text.is_empty() {
        return pattern.is_empty();
    }
    let mut pattern = pattern;
    let mut text = text;
    // Where to go on when a byte does not fit: behind the last star, which then takes one byte more. Earlier stars need
    // no second try, because the last one can take whatever they would.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        match (Element::next(pattern), text.split_first()) {
            (Some((Element::Star, rest)), _) => {
                retry = Some((rest, text));
                pattern = rest;
            }
            (Some((element, rest)), Some((byte, text_rest))) if element.matches(*byte, nocase) => {
                pattern = rest;
                text = text_rest;
            }
            (None, None) => return true,
            _ => {
                let Some((behind_star, [_, shorter @ ..])) = retry else {
                    return false;
                };
                retry = Some((behind_star, shorter));
                pattern = behind_star;
                text = shorter;
            }
        }
    }
}

/// The bytes that every match of `pattern` starts with, with escapes resolved, and whether they are the whole pattern
/// (nothing else matches then).
///
/// Only for matching with letter case: it gives the range of keys that a scan has to visit.
#[must_use]
pub fn literal_prefix(pattern: &[u8]) -> (Vec<u8>, bool) {
    let mut prefix = Vec::new();
    let mut pattern = pattern;
    while let Some((Element::Literal(byte), rest)) = Element::next(pattern) {
        prefix.push(byte);
        pattern = rest;
    }
    (prefix, pattern.is_empty())
}

/// What a pattern is made of; all but the star match one byte.
#[derive(Clone, Copy)]
enum Element<'a> {
    Star,
    AnyByte,
    Literal(u8),
    Class { negated: bool, members: &'a [u8] },
}

impl<'a> Element<'a> {
    /// The first element and the rest of the pattern.
    fn next(pattern: &'a [u8]) -> Option<(Self, &'a [u8])> {
        Some(match pattern {
            [] => return None,
            [b'*', rest @ ..] => (Self::Star, rest),
            [b'?', rest @ ..] => (Self::AnyByte, rest),
            [b'[', b'^', members @ ..] => Self::class(true, members),
            [b'[', members @ ..] => Self::class(false, members),
            [b'\\', byte, rest @ ..] | [byte, rest @ ..] => (Self::Literal(*byte), rest),
        })
    }

    /// The class that starts with `members` and ends at a bracket or at the end of the pattern.
    fn class(negated: bool, members: &'a [u8]) -> (Self, &'a [u8]) {
        let mut rest = members;
        while let Some((_, behind)) = Member::next(rest) {
            rest = behind;
        }
        let members = members.strip_suffix(rest).unwrap_or(members);
        (Self::Class { negated, members }, rest.strip_prefix(b"]").unwrap_or(rest))
    }

    fn matches(self, byte: u8, nocase: bool) -> bool {
        match self {
            Self::Star | Self::AnyByte => true,
            Self::Literal(literal) => equal(literal, byte, nocase),
            Self::Class { negated, mut members } => {
                let mut is_member = false;
                while let Some((member, rest)) = Member::next(members) {
                    is_member |= member.contains(byte, nocase);
                    members = rest;
                }
                is_member != negated
            }
        }
    }
}

/// What a class is made of.
enum Member {
    Byte(u8),
    /// Matches in its own case even with `nocase`.
    Escaped(u8),
    Range(u8, u8),
}

impl Member {
    /// The first member and the rest of the pattern; `None` at the end of the class.
    fn next(class: &[u8]) -> Option<(Self, &[u8])> {
        Some(match class {
            [] | [b']', ..] => return None,
            [b'\\', byte, rest @ ..] => (Self::Escaped(*byte), rest),
            [start, b'-', end, rest @ ..] => (Self::Range(*start, *end), rest),
            [byte, rest @ ..] => (Self::Byte(*byte), rest),
        })
    }

    fn contains(&self, byte: u8, nocase: bool) -> bool {
        match *self {
            Self::Byte(member) => equal(member, byte, nocase),
            Self::Escaped(member) => member == byte,
            Self::Range(start, end) => {
                // Redis compares C chars, which are signed: bytes from 0x80 come before the others.
                let (start, end) = if start.cast_signed() > end.cast_signed() { (end, start) } else { (start, end) };
                let fold = |byte: u8| if nocase { byte.to_ascii_lowercase().cast_signed() } else { byte.cast_signed() };
                (fold(start)..=fold(end)).contains(&fold(byte))
            }
        }
    }
}

fn equal(left: u8, right: u8, nocase: bool) -> bool {
    if nocase { left.eq_ignore_ascii_case(&right) } else { left == right }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[track_caller]
    fn check(cases: &[(&[u8], &[u8], bool)], nocase: bool) {
        for (pattern, text, expected) in cases {
            let (shown_pattern, shown_text) = (pattern.escape_ascii(), text.escape_ascii());
            assert_eq!(matches(pattern, text, nocase), *expected, "{shown_pattern} on {shown_text}");
        }
    }

    #[test]
    fn stars_and_question_marks_match_as_in_redis() {
        check(
            &[
                (b"", b"", true),
                (b"", b"a", false),
                (b"*", b"", false),
                (b"**", b"", false),
                (b"?", b"", false),
                (b"*", b"a", true),
                (b"***", b"abc", true),
                (b"a*", b"a", true),
                (b"a**", b"a", true),
                (b"*a", b"a", true),
                (b"*a", b"ba", true),
                (b"*a", b"ab", false),
                (b"a*c", b"abbc", true),
                (b"a*c", b"abbcb", false),
                (b"*ab*", b"aab", true),
                (b"a*b*c", b"abcbc", true),
                (b"*?", b"a", true),
                (b"?*", b"a", true),
                (b"?*?", b"a", false),
                (b"h?llo", b"hello", true),
                (b"h?llo", b"hllo", false),
                (b"a", b"A", false),
                (b"\xff*", b"\xff\x00", true),
            ],
            false,
        );
    }

    #[test]
    fn classes_match_as_in_redis() {
        check(
            &[
                (b"[abc]", b"b", true),
                (b"[abc]", b"d", false),
                (b"[abc]", b"", false),
                (b"[^abc]", b"d", true),
                (b"[^abc]", b"b", false),
                (b"[a^]", b"^", true),
                (b"[a-c]x", b"bx", true),
                (b"[c-a]", b"b", true),
                (b"[^a-c]", b"b", false),
                (b"[a-]", b"-", false),
                (b"[a-]", b"b", false),
                (b"[a-]", b"]", true),
                (b"[a-]", b"_", true),
                (b"[-a]", b"-", true),
                (b"[a\\-c]", b"b", false),
                (b"[a\\-c]", b"-", true),
                (b"[\\]]", b"]", true),
                (b"[]", b"]", false),
                (b"[]]", b"]", false),
                (b"[^]", b"a", true),
                (b"[^]a", b"ba", true),
                (b"[*]", b"*", true),
                (b"[*]", b"a", false),
                (b"a]", b"a]", true),
            ],
            false,
        );
    }

    #[test]
    fn an_open_bracket_closes_at_the_end_of_the_pattern() {
        check(
            &[
                (b"[", b"[", false),
                (b"[", b"a", false),
                (b"[^", b"a", true),
                (b"[ab", b"a", true),
                (b"[ab", b"b", true),
                (b"[ab", b"c", false),
                (b"[a-c", b"b", true),
                (b"[a-", b"-", true),
                (b"[ab\\", b"\\", true),
                (b"[ab*", b"*", true),
                (b"x*[a", b"xyya", true),
            ],
            false,
        );
    }

    #[test]
    fn a_backslash_takes_the_next_byte_as_it_is() {
        check(
            &[
                (b"\\*", b"*", true),
                (b"\\*", b"a", false),
                (b"\\?", b"a", false),
                (b"\\[a]", b"[a]", true),
                (b"\\\\", b"\\", true),
                (b"\\a", b"a", true),
                (b"a\\", b"a\\", true),
                (b"a\\", b"a", false),
            ],
            false,
        );
    }

    #[test]
    fn a_range_orders_bytes_as_signed() {
        check(
            &[
                (b"[\xff-a]", b"\x01", true),
                (b"[\xff-a]", b"b", false),
                (b"[\x80-\xff]", b"\xc0", true),
                (b"[a-\xff]", b"z", false),
                (b"[a-\xff]", b"A", true),
            ],
            false,
        );
    }

    #[test]
    fn letters_match_in_either_case_on_request() {
        check(
            &[
                (b"ABC*", b"abcd", true),
                (b"\\A", b"a", true),
                (b"[A]", b"a", true),
                (b"[^A]", b"a", false),
                (b"[A-C]", b"b", true),
                (b"[\\A]", b"a", false),
                (b"[Z-a]", b"z", false),
                (b"\xc4", b"\xe4", false),
            ],
            true,
        );
    }

    #[test]
    fn many_stars_take_bounded_time() {
        let pattern = [b"a*".repeat(500), b"b".to_vec()].concat();
        let text = b"a".repeat(5_000);
        let start = Instant::now();
        assert!(!matches(&pattern, &text, false));
        assert!(start.elapsed() < Duration::from_secs(5));
    }

    #[test]
    fn the_literal_prefix_ends_at_the_first_special_element() {
        let cases: [(&[u8], &[u8], bool); 9] = [
            (b"", b"", true),
            (b"user:1", b"user:1", true),
            (b"user:*", b"user:", false),
            (b"user:?", b"user:", false),
            (b"user:[a]", b"user:", false),
            (b"*", b"", false),
            (b"a\\*b*", b"a*b", false),
            (b"a\\*b", b"a*b", true),
            (b"a\\", b"a\\", true),
        ];
        for (pattern, prefix, is_whole) in cases {
            assert_eq!(literal_prefix(pattern), (prefix.to_vec(), is_whole), "{}", pattern.escape_ascii());
        }
    }
}
