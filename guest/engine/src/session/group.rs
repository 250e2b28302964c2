//! A group: the jobs that run in one transaction.

use super::plan::Job;

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
    /// most so many times: as one job where that may be, otherwise as one for each. Returns how many times that is.
    pub fn take_again(&mut self, input: &[u8], length: usize, most: usize, as_one: impl FnOnce() -> bool) -> usize {
        let Some((request, mut behind)) = input.split_at_checked(length).filter(|_| length > 0) else { return 0 };
        let mut times = 0;
        while times < most
            && let Some(rest) = behind.strip_prefix(request)
        {
            (times, behind) = (times + 1, rest);
        }
        let Some(last) = self.jobs.last().filter(|last| times > 0 && last.can_run_again()) else { return 0 };
        let (of_each, jobs) = if as_one() { (times, 1) } else { (1, times) };
        let again = last.again(of_each);
        self.jobs.extend((1..jobs).map(|_| again.again(of_each)).collect::<Vec<Job>>());
        self.jobs.push(again);
        self.requests += times;
        times
    }
}
