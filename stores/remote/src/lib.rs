//! What stores behind a network share.
//!
//! * [`block_on`]: the clients of the stores are asynchronous, the contract is not.
//! * [`Backoff`]: attempts that collided are made again, later and later, a bounded number of times.
//! * [`Contention`]: what a handle does about conflicts; with [`Turns`], transactions of one process that collided do so once.
//! * [`Meter`]: every request that waits for an answer is counted.
//! * [`Keys`], [`read_page`] and [`Stripes`]: records and lock keys in a store that has but one space of keys.
//! * [`StoreUrl`]: where the servers are, and how to speak to them.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod backoff;
mod contention;
mod keys;
mod meter;
mod pages;
mod runtime;
mod stripes;
mod turns;
mod url;

pub use backoff::{Backoff, BackoffPolicy};
pub use contention::Contention;
pub use keys::{Keys, decode_keyspace, encode_keyspace};
pub use meter::{Meter, RoundTrips};
pub use pages::{Found, read_page};
pub use runtime::block_on;
pub use stripes::Stripes;
pub use turns::{Turn, Turns};
pub use url::{Host, StoreUrl};
