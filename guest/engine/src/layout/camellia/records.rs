//! The rows of the layout `camellia`, byte for byte. Integers are big-endian. Encoders stand beside decoders.
//!
//! A row's key is `[slot prefix] | tag | # | namespace | ...`. The slot prefix is there where HBase or TiKV is the store: the first eight
//! bytes of the MD5 of the user key's slot in decimal digits.

use crate::codec::{Flaw, Reader};
use crate::layout::{Body, Collection, Kind, Meta};
use bytes::{BufMut, Bytes, BytesMut};
use crc::{CRC_16_XMODEM, Crc};
use md5::{Digest, Md5};

/// Bytes of a slot prefix.
pub const SLOT_PREFIX_BYTES: usize = 8;
/// The slots of Redis Cluster.
const SLOTS: u16 = 16384;
const SLOT_CHECKSUM: Crc<u16> = Crc::<u16>::new(&CRC_16_XMODEM);

/// The encode version whose heads count; the only one of strings.
pub const COUNTED: u8 = 0;
/// The encode version whose heads do not count; sorted sets have their scores in the redis then.
pub const UNCOUNTED: u8 = 1;

/// An expiry that there is none of.
const NEVER: i64 = -1;

/// Members of so many bytes or more are known by their MD5 in the redis.
pub const LONG_MEMBER_BYTES: usize = 15;
const SHORT_INDEX: u8 = 0;
const LONG_INDEX: u8 = 1;

/// What a row is, by the byte before the `#`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Tag {
    /// `m# | namespace | user key` -> [`KeyMeta`].
    Meta = b'm',
    /// `s# | namespace | length u32 | user key | key version i64 | field or member` -> value, score as text, or nothing.
    Sub = b's',
    /// `k# | ... | score, the bits of the double | member` -> nothing.
    Score = b'k',
    /// `i# | ... | index` -> member.
    Long = b'i',
}

impl Tag {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Meta, Self::Sub, Self::Score, Self::Long];

    /// The two bytes in the key.
    const fn bytes(self) -> [u8; 2] {
        [self as u8, b'#']
    }

    /// The tag of two bytes of a key.
    pub fn of_bytes(bytes: [u8; 2]) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.bytes() == bytes)
    }

    /// Those of the sub-rows of a kind's collections.
    pub const fn of(kind: Kind, is_counted: bool) -> &'static [Self] {
        match kind {
            Kind::String | Kind::List => &[],
            Kind::Hash | Kind::Set => &[Self::Sub],
            Kind::SortedSet if is_counted => &[Self::Sub, Self::Score],
            Kind::SortedSet => &[Self::Long],
        }
    }
}

/// How the keys of rows are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Stands before every user key.
    pub namespace: Bytes,
    /// Whether rows begin with eight bytes that stand for the slot.
    pub has_slot_prefix: bool,
}

/// What the key of a row says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What the row is.
    pub tag: Tag,
    /// The user key that it is of.
    pub user_key: Bytes,
    /// The key version of a sub-row; 0 of a meta row.
    pub version: u64,
    /// What is behind: a field, a member, a score and a member, an index. Nothing in a meta row.
    pub rest: Bytes,
}

impl Rows {
    fn put_head(&self, key: &mut BytesMut, tag: Tag, user_key: &[u8]) {
        if self.has_slot_prefix {
            key.put_slice(&slot_prefix(user_key));
        }
        key.put_slice(&tag.bytes());
        key.put_slice(&self.namespace);
    }

    /// The key of a meta row.
    pub fn meta_key(&self, user_key: &[u8]) -> Bytes {
        let mut key = BytesMut::with_capacity(SLOT_PREFIX_BYTES + 2 + self.namespace.len() + user_key.len());
        self.put_head(&mut key, Tag::Meta, user_key);
        key.put_slice(user_key);
        key.freeze()
    }

    /// What the keys of all sub-rows of a user key with a tag begin with, whatever their key version.
    pub fn beginning(&self, tag: Tag, user_key: &[u8]) -> Bytes {
        let mut key = BytesMut::with_capacity(SLOT_PREFIX_BYTES + 6 + self.namespace.len() + user_key.len());
        self.put_beginning(&mut key, tag, user_key);
        key.freeze()
    }

    fn put_beginning(&self, key: &mut BytesMut, tag: Tag, user_key: &[u8]) {
        self.put_head(key, tag, user_key);
        // No user key comes near the limit: requests are far shorter.
        key.put_u32(u32::try_from(user_key.len()).unwrap_or(u32::MAX));
        key.put_slice(user_key);
    }

    /// The key of a sub-row; without `rest`, what the keys of all of them begin with.
    pub fn sub_key(&self, tag: Tag, user_key: &[u8], version: u64, rest: &[&[u8]]) -> Bytes {
        let rest_bytes: usize = rest.iter().map(|part| part.len()).sum();
        let mut key = BytesMut::with_capacity(SLOT_PREFIX_BYTES + 14 + self.namespace.len() + user_key.len() + rest_bytes);
        self.put_beginning(&mut key, tag, user_key);
        key.put_u64(version);
        rest.iter().for_each(|part| key.put_slice(part));
        key.freeze()
    }

