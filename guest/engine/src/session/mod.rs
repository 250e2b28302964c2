//! Sessions: bytes in, one pass down, one batch, bytes out.
//!
//! [`Engine::exchange`] takes what the sockets of a host delivered, cuts it into requests ([`crate::resp`]), *plans* them
//! (dispatch, arity, authentication, MULTI: `plan.rs`), *runs* what touches data as one group in one transaction (`run.rs`), and
//! hands the replies back after the commit.

mod connection;
mod plan;
mod run;
mod server;

pub use connection::{Connection, ReplyMode};
pub(crate) use plan::wrong_arity;
pub(crate) use run::VERSION_BLOCK;
pub use server::{Server, Stats};

use crate::db::Versions;
use crate::environment::Environment;
use crate::error::Result;
use crate::layout::{Catalog, Layout, orbweaver::Orbweaver};
use crate::resp::request::{Parsed, RequestLimits, parse_request};
use crate::settings::Settings;
use crate::store::Store;
use bytes::Bytes;
use connection::Connections;
use plan::{Job, Planned};
use run::Done;

/// Most requests that run in one transaction.
const MAX_GROUP: usize = 128;
/// The replies of one group should not hold more bytes than this.
const MAX_REPLY_BYTES: usize = 16 << 20;
/// Unauthenticated clients, and inline commands, are held to Redis' limits.
const MAX_INLINE_BYTES: usize = 64 << 10;

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

    /// Adds what a further call answered.
    fn go_on(&mut self, next: Self) {
        self.consumed += next.consumed;
        self.needed = next.needed;
        self.output.extend_from_slice(&next.output);
        self.close |= next.close;
        self.state = next.state.or(self.state.take());
    }
}

/// What [`Engine::exchange`] returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// An answer for each delivery, in their order, and behind them one for each other connection that is to be closed.
    pub answers: Vec<Answer>,
    /// A client asked the server to stop.
    pub shutdown: bool,
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
    pub(crate) server: Server,
    /// How many requests the next group may hold.
    group_limit: usize,
    /// A group has been committed in this call: what is left is for the next one.
    has_committed: bool,
}

impl Engine {
    /// An engine with the default layout on `store`.
    ///
    /// # Errors
    /// What opening the layout's keyspaces returns, see [`Orbweaver::open`].
    pub fn open(mut store: Box<dyn Store>, environment: Box<dyn Environment>, settings: Settings) -> Result<Self> {
        let layout = Box::new(Orbweaver::open(store.as_mut())?);
        let server = Server::new(settings, environment.now_us() / 1000);
        Ok(Self {
            store,
            layout,
            environment,
            catalog: Catalog { spaces: Vec::new() },
            catalog_epoch: None,
            versions: Versions::default(),
            connections: Connections::default(),
            server,
            group_limit: MAX_GROUP,
            has_committed: false,
        })
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
        self.reserve_ahead();
        self.server.connected_clients = self.connections.len();
    }

