//! What a URL says.

use etcd_client::{Certificate, ConnectOptions, Identity, TlsOptions};
use orbweaver_engine::store::{Limits, StoreError};
use orbweaver_remote::StoreUrl;
use std::time::Duration;

const DEFAULT_PORT: u16 = 2379;
const DEFAULT_PREFIX: &str = "orbweaver";
/// etcd's own keys have room for more, but every key of every record carries it.
const MAX_PREFIX_BYTES: usize = 64;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// A connection on which something is under way is asked so often whether it is alive; etcd refuses more than one question in 5 s.
const KEEP_ALIVE: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(3));
/// etcd's `--max-txn-ops` and `--max-request-bytes` where nobody says otherwise.
const DEFAULT_TXN_OPS: u64 = 128;
const DEFAULT_REQUEST_BYTES: u64 = 1_572_864;
const KNOWN: [&str; 7] = ["ca", "cert", "key", "timeout", "tls", "max-txn-ops", "max-request-bytes"];
/// What a batch may hold at most in keys of records and of values: the rest is room for what a commit adds.
const MAX_KEY_SHARE: u64 = 32;
/// What the store puts before the key of a record, at most: prefix, slash, tag and number.
const MAX_OVERHEAD: usize = MAX_PREFIX_BYTES + 6;
/// What an operation needs beside its key and its value in the protocol, and more: four lengths and tags of at most 4 bytes each.
pub const OP_BYTES: usize = 16;

/// How large a Txn of the cluster may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// `--max-txn-ops` of every node.
    pub txn_ops: usize,
    /// `--max-request-bytes` of every node.
    pub request_bytes: usize,
}

impl Sizes {
    /// How many compares, and how many nested Txns, one Txn holds; and how many operations each of those.
    ///
    /// etcd counts the longest list of a Txn, and takes it from what its nested Txns may have.
    pub const fn half(self) -> usize {
        self.txn_ops / 2
    }

    /// Most operations of a Txn with its nested ones.
    pub const fn all_ops(self) -> usize {
        self.half().saturating_mul(self.half())
    }

    /// What batches are promised: half of what a Txn holds in operations, and two thirds in bytes. The rest is for what a commit adds:
    /// compares, stripes, the pieces of ranges, and the prefix of every key.
    pub fn limits(self) -> Limits {
        let bytes = u64::try_from(self.request_bytes).unwrap_or(u64::MAX) / 3 * 2;
        let by_bytes = self.request_bytes / 3 / (2 * (MAX_OVERHEAD + OP_BYTES));
        let ops = u64::try_from(by_bytes.min(self.all_ops() / 2)).unwrap_or(u64::MAX);
        let max_key_bytes = bytes / MAX_KEY_SHARE;
        Limits {
            max_key_bytes,
            max_value_bytes: bytes.saturating_sub(2 * max_key_bytes),
            max_batch_ops: ops,
            max_batch_bytes: bytes,
            read_only: false,
        }
    }
}

/// Where the cluster is, and how to speak to it.
pub struct Options {
    pub endpoints: Vec<String>,
    pub prefix: String,
    pub connect: ConnectOptions,
    pub timeout: Duration,
    pub sizes: Sizes,
    /// For people.
    pub shown: String,
}

fn invalid(what: String) -> StoreError {
    StoreError::Io(format!("the store's URL: {what}"))
}

impl Options {
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        let mut url = StoreUrl::parse(text, DEFAULT_PORT)?;
        let tls_by_scheme = match url.scheme.as_str() {
            "etcd" => false,
            "etcds" => true,
            other => return Err(invalid(format!("scheme {other} is neither etcd nor etcds"))),
        };
        let tls = url.take_flag("tls")?.unwrap_or(tls_by_scheme);
        let timeout = url.take_duration("timeout")?.unwrap_or(DEFAULT_TIMEOUT);
        let ops = url.take_number("max-txn-ops", 16..=1 << 20)?.unwrap_or(DEFAULT_TXN_OPS);
        let bytes = url.take_number("max-request-bytes", 1 << 16..=1 << 30)?.unwrap_or(DEFAULT_REQUEST_BYTES);
        let files = ["ca", "cert", "key"].map(|name| url.take(name));
        url.finish(&KNOWN)?;

