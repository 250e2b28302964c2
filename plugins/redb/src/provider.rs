//! The component: the store in the folder that the host has opened.

use crate::RedbStore;
use crate::claim::LEASE;
use orbweaver_engine::store::{Store, StoreError};
use orbweaver_provider::Provider;
use std::env;
use std::path::PathBuf;
use std::time::Duration;
use wasip2::filesystem::preopens;

struct Redb;

impl Provider for Redb {
    fn open() -> Result<Box<dyn Store>, StoreError> {
        Ok(Box::new(RedbStore::open(&folder()?, lease()?)?))
    }
}

orbweaver_provider::export!(Redb);

/// `ORBWEAVER_DIR`, or else the first folder that the host has opened for the component.
fn folder() -> Result<PathBuf, StoreError> {
    let first = || preopens::get_directories().into_iter().next().map(|(_, name)| PathBuf::from(name));
    let missing = || StoreError::Io("the component has no folder for its data: open one for it (wasmtime run --dir FOLDER)".into());
    env::var_os("ORBWEAVER_DIR").map(PathBuf::from).or_else(first).ok_or_else(missing)
}

/// `ORBWEAVER_LEASE_SECONDS`, or else [`LEASE`].
fn lease() -> Result<Duration, StoreError> {
    let Some(text) = env::var_os("ORBWEAVER_LEASE_SECONDS") else { return Ok(LEASE) };
    let seconds = text.to_str().and_then(|text| text.parse().ok()).filter(|seconds| (1..=3600).contains(seconds));
    let seconds = seconds.ok_or_else(|| StoreError::Io("ORBWEAVER_LEASE_SECONDS must be a number from 1 to 3600".into()))?;
    Ok(Duration::from_secs(seconds))
}
