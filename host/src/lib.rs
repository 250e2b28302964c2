//! Orbweaver's host: the component under wasmtime, over RocksDB or memory, and a server that puts it on a socket.

pub mod runtime;
pub mod server;
pub mod stores;
