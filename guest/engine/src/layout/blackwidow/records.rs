//! The records of the layout `blackwidow`, byte for byte. All numbers are little-endian, those within keys too. Encoders stand
//! beside decoders.

use crate::codec::{Flaw, Reader};
use crate::layout::lists::ListHead;
use crate::layout::{Body, Collection, Kind, Meta};
use bytes::{BufMut, Bytes, BytesMut};

/// Index of the first element of a list that is made by appending; a list grows to both sides from here.
pub const FIRST_INDEX: u64 = 1 << 63;

/// The seconds of Unix time `ms`, cut to 32 bits as the format has them.
pub fn seconds(ms: u64) -> Option<i32> {
    i32::try_from(ms / 1000).ok()
}

/// A version as [`Collection`] has it: the same 32 bits.
pub fn version_number(version: i32) -> u64 {
    u64::from(version.cast_unsigned())
}

/// The inverse of [`version_number`]. Versions come from this layout.
pub fn version_of(number: u64) -> i32 {
    u32::try_from(number).map_or(i32::MAX, u32::cast_signed)
}

/// An expiry in milliseconds from a timestamp in seconds, of which 0 says that there is none.
pub fn expire_at_ms(timestamp: i32) -> Option<u64> {
    // A negative one is long past: it comes from a time behind 2038 that was cut to 32 bits.
    (timestamp != 0).then(|| u64::try_from(timestamp).unwrap_or(0) * 1000)
}

/// The inverse of [`expire_at_ms`]. Expiries that do not fit are refused before they come here.
pub fn timestamp(expire_at_ms: Option<u64>) -> i32 {
    expire_at_ms.map_or(0, |ms| seconds(ms).unwrap_or(i32::MAX).max(1))
}

/// The two ends of a list: the indexes before its first element and behind its last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Before the first element.
    pub left: u64,
    /// Behind the last one.
    pub right: u64,
}

impl Bounds {
    /// Those of a list that has never had an element.
    pub const EMPTY: Self = Self { left: FIRST_INDEX - 1, right: FIRST_INDEX };

    /// How many indexes are between them.
    pub const fn count(self) -> u64 {
        self.right.wrapping_sub(self.left).wrapping_sub(1)
    }

    /// Whether an element is between them.
    pub const fn contain(self, index: u64) -> bool {
        index.wrapping_sub(self.left).wrapping_sub(1) < self.count()
    }
}

/// The value of a collection's meta record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetaRecord {
    /// 0: the key does not exist. Bugs of the original have left negative ones.
    pub count: i64,
    /// That of the records that belong to the key.
    pub version: i32,
    /// The expiry as a Unix time in seconds; 0: there is none.
    pub timestamp: i32,
    /// `None` for all kinds but lists.
    pub bounds: Option<Bounds>,
}

impl MetaRecord {
    /// `i32 count | i32 version | i32 timestamp`, of a list `u64 count | i32 version | i32 timestamp | u64 left | u64 right`. Counts
    /// that do not fit are refused before they come here.
    pub fn encode(&self) -> Bytes {
        let mut bytes = BytesMut::with_capacity(32);
        match self.bounds {
            Some(_) => bytes.put_u64_le(self.count.cast_unsigned()),
            None => bytes.put_i32_le(i32::try_from(self.count).unwrap_or(i32::MAX)),
        }
        bytes.put_i32_le(self.version);
        bytes.put_i32_le(self.timestamp);
        if let Some(Bounds { left, right }) = self.bounds {
            bytes.put_u64_le(left);
            bytes.put_u64_le(right);
        }
        bytes.freeze()
    }

