//! The records of the layout taken apart, field by field as `docs/format.md` has them, and where those of a key are.

use super::records::{self, system_key};
use super::{Orbweaver, field_expiry, keyspace};
use crate::layout::anatomy::{Anatomy, Walk, shown};
use crate::layout::{KeyAt, Kind, Meta, RecordRange, ordered_score};
use crate::packed;
use crate::store::KeyRange;

impl Orbweaver {
    /// The ranges that hold the records of a user key: see [`crate::layout::Layout::records_of`]. What a removed collection has left cannot be
    /// found by the user key: its records know the version alone.
    pub(super) fn records_of_key(&self, at: &KeyAt, meta: Option<&Meta>) -> Vec<RecordRange> {
        let mut ranges = vec![(self.meta, KeyRange::only(at.lock_key()))];
        let Some(meta) = meta else { return ranges };
        if let Some(collection) = meta.collection() {
            if !collection.is_packed {
                ranges.extend(self.records_of_version(collection.version, collection.kind, collection.has_index()));
            }
            let notes = [records::encode_garbage_collection_key, records::encode_unfinished_key];
            ranges.extend(notes.map(|encode| (self.garbage, KeyRange::only(&encode(collection.version)))));
        }
        let of_hash = field_expiry::of_hash(Some(meta));
        ranges.extend(of_hash.map(|key| (self.field_expiry, KeyRange::only(&key))));
        let expiry = meta.expire_at_ms.map(|at_ms| records::encode_expiry_key(at_ms, at.lock_key()));
        ranges.extend(expiry.map(|key| (self.expiry, KeyRange::only(&key))));
        ranges
    }
}

/// Takes a record apart: see [`crate::layout::Layout::describe`].
pub(super) fn describe(keyspace: &str, key: &[u8], value: &[u8], kind: Option<Kind>) -> Anatomy {
    let (mut key, mut value) = (Walk::new(key), Walk::new(value));
    let note = match keyspace {
        keyspace::SYSTEM => system(&mut key, &mut value),
        keyspace::META => meta(&mut key, &mut value),
        keyspace::DATA => data(&mut key, &mut value, kind),
        keyspace::SCORE => score(&mut key, &mut value),
        keyspace::EXPIRY => expiry(&mut key),
        keyspace::GARBAGE => garbage(&mut key, &mut value),
        keyspace::FIELD_EXPIRY => field_expiry(&mut key, &mut value),
        keyspace::RANK => rank(&mut key, &mut value),
        _ => "The layout has no keyspace of this name.".to_owned(),
    };
    Anatomy::new(keyspace, key, value, note)
}

fn system(key: &mut Walk<'_>, value: &mut Walk<'_>) -> String {
    let note = match key.left() {
        system_key::FORMAT => {
            key.rest("name", shown::text);
            value.slice(records::MARKER.len(), "marker", shown::text);
            value.u32("format version", shown::number);
            "Says that this layout wrote the store. Every program reads it first."
        }
        system_key::NEXT_VERSION => {
            key.rest("name", shown::text);
            value.u64("next version", shown::number);
            "The first version that nobody has reserved. Versions are taken from here in blocks, and never given twice."
        }
        system_key::NEXT_SPACE => {
            key.rest("name", shown::text);
            value.u32("next space", shown::number);
            "The first space that was never given: FLUSHDB gives it to the db that it empties."
        }
        other if other.starts_with(system_key::DB) => {
            key.slice(system_key::DB.len(), "name", shown::text);
            key.u32("db", shown::number);
            value.u32("space", space);
            "The space of a db that has another one than at first, since a FLUSHDB or SWAPDB."
        }
        _ => "No record of this name is known.",
    };
    note.to_owned()
}

fn meta(key: &mut Walk<'_>, value: &mut Walk<'_>) -> String {
    key.u32("space", space);
    key.rest("user key", shown::text);
    let kind = value.u8("kind", kind_name).and_then(records::kind_of);
    let flags = value.u8("flags", |bits| flags(bits, META_FLAGS)).unwrap_or_default();
    if flags & records::EXPIRES != 0 {
        value.u64("expire_at_ms", shown::time_ms);
    }
    if kind == Some(Kind::Hash) && flags & records::FIELDS_EXPIRE != 0 {
        value.u64("next_ms", shown::time_ms);
        value.u64("expiring", shown::number);
    }
    if kind == Some(Kind::SortedSet) && flags & records::RANKED != 0 {
        value.u8("levels", |levels| levels.to_string());
    }
    let note = match kind {
        None => return "A user key of a kind that is not known.".to_owned(),
        Some(Kind::String) => {
            value.rest("value", shown::text);
            "A string: the whole of it is here."
        }
        Some(Kind::List) => {
            value.u64("version", shown::number);
            value.u64("head", index);
            value.u64("tail", index);
            "A list: its elements are in data under the version, from the index head up to but not including tail."
        }
        Some(kind) => {
            value.u64("version", shown::number);
            value.u64("count", shown::number);
            match kind {
                Kind::Hash => "A hash: its fields are in data, all of them under the version.",
                Kind::Set => "A set: its members are in data, all of them under the version.",
                _ => "A sorted set: its members are under the version, in data by name and in score in the order of their scores.",
            }
        }
    };
    match kind {
        Some(kind) if kind != Kind::String && flags & records::PACKED != 0 => packed_records(value, kind),
        _ => note.to_owned(),
    }
}

