//! What the tests of the built command share: servers as child processes, a blocking client, a generator of random command
//! sequences, the comparison of replies between two servers, and command scripts with expected replies.
//!
//! This crate needs neither RocksDB nor wasmtime. The server under test is the `orbweaver` command beside the test executables.
//!
//! The differential test, from bottom to top: [`generator`] makes a sequence of [`sequence::Step`]s from a seed,
//! [`sequence::run`] has a [`target::Target`] execute it, [`compare`] says which replies differ, [`known_differences`] which of
//! these are wanted, and [`differential`] drives it all and shrinks what fails.
//!
//! The foreign layouts: [`readers`] make [`logical`] contents from raw records, those of the databases in [`fixtures`] and those that
//! [`golden`] scripts must leave. [`layouts`] is what the differential test needs to know of them.

pub mod client;
pub mod compare;
pub mod differential;
pub mod engine_target;
pub mod fixtures;
pub mod foreign;
pub mod generator;
pub mod golden;
pub mod known_differences;
pub mod layouts;
pub mod logical;
pub mod model;
pub mod offline;
pub mod orbweaver_server;
pub mod process;
pub mod readers;
pub mod redis_server;
pub mod script;
pub mod sequence;
pub mod shared_store;
pub mod shared_writer;
pub mod target;
pub mod tools;
pub mod writer;