    /// The key of the row by which a member is in its place.
    pub fn score_key(&self, user_key: &[u8], version: u64, score: f64, member: &[u8]) -> Bytes {
        self.sub_key(Tag::Score, user_key, version, &[&score.to_bits().to_be_bytes(), member])
    }

    /// What all rows of our namespace with a tag begin with, behind the slot prefix.
    pub fn tagged(&self, tag: Tag) -> Vec<u8> {
        [&tag.bytes(), self.namespace.as_ref()].concat()
    }

    /// What is behind the slot prefix of a row's key.
    pub fn behind_slot<'k>(&self, key: &'k [u8]) -> Result<(&'k [u8], &'k [u8]), Flaw> {
        let bytes = if self.has_slot_prefix { SLOT_PREFIX_BYTES } else { 0 };
        key.split_at_checked(bytes).ok_or(Flaw { offset: 0, what: "a slot prefix is cut short" })
    }

    /// Takes the key of a row apart. `None`: it is of another namespace.
    pub fn decode(&self, key: &Bytes) -> Result<Option<Row>, Flaw> {
        let mut reader = Reader::new(key);
        let prefix = if self.has_slot_prefix { reader.slice(SLOT_PREFIX_BYTES, "a slot prefix is cut short")? } else { Bytes::new() };
        let unknown = reader.flaw("not the tag of a row");
        let tag = reader.take("not the tag of a row")?;
        let tag = Tag::of_bytes(tag).ok_or(unknown)?;
        match reader.slice(self.namespace.len(), "another namespace") {
            Ok(namespace) if namespace == self.namespace => {}
            _ => return Ok(None),
        }
        let row = if tag == Tag::Meta {
            Row { tag, user_key: reader.rest(), version: 0, rest: Bytes::new() }
        } else {
            let user_key = reader.bytes("a user key is cut short")?;
            let version = version(&mut reader)?;
            Row { tag, user_key, version, rest: reader.rest() }
        };
        if self.has_slot_prefix && prefix != slot_prefix(&row.user_key)[..] {
            return Err(Flaw { offset: 0, what: "the prefix of another slot" });
        }
        Ok(Some(row))
    }
}

fn version(reader: &mut Reader<'_>) -> Result<u64, Flaw> {
    let flaw = reader.flaw("a key version before 1970");
    let version = reader.take("a key version is cut short")?;
    u64::try_from(i64::from_be_bytes(version)).map_err(|_| flaw)
}

/// What stands for the slot of a user key.
pub fn slot_prefix(user_key: &[u8]) -> [u8; SLOT_PREFIX_BYTES] {
    let slot = SLOT_CHECKSUM.checksum(hash_tag(user_key)) % SLOTS;
    first_of_md5(itoa::Buffer::new().format(slot).as_bytes())
}

fn first_of_md5(bytes: &[u8]) -> [u8; SLOT_PREFIX_BYTES] {
    let digest: [u8; 16] = Md5::digest(bytes).into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    [a, b, c, d, e, f, g, h]
}

/// What the slot of a user key is made from: what is between its first brace and the next closing one, unless that is nothing.
fn hash_tag(user_key: &[u8]) -> &[u8] {
    let behind = |bytes: &[u8], brace| bytes.iter().position(|byte| *byte == brace);
    let tag = behind(user_key, b'{').and_then(|open| {
        let rest = user_key.get(open + 1..)?;
        rest.get(..behind(rest, b'}')?)
    });
    tag.filter(|tag| !tag.is_empty()).unwrap_or(user_key)
}

/// Whether a user key is one with the hash before it that releases up to 1.2.28 put there.
pub fn is_of_old_release(user_key: &[u8]) -> bool {
    user_key.split_first_chunk::<8>().is_some_and(|(hash, user_key)| *hash == first_of_md5(user_key))
}

/// The value of a meta row: `encode version u8 | key type u8 | key version i64 | expire time i64 | extra`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyMeta {
    /// How the collection is encoded.
    pub encode_version: u8,
    /// The number of the kind.
    pub key_type: u8,
    /// When the key was made: Unix time in milliseconds.
    pub key_version: u64,
    /// The expiry: Unix time in milliseconds; negative: none.
    pub expire_time: i64,
    /// A string's value; of a collection that counts its `count i32`.
    pub extra: Bytes,
}

impl KeyMeta {
    /// The inverse of [`KeyMeta::encode`].
    pub fn decode(value: &Bytes) -> Result<Self, Flaw> {
        let mut reader = Reader::new(value);
        let encode_version = reader.u8("an encode version is missing")?;
        let key_type = reader.u8("a key type is missing")?;
        let key_version = version(&mut reader)?;
        let expire_time = i64::from_be_bytes(reader.take("an expire time is cut short")?);
        Ok(Self { encode_version, key_type, key_version, expire_time, extra: reader.rest() })
    }

