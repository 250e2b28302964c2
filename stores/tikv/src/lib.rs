//! The store contract over TiKV: any number of processes over one cluster, isolated by what each commit writes.
//!
//! A transaction of the contract is an optimistic transaction of TiKV: it reads at one timestamp, and commits where nobody has written,
//! or locked, the same keys since. To collide where the contract says so, it writes the stripes of the lock keys that it changes, and
//! locks those of the others that it has declared; an exclusive one writes all stripes. See `docs/stores/tikv.md`.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod failure;
mod handle;

pub use handle::TikvHandle;

use orbweaver_engine::store::{Limits, StoreError};
use orbweaver_remote::{Keys, Meter, RoundTrips, StoreUrl, Turns, block_on};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tikv_client::{CheckLevel, Config, Snapshot, Transaction, TransactionClient, TransactionOptions};

/// How many stripes lock keys share: few enough for an exclusive transaction to write all of them.
const STRIPES: u32 = 4096;
/// No epoch is known: no timestamp of TiKV is that late.
const UNKNOWN: u64 = u64::MAX;
const DEFAULT_PORT: u16 = 2379;
const DEFAULT_PREFIX: &str = "orbweaver";
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
const KNOWN: [&str; 4] = ["ca", "cert", "key", "timeout"];
/// A page or many values may be larger than what the client takes by itself, 4 MiB.
const MAX_RESPONSE_BYTES: usize = 1 << 30;
/// TiKV's: keys of 8 KiB in its own encoding (`storage.max-key-size`), entries of 8 MiB in its log (`raftstore.raft-entry-max-size`).
const LIMITS: Limits =
    Limits { max_key_bytes: 4 << 10, max_value_bytes: 4 << 20, max_batch_ops: 50_000, max_batch_bytes: 64 << 20, read_only: false };

/// The mark in a record: the timestamp of the transaction that wrote it last; 0 where there is none.
fn mark_number(value: Option<&[u8]>) -> u64 {
    value.and_then(|value| value.try_into().ok()).map_or(0, u64::from_be_bytes)
}

/// Transactions that are dropped unfinished have left nothing behind.
fn options() -> TransactionOptions {
    TransactionOptions::new_optimistic().drop_check(CheckLevel::None)
}

/// A store in a cluster of TiKV. Clones share it.
#[derive(Clone)]
pub struct TikvStore {
    inner: Arc<Inner>,
}

/// What all handles of a process share.
struct Inner {
    client: TransactionClient,
    keys: Keys,
    meter: Meter,
    turns: Arc<Turns>,
    /// The mark in the epoch record, as it was last seen.
    epoch: AtomicU64,
    shown: String,
}

impl TikvStore {
    /// Opens a store: `tikv://host[:port],host[:port].../prefix?option=value`, where the hosts are placement drivers (PD).
    ///
    /// Options: `ca`, `cert`, `key` (files of PEM, all three for TLS) and `timeout` (`10s`: how long a request takes at most). The
    /// prefix is `orbweaver` where there is none.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the URL is wrong or the cluster does not answer.
    pub fn open(url: &str) -> Result<Self, StoreError> {
        let invalid = |what: &str| StoreError::Io(format!("the store's URL: {what}"));
        let mut url = StoreUrl::parse(url, DEFAULT_PORT)?;
        if url.scheme != "tikv" || url.user.is_some() {
            return Err(invalid("tikv://host:port,... it is, without a user"));
        }
        let timeout = url.take_duration("timeout")?.unwrap_or(DEFAULT_TIMEOUT);
        let files = ["ca", "cert", "key"].map(|name| url.take(name));
        url.finish(&KNOWN)?;
        let config = Config::default().with_timeout(timeout).with_grpc_max_decoding_message_size(MAX_RESPONSE_BYTES);
        let config = match files {
            [Some(ca), Some(cert), Some(key)] => config.with_security(ca, cert, key),
            [None, None, None] => config,
            _ => return Err(invalid("ca, cert and key belong together")),
        };
        let hosts: Vec<String> = url.hosts.iter().map(ToString::to_string).collect();
        let shown = url.to_string();
        let client = block_on(async { tokio::time::timeout(timeout, TransactionClient::new_with_config(hosts, config)).await })?;
        let client = match client {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => return Err(StoreError::Io(format!("{shown}: {error}"))),
            Err(_) => return Err(StoreError::Io(format!("{shown} does not answer within {timeout:?}"))),
        };
        let prefix = if url.path.is_empty() { DEFAULT_PREFIX } else { url.path.trim_end_matches('/') };
        let (meter, turns, epoch) = (Meter::new(), Arc::default(), AtomicU64::new(UNKNOWN));
        Ok(Self { inner: Arc::new(Inner { client, keys: Keys::new(prefix), meter, turns, epoch, shown }) })
    }

    /// A further conversation with the store: one for each thread.
    #[must_use]
    pub fn handle(&self) -> TikvHandle {
        TikvHandle::new(self.clone())
    }

    /// The requests of all handles so far.
    #[must_use]
    pub fn round_trips(&self) -> RoundTrips {
        self.inner.meter.round_trips()
    }

    /// What the store is, for people: its URL without options.
    #[must_use]
    pub fn describe(&self) -> String {
        format!("TiKV, {}", self.inner.shown)
    }

    async fn begin(&self) -> Result<Transaction, StoreError> {
        self.inner.client.begin_with_options(options()).await.map_err(failure::of_read)
    }

    /// The state of now.
    async fn begin_snapshot(&self) -> Result<Snapshot, tikv_client::Error> {
        let now = self.inner.client.current_timestamp().await?;
        Ok(self.inner.client.snapshot(now, options()))
    }

    fn known_epoch(&self) -> Option<u64> {
        Some(self.inner.epoch.load(Ordering::Acquire)).filter(|&epoch| epoch != UNKNOWN)
    }

    fn learn_epoch(&self, epoch: u64) {
        self.inner.epoch.store(epoch, Ordering::Release);
    }

    fn forget_epoch(&self) {
        self.inner.epoch.store(UNKNOWN, Ordering::Release);
    }
}
