//! What a handle does about others who want the same: it waits before it tries again.

use crate::{Backoff, BackoffPolicy, Turn, Turns};
use orbweaver_engine::store::{Scope, StoreError, stripe};
use std::sync::Arc;
use std::time::Duration;

/// How long a transaction waits for others of this process that write to the same stripe.
const PATIENCE: Duration = Duration::from_secs(1);
/// What turns are numbered by: a hash of lock keys. One that is shared makes somebody wait who need not.
const TURNS: u64 = 1 << 20;

/// The collisions of one handle.
#[derive(Debug)]
pub struct Contention {
    turns: Arc<Turns>,
    conflicts: Backoff,
    /// Held until the transaction ends.
    turn: Option<Turn>,
}

impl Contention {
    /// Of a handle of the process, or store, that has these turns.
    #[must_use]
    pub const fn new(turns: Arc<Turns>) -> Self {
        Self { turns, conflicts: Backoff::new(BackoffPolicy::CONFLICTS), turn: None }
    }

    /// Waits before a transaction where it would collide: for others of this process, and, where that did not help, for a time.
    ///
    /// # Errors
    /// As [`Backoff::pause`].
    pub fn begin(&mut self, scope: &Scope) -> Result<(), StoreError> {
        let failures = self.conflicts.failures();
        if let Scope::Keys(keys) = scope
            && let Some(first) = keys.iter().map(|key| stripe(key, TURNS)).min()
            && (failures > 0 || self.turns.is_taken(first))
        {
            self.turn = self.turns.take(first, PATIENCE);
        }
        let needs_no_pause = self.turn.is_some() && failures < 2;
        if needs_no_pause { Ok(()) } else { self.conflicts.pause() }
    }

    /// Notes the outcome of a commit.
    pub fn committed(&mut self, outcome: &Result<(), StoreError>) {
        match outcome {
            Ok(()) => self.conflicts.succeeded(),
            Err(StoreError::Conflict) => self.collided(),
            Err(_) => {}
        }
        self.turn = None;
    }

    /// Notes that a transaction met others before it was committed.
    pub fn collided(&mut self) {
        self.conflicts.failed();
        self.turn = None;
    }

    /// Notes that a transaction ended without a commit.
    pub fn ended(&mut self) {
        self.turn = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(key: &'static str) -> Scope {
        Scope::Keys(vec![key.into()])
    }

    #[test]
    fn who_collided_has_a_turn_the_next_time_until_the_transaction_ends() {
        let turns: Arc<Turns> = Arc::default();
        let is_taken = || turns.is_taken(stripe(b"key", TURNS));
        let mut contention = Contention::new(Arc::clone(&turns));
        contention.begin(&scope("key")).unwrap();
        assert!(!is_taken(), "nobody collided so far");
        contention.committed(&Err(StoreError::Conflict));
        for outcome in [None, Some(Err(StoreError::Conflict)), Some(Ok(()))] {
            contention.begin(&scope("key")).unwrap();
            assert!(is_taken());
            match outcome {
                Some(outcome) => contention.committed(&outcome),
                None => contention.ended(),
            }
            assert!(!is_taken());
        }
        contention.begin(&scope("key")).unwrap();
        assert!(!is_taken(), "the last attempt succeeded");
    }
}
