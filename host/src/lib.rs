//! Orbweaver's host: the component under wasmtime, over RocksDB or memory.

pub mod runtime;
pub mod stores;
