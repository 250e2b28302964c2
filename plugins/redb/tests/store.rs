//! The store under the contract's test-suite.
#![allow(clippy::unwrap_used, missing_docs)]

use orbweaver_engine::store::conformance::{self, Subject};
use orbweaver_engine::store::{Store, StoreError};
use orbweaver_redb::RedbStore;
use orbweaver_redb::claim::LEASE;
use tempfile::TempDir;

struct InFolder {
    store: Option<RedbStore>,
    folder: TempDir,
}

impl InFolder {
    fn new() -> Result<Self, StoreError> {
        let mut subject = Self { store: None, folder: tempfile::tempdir().unwrap() };
        subject.reopen()?;
        Ok(subject)
    }
}

impl Subject for InFolder {
    fn handle(&self) -> Result<Box<dyn Store + Send>, StoreError> {
        Ok(Box::new(self.store.clone().unwrap()))
    }

    fn reopen(&mut self) -> Result<bool, StoreError> {
        self.store = None;
        self.store = Some(RedbStore::open(self.folder.path(), LEASE)?);
        Ok(true)
    }
}

#[test]
fn the_store_passes_the_test_suite_of_the_contract() {
    let failures = conformance::run(&|| Ok(Box::new(InFolder::new()?)));
    assert!(failures.is_empty(), "{failures:#?}");
}
