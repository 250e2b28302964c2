//! The records of the layout `orbweaver`, byte for byte: `docs/format.md` is their specification. Encoders stand beside decoders.

use crate::arena;
use crate::codec::{Flaw, Reader};
use crate::layout::field_expiry::FieldExpiries;
use crate::layout::lists::ListHead;
use crate::layout::ordered_score;
use crate::layout::ranks::MAX_LEVELS;
use crate::layout::{Body, Collection, FieldValue, Kind, Meta};
use crate::packed;
use bytes::{BufMut, Bytes, BytesMut};

/// The marker's value begins with this.
pub const MARKER: &[u8] = b"orbweaver";
/// Version 1 of the format: the first.
pub const FORMAT_VERSION: u32 = 1;
/// Version 2: collections may be packed.
pub const PACKED_FORMAT_VERSION: u32 = 2;

/// The value of the record [`system_key::FORMAT`]: [`MARKER`], then the version of the format.
pub fn marker(version: u32) -> Bytes {
    [MARKER, &version.to_be_bytes()].concat().into()
}

/// The inverse of [`marker`].
pub fn version_of_marker(marker: &[u8]) -> Result<u32, Flaw> {
    let version = marker.strip_prefix(MARKER).and_then(|version| version.try_into().ok()).map(u32::from_be_bytes);
    let known = version.filter(|version| (FORMAT_VERSION..=PACKED_FORMAT_VERSION).contains(version));
    known.ok_or(Flaw { offset: 0, what: "the marker of another layout or of a newer format" })
}

/// Records of the keyspace `system`, by key.
pub mod system_key {
    /// `MARKER | u32 format version`.
    pub const FORMAT: &[u8] = b"format";
    /// `u64`: the first version that nobody has reserved.
    pub const NEXT_VERSION: &[u8] = b"next-version";
    /// `u32`: the first space that has not been given to a db.
    pub const NEXT_SPACE: &[u8] = b"next-space";
    /// Followed by `u32 db`; its value is the `u32` space of the db where that is not the db's number plus one.
    pub const DB: &[u8] = b"db";
}

// Numbers of the kinds in meta records. They never change.
const STRING: u8 = 1;
const HASH: u8 = 2;
const LIST: u8 = 3;
const SET: u8 = 4;
const SORTED_SET: u8 = 5;

/// Meta flag: an expiry follows.
pub const EXPIRES: u8 = 0x01;
/// Meta flag of hashes, and flag of garbage: there are fields that expire.
pub const FIELDS_EXPIRE: u8 = 0x02;
/// Meta flag of sorted sets, and flag of garbage: there is a tree of ranks.
pub const RANKED: u8 = 0x04;
/// Meta flag of collections: they are packed, their records follow.
pub const PACKED: u8 = 0x08;
/// Field flag: an expiry follows.
pub const FIELD_EXPIRES: u8 = 0x01;

/// The value of a score record whose exact score is -0.
pub const NEGATIVE_ZERO: &[u8] = &[1];

/// Index of the first element of a list that is made by appending: there is as much room before it as behind.
pub const FIRST_INDEX: u64 = 1 << 63;

/// The number of a kind on disk.
pub const fn kind_number(kind: Kind) -> u8 {
    match kind {
        Kind::String => STRING,
        Kind::Hash => HASH,
        Kind::List => LIST,
        Kind::Set => SET,
        Kind::SortedSet => SORTED_SET,
    }
}

/// The kind of a number on disk.
pub const fn kind_of(number: u8) -> Option<Kind> {
    match number {
        STRING => Some(Kind::String),
        HASH => Some(Kind::Hash),
        LIST => Some(Kind::List),
        SET => Some(Kind::Set),
        SORTED_SET => Some(Kind::SortedSet),
        _ => None,
    }
}

/// The flag of a collection that has records in the index of its kind; 0 for kinds without one.
const fn index_flag(kind: Kind) -> u8 {
    match kind {
        Kind::Hash => FIELDS_EXPIRE,
        Kind::SortedSet => RANKED,
        Kind::String | Kind::List | Kind::Set => 0,
    }
}

