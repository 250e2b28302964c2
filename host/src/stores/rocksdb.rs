//! The store of the main job: RocksDB, with a column family for each keyspace.
//!
//! [`RocksStore`] is the open database and may be shared; each thread works through a [`RocksHandle`] of its own. Transactions
//! hold locks on their lock keys (they block in `begin` and never meet a conflict) and read from a snapshot. The write-ahead log
//! is always written, and one write carries a whole batch, so a commit is atomic across crashes.

mod handle;
mod options;
mod orders;
mod reclaim;

pub use handle::RocksHandle;
pub use options::{Durability, RocksOptions};

use super::background::Background;
use super::locks::KeyLocks;
use super::revisions::Revisions;
use orbweaver_engine::store::{Limits, Order, StoreError};
use parking_lot::{Mutex, RwLock};
use rocksdb::{Cache, ColumnFamilyDescriptor, DBWithThreadMode, ErrorKind, MultiThreaded, Options, WriteOptions};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

type Db = DBWithThreadMode<MultiThreaded>;

/// What RocksDB can take: keys of 8 MiB are the largest that its authors recommend, values of 3 GiB the largest that they
/// support, and a batch counts its operations in 32 bits and holds up to 4 GiB.
const LIMITS: Limits =
    Limits { max_key_bytes: 8 << 20, max_value_bytes: 3 << 30, max_batch_ops: 0xffff_ffff, max_batch_bytes: 0xf000_0000, read_only: false };

/// How often ranges that were deleted are looked at.
const RECLAIM_PERIOD: Duration = Duration::from_millis(500);

/// An open database. Clones share it; it closes with the last of them and of the handles.
#[derive(Clone)]
pub struct RocksStore {
    inner: Arc<Inner>,
}

/// The database and the threads that work for it.
struct Inner {
    shared: Arc<Shared>,
    background: Vec<Background>,
}

/// What handles and background threads share.
struct Shared {
    db: Db,
    path: PathBuf,
    options: RocksOptions,
    cache: Cache,
    locks: KeyLocks,
    revisions: Revisions,
    /// How many handles there are.
    handles: AtomicUsize,
    /// Keeps an exclusive commit and the change of the epoch together, as seen by those who take a snapshot.
    publishing: RwLock<()>,
    /// The orders of all keyspaces. Held while one is created.
    orders: Mutex<BTreeMap<String, Order>>,
    /// What keyspaces were created with while the database was open: their comparators must outlive it.
    created: Mutex<Vec<Options>>,
    /// Why nothing is written any more, once the outcome of a write is unknown.
    poison: OnceLock<String>,
    syncs: AtomicU64,
    deleted: reclaim::Queue,
}

impl RocksStore {
    /// Opens the database in the directory `path`, creating it with the keyspaces of the default layout where there is none.
    ///
    /// # Errors
    /// [`StoreError::Io`], with a text for people: the directory is in use, missing, not a database, or not permitted.
    /// [`StoreError::Corrupt`] where RocksDB finds its files damaged.
    pub fn open(path: &Path, options: RocksOptions) -> Result<Self, StoreError> {
        let exists = check_directory(path, &options)?;
        let db_options = options::database(&options);
        let cache = options::block_cache(&options);
        let mut names: BTreeSet<String> = BTreeSet::new();
        if exists {
            names.extend(Db::list_cf(&db_options, path).map_err(|error| open_error(path, &error))?);
        }
        if !options.read_only {
            names.extend(options::KEYSPACES.map(String::from));
        }
        let known = orders::read(path)?;
        let order = |name: &String| known.get(name).copied().unwrap_or(Order::Bytes);
        let orders: BTreeMap<String, Order> = names.into_iter().map(|name| (name.clone(), order(&name))).collect();
        let descriptors =
            orders.iter().map(|(name, &order)| ColumnFamilyDescriptor::new(name, options::keyspace(name, order, &options, &cache)));
        let db = if options.read_only {
            Db::open_cf_descriptors_read_only(&db_options, path, descriptors, false)
        } else {
            Db::open_cf_descriptors(&db_options, path, descriptors)
        };
        let shared = Arc::new(Shared {
            db: db.map_err(|error| open_error(path, &error))?,
            path: path.to_owned(),
            options,
            cache,
            locks: KeyLocks::new(),
            revisions: Revisions::new(),
            handles: AtomicUsize::new(0),
            publishing: RwLock::new(()),
            orders: Mutex::new(orders),
            created: Mutex::default(),
            poison: OnceLock::new(),
            syncs: AtomicU64::new(0),
            deleted: reclaim::Queue::default(),
        });
        let background = start_background(&shared).map_err(|error| StoreError::Io(format!("no thread for the store: {error}")))?;
        Ok(Self { inner: Arc::new(Inner { shared, background }) })
    }

    /// A handle for one thread.
    ///
    /// While there is one handle only, its transactions read without a snapshot. One that is open when a second handle commits
    /// gets [`StoreError::Expired`] from its next read.
    #[must_use]
    pub fn handle(&self) -> RocksHandle {
        RocksHandle::new(Arc::clone(&self.inner))
    }

    /// The names of all keyspaces in the directory, in byte order: also those that the default layout does not know.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the directory cannot be read.
    pub fn keyspaces(&self) -> Result<Vec<String>, StoreError> {
        let shared = &self.inner.shared;
        let mut names = Db::list_cf(&Options::default(), &shared.path).map_err(|error| open_error(&shared.path, &error))?;
        names.sort_unstable();
        Ok(names)
    }

