//! Keys and values of records, byte for byte (sections 4 and 5 of the format document). Encoders stand beside decoders.

use super::data::{Item, put_items, put_signed, put_text, take_items, take_signed, take_text};
use super::merge;
use crate::codec::{Flaw, Reader};
use crate::layout::Kind;
use crate::store::KeyRange;
use bytes::{BufMut, Bytes, BytesMut};

/// Types of records: the byte behind the user key, repeated by the value of a sub-record.
pub mod record {
    /// What a key is; the whole of a string.
    pub const META: u8 = 1;
    /// A field of a hash.
    pub const FIELD: u8 = 4;
    /// An element of a list.
    pub const ELEMENT: u8 = 6;
    /// A member of a set.
    pub const MEMBER: u8 = 8;
    /// A score of a sorted set, with its member.
    pub const SCORED: u8 = 10;
    /// A member of a sorted set, with its score.
    pub const SCORE: u8 = 11;
    /// An entry of a stream.
    pub const STREAM_ENTRY: u8 = 13;
    /// What a consumer of a stream has not acknowledged.
    pub const STREAM_PENDING: u8 = 14;
    /// When a key expires, in the engines that cannot drop it by themselves.
    pub const EXPIRY: u8 = 29;
    /// Behind every record of a key.
    pub const END: u8 = 31;
}

/// Types of keys: the first byte of a meta record's value.
pub mod key_type {
    /// A string.
    pub const STRING: u8 = 2;
    /// A hash.
    pub const HASH: u8 = 3;
    /// A list.
    pub const LIST: u8 = 5;
    /// A set.
    pub const SET: u8 = 7;
    /// A sorted set.
    pub const SORTED_SET: u8 = 9;
    /// A stream.
    pub const STREAM: u8 = 12;
}

/// The only number of the format of meta records so far.
const FORMAT: u8 = 0;
/// The size of a collection that nobody has counted.
const UNKNOWN_SIZE: i64 = -1;

/// What a key says.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The user key.
    pub user_key: Bytes,
    /// The type of the record, see [`record`].
    pub kind: u8,
    /// What tells the record from others of its type.
    pub elements: Vec<Item>,
}

/// `length | user key | type | count | element ...`.
#[must_use]
pub fn encode_key<const N: usize>(user_key: &[u8], kind: u8, elements: [&Item; N]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(user_key.len() + 32);
    put_text(&mut bytes, user_key);
    bytes.put_u8(kind);
    put_items(&mut bytes, elements.into_iter());
    bytes.freeze()
}

/// The inverse of [`encode_key`].
///
/// # Errors
/// A flaw where the bytes are no key.
pub fn decode_key(key: &Bytes) -> Result<Key, Flaw> {
    let mut reader = Reader::new(key);
    let user_key = take_text(&mut reader)?;
    let kind = reader.u8("a type is missing")?;
    let elements = take_items(&mut reader)?;
    reader.end()?;
    Ok(Key { user_key, kind, elements })
}

/// `length | user key | type`: not above any record of that type, also damaged ones.
#[must_use]
pub fn encode_prefix(user_key: &[u8], kind: u8) -> Bytes {
    let mut bytes = BytesMut::with_capacity(user_key.len() + 11);
    put_text(&mut bytes, user_key);
    bytes.put_u8(kind);
    bytes.freeze()
}

/// The inverse of [`encode_prefix`], of a whole key as well.
///
/// # Errors
/// A flaw where the bytes end before.
pub fn decode_prefix(key: &Bytes) -> Result<(Bytes, u8), Flaw> {
    let mut reader = Reader::new(key);
    let user_key = take_text(&mut reader)?;
    Ok((user_key, reader.u8("a type is missing")?))
}

/// The records of a user key of some types: from `first` up to but not including `end`.
#[must_use]
pub fn types(user_key: &[u8], first: u8, end: u8) -> KeyRange {
    KeyRange::between(&encode_key(user_key, first, []), &encode_key(user_key, end, []))
}

