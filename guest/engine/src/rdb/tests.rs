//! What no payload can do, whatever its bytes are, and what every encoding reads as. The payloads of a real Redis are in
//! `tests/dump_restore.rs` of the tests crate.

use super::{Encoder, Field, Refusal, Value, decode, footer};
use crate::layout::Kind;
use bytes::Bytes;
use proptest::prelude::*;

/// More than any test's value takes.
const PLENTY: usize = 1 << 20;

/// A payload of these bytes with the right footer.
fn sealed(value: &[u8]) -> Bytes {
    [value, &footer::of(value, footer::WRITTEN)].concat().into()
}

fn decoded(value: &[u8]) -> Result<Value, Refusal> {
    decode(&sealed(value), PLENTY)
}

#[track_caller]
fn assert_malformed(value: &[u8]) {
    assert!(matches!(decoded(value), Err(Refusal::Format(_))), "{value:?}: {:?}", decoded(value));
}

fn names(names: &[&str]) -> Vec<Bytes> {
    names.iter().map(|name| Bytes::copy_from_slice(name.as_bytes())).collect()
}

fn field(name: &str, value: &str, expire_at_ms: Option<u64>) -> Field {
    Field { name: name.to_owned().into(), value: value.to_owned().into(), expire_at_ms }
}

/// A string of RDB, shorter than 64 bytes.
fn string(bytes: &[u8]) -> Vec<u8> {
    assert!(bytes.len() < 64);
    [&[u8::try_from(bytes.len()).unwrap()], bytes].concat()
}

/// A packed collection with its type before it.
fn packed(kind: u8, blob: &[u8]) -> Vec<u8> {
    [vec![kind], string(blob)].concat()
}

fn listpack(count: u8, elements: &[u8]) -> Vec<u8> {
    let bytes = u8::try_from(elements.len() + 7).unwrap();
    [&[bytes, 0, 0, 0, count, 0], elements, &[0xff]].concat()
}

fn ziplist(tail: u8, count: u8, entries: &[u8]) -> Vec<u8> {
    let bytes = u8::try_from(entries.len() + 11).unwrap();
    [&[bytes, 0, 0, 0, tail, 0, 0, 0, count, 0], entries, &[0xff]].concat()
}

/// The payload that DUMP would return.
fn encoded(value: &Value) -> Bytes {
    let mut out = b"before".to_vec();
    let kind = match value {
        Value::String(_) => Kind::String,
        Value::List(_) => Kind::List,
        Value::Set(_) => Kind::Set,
        Value::SortedSet(_) => Kind::SortedSet,
        Value::Hash(_) => Kind::Hash,
    };
    let mut payload = Encoder::new(&mut out, PLENTY, kind);
    match value {
        Value::String(value) => payload.string(value),
        Value::List(elements) | Value::Set(elements) => {
            payload.length(elements.len() as u64);
            elements.iter().for_each(|element| payload.string(element));
        }
        Value::SortedSet(members) => {
            payload.length(members.len() as u64);
            for (member, score) in members {
                payload.string(member);
                payload.score(*score);
            }
        }
        Value::Hash(fields) => {
            payload.length(fields.len() as u64);
            for field in fields {
                payload.string(&field.name);
                payload.string(&field.value);
            }
        }
    }
    payload.finish().unwrap();
    Bytes::from(out).slice(6..)
}

fn values() -> impl Strategy<Value = Value> {
    let name = || prop::collection::vec(any::<u8>(), 0..80).prop_map(Bytes::from);
    let score = any::<f64>().prop_map(|score| if score.is_nan() { f64::INFINITY } else { score });
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..20_000).prop_map(|value| Value::String(value.into())),
        prop::collection::vec(name(), 1..100).prop_map(Value::List),
        prop::collection::btree_set(name(), 1..100).prop_map(|members| Value::Set(members.into_iter().collect())),
        prop::collection::btree_map(name(), score, 1..100).prop_map(|members| Value::SortedSet(members.into_iter().collect())),
        prop::collection::btree_map(name(), name(), 1..100).prop_map(|fields| {
            Value::Hash(fields.into_iter().map(|(name, value)| Field { name, value, expire_at_ms: None }).collect())
        }),
    ]
}

