//! Engines on stores in memory that hold the records of foreign layouts.

use std::collections::BTreeMap;

use orbweaver_engine::error::Result;
use orbweaver_engine::layout::Layout;
use orbweaver_engine::layout::anatomy::{Anatomy, Run};
use orbweaver_engine::session::{Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::{MemoryStore, Order, Scope, Store};
use orbweaver_engine::transaction::Transaction;

use crate::client::{Args, encode_command};
use crate::golden::Clock;
use crate::logical::{self, Entry};
use crate::readers::Record;

/// The number of an engine's only connection.
const CONNECTION: u64 = 1;

/// An engine on records of a layout.
pub struct Opened {
    /// What it is on.
    pub store: MemoryStore,
    /// The engine, without a connection.
    pub engine: Engine,
    /// Its clock.
    pub clock: Clock,
}

impl Opened {
    /// Opens a layout on a store that holds these records and no others.
    ///
    /// # Panics
    /// When the store refuses one, or the layout the store.
    #[must_use]
    pub fn new(layout: &str, records: &[Record], now_ms: u64, open: impl FnOnce(&mut dyn Store) -> Result<Box<dyn Layout>>) -> Self {
        let mut store = store(layout, records);
        let layout = open(&mut store).expect("the layout opens");
        let clock = Clock::at(now_ms);
        let engine = Engine::with_layout(Box::new(store.clone()), layout, Box::new(clock.clone()), Settings::default());
        Self { store, engine, clock }
    }

    /// Opens the layout of the settings on a store that holds these records and no others.
    ///
    /// # Errors
    /// Those of the layout.
    ///
    /// # Panics
    /// When the store refuses a record.
    pub fn open(settings: &Settings, records: &[Record], now_ms: u64) -> Result<Self> {
        let store = store(&settings.layout, records);
        let clock = Clock::at(now_ms);
        let engine = Engine::open(Box::new(store.clone()), Box::new(clock.clone()), settings.clone())?;
        Ok(Self { store, engine, clock })
    }

    /// The reply to a command whose words have spaces between them, `''` for the empty one; line ends are shown as spaces.
    pub fn run(&mut self, command: &str) -> String {
        let word = |word: &str| if word == "''" { Vec::new() } else { word.as_bytes().to_vec() };
        let reply = self.call(&command.split(' ').map(word).collect());
        String::from_utf8_lossy(&reply).trim_end().replace("\r\n", " ")
    }

    /// The reply to a command as it is sent, on a connection of its own.
    pub fn call(&mut self, command: &Args) -> Vec<u8> {
        let input = encode_command(command).into();
        self.engine.connect(CONNECTION, "in-process", None);
        let answers = self.engine.exchange(&[Delivery { connection: CONNECTION, input }]).answers;
        self.engine.disconnect(CONNECTION);
        answers.into_iter().flat_map(|answer| answer.output).collect()
    }

    /// As [`contents`].
    pub fn contents(&mut self) -> Vec<Entry> {
        contents(&mut self.engine)
    }

    /// As [`findings`].
    pub fn findings(&mut self, budget: usize) -> Vec<String> {
        findings(&mut self.engine, budget)
    }

    /// Sweeps until there is no more to do at once. Returns how many keys and records that has removed.
    ///
    /// # Panics
    /// When it fails.
    pub fn sweep(&mut self) -> u64 {
        let mut removed = 0;
        loop {
            let swept = self.engine.sweep(100).expect("the sweep goes through");
            removed += swept.expired_keys + swept.records;
            if !swept.more {
                return removed;
            }
        }
    }
}

/// A record as it was taken apart: each field of its key and of its value with what it says.
#[must_use]
pub fn fields(anatomy: &Anatomy) -> String {
    let shown = |runs: &[Run]| runs.iter().map(|run| format!("{} {}", run.field, run.shown)).collect::<Vec<_>>().join(", ");
    format!("{} -> {}", shown(&anatomy.key_runs), shown(&anatomy.value_runs))
}

/// What a dump says.
///
/// # Panics
/// When a record is corrupt.
pub fn contents(engine: &mut Engine) -> Vec<Entry> {
    let dump = engine.dump(&mut Vec::new(), 1 << 30).expect("the database is sound");
    logical::from_dump(std::str::from_utf8(&dump).expect("JSON").lines()).expect("a dump")
}

/// What the check finds, a line each, in steps of about `budget` records.
///
/// # Panics
/// When it fails.
pub fn findings(engine: &mut Engine, budget: usize) -> Vec<String> {
    let (mut cursor, mut findings) = (Vec::new(), Vec::new());
    loop {
        let found = engine.check(&mut cursor, budget).expect("the check goes through");
        findings.extend(found.into_iter().map(|found| format!("{} {:?}: {}", found.keyspace, found.key, found.what)));
        if cursor.is_empty() {
            return findings;
        }
    }
}

/// The order of a keyspace by its name.
fn order_of(layout: &str, keyspace: &str) -> Order {
    match (layout, keyspace) {
        ("blackwidow", "lists/data_cf") => Order::BlackwidowLists,
        ("blackwidow", "zsets/score_cf") => Order::BlackwidowScores,
        ("ardb", _) => Order::Ardb,
        _ => Order::Bytes,
    }
}

/// A store that holds these records and no others.
///
/// # Panics
/// When it refuses one.
#[must_use]
pub fn store(layout: &str, records: &[Record]) -> MemoryStore {
    let mut store = MemoryStore::new();
    let mut keyspaces = BTreeMap::new();
    for Record { keyspace, .. } in records {
        let order = order_of(layout, keyspace);
        keyspaces.entry(keyspace).or_insert_with(|| store.open_keyspace(keyspace, order).expect("the keyspace opens"));
    }
    let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).expect("the store can be written");
    for Record { keyspace, key, value } in records {
        transaction.put(keyspaces[keyspace], key.clone(), value.clone()).expect("the record fits");
    }
    transaction.commit().expect("the records fit");
    store
}

/// All records of a store, sorted by keyspace and the bytes of their keys.
#[must_use]
pub fn records(store: &MemoryStore) -> Vec<Record> {
    let keyspaces = store.contents().into_iter();
    let mut records: Vec<Record> = keyspaces
        .flat_map(|(keyspace, records)| records.into_iter().map(move |(key, value)| Record { keyspace: keyspace.clone(), key, value }))
        .collect();
    records.sort();
    records
}
