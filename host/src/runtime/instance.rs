//! One instance of the component: its memory, its deadline, and calls that may end in a trap.

use super::bindings::exports::orbweaver::engine::resp::{self, Answer, Deliveries};
use super::canonical::{Canonical, Flat, Lift, Lower, Place, Shape, aligned, piece, placed, size, word};
use super::component::Component;
use super::exchange::{Outcome, Replies};
use super::exports::export;
use super::guest::{Abi, Guest};
use super::imports::State;
use orbweaver_engine::environment::Environment;
use orbweaver_engine::store::Store;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::time::Duration;
use wasmtime::{AsContextMut, Func, Result as Called, TypedFunc, Val, ValType, bail, format_err};

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

/// An exported function.
struct Export {
    function: Func,
    params: SmallVec<[ValType; Shape::MOST_FLAT]>,
    /// Frees what the function has returned.
    post: Option<TypedFunc<u32, ()>>,
}

impl Export {
    /// The one of this name.
    fn of(exports: wasmtime::Instance, wasm: &mut wasmtime::Store<State>, name: &str) -> Called<Self> {
        let function = exports.get_func(&mut *wasm, name).ok_or_else(|| format_err!("the component does not export {name}"))?;
        let params = function.ty(&*wasm).params().collect();
        let post = exports.get_func(&mut *wasm, &post_of(name)).map(|post| post.typed(&*wasm)).transpose()?;
        Ok(Self { function, params, post })
    }
}

/// An instance.
pub struct Instance {
    wasm: wasmtime::Store<State>,
    exports: wasmtime::Instance,
    /// Those that have been called.
    called: HashMap<&'static str, Export, foldhash::fast::RandomState>,
    exchange_at: ExchangeAt,
    calls: u64,
}

