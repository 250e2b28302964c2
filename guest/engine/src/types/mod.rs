//! Data structures: what commands do, with plain arguments and results.
//!
//! A type works on a [`crate::db::Db`]; it knows no replies and no bytes of records.

pub mod lcs;
pub mod strings;
