//! Nemo, the store of Pika 2: five databases, one for each type. Integers are little-endian, except the score slots.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use bytes::{Buf as _, Bytes};

use super::{Contents, Record, compare_index, end, expect, flag_strangers, of, take};
use crate::logical::Value;

const KEYSPACES: [&str; 5] = ["kv/default", "hash/default", "list/default", "zset/default", "set/default"];

/// The scores that have a slot.
const SCORES: RangeInclusive<f64> = -1e13..=1e13;

/// Reads the records as they are at `now_ms`. The db is `0`.
#[must_use]
pub fn read(records: &[Record], now_ms: i64) -> Contents {
    let mut reader = Reader { records, now_s: now_ms.div_euclid(1000), contents: Contents::default() };
    flag_strangers(records, &KEYSPACES, &mut reader.contents);
    reader.strings();
    reader.hashes();
    reader.lists();
    reader.sorted_sets();
    reader.sets();
    reader.contents.sorted()
}

struct Reader<'r> {
    records: &'r [Record],
    now_s: i64,
    contents: Contents,
}

/// What stands before the trailer, and the trailer.
struct Payload {
    bytes: Bytes,
    version: u32,
    timestamp: i32,
}

/// Element records by user key: what the record's key has behind it, and the value.
type Elements = BTreeMap<Bytes, Vec<(Bytes, Payload)>>;

/// The order among members of a sorted set: the score in units of 1e-5.
struct Slot {
    encoded: i64,
    member: Bytes,
}

struct Node {
    prev: i64,
    next: i64,
    item: Bytes,
}

