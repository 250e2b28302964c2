//! Running: a group of jobs in one transaction, again where the store asks for it.

use super::plan::{Call, Job, Watched, Work};
use super::{Engine, Server};
use crate::command::flags::Flags;
use crate::command::{Context, Run};
use crate::db::{Db, Versions};
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::layout::{Catalog, KeyAt, Layout, lock_key};
use crate::resp::reply::{Protocol, Reply};
use crate::store::{Scope, StoreError};
use crate::transaction::Transaction;
use crate::typed::{Access, OperationError, Operations, Outcome};
use bytes::Bytes;

/// How often a group is run again after conflicts before its clients are told.
const MAX_ATTEMPTS: u32 = 100;
/// A group whose changes are larger is committed before it goes on.
const MAX_PENDING_BYTES: usize = 4 << 20;
/// How many versions are reserved at a time.
pub(crate) const VERSION_BLOCK: u64 = 4096;

/// What a job came to.
pub(super) enum Done {
    /// A reply, for a connection.
    Reply(Vec<u8>),
    /// The outcomes of operations, for the caller.
    Outcomes(std::result::Result<Vec<Outcome>, OperationError>),
}

impl Done {
    /// The reply; empty for operations, which no connection has asked for.
    pub(super) fn into_reply(self) -> Vec<u8> {
        match self {
            Self::Reply(reply) => reply,
            Self::Outcomes(_) => Vec::new(),
        }
    }
}

impl Engine {
    /// Runs operations as a group of their own.
    pub(crate) fn run_operations(&mut self, operations: Operations) -> std::result::Result<Vec<Outcome>, OperationError> {
        let now_ms = self.environment.now_us() / 1000;
        self.reserve_ahead();
        let job = Job { delivery: 0, silent: true, protocol: Protocol::Resp2, work: Work::Operations(operations) };
        match self.run_group(&[job], now_ms).pop() {
            Some(Done::Outcomes(outcomes)) => outcomes,
            // A job of operations has outcomes.
            Some(Done::Reply(_)) | None => Ok(Vec::new()),
        }
    }

