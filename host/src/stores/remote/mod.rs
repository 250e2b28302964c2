//! Stores behind a network, which several servers can share: etcd, and what speaks PostgreSQL's protocol.

mod address;
pub mod clock;
mod handle;

pub use address::{Address, Kind};
pub use handle::RemoteHandle;

use clock::{Clock, Heartbeats, Verdict, Watch};
use handle::Counters;
use orbweaver_engine::store::{Store, StoreError};
use orbweaver_etcd::EtcdStore;
use orbweaver_postgres::PostgresStore;
use orbweaver_remote::RoundTrips;
#[cfg(feature = "tikv")]
use orbweaver_tikv::TikvStore;
use std::sync::Arc;
use std::time::Duration;

/// An open store behind a network. Clones are the same store.
#[derive(Clone)]
pub struct RemoteStore {
    address: Address,
    client: Client,
    /// Program and version of its servers.
    server: String,
    read_only: bool,
    counters: Arc<Counters>,
    verdict: Arc<Verdict>,
}

/// Whose protocol is spoken.
#[derive(Clone)]
enum Client {
    Etcd(Arc<EtcdStore>),
    Postgres(Arc<PostgresStore>),
    #[cfg(feature = "tikv")]
    Tikv(Arc<TikvStore>),
}

impl RemoteStore {
    /// Connects to the store, and makes what it needs there where that is missing. With `read_only` its handles write nothing.
    ///
    /// # Errors
    /// A text for people that says what to do: no server there, a wrong password, no such database.
    pub fn open(address: &Address, read_only: bool) -> Result<Self, StoreError> {
        let client = match address.kind() {
            Kind::Etcd => Client::Etcd(Arc::new(EtcdStore::open(address.url())?)),
            Kind::Postgres => Client::Postgres(Arc::new(PostgresStore::open(address.url())?)),
            #[cfg(feature = "tikv")]
            Kind::Tikv => Client::Tikv(Arc::new(TikvStore::open(address.url())?)),
            #[cfg(not(feature = "tikv"))]
            Kind::Tikv => {
                let how = "this orbweaver is built without TiKV: build it with `cargo build --release --package orbweaver --features tikv`";
                return Err(StoreError::Io(how.to_owned()));
            }
        };
        let server = client.describe()?;
        Ok(Self { address: address.clone(), client, server, read_only, counters: Arc::default(), verdict: Arc::default() })
    }

    /// A handle for one thread.
    #[must_use]
    pub fn handle(&self) -> RemoteHandle {
        RemoteHandle {
            inner: self.client.handle(),
            counters: Arc::clone(&self.counters),
            verdict: Arc::clone(&self.verdict),
            read_only: self.read_only,
        }
    }

    /// Where it is, without passwords.
    #[must_use]
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// Compares `clock` with that of the store, or of its other servers, now and again and again, as long as the returned value
    /// lives. While it differs by more than `max_skew`, handles refuse to write.
    ///
    /// # Errors
    /// A text for people: the clock is wrong already.
    pub fn watch_clock(&self, clock: Clock, max_skew: Duration) -> Result<Watch, String> {
        let verdict = Arc::clone(&self.verdict);
        match &self.client {
            Client::Postgres(store) => {
                let store = Arc::clone(store);
                Watch::start(clock::ServerClock(move || store.server_clock_ms()), clock, max_skew, verdict)
            }
            // These have no clock to ask.
            _ => {
                let heartbeats = Heartbeats::new(self.client.handle()).map_err(|error| error.to_string())?;
                Watch::start(heartbeats, clock, max_skew, verdict)
            }
        }
    }

    /// What INFO tells of the store, in its section `persistence`.
    #[must_use]
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let round_trips = self.client.round_trips();
        let counted = self.counters.list().into_iter().map(|(name, count)| (name, count.to_string()));
        let own = [
            ("store_server", self.server.clone()),
            ("store_read_round_trips", round_trips.reads.to_string()),
            ("store_commit_round_trips", round_trips.commits.to_string()),
            ("store_clock_skew_ms", self.verdict.skew_ms().to_string()),
        ];
        own.into_iter().chain(counted).collect()
    }
}

impl Client {
    fn handle(&self) -> Box<dyn Store + Send> {
        match self {
            Self::Etcd(store) => Box::new(store.handle()),
            Self::Postgres(store) => Box::new(store.handle()),
            #[cfg(feature = "tikv")]
            Self::Tikv(store) => Box::new(store.handle()),
        }
    }

    /// Program and version of the servers.
    fn describe(&self) -> Result<String, StoreError> {
        match self {
            Self::Etcd(store) => store.describe().map(|description| description.to_string()),
            Self::Postgres(store) => Ok(store.describe().to_owned()),
            #[cfg(feature = "tikv")]
            Self::Tikv(store) => Ok(store.describe()),
        }
    }

    fn round_trips(&self) -> RoundTrips {
        match self {
            Self::Etcd(store) => store.round_trips(),
            Self::Postgres(store) => store.round_trips(),
            #[cfg(feature = "tikv")]
            Self::Tikv(store) => store.round_trips(),
        }
    }
}