    /// The inverse of [`MetaRecord::encode`].
    ///
    /// # Errors
    /// Where the bytes are too few or too many, and where a list's count is not that of its bounds.
    pub fn decode(kind: Kind, value: &Bytes) -> Result<Self, Flaw> {
        const COUNT: &str = "a count is cut short";
        let mut reader = Reader::new(value);
        let count = match kind {
            Kind::List => i64::from_le_bytes(reader.take(COUNT)?),
            _ => i64::from(i32::from_le_bytes(reader.take(COUNT)?)),
        };
        let version = i32::from_le_bytes(reader.take("a version is cut short")?);
        let timestamp = i32::from_le_bytes(reader.take("a timestamp is cut short")?);
        let mut bounds = None;
        if kind == Kind::List {
            let left = u64::from_le_bytes(reader.take("a left bound is cut short")?);
            let right = u64::from_le_bytes(reader.take("a right bound is cut short")?);
            bounds = Some(Bounds { left, right });
        }
        reader.end()?;
        if bounds.is_some_and(|bounds| bounds.count() != count.cast_unsigned()) {
            return Err(Flaw { offset: 0, what: "a list's count is not that of its bounds" });
        }
        Ok(Self { count, version, timestamp, bounds })
    }

    /// What a collection leaves when its key is removed: no record of its version can be found any more. `None` where there is no
    /// further version.
    pub fn removed(kind: Kind, old_version: i32, now: i32) -> Option<Self> {
        let bounds = (kind == Kind::List).then_some(Bounds::EMPTY);
        Some(Self { count: 0, version: next_version(old_version, now)?, timestamp: 0, bounds })
    }

    /// The head of a collection in the form of the format.
    pub fn of(collection: &Collection, expire_at_ms: Option<u64>) -> Self {
        let head = collection.list.first_index();
        let bounds = Bounds { left: head.wrapping_sub(1), right: head.wrapping_add(collection.count) };
        Self {
            count: i64::try_from(collection.count).unwrap_or(i64::MAX),
            version: version_of(collection.version),
            timestamp: timestamp(expire_at_ms),
            bounds: (collection.kind == Kind::List).then_some(bounds),
        }
    }

    /// What it says of its key; `None`: there is none.
    pub fn meta(&self, kind: Kind) -> Option<Meta> {
        if self.count == 0 {
            return None;
        }
        let mut collection = Collection::empty(kind, version_number(self.version));
        match (self.bounds, u64::try_from(self.count)) {
            (Some(bounds), _) => {
                collection.list = ListHead::Array { head: bounds.left.wrapping_add(1) };
                collection.count = bounds.count();
            }
            (None, Ok(count)) => collection.count = count,
            // The original hides no key for that: it is as if nobody had counted.
            (None, Err(_)) => (collection.count, collection.is_counted) = (u64::MAX, false),
        }
        Some(Meta { expire_at_ms: expire_at_ms(self.timestamp), body: Body::Collection(collection) })
    }
}

/// The version that follows another one of the same key: the clock, unless the versions are ahead of it. `None`: there is none.
pub fn next_version(old: i32, now: i32) -> Option<i32> {
    if old >= now { old.checked_add(1) } else { Some(now) }
}

/// `value | i32 timestamp`: the value of a string's record.
pub fn encode_string(value: &[u8], expire_at_ms: Option<u64>) -> Bytes {
    let mut bytes = BytesMut::with_capacity(value.len().saturating_add(4));
    bytes.put_slice(value);
    bytes.put_i32_le(timestamp(expire_at_ms));
    bytes.freeze()
}

/// The inverse of [`encode_string`], with the timestamp as it is.
///
/// # Errors
/// Where there is no room for a timestamp.
pub fn decode_string(value: &Bytes) -> Result<(Bytes, i32), Flaw> {
    let (text, timestamp) = value.split_last_chunk().ok_or(Flaw { offset: 0, what: "a timestamp is cut short" })?;
    Ok((value.slice(..text.len()), i32::from_le_bytes(*timestamp)))
}

