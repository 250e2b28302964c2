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
//! Stores that serve several processes are tested by [`contend`], too. The suite is tested itself, by [`broken`] stores with [`flaws`].
//!
//! Nothing here panics; a store that deadlocks, though, hangs the run. Transactions of one test overlap on several threads, so
//! that stores that block in `begin` and stores that refuse in `commit` pass alike.

pub mod broken;
mod contention;
mod durability;
mod errors;
mod fixture;
pub mod flaws;
mod isolation;
mod numbers;
pub(crate) mod orders;
mod paging;
mod reading;
mod revisions;
mod writing;

pub use contention::{Outcome, Part, contend};

use super::{Order, Store, StoreError};
use contention::Contest;
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

/// What a test needs beside handles that are used in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// Handles that are used at the same time, on several threads.
    Threads,
    /// Handles that are used at the same time, on threads or, with [`contend`], in several processes or instances.
    Company,
    /// That the store is closed and opened again.
    Reopening,
    /// That the store is called as the trait: `orbweaver:kv` has no numbers of pages, which cross beside its calls.
    Numbers,
}

/// How a test is run.
#[derive(Clone, Copy)]
enum Body {
    Alone(fn(&mut dyn Subject) -> fixture::Check),
    Together(Contest),
}

/// One obligation of the contract.
#[derive(Clone, Copy)]
pub struct Test {
    /// The obligation in one sentence.
    pub name: &'static str,
    /// What the test needs.
    pub needs: Needs,
    body: Body,
}

impl Test {
    /// Runs the test on a store of its own.
    ///
    /// # Errors
    /// How the store failed it.
    pub fn run(&self, fresh: Fresh<'_>) -> Result<(), Failure> {
        let outcome = fresh().map_err(fixture::Problem::from).and_then(|mut subject| match &self.body {
            Body::Alone(check) => check(subject.as_mut()),
            Body::Together(contest) => contest.on_threads(subject.as_ref()),
        });
        outcome.map_err(|problem| self.failed(&problem))
    }

    fn failed(&self, problem: &fixture::Problem) -> Failure {
        Failure { test: self.name, what: problem.to_string() }
    }
}

const fn simple(name: &'static str, check: fn(&mut dyn Subject) -> fixture::Check) -> Test {
    Test { name, needs: Needs::Nothing, body: Body::Alone(check) }
}

const fn threads(name: &'static str, check: fn(&mut dyn Subject) -> fixture::Check) -> Test {
    Test { name, needs: Needs::Threads, body: Body::Alone(check) }
}

const fn together(name: &'static str, contest: Contest) -> Test {
    Test { name, needs: Needs::Company, body: Body::Together(contest) }
}

const fn reopening(name: &'static str, check: fn(&mut dyn Subject) -> fixture::Check) -> Test {
    Test { name, needs: Needs::Reopening, body: Body::Alone(check) }
}

const fn numbered(name: &'static str, check: fn(&mut dyn Subject) -> fixture::Check) -> Test {
    Test { name, needs: Needs::Numbers, body: Body::Alone(check) }
}

/// Every test, the simple ones first: the first failure is the one to look at.
pub const TESTS: &[Test] = &[
    simple("a commit is seen by every handle", writing::a_commit_is_seen),
    simple("get tells empty values from absent keys", reading::get),
    simple("get_many answers in the order of its keys", reading::get_many),
    simple("keyspaces are separate", reading::keyspaces_are_separate),
    simple("scans walk in byte order", reading::order),
    simple("scans walk backwards", reading::reverse_order),
    simple("scans keep within their range", reading::ranges),
    simple("scans backwards keep within their range", reading::reverse_ranges),
    simple("a keyspace keeps the order that it was opened with", orders::kept),
    simple("pages add up to the whole range", paging::forward),
    simple("pages backwards add up to the whole range", paging::reverse),
    simple("a page holds at least one record", paging::at_least_one_record),
    numbered("a page that is known is the answer until a change is told", numbers::keeping),
    simple("a rollback leaves nothing", writing::a_rollback_leaves_nothing),
    simple("a range delete removes its range", writing::delete_range),
    simple("a put survives the range delete before it", writing::put_after_delete_range),
    together("a batch is seen whole or not at all", writing::ATOMICITY),
    simple("what is too large changes nothing", errors::too_large),
    simple("an empty key is kept or refused", errors::empty_key),
    simple("an unknown keyspace is refused", errors::unknown_keyspace),
    simple("reads and commits need a transaction", errors::no_transaction),
    simple("a handle has one transaction", errors::second_begin),
    simple("a transaction that reads does not write", errors::read_scope),
    threads("a transaction sees one state", isolation::one_state),
    together("colliding transactions lose no update", isolation::COLLIDING),
    together("transactions on several keys lose no update", isolation::SEVERAL_KEYS),
    together("transactions on other keys all succeed", isolation::DISJOINT),
    together("an exclusive transaction runs alone", isolation::EXCLUSIVE),
    simple("the epoch changes with exclusive commits", revisions::epoch),
    simple("the epoch stays without exclusive commits", revisions::epoch_stays),
    simple("a revision changes with its key", revisions::changes),
    simple("a revision stays without a change of its key", revisions::stays),
    reopening("what is committed outlives the store", durability::committed),
    reopening("what is rolled back stays away", durability::rolled_back),
];

/// Leaves records that [`AFTER_REOPENING`] looks for: for those who cannot reopen a store within their process.
pub const BEFORE_REOPENING: Test = reopening("records are left behind", durability::leave);

/// Finds exactly what [`BEFORE_REOPENING`] left in the same store, which has been opened again since.
pub const AFTER_REOPENING: Test = reopening("what is committed outlives the process", durability::find);

/// The keyspaces that the tests write to: for those who give every test the same store, and empty it before. A store may refuse
/// those of foreign orders.
pub fn keyspaces() -> impl Iterator<Item = (String, Order)> {
    let own = fixture::KEYSPACES.into_iter().map(|name| (name.to_owned(), Order::Bytes));
    own.chain(orders::keyspaces())
}

/// Runs every test, each on a store of its own, and returns those that failed.
#[must_use]
pub fn run(fresh: Fresh<'_>) -> Vec<Failure> {
    TESTS.iter().filter_map(|test| test.run(fresh).err()).collect()
}
