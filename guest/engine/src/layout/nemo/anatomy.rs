//! The records of the layout taken apart, field by field as its description has them, and where those of a key are.

use super::records::{self, Tag};
use super::sweep::Part;
use super::{Nemo, keyspace};
use crate::layout::anatomy::{Anatomy, Walk, shown};
use crate::layout::{KeyAt, Kind, Layout, Meta, RecordRange};
use crate::store::KeyRange;

impl Nemo {
    /// The ranges that hold the records of a user key, dead ones too: see [`crate::layout::Layout::records_of`].
    pub(super) fn records_of_key(&self, at: &KeyAt, metas: &[Meta]) -> Vec<RecordRange> {
        let mut kinds = self.namespaces().to_vec();
        // Those that are there first.
        kinds.sort_by_key(|kind| !metas.iter().any(|meta| meta.kind() == *kind));
        let mut ranges = Vec::new();
        for kind in kinds {
            let Some(database) = self.database(kind) else {
                ranges.push((self.kv, KeyRange::only(&at.key)));
                continue;
            };
            if !records::is_user_key(&at.key) {
                continue;
            }
            let (keyspace, meta) = database.meta_record(at);
            ranges.push((keyspace, KeyRange::only(&meta)));
            let prefix = |tag: &Tag| (keyspace, KeyRange::prefix(&records::encode_prefix(*tag, &at.key)));
            ranges.extend(Tag::of_kind(kind).iter().map(prefix));
        }
        ranges
    }
}

/// Takes a record apart: see [`crate::layout::Layout::describe`].
pub(super) fn describe(keyspace: &str, key: &[u8], value: &[u8]) -> Anatomy {
    let (mut key, mut value) = (Walk::new(key), Walk::new(value));
    let kind = match keyspace {
        keyspace::KV => Some(Kind::String),
        keyspace::HASH => Some(Kind::Hash),
        keyspace::LIST => Some(Kind::List),
        keyspace::ZSET => Some(Kind::SortedSet),
        keyspace::SET => Some(Kind::Set),
        _ => None,
    };
    let note = match kind {
        None => "The layout has no keyspace of this name.",
        Some(Kind::String) => {
            key.rest("key", shown::text);
            value.before_last(records::TRAILER_BYTES, "value", shown::text);
            trailer(&mut value);
            "A string: the whole of it is here. Bitmaps are such strings, and sketches of 131072 registers, a byte each."
        }
        Some(kind) => match Part::of_key(kind, key.left()) {
            Part::Meta => meta(&mut key, &mut value, kind),
            Part::Element(part) => element(&mut key, &mut value, part),
            Part::Separator => {
                key.u8("separator", tag);
                value.slice(records::SEPARATOR_VALUE.len(), "zeros", |_| String::new());
                "Stands before all records with this tag. Nemo puts it into a new database; it says nothing."
            }
            Part::Unknown => "No record of this layout.",
        },
    };
    Anatomy::new(keyspace, key, value, note)
}

fn meta(key: &mut Walk<'_>, value: &mut Walk<'_>, kind: Kind) -> &'static str {
    key.u8("tag", tag);
    key.rest("key", shown::text);
    let count = value.number("count", i64::from_le_bytes, shown::number);
    if kind == Kind::List {
        value.number("left", i64::from_le_bytes, node);
        value.number("right", i64::from_le_bytes, node);
        value.number("next_seq", i64::from_le_bytes, shown::number);
    }
    trailer(value);
    match (count, kind) {
        (Some(0), _) => "The key was removed, or has lost its last element. The record stays: elements of lower versions are garbage.",
        (_, Kind::Hash) => "A hash: its fields are the records with the tag h whose version is not below this one.",
        (_, Kind::List) => "A list: its nodes have the tag l. They are found by following the links from left, or from right.",
        (_, Kind::Set) => "A set: its members are the records with the tag s whose version is not below this one.",
        _ => "A sorted set: its members are twice in the database, with the tag z by name and with the tag y by score.",
    }
}

fn element(key: &mut Walk<'_>, value: &mut Walk<'_>, part: Tag) -> &'static str {
    key.u8("tag", tag);
    let length = key.u8("key length", shown::number).unwrap_or_default();
    key.slice(usize::from(length), "key", shown::text);
    let note = match part {
        Tag::Field => {
            key.u8("separator", |byte| char::from(byte).to_string());
            key.rest("field", shown::text);
            value.before_last(records::TRAILER_BYTES, "value", shown::text);
            "A field of the hash. It is garbage where the meta record has a higher version."
        }
        Tag::Node => {
            key.number("seq", i64::from_le_bytes, shown::number);
            value.number("prev", i64::from_le_bytes, node);
            value.number("next", i64::from_le_bytes, node);
            value.before_last(records::TRAILER_BYTES, "element", shown::text);
            "A node of the list. It is garbage where the meta record has a higher version."
        }
        Tag::Member => {
            key.rest("member", shown::text);
            "A member of the set. It is garbage where the meta record has a higher version."
        }
        Tag::Scored => {
            key.rest("member", shown::text);
            value.number("score", f64::from_le_bytes, shown::score);
            "Finds the exact score of a member. It is garbage where the meta record has a higher version."
        }
        Tag::Slot => {
            key.u64("score", |slot| format!("{slot} = {}", shown::score(records::score_of_slot(slot))));
            key.rest("member", shown::text);
            "Finds the place of a member: these records stand in the order of the scores, of which they keep five decimals."
        }
    };
    trailer(value);
    note
}

fn trailer(value: &mut Walk<'_>) {
    value.number("version", u32::from_le_bytes, version);
    value.number("timestamp", i32::from_le_bytes, timestamp);
}

fn tag(byte: u8) -> String {
    char::from(byte).to_string()
}

fn node(number: i64) -> String {
    if number == 0 { "0 = none".to_owned() } else { number.to_string() }
}

/// Versions are times, about.
fn version(version: u32) -> String {
    if version == 0 { "0 = none".to_owned() } else { shown::time_s(version.into()) }
}

fn timestamp(seconds: i32) -> String {
    match (seconds, u64::try_from(seconds)) {
        (0, _) => "0 = no expiry".to_owned(),
        (_, Ok(seconds)) => shown::time_s(seconds),
        (_, Err(_)) => format!("{seconds} = past at once"),
    }
}
