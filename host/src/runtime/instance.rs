//! One instance of the component: its memory, its deadline, and calls that may end in a trap.

use super::bindings::Orbweaver as Exports;
use super::component::Component;
use super::imports::State;
use orbweaver_engine::environment::Environment;
use orbweaver_engine::store::Store;
use std::fmt;
use std::time::Duration;

/// What an instance is given.
#[derive(Clone, Debug)]
pub(super) struct Options {
    /// Most memory of the component, in bytes; at most 4 GiB.
    pub memory_bytes: usize,
    /// How long one call may take; a call that takes longer ends in a trap.
    pub deadline: Duration,
    /// Settings of the engine, see `control.open` in `wit/engine`.
    pub settings: Vec<(String, String)>,
}

impl Default for Options {
    fn default() -> Self {
        Self { memory_bytes: 2 << 30, deadline: Duration::from_secs(30), settings: Vec::new() }
    }
}

/// Why a call failed.
#[derive(Debug)]
pub enum CallError {
    /// The component said so; it goes on working.
    Refused(String),
    /// The instance is lost: a panic, the deadline or the memory limit. The store is as after the last commit.
    Trapped(String),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(text) => f.write_str(text),
            Self::Trapped(text) => write!(f, "the component trapped: {text}"),
        }
    }
}

impl std::error::Error for CallError {}

/// An instance.
pub struct Instance {
    wasm: wasmtime::Store<State>,
    exports: Exports,
    calls: u64,
}

impl Instance {
    /// A new instance on a store, opened. Gives the store back where that fails.
    pub fn new(
        component: &Component,
        store: Box<dyn Store + Send>,
        environment: Box<dyn Environment + Send>,
        options: &Options,
    ) -> Result<Self, (CallError, Box<State>)> {
        let mut wasm = wasmtime::Store::new(&component.engine, State::new(store, environment, options.memory_bytes, options.deadline));
        wasm.limiter(|state| &mut state.limits);
        // What crosses in one call is limited by the component's memory and by the host's limit on requests.
        wasm.set_hostcall_fuel(usize::MAX);
        let exports = match component.instance_pre.instantiate(&mut wasm) {
            Ok(exports) => exports,
            Err(error) => return Err((CallError::Trapped(format!("{error:#}")), Box::new(wasm.into_data()))),
        };
        let mut instance = Self { wasm, exports, calls: 0 };
        let settings = options.settings.clone();
        let opened = instance.call(|exports, wasm| exports.orbweaver_engine_control().call_open(wasm, &settings));
        match opened.and_then(|opened| opened.map_err(CallError::Refused)) {
            Ok(()) => Ok(instance),
            Err(error) => Err((error, Box::new(instance.into_state()))),
        }
    }

    /// Calls an export under the deadline.
    pub fn call<T>(&mut self, call: impl FnOnce(&Exports, &mut wasmtime::Store<State>) -> wasmtime::Result<T>) -> Result<T, CallError> {
        self.wasm.data_mut().start_the_clock();
        self.calls += 1;
        call(&self.exports, &mut self.wasm).map_err(|trap| {
            let panic = self.wasm.data_mut().panic.take();
            CallError::Trapped(panic.unwrap_or_else(|| trap.root_cause().to_string()))
        })
    }

    /// What belongs to the instance.
    pub fn state(&mut self) -> &mut State {
        self.wasm.data_mut()
    }

    /// Batches that the store has taken, or may have taken, since the instance was made.
    pub fn commits(&self) -> u64 {
        self.wasm.data().commits
    }

    /// Calls of exports and of imports since the instance was made.
    pub fn crossings(&self) -> u64 {
        self.calls + self.wasm.data().imports
    }

    /// Ends the instance, and with it the transaction that it may have had open.
    pub fn into_state(self) -> State {
        let mut state = self.wasm.into_data();
        state.store.rollback();
        state
    }
}