/// What is read can be written, and read again. (Expiries of fields are never written.)
fn assert_refused_or_sound(decoded: Result<Value, Refusal>) -> Result<(), TestCaseError> {
    let Ok(mut value) = decoded else { return Ok(()) };
    if let Value::Hash(fields) = &mut value {
        fields.iter_mut().for_each(|field| field.expire_at_ms = None);
    }
    prop_assert_eq!(decode(&encoded(&value), PLENTY), Ok(value));
    Ok(())
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded_again(value in values()) {
        prop_assert_eq!(decode(&encoded(&value), PLENTY * 2), Ok(value));
    }

    #[test]
    fn a_payload_that_is_cut_off_or_goes_on_is_refused(value in values(), cut in any::<prop::sample::Index>(), more in any::<u8>()) {
        let whole = encoded(&value);
        let bytes = &whole[..whole.len() - 10];
        prop_assert!(decoded(&bytes[..cut.index(bytes.len())]).is_err());
        prop_assert!(decoded(&[bytes, &[more]].concat()).is_err());
    }

    #[test]
    fn any_bytes_are_a_value_or_refused(kind in 0_u8..30, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        assert_refused_or_sound(decoded(&[&[kind], bytes.as_slice()].concat()))?;
        assert_refused_or_sound(decode(&bytes.into(), PLENTY))?;
    }

    /// Bytes that begin like each packed encoding, so that more than their first check is tried.
    #[test]
    fn any_packed_bytes_are_a_value_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40), width in 1_u8..4) {
        for kind in [16, 17, 20] {
            assert_refused_or_sound(decoded(&packed(kind, &listpack(0xff, &bytes))))?;
        }
        for kind in [10, 12, 13] {
            assert_refused_or_sound(decoded(&packed(kind, &ziplist(10, 0xff, &bytes))))?;
        }
        assert_refused_or_sound(decoded(&packed(9, &[&[0xfe], bytes.as_slice(), &[0xff]].concat())))?;
        assert_refused_or_sound(decoded(&packed(11, &[&[1 << width, 0, 0, 0, 2, 0, 0, 0], bytes.as_slice()].concat())))?;
    }

    #[test]
    fn a_changed_byte_gives_another_value_or_is_refused(value in values(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let whole = encoded(&value);
        let mut bytes = whole[..whole.len() - 10].to_vec();
        let at = at.index(bytes.len());
        prop_assume!(bytes[at] != byte);
        bytes[at] = byte;
        // As texts: 0 and -0 are equal, and not the same.
        prop_assert_ne!(format!("{:?}", decoded(&bytes)), format!("{:?}", Ok::<Value, Refusal>(value)));
        assert_refused_or_sound(decoded(&bytes))?;
    }
}

#[test]
fn every_encoding_of_a_string_is_read() {
    let a_hundred = [b"\x00\x40\x64".as_slice(), &[b'x'; 100]].concat();
    let cases: [(&[u8], &[u8]); 8] = [
        (b"\x00\x00", b""),
        (b"\x00\x05hello", b"hello"),
        (&a_hundred, &[b'x'; 100]),
        (b"\x00\x80\x00\x00\x00\x01x", b"x"),
        (b"\x00\x81\x00\x00\x00\x00\x00\x00\x00\x01x", b"x"),
        (b"\x00\xc0\xff", b"-1"),
        (b"\x00\xc2\x00\x00\x00\x80", b"-2147483648"),
        (b"\x00\xc3\x04\x04\x00a\x20\x00", b"aaaa"),
    ];
    for (bytes, value) in cases {
        assert_eq!(decoded(bytes), Ok(Value::String(Bytes::copy_from_slice(value))), "{bytes:?}");
    }
    for bytes in
        [b"\x00\xc4\x00".as_slice(), b"\x00\x82\x00", b"\x00\xc3\x04\x05\x00a\x20\x00", b"\x00\x05hell", b"\x00\x01xx", b"\x00", b""]
    {
        assert_malformed(bytes);
    }
}

