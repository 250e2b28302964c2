//! Records taken apart for people: every byte of a key and of a value under the name of its field, and what it says beside it.
//!
//! A layout has one function for that, [`Layout::describe`](super::Layout::describe), in a file `anatomy.rs` of its own. It branches by the
//! keyspace and walks over the bytes, a call for each field in the order of the format document, with the document's names:
//!
//! ```
//! use orbweaver_engine::layout::anatomy::{Anatomy, Walk, shown};
//!
//! let (key, value) = (b"\x00\x01k".as_slice(), b"\x2a\0\0\0rest".as_slice());
//! let mut of_key = Walk::new(key);
//! let size = of_key.number("key size", u16::from_be_bytes, shown::number).unwrap_or_default();
//! of_key.slice(usize::from(size), "key", shown::text);
//! let mut of_value = Walk::new(value);
//! of_value.number("version", u32::from_le_bytes, shown::number);
//! of_value.rest("value", shown::text);
//! let anatomy = Anatomy::new("default", of_key, of_value, "A string.");
//! assert_eq!(anatomy.value_runs[0].shown, "42");
//! assert_eq!(anatomy.value_runs[1].shown, "\"rest\"");
//! ```
//!
//! Nothing fails: bytes that are missing or left over become runs named [`UNREADABLE`] and [`UNKNOWN`], so that damaged records can be looked at,
//! too. A function that meets a number which it does not know (a kind, a flag) says so in what it shows, and goes on as far as it can.
//! The note is a sentence or two for someone who sees the format for the first time: what this record is for, where it leads.

use bytes::Bytes;
use std::borrow::Cow;
use std::ops::Range;

/// The field of bytes that should be longer.
pub const UNREADABLE: &str = "unreadable";
/// The field of bytes that the format says nothing about.
pub const UNKNOWN: &str = "unknown";

/// Bytes of a key or value that are one field of the format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Where they are. Empty for a byte string of no bytes, and for a field that is missing.
    pub range: Range<usize>,
    /// The field's name in the format document; [`UNREADABLE`] or [`UNKNOWN`] where it is none.
    pub field: Cow<'static, str>,
    /// What the bytes say, decoded.
    pub shown: String,
}

/// A record, taken apart. The runs of its key, and those of its value, cover each byte exactly once, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anatomy {
    /// The keyspace's name.
    pub keyspace: String,
    /// The record's key.
    pub key: Bytes,
    /// The fields of the key.
    pub key_runs: Vec<Run>,
    /// The record's value.
    pub value: Bytes,
    /// The fields of the value.
    pub value_runs: Vec<Run>,
    /// What the record is for.
    pub note: String,
}

impl Anatomy {
    /// Puts together what was found. Bytes behind the last field of a walk become [`UNKNOWN`].
    #[must_use]
    pub fn new(keyspace: &str, key: Walk<'_>, value: Walk<'_>, note: impl Into<String>) -> Self {
        let (key_bytes, value_bytes) = (Bytes::copy_from_slice(key.bytes), Bytes::copy_from_slice(value.bytes));
        Self {
            keyspace: keyspace.to_owned(),
            key: key_bytes,
            key_runs: key.finish(),
            value: value_bytes,
            value_runs: value.finish(),
            note: note.into(),
        }
    }
}

/// A walk over the bytes of a key or a value, field by field. Once a field is cut short, the fields behind it are passed over.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    runs: Vec<Run>,
    is_cut_short: bool,
}

