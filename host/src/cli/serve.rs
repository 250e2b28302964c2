//! `orbweaver serve`.

use super::UsageError;
use super::options::{Database, DirArgs, EngineArgs, ReadOnlyArgs, Setting, bytes, load_component};
use super::store::{OpenStore, first_line};
use anyhow::Context as _;
use bytesize::ByteSize;
use clap::{Args, ValueEnum};
use orbweaver::runtime::Orbweaver;
use orbweaver::server::{LiveFacts, Server, ServerOptions, Stopper};
use orbweaver::stores::remote::RemoteStore;
use orbweaver::stores::remote::clock::Watch;
use orbweaver::stores::rocksdb::{Compression, Durability, Layout, RocksOptions};
use orbweaver_engine::environment::Environment as _;
use orbweaver_engine::events::Classes;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, IsTerminal as _};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Files that the process needs beside its connections: those of RocksDB, and a few of its own.
const OTHER_FILES: u64 = 1100;
/// How often each server sweeps a store that several share: round trips of a step with nothing to do are not for nothing there.
const SHARED_SWEEP_PERIOD: Duration = Duration::from_secs(1);

/// Serves a database to redis clients until SIGTERM, SIGINT or a client's SHUTDOWN.
///
/// Sizes are written as 64MiB or 1GB, times as 500ms or 5min.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  orbweaver serve
  orbweaver serve --dir /var/lib/orbweaver --durability always
  orbweaver serve --listen 0.0.0.0:6379 --password-file /etc/orbweaver/password
  orbweaver serve --store memory --listen 127.0.0.1:7000
  orbweaver serve --store etcd://a:2379,b:2379,c:2379
  ORBWEAVER_STORE_PASSWORD=... orbweaver serve --store postgres://ada@db.example/app
  orbweaver serve --dir /var/pika/db --read-only
  orbweaver serve --dir for-pika --layout blackwidow

