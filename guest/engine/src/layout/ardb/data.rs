//! The primitive encodings: varints, and *data items*, which carry their type with them (section 3 of the format document).

use crate::codec::{Flaw, Reader};
use crate::number::parse_i64;
use bytes::{BufMut, Bytes, BytesMut};

const NIL: u8 = 0;
const INTEGER: u8 = 1;
const FLOAT: u8 = 2;
/// Strings that were never meant to be stored; they are read all the same.
const TEXT_IN_MEMORY: u8 = 3;
const TEXT: u8 = 4;

/// A longer string is no number, whatever is in it.
const MAX_NUMBER_BYTES: usize = 21;
/// Bits of a group of a varint.
const GROUP_BITS: u32 = 7;
/// That another group follows.
const MORE: u8 = 0x80;
/// Floats below this magnitude (2^52) that are integers are written without a point.
const MAX_PLAIN_INTEGER: f64 = 4_503_599_627_370_496.0;

/// A value with its type.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// Nothing.
    Nil,
    /// An integer.
    Integer(i64),
    /// A double.
    Float(f64),
    /// A byte string.
    Text(Bytes),
}

impl Item {
    /// A byte string, as an integer where it is how an integer is written: what Ardb does with strings, fields, members of sets and
    /// elements, but not with members of sorted sets.
    #[must_use]
    pub fn of(text: &[u8]) -> Self {
        let number = if text.len() <= MAX_NUMBER_BYTES { parse_i64(text) } else { None };
        number.map_or_else(|| Self::text(text), Self::Integer)
    }

    /// A byte string as it is.
    #[must_use]
    pub fn text(text: &[u8]) -> Self {
        Self::Text(Bytes::copy_from_slice(text))
    }

    /// What a client is told of it: numbers are written out.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Nil => Bytes::new(),
            Self::Integer(number) => number.to_string().into(),
            Self::Float(number) => format_float(number).into(),
            Self::Text(text) => text,
        }
    }

    /// The number; `None` where it is none.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        match *self {
            #[expect(clippy::cast_precision_loss, reason = "the format compares integers with floats as floats")]
            Self::Integer(number) => Some(number as f64),
            Self::Float(number) => Some(number),
            Self::Nil | Self::Text(_) => None,
        }
    }

    /// `tag | body`.
    pub fn encode(&self, bytes: &mut BytesMut) {
        match self {
            Self::Nil => bytes.put_u8(NIL),
            Self::Integer(number) => {
                bytes.put_u8(INTEGER);
                put_signed(bytes, *number);
            }
            Self::Float(number) => {
                bytes.put_u8(FLOAT);
                put_signed(bytes, number.to_bits().cast_signed());
            }
            Self::Text(text) => {
                bytes.put_u8(TEXT);
                put_text(bytes, text);
            }
        }
    }

    /// The inverse of [`Item::encode`].
    ///
    /// # Errors
    /// A flaw where the bytes are no data item.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, Flaw> {
        let unknown = reader.flaw("an unknown data item");
        match reader.u8("a data item is missing")? {
            NIL => Ok(Self::Nil),
            INTEGER => take_signed(reader).map(Self::Integer),
            FLOAT => take_signed(reader).map(|bits| Self::Float(f64::from_bits(bits.cast_unsigned()))),
            TEXT_IN_MEMORY | TEXT => take_text(reader).map(Self::Text),
            _ => Err(unknown),
        }
    }
}

/// `count u8 | item ...`.
pub fn put_items<'i>(bytes: &mut BytesMut, items: impl ExactSizeIterator<Item = &'i Item>) {
    bytes.put_u8(u8::try_from(items.len()).unwrap_or(u8::MAX));
    items.for_each(|item| item.encode(bytes));
}

/// The inverse of [`put_items`].
///
/// # Errors
/// A flaw where the bytes end before, or are no data items.
pub fn take_items(reader: &mut Reader<'_>) -> Result<Vec<Item>, Flaw> {
    let count = reader.u8("a count of items is missing")?;
    (0..count).map(|_| Item::decode(reader)).collect()
}

/// A length and that many bytes.
pub fn put_text(bytes: &mut BytesMut, text: &[u8]) {
    put_unsigned(bytes, u64::try_from(text.len()).unwrap_or(u64::MAX));
    bytes.put_slice(text);
}

/// The inverse of [`put_text`].
///
/// # Errors
/// A flaw where the bytes end before.
pub fn take_text(reader: &mut Reader<'_>) -> Result<Bytes, Flaw> {
    let length = take_unsigned(reader)?;
    reader.slice(usize::try_from(length).unwrap_or(usize::MAX), "a string is cut short")
}

fn put_unsigned(bytes: &mut BytesMut, mut number: u64) {
    loop {
        let group = number.to_le_bytes().first().copied().unwrap_or_default() & !MORE;
        number >>= GROUP_BITS;
        if number == 0 {
            return bytes.put_u8(group);
        }
        bytes.put_u8(group | MORE);
    }
}

fn take_unsigned(reader: &mut Reader<'_>) -> Result<u64, Flaw> {
    let too_long = reader.flaw("a varint of more than 64 bits");
    let (mut number, mut shift) = (0_u64, 0);
    loop {
        let byte = reader.u8("a varint is cut short")?;
        let group = u64::from(byte & !MORE);
        let shifted = group.checked_shl(shift).filter(|shifted| shifted >> shift == group).ok_or(too_long)?;
        number |= shifted;
        if byte & MORE == 0 {
            return Ok(number);
        }
        shift += GROUP_BITS;
    }
}

