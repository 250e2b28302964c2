//! Blackwidow, the store of Pika 3.0 to 3.5: five databases, one for each type. All integers are little-endian.

use std::collections::BTreeMap;

use bytes::{Buf as _, Bytes};

use super::{Contents, Record, end, flag_strangers, of, take};
use crate::logical::Value;

const KEYSPACES: [&str; 10] = [
    "strings/default",
    "hashes/default",
    "hashes/data_cf",
    "sets/default",
    "sets/member_cf",
    "lists/default",
    "lists/data_cf",
    "zsets/default",
    "zsets/data_cf",
    "zsets/score_cf",
];

/// Data records by user key and version: what the record's key has behind these, and its value.
type Data = BTreeMap<Bytes, BTreeMap<i32, Vec<(Bytes, Bytes)>>>;

/// Reads the records as they are at `now_ms`. The db is `0`.
#[must_use]
pub fn read(records: &[Record], now_ms: i64) -> Contents {
    let mut reader = Reader { records, now_s: now_ms.div_euclid(1000), contents: Contents::default() };
    flag_strangers(records, &KEYSPACES, &mut reader.contents);
    reader.strings();
    reader.hashes();
    reader.sets();
    reader.lists();
    reader.sorted_sets();
    reader.contents.sorted()
}

struct Reader<'r> {
    records: &'r [Record],
    now_s: i64,
    contents: Contents,
}

struct Meta {
    count: i128,
    version: i32,
    timestamp: i32,
    /// Of a list: the free slots on both sides.
    bounds: Option<(u64, u64)>,
}