/// What a meta record says.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Unix time in milliseconds.
    pub expire_at_ms: Option<u64>,
    /// A string, or what leads to the sub-records.
    pub contents: Contents,
}

/// See [`Head`].
#[derive(Clone, Debug, PartialEq)]
pub enum Contents {
    /// A string's value.
    Text(Item),
    /// A collection.
    Collection {
        /// Never a string.
        kind: Kind,
        /// How many fields, elements or members it has; `None` where it was not counted.
        size: Option<u64>,
        /// Of a list: the indexes are integers without gaps.
        is_sequential: bool,
        /// Of a list, not above the first and not below the last index; of a set or sorted set the same of the members, or nothing.
        bounds: Option<[Item; 2]>,
    },
}

/// What the value of a meta record may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Meta {
    /// Nothing: merge operations that came to nothing, or what Ardb's compaction is about to drop.
    Nothing,
    /// A key of a kind that Redis had before streams.
    Head(Head),
    /// A stream, which is not read any further.
    Stream,
}

/// `type | format | expiry | [size] | [is sequential] | count | item ...`.
#[must_use]
pub fn encode_meta(head: &Head) -> Bytes {
    let mut bytes = BytesMut::with_capacity(32);
    bytes.put_u8(match &head.contents {
        Contents::Text(_) | Contents::Collection { kind: Kind::String, .. } => key_type::STRING,
        Contents::Collection { kind: Kind::Hash, .. } => key_type::HASH,
        Contents::Collection { kind: Kind::List, .. } => key_type::LIST,
        Contents::Collection { kind: Kind::Set, .. } => key_type::SET,
        Contents::Collection { kind: Kind::SortedSet, .. } => key_type::SORTED_SET,
    });
    bytes.put_u8(FORMAT);
    // 0 stands for none: what expires then is as long gone a millisecond later.
    let expiry = head.expire_at_ms.map_or(0, |at_ms| i64::try_from(at_ms).unwrap_or(i64::MAX).max(1));
    put_signed(&mut bytes, expiry);
    match &head.contents {
        Contents::Text(text) => put_items(&mut bytes, [text].into_iter()),
        Contents::Collection { kind, size, is_sequential, bounds } => {
            put_signed(&mut bytes, size.map_or(UNKNOWN_SIZE, |size| i64::try_from(size).unwrap_or(i64::MAX)));
            if *kind == Kind::List {
                bytes.put_u8(u8::from(*is_sequential));
            }
            put_items(&mut bytes, bounds.as_ref().map_or(&[][..], |bounds| bounds).iter());
        }
    }
    bytes.freeze()
}

/// The inverse of [`encode_meta`]; merge operations are applied.
///
/// # Errors
/// A flaw where the bytes are no meta record.
pub fn decode_meta(value: &Bytes) -> Result<Meta, Flaw> {
    decode_plain_meta(&merge::folded(record::META, value)?)
}

/// As [`decode_meta`] for what has no merge operations in it.
///
/// # Errors
/// As [`decode_meta`].
pub fn decode_plain_meta(value: &Bytes) -> Result<Meta, Flaw> {
    if value.is_empty() {
        return Ok(Meta::Nothing);
    }
    let mut reader = Reader::new(value);
    let unknown = reader.flaw("an unknown type of key");
    let kind = match reader.u8("a type is missing")? {
        key_type::STRING => Kind::String,
        key_type::HASH => Kind::Hash,
        key_type::LIST => Kind::List,
        key_type::SET => Kind::Set,
        key_type::SORTED_SET => Kind::SortedSet,
        key_type::STREAM => return Ok(Meta::Stream),
        _ => return Err(unknown),
    };
    let format = reader.flaw("an unknown format");
    if reader.u8("a format is missing")? != FORMAT {
        return Err(format);
    }
    let expire_at_ms = u64::try_from(take_signed(&mut reader)?).ok().filter(|at_ms| *at_ms != 0);
    let contents = if kind == Kind::String { take_string(&mut reader)? } else { take_collection(&mut reader, kind)? };
    reader.end()?;
    Ok(Meta::Head(Head { expire_at_ms, contents }))
}