/// `kind | flags | [expire_at_ms u64] | value` for strings, `... | version u64 | count u64` for sets,
/// `... | version u64 | head u64 | tail u64` for lists, `... | [next_ms u64 | expiring u64] | version u64 | count u64` for hashes,
/// `... | [levels u8] | version u64 | count u64` for sorted sets. None is packed.
pub fn encode_meta(meta: &Meta) -> Bytes {
    arena::bytes(meta_bytes(meta), |bytes| write_meta(bytes, meta))
}

/// How many bytes [`encode_meta`] makes.
pub fn meta_bytes(meta: &Meta) -> usize {
    let expiry_bytes = 8 * usize::from(meta.expire_at_ms.is_some());
    let value_bytes = match &meta.body {
        Body::String(value) => value.len(),
        Body::Collection(collection) => {
            let index_bytes = 16 * usize::from(collection.expiries.is_some()) + usize::from(collection.rank_levels > 0);
            16 + 8 * usize::from(collection.kind == Kind::List) + index_bytes
        }
    };
    2 + expiry_bytes + value_bytes
}

/// Writes what [`encode_meta`] makes.
pub fn write_meta(bytes: &mut impl BufMut, meta: &Meta) {
    let expiries = meta.collection().and_then(|collection| collection.expiries);
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let rank_levels = meta.collection().map_or(0, |collection| collection.rank_levels);
    let flags = flag(meta.expire_at_ms.is_some(), EXPIRES) | flag(expiries.is_some(), FIELDS_EXPIRE) | flag(rank_levels > 0, RANKED);
    write_front(bytes, meta.kind(), flags, meta.expire_at_ms);
    match &meta.body {
        Body::String(value) => bytes.put_slice(value),
        Body::Collection(collection) => {
            if let Some(expiries) = expiries {
                bytes.put_u64(expiries.next_ms);
                bytes.put_u64(expiries.count);
            }
            if rank_levels > 0 {
                bytes.put_u8(rank_levels);
            }
            write_counts(bytes, collection.kind, collection.version, collection.list.first_index(), collection.count);
        }
    }
}

/// Writes what the heads of collections end with. `first`: the index of a list's first element.
pub fn write_counts(bytes: &mut impl BufMut, kind: Kind, version: u64, first: u64, count: u64) {
    bytes.put_u64(version);
    if kind == Kind::List {
        bytes.put_u64(first);
        bytes.put_u64(first.wrapping_add(count));
    } else {
        bytes.put_u64(count);
    }
}

/// Writes what [`encode_meta`] makes of a string.
pub fn write_string(bytes: &mut impl BufMut, expire_at_ms: Option<u64>, value: &[u8]) {
    write_front(bytes, Kind::String, if expire_at_ms.is_some() { EXPIRES } else { 0 }, expire_at_ms);
    bytes.put_slice(value);
}

/// Writes what heads begin with.
pub fn write_front(bytes: &mut impl BufMut, kind: Kind, flags: u8, expire_at_ms: Option<u64>) {
    bytes.put_u8(kind_number(kind));
    bytes.put_u8(flags);
    if let Some(at) = expire_at_ms {
        bytes.put_u64(at);
    }
}

/// Whether it is the head of a collection that is packed.
pub fn is_packed(value: &[u8]) -> bool {
    matches!(value, [kind, flags, ..] if flags & PACKED != 0 && *kind != STRING)
}

