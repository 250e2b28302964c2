//! `--store`: where records are kept, and how that is opened.

use super::UsageError;
use anyhow::Context as _;
use clap::Args;
use orbweaver::stores::remote::{Address, RemoteStore};
use orbweaver::stores::rocksdb::RocksStore;
use orbweaver_engine::store::{MemoryStore, Store};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// The longest time of a call where nobody says otherwise, on stores of this machine and on others.
pub const DEADLINE: Duration = Duration::from_secs(30);
const REMOTE_DEADLINE: Duration = Duration::from_secs(120);
/// The variable that may hold the password for a store.
const PASSWORD: &str = "ORBWEAVER_STORE_PASSWORD";

/// Where records are kept.
#[derive(Args, Debug)]
pub struct StoreArgs {
    /// Where records are kept: `rocksdb` (in the directory), `memory` (gone at the end), or a store that several servers share,
    /// etcd://HOST:PORT,... postgres://USER@HOST/DATABASE tikv://HOST:PORT,... See docs/scale.md
    #[arg(long, value_name = "STORE", default_value = "rocksdb", env = "ORBWEAVER_STORE", hide_env_values = true)]
    store: StoreName,
    /// File whose first line is the password for the store; stands above the variable ORBWEAVER_STORE_PASSWORD, and both above a
    /// password in the URL, which other users of the machine may see in the list of processes
    #[arg(long, value_name = "FILE")]
    store_password_file: Option<PathBuf>,
}

/// What `--store` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreName {
    Rocksdb,
    Memory,
    Remote(Address),
}

impl FromStr for StoreName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "rocksdb" => Ok(Self::Rocksdb),
            "memory" => Ok(Self::Memory),
            url if url.contains("://") => url.parse().map(Self::Remote),
            _ => Err("rocksdb, memory or a URL is needed, such as postgres://user@host/database".to_owned()),
        }
    }
}

impl StoreArgs {
    /// What is named, with the password from where it is.
    pub fn name(&self) -> anyhow::Result<StoreName> {
        let StoreName::Remote(address) = &self.store else {
            if self.store_password_file.is_some() {
                return Err(UsageError("--store-password-file is for a store behind a network, see --store".to_owned()).into());
            }
            return Ok(self.store.clone());
        };
        with_password(address, self.store_password_file.as_deref()).map(StoreName::Remote)
    }
}

/// The address with the password from the file, or from the environment, where there is one.
pub fn with_password(address: &Address, file: Option<&Path>) -> anyhow::Result<Address> {
    let password = match file {
        Some(path) => Some(first_line(path)?),
        None => std::env::var(PASSWORD).ok().filter(|password| !password.is_empty()),
    };
    let address = password.map_or_else(|| Ok(address.clone()), |password| address.with_password(&password));
    Ok(address.map_err(UsageError)?)
}

/// What a password file says.
pub fn first_line(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read the password file {}", path.display()))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

/// An open store.
pub enum OpenStore {
    Rocksdb { store: RocksStore, path: PathBuf },
    Memory(MemoryStore),
    Remote(RemoteStore),
}

impl OpenStore {
    /// Opens a store behind a network.
    pub fn connect(address: &Address, read_only: bool) -> anyhow::Result<Self> {
        let store = RemoteStore::open(address, read_only).with_context(|| format!("cannot open {address}"))?;
        Ok(Self::Remote(store))
    }

    /// A handle for one thread.
    pub fn handle(&self) -> Box<dyn Store + Send> {
        match self {
            Self::Rocksdb { store, .. } => Box::new(store.handle()),
            Self::Memory(store) => Box::new(store.clone()),
            Self::Remote(store) => Box::new(store.handle()),
        }
    }

    /// The longest time of a call where nobody says otherwise.
    pub const fn usual_deadline(&self) -> Duration {
        if let Self::Remote(_) = self { REMOTE_DEADLINE } else { DEADLINE }
    }

    /// Where it is, for people.
    pub fn shown(&self) -> String {
        match self {
            Self::Rocksdb { path, .. } => path.display().to_string(),
            Self::Memory(_) => "memory".to_owned(),
            Self::Remote(store) => store.address().to_string(),
        }
    }

    /// The store in a directory, for what only that can do.
    pub fn into_rocksdb(self, what: &str) -> anyhow::Result<RocksStore> {
        match self {
            Self::Rocksdb { store, .. } => Ok(store),
            Self::Memory(_) | Self::Remote(_) => {
                Err(UsageError(format!("{what} is for a directory; `orbweaver dump` and `load` work on every store")).into())
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_named_by_a_word_or_a_url() {
        assert_eq!("rocksdb".parse(), Ok(StoreName::Rocksdb));
        assert_eq!("memory".parse(), Ok(StoreName::Memory));
        assert!(matches!("etcd://a:2379,b:2379".parse(), Ok(StoreName::Remote(_))));
        for wrong in ["", "disk", "redis://h", "postgres://"] {
            assert!(wrong.parse::<StoreName>().is_err(), "{wrong}");
        }
    }
}
