//! Sessions: bytes in, one pass down, one batch, bytes out.
//!
//! [`Engine::exchange`] takes what the sockets of a host delivered, cuts it into requests ([`crate::resp`]), *plans* them
//! (dispatch, arity, authentication, MULTI: `plan.rs`), *runs* what touches data as one group in one transaction (`run.rs`), and
//! hands the replies back after the commit.

mod ahead;
mod answers;
mod blocking;
mod connection;
mod group;
mod peers;
mod plan;
mod pubsub;
mod rows;
mod run;
mod server;
mod straight;

pub use connection::{Connection, ReplyMode};
pub(crate) use peers::put_bytes;
pub use peers::{PeerMessage, Peers};
pub(crate) use plan::wrong_arity;
pub use pubsub::{Subscribers, Subscriptions, Topic};
pub(crate) use run::{Message, VERSION_BLOCK};
pub use server::{Server, Stats, Totals};

use crate::db::Versions;
use crate::environment::Environment;
use crate::error::Result;
use crate::events::Classes;
use crate::layout::{self, Catalog, Layout};
use crate::resp::request::{Parsed, RequestLimits, parse_request_into};
use crate::settings::Settings;
use crate::store::Store;
use crate::transaction::{Censuses, Memory};
use answers::{Answers, Together};
use blocking::Waiters;
use bytes::{Buf, Bytes};
use connection::Connections;
use group::{Group, MAX_GROUP, comes_again};
use peers::Questions;
use plan::{Call, Job, Planned, Work};
use pubsub::Push;
use run::{Done, Product, Ran};
use std::collections::BTreeMap;

/// The replies of one group should not hold more bytes than this.
const MAX_REPLY_BYTES: usize = 16 << 20;
/// A call ends behind a group whose replies and messages hold more bytes than this.
const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// Unauthenticated clients, and inline commands, are held to Redis' limits.
const MAX_INLINE_BYTES: usize = 64 << 10;

/// [`Answer::needed`] of a connection that waits in a blocking command.
pub const BLOCKED: usize = usize::MAX;

/// What a socket delivered: everything that has not been consumed yet.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The connection, as in [`Engine::connect`].
    pub connection: u64,
    /// The bytes.
    pub input: Bytes,
}

/// What a connection gets back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The connection.
    pub connection: u64,
    /// How many bytes of the input are done with.
    pub consumed: usize,
    /// How many bytes of input there must be, counted from the consumed ones on, before another call can do anything.
    /// [`BLOCKED`]: the connection waits in a blocking command. Its request is not consumed before it is answered, in whichever call.
    pub needed: usize,
    /// Bytes to send.
    pub output: Vec<u8>,
    /// Close the connection after sending.
    pub close: bool,
    /// The connection's state where it has changed: for [`Engine::connect`] in an instance that replaces this one.
    pub state: Option<Vec<u8>>,
}

impl Answer {
    /// Whether requests are left that another call can run, of a delivery of `input` bytes.
    fn is_cut_short(&self, input: usize) -> bool {
        !self.close && self.needed == 0 && self.consumed < input
    }

    /// Adds a reply, and the bytes of the request that were kept until there was one.
    fn take(&mut self, length: usize, reply: &[u8], silent: bool) {
        self.consumed += length;
        self.needed = if self.needed == BLOCKED { 0 } else { self.needed };
        if !silent {
            self.output.extend_from_slice(reply);
        }
    }

    /// Adds what a further call answered.
    fn go_on(&mut self, next: Self) {
        self.consumed += next.consumed;
        // A message alone says nothing of the input.
        if next.consumed > 0 || next.needed > 0 {
            self.needed = next.needed;
        }
        self.output.extend_from_slice(&next.output);
        self.close |= next.close;
        self.state = next.state.or(self.state.take());
    }
}

/// What [`Engine::exchange`] returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// An answer for each delivery, in their order, and behind them one for each other connection that gets messages, waits no more
    /// or is to be closed.
    pub answers: Vec<Answer>,
    /// After how many milliseconds a wait ends: there should be a call then, if only without deliveries.
    pub wake_after_ms: Option<u64>,
    /// A client asked the server to stop.
    pub shutdown: bool,
    /// What the other instances on the store are to hear, see [`Engine::hear`]: before the answers are sent. Empty without others.
    pub for_peers: Vec<u8>,
}

