//! Connections, a bounded number of them: a transaction takes one and gives it back.

use crate::error::Failure;
use crate::link::{Link, Session};
use crate::options::Options;
use orbweaver_engine::store::StoreError;
use orbweaver_remote::{Backoff, BackoffPolicy};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

/// How long a transaction waits for another one to end when all connections are taken.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Pool {
    options: Options,
    idle: Mutex<Vec<Link>>,
    permits: Arc<Semaphore>,
}

/// A connection that is taken.
pub struct Lease {
    pub link: Link,
    _permit: OwnedSemaphorePermit,
}

impl Lease {
    /// Closes the connection at once: what the server still does on it is for nobody.
    pub fn abandon(self) {
        self.link.abandon();
    }
}

impl Pool {
    /// Without connections so far.
    pub fn new(options: Options) -> Self {
        let permits = Arc::new(Semaphore::new(options.pool));
        Self { options, idle: Mutex::default(), permits }
    }

    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Takes a connection, a new one where none is idle.
    pub async fn take(&self) -> Result<Lease, StoreError> {
        let permit = timeout(PATIENCE, Arc::clone(&self.permits).acquire_owned()).await;
        let Ok(Ok(permit)) = permit else {
            let text =
                format!("all {} connections to {} are in use; raise the option pool of the URL", self.options.pool, self.options.place);
            return Err(StoreError::Io(text));
        };
        let link = match self.pop() {
            Some(link) => link,
            None => self.ready().await?,
        };
        Ok(Lease { link, _permit: permit })
    }

    /// Gives a connection back, on which a transaction has ended, or its end has been sent.
    pub fn give(&self, lease: Lease) {
        if !lease.link.is_closed() {
            self.idle().push(lease.link);
        }
    }

    /// Adds a connection of [`Pool::connect`].
    pub async fn add(&self, session: Session) -> Result<(), StoreError> {
        let link = session.prepare(&self.options).await.map_err(Failure::alone)?;
        self.idle().push(link);
        Ok(())
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Link>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The idle connection that was used last.
    fn pop(&self) -> Option<Link> {
        let mut idle = self.idle();
        std::iter::from_fn(|| idle.pop()).find(|link| !link.is_closed())
    }

    async fn ready(&self) -> Result<Link, StoreError> {
        self.trying(async || self.session().await?.prepare(&self.options).await).await
    }

    /// A connection on which nothing was prepared.
    pub async fn connect(&self) -> Result<Session, StoreError> {
        self.trying(async || self.session().await).await
    }

    async fn session(&self) -> Result<Session, Failure> {
        Session::open(&self.options).await
    }

    /// Tries again for a bounded time while no server answers: one that is started again comes back.
    async fn trying<T>(&self, connect: impl AsyncFn() -> Result<T, Failure>) -> Result<T, StoreError> {
        let mut losses = Backoff::new(BackoffPolicy::unavailable(self.options.connect_timeout));
        loop {
            match connect().await {
                Err(Failure::Lost(what)) => {
                    losses.failed();
                    match losses.next_delay() {
                        Some(delay) => sleep(delay).await,
                        None => return Err(StoreError::Io(what)),
                    }
                }
                other => return other.map_err(Failure::alone),
            }
        }
    }
}