/// The inverse of [`encode_meta`], also of heads that have records behind them.
pub fn decode_meta(value: &Bytes) -> Result<Meta, Flaw> {
    let mut reader = Reader::new(value);
    let kind = match kind_of(reader.u8("a kind is missing")?) {
        Some(kind) => kind,
        None => return Err(Flaw { offset: 0, what: "an unknown kind" }),
    };
    let flags_at = reader.flaw("unknown flags");
    let flags = reader.u8("flags are missing")?;
    let is_packed = flags & PACKED != 0 && kind != Kind::String;
    // What has an index is not packed.
    let known = if is_packed { EXPIRES | PACKED } else { EXPIRES | index_flag(kind) };
    if flags & !known != 0 {
        return Err(flags_at);
    }
    let expire_at_ms = if flags & EXPIRES == 0 { None } else { Some(reader.u64("an expiry is cut short")?) };
    if kind == Kind::String {
        return Ok(Meta { expire_at_ms, body: Body::String(reader.rest()) });
    }
    let expiries = if flags & FIELDS_EXPIRE == 0 {
        None
    } else {
        let next_ms = reader.u64("an expiry is cut short")?;
        Some(FieldExpiries { next_ms, count: reader.u64("a count is cut short")? })
    };
    let levels_at = reader.flaw("a number of levels that no tree has");
    let rank_levels = if flags & RANKED == 0 { 0 } else { reader.u8("a number of levels is missing")? };
    if flags & RANKED != 0 && !(1..=MAX_LEVELS).contains(&rank_levels) {
        return Err(levels_at);
    }
    let version = reader.u64("a version is cut short")?;
    let (list, count) = if kind == Kind::List {
        let head = reader.u64("a list's head is cut short")?;
        let bounds = reader.flaw("a list's tail is before its head");
        let tail = reader.u64("a list's tail is cut short")?;
        (ListHead::Array { head }, tail.checked_sub(head).ok_or(bounds)?)
    } else {
        (ListHead::None, reader.u64("a count is cut short")?)
    };
    if is_packed {
        let records_at = reader.offset();
        check_packed(kind, &reader.rest()).map_err(|flaw| Flaw { offset: records_at + flaw.offset, ..flaw })?;
    } else {
        reader.end()?;
    }
    let collection = Collection { count, list, expiries, rank_levels, is_packed, ..Collection::empty(kind, version) };
    Ok(Meta { expire_at_ms, body: Body::Collection(collection) })
}

/// How many bytes of records a packed collection of this kind has, where any has so many at most: a list half of them, as an element that is pushed costs
/// little where it has a place of its own, and lists grow.
pub const fn most_packed_bytes(kind: Kind, most: usize) -> usize {
    match kind {
        Kind::String => 0,
        Kind::List => most / 2,
        Kind::Hash | Kind::Set | Kind::SortedSet => most,
    }
}

/// Whether these are the records of a packed collection. Returns how many they are.
///
/// # Errors
/// What is wrong, and where the record begins.
#[inline(never)]
pub fn check_packed(kind: Kind, records: &[u8]) -> Result<u64, Flaw> {
    packed::check(records, |key, value| flaw_of_packed(kind, key, value))
}

/// What is wrong with a record that is packed.
fn flaw_of_packed(kind: Kind, key: &[u8], value: &[u8]) -> Option<&'static str> {
    match kind {
        Kind::Hash => (value.first() != Some(&0)).then_some("a packed field has flags"),
        Kind::List => (key.len() != size_of::<u64>()).then_some("a packed element has no index"),
        Kind::Set => (!value.is_empty()).then_some("a packed member has a value"),
        Kind::SortedSet => decode_score(value).is_err().then_some("a packed member has no score"),
        Kind::String => None,
    }
}

/// The version in the head of a collection, as [`encode_meta`] makes it; `None` where it is that of a string, or none.
pub fn version_of_head(head: &[u8]) -> Option<u64> {
    let [kind, flags, rest @ ..] = head else { return None };
    kind_of(*kind).filter(|kind| *kind != Kind::String)?;
    let bytes_of = |flag, bytes| if flags & flag == 0 { 0 } else { bytes };
    let before = bytes_of(EXPIRES, 8) + bytes_of(FIELDS_EXPIRE, 16) + bytes_of(RANKED, 1);
    Some(u64::from_be_bytes(*rest.get(before..)?.first_chunk()?))
}

/// `version u64 | rest`: the key of every sub-record.
pub fn encode_sub_key(version: u64, rest: &[u8]) -> Bytes {
    arena::join([&version.to_be_bytes(), rest])
}

/// The inverse of [`encode_sub_key`].
pub fn decode_sub_key(key: &Bytes) -> Result<(u64, Bytes), Flaw> {
    split_sub_key(key).map(|(version, rest)| (version, key.slice_ref(rest)))
}

/// As [`decode_sub_key`].
pub fn split_sub_key(key: &[u8]) -> Result<(u64, &[u8]), Flaw> {
    split_u64(key, 0, "a version is cut short")
}

/// The number at the start of `bytes`, which are behind `offset` others, and what is behind it.
pub fn split_u64<'b>(bytes: &'b [u8], offset: usize, what: &'static str) -> Result<(u64, &'b [u8]), Flaw> {
    let (number, rest) = bytes.split_first_chunk().ok_or(Flaw { offset, what })?;
    Ok((u64::from_be_bytes(*number), rest))
}