impl Reader<'_> {
    fn strings(&mut self) {
        let keyspace = "kv/default";
        for record in of(self.records, keyspace) {
            match parse_payload(&record.value) {
                Some(payload) => {
                    if payload.version != 0 {
                        self.contents.flaw(keyspace, &record.key, "a string with a version");
                    }
                    self.add(&record.key, payload.timestamp, Value::String(payload.bytes));
                }
                None => self.contents.flaw(keyspace, &record.key, "shorter than its trailer"),
            }
        }
    }

    fn hashes(&mut self) {
        let keyspace = "hash/default";
        let [metas, fields] = self.split(keyspace, [b'H', b'h'], b"h");
        let fields = self.elements(keyspace, fields);
        for (key, meta) in self.metas(keyspace, metas) {
            let mut hash = BTreeMap::new();
            for (mut field, value) in live(&fields, &key, &meta) {
                match expect(&mut field, b'=') {
                    Some(()) => drop(hash.insert(field, value)),
                    None => self.contents.flaw(keyspace, &key, "no = before the field"),
                }
            }
            self.add_counted(keyspace, &key, &meta, hash.len(), Value::Hash(hash));
        }
    }

    fn sets(&mut self) {
        let keyspace = "set/default";
        let [metas, members] = self.split(keyspace, [b'S', b's'], b"s");
        let members = self.elements(keyspace, members);
        for (key, meta) in self.metas(keyspace, metas) {
            let members = live(&members, &key, &meta);
            if members.iter().any(|(_, value)| !value.is_empty()) {
                self.contents.flaw(keyspace, &key, "a member with a value");
            }
            let value = Value::Set(members.iter().map(|(member, _)| member.clone()).collect());
            self.add_counted(keyspace, &key, &meta, members.len(), value);
        }
    }

    fn lists(&mut self) {
        let keyspace = "list/default";
        let [metas, nodes] = self.split(keyspace, [b'L', b'l'], b"l");
        let nodes = self.elements(keyspace, nodes);
        for (key, mut meta) in self.metas(keyspace, metas) {
            let Some([len, left, right, next_seq]) = numbers(meta.bytes.clone()) else {
                self.contents.flaw(keyspace, &key, "the meta is too short");
                continue;
            };
            let mut by_seq = BTreeMap::new();
            for (seq, value) in live(&nodes, &key, &meta) {
                match parse_node(seq, value) {
                    Some((seq, node)) => drop(by_seq.insert(seq, node)),
                    None => self.contents.flaw(keyspace, &key, "a node that is not a sequence number, two links and an item"),
                }
            }
            let mut items = Vec::new();
            let (mut prev, mut seq) = (0, left);
            while let Some(node) = by_seq.remove(&seq) {
                if node.prev != prev {
                    self.contents.flaw(keyspace, &key, format!("node {seq}: prev is {}, not {prev}", node.prev));
                }
                if seq >= next_seq {
                    self.contents.flaw(keyspace, &key, format!("node {seq}, but the next is {next_seq}"));
                }
                items.push(node.item);
                (prev, seq) = (seq, node.next);
            }
            if seq != 0 {
                self.contents.flaw(keyspace, &key, format!("node {seq} is missing or linked twice"));
            }
            if right != prev {
                self.contents.flaw(keyspace, &key, format!("the last node is {prev}, the meta says {right}"));
            }
            if len == 0 && next_seq != 1 {
                self.contents.flaw(keyspace, &key, "an empty list begins anew with node 1");
            }
            for seq in by_seq.keys() {
                self.contents.flaw(keyspace, &key, format!("node {seq} is not linked"));
            }
            meta.bytes.truncate(8);
            self.add_counted(keyspace, &key, &meta, items.len(), Value::List(items));
        }
    }

    fn sorted_sets(&mut self) {
        let keyspace = "zset/default";
        let [metas, members, slots] = self.split(keyspace, [b'Z', b'z', b'y'], b"yz");
        let members = self.elements(keyspace, members);
        let slots = self.elements(keyspace, slots);
        for (key, meta) in self.metas(keyspace, metas) {
            let mut scores = BTreeMap::new();
            for (member, mut score) in live(&members, &key, &meta) {
                match score.try_get_u64_le() {
                    Ok(bits) if score.is_empty() => drop(scores.insert(member, bits)),
                    _ => self.contents.flaw(keyspace, &key, "a score that is not 8 bytes long"),
                }
            }
            let mut order = Vec::new();
            for (mut slot, value) in live(&slots, &key, &meta) {
                match slot.try_get_i64() {
                    Ok(encoded) if value.is_empty() => order.push(Slot { encoded, member: slot }),
                    _ => self.contents.flaw(keyspace, &key, "not a slot and a member with an empty value"),
                }
            }
            self.compare_slots(&key, &scores, &order);
            order.sort_by(|one, other| (one.encoded, &one.member).cmp(&(other.encoded, &other.member)));
            let in_order = order.into_iter().filter_map(|slot| scores.get(&slot.member).map(|bits| (slot.member, *bits)));
            self.add_counted(keyspace, &key, &meta, scores.len(), Value::SortedSet(in_order.collect()));
        }
    }

    /// Each member has the slot of its score, and each slot its member.
    fn compare_slots(&mut self, key: &Bytes, scores: &BTreeMap<Bytes, u64>, order: &[Slot]) {
        let keyspace = "zset/default";
        let expected = scores.iter().map(|(member, bits)| (member.clone(), encode_score(f64::from_bits(*bits)))).collect();
        let order: Vec<_> = order.iter().map(|slot| (slot.member.clone(), slot.encoded)).collect();
        for what in compare_index(&expected, &order) {
            self.contents.flaw(keyspace, key, what);
        }
        if !scores.values().all(|bits| SCORES.contains(&f64::from_bits(*bits))) {
            self.contents.flaw(keyspace, key, "a score beyond 1e13");
        }
    }

    /// The records of a database by the tag in front of their keys; the separators, one-byte keys, are checked and left out.
    fn split<const N: usize>(&mut self, keyspace: &str, tags: [u8; N], separators: &[u8]) -> [Vec<(Bytes, Bytes)>; N] {
        let mut split = [const { Vec::new() }; N];
        let mut missing = separators.to_vec();
        for record in of(self.records, keyspace) {
            let mut rest = record.key.clone();
            let tag = rest.try_get_u8().ok();
            if rest.is_empty() && tag.is_some_and(|tag| separators.contains(&tag)) {
                missing.retain(|separator| Some(*separator) != tag);
                if record.value != [0; 8][..] {
                    self.contents.flaw(keyspace, &record.key, "a separator with a value other than 8 zero bytes");
                }
                continue;
            }
            match tags.iter().position(|known| Some(*known) == tag) {
                Some(at) => split[at].push((rest, record.value.clone())),
                None => self.contents.flaw(keyspace, &record.key, "no such tag"),
            }
        }
        for separator in missing {
            self.contents.flaw(keyspace, &Bytes::copy_from_slice(&[separator]), "the separator is missing");
        }
        split
    }

    /// Meta records: what is behind the tag is the user key.
    fn metas(&mut self, keyspace: &str, records: Vec<(Bytes, Bytes)>) -> Vec<(Bytes, Payload)> {
        let mut metas = Vec::new();
        for (key, value) in records {
            if !(1..=254).contains(&key.len()) {
                self.contents.flaw(keyspace, &key, "the key's length is not from 1 to 254");
            }
            match parse_payload(&value) {
                Some(meta) => metas.push((key, meta)),
                None => self.contents.flaw(keyspace, &key, "shorter than its trailer"),
            }
        }
        metas
    }

    /// Element records: behind the tag are the length of the user key, the user key and the rest.
    fn elements(&mut self, keyspace: &str, records: Vec<(Bytes, Bytes)>) -> Elements {
        let mut elements = Elements::new();
        for (mut rest, value) in records {
            let whole = rest.clone();
            let key = rest.try_get_u8().ok().and_then(|len| take(&mut rest, len.into()));
            match key.zip(parse_payload(&value)) {
                Some((key, payload)) => elements.entry(key).or_default().push((rest, payload)),
                None => self.contents.flaw(keyspace, &whole, "not a key length and a key, or shorter than the trailer"),
            }
        }
        elements
    }

    fn add_counted(&mut self, keyspace: &str, key: &Bytes, meta: &Payload, found: usize, value: Value) {
        let mut bytes = meta.bytes.clone();
        let count = bytes.try_get_i64_le().ok();
        if end(&bytes).is_none() || count != i64::try_from(found).ok() {
            self.contents.flaw(keyspace, key, format!("the count is {:x}, there are {found}", meta.bytes));
        }
        if count.is_some_and(|count| count > 0) && found > 0 {
            self.add(key, meta.timestamp, value);
        }
    }

    fn add(&mut self, key: &Bytes, timestamp: i32, value: Value) {
        let seconds = i64::from(timestamp);
        let is_dead = seconds != 0 && seconds < self.now_s;
        self.contents.add(is_dead, "0", key, (seconds != 0).then_some(seconds * 1000), value);
    }
}

