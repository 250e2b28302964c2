//! Orbweaver for embedders: the component on a store, and what keeps its clients going when an instance is lost.

use super::bindings::exports::orbweaver::engine::{maintenance, resp};
use super::builder::Builder;
use super::component::Component;
use super::exchange::{Answer, BLOCKED, Delivery, Joined, Outcome, Replies, Unsettled, first_of};
use super::imports::State;
use super::instance::{CallError, Held, Instance, Options};
use orbweaver_engine::environment::Environment;
use orbweaver_engine::resp::decode::{Value, decode_reply};
use orbweaver_engine::store::Store;
use std::collections::BTreeMap;

/// What a step of the sweep did.
pub type Swept = maintenance::Swept;
/// A part of a check.
pub type Findings = maintenance::Findings;

/// What is remembered of a connection outside of the instance.
#[derive(Clone, Debug)]
struct Known {
    address: String,
    state: Option<Vec<u8>>,
}

/// The component on a store.
///
/// One value serves any number of connections, one call at a time; for several threads open several on handles of one store.
/// A trap (a panic, the deadline, the memory limit) costs the connection that caused it an error: the instance is made anew on
/// the same store, and the others go on.
pub struct Orbweaver {
    component: Component,
    options: Options,
    instance: Option<Instance>,
    /// What a lost instance left, while a new one could not be made.
    orphan: Option<State>,
    connections: BTreeMap<u64, Known>,
    facts: Vec<(String, String)>,
    traps: u64,
    exchanges: u64,
    /// Commits of the instances that have been lost.
    lost_commits: u64,
    /// How many exchanges could not be written.
    failures: u64,
    /// How much input a call has lately run at most.
    group_bytes: usize,
    /// What the store was told last, see [`Store::let_commits_be_late`].
    commits_may_be_late: bool,
}

/// Once the replies of an exchange hold this many bytes, it leaves what follows to the next one.
const MAX_REPLY_BYTES: usize = 16 << 20;

/// What a call has left is given to the next one up to twice what it ran, or up to this many bytes.
const LEAST_ROOM: usize = 16 << 10;

/// The connection of [`Orbweaver::command`].
const OWN_CONNECTION: u64 = 0;

