//! One RocksDB database of a store.

use super::directory::{Contents, open_error};
use super::late::OnTheirWay;
use super::layout::{Layout, Plan};
use super::options::{self, Memory, RocksOptions};
use super::write_back::WriteBack;
use super::{Db, orders, redo};
use orbweaver_engine::store::{Order, StoreError};
use parking_lot::Mutex;
use rocksdb::{BoundColumnFamily, ColumnFamilyDescriptor, FlushOptions, Options};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A database, which may not be there yet.
pub struct Database {
    plan: &'static Plan,
    path: PathBuf,
    db: OnceLock<Db>,
    /// What is known of its column families.
    families: Mutex<Families>,
    /// What late commits have yet to write.
    pub on_their_way: OnTheirWay,
    /// What is in the log, and has yet to be written into the keyspace of heads.
    pub write_back: WriteBack,
    /// Of a database that is only read: heads that another process has yet to put into their keyspace.
    pub left_redo: OnceLock<redo::Heads>,
}

/// What is known of column families.
#[derive(Default)]
struct Families {
    /// The orders of those that are there, and of those that have been asked for.
    orders: BTreeMap<String, Order>,
    uncompressed: bool,
    /// What column families were created with since the database was opened: their comparators must outlive it.
    created: Vec<Options>,
}

impl Database {
    /// The database of a plan in the directory of a store, opened where it exists.
    pub fn new(store: &Path, plan: &'static Plan, options: &RocksOptions, memory: &Memory) -> Result<Self, StoreError> {
        let path = plan.path(store);
        let exists = Contents::of(&path)?.database;
        let database = Self {
            plan,
            path,
            db: OnceLock::new(),
            families: Mutex::default(),
            on_their_way: OnTheirWay::default(),
            write_back: WriteBack::new(options::most_unwritten(options)),
            left_redo: OnceLock::new(),
        };
        if exists {
            let on_disk = orders::read(&database.path)?;
            let names = Db::list_cf(&Options::default(), &database.path).map_err(|error| open_error(&database.path, &error))?;
            let order = |name: &str| on_disk.orders.get(name).copied().unwrap_or(Order::Bytes);
            let mut families: Vec<(String, Order)> = names.iter().map(|name| (name.clone(), order(name))).collect();
            if !options.read_only && !options.layout.is_foreign() {
                let missing = plan.families.iter().filter(|(name, _)| names.iter().all(|other| other != name));
                families.extend(missing.map(|&(name, order)| (name.to_owned(), order)));
            }
            database.families.lock().uncompressed = on_disk.uncompressed;
            database.open(families, options, memory)?;
        }
        Ok(database)
    }

    fn open(&self, families: Vec<(String, Order)>, options: &RocksOptions, memory: &Memory) -> Result<(), StoreError> {
        let mut known = self.families.lock();
        let uncompressed = known.uncompressed;
        let settings = |(name, order): &(String, Order)| {
            ColumnFamilyDescriptor::new(name, options::keyspace(name, *order, uncompressed, options, memory))
        };
        let descriptors = families.iter().map(settings);
        let general = options::database(options, memory);
        let opened = if options.read_only {
            Db::open_cf_descriptors_read_only(&general, &self.path, descriptors, false)
        } else {
            Db::open_cf_descriptors(&general, &self.path, descriptors)
        };
        let opened = opened.map_err(|error| open_error(&self.path, &error))?;
        known.orders.extend(families);
        // Nobody else opens it: it is opened with the store, or under the store's lock on creations.
        let _first = self.db.set(opened);
        Ok(())
    }

    /// Creates the database with the column families of its plan where it is not there. Not to be called twice at a time.
    pub fn create(&self, options: &RocksOptions, memory: &Memory) -> Result<(), StoreError> {
        if self.db.get().is_some() {
            return Ok(());
        }
        let default = options.layout.other_order().unwrap_or(Order::Bytes);
        let planned = self.plan.families.iter().map(|&(name, order)| (name.to_owned(), order));
        std::fs::create_dir_all(&self.path).map_err(|error| StoreError::Io(format!("cannot create {}: {error}", self.path.display())))?;
        let general = RocksOptions { create_if_missing: true, ..options.clone() };
        self.open(std::iter::once(("default".to_owned(), default)).chain(planned).collect(), &general, memory)
    }

