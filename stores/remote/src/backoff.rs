//! Delays before a transaction that met a conflict, or a request that met nobody, is tried again.
//!
//! Exponential with full jitter: each delay is a random part of a bound that doubles, so that those who collided do not meet again.

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use orbweaver_engine::store::StoreError;
use std::time::Duration;

/// How long, and how often, somebody tries again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackoffPolicy {
    /// The bound of the first delay.
    pub first: Duration,
    /// No delay is longer.
    pub longest: Duration,
    /// Most attempts in a row, the first one not counted.
    pub attempts: u32,
    /// The bounds of all delays in a row are not longer together.
    pub total: Duration,
}

impl BackoffPolicy {
    /// For transactions that met a conflict: more attempts than the engine makes.
    pub const CONFLICTS: Self =
        Self { first: Duration::from_millis(1), longest: Duration::from_millis(100), attempts: 200, total: Duration::from_secs(30) };

    /// For requests that met nobody, or somebody who could not serve them: ends after `total`.
    #[must_use]
    pub const fn unavailable(total: Duration) -> Self {
        Self { first: Duration::from_millis(20), longest: Duration::from_millis(500), attempts: u32::MAX, total }
    }

    fn delays(self) -> ExponentialBackoff {
        ExponentialBuilder::new()
            .with_min_delay(self.first)
            .with_max_delay(self.longest)
            .with_max_times(usize::try_from(self.attempts).unwrap_or(usize::MAX))
            .with_total_delay(Some(self.total))
            .build()
    }
}

/// Attempts in a row.
#[derive(Debug)]
pub struct Backoff {
    policy: BackoffPolicy,
    /// Of the attempts since the last success; `None` where the last attempt was one.
    delays: Option<ExponentialBackoff>,
    failures: u32,
    /// A failure has not been waited for yet.
    is_due: bool,
}

impl Backoff {
    /// Without failures so far.
    #[must_use]
    pub const fn new(policy: BackoffPolicy) -> Self {
        Self { policy, delays: None, failures: 0, is_due: false }
    }

    /// Notes that an attempt failed: the next [`Backoff::next_delay`] is not zero.
    pub fn failed(&mut self) {
        self.failures = self.failures.saturating_add(1);
        self.is_due = true;
    }

    /// Notes that an attempt succeeded: the next failure is the first one again.
    pub fn succeeded(&mut self) {
        *self = Self::new(self.policy);
    }

    /// How many attempts have failed in a row.
    #[must_use]
    pub const fn failures(&self) -> u32 {
        self.failures
    }

    /// How long to wait before the next attempt: zero where the last one did not fail. `None` when the attempts, or their time, are
    /// used up; the failures are then forgotten, so that what comes later begins anew.
    pub fn next_delay(&mut self) -> Option<Duration> {
        if !std::mem::take(&mut self.is_due) {
            return Some(Duration::ZERO);
        }
        let bound = self.delays.get_or_insert_with(|| self.policy.delays()).next();
        if bound.is_none() {
            self.succeeded();
        }
        bound.map(|bound| bound.mul_f64(fastrand::f64()))
    }

    /// Waits on the calling thread before a transaction is begun: not at all unless the one before met a conflict.
    ///
    /// # Errors
    /// [`StoreError::Io`] when the attempts are used up; the next transaction may begin.
    pub fn pause(&mut self) -> Result<(), StoreError> {
        let failures = self.failures;
        let delay = self
            .next_delay()
            .ok_or_else(|| StoreError::Io(format!("{failures} conflicts with other transactions in a row, try again later")))?;
        if !delay.is_zero() {
            std::thread::sleep(delay);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: BackoffPolicy =
        BackoffPolicy { first: Duration::from_millis(10), longest: Duration::from_millis(40), attempts: 5, total: Duration::from_secs(1) };

    #[test]
    fn delays_lie_below_bounds_that_double_and_end() {
        for _ in 0..100 {
            let mut backoff = Backoff::new(POLICY);
            assert_eq!(backoff.next_delay(), Some(Duration::ZERO), "nothing has failed");
            for bound in [10, 20, 40, 40, 40] {
                backoff.failed();
                let delay = backoff.next_delay().unwrap();
                assert!(delay <= Duration::from_millis(bound), "{delay:?} is above {bound} ms");
                assert_eq!(backoff.next_delay(), Some(Duration::ZERO), "one delay a failure");
            }
            backoff.failed();
            assert_eq!(backoff.next_delay(), None);
            backoff.failed();
            assert!(backoff.next_delay().is_some(), "what comes later begins anew");
        }
    }

    #[test]
    fn a_success_begins_anew() {
        let mut backoff = Backoff::new(POLICY);
        for _ in 0..50 {
            backoff.failed();
            assert!(backoff.next_delay().unwrap() <= POLICY.first);
            backoff.succeeded();
        }
    }

    #[test]
    fn a_total_bounds_what_attempts_do_not() {
        let mut backoff = Backoff::new(BackoffPolicy { attempts: u32::MAX, total: Duration::from_millis(100), ..POLICY });
        let mut delays = 0;
        loop {
            backoff.failed();
            let Some(_) = backoff.next_delay() else { break };
            delays += 1;
        }
        assert_eq!(delays, 3, "10 + 20 + 40 ms, and 40 more would be too many");
    }

    #[test]
    fn the_end_of_attempts_is_told_with_their_number() {
        let mut backoff = Backoff::new(BackoffPolicy { attempts: 1, ..POLICY });
        backoff.failed();
        backoff.pause().unwrap();
        backoff.failed();
        let error = backoff.pause().unwrap_err();
        assert_eq!(error, StoreError::Io("2 conflicts with other transactions in a row, try again later".into()));
        backoff.pause().unwrap();
    }
}