impl Orbweaver {
    /// Sets up what is not to be as usual.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(super) fn open(
        component: &Component,
        store: Box<dyn Store + Send>,
        environment: Box<dyn Environment + Send>,
        options: Options,
    ) -> Result<Self, CallError> {
        let instance = Instance::new(component, store, environment, &options).map_err(|(error, _)| error)?;
        Ok(Self {
            component: component.clone(),
            options,
            instance: Some(instance),
            orphan: None,
            connections: BTreeMap::new(),
            facts: Vec::new(),
            traps: 0,
            exchanges: 0,
            lost_commits: 0,
            failures: 0,
            group_bytes: LEAST_ROOM,
            commits_may_be_late: false,
        })
    }

    /// How many instances have been lost, to traps and to late writes that failed.
    #[must_use]
    pub const fn traps(&self) -> u64 {
        self.traps
    }

    /// How much input is worth an exchange of its own where more is there, in bytes: what two calls have lately run.
    #[must_use]
    pub const fn turn_bytes(&self) -> usize {
        self.group_bytes.saturating_mul(2)
    }

    /// How often `resp.exchange` has been called.
    #[must_use]
    pub const fn exchanges(&self) -> u64 {
        self.exchanges
    }

    /// How many batches the store has taken, or may have taken.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.lost_commits + self.instance.as_ref().map_or(0, Instance::commits)
    }

    /// How often the boundary of the component was crossed, calls of exports and of imports, since the present instance was made: a
    /// cost that no clock shows. 0 where there is no instance.
    #[must_use]
    pub fn crossings(&self) -> u64 {
        self.instance.as_ref().map_or(0, Instance::crossings)
    }

    /// How many pages of scans the component has asked for that were not copied into it, as it had them already, since the present instance was made. (What it
    /// knows to be unchanged it does not ask for.) 0 where there is no instance.
    #[must_use]
    pub fn spared_pages(&self) -> u64 {
        self.instance.as_ref().map_or(0, Instance::spared_pages)
    }

    /// A memory that the module exports: for `cargo xtask profile`.
    #[doc(hidden)]
    #[must_use]
    pub fn memory(&mut self, name: &str) -> Option<&[u8]> {
        self.instance.as_mut()?.memory(name)
    }

    /// Announces a connection. See `resp.connect` in `wit/engine`.
    ///
    /// # Errors
    /// Where no instance can be made.
    pub fn connect(&mut self, connection: u64, address: &str) -> Result<(), CallError> {
        self.announce(connection, Known { address: address.to_owned(), state: None })
    }

    fn announce(&mut self, connection: u64, known: Known) -> Result<(), CallError> {
        let (address, state) = (known.address.clone(), known.state.clone());
        self.connections.insert(connection, known);
        // An instance that is made now is told of all connections.
        let Some(instance) = &mut self.instance else { return self.instance().map(|_| ()) };
        let connected = instance.connect(connection, &address, state.as_deref());
        connected.or_else(|trap| self.replace(trap).map(|_| ()))
    }

    /// Takes what another instance on the store had [for its peers](Outcome::for_peers); the next [`Orbweaver::exchange`] acts upon it.
    /// See `resp.hear` in `wit/engine`.
    pub fn hear(&mut self, messages: &[u8]) {
        // An instance that is made anew asks for what it has not heard.
        let Some(instance) = &mut self.instance else { return };
        if let Err(trap) = instance.hear(messages) {
            let _ = self.replace(trap);
        }
    }

    /// Forgets a connection.
    pub fn disconnect(&mut self, connection: u64) {
        self.connections.remove(&connection);
        let Some(instance) = &mut self.instance else { return };
        if let Err(trap) = instance.disconnect(connection) {
            // The instance that follows, now or later, does not know the connection.
            let _ = self.replace(trap);
        }
    }

    /// What the host tells of itself for INFO. See `control.tell` in `wit/engine`.
    pub fn tell(&mut self, facts: Vec<(String, String)>) {
        self.facts = facts;
        let Some(instance) = &mut self.instance else { return };
        if let Err(trap) = instance.tell(&self.facts) {
            let _ = self.replace(trap);
        }
    }

    /// Runs every whole request of the deliveries, one for each connection. Where replies grow beyond some 16 MiB, what is left is
    /// not consumed (with `needed` 0): send them, and call again. See `resp.exchange` in `wit/engine`.
    ///
    /// A connection whose answer needs [`BLOCKED`] bytes waits in a blocking command; a later exchange, with whatever deliveries,
    /// answers it. Where [`Orbweaver::traps`] has changed, an instance was lost with its waits: deliver the same bytes again.
    ///
    /// What takes several calls of the component is written while the next of them runs, where the store can do that
    /// ([`Store::let_commits_be_late`]), and all of it before this returns. Should a write fail, every connection that has delivered
    /// something is told and closed, and the instance is made anew as after a trap.
    ///
    /// # Errors
    /// Only where the instance was lost and no other can be made: nothing can be said of the deliveries then.
    pub fn exchange(&mut self, deliveries: &[Delivery<'_>]) -> Result<Outcome, CallError> {
        let outcome = self.exchange_settled(deliveries)?;
        self.take(outcome)
    }

    /// As [`Orbweaver::exchange`], with the replies lent to `read`: they are not copied out of the component's memory, unless they took
    /// several calls. Where `read` panics they are not freed: drop the value then.
    ///
    /// # Errors
    /// As [`Orbweaver::exchange`]; then `read` is not called.
    pub fn exchange_lent<T>(&mut self, deliveries: &[Delivery<'_>], read: impl FnOnce(Outcome<&[u8]>) -> T) -> Result<T, CallError> {
        let (outcome, replies) = self.exchange_settled(deliveries)?.split();
        match replies {
            Replies::Held(held) => self.lend(&held, |replies| read(outcome.with(replies))),
            Replies::Taken(replies) => Ok(read(outcome.with(replies.as_slice()))),
        }
    }

    /// As [`Orbweaver::exchange`], but a part of it may not be written when this returns: nobody is to be told of the outcome before
    /// [`Orbweaver::settle`] has said that it holds. Another exchange may be made before that, of other connections; it is settled behind this
    /// one. `more_follow`: one will be, so that this one's last commits need not be waited for either. Other connections are those that have delivered
    /// nothing to this one, and are not answered by it: the engine does not run a request again that it has answered.
    pub fn exchange_ahead(&mut self, deliveries: &[Delivery<'_>], more_follow: bool) -> (Result<Outcome, CallError>, Unsettled) {
        let outcome = self.exchange_all(deliveries, more_follow);
        let unsettled = self.unsettled(deliveries);
        (outcome.and_then(|outcome| self.take(outcome)), unsettled)
    }

    /// An exchange that is written.
    fn exchange_settled(&mut self, deliveries: &[Delivery<'_>]) -> Result<Outcome<Replies>, CallError> {
        let outcome = self.exchange_all(deliveries, false);
        let unsettled = self.unsettled(deliveries);
        match self.settle(unsettled)? {
            Some(instead) => Ok(instead.into()),
            None => outcome,
        }
    }

    /// What of an exchange that has been made may not be written yet.
    fn unsettled(&mut self, deliveries: &[Delivery<'_>]) -> Unsettled {
        self.let_commits_be_late(false);
        let last_commit = self.store().map_or(0, |store| store.last_late_commit());
        // What is settled has nobody to be told of a failure.
        let delivered = if last_commit > 0 { lengths(deliveries) } else { Vec::new() };
        Unsettled { last_commit, failures: self.failures, delivered }
    }

    /// Waits until an exchange is written. Returns what it has come to instead, where that may have failed, or where it has been made behind one
    /// that has.
    ///
    /// # Errors
    /// As [`Orbweaver::exchange`].
    pub fn settle(&mut self, unsettled: Unsettled) -> Result<Option<Outcome>, CallError> {
        if unsettled.is_settled() { Ok(None) } else { self.wait_for(unsettled) }
    }

    /// As [`Orbweaver::settle`], of what is not settled.
    #[inline(never)]
    fn wait_for(&mut self, unsettled: Unsettled) -> Result<Option<Outcome>, CallError> {
        let Unsettled { last_commit, failures, delivered } = unsettled;
        if failures < self.failures {
            // Its instance is gone already.
            return Ok(Some(all_closed(&delivered, "storage: what this was built upon could not be written")));
        }
        let Err(error) = self.store().map_or(Ok(()), |store| store.settle(last_commit)) else { return Ok(None) };
        // What was committed behind it fails with it, and is not told once more to those who come.
        let _failed_with_it = self.store().map(|store| store.settle(u64::MAX));
        // Which of the requests have been written is not known, and the instance counts on all of them. It has answered waits, too.
        self.failures += 1;
        let text = self.replace(CallError::Trapped(format!("storage: {error}")))?;
        Ok(Some(all_closed(&delivered, &text)))
    }

    /// Lends replies that lie in the component's memory, and frees them.
    fn lend<T>(&mut self, held: &Held, read: impl FnOnce(&[u8]) -> T) -> Result<T, CallError> {
        // Not a new one: it holds other replies.
        let instance = self.instance.as_mut().ok_or_else(|| CallError::Trapped("the replies were lost with their instance".into()))?;
        let answer = read(instance.replies(held)?);
        if let Err(trap) = instance.let_go(held) {
            // What has been read holds. The instance that follows, now or later, is another one.
            let _ = self.replace(trap);
        }
        Ok(answer)
    }

    /// The replies as a copy, where they lie in the component's memory.
    fn take(&mut self, outcome: Outcome<Replies>) -> Result<Outcome, CallError> {
        let (outcome, replies) = outcome.split();
        let replies = match replies {
            Replies::Held(held) => self.lend(&held, <[u8]>::to_vec)?,
            Replies::Taken(replies) => replies,
        };
        Ok(outcome.with(replies))
    }

    /// Calls, until all is run.
    fn exchange_all(&mut self, deliveries: &[Delivery<'_>], more_follow: bool) -> Result<Outcome<Replies>, CallError> {
        let given_bytes: usize = deliveries.iter().map(|delivery| delivery.input.len()).sum();
        self.let_commits_be_late(more_follow || given_bytes > self.group_bytes);
        let outcome = self.exchange_once(deliveries)?;
        let left_bytes = self.note_what_ran(&outcome, given_bytes);
        let has_left = |(delivery, answer): (&Delivery<'_>, &Answer)| delivery.left(answer).is_some();
        if deliveries.iter().zip(&outcome.answers).any(has_left) {
            return self.exchange_rest(deliveries, outcome, left_bytes);
        }
        // Most calls are the only one.
        Ok(outcome)
    }

    /// Calls for what the first call has left.
    #[inline(never)]
    fn exchange_rest(
        &mut self,
        deliveries: &[Delivery<'_>],
        mut outcome: Outcome<Replies>,
        mut left_bytes: usize,
    ) -> Result<Outcome<Replies>, CallError> {
        let mut joined = Joined::default();
        loop {
            // A call runs as many requests as a group holds. What is far behind them would cross again in vain.
            let room = outcome.consumed().saturating_mul(2).max(LEAST_ROOM);
            joined.add(self.take(outcome)?);
            if joined.bytes() >= MAX_REPLY_BYTES {
                break;
            }
            let left = first_of(room, deliveries.iter().zip(joined.answers()).filter_map(|(delivery, answer)| delivery.left(answer)));
            if left.is_empty() {
                break;
            }
            outcome = self.exchange_once(&left)?;
            left_bytes = self.note_what_ran(&outcome, left_bytes);
        }
        Ok(joined.into_outcome().into())
    }

    /// Learns how much input a call runs. Returns how much is left of what was there.
    fn note_what_ran(&mut self, outcome: &Outcome<Replies>, given_bytes: usize) -> usize {
        let consumed = outcome.consumed();
        let left_bytes = given_bytes.saturating_sub(consumed);
        if consumed > 0 {
            self.group_bytes = if left_bytes > 0 { consumed } else { self.group_bytes.max(consumed) };
        }
        left_bytes
    }

    fn let_commits_be_late(&mut self, may_be_late: bool) {
        if self.commits_may_be_late == may_be_late {
            return;
        }
        if let Some(store) = self.store() {
            store.let_commits_be_late(may_be_late);
            self.commits_may_be_late = may_be_late;
        }
    }

    /// The store, also while there is no instance.
    fn store(&mut self) -> Option<&mut (dyn Store + Send + 'static)> {
        let state = self.instance.as_mut().map(Instance::state).or(self.orphan.as_mut());
        Some(state?.store.as_mut())
    }

    /// One call: its requests are committed together, or not at all.
    fn exchange_once(&mut self, deliveries: &[Delivery<'_>]) -> Result<Outcome<Replies>, CallError> {
        self.exchanges += 1;
        let instance = self.instance()?;
        let commits = instance.commits();
        let now_us = instance.state().environment.now_us();
        let called = match deliveries {
            [only] => instance.exchange_at(now_us, &[only.input], &resp::Deliveries::One(only.connection)),
            _ => {
                let input: Vec<&[u8]> = deliveries.iter().map(|delivery| delivery.input).collect();
                instance.exchange_at(now_us, &input, &whose(deliveries))
            }
        };
        // What was not written may be open still: that is one import less.
        instance.state().store.rollback();
        match called {
            Ok(mut outcome) => {
                for answer in &mut outcome.answers {
                    if let (Some(state), Some(known)) = (answer.state.take(), self.connections.get_mut(&answer.connection)) {
                        known.state = Some(state);
                    }
                }
                Ok(outcome)
            }
            Err(trap) => {
                let written = instance.commits() != commits;
                self.after_trap(deliveries, written, trap)
            }
        }
    }

    /// What becomes of a call that has trapped.
    #[inline(never)]
    fn after_trap(&mut self, deliveries: &[Delivery<'_>], written: bool, trap: CallError) -> Result<Outcome<Replies>, CallError> {
        let text = self.replace(trap)?;
        if written || deliveries.len() == 1 {
            return Ok(all_closed(&lengths(deliveries), &format!("internal: {text}")).into());
        }
        // Nothing was written: each runs again on its own, and the one that is to blame is found.
        let mut joined = Joined::default();
        for delivery in deliveries {
            // One of them may end the wait of one before it.
            let outcome = self.exchange_once(std::slice::from_ref(delivery))?;
            joined.add(self.take(outcome)?);
        }
        Ok(joined.into_outcome().in_the_order_of(deliveries).into())
    }

    /// Runs one command and returns its reply, an error reply included, as [`Value::Error`]. Commands share a connection of their own
    /// (number 0), so SELECT and the like hold for the next ones. Many commands at once are [`Orbweaver::exchange`]'s.
    ///
    /// # Errors
    /// Where the instance was lost and no other can be made, or where the engine closed the connection without a reply. A blocking
    /// command that finds nothing to take is an error, and nothing waits: while this call lasts nobody else could push. To wait,
    /// take a connection and [`Orbweaver::exchange`].
    pub fn command(&mut self, args: &[&[u8]]) -> Result<Value, CallError> {
        if !self.connections.contains_key(&OWN_CONNECTION) {
            self.connect(OWN_CONNECTION, "in-process")?;
        }
        let mut request = format!("*{}\r\n", args.len()).into_bytes();
        for arg in args {
            request.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
            request.extend_from_slice(arg);
            request.extend_from_slice(b"\r\n");
        }
        let outcome = self.exchange(&[Delivery { connection: OWN_CONNECTION, input: &request }])?;
        let mut own = outcome.answers.iter().filter(|answer| answer.connection == OWN_CONNECTION);
        if own.clone().any(|answer| answer.needed == BLOCKED) {
            // Only the wait is forgotten: the connection goes on as it was.
            let known = self.connections.get(&OWN_CONNECTION).cloned();
            self.disconnect(OWN_CONNECTION);
            known.map_or(Ok(()), |known| self.announce(OWN_CONNECTION, known))?;
            return Err(CallError::Refused("there is nothing to take, and a single command does not wait for it".into()));
        }
        if own.any(|answer| answer.close) {
            self.disconnect(OWN_CONNECTION);
        }
        match decode_reply(&outcome.output.into()) {
            Ok(Some((value, _))) => Ok(value),
            Ok(None) | Err(_) => Err(CallError::Refused("the command has no reply".into())),
        }
    }

    /// A bounded step of the sweep. Where it has removed expired keys, the next [`Orbweaver::exchange`] sends their events: one without
    /// deliveries, if nothing else is due. See `maintenance.sweep` in `wit/engine`.
    ///
    /// # Errors
    /// What the component says, or a trap.
    pub fn sweep(&mut self, budget: u32) -> Result<Swept, CallError> {
        self.maintain(|instance| instance.sweep(budget))
    }

    /// Verifies records. See `maintenance.check` in `wit/engine`.
    ///
    /// # Errors
    /// What the component says, or a trap.
    pub fn check(&mut self, start: Option<&[u8]>, budget: u32) -> Result<Findings, CallError> {
        self.maintain(|instance| instance.check(start, budget))
    }

    /// Writes live keys as JSON lines: the bytes, and where to go on. See `maintenance.dump` in `wit/engine`.
    ///
    /// # Errors
    /// What the component says, or a trap.
    pub fn dump(&mut self, start: Option<&[u8]>, max_bytes: u32) -> Result<(Vec<u8>, Option<Vec<u8>>), CallError> {
        self.maintain(|instance| instance.dump(start, max_bytes)).map(|chunk| (chunk.lines, chunk.next))
    }

    /// Reads whole JSON lines: how many keys were written, and how many left out as expired. See `maintenance.load` in `wit/engine`.
    ///
    /// # Errors
    /// What the component says, or a trap.
    pub fn load(&mut self, lines: &[u8]) -> Result<(u64, u64), CallError> {
        self.maintain(|instance| instance.load(lines)).map(|loaded| (loaded.keys, loaded.expired))
    }

    /// Calls an export of `maintenance`.
    pub(super) fn maintain<T>(&mut self, call: impl FnOnce(&mut Instance) -> Result<Result<T, String>, CallError>) -> Result<T, CallError> {
        self.call(call)?.map_err(CallError::Refused)
    }

    /// Calls an export. Where that ends in a trap, the instance is made anew.
    pub(super) fn call<T>(&mut self, call: impl FnOnce(&mut Instance) -> Result<T, CallError>) -> Result<T, CallError> {
        match call(self.instance()?) {
            Ok(answer) => Ok(answer),
            Err(trap) => self.replace(trap).and_then(|text| Err(CallError::Trapped(text))),
        }
    }

    /// The instance; a new one where the last one was lost.
    fn instance(&mut self) -> Result<&mut Instance, CallError> {
        if self.instance.is_none() {
            let state = self.orphan.take().ok_or_else(|| CallError::Trapped("the store was lost with an instance".into()))?;
            let mut instance = match Instance::new(&self.component, state.store, state.environment, &self.options) {
                Ok(instance) => instance,
                Err((error, state)) => {
                    self.orphan = Some(*state);
                    return Err(error);
                }
            };
            if let Err(error) = introduce(&mut instance, &self.facts, &self.connections) {
                self.orphan = Some(instance.into_state());
                return Err(error);
            }
            self.instance = Some(instance);
        }
        self.instance.as_mut().ok_or_else(|| CallError::Trapped("no instance".into()))
    }

    /// Replaces an instance that has trapped. Returns the text of the trap.
    fn replace(&mut self, trap: CallError) -> Result<String, CallError> {
        let text = match trap {
            CallError::Refused(text) | CallError::Trapped(text) => text.replace(['\r', '\n'], " "),
        };
        self.traps += 1;
        self.lost_commits = self.commits();
        self.orphan = self.instance.take().map(Instance::into_state).or(self.orphan.take());
        self.instance()?;
        Ok(text)
    }
}

/// Tells a new instance what the one before it knew of the host and of its connections.
fn introduce(instance: &mut Instance, facts: &[(String, String)], connections: &BTreeMap<u64, Known>) -> Result<(), CallError> {
    instance.tell(facts)?;
    for (&connection, Known { address, state }) in connections {
        instance.connect(connection, address, state.as_deref())?;
    }
    Ok(())
}

/// Where the input of each of several deliveries ends, one behind the other.
fn whose(deliveries: &[Delivery<'_>]) -> resp::Deliveries {
    let mut end = 0;
    let ends = deliveries.iter().map(|delivery| {
        end += delivery.input.len();
        resp::Delivery { connection: delivery.connection, end: u32::try_from(end).unwrap_or(u32::MAX) }
    });
    resp::Deliveries::Several(ends.collect())
}

/// The outcome of deliveries that have ended badly: each is told the error, in one line, and closed.
fn all_closed(delivered: &[(u64, u32)], error: &str) -> Outcome {
    let error = error.replace(['\r', '\n'], " ");
    let mut outcome = Outcome::default();
    for &(connection, consumed) in delivered {
        let answer = Answer { connection, consumed, needed: 0, end: 0, close: true, state: None };
        outcome.push(answer, &[format!("-ERR {error}\r\n").as_bytes()]);
    }
    outcome
}

/// The connections of deliveries, and how many bytes each has delivered.
fn lengths(deliveries: &[Delivery<'_>]) -> Vec<(u64, u32)> {
    let length = |delivery: &Delivery<'_>| u32::try_from(delivery.input.len()).unwrap_or(u32::MAX);
    deliveries.iter().map(|delivery| (delivery.connection, length(delivery))).collect()
}
