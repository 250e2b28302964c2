//! The databases in `fixtures/`: their raw records, and what they hold by the account of those who made them.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;

use bytes::Bytes;
use flate2::read::GzDecoder;
use serde_json::Value as Json;

use crate::logical::{self, Entry, Value, base64, plain_value, scored_member};
use crate::readers::{Record, camellia};

/// All fixtures: layout and name. The name is the directory in `fixtures/LAYOUT`, of Camellia, which has none, the file of rows.
pub const ALL: [(&str, &str); 7] = [
    ("blackwidow", "a-flushed"),
    ("blackwidow", "a-wal"),
    ("blackwidow", "a-mixed"),
    ("blackwidow", "a-quirks"),
    ("nemo", "db"),
    ("ardb", "rocksdb"),
    ("camellia", "records"),
];

/// What a fixture holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The time that this is true of, in Unix milliseconds.
    pub now_ms: i64,
    /// Visible at that time, sorted as by [`logical::sort`].
    pub live: Vec<Entry>,
    /// Stored, but expired at that time.
    pub expired: Vec<Expired>,
}

/// A key that has expired; not all fixtures say more than its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expired {
    /// The namespace.
    pub db: String,
    /// The user key.
    pub key: Bytes,
    /// The type, as TYPE answers.
    pub kind: Option<String>,
    /// When, in Unix milliseconds.
    pub expire_at_ms: Option<i64>,
}

impl Expired {
    /// Whether this says so of `entry`.
    #[must_use]
    pub fn is(&self, entry: &Entry) -> bool {
        let is_kind = self.kind.as_ref().is_none_or(|kind| kind == entry.value.kind());
        let is_time = self.expire_at_ms.is_none_or(|time| entry.expire_at_ms == Some(time));
        self.db == entry.db && self.key == entry.key && is_kind && is_time
    }
}

/// What the fixture holds by its `expected.json`.
///
/// # Panics
/// When there is no such fixture, or it cannot be read.
#[must_use]
pub fn expected(layout: &str, name: &str) -> Expected {
    let (file, now_ms) = match layout {
        "blackwidow" => (format!("{name}.expected.json"), None),
        // A second after the last write, as its version says.
        "nemo" => ("expected.json".into(), Some(0x6b01_5685 * 1000)),
        // After the two keys that expired in 2023 and before those that expire in 2100.
        "ardb" => ("expected.json".into(), Some(1_800_000_000_000)),
        // The last row's key version.
        "camellia" => ("expected.json".into(), Some(0x018f_d3ab_c210)),
        _ => panic!("no layout {layout}"),
    };
    let json: Json = serde_json::from_str(&text(layout, &file)).expect("the expectation is JSON");
    let entries = json.get("live").or(json.get("keys")).and_then(Json::as_array).expect("there are live keys");
    let mut live: Vec<Entry> = entries.iter().map(|key| entry(key).unwrap_or_else(|| panic!("{key}"))).collect();
    if layout == "nemo" {
        live.push(hidden_hash());
    }
    logical::sort(&mut live);
    let reference = || json.get("reference_now").and_then(Json::as_i64).expect("a reference time") * 1000;
    let names = ["expired_on_disk", "expired_keys_present_on_disk", "expired_keys_present"];
    let expired = names.iter().find_map(|name| json.get(name)).and_then(Json::as_array).expect("there are expired keys");
    let expired = expired.iter().map(|key| expired_key(key).unwrap_or_else(|| panic!("{key}"))).collect();
    Expected { now_ms: now_ms.unwrap_or_else(reference), live, expired }
}

/// The key `dup` is a string and a hash. Nemo's expectation lists the first of them only, and names the other in its note.
fn hidden_hash() -> Entry {
    let fields = [("f".into(), "hash side".into())].into();
    Entry { db: "0".into(), key: "dup".into(), expire_at_ms: None, value: Value::Hash(fields) }
}

/// Every record of the fixture.
///
/// # Panics
/// When there is no such fixture, or it cannot be read.
#[must_use]
pub fn records(layout: &str, name: &str) -> Vec<Record> {
    match layout {
        "blackwidow" => lines(&gunzip(&bytes(layout, &format!("{name}.raw.jsonl.gz"))), json_record),
        "nemo" => lines(&text(layout, "records.hex"), |line| hex_record(line, "/default")),
        "ardb" => lines(&text(layout, "records.hex"), |line| hex_record(line, "")),
        "camellia" => {
            let mut rows = lines(&text(layout, "records.txt"), camellia_row);
            rows.extend(lines(&text(layout, "redis-storage-commands.txt"), redis_rows).into_iter().flatten());
            rows
        }
        _ => panic!("no layout {layout}"),
    }
}