/// The records of a collection that is packed.
fn packed_records(value: &mut Walk<'_>, kind: Kind) -> String {
    while !value.left().is_empty()
        && let Some(length) = packed_length(value, "key length")
    {
        match kind {
            Kind::List => drop(value.u64("index", index)),
            Kind::Hash => drop(value.slice(length, "field", shown::text)),
            Kind::String | Kind::Set | Kind::SortedSet => drop(value.slice(length, "member", shown::text)),
        }
        let Some(length) = packed_length(value, "value length") else { break };
        match kind {
            Kind::SortedSet => drop(value.u64("score", |bits| exact_score(f64::from_bits(bits)))),
            Kind::Hash => {
                value.u8("flags", |bits| self::flags(bits, FIELD_FLAGS));
                value.slice(length.saturating_sub(1), "value", shown::text);
            }
            Kind::List => drop(value.slice(length, "element", shown::text)),
            // Members of sets have none.
            Kind::String | Kind::Set => {}
        }
    }
    format!("A {} that is packed: its records follow here, instead of in data (and score), their keys without the version.", kind.name())
}

fn packed_length(value: &mut Walk<'_>, field: &'static str) -> Option<usize> {
    let left = value.left();
    let read = packed::length(left);
    let bytes = left.len() - read.map_or(0, |(_, rest)| rest.len());
    value.slice(bytes, field, |_| read.map_or_else(|| "cut short".to_owned(), |(length, _)| length.to_string()))?;
    read.map(|(length, _)| length)
}

fn data(key: &mut Walk<'_>, value: &mut Walk<'_>, kind: Option<Kind>) -> String {
    let known = kind.filter(|kind| *kind != Kind::String);
    let assumed = known.or_else(|| guess(key.left(), value.left()));
    key.u64("version", shown::number);
    let note = match assumed {
        Some(Kind::Hash) => {
            key.rest("field", shown::text);
            let flags = value.u8("flags", |bits| flags(bits, FIELD_FLAGS)).unwrap_or_default();
            if flags & records::FIELD_EXPIRES != 0 {
                value.u64("expire_at_ms", shown::time_ms);
            }
            value.rest("value", shown::text);
            "A field of the hash with this version."
        }
        Some(Kind::List) => {
            key.u64("index", index);
            value.rest("element", shown::text);
            "An element of the list with this version. The first one that was pushed has the index 2^63: there is as much room before it as behind."
        }
        Some(Kind::Set) => {
            key.rest("member", shown::text);
            "A member of the set with this version. It needs no value."
        }
        Some(Kind::SortedSet) => {
            key.rest("member", shown::text);
            value.u64("score", |bits| exact_score(f64::from_bits(bits)));
            "Finds the score of a member of the sorted set with this version."
        }
        Some(Kind::String) | None => {
            key.rest("field, member or index", shown::text);
            value.rest("value", shown::text);
            "A field, member or element of the collection with this version."
        }
    };
    match known {
        Some(_) => note.to_owned(),
        None => format!("{note} (Only its key's record in meta tells the kind for certain: this is a guess from the bytes.)"),
    }
}

/// How far from the first one the indexes of lists are taken for such.
const USUAL_INDEXES: u64 = 1 << 32;

/// What a record of `data` looks like.
fn guess(key: &[u8], value: &[u8]) -> Option<Kind> {
    let index = key.get(8..).and_then(|rest| rest.try_into().ok()).map(u64::from_be_bytes);
    if index.is_some_and(|index| index.abs_diff(records::FIRST_INDEX) < USUAL_INDEXES) {
        return Some(Kind::List);
    }
    match value {
        [] => Some(Kind::Set),
        [0, 0, 0, 0, 0, 0, 0, 0] => Some(Kind::SortedSet),
        // Scores that begin with these are below 1e-290.
        [0, ..] => Some(Kind::Hash),
        [records::FIELD_EXPIRES, rest @ ..] if rest.len() >= 8 => Some(Kind::Hash),
        _ if value.len() == 8 => Some(Kind::SortedSet),
        _ => None,
    }
}

fn score(key: &mut Walk<'_>, value: &mut Walk<'_>) -> String {
    key.u64("version", shown::number);
    key.u64("ordered score", ordered_score);
    key.rest("member", shown::text);
    if !value.left().is_empty() {
        value.rest("zero", |bytes| if bytes == records::NEGATIVE_ZERO { "the score is -0" } else { "not known" }.to_owned());
    }
    "Finds the place of a member of the sorted set with this version: these records stand in the order of the scores.".to_owned()
}

