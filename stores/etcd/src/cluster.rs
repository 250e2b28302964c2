//! The nodes of the cluster, and how requests reach one that serves.

use crate::options::{Options, Sizes};
use etcd_client::{Client, ConnectOptions, Error, Txn, TxnResponse};
use orbweaver_engine::store::StoreError;
use orbweaver_remote::{Backoff, BackoffPolicy};
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::timeout;
use tonic::Code;

/// A request is given up on one node, and sent to another one, after this part of the time that it has.
const ATTEMPTS_IN_TIME: u32 = 4;
/// Pages and values together may be larger than what the client takes by itself, 4 MiB.
const MAX_RESPONSE_BYTES: usize = 1 << 30;

/// Why a request has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// A node has refused it: it has no effect.
    Refused(StoreError),
    /// Nobody knows whether it has had, or will have, an effect.
    Lost(String),
}

impl Failure {
    fn of(error: Error, sizes: Sizes) -> Self {
        let Error::GRpcStatus(status) = &error else {
            return match error {
                // The client found the request wrong before it was sent.
                Error::InvalidArgs(_) | Error::InvalidUri(_) | Error::InvalidMetadataValue(_) => {
                    Self::Refused(StoreError::Io(error.to_string()))
                }
                other => Self::Lost(other.to_string()),
            };
        };
        let text = status.message();
        let too_large = |limit: usize| {
            let limit = u64::try_from(limit).unwrap_or(u64::MAX);
            Self::Refused(StoreError::TooLarge { what: format!("a transaction that etcd refuses ({text})"), limit })
        };
        if text.contains("too many operations") {
            return too_large(sizes.txn_ops);
        }
        if text.contains("request is too large") || text.contains("message larger than max") {
            return too_large(sizes.request_bytes);
        }
        if text.contains("has been compacted") {
            return Self::Refused(StoreError::Expired);
        }
        match status.code() {
            Code::InvalidArgument
            | Code::FailedPrecondition
            | Code::PermissionDenied
            | Code::Unauthenticated
            | Code::ResourceExhausted
            | Code::OutOfRange
            | Code::Unimplemented => Self::Refused(StoreError::Io(format!("etcd: {text}"))),
            code => Self::Lost(format!("{code:?}: {text}")),
        }
    }

    /// A node that lags behind does not have the revision yet.
    pub fn is_of_the_future(&self) -> bool {
        matches!(self, Self::Refused(StoreError::Io(text)) if text.contains("future revision"))
    }
}

struct Endpoint {
    url: String,
    /// Its connection, which all handles share.
    client: Mutex<Option<Client>>,
}

/// The nodes.
pub struct Cluster {
    endpoints: Vec<Endpoint>,
    connect: ConnectOptions,
    timeout: Duration,
    sizes: Sizes,
    /// For people.
    shown: String,
    /// Handles begin at different nodes.
    next: AtomicUsize,
}

impl Cluster {
    pub fn new(options: &Options) -> Self {
        let endpoints = options.endpoints.iter().map(|url| Endpoint { url: url.clone(), client: Mutex::default() });
        Self {
            endpoints: endpoints.collect(),
            connect: options.connect.clone(),
            timeout: options.timeout,
            sizes: options.sizes,
            shown: options.shown.clone(),
            next: AtomicUsize::new(0),
        }
    }

    /// A way to the cluster that begins at another node than the one before.
    pub fn route(&self) -> Route {
        Route { at: AtomicUsize::new(self.next.fetch_add(1, Ordering::Relaxed)) }
    }

    /// The error for a request that had no effect, or had none that matters.
    pub fn error(&self, failure: Failure) -> StoreError {
        match failure {
            Failure::Refused(error) => error,
            Failure::Lost(why) => StoreError::Io(format!("{} does not answer within {:?}: {why}", self.shown, self.timeout)),
        }
    }

    fn endpoint(&self, route: &Route) -> Option<&Endpoint> {
        self.endpoints.get(route.at.load(Ordering::Relaxed).checked_rem(self.endpoints.len())?)
    }

    async fn client(&self, endpoint: &Endpoint) -> Result<Client, Error> {
        let known = endpoint.client.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(client) = known {
            return Ok(client);
        }
        let client = Client::connect([&endpoint.url], Some(self.connect.clone())).await?;
        *endpoint.client.lock().unwrap_or_else(PoisonError::into_inner) = Some(client.clone());
        Ok(client)
    }

    /// One attempt to have a request answered. Where it is lost, the next one goes to the next node.
    pub async fn once<T, F>(&self, route: &Route, request: impl FnOnce(Client) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let endpoint = self.endpoint(route).ok_or_else(|| Failure::Lost("no node".into()))?;
        let answer = async { request(self.client(endpoint).await?).await };
        let outcome = match timeout(self.timeout / ATTEMPTS_IN_TIME, answer).await {
            Ok(outcome) => outcome.map_err(|error| Failure::of(error, self.sizes)),
            Err(_) => Err(Failure::Lost("no answer in time".into())),
        };
        if let Err(Failure::Lost(_)) = outcome {
            // A connection on which nothing comes back is not used again.
            *endpoint.client.lock().unwrap_or_else(PoisonError::into_inner) = None;
            route.at.fetch_add(1, Ordering::Relaxed);
        }
        outcome
    }

    /// Sends a request that may be answered twice to one node after the other until one answers, or time is up.
    pub async fn repeat<T, F>(&self, route: &Route, mut request: impl FnMut(Client) -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut backoff = Backoff::new(BackoffPolicy::unavailable(self.timeout));
        let attempts = async {
            loop {
                match self.once(route, &mut request).await {
                    Err(Failure::Lost(why)) => {
                        backoff.failed();
                        let Some(delay) = backoff.next_delay() else { return Err(Failure::Lost(why)) };
                        tokio::time::sleep(delay).await;
                    }
                    outcome => return outcome,
                }
            }
        };
        timeout(self.timeout, attempts).await.unwrap_or_else(|_| Err(Failure::Lost("no answer in time".into())))
    }

    /// One attempt at a Txn.
    pub async fn txn(&self, route: &Route, txn: Txn) -> Result<TxnResponse, Failure> {
        self.once(route, |client| send(client, txn)).await
    }

    /// A Txn that reads, or has the same effect when it is made twice.
    pub async fn repeat_txn(&self, route: &Route, txn: &Txn) -> Result<TxnResponse, Failure> {
        self.repeat(route, |client| send(client, txn.clone())).await
    }
}

async fn send(client: Client, txn: Txn) -> Result<TxnResponse, Error> {
    client.kv_client().max_decoding_message_size(MAX_RESPONSE_BYTES).txn(txn).await
}

/// The node that a handle asks: the same one until it fails.
#[derive(Debug)]
pub struct Route {
    at: AtomicUsize,
}