/// `payload | version u32 | timestamp i32`.
fn parse_payload(value: &Bytes) -> Option<Payload> {
    let mut trailer = value.clone();
    let bytes = take(&mut trailer, value.len().checked_sub(8)?)?;
    Some(Payload { bytes, version: trailer.get_u32_le(), timestamp: trailer.get_i32_le() })
}

/// The elements of a key that are no garbage: of the meta's version or above.
fn live(elements: &Elements, key: &Bytes, meta: &Payload) -> Vec<(Bytes, Bytes)> {
    let of_key = elements.get(key).into_iter().flatten();
    of_key.filter(|(_, value)| value.version >= meta.version).map(|(rest, value)| (rest.clone(), value.bytes.clone())).collect()
}

fn numbers(mut bytes: Bytes) -> Option<[i64; 4]> {
    let mut numbers = [0; 4];
    for number in &mut numbers {
        *number = bytes.try_get_i64_le().ok()?;
    }
    end(&bytes)?;
    Some(numbers)
}

/// `seq i64` in the key, `prev i64 | next i64 | item` in the value.
fn parse_node(mut seq: Bytes, mut value: Bytes) -> Option<(i64, Node)> {
    let number = seq.try_get_i64_le().ok()?;
    end(&seq)?;
    let prev = value.try_get_i64_le().ok()?;
    let next = value.try_get_i64_le().ok()?;
    Some((number, Node { prev, next, item: value }))
}

/// The slot of a score: hundred-thousandths, rounded away from zero, above 10^18.
fn encode_score(score: f64) -> i64 {
    let half = if score >= 0.0 { 0.5 } else { -0.5 };
    ((score * 100_000.0 + half) as i64).saturating_add(1_000_000_000_000_000_000)
}