    /// The value of the row.
    pub fn encode(&self) -> Bytes {
        let mut value = BytesMut::with_capacity(18 + self.extra.len());
        value.put_u8(self.encode_version);
        value.put_u8(self.key_type);
        value.put_u64(self.key_version);
        value.put_i64(self.expire_time);
        value.put_slice(&self.extra);
        value.freeze()
    }

    /// How a key is stored. `key_version` is that of a string. `None` for what does not fit: a count of more than 31 bits, a list.
    pub fn of(meta: &Meta, key_version: u64) -> Option<Self> {
        let (key_version, is_counted, extra) = match &meta.body {
            Body::String(value) => (key_version, true, value.clone()),
            Body::Collection(Collection { version, is_counted: false, .. }) => (*version, false, Bytes::new()),
            Body::Collection(Collection { version, count, .. }) => {
                (*version, true, Bytes::copy_from_slice(&i32::try_from(*count).ok()?.to_be_bytes()))
            }
        };
        let expire_time = meta.expire_at_ms.map_or(NEVER, |at_ms| i64::try_from(at_ms).unwrap_or(i64::MAX));
        let encode_version = if is_counted { COUNTED } else { UNCOUNTED };
        Some(Self { encode_version, key_type: type_number(meta.kind())?, key_version, expire_time, extra })
    }

    /// What is stored.
    pub fn meta(&self) -> Result<Meta, Flaw> {
        let Some(kind) = kind_of(self.key_type) else {
            return Err(Flaw {
                offset: 1,
                what: if self.key_type == LIST { "a list, which has no encoding" } else { "an unknown key type" },
            });
        };
        let old = Flaw { offset: 0, what: "an encode version of release 1.2.28 or older, or one that is unknown" };
        let expire_at_ms = u64::try_from(self.expire_time).ok();
        let mut collection = Collection::empty(kind, self.key_version);
        match (kind, self.encode_version) {
            (Kind::String, COUNTED) => return Ok(Meta { expire_at_ms, body: Body::String(self.extra.clone()) }),
            // Sorted sets of the old version 1 counted, and were stored otherwise.
            (Kind::SortedSet, UNCOUNTED) if !self.extra.is_empty() => return Err(old),
            (Kind::Hash | Kind::Set, UNCOUNTED) if !self.extra.is_empty() => return Err(Flaw { offset: 18, what: "trailing bytes" }),
            (Kind::Hash | Kind::Set | Kind::SortedSet, COUNTED) => {
                let mut reader = Reader::new(&self.extra);
                let flaw = Flaw { offset: 18, what: "not a count" };
                let count = reader.take("not a count").map(i32::from_be_bytes).map_err(|_| flaw)?;
                reader.end().map_err(|_| Flaw { offset: 22, what: "trailing bytes" })?;
                collection.count = u64::try_from(count).map_err(|_| flaw)?;
            }
            (Kind::Hash | Kind::Set | Kind::SortedSet, UNCOUNTED) => (collection.count, collection.is_counted) = (u64::MAX, false),
            _ => return Err(old),
        }
        Ok(Meta { expire_at_ms, body: Body::Collection(collection) })
    }
}

const STRING: u8 = 1;
const HASH: u8 = 2;
const SORTED_SET: u8 = 3;
/// Reserved.
const LIST: u8 = 4;
const SET: u8 = 5;

const fn type_number(kind: Kind) -> Option<u8> {
    match kind {
        Kind::String => Some(STRING),
        Kind::Hash => Some(HASH),
        Kind::SortedSet => Some(SORTED_SET),
        Kind::Set => Some(SET),
        Kind::List => None,
    }
}

/// The kind of a number on disk.
pub const fn kind_of(key_type: u8) -> Option<Kind> {
    match key_type {
        STRING => Some(Kind::String),
        HASH => Some(Kind::Hash),
        SORTED_SET => Some(Kind::SortedSet),
        SET => Some(Kind::Set),
        _ => None,
    }
}

/// The score and the member behind the key version of a score row's key.
pub fn decode_score(rest: &Bytes) -> Result<(f64, Bytes), Flaw> {
    let mut reader = Reader::new(rest);
    let score = f64::from_bits(reader.u64("a score is cut short")?);
    if score.is_nan() { Err(Flaw { offset: 0, what: "a score that is not a number" }) } else { Ok((score, reader.rest())) }
}

/// What a member is known by in the redis: itself behind a zero byte, or where it is long its MD5 behind a one.
pub fn index_of(member: &[u8]) -> Bytes {
    if member.len() < LONG_MEMBER_BYTES {
        return [&[SHORT_INDEX], member].concat().into();
    }
    [&[LONG_INDEX], Md5::digest(member).as_slice()].concat().into()
}

/// The member of an index; `None` where only its row says it.
pub fn short_member(index: &Bytes) -> Result<Option<Bytes>, Flaw> {
    match index.first() {
        Some(&SHORT_INDEX) => Ok(Some(index.slice(1..))),
        Some(&LONG_INDEX) if index.len() == 17 => Ok(None),
        _ => Err(Flaw { offset: 0, what: "not the index of a member" }),
    }
}

#[cfg(test)]
mod tests;
