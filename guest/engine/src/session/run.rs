//! Running: a group of jobs in one transaction, again where the store asks for it.

use super::blocking::{BlockingCall, Waiters};
use super::connection::Connections;
use super::group::is_roomy;
use super::plan::{Call, Job, Watched, Work, last_call};
use super::pubsub::Push;
use super::straight::Attempt;
use super::{Engine, Server};
use crate::command::flags::Flags;
use crate::command::{Context, Run, Wait};
use crate::db::{Db, Named, Versions};
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::events::{Event, Events};
use crate::key_count::KeyCount;
use crate::last_found::LastFound;
use crate::layout::{Catalog, KeyAt, Kind, Layout, RecordKey, lock_key};
use crate::resp::reply::{Protocol, Reply};
use crate::store::{Limits, Scope, StoreError};
use crate::transaction::{Memory, Transaction};
use crate::typed::{Access, OperationError, Operations, Outcome};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Range;

/// How often a group is run again after conflicts before its clients are told.
const MAX_ATTEMPTS: u32 = 100;
/// A group whose changes are larger is committed before it goes on; or larger than half of what the store takes at once.
const MAX_PENDING_BYTES: usize = 4 << 20;
/// Most room that is made for replies before they are known.
const MAX_EXPECTED_BYTES: usize = 1 << 20;
/// How many versions are reserved at a time.
pub(crate) const VERSION_BLOCK: u64 = 4096;

/// What has become of a job.
pub struct Done {
    /// What it came to.
    pub product: Product,
    /// What is to be sent behind it, in order.
    pub messages: Vec<Message>,
}

/// What has become of jobs.
pub struct Ran {
    /// Of each of them, in their order.
    pub done: Vec<Done>,
    /// Their replies, one behind the other.
    pub replies: Vec<u8>,
}

/// What a job came to.
pub enum Product {
    /// A reply, for a connection: where it is among the replies.
    Reply(Range<usize>),
    /// Nothing yet: the connection waits.
    Wait,
    /// The outcomes of operations, for the caller.
    Outcomes(Box<std::result::Result<Vec<Outcome>, OperationError>>),
}

/// Something to send to subscribers.
pub enum Message {
    /// Messages that a client has published.
    Pushes(Vec<Push>),
    /// An event, for those who want to be told.
    Event(Event),
}

impl Done {
    /// A job that had nothing to do any more, or the reply that `otherwise` appends.
    fn planned(job: &Job, replies: &mut Reply, otherwise: impl FnOnce(&mut Reply)) -> Self {
        let messages = match &job.work {
            Work::Published { pushes, .. } => vec![Message::Pushes(pushes.clone())],
            _ => Vec::new(),
        };
        let start = replies.len();
        match job.work.reply() {
            Some(reply) => replies.raw(reply),
            None => otherwise(replies),
        }
        Self { product: Product::Reply(start..replies.len()), messages }
    }
}

impl Engine {
    /// Runs operations as a group of their own. The next exchange tells of their events, and answers those who have waited for them.
    pub(crate) fn run_operations(&mut self, operations: Operations) -> std::result::Result<Vec<Outcome>, OperationError> {
        let now_ms = self.environment.now_us() / 1000;
        self.reserve_ahead();
        let job = Job { delivery: 0, silent: true, protocol: Protocol::Resp2, work: Work::Operations(operations) };
        let Some(Done { product: Product::Outcomes(outcomes), messages }) = self.run_group(&[job], now_ms).done.pop() else {
            // A job of operations has outcomes.
            return Ok(Vec::new());
        };
        self.happened.extend(messages);
        *outcomes
    }

    /// How much room the replies to so many requests will take, as it seems: as much as the last ones, and a little more, for what outgrows its
    /// room is moved. A lone reply makes its own, and knows better.
    fn expected_bytes(&self, requests: usize) -> usize {
        let each = self.reply_bytes.saturating_add(self.reply_bytes / 32).saturating_add(8);
        if requests > 1 { requests.saturating_mul(each).min(MAX_EXPECTED_BYTES) } else { 0 }
    }

