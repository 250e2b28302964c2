//! Turns: transactions of one process that collided queue up for what they collided on, instead of colliding again.
//!
//! A courtesy, not a lock: who has waited long enough goes on without a turn, and other processes know nothing of it. What isolates
//! transactions is the store.

use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The turns of one process, by numbers.
#[derive(Debug, Default)]
pub struct Turns {
    taken: Mutex<HashSet<u64>>,
    freed: Condvar,
}

/// Somebody's turn, until it is dropped.
#[derive(Debug)]
pub struct Turn {
    turns: Arc<Turns>,
    number: u64,
}

impl Turns {
    fn taken(&self) -> MutexGuard<'_, HashSet<u64>> {
        // Whoever panicked held the lock between whole steps only.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is somebody's turn.
    #[must_use]
    pub fn is_taken(&self, number: u64) -> bool {
        self.taken().contains(&number)
    }

    /// Waits for a turn; `None` where it did not come within `patience`. Who has a turn waits for no other: turns cannot deadlock.
    #[must_use]
    pub fn take(self: &Arc<Self>, number: u64, patience: Duration) -> Option<Turn> {
        let is_taken = |taken: &mut HashSet<u64>| taken.contains(&number);
        let waited = self.freed.wait_timeout_while(self.taken(), patience, is_taken);
        let (mut taken, _) = waited.unwrap_or_else(PoisonError::into_inner);
        taken.insert(number).then(|| Turn { turns: Arc::clone(self), number })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.taken().remove(&self.number);
        self.turns.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    const PATIENCE: Duration = Duration::from_secs(30);

    #[test]
    fn those_who_wait_for_one_turn_have_it_one_after_the_other() {
        let (turns, inside, most) = (Arc::new(Turns::default()), AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| {
                    for _ in 0..50 {
                        let turn = turns.take(7, PATIENCE).unwrap();
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        drop(turn);
                    }
                });
            }
        });
        assert_eq!(most.load(Ordering::SeqCst), 1);
        assert!(!turns.is_taken(7));
    }

    #[test]
    fn who_waits_long_enough_goes_on_without_a_turn() {
        let turns = Arc::new(Turns::default());
        let turn = turns.take(1, PATIENCE).unwrap();
        assert!(turns.take(1, Duration::from_millis(5)).is_none());
        assert!(turns.take(2, Duration::ZERO).is_some(), "another one is free");
        assert!(turns.is_taken(1));
        drop(turn);
        assert!(turns.take(1, Duration::ZERO).is_some());
    }
}
