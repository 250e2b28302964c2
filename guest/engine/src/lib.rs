//! Orbweaver's engine: Redis data structures over any ordered key-value store.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod codec;
pub mod command;
pub mod db;
pub mod environment;
pub mod error;
pub mod glob;
pub mod layout;
pub mod maintenance;
pub mod number;
pub mod resp;
pub mod scan;
pub mod session;
pub mod settings;
pub mod store;
pub mod transaction;
pub mod types;