/// `u32 length of the key | key | i32 version | rest`: the key of a field, a member or an element. Without a rest it is what the keys of
/// all records of a collection begin with.
pub fn encode_data_key(key: &[u8], version: i32, rest: &[u8]) -> BytesMut {
    let mut bytes = BytesMut::with_capacity(key.len().saturating_add(rest.len()).saturating_add(8));
    bytes.put_u32_le(u32::try_from(key.len()).unwrap_or(u32::MAX));
    bytes.put_slice(key);
    bytes.put_i32_le(version);
    bytes.put_slice(rest);
    bytes
}

/// The key of a record of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataKey {
    /// The user key.
    pub key: Bytes,
    /// That of the collection that the record was written for.
    pub version: i32,
    /// A field, a member, an index, or a score and a member.
    pub rest: Bytes,
}

impl DataKey {
    /// The inverse of [`encode_data_key`].
    ///
    /// # Errors
    /// Where the bytes are too few.
    pub fn decode(bytes: &Bytes) -> Result<Self, Flaw> {
        let mut reader = Reader::new(bytes);
        let length = u32::from_le_bytes(reader.take("a key's length is cut short")?);
        let key = reader.slice(usize::try_from(length).unwrap_or(usize::MAX), "a key is cut short")?;
        let version = i32::from_le_bytes(reader.take("a version is cut short")?);
        Ok(Self { key, version, rest: reader.rest() })
    }

    /// Where the rest begins.
    fn rest_at(&self) -> usize {
        self.key.len().saturating_add(8)
    }

    /// The index of an element.
    ///
    /// # Errors
    /// Where the rest is not eight bytes.
    pub fn index(&self) -> Result<u64, Flaw> {
        let index = self.rest.as_ref().try_into();
        index.map(u64::from_le_bytes).map_err(|_| Flaw { offset: self.rest_at(), what: "an index is not eight bytes" })
    }

    /// A member and the score by which it is in its place.
    ///
    /// # Errors
    /// Where the rest has less than eight bytes.
    pub fn scored(&self) -> Result<(f64, Bytes), Flaw> {
        let mut reader = Reader::new(&self.rest);
        let cut_short = Flaw { offset: self.rest_at(), what: "a score is cut short" };
        let score = reader.take(cut_short.what).map_err(|_| cut_short)?;
        Ok((f64::from_le_bytes(score), reader.rest()))
    }
}

/// `u32 length of the key | key | i32 version | f64 score | member`.
pub fn encode_scored(key: &[u8], version: i32, score: f64, member: &[u8]) -> BytesMut {
    let mut bytes = encode_data_key(key, version, &score.to_le_bytes());
    bytes.put_slice(member);
    bytes
}

/// The eight bytes of a score: the value of a sorted set's member.
pub fn encode_score(score: f64) -> Bytes {
    Bytes::copy_from_slice(&score.to_le_bytes())
}

