//! Typed operations: what the typed interfaces in `wit/engine` call, one at a time or many in one transaction.
//!
//! An [`Operation`] says which keys it touches and runs on the functions of [`crate::types`], as the commands do; no protocol is
//! involved. [`Engine::perform`] gives a list of them to the runner of the commands, as one job: all of them take effect, or none.

pub mod hashes;
pub mod keys;
pub mod lists;
pub mod sets;
pub mod sorted_sets;
pub mod strings;

mod failure;
mod outcome;

pub use failure::{Failure, OperationError};
pub use outcome::{Blobs, KeyExpiry, Members, OptionalBlobs, Outcome, Page, ScoredPage, UnexpectedOutcome};

use crate::db::Db;
use crate::error::{Result, texts};
use crate::layout::KeyAt;
use crate::scan::Positions;
use crate::session::Engine;
use bytes::Bytes;

/// What an operation does to the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It reads.
    Read,
    /// It may change the keys that it names.
    Write,
    /// It may change keys that it does not name: no other transaction that writes runs beside it.
    Exclusive,
}

/// What all operations have in common.
trait Perform {
    /// What it does to the data.
    fn access(&self) -> Access;

    /// The keys that it changes or bases a change on, and those that it reads.
    fn keys(&self) -> Vec<&Bytes>;

    /// Runs it. It may run more than once (after a conflict), so it changes nothing but the transaction.
    fn perform(&self, db: &mut Db, positions: &mut Positions) -> Result<Outcome>;
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident($operation:ty),)*) => {
        /// One operation on one data structure, or on keys of any type.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Operation {
            $($(#[$doc])* $name($operation),)*
        }

        impl Operation {
            fn of_its_type(&self) -> &dyn Perform {
                match self {
                    $(Self::$name(operation) => operation,)*
                }
            }
        }

        $(impl From<$operation> for Operation {
            fn from(operation: $operation) -> Self {
                Self::$name(operation)
            }
        })*
    };
}

operations! {
    /// On a string, or several.
    String(strings::Operation),
    /// On a hash.
    Hash(hashes::Operation),
    /// On a list, or two.
    List(lists::Operation),
    /// On a set, or several.
    Set(sets::Operation),
    /// On a sorted set, or several.
    SortedSet(sorted_sets::Operation),
    /// On keys of any type.
    Key(keys::Operation),
}

impl Operation {
    /// What it does to the data.
    #[must_use]
    pub fn access(&self) -> Access {
        self.of_its_type().access()
    }

    /// The keys that a transaction for it must declare.
    #[must_use]
    pub fn keys(&self) -> Vec<&Bytes> {
        self.of_its_type().keys()
    }

    /// Runs it within a transaction that has declared its keys.
    ///
    /// # Errors
    /// What the functions of [`crate::types`] return.
    pub(crate) fn perform(&self, db: &mut Db, positions: &mut Positions) -> Result<Outcome> {
        self.of_its_type().perform(db, positions)
    }
}

/// Operations on one db that take effect together, or not at all.
#[derive(Clone, Debug, PartialEq)]
pub struct Operations {
    /// The db's number.
    pub db: usize,
    /// The operations, in their order; each sees what those before it have done.
    pub list: Vec<Operation>,
}

impl Operations {
    /// Whether one of them needs this access.
    #[must_use]
    pub(crate) fn has(&self, access: Access) -> bool {
        self.list.iter().any(|operation| operation.access() == access)
    }

    /// The keys that they name.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Bytes> {
        self.list.iter().flat_map(Operation::keys)
    }
}

impl Engine {
    /// Runs operations on a db in one transaction, in their order: an outcome for each, or the first failure and no effect at all.
    /// Runs again after conflicts, as groups of commands do.
    ///
    /// # Errors
    /// An operation's failure with its position; a failure of the whole transaction without one.
    pub fn perform(&mut self, db: usize, list: Vec<Operation>) -> std::result::Result<Vec<Outcome>, OperationError> {
        self.run_operations(Operations { db, list })
    }

    /// As [`Engine::perform`], for one operation. Each case of its outcome is turned into what it holds by `try_into`.
    ///
    /// # Errors
    /// The operation's failure, or the transaction's.
    pub fn perform_one(&mut self, db: usize, operation: impl Into<Operation>) -> std::result::Result<Outcome, Failure> {
        let outcomes = self.perform(db, vec![operation.into()]).map_err(|error| error.failure)?;
        // There is one for each operation.
        Ok(outcomes.into_iter().next().unwrap_or(Outcome::Done(())))
    }
}

/// The places of several keys.
fn places(db: &Db, keys: &[Bytes]) -> Result<Vec<KeyAt>> {
    keys.iter().map(|key| db.own_at(key)).collect()
}

/// A number as the text that Redis' floating point commands read.
fn text(number: f64) -> String {
    format!("{number:e}")
}

/// The number in a text that one of those commands has stored.
fn number(text: &[u8]) -> Result<f64> {
    crate::number::parse_double(text).ok_or(texts::NOT_A_FLOAT)
}

/// Refuses what is no number: no score is, and no bound of a range.
fn not_nan(numbers: impl IntoIterator<Item = f64>) -> Result<()> {
    if numbers.into_iter().any(f64::is_nan) { Err(texts::NOT_A_FLOAT) } else { Ok(()) }
}
