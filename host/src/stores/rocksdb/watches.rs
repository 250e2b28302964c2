//! Who is told of changes: handles whose component keeps pages (docs/boundary.md).
//!
//! A commit tells its changes behind the beginning of its [marks](super::marks), and in front of what it writes. So a handle whose state holds the commit finds them when
//! it asks behind the beginning of its transaction. And what the cache has answered since it asked last holds the commit, or the commit is told the next
//! time: if it was told before that answer, then its mark had begun, and the cache does not answer until it has ended, and then only who reads a state that holds it.

use orbweaver_engine::store::Changes;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What one handle has not been told yet.
#[derive(Debug)]
pub struct Watch {
    /// Whether there is anything: raised behind the words, and lowered in front of them.
    is_told: AtomicBool,
    words: [AtomicU64; Changes::WORDS],
}

impl Watch {
    const fn new() -> Self {
        Self { is_told: AtomicBool::new(false), words: [const { AtomicU64::new(0) }; Changes::WORDS] }
    }

    fn tell(&self, changes: &Changes) {
        for (word, changed) in self.words.iter().zip(changes.words()) {
            // Mostly all of it is told already: then the handle's memory stays in its processor's cache.
            if word.load(Ordering::SeqCst) & changed != *changed {
                word.fetch_or(*changed, Ordering::SeqCst);
            }
        }
        if !self.is_told.load(Ordering::SeqCst) {
            self.is_told.store(true, Ordering::SeqCst);
        }
    }

    /// What has been told since this was last asked.
    pub fn take(&self) -> Changes {
        if !self.is_told.load(Ordering::SeqCst) {
            return Changes::NONE;
        }
        self.is_told.store(false, Ordering::SeqCst);
        let take = |word: &AtomicU64| if word.load(Ordering::SeqCst) == 0 { 0 } else { word.swap(0, Ordering::SeqCst) };
        self.words.each_ref().map(take).into()
    }
}

/// The watches of a store.
#[derive(Debug, Default)]
pub struct Watches(RwLock<Vec<Arc<Watch>>>);

impl Watches {
    /// A new one, which is told what changes from now on.
    pub fn begin(&self) -> Arc<Watch> {
        let watch = Arc::new(Watch::new());
        self.0.write().push(Arc::clone(&watch));
        watch
    }

    /// It is not told any more.
    pub fn end(&self, watch: &Arc<Watch>) {
        self.0.write().retain(|other| !Arc::ptr_eq(other, watch));
    }

    /// Tells all of them; `changes` is asked only where there are any.
    pub fn tell(&self, changes: impl FnOnce() -> Changes) {
        let watches = self.0.read();
        if !watches.is_empty() {
            let changes = changes();
            watches.iter().for_each(|watch| watch.tell(&changes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(places: &[usize]) -> Changes {
        let mut changes = Changes::NONE;
        places.iter().for_each(|place| changes.add(*place));
        changes
    }

    #[test]
    fn each_watch_is_told_everything_since_it_was_asked_last_and_then_nothing() {
        let watches = Watches::default();
        watches.tell(|| unreachable!("there is nobody to tell"));
        let first = watches.begin();
        assert_eq!(first.take(), Changes::NONE);
        watches.tell(|| at(&[5, 70]));
        let second = watches.begin();
        watches.tell(|| at(&[5, 1000]));
        assert_eq!((first.take(), second.take()), (at(&[5, 70, 1000]), at(&[5, 1000])));
        assert_eq!((first.take(), second.take()), (Changes::NONE, Changes::NONE));
        watches.end(&first);
        watches.tell(|| Changes::ALL);
        assert_eq!((first.take(), second.take()), (Changes::NONE, Changes::ALL));
    }

    #[test]
    fn nothing_that_others_tell_meanwhile_is_lost() {
        let watches = Watches::default();
        let watch = watches.begin();
        let mut told = [false; Changes::PLACES];
        std::thread::scope(|scope| {
            let tellers: Vec<_> = (0..4)
                .map(|part| {
                    let watches = &watches;
                    scope.spawn(move || (part * 256..(part + 1) * 256).for_each(|place| watches.tell(|| at(&[place]))))
                })
                .collect();
            while !tellers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                watch.take().places().for_each(|place| told.iter_mut().skip(place).take(1).for_each(|told| *told = true));
            }
        });
        watch.take().places().for_each(|place| told.iter_mut().skip(place).take(1).for_each(|told| *told = true));
        assert!(told.iter().all(|told| *told));
    }
}
