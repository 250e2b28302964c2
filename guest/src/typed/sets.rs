//! `sets`.

use super::{perform, strings_of};
use crate::bindings::exports::orbweaver::engine::sets::{Algebra, Blobs, Draw, Error, Filter, Guest, Key, Member, Page};
use crate::exports::Orbweaver;
use orbweaver_engine::typed::sets::{Action, Operation};

/// An operation on one set.
pub(super) fn on(key: Key, action: Action) -> Operation {
    Operation::One(key.into(), action)
}

impl Guest for Orbweaver {
    fn add(db: u32, key: Key, members: Vec<Member>) -> Result<u64, Error> {
        perform(db, on(key, Action::Add(strings_of(members))))
    }

    fn remove(db: u32, key: Key, members: Vec<Member>) -> Result<u64, Error> {
        perform(db, on(key, Action::Remove(strings_of(members))))
    }

    fn contains(db: u32, key: Key, member: Member) -> Result<bool, Error> {
        perform(db, on(key, Action::Contains(member.into())))
    }

    fn contains_many(db: u32, key: Key, members: Vec<Member>) -> Result<Vec<bool>, Error> {
        perform(db, on(key, Action::ContainsMany(strings_of(members))))
    }

    fn members(db: u32, key: Key) -> Result<Blobs, Error> {
        perform(db, on(key, Action::Members))
    }

    fn count(db: u32, key: Key) -> Result<u64, Error> {
        perform(db, on(key, Action::Count))
    }

    fn pop(db: u32, key: Key, count: u64) -> Result<Blobs, Error> {
        perform(db, on(key, Action::Pop(count)))
    }

    fn random(db: u32, key: Key, draw: Draw) -> Result<Blobs, Error> {
        perform(db, on(key, Action::Random(draw.into())))
    }

    fn scan(db: u32, key: Key, cursor: u64, filter: Filter) -> Result<Page, Error> {
        perform(db, on(key, Action::Scan(cursor, filter.into())))
    }

    fn move_(db: u32, key: Key, to: Key, member: Member) -> Result<bool, Error> {
        perform(db, on(key, Action::Move(to.into(), member.into())))
    }

    fn combine(db: u32, algebra: Algebra, keys: Vec<Key>) -> Result<Blobs, Error> {
        perform(db, Operation::Combine(algebra.into(), strings_of(keys)))
    }

    fn combine_to(db: u32, destination: Key, algebra: Algebra, keys: Vec<Key>) -> Result<u64, Error> {
        perform(db, on(destination, Action::Store(algebra.into(), strings_of(keys))))
    }

    fn count_common(db: u32, keys: Vec<Key>, limit: Option<u64>) -> Result<u64, Error> {
        perform(db, Operation::CountCommon(strings_of(keys), limit.unwrap_or(u64::MAX)))
    }
}
