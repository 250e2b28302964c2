//! Where a migration reads and writes: a directory, or a store behind a network.

use super::super::store::{OpenStore, StoreName, with_password};
use anyhow::{Context as _, anyhow, bail};
use orbweaver::stores::remote::Address;
use orbweaver::stores::rocksdb::{Durability, Layout, RocksOptions, RocksStore, recognise};
use orbweaver_engine::store::{Direction, KeyRange, Order, PageLimit, Scope};
use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

/// A keyspace that holds something in every database of the layouts that stores behind a network can have.
const KEYSPACES: [&str; 2] = ["meta", "data"];

/// What `--from` and `--to` name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Directory(PathBuf),
    Remote(Address),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !text.contains("://") {
            return Ok(Self::Directory(text.into()));
        }
        match text.parse()? {
            StoreName::Remote(address) => Ok(Self::Remote(address)),
            StoreName::Rocksdb | StoreName::Memory => Err("a directory or the URL of a store is needed".to_owned()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => path.display().fmt(f),
            Self::Remote(address) => address.fmt(f),
        }
    }
}

impl Place {
    /// The place by one name, whatever it was called.
    pub fn settled(&self) -> anyhow::Result<Self> {
        match self {
            Self::Directory(path) => {
                let path = fs::canonicalize(path).with_context(|| format!("cannot read {}", path.display()))?;
                Ok(Self::Directory(path))
            }
            Self::Remote(_) => Ok(self.clone()),
        }
    }

    /// Opens a database to read.
    pub fn open_source(&self) -> anyhow::Result<(OpenStore, Layout)> {
        match self {
            Self::Directory(path) => {
                let place = recognise(path, None)?;
                let options = RocksOptions { create_if_missing: false, read_only: true, layout: place.layout, ..RocksOptions::default() };
                Ok((OpenStore::Rocksdb { store: RocksStore::open(&place.directory, options)?, path: path.clone() }, place.layout))
            }
            Self::Remote(address) => Ok((connect(address, true)?, Layout::Orbweaver)),
        }
    }

    /// Opens a database to write, which has each piece on the disk before it says so.
    pub fn open_target(&self, layout: Layout) -> anyhow::Result<OpenStore> {
        match self {
            Self::Directory(path) => {
                let options = RocksOptions { durability: Durability::Always, layout, ..RocksOptions::default() };
                Ok(OpenStore::Rocksdb { store: RocksStore::open(path, options)?, path: path.clone() })
            }
            Self::Remote(address) => connect(address, false),
        }
    }

    /// Whether it holds nothing, or is not there.
    pub fn is_empty(&self) -> anyhow::Result<bool> {
        match self {
            Self::Directory(path) => match fs::read_dir(path) {
                Ok(mut entries) => Ok(entries.next().is_none()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
                Err(error) => Err(anyhow!(error).context(format!("cannot read {}", path.display()))),
            },
            Self::Remote(address) => {
                let mut handle = connect(address, false)?.handle();
                for name in KEYSPACES {
                    let keyspace = handle.open_keyspace(name, Order::Bytes)?;
                    handle.begin(&Scope::Read)?;
                    let page = handle.scan(keyspace, &KeyRange::all(), Direction::Forward, PageLimit { max_items: 1, max_bytes: 1 });
                    handle.rollback();
                    if !page?.is_empty() {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// The file that says how far a migration into this place is: beside the directory, or in the working directory.
    pub fn state_path(&self) -> anyhow::Result<PathBuf> {
        match self {
            Self::Directory(path) => {
                let Some(name) = path.file_name() else { bail!("{} is not the name of a directory", path.display()) };
                let mut name = name.to_owned();
                name.push(".migration");
                Ok(path.with_file_name(name))
            }
            Self::Remote(address) => Ok(format!("{}.migration", address.kind().name()).into()),
        }
    }
}

/// Opens a store; a password may be in the environment.
fn connect(address: &Address, read_only: bool) -> anyhow::Result<OpenStore> {
    OpenStore::connect(&with_password(address, None)?, read_only)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_directory_or_a_url() {
        assert_eq!("a/b".parse(), Ok(Place::Directory("a/b".into())));
        let place: Place = "postgres://ada:secret@h/app".parse().unwrap();
        assert_eq!(place.to_string(), "postgres://ada@h/app");
        assert_eq!(place.state_path().unwrap(), PathBuf::from("postgres.migration"));
        assert!("ftp://h".parse::<Place>().is_err());
    }
}