    /// The order of a keyspace: bytes where there is none of that name.
    #[must_use]
    pub fn order(&self, keyspace: &str) -> Order {
        self.inner.shared.orders.lock().get(keyspace).copied().unwrap_or(Order::Bytes)
    }

    /// Writes everything that was committed through to the disk, whatever the durability: for a stop that people wait for.
    ///
    /// # Errors
    /// [`StoreError::UnknownOutcome`] where that failed, now or before: what was committed last may be lost in a crash of the machine.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.inner.shared.sync();
        self.inner.shared.check_poison()
    }

    /// How often the log has been synced in the background since the store was opened.
    #[must_use]
    pub fn background_syncs(&self) -> u64 {
        self.inner.shared.syncs.load(Ordering::Relaxed)
    }
}

fn start_background(shared: &Arc<Shared>) -> io::Result<Vec<Background>> {
    let mut background = Vec::new();
    if shared.options.read_only {
        return Ok(background);
    }
    if shared.options.durability == Durability::EverySecond {
        let shared = Arc::clone(shared);
        background.push(Background::every("orbweaver-sync", Duration::from_secs(1), move || shared.sync())?);
    }
    let shared = Arc::clone(shared);
    let reclaim = move || shared.deleted.work(&shared.db, shared.options.reclaim_bytes);
    background.push(Background::every("orbweaver-reclaim", RECLAIM_PERIOD, reclaim)?);
    Ok(background)
}

impl Shared {
    /// Writes the log through to the disk. A failure poisons the store: what was lost may have been acknowledged.
    fn sync(&self) {
        if self.poison.get().is_some() {
            return;
        }
        match self.db.flush_wal(true) {
            Ok(()) => {
                self.syncs.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                self.poison(&error);
            }
        }
    }

    /// Refuses all further writes, and returns the error of this one.
    fn poison(&self, error: &rocksdb::Error) -> StoreError {
        StoreError::UnknownOutcome(self.poison.get_or_init(|| error.to_string()).clone())
    }

    fn check_poison(&self) -> Result<(), StoreError> {
        self.poison.get().map_or(Ok(()), |text| Err(StoreError::UnknownOutcome(text.clone())))
    }

    /// How the log is written: always, and synced where that is asked for.
    fn write_options(&self) -> WriteOptions {
        let mut write = WriteOptions::default();
        write.set_sync(self.options.durability == Durability::Always);
        write
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.shared.options.durability == Durability::EverySecond && !self.shared.options.read_only {
            self.shared.sync();
        }
        // A compaction may take minutes: it ends here and is done another time.
        self.shared.db.cancel_all_background_work(true);
        self.background.clear();
    }
}

/// Whether `path` holds a database already. Refuses what RocksDB would report less clearly, or would write into.
fn check_directory(path: &Path, options: &RocksOptions) -> Result<bool, StoreError> {
    let shown = path.display();
    let io_error = |error: io::Error| match error.kind() {
        io::ErrorKind::PermissionDenied => StoreError::Io(format!("permission denied on {shown}")),
        io::ErrorKind::NotADirectory => StoreError::Io(format!("{shown} is not a directory")),
        _ => StoreError::Io(format!("cannot read {shown}: {error}")),
    };
    let create = options.create_if_missing && !options.read_only;
    let mut only_remains = true;
    match std::fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(io_error(error)),
        Ok(entries) => {
            for entry in entries {
                let name = entry.map_err(io_error)?.file_name();
                let name = name.to_string_lossy();
                if name == "CURRENT" {
                    return Ok(true);
                }
                only_remains &= is_remains(&name);
            }
        }
    }
    match (only_remains, create) {
        (true, true) => Ok(false),
        (true, false) => Err(StoreError::Io(format!("there is no database in {shown}"))),
        (false, _) => Err(StoreError::Io(format!("{shown} is not a RocksDB database: it holds other files"))),
    }
}

/// Whether RocksDB leaves a file of this name when it is stopped while it creates a database.
fn is_remains(name: &str) -> bool {
    let begins = ["LOCK", "LOG", "IDENTITY", "MANIFEST-", "OPTIONS-"].iter().any(|start| name.starts_with(start));
    begins || name.ends_with(".dbtmp")
}

/// What a failed open means. RocksDB tells these cases apart by their texts alone.
fn open_error(path: &Path, error: &rocksdb::Error) -> StoreError {
    let (text, path) = (error.to_string(), path.display());
    if text.contains("lock hold by current process") {
        StoreError::Io(format!("{path} is open already in this process"))
    } else if text.contains("While lock file") {
        StoreError::Io(format!("{path} is in use by another process"))
    } else if text.contains("Permission denied") {
        StoreError::Io(format!("permission denied on {path}"))
    } else if error.kind() == ErrorKind::Corruption {
        StoreError::Corrupt(format!("{path}: {text}"))
    } else {
        StoreError::Io(format!("cannot open {path}: {text}"))
    }
}

/// What a failed read means.
fn read_error(error: &rocksdb::Error) -> StoreError {
    if error.kind() == ErrorKind::Corruption { StoreError::Corrupt(error.to_string()) } else { StoreError::Io(error.to_string()) }
}