impl<'a> Walk<'a> {
    /// At the first byte.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, runs: Vec::new(), is_cut_short: false }
    }

    /// The bytes that no field has been found in yet.
    #[must_use]
    pub fn left(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// A field of as many bytes as `decode` takes: `u32::from_le_bytes`, for example. `None` where the bytes end before.
    pub fn number<const N: usize, T: Copy>(
        &mut self,
        field: &'static str,
        decode: fn([u8; N]) -> T,
        show: impl FnOnce(T) -> String,
    ) -> Option<T> {
        let number = self.left().first_chunk().map(|bytes| decode(*bytes));
        self.slice(N, field, |_| number.map(show).unwrap_or_default())?;
        number
    }

    /// A field of one byte.
    pub fn u8(&mut self, field: &'static str, show: impl FnOnce(u8) -> String) -> Option<u8> {
        self.number(field, u8::from_be_bytes, show)
    }

    /// A field of four bytes, big-endian.
    pub fn u32(&mut self, field: &'static str, show: impl FnOnce(u32) -> String) -> Option<u32> {
        self.number(field, u32::from_be_bytes, show)
    }

    /// A field of eight bytes, big-endian.
    pub fn u64(&mut self, field: &'static str, show: impl FnOnce(u64) -> String) -> Option<u64> {
        self.number(field, u64::from_be_bytes, show)
    }

    /// A field of `length` bytes. `None` where the bytes end before.
    pub fn slice(&mut self, length: usize, field: &'static str, show: impl FnOnce(&[u8]) -> String) -> Option<&'a [u8]> {
        if self.is_cut_short {
            return None;
        }
        let Some(bytes) = self.left().get(..length) else {
            self.is_cut_short = true;
            let shown = match self.left().len() {
                0 => format!("{field}: missing"),
                left => format!("{field}: cut short, {left} of {length} bytes"),
            };
            self.push(self.left().len(), UNREADABLE, shown);
            return None;
        };
        self.push(length, field, show(bytes));
        Some(bytes)
    }

    /// A field of all bytes but the last `trailer` ones. `None` where there are not so many.
    pub fn before_last(&mut self, trailer: usize, field: &'static str, show: impl FnOnce(&[u8]) -> String) -> Option<&'a [u8]> {
        match self.left().len().checked_sub(trailer) {
            Some(length) => self.slice(length, field, show),
            // What is there is the trailer, cut short; its own fields say so.
            None => None,
        }
    }

    /// A field of all bytes that are left, also none.
    pub fn rest(&mut self, field: &'static str, show: impl FnOnce(&[u8]) -> String) -> Option<&'a [u8]> {
        self.before_last(0, field, show)
    }

    fn push(&mut self, length: usize, field: &'static str, shown: String) {
        let end = self.at.saturating_add(length);
        self.runs.push(Run { range: self.at..end, field: field.into(), shown });
        self.at = end;
    }

    fn finish(mut self) -> Vec<Run> {
        let left = self.left();
        if !left.is_empty() {
            self.push(left.len(), UNKNOWN, shown::text(left));
        }
        self.runs
    }
}

/// How the contents of fields are shown.
pub mod shown {
    use crate::number::format_double;
    use std::fmt::Display;
    use std::time::{Duration, SystemTime};

    /// The last millisecond of the year 9999, the last one that has a date.
    const LAST_DATE_MS: u64 = 253_402_300_799_999;

    /// A number, in decimal.
    pub fn number(number: impl Display) -> String {
        number.to_string()
    }

    /// Bytes of a text that are shown.
    const MAX_TEXT: usize = 256;

    /// A byte string in quotes, with escapes for what is not ASCII or cannot be seen; of a long one the beginning.
    #[must_use]
    pub fn text(bytes: &[u8]) -> String {
        match bytes.split_at_checked(MAX_TEXT) {
            Some((beginning, rest)) if !rest.is_empty() => format!("\"{}\" and {} bytes more", beginning.escape_ascii(), rest.len()),
            _ => format!("\"{}\"", bytes.escape_ascii()),
        }
    }

    /// A Unix time in milliseconds, as a date in UTC.
    #[must_use]
    pub fn time_ms(at_ms: u64) -> String {
        match SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(at_ms)) {
            Some(at) if at_ms <= LAST_DATE_MS => format!("{at_ms} = {}", humantime::format_rfc3339_millis(at)),
            _ => format!("{at_ms} ms, past the year 9999"),
        }
    }

    /// A Unix time in seconds, as a date in UTC.
    #[must_use]
    pub fn time_s(at_s: u64) -> String {
        match SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(at_s)) {
            Some(at) if at_s <= LAST_DATE_MS / 1000 => format!("{at_s} = {}", humantime::format_rfc3339_seconds(at)),
            _ => format!("{at_s} s, past the year 9999"),
        }
    }

    /// A score as Redis writes it.
    #[must_use]
    pub fn score(score: f64) -> String {
        format_double(score)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(range: Range<usize>, field: &'static str, shown: &str) -> Run {
        Run { range, field: field.into(), shown: shown.to_owned() }
    }

    #[test]
    fn fields_stand_behind_each_other() {
        let mut walk = Walk::new(b"\x00\x00\x00\x07ab\x01\x00");
        assert_eq!(walk.u32("space", shown::number), Some(7));
        assert_eq!(walk.before_last(2, "key", shown::text), Some(b"ab".as_slice()));
        assert_eq!(walk.number("size", u16::from_le_bytes, shown::number), Some(1));
        assert_eq!(walk.rest("nothing", shown::text), Some(b"".as_slice()));
        let runs = [run(0..4, "space", "7"), run(4..6, "key", "\"ab\""), run(6..8, "size", "1"), run(8..8, "nothing", "\"\"")];
        assert_eq!(walk.finish(), runs);
    }

    #[test]
    fn what_is_cut_short_is_named_once_and_nothing_behind_it() {
        let mut walk = Walk::new(b"\x01\x02\x03");
        assert_eq!(walk.u8("kind", shown::number), Some(1));
        assert_eq!(walk.u64("version", shown::number), None);
        assert_eq!(walk.u8("flags", shown::number), None);
        assert_eq!(walk.rest("value", shown::text), None);
        assert_eq!(walk.finish(), [run(0..1, "kind", "1"), run(1..3, UNREADABLE, "version: cut short, 2 of 8 bytes")]);
        let mut empty = Walk::new(b"");
        assert_eq!(empty.u8("kind", shown::number), None);
        assert_eq!(empty.finish(), [run(0..0, UNREADABLE, "kind: missing")]);
    }

    #[test]
    fn a_trailer_that_is_cut_short_says_so_itself() {
        let mut walk = Walk::new(b"\x01");
        assert_eq!(walk.before_last(4, "value", shown::text), None);
        assert_eq!(walk.u32("version", shown::number), None);
        assert_eq!(walk.finish(), [run(0..1, UNREADABLE, "version: cut short, 1 of 4 bytes")]);
    }

    #[test]
    fn what_is_left_over_is_unknown() {
        let mut walk = Walk::new(b"\x01\xff\n");
        walk.u8("kind", shown::number);
        assert_eq!(walk.finish(), [run(0..1, "kind", "1"), run(1..3, UNKNOWN, "\"\\xff\\n\"")]);
    }

    #[test]
    fn of_a_long_text_the_beginning_is_shown() {
        assert_eq!(shown::text(&[b'a'; 256]), format!("\"{}\"", "a".repeat(256)));
        assert_eq!(shown::text(&[b'a'; 258]), format!("\"{}\" and 2 bytes more", "a".repeat(256)));
    }

    #[test]
    fn times_are_dates_as_long_as_there_are_some() {
        assert_eq!(shown::time_ms(4_102_444_800_500), "4102444800500 = 2100-01-01T00:00:00.500Z");
        assert_eq!(shown::time_ms(253_402_300_799_999), "253402300799999 = 9999-12-31T23:59:59.999Z");
        assert_eq!(shown::time_ms(253_402_300_800_000), "253402300800000 ms, past the year 9999");
        assert_eq!(shown::time_ms(u64::MAX), "18446744073709551615 ms, past the year 9999");
        assert_eq!(shown::time_s(0), "0 = 1970-01-01T00:00:00Z");
        assert_eq!(shown::time_s(u64::MAX), "18446744073709551615 s, past the year 9999");
    }
}
