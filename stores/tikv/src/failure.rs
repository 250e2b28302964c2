//! What the client's errors mean for a transaction.

use orbweaver_engine::store::StoreError;
use tikv_client::Error;

/// Why a request has no answer.
#[derive(Debug)]
pub enum Failure {
    /// It has no effect.
    Refused(StoreError),
    /// Nobody knows whether it has had, or will have, an effect.
    Lost(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match &error {
            Error::KeyError(key) if key.conflict.is_some() || key.locked.is_some() || !key.retryable.is_empty() => {
                Self::Refused(StoreError::Conflict)
            }
            // The state of the transaction is behind what the cluster still keeps.
            Error::KeyError(key) if key.abort.contains("GC") => Self::Refused(StoreError::Expired),
            Error::KeyError(_) => Self::Refused(StoreError::Io(format!("TiKV: {error}"))),
            Error::ResolveLockError(_) | Error::TxnNotFound(_) => Self::Refused(StoreError::Conflict),
            Error::KvError { message } if message.contains("safe point") => Self::Refused(StoreError::Expired),
            Error::ExtractedErrors(all) | Error::MultipleKeyErrors(all) => of_several(all, &error),
            other => Self::Lost(other.to_string()),
        }
    }
}

/// Several errors of one request: a conflict where one of them is one.
fn of_several(all: &[Error], whole: &Error) -> Failure {
    let is_conflict = |error: &Error| match error {
        Error::KeyError(key) => key.conflict.is_some() || key.locked.is_some() || !key.retryable.is_empty(),
        Error::ResolveLockError(_) => true,
        _ => false,
    };
    if all.iter().any(is_conflict) { Failure::Refused(StoreError::Conflict) } else { Failure::Lost(whole.to_string()) }
}

/// The error of a request that reads.
pub fn of_read(error: Error) -> StoreError {
    match Failure::from(error) {
        Failure::Refused(error) => error,
        Failure::Lost(why) => StoreError::Io(format!("TiKV does not answer: {why}")),
    }
}
