//! Planning: from a request to a job. What concerns the connection alone (SELECT, HELLO, MULTI, refusals) is done here, once;
//! what touches data becomes a job that may be run again.

use super::blocking::BlockingCall;
use super::{Engine, MAX_MESSAGE_BYTES};
use crate::command::flags::Flags;
use crate::command::{Command, Run, TransactionCommand, peers, table};
use crate::error::{self, Error, Result};
use crate::resp::reply::{Protocol, Reply};
use crate::session::connection::{Connection, ReplyMode};
use crate::session::peers::DbKey;
use crate::session::pubsub::Push;
use crate::typed::{Access, Operations};
use bytes::Bytes;
use std::collections::BTreeSet;

/// A request on its way: what is to be run, and whom the reply is for.
pub struct Job {
    /// Position of the delivery that it came in.
    pub delivery: usize,
    /// The reply is not wanted (CLIENT REPLY).
    pub silent: bool,
    /// The protocol of the reply.
    pub protocol: Protocol,
    /// What is to be done.
    pub work: Work,
}

/// [`Job::delivery`] of a job that no delivery brought.
const NO_DELIVERY: usize = usize::MAX;

/// What a job does.
pub enum Work {
    /// Nothing any more: this is the reply.
    Answered(Vec<u8>),
    /// As `Answered`, but with pushes for a reply: who wants no replies gets them all the same.
    Pushed(Vec<u8>),
    /// As `Answered`, and these messages are sent behind the reply.
    Published {
        /// The reply.
        reply: Vec<u8>,
        /// The messages.
        pushes: Vec<Push>,
    },
    /// One command.
    Call(Call),
    /// The call of the job before it so many times more: the client has sent the same bytes again. More than once only where it
    /// reads, or [has long rows](crate::command::Command::has_long_rows).
    Again(usize),
    /// A command that waits where there is nothing to take.
    Blocking(BlockingCall),
    /// EXEC.
    Transaction {
        /// The commands, in their order; what concerned the connection alone is answered already.
        parts: Vec<Work>,
        /// What must not have changed.
        watched: Vec<Watched>,
    },
    /// WATCH: the keys, in the db that is selected.
    Watch {
        /// The connection that watches.
        connection: u64,
        /// Its db.
        db: usize,
        /// The keys.
        keys: Vec<Bytes>,
    },
    /// Those who wait for keys look whether they are there: other instances say so.
    Wake(Vec<DbKey>),
    /// Operations of the typed interfaces, together.
    Operations(Operations),
}

impl Job {
    /// The job so many times more. It is a plain call.
    pub(super) const fn again(&self, times: usize) -> Self {
        let Self { delivery, silent, protocol, .. } = *self;
        Self { delivery, silent, protocol, work: Work::Again(times) }
    }

    /// How many requests it is.
    #[inline]
    pub(super) const fn times(&self) -> usize {
        if let Work::Again(times) = self.work { times } else { 1 }
    }

    /// A job that lets those who wait for these keys look for them; `None` for no keys. It has no reply.
    pub(super) fn wake(keys: BTreeSet<DbKey>) -> Option<Self> {
        let work = Work::Wake(keys.into_iter().collect());
        (!matches!(&work, Work::Wake(keys) if keys.is_empty())).then_some(Self {
            delivery: NO_DELIVERY,
            silent: true,
            protocol: Protocol::Resp2,
            work,
        })
    }
}

/// The call that a job behind these would run [again](Work::Again).
pub fn last_call(jobs: &[Job]) -> Option<&Call> {
    jobs.iter().rev().find_map(|job| if let Work::Call(call) = &job.work { Some(call) } else { None })
}

impl Work {
    /// The reply, where there is nothing to do any more.
    pub fn reply(&self) -> Option<&[u8]> {
        match self {
            Self::Answered(reply) | Self::Pushed(reply) | Self::Published { reply, .. } => Some(reply),
            Self::Call(_) | Self::Again(_) | Self::Blocking(_) | Self::Transaction { .. } => None,
            Self::Watch { .. } | Self::Wake(_) | Self::Operations(_) => None,
        }
    }
}

