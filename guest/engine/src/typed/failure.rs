//! Why operations fail, in cases that a program can tell apart.

use crate::error::{Error, texts};
use crate::store::StoreError;
use crate::types::{hashes, lists, sorted_sets};
use std::fmt;

/// Why an operation failed. It has had no effect, unless the case says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The key holds another type.
    WrongType,
    /// What is stored is no 64-bit integer.
    NotAnInteger,
    /// What is stored is no number; what is given is NaN.
    NotAFloat,
    /// The sum would not fit 64 bits, or be no finite number.
    Overflow,
    /// The key must exist.
    NoSuchKey,
    /// A position outside of the list; a number too large for what it counts.
    OutOfRange,
    /// Arguments that make no sense; the text is for people.
    Invalid(String),
    /// A value, or all changes together, are above a limit.
    TooLarge(String),
    /// The store cannot write.
    ReadOnly,
    /// Others changed the same keys again and again.
    Conflict,
    /// The changes may have been written, or not.
    UnknownOutcome(String),
    /// The store failed.
    Storage(String),
    /// A record, or the store, is damaged.
    Corrupt(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Client(_) => Self::of_client(&error),
            Error::Store(StoreError::Conflict | StoreError::Expired) | Error::OutOfVersions => Self::Conflict,
            Error::Store(StoreError::ReadOnly) => Self::ReadOnly,
            Error::Store(StoreError::UnknownOutcome(text)) => Self::UnknownOutcome(text),
            Error::Store(StoreError::Corrupt(text)) => Self::Corrupt(text),
            Error::Store(error @ StoreError::TooLarge { .. }) => Self::TooLarge(error.to_string()),
            Error::Store(error @ (StoreError::Io(_) | StoreError::UnsupportedOrder(_))) => Self::Storage(error.to_string()),
            Error::Corrupt(record) => Self::Corrupt(record.to_string()),
        }
    }
}

impl Failure {
    /// The mistakes that the types find are constants, each with one meaning.
    fn of_client(error: &Error) -> Self {
        let known = [
            (texts::WRONG_TYPE, Self::WrongType),
            (texts::NOT_AN_INTEGER, Self::NotAnInteger),
            (hashes::VALUE_NOT_AN_INTEGER, Self::NotAnInteger),
            (texts::NOT_A_FLOAT, Self::NotAFloat),
            (hashes::VALUE_NOT_A_FLOAT, Self::NotAFloat),
            (texts::OVERFLOW, Self::Overflow),
            (texts::NOT_FINITE, Self::Overflow),
            (sorted_sets::SUM_IS_NAN, Self::Overflow),
            (texts::NO_SUCH_KEY, Self::NoSuchKey),
            (texts::OUT_OF_RANGE, Self::OutOfRange),
            (lists::INDEX_OUT_OF_RANGE, Self::OutOfRange),
            (texts::STRING_TOO_LONG, Self::TooLarge(without_prefix(&texts::STRING_TOO_LONG))),
        ];
        let found = known.into_iter().find(|(known, _)| known == error);
        found.map_or_else(|| Self::Invalid(without_prefix(error)), |(_, failure)| failure)
    }
}

/// A text without the word that clients of the protocol tell errors apart by.
fn without_prefix(error: &Error) -> String {
    let text = error.to_string();
    text.strip_prefix("ERR ").unwrap_or(&text).to_owned()
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongType => f.write_str("the key holds another type"),
            Self::NotAnInteger => f.write_str("what is stored is no 64-bit integer"),
            Self::NotAFloat => f.write_str("not a number"),
            Self::Overflow => f.write_str("the sum does not fit"),
            Self::NoSuchKey => f.write_str("no such key"),
            Self::OutOfRange => f.write_str("out of range"),
            Self::ReadOnly => f.write_str("the store cannot write"),
            Self::Conflict => f.write_str("others changed the same keys again and again"),
            Self::UnknownOutcome(text) => write!(f, "the changes may have been written, or not: {text}"),
            Self::Invalid(text) | Self::TooLarge(text) | Self::Storage(text) | Self::Corrupt(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Failure {}

/// Why a list of operations had no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationError {
    /// The position of the operation that failed; `None`: what failed is the transaction.
    pub position: Option<usize>,
    /// Why.
    pub failure: Failure,
}

impl fmt::Display for OperationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some(position) => write!(f, "operation {position}: {}", self.failure),
            None => self.failure.fmt(f),
        }
    }
}

impl std::error::Error for OperationError {}
