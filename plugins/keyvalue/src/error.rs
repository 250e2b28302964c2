//! The errors of `wasi:keyvalue`.

use crate::bindings::orbweaver::engine::types;

/// An error, alike in both drafts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The identifier cannot be one of a bucket.
    NoSuchStore,
    /// The store is read-only, and the call writes.
    AccessDenied,
    /// Anything else, for people.
    Other(String),
}

/// The result of a call.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// What no case of the drafts says.
    pub fn other(text: impl Into<String>) -> Self {
        Self::Other(text.into())
    }
}

impl From<types::Error> for Error {
    fn from(error: types::Error) -> Self {
        match error {
            types::Error::ReadOnly => Self::AccessDenied,
            types::Error::WrongType => Self::other("the key holds another type than a string"),
            types::Error::NotAnInteger => Self::other("the value is not a 64-bit integer in decimal digits"),
            types::Error::NotAFloat => Self::other("the value is not a number"),
            types::Error::Overflow => Self::other("the sum does not fit 64 bits"),
            types::Error::NoSuchKey => Self::other("there is no such key"),
            types::Error::OutOfRange => Self::other("out of range"),
            types::Error::Conflict => Self::other("others changed the same keys again and again: try again later"),
            types::Error::Invalid(text) => Self::Other(text),
            types::Error::TooLarge(text) => Self::Other(format!("too large: {text}")),
            types::Error::UnknownOutcome(text) => Self::Other(format!("the changes may have been written, or not: {text}")),
            types::Error::Storage(text) => Self::Other(format!("the store failed: {text}")),
            types::Error::Corrupt(text) => Self::Other(format!("a record is damaged: {text}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_only_store_denies_access() {
        assert_eq!(Error::from(types::Error::ReadOnly), Error::AccessDenied);
    }

    #[test]
    fn an_unknown_outcome_is_called_so() {
        let Error::Other(text) = Error::from(types::Error::UnknownOutcome("disk full".into())) else { unreachable!() };
        assert_eq!(text, "the changes may have been written, or not: disk full");
    }
}