/// A data command with its arguments, ready to run.
#[derive(Clone)]
pub struct Call {
    /// The row of the table.
    pub command: &'static Command,
    /// The arguments; the first is the name.
    pub args: Vec<Bytes>,
    /// The db that was selected.
    pub db: usize,
    /// The protocol of its reply: within a transaction, HELLO may change it.
    pub protocol: Protocol,
}

impl Call {
    /// Whether the command is one that waits where there is nothing to take.
    const fn may_wait(&self) -> bool {
        matches!(self.command.run, Run::Blocking(_))
    }
}

/// The commands between MULTI and EXEC.
#[derive(Debug, Default)]
pub struct Queue {
    requests: Vec<Vec<Bytes>>,
    /// One of them was refused: EXEC will refuse them all.
    broken: bool,
}

impl Queue {
    /// A queue that was lost: EXEC refuses it.
    pub(super) const fn broken() -> Self {
        Self { requests: Vec::new(), broken: true }
    }

    /// How many commands are queued.
    #[must_use]
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }
}

/// A key as it was when WATCH came.
#[derive(Clone, Debug)]
pub struct Watched {
    /// The lock key of the key.
    pub lock_key: Bytes,
    /// Its revision; `None`: lost with an instance, counts as changed.
    pub revision: Option<u64>,
    /// The store's epoch: FLUSHALL, FLUSHDB and SWAPDB change keys without naming them.
    pub epoch: u64,
    /// When it would expire.
    pub expire_at_ms: Option<u64>,
}

impl Watched {
    /// A key of which nothing is known any more.
    pub(super) const fn lost() -> Self {
        Self { lock_key: Bytes::new(), revision: None, epoch: 0, expire_at_ms: None }
    }
}

/// What planning a request came to.
pub enum Planned {
    /// Nothing to do, nothing to say.
    Nothing,
    /// A job for the group.
    Job(Job),
    /// A job that is a group of its own: what it does, or learns, concerns whole commits.
    Alone(Job),
}

const EXEC_ABORTED: Error = Error::client("EXECABORT Transaction discarded because of previous errors.");
const NO_AUTH: Error = Error::client("NOAUTH Authentication required.");
/// How much of a request's arguments an error text repeats, in bytes.
const MAX_REPEATED: usize = 128;

/// The command of a request as most are: one that works on one key, on a connection of which nothing else is to be known, but what is noted that it has
/// come. `None` for any other, which is [`Engine::plan`]'s to plan.
#[inline]
pub fn plain_command(connection: &mut Connection, args: &[Bytes], now_ms: u64) -> Option<&'static Command> {
    let command = table::find(args.first()?)?;
    if !(command.is_plain() && command.takes(args.len()) && connection.is_plain()) {
        return None;
    }
    (connection.active_ms, connection.last_command) = (now_ms, command.name);
    Some(command)
}

/// Whether the request is this command.
fn is(args: &[Bytes], name: &str) -> bool {
    args.first().is_some_and(|own| own.eq_ignore_ascii_case(name.as_bytes()))
}

/// Ends a transaction whose EXEC itself was refused (`execCommandAbort` in Redis' `multi.c`).
fn abort(connection: &mut Connection, error: &Error) -> Error {
    connection.queue = None;
    connection.watched.clear();
    connection.may_have_changed = true;
    let text = error.to_string();
    Error::Client(format!("EXECABORT Transaction discarded because of: {}", text.strip_prefix("ERR ").unwrap_or(&text)).into())
}

/// What a web browser sends that was led to this port by a hostile page. Redis closes the connection without a word, before what the
/// page has hidden in the request's body is read as commands (`securityWarningCommand` in its `server.c`).
pub fn is_http(args: &[Bytes]) -> bool {
    is(args, "post") || is(args, "host:")
}

