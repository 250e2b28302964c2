//! Numbers as Redis reads and writes them.
//!
//! Clients see every rule in here: which texts are numbers, and which digits come back. Nothing depends on the
//! machine's floating point unit, so native and WebAssembly builds answer alike.

mod binary;
mod double;
mod grisu;
mod integer;
mod literal;
mod long_double;

pub use double::{format_double, lend_double, parse_double};
pub use integer::{format_i64, parse_i64, parse_u64};
pub use long_double::LongDouble;
