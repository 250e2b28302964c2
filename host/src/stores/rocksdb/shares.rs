//! What residents leave of their share of the cache is the records'. Both are in parts with bounds of their own: so that these are not
//! written anew with each record, they follow in steps.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The share is given back in so many steps.
const STEPS: usize = 64;

/// Who has which part of the memory that residents may take.
pub struct Shares {
    step: usize,
    /// So many steps are the residents', used or not.
    kept: AtomicUsize,
    /// Held while bounds are written, so that all are of one time.
    bounds: Mutex<()>,
}

impl Shares {
    /// Residents may take so many bytes, and take none yet.
    pub fn new(most_bytes: usize) -> Self {
        Self { step: most_bytes.div_ceil(STEPS).max(1), kept: AtomicUsize::new(0), bounds: Mutex::default() }
    }

    /// Residents take so many bytes: where the bounds are to follow, `bound` is told how many bytes of the share records must not take.
    pub fn follow(&self, used: impl Fn() -> usize, mut bound: impl FnMut(usize)) {
        if self.is_kept(used()) {
            return;
        }
        let _alone = self.bounds.lock();
        // Again until it is enough: who adds residents meanwhile may have found the number that is replaced here, and nothing to do.
        loop {
            let bytes = used();
            if self.is_kept(bytes) {
                return;
            }
            let kept = bytes.div_ceil(self.step);
            self.kept.store(kept, Ordering::SeqCst);
            bound(kept * self.step);
        }
    }

    /// Whether what is kept is enough, and not a whole step too much: what comes and goes moves no bounds.
    fn is_kept(&self, used: usize) -> bool {
        let needed = used.div_ceil(self.step);
        (needed..=needed + 1).contains(&self.kept.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn bounds_follow_what_residents_take_at_once_and_what_they_leave_from_a_step_on() {
        let shares = Shares::new(6400);
        let bound = Cell::new(None);
        let follow = |used: usize| {
            bound.set(None);
            shares.follow(|| used, |bytes| bound.set(Some(bytes)));
            bound.get()
        };
        assert_eq!((follow(0), follow(1), follow(100)), (None, Some(100), None));
        assert_eq!((follow(101), follow(200), follow(6400)), (Some(200), None, Some(6400)));
        assert_eq!((follow(6201), follow(6200), follow(6201)), (None, Some(6200), Some(6300)));
        assert_eq!((follow(0), follow(0)), (Some(0), None));
    }

    #[test]
    fn bounds_that_several_threads_move_are_in_the_end_those_of_what_is_used() {
        let (shares, used, bound) = (Shares::new(6400), AtomicUsize::new(0), AtomicUsize::new(0));
        let change = |bytes: usize| {
            used.fetch_add(bytes, Ordering::SeqCst);
            shares.follow(|| used.load(Ordering::SeqCst), |kept| bound.store(kept, Ordering::SeqCst));
        };
        for round in 0..300_usize {
            std::thread::scope(|scope| {
                for thread in 0..4 {
                    scope.spawn(move || {
                        for step in 0..20 {
                            change(700 + thread + step);
                            change(0_usize.wrapping_sub(700 + thread + step));
                        }
                        change(round % 7 * 100);
                    });
                }
            });
            let (used, bound) = (used.swap(0, Ordering::SeqCst), bound.load(Ordering::SeqCst));
            assert!((used..used + 200).contains(&bound), "round {round}: {used} bytes are used, {bound} are kept");
            change(0);
        }
    }

    #[test]
    fn a_share_of_nothing_has_no_steps() {
        Shares::new(0).follow(|| 0, |bytes| panic!("{bytes}"));
    }
}
