//! The records of the layout taken apart, field by field as Ardb's format has them.

use super::data::{Item, take_signed, take_text};
use super::merge;
use super::records::{key_type, record};
use crate::codec::{Flaw, Reader};
use crate::layout::anatomy::{Anatomy, Walk, shown};
use bytes::Bytes;

/// Takes a record apart: see [`crate::layout::Layout::describe`].
pub fn describe(keyspace: &str, key: &[u8], value: &[u8]) -> Anatomy {
    let (mut key, mut value) = (Walk::new(key), Walk::new(value));
    let kind = describe_key(&mut key);
    let note = match (kind, value.left()) {
        (Some(record::META | record::FIELD), [merge::MERGE, ..]) => {
            merged(&mut value);
            "Merge operations: what Ardb writes instead of a value where it does not look at the old one. They are applied when the record is read."
        }
        (Some(record::META), _) => meta(&mut value),
        (Some(kind), _) => {
            sub_record(&mut value);
            note_of(kind)
        }
        (None, _) => "No record of Ardb begins like this.",
    };
    Anatomy::new(keyspace, key, value, note)
}

fn note_of(kind: u8) -> &'static str {
    match kind {
        record::FIELD => "A field of the hash with its value. Numbers come before texts, and are stored as numbers.",
        record::ELEMENT => "An element of the list. The index is an integer, or a fraction where LINSERT has put it between two others.",
        record::MEMBER => "A member of the set; there is nothing to say beside it.",
        record::SCORED => "A score of the sorted set with its member: these records are in the order of the scores.",
        record::SCORE => "A member of the sorted set with its score, to be found by the member.",
        record::STREAM_ENTRY | record::STREAM_PENDING => "A record of a stream. Streams are not served.",
        record::EXPIRY => "When a key expires, for the engines of Ardb that cannot drop it by themselves. RocksDB has none of these.",
        _ => "A record of a type that is not known.",
    }
}

fn describe_key(key: &mut Walk<'_>) -> Option<u8> {
    text(key, ["length of the user key", "user key"])?;
    let kind = key.u8("type", |kind| named(kind, type_name(kind)))?;
    let names: &[&str] = match kind {
        record::FIELD => &["field"],
        record::ELEMENT => &["index"],
        record::MEMBER | record::SCORE => &["member"],
        record::SCORED => &["score", "member"],
        record::STREAM_ENTRY => &["id"],
        record::STREAM_PENDING => &["group", "id"],
        record::EXPIRY => &["expiry", "namespace", "key"],
        _ => &[],
    };
    items(key, names);
    Some(kind)
}

fn type_name(kind: u8) -> &'static str {
    match kind {
        record::META => "meta",
        record::FIELD => "field of a hash",
        record::ELEMENT => "element of a list",
        record::MEMBER => "member of a set",
        record::SCORED => "score of a sorted set",
        record::SCORE => "member of a sorted set",
        record::STREAM_ENTRY => "entry of a stream",
        record::STREAM_PENDING => "pending entry of a stream",
        record::EXPIRY => "expiry",
        record::END => "end of a key",
        _ => "unknown",
    }
}

fn named(number: u8, name: &str) -> String {
    format!("{number} = {name}")
}

fn meta(value: &mut Walk<'_>) -> &'static str {
    let kind = value.u8("type", |kind| {
        let name = match kind {
            key_type::STRING => "string",
            key_type::HASH => "hash",
            key_type::LIST => "list",
            key_type::SET => "set",
            key_type::SORTED_SET => "sorted set",
            key_type::STREAM => "stream",
            _ => "unknown",
        };
        named(kind, name)
    });
    value.u8("format", shown::number);
    signed(value, "expiry", |at_ms| u64::try_from(at_ms).ok().filter(|at_ms| *at_ms != 0).map_or("none".to_owned(), shown::time_ms));
    if kind == Some(key_type::STRING) {
        items(value, &["value"]);
        return "A string: the whole of it is here. What looks like an integer is stored as one.";
    }
    signed(value, "size", |size| if size < 0 { format!("{size} = unknown") } else { size.to_string() });
    match kind {
        Some(key_type::LIST) => {
            value.u8("sequential", |flag| if flag == 0 { "no".to_owned() } else { "yes".to_owned() });
            items(value, &["lowest index", "highest index"]);
            "A list: its elements follow. As long as it is sequential, the indexes are integers without gaps between the bounds."
        }
        Some(key_type::SET | key_type::SORTED_SET) => {
            items(value, &["lowest member", "highest member"]);
            "A set, or a sorted set: its members follow. The bounds only widen, numbers come before texts."
        }
        Some(key_type::HASH) => {
            items(value, &[]);
            "A hash: its fields follow. Ardb knows its size while there is one field, or while HINCRBY makes them."
        }
        _ => "A key of a kind that is not served.",
    }
}

fn sub_record(value: &mut Walk<'_>) {
    value.u8("type", |kind| named(kind, type_name(kind)));
    items(value, &["value"]);
}

/// `1e ff | base | operations`, or one operation.
fn merged(value: &mut Walk<'_>) {
    if value.left().get(1) != Some(&merge::FOLDED) {
        operation(value);
        return;
    }
    value.slice(2, "merge", |_| "operations, gathered".to_owned());
    let length = value.number("length of the base", u32::from_le_bytes, shown::number);
    if let Some(length) = length.filter(|length| *length != merge::NO_BASE) {
        value.slice(usize::try_from(length).unwrap_or(usize::MAX), "base", shown::text);
    }
    while !value.left().is_empty() && value.number("length of the operation", u32::from_le_bytes, shown::number).is_some() {
        operation(value);
    }
}

fn operation(value: &mut Walk<'_>) {
    value.u8("merge", |mark| named(mark, "an operation"));
    value.number("operation", u16::from_le_bytes, shown::number);
    items(value, &["argument", "argument"]);
}

/// A count, and that many items. What has no name of its own is an item.
fn items(walk: &mut Walk<'_>, names: &[&'static str]) {
    let count = walk.u8("count", shown::number).unwrap_or_default();
    for at in 0..usize::from(count) {
        let name = names.get(at).copied().unwrap_or("item");
        if take(walk, name, Item::decode, show_item).is_none() {
            return;
        }
    }
}

