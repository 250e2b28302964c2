//! Camellia's key/value format: rows in plain byte order, all integers big-endian.
//!
//! A sorted set of encode-version 1 keeps its order in a redis beside the rows. Here that redis is the keyspace `camellia_redis`. Its
//! sorted sets are rows of two kinds, whose keys begin with `z`, the length of the redis key as `u32` and the redis key:
//!
//! | then | value |
//! |---|---|
//! | `m`, member | score: the bits of the `f64` |
//! | `s`, score in 8 bytes that sort as numbers do (bits; all inverted of negative numbers, the sign bit of others), member | empty |

use std::collections::{BTreeMap, BTreeSet};

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use crc::{CRC_16_XMODEM, Crc};
use md5::{Digest as _, Md5};

use super::{Contents, Record, end, expect, flag_strangers, of, take};
use crate::logical::Value;

const KV: &str = "camellia_kv";
const REDIS: &str = "camellia_redis";

/// How rows are made beyond what they say themselves.
#[derive(Clone, Debug)]
pub struct Rows {
    /// Stands in front of every user key.
    pub namespace: Bytes,
    /// Whether eight bytes that stand for the slot are in front of every row, as in HBase and `TiKV`.
    pub have_slot_prefix: bool,
}

impl Default for Rows {
    fn default() -> Self {
        Self { namespace: "ns".into(), have_slot_prefix: true }
    }
}

/// Reads the rows as they are at `now_ms`. The db is `0`. Rows of other key versions are garbage.
#[must_use]
pub fn read(records: &[Record], rows: &Rows, now_ms: i64) -> Contents {
    let mut reader = Reader { rows, now_ms, metas: Vec::new(), subs: BTreeMap::new(), contents: Contents::default() };
    flag_strangers(records, &[KV, REDIS], &mut reader.contents);
    for record in of(records, KV) {
        if reader.sort_in(record).is_none() {
            reader.contents.flaw(KV, &record.key, "not a slot, a tag, the namespace, a key and a version");
        }
    }
    let mut redis = reader.redis(records);
    for (key, value) in std::mem::take(&mut reader.metas) {
        if reader.key(&key, value, &mut redis).is_none() {
            reader.contents.flaw(KV, &key, "a value that cannot be read");
        }
    }
    for key in redis.keys() {
        reader.contents.flaw(REDIS, key, "no key has this version");
    }
    reader.contents.sorted()
}

/// The sorted sets of the redis by their keys.
type Redis = BTreeMap<Bytes, BTreeMap<Bytes, u64>>;

struct Reader<'r> {
    rows: &'r Rows,
    now_ms: i64,
    metas: Vec<(Bytes, Bytes)>,
    /// Other rows by tag, user key and key version: what is behind these, and the value.
    subs: BTreeMap<(u8, Bytes, i64), Vec<(Bytes, Bytes)>>,
    contents: Contents,
}

struct Meta {
    encode_version: u8,
    key_type: u8,
    key_version: i64,
    expire_time: i64,
    extra: Bytes,
}

