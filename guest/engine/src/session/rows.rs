//! Calls in a row: what pipelines do to one key by the same command, over and over, is run as one where the command has a handler for that.

use super::Engine;
use super::group::is_roomy;
use super::plan::{Call, Job, Work};
use super::run::{Done, Product, Runner};
use crate::command::{Context, RowHandler, Run, Ways};
use crate::distinct::are_same;
use crate::error::{Error, Result};
use crate::events::Classes;
use crate::resp::reply::Reply;
use bytes::Bytes;

/// What is run as one has arguments of no more bytes than this, unless its first job alone has.
const MAX_ROW_BYTES: usize = 64 << 10;

/// And no more arguments than these: empty ones are records all the same, and a group is committed on the way where it has changed much.
const MAX_ROW_ARGS: usize = 4096;
/// On stores that take few operations at once: a row that is refused is run in halves.
const MAX_SMALL_ROW_ARGS: usize = 1024;

/// Several calls of one command on one key.
pub struct Row<'j> {
    handler: RowHandler,
    first: &'j Call,
    /// What makes them.
    pub jobs: &'j [Job],
    /// The call that its last job makes.
    pub last: &'j Call,
}

impl<'j> Row<'j> {
    fn takes(&self, call: &Call) -> bool {
        std::ptr::eq(call, self.last) || are_alike(self.first, call)
    }

    fn calls(&self) -> impl Iterator<Item = &'j Call> {
        let mut last = self.first;
        self.jobs.iter().flat_map(move |job| {
            last = call_of(job, Some(last)).unwrap_or(last);
            std::iter::repeat_n(last, job.times())
        })
    }
}

/// Whether two calls may be in one row.
pub fn are_alike(first: &Call, call: &Call) -> bool {
    std::ptr::eq(call.command, first.command)
        && (call.db, call.protocol) == (first.db, first.protocol)
        && key(&call.args).zip(key(&first.args)).is_some_and(|(one, other)| are_same(one, other))
}

/// The call that a job makes, behind the call `last`.
pub fn call_of<'j>(job: &'j Job, last: Option<&'j Call>) -> Option<&'j Call> {
    match &job.work {
        Work::Call(call) => Some(call),
        Work::Again(_) => last,
        _ => None,
    }
}

/// Whether the first two calls of jobs, which come behind the call `last`, are alike, and may be run in a row: most of them are then.
pub fn begin_a_row(last: Option<&Call>, jobs: &[Job]) -> bool {
    let [job, rest @ ..] = jobs else { return false };
    let Some(first) = call_of(job, last).filter(|first| matches!(first.command.run, Run::Data(_, Ways { row: Some(_), .. }))) else {
        return false;
    };
    job.times() > 1 || rest.first().and_then(|next| call_of(next, Some(first))).is_some_and(|next| are_alike(first, next))
}

fn key(args: &[Bytes]) -> Option<&Bytes> {
    args.get(1)
}

impl Engine {
    /// Whether what comes next may be run as a long row.
    pub(super) fn may_take_a_row(&self) -> bool {
        let is_heard = self.server.wanted_events() != Classes::NONE || !self.waiters.is_empty() || self.server.peers.may_wait();
        self.layout.takes_rows() && !is_heard && is_roomy(&self.store.limits())
    }
}

impl Runner<'_, '_> {
    /// Whether nothing is to happen between the calls of a row: nobody hears of their events, and nobody waits for what they make.
    fn may_run_rows(&self) -> bool {
        self.layout.takes_rows() && !self.events.are_wanted() && self.waiters.is_empty() && !self.server.peers.may_wait()
    }

    /// The row that these jobs begin with, behind the call `last`; on a store that [takes much at once](is_roomy) it may be long. `None` where
    /// the first request is not like the one behind it.
    pub(super) fn row_at_the_front_of<'j>(&self, jobs: &'j [Job], last: Option<&'j Call>, is_roomy: bool) -> Option<Row<'j>> {
        let first = call_of(jobs.first()?, last)?;
        let Run::Data(_, Ways { row: Some(handler), .. }) = first.command.run else { return None };
        if !self.may_run_rows() {
            return None;
        }
        let most_args = if is_roomy { MAX_ROW_ARGS } else { MAX_SMALL_ROW_ARGS };
        let mut row = Row { handler, first, jobs: &[], last: first };
        let (mut length, mut calls, mut args, mut bytes) = (0, 0, 0, 0);
        for job in jobs {
            let Some(call) = call_of(job, Some(row.last)).filter(|call| row.takes(call)) else { break };
            args += job.times() * call.args.len();
            bytes += job.times() * call.args.iter().map(Bytes::len).sum::<usize>();
            if (args > most_args || bytes > MAX_ROW_BYTES) && length > 0 {
                break;
            }
            (length, calls) = (length + 1, calls + job.times());
            row.last = call;
        }
        row.jobs = jobs.get(..length).filter(|_| calls > 1)?;
        Some(row)
    }

    /// Runs a row. False where one of the calls fails: then nothing has happened, and they are to be run one by one.
    pub(super) fn run_row(&mut self, row: &Row<'_>, reply: &mut Reply, done: &mut Vec<Done>) -> Result<bool> {
        reply.set_protocol(row.first.protocol);
        self.events.reads_only = false;
        self.transaction.settle();
        let (savepoint, start, versions, place) = (self.transaction.savepoint(), reply.len(), *self.versions, self.named.place());
        let before = done.len();
        let mut from = start;
        let mut times = row.jobs.iter().map(Job::times);
        let mut left = times.next().unwrap_or(0);
        let mut answered = |end| {
            left = left.saturating_sub(1);
            if left == 0 {
                let product = Product::Reply(std::mem::replace(&mut from, end)..end);
                done.push(Done { product, messages: Vec::new() });
                left = times.next().unwrap_or(0);
            }
        };
        let (db, server) = self.db(row.first.db);
        let mut context = Context { args: &row.first.args, db, server };
        match (row.handler)(&mut context, &mut row.calls().map(|call| call.args.as_slice()), reply, &mut answered) {
            Ok(()) => {
                // The keys of those behind the first have been named, too.
                for job in row.jobs.get(1..).unwrap_or_default() {
                    if let Work::Call(call) = &job.work {
                        key(&call.args).map(|key| context.db.at(key)).transpose()?;
                    }
                }
                Ok(true)
            }
            Err(error) if error.is_transient() || error == Error::OutOfVersions => Err(error),
            Err(_) => {
                self.transaction.undo_to(savepoint);
                *self.versions = versions;
                self.named.go_back(place);
                reply.truncate(start);
                done.truncate(before);
                Ok(false)
            }
        }
    }
}
