//! The nine functions of the contract, as a class of JavaScript.

use crate::bindings::DatabaseWithOptions;
use crate::{convert, failure, opening, reading, writing};
use idb::{ObjectStore, Transaction};
use js_sys::Array;
use orbweaver_engine::store::{Batch, BatchOp, Direction, Limits, PageLimit, Revisions, Scope, StoreError};
use std::cell::RefCell;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::{IdbDatabase, IdbTransaction};

/// What browsers take without trouble: a record travels between processes in one message, which Chromium limits to some 128 MiB, and
/// a batch is in memory three times on its way.
const LIMITS: Limits =
    Limits { max_key_bytes: 1 << 20, max_value_bytes: 64 << 20, max_batch_ops: u64::MAX, max_batch_bytes: 256 << 20, read_only: false };

/// A database of IndexedDB as a store. Calls follow one another; the caller holds the database's Web Lock.
///
/// All methods take `&self`: wasm-bindgen gives an object back only after the promise of an asynchronous method has resolved.
#[wasm_bindgen]
pub struct IndexedDbStore {
    name: String,
    /// `relaxed` or `strict`, as IndexedDB has them.
    durability: String,
    database: RefCell<IdbDatabase>,
    /// The number of a keyspace is its position.
    keyspaces: RefCell<Vec<String>>,
    /// That of the open transaction.
    scope: RefCell<Option<Scope>>,
    /// The transaction of IndexedDB in which the last read was made. Where the next read follows at once, it is still open, and no other
    /// one has to be made.
    reader: RefCell<Option<IdbTransaction>>,
    revisions: RefCell<Revisions>,
}

/// How the contract's errors leave.
type Thrown<T> = Result<T, JsValue>;

#[wasm_bindgen]
impl IndexedDbStore {
    /// Opens the database `name`, and creates it and those of `keyspaces` that it lacks, in one step.
    pub async fn open(name: String, durability: String, keyspaces: Vec<String>) -> Thrown<IndexedDbStore> {
        let database = opening::open(&name, &keyspaces).await.map_err(|error| failure::thrown(&error))?;
        let (database, keyspaces) = (RefCell::new(database.into()), RefCell::new(keyspaces));
        Ok(Self {
            name,
            durability,
            database,
            keyspaces,
            scope: RefCell::default(),
            reader: RefCell::default(),
            revisions: RefCell::default(),
        })
    }

    /// `get-limits`.
    #[wasm_bindgen(js_name = getLimits)]
    pub fn get_limits(&self) -> JsValue {
        convert::limits(LIMITS)
    }

    /// `open-keyspace`. A keyspace that the database lacks takes an upgrade.
    #[wasm_bindgen(js_name = openKeyspace)]
    pub async fn open_keyspace(&self, name: String, order: String) -> Thrown<u32> {
        self.keyspace(name, &order).await.map_err(|error| failure::thrown(&error))
    }

    /// `begin`.
    pub fn begin(&self, scope: &JsValue) -> Thrown<u64> {
        let scope = convert::scope(scope).map_err(|error| failure::thrown(&error))?;
        self.outside().map_err(|error| failure::thrown(&error))?;
        self.scope.replace(Some(scope));
        // What others have written since is for a new one to see.
        self.reader.take();
        Ok(self.revisions.borrow().epoch())
    }

    /// `get`; undefined where there is no record.
    pub async fn get(&self, keyspace: u32, key: Vec<u8>) -> Thrown<JsValue> {
        self.value(keyspace, &key).await.map_err(|error| failure::thrown(&error))
    }

    /// `get-many`.
    #[wasm_bindgen(js_name = getMany)]
    pub async fn get_many(&self, keyspaces: Vec<u32>, keys: JsValue) -> Thrown<JsValue> {
        self.values(&keyspaces, &keys).await.map_err(|error| failure::thrown(&error))
    }

    /// `scan`.
    pub async fn scan(&self, keyspace: u32, range: JsValue, direction: String, max_items: u32, max_bytes: u32) -> Thrown<JsValue> {
        let direction = if direction == "forward" { Direction::Forward } else { Direction::Reverse };
        let page = self.page(keyspace, &range, direction, PageLimit { max_items, max_bytes }).await;
        page.map_err(|error| failure::thrown(&error))
    }

