//! The records of the layout `orbweaver`, byte for byte: `docs/format.md` is their specification. Encoders stand beside decoders.

use crate::codec::{Flaw, Reader};
use crate::layout::{Body, Collection, FieldValue, Kind, Meta};
use bytes::{BufMut, Bytes, BytesMut};

/// The marker's value begins with this.
pub const MARKER: &[u8] = b"orbweaver";
/// Version 1 of the format: the first.
pub const FORMAT_VERSION: u32 = 1;

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
const EXPIRES: u8 = 0x01;
/// Field flag: an expiry follows.
const FIELD_EXPIRES: u8 = 0x01;

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

/// `kind | flags | [expire_at_ms u64] | value` for strings, `... | version u64 | count u64` for hashes, sets and sorted sets,
/// `... | version u64 | head u64 | tail u64` for lists.
pub fn encode_meta(meta: &Meta) -> Bytes {
    let value_bytes = if let Body::String(value) = &meta.body { value.len() } else { 24 };
    let mut bytes = BytesMut::with_capacity(10 + value_bytes);
    bytes.put_u8(kind_number(meta.kind()));
    bytes.put_u8(if meta.expire_at_ms.is_some() { EXPIRES } else { 0 });
    if let Some(at) = meta.expire_at_ms {
        bytes.put_u64(at);
    }
    match &meta.body {
        Body::String(value) => bytes.put_slice(value),
        Body::Collection(collection) => {
            bytes.put_u64(collection.version);
            if collection.kind == Kind::List {
                bytes.put_u64(collection.head);
                bytes.put_u64(collection.head.wrapping_add(collection.count));
            } else {
                bytes.put_u64(collection.count);
            }
        }
    }
    bytes.freeze()
}

/// The inverse of [`encode_meta`].
pub fn decode_meta(value: &Bytes) -> Result<Meta, Flaw> {
    let mut reader = Reader::new(value);
    let kind = match kind_of(reader.u8("a kind is missing")?) {
        Some(kind) => kind,
        None => return Err(Flaw { offset: 0, what: "an unknown kind" }),
    };
    let flags_at = reader.flaw("unknown flags");
    let flags = reader.u8("flags are missing")?;
    if flags & !EXPIRES != 0 {
        return Err(flags_at);
    }
    let expire_at_ms = if flags & EXPIRES == 0 { None } else { Some(reader.u64("an expiry is cut short")?) };
    if kind == Kind::String {
        return Ok(Meta { expire_at_ms, body: Body::String(reader.rest()) });
    }
    let version = reader.u64("a version is cut short")?;
    let (head, count) = if kind == Kind::List {
        let head = reader.u64("a list's head is cut short")?;
        let bounds = reader.flaw("a list's tail is before its head");
        let tail = reader.u64("a list's tail is cut short")?;
        (head, tail.checked_sub(head).ok_or(bounds)?)
    } else {
        (0, reader.u64("a count is cut short")?)
    };
    reader.end()?;
    Ok(Meta { expire_at_ms, body: Body::Collection(Collection { kind, version, count, head }) })
}

/// `version u64 | rest`: the key of every sub-record.
pub fn encode_sub_key(version: u64, rest: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(8 + rest.len());
    bytes.put_u64(version);
    bytes.put_slice(rest);
    bytes.freeze()
}

/// The inverse of [`encode_sub_key`].
pub fn decode_sub_key(key: &Bytes) -> Result<(u64, Bytes), Flaw> {
    let mut reader = Reader::new(key);
    let version = reader.u64("a version is cut short")?;
    Ok((version, reader.rest()))
}

/// `flags | [expire_at_ms u64] | value`.
pub fn encode_field_value(field: &FieldValue) -> Bytes {
    let mut bytes = BytesMut::with_capacity(9 + field.value.len());
    bytes.put_u8(if field.expire_at_ms.is_some() { FIELD_EXPIRES } else { 0 });
    if let Some(at) = field.expire_at_ms {
        bytes.put_u64(at);
    }
    bytes.put_slice(&field.value);
    bytes.freeze()
}

