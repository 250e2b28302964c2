//! What the component imports: the store, the clock, randomness, a line for its last words, and the end of a call that is late.

mod store;

use super::bindings::orbweaver::engine::log;
use super::bindings::wasi::{clocks::wall_clock, random::random};
use orbweaver_engine::environment::Environment;
use orbweaver_engine::store::Store;
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
    /// When the call under way is late. `None` as long as it has not been asked: most calls end before.
    pub late_at: Option<Instant>,
}

impl State {
    /// The state of a new instance.
    pub fn new(store: Box<dyn Store + Send>, environment: Box<dyn Environment + Send>, memory_bytes: usize, deadline: Duration) -> Self {
        let limits = StoreLimitsBuilder::new().memory_size(memory_bytes).build();
        Self { store, environment, commits: 0, imports: 0, panic: None, limits, deadline, late_at: None }
    }

    /// A call begins. Its time runs from when it is first asked for.
    pub const fn start_the_clock(&mut self) {
        self.late_at = None;
    }

    /// Asked by the component from time to time, see `tools/component/src/deadline.rs`. An error is a trap.
    fn check_deadline(&mut self) -> wasmtime::Result<()> {
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

/// Gives the imports to a linker.
pub fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    store::add_to_linker(linker)?;
    wall_clock::add_to_linker::<State, HasSelf<State>>(linker, imported)?;
    random::add_to_linker::<State, HasSelf<State>>(linker, imported)?;
    log::add_to_linker::<State, HasSelf<State>>(linker, imported)?;
    let check = |mut state: StoreContextMut<'_, State>, (): ()| state.data_mut().check_deadline();
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
