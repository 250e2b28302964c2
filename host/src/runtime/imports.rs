//! What the component imports: the store, the clock, randomness, a line for its last words, and the end of a call that is late.

mod store;

use super::canonical::{self, piece, size};
use super::guest::{Abi, Guest};
use orbweaver_engine::environment::Environment;
use orbweaver_engine::store::{KeyRange, Scope, Store, StoreError};
use std::time::{Duration, Instant};
use wasmtime::{Caller, Linker, Result, StoreLimits, StoreLimitsBuilder};

/// A component with less memory is not told the numbers of pages, so that it keeps none: those that it keeps have 16 MiB at most
/// (`store/known_pages.rs` of the engine).
const KEEPS_PAGES_FROM: usize = 256 << 20;

/// What belongs to one instance.
pub struct State {
    /// The store that the instance works on.
    pub store: Box<dyn Store + Send>,
    /// Whether the transaction that the component has asked for last only reads.
    reads: bool,
    /// Whether the host has begun a transaction, and the component has asked for none since.
    begun: bool,
    /// What the component has asked for a page of last: its memory is used again.
    range: KeyRange,
    /// Its clock and randomness.
    pub environment: Box<dyn Environment + Send>,
    /// Its memory, once it is there.
    pub abi: Option<Abi>,
    /// Batches that the store has taken, or may have taken, since the instance was made.
    pub commits: u64,
    /// Calls of imports since the instance was made.
    pub imports: u64,
    /// Whether the component has room to keep pages.
    pub keeps_pages: bool,
    /// Whether the component has been given a page with a number.
    pub numbers_pages: bool,
    /// Pages that the component had already when it asked for them, since the instance was made.
    pub spared_pages: u64,
    /// The text of the panic that ended the instance.
    pub panic: Option<String>,
    /// How much memory it may have.
    pub limits: StoreLimits,
    /// How long one call may take.
    pub deadline: Duration,
    /// When the call under way is late. `None` as long as it has not been asked: most calls end before.
    pub late_at: Option<Instant>,
}

impl State {
    /// The state of a new instance.
    pub fn new(store: Box<dyn Store + Send>, environment: Box<dyn Environment + Send>, memory_bytes: usize, deadline: Duration) -> Self {
        let limits = StoreLimitsBuilder::new().memory_size(memory_bytes).build();
        Self {
            store,
            reads: false,
            begun: false,
            range: KeyRange::all(),
            environment,
            abi: None,
            commits: 0,
            imports: 0,
            keeps_pages: memory_bytes >= KEEPS_PAGES_FROM,
            numbers_pages: false,
            spared_pages: 0,
            panic: None,
            limits,
            deadline,
            late_at: None,
        }
    }

    /// A call begins. Its time runs from when it is first asked for.
    pub const fn start_the_clock(&mut self) {
        self.late_at = None;
    }

    /// Begins a transaction that reads, for a call of which that can be guessed: what came last did no more. Returns the store's epoch.
    pub fn begin_ahead(&mut self) -> Option<u64> {
        let epoch = if self.reads && self.store.begins_reads_for_nothing() { self.store.begin(&Scope::Read).ok() } else { None };
        self.begun = epoch.is_some();
        epoch
    }

    /// Begins the transaction that the component asks for.
    fn begin(&mut self, scope: &Scope) -> std::result::Result<u64, StoreError> {
        self.reads = matches!(scope, Scope::Read);
        if std::mem::take(&mut self.begun) {
            self.store.rollback();
        }
        self.store.begin(scope)
    }

    /// Asked by the component from time to time, see `tools/component/src/deadline.rs`. An error is a trap.
    fn check_deadline(&mut self) -> Result<()> {
        let now = Instant::now();
        match self.late_at {
            Some(late_at) if now >= late_at => {
                wasmtime::bail!("the call took longer than {}", humantime::format_duration(self.deadline))
            }
            Some(_) => {}
            // A time that the clock cannot show is never.
            None => self.late_at = now.checked_add(self.deadline),
        }
        Ok(())
    }
}

/// The component, while it waits for the host.
type Host<'h> = Caller<'h, State>;

/// Gives the imports to a linker.
pub fn add_to_linker(linker: &mut Linker<State>) -> Result<()> {
    store::add_to_linker(linker)?;
    linker.func_wrap("wasi:clocks/wall-clock@0.2.0", "now", |mut host: Host<'_>, answer: u32| {
        let now_us = imported(&mut host).environment.now_us();
        // Nanoseconds, below 1e9, which fits.
        let datetime = (now_us / 1_000_000, u32::try_from(now_us % 1_000_000 * 1000).unwrap_or(0));
        canonical::write(&datetime, &mut Guest::of(&mut host)?, size(answer))
    })?;
    linker.func_wrap("wasi:random/random@0.2.0", "get-random-u64", |mut host: Host<'_>| imported(&mut host).environment.random())?;
    linker.func_wrap("orbweaver:engine/log@0.1.0", "panicked", |mut host: Host<'_>, text: u32, length: u32| -> Result<()> {
        let mut guest = calling(&mut host)?;
        let (memory, state) = guest.parts();
        state.panic = Some(String::from_utf8_lossy(piece(memory, size(text), size(length))?).into_owned());
        Ok(())
    })?;
    linker.func_wrap("orbweaver:host/deadline", "check", |mut host: Host<'_>| host.data_mut().check_deadline())?;
    Ok(())
}

/// The state, for an import that has been called: it is counted.
fn imported<'h>(host: &'h mut Host<'_>) -> &'h mut State {
    let state = host.data_mut();
    state.imports += 1;
    state
}

/// The same with the component's memory.
fn calling<'h>(host: &'h mut Host<'_>) -> Result<Guest<'h>> {
    imported(host);
    Guest::of(host)
}