/// `flags | [expire_at_ms u64] | value`.
pub fn encode_field_value(field: &FieldValue) -> Bytes {
    match field.expire_at_ms {
        None => arena::join([&[0], &field.value]),
        Some(at) => arena::join([&[FIELD_EXPIRES], &at.to_be_bytes(), &field.value]),
    }
}

/// The inverse of [`encode_field_value`].
pub fn decode_field_value(value: &Bytes) -> Result<FieldValue, Flaw> {
    split_field_value(value).map(|(expire_at_ms, rest)| FieldValue { expire_at_ms, value: value.slice_ref(rest) })
}

/// As [`decode_field_value`].
pub fn split_field_value(value: &[u8]) -> Result<(Option<u64>, &[u8]), Flaw> {
    match value {
        [0, rest @ ..] => Ok((None, rest)),
        [FIELD_EXPIRES, rest @ ..] => split_u64(rest, 1, "an expiry is cut short").map(|(at, rest)| (Some(at), rest)),
        [] => Err(Flaw { offset: 0, what: "flags are missing" }),
        _ => Err(Flaw { offset: 0, what: "unknown flags" }),
    }
}

/// `score f64`: the value of a sorted set's member. Never NaN.
pub fn encode_score(score: f64) -> Bytes {
    arena::join([&score.to_bits().to_be_bytes()])
}

/// The inverse of [`encode_score`].
pub fn decode_score(value: &[u8]) -> Result<f64, Flaw> {
    let (bits, rest) = split_u64(value, 0, "a score is cut short")?;
    if !rest.is_empty() {
        return Err(Flaw { offset: 8, what: "trailing bytes" });
    }
    let score = f64::from_bits(bits);
    if score.is_nan() { Err(Flaw { offset: 0, what: "a score that is not a number" }) } else { Ok(score) }
}

/// Key and value of a score record: `version u64 | ordered score u64 | member` -> empty, or [`NEGATIVE_ZERO`].
pub fn encode_scored(version: u64, score: f64, member: &[u8]) -> (Bytes, Bytes) {
    let key = arena::join([&version.to_be_bytes(), &ordered_score::encode(score).to_be_bytes(), member]);
    (key, Bytes::from_static(score_record(score)))
}

/// The value of a score record.
pub fn score_record(score: f64) -> &'static [u8] {
    if score == 0.0 && score.is_sign_negative() { NEGATIVE_ZERO } else { b"" }
}

/// The inverse of [`encode_scored`]: version, score, member.
pub fn decode_scored(key: &Bytes, value: &Bytes) -> Result<(u64, f64, Bytes), Flaw> {
    split_scored(key, value).map(|(version, score, member)| (version, score, key.slice_ref(member)))
}

/// As [`decode_scored`].
pub fn split_scored<'k>(key: &'k [u8], value: &[u8]) -> Result<(u64, f64, &'k [u8]), Flaw> {
    let (version, rest) = split_sub_key(key)?;
    let (ordered, member) = split_u64(rest, 8, "a score is cut short")?;
    let score = ordered_score::decode(ordered);
    // The negative zero has the positive one's form.
    if !ordered_score::is_one(ordered) {
        return Err(Flaw { offset: 8, what: "not the ordered form of a score" });
    }
    let exact = match value {
        b"" => score,
        NEGATIVE_ZERO if score == 0.0 => -0.0,
        _ => return Err(Flaw { offset: 0, what: "a score record's value says nothing known" }),
    };
    Ok((version, exact, member))
}

/// `version u64 | index u64`: the key of a list's element.
pub fn encode_element_key(version: u64, index: u64) -> Bytes {
    encode_sub_key(version, &index.to_be_bytes())
}

/// The inverse of [`encode_element_key`]: version, index.
pub fn decode_element_key(key: &[u8]) -> Result<(u64, u64), Flaw> {
    let (version, rest) = split_sub_key(key)?;
    match split_u64(rest, 8, "an index is cut short")? {
        (index, []) => Ok((version, index)),
        _ => Err(Flaw { offset: 16, what: "trailing bytes" }),
    }
}

