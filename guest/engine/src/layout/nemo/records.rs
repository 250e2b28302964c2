//! The records of the layout `nemo`, byte for byte. Integers are little-endian, save those that sort. Encoders stand beside decoders.
//!
//! Every value ends with a trailer, `version u32 | timestamp i32`. Keys of elements are `tag | length u8 | user key | rest`, so that
//! user keys of collections have at most [`MAX_KEY_BYTES`].

use crate::codec::{Flaw, Reader};
use crate::layout::Kind;
use crate::layout::lists::{ListHead, Node};
use bytes::{BufMut, Bytes, BytesMut};

/// The longest user key of a collection. None has an empty one.
pub const MAX_KEY_BYTES: usize = 254;
/// Scores are at most this far from 0.
pub const MAX_SCORE: f64 = 1e13;

/// Bytes of a trailer.
pub const TRAILER_BYTES: usize = 8;
/// Between a hash's user key and its field.
const FIELD_SEPARATOR: u8 = b'=';
/// Slots of a whole score.
const SLOTS_PER_ONE: f64 = 100_000.0;
/// The slot of the score 0, and the distance of the last slots to it.
const SLOT_OF_ZERO: u64 = 1_000_000_000_000_000_000;

/// The first byte of a meta record's key. Strings have none.
pub const fn meta_tag(kind: Kind) -> Option<u8> {
    match kind {
        Kind::String => None,
        Kind::Hash => Some(b'H'),
        Kind::List => Some(b'L'),
        Kind::Set => Some(b'S'),
        Kind::SortedSet => Some(b'Z'),
    }
}

/// The records of collections beside their meta records, by the first byte of their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Tag {
    /// `h | length | user key | = | field` -> value.
    Field = b'h',
    /// `l | length | user key | number i64` -> `previous i64 | next i64 | element`.
    Node = b'l',
    /// `s | length | user key | member` -> nothing.
    Member = b's',
    /// `z | length | user key | member` -> `score f64`.
    Scored = b'z',
    /// `y | length | user key | slot u64, big-endian | member` -> nothing.
    Slot = b'y',
}

impl Tag {
    /// Those of a kind's collections.
    pub const fn of_kind(kind: Kind) -> &'static [Self] {
        match kind {
            Kind::String => &[],
            Kind::Hash => &[Self::Field],
            Kind::List => &[Self::Node],
            Kind::Set => &[Self::Member],
            Kind::SortedSet => &[Self::Slot, Self::Scored],
        }
    }

    /// The tag of a byte.
    pub fn of_byte(byte: u8) -> Option<Self> {
        [Self::Field, Self::Node, Self::Member, Self::Scored, Self::Slot].into_iter().find(|tag| tag.byte() == byte)
    }

    /// The byte of a tag.
    pub const fn byte(self) -> u8 {
        self as u8
    }

    /// The separator record that Nemo keeps before all records with this tag.
    pub const fn separator(self) -> [u8; 1] {
        [self.byte()]
    }
}

/// The value of a separator record.
pub const SEPARATOR_VALUE: &[u8] = &[0; 8];

/// What every value ends with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trailer {
    /// Of a collection that has this version or a lower one; 0 for strings.
    pub version: u32,
    /// The expiry: a Unix time in seconds; 0 is none.
    pub timestamp: i32,
}

impl Trailer {
    /// `payload | version u32 | timestamp i32`: a whole value.
    pub fn behind(self, payload: &[u8]) -> Bytes {
        let mut bytes = BytesMut::with_capacity(payload.len() + TRAILER_BYTES);
        bytes.put_slice(payload);
        bytes.put_u32_le(self.version);
        bytes.put_i32_le(self.timestamp);
        bytes.freeze()
    }

    /// The inverse of [`Trailer::behind`].
    pub fn split(value: &Bytes) -> Result<(Bytes, Self), Flaw> {
        let payload = value.len().checked_sub(TRAILER_BYTES).ok_or(Flaw { offset: 0, what: "a trailer is cut short" })?;
        let mut reader = Reader::new(value);
        let payload = reader.slice(payload, "a trailer is cut short")?;
        let version = u32::from_le_bytes(reader.take("a version is cut short")?);
        let timestamp = i32::from_le_bytes(reader.take("a timestamp is cut short")?);
        Ok((payload, Self { version, timestamp }))
    }

