//! Bitmaps: strings, seen as rows of bits. Bit 0 is the highest bit of the first byte; what is beyond the string is zero.
//!
//! All functions take a key by its place ([`Db::at`]), return `WRONGTYPE` where it holds no string, and pass on store errors and
//! corrupt records. See <https://redis.io/docs/latest/commands/?group=bitmap>.

pub mod fields;

use super::strings::{self, Condition, Expiry};
use crate::db::Db;
use crate::error::{Error, Result, texts};
use crate::layout::{KeyAt, Kind, Meta};
use bytes::Bytes;

/// An offset that no string can have.
pub const OFFSET_OUT_OF_RANGE: Error = Error::client("ERR bit offset is not an integer or out of range");

/// What the bounds of a range count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    #[default]
    Byte,
    /// Bits.
    Bit,
}

/// A part of a bitmap, both ends included. Negative bounds count from the end (-1 is the last); what is outside is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first byte or bit.
    pub start: i64,
    /// The last byte or bit.
    pub end: i64,
    /// Which of the two.
    pub unit: Unit,
}

impl Range {
    /// Everything.
    pub const ALL: Self = Self { start: 0, end: -1, unit: Unit::Byte };

    /// The first and the last bit of a bitmap of `bytes` bytes that are in the range; `None` where none is.
    fn bits(self, bytes: usize) -> Option<(u64, u64)> {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX / 8);
        let (length, width) = if self.unit == Unit::Bit { (bytes * 8, 1) } else { (bytes, 8) };
        let from_start = |position: i64| if position < 0 { position.saturating_add(length).max(0) } else { position };
        let (start, end) = (from_start(self.start), from_start(self.end).min(length - 1));
        let (first, behind) = (u64::try_from(start).ok()?, u64::try_from(end).ok()? + 1);
        (first < behind).then(|| (first * width, behind * width - 1))
    }

    /// Whether both bounds count from the end and are the wrong way round: BITCOUNT then finds nothing, even if both are before
    /// the start.
    #[must_use]
    pub fn is_backwards(self) -> bool {
        self.start < 0 && self.end < 0 && self.start > self.end
    }
}

/// A bit offset of the client.
///
/// # Errors
/// [`OFFSET_OUT_OF_RANGE`] where it is negative, or beyond the longest string.
pub fn offset(db: &Db, offset: i64) -> Result<u64> {
    let offset = u64::try_from(offset).map_err(|_| OFFSET_OUT_OF_RANGE)?;
    let byte = usize::try_from(offset / 8).map_err(|_| OFFSET_OUT_OF_RANGE)?;
    if byte < db.max_string_bytes { Ok(offset) } else { Err(OFFSET_OUT_OF_RANGE) }
}

/// The bit at an offset; false for an absent key (GETBIT).
///
/// # Errors
/// See the module.
pub fn get(db: &mut Db, at: &KeyAt, offset: u64) -> Result<bool> {
    let value = strings::get(db, at)?.unwrap_or_default();
    Ok(fields::Field { offset, bits: 1, signed: false }.read(&value) == 1)
}

/// Sets or clears a bit and returns what it was. A string that ends before it is filled up with zeros; an absent key counts as
/// empty. The expiry stays (SETBIT).
///
/// # Errors
/// The string would be too long, or see the module.
pub fn set(db: &mut Db, at: &KeyAt, offset: u64, bit: bool) -> Result<bool> {
    let field = fields::Field { offset, bits: 1, signed: false };
    let mut bitmap = Bitmap::open(db, at, offset)?;
    let old = field.read(&bitmap.value) == 1;
    bitmap.write(field, i128::from(old), i128::from(bit));
    bitmap.store(db, at)?;
    Ok(old)
}

/// A string on its way to a new value.
struct Bitmap {
    old: Option<Meta>,
    value: Vec<u8>,
    /// It has become longer than it was.
    is_longer: bool,
    /// It was written to, with an effect.
    is_changed: bool,
}