/// Whether the request must be planned only after everything before it has run: EXEC compares revisions, CONFIG changes the limits
/// and counters of all, CLIENT shows and ends waits where there are any. Where events are told, they go to those who have subscribed
/// before.
pub fn must_see_the_outcome_so_far(args: &[Bytes], connection: &Connection, are_waits: impl Fn() -> bool, notifies: bool) -> bool {
    let is_client = |args: &[Bytes]| is(args, "client");
    if is(args, "exec") {
        let queued = connection.queue.iter().flat_map(|queue| &queue.requests);
        return !connection.watched.is_empty() || queued.into_iter().any(|args| is_client(args)) && are_waits();
    }
    let subscribes = || {
        let command = args.first().and_then(|name| table::find(name));
        command.is_some_and(|command| matches!(command.run, Run::Subscription(_)) || ["hello", "reset"].contains(&command.name))
    };
    is(args, "config") || (is_client(args) && are_waits()) || (notifies && subscribes())
}

/// Whether the request is to be run once the other instances have said what they have to say to it: it concerns their connections, too,
/// and runs at once.
pub fn concerns_peers(args: &[Bytes], connection: &Connection) -> bool {
    let command = look_up(args).ok().filter(|command| peers::concerns_peers(command));
    command.is_some() && connection.authenticated && connection.queue.is_none() && !connection.awaits_only_messages()
}

/// Whether the work needs a transaction to itself: WATCH reads revisions, which others must not change unseen; an exclusive command
/// would make every command beside it exclusive, too. Messages that are many bytes for all receivers together do not wait for others.
fn is_alone(work: &Work) -> bool {
    match work {
        Work::Answered(_) | Work::Pushed(_) | Work::Again(_) | Work::Blocking(_) | Work::Wake(_) => false,
        Work::Published { pushes, .. } => pushes.iter().map(Push::len).sum::<usize>() > MAX_MESSAGE_BYTES,
        Work::Watch { .. } => true,
        // INFO counts what was asked before it, and nothing behind it.
        Work::Call(call) => call.command.is_exclusive(&call.args) || call.command.name == "info",
        Work::Transaction { parts, .. } => parts.iter().any(is_alone),
        Work::Operations(operations) => operations.has(Access::Exclusive),
    }
}

/// The table's row for a request, its arity checked.
fn look_up(args: &[Bytes]) -> Result<&'static Command> {
    let name = args.first().map(Bytes::as_ref).unwrap_or_default();
    let command = table::find(name).ok_or_else(|| unknown_command(args))?;
    let command = match (command.subcommands, args.get(1)) {
        ([], _) | (_, None) => command,
        (_, Some(second)) => table::find_subcommand(command, second).ok_or_else(|| unknown_subcommand(command, second))?,
    };
    if command.takes(args.len()) { Ok(command) } else { Err(wrong_arity(command.name)) }
}

/// The error for a wrong number of arguments.
pub fn wrong_arity(name: &str) -> Error {
    Error::Client(format!("ERR wrong number of arguments for '{name}' command").into())
}

fn unknown_command(args: &[Bytes]) -> Error {
    let (mut arguments, mut length) = (String::new(), 0);
    for arg in args.iter().skip(1) {
        if length >= MAX_REPEATED {
            break;
        }
        let most = MAX_REPEATED.saturating_sub(length);
        arguments.push_str(&format!("'{}' ", error::repeated(arg, most)));
        // The quotes and the space count, too.
        length += arg.iter().take(most).take_while(|&&byte| byte != 0).count() + 3;
    }
    let name = args.first().map(|name| error::repeated(name, MAX_REPEATED)).unwrap_or_default();
    Error::Client(format!("ERR unknown command '{name}', with args beginning with: {arguments}").into())
}

fn unknown_subcommand(command: &Command, name: &[u8]) -> Error {
    let shown = error::repeated(name, MAX_REPEATED);
    Error::Client(format!("ERR unknown subcommand '{shown}'. Try {} HELP.", command.name.to_ascii_uppercase()).into())
}

