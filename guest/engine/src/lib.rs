//! Orbweaver's engine: Redis data structures over any ordered key-value store.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

pub mod glob;
pub mod number;
pub mod store;
pub mod transaction;