    /// `revisions`.
    pub fn revisions(&self, keys: &JsValue) -> Thrown<Vec<u64>> {
        let keys = convert::pieces(keys).map_err(|error| failure::thrown(&error))?;
        let revisions = self.revisions.borrow();
        Ok(keys.iter().map(|key| revisions.revision(key)).collect())
    }

    /// `commit`. Resolved when the browser has written everything.
    pub async fn commit(&self, batch: Vec<u8>, changed: Vec<u32>) -> Thrown<()> {
        let outcome = match self.scope.take() {
            Some(scope) => self.write(&scope, batch, &changed).await,
            None => Err(no_transaction()),
        };
        outcome.map_err(|error| failure::thrown(&error))
    }

    /// `rollback`.
    pub fn rollback(&self) {
        self.scope.take();
    }

    /// The keyspaces that are open, the number of each being its position.
    #[wasm_bindgen(getter)]
    pub fn keyspaces(&self) -> Vec<String> {
        self.keyspaces.borrow().clone()
    }

    /// Closes the connection to the database.
    pub fn close(&self) {
        self.database.borrow().close();
    }
}

fn no_transaction() -> StoreError {
    StoreError::Io("no transaction is open".into())
}

fn unknown_keyspace(keyspace: u32) -> StoreError {
    StoreError::Io(format!("the keyspace {keyspace} is not open"))
}

impl IndexedDbStore {
    async fn keyspace(&self, name: String, order: &str) -> Result<u32, StoreError> {
        if order != "bytes" {
            let text = format!("IndexedDB compares binary keys byte by byte, and cannot order the keyspace {name} by {order}");
            return Err(StoreError::UnsupportedOrder(text));
        }
        self.outside()?;
        let number = |position: usize| u32::try_from(position).map_err(|_| StoreError::Io("too many keyspaces".into()));
        let before = self.keyspaces();
        if let Some(position) = before.iter().position(|opened| *opened == name) {
            return number(position);
        }
        let wanted: Vec<String> = before.iter().cloned().chain([name]).collect();
        // An upgrade waits until the connections of before are closed. Where it fails, the database is opened as it was.
        self.close();
        match opening::open(&self.name, &wanted).await {
            Ok(database) => {
                self.database.replace(database.into());
                self.keyspaces.replace(wanted);
                number(before.len())
            }
            Err(error) => {
                self.database.replace(opening::open(&self.name, &before).await?.into());
                Err(error)
            }
        }
    }

    /// Fails within a transaction.
    fn outside(&self) -> Result<(), StoreError> {
        if self.scope.borrow().is_some() { Err(StoreError::Io("a transaction is open".into())) } else { Ok(()) }
    }

    /// Fails outside of a transaction.
    fn within(&self) -> Result<(), StoreError> {
        if self.scope.borrow().is_some() { Ok(()) } else { Err(no_transaction()) }
    }

    async fn value(&self, keyspace: u32, key: &[u8]) -> Result<JsValue, StoreError> {
        self.within()?;
        let name = self.name_of(keyspace)?;
        self.read(async |transaction| {
            let request = reading::get(&object_store(transaction, &name)?, key)?;
            reading::last(transaction, &request).await
        })
        .await
    }

    async fn values(&self, keyspaces: &[u32], keys: &JsValue) -> Result<JsValue, StoreError> {
        self.within()?;
        let keys = convert::pieces(keys)?;
        if keys.len() != keyspaces.len() {
            return Err(StoreError::Io("there is not one keyspace for each key".into()));
        }
        if keys.is_empty() {
            return convert::found(&[]);
        }
        let stores = self.stores(keyspaces.iter().copied())?;
        self.read(async |transaction| {
            let opened = stores.open(transaction)?;
            let requests = keyspaces.iter().zip(&keys).map(|(&keyspace, key)| reading::get(opened.get(keyspace)?, key));
            let requests = requests.collect::<Result<Vec<_>, _>>()?;
            if let Some(request) = requests.last() {
                reading::last(transaction, request).await?;
            }
            let values = requests.iter().map(|request| request.result().map_err(|error| failure::browser("reading fails", &error)));
            convert::found(&values.collect::<Result<Vec<_>, _>>()?)
        })
        .await
    }

