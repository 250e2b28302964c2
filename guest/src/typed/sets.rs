//! `sets`.

use super::{perform, strings_of};
use crate::bindings::exports::orbweaver::engine::sets::{Algebra, Blobs, Draw, Error, Filter, Guest, Page};
use crate::exports::Orbweaver;
use orbweaver_engine::typed::sets::{Action, Operation};

/// An operation on one set.
pub(super) fn on(key: Vec<u8>, action: Action) -> Operation {
    Operation::One(key.into(), action)
}

impl Guest for Orbweaver {
    fn add(db: u32, key: Vec<u8>, members: Vec<Vec<u8>>) -> Result<u64, Error> {
        perform(db, on(key, Action::Add(strings_of(members))))
    }

    fn remove(db: u32, key: Vec<u8>, members: Vec<Vec<u8>>) -> Result<u64, Error> {
        perform(db, on(key, Action::Remove(strings_of(members))))
    }

    fn contains(db: u32, key: Vec<u8>, member: Vec<u8>) -> Result<bool, Error> {
        perform(db, on(key, Action::Contains(member.into())))
    }

    fn contains_many(db: u32, key: Vec<u8>, members: Vec<Vec<u8>>) -> Result<Vec<bool>, Error> {
        perform(db, on(key, Action::ContainsMany(strings_of(members))))
    }

    fn members(db: u32, key: Vec<u8>) -> Result<Blobs, Error> {
        perform(db, on(key, Action::Members))
    }

    fn count(db: u32, key: Vec<u8>) -> Result<u64, Error> {
        perform(db, on(key, Action::Count))
    }

    fn pop(db: u32, key: Vec<u8>, count: u64) -> Result<Blobs, Error> {
        perform(db, on(key, Action::Pop(count)))
    }

    fn random(db: u32, key: Vec<u8>, draw: Draw) -> Result<Blobs, Error> {
        perform(db, on(key, Action::Random(draw.into())))
    }

    fn scan(db: u32, key: Vec<u8>, cursor: u64, filter: Filter) -> Result<Page, Error> {
        perform(db, on(key, Action::Scan(cursor, filter.into())))
    }

    fn move_member(db: u32, key: Vec<u8>, to: Vec<u8>, member: Vec<u8>) -> Result<bool, Error> {
        perform(db, on(key, Action::Move(to.into(), member.into())))
    }

    fn combine(db: u32, algebra: Algebra, keys: Vec<Vec<u8>>) -> Result<Blobs, Error> {
        perform(db, Operation::Combine(algebra.into(), strings_of(keys)))
    }

    fn combine_to(db: u32, destination: Vec<u8>, algebra: Algebra, keys: Vec<Vec<u8>>) -> Result<u64, Error> {
        perform(db, on(destination, Action::Store(algebra.into(), strings_of(keys))))
    }

    fn count_common(db: u32, keys: Vec<Vec<u8>>, limit: Option<u64>) -> Result<u64, Error> {
        perform(db, Operation::CountCommon(strings_of(keys), limit.unwrap_or(u64::MAX)))
    }
}
