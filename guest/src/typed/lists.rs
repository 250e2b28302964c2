//! `lists`.

use super::{perform, strings_of};
use crate::bindings::exports::orbweaver::engine::lists::{self as wit, Blobs, Error, Guest};
use crate::exports::Orbweaver;
use orbweaver_engine::typed::lists::{Action, Operation};
use orbweaver_engine::types::lists::{End, Search, Side};

impl From<wit::End> for End {
    fn from(end: wit::End) -> Self {
        match end {
            wit::End::Head => Self::Head,
            wit::End::Tail => Self::Tail,
        }
    }
}

impl From<wit::Side> for Side {
    fn from(side: wit::Side) -> Self {
        match side {
            wit::Side::Before => Self::Before,
            wit::Side::After => Self::After,
        }
    }
}

impl From<wit::Search> for Search {
    fn from(search: wit::Search) -> Self {
        let wit::Search { start, skipped, most, compared } = search;
        Self { from: start.into(), skipped, max_matches: most.unwrap_or(u64::MAX), max_compared: compared.unwrap_or(u64::MAX) }
    }
}

/// An operation on a list.
pub(super) fn on(key: Vec<u8>, action: Action) -> Operation {
    Operation { key: key.into(), action }
}

impl Guest for Orbweaver {
    fn push(db: u32, key: Vec<u8>, end: wit::End, elements: Vec<Vec<u8>>) -> Result<u64, Error> {
        perform(db, on(key, Action::Push(end.into(), strings_of(elements))))
    }

    fn push_if_exists(db: u32, key: Vec<u8>, end: wit::End, elements: Vec<Vec<u8>>) -> Result<u64, Error> {
        perform(db, on(key, Action::PushToExisting(end.into(), strings_of(elements))))
    }

    fn pop(db: u32, key: Vec<u8>, end: wit::End, count: u64) -> Result<Blobs, Error> {
        perform(db, on(key, Action::Pop(end.into(), count)))
    }

    fn length(db: u32, key: Vec<u8>) -> Result<u64, Error> {
        perform(db, on(key, Action::Length))
    }

    fn get(db: u32, key: Vec<u8>, position: i64) -> Result<Option<Vec<u8>>, Error> {
        perform(db, on(key, Action::Get(position)))
    }

    fn range(db: u32, key: Vec<u8>, start: i64, stop: i64) -> Result<Blobs, Error> {
        perform(db, on(key, Action::Range(start, stop)))
    }

    fn set(db: u32, key: Vec<u8>, position: i64, element: Vec<u8>) -> Result<(), Error> {
        perform(db, on(key, Action::Set(position, element.into())))
    }

    fn insert(db: u32, key: Vec<u8>, side: wit::Side, pivot: Vec<u8>, element: Vec<u8>) -> Result<Option<u64>, Error> {
        perform(db, on(key, Action::Insert { side: side.into(), pivot: pivot.into(), element: element.into() }))
    }

    fn remove(db: u32, key: Vec<u8>, element: Vec<u8>, start: wit::End, most: Option<u64>) -> Result<u64, Error> {
        perform(db, on(key, Action::Remove { element: element.into(), from: start.into(), most: most.unwrap_or(u64::MAX) }))
    }

    fn trim(db: u32, key: Vec<u8>, start: i64, stop: i64) -> Result<(), Error> {
        perform(db, on(key, Action::Trim(start, stop)))
    }

    fn find(db: u32, key: Vec<u8>, element: Vec<u8>, search: wit::Search) -> Result<Vec<u64>, Error> {
        perform(db, on(key, Action::Find(element.into(), search.into())))
    }

    fn move_element(db: u32, key: Vec<u8>, end: wit::End, to: Vec<u8>, to_end: wit::End) -> Result<Option<Vec<u8>>, Error> {
        perform(db, on(key, Action::Move { from_end: end.into(), to: to.into(), to_end: to_end.into() }))
    }
}