    async fn page(&self, keyspace: u32, range: &JsValue, direction: Direction, limit: PageLimit) -> Result<JsValue, StoreError> {
        self.within()?;
        let name = self.name_of(keyspace)?;
        let range = convert::range(range);
        self.read(async |transaction| {
            let store = object_store(transaction, &name)?;
            let page = reading::scan(transaction, &store, &range, direction, limit).await?;
            Ok(convert::page(&page))
        })
        .await
    }

    /// Reads in the transaction of the read before, or, where that has ended, in a new one.
    async fn read<T>(&self, work: impl AsyncFn(&IdbTransaction) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let kept = self.reader.borrow().clone();
        if let Some(transaction) = kept
            && let Ok(found) = work(&transaction).await
        {
            return Ok(found);
        }
        let keyspaces = self.keyspaces();
        let names: Vec<&str> = keyspaces.iter().map(String::as_str).collect();
        let transaction = self.transaction(&names, "readonly")?;
        self.reader.replace(Some(transaction.clone()));
        work(&transaction).await
    }

    async fn write(&self, scope: &Scope, batch: Vec<u8>, changed: &[u32]) -> Result<(), StoreError> {
        let batch = Batch::from_bytes(batch)?;
        if *scope == Scope::Read {
            return if batch.is_empty() { Ok(()) } else { Err(StoreError::ReadOnly) };
        }
        if batch.is_empty() {
            self.revisions.borrow_mut().committed(scope, changed);
            return Ok(());
        }
        let ops = batch.ops_within(LIMITS)?;
        let stores = self.stores(ops.iter().map(|op| op.keyspace().0))?;
        let transaction = self.transaction(&stores.names(), "readwrite")?;
        let opened = stores.open(&transaction)?;
        let issue = |op: &BatchOp<'_>| writing::apply(opened.get(op.keyspace().0)?, op);
        if let Err(error) = ops.iter().try_for_each(issue) {
            // What was issued before goes, too.
            let _ = transaction.abort();
            return Err(error);
        }
        writing::complete(&transaction).await?;
        self.revisions.borrow_mut().committed(scope, changed);
        Ok(())
    }

    fn name_of(&self, keyspace: u32) -> Result<String, StoreError> {
        let position = usize::try_from(keyspace).ok();
        position.and_then(|position| self.keyspaces.borrow().get(position).cloned()).ok_or_else(|| unknown_keyspace(keyspace))
    }

    fn transaction(&self, stores: &[&str], mode: &str) -> Result<IdbTransaction, StoreError> {
        let names: Array = stores.iter().map(|name| JsValue::from_str(wasm_bindgen::intern(name))).collect();
        let options = js_sys::Object::new();
        failure::set(&options, "durability", &JsValue::from_str(&self.durability));
        let database = self.database.borrow();
        let database = database.unchecked_ref::<DatabaseWithOptions>();
        database.transaction(&names, mode, &options).map_err(|error| failure::browser("the database cannot be used", &error))
    }

    fn stores(&self, keyspaces: impl Iterator<Item = u32>) -> Result<Stores, StoreError> {
        let mut stores = Stores(Vec::new());
        for keyspace in keyspaces {
            if !stores.0.iter().any(|(number, _)| *number == keyspace) {
                stores.0.push((keyspace, self.name_of(keyspace)?));
            }
        }
        Ok(stores)
    }
}

fn object_store(transaction: &IdbTransaction, name: &str) -> Result<ObjectStore, StoreError> {
    Transaction::from(transaction.clone()).object_store(name).map_err(|error| failure::idb("the database cannot be used", error))
}

/// The keyspaces that a transaction concerns, each once.
struct Stores(Vec<(u32, String)>);

impl Stores {
    fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(_, name)| name.as_str()).collect()
    }

    fn open(&self, transaction: &IdbTransaction) -> Result<Opened, StoreError> {
        let open = |(keyspace, name): &(u32, String)| Ok((*keyspace, object_store(transaction, name)?));
        self.0.iter().map(open).collect::<Result<_, _>>().map(Opened)
    }
}

/// Their object stores, within a transaction.
struct Opened(Vec<(u32, ObjectStore)>);

impl Opened {
    fn get(&self, keyspace: u32) -> Result<&ObjectStore, StoreError> {
        self.0.iter().find(|(number, _)| *number == keyspace).map(|(_, store)| store).ok_or_else(|| unknown_keyspace(keyspace))
    }
}