Then: redis-cli -p 6379")]
pub struct ServeArgs {
    #[command(flatten)]
    dir: DirArgs,
    #[command(flatten)]
    access: ReadOnlyArgs,
    /// Address and port to listen on; one that other machines can reach needs a password
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6379")]
    listen: String,
    /// In a directory: when an acknowledged write is safe from a crash of the machine; a crash of the server alone loses nothing
    #[arg(long, value_enum, default_value_t = DurabilityKind::Everysec)]
    durability: DurabilityKind,
    /// In a directory: how files are compressed from now on; those of other programs' layouts as these do it
    #[arg(long, value_enum, default_value_t = CompressionKind::Fast)]
    compression: CompressionKind,
    /// What clients must say with AUTH; other users of the machine may see it in the list of processes
    #[arg(long, value_name = "PASSWORD", env = "ORBWEAVER_PASSWORD", hide_env_values = true)]
    password: Option<String>,
    /// File whose first line is the password; stands above --password
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// Threads that serve clients, each with an instance of the engine (--memory-limit holds for each)
    #[arg(long, value_name = "COUNT", env = "ORBWEAVER_WORKERS", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    workers: u16,
    /// Most connections at a time
    #[arg(long, value_name = "COUNT", default_value_t = 10_000)]
    max_clients: usize,
    /// Largest request
    #[arg(long, value_name = "SIZE", default_value = "512MiB")]
    max_request: ByteSize,
    /// Most bytes of replies that may wait for one client to read them; a client with more is disconnected
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    max_output: ByteSize,
    /// Most bytes of requests and replies in memory for all clients together; above it the client with most is disconnected
    #[arg(long, value_name = "SIZE", default_value = "2GiB")]
    max_pending: ByteSize,
    /// Memory for blocks read from RocksDB's files, and for their filters: should be two bytes for each record
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    cache_size: ByteSize,
    /// Memory for records, and for pages of collections, that were read lately, for collections that are read and changed in turn, and for
    /// what tells which new ones are not there, in front of RocksDB; 0B: none
    #[arg(long, value_name = "SIZE", default_value = "128MiB")]
    record_cache: ByteSize,
    /// Memory for keys that change again and again, before they are written into RocksDB's files; 0B: none
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    write_back: ByteSize,
    /// Close connections that are silent for so long without waiting in a blocking command; 0s: never
    #[arg(long, value_name = "TIME", default_value = "0s")]
    timeout: humantime::Duration,
    /// Which keyspace events are published, in Redis' letters, such as KEA; clients change it with CONFIG SET
    #[arg(long, value_name = "CLASSES", default_value = "", hide_default_value = true, value_parser = event_classes)]
    notify_keyspace_events: String,
    /// What is logged, to standard error
    #[arg(long, value_enum, default_value_t = LogLevel::Info)]
    log_level: LogLevel,
    /// On a store that several servers share: how far their clocks may differ. A server whose clock differs more does not start, and
    /// later refuses writes until it is right
    #[arg(long, value_name = "TIME", default_value = "500ms")]
    max_clock_skew: humantime::Duration,
    #[command(flatten)]
    engine: EngineArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DurabilityKind {
    /// Before it is acknowledged
    Always,
    /// Within a second
    Everysec,
    /// When the operating system writes its caches
    Os,
}

impl From<DurabilityKind> for Durability {
    fn from(kind: DurabilityKind) -> Self {
        match kind {
            DurabilityKind::Always => Self::Always,
            DurabilityKind::Everysec => Self::EverySecond,
            DurabilityKind::Os => Self::Os,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CompressionKind {
    /// With lz4: writes take less of the processor's time
    Fast,
    /// The oldest data with zstd: less disk
    Small,
}

impl From<CompressionKind> for Compression {
    fn from(kind: CompressionKind) -> Self {
        match kind {
            CompressionKind::Fast => Self::Fast,
            CompressionKind::Small => Self::Small,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
}

impl From<LogLevel> for tracing::Level {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Self::ERROR,
            LogLevel::Warn => Self::WARN,
            LogLevel::Info => Self::INFO,
            LogLevel::Debug => Self::DEBUG,
        }
    }
}

pub fn serve(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    start_log(args.log_level);
    let password = password(args)?;
    let address = resolve(&args.listen)?;
    if password.is_none() && !address.ip().is_loopback() {
        return Err(UsageError(format!(
            "other machines can reach {address}: set a password with --password-file or ORBWEAVER_PASSWORD, or listen on 127.0.0.1"
        ))
        .into());
    }
    // Opened before the address is bound: whoever can connect is served.
    let database = args.dir.open(RocksOptions {
        durability: args.durability.into(),
        compression: args.compression.into(),
        block_cache_bytes: bytes(args.cache_size),
        record_cache_bytes: bytes(args.record_cache),
        write_back_bytes: bytes(args.write_back),
        read_only: args.access.read_only,
        ..RocksOptions::default()
    })?;
    let _watch = watch_clock(args, &database.store)?;
    let own = [("password", password.unwrap_or_default()), ("notify-keyspace-events", args.notify_keyspace_events.clone())];
    let settings = [database.settings.clone(), own.into()].concat();
    let orbweavers = instances(args, &database.store, &settings)?;
    let server = Server::bind(address, orbweavers, server_options(args, &database.store))
        .with_context(|| format!("cannot listen on {address}; another address is named with --listen"))?;
    stop_on_signals(server.stopper()).context("cannot wait for signals")?;
    announce(args, &database, server.address());
    server.run()?;
    if let OpenStore::Rocksdb { store, .. } = database.store
        && !args.access.read_only
    {
        store.sync().context("what was written last may not have reached the disk")?;
        if let Err(error) = store.flush() {
            tracing::warn!("the next start takes longer, because it has to read the log: {error}");
        }
    }
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// Compares this machine's clock with those of the others on the store, as long as the returned value lives.
fn watch_clock(args: &ServeArgs, store: &OpenStore) -> anyhow::Result<Option<Watch>> {
    let OpenStore::Remote(store) = store else { return Ok(None) };
    if args.access.read_only {
        return Ok(None);
    }
    let clock = args.engine.clock();
    let watch = store.watch_clock(Arc::new(move || clock.now_us() / 1000), args.max_clock_skew.into());
    watch.map(Some).map_err(anyhow::Error::msg)
}

fn event_classes(text: &str) -> Result<String, String> {
    Classes::parse(text).map(|_| text.to_owned()).ok_or_else(|| "some of Ag$lshzxeKEtmdn are needed".into())
}

/// Logs to standard error, in colours on a terminal.
fn start_log(level: LogLevel) {
    let log = tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
    log.with_max_level(tracing::Level::from(level)).with_target(false).init();
}

fn password(args: &ServeArgs) -> anyhow::Result<Option<String>> {
    let password = match &args.password_file {
        None => args.password.clone(),
        Some(path) => Some(first_line(path)?),
    };
    match password {
        Some(password) if password.is_empty() => Err(UsageError("the password is empty".into()).into()),
        password => Ok(password),
    }
}

fn resolve(text: &str) -> anyhow::Result<SocketAddr> {
    let wrong =
        |reason: &str| UsageError(format!("--listen {text}: {reason}; it is written as 127.0.0.1:6379, [::1]:6379 or localhost:6379"));
    let mut addresses = text.to_socket_addrs().map_err(|error| wrong(&error.to_string()))?;
    Ok(addresses.next().ok_or_else(|| wrong("no such address"))?)
}

/// An instance of the component for each worker, on a handle of its own.
fn instances(args: &ServeArgs, store: &OpenStore, settings: &[Setting]) -> anyhow::Result<Vec<Orbweaver>> {
    let component = load_component()?;
    let instance = |number: u16| {
        let own = [("instances", args.workers.to_string()), ("instance", number.to_string())];
        let settings = [settings, &own].concat();
        args.engine.open_in(&component, args.engine.environment(None), store.handle(), &settings, store.usual_deadline())
    };
    (0..args.workers).map(instance).collect()
}

fn server_options(args: &ServeArgs, store: &OpenStore) -> ServerOptions {
    let remote = if let OpenStore::Remote(store) = store { Some(store) } else { None };
    let timeout = Duration::from(args.timeout);
    ServerOptions {
        max_clients: allowed_clients(args.max_clients),
        max_request_bytes: bytes(args.max_request),
        max_output_bytes: bytes(args.max_output),
        max_pending_bytes: bytes(args.max_pending),
        idle_timeout: (!timeout.is_zero()).then_some(timeout),
        read_only: args.access.read_only,
        sweep_period: if remote.is_some() { SHARED_SWEEP_PERIOD } else { ServerOptions::default().sweep_period },
        facts: describe(args, store).into_iter().map(|(name, text)| (name.to_owned(), text)).collect(),
        live_facts: remote.cloned().map(live_facts),
    }
}

/// As many clients as asked for, where the system lets the process open so many files.
fn allowed_clients(wanted: usize) -> usize {
    let files = u64::try_from(wanted).unwrap_or(u64::MAX).saturating_add(OTHER_FILES);
    let allowed = match rlimit::increase_nofile_limit(files) {
        Ok(allowed) => allowed,
        Err(error) => {
            tracing::warn!("cannot raise the limit of open files: {error}");
            return wanted;
        }
    };
    let clients = usize::try_from(allowed.saturating_sub(OTHER_FILES)).unwrap_or(usize::MAX).max(1);
    if clients < wanted {
        tracing::warn!("the limit of open files allows {clients} clients instead of {wanted}: raise it with `ulimit -n {files}`");
    }
    clients.min(wanted)
}

/// What INFO and CONFIG GET show of the options. The log of RocksDB is to it what the append-only file is to Redis.
fn describe(args: &ServeArgs, store: &OpenStore) -> Vec<(&'static str, String)> {
    match store {
        OpenStore::Memory(_) => vec![("persistence.store", "memory".to_owned())],
        OpenStore::Rocksdb { path, .. } => vec![
            ("persistence.store", "rocksdb".to_owned()),
            ("persistence.durability", durability_name(args.durability)),
            ("server.dir", path.display().to_string()),
            ("config.dir", path.display().to_string()),
            ("config.appendonly", "yes".to_owned()),
            ("memory.block_cache_size", args.cache_size.as_u64().to_string()),
            ("memory.record_cache_size", args.record_cache.as_u64().to_string()),
            ("memory.write_back_size", args.write_back.as_u64().to_string()),
            ("config.appendfsync", durability_name(args.durability).replace("os", "no")),
        ],
        OpenStore::Remote(store) => vec![
            ("persistence.store", store.address().kind().name().to_owned()),
            ("persistence.store_address", store.address().to_string()),
            // Who pushes or publishes on another server reaches nobody here.
            ("clients.blocking_reach", "server".to_owned()),
            ("clients.pubsub_reach", "server".to_owned()),
        ],
    }
}

/// What INFO tells of a store behind a network as of now.
fn live_facts(store: RemoteStore) -> LiveFacts {
    LiveFacts::new(move || store.facts().into_iter().map(|(name, text)| (format!("persistence.{name}"), text)).collect())
}

fn durability_name(kind: DurabilityKind) -> String {
    kind.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn announce(args: &ServeArgs, Database { store, layout, .. }: &Database, address: SocketAddr) {
    let (place, layout) = (store.shown(), *layout);
    let data = match store {
        OpenStore::Memory(_) => "in memory, gone when the server stops".to_owned(),
        OpenStore::Remote(_) if args.access.read_only => format!("in {place} (read-only)"),
        OpenStore::Remote(_) => format!("in {place}"),
        OpenStore::Rocksdb { .. } if args.access.read_only => format!("in {place} (rocksdb, read-only)"),
        OpenStore::Rocksdb { .. } => format!("in {place} (rocksdb, durability {})", durability_name(args.durability)),
    };
    let layout = if layout == Layout::Orbweaver { String::new() } else { format!(" of the layout {}", layout.name()) };
    let host = if address.ip().is_loopback() { String::new() } else { format!(" -h {}", address.ip()) };
    tracing::info!("listening on {address}; data{layout} {data}; connect with: redis-cli{host} -p {}", address.port());
}

fn stop_on_signals(stopper: Stopper) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    std::thread::Builder::new().name("orbweaver-signals".into()).spawn(move || {
        for signal in signals.forever() {
            tracing::info!("got {}", signal_hook::low_level::signal_name(signal).unwrap_or("a signal"));
            if let Err(error) = stopper.stop() {
                tracing::error!("cannot wake the server: {error}");
            }
        }
    })?;
    Ok(())
}
