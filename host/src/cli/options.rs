//! Options that several subcommands share.

use anyhow::Context as _;
use bytesize::ByteSize;
use clap::Args;
use orbweaver::runtime::{Component, Orbweaver};
use orbweaver::stores::rocksdb::{RocksOptions, RocksStore};
use orbweaver_engine::environment::{Environment, HeldEnvironment, SystemEnvironment};
use orbweaver_engine::store::Store;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where a database is when nobody says otherwise.
const DEFAULT_DIR: &str = "data";

/// Which database.
#[derive(Args, Debug)]
pub struct DirArgs {
    /// Directory of the database [default: data]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl DirArgs {
    /// The directory.
    pub fn path(&self) -> &Path {
        self.dir.as_deref().unwrap_or(Path::new(DEFAULT_DIR))
    }

    /// Opens a database that is there.
    pub fn open_existing(&self) -> anyhow::Result<RocksStore> {
        self.open(RocksOptions { create_if_missing: false, ..RocksOptions::default() })
    }

    /// Opens a database; makes a new one in a directory that was named.
    pub fn open_or_create(&self) -> anyhow::Result<RocksStore> {
        self.open(RocksOptions { create_if_missing: self.dir.is_some(), ..RocksOptions::default() })
    }

    /// Opens the database as the options say.
    pub fn open(&self, options: RocksOptions) -> anyhow::Result<RocksStore> {
        let opened = RocksStore::open(self.path(), options);
        if self.dir.is_none() {
            return opened.context("cannot open the database in the directory `data`; another one is named with --dir");
        }
        Ok(opened?)
    }
}

/// What the engine may use.
#[derive(Args, Debug)]
pub struct EngineArgs {
    /// How many dbs there are for SELECT
    #[arg(long, value_name = "COUNT", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024))]
    databases: u16,
    /// Most memory of the engine; a call that needs more ends with an error to its client. 4 GiB at most
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = memory_limit)]
    memory_limit: ByteSize,
    /// Longest time for one call of the engine; a call that takes longer ends with an error to its client
    #[arg(long, value_name = "TIME", default_value = "30s")]
    deadline: humantime::Duration,
    /// Lets DEBUG PANIC end the engine's instance, for tests
    #[arg(long, hide = true)]
    allow_debug_panic: bool,
    /// Hold the clock at this Unix time in milliseconds, for tests
    #[arg(long, hide = true, requires = "seed")]
    clock_ms: Option<u64>,
    /// Draw randomness from this seed, for tests
    #[arg(long, hide = true, requires = "clock_ms")]
    seed: Option<u64>,
}

impl EngineArgs {
    /// Opens the component on a store.
    pub fn open(&self, store: impl Store + Send + 'static) -> anyhow::Result<Orbweaver> {
        self.open_with(store, &[])
    }

    /// Opens the component on a store, with settings beside those of the options.
    pub fn open_with(&self, store: impl Store + Send + 'static, settings: &[(&str, &str)]) -> anyhow::Result<Orbweaver> {
        self.open_in(&load_component()?, self.environment(), store, settings)
    }

    /// Opens a component that is loaded already, with a clock and randomness of the caller's.
    pub fn open_in(
        &self,
        component: &Component,
        environment: Box<dyn Environment + Send>,
        store: impl Store + Send + 'static,
        settings: &[(&str, &str)],
    ) -> anyhow::Result<Orbweaver> {
        let builder = Orbweaver::builder()
            .memory_limit(bytes(self.memory_limit))
            .deadline(Duration::from(self.deadline))
            .setting("databases", &self.databases.to_string())
            .setting("allow-debug-panic", if self.allow_debug_panic { "yes" } else { "no" })
            .environment(environment);
        let builder = settings.iter().fold(builder, |builder, (name, value)| builder.setting(name, value));
        Ok(builder.open(component, Box::new(store))?)
    }

    /// The clock and the randomness that the engine gets.
    pub fn environment(&self) -> Box<dyn Environment + Send> {
        match (self.clock_ms, self.seed) {
            (Some(now_ms), Some(seed)) => Box::new(HeldEnvironment::new(now_ms, seed)),
            _ => Box::new(SystemEnvironment::default()),
        }
    }

    /// How many dbs there are.
    pub const fn databases(&self) -> u16 {
        self.databases
    }
}

/// Loads the component.
pub fn load_component() -> anyhow::Result<Component> {
    // wasmtime's errors do not implement the standard trait.
    Component::load().map_err(|error| anyhow::anyhow!("cannot load the component: {error:#}"))
}

/// The memory of a component: enough to start with, and what 32 bits can address.
fn memory_limit(text: &str) -> Result<ByteSize, String> {
    let size: ByteSize = text.parse()?;
    if (ByteSize::mib(16)..=ByteSize::gib(4)).contains(&size) { Ok(size) } else { Err("a size from 16MiB to 4GiB is needed".into()) }
}

/// A size as the number that libraries take.
pub fn bytes(size: ByteSize) -> usize {
    usize::try_from(size.as_u64()).unwrap_or(usize::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_limit_stays_within_what_a_component_can_have() {
        assert_eq!(memory_limit("64MiB").unwrap(), ByteSize::mib(64));
        assert_eq!(memory_limit("4GiB").unwrap(), ByteSize::gib(4));
        for wrong in ["1MiB", "5GiB", "many", "-1", ""] {
            assert!(memory_limit(wrong).is_err(), "{wrong}");
        }
    }
}
