//! Small records one behind the other in one byte string, in the order of their keys: what a collection has that is kept in the record of
//! its key (docs/format.md, section "Packed collections").
//!
//! `length | key | length | value`, and so on. A length below 128 is one byte, others are two with the highest bit set.

use crate::codec::Flaw;

/// Longer keys and values are not packed.
pub const MAX_LENGTH: usize = 0x7fff;

/// Lengths from here on take two bytes.
const LONG: usize = 0x80;

/// The records of a byte string that [`check`] has passed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Records<'p> {
    rest: &'p [u8],
}

impl<'p> Records<'p> {
    /// All of them.
    #[must_use]
    pub const fn of(packed: &'p [u8]) -> Self {
        Self { rest: packed }
    }

    /// The value of the record that has this key.
    #[must_use]
    pub fn value_of(mut self, key: &[u8]) -> Option<&'p [u8]> {
        self.skip_to(key);
        self.next().filter(|(own, _)| *own == key).map(|(_, value)| value)
    }

    /// Skips the records before this key.
    pub fn skip_to(&mut self, key: &[u8]) {
        loop {
            let mut behind = *self;
            match behind.next() {
                Some((own, _)) if own < key => *self = behind,
                _ => break,
            }
        }
    }

    /// What is left of the byte string.
    #[must_use]
    pub const fn bytes(&self) -> &'p [u8] {
        self.rest
    }

    fn piece(&mut self) -> Option<&'p [u8]> {
        let (length, rest) = length(self.rest)?;
        let (piece, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some(piece)
    }
}

/// The length that the bytes begin with, and what is behind it.
#[must_use]
pub fn length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    match usize::from(first).checked_sub(LONG) {
        None => Some((usize::from(first), rest)),
        Some(high) => rest.split_first().map(|(&low, rest)| ((high << 8) | usize::from(low), rest)),
    }
}

impl<'p> Iterator for Records<'p> {
    type Item = (&'p [u8], &'p [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.piece()?;
        Some((key, self.piece()?))
    }
}

/// Whether a byte string is one of records, at least one, in the order of their keys, each key once, each length as short as it can be, and `flaw_of`
/// finds nothing wrong with any of them. Returns how many they are.
///
/// # Errors
/// What is wrong, and where the record begins.
pub fn check(packed: &[u8], flaw_of: impl Fn(&[u8], &[u8]) -> Option<&'static str>) -> Result<u64, Flaw> {
    let mut records = Records::of(packed);
    let mut before: Option<&[u8]> = None;
    let mut count = 0;
    while before.is_none() || !records.rest.is_empty() {
        let rest = records.rest;
        let flaw = |what| Flaw { offset: packed.len() - rest.len(), what };
        let (key, value) = records.next().ok_or(flaw("a packed record is cut short"))?;
        if bytes_of(key, value) != rest.len() - records.rest.len() {
            return Err(flaw("a length takes more bytes than it needs"));
        }
        if before.is_some_and(|before| before >= key) {
            return Err(flaw("packed records are not in the order of their keys"));
        }
        if let Some(what) = flaw_of(key, value) {
            return Err(flaw(what));
        }
        before = Some(key);
        count += 1;
    }
    Ok(count)
}

/// How many bytes a record takes.
#[must_use]
pub fn bytes_of(key: &[u8], value: &[u8]) -> usize {
    let length_bytes = |piece: &[u8]| if piece.len() < LONG { 1 } else { 2 };
    length_bytes(key) + key.len() + length_bytes(value) + value.len()
}

/// Adds a record behind the others. False, and nothing added, where a piece is longer than [`MAX_LENGTH`].
pub fn push(packed: &mut Vec<u8>, key: &[u8], value: &[u8]) -> bool {
    if key.len().max(value.len()) > MAX_LENGTH {
        return false;
    }
    for piece in [key, value] {
        match u8::try_from(piece.len()) {
            Ok(length) if piece.len() < LONG => packed.push(length),
            _ => {
                let [.., high, low] = piece.len().to_be_bytes();
                packed.extend_from_slice(&[high | 0x80, low]);
            }
        }
        packed.extend_from_slice(piece);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(records: &[(&[u8], &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (key, value) in records {
            let before = bytes.len();
            assert!(push(&mut bytes, key, value));
            assert_eq!(bytes.len() - before, bytes_of(key, value));
        }
        bytes
    }

    #[test]
    fn records_are_read_back_whatever_their_lengths() {
        let long = vec![b'x'; MAX_LENGTH];
        for length in [0, 1, 127, 128, 129, 255, 256, 257, MAX_LENGTH] {
            let records = [(b"a".as_slice(), &long[..length]), (&long[..length.max(1)], b"".as_slice())];
            let bytes = packed(&records);
            assert_eq!(check(&bytes, |_, _| None), Ok(2));
            assert_eq!(Records::of(&bytes).collect::<Vec<_>>(), records);
        }
        assert!(!push(&mut Vec::new(), &vec![0; MAX_LENGTH + 1], b""));
    }

    #[test]
    fn the_bytes_are_those_of_the_format() {
        assert_eq!(packed(&[(b"", b""), (b"f", b"\x00v")]), b"\x00\x00\x01f\x02\x00v");
        let value = [b'v'; 300];
        assert_eq!(packed(&[(b"f", &value)]), [b"\x01f\x81\x2c".as_slice(), &value].concat());
    }

    #[test]
    fn bytes_that_are_no_records_are_refused_where_they_go_wrong() {
        for (bytes, offset) in [
            (b"".as_slice(), 0),
            (b"\x01", 0),
            (b"\x01a\x00\x01b", 3),
            (b"\x01a\x00\x01b\x80", 3),
            (b"\x01b\x00\x01a\x00", 3),
            (b"\x01a\x00\x01a\x00", 3),
            (b"\x01a\x80\x01v", 0),
            (b"\x80\x01a\x00", 0),
        ] {
            assert_eq!(check(bytes, |_, _| None).map_err(|flaw| flaw.offset), Err(offset), "{bytes:?}");
        }
        let flaw_of = |key: &[u8], value: &[u8]| (key == b"b" && value == b"v").then_some("a flaw");
        assert_eq!(check(b"\x01a\x01v\x01b\x01v", flaw_of), Err(Flaw { offset: 4, what: "a flaw" }));
    }
}