impl Bitmap {
    /// The string under a key, made long enough for `last_bit`.
    fn open(db: &mut Db, at: &KeyAt, last_bit: u64) -> Result<Self> {
        let (old, value) = db.find_string(at)?.unzip();
        let value = value.unwrap_or_default();
        let length = usize::try_from(last_bit / 8 + 1).map_err(|_| texts::STRING_TOO_LONG)?.max(value.len());
        if length > db.max_string_bytes {
            return Err(texts::STRING_TOO_LONG);
        }
        let mut copy = Vec::with_capacity(length);
        copy.extend_from_slice(&value);
        copy.resize(length, 0);
        Ok(Self { old, is_longer: length > value.len(), is_changed: false, value: copy })
    }

    /// Writes a number over the one that is in a field.
    fn write(&mut self, field: fields::Field, old: i128, new: i128) {
        if new != old {
            field.write(&mut self.value, new);
        }
        self.is_changed |= self.is_longer || new != old;
    }

    fn store(self, db: &mut Db, at: &KeyAt) -> Result<()> {
        if self.is_changed {
            return strings::update_text(db, at, self.old.as_ref(), self.value.into(), "setbit");
        }
        if self.is_longer {
            // Nothing but failed: the string stays longer, but Redis tells nobody.
            let expire_at_ms = self.old.as_ref().and_then(|old| old.expire_at_ms);
            return db.write_string(at, self.old.as_ref(), self.value.into(), expire_at_ms);
        }
        Ok(())
    }
}

/// How many bits of a part of `value` are set (BITCOUNT).
#[must_use]
pub fn count(value: &[u8], range: Range) -> u64 {
    let Some((first, last)) = range.bits(value.len()).filter(|_| !range.is_backwards()) else { return 0 };
    let bytes = Edges::new(value, first, last);
    let (words, rest) = bytes.middle.as_chunks::<8>();
    let in_words: u64 = words.iter().map(|&word| u64::from(u64::from_ne_bytes(word).count_ones())).sum();
    let single = rest.iter().chain([&bytes.first, &bytes.last]);
    in_words + single.map(|byte| u64::from(byte.count_ones())).sum::<u64>()
}

/// The offset of the first bit in a part of `value` that is as `bit` says; `None` where there is none. With `padded`, zeros follow
/// the string, though not where the part is empty (BITPOS).
#[must_use]
pub fn position(value: &[u8], bit: bool, range: Range, padded: bool) -> Option<u64> {
    let (first, last) = range.bits(value.len())?;
    let start = usize::try_from(first / 8).ok()?;
    // A bit that is sought is a one in here.
    let sought = |byte: u8, mask: u8| (if bit { byte } else { !byte }) & mask;
    let part = value.get(start..=usize::try_from(last / 8).ok()?)?;
    let found = (0_usize..).zip(part).find_map(|(index, &byte)| {
        let mask = if index == 0 { first_mask(first) } else { u8::MAX };
        let mask = if index + 1 == part.len() { mask & last_mask(last) } else { mask };
        let ones = sought(byte, mask);
        (ones != 0).then(|| (index, ones.leading_zeros()))
    });
    let offset = |byte: usize, bit: u32| Some(u64::try_from(byte).ok()? * 8 + u64::from(bit));
    match found {
        Some((index, bit)) => offset(start + index, bit),
        None if padded && !bit => offset(value.len(), 0),
        None => None,
    }
}

/// The bits of a byte from a bit on.
fn first_mask(bit: u64) -> u8 {
    u8::MAX >> (bit % 8)
}

/// The bits of a byte up to a bit, itself included.
fn last_mask(bit: u64) -> u8 {
    u8::MAX << (7 - bit % 8)
}

/// A part of a bitmap: the bytes at its ends without the bits that are not in it, and those between.
struct Edges<'v> {
    first: u8,
    middle: &'v [u8],
    last: u8,
}

impl<'v> Edges<'v> {
    fn new(value: &'v [u8], first: u64, last: u64) -> Self {
        let byte = |bit: u64| usize::try_from(bit / 8).unwrap_or(usize::MAX);
        match value.get(byte(first)..=byte(last)) {
            Some(&[only]) => Self { first: only & first_mask(first) & last_mask(last), middle: &[], last: 0 },
            Some([start, middle @ .., end]) => Self { first: start & first_mask(first), middle, last: end & last_mask(last) },
            _ => Self { first: 0, middle: &[], last: 0 },
        }
    }
}

/// How bitmaps are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Set where all are set.
    And,
    /// Set where any is set.
    Or,
    /// Set where an odd number is set.
    Xor,
    /// Set where the only source is not.
    Not,
}