    /// Runs jobs in their order and returns what each came to. Nothing is lost between them: where the group cannot be written as
    /// one, its jobs run one by one.
    pub(super) fn run_group(&mut self, jobs: &[Job], now_ms: u64) -> Vec<Done> {
        let mut replies = Vec::with_capacity(jobs.len());
        let (mut rest, mut width, mut attempts) = (jobs, jobs.len(), 0);
        while !rest.is_empty() {
            let group = rest.get(..width).unwrap_or(rest);
            let versions = self.versions;
            let mut error = match self.attempt(group, now_ms) {
                Ok(done) => {
                    rest = rest.get(done.len()..).unwrap_or_default();
                    replies.extend(done);
                    attempts = 0;
                    continue;
                }
                Err(error) => error,
            };
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
                    width = 1;
                    true
                }
                error => error.is_transient() && attempts < MAX_ATTEMPTS,
            };
            if !again {
                replies.extend(group.iter().map(|job| self.failed(job, &error)));
                rest = rest.get(group.len()..).unwrap_or_default();
                attempts = 0;
            }
        }
        replies
    }

    /// The reply to a job of a group that failed as a whole.
    fn failed(&mut self, job: &Job, error: &Error) -> Done {
        match &job.work {
            Work::Answered(reply) => Done::Reply(reply.clone()),
            Work::Operations(_) => Done::Outcomes(Err(OperationError { position: None, failure: error.clone().into() })),
            Work::Call(_) | Work::Transaction { .. } | Work::Watch { .. } => {
                let mut reply = Reply::new(job.protocol);
                self.server.error(&mut reply, error);
                Done::Reply(reply.into_bytes())
            }
        }
    }

    /// Runs jobs in one transaction and commits it. Returns the replies of those that it got to, the first of them at least.
    fn attempt(&mut self, jobs: &[Job], now_ms: u64) -> Result<Vec<Done>> {
        let mut replies = Vec::with_capacity(jobs.len());
        if !jobs.iter().any(Job::needs_the_store) {
            let reply = |job: &Job| if let Work::Answered(reply) = &job.work { reply.clone() } else { Vec::new() };
            replies.extend(jobs.iter().map(|job| Done::Reply(reply(job))));
            return Ok(replies);
        }
        let scope = self.scope_of(jobs)?;
        let Self { store, layout, environment, catalog, catalog_epoch, versions, connections, server, .. } = self;
        let transaction = Transaction::begin(store.as_mut(), scope)?;
        if *catalog_epoch != Some(transaction.epoch()) {
            // Somebody has changed what the scope was made from.
            drop(transaction);
            self.load_catalog()?;
            return Err(StoreError::Conflict.into());
        }
        let mut runner =
            Runner { transaction, layout: layout.as_ref(), environment: environment.as_mut(), catalog, versions, server, now_ms };
        runner.read_ahead(jobs)?;
        for job in jobs {
            let mut reply = Reply::new(job.protocol);
            match &job.work {
                Work::Answered(answer) => reply.raw(answer),
                Work::Call(call) => runner.call(call, &mut reply)?,
                Work::Transaction { parts, watched } => runner.exec(parts, watched, &mut reply)?,
                Work::Watch { connection, db, keys } => match runner.watch(*db, keys) {
                    Ok(mut watched) => {
                        if let Some(connection) = connections.get(*connection) {
                            // A key that is watched already stays as it was then.
                            watched.retain(|new| connection.watched.iter().all(|old| old.lock_key != new.lock_key));
                            connection.watched.append(&mut watched);
                        }
                        reply.ok();
                    }
                    Err(error) if error.is_transient() => return Err(error),
                    Err(error) => runner.server.error(&mut reply, &error),
                },
                Work::Operations(operations) => {
                    replies.push(Done::Outcomes(runner.operate(operations)?));
                    continue;
                }
            }
            replies.push(Done::Reply(reply.into_bytes()));
            if runner.transaction.pending_bytes() > MAX_PENDING_BYTES {
                break;
            }
        }
        runner.transaction.commit()?;
        Ok(replies)
    }

    /// What a transaction for these jobs must declare.
    fn scope_of(&mut self, jobs: &[Job]) -> Result<Scope> {
        if self.catalog_epoch.is_none() {
            self.load_catalog()?;
        }
        let can_write = !self.store.limits().read_only;
        let mut needs = Needs { catalog: &self.catalog, can_write, keys: Vec::new(), writes: false, exclusive: false };
        jobs.iter().for_each(|job| needs.add(&job.work));
        Ok(match (needs.exclusive, needs.writes) {
            (true, _) => Scope::Exclusive,
            (false, true) => Scope::Keys(needs.keys),
            (false, false) => Scope::Read,
        })
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
        let mut transaction = Transaction::begin(self.store.as_mut(), Scope::Read)?;
        have_changed(&mut transaction, watched, now_ms)
    }
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
    /// Whether the job takes a transaction.
    pub(super) fn needs_the_store(&self) -> bool {
        match self.work {
            Work::Answered(_) => false,
            Work::Call(_) | Work::Transaction { .. } | Work::Watch { .. } | Work::Operations(_) => true,
        }
    }
}

impl Work {
    /// The keys that it names, each with its db.
    fn keys(&self) -> Vec<(usize, &Bytes)> {
        match self {
            Self::Answered(_) | Self::Watch { .. } => Vec::new(),
            Self::Call(call) => call.keys().map(|key| (call.db, key)).collect(),
            Self::Transaction { parts, .. } => parts.iter().flat_map(Self::keys).collect(),
            Self::Operations(operations) => operations.keys().map(|key| (operations.db, key)).collect(),
        }
    }
}

impl Call {
    /// The keys among its arguments.
    fn keys(&self) -> impl Iterator<Item = &Bytes> {
        let positions = self.command.keys.positions(&self.args);
        positions.into_iter().filter_map(|position| self.args.get(position))
    }
}

/// What jobs read and write, gathered for the transaction's scope.
struct Needs<'e> {
    catalog: &'e Catalog,
    /// The store can be written.
    can_write: bool,
    keys: Vec<Bytes>,
    writes: bool,
    exclusive: bool,
}

impl Needs<'_> {
    fn add(&mut self, work: &Work) {
        match work {
            Work::Answered(_) | Work::Watch { .. } => {}
            Work::Call(call) => {
                let flags = call.command.flags;
                self.writes |= call.command.writes(&call.args) || self.can_write && flags.has(Flags::KEEPS_RESULT);
                self.exclusive |= call.command.is_exclusive(&call.args);
                let dbs = if flags.has(Flags::CROSS_DB) { 0..self.catalog.spaces.len() } else { call.db..call.db + 1 };
                let spaces: Vec<u32> = dbs.filter_map(|db| self.catalog.spaces.get(db).copied()).collect();
                for key in call.keys() {
                    self.keys.extend(spaces.iter().map(|&space| lock_key(space, key)));
                }
            }
            Work::Transaction { parts, watched } => {
                parts.iter().for_each(|part| self.add(part));
                self.keys.extend(watched.iter().map(|watched| watched.lock_key.clone()));
            }
            Work::Operations(operations) => {
                self.writes |= operations.has(Access::Write);
                self.exclusive |= operations.has(Access::Exclusive);
                if let Some(&space) = self.catalog.spaces.get(operations.db) {
                    self.keys.extend(operations.keys().map(|key| lock_key(space, key)));
                }
            }
        }
    }
}