impl Engine {
    /// A job that answers a broken request and closes the connection.
    pub(super) fn refuse(&mut self, connection: u64, delivery: usize, message: &str) -> Job {
        self.connections.close(connection);
        let (protocol, silent) = self
            .connections
            .get(connection)
            .map_or((Protocol::Resp2, true), |connection| (connection.protocol, connection.reply_mode != ReplyMode::On));
        let mut reply = Reply::new(protocol);
        reply.error(&format!("ERR {message}"));
        Job { delivery, silent, protocol, work: Work::Answered(reply.into_bytes()) }
    }

    /// Plans one request of a connection, which has `length` bytes.
    pub(super) fn plan(&mut self, id: u64, delivery: usize, args: Vec<Bytes>, length: usize, now_ms: u64) -> Planned {
        let Some(connection) = self.connections.get(id).filter(|_| !args.is_empty()) else { return Planned::Nothing };
        connection.active_ms = now_ms;
        let work = self.plan_work(id, args, now_ms);
        let Some(connection) = self.connections.get(id) else { return Planned::Nothing };
        let silent = match connection.reply_mode {
            ReplyMode::On => false,
            ReplyMode::Off => true,
            ReplyMode::SkipNext => {
                connection.reply_mode = ReplyMode::Skip;
                true
            }
            ReplyMode::Skip => {
                connection.reply_mode = ReplyMode::On;
                true
            }
        };
        let protocol = connection.protocol;
        let work = work.unwrap_or_else(|error| {
            let mut reply = Reply::new(protocol);
            self.server.error(&mut reply, &error);
            Work::Answered(reply.into_bytes())
        });
        // Within EXEC the same call is a part that does not wait.
        let work = match work {
            Work::Call(call) if call.may_wait() => Work::Blocking(BlockingCall { connection: id, length, silent, call }),
            other => other,
        };
        let alone = is_alone(&work);
        let silent = silent && !matches!(work, Work::Pushed(_));
        let job = Job { delivery, silent, protocol, work };
        if alone { Planned::Alone(job) } else { Planned::Job(job) }
    }

    fn plan_work(&mut self, id: u64, args: Vec<Bytes>, now_ms: u64) -> Result<Work> {
        let Some(connection) = self.connections.get(id) else { return Ok(Work::Answered(Vec::new())) };
        let looked_up = look_up(&args).and_then(|command| {
            if !connection.authenticated && !command.flags.has(Flags::NO_AUTH) {
                return Err(NO_AUTH);
            }
            if connection.awaits_only_messages() && !runs_while_subscribed(command) {
                return Err(subscribed(command));
            }
            Ok(command)
        });
        let command = match looked_up {
            Ok(command) => command,
            Err(error) => {
                if let Some(queue) = &mut connection.queue {
                    queue.broken = true;
                }
                return Err(if is(&args, "exec") { abort(connection, &error) } else { error });
            }
        };
        connection.last_command = command.name;
        if let Some(queue) = &mut connection.queue
            && !runs_within_multi(command)
        {
            if command.flags.has(Flags::NO_MULTI) {
                queue.broken = true;
                return Err(Error::client("ERR Command not allowed inside a transaction"));
            }
            queue.requests.push(args);
            let mut reply = Reply::new(connection.protocol);
            reply.simple("QUEUED");
            return Ok(Work::Answered(reply.into_bytes()));
        }
        self.plan_call(id, command, args, now_ms, false)
    }

