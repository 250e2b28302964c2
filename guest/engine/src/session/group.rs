//! A group: the jobs that run in one transaction.

use super::plan::{Job, Work};
use super::rows::MAX_ROW_ARGS;
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

/// Jobs in their order, and how many requests they are.
#[derive(Default)]
pub struct Group {
    jobs: Vec<Job>,
    requests: usize,
}

impl Group {
    pub fn of(job: Job) -> Self {
        let requests = job.times();
        Self { jobs: vec![job], requests }
    }

    pub fn push(&mut self, job: Job) {
        self.requests += job.times();
        self.jobs.push(job);
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
