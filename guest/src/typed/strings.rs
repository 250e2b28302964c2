//! `strings`.

use super::{pairs, perform, strings_of};
use crate::bindings::exports::orbweaver::engine::strings::{self as wit, Error, Guest, OptionalBlobs, SetOptions};
use crate::exports::Orbweaver;
use orbweaver_engine::typed::strings::{Action, Operation};
use orbweaver_engine::types::strings::Expiry;

impl From<wit::Expiry> for Expiry {
    fn from(expiry: wit::Expiry) -> Self {
        match expiry {
            wit::Expiry::Never => Self::Never,
            wit::Expiry::Keep => Self::Keep,
            wit::Expiry::AtMs(at_ms) => Self::At(at_ms),
        }
    }
}

/// An operation on one string.
pub(super) fn on(key: Vec<u8>, action: Action) -> Operation {
    Operation::One(key.into(), action)
}

/// The action of `set`.
pub(super) fn set(value: Vec<u8>, options: SetOptions) -> Action {
    Action::Set(value.into(), options.condition.into(), options.expiry.into())
}

/// The action of `compare-and-set`.
pub(super) fn compare_and_set(expected: Option<Vec<u8>>, new: Option<Vec<u8>>) -> Action {
    Action::CompareAndSet(expected.map(Into::into), new.map(Into::into))
}

impl Guest for Orbweaver {
    fn get(db: u32, key: Vec<u8>) -> Result<Option<Vec<u8>>, Error> {
        perform(db, on(key, Action::Get))
    }

    fn get_many(db: u32, keys: Vec<Vec<u8>>) -> Result<OptionalBlobs, Error> {
        perform(db, Operation::GetMany(strings_of(keys)))
    }

    fn set(db: u32, key: Vec<u8>, value: Vec<u8>, options: SetOptions) -> Result<bool, Error> {
        perform(db, on(key, set(value, options)))
    }

    fn set_many(db: u32, list: Vec<(Vec<u8>, Vec<u8>)>, condition: wit::Condition) -> Result<bool, Error> {
        perform(db, Operation::SetMany(pairs(list), condition.into()))
    }

    fn get_set(db: u32, key: Vec<u8>, value: Vec<u8>, options: SetOptions) -> Result<Option<Vec<u8>>, Error> {
        perform(db, on(key, Action::GetAndSet(value.into(), options.condition.into(), options.expiry.into())))
    }

    fn get_delete(db: u32, key: Vec<u8>) -> Result<Option<Vec<u8>>, Error> {
        perform(db, on(key, Action::Take))
    }

    fn compare_and_set(db: u32, key: Vec<u8>, expected: Option<Vec<u8>>, new: Option<Vec<u8>>) -> Result<bool, Error> {
        perform(db, on(key, compare_and_set(expected, new)))
    }

    fn append(db: u32, key: Vec<u8>, tail: Vec<u8>) -> Result<u64, Error> {
        perform(db, on(key, Action::Append(tail.into())))
    }

    fn length(db: u32, key: Vec<u8>) -> Result<u64, Error> {
        perform(db, on(key, Action::Length))
    }

    fn range(db: u32, key: Vec<u8>, start: i64, end: i64) -> Result<Option<Vec<u8>>, Error> {
        perform(db, on(key, Action::Range(start, end)))
    }

    fn set_range(db: u32, key: Vec<u8>, offset: u64, patch: Vec<u8>) -> Result<u64, Error> {
        perform(db, on(key, Action::SetRange(offset, patch.into())))
    }

    fn increment(db: u32, key: Vec<u8>, by: i64) -> Result<i64, Error> {
        perform(db, on(key, Action::Increment(by)))
    }

    fn increment_float(db: u32, key: Vec<u8>, by: f64) -> Result<f64, Error> {
        perform(db, on(key, Action::IncrementFloat(by)))
    }
}