/// The engine: a store, a layout on it, and the connections that it serves.
pub struct Engine {
    pub(crate) store: Box<dyn Store>,
    pub(crate) layout: Box<dyn Layout>,
    pub(crate) environment: Box<dyn Environment>,
    pub(crate) catalog: Catalog,
    /// The store's epoch that `catalog` was loaded at.
    pub(crate) catalog_epoch: Option<u64>,
    pub(crate) versions: Versions,
    connections: Connections,
    waiters: Waiters,
    questions: Questions,
    /// What other instances have said since the last call.
    heard: Vec<Bytes>,
    pub(crate) server: Server,
    /// How many requests the next group may hold, unless they are a row.
    group_limit: usize,
    /// How many bytes a reply of the last group has taken, in the mean.
    reply_bytes: usize,
    /// A group has been committed in this call, or has answered much: what is left is for the next one.
    has_committed: bool,
    /// What is to be sent of what has happened between the calls.
    pub(crate) happened: Vec<Message>,
    /// What the last group's transaction has left for the next one to use.
    memory: Option<Box<Memory>>,
    /// How many of the next groups are not to [go straight](straight).
    straight_rests: u32,
    /// How many more groups that remove keys are not tried either, as what is under these mostly is no string.
    removal_rests: u32,
    /// What draws from large collections know of them.
    pub(crate) censuses: Censuses,
    /// Between calls: room for the next group.
    group: Group,
    /// Empty lists, for the arguments of the next requests.
    spare_args: Vec<Vec<Bytes>>,
}

/// What has become of a request.
enum Step {
    /// It is on its way, and consumed.
    Taken,
    /// What was before it has run: it is to be taken again.
    Again,
    /// It is not consumed, and neither is what is behind it. How much input must be there, as in [`Answer::needed`].
    Left {
        /// Bytes.
        needed: usize,
    },
}

impl Engine {
    /// An engine on `store`, with the layout of the settings.
    ///
    /// # Errors
    /// What opening the layout returns, see [`layout::open`].
    pub fn open(mut store: Box<dyn Store>, environment: Box<dyn Environment>, settings: Settings) -> Result<Self> {
        let layout = layout::open(&settings, store.as_mut())?;
        Ok(Self::with_layout(store, layout, environment, settings))
    }

    /// An engine with a layout that was opened on `store`. It has no more dbs than the layout.
    #[must_use]
    pub fn with_layout(store: Box<dyn Store>, layout: Box<dyn Layout>, environment: Box<dyn Environment>, mut settings: Settings) -> Self {
        settings.databases = settings.databases.min(layout.max_databases());
        let server = Server::new(settings, environment.now_us() / 1000);
        Self {
            store,
            layout,
            environment,
            catalog: Catalog { spaces: Vec::new() },
            catalog_epoch: None,
            versions: Versions::default(),
            connections: Connections::default(),
            waiters: Waiters::new(server.peers.exist()),
            questions: Questions::default(),
            heard: Vec::new(),
            server,
            group_limit: MAX_GROUP,
            reply_bytes: 0,
            has_committed: false,
            happened: Vec::new(),
            memory: None,
            straight_rests: 0,
            removal_rests: 0,
            censuses: Censuses::default(),
            group: Group::default(),
            spare_args: Vec::new(),
        }
    }

    /// Settings, facts and counters: what INFO and CONFIG show.
    pub fn server(&mut self) -> &mut Server {
        &mut self.server
    }

    /// Announces a connection under a number of the host's choice, which CLIENT ID shows: a new one for each connection, ascending.
    /// `address` is the client's, for CLIENT LIST; `state` is what an earlier instance gave for it.
    pub fn connect(&mut self, connection: u64, address: &str, state: Option<&[u8]>) {
        let now_ms = self.environment.now_us() / 1000;
        let authenticated = self.server.settings.password.is_none();
        self.server.stats.connections_received += 1;
        self.connections.add(connection, address, state, authenticated, now_ms);
        if let Some(added) = self.connections.get(connection) {
            self.server.subscribers.add_all(connection, &added.subscriptions);
        }
        self.reserve_ahead();
        self.server.connected_clients = self.connections.len();
    }