fn take_string(reader: &mut Reader<'_>) -> Result<Contents, Flaw> {
    let count = reader.flaw("a string that is not one item");
    match <[Item; 1]>::try_from(take_items(reader)?) {
        Ok([text]) => Ok(Contents::Text(text)),
        Err(_) => Err(count),
    }
}

fn take_collection(reader: &mut Reader<'_>, kind: Kind) -> Result<Contents, Flaw> {
    let unknown_size = reader.flaw("an unknown size");
    let size = match (kind, take_signed(reader)?) {
        (Kind::Hash | Kind::Set | Kind::SortedSet, UNKNOWN_SIZE) => None,
        (_, size) => Some(u64::try_from(size).map_err(|_| unknown_size)?),
    };
    let is_sequential = kind == Kind::List && reader.u8("a flag is missing")? != 0;
    let wrong_bounds = reader.flaw("wrong bounds");
    let items = take_items(reader)?;
    let bounds = match (kind, <[Item; 2]>::try_from(items)) {
        (Kind::Set | Kind::SortedSet, Ok(bounds)) => Some(bounds),
        (Kind::List, Ok(bounds)) if bounds.iter().all(|bound| bound.number().is_some_and(|number| !number.is_nan())) => Some(bounds),
        (Kind::Hash | Kind::Set | Kind::SortedSet, Err(items)) if items.is_empty() => None,
        _ => return Err(wrong_bounds),
    };
    Ok(Contents::Collection { kind, size, is_sequential, bounds })
}

/// `type | count | item ...`: the value of a sub-record.
#[must_use]
pub fn encode_value<const N: usize>(kind: u8, items: [&Item; N]) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u8(kind);
    put_items(&mut bytes, items.into_iter());
    bytes.freeze()
}

/// The inverse of [`encode_value`]; merge operations are applied. `None` where they come to nothing, and where Ardb's compaction is about
/// to drop the record.
///
/// # Errors
/// A flaw where the value is not of that type, or has another number of items.
pub fn decode_value<const N: usize>(kind: u8, value: &Bytes) -> Result<Option<[Item; N]>, Flaw> {
    let plain = merge::folded(kind, value)?;
    if plain.is_empty() { Ok(None) } else { decode_plain_value(kind, &plain).map(Some) }
}

/// As [`decode_value`] for what has no merge operations in it.
///
/// # Errors
/// As [`decode_value`].
pub fn decode_plain_value<const N: usize>(kind: u8, value: &Bytes) -> Result<[Item; N], Flaw> {
    let mut reader = Reader::new(value);
    let other = reader.flaw("the value of another type of record");
    if reader.u8("a type is missing")? != kind {
        return Err(other);
    }
    let wrong_count = reader.flaw("a wrong number of items");
    let items = take_items(&mut reader)?.try_into().map_err(|_| wrong_count)?;
    reader.end()?;
    Ok(items)
}

/// The elements of a record's key that has to be of this type.
///
/// # Errors
/// A flaw where it is of another one, or has another number of elements.
pub fn decode_elements<const N: usize>(kind: u8, key: &Bytes) -> Result<[Item; N], Flaw> {
    let decoded = decode_key(key)?;
    let other = Flaw { offset: 0, what: "the key of another type of record" };
    if decoded.kind == kind { decoded.elements.try_into().map_err(|_| other) } else { Err(other) }
}

/// A score from its item.
///
/// # Errors
/// A flaw where it is none.
pub fn score(item: &Item) -> Result<f64, Flaw> {
    item.number().filter(|score| !score.is_nan()).ok_or(Flaw { offset: 0, what: "a score that is not a number" })
}

#[cfg(test)]
#[path = "records/tests.rs"]
mod tests;
