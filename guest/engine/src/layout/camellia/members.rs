//! The rows of one sorted set, of either encode version: where members and scores are, and which rows count.

use super::records::{self, Rows, Tag};
use super::{double, keyspace, redis};
use crate::codec::Flaw;
use crate::error::{Error, Result};
use crate::layout::records::Record;
use crate::layout::{RecordKey, RecordRange};
use crate::store::{KeyRange, Keyspace};
use crate::transaction::Transaction;
use bytes::Bytes;

/// A sorted set under its user key.
#[derive(Clone, Debug)]
pub(super) struct SortedSet {
    pub rows: Rows,
    pub kv: Keyspace,
    pub redis: Keyspace,
    pub user_key: Bytes,
    pub version: u64,
    /// Encode version 1: scores are in the redis.
    pub is_in_redis: bool,
}

/// A member by its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scored {
    pub score: f64,
    pub member: Bytes,
}

pub(super) fn corrupt(keyspace: &'static str, key: &[u8], flaw: Flaw) -> Error {
    Error::corrupt(super::NAME, keyspace, key, flaw)
}

impl SortedSet {
    fn redis_key(&self) -> Bytes {
        redis::key(&self.rows.namespace, &self.user_key, self.version)
    }

    /// The row with a member's score.
    pub fn member_row(&self, member: &[u8]) -> RecordKey {
        if self.is_in_redis {
            return (self.redis, redis::member_key(&self.redis_key(), &records::index_of(member)));
        }
        (self.kv, self.sub_key(Tag::Sub, member))
    }

    /// The row that puts a member in its place.
    pub fn score_row(&self, score: f64, member: &[u8]) -> RecordKey {
        if self.is_in_redis {
            return (self.redis, redis::score_key(&self.redis_key(), score, &records::index_of(member)));
        }
        (self.kv, self.score_key(score, member))
    }

    /// The row that says which member a long index is of.
    pub fn long_row(&self, index: &[u8]) -> RecordKey {
        (self.kv, self.sub_key(Tag::Long, index))
    }

    pub fn sub_key(&self, tag: Tag, rest: &[u8]) -> Bytes {
        self.rows.sub_key(tag, &self.user_key, self.version, &[rest])
    }

    pub fn score_key(&self, score: f64, member: &[u8]) -> Bytes {
        self.rows.score_key(&self.user_key, self.version, score, member)
    }

    /// All rows of the redis.
    pub fn redis_rows(&self) -> RecordRange {
        (self.redis, KeyRange::prefix(&redis::prefix(&self.redis_key())))
    }

    /// The member rows of the redis, from behind a member on.
    pub fn redis_members(&self, behind: Option<&Bytes>) -> RecordRange {
        let mut range = KeyRange::prefix(&redis::members(&self.redis_key()));
        if let Some(member) = behind {
            (range.start, range.after_start) = (self.member_row(member).1.to_vec(), true);
        }
        (self.redis, range)
    }

    /// The score rows of the redis.
    pub fn redis_scores(&self) -> KeyRange {
        KeyRange::prefix(&redis::scores(&self.redis_key()))
    }

    /// The value of a member's row.
    pub fn encode_score(&self, score: f64) -> Bytes {
        if self.is_in_redis { redis::encode_score(score) } else { double::format(score).into() }
    }

    /// What score rows say, in their order; rows that are left from earlier scores of their members are passed over.
    pub fn read_scores(&self, transaction: &mut Transaction<'_>, rows: Vec<Bytes>) -> Result<Vec<Scored>> {
        if self.is_in_redis {
            let places = rows.into_iter().map(|row| self.decode_place(&row)).collect::<Result<Vec<_>>>()?;
            let members = self.resolve(transaction, places.iter().map(|(_, index)| index))?;
            return Ok(places.into_iter().zip(members).map(|((score, _), member)| Scored { score, member }).collect());
        }
        let scored = rows.into_iter().map(|row| self.decode_scored(&row)).collect::<Result<Vec<_>>>()?;
        let own: Vec<RecordKey> = scored.iter().map(|scored| self.member_row(&scored.member)).collect();
        let values = transaction.get_many(&own)?;
        let mut living = Vec::with_capacity(scored.len());
        for ((scored, (_, key)), value) in scored.into_iter().zip(own).zip(values) {
            let Some(value) = value else { continue };
            if decode_score(self.is_in_redis, &key, &value)?.to_bits() == scored.score.to_bits() {
                living.push(scored);
            }
        }
        Ok(living)
    }