    /// Forgets a connection.
    pub fn disconnect(&mut self, connection: u64) {
        if let Some(removed) = self.connections.remove(connection) {
            self.server.subscribers.remove_all(connection, &removed.subscriptions);
        }
        self.waiters.forget(connection);
        self.questions.forget(connection);
        self.server.connected_clients = self.connections.len();
    }

    /// Runs everything that is whole in the deliveries and answers it, in as few transactions as possible; replies are only returned
    /// for what has been committed. Where replies grow large, the requests that are left are not consumed (with `needed` 0): they are
    /// for the next call.
    pub fn exchange(&mut self, deliveries: &[Delivery]) -> Outcome {
        let mut outcome = self.exchange_once(deliveries);
        while outcome.answers.iter().map(|answer| answer.output.len()).sum::<usize>() < MAX_REPLY_BYTES {
            let pairs = deliveries.iter().zip(&outcome.answers);
            let left = pairs.filter(|(delivery, answer)| answer.is_cut_short(delivery.input.len()));
            let left: Vec<Delivery> = left
                .map(|(delivery, answer)| Delivery { connection: delivery.connection, input: delivery.input.slice(answer.consumed..) })
                .collect();
            if left.is_empty() {
                break;
            }
            let next = self.exchange_once(&left);
            outcome.shutdown |= next.shutdown;
            outcome.wake_after_ms = next.wake_after_ms;
            outcome.for_peers.extend_from_slice(&next.for_peers);
            for answer in next.answers {
                match outcome.answers.iter_mut().find(|before| before.connection == answer.connection) {
                    Some(before) => before.go_on(answer),
                    None => outcome.answers.push(answer),
                }
            }
        }
        outcome
    }

    /// As [`Engine::exchange`], but commits once: what does not belong to the same group is not consumed. So a host whose instance is
    /// lost knows that nothing of the call has been written, or all of it.
    // Large: it would be in the component twice.
    #[inline(never)]
    pub fn exchange_once(&mut self, deliveries: &[Delivery]) -> Outcome {
        let now_ms = self.environment.now_us() / 1000;
        let mut answers = Answers::to(deliveries.iter().map(|delivery| delivery.connection));
        let mut group = std::mem::take(&mut self.group);
        self.has_committed = false;
        self.waiters.time_out(now_ms);
        let happened = std::mem::take(&mut self.happened);
        self.send(&happened, &mut answers);
        if self.server.peers.exist() {
            let appeared = self.act_on_what_was_heard(now_ms, &mut answers);
            Job::wake(appeared).into_iter().for_each(|job| group.push(job));
            self.run_answered(now_ms, &mut answers);
        }
        for (position, delivery) in deliveries.iter().enumerate() {
            let connection = delivery.connection;
            let waits = self.waiters.holds(connection) || self.questions.hold(connection);
            if self.connections.get(connection).is_some() && !waits {
                self.take_requests(delivery, position, now_ms, &mut group, &mut answers);
            } else if let Some(answer) = answers.at(position) {
                if waits {
                    answer.needed = if self.questions.is_answered(connection) { 0 } else { BLOCKED };
                    continue;
                }
                // Nobody has announced it, or it is forgotten: there is nothing to go on with.
                (answer.consumed, answer.close) = (delivery.input.len(), true);
            }
        }
        self.finish(&mut group, now_ms, &mut answers);
        self.group = group;
        self.answer_waiters(&mut answers);
        self.reserve_ahead();
        self.close_connections(&mut answers);
        let mut answers = answers.into_list();
        for answer in &mut answers {
            answer.state = self.connections.get(answer.connection).and_then(Connection::take_changed_state);
        }
        // A wait ends when the clock is past its deadline.
        let deadlines_ms = [self.waiters.first_deadline_ms(), self.questions.first_deadline_ms()];
        let wake_after_ms = deadlines_ms.into_iter().flatten().min().map(|at| at.saturating_sub(now_ms).saturating_add(1));
        Outcome { answers, wake_after_ms, shutdown: std::mem::take(&mut self.server.shutdown), for_peers: self.tell_peers() }
    }