/// A varint that has the sign in its lowest bit.
pub fn put_signed(bytes: &mut BytesMut, number: i64) {
    put_unsigned(bytes, ((number << 1) ^ (number >> 63)).cast_unsigned());
}

/// The inverse of [`put_signed`].
///
/// # Errors
/// A flaw where the bytes end before or the number has more than 64 bits.
pub fn take_signed(reader: &mut Reader<'_>) -> Result<i64, Flaw> {
    let number = take_unsigned(reader)?;
    Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

/// Writes a double as C's `%.17g` does, integers below 2^52 without an exponent.
#[must_use]
pub fn format_float(number: f64) -> String {
    const DIGITS: usize = 17;
    if number.is_nan() {
        return if number.is_sign_negative() { "-nan" } else { "nan" }.to_owned();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-inf" } else { "inf" }.to_owned();
    }
    if number.trunc() == number && number.abs() < MAX_PLAIN_INTEGER {
        // Through an integer, which has no negative zero.
        return format!("{:.0}", number + 0.0);
    }
    let scientific = format!("{number:.*e}", DIGITS - 1);
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    match usize::try_from(i32::try_from(DIGITS).unwrap_or(i32::MAX) - 1 - exponent) {
        Ok(decimals) if exponent >= -4 => without_trailing_zeros(&format!("{number:.decimals$}")).to_owned(),
        _ => format!("{}e{}{:02}", without_trailing_zeros(digits), if exponent < 0 { '-' } else { '+' }, exponent.abs()),
    }
}

fn without_trailing_zeros(decimal: &str) -> &str {
    if decimal.contains('.') { decimal.trim_end_matches('0').trim_end_matches('.') } else { decimal }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Bytes {
        let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b' ').collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    fn encoded(item: &Item) -> Bytes {
        let mut bytes = BytesMut::new();
        item.encode(&mut bytes);
        bytes.freeze()
    }

    fn decoded(bytes: &Bytes) -> Result<Item, Flaw> {
        let mut reader = Reader::new(bytes);
        let item = Item::decode(&mut reader)?;
        reader.end()?;
        Ok(item)
    }

    #[test]
    fn items_are_the_documented_bytes_and_read_back() {
        let items = [
            (Item::Nil, "00"),
            (Item::Integer(0), "01 00"),
            (Item::Integer(-1), "01 01"),
            (Item::Integer(12345), "01 f2c001"),
            (Item::Integer(4_102_444_800_000), "01 80e09ecce5ee01"),
            (Item::Integer(i64::MAX), "01 feffffffffffffffff01"),
            (Item::Integer(i64::MIN), "01 ffffffffffffffffff01"),
            (Item::Float(0.0), "02 00"),
            (Item::Float(1.5), "02 80808080 80808 0f87f"),
            (Item::Float(-1.5), "02 ffffffffffffff878001"),
            (Item::Float(0.25), "02 80808080808080d07f"),
            (Item::Float(f64::NEG_INFINITY), "02 ffffffffffffff0f"),
            (Item::Float(f64::INFINITY), "02 80808080808080f0ff01"),
            (Item::text(b"bar"), "04 03 626172"),
            (Item::text(b""), "04 00"),
        ];
        for (item, bytes) in items {
            assert_eq!(encoded(&item), hex(bytes), "{item:?}");
            assert_eq!(decoded(&hex(bytes)), Ok(item));
        }
        assert_eq!(decoded(&hex("03 01 61")), Ok(Item::text(b"a")), "the variant in memory");
    }

    #[test]
    fn what_is_no_item_is_refused() {
        let wrong = [
            "",
            "01",
            "01 80",
            "02 8080",
            "04",
            "04 02 61",
            "05",
            "ff 00",
            // Eleven groups, and ten with more than 64 bits.
            "01 8080808080808080808001",
            "01 ffffffffffffffffff02",
            // A length beyond memory.
            "04 ffffffffffffffffff01 61",
        ];
        for bytes in wrong {
            assert!(decoded(&hex(bytes)).is_err(), "{bytes}");
        }
    }

    #[test]
    fn only_what_an_integer_is_written_as_becomes_one() {
        for text in ["0", "-7", "12345", "9223372036854775807", "-9223372036854775808"] {
            assert_eq!(Item::of(text.as_bytes()), Item::Integer(text.parse().unwrap()));
        }
        for text in ["", "007", "-0", "+1", "1.5", " 1", "9223372036854775808", "0000000000000000000001"] {
            assert_eq!(Item::of(text.as_bytes()), Item::text(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn floats_are_written_as_printf_does() {
        let texts = [
            (10.5, "10.5"),
            (3.0, "3"),
            (-0.0, "0"),
            (0.1, "0.10000000000000001"),
            (-2.5e-5, "-2.5000000000000001e-05"),
            (0.0001, "0.0001"),
            (4_503_599_627_370_495.0, "4503599627370495"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (1.5e300, "1.5000000000000001e+300"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ];
        for (number, text) in texts {
            assert_eq!(format_float(number), text);
            assert_eq!(Item::Float(number).into_bytes(), text);
        }
    }

    proptest::proptest! {
        #[test]
        fn floats_as_text_read_back(number in proptest::num::f64::NORMAL) {
            proptest::prop_assert_eq!(format_float(number).parse::<f64>(), Ok(number));
        }

        #[test]
        fn integers_read_back(number: i64) {
            proptest::prop_assert_eq!(decoded(&encoded(&Item::Integer(number))), Ok(Item::Integer(number)));
        }
    }
}