    /// Runs jobs in their order and tells what has become of each. Nothing is lost between them: where the group cannot be written as
    /// one, its halves are, down to single jobs.
    pub(super) fn run_group(&mut self, jobs: &[Job], now_ms: u64) -> Ran {
        let mut done = Vec::with_capacity(jobs.len());
        let requests: usize = jobs.iter().map(Job::times).sum();
        let mut replies = Reply::with_capacity(Protocol::Resp2, self.expected_bytes(requests));
        let (mut rest, mut width, mut attempts) = (jobs, jobs.len(), 0);
        while !rest.is_empty() {
            let group = rest.get(..width).unwrap_or(rest);
            let behind = last_call(jobs.get(..done.len()).unwrap_or_default());
            let (versions, ticket) = (self.versions, self.waiters.next_ticket());
            let (before, replied) = (done.len(), replies.len());
            let mut error = match self.attempt(behind, group, now_ms, &mut done, &mut replies) {
                Ok(()) => {
                    rest = rest.get(done.len().saturating_sub(before)..).unwrap_or_default();
                    attempts = 0;
                    continue;
                }
                Err(error) => error,
            };
            done.truncate(before);
            replies.truncate(replied);
            self.waiters.forget_since(ticket);
            if !matches!(error, Error::Store(StoreError::UnknownOutcome(_))) {
                self.versions = versions;
            }
            // What FLUSHALL and SWAPDB have done to the catalog is not in the store.
            self.catalog_epoch = None;
            attempts += 1;
            if error == Error::OutOfVersions && attempts < MAX_ATTEMPTS {
                // A transaction that makes very many collections needs few attempts all the same.
                match self.reserve_versions(VERSION_BLOCK << attempts.saturating_sub(1).min(10)) {
                    Ok(()) => continue,
                    Err(why) => error = why,
                }
            }
            let again = match &error {
                Error::Store(StoreError::TooLarge { .. } | StoreError::ReadOnly) if group.len() > 1 => {
                    width = group.len() / 2;
                    true
                }
                error => error.is_transient() && attempts < MAX_ATTEMPTS,
            };
            if !again {
                done.extend(group.iter().map(|job| self.failed(job, &error, &mut replies)));
                rest = rest.get(group.len()..).unwrap_or_default();
                attempts = 0;
            }
        }
        Ran { done, replies: replies.into_bytes() }
    }

    /// The reply to a job of a group that failed as a whole.
    fn failed(&mut self, job: &Job, error: &Error, replies: &mut Reply) -> Done {
        if let Work::Operations(_) = job.work {
            let outcomes = Err(OperationError { position: None, failure: error.clone().into() });
            return Done { product: Product::Outcomes(Box::new(outcomes)), messages: Vec::new() };
        }
        Done::planned(job, replies, |replies| {
            replies.set_protocol(job.protocol);
            (0..job.times()).for_each(|_| self.server.error(replies, error));
        })
    }