    pub const fn folder(&self) -> &'static str {
        self.plan.folder
    }

    /// The open database, with all that is on its way to it, but for heads that are written back later; `None` where it is not there yet.
    pub fn get(&self) -> Option<&Db> {
        self.on_their_way.wait();
        self.db.get()
    }

    /// The open database, for who writes what is on its way.
    pub fn get_at_once(&self) -> Option<&Db> {
        self.db.get()
    }

    /// The order of a column family, where it is known.
    pub fn order(&self, layout: Layout, family: &str) -> Option<Order> {
        let existing = self.families.lock().orders.get(family).copied();
        let planned = || self.plan.families.iter().find(|(name, _)| *name == family).map(|(_, order)| *order);
        let default = || if family == "default" || layout.is_open() { layout.other_order() } else { None };
        existing.or_else(planned).or_else(default)
    }

    /// Says that a column family is to be used in this order, whether it exists or not.
    ///
    /// # Errors
    /// [`StoreError::UnsupportedOrder`] where it has another one; [`StoreError::Io`] where the layout has none of that name.
    pub fn declare(&self, layout: Layout, family: &str, order: Order) -> Result<(), StoreError> {
        let known = self.order(layout, family);
        let name = self.plan.keyspace(family);
        match known {
            Some(known) if known == order => {}
            Some(known) => {
                let (known, order) = (known.name(), order.name());
                return Err(StoreError::UnsupportedOrder(format!("keyspace {name} is ordered as {known}, not as {order}")));
            }
            None if layout.is_open() => {}
            None => return Err(StoreError::Io(format!("the layout {} has no keyspace {name}", layout.name()))),
        }
        self.families.lock().orders.insert(family.to_owned(), order);
        Ok(())
    }

    /// A column family; `None` where it is not there yet.
    pub fn family(&self, name: &str) -> Option<Arc<BoundColumnFamily<'_>>> {
        self.db.get()?.cf_handle(name)
    }

    /// A column family of a database that is there, created where it is not.
    pub fn create_family(
        &self,
        name: &str,
        order: Order,
        options: &RocksOptions,
        memory: &Memory,
    ) -> Result<Arc<BoundColumnFamily<'_>>, StoreError> {
        let missing = || StoreError::Io(format!("there is no keyspace {name} in {}", self.path.display()));
        let db = self.db.get().ok_or_else(missing)?;
        let mut families = self.families.lock();
        if db.cf_handle(name).is_none() {
            let settings = options::keyspace(name, order, families.uncompressed, options, memory);
            db.create_cf(name, &settings).map_err(|error| StoreError::Io(error.to_string()))?;
            families.created.push(settings);
        }
        db.cf_handle(name).ok_or_else(missing)
    }

    /// Writes the memtables of all column families into files, where the database is there.
    pub fn flush(&self) -> Result<(), StoreError> {
        let Some(db) = self.get() else { return Ok(()) };
        let names: Vec<String> = self.families.lock().orders.keys().cloned().collect();
        let families: Vec<_> = names.iter().filter_map(|name| db.cf_handle(name)).collect();
        let families: Vec<_> = families.iter().collect();
        db.flush_cfs_opt(&families, &FlushOptions::default()).map_err(|error| StoreError::Io(error.to_string()))
    }

    /// The names of the keyspaces on the disk.
    pub fn keyspaces(&self, layout: Layout) -> Result<Vec<String>, StoreError> {
        if self.db.get().is_none() {
            return Ok(Vec::new());
        }
        let families = Db::list_cf(&Options::default(), &self.path).map_err(|error| open_error(&self.path, &error))?;
        let records = families.iter().filter(|family| !redo::is_redo(layout, family));
        Ok(records.map(|family| self.plan.keyspace(family)).collect())
    }
}
