//! The rows of the layout taken apart, field by field as its description has them, and where those of a key are.

use super::records::{self, KeyMeta, SLOT_PREFIX_BYTES, Tag};
use super::{Camellia, keyspace, redis};
use crate::layout::anatomy::{Anatomy, Walk, shown};
use crate::layout::{KeyAt, Kind, Meta, RecordRange};
use crate::store::{KeyRange, prefix_end};

impl Camellia {
    /// The ranges that hold the rows of a user key, of all key versions: see [`crate::layout::Layout::records_of`]. Those in the redis are
    /// of the key's own version alone: there the versions are digits, behind a length.
    pub(super) fn records_of_key(&self, at: &KeyAt, metas: &[Meta]) -> Vec<RecordRange> {
        let mut ranges = vec![(self.kv, KeyRange::only(&self.rows.meta_key(&at.key)))];
        for tag in [Tag::Sub, Tag::Score, Tag::Long] {
            let start = self.rows.beginning(tag, &at.key).to_vec();
            let end = prefix_end(&start);
            ranges.push((self.kv, KeyRange { start, after_start: false, end }));
        }
        let uncounted = metas.iter().filter_map(Meta::collection).find(|set| set.kind == Kind::SortedSet && !set.is_counted);
        ranges.extend(uncounted.map(|set| self.sorted_set(at, &set).redis_rows()));
        ranges
    }

    /// Takes a row apart: see [`crate::layout::Layout::describe`].
    pub(super) fn take_apart(&self, keyspace: &str, key: &[u8], value: &[u8], kind: Option<Kind>) -> Anatomy {
        let (mut key, mut value) = (Walk::new(key), Walk::new(value));
        let note = match keyspace {
            keyspace::KV => self.kv_row(&mut key, &mut value, kind),
            keyspace::REDIS => redis_row(&mut key, &mut value),
            _ => "The layout has no keyspace of this name.",
        };
        Anatomy::new(keyspace, key, value, note)
    }

    fn kv_row(&self, key: &mut Walk<'_>, value: &mut Walk<'_>, kind: Option<Kind>) -> &'static str {
        if self.rows.has_slot_prefix {
            key.slice(SLOT_PREFIX_BYTES, "slot prefix", |_| "the MD5 of the slot, in part".to_owned());
        }
        let tag = key.left().first_chunk().and_then(|bytes| Tag::of_bytes(*bytes));
        key.slice(2, "tag", shown::text);
        if !key.left().starts_with(&self.rows.namespace) {
            return "A row of another namespace.";
        }
        key.slice(self.rows.namespace.len(), "namespace", shown::text);
        let Some(tag) = tag else { return "No row of this layout." };
        if tag == Tag::Meta {
            key.rest("key", shown::text);
            return meta(value);
        }
        let length = key.u32("key length", shown::number).unwrap_or_default();
        key.slice(usize::try_from(length).unwrap_or(usize::MAX), "key", shown::text);
        key.u64("key version", shown::time_ms);
        match tag {
            Tag::Meta | Tag::Sub => {
                key.rest("field or member", shown::text);
                value.rest(if kind == Some(Kind::SortedSet) { "score" } else { "value" }, shown::text);
                "A field of a hash, or a member: of a set without a value, of a sorted set with its score as Java writes it."
            }
            Tag::Score => {
                key.u64("score", |bits| shown::score(f64::from_bits(bits)));
                key.rest("member", shown::text);
                "Finds the place of a member. Negative scores stand behind the others, the lowest one last. The row is garbage where the \
                 member's own row says another score."
            }
            Tag::Long => {
                key.rest("index", index);
                value.rest("member", shown::text);
                "The member that the redis knows by this index."
            }
        }
    }
}

fn meta(value: &mut Walk<'_>) -> &'static str {
    let whole = KeyMeta::decode(&bytes::Bytes::copy_from_slice(value.left()));
    let encode_version = value.u8("encode version", shown::number);
    let kind = value.u8("key type", |number| match records::kind_of(number) {
        Some(kind) => format!("{number} = {}", kind.name()),
        None => format!("{number} = not known"),
    });
    value.u64("key version", shown::time_ms);
    value.number("expire time", i64::from_be_bytes, |at_ms| match u64::try_from(at_ms) {
        Ok(at_ms) => shown::time_ms(at_ms),
        Err(_) => format!("{at_ms} = none"),
    });
    match (kind.and_then(records::kind_of), encode_version) {
        (Some(Kind::String), _) => {
            value.rest("value", shown::text);
            "A string: the whole of it is here."
        }
        _ if whole.is_err() => "The row of a key.",
        (Some(_), Some(records::COUNTED)) => {
            value.number("count", i32::from_be_bytes, shown::number);
            "The key of a collection: its other rows have the same key version."
        }
        (Some(Kind::SortedSet), _) => "The key of a sorted set whose scores are in the redis, under the key version.",
        (Some(_), Some(records::UNCOUNTED)) => "The key of a collection that is not counted: its other rows have the same key version.",
        _ => "A key of a kind, or in an encode version, that is not known.",
    }
}

fn redis_row(key: &mut Walk<'_>, value: &mut Walk<'_>) -> &'static str {
    key.u8("type", |byte| char::from(byte).to_string());
    let length = key.u32("length", shown::number).unwrap_or_default();
    key.slice(usize::try_from(length).unwrap_or(usize::MAX), "redis key", shown::text);
    match key.u8("part", |byte| char::from(byte).to_string()) {
        Some(redis::MEMBER) => {
            key.rest("index", index);
            value.u64("score", |bits| shown::score(f64::from_bits(bits)));
            "The score of a member. The keyspace stands for a redis: this row and the one of the score are one ZADD."
        }
        Some(redis::SCORE) => {
            key.u64("ordered score", |ordered| shown::score(redis::score_of(ordered)));
            key.rest("index", index);
            "The place of a member: these rows stand in the order of the scores."
        }
        _ => "No row of a sorted set in the redis.",
    }
}

fn index(bytes: &[u8]) -> String {
    match records::short_member(&bytes::Bytes::copy_from_slice(bytes)) {
        Ok(Some(member)) => format!("the member {}", shown::text(&member)),
        Ok(None) => "the MD5 of a long member".to_owned(),
        Err(_) => "not known".to_owned(),
    }
}
