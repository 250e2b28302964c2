//! Clocks of servers that share a store. Each server decides by its own clock which keys have expired: one whose clock runs ahead
//! would remove what is alive for the others. So a server compares its clock with a reference, and writes only while it agrees.

mod heartbeats;
mod judgement;

pub use heartbeats::Heartbeats;
pub use judgement::{Judgement, Skew};

use crate::stores::background::Background;
use judgement::judge;
use orbweaver_engine::store::StoreError;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// How often clocks are compared.
const LOOK_PERIOD: Duration = Duration::from_millis(250);
/// How long a server that starts waits for a comparison.
const START_PATIENCE: Duration = Duration::from_secs(10);

/// A clock: Unix time in milliseconds.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Something that knows other clocks.
pub trait Reference: Send {
    /// Compares `clock` with the others. `None`: there is nothing to say yet, ask again.
    ///
    /// # Errors
    /// What the store returns.
    fn compare(&mut self, clock: &Clock) -> Result<Option<Vec<Skew>>, StoreError>;
}

/// A reference that tells the time when it is asked, such as a database server.
pub struct ServerClock<F>(pub F);

impl<F: FnMut() -> Result<u64, StoreError> + Send> Reference for ServerClock<F> {
    fn compare(&mut self, clock: &Clock) -> Result<Option<Vec<Skew>>, StoreError> {
        let before = clock();
        let told = (self.0)()?;
        Ok(Some(vec![Skew::new((before, clock()), (told, told))]))
    }
}

/// Whether this server may write.
#[derive(Debug, Default)]
pub struct Verdict {
    refusal: RwLock<Option<String>>,
    skew_ms: AtomicI64,
}

impl Verdict {
    /// Refuses while the clock is wrong.
    ///
    /// # Errors
    /// [`StoreError::Io`] with what is wrong and what to do.
    pub fn check(&self) -> Result<(), StoreError> {
        match &*self.refusal.read().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some(text) => Err(StoreError::Io(text.clone())),
        }
    }

    /// By how many milliseconds this clock is ahead of the reference, at least; below zero it is behind. 0 where none can be told.
    #[must_use]
    pub fn skew_ms(&self) -> i64 {
        self.skew_ms.load(Ordering::Relaxed)
    }

    /// Notes a judgement, and tells the log where it differs from the one before.
    fn note(&self, judgement: Judgement, max_skew: Duration) {
        self.skew_ms.store(judgement.skew_ms, Ordering::Relaxed);
        let refusal = judgement.is_wrong.then(|| {
            let (skew, way) = (judgement.skew_ms.unsigned_abs(), if judgement.skew_ms > 0 { "ahead of" } else { "behind" });
            let most = max_skew.as_millis();
            format!("the clock of this server is {skew} ms {way} the others on the store, {most} ms are allowed: nothing is written until it is right")
        });
        let mut known = self.refusal.write().unwrap_or_else(PoisonError::into_inner);
        match (&*known, &refusal) {
            (None, Some(text)) => tracing::error!("{text}"),
            (Some(_), None) => tracing::info!("the clock of this server is right again, and writes are accepted"),
            _ => {}
        }
        *known = refusal;
    }
}

/// Compares clocks as long as it lives.
#[derive(Debug)]
pub struct Watch {
    _background: Background,
}

impl Watch {
    /// Compares the clock once, and from then on in a thread of its own.
    ///
    /// # Errors
    /// A text for people: the clock is wrong, or nothing can be compared.
    pub fn start(mut reference: impl Reference + 'static, clock: Clock, max_skew: Duration, verdict: Arc<Verdict>) -> Result<Self, String> {
        let start = Instant::now();
        loop {
            match reference.compare(&clock) {
                Ok(Some(skews)) => break verdict.note(judge(&skews, max_skew), max_skew),
                Ok(None) if start.elapsed() < START_PATIENCE => std::thread::sleep(LOOK_PERIOD),
                Ok(None) => return Err("the clocks of the other servers cannot be compared with this one's".to_owned()),
                Err(error) => return Err(format!("cannot compare clocks: {error}")),
            }
        }
        verdict.check().map_err(|error| format!("{error}; set it by NTP, or allow more with --max-clock-skew on every server"))?;
        let look = move || {
            // A store that does not answer takes no writes either.
            if let Ok(Some(skews)) = reference.compare(&clock) {
                verdict.note(judge(&skews, max_skew), max_skew);
            }
        };
        let background =
            Background::every("orbweaver-clock", LOOK_PERIOD, look).map_err(|error| format!("no thread for the clock: {error}"))?;
        Ok(Self { _background: background })
    }
}