fn bytes(layout: &str, file: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(layout).join(file);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn text(layout: &str, file: &str) -> String {
    String::from_utf8(bytes(layout, file)).expect("the file is text")
}

fn gunzip(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).expect("the list is gzipped text");
    text
}

fn lines<T>(text: &str, parse: impl Fn(&str) -> Option<T>) -> Vec<T> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| parse(line).unwrap_or_else(|| panic!("no record: {line}"))).collect()
}

fn json_record(line: &str) -> Option<Record> {
    let json: Json = serde_json::from_str(line).ok()?;
    let keyspace = format!("{}/{}", json.get("db")?.as_str()?, json.get("cf")?.as_str()?);
    Some(Record { keyspace, key: unhex(json.get("k")?.as_str()?)?, value: unhex(json.get("v")?.as_str()?)? })
}

/// `KEYSPACE KEY VALUE`.
fn hex_record(line: &str, suffix: &str) -> Option<Record> {
    let [keyspace, key, value] = words(line)?;
    Some(Record { keyspace: format!("{keyspace}{suffix}"), key: unhex(key)?, value: unhex(value)? })
}

/// `SLOT KEY VALUE`, the value `-` where it is empty.
fn camellia_row(line: &str) -> Option<Record> {
    let [slot, key, value] = words(line)?;
    let value = if value == "-" { Bytes::new() } else { unhex(value)? };
    Some(camellia::prefixed_row(slot, &unhex(key)?, value))
}

/// `ZADD KEY SCORE MEMBER`.
fn redis_rows(line: &str) -> Option<[Record; 2]> {
    let ["ZADD", key, score, member] = words(line)? else { return None };
    Some(camellia::redis_rows(&unhex(key)?, score.parse().ok()?, &unhex(member)?))
}

fn words<const N: usize>(line: &str) -> Option<[&str; N]> {
    line.split(' ').collect::<Vec<_>>().try_into().ok()
}

fn unhex(digits: &str) -> Option<Bytes> {
    hex::decode(digits).ok().map(Bytes::from)
}

fn entry(json: &Json) -> Option<Entry> {
    let value = match json.get("type")?.as_str()? {
        "zset" => Value::SortedSet(
            json.get("members").or(json.get("members_in_redis_order"))?.as_array()?.iter().map(scored).collect::<Option<_>>()?,
        ),
        _ => plain_value(json)?,
    };
    Some(Entry { db: db(json)?, key: base64(json.get("key")?)?, expire_at_ms: expire_at_ms(json)?, value })
}

fn expired_key(json: &Json) -> Option<Expired> {
    if json.is_string() {
        return Some(Expired { db: "0".into(), key: base64(json)?, kind: None, expire_at_ms: None });
    }
    let kind = json.get("type").and_then(Json::as_str).map(str::to_owned);
    Some(Expired { db: db(json)?, key: base64(json.get("key")?)?, kind, expire_at_ms: expire_at_ms(json)? })
}

fn db(json: &Json) -> Option<String> {
    json.get("ns").map_or(Some("0"), Json::as_str).map(str::to_owned)
}

/// Blackwidow's are seconds and 0 without; Nemo's are seconds, the others' milliseconds, both `null` without.
fn expire_at_ms(json: &Json) -> Option<Option<i64>> {
    let seconds = json.get("expire_at").or(json.get("expire_at_s"));
    Some(match seconds {
        Some(Json::Null) => None,
        Some(seconds) => Some(seconds.as_i64()?).filter(|seconds| *seconds != 0).map(|seconds| seconds * 1000),
        None => json.get("expire_at_ms").and_then(Json::as_i64),
    })
}

/// Blackwidow: member, digits, bits. Ardb: member, hexadecimal and decimal digits. Camellia: member, digits. Nemo: member and the
/// exact score, by names.
fn scored(json: &Json) -> Option<(Bytes, u64)> {
    let decimal = |score: &Json| score.as_str()?.parse::<f64>().ok().map(f64::to_bits);
    match json.as_array().map(Vec::as_slice) {
        None => Some((base64(json.get("member")?)?, decimal(json.get("zscore")?)?)),
        Some([member, score]) => Some((base64(member)?, decimal(score)?)),
        Some([member, digits, score]) if digits.as_str()?.contains("0x") => Some((base64(member)?, decimal(score)?)),
        Some(_) => scored_member(json),
    }
}