fn expiry(key: &mut Walk<'_>) -> String {
    key.u64("expire_at_ms", shown::time_ms);
    key.u32("space", space);
    key.rest("user key", shown::text);
    "When a key expires. These records stand in the order of time: all that is due is at the front.".to_owned()
}

fn garbage(key: &mut Walk<'_>, value: &mut Walk<'_>) -> String {
    let note = match key.u8("kind of garbage", garbage_name) {
        Some(records::GARBAGE_COLLECTION) => {
            key.u64("version", shown::number);
            value.u8("kind", kind_name);
            value.u64("count", shown::number);
            "A collection that was removed: the sweep will delete the records of its version."
        }
        Some(records::GARBAGE_SPACE) => {
            key.u32("space", space);
            return "A space that no db stands for any more: the sweep will remove all keys in it.".to_owned();
        }
        Some(records::GARBAGE_UNFINISHED) => {
            key.u64("version", shown::number);
            value.u8("kind", kind_name);
            value.u64("renewed_at_ms", shown::time_ms);
            "A collection that is being written in several steps. It is garbage once it was not renewed for an hour."
        }
        _ => return "Garbage of a kind that is not known.".to_owned(),
    };
    if !value.left().is_empty() {
        value.u8("flags", |bits| flags(bits, GARBAGE_FLAGS));
    }
    note.to_owned()
}

fn field_expiry(key: &mut Walk<'_>, value: &mut Walk<'_>) -> String {
    let kind = |number| match number {
        field_expiry::FIELD => "1 = field that expires".to_owned(),
        field_expiry::HASH => "2 = hash with such fields".to_owned(),
        _ => format!("{number} = not known"),
    };
    let note = match key.u8("kind of record", kind) {
        Some(field_expiry::FIELD) => {
            key.u64("version", shown::number);
            key.u64("expire_at_ms", shown::time_ms);
            key.rest("field", shown::text);
            "When a field of the hash with this version expires."
        }
        Some(field_expiry::HASH) => {
            key.u64("next_ms", shown::time_ms);
            key.u64("version", shown::number);
            value.u32("space", space);
            value.rest("user key", shown::text);
            "When the next field of a hash expires, and where the hash is. The sweep finds it by its time."
        }
        _ => "A record of a kind that is not known.",
    };
    note.to_owned()
}

fn rank(key: &mut Walk<'_>, value: &mut Walk<'_>) -> String {
    key.u64("version", shown::number);
    let level = key.u8("level", |level| level.to_string()).unwrap_or_default();
    let is_first = key.left().is_empty();
    if !is_first {
        key.u64("ordered score", ordered_score);
        key.rest("member", shown::text);
    }
    value.u64("count", shown::number);
    let from = if is_first { "the first member" } else { "this member" };
    format!(
        "Counts the members of the sorted set with this version from {from} on, up to the next record of level {level}: ranks are sums of such \
         counts."
    )
}

fn kind_name(number: u8) -> String {
    format!("{number} = {}", records::kind_of(number).map_or("not known", Kind::name))
}

fn garbage_name(number: u8) -> String {
    let name = match number {
        records::GARBAGE_COLLECTION => "removed collection",
        records::GARBAGE_SPACE => "emptied space",
        records::GARBAGE_UNFINISHED => "unfinished collection",
        _ => "not known",
    };
    format!("{number} = {name}")
}

const META_FLAGS: &[(u8, &str)] =
    &[(records::EXPIRES, "expires"), (records::FIELDS_EXPIRE, "fields expire"), (records::RANKED, "ranked"), (records::PACKED, "packed")];
const FIELD_FLAGS: &[(u8, &str)] = &[(records::FIELD_EXPIRES, "expires")];
const GARBAGE_FLAGS: &[(u8, &str)] = &[(records::FIELDS_EXPIRE, "fields expire"), (records::RANKED, "ranked")];

fn flags(bits: u8, known: &[(u8, &str)]) -> String {
    let mut names: Vec<&str> = known.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name).collect();
    if bits & !known.iter().fold(0, |all, (bit, _)| all | bit) != 0 {
        names.push("not known");
    }
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn space(number: u32) -> String {
    match number.checked_sub(1) {
        Some(db) if number < super::catalog::FIRST_FREE_SPACE => format!("{number}, at first that of db {db}"),
        _ => number.to_string(),
    }
}

fn index(index: u64) -> String {
    let (sign, distance) = if index < records::FIRST_INDEX { ('-', index) } else { ('+', index) };
    match distance.abs_diff(records::FIRST_INDEX) {
        0 => "2^63".to_owned(),
        distance if distance < USUAL_INDEXES => format!("2^63 {sign} {distance}"),
        _ => index.to_string(),
    }
}

fn ordered_score(ordered: u64) -> String {
    let score = ordered_score::decode(ordered);
    if ordered_score::encode(score) == ordered { exact_score(score) } else { "not the ordered form of a score".to_owned() }
}

fn exact_score(score: f64) -> String {
    if score.is_nan() { "not a number: no score".to_owned() } else { shown::score(score) }
}