    /// The expiry in milliseconds. One before 1970 is as good as the beginning of it.
    pub fn expire_at_ms(self) -> Option<u64> {
        (self.timestamp != 0).then(|| u64::try_from(self.timestamp).unwrap_or(0).saturating_mul(1000))
    }

    /// The timestamp of an expiry, `None` where it does not fit. One at the very beginning of 1970, which would say that there is none,
    /// becomes the second behind it.
    pub fn timestamp_of(expire_at_ms: Option<u64>) -> Option<i32> {
        let Some(at_ms) = expire_at_ms else { return Some(0) };
        i32::try_from(at_ms / 1000).ok().map(|at| at.max(1))
    }
}

/// What the meta record of a collection says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// How many elements there are; with none the collection does not exist.
    pub count: u64,
    /// The nodes of a list.
    pub list: ListHead,
    /// The version that elements have at least, and the expiry.
    pub trailer: Trailer,
}

/// `tag | user key`: the key of a meta record.
pub fn encode_meta_key(tag: u8, user_key: &[u8]) -> Bytes {
    [&[tag], user_key].concat().into()
}

/// The user key of a meta record's key.
pub fn decode_meta_key(tag: u8, key: &Bytes) -> Result<Bytes, Flaw> {
    let mut reader = Reader::new(key);
    if reader.u8("a tag is missing")? != tag {
        return Err(Flaw { offset: 0, what: "not the tag of a meta record" });
    }
    let length = reader.flaw("not the length of a collection's user key");
    let user_key = reader.rest();
    if is_user_key(&user_key) { Ok(user_key) } else { Err(length) }
}

/// Whether a collection may have this user key.
pub const fn is_user_key(user_key: &[u8]) -> bool {
    !user_key.is_empty() && user_key.len() <= MAX_KEY_BYTES
}

/// `count i64`, for lists `count i64 | left i64 | right i64 | next i64`, and the trailer. Numbers above the signed ones are never
/// made: nodes and counts begin low.
pub fn encode_meta(head: &Head) -> Bytes {
    let mut payload = Vec::with_capacity(32);
    payload.put_u64_le(head.count);
    if let ListHead::Linked { left, right, next } = head.list {
        payload.put_u64_le(left);
        payload.put_u64_le(right);
        payload.put_u64_le(next);
    }
    head.trailer.behind(&payload)
}

/// The inverse of [`encode_meta`], for the meta record of a kind of collection.
pub fn decode_meta(kind: Kind, value: &Bytes) -> Result<Head, Flaw> {
    let (payload, trailer) = Trailer::split(value)?;
    let mut reader = Reader::new(&payload);
    let count = unsigned(&mut reader, "not a count")?;
    let list = if kind == Kind::List {
        let left = unsigned(&mut reader, "not the number of a first node")?;
        let right = unsigned(&mut reader, "not the number of a last node")?;
        ListHead::Linked { left, right, next: unsigned(&mut reader, "not the number of a next node")? }
    } else {
        ListHead::None
    };
    reader.end()?;
    Ok(Head { count, list, trailer })
}

/// Eight bytes of a number that is not negative.
fn unsigned(reader: &mut Reader<'_>, what: &'static str) -> Result<u64, Flaw> {
    let flaw = reader.flaw(what);
    u64::try_from(i64::from_le_bytes(reader.take(what)?)).map_err(|_| flaw)
}

/// `tag | length | user key | rest`. The length of a user key that is too long is one that none has.
fn encode_sub_key(tag: Tag, user_key: &[u8], rest: &[&[u8]]) -> Bytes {
    let mut key = BytesMut::with_capacity(3 + user_key.len() + rest.iter().map(|part| part.len()).sum::<usize>());
    key.put_u8(tag.byte());
    key.put_u8(u8::try_from(user_key.len()).unwrap_or(u8::MAX));
    key.put_slice(user_key);
    if tag == Tag::Field {
        key.put_u8(FIELD_SEPARATOR);
    }
    rest.iter().for_each(|part| key.put_slice(part));
    key.freeze()
}

/// What the keys of a collection's elements begin with.
pub fn encode_prefix(tag: Tag, user_key: &[u8]) -> Bytes {
    encode_sub_key(tag, user_key, &[])
}

