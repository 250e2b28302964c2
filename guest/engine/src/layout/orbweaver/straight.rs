//! The records of what goes straight, in this layout: sections 3 to 6 of `docs/format.md`.

use super::Orbweaver;
use super::records::{self, EXPIRES, RANKED};
use crate::layout::ranks::MAX_LEVELS;
use crate::layout::straight::{Head, StraightRecords, Under, Value};
use crate::layout::{Kind, ordered_score};
use crate::store::Keyspace;
use bytes::BufMut;

impl StraightRecords for Orbweaver {
    fn heads(&self) -> Keyspace {
        self.meta
    }

    fn parts(&self) -> Keyspace {
        self.data
    }

    fn scores(&self) -> Keyspace {
        self.score
    }

    fn makes_collections(&self) -> bool {
        self.max_packed_bytes == 0
    }

    fn read_head<'r>(&self, record: &'r [u8]) -> Option<(Option<u64>, Under<'r>)> {
        read_head(record)
    }

    fn empty(&self, kind: Kind, version: u64) -> Head {
        Head { kind, has_tree: false, version, count: 0, first: records::FIRST_INDEX }
    }

    fn write_string(&self, record: &mut Vec<u8>, expire_at_ms: Option<u64>, value: &[u8]) {
        records::write_string(record, expire_at_ms, value);
    }

    fn write_collection(&self, record: &mut Vec<u8>, expire_at_ms: Option<u64>, head: Head) {
        let Head { kind, version, count, first, .. } = head;
        records::write_front(record, kind, if expire_at_ms.is_some() { EXPIRES } else { 0 }, expire_at_ms);
        record.put_u64(version);
        if kind == Kind::List {
            record.put_u64(first);
            record.put_u64(first.wrapping_add(count));
        } else {
            record.put_u64(count);
        }
    }

    fn prefix(&self, version: u64) -> [u8; 8] {
        version.to_be_bytes()
    }

    fn index(&self, index: u64) -> [u8; 8] {
        index.to_be_bytes()
    }

    fn ordered(&self, score: f64) -> [u8; 8] {
        ordered_score::encode(score).to_be_bytes()
    }

    fn read_part<'r>(&self, kind: Kind, record: &'r [u8]) -> Option<Value<'r>> {
        match (kind, record) {
            (Kind::Hash, [0, value @ ..]) => Some(Value::Bytes(value)),
            (Kind::Set, []) => Some(Value::Bytes(&[])),
            (Kind::SortedSet, score) => records::decode_score(score).ok().map(Value::Score),
            _ => None,
        }
    }

    fn write_part(&self, kind: Kind, record: &mut Vec<u8>, value: Value<'_>) {
        match value {
            Value::Score(score) => record.put_u64(score.to_bits()),
            value => {
                if kind == Kind::Hash {
                    record.push(0);
                }
                record.extend_from_slice(value.bytes(&mut itoa::Buffer::new()));
            }
        }
    }

    fn write_score(&self, record: &mut Vec<u8>, score: f64) {
        record.extend_from_slice(records::score_record(score));
    }
}

/// What [`records::decode_meta`] reads, of heads that are not packed, and of hashes none of whose fields expires.
fn read_head(record: &[u8]) -> Option<(Option<u64>, Under<'_>)> {
    let ([kind, flags], rest) = record.split_first_chunk()?;
    let kind = records::kind_of(*kind)?;
    let known = if kind == Kind::SortedSet { EXPIRES | RANKED } else { EXPIRES };
    if flags & !known != 0 {
        return None;
    }
    let (expire_at_ms, rest) = if flags & EXPIRES == 0 { (None, rest) } else { take_u64(rest).map(|(at, rest)| (Some(at), rest))? };
    if kind == Kind::String {
        return Some((expire_at_ms, Under::String(rest)));
    }
    let has_tree = flags & RANKED != 0;
    let rest = match rest {
        [levels, rest @ ..] if has_tree => Some(rest).filter(|_| (1..=MAX_LEVELS).contains(levels))?,
        rest => rest,
    };
    let (version, rest) = take_u64(rest)?;
    let (first, rest) = if kind == Kind::List { take_u64(rest)? } else { (0, rest) };
    let (end, rest) = take_u64(rest)?;
    let head = Head { kind, has_tree, version, count: end.checked_sub(first)?, first };
    rest.is_empty().then_some((expire_at_ms, Under::Collection(head)))
}

fn take_u64(bytes: &[u8]) -> Option<(u64, &[u8])> {
    bytes.split_first_chunk().map(|(number, rest)| (u64::from_be_bytes(*number), rest))
}