    /// Runs jobs, which come behind the call `last`, in one transaction and commits it. Adds what has become of those that it got to, the
    /// first of them at least; after an error that counts for nothing.
    #[inline(never)]
    fn attempt<'j>(&mut self, last: Option<&'j Call>, jobs: &'j [Job], now_ms: u64, done: &mut Vec<Done>, reply: &mut Reply) -> Result<()> {
        if !jobs.iter().any(Job::needs_the_store) {
            done.extend(jobs.iter().map(|job| Done::planned(job, reply, |_| ())));
            return Ok(());
        }
        if self.catalog_epoch.is_none() {
            self.load_catalog()?;
        }
        let parked = match self.attempt_straight(last, jobs, now_ms, done, reply)? {
            Attempt::Done => return Ok(()),
            Attempt::NotStraight(parked) => parked,
        };
        let (scope, ahead, named, last_found) = self.needs_of(last, jobs);
        // Only exclusive transactions change which space a db stands for.
        let catalog_before = (scope == Scope::Exclusive).then(|| self.catalog.clone());
        let limits = self.store.limits();
        // The fast ones among the commands that read ask for no record twice, and a command alone has nobody behind it who could.
        let reads_once = match jobs {
            [Job { work: Work::Call(call), .. }] => scope == Scope::Read && call.command.flags.has(Flags::FAST),
            _ => false,
        };
        let Self { store, layout, environment, catalog, catalog_epoch, versions, connections, waiters, server, memory, censuses, .. } =
            self;
        let mut transaction = if let Some(parked) = parked {
            Transaction::resume(store.as_mut(), parked)
        } else {
            Transaction::begin_with(store.as_mut(), scope, room(memory, environment.as_ref()))?
        };
        transaction.use_censuses(censuses);
        if reads_once {
            transaction.forget_reads();
        }
        if *catalog_epoch != Some(transaction.epoch()) {
            // Somebody has changed what the scope was made from.
            drop(transaction);
            self.load_catalog()?;
            return Err(StoreError::Conflict.into());
        }
        let (layout, environment) = (layout.as_ref(), environment.as_mut());
        let (appeared, served) = (Vec::new(), BTreeMap::new());
        let (events, messages) = (Events::new(server.wanted_events()), Vec::new());
        let mut runner = Runner {
            transaction,
            layout,
            environment,
            catalog,
            versions,
            server,
            now_ms: layout.expiry_rules().clock(now_ms),
            clock_ms: now_ms,
            named,
            last_found,
            key_count: None,
            waiters,
            appeared,
            served,
            events,
            messages,
        };
        runner.read_ahead(last, jobs, ahead)?;
        runner.count_blocked();
        runner.run_jobs(
            last,
            jobs,
            &mut Beside { connections, catalog_before, pending: Pending::within(&limits), is_roomy: is_roomy(&limits) },
            done,
            reply,
        )?;
        let Runner { transaction, served, waiters, .. } = runner;
        *memory = Some(transaction.commit_and_recycle()?);
        if !served.is_empty() {
            served.into_iter().for_each(|(ticket, reply)| waiters.answer(ticket, reply));
        }
        Ok(())
    }

    /// What a transaction for these jobs must declare, and the meta records that they will read, where those are several: they are read in
    /// one call to the store, before anything is run.
    #[inline(never)]
    fn needs_of<'j>(&mut self, last: Option<&'j Call>, jobs: &'j [Job]) -> (Scope, Vec<RecordKey>, Named<'j>, LastFound) {
        let can_write = !self.store.limits().read_only;
        let mut needs = Needs {
            catalog: &self.catalog,
            can_write,
            first: None,
            named: Named::with_capacity(if jobs.len() > 1 { jobs.len() } else { 0 }),
            kind: Kinds::None,
            others: Vec::new(),
            writes: false,
            exclusive: false,
            repeats: false,
        };
        if let [Job { work: Work::Again(_), .. }, ..] = jobs {
            last.into_iter().for_each(|call| needs.add_call(call));
        }
        jobs.iter().for_each(|job| needs.add(&job.work));
        if needs.writes || needs.repeats {
            needs.name_first();
        }
        let Needs { named, kind, others, writes, exclusive, repeats, .. } = needs;
        let kind = if let Kinds::One(kind) = kind { Some(kind) } else { None };
        let places = named.places();
        let mut ahead = Vec::new();
        if named.len() > 1 {
            ahead.reserve(places.len());
            places.iter().for_each(|at| self.layout.meta_records(at, kind, &mut ahead));
        }
        let mut lock_keys = Vec::new();
        if writes {
            lock_keys.extend(places.iter().map(|at| at.lock_key().clone()));
        }
        lock_keys.extend(others);
        if writes && !self.waiters.is_empty() {
            self.waiters.extend_scope(&self.catalog, &mut lock_keys);
        }
        let scope = match (exclusive, writes) {
            (true, _) => Scope::Exclusive,
            (false, true) => Scope::Keys(lock_keys),
            (false, false) => Scope::Read,
        };
        let last_found = LastFound::new(repeats || places.len() < named.len(), self.layout.heads());
        (scope, ahead, named, last_found)
    }

    pub(crate) fn load_catalog(&mut self) -> Result<()> {
        let mut transaction = Transaction::begin(self.store.as_mut(), Scope::Read)?;
        self.catalog = self.layout.load_catalog(&mut transaction, self.server.settings.databases)?;
        self.catalog_epoch = Some(transaction.epoch());
        Ok(())
    }

    /// Reserves versions. A conflict is the caller's to try again.
    pub(crate) fn reserve_versions(&mut self, count: u64) -> Result<()> {
        let scope = Scope::Keys(vec![self.layout.versions_lock_key()]);
        let mut transaction = Transaction::begin(self.store.as_mut(), scope)?;
        let first = self.layout.reserve_versions(&mut transaction, count)?;
        transaction.commit()?;
        // What follows directly on what is left extends it: no gap, whatever the grouping.
        let next = if first == self.versions.end && self.versions.next > 0 { self.versions.next } else { first };
        self.versions = Versions { next, end: first.saturating_add(count) };
        Ok(())
    }

    /// Whether a watched key is known to have changed: EXEC looks before it lets queued commands change the connection.
    pub(super) fn watched_have_changed(&mut self, watched: &[Watched], now_ms: u64) -> Result<bool> {
        let mut attempts = 1;
        loop {
            let mut transaction = Transaction::begin(self.store.as_mut(), Scope::Read)?;
            match have_changed(&mut transaction, watched, now_ms) {
                Err(error) if error.is_transient() && attempts < MAX_ATTEMPTS => attempts += 1,
                outcome => return outcome,
            }
        }
    }
}