    /// Cuts one delivery into requests and plans them; runs the group early where a request must see its outcome.
    #[inline(never)]
    fn take_requests(&mut self, delivery: &Delivery, position: usize, now_ms: u64, group: &mut Group, answers: &mut Answers) {
        let mut input = delivery.input.clone();
        let (mut consumed, mut needed) = (0, 0);
        while let Some(connection) = self.connections.get(delivery.connection).filter(|connection| !connection.closing) {
            let limits = RequestLimits {
                max_bulk_bytes: u64::try_from(self.server.settings.max_string_bytes).unwrap_or(u64::MAX),
                max_args: self.server.settings.max_args,
                max_inline_bytes: MAX_INLINE_BYTES,
                authenticated: connection.authenticated,
            };
            if input.is_empty() || self.has_committed {
                break;
            }
            match parse_request_into(self.spare_args.pop().unwrap_or_default(), &input, &limits) {
                Parsed::Incomplete { needed: whole } => {
                    needed = whole;
                    break;
                }
                Parsed::Broken { message } => {
                    group.push(self.refuse(delivery.connection, position, &message));
                    consumed += input.len();
                    break;
                }
                Parsed::Request { args, used } => {
                    let mut taken = used;
                    if let Some(command) = plan::plain_command(connection, &args, now_ms) {
                        self.server.stats.commands_processed += 1;
                        let (db, protocol) = (connection.db, connection.protocol);
                        let work = Work::Call(Call { command, args, db, protocol });
                        group.push(Job { delivery: position, silent: false, protocol, work });
                        taken += self.take_again(&input, used, group);
                    } else {
                        match self.take_other_request(delivery.connection, position, args, used, now_ms, group, answers) {
                            Step::Taken => {}
                            Step::Again => continue,
                            Step::Left { needed: whole } => {
                                needed = whole;
                                break;
                            }
                        }
                    }
                    consumed += taken;
                    input.advance(taken.min(input.len()));
                    if group.room(self.group_limit, || self.may_take_a_row()) == 0 {
                        self.finish(group, now_ms, answers);
                    }
                }
            }
        }
        if let Some(answer) = answers.at(position) {
            (answer.consumed, answer.needed) = (consumed, needed);
        }
        if group.room(self.group_limit, || self.may_take_a_row()) == 0 {
            self.finish(group, now_ms, answers);
        }
    }

    /// Takes the last job of the group, which is the request of `length` bytes that the input begins with, as often as it comes again. Returns
    /// how many bytes that is.
    fn take_again(&mut self, input: &[u8], length: usize, group: &mut Group) -> usize {
        if !comes_again(input, length) {
            return 0;
        }
        let room = group.room(self.group_limit, || self.may_take_a_row());
        let times = group.take_again(input, length, room, self.server.wanted_events() != Classes::NONE, self.store.as_ref());
        self.server.stats.commands_processed += u64::try_from(times).unwrap_or(0);
        times * length
    }

    /// Plans a request that is not like most; runs the group early where it must see its outcome.
    #[allow(clippy::too_many_arguments, reason = "where a request has come from, and where its job and its reply go")]
    fn take_other_request(
        &mut self,
        id: u64,
        position: usize,
        args: Vec<Bytes>,
        length: usize,
        now_ms: u64,
        group: &mut Group,
        answers: &mut Answers,
    ) -> Step {
        let notifies = self.server.settings.notify_keyspace_events.tell_anything();
        let Some(connection) = self.connections.get(id) else { return Step::Left { needed: 0 } };
        let are_waits = || !self.waiters.is_empty() || group.jobs().iter().any(Job::may_wait);
        let asks = self.server.peers.exist() && plan::concerns_peers(&args, connection);
        if !group.is_empty() && (asks || plan::must_see_the_outcome_so_far(&args, connection, are_waits, notifies)) {
            self.finish(group, now_ms, answers);
            return Step::Again;
        }
        self.server.stats.commands_processed += u64::from(!args.is_empty());
        if asks {
            self.ask_peers(id, &args, length, now_ms);
            return Step::Left { needed: BLOCKED };
        }
        if plan::is_http(&args) {
            connection.mute = true;
            self.connections.close(id);
            return Step::Left { needed: 0 };
        }
        match self.plan(id, position, args, length, now_ms) {
            Planned::Nothing => {}
            Planned::Job(job) => {
                let may_wait = job.may_wait();
                group.push(job);
                if may_wait {
                    // It is consumed when it is answered; what is behind it depends on that.
                    return Step::Left { needed: 0 };
                }
            }
            Planned::Alone(job) => {
                self.finish(group, now_ms, answers);
                group.push(job);
                self.finish(group, now_ms, answers);
            }
        }
        Step::Taken
    }

