//! The engine's errors, by who sees them and what is left behind.

use crate::codec::Flaw;
use crate::store::StoreError;
use std::borrow::Cow;
use std::fmt;

/// Why a command, or a step of maintenance, has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A client's mistake: Redis' own text, with its prefix (`ERR syntax error`). Nothing is written.
    Client(Cow<'static, str>),
    /// The store refused or failed, see [`StoreError`].
    Store(StoreError),
    /// A record that is not what its layout says. The command has no effect; other keys are not concerned.
    Corrupt(CorruptRecord),
    /// The reserved versions are used up: the engine reserves more and runs the group again. No client sees it.
    OutOfVersions,
}

/// A record that cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorruptRecord {
    /// The layout that was reading.
    pub layout: &'static str,
    /// The keyspace that holds the record.
    pub keyspace: &'static str,
    /// The record's key.
    pub key: Vec<u8>,
    /// Where in the key or value the trouble is, in bytes from its start.
    pub offset: usize,
    /// What is wrong there.
    pub what: &'static str,
}

/// The result of the engine's functions.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A client's mistake with a fixed text.
    #[must_use]
    pub const fn client(text: &'static str) -> Self {
        Self::Client(Cow::Borrowed(text))
    }

    /// A flaw in a record of a keyspace.
    #[must_use]
    pub fn corrupt(layout: &'static str, keyspace: &'static str, key: &[u8], flaw: Flaw) -> Self {
        Self::Corrupt(CorruptRecord { layout, keyspace, key: key.to_vec(), offset: flaw.offset, what: flaw.what })
    }

    /// Whether running the transaction again may succeed.
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        matches!(self, Self::Store(StoreError::Conflict | StoreError::Expired))
    }
}

impl fmt::Display for Error {
    /// The text of the error reply, with its prefix.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(text) => f.write_str(text),
            Self::Store(error) => write!(f, "ERR storage: {error}"),
            Self::Corrupt(record) => write!(f, "ERR {record}"),
            Self::OutOfVersions => f.write_str("ERR storage: no versions reserved, try again"),
        }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for CorruptRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { layout, keyspace, offset, what, .. } = self;
        write!(f, "corrupt record: {what} at offset {offset} of {keyspace} key ")?;
        self.key.escape_ascii().fmt(f)?;
        write!(f, " (layout {layout})")
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A client's word as an error text repeats it: at most `most` bytes, as Redis up to the first NUL (its texts are C strings). What is
/// not UTF-8 is shown as U+FFFD, where Redis sends the bytes.
#[must_use]
pub fn repeated(word: &[u8], most: usize) -> Cow<'_, str> {
    let shown = word.get(..most).unwrap_or(word);
    String::from_utf8_lossy(shown.split(|&byte| byte == 0).next().unwrap_or_default())
}

/// The texts that several commands share, as Redis has them (`src/server.c`, `createSharedObjects`).
pub mod texts {
    use super::Error;

    /// A command against a key of another type.
    pub const WRONG_TYPE: Error = Error::client("WRONGTYPE Operation against a key holding the wrong kind of value");
    /// Unknown or contradicting options.
    pub const SYNTAX: Error = Error::client("ERR syntax error");
    /// Not a 64-bit integer.
    pub const NOT_AN_INTEGER: Error = Error::client("ERR value is not an integer or out of range");
    /// Not a floating point number.
    pub const NOT_A_FLOAT: Error = Error::client("ERR value is not a valid float");
    /// An integer sum beyond 64 bits.
    pub const OVERFLOW: Error = Error::client("ERR increment or decrement would overflow");
    /// A sum that is no finite number.
    pub const NOT_FINITE: Error = Error::client("ERR increment would produce NaN or Infinity");
    /// A number that is too large for what it counts.
    pub const OUT_OF_RANGE: Error = Error::client("ERR value is out of range");
    /// The layout of the database has no room for it.
    pub const NO_FIELD_EXPIRY: Error = Error::client("ERR this layout cannot hold the expiry of a field");
    /// The key must exist.
    pub const NO_SUCH_KEY: Error = Error::client("ERR no such key");
    /// A copy or a move of a key to where it is.
    pub const SAME_OBJECT: Error = Error::client("ERR source and destination objects are the same");
    /// A db number outside of the configured ones.
    pub const DB_OUT_OF_RANGE: Error = Error::client("ERR DB index is out of range");
    /// A string above `proto-max-bulk-len`.
    pub const STRING_TOO_LONG: Error = Error::client("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
}
