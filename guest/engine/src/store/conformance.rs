//! The store contract as tests: what every [`Store`] has to pass before the engine may trust it with data.
//!
//! A host's test provides a [`Subject`] and asserts that [`run`] reports nothing:
//! ```
//! use orbweaver_engine::store::conformance::{self, Subject};
//! use orbweaver_engine::store::{MemoryStore, Store, StoreError};
//!
//! struct InMemory(MemoryStore);
//!
//! impl Subject for InMemory {
//!     fn handle(&self) -> Result<Box<dyn Store + Send>, StoreError> {
//!         Ok(Box::new(self.0.clone()))
//!     }
//! }
//!
//! let failures = conformance::run(&|| Ok(Box::new(InMemory(MemoryStore::new()))));
//! assert!(failures.is_empty(), "{failures:#?}");
//! ```
//! Nothing here panics; a store that deadlocks, though, hangs the run. Transactions of one test overlap on several threads, so
//! that stores that block in `begin` and stores that refuse in `commit` pass alike.

mod durability;
mod errors;
mod fixture;
mod isolation;
pub(crate) mod orders;
mod paging;
mod reading;
mod revisions;
mod writing;

use super::{Store, StoreError};
use std::fmt;

/// A store under test.
pub trait Subject: Sync {
    /// A further handle on the store.
    ///
    /// # Errors
    /// Whatever the store reports; the test that asked fails with it.
    fn handle(&self) -> Result<Box<dyn Store + Send>, StoreError>;

    /// Closes the store, whose handles are all dropped, and opens it again with what it holds. False where the store ends with
    /// its process, which skips the tests of durability.
    ///
    /// # Errors
    /// As [`Subject::handle`].
    fn reopen(&mut self) -> Result<bool, StoreError> {
        Ok(false)
    }
}

/// How a test gets its store: empty, and nobody else's.
pub type Fresh<'a> = &'a dyn Fn() -> Result<Box<dyn Subject>, StoreError>;

/// A test that a store did not pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The name of the test.
    pub test: &'static str,
    /// What the store did, and what it should have done.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.test, self.what)
    }
}

/// One obligation of the contract.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    /// The obligation in one sentence.
    pub name: &'static str,
    check: fn(&mut dyn Subject) -> fixture::Check,
}

impl Test {
    /// Runs the test on a store of its own.
    ///
    /// # Errors
    /// How the store failed it.
    pub fn run(&self, fresh: Fresh<'_>) -> Result<(), Failure> {
        let outcome = fresh().map_err(fixture::Problem::from).and_then(|mut subject| (self.check)(subject.as_mut()));
        outcome.map_err(|problem| Failure { test: self.name, what: problem.to_string() })
    }
}

/// Every test, the simple ones first: the first failure is the one to look at.
pub const TESTS: &[Test] = &[
    Test { name: "a commit is seen by every handle", check: writing::a_commit_is_seen },
    Test { name: "get tells empty values from absent keys", check: reading::get },
    Test { name: "get_many answers in the order of its keys", check: reading::get_many },
    Test { name: "keyspaces are separate", check: reading::keyspaces_are_separate },
    Test { name: "scans walk in byte order", check: reading::order },
    Test { name: "scans walk backwards", check: reading::reverse_order },
    Test { name: "scans keep within their range", check: reading::ranges },
    Test { name: "scans backwards keep within their range", check: reading::reverse_ranges },
    Test { name: "a keyspace keeps the order that it was opened with", check: orders::kept },
    Test { name: "pages add up to the whole range", check: paging::forward },
    Test { name: "pages backwards add up to the whole range", check: paging::reverse },
    Test { name: "a page holds at least one record", check: paging::at_least_one_record },
    Test { name: "a rollback leaves nothing", check: writing::a_rollback_leaves_nothing },
    Test { name: "a range delete removes its range", check: writing::delete_range },
    Test { name: "a put survives the range delete before it", check: writing::put_after_delete_range },
    Test { name: "a batch is seen whole or not at all", check: writing::atomicity },
    Test { name: "what is too large changes nothing", check: errors::too_large },
    Test { name: "an empty key is refused", check: errors::empty_key },
    Test { name: "an unknown keyspace is refused", check: errors::unknown_keyspace },
    Test { name: "reads and commits need a transaction", check: errors::no_transaction },
    Test { name: "a handle has one transaction", check: errors::second_begin },
    Test { name: "a transaction that reads does not write", check: errors::read_scope },
    Test { name: "a transaction sees one state", check: isolation::one_state },
    Test { name: "colliding transactions lose no update", check: isolation::colliding },
    Test { name: "transactions on several keys lose no update", check: isolation::several_keys },
    Test { name: "transactions on other keys all succeed", check: isolation::disjoint },
    Test { name: "an exclusive transaction runs alone", check: isolation::exclusive },
    Test { name: "the epoch changes with exclusive commits", check: revisions::epoch },
    Test { name: "the epoch stays without exclusive commits", check: revisions::epoch_stays },
    Test { name: "a revision changes with its key", check: revisions::changes },
    Test { name: "a revision stays without a change of its key", check: revisions::stays },
    Test { name: "what is committed outlives the store", check: durability::committed },
    Test { name: "what is rolled back stays away", check: durability::rolled_back },
];

/// Runs every test, each on a store of its own, and returns those that failed.
#[must_use]
pub fn run(fresh: Fresh<'_>) -> Vec<Failure> {
    TESTS.iter().filter_map(|test| test.run(fresh).err()).collect()
}