/// Stores a combination of the strings under `sources` in the place of whatever is under `target`, without an expiry, and returns
/// its length in bytes: that of the longest source, the others being filled up with zeros. An absent source counts as empty; an
/// empty result removes the target (BITOP).
///
/// # Errors
/// See the module; the target may hold any type.
pub fn combine(db: &mut Db, operation: Operation, target: &KeyAt, sources: &[KeyAt]) -> Result<usize> {
    let mut values = Vec::with_capacity(sources.len());
    for source in sources {
        values.push(strings::get(db, source)?.unwrap_or_default());
    }
    let result = combined(operation, &values);
    let length = result.len();
    if result.is_empty() {
        db.remove_in_place_of(target, Kind::String)?;
    } else {
        strings::set(db, target, result.into(), Condition::Always, Expiry::Never)?;
    }
    Ok(length)
}

fn combined(operation: Operation, values: &[Bytes]) -> Vec<u8> {
    let length = values.iter().map(Bytes::len).max().unwrap_or_default();
    let mut result = Vec::with_capacity(length);
    result.extend_from_slice(values.first().map_or(&[], |first| first.as_ref()));
    result.resize(length, 0);
    if operation == Operation::Not {
        result.iter_mut().for_each(|byte| *byte = !*byte);
    }
    for value in values.iter().skip(1) {
        let (shared, beyond) = result.split_at_mut_checked(value.len()).unwrap_or_default();
        let pairs = shared.iter_mut().zip(value.iter());
        match operation {
            Operation::And => {
                pairs.for_each(|(byte, other)| *byte &= other);
                beyond.fill(0);
            }
            Operation::Or => pairs.for_each(|(byte, other)| *byte |= other),
            Operation::Xor => pairs.for_each(|(byte, other)| *byte ^= other),
            Operation::Not => {}
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::{Range, Unit, count, position};

    /// Every bit in the range, one by one, with its offset.
    fn bits_in(value: &[u8], Range { start, end, unit }: Range) -> Vec<(u64, bool)> {
        let every = value.iter().flat_map(|byte| (0..8).map(move |bit| byte >> (7 - bit) & 1 == 1));
        let every: Vec<(u64, bool)> = (0..).zip(every).collect();
        let width = if unit == Unit::Bit { 1 } else { 8 };
        let length = i64::try_from(every.len() / width).unwrap();
        let from_start = |position: i64| if position < 0 { (position + length).max(0) } else { position };
        let (start, end) = (from_start(start), from_start(end).min(length - 1));
        let units = (0..).zip(every.chunks(width)).filter(|(number, _)| (start..=end).contains(number));
        units.flat_map(|(_, bits)| bits.to_vec()).collect()
    }

    #[test]
    fn counts_and_positions_are_those_of_looking_at_each_bit() {
        let values: &[&[u8]] =
            &[b"", b"\x00", b"\xff", b"\x00\xff\xf0\x00", b"\xff\x0f\xff", b"\x01\x80\x00\x00\x00\x00\x00\x00\x00\x00\x10\x01"];
        for value in values {
            for (start, end) in (-40..110).flat_map(|start| (-40..110).map(move |end| (start, end))) {
                for unit in [Unit::Byte, Unit::Bit] {
                    let range = Range { start, end, unit };
                    let bits = bits_in(value, range);
                    let ones = u64::try_from(bits.iter().filter(|(_, bit)| *bit).count()).unwrap();
                    let expected = if start < 0 && end < 0 && start > end { 0 } else { ones };
                    assert_eq!(count(value, range), expected, "{value:?} {range:?}");
                    for sought in [false, true] {
                        let first = bits.iter().find(|(_, bit)| *bit == sought).map(|(number, _)| *number);
                        assert_eq!(position(value, sought, range, false), first, "{sought} in {value:?} {range:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn bounds_at_the_ends_of_numbers_are_cut_to_the_string() {
        for unit in [Unit::Byte, Unit::Bit] {
            let everything = Range { start: i64::MIN, end: i64::MAX, unit };
            assert_eq!(count(b"\xff\x01", everything), 9);
            assert_eq!(position(b"\xff\x01", false, everything, false), Some(8));
            assert_eq!(count(b"\xff", Range { start: i64::MAX, end: i64::MAX, unit }), 0);
        }
    }
}
