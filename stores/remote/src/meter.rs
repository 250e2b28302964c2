//! Round trips: requests that somebody waited for, counted where they are sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many requests were sent and waited for, those that failed included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTrips {
    /// Requests that read: requests that were under way together count as one.
    pub reads: u64,
    /// Requests that write.
    pub commits: u64,
}

impl RoundTrips {
    /// Both together.
    #[must_use]
    pub const fn sum(self) -> u64 {
        self.reads.saturating_add(self.commits)
    }

    /// How many came since `before`, an earlier count of the same meter.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self { reads: self.reads.saturating_sub(before.reads), commits: self.commits.saturating_sub(before.commits) }
    }
}

#[derive(Debug, Default)]
struct Counters {
    reads: AtomicU64,
    commits: AtomicU64,
}

/// Counts the round trips of a store, or those of one of its handles, which count for the store, too. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    own: Arc<Counters>,
    total: Option<Arc<Counters>>,
}

impl Meter {
    /// The meter of a store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The meter of a handle of this meter's store.
    #[must_use]
    pub fn of_handle(&self) -> Self {
        Self { own: Arc::default(), total: Some(Arc::clone(&self.own)) }
    }

    /// Counts a request that reads.
    pub fn count_read(&self) {
        for counters in self.counters() {
            counters.reads.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a request that writes.
    pub fn count_commit(&self) {
        for counters in self.counters() {
            counters.commits.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What was counted so far.
    #[must_use]
    pub fn round_trips(&self) -> RoundTrips {
        RoundTrips { reads: self.own.reads.load(Ordering::Relaxed), commits: self.own.commits.load(Ordering::Relaxed) }
    }

    fn counters(&self) -> impl Iterator<Item = &Counters> {
        std::iter::once(self.own.as_ref()).chain(self.total.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_count_for_themselves_and_for_their_store() {
        let store = Meter::new();
        let (one, other) = (store.of_handle(), store.of_handle());
        one.count_read();
        let before = one.round_trips();
        one.count_read();
        one.count_commit();
        other.clone().count_commit();
        assert_eq!(one.round_trips(), RoundTrips { reads: 2, commits: 1 });
        assert_eq!(one.round_trips().since(before), RoundTrips { reads: 1, commits: 1 });
        assert_eq!(other.round_trips(), RoundTrips { reads: 0, commits: 1 });
        assert_eq!(store.round_trips(), RoundTrips { reads: 2, commits: 2 });
        assert_eq!(store.round_trips().sum(), 4);
    }
}
