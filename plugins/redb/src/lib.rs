//! A store in a file of [redb](https://docs.rs/redb), in a folder that the host opens for the component.
//!
//! WASI has no file locks, so the folder is guarded by [`claim`]s.

pub mod claim;
mod files;
#[cfg(target_os = "wasi")]
mod provider;
mod store;

pub use store::RedbStore;
