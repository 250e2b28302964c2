//! `hashes`.

use super::{pairs, perform, strings_of};
use crate::bindings::exports::orbweaver::engine::hashes::{Blobs, Draw, Error, Filter, Guest, OptionalBlobs, Page};
use crate::exports::Orbweaver;
use orbweaver_engine::typed::hashes::{Action, Operation};

/// An operation on a hash.
pub(super) fn on(key: Vec<u8>, action: Action) -> Operation {
    Operation { key: key.into(), action }
}

impl Guest for Orbweaver {
    fn get(db: u32, key: Vec<u8>, field: Vec<u8>) -> Result<Option<Vec<u8>>, Error> {
        perform(db, on(key, Action::Get(field.into())))
    }

    fn get_many(db: u32, key: Vec<u8>, fields: Vec<Vec<u8>>) -> Result<OptionalBlobs, Error> {
        perform(db, on(key, Action::GetMany(strings_of(fields))))
    }

    fn get_all(db: u32, key: Vec<u8>) -> Result<Blobs, Error> {
        perform(db, on(key, Action::GetAll))
    }

    fn fields(db: u32, key: Vec<u8>) -> Result<Blobs, Error> {
        perform(db, on(key, Action::Fields))
    }

    fn values(db: u32, key: Vec<u8>) -> Result<Blobs, Error> {
        perform(db, on(key, Action::Values))
    }

    fn length(db: u32, key: Vec<u8>) -> Result<u64, Error> {
        perform(db, on(key, Action::Length))
    }

    fn exists(db: u32, key: Vec<u8>, field: Vec<u8>) -> Result<bool, Error> {
        perform(db, on(key, Action::Exists(field.into())))
    }

    fn set(db: u32, key: Vec<u8>, list: Vec<(Vec<u8>, Vec<u8>)>) -> Result<u64, Error> {
        perform(db, on(key, Action::Set(pairs(list))))
    }

    fn set_if_absent(db: u32, key: Vec<u8>, field: Vec<u8>, value: Vec<u8>) -> Result<bool, Error> {
        perform(db, on(key, Action::SetIfAbsent(field.into(), value.into())))
    }

    fn delete(db: u32, key: Vec<u8>, fields: Vec<Vec<u8>>) -> Result<u64, Error> {
        perform(db, on(key, Action::Remove(strings_of(fields))))
    }

    fn increment(db: u32, key: Vec<u8>, field: Vec<u8>, by: i64) -> Result<i64, Error> {
        perform(db, on(key, Action::Increment(field.into(), by)))
    }

    fn increment_float(db: u32, key: Vec<u8>, field: Vec<u8>, by: f64) -> Result<f64, Error> {
        perform(db, on(key, Action::IncrementFloat(field.into(), by)))
    }

    fn random(db: u32, key: Vec<u8>, draw: Draw) -> Result<Blobs, Error> {
        perform(db, on(key, Action::Random(draw.into())))
    }

    fn scan(db: u32, key: Vec<u8>, cursor: u64, filter: Filter) -> Result<Page, Error> {
        perform(db, on(key, Action::Scan(cursor, filter.into())))
    }
}
