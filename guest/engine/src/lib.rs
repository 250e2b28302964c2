//! Orbweaver's engine: Redis data structures over any ordered key-value store.
//!
//! No I/O, no clock, no threads, no unsafe: a [`store::Store`] and an [`environment::Environment`] come from outside, bytes of Redis'
//! protocol go in and come out. It is what the WebAssembly component consists of, and it builds natively as well.
//!
//! ```
//! use orbweaver_engine::environment::SystemEnvironment;
//! use orbweaver_engine::session::{Delivery, Engine};
//! use orbweaver_engine::settings::Settings;
//! use orbweaver_engine::store::MemoryStore;
//!
//! // A store in memory; anything else that is a `Store` does as well.
//! let store = MemoryStore::new();
//! let mut engine = Engine::open(Box::new(store.clone()), Box::new(SystemEnvironment::default()), Settings::default())?;
//! engine.connect(1, "example", None);
//!
//! // What a client sends, in one piece or many; everything in one call shares one commit.
//! let input = "HSET user:1 name Ada\r\nHGET user:1 name\r\n".into();
//! let outcome = engine.exchange(&[Delivery { connection: 1, input }]);
//! assert_eq!(outcome.answers[0].output, b":1\r\n$3\r\nAda\r\n");
//!
//! // Another engine on the same store finds it.
//! let mut other = Engine::open(Box::new(store), Box::new(SystemEnvironment::default()), Settings::default())?;
//! other.connect(1, "example", None);
//! let outcome = other.exchange(&[Delivery { connection: 1, input: "EXISTS user:1\r\n".into() }]);
//! assert_eq!(outcome.answers[0].output, b":1\r\n");
//! # Ok::<(), orbweaver_engine::error::Error>(())
//! ```
//!
//! `docs/architecture.md` walks one command through the modules.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod arena;
pub mod codec;
pub mod command;
pub mod db;
mod distinct;
pub mod environment;
pub mod error;
pub mod events;
mod few;
pub mod glob;
pub mod key_count;
pub mod last_found;
pub mod layout;
pub mod maintenance;
pub mod number;
pub mod packed;
pub mod rdb;
pub mod resp;
pub mod scan;
pub mod session;
pub mod settings;
pub mod store;
pub mod transaction;
pub mod typed;
pub mod types;