/// `resp.exchange-at`: its parameters, flat, and where it has put its outcome; and what frees that.
type ExchangeAt = (TypedFunc<(u64, u32, u64, u32, u32, u32, u64, u32), u32>, TypedFunc<u32, ()>);

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
        let (exports, exchange_at) = match instantiate(component, &mut wasm) {
            Ok(instantiated) => instantiated,
            Err(error) => return Err((CallError::Trapped(format!("{error:#}")), Box::new(wasm.into_data()))),
        };
        let mut instance = Self { wasm, exports, called: HashMap::default(), exchange_at, calls: 0 };
        let opened = instance.open(&options.settings);
        match opened.and_then(|opened| opened.map_err(CallError::Refused)) {
            Ok(()) => Ok(instance),
            Err(error) => Err((error, Box::new(instance.into_state()))),
        }
    }

    /// Calls an export, of these parameters and this answer in `wit/engine`, under the deadline. After an error the instance is to be replaced:
    /// wasmtime would go on calling it.
    pub fn call<T: Returned>(&mut self, name: &'static str, params: impl Lower) -> Result<T, CallError> {
        self.begin();
        self.try_call(name, params).map_err(|trap| self.trapped(&trap))
    }

    /// Calls `resp.exchange-at`, as [`Instance::call`] would do it, but in less time, and leaves the replies where they are.
    #[inline]
    pub fn exchange_at(&mut self, now_us: u64, input: &[&[u8]], whose: &Deliveries) -> Result<Outcome<Replies>, CallError> {
        self.begin();
        self.try_exchange_at(now_us, input, whose).map_err(|trap| self.trapped(&trap))
    }

    /// The replies of an exchange.
    pub fn replies(&self, held: &Held) -> Result<&[u8], CallError> {
        let memory = self.wasm.data().abi.as_ref().map_or(&[][..], |abi| abi.memory(&self.wasm));
        piece(memory, size(held.output), held.output_bytes).map_err(|error| CallError::Trapped(error.to_string()))
    }

    /// Frees what an exchange came to. After an error the instance is to be replaced.
    pub fn let_go(&mut self, held: &Held) -> Result<(), CallError> {
        self.try_let_go(held).map_err(|trap| self.trapped(&trap))
    }

    fn begin(&mut self) {
        self.wasm.data_mut().start_the_clock();
        self.calls += 1;
    }

    fn trapped(&mut self, trap: &wasmtime::Error) -> CallError {
        let panic = self.wasm.data_mut().panic.take();
        CallError::Trapped(panic.unwrap_or_else(|| trap.root_cause().to_string()))
    }

    fn try_call<P: Lower, T: Returned>(&mut self, name: &'static str, params: P) -> Called<T> {
        let export = match self.called.entry(name) {
            Entry::Occupied(called) => called.into_mut(),
            Entry::Vacant(new) => new.insert(Export::of(self.exports, &mut self.wasm, name)?),
        };
        // More would be passed in memory; nothing in `wit/engine` has more.
        const { assert!(P::SHAPE.flat <= Shape::MOST_FLAT, "too many parameters") };
        let mut flat = Flat::new();
        params.flatten(&mut Guest::of(self.wasm.as_context_mut())?, &mut flat)?;
        if flat.len() != export.params.len() {
            bail!("{name} has {} parameters, and is given {}", export.params.len(), flat.len());
        }
        let params: SmallVec<[Val; Shape::MOST_FLAT]> = flat.iter().zip(&export.params).map(value).collect::<Called<_>>()?;
        if !T::IS_IN_MEMORY {
            export.function.call(&mut self.wasm, &params, &mut [])?;
            return T::lift_from(&[], 0);
        }
        let mut results = [Val::I32(0)];
        export.function.call(&mut self.wasm, &params, &mut results)?;
        let at = results.first().and_then(Val::i32).map(i32::cast_unsigned).ok_or_else(|| format_err!("{name} gives no address"))?;
        let answer = T::lift_from(Guest::of(self.wasm.as_context_mut())?.memory(), size(at))?;
        export.post.as_ref().map_or(Ok(()), |post| post.call(&mut self.wasm, at))?;
        Ok(answer)
    }

    fn try_exchange_at(&mut self, now_us: u64, input: &[&[u8]], whose: &Deliveries) -> Called<Outcome<Replies>> {
        let mut guest = Guest::of(self.wasm.as_context_mut())?;
        let length = input.iter().map(|piece| piece.len()).sum();
        let at = guest.allocate(length, 1)?;
        let mut end = at;
        for piece in input {
            guest.write(end, piece)?;
            end += piece.len();
        }
        let (case, first, second) = match whose {
            Deliveries::One(connection) => (0, *connection, 0),
            Deliveries::Several(deliveries) => {
                let (start, count) = placed(deliveries, &mut guest)?;
                (1, start.into(), count)
            }
        };
        let begun = self.wasm.data_mut().begin_ahead();
        if begun.is_some() {
            Guest::of(self.wasm.as_context_mut())?.tell_changes()?;
        }
        let (is_begun, epoch) = (begun.is_some().into(), begun.unwrap_or_default());
        let outcome = self.exchange_at.0.call(&mut self.wasm, (now_us, is_begun, epoch, word(at)?, word(length)?, case, first, second))?;
        lift_held(Guest::of(self.wasm.as_context_mut())?.memory(), outcome)
    }

    fn try_let_go(&mut self, held: &Held) -> Called<()> {
        let blocks = [(held.answers, held.answers_bytes), (held.output, held.output_bytes)];
        if held.is_two_lists && Guest::of(self.wasm.as_context_mut())?.keep(blocks) {
            return Ok(());
        }
        self.exchange_at.1.call(&mut self.wasm, held.outcome)
    }

    /// A memory that the module exports.
    pub fn memory(&mut self, name: &str) -> Option<&[u8]> {
        let memory = self.exports.get_memory(&mut self.wasm, name)?;
        Some(memory.data(&self.wasm))
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

    /// Pages that did not cross when the component asked for them, as it had them already, since the instance was made.
    pub fn spared_pages(&self) -> u64 {
        self.wasm.data().spared_pages
    }

    /// Ends the instance, and with it the transaction that it may have had open.
    pub fn into_state(self) -> State {
        let mut state = self.wasm.into_data();
        state.store.rollback();
        state
    }
}

/// Where the component has put the replies of an exchange, and whose they are.
#[must_use = "it is to be let go before the next call"]
pub struct Held {
    /// The outcome.
    outcome: u32,
    answers: u32,
    answers_bytes: usize,
    output: u32,
    output_bytes: usize,
    /// There is nothing but these two.
    is_two_lists: bool,
}

/// What an export returns: nothing, or something that lies in memory.
pub trait Returned: Sized {
    /// Whether it lies in memory.
    const IS_IN_MEMORY: bool;

    /// Reads it from where it lies.
    fn lift_from(memory: &[u8], at: usize) -> Called<Self>;
}

impl Returned for () {
    const IS_IN_MEMORY: bool = false;

    fn lift_from(_memory: &[u8], _at: usize) -> Called<Self> {
        Ok(())
    }
}

impl<T: Lift, E: Lift> Returned for Result<T, E> {
    // A result of nothing in either case is one flat number; there is none in `wit/engine`.
    const IS_IN_MEMORY: bool = {
        assert!(Self::SHAPE.flat > 1, "this result is not returned in memory");
        true
    };