#[test]
fn zipmaps_are_read() {
    let hash = Value::Hash(vec![field("a", "1", None), field("bb", "", None)]);
    assert_eq!(decoded(&packed(9, b"\x02\x01a\x01\x001\x02bb\x00\x00\xff")), Ok(hash));
    // Unused bytes behind a value; fields that are not counted.
    assert_eq!(decoded(&packed(9, b"\xfe\x01a\x01\x021..\xff")), Ok(Value::Hash(vec![field("a", "1", None)])));
    // A wrong count, no value, the same field twice, a length beyond the end, bytes behind the end, nothing.
    for blob in [
        b"\x03\x01a\x01\x001\xff".as_slice(),
        b"\x01\x01a\xff",
        b"\x02\x01a\x01\x001\x01a\x01\x002\xff",
        b"\x01\x09a\xff",
        b"\x01\x01a\x01\x001\xff\xff",
        b"\x00\xff",
        b"",
    ] {
        assert_malformed(&packed(9, blob));
    }
}

#[test]
fn ziplists_are_read() {
    // "ab", then 300, 70000, -5, a 24-bit number, an immediate 12 and a 64-bit number, each behind the length of the one before.
    let entries = b"\x00\x02ab\x04\xc0\x2c\x01\x04\xd0\x70\x11\x01\x00\x06\xfe\xfb\x03\xf0\xff\xff\x7f\x05\xfd\x02\xe0\x00\x00\x00\x00\x00\x00\x00\x80";
    let tail = u8::try_from(10 + entries.len() - 10).unwrap();
    let elements = names(&["ab", "300", "70000", "-5", "8388607", "12", "-9223372036854775808"]);
    assert_eq!(decoded(&packed(10, &ziplist(tail, 7, entries))), Ok(Value::List(elements.clone())));
    // A quicklist of two nodes.
    let nodes = [vec![14, 2], string(&ziplist(tail, 7, entries)), string(&ziplist(10, 1, b"\x00\x01x"))].concat();
    assert_eq!(decoded(&nodes), Ok(Value::List([elements, names(&["x"])].concat())));
    // A wrong tail, count, length before, end, encoding; an odd number of entries in a hash; a score that is no number; nothing.
    assert_malformed(&packed(10, &ziplist(tail - 1, 7, entries)));
    assert_malformed(&packed(10, &ziplist(tail, 6, entries)));
    assert_malformed(&packed(10, &ziplist(13, 2, b"\x00\x01x\x02\x01y")));
    assert_malformed(&packed(10, &ziplist(10, 1, b"\x00\x09x")));
    assert_malformed(&packed(10, &ziplist(10, 1, b"\x00\xc1xx")));
    assert_malformed(&packed(13, &ziplist(10, 1, b"\x00\x01x")));
    assert_malformed(&packed(12, &ziplist(13, 2, b"\x00\x01x\x03\x01y")));
    assert_malformed(&packed(10, &ziplist(10, 0, b"")));
    let scored = Value::SortedSet(vec![("x".into(), 2.5)]);
    assert_eq!(decoded(&packed(12, &ziplist(13, 2, b"\x00\x01x\x03\x032.5"))), Ok(scored));
}

