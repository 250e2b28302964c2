//! The records of what goes straight, in this layout: `docs/format.md`, Records.

use super::records::{self, EXPIRES, PACKED, RANKED};
pub use super::records::{most_packed_bytes, write_string};
use crate::layout::ranks::MAX_LEVELS;
use crate::layout::straight::{Head, Under, Value};
use crate::layout::{Kind, ordered_score};
use crate::packed::Records;
use bytes::BufMut;

/// How many bytes the keys of the records of a collection have in common.
pub const PREFIX_BYTES: usize = 8;

/// When a key expires, Unix time in milliseconds, and what is under it; `None` where its record says more than this knows, as that fields expire, or where
/// it is corrupt, or counts other records than are packed in it. Otherwise what [`records::decode_meta`] reads.
#[must_use]
pub fn read_head(record: &[u8]) -> Option<(Option<u64>, Under<'_>)> {
    let ([kind, flags], rest) = record.split_first_chunk()?;
    let kind = records::kind_of(*kind)?;
    let is_packed = flags & PACKED != 0 && kind != Kind::String;
    let known = match kind {
        _ if is_packed => EXPIRES | PACKED,
        Kind::SortedSet => EXPIRES | RANKED,
        _ => EXPIRES,
    };
    if flags & !known != 0 {
        return None;
    }
    let (expire_at_ms, rest) = if flags & EXPIRES == 0 { (None, rest) } else { take_u64(rest).map(|(at, rest)| (Some(at), rest))? };
    if kind == Kind::String {
        return Some((expire_at_ms, Under::String(rest)));
    }
    let (rank_levels, rest) = if flags & RANKED == 0 {
        (0, rest)
    } else {
        let (levels, rest) = rest.split_first().filter(|(levels, _)| (1..=MAX_LEVELS).contains(*levels))?;
        (*levels, rest)
    };
    let (version, rest) = take_u64(rest)?;
    let (first, rest) = if kind == Kind::List { take_u64(rest)? } else { (0, rest) };
    let (end, rest) = take_u64(rest)?;
    let head = Head { kind, rank_levels, version, count: end.checked_sub(first)?, first };
    let is_right = if is_packed { is_packed_rightly(&head, rest) } else { rest.is_empty() };
    is_right.then_some((expire_at_ms, Under::Collection(head, rest)))
}

/// Whether these are the records of a packed collection, as many as its head says: what looks for places in them relies on that.
fn is_packed_rightly(head: &Head, packed: &[u8]) -> bool {
    let has_first = || head.kind != Kind::List || Records::of(packed).next().is_some_and(|(at, _)| at == index(head.first));
    records::check_packed(head.kind, packed) == Ok(head.count) && has_first()
}

/// A collection without members, which is not stored.
#[must_use]
pub const fn empty(kind: Kind, version: u64) -> Head {
    Head { kind, rank_levels: 0, version, count: 0, first: records::FIRST_INDEX }
}

/// Appends the head of a collection.
pub fn write_collection(record: &mut Vec<u8>, expire_at_ms: Option<u64>, head: Head) {
    write_head(record, expire_at_ms, head, 0);
}

/// Appends the head of a collection that is packed, and its records.
pub fn write_packed(record: &mut Vec<u8>, expire_at_ms: Option<u64>, head: Head, packed: &[u8]) {
    write_head(record, expire_at_ms, head, PACKED);
    record.extend_from_slice(packed);
}

fn write_head(record: &mut Vec<u8>, expire_at_ms: Option<u64>, Head { kind, version, count, first, .. }: Head, flags: u8) {
    let expires = if expire_at_ms.is_some() { EXPIRES } else { 0 };
    records::write_front(record, kind, flags | expires, expire_at_ms);
    records::write_counts(record, kind, version, first, count);
}

/// What the keys of the records of a collection begin with: the name of the field or the member comes next, or [`index`], or [`ordered`] and the name of
/// the member.
#[must_use]
pub const fn prefix(version: u64) -> [u8; PREFIX_BYTES] {
    version.to_be_bytes()
}

/// What the key of the record begins with that says when a key expires: its lock key comes next.
#[must_use]
pub const fn expiry_prefix(expire_at_ms: u64) -> [u8; 8] {
    expire_at_ms.to_be_bytes()
}

/// The index of an element.
#[must_use]
pub const fn index(index: u64) -> [u8; 8] {
    index.to_be_bytes()
}

/// The place of a score among others.
#[must_use]
pub fn ordered(score: f64) -> [u8; 8] {
    ordered_score::encode(score).to_be_bytes()
}