    /// Plans a command that is to run now: on its own, or as a part of EXEC.
    fn plan_call(&mut self, id: u64, command: &'static Command, args: Vec<Bytes>, now_ms: u64, within_exec: bool) -> Result<Work> {
        let Some(connection) = self.connections.get(id) else { return Ok(Work::Answered(Vec::new())) };
        let (db, protocol) = (connection.db, connection.protocol);
        connection.may_have_changed |= !command.run.is_data();
        let ok = |work: Result<()>| {
            work?;
            let mut reply = Reply::new(protocol);
            reply.ok();
            Ok(Work::Answered(reply.into_bytes()))
        };
        match &command.run {
            Run::Data(..) | Run::Blocking(_) => Ok(Work::Call(Call { command, args, db, protocol })),
            Run::Container => Err(wrong_arity(command.name)),
            Run::Session(run) | Run::Subscription(run) => {
                let mut session = self.session(id, now_ms, within_exec);
                let mut reply = Reply::new(protocol);
                run(&mut session, &args, &mut reply)?;
                let (reply, pushes) = (reply.into_bytes(), session.pushes);
                Ok(match command.run {
                    Run::Subscription(_) => Work::Pushed(reply),
                    _ if pushes.is_empty() => Work::Answered(reply),
                    _ => Work::Published { reply, pushes },
                })
            }
            Run::Transaction(TransactionCommand::Multi) => ok(begin_queue(connection)),
            Run::Transaction(TransactionCommand::Discard) => ok(discard(connection)),
            Run::Transaction(TransactionCommand::Unwatch) => {
                connection.watched.clear();
                ok(Ok(()))
            }
            Run::Transaction(TransactionCommand::Watch) => {
                if connection.queue.is_some() {
                    return Err(Error::client("ERR WATCH inside MULTI is not allowed"));
                }
                Ok(Work::Watch { connection: id, db, keys: args.get(1..).unwrap_or_default().to_vec() })
            }
            Run::Transaction(TransactionCommand::Exec) => self.plan_exec(id, now_ms),
        }
    }

    fn plan_exec(&mut self, id: u64, now_ms: u64) -> Result<Work> {
        let Some(connection) = self.connections.get(id) else { return Ok(Work::Answered(Vec::new())) };
        let queue = connection.queue.take().ok_or(Error::client("ERR EXEC without MULTI"))?;
        let watched = std::mem::take(&mut connection.watched);
        if queue.broken {
            return Err(EXEC_ABORTED);
        }
        // What changes the connection runs only if the watched keys are unchanged: they are looked at now, and again when the
        // transaction runs.
        if !watched.is_empty() && self.watched_have_changed(&watched, now_ms)? {
            return Ok(Work::Transaction { parts: Vec::new(), watched });
        }
        let mut parts = Vec::with_capacity(queue.requests.len());
        for args in queue.requests {
            let part = look_up(&args).and_then(|command| self.plan_call(id, command, args, now_ms, true));
            let protocol = self.connections.get(id).map_or(Protocol::Resp2, |connection| connection.protocol);
            parts.push(part.unwrap_or_else(|error| {
                let mut reply = Reply::new(protocol);
                self.server.error(&mut reply, &error);
                Work::Answered(reply.into_bytes())
            }));
        }
        Ok(Work::Transaction { parts, watched })
    }
}

/// The commands that a subscribed connection may send in RESP2 (`processCommand` in Redis' `server.c`).
fn runs_while_subscribed(command: &Command) -> bool {
    matches!(command.run, Run::Subscription(_)) || ["ping", "quit", "reset"].contains(&command.name)
}

fn subscribed(command: &Command) -> Error {
    let allowed = "only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context";
    Error::Client(format!("ERR Can't execute '{}': {allowed}", command.name).into())
}

/// The commands that are not queued (`processCommand` in Redis' `server.c`).
fn runs_within_multi(command: &Command) -> bool {
    match command.run {
        Run::Transaction(TransactionCommand::Unwatch) => false,
        Run::Transaction(_) => true,
        _ => ["quit", "reset"].contains(&command.name),
    }
}

fn begin_queue(connection: &mut Connection) -> Result<()> {
    if connection.queue.is_some() {
        return Err(Error::client("ERR MULTI calls can not be nested"));
    }
    connection.queue = Some(Queue::default());
    Ok(())
}

fn discard(connection: &mut Connection) -> Result<()> {
    if connection.queue.take().is_none() {
        return Err(Error::client("ERR DISCARD without MULTI"));
    }
    connection.watched.clear();
    Ok(())
}
