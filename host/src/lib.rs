//! Orbweaver's host: the component under wasmtime, over RocksDB or memory, and a server that puts it on a socket.
//!
//! Redis' data structures on disk within a Rust service, sandboxed:
//!
//! ```
//! use orbweaver::runtime::{Component, Orbweaver};
//! use orbweaver::stores::rocksdb::{Durability, RocksOptions, RocksStore};
//! use orbweaver_engine::resp::decode::Value;
//! use std::time::Duration;
//!
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path();
//! let options = RocksOptions { durability: Durability::Always, ..RocksOptions::default() };
//! let store = RocksStore::open(path, options)?;
//!
//! // Loading is quick (the component was compiled when this crate was); instances are cheap.
//! let component = Component::load()?;
//! let mut db = Orbweaver::builder()
//!     .memory_limit(256 << 20)
//!     .deadline(Duration::from_secs(5))
//!     .open(&component, Box::new(store.handle()))?;
//!
//! assert_eq!(db.command(&[b"HSET", b"user:1", b"name", b"Ada"])?, Value::Integer(1));
//! assert_eq!(db.command(&[b"HGET", b"user:1", b"name"])?, Value::Bulk("Ada".into()));
//! // What a client may not do is a reply; a call fails only where the store or the instance is lost.
//! assert!(matches!(db.command(&[b"INCR", b"user:1"])?, Value::Error(_)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A store of your own is a type that implements [`orbweaver_engine::store::Store`]; the suite
//! [`orbweaver_engine::store::conformance`] tells whether it keeps the contract.

pub mod runtime;
pub mod server;
pub mod stores;
