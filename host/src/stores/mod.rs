//! The host's stores: implementations of [`orbweaver_engine::store::Store`] beside the engine's own store in memory.

mod background;
mod locks;
pub mod remote;
mod revisions;
pub mod rocksdb;