/// `expire_at_ms u64 | space u32 | user key`: the key of an expiry record.
pub fn encode_expiry_key(expire_at_ms: u64, lock_key: &[u8]) -> Bytes {
    encode_sub_key(expire_at_ms, lock_key)
}

/// The inverse of [`encode_expiry_key`]: expiry, space, user key.
pub fn decode_expiry_key(key: &Bytes) -> Result<(u64, u32, Bytes), Flaw> {
    let mut reader = Reader::new(key);
    let expire_at_ms = reader.u64("an expiry is cut short")?;
    let space = reader.u32("a space is cut short")?;
    Ok((expire_at_ms, space, reader.rest()))
}

/// What the sweep has to remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Garbage {
    /// The sub-records of a collection: `1 | version u64` -> `kind | count u64 | [flags]`.
    Collection {
        /// The version that nothing refers to any more.
        version: u64,
        /// The kind that it was: tells which keyspaces hold its records.
        kind: Kind,
        /// How many elements there are to remove.
        count: u64,
        /// Whether it has records in the index of its kind, which are to be removed as well: a hash with fields that expire, a sorted set
        /// with a tree of ranks.
        has_index: bool,
    },
    /// All keys of a space that no db stands for any more: `2 | space u32` -> empty.
    Space(u32),
    /// The sub-records of a collection that is being written in several batches: `3 | version u64` -> `kind | renewed_at_ms u64 |
    /// [flags]`.
    /// Garbage only where the writer has given up.
    Unfinished {
        /// The version, which nothing refers to yet.
        version: u64,
        /// The kind that it is to be.
        kind: Kind,
        /// When the writer last wrote a batch: Unix time in milliseconds.
        renewed_at_ms: u64,
        /// Whether it has such records, or is to have them.
        has_index: bool,
    },
}

/// First byte of a garbage key: a removed collection.
pub const GARBAGE_COLLECTION: u8 = 1;
/// First byte of a garbage key: an emptied space.
pub const GARBAGE_SPACE: u8 = 2;
/// First byte of a garbage key: a collection that is being written.
pub const GARBAGE_UNFINISHED: u8 = 3;

/// The key of the garbage record of a collection.
pub fn encode_garbage_collection_key(version: u64) -> Bytes {
    garbage_key(GARBAGE_COLLECTION, &version.to_be_bytes())
}

/// The key of the garbage record of a space.
pub fn encode_garbage_space_key(space: u32) -> Bytes {
    garbage_key(GARBAGE_SPACE, &space.to_be_bytes())
}

/// The key of the record of an unfinished collection.
pub fn encode_unfinished_key(version: u64) -> Bytes {
    garbage_key(GARBAGE_UNFINISHED, &version.to_be_bytes())
}

fn garbage_key(kind: u8, number: &[u8]) -> Bytes {
    [&[kind], number].concat().into()
}

fn garbage_value(kind: Kind, number: u64, has_index: bool) -> Bytes {
    let mut value = BytesMut::with_capacity(10);
    value.put_u8(kind_number(kind));
    value.put_u64(number);
    if has_index {
        value.put_u8(index_flag(kind));
    }
    value.freeze()
}

/// Key and value of a garbage record.
pub fn encode_garbage(garbage: &Garbage) -> (Bytes, Bytes) {
    match *garbage {
        Garbage::Collection { version, kind, count, has_index } => {
            (encode_garbage_collection_key(version), garbage_value(kind, count, has_index))
        }
        Garbage::Space(space) => (encode_garbage_space_key(space), Bytes::new()),
        Garbage::Unfinished { version, kind, renewed_at_ms, has_index } => {
            (encode_unfinished_key(version), garbage_value(kind, renewed_at_ms, has_index))
        }
    }
}

/// The inverse of [`encode_garbage`].
pub fn decode_garbage(key: &Bytes, value: &Bytes) -> Result<Garbage, Flaw> {
    let mut reader = Reader::new(key);
    let garbage = match reader.u8("a kind of garbage is missing")? {
        GARBAGE_COLLECTION => {
            let version = reader.u64("a version is cut short")?;
            let (kind, count, has_index) = decode_garbage_value(value, "a count is cut short")?;
            Garbage::Collection { version, kind, count, has_index }
        }
        GARBAGE_SPACE => {
            Reader::new(value).end()?;
            Garbage::Space(reader.u32("a space is cut short")?)
        }
        GARBAGE_UNFINISHED => {
            let version = reader.u64("a version is cut short")?;
            let (kind, renewed_at_ms, has_index) = decode_garbage_value(value, "a time is cut short")?;
            Garbage::Unfinished { version, kind, renewed_at_ms, has_index }
        }
        _ => return Err(Flaw { offset: 0, what: "an unknown kind of garbage" }),
    };
    reader.end()?;
    Ok(garbage)
}

