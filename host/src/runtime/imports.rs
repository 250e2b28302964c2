//! What the component imports: the store, the clock, randomness, a line for its last words, and the end of a call that is late.

use super::bindings::orbweaver::engine::log;
use super::bindings::orbweaver::kv::store as wit;
use super::bindings::wasi::{clocks::wall_clock, random::random};
use bytes::Bytes;
use orbweaver_engine::environment::Environment;
use orbweaver_engine::store::{Batch, Direction, KeyRange, Keyspace, Limits, Order, Page, PageLimit, Scope, Store, StoreError};
use std::time::{Duration, Instant};
use wasmtime::component::{HasSelf, Linker};
use wasmtime::{StoreContextMut, StoreLimits, StoreLimitsBuilder};

/// What belongs to one instance.
pub struct State {
    /// The store that the instance works on.
    pub store: Box<dyn Store + Send>,
    /// Its clock and randomness.
    pub environment: Box<dyn Environment + Send>,
    /// Batches that the store has taken, or may have taken, since the instance was made.
    pub commits: u64,
    /// Calls of imports since the instance was made.
    pub imports: u64,
    /// The text of the panic that ended the instance.
    pub panic: Option<String>,
    /// How much memory it may have.
    pub limits: StoreLimits,
    /// How long one call may take.
    pub deadline: Duration,
    /// When the call under way is late. Never, where there is no such time.
    pub late_at: Option<Instant>,
}

impl State {
    /// The state of a new instance.
    pub fn new(store: Box<dyn Store + Send>, environment: Box<dyn Environment + Send>, memory_bytes: usize, deadline: Duration) -> Self {
        let limits = StoreLimitsBuilder::new().memory_size(memory_bytes).build();
        Self { store, environment, commits: 0, imports: 0, panic: None, limits, deadline, late_at: None }
    }

    /// A call begins.
    pub fn start_the_clock(&mut self) {
        self.late_at = Instant::now().checked_add(self.deadline);
    }

    /// Asked by the component from time to time, see `tools/component/src/deadline.rs`. An error is a trap.
    fn check_deadline(&self) -> wasmtime::Result<()> {
        if self.late_at.is_some_and(|late_at| Instant::now() >= late_at) {
            wasmtime::bail!("the call took longer than {}", humantime::format_duration(self.deadline));
        }
        Ok(())
    }
}

/// Gives the imports to a linker.
pub fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wit::add_to_linker::<State, HasSelf<State>>(linker, imported)?;
    wall_clock::add_to_linker::<State, HasSelf<State>>(linker, imported)?;
    random::add_to_linker::<State, HasSelf<State>>(linker, imported)?;
    log::add_to_linker::<State, HasSelf<State>>(linker, imported)?;
    let check = |state: StoreContextMut<'_, State>, (): ()| state.data().check_deadline();
    linker.instance("orbweaver:host/deadline")?.func_wrap("check", check)
}

/// Each import asks for the state once, when it is called.
fn imported(state: &mut State) -> &mut State {
    state.imports += 1;
    state
}

impl wall_clock::Host for State {
    fn now(&mut self) -> wall_clock::Datetime {
        let now_us = self.environment.now_us();
        // Below 1e9, which fits.
        let nanoseconds = u32::try_from(now_us % 1_000_000 * 1000).unwrap_or(0);
        wall_clock::Datetime { seconds: now_us / 1_000_000, nanoseconds }
    }
}

impl random::Host for State {
    fn get_random_u64(&mut self) -> u64 {
        self.environment.random()
    }
}

impl log::Host for State {
    fn panicked(&mut self, text: String) {
        self.panic = Some(text);
    }
}

fn error(error: StoreError) -> wit::Error {
    match error {
        StoreError::Conflict => wit::Error::Conflict,
        StoreError::Expired => wit::Error::Expired,
        StoreError::TooLarge { what, limit } => wit::Error::TooLarge(wit::Excess { what, limit }),
        StoreError::UnknownOutcome(text) => wit::Error::UnknownOutcome(text),
        StoreError::ReadOnly => wit::Error::ReadOnly,
        StoreError::UnsupportedOrder(text) => wit::Error::UnsupportedOrder(text),
        StoreError::Corrupt(text) => wit::Error::Corrupt(text),
        StoreError::Io(text) => wit::Error::Io(text),
    }
}