#[test]
fn listpacks_are_read() {
    // 127, -4096, "abc", -3, 8388607, -2147483648 and a 64-bit number, each with its length behind it.
    let elements = b"\x7f\x01\xd0\x00\x02\x83abc\x04\xf1\xfd\xff\x03\xf2\xff\xff\x7f\x04\xf3\x00\x00\x00\x80\x05";
    let read = names(&["127", "-4096", "abc", "-3", "8388607", "-2147483648"]);
    assert_eq!(decoded(&packed(20, &listpack(6, elements))), Ok(Value::Set(read.clone())));
    // A quicklist of a listpack and a single element.
    let nodes = [vec![18, 2, 2], string(&listpack(6, elements)), vec![1], string(b"x")].concat();
    assert_eq!(decoded(&nodes), Ok(Value::List([read, names(&["x"])].concat())));
    assert_malformed(&packed(20, &listpack(5, elements)));
    assert_malformed(&packed(20, &listpack(1, b"\x7f\x02")));
    assert_malformed(&packed(20, &listpack(1, b"\xf5\x01")));
    assert_malformed(&packed(20, &listpack(1, b"\xf0\xff\xff\xff\x7fx\x06")));
    assert_malformed(&packed(20, &listpack(2, b"\x01\x01\x01\x01")));
    assert_malformed(&packed(16, &listpack(1, b"\x01\x01")));
    assert_malformed(&packed(17, &listpack(2, b"\x01\x01\x83nan\x04")));
    assert_malformed(&packed(20, &listpack(0, b"")));
    assert_malformed(&[vec![18, 1, 3], string(b"x")].concat());
    assert_malformed(&[18, 0]);
    let scored = Value::SortedSet(vec![("1".into(), f64::NEG_INFINITY)]);
    assert_eq!(decoded(&packed(17, &listpack(2, b"\x01\x01\x84-inf\x05"))), Ok(scored));
}

#[test]
fn intsets_are_read() {
    let set = |members: &[&str]| Ok(Value::Set(names(members)));
    assert_eq!(decoded(&packed(11, b"\x02\0\0\0\x02\0\0\0\xff\xff\x07\x00")), set(&["-1", "7"]));
    assert_eq!(decoded(&packed(11, b"\x04\0\0\0\x01\0\0\0\x00\x00\x01\x00")), set(&["65536"]));
    assert_eq!(decoded(&packed(11, b"\x08\0\0\0\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\x7f")), set(&["9223372036854775807"]));
    // Not sorted, twice the same, of another width, cut off, with bytes behind it, empty.
    assert_malformed(&packed(11, b"\x02\0\0\0\x02\0\0\0\x07\x00\xff\xff"));
    assert_malformed(&packed(11, b"\x02\0\0\0\x02\0\0\0\x07\x00\x07\x00"));
    assert_malformed(&packed(11, b"\x01\0\0\0\x02\0\0\0\x07\x08"));
    assert_malformed(&packed(11, b"\x02\0\0\0\xff\xff\xff\xff\x07\x00"));
    assert_malformed(&packed(11, b"\x02\0\0\0\x01\0\0\0\x07\x00\x08\x00"));
    assert_malformed(&packed(11, b"\x02\0\0\0\0\0\0\0"));
}

#[test]
fn scores_are_read_as_texts_and_as_doubles() {
    let set = |score: f64| Ok(Value::SortedSet(vec![("m".into(), score)]));
    assert_eq!(decoded(b"\x03\x01\x01m\x042.25"), set(2.25));
    assert_eq!(decoded(b"\x03\x01\x01m\xfe"), set(f64::INFINITY));
    assert_eq!(decoded(b"\x03\x01\x01m\xff"), set(f64::NEG_INFINITY));
    assert_eq!(decoded(&[b"\x05\x01\x01m".as_slice(), &(-0.5_f64).to_le_bytes()].concat()), set(-0.5));
    assert_malformed(b"\x03\x01\x01m\xfd");
    assert_malformed(b"\x03\x01\x01m\x03abc");
    assert_malformed(&[b"\x05\x01\x01m".as_slice(), &f64::NAN.to_le_bytes()].concat());
    let twice = [b"\x05\x02\x01m".as_slice(), &1_f64.to_le_bytes(), b"\x01m", &2_f64.to_le_bytes()].concat();
    assert_malformed(&twice);
}

