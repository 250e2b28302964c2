//! Camellia has a number for lists and no encoding: there are none.

use crate::error::{Error, Result};
use crate::layout::lists::{End, ListAlgorithm, ListHead, ListWalk, Side};
use crate::layout::{Collection, KeyAt};
use crate::store::Direction;
use crate::transaction::Transaction;
use bytes::Bytes;
use std::ops::Range;

/// What every command answers that would make a list.
pub(super) const NO_LISTS: Error = Error::client("ERR the layout camellia keeps no lists");

/// Refuses everything.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoLists;

impl ListAlgorithm for NoLists {
    fn empty(&self) -> ListHead {
        ListHead::None
    }

    fn get(&self, _: &mut Transaction<'_>, _: &KeyAt, _: &Collection, _: u64) -> Result<Bytes> {
        Err(NO_LISTS)
    }

    fn put(&self, _: &mut Transaction<'_>, _: &KeyAt, _: &Collection, _: u64, _: Bytes) -> Result<()> {
        Err(NO_LISTS)
    }

    fn push(&self, _: &mut Transaction<'_>, _: &KeyAt, _: &mut Collection, _: End, _: Bytes) -> Result<()> {
        Err(NO_LISTS)
    }

    fn keep(&self, _: &mut Transaction<'_>, _: &KeyAt, _: &Collection, _: Range<u64>) -> Result<Collection> {
        Err(NO_LISTS)
    }

    fn insert(&self, _: &mut Transaction<'_>, _: &KeyAt, _: &Collection, _: u64, _: Side, _: Bytes) -> Result<Collection> {
        Err(NO_LISTS)
    }

    fn remove(&self, _: &mut Transaction<'_>, _: &KeyAt, _: &Collection, _: &[u64]) -> Result<Collection> {
        Err(NO_LISTS)
    }

    fn walk<'l>(&'l self, _: &KeyAt, _: &Collection, _: Range<u64>, _: Direction, _: u64) -> Result<Box<dyn ListWalk + 'l>> {
        Err(NO_LISTS)
    }
}
