//! A group: the jobs that run in one transaction.

use super::plan::{Call, Job, Work};
use super::rows::are_alike;
use crate::command::flags::Flags;
use crate::distinct::are_same;
use crate::store::{Limits, Store};
use bytes::Bytes;

/// Most requests that run in one transaction, but for [those in a row](TIMES_IN_A_ROW).
pub const MAX_GROUP: usize = 128;

/// Lists with room for more arguments than these are not kept.
const MAX_SPARE_ARGS: usize = 32;
/// So many lists are kept.
const MAX_SPARE_LISTS: usize = MAX_GROUP * TIMES_IN_A_ROW;

/// Equal requests that write are one job up to so many bytes of them, and so many arguments. They change fewer than [`ROOMY_OPS`] records
/// then, of fewer than [`ROOMY_BYTES`] even where the key takes half of those bytes and is in each record.
const MAX_BYTES_AS_ONE: usize = 16 << 10;
const MAX_ARGS_AS_ONE: usize = 1024;
/// On stores that take so many operations at once: some four for each argument of the longest row, which is run whole or not at all.
const ROOMY_OPS: u64 = 16 << 10;
/// As many bytes.
const ROOMY_BYTES: u64 = 16 << 20;

/// A group takes so many times as many requests while they are alike and may be run as a long row, on stores that take much at once. They share
/// their reads, and what they write of the collection as a whole: above all the nodes of a [counted tree](crate::layout::ranks), most of which
/// a few hundred members change.
const TIMES_IN_A_ROW: usize = 8;

/// Jobs in their order, and how many requests they are.
#[derive(Default)]
pub struct Group {
    jobs: Vec<Job>,
    requests: usize,
    /// All of them are calls on one key, of one command that [has long rows](crate::command::Command::has_long_rows).
    is_long_row: bool,
}

impl Group {
    pub fn of(job: Job) -> Self {
        let mut group = Self::default();
        group.push(job);
        group
    }

    pub fn push(&mut self, job: Job) {
        self.is_long_row = match (self.jobs.first().map(|first| &first.work), &job.work) {
            (None, Work::Call(call)) => call.command.has_long_rows(),
            (Some(Work::Call(first)), Work::Call(call)) => self.is_long_row && are_alike(first, call),
            _ => false,
        };
        self.requests += job.times();
        self.jobs.push(job);
    }

    /// How many more requests it takes where `limit` are a group, unless they are a row.
    pub fn room(&self, limit: usize, may_be_a_row: impl FnOnce() -> bool) -> usize {
        let left = limit.saturating_sub(self.requests);
        if left == 0 && self.is_long_row && may_be_a_row() {
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

    /// Forgets all jobs, and keeps the room. The lists of their arguments are emptied, for other requests.
    #[inline(never)]
    pub fn clear(&mut self, spare_args: &mut Vec<Vec<Bytes>>) {
        for job in &mut self.jobs {
            if let Work::Call(Call { args, .. }) = &mut job.work
                && args.capacity() <= MAX_SPARE_ARGS
                && spare_args.len() < MAX_SPARE_LISTS
            {
                args.clear();
                spare_args.push(std::mem::take(args));
            }
        }
        self.requests = 0;
        self.jobs.clear();
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
        // What reads leaves nothing to commit on the way, and what runs in long rows no more than its bytes. Events are told behind each job.
        let most_as_one = if events_are_wanted {
            1
        } else if call.command.has_long_rows() && is_roomy(&store.limits()) {
            (MAX_BYTES_AS_ONE / length).min(MAX_ARGS_AS_ONE / call.args.len().max(1)).max(1)
        } else if call.command.flags.has(Flags::READONLY) {
            times
        } else {
            1
        };
        let again = last.again(1);
        let firsts = (0..times).step_by(most_as_one);
        self.jobs.extend(firsts.map(|first| again.again(most_as_one.min(times - first))));
        self.requests += times;
        times
    }
}

/// Whether the request of `length` bytes that the input begins with comes again behind itself.
#[inline]
pub fn comes_again(input: &[u8], length: usize) -> bool {
    input.split_at_checked(length).is_some_and(|(request, behind)| behind.get(..length).is_some_and(|next| are_same(request, next)))
}

/// Whether a store takes the longest row.
pub const fn is_roomy(limits: &Limits) -> bool {
    limits.max_batch_ops >= ROOMY_OPS && limits.max_batch_bytes >= ROOMY_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::table;
    use crate::resp::reply::Protocol;

    fn job(room: usize) -> Job {
        let mut args = Vec::with_capacity(room);
        args.extend([Bytes::from_static(b"get"), Bytes::from_static(b"k")]);
        let call = Call { command: table::find(b"get").unwrap(), args, db: 0, protocol: Protocol::Resp2 };
        Job { delivery: 0, silent: false, protocol: Protocol::Resp2, work: Work::Call(call) }
    }

    #[test]
    fn a_group_that_is_cleared_leaves_the_lists_of_its_arguments_but_not_large_ones() {
        let mut group = Group::of(job(2));
        for job in [job(MAX_SPARE_ARGS + 1), job(3).again(5), job(3)] {
            group.push(job);
        }
        assert_eq!(group.requests(), 8);
        let mut spare = Vec::new();
        group.clear(&mut spare);
        assert!(group.is_empty() && group.requests() == 0);
        assert!(spare.iter().all(Vec::is_empty));
        assert_eq!(spare.iter().map(Vec::capacity).collect::<Vec<_>>(), [2, 3]);
        let mut many = vec![Vec::new(); MAX_SPARE_LISTS];
        group.push(job(2));
        group.clear(&mut many);
        assert_eq!(many.len(), MAX_SPARE_LISTS);
    }
}
