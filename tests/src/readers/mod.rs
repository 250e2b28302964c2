//! Plain readers of the foreign layouts: raw records in, logical contents and flaws out.
//!
//! Each is written from the format's description alone and shares nothing with the engine, so that it is a second opinion on what
//! the engine writes. They hold all records in memory and go for clarity.

pub mod ardb;
pub mod blackwidow;
pub mod camellia;
pub mod nemo;

use std::collections::BTreeMap;
use std::fmt;

use bytes::{Buf as _, Bytes};

use crate::logical::{self, Entry, Value};

/// The layouts that there are readers of.
pub const LAYOUTS: [&str; 4] = ["blackwidow", "nemo", "ardb", "camellia"];

/// A record as a store holds it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Record {
    /// Blackwidow, Nemo: `DIRECTORY/COLUMN-FAMILY`; Ardb: the namespace; Camellia: `camellia_kv` or `camellia_redis`.
    pub keyspace: String,
    /// The whole key.
    pub key: Bytes,
    /// The whole value.
    pub value: Bytes,
}

/// A contradiction between records and the description of their format.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flaw {
    /// Where it is.
    pub keyspace: String,
    /// The user key; the record's key where the user key is not to be found.
    pub key: Bytes,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}: {}", self.keyspace, self.key, self.what)
    }
}

/// What a reader finds. Garbage that the format leaves for a compaction is neither an entry nor a flaw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Visible at the reference time, sorted as by [`logical::sort`].
    pub live: Vec<Entry>,
    /// Stored, but expired at the reference time; sorted likewise.
    pub expired: Vec<Entry>,
    /// In the order of their finding.
    pub flaws: Vec<Flaw>,
}

impl Contents {
    fn flaw(&mut self, keyspace: &str, key: &Bytes, what: impl Into<String>) {
        self.flaws.push(Flaw { keyspace: keyspace.into(), key: key.clone(), what: what.into() });
    }

    fn add(&mut self, is_expired: bool, db: &str, key: &Bytes, expire_at_ms: Option<i64>, value: Value) {
        let entries = if is_expired { &mut self.expired } else { &mut self.live };
        entries.push(Entry { db: db.into(), key: key.clone(), expire_at_ms, value });
    }

    /// The flaws of the scores, as bits, in a member's record and in the index.
    fn check_scores(&mut self, keyspace: &str, key: &Bytes, scores: &BTreeMap<Bytes, u64>, index: &[(Bytes, u64)]) {
        for what in compare_index(scores, index) {
            self.flaw(keyspace, key, what);
        }
        if scores.values().any(|bits| f64::from_bits(*bits).is_nan()) {
            self.flaw(keyspace, key, "a score that is no number");
        }
    }

    fn sorted(mut self) -> Self {
        logical::sort(&mut self.live);
        logical::sort(&mut self.expired);
        self
    }
}

/// Reads the records of `layout`, one of [`LAYOUTS`], as they are at `now_ms`. Camellia's have the namespace
/// `ns` and slot prefixes, as in the fixture; [`camellia::read`] takes others.
///
/// # Panics
/// When there is no such layout.
#[must_use]
pub fn read(layout: &str, records: &[Record], now_ms: i64) -> Contents {
    match layout {
        "blackwidow" => blackwidow::read(records, now_ms),
        "nemo" => nemo::read(records, now_ms),
        "ardb" => ardb::read(records, now_ms),
        "camellia" => camellia::read(records, &camellia::Rows::default(), now_ms),
        _ => panic!("no layout {layout}"),
    }
}

/// The records of a keyspace.
fn of<'r>(records: &'r [Record], keyspace: &str) -> impl Iterator<Item = &'r Record> {
    records.iter().filter(move |record| record.keyspace == keyspace)
}

/// A flaw for each record in a keyspace that the layout does not have.
fn flag_strangers(records: &[Record], keyspaces: &[&str], contents: &mut Contents) {
    for record in records.iter().filter(|record| !keyspaces.contains(&record.keyspace.as_str())) {
        contents.flaw(&record.keyspace, &record.key, "no such keyspace");
    }
}

/// Takes `len` bytes off the front.
fn take(bytes: &mut Bytes, len: usize) -> Option<Bytes> {
    (len <= bytes.len()).then(|| bytes.split_to(len))
}

/// Takes a byte that must be `expected`.
fn expect(bytes: &mut Bytes, expected: u8) -> Option<()> {
    (bytes.try_get_u8().ok()? == expected).then_some(())
}

/// What is left must be nothing.
fn end(bytes: &Bytes) -> Option<()> {
    bytes.is_empty().then_some(())
}

/// Members, and the index that must say the same of them: the flaws are what only one of both has.
fn compare_index<T: PartialEq + fmt::Debug>(members: &BTreeMap<Bytes, T>, index: &[(Bytes, T)]) -> Vec<String> {
    let without_member = index.iter().filter(|(member, place)| members.get(member) != Some(place));
    let without_place = members.iter().filter(|(member, place)| !index.iter().any(|(other, at)| (other, at) == (member, place)));
    let one = without_member.map(|(member, place)| format!("score record {place:x?} of {member:?} without its member"));
    one.chain(without_place.map(|(member, place)| format!("member {member:?} without its score record {place:x?}"))).collect()
}
