//! Fields that expire: what a hash's head says of them, the index that finds them by their time, and which keys are gone with them.

use super::{Collection, KeyAt, Layout, Meta, RecordKey, RecordRange};
use crate::error::{Result, texts};
use crate::store::Direction;
use crate::transaction::{Scan, Transaction};
use bytes::Bytes;

/// How many index records a count asks for first.
const FIRST_COUNTED: usize = 64;

/// What the head of a hash says of its fields that expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldExpiries {
    /// How many fields have an expiry, at least 1: also those that are past it and not removed yet.
    pub count: u64,
    /// The earliest of their times: Unix time in milliseconds.
    pub next_ms: u64,
}

/// The index of a layout that can hold expiries of fields: one record with an empty value for each field that expires.
pub trait FieldIndex {
    /// The index records of a hash, in the order of their times.
    fn records(&self, at: &KeyAt, version: u64) -> RecordRange;

    /// The index record of a field.
    fn record(&self, at: &KeyAt, version: u64, expire_at_ms: u64, field: &[u8]) -> RecordKey;

    /// The time of an index record.
    ///
    /// # Errors
    /// Corrupt records.
    fn decode(&self, key: &Bytes) -> Result<u64>;
}

impl FieldExpiries {
    /// Whether a field is past its time at `now_ms`.
    #[must_use]
    pub const fn are_due(&self, now_ms: u64) -> bool {
        now_ms > self.next_ms
    }
}

/// The layout's index of the fields that expire.
///
/// # Errors
/// A client's mistake where the layout has none.
pub fn index(layout: &dyn Layout) -> Result<&dyn FieldIndex> {
    layout.field_index().ok_or(texts::NO_FIELD_EXPIRY)
}

/// Whether a key is gone at `now_ms`: past its own time, or a hash of which every field is past its time. Costs nothing where not
/// all fields of the hash expire or none is due, and one read otherwise.
///
/// # Errors
/// Store errors, corrupt records.
pub fn is_gone(layout: &dyn Layout, transaction: &mut Transaction<'_>, at: &KeyAt, meta: &Meta, now_ms: u64) -> Result<bool> {
    if meta.expire_at_ms.is_some_and(|at_ms| layout.expiry_rules().is_past(at_ms, now_ms)) {
        return Ok(true);
    }
    match meta.collection() {
        Some(Collection { count, version, expiries: Some(expiries), .. }) if expiries.are_due(now_ms) && expiries.count >= count => {
            are_all_due(layout, transaction, at, version, now_ms)
        }
        _ => Ok(false),
    }
}

/// How many of the fields that a hash counts are past their time at `now_ms`. Walks over their index records; costs nothing where
/// none is due, and one read where all that expire are.
///
/// # Errors
/// Store errors, corrupt records.
pub fn count_due(layout: &dyn Layout, transaction: &mut Transaction<'_>, at: &KeyAt, hash: &Collection, now_ms: u64) -> Result<u64> {
    let Some(expiries) = hash.expiries.filter(|expiries| expiries.are_due(now_ms)) else { return Ok(0) };
    if are_all_due(layout, transaction, at, hash.version, now_ms)? {
        return Ok(expiries.count);
    }
    let index = index(layout)?;
    let (keyspace, range) = index.records(at, hash.version);
    let mut scan = Scan::new(keyspace, range, Direction::Forward, FIRST_COUNTED);
    let mut due = 0;
    while let Some((key, _)) = transaction.next(&mut scan)?
        && now_ms > index.decode(&key)?
    {
        due += 1;
    }
    Ok(due)
}

/// The earliest time in a hash's index.
///
/// # Errors
/// Store errors; a corrupt record where the index is empty or cannot be read.
pub fn first_ms(layout: &dyn Layout, transaction: &mut Transaction<'_>, at: &KeyAt, version: u64) -> Result<u64> {
    end_ms(layout, transaction, at, version, Direction::Forward)
}

/// Whether the last of a hash's fields that expire is past its time, and so all of them.
fn are_all_due(layout: &dyn Layout, transaction: &mut Transaction<'_>, at: &KeyAt, version: u64, now_ms: u64) -> Result<bool> {
    Ok(now_ms > end_ms(layout, transaction, at, version, Direction::Reverse)?)
}

/// The time of the first or the last record of a hash's index.
fn end_ms(layout: &dyn Layout, transaction: &mut Transaction<'_>, at: &KeyAt, version: u64, direction: Direction) -> Result<u64> {
    let index = index(layout)?;
    let (keyspace, range) = index.records(at, version);
    let start = Bytes::copy_from_slice(&range.start);
    match transaction.first(keyspace, range, direction)? {
        Some((key, _)) => index.decode(&key),
        None => Err(layout.missing(&(keyspace, start))),
    }
}