    /// What member rows of the redis say: records as those of encode version 0 are, but with the score in its eight bytes.
    pub fn read_members(&self, transaction: &mut Transaction<'_>, rows: Vec<(Bytes, Bytes)>) -> Result<Vec<Record>> {
        let index = |row: &Bytes| match redis::decode(row) {
            Ok((_, redis::Place::Member(index))) => Ok(index),
            Ok(_) => Err(corrupt(keyspace::REDIS, row, Flaw { offset: 0, what: "not a member's row" })),
            Err(flaw) => Err(corrupt(keyspace::REDIS, row, flaw)),
        };
        let indexes = rows.iter().map(|(row, _)| index(row)).collect::<Result<Vec<_>>>()?;
        let members = self.resolve(transaction, indexes.iter())?;
        let record =
            |(member, (_, value)): (Bytes, (Bytes, Bytes))| Record { keyspace: self.kv, key: self.sub_key(Tag::Sub, &member), value };
        Ok(members.into_iter().zip(rows).map(record).collect())
    }

    fn decode_place(&self, row: &Bytes) -> Result<(f64, Bytes)> {
        match redis::decode(row) {
            Ok((_, redis::Place::Score(score, index))) => Ok((score, index)),
            Ok(_) => Err(corrupt(keyspace::REDIS, row, Flaw { offset: 0, what: "not a score's row" })),
            Err(flaw) => Err(corrupt(keyspace::REDIS, row, flaw)),
        }
    }

    /// The members of indexes. Long ones are read together.
    fn resolve<'i>(&self, transaction: &mut Transaction<'_>, indexes: impl Iterator<Item = &'i Bytes>) -> Result<Vec<Bytes>> {
        let mut members = Vec::new();
        let mut long = Vec::new();
        for index in indexes {
            let short = records::short_member(index).map_err(|flaw| corrupt(keyspace::REDIS, index, flaw))?;
            if short.is_none() {
                long.push(self.long_row(index));
            }
            members.push(short);
        }
        let mut found = transaction.get_many(&long)?.into_iter().zip(long);
        let mut read = || match found.next() {
            Some((Some(member), _)) => Ok(member),
            missing => {
                let key = missing.map(|(_, (_, key))| key).unwrap_or_default();
                Err(corrupt(keyspace::KV, &key, Flaw { offset: 0, what: "a missing record" }))
            }
        };
        members.into_iter().map(|member| member.map_or_else(&mut read, Ok)).collect()
    }

    /// The score and the member of a score row as encode version 0 has it: also what walks yield of the other one.
    pub fn decode_scored(&self, row: &Bytes) -> Result<Scored> {
        decode_scored(&self.rows, row)
    }
}

/// See [`SortedSet::decode_scored`].
pub(super) fn decode_scored(rows: &Rows, row: &Bytes) -> Result<Scored> {
    let decoded = rows.decode(row).and_then(|decoded| match decoded {
        Some(decoded) if decoded.tag == Tag::Score => records::decode_score(&decoded.rest),
        _ => Err(Flaw { offset: 0, what: "not a score's row" }),
    });
    let (score, member) = decoded.map_err(|flaw| corrupt(keyspace::KV, row, flaw))?;
    Ok(Scored { score, member })
}

/// The score in a member's row.
pub(super) fn decode_score(is_in_redis: bool, key: &[u8], value: &Bytes) -> Result<f64> {
    if is_in_redis {
        return redis::decode_score(value).map_err(|flaw| corrupt(keyspace::REDIS, key, flaw));
    }
    let score = double::parse(value).filter(|score| !score.is_nan());
    score.ok_or_else(|| corrupt(keyspace::KV, key, Flaw { offset: 0, what: "not the text of a score" }))
}