        let prefix = if url.path.is_empty() { DEFAULT_PREFIX.to_owned() } else { url.path.trim_end_matches('/').to_owned() };
        if prefix.len() > MAX_PREFIX_BYTES {
            return Err(invalid(format!("the prefix has {} bytes, more than {MAX_PREFIX_BYTES}", prefix.len())));
        }
        let mut connect = ConnectOptions::new()
            .with_connect_timeout(CONNECT_TIMEOUT.min(timeout))
            .with_keep_alive(KEEP_ALIVE.0, KEEP_ALIVE.1)
            // A node without a leader answers so at once, and another one is asked.
            .with_require_leader(true)
            .with_auto_token_refresh(true);
        match (url.user.clone(), url.password.clone()) {
            (Some(user), Some(password)) => connect = connect.with_user(user, password),
            (None, _) => {}
            (Some(_), None) => return Err(invalid("a user without a password".into())),
        }
        if tls {
            connect = connect.with_tls(tls_options(files)?);
        } else if files.iter().any(Option::is_some) {
            return Err(invalid("ca, cert and key are for etcds:// or tls=true".into()));
        }
        let scheme = if tls { "https" } else { "http" };
        let endpoints = url.hosts.iter().map(|host| format!("{scheme}://{host}")).collect();
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let sizes = Sizes { txn_ops: size(ops), request_bytes: size(bytes) };
        Ok(Self { endpoints, prefix, connect, timeout, sizes, shown: url.to_string() })
    }
}

/// TLS: who signs the servers, by default whom the system trusts, and who we are.
fn tls_options([ca, cert, key]: [Option<String>; 3]) -> Result<TlsOptions, StoreError> {
    let read = |name: &str, path: &str| {
        std::fs::read(path).map_err(|error| invalid(format!("option {name}={path} is no file that can be read: {error}")))
    };
    let mut tls = match ca {
        Some(path) => TlsOptions::new().ca_certificate(Certificate::from_pem(read("ca", &path)?)),
        None => TlsOptions::new().with_native_roots(),
    };
    match (cert, key) {
        (Some(cert), Some(key)) => tls = tls.identity(Identity::from_pem(read("cert", &cert)?, read("key", &key)?)),
        (None, None) => {}
        _ => return Err(invalid("cert and key belong together".into())),
    }
    Ok(tls)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Options::parse(text).err().expect("a URL that is refused").to_string()
    }

    #[test]
    fn a_url_without_options_has_those_of_a_cluster_without_flags() {
        let options = Options::parse("etcd://one,two:4001").unwrap();
        assert_eq!(options.endpoints, ["http://one:2379", "http://two:4001"]);
        assert_eq!((options.prefix.as_str(), options.timeout), ("orbweaver", Duration::from_secs(10)));
        assert_eq!(options.sizes, Sizes { txn_ops: 128, request_bytes: 1_572_864 });
    }

    #[test]
    fn schemes_and_flags_choose_tls() {
        assert_eq!(Options::parse("etcds://one/p").unwrap().endpoints, ["https://one:2379"]);
        assert_eq!(Options::parse("etcd://one/p/?tls=true").unwrap().prefix, "p");
        assert!(error("etcd://one?ca=/ca.pem").contains("etcds://"));
        assert!(error("etcds://one?cert=/c.pem").contains("cert and key belong together"));
        assert!(error("etcds://one?ca=/no/such/file").contains("option ca=/no/such/file"));
    }

    #[test]
    fn what_etcd_does_not_have_is_refused() {
        assert!(error("redis://one").contains("scheme redis"));
        assert!(error("etcd://user@one").contains("a user without a password"));
        assert!(error("etcd://one?retries=3").contains("there is no option retries"));
        assert!(error(&format!("etcd://one/{}", "p".repeat(65))).contains("65 bytes"));
    }

    #[test]
    fn batches_are_promised_what_leaves_room_for_what_a_commit_adds() {
        for sizes in [Sizes { txn_ops: 128, request_bytes: 1_572_864 }, Sizes { txn_ops: 16, request_bytes: 1 << 16 }] {
            let limits = sizes.limits();
            let (ops, bytes) = (usize::try_from(limits.max_batch_ops).unwrap(), usize::try_from(limits.max_batch_bytes).unwrap());
            assert!(ops * 2 <= sizes.all_ops());
            // Every operation changes a key of its own: a record and a stripe with their prefixes.
            assert!(bytes + ops * 2 * (MAX_OVERHEAD + OP_BYTES) <= sizes.request_bytes);
            assert!(limits.max_key_bytes + limits.max_value_bytes <= limits.max_batch_bytes);
        }
        let limits = Sizes { txn_ops: 128, request_bytes: 1_572_864 }.limits();
        assert_eq!((limits.max_batch_ops, limits.max_batch_bytes, limits.max_value_bytes), (2048, 1_048_576, 983_040));
    }
}