/// What the last group's transaction has left.
pub(super) fn room(memory: &mut Option<Box<Memory>>, environment: &dyn Environment) -> Box<Memory> {
    // When the first group ran, to the microsecond, is nothing that clients know.
    memory.take().unwrap_or_else(|| Box::new(Memory::seeded(environment.now_us())))
}

/// A commit of an exclusive transaction counts as a change of every key, as it does not say which ones it has changed.
fn have_changed(transaction: &mut Transaction<'_>, watched: &[Watched], now_ms: u64) -> Result<bool> {
    let keys: Vec<Bytes> = watched.iter().map(|watched| watched.lock_key.clone()).collect();
    let revisions = transaction.revisions(&keys)?;
    let epoch = transaction.epoch();
    Ok(watched.iter().zip(revisions).any(|(watched, revision)| {
        let has_expired = watched.expire_at_ms.is_some_and(|at| now_ms > at);
        watched.revision != Some(revision) || watched.epoch != epoch || has_expired
    }))
}

impl Job {
    /// Whether the job's connection may have to wait for its reply.
    pub(super) const fn may_wait(&self) -> bool {
        matches!(self.work, Work::Blocking(_))
    }

    /// Whether the job takes a transaction.
    pub(super) fn needs_the_store(&self) -> bool {
        self.work.reply().is_none()
    }
}

impl Call {
    /// The keys among its arguments.
    fn keys(&self) -> impl Iterator<Item = &Bytes> {
        self.command.keys.positions(&self.args).filter_map(|position| self.args.get(position))
    }
}

/// What jobs read and write, gathered for the transaction.
struct Needs<'c, 'j> {
    catalog: &'c Catalog,
    /// The store can be written.
    can_write: bool,
    /// The first key that the jobs name, with its space: where it is the only one, and is only read, nothing is to be gathered.
    first: Option<(u32, &'j Bytes)>,
    /// All keys that they name, in their order, where they are several.
    named: Named<'j>,
    /// The kinds of values that they look for.
    kind: Kinds,
    /// The lock keys of what else they may change or depend on.
    others: Vec<Bytes>,
    writes: bool,
    exclusive: bool,
    /// A call runs again.
    repeats: bool,
}

/// Kinds of values that are looked for.
#[derive(Clone, Copy)]
enum Kinds {
    None,
    One(Kind),
    Several,
}

impl<'j> Needs<'_, 'j> {
    fn add(&mut self, work: &'j Work) {
        match work {
            Work::Answered(_) | Work::Pushed(_) | Work::Published { .. } | Work::Watch { .. } => {}
            Work::Call(call) | Work::Blocking(BlockingCall { call, .. }) => self.add_call(call),
            Work::Again(_) => self.repeats = true,
            Work::Transaction { parts, watched } => {
                parts.iter().for_each(|part| self.add(part));
                self.others.extend(watched.iter().map(|watched| watched.lock_key.clone()));
            }
            Work::Wake(keys) => {
                self.writes = true;
                keys.iter().for_each(|(db, key)| self.name(*db, std::iter::once(key), None));
            }
            Work::Operations(operations) => {
                self.writes |= operations.has(Access::Write);
                self.exclusive |= operations.has(Access::Exclusive);
                self.name(operations.db, operations.keys(), None);
            }
        }
    }

    fn add_call(&mut self, call: &'j Call) {
        let flags = call.command.flags;
        self.writes |= call.command.writes(&call.args) || self.can_write && flags.has(Flags::KEEPS_RESULT);
        self.exclusive |= call.command.is_exclusive(&call.args);
        let kind = call.command.group.kind();
        match call.command.keys.only() {
            Some(position) => self.name(call.db, call.args.get(position).into_iter(), kind),
            None => self.name(call.db, call.keys(), kind),
        }
        if flags.has(Flags::CROSS_DB) {
            let spaces = &self.catalog.spaces;
            self.others.extend(call.keys().flat_map(|key| spaces.iter().map(|&space| lock_key(space, key))));
        }
    }

