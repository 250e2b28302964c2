//! The store contract over etcd: any number of processes over one cluster, isolated by what each commit compares.
//!
//! A transaction reads at one revision of etcd. Its commit is one Txn, which compares that nobody has changed its lock keys since, and
//! puts everything, or nothing: [`StoreError::Conflict`] then. See `docs/stores/etcd.md` for limits, guarantees and costs.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod backwards;
mod changes;
mod cluster;
mod commit;
mod handle;
mod keyspaces;
mod options;
mod outcome;
mod reads;

pub use handle::EtcdHandle;

use cluster::{Cluster, Route};
use etcd_client::{Compare, CompareOp, Txn, TxnOp};
use options::{Options, Sizes};
use orbweaver_engine::store::{Limits, StoreError};
use orbweaver_remote::{Keys, Meter, RoundTrips, Turns, block_on};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// The value of the format record. Another number of stripes is another format.
const FORMAT: &str = "orbweaver-etcd 1";
/// How many stripes lock keys share.
const STRIPES: u32 = 1 << 16;
/// No epoch is known. etcd's revisions are never negative.
const UNKNOWN: i64 = -1;

/// A store in a cluster of etcd. Clones share it.
#[derive(Clone)]
pub struct EtcdStore {
    inner: Arc<Inner>,
}

/// What all handles of a process share.
struct Inner {
    cluster: Cluster,
    keys: Keys,
    sizes: Sizes,
    limits: Limits,
    meter: Meter,
    turns: Arc<Turns>,
    /// The revision of the epoch record, as it was last seen.
    epoch: AtomicI64,
    /// Nobody else's: what the marks of this process begin with.
    id: u64,
    marks: AtomicU64,
}

impl Inner {
    fn known_epoch(&self) -> Option<i64> {
        Some(self.epoch.load(Ordering::Acquire)).filter(|&epoch| epoch != UNKNOWN)
    }

    fn learn_epoch(&self, epoch: i64) {
        self.epoch.store(epoch, Ordering::Release);
    }

    fn forget_epoch(&self) {
        self.epoch.store(UNKNOWN, Ordering::Release);
    }

    /// A mark that no other transaction has.
    fn next_mark(&self) -> Vec<u8> {
        let number = self.marks.fetch_add(1, Ordering::Relaxed);
        [self.id.to_be_bytes(), number.to_be_bytes()].concat()
    }
}

/// What a cluster is made of, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The version of the node that was asked: `3.4.23`.
    pub version: String,
    /// The names and addresses of all members.
    pub members: Vec<String>,
    /// The size of the node's database file in bytes.
    pub database_bytes: u64,
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "etcd {}, {} members ({})", self.version, self.members.len(), self.members.join(", "))
    }
}

impl EtcdStore {
    /// Opens a store: `etcd://[user:password@]host[:port],host[:port].../prefix?option=value`, `etcds://` for TLS.
    ///
    /// Options: `ca`, `cert`, `key` (files of PEM), `tls` (`true`), `timeout` (`10s`: how long a request and its repetitions take at
    /// most), `max-txn-ops` and `max-request-bytes` where the nodes run with these flags. The prefix is `orbweaver` where there is none;
    /// stores of other prefixes do not see each other, unless one prefix begins with the other one and a slash.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the URL is wrong, no node answers in time, or the credentials are refused; [`StoreError::Corrupt`] where
    /// a later version of this program has made the store.
    pub fn open(url: &str) -> Result<Self, StoreError> {
        let options = Options::parse(url)?;
        let inner = Inner {
            cluster: Cluster::new(&options),
            keys: Keys::new(&options.prefix),
            sizes: options.sizes,
            limits: options.sizes.limits(),
            meter: Meter::new(),
            turns: Arc::default(),
            epoch: AtomicI64::new(UNKNOWN),
            id: fastrand::u64(..),
            marks: AtomicU64::new(0),
        };
        let store = Self { inner: Arc::new(inner) };
        block_on(store.check_format())??;
        Ok(store)
    }

    /// Writes the format record where there is none: the store is new.
    async fn check_format(&self) -> Result<(), StoreError> {
        let Inner { cluster, keys, .. } = self.inner.as_ref();
        let is_new = Compare::create_revision(keys.format(), CompareOp::Equal, 0);
        let put = TxnOp::put(keys.format(), FORMAT, None);
        let txn = Txn::new().when([is_new]).and_then([put]).or_else([TxnOp::get(keys.format(), None)]);
        let answer = cluster.repeat_txn(&cluster.route(), &txn).await.map_err(|failure| cluster.error(failure))?;
        let found = reads::answers(&answer);
        match found.first().and_then(|answer| answer.kvs().first()) {
            Some(record) if record.value() != FORMAT.as_bytes() => {
                Err(StoreError::Corrupt(format!("etcd: its format is {}, not {FORMAT}", record.value().escape_ascii())))
            }
            _ => Ok(()),
        }
    }

    /// A further conversation with the store: one for each thread.
    #[must_use]
    pub fn handle(&self) -> EtcdHandle {
        EtcdHandle::new(self.clone())
    }

    /// The requests of all handles so far.
    #[must_use]
    pub fn round_trips(&self) -> RoundTrips {
        self.inner.meter.round_trips()
    }

    /// Asks the cluster what it is.
    ///
    /// # Errors
    /// [`StoreError::Io`] where no node answers in time.
    pub fn describe(&self) -> Result<Description, StoreError> {
        let (cluster, route) = (&self.inner.cluster, self.inner.cluster.route());
        block_on(self.ask(&route))?.map_err(|failure| cluster.error(failure))
    }

    async fn ask(&self, route: &Route) -> Result<Description, cluster::Failure> {
        let asked = self.inner.cluster.repeat(route, |client| async move {
            let status = client.maintenance_client().status().await?;
            let members = client.cluster_client().member_list().await?;
            let of = |member: &etcd_client::Member| format!("{} {}", member.name(), member.client_urls().join(" "));
            Ok(Description {
                version: status.version().to_owned(),
                members: members.members().iter().map(of).collect(),
                database_bytes: u64::try_from(status.db_size()).unwrap_or_default(),
            })
        });
        asked.await
    }
}
