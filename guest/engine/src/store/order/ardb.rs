//! The comparator of Ardb: section 2 of its format, with the encodings of its section 3.

use super::{push_number, push_text};

/// Meta records end the comparison: there is one for each user key.
const META: u8 = 1;

/// Kinds of elements in their order: nothing, numbers, strings, and what is of no valid form.
const NIL: u8 = 0;
const NUMBER: u8 = 1;
const STRING: u8 = 2;
const UNREADABLE: u8 = 3;

/// User key in byte order, type, number of elements, elements. What cannot be read is taken as bytes, behind what can.
pub fn sort_key(key: &[u8]) -> Vec<u8> {
    let mut sort_key = Vec::with_capacity(key.len() + 16);
    let Some((user_key, rest)) = take_text(key) else {
        push_text(&mut sort_key, key);
        return sort_key;
    };
    push_text(&mut sort_key, user_key);
    let Some((&kind, rest)) = rest.split_first() else { return sort_key };
    sort_key.push(kind);
    if kind == META {
        return sort_key;
    }
    let Some((&count, mut rest)) = rest.split_first() else { return sort_key };
    sort_key.push(count);
    for _ in 0..count {
        match push_element(&mut sort_key, rest) {
            Some(behind) => rest = behind,
            None => {
                sort_key.push(UNREADABLE);
                sort_key.extend_from_slice(rest);
                break;
            }
        }
    }
    sort_key
}

/// Appends one element, and returns what follows it.
fn push_element<'a>(sort_key: &mut Vec<u8>, bytes: &'a [u8]) -> Option<&'a [u8]> {
    let (&tag, rest) = bytes.split_first()?;
    match tag {
        0 => {
            sort_key.push(NIL);
            Some(rest)
        }
        1 | 2 => {
            let (number, rest) = take_signed(rest)?;
            let (float, exact) = if tag == 1 {
                #[expect(clippy::cast_precision_loss, reason = "the comparator compares integers with floats as floats")]
                (number as f64, number)
            } else {
                let float = f64::from_bits(number.cast_unsigned());
                #[expect(clippy::cast_possible_truncation, reason = "where it is an integer it is exact, elsewhere it saturates")]
                (float, float as i64)
            };
            sort_key.push(NUMBER);
            push_number(sort_key, float);
            // Integers beyond 2^53 that are the same float.
            sort_key.extend_from_slice(&(exact.cast_unsigned() ^ 1 << 63).to_be_bytes());
            Some(rest)
        }
        3 | 4 => {
            let (text, rest) = take_text(rest)?;
            sort_key.push(STRING);
            push_text(sort_key, text);
            Some(rest)
        }
        _ => None,
    }
}

/// A length and that many bytes.
fn take_text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = take_unsigned(bytes)?;
    rest.split_at_checked(usize::try_from(length).ok()?)
}

/// A varint: groups of seven bits, the lowest first; at most ten.
fn take_unsigned(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (position, &byte) in bytes.iter().enumerate().take(10) {
        number |= u64::from(byte & 0x7f).checked_shl(u32::try_from(position).ok()?.saturating_mul(7)).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Some((number, bytes.get(position + 1..)?));
        }
    }
    None
}

/// A varint with the sign in its lowest bit.
fn take_signed(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (number, rest) = take_unsigned(bytes)?;
    Some(((number >> 1).cast_signed() ^ -(number & 1).cast_signed(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Order;

    fn unhex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b' ').collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    #[test]
    fn varints_carry_their_sign_in_the_lowest_bit() {
        // The expiry 4102444800000 of the format's worked example.
        assert_eq!(take_signed(&unhex("80e09ecce5ee01 04")), Some((4_102_444_800_000, &[4][..])));
        assert_eq!(take_signed(&[1]), Some((-1, &[][..])));
        assert_eq!(take_unsigned(&[0x80; 11]), None);
        assert_eq!(take_unsigned(&[0x80]), None);
    }

    #[test]
    fn records_go_by_user_key_then_type_then_elements() {
        let keys = [
            // Meta of "aa", which is longer than "b" and comes before it.
            "02 6161 01 00",
            // List elements of "aa": -3, -1, 0, 1.5 (a float), 2, 300.
            "02 6161 06 01 01 05",
            "02 6161 06 01 01 01",
            "02 6161 06 01 01 00",
            "02 6161 06 01 02 80808080808080f87f",
            "02 6161 06 01 01 04",
            "02 6161 06 01 01 d804",
            // Set members: nil, a number, strings.
            "02 6161 08 01 00",
            "02 6161 08 01 01 02",
            "02 6161 08 01 04 00",
            "02 6161 08 01 04 01 61",
            "02 6161 08 01 04 02 6100",
            "02 6161 08 01 04 01 62",
            // The sentinel behind all records of a key.
            "02 6161 1f 00",
            "01 62 01 00",
        ];
        let keys: Vec<Vec<u8>> = keys.iter().map(|key| unhex(key)).collect();
        for (at, key) in keys.iter().enumerate() {
            for (other_at, other) in keys.iter().enumerate() {
                assert_eq!(Order::Ardb.compare(key, other), at.cmp(&other_at), "{key:02x?} against {other:02x?}");
            }
        }
    }

    #[test]
    fn an_integer_and_the_float_of_the_same_number_are_one_key() {
        // 0 and 0.0; the tags 3 and 4 of a string.
        assert!(Order::Ardb.compare(&unhex("01 6b 06 01 01 00"), &unhex("01 6b 06 01 02 00")).is_eq());
        assert!(Order::Ardb.compare(&unhex("01 6b 08 01 03 01 61"), &unhex("01 6b 08 01 04 01 61")).is_eq());
    }

    #[test]
    fn large_integers_that_are_the_same_float_are_different_keys() {
        let key = |number: i64| {
            let mut key = unhex("01 6b 08 01 01");
            let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
            while rest >= 0x80 {
                key.push(u8::try_from(rest & 0x7f).unwrap() | 0x80);
                rest >>= 7;
            }
            key.push(u8::try_from(rest).unwrap());
            key
        };
        assert!(Order::Ardb.compare(&key(i64::MAX - 1), &key(i64::MAX)).is_lt());
        assert!(Order::Ardb.compare(&key(i64::MIN), &key(i64::MIN + 1)).is_lt());
    }

    #[test]
    fn keys_of_no_valid_form_have_a_place_too() {
        for key in ["", "05 61", "01 61", "01 61 06", "01 61 06 02 01 00", "01 61 06 01 09", "01 61 06 01 01 80"] {
            let key = unhex(key);
            assert!(Order::Ardb.compare(&key, &key).is_eq());
        }
    }
}
