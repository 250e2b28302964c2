//! The store: what its handles share.

use crate::error::{Failure, judge};
use crate::handle::PostgresHandle;
use crate::link::Link;
use crate::options::Options;
use crate::pool::{Lease, Pool};
use crate::schema;
use crate::server::Server;
use orbweaver_engine::store::{Limits, StoreError};
use orbweaver_remote::{Meter, RoundTrips, Turns, block_on};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tokio_postgres::{Error, Row};

/// How much longer than a statement may take its answer is waited for.
const GRACE: Duration = Duration::from_secs(5);

/// A store in a database of PostgreSQL, CockroachDB or YugabyteDB. Clones share its connections.
#[derive(Clone)]
pub struct PostgresStore {
    shared: Arc<Shared>,
}

pub struct Shared {
    pub pool: Pool,
    pub server: Server,
    pub limits: Limits,
    pub meter: Meter,
    /// Of transactions of this process that write to the same stripe.
    pub turns: Arc<Turns>,
    /// The epoch that a transaction of this process saw last. It may be an old one: each transaction compares it with the store's.
    epoch: AtomicI64,
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("place", &self.shared.pool.options().place).finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// Connects to the first server of `url` that answers, and makes the store's tables where they are not there:
    /// `postgres://user:password@host:port,host:port/database?option=value`. The options are those of libpq as far as they are there
    /// (`application_name`, `connect_timeout`, `load_balance_hosts`, `sslmode`, `sslrootcert`, `target_session_attrs`), and `schema`
    /// (of the tables: `orbweaver`), `pool` (most connections: 16) and `statement_timeout` (60s). No error repeats the password.
    ///
    /// # Errors
    /// [`StoreError::Io`] for a URL that is wrong, servers that do not answer or refuse, and users who may not make tables;
    /// [`StoreError::Corrupt`] for tables that are not whole.
    pub fn open(url: &str) -> Result<Self, StoreError> {
        let options = Options::parse(url)?;
        let pool = Pool::new(options);
        let server = block_on(async {
            let session = pool.connect().await?;
            schema::ensure(&session, pool.options()).await?;
            let server = session.server.clone();
            pool.add(session).await?;
            Ok::<_, StoreError>(server)
        })??;
        let limits = server.limits();
        let shared = Shared { pool, server, limits, meter: Meter::new(), turns: Arc::default(), epoch: AtomicI64::new(0) };
        shared.refresh_epoch(&shared.meter)?;
        Ok(Self { shared: Arc::new(shared) })
    }

    /// A handle, for one thread at a time.
    #[must_use]
    pub fn handle(&self) -> PostgresHandle {
        PostgresHandle::new(Arc::clone(&self.shared))
    }

    /// What the servers run: `PostgreSQL 15.14`.
    #[must_use]
    pub fn describe(&self) -> &str {
        &self.shared.server.name
    }

    /// How many requests were sent and waited for, by all handles. Connecting is not counted.
    #[must_use]
    pub fn round_trips(&self) -> RoundTrips {
        self.shared.meter.round_trips()
    }

    /// The server's clock: Unix time in milliseconds.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the server does not answer.
    pub fn server_clock_ms(&self) -> Result<u64, StoreError> {
        let clock = "SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS int8)";
        let row = self.shared.ask(&self.shared.meter, async |link| link.client.query_typed_one(clock, &[]).await)?;
        let millis: i64 = row.try_get(0).map_err(|error| corrupt(&error))?;
        u64::try_from(millis).map_err(|_| StoreError::Io(format!("the server's clock is at {millis} ms, before 1970")))
    }
}

/// What a column that is none of ours comes to.
pub fn corrupt(error: &Error) -> StoreError {
    StoreError::Corrupt(format!("a column of the store's tables holds something else: {error}"))
}

impl Shared {
    /// The epoch for a transaction that begins.
    pub fn epoch(&self) -> i64 {
        self.epoch.load(Ordering::Relaxed)
    }

    /// Notes what the store's epoch is.
    pub fn note_epoch(&self, epoch: i64) {
        self.epoch.store(epoch, Ordering::Relaxed);
    }

    /// Reads the epoch from the store.
    pub fn refresh_epoch(&self, meter: &Meter) -> Result<(), StoreError> {
        let row: Row = self.ask(meter, async |link| link.client.query_one(&link.statements.epoch, &[]).await)?;
        self.note_epoch(row.try_get(0).map_err(|error| corrupt(&error))?);
        Ok(())
    }

    /// Waits for the answer to a statement, for a bounded time.
    pub async fn wait<T>(&self, request: impl Future<Output = Result<T, Error>>) -> Result<T, Failure> {
        self.wait_for(1, request).await?.map_err(|error| judge(&self.pool.options().place, &error))
    }

    /// Waits for the answers to several statements.
    pub async fn wait_for<T>(&self, statements: u32, requests: impl Future<Output = T>) -> Result<T, Failure> {
        let options = self.pool.options();
        let patience = options.statement_timeout.saturating_mul(statements).saturating_add(GRACE);
        let late = |_| Failure::Lost(format!("{} has not answered within {patience:?}", options.place));
        timeout(patience, requests).await.map_err(late)
    }

    /// Ends the transaction on a connection, without waiting for the answer, and takes the connection back.
    pub fn roll_back(&self, lease: Lease) {
        lease.link.send_rollback();
        self.pool.give(lease);
    }

    /// As [`Shared::roll_back`], of a transaction that failed: its connection may be gone.
    pub fn give_up(&self, lease: Lease, failure: &Failure) {
        match failure {
            Failure::Lost(_) => lease.abandon(),
            Failure::Collision | Failure::Refused(_) => self.roll_back(lease),
        }
    }

    /// Whether a request that was begun then, and lost its connection, is made again: idle connections may turn out to be gone one after
    /// the other, while new ones are waited for long enough where they are made.
    pub fn may_try_again(&self, begun: Instant) -> bool {
        begun.elapsed() < self.pool.options().connect_timeout
    }

    /// A request outside of transactions that may be made twice, counted by `meter`: on a new connection where an idle one turns out to be gone.
    pub fn ask<T>(&self, meter: &Meter, request: impl AsyncFn(&Link) -> Result<T, Error>) -> Result<T, StoreError> {
        let start = Instant::now();
        loop {
            let lease = block_on(self.pool.take())??;
            meter.count_read();
            match block_on(self.wait(request(&lease.link)))? {
                Ok(answer) => {
                    self.pool.give(lease);
                    return Ok(answer);
                }
                Err(Failure::Lost(_)) if self.may_try_again(start) => lease.abandon(),
                Err(failure) => {
                    self.pool.give(lease);
                    return Err(failure.alone());
                }
            }
        }
    }
}