    fn name(&mut self, db: usize, keys: impl Iterator<Item = &'j Bytes>, kind: Option<Kind>) {
        self.kind = match (self.kind, kind) {
            (Kinds::None, Some(kind)) => Kinds::One(kind),
            (Kinds::One(before), Some(kind)) if before == kind => Kinds::One(kind),
            _ => Kinds::Several,
        };
        if let Some(&space) = self.catalog.spaces.get(db) {
            for key in keys {
                if self.first.is_none() && self.named.is_empty() {
                    self.first = Some((space, key));
                    continue;
                }
                self.name_first();
                self.named.add(space, key);
            }
        }
    }

    /// Gathers the first key.
    fn name_first(&mut self) {
        if let Some((space, key)) = self.first.take() {
            self.named.add(space, key);
        }
    }
}

/// What runs the jobs of one attempt.
pub(super) struct Runner<'e, 's> {
    pub(super) transaction: Transaction<'s>,
    pub(super) layout: &'e dyn Layout,
    environment: &'e mut dyn Environment,
    pub(super) catalog: &'e mut Catalog,
    pub(super) versions: &'e mut Versions,
    pub(super) server: &'e mut Server,
    /// As in [`Db`], as is the next one.
    now_ms: u64,
    clock_ms: u64,
    pub(super) named: Named<'e>,
    last_found: LastFound,
    key_count: Option<KeyCount>,
    /// Who waits: those parked by this attempt included, those that it has served as well.
    pub(super) waiters: &'e mut Waiters,
    /// Keys that have become lists or sorted sets since waiters were last served.
    pub(super) appeared: Vec<KeyAt>,
    /// The replies to waiters, by ticket, for when the transaction is committed.
    pub(super) served: BTreeMap<u64, Vec<u8>>,
    /// What the command that runs does to keys.
    pub(super) events: Events,
    /// What the job that runs sends.
    pub(super) messages: Vec<Message>,
}

/// How much is committed before the jobs of a group go on.
pub(super) struct Pending {
    most_ops: usize,
    most_bytes: usize,
}

impl Pending {
    /// On a store of these limits.
    pub(super) fn within(limits: &Limits) -> Self {
        let half = |limit: u64| usize::try_from(limit / 2).unwrap_or(usize::MAX);
        Self { most_ops: half(limits.max_batch_ops), most_bytes: half(limits.max_batch_bytes).min(MAX_PENDING_BYTES) }
    }

    /// Whether so much is more.
    #[inline]
    pub(super) const fn is_exceeded_by(&self, ops: usize, bytes: usize) -> bool {
        ops > self.most_ops || bytes > self.most_bytes
    }
}

/// What jobs need to run, beside the runner.
struct Beside<'e> {
    connections: &'e mut Connections,
    /// The catalog before them, where they may change it.
    catalog_before: Option<Catalog>,
    pending: Pending,
    /// Rows may be long.
    is_roomy: bool,
}

