//! The store of the main job: RocksDB, with a column family for each keyspace.
//!
//! [`RocksStore`] is the open store and may be shared; each thread works through a [`RocksHandle`] of its own. Transactions
//! hold locks on their lock keys (they block in `begin` and never meet a conflict) and read from a snapshot. The write-ahead log
//! is always written, and one write carries a whole batch, so a commit is atomic across crashes.
//!
//! The directory of a foreign layout may hold several databases ([`Layout`]). They are one store: a state is a snapshot of each,
//! taken between commits, and a batch for several of them goes through a journal.

mod commit;
mod database;
mod directory;
mod frontiers;
mod gaps;
mod handle;
mod heads_table;
mod journal;
mod late;
mod layout;
mod marks;
mod merges;
mod neighbours;
mod options;
mod orders;
mod prefetch;
mod question;
mod raw_batch;
mod reclaim;
mod recognition;
mod record_cache;
mod records;
mod redo;
mod resident_records;
mod residents;
mod scan;
mod shares;
mod watches;
mod write_back;

pub use handle::RocksHandle;
pub use layout::Layout;
pub use options::{Compression, Durability, RocksOptions};
pub use recognition::{Place, recognise};

use super::background::Background;
use super::locks::KeyLocks;
use super::revisions::Revisions;
use database::Database;
use directory::Contents;
use options::Memory;
use orbweaver_engine::store::{Limits, Order, StoreError};
use parking_lot::{Mutex, MutexGuard, RwLock};
use record_cache::RecordCache;
use rocksdb::{BoundColumnFamily, DBWithThreadMode, ErrorKind, MultiThreaded, WriteOptions};
use smallvec::SmallVec;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use write_back::Writing;

type Db = DBWithThreadMode<MultiThreaded>;

/// What RocksDB can take: keys of 8 MiB are the largest that its authors recommend, values of 3 GiB the largest that they
/// support, and a batch counts its operations in 32 bits and holds up to 4 GiB.
const LIMITS: Limits =
    Limits { max_key_bytes: 8 << 20, max_value_bytes: 3 << 30, max_batch_ops: 0xffff_ffff, max_batch_bytes: 0xf000_0000, read_only: false };

/// How often what may be compacted early is looked at.
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
    /// Those of the layout, in its order; some may not be there yet.
    databases: Vec<Database>,
    path: PathBuf,
    options: RocksOptions,
    memory: Memory,
    locks: KeyLocks,
    revisions: Revisions,
    cache: Option<RecordCache>,
    /// How the log is written: always, and synced where that is asked for.
    write: WriteOptions,
    /// How many handles there are.
    handles: AtomicUsize,
    /// Keeps together, as seen by those who take snapshots: an exclusive commit and the change of the epoch; what a commit writes
    /// into several databases.
    publishing: RwLock<()>,
    /// Held while databases are created.
    creating: Mutex<()>,
    /// Why nothing is written any more, once the outcome of a write is unknown.
    poison: OnceLock<String>,
    syncs: AtomicU64,
    reclaim: reclaim::Queue,
}

