//! The conformance suite on a real server, on threads and as if in several processes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use orbweaver_engine::store::conformance::{self, Part, Subject};
use orbweaver_engine::store::{Store, StoreError};
use orbweaver_postgres::PostgresStore;
use orbweaver_servers::PostgresServer;
use std::sync::atomic::{AtomicU32, Ordering};

/// A store in a schema of its own.
struct InSchema {
    url: String,
    /// `None` only while it is opened again.
    store: Option<PostgresStore>,
}

impl InSchema {
    fn open(url: String) -> Result<Self, StoreError> {
        let store = Some(PostgresStore::open(&url)?);
        Ok(Self { url, store })
    }
}

impl Subject for InSchema {
    fn handle(&self) -> Result<Box<dyn Store + Send>, StoreError> {
        Ok(Box::new(self.store.as_ref().unwrap().handle()))
    }

    fn reopen(&mut self) -> Result<bool, StoreError> {
        self.store = None;
        self.store = Some(PostgresStore::open(&self.url)?);
        Ok(true)
    }
}

#[test]
fn a_store_keeps_the_contract() {
    let server = PostgresServer::start(&["fsync=off"]).unwrap();
    let schemas = AtomicU32::new(0);
    let failures = conformance::run(&|| {
        let number = schemas.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(InSchema::open(server.url(&format!("sslmode=disable&schema=test{number}")))?))
    });
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Each participant has a store of its own, which shares nothing with the others but the tables.
#[test]
fn stores_of_several_processes_keep_the_contract_together() {
    const PARTICIPANTS: u64 = 3;
    let server = PostgresServer::start(&["fsync=off"]).unwrap();
    let url = server.url("sslmode=disable");
    std::thread::scope(|scope| {
        for number in 0..PARTICIPANTS {
            let url = url.clone();
            scope.spawn(move || {
                let subject = InSchema::open(url).unwrap();
                for (test, outcome) in conformance::contend(&subject, Part { number, of: PARTICIPANTS }).unwrap() {
                    assert_eq!(outcome, Ok(()), "{test}");
                }
            });
        }
    });
}