impl<'s> Runner<'_, 's> {
    /// Runs jobs, which come behind the call `last`, as many as should be committed at once.
    fn run_jobs<'j>(
        &mut self,
        mut last: Option<&'j Call>,
        jobs: &'j [Job],
        beside: &mut Beside<'_>,
        done: &mut Vec<Done>,
        reply: &mut Reply,
    ) -> Result<()> {
        let (mut rest, mut one_by_one) = (jobs, 0_usize);
        while let Some((job, behind)) = rest.split_first() {
            reply.set_protocol(job.protocol);
            if one_by_one == 0
                && let Some(row) = self.row_at_the_front_of(rest, last, beside.is_roomy)
            {
                if matches!(job.work, Work::Again(_)) {
                    self.named.step_back();
                }
                if self.run_row(&row, reply, done)? {
                    (rest, last) = (rest.get(row.jobs.len()..).unwrap_or_default(), Some(row.last));
                    if self.is_full(beside) {
                        break;
                    }
                    continue;
                }
                one_by_one = row.jobs.len();
            }
            (rest, one_by_one) = (behind, one_by_one.saturating_sub(1));
            let product = self.job(job, &mut last, beside, reply)?;
            let dbs_are_others = beside.catalog_before.as_ref().is_some_and(|before| before != self.catalog);
            self.serve_waiters(dbs_are_others)?;
            done.push(Done { product, messages: std::mem::take(&mut self.messages) });
            if self.is_full(beside) {
                break;
            }
        }
        Ok(())
    }

    // Apart, as what most jobs do not need would take the registers of the others.
    #[inline(never)]
    fn job<'j>(&mut self, job: &'j Job, last: &mut Option<&'j Call>, beside: &mut Beside<'_>, reply: &mut Reply) -> Result<Product> {
        let start = reply.len();
        match &job.work {
            Work::Call(call) => {
                *last = Some(call);
                self.call(call, reply)?;
            }
            Work::Again(times) => {
                for time in 0..*times {
                    if time > 0 {
                        // Whoever waits for what it has made.
                        self.serve_waiters(false)?;
                    }
                    self.named.step_back();
                    drop(last.map(|call| self.call(call, reply)).transpose()?);
                }
            }
            Work::Answered(answer) | Work::Pushed(answer) => reply.raw(answer),
            Work::Published { reply: answer, pushes } => self.published(answer, pushes, reply),
            Work::Blocking(blocking) => {
                if !self.call_or_park(blocking, reply)? {
                    return Ok(Product::Wait);
                }
            }
            Work::Transaction { parts, watched } => self.exec(parts, watched, reply)?,
            Work::Watch { connection, db, keys } => match self.watch(*db, keys) {
                Ok(mut watched) => {
                    if let Some(connection) = beside.connections.get(*connection) {
                        // A key that is watched already stays as it was then.
                        watched.retain(|new| connection.watched.iter().all(|old| old.lock_key != new.lock_key));
                        connection.watched.append(&mut watched);
                        connection.may_have_changed = true;
                    }
                    reply.ok();
                }
                Err(error) if error.is_transient() => return Err(error),
                Err(error) => self.server.error(reply, &error),
            },
            Work::Operations(operations) => return Ok(Product::Outcomes(Box::new(self.operate(operations)?))),
            Work::Wake(keys) => self.wake(keys)?,
        }
        Ok(Product::Reply(start..reply.len()))
    }

    /// Runs one command. A command that fails has no effect and answers with its error; only what concerns the whole group is
    /// returned as an error. Returns what a blocking command would wait for.
    pub(super) fn call(&mut self, call: &Call, reply: &mut Reply) -> Result<Option<Wait>> {
        reply.set_protocol(call.protocol);
        self.events.reads_only = call.command.flags.has(Flags::READONLY);
        self.transaction.settle();
        let (savepoint, start, versions) = (self.transaction.savepoint(), reply.len(), *self.versions);
        let appeared = self.appeared.len();
        let (db, server) = self.db(call.db);
        let mut context = Context { args: &call.args, db, server };
        let result = match call.command.run {
            Run::Data(run, _) => run(&mut context, reply).map(|()| None),
            Run::Blocking(run) => run(&mut context, reply),
            Run::Session(_) | Run::Subscription(_) | Run::Transaction(_) | Run::Container => Ok(None),
        };
        let wait = match result {
            Err(error) if error.is_transient() || error == Error::OutOfVersions => return Err(error),
            Err(error) => {
                self.transaction.undo_to(savepoint);
                self.appeared.truncate(appeared);
                *self.versions = versions;
                reply.truncate(start);
                self.events.undo();
                self.server.error(reply, &error);
                None
            }
            Ok(wait) => wait,
        };
        self.take_events();
        Ok(wait)
    }

    /// Whether there is as much to commit as should be at once.
    fn is_full(&self, beside: &Beside<'_>) -> bool {
        beside.pending.is_exceeded_by(self.transaction.pending_ops(), self.transaction.pending_bytes())
    }

    /// Has the events of what has run told.
    #[inline]
    fn take_events(&mut self) {
        if !self.events.are_none() {
            self.messages.extend(self.events.take().into_iter().map(Message::Event));
        }
    }

    /// The db with that number, and the server beside it.
    pub(super) fn db(&mut self, index: usize) -> (Db<'_, 's>, &mut Server) {
        let may_wake = !self.waiters.is_empty() || self.server.peers.may_wait();
        let db = Db {
            transaction: &mut self.transaction,
            layout: self.layout,
            environment: &mut *self.environment,
            catalog: &mut *self.catalog,
            versions: &mut *self.versions,
            events: &mut self.events,
            max_string_bytes: self.server.settings.max_string_bytes,
            now_ms: self.now_ms,
            clock_ms: self.clock_ms,
            index,
            named: &self.named,
            last_found: &mut self.last_found,
            key_count: &mut self.key_count,
            appeared: may_wake.then_some(&mut self.appeared),
        };
        (db, &mut *self.server)
    }

    fn published(&mut self, answer: &[u8], pushes: &[Push], reply: &mut Reply) {
        reply.raw(answer);
        self.messages.push(Message::Pushes(pushes.to_vec()));
    }

    /// Runs operations until one fails: then none has an effect. Only what concerns the whole group is returned as an error.
    fn operate(&mut self, operations: &Operations) -> Result<std::result::Result<Vec<Outcome>, OperationError>> {
        self.transaction.settle();
        let (savepoint, versions, appeared) = (self.transaction.savepoint(), *self.versions, self.appeared.len());
        // Only exclusive operations change which space a db stands for.
        let catalog = operations.has(Access::Exclusive).then(|| self.catalog.clone());
        self.events.reads_only = false;
        let mut outcomes = Vec::with_capacity(operations.list.len());
        for (position, operation) in operations.list.iter().enumerate() {
            let (mut db, server) = self.db(operations.db);
            match operation.perform(&mut db, &mut server.scan_positions) {
                Ok(outcome) => outcomes.push(outcome),
                Err(error) if error.is_transient() || error == Error::OutOfVersions => return Err(error),
                Err(error) => {
                    self.transaction.undo_to(savepoint);
                    self.appeared.truncate(appeared);
                    *self.versions = versions;
                    if let Some(catalog) = catalog {
                        *self.catalog = catalog;
                    }
                    self.events.take();
                    return Ok(Err(OperationError { position: Some(position), failure: error.into() }));
                }
            }
        }
        self.take_events();
        Ok(Ok(outcomes))
    }

    fn exec(&mut self, parts: &[Work], watched: &[Watched], reply: &mut Reply) -> Result<()> {
        if !watched.is_empty() && have_changed(&mut self.transaction, watched, self.clock_ms)? {
            reply.null_array();
            return Ok(());
        }
        reply.array(parts.len());
        for part in parts {
            match part {
                Work::Answered(answer) | Work::Pushed(answer) => reply.raw(answer),
                Work::Published { reply: answer, pushes } => self.published(answer, pushes, reply),
                // Nothing waits in here: what a blocking command would say where it may not is its reply.
                Work::Call(call) => drop(self.call(call, reply)?),
                // A transaction holds no transactions, what it repeats is there again, and no client sends operations or wakes others.
                Work::Again(_)
                | Work::Blocking(_)
                | Work::Transaction { .. }
                | Work::Watch { .. }
                | Work::Wake(_)
                | Work::Operations(_) => {}
            }
        }
        Ok(())
    }

    fn watch(&mut self, db: usize, keys: &[Bytes]) -> Result<Vec<Watched>> {
        let space = *self.catalog.spaces.get(db).ok_or(crate::error::texts::DB_OUT_OF_RANGE)?;
        let lock_keys: Vec<Bytes> = keys.iter().map(|key| lock_key(space, key)).collect();
        // The revision first: a change between the two reads is then seen as one.
        let revisions = self.transaction.revisions(&lock_keys)?;
        let epoch = self.transaction.epoch();
        let places: Vec<KeyAt> = keys.iter().map(|key| KeyAt::new(space, key.clone())).collect();
        let mut ahead = Vec::new();
        places.iter().for_each(|at| self.layout.meta_records(at, None, &mut ahead));
        self.transaction.read_ahead(ahead)?;
        let mut watched: Vec<Watched> = Vec::with_capacity(keys.len());
        for ((at, lock_key), revision) in places.into_iter().zip(lock_keys).zip(revisions) {
            let expire_at_ms = self.db(db).0.look_at(&at)?.and_then(|meta| meta.expire_at_ms);
            // A copy: it outlives the transaction, whose keys share their memory.
            watched.push(Watched { lock_key: Bytes::copy_from_slice(&lock_key), revision: Some(revision), epoch, expire_at_ms });
        }
        Ok(watched)
    }
}

impl Server {
    /// Writes an error reply and counts it.
    pub fn error(&mut self, reply: &mut Reply, error: &Error) {
        let text = error.to_string();
        let class = text.split(' ').next().unwrap_or_default().to_owned();
        *self.stats.errors.entry(class).or_default() += 1;
        reply.error(&text);
    }
}
