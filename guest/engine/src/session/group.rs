//! A group: the jobs that run in one transaction.

use super::plan::{Job, Work};
use super::rows::{MAX_ROW_ARGS, are_alike};
use crate::command::Run;
use crate::command::flags::Flags;
use crate::store::{Limits, Store};

/// Equal requests that write are one job up to so many bytes of them, where a row takes their arguments. They change fewer than [`ROOMY_OPS`]
/// records then, of fewer than [`ROOMY_BYTES`] even where the key takes half of those bytes and is in each record.
const MAX_BYTES_AS_ONE: usize = 16 << 10;
/// On stores that take so many operations at once.
const ROOMY_OPS: u64 = 4096;
/// As many bytes.
const ROOMY_BYTES: u64 = 16 << 20;

/// A group takes so many times as many requests while they are one row: these share their reads, and what they write of the collection as
/// a whole: above all the nodes of a [counted tree](crate::layout::ranks), most of which a few hundred members change. On stores that take
/// much at once.
pub const TIMES_IN_A_ROW: usize = 4;

/// Jobs in their order, and how many requests they are.
#[derive(Default)]
pub struct Group {
    jobs: Vec<Job>,
    requests: usize,
    /// All of them may be one row.
    is_row: bool,
}

impl Group {
    pub fn of(job: Job) -> Self {
        let mut group = Self::default();
        group.push(job);
        group
    }

    pub fn push(&mut self, job: Job) {
        self.is_row = match (self.jobs.first().map(|first| &first.work), &job.work) {
            (None, Work::Call(call)) => matches!(call.command.run, Run::DataInRows(..)),
            (Some(Work::Call(first)), Work::Call(call)) => self.is_row && are_alike(first, call),
            (Some(_), Work::Again(_)) => self.is_row,
            _ => false,
        };
        self.requests += job.times();
        self.jobs.push(job);
    }

    /// How many more requests it takes where `limit` are a group.
    pub fn room(&self, limit: usize, store: &dyn Store) -> usize {
        let left = limit.saturating_sub(self.requests);
        if left == 0 && self.is_row && is_roomy(&store.limits()) {
            limit.saturating_mul(TIMES_IN_A_ROW).saturating_sub(self.requests)
        } else {
            left
        }
    }

    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    pub const fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub const fn requests(&self) -> usize {
        self.requests
    }

    /// Takes all jobs, and keeps the room.
    pub fn drain(&mut self) -> impl Iterator<Item = Job> {
        self.requests = 0;
        self.jobs.drain(..)
    }

    /// Takes the request of `length` bytes that the input begins with, and that is the last job, as often as it comes again behind itself, at
    /// most so many times. Returns how many times that is.
    pub fn take_again(&mut self, input: &[u8], length: usize, most: usize, events_are_wanted: bool, store: &dyn Store) -> usize {
        let Some((request, mut behind)) = input.split_at_checked(length).filter(|_| length > 0) else { return 0 };
        let mut times = 0;
        while times < most
            && let Some(rest) = behind.strip_prefix(request)
        {
            (times, behind) = (times + 1, rest);
        }
        let last = self.jobs.last().filter(|_| times > 0);
        let Some((last, Work::Call(call))) = last.map(|last| (last, &last.work)) else { return 0 };
        // What reads leaves nothing to commit on the way, and what runs in rows no more than its bytes. Events are told behind each job.
        let is_one_job = !events_are_wanted
            && match call.command.run {
                Run::DataInRows(..) => {
                    times * length <= MAX_BYTES_AS_ONE && times * call.args.len() <= MAX_ROW_ARGS && is_roomy(&store.limits())
                }
                _ => call.command.flags.has(Flags::READONLY),
            };
        let (of_each, jobs) = if is_one_job { (times, 1) } else { (1, times) };
        let again = last.again(of_each);
        self.jobs.extend(std::iter::repeat_with(|| again.again(of_each)).take(jobs));
        self.requests += times;
        times
    }
}

const fn is_roomy(limits: &Limits) -> bool {
    limits.max_batch_ops >= ROOMY_OPS && limits.max_batch_bytes >= ROOMY_BYTES
}