    fn lift_from(memory: &[u8], at: usize) -> Called<Self> {
        Self::lift(memory, aligned(at, Self::SHAPE.align)?)
    }
}

/// The outcome that the component has put at this address: the fields of `resp.outcome`, in their order.
fn lift_held(memory: &[u8], outcome: u32) -> Called<Outcome<Replies>> {
    let mut fields = Place::at(aligned(size(outcome), resp::Outcome::SHAPE.align)?);
    let at = fields.of::<Vec<Answer>>();
    let (first, answers): (_, Vec<Answer>) = (u32::lift(memory, at)?, Lift::lift(memory, at)?);
    let at = fields.of::<Vec<u8>>();
    let (output, output_bytes) = (u32::lift(memory, at)?, size(u32::lift(memory, at + 4)?));
    piece(memory, size(output), output_bytes)?;
    let wake_after_ms = Lift::lift(memory, fields.of::<Option<u64>>())?;
    let shutdown = Lift::lift(memory, fields.of::<bool>())?;
    let for_peers: Vec<u8> = Lift::lift(memory, fields.of::<Vec<u8>>())?;
    let held = Held {
        outcome,
        answers: first,
        answers_bytes: answers.len().saturating_mul(Answer::SHAPE.size),
        output,
        output_bytes,
        is_two_lists: for_peers.is_empty() && answers.iter().all(|answer| answer.state.is_none()),
    };
    Ok(Outcome { answers, output: Replies::Held(held), wake_after_ms, shutdown, for_peers })
}

/// The name of what frees an export's answer.
fn post_of(name: &str) -> String {
    format!("cabi_post_{name}")
}

/// A flat parameter, of the type that the function has there.
fn value((&flat, of): (&u64, &ValType)) -> Called<Val> {
    match of {
        // The upper half is empty.
        ValType::I32 => Ok(Val::I32(u32::try_from(flat)?.cast_signed())),
        ValType::I64 => Ok(Val::I64(flat.cast_signed())),
        ValType::F64 => Ok(Val::F64(flat)),
        other => bail!("a parameter of type {other}"),
    }
}

/// The instance, and the function that is called most.
fn instantiate(component: &Component, wasm: &mut wasmtime::Store<State>) -> Called<(wasmtime::Instance, ExchangeAt)> {
    let exports = component.instance_pre.instantiate(&mut *wasm)?;
    wasm.data_mut().abi = Some(Abi::of(exports, &mut *wasm)?);
    let name = export!(
        orbweaver_engine_resp, "resp", call_exchange_at, "exchange-at", (now_us: u64, begun: Option<u64>, input: &[u8], whose: &Deliveries) -> resp::Outcome
    );
    let exchange_at = exports.get_typed_func(&mut *wasm, name)?;
    let post = exports.get_typed_func(&mut *wasm, &post_of(name))?;
    Ok((exports, (exchange_at, post)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_whose_replies_are_held_is_that_of_wit() -> Called<()> {
        let mut memory = vec![0; 256];
        let mut put = |at: usize, bytes: &[u8]| memory.iter_mut().skip(at).zip(bytes).for_each(|(place, &byte)| *place = byte);
        // Two answers at 128, without states, eight bytes of replies at 240.
        let words = [128, 2, 240, 8, 1, 0, 77, 0, 1, 0, 0, 0_u32];
        put(16, &words.map(u32::to_le_bytes).concat());
        put(128, &[5]);
        put(128 + Answer::SHAPE.size, &[6]);
        put(240, b"+OK\r\n:1\n");
        let (held, outcome) = (lift_held(&memory, 16)?, resp::Outcome::lift(&memory, 16)?);
        let connections = |answers: &[Answer]| answers.iter().map(|answer| answer.connection).collect::<Vec<_>>();
        assert_eq!((connections(&held.answers), connections(&outcome.answers)), (vec![5, 6], vec![5, 6]));
        assert_eq!((held.wake_after_ms, held.shutdown, &held.for_peers), (outcome.wake_after_ms, outcome.shutdown, &outcome.for_peers));
        assert_eq!((held.wake_after_ms, held.shutdown), (Some(77), true));
        let Replies::Held(Held { output, output_bytes, is_two_lists, .. }) = held.output else { bail!("the replies are not held") };
        assert_eq!(piece(&memory, size(output), output_bytes)?, outcome.output);
        assert!(is_two_lists && lift_held(&memory, 17).is_err());
        Ok(())
    }
}
