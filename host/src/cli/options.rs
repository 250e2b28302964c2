//! Options that several subcommands share.

use super::UsageError;
use super::clock::Clock;
use super::store::{OpenStore, StoreArgs, StoreName};
use anyhow::Context as _;
use bytesize::ByteSize;
use clap::{Args, ValueEnum, value_parser};
use orbweaver::runtime::{Component, Orbweaver};
use orbweaver::stores::rocksdb::{Layout, RocksOptions, RocksStore, recognise};
use orbweaver_engine::environment::{Environment, HeldEnvironment, SystemEnvironment};
use orbweaver_engine::store::{MemoryStore, Store};
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
    #[command(flatten)]
    store: StoreArgs,
    /// Layout of the database [default: that of the directory; orbweaver where there is none yet]
    #[arg(long, value_enum, value_name = "NAME", hide_possible_values = true)]
    layout: Option<LayoutName>,
    /// Layout orbweaver: keep a collection in the record of its key as long as its records take no more bytes than these, 4096 at most, a list half
    /// of them. Older versions of Orbweaver cannot open the database then. [default: 512 in a new database and in one that had this on, 0 in others]
    #[arg(long, value_name = "BYTES", value_parser = value_parser!(u16).range(0..=4096))]
    packed_bytes: Option<u16>,
    #[command(flatten)]
    camellia: CamelliaArgs,
}

/// The layouts, as `--layout` names them.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LayoutName {
    Orbweaver,
    Blackwidow,
    Nemo,
    Ardb,
    Camellia,
}

impl From<LayoutName> for Layout {
    fn from(name: LayoutName) -> Self {
        match name {
            LayoutName::Orbweaver => Self::Orbweaver,
            LayoutName::Blackwidow => Self::Blackwidow,
            LayoutName::Nemo => Self::Nemo,
            LayoutName::Ardb => Self::Ardb,
            LayoutName::Camellia => Self::Camellia,
        }
    }
}

/// How Camellia's rows are read and written: what its proxy has in its configuration, not in the rows.
#[derive(Args, Debug)]
pub struct CamelliaArgs {
    /// Layout camellia: the namespace in front of every key
    #[arg(long, value_name = "TEXT")]
    camellia_namespace: Option<String>,
    /// Layout camellia: keys begin with eight bytes for their slot, as on HBase and TiKV
    #[arg(long)]
    camellia_slot_prefix: bool,
    /// Layout camellia: encode-version of new hashes, 0 or 1
    #[arg(long, value_name = "VERSION", value_parser = value_parser!(u8).range(0..=1))]
    camellia_hash_version: Option<u8>,
    /// Layout camellia: encode-version of new sets, 0 or 1
    #[arg(long, value_name = "VERSION", value_parser = value_parser!(u8).range(0..=1))]
    camellia_set_version: Option<u8>,
    /// Layout camellia: encode-version of new sorted sets, 0 or 1
    #[arg(long, value_name = "VERSION", value_parser = value_parser!(u8).range(0..=1))]
    camellia_zset_version: Option<u8>,
}

impl CamelliaArgs {
    /// The settings by which the engine understands a database of this layout.
    pub fn settings(&self, layout: Layout) -> Vec<Setting> {
        // The engine's own layout is its default.
        let named = (layout != Layout::Orbweaver).then(|| ("layout", layout.name().to_owned()));
        let own = if layout == Layout::Camellia { self.own() } else { Vec::new() };
        own.into_iter().chain(named).collect()
    }