fn show_item(item: &Item) -> String {
    match item {
        Item::Nil => "nil".to_owned(),
        Item::Integer(number) => format!("integer {number}"),
        Item::Float(number) => format!("float {}", shown::score(*number)),
        Item::Text(text) => shown::text(text),
    }
}

fn signed(walk: &mut Walk<'_>, name: &'static str, show: fn(i64) -> String) {
    take(walk, name, take_signed, |number| show(*number));
}

/// A length, and that many bytes.
fn text(walk: &mut Walk<'_>, [length, name]: [&'static str; 2]) -> Option<Bytes> {
    let bytes = Bytes::copy_from_slice(walk.left());
    let text = take_text(&mut Reader::new(&bytes)).ok();
    match &text {
        Some(text) => {
            let prefix = measure(&bytes, take_text)?.checked_sub(text.len())?;
            walk.slice(prefix, length, |_| shown::number(text.len()));
            walk.slice(text.len(), name, shown::text);
        }
        None => cut_short(walk, name),
    }
    text
}

/// A field of as many bytes as `decode` takes.
fn take<T>(
    walk: &mut Walk<'_>,
    name: &'static str,
    decode: fn(&mut Reader<'_>) -> Result<T, Flaw>,
    show: impl FnOnce(&T) -> String,
) -> Option<T> {
    let bytes = Bytes::copy_from_slice(walk.left());
    let mut reader = Reader::new(&bytes);
    match decode(&mut reader) {
        Ok(decoded) => {
            walk.slice(reader.offset(), name, |_| show(&decoded))?;
            Some(decoded)
        }
        Err(_) => {
            cut_short(walk, name);
            None
        }
    }
}

/// How many bytes `decode` takes.
fn measure<T>(bytes: &Bytes, decode: fn(&mut Reader<'_>) -> Result<T, Flaw>) -> Option<usize> {
    let mut reader = Reader::new(bytes);
    decode(&mut reader).ok().map(|_| reader.offset())
}

/// What is left is no whole field.
fn cut_short(walk: &mut Walk<'_>, name: &'static str) {
    walk.slice(walk.left().len().saturating_add(1), name, |_| String::new());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::anatomy::UNREADABLE;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b' ').collect();
        digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    /// The fields of the key and of the value, with what they say.
    fn fields(key: &str, value: &str) -> Vec<String> {
        let (key, value) = (hex(key), hex(value));
        let anatomy = describe("0", &key, &value);
        for (bytes, runs) in [(&key, &anatomy.key_runs), (&value, &anatomy.value_runs)] {
            let mut end = 0;
            for run in runs {
                assert_eq!(run.range.start, end, "each byte is in one field");
                end = run.range.end;
            }
            assert_eq!(end, bytes.len());
        }
        anatomy.key_runs.iter().chain(&anatomy.value_runs).map(|run| format!("{}: {}", run.field, run.shown)).collect()
    }

    #[test]
    fn the_worked_examples_are_taken_apart() {
        assert_eq!(
            fields("01 65 01 00", "02 00 80e09ecce5ee01 01 01 02"),
            [
                "length of the user key: 1",
                "user key: \"e\"",
                "type: 1 = meta",
                "count: 0",
                "type: 2 = string",
                "format: 0",
                "expiry: 4102444800000 = 2100-01-01T00:00:00.000Z",
                "count: 1",
                "value: integer 1",
            ]
        );
        assert_eq!(
            fields("01 6c 01 00", "05 00 00 06 01 02 01 03 01 00")[4..],
            [
                "type: 5 = list",
                "format: 0",
                "expiry: none",
                "size: 3",
                "sequential: yes",
                "count: 2",
                "lowest index: integer -2",
                "highest index: integer 0"
            ]
        );
        assert_eq!(
            fields("01 7a 0a 02 02 ffffffffffffff878001 04 03 6e6567", "0a 00")[2..],
            [
                "type: 10 = score of a sorted set",
                "count: 2",
                "score: float -1.5",
                "member: \"neg\"",
                "type: 10 = score of a sorted set",
                "count: 0"
            ]
        );
        assert_eq!(
            fields("01 68 04 01 04 01 66", "1eff ffffffff 07000000 1ea0000104 0176")[5..],
            [
                "merge: operations, gathered",
                "length of the base: 4294967295",
                "length of the operation: 7",
                "merge: 30 = an operation",
                "operation: 160",
                "count: 1",
                "argument: \"v\""
            ]
        );
    }

    #[test]
    fn what_cannot_be_read_is_shown_as_such() {
        for (key, value) in
            [("05 61", "00"), ("01 61 01 00", "02 00 80"), ("01 61 01 00", "02 00 00 01 04 05 61"), ("01 61 06 01 09", "06"), ("", "")]
        {
            let fields = fields(key, value);
            assert!(fields.iter().any(|field| field.starts_with(UNREADABLE)), "{key} {value}: {fields:?}");
        }
        assert!(fields("01 61 01 00", "02 00 00 01 01 00 ff").iter().any(|field| field == "unknown: \"\\xff\""));
    }
}
