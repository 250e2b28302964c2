//! The sorted sets of the redis that Camellia needs for those of encode version 1, as rows of the keyspace `camellia_redis`:
//! `z | length u32 | redis key | m | index` -> the score's bits, and `z | length u32 | redis key | s | ordered score u64 | index` -> nothing.

use crate::codec::{Flaw, Reader};
use bytes::{BufMut, Bytes, BytesMut};

const SORTED_SET: u8 = b'z';
/// The part of a sorted set that member rows are.
pub const MEMBER: u8 = b'm';
/// The part that score rows are.
pub const SCORE: u8 = b's';

/// The sign bit of a double.
const SIGN: u64 = 1 << 63;

/// The number by which a score's rows are ordered: -0 comes before 0.
pub const fn ordered(score: f64) -> u64 {
    let bits = score.to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// The inverse of [`ordered`].
pub const fn score_of(ordered: u64) -> f64 {
    f64::from_bits(if ordered & SIGN == 0 { !ordered } else { ordered & !SIGN })
}

/// The redis key of a sorted set: `c# | namespace | { | user key | } | key version in decimal digits`.
pub fn key(namespace: &[u8], user_key: &[u8], version: u64) -> Bytes {
    [b"c#", namespace, b"{", user_key, b"}", itoa::Buffer::new().format(version).as_bytes()].concat().into()
}

/// The user key and the version of a redis key. `None`: it is of another namespace, or of something else.
pub fn decode_key(namespace: &[u8], redis_key: &Bytes) -> Option<(Bytes, u64)> {
    let inner = redis_key.strip_prefix(b"c#")?.strip_prefix(namespace)?.strip_prefix(b"{")?;
    let close = inner.iter().rposition(|byte| *byte == b'}')?;
    let (user_key, version) = inner.split_at_checked(close)?;
    let version = crate::number::parse_u64(version.strip_prefix(b"}")?)?;
    // There is one form of the digits.
    (key(namespace, user_key, version) == redis_key).then(|| (redis_key.slice_ref(user_key), version))
}

/// What the keys of a sorted set's rows begin with.
pub fn prefix(key: &[u8]) -> BytesMut {
    let mut row = BytesMut::with_capacity(key.len() + 32);
    row.put_u8(SORTED_SET);
    row.put_u32(u32::try_from(key.len()).unwrap_or(u32::MAX));
    row.put_slice(key);
    row
}

/// What the keys of its member rows begin with.
pub fn members(key: &[u8]) -> BytesMut {
    let mut row = prefix(key);
    row.put_u8(MEMBER);
    row
}

/// What the keys of its score rows begin with.
pub fn scores(key: &[u8]) -> BytesMut {
    let mut row = prefix(key);
    row.put_u8(SCORE);
    row
}

/// The key of a member row.
pub fn member_key(key: &[u8], index: &[u8]) -> Bytes {
    let mut row = members(key);
    row.put_slice(index);
    row.freeze()
}

/// The key of a score row.
pub fn score_key(key: &[u8], score: f64, index: &[u8]) -> Bytes {
    let mut row = scores(key);
    row.put_u64(ordered(score));
    row.put_slice(index);
    row.freeze()
}

/// What the key of a row says.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// A member row's: the index.
    Member(Bytes),
    /// A score row's: the score and the index.
    Score(f64, Bytes),
}

/// Takes the key of a row apart: the redis key, and what is behind it.
pub fn decode(row: &Bytes) -> Result<(Bytes, Place), Flaw> {
    let mut reader = Reader::new(row);
    if reader.u8("a tag is missing")? != SORTED_SET {
        return Err(Flaw { offset: 0, what: "not a row of a sorted set" });
    }
    let key = reader.bytes("a redis key is cut short")?;
    let unknown = reader.flaw("neither a member nor a score");
    match reader.u8("neither a member nor a score")? {
        MEMBER => Ok((key, Place::Member(reader.rest()))),
        SCORE => {
            let flaw = reader.flaw("a score that is not a number");
            let score = score_of(reader.u64("a score is cut short")?);
            if score.is_nan() { Err(flaw) } else { Ok((key, Place::Score(score, reader.rest()))) }
        }
        _ => Err(unknown),
    }
}

/// The value of a member row.
pub fn encode_score(score: f64) -> Bytes {
    Bytes::copy_from_slice(&score.to_bits().to_be_bytes())
}

/// The inverse of [`encode_score`].
pub fn decode_score(value: &Bytes) -> Result<f64, Flaw> {
    let mut reader = Reader::new(value);
    let score = f64::from_bits(reader.u64("a score is cut short")?);
    reader.end()?;
    if score.is_nan() { Err(Flaw { offset: 0, what: "a score that is not a number" }) } else { Ok(score) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_sorted_set_is_that_of_the_fixture() {
        let key = key(b"ns", b"zset:v1", 0x18f_d3ab_c20d);
        assert_eq!(key, "c#ns{zset:v1}1717243200013");
        assert_eq!(decode_key(b"ns", &key), Some(("zset:v1".into(), 0x18f_d3ab_c20d)));
        for other in ["c#ot{zset:v1}1", "c#ns{zset:v1}", "c#ns{zset:v1", "c#nszset:v1}1", "d#ns{k}1", "c#ns{k}-1"] {
            assert_eq!(decode_key(b"ns", &Bytes::from(other)), None, "{other}");
        }
        assert_eq!(decode_key(b"", &"c#{a}b}7".into()), Some(("a}b".into(), 7)));
    }

    #[test]
    fn rows_come_back_from_their_bytes_and_scores_are_in_order() {
        let scores = [f64::NEG_INFINITY, -2.5, -0.0, 0.0, 1e-300, 7.0, f64::INFINITY];
        assert!(scores.map(ordered).is_sorted());
        for score in scores {
            let row = score_key(b"key", score, b"\0m");
            assert_eq!(decode(&row), Ok(("key".into(), Place::Score(score, Bytes::from_static(b"\0m")))));
            assert_eq!(decode_score(&encode_score(score)), Ok(score));
        }
        assert_eq!(member_key(b"key", b"\0m"), b"z\0\0\0\x03keym\0m".as_slice());
        assert_eq!(score_key(b"key", -2.5, b"\0m"), b"z\0\0\0\x03keys\x3f\xfb\xff\xff\xff\xff\xff\xff\0m".as_slice());
        assert_eq!(decode(&member_key(b"key", b"\0m")), Ok(("key".into(), Place::Member(Bytes::from_static(b"\0m")))));
    }

    #[test]
    fn what_is_no_row_is_named() {
        for (row, what) in [
            (b"".as_slice(), "a tag is missing"),
            (b"y\0\0\0\x01km", "not a row of a sorted set"),
            (b"z\0\0\0\x02k", "a redis key is cut short"),
            (b"z\0\0\0\x01k", "neither a member nor a score"),
            (b"z\0\0\0\x01kx", "neither a member nor a score"),
            (b"z\0\0\0\x01ks\0\0\0\0\0\0\0", "a score is cut short"),
            (b"z\0\0\0\x01ks\xff\xff\0\0\0\0\0\0", "a score that is not a number"),
        ] {
            assert_eq!(decode(&Bytes::from_static(row)).unwrap_err().what, what, "{}", row.escape_ascii());
        }
        assert!(decode_score(&Bytes::from_static(b"\0")).is_err());
        assert!(decode_score(&encode_score(f64::NAN)).is_err());
    }
}