/// The inverse of [`garbage_value`]. `missing` is what a number that is cut short is called.
fn decode_garbage_value(value: &Bytes, missing: &'static str) -> Result<(Kind, u64, bool), Flaw> {
    let mut reader = Reader::new(value);
    let kind = kind_of(reader.u8("a kind is missing")?);
    let kind = kind.filter(|kind| *kind != Kind::String).ok_or(Flaw { offset: 0, what: "an unknown kind" })?;
    let number = reader.u64(missing)?;
    let flags_at = reader.flaw("unknown flags");
    match reader.rest().as_ref() {
        [] => Ok((kind, number, false)),
        [flag] if *flag != 0 && *flag == index_flag(kind) => Ok((kind, number, true)),
        _ => Err(flags_at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Bytes {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    fn collection(kind: Kind, version: u64, count: u64, head: u64) -> Body {
        let list = if kind == Kind::List { ListHead::Array { head } } else { ListHead::None };
        Body::Collection(Collection { count, list, ..Collection::empty(kind, version) })
    }

    fn ranked(rank_levels: u8) -> Body {
        Body::Collection(Collection { count: 1 << 20, rank_levels, ..Collection::empty(Kind::SortedSet, 9) })
    }

    #[test]
    fn numbers_are_ordered_scores_where_a_score_has_that_form() {
        let scores = [f64::NEG_INFINITY, f64::MIN, -1.0, -f64::MIN_POSITIVE, 0.0, f64::MIN_POSITIVE, 1.0, f64::MAX, f64::INFINITY];
        let edges = scores.into_iter().map(ordered_score::encode).chain([0, u64::MAX, 1 << 63]);
        let numbers: Vec<u64> = edges.flat_map(|edge| [edge.wrapping_sub(1), edge, edge.wrapping_add(1)]).collect();
        assert!(scores.map(ordered_score::encode).into_iter().all(ordered_score::is_one));
        assert!(!numbers.iter().copied().all(ordered_score::is_one));
        for number in numbers {
            let score = ordered_score::decode(number);
            let is_score = !score.is_nan() && ordered_score::encode(score) == number;
            let key = [&7_u64.to_be_bytes()[..], &number.to_be_bytes(), b"member"].concat();
            assert_eq!([ordered_score::is_one(number), split_scored(&key, b"").is_ok()], [is_score; 2], "{number:x}");
        }
    }

    #[test]
    fn metas_are_the_documented_bytes() {
        let expiries = Some(FieldExpiries { count: 2, next_ms: 258 });
        let expiring = Body::Collection(Collection { count: 3, expiries, ..Collection::empty(Kind::Hash, 7) });
        let table = [
            (None, expiring.clone(), "02 02 0000000000000102 0000000000000002 0000000000000007 0000000000000003"),
            (Some(1), expiring, "02 03 0000000000000001 0000000000000102 0000000000000002 0000000000000007 0000000000000003"),
            (None, Body::String("bar".into()), "01 00 626172"),
            (Some(4_102_444_800_000), Body::String("".into()), "01 01 000003bb2cc3d800"),
            (None, collection(Kind::Hash, 7, 2, 0), "02 00 0000000000000007 0000000000000002"),
            (Some(1), collection(Kind::Set, 8, 1, 0), "04 01 0000000000000001 0000000000000008 0000000000000001"),
            (None, collection(Kind::SortedSet, 9, 3, 0), "05 00 0000000000000009 0000000000000003"),
            (None, ranked(2), "05 04 02 0000000000000009 0000000000100000"),
            (Some(1), ranked(8), "05 05 0000000000000001 08 0000000000000009 0000000000100000"),
            (None, collection(Kind::List, 1, 2, (1 << 63) - 1), "03 00 0000000000000001 7fffffffffffffff 8000000000000001"),
        ];
        for (expire_at_ms, body, bytes) in table {
            let meta = Meta { expire_at_ms, body };
            assert_eq!(encode_meta(&meta), hex(bytes), "{meta:?}");
            assert_eq!(decode_meta(&hex(bytes)), Ok(meta));
        }
    }

    #[test]
    fn damaged_metas_are_refused_with_the_offset() {
        let table = [
            ("", 0, "a kind is missing"),
            ("00 00", 0, "an unknown kind"),
            ("06 00", 0, "an unknown kind"),
            ("01", 1, "flags are missing"),
            ("01 02", 1, "unknown flags"),
            ("02 04", 1, "unknown flags"),
            ("04 02", 1, "unknown flags"),
            ("05 02", 1, "unknown flags"),
            ("05 04", 2, "a number of levels is missing"),
            ("05 04 00 0000000000000009 0000000000100000", 2, "a number of levels that no tree has"),
            ("05 04 09 0000000000000009 0000000000100000", 2, "a number of levels that no tree has"),
            ("01 01 00000000000000", 2, "an expiry is cut short"),
            ("02 00 00000000000000", 2, "a version is cut short"),
            ("02 00 0000000000000007 000000", 10, "a count is cut short"),
            ("02 00 0000000000000007 0000000000000002 00", 18, "trailing bytes"),
            ("03 00 0000000000000001 7fffffffffffffff", 18, "a list's tail is cut short"),
            ("03 00 0000000000000001 8000000000000001 8000000000000000", 18, "a list's tail is before its head"),
        ];
        for (bytes, offset, what) in table {
            assert_eq!(decode_meta(&hex(bytes)), Err(Flaw { offset, what }), "{bytes}");
        }
    }

    #[test]
    fn sub_records_and_index_records_are_the_documented_bytes() {
        assert_eq!(encode_sub_key(7, b"field"), hex("0000000000000007 6669656c64"));
        assert_eq!(decode_sub_key(&hex("0000000000000007 6669656c64")), Ok((7, "field".into())));
        let plain = FieldValue { expire_at_ms: None, value: "v".into() };
        let expiring = FieldValue { expire_at_ms: Some(258), value: "v".into() };
        assert_eq!(encode_field_value(&plain), hex("00 76"));
        assert_eq!(encode_field_value(&expiring), hex("01 0000000000000102 76"));
        assert_eq!(decode_field_value(&hex("00 76")), Ok(plain));
        assert_eq!(decode_field_value(&hex("01 0000000000000102 76")), Ok(expiring));
        assert_eq!(encode_expiry_key(258, b"\0\0\0\x01k"), hex("0000000000000102 00000001 6b"));
        assert_eq!(decode_expiry_key(&hex("0000000000000102 00000001 6b")), Ok((258, 1, "k".into())));
    }

    #[test]
    fn garbage_is_the_documented_bytes() {
        let removed = |has_index| Garbage::Collection { version: 7, kind: Kind::Hash, count: 2, has_index };
        let ranked = Garbage::Collection { version: 7, kind: Kind::SortedSet, count: 0, has_index: true };
        let unfinished = Garbage::Unfinished { version: 7, kind: Kind::Set, renewed_at_ms: 258, has_index: false };
        let table = [
            (removed(false), "01 0000000000000007", "02 0000000000000002"),
            (removed(true), "01 0000000000000007", "02 0000000000000002 02"),
            (ranked, "01 0000000000000007", "05 0000000000000000 04"),
            (Garbage::Space(3), "02 00000003", ""),
            (unfinished, "03 0000000000000007", "04 0000000000000102"),
        ];
        for (garbage, key, value) in table {
            assert_eq!(encode_garbage(&garbage), (hex(key), hex(value)));
            assert_eq!(decode_garbage(&hex(key), &hex(value)), Ok(garbage));
        }
        let damaged = [
            ("", ""),
            ("04", ""),
            ("01 00", ""),
            ("01 0000000000000007", "09 0000000000000002"),
            ("01 0000000000000007", "01 0000000000000002"),
            ("01 0000000000000007", "02 0000000000000002 00"),
            ("01 0000000000000007", "04 0000000000000002 02"),
            ("01 0000000000000007", "04 0000000000000002 00"),
            ("01 0000000000000007", "05 0000000000000002 02"),
            ("02 0000000300", ""),
            ("02 00000003", "00"),
            ("03 0000000000000007", "02 00000000000002"),
        ];
        for (key, value) in damaged {
            assert!(decode_garbage(&hex(key), &hex(value)).is_err(), "{key} {value}");
        }
    }

    #[test]
    fn damaged_fields_are_refused() {
        for bytes in ["", "02 76", "01 00000000000000"] {
            assert!(decode_field_value(&hex(bytes)).is_err(), "{bytes}");
        }
        assert!(decode_sub_key(&hex("00000000000000")).is_err());
        assert!(decode_expiry_key(&hex("0000000000000102 000000")).is_err());
    }

    #[test]
    fn scores_and_elements_are_the_documented_bytes() {
        let table: [(f64, &str, &str, &str); 8] = [
            (1.5, "3ff8000000000000", "bff8000000000000", ""),
            (-1.5, "bff8000000000000", "4007ffffffffffff", ""),
            (0.0, "0000000000000000", "8000000000000000", ""),
            (-0.0, "8000000000000000", "8000000000000000", "01"),
            (f64::INFINITY, "7ff0000000000000", "fff0000000000000", ""),
            (f64::NEG_INFINITY, "fff0000000000000", "000fffffffffffff", ""),
            (5e-324, "0000000000000001", "8000000000000001", ""),
            (-5e-324, "8000000000000001", "7ffffffffffffffe", ""),
        ];
        for (score, exact, ordered, zero) in table {
            assert_eq!(encode_score(score), hex(exact), "{score}");
            assert_eq!(decode_score(&hex(exact)).map(f64::to_bits), Ok(score.to_bits()));
            let (key, value) = encode_scored(7, score, b"m");
            assert_eq!((key, value), (hex(&format!("0000000000000007 {ordered} 6d")), hex(zero)), "{score}");
            let (version, back, member) = decode_scored(&hex(&format!("0000000000000007 {ordered} 6d")), &hex(zero)).unwrap();
            assert_eq!((version, back.to_bits(), member), (7, score.to_bits(), "m".into()));
        }
        assert_eq!(encode_element_key(7, FIRST_INDEX), hex("0000000000000007 8000000000000000"));
        assert_eq!(decode_element_key(&hex("0000000000000007 8000000000000000")), Ok((7, FIRST_INDEX)));
    }

    #[test]
    fn damaged_scores_and_elements_are_refused() {
        for value in ["", "3ff80000000000", "3ff800000000000000", "7ff8000000000000"] {
            assert!(decode_score(&hex(value)).is_err(), "{value}");
        }
        let keys = [("00", ""), ("0000000000000007 80000000000000", ""), ("0000000000000007 fff8000000000000", "")];
        // The ordered form that -0 would have if it were told apart from 0, and values that say what they must not.
        let values = [
            ("0000000000000007 7fffffffffffffff", ""),
            ("0000000000000007 bff8000000000000", "01"),
            ("0000000000000007 8000000000000000", "02"),
        ];
        for (key, value) in keys.into_iter().chain(values) {
            assert!(decode_scored(&hex(key), &hex(value)).is_err(), "{key} {value}");
        }
        for key in ["00", "0000000000000007 80000000000000", "0000000000000007 800000000000000000"] {
            assert!(decode_element_key(&hex(key)).is_err(), "{key}");
        }
    }

    proptest::proptest! {
        #[test]
        fn ordered_scores_stand_in_the_order_of_scores(a in proptest::num::f64::ANY, b in proptest::num::f64::ANY) {
            let edges = [0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, f64::MIN, f64::MAX, f64::MIN_POSITIVE, f64::INFINITY, f64::NEG_INFINITY];
            let numbers: Vec<f64> = edges.into_iter().chain([a, b, f64::from_bits(a.to_bits() ^ 1)]).filter(|number| !number.is_nan()).collect();
            for &x in &numbers {
                for &y in &numbers {
                    let ordered = ordered_score::encode(x).cmp(&ordered_score::encode(y));
                    proptest::prop_assert_eq!(Some(ordered), x.partial_cmp(&y));
                    proptest::prop_assert_eq!(ordered_score::decode(ordered_score::encode(x)), x);
                }
            }
        }
    }
}
