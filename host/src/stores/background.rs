//! Work that a store does beside its callers.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// A thread that does something again and again; dropping it waits for what it is doing and ends it.
#[derive(Debug)]
pub struct Background {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Background {
    /// Runs `work` whenever `period` has passed since it last ended.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn every(name: &str, period: Duration, mut work: impl FnMut() + Send + 'static) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let thread = Builder::new().name(name.into()).spawn(move || {
            while stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                work();
            }
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A panic of the thread has been reported by the thread itself.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_background_thread_works_until_it_is_dropped() {
        let rounds = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&rounds);
        let background = Background::every("test", Duration::from_millis(1), move || {
            counted.fetch_add(1, Ordering::SeqCst);
        })
        .unwrap();
        while rounds.load(Ordering::SeqCst) < 3 {
            std::thread::yield_now();
        }
        drop(background);
        let at_the_end = rounds.load(Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(rounds.load(Ordering::SeqCst), at_the_end);
    }
}
