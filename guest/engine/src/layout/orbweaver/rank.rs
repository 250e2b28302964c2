//! The keyspace `rank`: nodes of the trees that tell the ranks of large sorted sets. What they are for: `layout/ranks`.

use super::{Orbweaver, corrupt, keyspace, put_score_key, records};
use crate::codec::{Flaw, Reader};
use crate::error::{Error, Result};
use crate::layout::ranks::RankRecords;
use crate::layout::{Cut, RecordKey, RecordRange};
use crate::store::{KeyRange, prefix_end};
use bytes::{BufMut, Bytes, BytesMut};

/// Bytes of the version, which is what comes before the place in the key of a score record.
const VERSION_BYTES: usize = 8;
/// Bytes of the score, with which a place begins that is not empty.
const SCORE_BYTES: usize = 8;

/// `version u64 | level u8 | place`: the key of a node. A place is `ordered score u64 | member`; empty, it is before all members.
pub fn encode_key(version: u64, level: u8, place: &[u8]) -> Bytes {
    let mut key = BytesMut::with_capacity(VERSION_BYTES + 1 + place.len());
    key.put_u64(version);
    key.put_u8(level);
    key.put_slice(place);
    key.freeze()
}

/// The inverse of [`encode_key`]: version, level, place.
pub fn decode_key(key: &Bytes) -> std::result::Result<(u64, u8, Bytes), Flaw> {
    let mut reader = Reader::new(key);
    let version = reader.u64("a version is cut short")?;
    let level_at = reader.flaw("a level that no tree has");
    let level = reader.u8("a level is missing")?;
    let place_at = reader.flaw("a place is cut short");
    let place = reader.rest();
    match place.len() {
        _ if level == 0 => Err(level_at),
        1..8 => Err(place_at),
        _ => Ok((version, level, place)),
    }
}

/// `count u64`: the value of a node.
pub fn encode_count(count: u64) -> Bytes {
    Bytes::copy_from_slice(&count.to_be_bytes())
}

/// The inverse of [`encode_count`].
pub fn decode_count(value: &Bytes) -> std::result::Result<u64, Flaw> {
    let mut reader = Reader::new(value);
    let count = reader.u64("a count is cut short")?;
    reader.end()?;
    Ok(count)
}

/// What follows the version in the key of a score record.
fn place_of(mut key: Vec<u8>) -> Bytes {
    key.drain(..VERSION_BYTES.min(key.len()));
    key.into()
}

/// What is wrong with a record that is not one of a node.
#[cold]
fn flaw_of(key: &[u8], value: &[u8]) -> Error {
    let (key_flaw, count_flaw) = (decode_key(&Bytes::copy_from_slice(key)), decode_count(&Bytes::copy_from_slice(value)));
    let flaw = key_flaw.err().or(count_flaw.err()).unwrap_or(Flaw { offset: 0, what: "no node" });
    corrupt(keyspace::RANK, key, flaw)
}

impl RankRecords for Orbweaver {
    fn place(&self, score: f64, member: &[u8]) -> Bytes {
        records::encode_scored(0, score, member).0.slice(VERSION_BYTES..)
    }

    fn cut(&self, cut: &Cut) -> Option<Bytes> {
        let mut key = Vec::new();
        put_score_key(0, cut, &mut key).then(|| place_of(key))
    }

    fn level(&self, version: u64, level: u8, from: &[u8], to: Option<&[u8]>) -> RecordRange {
        let key = |place: &[u8]| {
            let mut key = Vec::with_capacity(VERSION_BYTES + 1 + place.len());
            key.extend_from_slice(&version.to_be_bytes());
            if level > 0 {
                key.push(level);
            }
            key.extend_from_slice(place);
            key
        };
        let keyspace = if level == 0 { self.score } else { self.rank };
        let end = to.map_or_else(|| prefix_end(&key(b"")), |to| Some(key(to)));
        (keyspace, KeyRange { start: key(from), after_start: false, end })
    }

    fn node(&self, version: u64, level: u8, place: &[u8]) -> RecordKey {
        (self.rank, encode_key(version, level, place))
    }

    fn encode_count(&self, count: u64) -> Bytes {
        encode_count(count)
    }

    fn decode<'k>(&self, level: u8, key: &'k [u8], value: &[u8]) -> Result<(&'k [u8], u64)> {
        if level == 0 {
            let (_, place) = records::split_sub_key(key).map_err(|flaw| corrupt(keyspace::SCORE, key, flaw))?;
            return Ok((place, 1));
        }
        // As it is found mostly: only what is not is looked at in parts.
        let place = key.get(VERSION_BYTES + 1..).filter(|place| place.is_empty() || place.len() >= SCORE_BYTES);
        match (place, value.first_chunk()) {
            (Some(place), Some(count)) if value.len() == count.len() => Ok((place, u64::from_be_bytes(*count))),
            _ => Err(flaw_of(key, value)),
        }
    }

    fn damaged(&self, (_, key): &RecordKey, what: &'static str) -> Error {
        corrupt(keyspace::RANK, key, Flaw { offset: 0, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_the_documented_bytes() {
        for (level, place, key) in [
            (1, b"".as_slice(), b"\0\0\0\0\0\0\0\x07\x01".as_slice()),
            (2, b"\xbf\xf8\0\0\0\0\0\0m", b"\0\0\0\0\0\0\0\x07\x02\xbf\xf8\0\0\0\0\0\0m"),
        ] {
            assert_eq!(encode_key(7, level, place), key);
            assert_eq!(decode_key(&Bytes::from_static(key)), Ok((7, level, Bytes::from_static(place))));
        }
        assert_eq!(encode_count(258), b"\0\0\0\0\0\0\x01\x02".as_slice());
        assert_eq!(decode_count(&encode_count(258)), Ok(258));
    }

    #[test]
    fn damaged_records_are_refused() {
        for key in [b"".as_slice(), b"\0\0\0\0\0\0\0", b"\0\0\0\0\0\0\0\x07", b"\0\0\0\0\0\0\0\x07\0", b"\0\0\0\0\0\0\0\x07\x01\xbf\xf8"] {
            assert!(decode_key(&Bytes::from_static(key)).is_err(), "{key:?}");
        }
        for value in [b"".as_slice(), b"\0\0\0\0\0\0\x01", b"\0\0\0\0\0\0\x01\x02\x03"] {
            assert!(decode_count(&Bytes::from_static(value)).is_err(), "{value:?}");
        }
    }
}
