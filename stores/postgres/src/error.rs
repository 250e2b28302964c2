//! What the server's errors mean to a transaction, by SQLSTATE.

use orbweaver_engine::store::StoreError;
use std::error::Error as _;
use std::io;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

/// Why a request failed.
#[derive(Debug)]
pub enum Failure {
    /// Another transaction got in between (40001, 40P01): this one is over, and can be run again.
    Collision,
    /// The connection is gone. Whether the request has had an effect is not known.
    Lost(String),
    /// The server refused; running again does not help.
    Refused(StoreError),
}

impl Failure {
    /// What a read that failed so is to the engine: what a transaction has read is void once the transaction is over.
    pub fn of_read(self) -> StoreError {
        match self {
            Self::Collision | Self::Lost(_) => StoreError::Expired,
            Self::Refused(error) => error,
        }
    }

    /// What it is where nothing was to be changed, and nothing depends on what was read.
    pub fn alone(self) -> StoreError {
        match self {
            Self::Collision => StoreError::Conflict,
            Self::Lost(what) => StoreError::Io(what),
            Self::Refused(error) => error,
        }
    }
}

/// Judges an error of a server at `place`.
pub fn judge(place: &str, error: &Error) -> Failure {
    let Some(told) = error.as_db_error() else {
        return Failure::Lost(format!("the connection to {place} is lost: {}", chain(error)));
    };
    if ends_the_session(told) {
        return Failure::Lost(format!("{place} has closed the connection: {}", text(told)));
    }
    let code = told.code();
    let io = |what: &str| Failure::Refused(StoreError::Io(format!("{place}: {what}: {}", text(told))));
    if [&SqlState::T_R_SERIALIZATION_FAILURE, &SqlState::T_R_DEADLOCK_DETECTED].contains(&code) {
        Failure::Collision
    } else if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
        Failure::Refused(StoreError::ReadOnly)
    } else if *code == SqlState::LOCK_NOT_AVAILABLE {
        io("another transaction held the same keys for too long")
    } else if *code == SqlState::QUERY_CANCELED {
        io("a statement took too long (option statement_timeout of the URL)")
    } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        io("the user needs USAGE of the schema, and SELECT, INSERT, UPDATE and DELETE on its tables")
    } else if [&SqlState::UNDEFINED_TABLE, &SqlState::INVALID_SCHEMA_NAME].contains(&code) {
        io("the store's tables have been removed")
    } else if [&SqlState::DATA_CORRUPTED, &SqlState::INDEX_CORRUPTED].contains(&code) {
        Failure::Refused(StoreError::Corrupt(format!("{place}: {}", text(told))))
    } else {
        io("refused")
    }
}

/// Judges why no connection to a server at `place` came about.
pub fn judge_connect(place: &str, error: &Error) -> Failure {
    if let Some(told) = error.as_db_error() {
        let code = told.code();
        let advice = if ends_soon(told) {
            return Failure::Lost(format!("{place} takes no connections now: {}", text(told)));
        } else if code.code().starts_with("28") {
            "check the user and the password in the URL, and what the server lets them do (pg_hba.conf)"
        } else if *code == SqlState::INVALID_CATALOG_NAME {
            "create the database, or name another one in the URL"
        } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
            "grant the user CONNECT on the database"
        } else {
            "check the URL"
        };
        return Failure::Refused(StoreError::Io(format!("{place} refuses the connection: {}; {advice}", text(told))));
    }
    let socket = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    let from_tls = socket.and_then(io::Error::get_ref).is_some_and(|inner| inner.is::<rustls::Error>());
    match socket {
        Some(_) if !from_tls => Failure::Lost(format!("no server answers at {place}: {}; start it, or check the URL", chain(error))),
        None if error.is_closed() => Failure::Lost(format!("{place} closed the connection")),
        _ => Failure::Refused(StoreError::Io(format!(
            "no connection to {place}: {}; check the options sslmode and sslrootcert, the user and the password in the URL",
            chain(error)
        ))),
    }
}

/// Whether the server has ended the session with this error: no statement's failure.
fn ends_the_session(told: &DbError) -> bool {
    let is_fatal =
        matches!(told.parsed_severity(), Some(Severity::Fatal | Severity::Panic)) || ["FATAL", "PANIC"].contains(&told.severity());
    is_fatal || ends_soon(told)
}

/// Whether it passes: the server starts, ends, or has no connection to spare.
fn ends_soon(told: &DbError) -> bool {
    let code = told.code().code();
    code.starts_with("08") || code.starts_with("57P") || *told.code() == SqlState::TOO_MANY_CONNECTIONS
}

/// The server's words, with its code.
fn text(told: &DbError) -> String {
    let mut text = format!("{} {}", told.code().code(), told.message());
    for more in [told.detail(), told.hint()].into_iter().flatten() {
        text.push_str("; ");
        text.push_str(more);
    }
    text
}

/// An error and its causes.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        cause = error.source();
    }
    text
}
