//! A store behind a network, real, with several `orbweaver serve` on it.

use std::path::Path;

use orbweaver_servers::{EtcdCluster, PostgresServer};
use tempfile::TempDir;

use crate::client::{Client, args};
use crate::offline;
use crate::orbweaver_server::OrbweaverServer;
use orbweaver_engine::resp::Value;

/// A running store. It ends when dropped.
pub enum SharedStore {
    /// A PostgreSQL.
    Postgres(PostgresServer),
    /// Three nodes of etcd.
    Etcd(EtcdCluster),
}

impl SharedStore {
    /// Starts a PostgreSQL.
    ///
    /// # Panics
    /// When it is not installed (Debian package `postgresql`) or does not come up.
    #[must_use]
    pub fn postgres() -> Self {
        Self::Postgres(PostgresServer::start(&[]).expect("PostgreSQL starts"))
    }

    /// Starts three nodes of etcd.
    ///
    /// # Panics
    /// When it is not installed (Debian package `etcd-server`) or does not come up.
    #[must_use]
    pub fn etcd() -> Self {
        Self::Etcd(EtcdCluster::start(&[]).expect("etcd starts"))
    }

    /// What `--store` names.
    #[must_use]
    pub fn url(&self) -> String {
        match self {
            Self::Postgres(server) => server.url("sslmode=disable"),
            Self::Etcd(cluster) => cluster.url("orbweaver"),
        }
    }

    /// Its name in INFO.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Postgres(_) => "postgres",
            Self::Etcd(_) => "etcd",
        }
    }

    /// Verifies every record with `orbweaver check`.
    ///
    /// # Panics
    /// When a record is wrong.
    pub fn assert_check_is_clean(&self) {
        offline::run(Path::new("unused"), "check", &["--store", &self.url()]);
    }
}

/// Servers on one store.
pub struct Servers {
    url: String,
    options: Vec<String>,
    servers: Vec<Option<OrbweaverServer>>,
    dir: TempDir,
}

impl Servers {
    /// Starts `count` servers on the store that `url` names, with further `options`.
    ///
    /// # Panics
    /// When one does not come up.
    #[must_use]
    pub fn start(url: &str, count: usize, options: &[&str]) -> Self {
        let options = options.iter().map(|&option| option.to_owned()).collect();
        let dir = TempDir::new().expect("a temporary directory");
        let mut servers = Self { url: url.to_owned(), options, servers: (0..count).map(|_| None).collect(), dir };
        (0..count).for_each(|number| servers.revive(number));
        servers
    }

    /// A server.
    ///
    /// # Panics
    /// When it has been killed.
    pub fn server(&mut self, number: usize) -> &mut OrbweaverServer {
        self.servers[number].as_mut().expect("the server runs")
    }

    /// A client of a server.
    ///
    /// # Panics
    /// When the server does not run.
    #[must_use]
    pub fn client(&self, number: usize) -> Client {
        Client::connect(self.address(number)).expect("the server accepts")
    }

    /// Where a server listens, or listened.
    ///
    /// # Panics
    /// When it has been killed.
    #[must_use]
    pub fn address(&self, number: usize) -> std::net::SocketAddr {
        self.servers[number].as_ref().expect("the server runs").address()
    }

    /// SIGKILL.
    pub fn kill(&mut self, number: usize) {
        if let Some(server) = self.servers[number].take() {
            server.kill();
        }
    }

    /// Starts a server, with another address than it had before.
    ///
    /// # Panics
    /// When it does not come up.
    pub fn revive(&mut self, number: usize) {
        let options: Vec<&str> = ["--store", &self.url].into_iter().chain(self.options.iter().map(String::as_str)).collect();
        self.servers[number] = Some(OrbweaverServer::start(&self.dir.path().join(format!("server{number}")), &options));
    }
}

/// A line of INFO.
///
/// # Panics
/// When the server does not answer, or has no such line.
#[must_use]
pub fn info(client: &mut Client, name: &str) -> String {
    let reply = client.call(&args(["INFO", "everything"])).expect("the server answers");
    let Value::Bulk(text) = reply else { panic!("not a text: {reply:?}") };
    let text = String::from_utf8(text.to_vec()).expect("INFO is text");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).to_owned()
}
