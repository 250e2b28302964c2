//! What can go wrong in a store, by what a caller can do about it.

use std::fmt;

/// An error of a store. Each case says what the caller can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// Another transaction got in between. Nothing is written; run the transaction again.
    Conflict,
    /// The snapshot is too old to be read. Nothing is written; run the transaction again.
    Expired,
    /// A key, value or batch is above the store's limit. Nothing is written; running again does not help.
    TooLarge {
        /// What is too large, and how large: for people.
        what: String,
        /// The limit that it exceeds.
        limit: u64,
    },
    /// The batch may or may not have been written (a lost connection, a failed sync). A store that cannot tell its own state now
    /// refuses to write until it is reopened; one behind a network goes on.
    UnknownOutcome(String),
    /// The store cannot write at all.
    ReadOnly,
    /// The store cannot order keys as asked.
    UnsupportedOrder(String),
    /// The store found its own data damaged.
    Corrupt(String),
    /// Everything else: for people, not for programs.
    Io(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict => f.write_str("conflict with another transaction, try again"),
            Self::Expired => f.write_str("snapshot too old, try again"),
            Self::TooLarge { what, limit } => write!(f, "{what} is above the store's limit of {limit}"),
            Self::UnknownOutcome(text) => write!(f, "unknown outcome, the last write may or may not be stored: {text}"),
            Self::ReadOnly => f.write_str("the store is read-only"),
            Self::UnsupportedOrder(text) => write!(f, "unsupported order of keys: {text}"),
            Self::Corrupt(text) => write!(f, "the store is damaged: {text}"),
            Self::Io(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for StoreError {}