/// The strings of flat pieces. What a guest gives is not trusted: ends that run backwards or past the buffer are refused.
fn strings(pieces: wit::Pieces) -> Result<Vec<Bytes>, StoreError> {
    let bytes = Bytes::from(pieces.bytes);
    let mut start = 0;
    let cut = |&end: &u32| {
        let end = usize::try_from(end).ok().filter(|&end| start <= end && end <= bytes.len());
        let end = end.ok_or_else(|| StoreError::Io("the ends of pieces do not fit their bytes".into()))?;
        let piece = bytes.slice(start..end);
        start = end;
        Ok(piece)
    };
    pieces.ends.iter().map(cut).collect()
}

fn flat_page(page: Page) -> wit::Page {
    wit::Page { records: wit::Pieces { bytes: page.bytes.into(), ends: page.ends }, more: page.more }
}

impl wit::Host for State {
    fn get_limits(&mut self) -> wit::Limits {
        let Limits { max_key_bytes, max_value_bytes, max_batch_ops, max_batch_bytes, read_only } = self.store.limits();
        wit::Limits { max_key_bytes, max_value_bytes, max_batch_ops, max_batch_bytes, read_only }
    }

    fn open_keyspace(&mut self, name: String, order: String) -> Result<wit::Keyspace, wit::Error> {
        let known = Order::from_name(&order).ok_or_else(|| StoreError::UnsupportedOrder(format!("{order} is not known here")));
        known.and_then(|order| self.store.open_keyspace(&name, order)).map(|keyspace| keyspace.0).map_err(error)
    }

    fn begin(&mut self, scope: wit::Scope) -> Result<u64, wit::Error> {
        let scope = match scope {
            wit::Scope::Read => Ok(Scope::Read),
            wit::Scope::Keys(keys) => strings(keys).map(Scope::Keys),
            wit::Scope::Exclusive => Ok(Scope::Exclusive),
        };
        scope.and_then(|scope| self.store.begin(&scope)).map_err(error)
    }

    fn get(&mut self, keyspace: wit::Keyspace, key: Vec<u8>) -> Result<Option<Vec<u8>>, wit::Error> {
        self.store.get(Keyspace(keyspace), &key).map(|value| value.map(Vec::from)).map_err(error)
    }

    fn get_many(&mut self, keyspaces: Vec<wit::Keyspace>, keys: wit::Pieces) -> Result<wit::Found, wit::Error> {
        let keys = strings(keys).map_err(error)?;
        if keys.len() != keyspaces.len() {
            return Err(wit::Error::Io("get-many needs a keyspace for each key".into()));
        }
        let keys: Vec<(Keyspace, Bytes)> = keyspaces.into_iter().map(Keyspace).zip(keys).collect();
        let values = self.store.get_many(&keys).map_err(error)?;
        let bytes = Vec::with_capacity(values.iter().flatten().map(Bytes::len).sum());
        let mut found = wit::Found { values: wit::Pieces { bytes, ends: Vec::with_capacity(keys.len()) }, absent: Vec::new() };
        for (value, position) in values.iter().zip(0_u32..) {
            match value {
                Some(value) => found.values.bytes.extend_from_slice(value),
                None => found.absent.push(position),
            }
            let end = u32::try_from(found.values.bytes.len());
            let too_large = |_| wit::Error::TooLarge(wit::Excess { what: "an answer of get-many".into(), limit: u64::from(u32::MAX) });
            found.values.ends.push(end.map_err(too_large)?);
        }
        Ok(found)
    }

    fn scan(
        &mut self,
        keyspace: wit::Keyspace,
        range: wit::KeyRange,
        direction: wit::Direction,
        max_items: u32,
        max_bytes: u32,
    ) -> Result<wit::Page, wit::Error> {
        let range = KeyRange { start: range.start, after_start: range.after_start, end: range.end };
        let direction = match direction {
            wit::Direction::Forward => Direction::Forward,
            wit::Direction::Reverse => Direction::Reverse,
        };
        let page = self.store.scan(Keyspace(keyspace), &range, direction, PageLimit { max_items, max_bytes });
        page.map(flat_page).map_err(error)
    }

    fn revisions(&mut self, lock_keys: wit::Pieces) -> Result<Vec<u64>, wit::Error> {
        strings(lock_keys).and_then(|keys| self.store.revisions(&keys)).map_err(error)
    }

    fn commit(&mut self, batch: Vec<u8>, changed: Vec<u32>) -> Result<(), wit::Error> {
        let result = Batch::from_bytes(batch).and_then(|batch| self.store.commit(&batch, &changed));
        if matches!(result, Ok(()) | Err(StoreError::UnknownOutcome(_))) {
            self.commits += 1;
        }
        result.map_err(error)
    }

    fn rollback(&mut self) {
        self.store.rollback();
    }
}