impl Reader<'_> {
    fn sort_in(&mut self, record: &Record) -> Option<()> {
        let mut key = record.key.clone();
        let prefix = if self.rows.have_slot_prefix { Some(take(&mut key, 8)?) } else { None };
        let tag = key.try_get_u8().ok()?;
        expect(&mut key, b'#')?;
        if take(&mut key, self.rows.namespace.len())? != self.rows.namespace {
            return None;
        }
        let user_key = if tag == b'm' {
            self.metas.push((key.clone(), record.value.clone()));
            key
        } else {
            let len = usize::try_from(key.try_get_u32().ok()?).ok()?;
            let user_key = take(&mut key, len)?;
            let version = key.try_get_i64().ok()?;
            if !b"ski".contains(&tag) {
                return None;
            }
            self.subs.entry((tag, user_key.clone(), version)).or_default().push((key, record.value.clone()));
            user_key
        };
        if prefix.is_some_and(|prefix| prefix != slot_prefix(&user_key)[..]) {
            self.contents.flaw(KV, &user_key, "the prefix of another slot");
        }
        Some(())
    }

    /// `None` where its meta row cannot be read.
    fn key(&mut self, key: &Bytes, value: Bytes, redis: &mut Redis) -> Option<()> {
        let meta = parse_meta(value)?;
        let subs = self.take(b's', key, &meta);
        let (value, found) = match (meta.key_type, meta.encode_version) {
            (1, 0) => (Value::String(meta.extra.clone()), None),
            (2, 0 | 1) => (Value::Hash(subs.iter().cloned().collect()), Some(subs.len())),
            (5, 0 | 1) => (self.set(key, &subs), Some(subs.len())),
            (3, 0) => (self.sorted_set(key, &meta, &subs)?, Some(subs.len())),
            (3, 1) => self.sorted_set_in_redis(key, &meta, redis),
            _ => return None,
        };
        if let Some(found) = found {
            self.check_count(key, &meta, found);
        }
        if found != Some(0) {
            let is_expired = meta.expire_time >= 0 && meta.expire_time <= self.now_ms;
            self.contents.add(is_expired, "0", key, (meta.expire_time != -1).then_some(meta.expire_time), value);
        }
        Some(())
    }

    /// The rows of the meta's key version.
    fn take(&mut self, tag: u8, key: &Bytes, meta: &Meta) -> Vec<(Bytes, Bytes)> {
        self.subs.remove(&(tag, key.clone(), meta.key_version)).unwrap_or_default()
    }

    /// Encode-version 0 counts in its meta row, 1 does not; neither has an empty collection.
    fn check_count(&mut self, key: &Bytes, meta: &Meta, found: usize) {
        let mut extra = meta.extra.clone();
        let is_right = match meta.encode_version {
            0 => extra.try_get_i32().ok() == i32::try_from(found).ok() && extra.is_empty(),
            _ => extra.is_empty(),
        };
        if !is_right {
            self.contents.flaw(KV, key, format!("the meta row ends in {:x}, there are {found}", meta.extra));
        }
        if found == 0 {
            self.contents.flaw(KV, key, "an empty collection with a meta row");
        }
    }

    fn set(&mut self, key: &Bytes, subs: &[(Bytes, Bytes)]) -> Value {
        if subs.iter().any(|(_, value)| !value.is_empty()) {
            self.contents.flaw(KV, key, "a member with a value");
        }
        Value::Set(subs.iter().map(|(member, _)| member.clone()).collect())
    }

    /// The members' rows have the scores as text; the index rows are a hint, and old ones may be left.
    fn sorted_set(&mut self, key: &Bytes, meta: &Meta, subs: &[(Bytes, Bytes)]) -> Option<Value> {
        let score = |text: &Bytes| std::str::from_utf8(text).ok()?.parse::<f64>().ok().map(f64::to_bits);
        let scores: BTreeMap<Bytes, u64> = subs.iter().map(|(member, text)| Some((member.clone(), score(text)?))).collect::<Option<_>>()?;
        let mut index = Vec::new();
        for (mut member, value) in self.take(b'k', key, meta) {
            let bits = member.try_get_u64().ok()?;
            end(&value)?;
            index.push((member, bits));
        }
        self.contents.check_scores(KV, key, &scores, &index);
        Some(Value::sorted_set(scores))
    }

    /// The redis has the scores, by an index of each member: itself if it is short, else its hash, with the member in a row.
    fn sorted_set_in_redis(&mut self, key: &Bytes, meta: &Meta, redis: &mut Redis) -> (Value, Option<usize>) {
        let mut redis_key = BytesMut::from(&b"c#"[..]);
        redis_key.put_slice(&self.rows.namespace);
        redis_key.put_u8(b'{');
        redis_key.put_slice(key);
        redis_key.put_u8(b'}');
        redis_key.put_slice(meta.key_version.to_string().as_bytes());
        let indexed = redis.remove(&redis_key.freeze()).unwrap_or_default();
        let mut long = BTreeMap::new();
        for (index, member) in self.take(b'i', key, meta) {
            if index != long_index(&member) || member.len() < LONG_MEMBER {
                self.contents.flaw(KV, key, format!("{member:?} has another index"));
            }
            long.insert(index, member);
        }
        let mut members = Vec::new();
        for (index, bits) in indexed {
            let member = if index.first() == Some(&0) { Some(index.slice(1..)) } else { long.remove(&index) };
            match member {
                Some(member) => members.push((member, bits)),
                None => self.contents.flaw(KV, key, format!("no row for the index {index:x}")),
            }
        }
        for member in long.values() {
            self.contents.flaw(REDIS, key, format!("no score of {member:?}"));
        }
        let found = members.len();
        (Value::sorted_set(members), Some(found))
    }

    fn redis(&mut self, records: &[Record]) -> Redis {
        let mut scores = Redis::new();
        let mut order: BTreeMap<Bytes, Vec<(Bytes, u64)>> = BTreeMap::new();
        for record in of(records, REDIS) {
            match parse_redis_row(record) {
                Some((key, RedisRow::Member(member, bits))) => drop(scores.entry(key).or_default().insert(member, bits)),
                Some((key, RedisRow::Score(member, bits))) => order.entry(key).or_default().push((member, bits)),
                None => self.contents.flaw(REDIS, &record.key, "no row of a sorted set"),
            }
        }
        let keys: BTreeSet<Bytes> = scores.keys().chain(order.keys()).cloned().collect();
        for key in keys {
            let members = scores.entry(key.clone()).or_default();
            self.contents.check_scores(REDIS, &key, members, order.get(&key).map_or(&[], Vec::as_slice));
        }
        scores
    }
}