    /// Reserves versions between calls, before they run out: a commit of its own within a call would look like one of its commands.
    fn reserve_ahead(&mut self) {
        if self.versions.end.saturating_sub(self.versions.next) < VERSION_BLOCK / 4 && !self.store.limits().read_only {
            // Where that fails, whoever needs a version is told.
            let _ = self.reserve_versions(VERSION_BLOCK);
        }
    }

    /// Runs the group and hands its replies out, behind each one the messages that its job has sent.
    #[inline(never)]
    fn finish(&mut self, group: &mut Group, now_ms: u64, answers: &mut Answers) {
        let Ran { done, replies } = self.run_group(group.jobs(), now_ms);
        self.has_committed |= group.jobs().iter().any(Job::needs_the_store);
        let mut bytes = replies.len();
        if let Some(answer) = only_answer(group.jobs(), &done, answers) {
            answer.output = replies;
            if answer.output.capacity() / 4 > answer.output.len() {
                // More was expected.
                answer.output.shrink_to_fit();
            }
        } else {
            make_room(group.jobs(), &done, answers);
            let mut together = Together::default();
            for (job, Done { product, messages }) in group.jobs().iter().zip(done) {
                if let (Product::Reply(reply), Work::Call(_) | Work::Again(_), false) = (&product, &job.work, job.silent)
                    && messages.is_empty()
                {
                    together.add(job.delivery, reply.clone(), &replies, answers);
                    continue;
                }
                together.hand_out(&replies, answers);
                if let Some(answer) = answers.at(job.delivery) {
                    match (product, &job.work) {
                        (Product::Reply(reply), work) => {
                            let length = if let Work::Blocking(call) = work { call.length } else { 0 };
                            answer.take(length, replies.get(reply).unwrap_or_default(), job.silent);
                        }
                        (Product::Wait, _) => answer.needed = BLOCKED,
                        // No connection has asked for them.
                        (Product::Outcomes(_), _) => {}
                    }
                }
                bytes += self.send(&messages, answers);
            }
            together.hand_out(&replies, answers);
        }
        let requests = group.requests();
        group.clear(&mut self.spare_args);
        self.has_committed |= bytes > MAX_MESSAGE_BYTES;
        if let Some(average) = bytes.checked_div(requests) {
            // Where replies are large, the next groups are small, so that their replies fit into memory together.
            self.group_limit = MAX_REPLY_BYTES.checked_div(average).unwrap_or(MAX_GROUP).clamp(1, MAX_GROUP);
            self.reply_bytes = average;
        }
    }

    /// Adds messages to the answers of those who are to get them. Returns how many bytes they are.
    fn send(&mut self, messages: &[Message], answers: &mut Answers) -> usize {
        let mut bytes = 0;
        for message in messages {
            bytes += match message {
                Message::Pushes(pushes) => self.push(pushes, answers),
                Message::Event(event) => {
                    let pushes = pubsub::publish_event(&self.server, &mut self.connections, event);
                    self.push(&pushes, answers)
                }
            };
        }
        bytes
    }

    fn push(&mut self, pushes: &[Push], answers: &mut Answers) -> usize {
        for push in pushes {
            match push {
                Push::Client { connection, bytes } => answers.append(*connection, bytes),
                Push::Peers(messages) => self.server.peers.tell_encoded(messages),
            }
        }
        pushes.iter().map(Push::len).sum()
    }