impl RocksStore {
    /// Opens the store in the directory `path`, which is of the layout that the options name. Where there is none yet, a store of
    /// our own gets the keyspaces of its layout at once; the databases of foreign layouts are created by the first commit that
    /// writes.
    ///
    /// # Errors
    /// [`StoreError::Io`], with a text for people: the directory is in use, missing, not a database, not whole, or not permitted.
    /// [`StoreError::Corrupt`] where RocksDB finds its files damaged.
    pub fn open(path: &Path, options: RocksOptions) -> Result<Self, StoreError> {
        check_directory(path, &options)?;
        let memory = Memory::new(&options, directory::file_bytes(path));
        let plans = options.layout.databases().iter();
        let databases = plans.map(|plan| Database::new(path, plan, &options, &memory)).collect::<Result<Vec<_>, _>>()?;
        if !options.layout.is_foreign() {
            databases.iter().try_for_each(|database| database.create(&options, &memory))?;
        }
        commit::finish_interrupted(path, &databases, options.read_only)?;
        for database in &databases {
            let _first = database.left_redo.set(redo::carry_out(database, options.layout, options.read_only)?);
        }
        let mut write = WriteOptions::default();
        write.set_sync(options.durability == Durability::Always);
        let shared = Arc::new(Shared {
            databases,
            write,
            path: path.to_owned(),
            cache: RecordCache::new(options.record_cache_bytes),
            options,
            memory,
            locks: KeyLocks::new(),
            revisions: Revisions::new(),
            handles: AtomicUsize::new(0),
            publishing: RwLock::new(()),
            creating: Mutex::new(()),
            poison: OnceLock::new(),
            syncs: AtomicU64::new(0),
            reclaim: reclaim::Queue::default(),
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

    /// The names of all keyspaces of records in the directory, in byte order: also those that the layout does not know.
    ///
    /// # Errors
    /// [`StoreError::Io`] where the directory cannot be read.
    pub fn keyspaces(&self) -> Result<Vec<String>, StoreError> {
        let shared = &self.inner.shared;
        let mut names = Vec::new();
        for database in &shared.databases {
            names.extend(database.keyspaces(shared.options.layout)?);
        }
        names.sort_unstable();
        Ok(names)
    }

    /// The order of a keyspace: bytes where there is none of that name.
    #[must_use]
    pub fn order(&self, keyspace: &str) -> Order {
        let (shared, layout) = (&self.inner.shared, self.inner.shared.options.layout);
        let place = layout.locate(keyspace).and_then(|(at, family)| Some((shared.databases.get(at)?, family)));
        place.and_then(|(database, family)| database.order(layout, family)).unwrap_or(Order::Bytes)
    }

    /// Writes everything that was committed through to the disk, whatever the durability: for a stop that people wait for.
    ///
    /// # Errors
    /// [`StoreError::UnknownOutcome`] where that failed, now or before: what was committed last may be lost in a crash of the machine.
    pub fn sync(&self) -> Result<(), StoreError> {
        self.inner.shared.sync();
        self.inner.shared.check_poison()
    }

    /// Writes what is in memory into files, so that whoever opens the store next has no log to read: for a stop, too. Nothing that is
    /// committed is safer for it.
    ///
    /// # Errors
    /// [`StoreError::Io`] where that failed: the log has it all, as before. [`StoreError::UnknownOutcome`] where a write has failed.
    pub fn flush(&self) -> Result<(), StoreError> {
        let shared = &self.inner.shared;
        drop(shared.write_back()?);
        shared.databases.iter().try_for_each(Database::flush)
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
    let reclaim = move || shared.reclaim.work(&shared.databases, shared.options.reclaim_bytes);
    background.push(Background::every("orbweaver-reclaim", RECLAIM_PERIOD, reclaim)?);
    Ok(background)
}

impl Shared {
    /// A column family, created where it is not there. The first one of a foreign layout brings all databases of the layout with it:
    /// its programs expect them together.
    fn create(&self, database: usize, family: &str, order: Order) -> Result<Arc<BoundColumnFamily<'_>>, StoreError> {
        let _creating = self.creating.lock();
        self.databases.iter().try_for_each(|database| database.create(&self.options, &self.memory))?;
        let database = self.databases.get(database).ok_or_else(|| StoreError::Io("no such database".into()))?;
        database.create_family(family, order, &self.options, &self.memory)
    }

    /// Has all heads written back. As long as what it returns is held, there are no others.
    ///
    /// # Errors
    /// [`StoreError::UnknownOutcome`] where that fails, and where a write has failed before: what is in the log then, nobody knows, and the
    /// redo is to be carried out in its order, by who opens the store next.
    fn write_back(&self) -> Result<SmallVec<[MutexGuard<'_, Writing>; 1]>, StoreError> {
        let mut written = SmallVec::new();
        for database in &self.databases {
            let Some(db) = database.get() else { continue };
            if database.write_back.is_holding() {
                self.check_poison()?;
            }
            written.push(database.write_back.finish(db).map_err(|error| self.poison(&error))?);
        }
        Ok(written)
    }

    /// Writes the logs through to the disk. A failure poisons the store: what was lost may have been acknowledged.
    fn sync(&self) {
        if self.poison.get().is_some() {
            return;
        }
        for db in self.databases.iter().filter_map(Database::get) {
            if let Err(error) = db.flush_wal(true) {
                self.poison(error.as_ref());
                return;
            }
        }
        self.syncs.fetch_add(1, Ordering::Relaxed);
    }

    /// Refuses all further writes, and returns the error of this one.
    fn poison(&self, error: &str) -> StoreError {
        StoreError::UnknownOutcome(self.poison.get_or_init(|| error.to_owned()).clone())
    }

    fn check_poison(&self) -> Result<(), StoreError> {
        self.poison.get().map_or(Ok(()), |text| Err(StoreError::UnknownOutcome(text.clone())))
    }

    /// Whether a commit is on the disk before it is acknowledged.
    fn must_sync(&self) -> bool {
        self.options.durability == Durability::Always
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Nobody is left who could be told of a failure: who opens the store next carries the redo out.
        drop(self.shared.write_back());
        if self.shared.options.durability == Durability::EverySecond && !self.shared.options.read_only {
            self.shared.sync();
        }
        // A compaction may take minutes: it ends here and is done another time.
        for db in self.shared.databases.iter().filter_map(Database::get) {
            db.cancel_all_background_work(true);
        }
        self.background.clear();
    }
}

/// Refuses a directory that holds nothing of the layout, or only a part of it.
fn check_directory(path: &Path, options: &RocksOptions) -> Result<(), StoreError> {
    let (shown, plans) = (path.display(), options.layout.databases());
    let mut missing = Vec::new();
    let (mut exists, mut data) = (false, false);
    for plan in plans {
        let contents = Contents::of(&plan.path(path))?;
        exists |= contents.database;
        data |= contents.data;
        if !contents.database {
            missing.push(plan.folder);
        }
        if contents.others && !contents.database {
            return Err(StoreError::Io(format!("{} is not a RocksDB database: it holds other files", plan.path(path).display())));
        }
    }
    // Those that hold nothing may have been left by a creation that was interrupted.
    if data && !missing.is_empty() {
        return Err(directory::not_whole(
            path,
            &format!("of the databases of {}, {} is missing", options.layout.name(), missing.join(", ")),
        ));
    }
    let create = options.create_if_missing && !options.read_only;
    if !exists && !create {
        return Err(StoreError::Io(format!("there is no database in {shown}")));
    }
    Ok(())
}

/// What a failed read means.
fn read_error(error: &rocksdb::Error) -> StoreError {
    if error.kind() == ErrorKind::Corruption { StoreError::Corrupt(error.to_string()) } else { StoreError::Io(error.to_string()) }
}