/// The inverse of [`encode_field_value`].
pub fn decode_field_value(value: &Bytes) -> Result<FieldValue, Flaw> {
    let mut reader = Reader::new(value);
    let flags = reader.u8("flags are missing")?;
    if flags & !FIELD_EXPIRES != 0 {
        return Err(Flaw { offset: 0, what: "unknown flags" });
    }
    let expire_at_ms = if flags & FIELD_EXPIRES == 0 { None } else { Some(reader.u64("an expiry is cut short")?) };
    Ok(FieldValue { expire_at_ms, value: reader.rest() })
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
    /// The sub-records of a collection: `1 | version u64` -> `kind | count u64`.
    Collection {
        /// The version that nothing refers to any more.
        version: u64,
        /// The kind that it was: tells which keyspaces hold its records.
        kind: Kind,
        /// How many elements there are to remove.
        count: u64,
    },
    /// All keys of a space that no db stands for any more: `2 | space u32` -> empty.
    Space(u32),
}

const GARBAGE_COLLECTION: u8 = 1;
const GARBAGE_SPACE: u8 = 2;

/// Key and value of a garbage record.
pub fn encode_garbage(garbage: &Garbage) -> (Bytes, Bytes) {
    let (mut key, mut value) = (BytesMut::with_capacity(9), BytesMut::new());
    match *garbage {
        Garbage::Collection { version, kind, count } => {
            key.put_u8(GARBAGE_COLLECTION);
            key.put_u64(version);
            value.put_u8(kind_number(kind));
            value.put_u64(count);
        }
        Garbage::Space(space) => {
            key.put_u8(GARBAGE_SPACE);
            key.put_u32(space);
        }
    }
    (key.freeze(), value.freeze())
}

/// The inverse of [`encode_garbage`].
pub fn decode_garbage(key: &Bytes, value: &Bytes) -> Result<Garbage, Flaw> {
    let mut reader = Reader::new(key);
    let garbage = match reader.u8("a kind of garbage is missing")? {
        GARBAGE_COLLECTION => {
            let version = reader.u64("a version is cut short")?;
            let mut details = Reader::new(value);
            let kind = kind_of(details.u8("a kind is missing")?).ok_or(Flaw { offset: 0, what: "an unknown kind" })?;
            let count = details.u64("a count is cut short")?;
            details.end()?;
            Garbage::Collection { version, kind, count }
        }
        GARBAGE_SPACE => Garbage::Space(reader.u32("a space is cut short")?),
        _ => return Err(Flaw { offset: 0, what: "an unknown kind of garbage" }),
    };
    reader.end()?;
    Ok(garbage)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Bytes {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    fn collection(kind: Kind, version: u64, count: u64, head: u64) -> Body {
        Body::Collection(Collection { kind, version, count, head })
    }

    #[test]
    fn metas_are_the_documented_bytes() {
        let table = [
            (None, Body::String("bar".into()), "01 00 626172"),
            (Some(4_102_444_800_000), Body::String("".into()), "01 01 000003bb2cc3d800"),
            (None, collection(Kind::Hash, 7, 2, 0), "02 00 0000000000000007 0000000000000002"),
            (Some(1), collection(Kind::Set, 8, 1, 0), "04 01 0000000000000001 0000000000000008 0000000000000001"),
            (None, collection(Kind::SortedSet, 9, 3, 0), "05 00 0000000000000009 0000000000000003"),
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
        let table = [
            (Garbage::Collection { version: 7, kind: Kind::Hash, count: 2 }, "01 0000000000000007", "02 0000000000000002"),
            (Garbage::Space(3), "02 00000003", ""),
        ];
        for (garbage, key, value) in table {
            assert_eq!(encode_garbage(&garbage), (hex(key), hex(value)));
            assert_eq!(decode_garbage(&hex(key), &hex(value)), Ok(garbage));
        }
        for (key, value) in [("", ""), ("03", ""), ("01 00", ""), ("01 0000000000000007", "09 0000000000000002"), ("02 0000000300", "")] {
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
}
