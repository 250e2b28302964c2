//! An engine on a memory store that a test maintains: with a clock that the test moves, and records that it may look at and damage.
#![allow(dead_code, reason = "every test file uses a part of it")]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use orbweaver_engine::environment::{Environment, HeldEnvironment, random_below};
use orbweaver_engine::layout::orbweaver::Orbweaver;
use orbweaver_engine::layout::{KeyAt, Kind, Layout, New, Swept};
use orbweaver_engine::session::Engine;
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::{MemoryStore, Order, Scope, Store};
use orbweaver_engine::transaction::Transaction;
use std::cell::Cell;
use std::rc::Rc;

pub const NOW_MS: u64 = 1_700_000_000_000;
pub const HOUR_MS: u64 = 3_600_000;

pub struct Keeper {
    pub engine: Engine,
    pub store: MemoryStore,
    layout: Orbweaver,
    pub now_ms: Rc<Cell<u64>>,
}

struct Clock(Rc<Cell<u64>>);

impl Environment for Clock {
    fn now_us(&self) -> u64 {
        self.0.get() * 1000
    }

    fn random(&mut self) -> u64 {
        0
    }
}

/// A record of a keyspace by name: key, and value or `None` where it is to be deleted.
pub type Damage = (&'static str, Bytes, Option<Bytes>);

impl Keeper {
    pub fn new() -> Self {
        let store = MemoryStore::new();
        Self::over(store.clone(), store)
    }

    /// An engine that goes through `wrapped`, which is `store` with something around it.
    pub fn over(store: MemoryStore, wrapped: impl Store + 'static) -> Self {
        Self::open(store, wrapped, 0)
    }

    /// An engine that packs collections of up to so many bytes.
    pub fn packing(max_packed_bytes: usize) -> Self {
        let store = MemoryStore::new();
        Self::open(store.clone(), store, max_packed_bytes)
    }

    fn open(mut store: MemoryStore, wrapped: impl Store + 'static, max_packed_bytes: usize) -> Self {
        let layout = Orbweaver::open_packing(&mut store, Some(max_packed_bytes)).unwrap();
        let now_ms = Rc::new(Cell::new(NOW_MS));
        let clock = Clock(Rc::clone(&now_ms));
        let settings = Settings { max_packed_bytes: Some(max_packed_bytes), ..Settings::default() };
        let engine = Engine::open(Box::new(wrapped), Box::new(clock), settings).unwrap();
        Self { engine, store, layout, now_ms }
    }

    pub fn load(&mut self, lines: &str) {
        self.engine.load(lines.as_bytes()).unwrap();
    }

    /// The whole dump, in pieces of about `max_bytes`.
    pub fn dump(&mut self, max_bytes: usize) -> String {
        dump(&mut self.engine, max_bytes)
    }

    /// Everything that is wrong, in steps of `budget` records: `keyspace key: what`.
    pub fn check(&mut self, budget: usize) -> Vec<String> {
        check(&mut self.engine, budget)
    }

    /// Sweeps until nothing is left to do, and adds up what was done.
    pub fn sweep(&mut self, budget: usize) -> Swept {
        let mut total = Swept::default();
        for _ in 0..100_000 {
            let swept = self.engine.sweep(budget).unwrap();
            total.expired_keys += swept.expired_keys;
            total.records += swept.records;
            total.ranges += swept.ranges;
            if !swept.more {
                return total;
            }
        }
        panic!("the sweep never ends");
    }

    /// Changes records through the layout, as commands do; returns how many bytes the transaction wrote.
    pub fn change(&mut self, scope: Scope, work: impl FnOnce(&mut Transaction<'_>, &Orbweaver)) -> usize {
        let mut transaction = Transaction::begin(&mut self.store, scope).unwrap();
        work(&mut transaction, &self.layout);
        let bytes = transaction.pending_bytes();
        transaction.commit().unwrap();
        bytes
    }

    /// Removes a key of db 0, as DEL does.
    pub fn remove(&mut self, key: &str) -> usize {
        self.change(Scope::Exclusive, |transaction, layout| {
            let at = KeyAt::new(layout.load_catalog(transaction, 1).unwrap().spaces[0], Bytes::copy_from_slice(key.as_bytes()));
            if let Some(meta) = layout.find(transaction, &at, Kind::String).unwrap() {
                layout.write(transaction, &at, Some(&meta), New::Nothing, NOW_MS).unwrap();
            }
        })
    }

    /// Empties a db, as FLUSHDB does.
    pub fn flush(&mut self, db: usize) {
        self.change(Scope::Exclusive, |transaction, layout| {
            let mut catalog = layout.load_catalog(transaction, 16).unwrap();
            layout.flush(transaction, &mut catalog, db).unwrap();
        });
    }

    /// Exchanges two dbs, as SWAPDB does.
    pub fn swap(&mut self, a: usize, b: usize) {
        self.change(Scope::Exclusive, |transaction, layout| {
            let mut catalog = layout.load_catalog(transaction, 16).unwrap();
            layout.swap(transaction, &mut catalog, a, b).unwrap();
        });
    }

    /// Writes records as they are, whatever they say.
    pub fn damage(&mut self, records: &[Damage]) {
        let mut named = Vec::new();
        for (name, key, value) in records {
            named.push((self.store.open_keyspace(name, Order::Bytes).unwrap(), key.clone(), value.clone()));
        }
        self.change(Scope::Exclusive, |transaction, _| {
            for (keyspace, key, value) in named {
                match value {
                    Some(value) => transaction.put(keyspace, key, value).unwrap(),
                    None => transaction.delete(keyspace, key).unwrap(),
                }
            }
        });
    }

    /// How many records each keyspace holds, without those of `system`.
    pub fn sizes(&self) -> String {
        let contents = self.store.contents();
        let sizes = contents.iter().filter(|(name, _)| name != "system").map(|(name, records)| format!("{name} {}", records.len()));
        sizes.collect::<Vec<_>>().join(", ")
    }
}

pub const NOTHING: &str = "meta 0, data 0, score 0, expiry 0, garbage 0, field-expiry 0, rank 0";

/// As [`Keeper::dump`], of any engine.
pub fn dump(engine: &mut Engine, max_bytes: usize) -> String {
    let (mut cursor, mut whole) = (Vec::new(), Vec::new());
    loop {
        whole.extend(engine.dump(&mut cursor, max_bytes).unwrap());
        if cursor.is_empty() {
            return String::from_utf8(whole).unwrap();
        }
    }
}

/// As [`Keeper::check`], of any engine.
pub fn check(engine: &mut Engine, budget: usize) -> Vec<String> {
    let (mut cursor, mut found) = (Vec::new(), Vec::new());
    loop {
        found.extend(engine.check(&mut cursor, budget).unwrap());
        if cursor.is_empty() {
            break;
        }
    }
    found.iter().map(|finding| format!("{} {}: {}", finding.keyspace, finding.key.escape_ascii(), finding.what)).collect()
}

/// A line of a dump.
pub fn line(db: u64, key: &str, expire_at_ms: Option<u64>, value: &str) -> String {
    let expiry = expire_at_ms.map_or("null".to_owned(), |at| at.to_string());
    format!("{{\"db\":{db},\"key\":\"{}\",{value},\"expire_at_ms\":{expiry}}}\n", b64(key))
}

pub fn b64(text: impl AsRef<[u8]>) -> String {
    STANDARD.encode(text)
}

fn list<T>(items: impl IntoIterator<Item = T>, write: impl Fn(T) -> String) -> String {
    items.into_iter().map(write).collect::<Vec<_>>().join(",")
}

pub fn string(value: &str) -> String {
    format!("\"type\":\"string\",\"value\":\"{}\"", b64(value))
}

/// Fields `f0`, `f1` ... with values of the same name.
pub fn hash(fields: u64) -> String {
    let fields = list(0..fields, |n| format!("[\"{}\",\"{}\"]", b64(format!("f{n}")), b64(format!("v{n}"))));
    format!("\"type\":\"hash\",\"fields\":[{fields}]")
}

/// Fields `f0`, `f1` ... with values `v0`, `v1` ..., which expire at these times.
pub fn expiring_hash(times: &[Option<u64>]) -> String {
    let fields = list(times.iter().zip(0..), |(at, n)| {
        let (field, value) = (b64(format!("f{n}")), b64(format!("v{n}")));
        at.map_or(format!("[\"{field}\",\"{value}\"]"), |at| format!("[\"{field}\",\"{value}\",{at}]"))
    });
    format!("\"type\":\"hash\",\"fields\":[{fields}]")
}

pub fn items(count: u64) -> String {
    format!("\"type\":\"list\",\"items\":[{}]", list(0..count, |n| format!("\"{}\"", b64(format!("e{n}")))))
}

pub fn set(members: u64) -> String {
    format!("\"type\":\"set\",\"members\":[{}]", list(0..members, |n| format!("\"{}\"", b64(format!("m{n}")))))
}

/// Members `m0`, `m1` ... with these scores.
pub fn sorted_set(scores: &[f64]) -> String {
    let members = scores.iter().zip(0..);
    let members = list(members, |(score, n)| {
        let name = b64(format!("m{n}"));
        format!("[\"{name}\",\"{}\",\"{:016x}\"]", orbweaver_engine::number::format_double(*score), score.to_bits())
    });
    format!("\"type\":\"zset\",\"members\":[{members}]")
}

/// A random line.
pub fn random_line(random: &mut HeldEnvironment, now_ms: u64) -> String {
    let mut below = |limit| random_below(random, limit);
    let (db, key, size) = (below(3), format!("k{}", below(30)), [1, 3, 70, 200][usize::try_from(below(4)).unwrap()]);
    let expire_at_ms = (below(3) == 0).then(|| now_ms + below(5000));
    let value = match below(5) {
        0 => string(&format!("value {size}")),
        1 => {
            let times: Vec<Option<u64>> = (0..size).map(|_| (below(2) == 0).then(|| now_ms + below(5000))).collect();
            expiring_hash(&times)
        }
        2 => items(size),
        3 => set(size),
        _ => {
            let scores: Vec<f64> = (0..size).map(|_| [0.0, -0.0, -1.5, f64::INFINITY, 0.1][usize::try_from(below(5)).unwrap()]).collect();
            sorted_set(&scores)
        }
    };
    line(db, &key, expire_at_ms, &value)
}

/// Does what clients do, at random: writes and replaces keys, removes them, empties and swaps dbs, lets time pass, sweeps.
pub fn random_life(keeper: &mut Keeper, seed: u64, steps: usize) {
    let mut random = HeldEnvironment::new(0, seed);
    for _ in 0..steps {
        match random_below(&mut random, 20) {
            0 => keeper.flush(usize::try_from(random_below(&mut random, 3)).unwrap()),
            1 => keeper.swap(0, usize::try_from(random_below(&mut random, 3)).unwrap()),
            2..5 => {
                keeper.remove(&format!("k{}", random_below(&mut random, 30)));
            }
            5 => keeper.now_ms.set(keeper.now_ms.get() + random_below(&mut random, 2000)),
            6 => {
                keeper.engine.sweep(usize::try_from(random_below(&mut random, 50)).unwrap()).unwrap();
            }
            _ => keeper.load(&random_line(&mut random, keeper.now_ms.get())),
        }
    }
}

pub fn hex(text: &str) -> Bytes {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}
