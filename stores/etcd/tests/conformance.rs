//! The store contract's own suite, on three nodes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use common::{cluster, fresh_url};
use orbweaver_engine::store::conformance::{self, Part, Subject, contend};
use orbweaver_engine::store::{Store, StoreError};
use orbweaver_etcd::EtcdStore;

struct OnEtcd {
    store: EtcdStore,
    url: String,
}

impl OnEtcd {
    fn new(url: String) -> Result<Self, StoreError> {
        Ok(Self { store: EtcdStore::open(&url)?, url })
    }
}

impl Subject for OnEtcd {
    fn handle(&self) -> Result<Box<dyn Store + Send>, StoreError> {
        Ok(Box::new(self.store.handle()))
    }

    fn reopen(&mut self) -> Result<bool, StoreError> {
        self.store = EtcdStore::open(&self.url)?;
        Ok(true)
    }
}

#[test]
fn the_suite_passes() {
    let cluster = cluster();
    let failures = conformance::run(&|| Ok(Box::new(OnEtcd::new(fresh_url(&cluster))?)));
    assert!(failures.is_empty(), "{failures:#?}");
}

/// A store that was opened by itself shares nothing with the others but what is in etcd: it stands for a process.
#[test]
fn several_processes_pass() {
    const PROCESSES: u64 = 3;
    let cluster = cluster();
    let url = fresh_url(&cluster);
    std::thread::scope(|threads| {
        let process = |number| {
            let url = url.clone();
            threads.spawn(move || contend(&OnEtcd::new(url).unwrap(), Part { number, of: PROCESSES }).unwrap())
        };
        let running: Vec<_> = (0..PROCESSES).map(process).collect();
        for running in running {
            for (name, outcome) in running.join().unwrap() {
                assert_eq!(outcome, Ok(()), "{name}");
            }
        }
    });
}
