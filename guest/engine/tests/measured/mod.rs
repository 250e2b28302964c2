//! What commands cost: calls of the store, records read, records written, and what the engine does for them itself.
#![allow(dead_code, reason = "every test file uses a part of it")]

pub mod workload;

use super::common::Client;
use bytes::Bytes;
use orbweaver_engine::layout::NAMES;
pub use orbweaver_engine::store::counting::Cost;
use orbweaver_engine::store::counting::{Around, Counter, Counting};
use orbweaver_engine::store::{MemoryStore, Store};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region};
use std::cell::Cell;
use std::rc::Rc;
use workload::Operation;

/// Counts the allocations within the store, which are not the engine's: 0 where the process does not count them.
#[derive(Clone, Default)]
struct InTheStore {
    allocations: Rc<Cell<usize>>,
    /// Callgrind toggles what it counts at the store's edges: outside of the engine it would begin to count there.
    is_left_out: Rc<Cell<bool>>,
}

impl Around for InTheStore {
    fn call<T>(&self, call: impl FnOnce() -> T) -> T {
        if !self.is_left_out.get() {
            return call();
        }
        let region = Region::new(&INSTRUMENTED_SYSTEM);
        let outcome = in_the_store(call);
        self.allocations.set(self.allocations.get() + allocations(&region));
        outcome
    }
}

fn allocations(region: &Region<'_, std::alloc::System>) -> usize {
    let change = region.change();
    change.allocations + change.reallocations
}

/// A function of its own, so that callgrind can leave out what runs in it.
#[inline(never)]
fn in_the_store<T>(call: impl FnOnce() -> T) -> T {
    std::hint::black_box(call())
}

/// A client of an engine, and what it asks of its store.
pub struct Measured {
    pub client: Client,
    counter: Counter,
    in_the_store: InTheStore,
}

impl Measured {
    /// A client of an engine on `store`.
    pub fn on(store: MemoryStore) -> Self {
        Self::on_layout(store, NAMES[0])
    }

    /// As [`Measured::on`], with another layout.
    pub fn on_layout(store: MemoryStore, layout: &str) -> Self {
        Self::of(store, |store| Client::on_any_with_layout(store, layout))
    }

    /// As [`Measured::on`], where collections of up to so many bytes are packed.
    pub fn packing(store: MemoryStore, max_packed_bytes: usize) -> Self {
        Self::of(store, |store| Client::on_any_packing(store, max_packed_bytes))
    }

    fn of(store: MemoryStore, client: impl FnOnce(Box<dyn Store>) -> Client) -> Self {
        let (counter, in_the_store) = (Counter::default(), InTheStore::default());
        let mut client = client(Box::new(Counting::new(store, counter.clone(), in_the_store.clone())));
        // What an engine reads once.
        client.run("RPUSH warm up");
        Self { client, counter, in_the_store }
    }

    /// What a command costs, with its reply.
    pub fn cost_of(&mut self, command: &str) -> (Cost, String) {
        let _ = self.counter.take();
        let reply = self.client.run_bytes(command);
        (self.counter.take(), String::from_utf8_lossy(&reply).trim_end().replace("\r\n", " "))
    }

    /// What `pipeline` requests of an operation in one call cost, and how often the engine allocates for them.
    pub fn cost_of_many(&mut self, operation: Operation, first: usize, pipeline: usize) -> (Cost, usize) {
        let (cost, allocations, output) = self.cost_of_requests(operation.requests(first, pipeline));
        assert!(output.first().is_some_and(|&byte| byte != b'-'), "{operation:?}: {}", output.escape_ascii());
        (cost, allocations)
    }

    /// What requests in one call cost, how often the engine allocates for them, and their replies.
    pub fn cost_of_requests(&mut self, requests: Bytes) -> (Cost, usize, Vec<u8>) {
        let _ = (self.counter.take(), self.in_the_store.allocations.take());
        self.in_the_store.is_left_out.set(true);
        let region = Region::new(&INSTRUMENTED_SYSTEM);
        let output = in_the_engine(|| self.client.exchange(requests));
        let all = allocations(&region);
        self.in_the_store.is_left_out.set(false);
        (self.counter.take(), all - self.in_the_store.allocations.take(), output.to_vec())
    }
}

/// A function of its own, so that callgrind can count what runs in it.
#[inline(never)]
fn in_the_engine<T>(call: impl FnOnce() -> T) -> T {
    std::hint::black_box(call())
}