/// What runs the jobs of one attempt.
struct Runner<'e, 's> {
    transaction: Transaction<'s>,
    layout: &'e dyn Layout,
    environment: &'e mut dyn Environment,
    catalog: &'e mut Catalog,
    versions: &'e mut Versions,
    server: &'e mut Server,
    now_ms: u64,
}

impl<'s> Runner<'_, 's> {
    /// Reads the meta records of all keys of a group in one call to the store.
    fn read_ahead(&mut self, jobs: &[Job]) -> Result<()> {
        let mut records = Vec::new();
        for (db, key) in jobs.iter().flat_map(|job| job.work.keys()) {
            if let Some(&space) = self.catalog.spaces.get(db) {
                records.push(self.layout.meta_record(&KeyAt { space, key: key.clone() }));
            }
        }
        if records.len() > 1 {
            records.sort_unstable();
            records.dedup();
            self.transaction.get_many(&records)?;
        }
        Ok(())
    }

    /// Runs one command. A command that fails has no effect and answers with its error; only what concerns the whole group is
    /// returned as an error.
    fn call(&mut self, call: &Call, reply: &mut Reply) -> Result<()> {
        let Run::Data(run) = call.command.run else { return Ok(()) };
        reply.set_protocol(call.protocol);
        let (savepoint, start, versions) = (self.transaction.savepoint(), reply.len(), *self.versions);
        let (db, server) = self.db(call.db);
        let result = run(&mut Context { args: &call.args, db, server }, reply);
        match result {
            Err(error) if error.is_transient() || error == Error::OutOfVersions => Err(error),
            Err(error) => {
                self.transaction.undo_to(savepoint);
                *self.versions = versions;
                reply.truncate(start);
                self.server.error(reply, &error);
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// A db, and the server beside it.
    fn db(&mut self, index: usize) -> (Db<'_, 's>, &mut Server) {
        let db = Db {
            transaction: &mut self.transaction,
            layout: self.layout,
            environment: &mut *self.environment,
            catalog: &mut *self.catalog,
            versions: &mut *self.versions,
            max_string_bytes: self.server.settings.max_string_bytes,
            now_ms: self.now_ms,
            index,
        };
        (db, &mut *self.server)
    }

    /// Runs operations until one fails: then none has an effect. Only what concerns the whole group is returned as an error.
    fn operate(&mut self, operations: &Operations) -> Result<std::result::Result<Vec<Outcome>, OperationError>> {
        let (savepoint, versions, catalog) = (self.transaction.savepoint(), *self.versions, self.catalog.clone());
        let mut outcomes = Vec::with_capacity(operations.list.len());
        for (position, operation) in operations.list.iter().enumerate() {
            let (mut db, server) = self.db(operations.db);
            match operation.perform(&mut db, &mut server.scan_positions) {
                Ok(outcome) => outcomes.push(outcome),
                Err(error) if error.is_transient() || error == Error::OutOfVersions => return Err(error),
                Err(error) => {
                    self.transaction.undo_to(savepoint);
                    *self.versions = versions;
                    *self.catalog = catalog;
                    return Ok(Err(OperationError { position: Some(position), failure: error.into() }));
                }
            }
        }
        Ok(Ok(outcomes))
    }

    fn exec(&mut self, parts: &[Work], watched: &[Watched], reply: &mut Reply) -> Result<()> {
        if !watched.is_empty() && have_changed(&mut self.transaction, watched, self.now_ms)? {
            reply.null_array();
            return Ok(());
        }
        reply.array(parts.len());
        for part in parts {
            match part {
                Work::Answered(answer) => reply.raw(answer),
                Work::Call(call) => self.call(call, reply)?,
                // A transaction holds no transactions, and no client sends operations.
                Work::Transaction { .. } | Work::Watch { .. } | Work::Operations(_) => {}
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
        let mut watched: Vec<Watched> = Vec::with_capacity(keys.len());
        for ((key, lock_key), revision) in keys.iter().zip(lock_keys).zip(revisions) {
            let at = KeyAt { space, key: key.clone() };
            let meta = self.layout.find(&mut self.transaction, &at)?.filter(|meta| !meta.is_expired(self.now_ms));
            let expire_at_ms = meta.and_then(|meta| meta.expire_at_ms);
            watched.push(Watched { lock_key, revision: Some(revision), epoch, expire_at_ms });
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