    /// Marks the answers of connections that are to be closed, and adds those of connections that delivered nothing.
    fn close_connections(&mut self, answers: &mut Answers) {
        for connection in self.connections.closing() {
            let Some(answer) = answers.of(connection) else { continue };
            answer.close = true;
            if self.connections.get(connection).is_some_and(|connection| connection.mute) {
                answer.output.clear();
            }
        }
    }
}

/// The answer that all replies of a group go to as they are, where there is but one, and nothing is in it yet.
fn only_answer<'a>(jobs: &[Job], done: &[Done], answers: &'a mut Answers) -> Option<&'a mut Answer> {
    let delivery = jobs.first()?.delivery;
    let is_plain = |job: &Job| job.delivery == delivery && !job.silent && !job.may_wait();
    let is_reply = |done: &Done| matches!(done.product, Product::Reply(_)) && done.messages.is_empty();
    let is_only = jobs.iter().all(is_plain) && done.iter().all(is_reply);
    answers.at(delivery).filter(|answer| is_only && answer.output.is_empty())
}

/// Makes room for large replies, all those to a delivery at once: an output that grew with each of them would take their size again
/// and again while it is moved.
fn make_room(jobs: &[Job], done: &[Done], answers: &mut Answers) {
    let length = |done: &Done| if let Product::Reply(reply) = &done.product { reply.len() } else { 0 };
    if done.iter().map(length).sum::<usize>() <= MAX_MESSAGE_BYTES {
        return;
    }
    let mut lengths: BTreeMap<usize, usize> = BTreeMap::new();
    for (job, done) in jobs.iter().zip(done).filter(|(job, _)| !job.silent) {
        *lengths.entry(job.delivery).or_default() += length(done);
    }
    for (delivery, length) in lengths {
        if let Some(answer) = answers.at(delivery) {
            answer.output.reserve_exact(length);
        }
    }
}

/// What a session command works with: one connection, and what it may tell or do of the others.
pub struct Session<'e> {
    /// The number of the connection that the command came on.
    pub id: u64,
    /// All connections of this instance.
    pub connections: &'e mut Connections,
    /// Those of them that wait in a blocking command.
    pub waiters: &'e mut Waiters,
    /// Settings, facts and counters.
    pub server: &'e mut Server,
    /// Randomness.
    pub environment: &'e mut dyn Environment,
    /// The clock of this call: Unix time in milliseconds.
    pub now_ms: u64,
    /// The command is a part of a transaction.
    pub within_exec: bool,
    /// The messages that the command sends.
    pushes: Vec<Push>,
}

impl Session<'_> {
    /// The connection that the command came on.
    ///
    /// # Errors
    /// Where it has gone meanwhile.
    pub fn connection(&mut self) -> Result<&mut Connection> {
        self.connections.get(self.id).ok_or(crate::error::Error::client("ERR the connection is gone"))
    }

    /// Subscribes the connection, if it has not yet.
    pub fn subscribe(&mut self, topic: Topic, name: &Bytes) {
        pubsub::subscribe(self.connections, self.server, self.id, topic, name);
    }

    /// Ends a subscription of the connection, if it has it.
    pub fn unsubscribe(&mut self, topic: Topic, name: &Bytes) {
        pubsub::unsubscribe(self.connections, self.server, self.id, topic, name);
    }

    /// Ends all subscriptions of the connection.
    pub fn unsubscribe_all(&mut self) {
        if let Some(connection) = self.connections.get(self.id) {
            let subscriptions = std::mem::take(&mut connection.subscriptions);
            self.server.subscribers.remove_all(self.id, &subscriptions);
        }
    }

    /// Sends a message to all who have subscribed to a channel of the topic, once the command has run. Returns how many messages
    /// that are.
    pub fn publish(&mut self, topic: Topic, channel: &Bytes, message: &Bytes) -> usize {
        let here = pubsub::publish_here(self.server, self.connections, topic, channel, message);
        let receivers = here.len() + self.server.peers.count_receivers(topic, channel);
        self.pushes.extend(here);
        self.pushes.extend(pubsub::publish_there(self.server, topic, channel, message));
        receivers
    }
}