/// The key of a field or member: of what is known by its name.
pub fn encode_named_key(tag: Tag, user_key: &[u8], name: &[u8]) -> Bytes {
    encode_sub_key(tag, user_key, &[name])
}

/// The user key of any record of an element, and what is behind it: a field, a member, a slot with its member, a number.
pub fn decode_sub_key(tag: Tag, key: &Bytes) -> Result<(Bytes, Bytes), Flaw> {
    let mut reader = Reader::new(key);
    if reader.u8("a tag is missing")? != tag.byte() {
        return Err(Flaw { offset: 0, what: "another tag" });
    }
    let length = reader.flaw("not the length of a collection's user key");
    let bytes = usize::from(reader.u8("the length of a user key is missing")?);
    if bytes == 0 || bytes > MAX_KEY_BYTES {
        return Err(length);
    }
    let user_key = reader.slice(bytes, "a user key is cut short")?;
    if tag == Tag::Field {
        let separator = reader.flaw("no = before a field");
        if reader.u8("no = before a field")? != FIELD_SEPARATOR {
            return Err(separator);
        }
    }
    Ok((user_key, reader.rest()))
}

/// The key of a list's node.
pub fn encode_node_key(user_key: &[u8], number: u64) -> Bytes {
    encode_sub_key(Tag::Node, user_key, &[&number.to_le_bytes()])
}

/// The number behind the user key of a node's key.
pub fn decode_number(rest: &Bytes) -> Result<u64, Flaw> {
    let mut reader = Reader::new(rest);
    let number = unsigned(&mut reader, "not the number of a node")?;
    reader.end()?;
    Ok(number)
}

/// `previous i64 | next i64 | element`.
pub fn encode_node(node: &Node) -> Vec<u8> {
    let mut payload = Vec::with_capacity(16 + node.element.len() + TRAILER_BYTES);
    payload.put_u64_le(node.previous);
    payload.put_u64_le(node.next);
    payload.put_slice(&node.element);
    payload
}

/// The inverse of [`encode_node`].
pub fn decode_node(payload: &Bytes) -> Result<Node, Flaw> {
    let mut reader = Reader::new(payload);
    let previous = unsigned(&mut reader, "not the number of a node before")?;
    let next = unsigned(&mut reader, "not the number of a node behind")?;
    Ok(Node { previous, next, element: reader.rest() })
}

/// `score f64`: a member's exact score.
pub fn encode_score(score: f64) -> [u8; 8] {
    score.to_le_bytes()
}

/// The inverse of [`encode_score`].
pub fn decode_score(payload: &Bytes) -> Result<f64, Flaw> {
    let mut reader = Reader::new(payload);
    let score = f64::from_le_bytes(reader.take("a score is cut short")?);
    reader.end()?;
    if (-MAX_SCORE..=MAX_SCORE).contains(&score) { Ok(score) } else { Err(Flaw { offset: 0, what: "not a score from -1e13 to 1e13" }) }
}

/// The slot of a score: 100,000 for each whole number. Scores beyond the outermost ones have slots beyond theirs, or share them.
#[expect(clippy::cast_possible_truncation, reason = "fractions are cut off, what is too large saturates")]
pub fn slot(score: f64) -> u64 {
    let half = if score >= 0.0 { 0.5 } else { -0.5 };
    SLOT_OF_ZERO.saturating_add_signed((score * SLOTS_PER_ONE + half) as i64)
}

/// The score that stands for a slot.
#[expect(clippy::cast_precision_loss, reason = "as the original has it")]
pub fn score_of_slot(slot: u64) -> f64 {
    slot.wrapping_sub(SLOT_OF_ZERO).cast_signed() as f64 / SLOTS_PER_ONE
}

/// The key of the record by which a member is in its place.
pub fn encode_slot_key(user_key: &[u8], slot: u64, member: &[u8]) -> Bytes {
    encode_sub_key(Tag::Slot, user_key, &[&slot.to_be_bytes(), member])
}

/// The slot and the member behind the user key of a slot record's key.
pub fn decode_slot(rest: &Bytes) -> Result<(u64, Bytes), Flaw> {
    let mut reader = Reader::new(rest);
    let slot = reader.u64("a slot is cut short")?;
    if slot > 2 * SLOT_OF_ZERO {
        return Err(Flaw { offset: 0, what: "the slot of no score" });
    }
    Ok((slot, reader.rest()))
}

#[cfg(test)]
mod tests;