    /// What was asked for, as settings of the engine.
    fn own(&self) -> Vec<Setting> {
        let version = |version: Option<u8>| version.map(|version| version.to_string());
        let settings = [
            ("camellia-namespace", self.camellia_namespace.clone()),
            ("camellia-slot-prefix", self.camellia_slot_prefix.then(|| "yes".to_owned())),
            ("camellia-hash-version", version(self.camellia_hash_version)),
            ("camellia-set-version", version(self.camellia_set_version)),
            ("camellia-zset-version", version(self.camellia_zset_version)),
        ];
        settings.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// Whether the database may be changed.
#[derive(Args, Clone, Copy, Debug)]
pub struct ReadOnlyArgs {
    /// Open the directory, or the store, without changing anything in it; commands that write are refused
    #[arg(long)]
    pub read_only: bool,
}

/// The clock of tools that read.
#[derive(Args, Clone, Copy, Debug)]
pub struct ClockArgs {
    /// Hold the clock at this Unix time in milliseconds: which keys have expired is as of then
    #[arg(long, value_name = "UNIX_MS")]
    pub now: Option<u64>,
}

/// A setting of the engine.
pub type Setting = (&'static str, String);

/// An open database, and the settings by which the engine understands it.
pub struct Database {
    pub store: OpenStore,
    pub layout: Layout,
    pub settings: Vec<Setting>,
}

impl DirArgs {
    /// The directory.
    pub fn path(&self) -> &Path {
        self.dir.as_deref().unwrap_or(Path::new(DEFAULT_DIR))
    }

    /// Opens a database that is there.
    pub fn open_existing(&self, access: ReadOnlyArgs) -> anyhow::Result<Database> {
        self.open(RocksOptions { create_if_missing: false, read_only: access.read_only, ..RocksOptions::default() })
    }

    /// Opens a database; makes a new one in a directory that was named.
    pub fn open_or_create(&self, access: ReadOnlyArgs) -> anyhow::Result<Database> {
        self.open(RocksOptions { create_if_missing: self.dir.is_some(), read_only: access.read_only, ..RocksOptions::default() })
    }

    /// Opens the database: the options are for one in a directory, which has its layout.
    pub fn open(&self, options: RocksOptions) -> anyhow::Result<Database> {
        let (store, layout) = match self.store.name()? {
            StoreName::Rocksdb => self.open_directory(options)?,
            StoreName::Memory if options.read_only => {
                return Err(UsageError("--read-only is for what is there already, not for --store memory".into()).into());
            }
            StoreName::Memory => (OpenStore::Memory(MemoryStore::new()), self.layout_without_directory()),
            StoreName::Remote(address) => (OpenStore::connect(&address, options.read_only)?, self.layout_without_directory()),
        };
        Ok(Database { store, layout, settings: self.settings(layout)? })
    }

    fn open_directory(&self, options: RocksOptions) -> anyhow::Result<(OpenStore, Layout)> {
        let opened = recognise(self.path(), self.layout.map(Layout::from)).and_then(|place| {
            let options = RocksOptions { layout: place.layout, ..options };
            Ok((RocksStore::open(&place.directory, options)?, place.layout))
        });
        let (store, layout) = match (opened, &self.dir) {
            (opened, None) => opened.context("cannot open the database in the directory `data`; another one is named with --dir")?,
            (opened, Some(_)) => opened?,
        };
        Ok((OpenStore::Rocksdb { store, path: self.path().to_owned() }, layout))
    }

    fn layout_without_directory(&self) -> Layout {
        self.layout.map_or(Layout::Orbweaver, Layout::from)
    }

    /// The settings by which the engine understands a database of this layout.
    fn settings(&self, layout: Layout) -> anyhow::Result<Vec<Setting>> {
        if layout != Layout::Camellia
            && let Some((name, _)) = self.camellia.own().first()
        {
            return Err(UsageError(format!("--{name} is for the layout camellia, and this one is {}", layout.name())).into());
        }
        if layout != Layout::Orbweaver && self.packed_bytes.is_some() {
            return Err(UsageError(format!("--packed-bytes is for the layout orbweaver, and this one is {}", layout.name())).into());
        }
        Ok(self.camellia.settings(layout).into_iter().chain(packing(layout, self.packed_bytes)).collect())
    }
}

/// The setting that says how many bytes are packed in a database of this layout; `None`: as is usual in it.
pub fn packing(layout: Layout, bytes: Option<u16>) -> Option<Setting> {
    (layout == Layout::Orbweaver).then(|| ("packed-bytes", bytes.map_or("auto".to_owned(), |bytes| bytes.to_string())))
}

/// What the engine may use.
#[derive(Args, Debug)]
pub struct EngineArgs {
    /// How many dbs there are for SELECT
    #[arg(long, value_name = "COUNT", default_value_t = 16, value_parser = value_parser!(u16).range(1..=1024))]
    databases: u16,
    /// Most memory of the engine; a call that needs more ends with an error to its client. 4 GiB at most
    #[arg(long, value_name = "SIZE", default_value = "2GiB", value_parser = memory_limit)]
    memory_limit: ByteSize,
    /// Longest time for one call of the engine; a call that takes longer ends with an error to its client. [default: 30s; 2min on a
    /// store behind a network, which may have to be waited for]
    #[arg(long, value_name = "TIME")]
    deadline: Option<humantime::Duration>,
    /// Lets DEBUG PANIC end the engine's instance, for tests
    #[arg(long, hide = true)]
    allow_debug_panic: bool,
    /// Hold the clock at this Unix time in milliseconds, for tests
    #[arg(long, hide = true, requires = "seed")]
    clock_ms: Option<u64>,
    /// Draw randomness from this seed, for tests
    #[arg(long, hide = true, requires = "clock_ms")]
    seed: Option<u64>,
    /// File that says by how many milliseconds the clock is wrong, read again and again, for tests
    #[arg(long, hide = true, value_name = "FILE")]
    clock_error_file: Option<PathBuf>,
}

impl EngineArgs {
    /// Opens the component on a database, with the clock held where that was asked for.
    pub fn open(&self, database: &Database, clock: ClockArgs) -> anyhow::Result<Orbweaver> {
        self.open_with(&database.store, &database.settings, clock.now)
    }

    /// Opens the component on a store, with settings beside those of the options.
    fn open_with(&self, store: &OpenStore, settings: &[Setting], now_ms: Option<u64>) -> anyhow::Result<Orbweaver> {
        self.open_in(&load_component()?, self.environment(now_ms), store.handle(), settings, store.usual_deadline())
    }

    /// Opens a component that is loaded already, with a clock and randomness of the caller's, and the deadline that holds where the
    /// options name none.
    pub fn open_in(
        &self,
        component: &Component,
        environment: Box<dyn Environment + Send>,
        store: Box<dyn Store + Send>,
        settings: &[Setting],
        usual_deadline: Duration,
    ) -> anyhow::Result<Orbweaver> {
        let builder = Orbweaver::builder()
            .memory_limit(bytes(self.memory_limit))
            .deadline(self.deadline.map_or(usual_deadline, Duration::from))
            .setting("databases", &self.databases.to_string())
            .setting("allow-debug-panic", if self.allow_debug_panic { "yes" } else { "no" })
            .environment(environment);
        let builder = settings.iter().fold(builder, |builder, (name, value)| builder.setting(name, value));
        Ok(builder.open(component, store)?)
    }

    /// The randomness that the engine gets, and its clock, held at `now_ms` where that is given.
    pub fn environment(&self, now_ms: Option<u64>) -> Box<dyn Environment + Send> {
        let mut system = SystemEnvironment::default();
        match (self.clock_ms, self.seed, now_ms) {
            (Some(now_ms), Some(seed), _) => Box::new(HeldEnvironment::new(now_ms, seed)),
            (_, _, Some(now_ms)) => Box::new(HeldEnvironment::new(now_ms, system.random())),
            _ => Box::new(self.clock()),
        }
    }

    /// The clock that goes on.
    pub fn clock(&self) -> Clock {
        Clock::new(self.clock_error_file.clone())
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
