//! Locks on the lock keys of transactions.
//!
//! A key's lock is one of a fixed number of *stripes*, by the key's hash: two keys may share a lock, which only makes one of
//! them wait. A transaction on keys takes the *gate* shared and then its stripes in ascending order, an exclusive one takes the
//! gate alone: nobody waits in a circle.

use foldhash::quality::RandomState;
use orbweaver_engine::store::Scope;
use parking_lot::lock_api::{ArcRwLockReadGuard, ArcRwLockWriteGuard, GuardSend, RawMutex as _};
use parking_lot::{RawMutex, RawRwLock, RwLock};
use smallvec::SmallVec;
use std::hash::BuildHasher;
use std::sync::Arc;

/// Enough that two transactions rarely share a stripe by accident.
pub const STRIPES: usize = 4096;

/// The locks of one store.
pub struct KeyLocks {
    /// The stripes are behind it: a byte each, side by side, so that most are in the processor's own caches.
    gate: Arc<RwLock<Stripes>>,
    hasher: RandomState,
}

type Stripes = Box<[RawMutex]>;

/// Most transactions are of one key.
type Few<T> = SmallVec<[T; 2]>;

/// The locks of one transaction; dropping it releases them.
pub struct Held {
    /// For each key of the scope, in its order, the stripe.
    by_position: Few<usize>,
    _gate: Gate,
}

enum Gate {
    Open,
    Shared { _locked: Locked },
    Alone { _guard: ArcRwLockWriteGuard<RawRwLock, Stripes> },
}

/// Some stripes, and the gate, shared.
struct Locked {
    gate: ArcRwLockReadGuard<RawRwLock, Stripes>,
    /// Each once, in ascending order.
    stripes: Few<usize>,
}

impl Locked {
    /// Waits for each of the stripes, which are given as the scope has them.
    fn new(gate: ArcRwLockReadGuard<RawRwLock, Stripes>, stripes: &[usize]) -> Self {
        let mut stripes = Few::from_slice(stripes);
        stripes.sort_unstable();
        stripes.dedup();
        stripes.iter().filter_map(|&stripe| gate.get(stripe)).for_each(|stripe| _ = stripe.lock());
        Self { gate, stripes }
    }
}

impl Drop for Locked {
    #[expect(unsafe_code, reason = "a guard of its own for each stripe would borrow from the gate's, or count references")]
    fn drop(&mut self) {
        for stripe in self.stripes.iter().filter_map(|&stripe| self.gate.get(stripe)) {
            // SAFETY: `new` has locked each of these once, whose guards have no state, and nobody unlocks what he has not locked.
            unsafe { stripe.unlock(GuardSend::new()) };
        }
    }
}

impl Held {
    /// The stripes of the keys at these positions of the scope; positions behind the last key are passed over.
    pub fn stripes<'a>(&'a self, positions: &'a [u32]) -> impl Iterator<Item = usize> + 'a {
        positions.iter().filter_map(|&position| self.by_position.get(usize::try_from(position).ok()?).copied())
    }
}

impl KeyLocks {
    pub fn new() -> Self {
        let stripes: Stripes = (0..STRIPES).map(|_| RawMutex::INIT).collect();
        Self { gate: Arc::new(RwLock::new(stripes)), hasher: RandomState::default() }
    }

    /// The stripe of a lock key, below [`STRIPES`].
    pub fn stripe(&self, key: &[u8]) -> usize {
        // The lowest bits: no loss on a machine of 32 bits.
        usize::try_from(self.hasher.hash_one(key) & 0xffff_ffff).unwrap_or(0) % STRIPES
    }

    /// Waits until every lock of the scope is free, and takes it.
    pub fn acquire(&self, scope: &Scope) -> Held {
        match scope {
            Scope::Read => Held { by_position: Few::new(), _gate: Gate::Open },
            Scope::Exclusive => Held { by_position: Few::new(), _gate: Gate::Alone { _guard: self.gate.write_arc() } },
            Scope::Keys(keys) => {
                let by_position: Few<usize> = keys.iter().map(|key| self.stripe(key)).collect();
                let locked = Locked::new(self.gate.read_arc(), &by_position);
                Held { by_position, _gate: Gate::Shared { _locked: locked } }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, clippy::unwrap_used)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    fn scope(keys: &[&'static str]) -> Scope {
        Scope::Keys(keys.iter().map(|key| Bytes::from(*key)).collect())
    }

    #[test]
    fn a_key_is_locked_until_the_transaction_ends() {
        let locks = KeyLocks::new();
        let held = locks.acquire(&scope(&["a", "b", "a"]));
        let is_locked = || locks.gate.read()[locks.stripe(b"a")].is_locked();
        assert!(is_locked());
        assert!(locks.gate.try_write().is_none());
        drop(held);
        assert!(!is_locked());
        assert!(locks.gate.try_write().is_some());
    }

    #[test]
    fn another_thread_may_release_what_it_was_given_and_who_waits_goes_on() {
        let locks = KeyLocks::new();
        let held = locks.acquire(&scope(&["a", "b", "a"]));
        let (sender, receiver) = mpsc::channel();
        thread::scope(|threads| {
            threads.spawn(|| {
                drop(locks.acquire(&scope(&["b"])));
                sender.send(()).unwrap();
            });
            assert!(receiver.recv_timeout(Duration::from_millis(50)).is_err(), "it waits");
            threads.spawn(move || drop(held));
            receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        });
        assert!(locks.gate.try_write().is_some_and(|stripes| stripes.iter().all(|stripe| !stripe.is_locked())));
    }

    #[test]
    fn an_exclusive_transaction_keeps_writers_out_but_not_readers() {
        let locks = KeyLocks::new();
        let held = locks.acquire(&Scope::Exclusive);
        assert!(locks.gate.try_read().is_none());
        drop(locks.acquire(&Scope::Read));
        drop(held);
        assert!(locks.gate.try_read().is_some());
    }

    #[test]
    fn positions_name_the_stripes_of_their_keys() {
        let locks = KeyLocks::new();
        let held = locks.acquire(&scope(&["a", "b", "a"]));
        let (a, b) = (locks.stripe(b"a"), locks.stripe(b"b"));
        assert_eq!(held.stripes(&[2, 1, 9]).collect::<Vec<_>>(), [a, b]);
    }
}