/// Members of so many bytes have a row of their own beside a redis.
const LONG_MEMBER: usize = 15;

fn long_index(member: &[u8]) -> Bytes {
    [&[1][..], &Md5::digest(member)].concat().into()
}

/// The first eight bytes of the MD5 of the slot in decimal digits.
fn slot_prefix(user_key: &[u8]) -> Bytes {
    let slot = Crc::<u16>::new(&CRC_16_XMODEM).checksum(hash_tag(user_key)) % 16384;
    Bytes::copy_from_slice(&Md5::digest(slot.to_string())[..8])
}

/// What the slot is made from: the part between the first brace and the next closing one, unless it is empty.
fn hash_tag(key: &[u8]) -> &[u8] {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        rest.iter().position(|byte| *byte == b'}').map(|close| &rest[..close])
    });
    tag.filter(|tag| !tag.is_empty()).unwrap_or(key)
}

/// `encode_version | key_type | key_version i64 | expire_time i64 | extra`.
fn parse_meta(mut value: Bytes) -> Option<Meta> {
    let encode_version = value.try_get_u8().ok()?;
    let key_type = value.try_get_u8().ok()?;
    let key_version = value.try_get_i64().ok()?;
    let expire_time = value.try_get_i64().ok()?;
    Some(Meta { encode_version, key_type, key_version, expire_time, extra: value })
}

enum RedisRow {
    Member(Bytes, u64),
    Score(Bytes, u64),
}

fn parse_redis_row(record: &Record) -> Option<(Bytes, RedisRow)> {
    let (mut key, mut value) = (record.key.clone(), record.value.clone());
    expect(&mut key, b'z')?;
    let len = usize::try_from(key.try_get_u32().ok()?).ok()?;
    let redis_key = take(&mut key, len)?;
    let row = match key.try_get_u8().ok()? {
        b'm' => RedisRow::Member(key, value.try_get_u64().ok()?),
        b's' => {
            let sortable = key.try_get_u64().ok()?;
            RedisRow::Score(key, from_sortable(sortable))
        }
        _ => return None,
    };
    end(&value)?;
    Some((redis_key, row))
}

const SIGN: u64 = 1 << 63;

/// Bits of a score as eight bytes that sort as numbers do.
pub(crate) const fn to_sortable(bits: u64) -> u64 {
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

const fn from_sortable(sortable: u64) -> u64 {
    if sortable & SIGN == 0 { !sortable } else { sortable ^ SIGN }
}

/// The rows that stand for `ZADD redis_key score member` in the redis.
pub(crate) fn redis_rows(redis_key: &[u8], score: f64, member: &[u8]) -> [Record; 2] {
    let mut prefix = BytesMut::from(&b"z"[..]);
    prefix.put_u32(u32::try_from(redis_key.len()).expect("keys of fixtures are short"));
    prefix.put_slice(redis_key);
    let row = |parts: [&[u8]; 3], value: &[u8]| Record {
        keyspace: REDIS.into(),
        key: parts.concat().into(),
        value: Bytes::copy_from_slice(value),
    };
    let bits = score.to_bits();
    [row([&prefix, b"m", member], &bits.to_be_bytes()), row([&[&prefix[..], b"s"].concat(), &to_sortable(bits).to_be_bytes(), member], b"")]
}

/// A row of the key/value side as HBase and `TiKV` have it: behind the prefix of its slot.
pub(crate) fn prefixed_row(slot: &str, key: &[u8], value: Bytes) -> Record {
    Record { keyspace: KV.into(), key: [&Md5::digest(slot)[..8], key].concat().into(), value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_that_of_redis_cluster() {
        // The slots of the format's worked examples; `{}x` has no tag.
        for (key, slot) in [("str:plain", 12053), ("hash:v0", 898), ("{tag}h", 8338), ("{tag}s", 8338), ("{}x", 10595)] {
            assert_eq!(slot_prefix(key.as_bytes()), Md5::digest(slot.to_string())[..8], "{key}");
        }
    }

    #[test]
    fn sortable_scores_sort_and_return() {
        let scores = [f64::NEG_INFINITY, -2.5, -0.0, 0.0, 1e-300, 7.0, f64::INFINITY].map(f64::to_bits);
        assert!(scores.map(to_sortable).is_sorted());
        assert_eq!(scores.map(to_sortable).map(from_sortable), scores);
    }
}
