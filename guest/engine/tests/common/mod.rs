//! A client of an engine on a memory store, with a clock that only the test moves.
#![allow(dead_code, reason = "every test file uses a part of it")]

pub mod uniformity;

use bytes::Bytes;
use orbweaver_engine::environment::{Environment, HeldEnvironment};
use orbweaver_engine::session::{Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::{MemoryStore, Store};
use std::cell::Cell;
use std::rc::Rc;

/// The number of a client's connection: each engine has but one.
const CONNECTION: u64 = 1;

pub struct Client {
    engine: Engine,
    now_ms: Rc<Cell<u64>>,
}

pub struct Clock {
    now_ms: Rc<Cell<u64>>,
    random: HeldEnvironment,
}

impl Clock {
    /// A clock, and what moves it.
    pub fn new() -> (Self, Rc<Cell<u64>>) {
        let now_ms = Rc::new(Cell::new(1_700_000_000_000));
        (Self::at(&now_ms), now_ms)
    }

    /// A clock that shows what somebody else sets.
    pub fn at(now_ms: &Rc<Cell<u64>>) -> Self {
        Self { now_ms: Rc::clone(now_ms), random: HeldEnvironment::new(0, 1) }
    }
}

impl Environment for Clock {
    fn now_us(&self) -> u64 {
        self.now_ms.get() * 1000
    }

    fn random(&mut self) -> u64 {
        self.random.random()
    }
}

impl Client {
    /// A client of an engine that has a store of its own.
    pub fn new() -> Self {
        Self::on(&MemoryStore::new())
    }

    /// A client of a new engine on `store`.
    pub fn on(store: &MemoryStore) -> Self {
        Self::on_any(Box::new(store.clone()))
    }

    /// As [`Client::on`], for stores around a store.
    pub fn on_any(store: Box<dyn Store>) -> Self {
        Self::open(store, Settings::default())
    }

    /// As [`Client::on`], with another layout.
    pub fn on_layout(store: &MemoryStore, layout: &str) -> Self {
        Self::on_any_with_layout(Box::new(store.clone()), layout)
    }

    /// As [`Client::on_layout`], for stores around a store.
    pub fn on_any_with_layout(store: Box<dyn Store>, layout: &str) -> Self {
        Self::open(store, Settings { layout: layout.to_owned(), ..Settings::default() })
    }

    /// As [`Client::on_any`], where collections of up to so many bytes are packed.
    pub fn on_any_packing(store: Box<dyn Store>, max_packed_bytes: impl Into<Option<usize>>) -> Self {
        Self::open(store, Settings { max_packed_bytes: max_packed_bytes.into(), ..Settings::default() })
    }

    fn open(store: Box<dyn Store>, settings: Settings) -> Self {
        let (clock, now_ms) = Clock::new();
        let mut engine = Engine::open(store, Box::new(clock), settings).unwrap();
        engine.connect(CONNECTION, "127.0.0.1:1", None);
        Self { engine, now_ms }
    }

    /// The engine: for what no request says.
    pub fn engine(&mut self) -> &mut Engine {
        &mut self.engine
    }

    /// Moves the clock forward.
    pub fn wait_ms(&mut self, ms: u64) {
        self.now_ms.set(self.now_ms.get() + ms);
    }

    /// The reply to an inline command, byte for byte but for line ends, which are shown as spaces: `*2 $1 a :1`.
    pub fn run(&mut self, line: &str) -> String {
        String::from_utf8(self.run_bytes(line)).unwrap().trim_end().replace("\r\n", " ")
    }

    /// The reply to an inline command as it is.
    pub fn run_bytes(&mut self, line: &str) -> Vec<u8> {
        self.exchange(format!("{line}\r\n").into())
    }

    /// The replies to requests as they are sent.
    pub fn exchange(&mut self, input: Bytes) -> Vec<u8> {
        let outcome = self.engine.exchange(&[Delivery { connection: CONNECTION, input }]);
        outcome.answers.into_iter().next().map(|answer| answer.output).unwrap_or_default()
    }
}
