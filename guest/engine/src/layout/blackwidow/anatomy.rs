//! The records of the layout taken apart, field by field as its description has them, and where those of a key are.

use super::records::FIRST_INDEX;
use super::{Blackwidow, ROLES, Role, keyspace};
use crate::layout::anatomy::{Anatomy, Walk, shown};
use crate::layout::{KeyAt, Kind, Meta, RecordRange};
use crate::store::{KeyRange, prefix_end};

impl Blackwidow {
    /// The ranges that hold the records of a user key, those of living values first: see [`crate::layout::Layout::records_of`].
    pub(super) fn records_of_key(&self, at: &KeyAt, metas: &[Meta]) -> Vec<RecordRange> {
        let mut ranges = ROLES.map(|role| {
            let (kind, range) = match role {
                Role::Strings => (Kind::String, KeyRange::only(&at.key)),
                Role::Metas(kind) => (kind, KeyRange::only(&at.key)),
                Role::Data(kind) => (kind, all_versions(&at.key, kind)),
                Role::Scores => (Kind::SortedSet, all_versions(&at.key, Kind::SortedSet)),
            };
            (kind, (self.keyspace(role), range))
        });
        ranges.sort_by_key(|(kind, _)| !metas.iter().any(|meta| meta.kind() == *kind));
        ranges.into_iter().map(|(_, range)| range).collect()
    }
}

/// The records of a kind's collections that were ever made under a key.
fn all_versions(key: &[u8], kind: Kind) -> KeyRange {
    let beginning = |key: &[u8]| [&u32::try_from(key.len()).unwrap_or(u32::MAX).to_le_bytes(), key].concat();
    let start = beginning(key);
    let end = match kind {
        // In the order of lists, which passes over the length, the next user key is that with a zero byte behind it.
        Kind::List => Some(beginning(&[key, &[0]].concat())),
        _ => prefix_end(&start),
    };
    KeyRange { start, after_start: false, end }
}

/// Takes a record apart: see [`crate::layout::Layout::describe`].
pub(super) fn describe(keyspace: &str, key: &[u8], value: &[u8]) -> Anatomy {
    let (mut key, mut value) = (Walk::new(key), Walk::new(value));
    let role = keyspace::ALL.iter().zip(ROLES).find(|((name, _), _)| *name == keyspace).map(|(_, role)| role);
    let note = match role {
        None => "The layout has no keyspace of this name.",
        Some(Role::Strings) => {
            key.rest("key", shown::text);
            value.before_last(4, "value", shown::text);
            value.number("timestamp", i32::from_le_bytes, timestamp);
            "A string: the whole of it is here. Bitmaps are such strings, and sketches of 131072 registers, a byte each."
        }
        Some(Role::Metas(kind)) => meta(&mut key, &mut value, kind),
        Some(role) => data(&mut key, &mut value, role),
    };
    Anatomy::new(keyspace, key, value, note)
}

fn meta(key: &mut Walk<'_>, value: &mut Walk<'_>, kind: Kind) -> &'static str {
    key.rest("key", shown::text);
    let count = match kind {
        Kind::List => value.number("count", u64::from_le_bytes, shown::number),
        _ => value.number("count", i32::from_le_bytes, shown::number).and_then(|count| u64::try_from(count).ok()),
    };
    value.number("version", i32::from_le_bytes, version);
    value.number("timestamp", i32::from_le_bytes, timestamp);
    if kind == Kind::List {
        value.number("left", u64::from_le_bytes, index);
        value.number("right", u64::from_le_bytes, index);
    }
    match (count, kind) {
        (Some(0), _) => {
            "The key was removed, or has lost its last element. The record stays so that a new collection gets another version."
        }
        (_, Kind::Hash) => "A hash: its fields are in hashes/data_cf, under the same version.",
        (_, Kind::List) => "A list: its elements are in lists/data_cf, under the same version, between the indexes left and right.",
        (_, Kind::Set) => "A set: its members are in sets/member_cf, under the same version.",
        _ => "A sorted set: its members are under the same version, in zsets/data_cf by name and in zsets/score_cf by score.",
    }
}

