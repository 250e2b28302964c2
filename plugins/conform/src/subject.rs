//! The imported store as a subject of the suite.

use crate::store::HostStore;
use bytes::Bytes;
use orbweaver_engine::store::conformance::{self, Subject};
use orbweaver_engine::store::{Batch, Direction, KeyRange, Keyspace, Limits, Order, Page, PageLimit, Scope, Store, StoreError, Values};

/// The imported store.
pub struct Imported;

impl Imported {
    /// The store, which nobody has written to.
    ///
    /// # Errors
    /// Where the store holds records: they may be somebody's.
    pub fn empty() -> Result<Self, StoreError> {
        let (mut store, keyspaces) = open()?;
        store.begin(&Scope::Read)?;
        for (keyspace, name) in keyspaces {
            if !store.scan(keyspace, &KeyRange::all(), Direction::Forward, PageLimit::items(1))?.is_empty() {
                let text = format!("the keyspace {name} holds records, which the tests would remove: give them an empty store");
                return Err(StoreError::Io(text));
            }
        }
        store.rollback();
        Ok(Self)
    }

    /// The store without the records of the test before.
    ///
    /// # Errors
    /// Whatever the store reports.
    pub fn wiped() -> Result<Self, StoreError> {
        let (mut store, keyspaces) = open()?;
        // A test that failed may have left a transaction open.
        store.rollback();
        for _ in 0..MOST_BATCHES {
            if !remove(&mut store, &keyspaces)? {
                break;
            }
        }
        Ok(Self)
    }
}

/// The records of a test are fewer than these batches remove, however small a store's pages are.
const MOST_BATCHES: u32 = 1000;

/// Removes everything; whether there was something to remove. Ranges and keys: a store that removes only one of them is to fail the
/// test of the other, and not each test behind it.
fn remove(store: &mut HostStore, keyspaces: &[Named]) -> Result<bool, StoreError> {
    let (mut batch, mut keys) = (Batch::new(), Vec::new());
    store.begin(&Scope::Exclusive)?;
    for (keyspace, _) in keyspaces {
        batch.delete_range(*keyspace, &KeyRange::all())?;
        let page = store.scan(*keyspace, &KeyRange::all(), Direction::Forward, PageLimit::items(500))?;
        keys.extend(page.records().map(|(key, _)| (*keyspace, key)));
    }
    keys.iter().try_for_each(|(keyspace, key)| batch.delete(*keyspace, key))?;
    store.commit(&batch, &[])?;
    Ok(!keys.is_empty())
}

/// A keyspace and its name.
type Named = (Keyspace, String);

/// The store, with those of the suite's keyspaces whose order it has.
fn open() -> Result<(HostStore, Vec<Named>), StoreError> {
    let mut store = HostStore::new();
    let mut keyspaces = Vec::new();
    for (name, order) in conformance::keyspaces() {
        match store.open_keyspace(&name, order) {
            Err(StoreError::UnsupportedOrder(_)) => {}
            opened => keyspaces.push((opened?, name)),
        }
    }
    Ok((store, keyspaces))
}

impl Subject for Imported {
    fn handle(&self) -> Result<Box<dyn Store + Send>, StoreError> {
        Ok(Box::new(Turn { store: HostStore::new(), is_open: false }))
    }
}

/// A handle that takes turns with others in the one conversation that an instance has with its store.
struct Turn {
    store: HostStore,
    is_open: bool,
}

impl Drop for Turn {
    /// A handle that goes ends its transaction.
    fn drop(&mut self) {
        if self.is_open {
            self.store.rollback();
        }
    }
}

impl Store for Turn {
    fn limits(&self) -> Limits {
        self.store.limits()
    }

    fn open_keyspace(&mut self, name: &str, order: Order) -> Result<Keyspace, StoreError> {
        self.store.open_keyspace(name, order)
    }

    fn order(&self, keyspace: Keyspace) -> Order {
        self.store.order(keyspace)
    }

    fn begin(&mut self, scope: &Scope) -> Result<u64, StoreError> {
        let epoch = self.store.begin(scope)?;
        self.is_open = true;
        Ok(epoch)
    }

    fn get(&mut self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.store.get(keyspace, key)
    }

    fn get_many(&mut self, keys: &[(Keyspace, &[u8])]) -> Result<Values, StoreError> {
        self.store.get_many(keys)
    }

    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        self.store.scan(keyspace, range, direction, limit)
    }

    fn revisions(&mut self, keys: &[Bytes]) -> Result<Vec<u64>, StoreError> {
        self.store.revisions(keys)
    }

    fn commit(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        self.is_open = false;
        self.store.commit(batch, changed)
    }

    fn rollback(&mut self) {
        self.is_open = false;
        self.store.rollback();
    }
}