/// What the record of a field or a member says; as [`read_head`].
#[must_use]
pub fn read_part(kind: Kind, record: &[u8]) -> Option<Value<'_>> {
    match (kind, record) {
        (Kind::Hash, [0, value @ ..]) => Some(Value::Bytes(value)),
        (Kind::Set, []) => Some(Value::Bytes(&[])),
        (Kind::SortedSet, score) => records::decode_score(score).ok().map(Value::Score),
        _ => None,
    }
}

/// Appends the record of a field or a member.
pub fn write_part(kind: Kind, record: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Score(score) => record.put_u64(score.to_bits()),
        value => {
            if kind == Kind::Hash {
                record.push(0);
            }
            record.extend_from_slice(value.bytes(&mut itoa::Buffer::new()));
        }
    }
}

/// Appends the record of a sorted set's member in the order of the scores.
pub fn write_score(record: &mut Vec<u8>, score: f64) {
    record.extend_from_slice(records::score_record(score));
}

fn take_u64(bytes: &[u8]) -> Option<(u64, &[u8])> {
    records::split_u64(bytes, 0, "").ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::layout::lists::ListHead;
    use crate::layout::{Body, Collection, Meta};
    use bytes::Bytes;
    use proptest::prelude::*;

    /// What is read of a head, as [`records::decode_meta`] has it.
    fn meta((expire_at_ms, under): (Option<u64>, Under<'_>)) -> Meta {
        let body = match under {
            Under::String(value) => Body::String(Bytes::copy_from_slice(value)),
            Under::Collection(Head { kind, rank_levels, version, count, first }, packed) => {
                let list = if kind == Kind::List { ListHead::Array { head: first } } else { ListHead::None };
                let is_packed = !packed.is_empty();
                Body::Collection(Collection { count, list, rank_levels, is_packed, ..Collection::empty(kind, version) })
            }
        };
        Meta { expire_at_ms, body }
    }

    proptest! {
        #[test]
        fn a_head_is_read_as_others_read_it_or_not_at_all(
            kind in 0..7_u8,
            flags in prop_oneof![4 => Just(0), 2 => Just(EXPIRES), 2 => Just(RANKED), 4 => Just(PACKED), 1 => any::<u8>()],
            length in prop_oneof![Just(16_usize), Just(17), Just(18), Just(19), Just(24), Just(25), Just(26), 0..40_usize],
            rest in prop::collection::vec(prop_oneof![3 => 0..3_u8, 1 => any::<u8>()], 40),
        ) {
            let record = Bytes::from([&[kind, flags], &rest[..length]].concat());
            let decoded = records::decode_meta(&record);
            match read_head(&record) {
                Some(read) => prop_assert_eq!(meta(read), decoded.unwrap()),
                // It is corrupt, has more to say, or counts other records than it has.
                None => {
                    let has_more = decoded.is_ok_and(|meta| {
                        let packed = Records::of(&record[records::meta_bytes(&meta)..]).count() as u64;
                        meta.collection().is_some_and(|head| head.expiries.is_some() || head.is_packed && (packed != head.count || head.kind == Kind::List))
                    });
                    prop_assert!(has_more || records::decode_meta(&record).is_err());
                }
            }
        }

        #[test]
        fn a_head_is_written_as_others_write_it_and_read_again(
            kind in prop::sample::select([Kind::Hash, Kind::List, Kind::Set, Kind::SortedSet].as_slice()),
            (version, first, count) in (any::<u64>(), prop_oneof![Just(1 << 63), 0..u64::MAX / 2], prop_oneof![Just(1), 0..u64::MAX / 2]),
            expire_at_ms in any::<Option<u64>>(),
        ) {
            let head = Head { kind, rank_levels: 0, version, count, first: if kind == Kind::List { first } else { 0 } };
            let mut record = Vec::new();
            write_collection(&mut record, expire_at_ms, head);
            prop_assert_eq!(read_head(&record), Some((expire_at_ms, Under::Collection(head, &[]))));
            let plain = records::encode_meta(&meta((expire_at_ms, Under::Collection(head, &[]))));
            prop_assert_eq!(&plain, &record);
            let packed: &[u8] = match kind {
                Kind::Hash => b"\x01f\x02\0v",
                Kind::List => b"\x08\x80\0\0\0\0\0\0\0\x01e",
                Kind::SortedSet => b"\x01m\x08\0\0\0\0\0\0\0\0",
                _ => b"\x01m\0",
            };
            record.clear();
            write_packed(&mut record, expire_at_ms, head, packed);
            let is_right = head.count == 1 && (kind != Kind::List || head.first == 1 << 63);
            prop_assert_eq!(read_head(&record), is_right.then_some((expire_at_ms, Under::Collection(head, packed))));
            let mut expected = plain.to_vec();
            expected[1] |= PACKED;
            expected.extend_from_slice(packed);
            prop_assert_eq!(record, expected);
        }
    }
}
