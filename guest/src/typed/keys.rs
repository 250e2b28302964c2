//! `keys`.

use super::{answers, perform, size, strings_of};
use crate::bindings::exports::orbweaver::engine::keys::{self as wit, Blobs, Error, Filter, Guest, Page};
use crate::exports::Orbweaver;
use orbweaver_engine::layout::Kind;
use orbweaver_engine::typed::KeyExpiry;
use orbweaver_engine::typed::keys::Operation;
use orbweaver_engine::types::keys::ExpireOnly;

answers! {
    Option<Kind> => Option<wit::Kind>: |kind: Option<Kind>| kind.map(wit::Kind::from),
    KeyExpiry => wit::KeyExpiry: wit::KeyExpiry::from,
}

impl From<KeyExpiry> for wit::KeyExpiry {
    fn from(expiry: KeyExpiry) -> Self {
        match expiry {
            KeyExpiry::Absent => Self::Absent,
            KeyExpiry::Never => Self::Never,
            KeyExpiry::At(at_ms) => Self::AtMs(at_ms),
        }
    }
}

impl From<Kind> for wit::Kind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::String => Self::String,
            Kind::Hash => Self::Hash,
            Kind::List => Self::List,
            Kind::Set => Self::Set,
            Kind::SortedSet => Self::SortedSet,
        }
    }
}

impl From<wit::Kind> for Kind {
    fn from(kind: wit::Kind) -> Self {
        match kind {
            wit::Kind::String => Self::String,
            wit::Kind::Hash => Self::Hash,
            wit::Kind::List => Self::List,
            wit::Kind::Set => Self::Set,
            wit::Kind::SortedSet => Self::SortedSet,
        }
    }
}

impl From<wit::ExpireWhen> for ExpireOnly {
    fn from(when: wit::ExpireWhen) -> Self {
        let has = |flag| when & flag == flag;
        let (nx, xx) = (has(wit::ExpireWhen::NEVER), has(wit::ExpireWhen::EXPIRES));
        Self { nx, xx, gt: has(wit::ExpireWhen::LATER), lt: has(wit::ExpireWhen::EARLIER) }
    }
}

impl Guest for Orbweaver {
    fn exists(db: u32, keys: Vec<Vec<u8>>) -> Result<u64, Error> {
        perform(db, Operation::Exist(strings_of(keys)))
    }

    fn delete(db: u32, keys: Vec<Vec<u8>>) -> Result<u64, Error> {
        perform(db, Operation::Remove(strings_of(keys)))
    }

    fn kind_of(db: u32, key: Vec<u8>) -> Result<Option<wit::Kind>, Error> {
        perform(db, Operation::Kind(key.into()))
    }

    fn expiry(db: u32, key: Vec<u8>) -> Result<wit::KeyExpiry, Error> {
        perform(db, Operation::Expiry(key.into()))
    }

    fn expire_at(db: u32, key: Vec<u8>, at_ms: u64, when: wit::ExpireWhen) -> Result<bool, Error> {
        perform(db, Operation::ExpireAt(key.into(), at_ms, when.into()))
    }

    fn persist(db: u32, key: Vec<u8>) -> Result<bool, Error> {
        perform(db, Operation::Persist(key.into()))
    }

    fn rename(db: u32, key: Vec<u8>, to: Vec<u8>, keep: bool) -> Result<bool, Error> {
        perform(db, Operation::Rename { from: key.into(), to: to.into(), keep })
    }

    fn copy(db: u32, key: Vec<u8>, to: Vec<u8>, replace: bool) -> Result<bool, Error> {
        perform(db, Operation::Copy { from: key.into(), to: to.into(), replace })
    }

    fn scan(db: u32, cursor: u64, filter: Filter, kind: Option<wit::Kind>) -> Result<Page, Error> {
        perform(db, Operation::Scan(cursor, filter.into(), kind.map(Kind::from)))
    }

    fn list_keys(db: u32, prefix: Vec<u8>, after: Option<Vec<u8>>, most: u32) -> Result<Blobs, Error> {
        perform(db, Operation::List { prefix: prefix.into(), after: after.map(Into::into), most: size(most) })
    }

    fn count(db: u32) -> Result<u64, Error> {
        perform(db, Operation::Count)
    }

    fn random(db: u32) -> Result<Option<Vec<u8>>, Error> {
        perform(db, Operation::Random)
    }

    fn flush(db: u32) -> Result<(), Error> {
        perform(db, Operation::Flush)
    }
}