#[test]
fn fields_of_redis_7_4_have_expiries() {
    let hash = Ok(Value::Hash(vec![field("a", "1", Some(1002)), field("b", "2", None)]));
    let metadata = [&[24], 1000_u64.to_le_bytes().as_slice(), b"\x02\x03\x01a\x011\x00\x01b\x012"].concat();
    assert_eq!(decoded(&metadata), hash);
    let elements = listpack(6, b"\x81a\x02\x81\x31\x02\xf1\xea\x03\x03\x81b\x02\x81\x32\x02\x00\x01");
    assert_eq!(decoded(&[&[25], 1002_u64.to_le_bytes().as_slice(), &string(&elements)].concat()), hash);
    // A time that is none, and a field without one.
    let negative = listpack(3, b"\x81a\x02\x81\x31\x02\xdf\xff\x02");
    assert_malformed(&[&[25], 0_u64.to_le_bytes().as_slice(), &string(&negative)].concat());
    assert_malformed(&[&[25], 0_u64.to_le_bytes().as_slice(), &string(&listpack(2, b"\x81a\x02\x81\x31\x02"))].concat());
    assert_malformed(&[&[24], u64::MAX.to_le_bytes().as_slice(), b"\x01\x03\x01a\x011"].concat());
}

#[test]
fn a_hash_with_a_field_that_expires_is_written_for_redis_7_4() {
    let mut out = Vec::new();
    let mut payload = Encoder::expiring_hash(&mut out, PLENTY);
    payload.length(2);
    for field in [field("a", "1", Some(1002)), field("b", "2", None)] {
        payload.expiry(field.expire_at_ms);
        payload.string(&field.name);
        payload.string(&field.value);
    }
    payload.finish().unwrap();
    assert_eq!(out[..22], *b"\x18\0\0\0\0\0\0\0\0\x02\x43\xeb\x01a\x011\x00\x01b\x012\x0c");
    assert_eq!(decode(&out.into(), PLENTY), Ok(Value::Hash(vec![field("a", "1", Some(1002)), field("b", "2", None)])));
}

#[test]
fn empty_collections_and_other_types_are_refused() {
    for kind in [1, 2, 3, 4, 5, 14, 18] {
        assert_malformed(&[kind, 0]);
    }
    for kind in [6, 7, 8, 15, 19, 21, 22, 23, 26, 255] {
        assert_malformed(&packed(kind, b"x"));
    }
}

#[test]
fn a_length_that_is_a_lie_allocates_nothing() {
    for kind in [0, 1, 2, 3, 4, 5, 14, 18] {
        assert_malformed(&[&[kind, 0x81], u64::MAX.to_be_bytes().as_slice()].concat());
    }
    let huge = [&[0, 0xc3, 0x01, 0x80], u32::MAX.to_be_bytes().as_slice(), b"\x00"].concat();
    assert_eq!(decoded(&huge), Err(Refusal::TooLarge));
}

#[test]
fn what_a_payload_unpacks_to_has_a_limit() {
    let elements = Value::List(vec!["x".into(); 100]);
    let payload = encoded(&elements);
    assert_eq!(decode(&payload, 100 * 65), Ok(elements));
    assert_eq!(decode(&payload, 100 * 65 - 1), Err(Refusal::TooLarge));
}

#[test]
fn a_payload_above_its_limit_is_not_finished() {
    let mut out = Vec::new();
    let mut payload = Encoder::new(&mut out, 30, Kind::List);
    payload.length(3);
    (0..3).for_each(|_| payload.string(b"0123456789"));
    assert_eq!(payload.finish(), Err(Refusal::TooLarge));
    assert!(out.len() <= 30);
}
