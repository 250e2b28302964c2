//! A client of an engine with a foreign layout on a memory store, whose records it shows as the fixtures have them.
#![allow(dead_code, reason = "every test file uses a part of it")]

use crate::common::Clock;
use bytes::Bytes;
use orbweaver_engine::layout::{Layout, Swept};
use orbweaver_engine::session::{Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::{MemoryStore, Order, Scope, Store};
use orbweaver_engine::transaction::Transaction;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

pub struct Foreign {
    pub engine: Engine,
    pub now_ms: Rc<Cell<u64>>,
    store: MemoryStore,
}

impl Foreign {
    /// A client of a layout that is opened on `store`, at a time.
    pub fn on(store: &MemoryStore, now_ms: u64, layout: Box<dyn Layout>) -> Self {
        let (clock, now) = Clock::new();
        now.set(now_ms);
        let mut engine = Engine::with_layout(Box::new(store.clone()), layout, Box::new(clock), Settings::default());
        engine.connect(1, "127.0.0.1:1", None);
        Self { engine, now_ms: now, store: store.clone() }
    }

    /// As [`crate::common::Client::run`]. Bytes that are not UTF-8 are shown escaped.
    pub fn run(&mut self, line: &str) -> String {
        let input = Bytes::from(format!("{line}\r\n"));
        let outcome = self.engine.exchange(&[Delivery { connection: 1, input }]);
        let output = outcome.answers.into_iter().next().map(|answer| answer.output).unwrap_or_default();
        match String::from_utf8(output) {
            Ok(text) => text.trim_end().replace("\r\n", " "),
            Err(error) => error.as_bytes().escape_ascii().to_string(),
        }
    }

    /// The keys of a dump in byte order, each with its line.
    pub fn dump(&mut self) -> BTreeMap<(Vec<u8>, String), serde_json::Value> {
        let (mut cursor, mut dump) = (Vec::new(), Vec::new());
        loop {
            dump.extend(self.engine.dump(&mut cursor, 100).unwrap());
            if cursor.is_empty() {
                break;
            }
        }
        let lines = dump.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let parsed = lines.map(|line| serde_json::from_slice::<serde_json::Value>(line).unwrap());
        parsed.map(|line| ((bytes(&line["key"]), line["type"].as_str().unwrap().to_owned()), line)).collect()
    }

    /// What the check finds, in steps of a few records: `keyspace key: what`.
    pub fn check(&mut self) -> Vec<String> {
        let (mut cursor, mut findings) = (Vec::new(), Vec::new());
        loop {
            findings.extend(self.engine.check(&mut cursor, 7).unwrap());
            if cursor.is_empty() {
                break;
            }
        }
        findings.into_iter().map(|found| format!("{} {}: {}", found.keyspace, found.key.escape_ascii(), found.what)).collect()
    }

    /// Sweeps until there is nothing more to do, in steps of a few records.
    pub fn sweep(&mut self) -> Swept {
        let mut all = Swept::default();
        loop {
            let step = self.engine.sweep(5).unwrap();
            all.expired_keys += step.expired_keys;
            all.records += step.records;
            if !step.more {
                return all;
            }
        }
    }

    /// Every record in order: `keyspace key value`, in hex.
    pub fn records(&self) -> Vec<String> {
        let contents = self.store.contents().into_iter();
        let shown = |(keyspace, records): (String, Vec<(Bytes, Bytes)>)| {
            records.into_iter().map(move |(key, value)| shown(&keyspace, &key, &value))
        };
        let mut records: Vec<String> = contents.flat_map(shown).collect();
        records.sort();
        records
    }

    /// The records of keyspaces whose names begin so.
    pub fn records_in(&self, keyspace: &str) -> Vec<String> {
        self.records().into_iter().filter(|record| record.starts_with(keyspace)).collect()
    }

    /// Stores a record as it is, or removes it.
    pub fn set(&mut self, keyspace: &str, key: &[u8], value: Option<&[u8]>) {
        put(&mut self.store, keyspace, key, value);
    }
}

/// Stores a record as it is, or removes it.
pub fn put(store: &mut MemoryStore, keyspace: &str, key: &[u8], value: Option<&[u8]>) {
    let keyspace = store.open_keyspace(keyspace, Order::Bytes).unwrap();
    let mut transaction = Transaction::begin(store, Scope::Exclusive).unwrap();
    let key = Bytes::copy_from_slice(key);
    match value {
        Some(value) => transaction.put(keyspace, key, Bytes::copy_from_slice(value)).unwrap(),
        None => transaction.delete(keyspace, key).unwrap(),
    }
    transaction.commit().unwrap();
}

pub fn shown(keyspace: &str, key: &[u8], value: &[u8]) -> String {
    format!("{keyspace} {} {}", to_hex(key), to_hex(value))
}

pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes from hex digits; spaces between them mean nothing.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// A byte string of a fixture or a dump.
pub fn bytes(text: &serde_json::Value) -> Vec<u8> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text.as_str().unwrap()).unwrap()
}