/// The inverse of [`encode_score`]. NaN is among the scores that the original has let in.
///
/// # Errors
/// Where there are not eight bytes.
pub fn decode_score(value: &Bytes) -> Result<f64, Flaw> {
    let mut reader = Reader::new(value);
    let score = f64::from_le_bytes(reader.take("a score is cut short")?);
    reader.end()?;
    Ok(score)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2023-11-14 22:13:20, the clock of the records in section 20 of the format's description.
    const NOW: i32 = 0x6553_f100;

    /// Bytes from hexadecimal digits and quoted text.
    fn bytes(text: &str) -> Bytes {
        let mut bytes = Vec::new();
        for piece in text.split(' ') {
            match piece.strip_prefix('\'') {
                Some(text) => bytes.extend_from_slice(text.as_bytes()),
                None => bytes.extend((0..piece.len() / 2).map(|at| u8::from_str_radix(&piece[2 * at..2 * at + 2], 16).unwrap())),
            }
        }
        bytes.into()
    }

    #[test]
    fn strings_are_those_of_the_format() {
        for (text, expire_at_ms, expected) in [
            ("hello world", None, "'hello 20 'world 00000000"),
            ("expires 2035", Some(2_051_222_400_000), "'expires 20 '2035 802b437a"),
            ("", None, "00000000"),
        ] {
            let encoded = encode_string(text.as_bytes(), expire_at_ms);
            assert_eq!(encoded, bytes(expected));
            let (value, timestamp) = decode_string(&encoded).unwrap();
            assert_eq!((value.as_ref(), super::expire_at_ms(timestamp)), (text.as_bytes(), expire_at_ms));
        }
        assert_eq!(decode_string(&bytes("000000")), Err(Flaw { offset: 0, what: "a timestamp is cut short" }));
    }

    #[test]
    fn a_negative_timestamp_is_long_past() {
        assert_eq!(expire_at_ms(-594_967_040), Some(0));
        assert_eq!(timestamp(Some(0)), 1, "0 would be no expiry");
    }

    #[test]
    fn meta_records_are_those_of_the_format() {
        let list = |left, right| Some(Bounds { left, right });
        let cases = [
            (Kind::Hash, 1, NOW, None, "01000000 00f15365 00000000"),
            (Kind::Hash, 1, NOW + 2, None, "01000000 02f15365 00000000"),
            (Kind::Set, 2, NOW, None, "02000000 00f15365 00000000"),
            (Kind::SortedSet, -1, NOW, None, "ffffffff 00f15365 00000000"),
            (
                Kind::List,
                5,
                NOW,
                list(FIRST_INDEX - 3, FIRST_INDEX + 3),
                "0500000000000000 00f15365 00000000 fdffffffffffff7f 0300000000000080",
            ),
            (
                Kind::List,
                6,
                NOW,
                list(FIRST_INDEX + 1, FIRST_INDEX + 8),
                "0600000000000000 00f15365 00000000 0100000000000080 0800000000000080",
            ),
        ];
        for (kind, count, version, bounds, expected) in cases {
            let record = MetaRecord { count, version, timestamp: 0, bounds };
            assert_eq!(record.encode(), bytes(expected));
            assert_eq!(MetaRecord::decode(kind, &bytes(expected)), Ok(record));
            if let Some(meta) = record.meta(kind).filter(|_| count > 0) {
                assert_eq!(MetaRecord::of(&meta.collection().unwrap(), None), record);
            }
        }
    }

    #[test]
    fn what_removed_keys_leave_is_that_of_the_format() {
        let removed = |kind, old| MetaRecord::removed(kind, old, NOW).unwrap().encode();
        assert_eq!(removed(Kind::Hash, NOW), bytes("00000000 01f15365 00000000"));
        assert_eq!(removed(Kind::Hash, NOW - 9), bytes("00000000 00f15365 00000000"));
        let list = "0000000000000000 01f15365 00000000 ffffffffffffff7f 0000000000000080";
        assert_eq!(removed(Kind::List, NOW), bytes(list));
        assert_eq!(MetaRecord::removed(Kind::Hash, i32::MAX, NOW), None);
        assert_eq!(MetaRecord::decode(Kind::List, &bytes(list)).unwrap().meta(Kind::List), None);
    }

    #[test]
    fn data_records_are_those_of_the_format() {
        let key = encode_data_key(b"hash:one", NOW, b"f").freeze();
        assert_eq!(key, bytes("08000000 'hash:one 00f15365 'f"));
        assert_eq!(DataKey::decode(&key), Ok(DataKey { key: bytes("'hash:one"), version: NOW, rest: bytes("'f") }));
        let element = encode_data_key(b"list:both", NOW, &(FIRST_INDEX - 2).to_le_bytes()).freeze();
        assert_eq!(element, bytes("09000000 'list:both 00f15365 feffffffffffff7f"));
        assert_eq!(DataKey::decode(&element).unwrap().index(), Ok(FIRST_INDEX - 2));
        let scored = encode_scored(b"zset:negzero", NOW, -0.0, b"neg").freeze();
        assert_eq!(scored, bytes("0c000000 'zset:negzero 00f15365 0000000000000080 'neg"));
        let (score, member) = DataKey::decode(&scored).unwrap().scored().unwrap();
        assert!(score == 0.0 && score.is_sign_negative() && member == "neg");
        assert_eq!(encode_score(7.0), bytes("0000000000001c40"));
        assert_eq!(decode_score(&bytes("0000000000001c40")), Ok(7.0));
    }

    #[test]
    fn the_empty_key_and_empty_names_have_records_like_all_others() {
        let key = encode_data_key(b"", 1, b"").freeze();
        assert_eq!(key, bytes("00000000 01000000"));
        assert_eq!(DataKey::decode(&key), Ok(DataKey { key: Bytes::new(), version: 1, rest: Bytes::new() }));
    }

    #[test]
    fn bytes_of_another_form_are_refused() {
        let refused = |kind, text| MetaRecord::decode(kind, &bytes(text)).unwrap_err();
        assert_eq!(refused(Kind::Hash, "010000"), Flaw { offset: 0, what: "a count is cut short" });
        assert_eq!(refused(Kind::Set, "01000000 00f153"), Flaw { offset: 4, what: "a version is cut short" });
        assert_eq!(refused(Kind::Set, "01000000 00f15365 00"), Flaw { offset: 8, what: "a timestamp is cut short" });
        assert_eq!(refused(Kind::SortedSet, "01000000 00f15365 00000000 00"), Flaw { offset: 12, what: "trailing bytes" });
        let list = "0500000000000000 00f15365 00000000 fdffffffffffff7f 0300000000000080";
        assert_eq!(refused(Kind::List, &list[..list.len() - 2]), Flaw { offset: 24, what: "a right bound is cut short" });
        assert_eq!(refused(Kind::List, &list.replacen('5', "4", 1)).what, "a list's count is not that of its bounds");
        let key_refused = |text| DataKey::decode(&bytes(text)).unwrap_err();
        assert_eq!(key_refused("080000"), Flaw { offset: 0, what: "a key's length is cut short" });
        assert_eq!(key_refused("09000000 'hash:one"), Flaw { offset: 4, what: "a key is cut short" });
        assert_eq!(key_refused("08000000 'hash:one 00f1"), Flaw { offset: 12, what: "a version is cut short" });
        let key = DataKey { key: bytes("'k"), version: NOW, rest: bytes("00") };
        assert_eq!(key.index(), Err(Flaw { offset: 9, what: "an index is not eight bytes" }));
        assert_eq!(key.scored(), Err(Flaw { offset: 9, what: "a score is cut short" }));
        assert_eq!(decode_score(&bytes("00000000000000f03f")), Err(Flaw { offset: 8, what: "trailing bytes" }));
    }

    #[test]
    fn versions_follow_the_clock_unless_they_are_ahead_of_it() {
        assert_eq!(next_version(NOW - 1, NOW), Some(NOW));
        assert_eq!(next_version(NOW, NOW), Some(NOW + 1));
        assert_eq!(next_version(NOW + 5, NOW), Some(NOW + 6));
        assert_eq!(next_version(-1, NOW), Some(NOW));
        assert_eq!(next_version(i32::MAX, NOW), None);
    }

    #[test]
    fn bounds_may_wrap_around() {
        let bounds = Bounds { left: u64::MAX - 1, right: 2 };
        assert_eq!(bounds.count(), 3);
        assert!(bounds.contain(u64::MAX) && bounds.contain(1) && !bounds.contain(2) && !bounds.contain(u64::MAX - 1));
    }

    proptest! {
        #[test]
        fn any_bytes_are_decoded_or_refused(data in prop::collection::vec(any::<u8>(), 0..40)) {
            let data = Bytes::from(data);
            for kind in [Kind::Hash, Kind::List] {
                if let Ok(record) = MetaRecord::decode(kind, &data) {
                    prop_assert_eq!(record.encode(), data.clone());
                    record.meta(kind);
                }
            }
            if let Ok(key) = DataKey::decode(&data) {
                prop_assert_eq!(encode_data_key(&key.key, key.version, &key.rest), data);
            }
        }
    }
}
