//! What stores behind a network share.
//!
//! * [`block_on`]: the clients of the stores are asynchronous, the contract is not.
//! * [`Backoff`]: attempts that collided are made again, later and later, a bounded number of times.
//! * [`Turns`]: transactions of one process that collided do so once.
//! * [`Meter`]: every request that waits for an answer is counted.
//! * [`StoreUrl`]: where the servers are, and how to speak to them.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod backoff;
mod meter;
mod runtime;
mod turns;
mod url;

pub use backoff::{Backoff, BackoffPolicy};
pub use meter::{Meter, RoundTrips};
pub use runtime::block_on;
pub use turns::{Turn, Turns};
pub use url::{Host, StoreUrl};