    /// Forgets a connection.
    pub fn disconnect(&mut self, connection: u64) {
        self.connections.remove(connection);
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
    pub fn exchange_once(&mut self, deliveries: &[Delivery]) -> Outcome {
        let now_ms = self.environment.now_us() / 1000;
        let mut answers: Vec<Answer> = Vec::with_capacity(deliveries.len());
        let mut group: Vec<Job> = Vec::new();
        self.has_committed = false;
        for delivery in deliveries {
            let connection = delivery.connection;
            if self.connections.get(connection).is_none() {
                // Nobody has announced it, or it is forgotten: there is nothing to go on with.
                answers.push(Answer { connection, consumed: delivery.input.len(), close: true, ..Answer::default() });
                continue;
            }
            answers.push(Answer { connection, ..Answer::default() });
            self.take_requests(delivery, now_ms, &mut group, &mut answers);
        }
        self.finish(&mut group, now_ms, &mut answers);
        self.reserve_ahead();
        self.close_connections(&mut answers);
        for answer in &mut answers {
            answer.state = self.connections.get(answer.connection).and_then(Connection::take_changed_state);
        }
        Outcome { answers, shutdown: std::mem::take(&mut self.server.shutdown) }
    }

    /// Cuts one delivery into requests and plans them; runs the group early where a request must see its outcome.
    fn take_requests(&mut self, delivery: &Delivery, now_ms: u64, group: &mut Vec<Job>, answers: &mut [Answer]) {
        let position = answers.len().saturating_sub(1);
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
            match parse_request(&input, &limits) {
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
                    if !group.is_empty() && plan::must_see_the_outcome_so_far(&args, connection) {
                        self.finish(group, now_ms, answers);
                        continue;
                    }
                    consumed += used;
                    input = input.slice(used.min(input.len())..);
                    self.server.stats.commands_processed += u64::from(!args.is_empty());
                    if plan::is_http(&args) {
                        connection.closing = true;
                        connection.mute = true;
                        break;
                    }
                    match self.plan(delivery.connection, position, args, now_ms) {
                        Planned::Nothing => {}
                        Planned::Job(job) => group.push(job),
                        Planned::Alone(job) => {
                            self.finish(group, now_ms, answers);
                            group.push(job);
                            self.finish(group, now_ms, answers);
                        }
                    }
                    if group.len() >= self.group_limit {
                        self.finish(group, now_ms, answers);
                    }
                }
            }
        }
        if let Some(answer) = answers.get_mut(position) {
            (answer.consumed, answer.needed) = (consumed, needed);
        }
    }

    /// Reserves versions between calls, before they run out: a commit of its own within a call would look like one of its commands.
    fn reserve_ahead(&mut self) {
        if self.versions.end.saturating_sub(self.versions.next) < VERSION_BLOCK / 4 && !self.store.limits().read_only {
            // Where that fails, whoever needs a version is told.
            let _ = self.reserve_versions(VERSION_BLOCK);
        }
    }

    /// Runs the group and hands its replies out.
    fn finish(&mut self, group: &mut Vec<Job>, now_ms: u64, answers: &mut [Answer]) {
        let jobs = std::mem::take(group);
        let replies: Vec<Vec<u8>> = self.run_group(&jobs, now_ms).into_iter().map(Done::into_reply).collect();
        self.has_committed |= jobs.iter().any(Job::needs_the_store);
        let bytes: usize = replies.iter().map(Vec::len).sum();
        if let Some(average) = bytes.checked_div(jobs.len()) {
            // Where replies are large, the next groups are small, so that their replies fit into memory together.
            self.group_limit = MAX_REPLY_BYTES.checked_div(average).unwrap_or(MAX_GROUP).clamp(1, MAX_GROUP);
        }
        for (job, reply) in jobs.iter().zip(replies) {
            if let Some(answer) = answers.get_mut(job.delivery).filter(|_| !job.silent) {
                if answer.output.is_empty() {
                    answer.output = reply;
                } else {
                    answer.output.extend_from_slice(&reply);
                }
            }
        }
    }

    /// Marks the answers of connections that are to be closed, and adds those of connections that delivered nothing.
    fn close_connections(&mut self, answers: &mut Vec<Answer>) {
        for connection in self.connections.closing() {
            match answers.iter_mut().find(|answer| answer.connection == connection) {
                Some(answer) => {
                    answer.close = true;
                    if self.connections.get(connection).is_some_and(|connection| connection.mute) {
                        answer.output.clear();
                    }
                }
                None => answers.push(Answer { connection, close: true, ..Answer::default() }),
            }
        }
    }
}

/// What a session command works with: one connection, and what it may tell or do of the others.
pub struct Session<'e> {
    /// The number of the connection that the command came on.
    pub id: u64,
    /// All connections of this instance.
    pub connections: &'e mut Connections,
    /// Settings, facts and counters.
    pub server: &'e mut Server,
    /// Randomness.
    pub environment: &'e mut dyn Environment,
    /// The clock of this call: Unix time in milliseconds.
    pub now_ms: u64,
}

impl Session<'_> {
    /// The connection that the command came on.
    ///
    /// # Errors
    /// Where it has gone meanwhile.
    pub fn connection(&mut self) -> Result<&mut Connection> {
        self.connections.get(self.id).ok_or(crate::error::Error::client("ERR the connection is gone"))
    }
}
