//! Operations on keys of any type, see [`crate::types::keys`].

use super::{Access, Blobs, KeyExpiry, Outcome, Perform};
use crate::db::Db;
use crate::error::{Result, texts};
use crate::layout::Kind;
use crate::scan::{Filter, Positions};
use crate::types::keys::{self, ExpireOnly};
use crate::types::random_key;
use bytes::Bytes;
use std::ops::ControlFlow;

/// An operation on keys.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// How many of the keys exist, one that is given twice counted twice: [`Outcome::Count`].
    Exist(Vec<Bytes>),
    /// Removes keys: how many existed, as [`Outcome::Count`].
    Remove(Vec<Bytes>),
    /// The type of a key: [`Outcome::Kind`].
    Kind(Bytes),
    /// When a key expires: [`Outcome::Expiry`].
    Expiry(Bytes),
    /// Lets a key expire at a Unix time in milliseconds: whether that was done, as [`Outcome::Flag`].
    ExpireAt(Bytes, u64, ExpireOnly),
    /// Takes the expiry away: whether there was one, as [`Outcome::Flag`].
    Persist(Bytes),
    /// Gives a key another name: whether that was done, as [`Outcome::Flag`].
    Rename {
        /// The key.
        from: Bytes,
        /// Its new name.
        to: Bytes,
        /// Does nothing where the new name is taken.
        keep: bool,
    },
    /// Copies a key: whether that was done, as [`Outcome::Flag`].
    Copy {
        /// The key.
        from: Bytes,
        /// The name of the copy.
        to: Bytes,
        /// Goes over what is there.
        replace: bool,
    },
    /// A step over the keys of the db from a cursor on, those of one type where it is given: [`Outcome::Page`].
    Scan(u64, Filter, Option<Kind>),
    /// Keys in byte order: [`Outcome::List`].
    List {
        /// What they begin with.
        prefix: Bytes,
        /// Only those behind this one.
        after: Option<Bytes>,
        /// How many at most.
        most: usize,
    },
    /// How many keys the db has: [`Outcome::Count`].
    Count,
    /// A random key: [`Outcome::Value`].
    Random,
    /// Removes all keys of the db: [`Outcome::Done`].
    Flush,
}

impl Perform for Operation {
    fn access(&self) -> Access {
        match self {
            Self::Exist(_) | Self::Kind(_) | Self::Expiry(_) | Self::Scan(..) | Self::List { .. } | Self::Count | Self::Random => {
                Access::Read
            }
            Self::Remove(_) | Self::ExpireAt(..) | Self::Persist(_) | Self::Rename { .. } | Self::Copy { .. } => Access::Write,
            Self::Flush => Access::Exclusive,
        }
    }

    fn keys(&self) -> Vec<&Bytes> {
        match self {
            Self::Exist(keys) | Self::Remove(keys) => keys.iter().collect(),
            Self::Kind(key) | Self::Expiry(key) | Self::ExpireAt(key, ..) | Self::Persist(key) => vec![key],
            Self::Rename { from, to, .. } | Self::Copy { from, to, .. } => vec![from, to],
            Self::Scan(..) | Self::List { .. } | Self::Count | Self::Random | Self::Flush => Vec::new(),
        }
    }

    fn perform(&self, db: &mut Db, positions: &mut Positions) -> Result<Outcome> {
        Ok(match self {
            Self::Exist(keys) => count(db, keys, |db, key| {
                let at = db.at(key)?;
                Ok(db.find(&at)?.is_some())
            })?,
            Self::Remove(keys) => count(db, keys, |db, key| {
                let at = db.at(key)?;
                Ok(db.remove(&at)? > 0)
            })?,
            Self::Kind(key) => {
                let at = db.at(key)?;
                Outcome::Kind(db.find(&at)?.map(|meta| meta.kind()))
            }
            Self::Expiry(key) => {
                let at = db.at(key)?;
                Outcome::Expiry(match db.find(&at)?.map(|meta| meta.expire_at_ms) {
                    None => KeyExpiry::Absent,
                    Some(None) => KeyExpiry::Never,
                    Some(Some(at_ms)) => KeyExpiry::At(at_ms),
                })
            }
            Self::ExpireAt(key, at_ms, only) => {
                let at = db.at(key)?;
                Outcome::Flag(keys::expire(db, &at, *at_ms, *only)? > 0)
            }
            Self::Persist(key) => {
                let at = db.at(key)?;
                Outcome::Flag(keys::persist(db, &at)? > 0)
            }
            Self::Rename { from, to, keep } => {
                let (from, to) = (db.at(from)?, db.at(to)?);
                Outcome::Flag(keys::rename(db, &from, &to, *keep)?)
            }
            Self::Copy { from, to, replace } => {
                let (from, to) = (db.at(from)?, db.at(to)?);
                if from == to {
                    return Err(texts::SAME_OBJECT);
                }
                Outcome::Flag(keys::copy(db, &from, &to, *replace)?)
            }
            Self::Scan(cursor, filter, kind) => Outcome::Page(keys::scan(db, positions, *cursor, filter, *kind)?.into()),
            Self::List { prefix, after, most } => Outcome::List(list(db, prefix, after.as_deref(), *most)?),
            Self::Count => Outcome::Count(keys::count(db)?),
            Self::Random => Outcome::Value(random_key::random(db)?),
            Self::Flush => Outcome::Done(keys::flush(db, db.index..db.index.saturating_add(1))?),
        })
    }
}

fn count(db: &mut Db, keys: &[Bytes], mut counts: impl FnMut(&mut Db, &Bytes) -> Result<bool>) -> Result<Outcome> {
    let mut count = 0;
    for key in keys {
        count += u64::from(counts(db, key)?);
    }
    Ok(Outcome::Count(count))
}

fn list(db: &mut Db, prefix: &[u8], after: Option<&[u8]>, most: usize) -> Result<Blobs> {
    let mut list = Blobs::default();
    let behind = after.map(|after| [after, b"\0"].concat()).unwrap_or_default();
    let start = prefix.max(&behind);
    // Behind all keys that begin with the prefix there is nothing to walk over.
    if most > 0 && start.starts_with(prefix) {
        keys::walk(db, prefix, start, &mut |key, _| {
            list.push(key);
            if list.ends.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
    }
    Ok(list)
}