fn data(key: &mut Walk<'_>, value: &mut Walk<'_>, role: Role) -> &'static str {
    let length = key.number("key length", u32::from_le_bytes, shown::number).unwrap_or_default();
    key.slice(usize::try_from(length).unwrap_or(usize::MAX), "key", shown::text);
    key.number("version", i32::from_le_bytes, version);
    match role {
        Role::Data(Kind::Hash) => {
            key.rest("field", shown::text);
            value.rest("value", shown::text);
            "A field of the hash. It is garbage where the meta record has another version."
        }
        Role::Data(Kind::List) => {
            key.number("index", u64::from_le_bytes, index);
            value.rest("element", shown::text);
            "An element of the list. It is garbage where the meta record has another version."
        }
        Role::Data(Kind::SortedSet) => {
            key.rest("member", shown::text);
            value.number("score", f64::from_le_bytes, score);
            "Finds the score of a member. It is garbage where the meta record has another version."
        }
        Role::Scores => {
            key.number("score", f64::from_le_bytes, score);
            key.rest("member", shown::text);
            "Finds the place of a member: these records stand in the order of the scores, which only the keyspace's own order knows."
        }
        _ => {
            key.rest("member", shown::text);
            "A member of the set. It needs no value, and is garbage where the meta record has another version."
        }
    }
}

fn timestamp(seconds: i32) -> String {
    match (seconds, u64::try_from(seconds)) {
        (0, _) => "0 = no expiry".to_owned(),
        (_, Ok(seconds)) => shown::time_s(seconds),
        (_, Err(_)) => format!("{seconds} = past at once: a time behind 2038, cut to 32 bits"),
    }
}

/// Versions are times, about.
fn version(version: i32) -> String {
    u64::try_from(version).map_or_else(|_| version.to_string(), shown::time_s)
}

fn index(index: u64) -> String {
    let distance = index.abs_diff(FIRST_INDEX);
    match distance {
        0 => "2^63".to_owned(),
        _ if index > FIRST_INDEX => format!("2^63 + {distance}"),
        _ => format!("2^63 - {distance}"),
    }
}

fn score(score: f64) -> String {
    if score.is_nan() { "not a number: no score".to_owned() } else { shown::score(score) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::anatomy::{Run, UNREADABLE};

    fn shown(runs: &[Run]) -> Vec<(&str, &str)> {
        runs.iter().map(|run| (run.field.as_ref(), run.shown.as_str())).collect()
    }

    #[test]
    fn an_element_and_its_list_are_taken_apart_as_the_description_does() {
        let key = b"\x09\0\0\0list:both\x00\xf1\x53\x65\xfe\xff\xff\xff\xff\xff\xff\x7f";
        let element = describe("lists/data_cf", key, b"l2");
        let version = ("version", "1700000000 = 2023-11-14T22:13:20Z");
        assert_eq!(shown(&element.key_runs), [("key length", "9"), ("key", "\"list:both\""), version, ("index", "2^63 - 2")]);
        assert_eq!(shown(&element.value_runs), [("element", "\"l2\"")]);
        let value = b"\x05\0\0\0\0\0\0\0\x00\xf1\x53\x65\0\0\0\0\xfd\xff\xff\xff\xff\xff\xff\x7f\x03\0\0\0\0\0\0\x80";
        let list = describe("lists/default", b"list:both", value);
        let bounds = [("left", "2^63 - 3"), ("right", "2^63 + 3")];
        assert_eq!(shown(&list.value_runs), [&[("count", "5"), version, ("timestamp", "0 = no expiry")][..], &bounds].concat());
    }

    #[test]
    fn a_score_is_shown_and_what_is_none_is_said_to_be_none() {
        let key = |score: f64| [b"\x01\0\0\0z\x01\0\0\0", &score.to_le_bytes()[..], b"m"].concat();
        let of = |score| describe("zsets/score_cf", &key(score), b"").key_runs[3].shown.clone();
        assert_eq!(of(-0.5), "-0.5");
        assert_eq!(of(f64::NAN), "not a number: no score");
    }

    #[test]
    fn what_is_cut_short_is_shown_as_far_as_it_goes() {
        let string = describe("strings/default", b"k", b"abc");
        assert_eq!(shown(&string.value_runs), [(UNREADABLE, "timestamp: cut short, 3 of 4 bytes")]);
        let field = describe("hashes/data_cf", b"\x09\0\0\0short", b"v");
        assert_eq!(shown(&field.key_runs), [("key length", "9"), (UNREADABLE, "key: cut short, 5 of 9 bytes")]);
    }
}