impl Reader<'_> {
    fn strings(&mut self) {
        let keyspace = "strings/default";
        for record in of(self.records, keyspace) {
            let mut value = record.value.clone();
            let Some(user_len) = value.len().checked_sub(4) else {
                self.contents.flaw(keyspace, &record.key, "shorter than its timestamp");
                continue;
            };
            let user_value = value.split_to(user_len);
            self.add(&record.key, value.get_i32_le(), Value::String(user_value));
        }
    }

    fn hashes(&mut self) {
        let keyspace = "hashes/default";
        let data = self.data("hashes/data_cf");
        for (key, meta) in self.metas(keyspace, false) {
            let fields = self.live("hashes/data_cf", &data, &key, &meta);
            self.add_counted(keyspace, &key, &meta, fields.len(), Value::Hash(fields.into_iter().collect()));
        }
    }

    fn sets(&mut self) {
        let keyspace = "sets/default";
        let data = self.data("sets/member_cf");
        for (key, meta) in self.metas(keyspace, false) {
            let members = self.live("sets/member_cf", &data, &key, &meta);
            if members.iter().any(|(_, value)| !value.is_empty()) {
                self.contents.flaw("sets/member_cf", &key, "a member with a value");
            }
            let value = Value::Set(members.iter().map(|(member, _)| member.clone()).collect());
            self.add_counted(keyspace, &key, &meta, members.len(), value);
        }
    }

    fn lists(&mut self) {
        let keyspace = "lists/default";
        let data = self.data("lists/data_cf");
        for (key, meta) in self.metas(keyspace, true) {
            let mut nodes = BTreeMap::new();
            for (mut index, item) in self.live("lists/data_cf", &data, &key, &meta) {
                if index.len() == 8 {
                    nodes.insert(index.get_u64_le(), item);
                } else {
                    self.contents.flaw("lists/data_cf", &key, "an index that is not 8 bytes long");
                }
            }
            let (left, right) = meta.bounds.expect("the meta records of lists have bounds");
            let slots = right.wrapping_sub(left).wrapping_sub(1);
            if i128::from(slots) != meta.count {
                self.contents.flaw(keyspace, &key, "the count is not the room between the bounds");
            }
            // Indexes wrap: slots are counted from the left bound.
            let mut items: Vec<(u64, Bytes)> =
                nodes.into_iter().map(|(index, item)| (index.wrapping_sub(left).wrapping_sub(1), item)).collect();
            items.sort();
            if items.last().is_some_and(|(slot, _)| *slot >= slots) {
                self.contents.flaw("lists/data_cf", &key, "an item outside of the bounds");
            }
            items.retain(|(slot, _)| *slot < slots);
            let value = Value::List(items.iter().map(|(_, item)| item.clone()).collect());
            self.add_counted(keyspace, &key, &meta, items.len(), value);
        }
    }

    fn sorted_sets(&mut self) {
        let keyspace = "zsets/default";
        let data = self.data("zsets/data_cf");
        let index = self.data("zsets/score_cf");
        for (key, meta) in self.metas(keyspace, false) {
            let mut scores = BTreeMap::new();
            for (member, mut score) in self.live("zsets/data_cf", &data, &key, &meta) {
                if score.len() == 8 {
                    scores.insert(member, score.get_u64_le());
                } else {
                    self.contents.flaw("zsets/data_cf", &key, "a score that is not 8 bytes long");
                }
            }
            let mut score_records = Vec::new();
            for (mut score_and_member, value) in self.live("zsets/score_cf", &index, &key, &meta) {
                match score_and_member.try_get_u64_le() {
                    Ok(bits) if value.is_empty() => score_records.push((score_and_member, bits)),
                    _ => self.contents.flaw("zsets/score_cf", &key, "not a score and a member with an empty value"),
                }
            }
            self.contents.check_scores("zsets/score_cf", &key, &scores, &score_records);
            self.add_counted(keyspace, &key, &meta, scores.len(), Value::sorted_set(scores));
        }
    }

    fn metas(&mut self, keyspace: &str, with_bounds: bool) -> Vec<(Bytes, Meta)> {
        let mut metas = Vec::new();
        for record in of(self.records, keyspace) {
            match parse_meta(record.value.clone(), with_bounds) {
                Some(meta) => metas.push((record.key.clone(), meta)),
                None => self.contents.flaw(keyspace, &record.key, "a meta value of the wrong length"),
            }
        }
        metas
    }

    fn data(&mut self, keyspace: &str) -> Data {
        let mut data = Data::new();
        for record in of(self.records, keyspace) {
            match parse_data_key(record.key.clone()) {
                Some((key, version, rest)) => {
                    data.entry(key).or_default().entry(version).or_default().push((rest, record.value.clone()));
                }
                None => self.contents.flaw(keyspace, &record.key, "not a key length, a key and a version"),
            }
        }
        data
    }

    /// The data records of the meta's version; those of lower versions are garbage.
    fn live(&mut self, keyspace: &str, data: &Data, key: &Bytes, meta: &Meta) -> Vec<(Bytes, Bytes)> {
        let Some(versions) = data.get(key) else { return Vec::new() };
        for version in versions.keys().filter(|version| **version > meta.version) {
            // Both are written together, and versions only grow.
            self.contents.flaw(keyspace, key, format!("data of version {version}, the meta has {}", meta.version));
        }
        versions.get(&meta.version).cloned().unwrap_or_default()
    }

    fn add_counted(&mut self, keyspace: &str, key: &Bytes, meta: &Meta, found: usize, value: Value) {
        if i128::try_from(found) != Ok(meta.count) {
            self.contents.flaw(keyspace, key, format!("the count is {}, there are {found}", meta.count));
        }
        if meta.count != 0 && found > 0 {
            self.add(key, meta.timestamp, value);
        }
    }

    fn add(&mut self, key: &Bytes, timestamp: i32, value: Value) {
        let seconds = i64::from(timestamp);
        let is_stale = seconds != 0 && seconds < self.now_s;
        self.contents.add(is_stale, "0", key, (seconds != 0).then_some(seconds * 1000), value);
    }
}

/// `i32 count | i32 version | i32 timestamp`, of lists `u64 count | i32 version | i32 timestamp | u64 left | u64 right`.
fn parse_meta(mut value: Bytes, is_list: bool) -> Option<Meta> {
    let count = if is_list { i128::from(value.try_get_u64_le().ok()?) } else { i128::from(value.try_get_i32_le().ok()?) };
    let version = value.try_get_i32_le().ok()?;
    let timestamp = value.try_get_i32_le().ok()?;
    let bounds = if is_list { Some((value.try_get_u64_le().ok()?, value.try_get_u64_le().ok()?)) } else { None };
    end(&value)?;
    Some(Meta { count, version, timestamp, bounds })
}

/// `u32 keylen | key | i32 version | rest`.
fn parse_data_key(mut key: Bytes) -> Option<(Bytes, i32, Bytes)> {
    let len = usize::try_from(key.try_get_u32_le().ok()?).ok()?;
    let user_key = take(&mut key, len)?;
    let version = key.try_get_i32_le().ok()?;
    Some((user_key, version, key))
}
