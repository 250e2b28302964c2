//! A cluster of etcd that the tests of a file share, each with keys of its own.
#![allow(dead_code, reason = "every test file uses a part of it")]

use bytes::Bytes;
use orbweaver_engine::store::{Batch, Keyspace, Order, Scope, Store, StoreError};
use orbweaver_etcd::{EtcdHandle, EtcdStore};
use orbweaver_servers::EtcdCluster;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

static CLUSTER: Mutex<Weak<EtcdCluster>> = Mutex::new(Weak::new());
static PREFIXES: AtomicU64 = AtomicU64::new(0);

/// Three nodes: those that another test runs on, or new ones. They end with the last test that holds them.
pub fn cluster() -> Arc<EtcdCluster> {
    let mut shared = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let cluster = Arc::new(EtcdCluster::start(&[]).unwrap());
        *shared = Arc::downgrade(&cluster);
        cluster
    })
}

/// A URL of keys that nobody else has.
pub fn fresh_url(cluster: &EtcdCluster) -> String {
    cluster.url(&format!("test{}", PREFIXES.fetch_add(1, Ordering::Relaxed)))
}

/// A store of keys that nobody else has.
pub fn fresh_store(cluster: &EtcdCluster) -> EtcdStore {
    EtcdStore::open(&fresh_url(cluster)).unwrap()
}

/// A handle with a keyspace.
pub fn open(store: &EtcdStore) -> (EtcdHandle, Keyspace) {
    let mut handle = store.handle();
    let keyspace = handle.open_keyspace("data", Order::Bytes).unwrap();
    (handle, keyspace)
}

/// The scope of one lock key.
pub fn scope(key: &[u8]) -> Scope {
    Scope::Keys(vec![Bytes::copy_from_slice(key)])
}

/// Commits one put in a transaction on the lock key of that name.
pub fn put(handle: &mut EtcdHandle, keyspace: Keyspace, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
    let mut batch = Batch::new();
    batch.put(keyspace, key, value)?;
    handle.begin(&scope(key))?;
    handle.commit(&batch, &[0])
}

/// The value of a key, in a transaction of its own.
pub fn get(handle: &mut EtcdHandle, keyspace: Keyspace, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
    handle.begin(&Scope::Read)?;
    let value = handle.get(keyspace, key);
    handle.rollback();
    value
}
