//! Expiries of single fields: <https://redis.io/docs/latest/commands/hexpire/> and its kin, as of Redis 7.4.
//!
//! A field is gone when the clock is past its time; a hash whose last field is gone does not exist. The functions fail as those of
//! [`super`] do, and with a client's mistake where the layout cannot hold the expiry of a field.

use super::change::Change;
use super::find_fields;
use crate::db::Db;
use crate::error::Result;
use crate::events::Classes;
use crate::layout::{FieldValue, KeyAt};
use crate::types::distinct;
use crate::types::keys::ExpireOnly;
use bytes::Bytes;

/// What became of a field that was to expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// There is no such field.
    NoField,
    /// The condition does not allow it.
    NotAllowed,
    /// It has the expiry.
    Set,
    /// The time is not ahead: the field was removed at once.
    Removed,
}

/// What is known of a field's expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// There is no such field.
    NoField,
    /// The field stays.
    Never,
    /// Unix time in milliseconds.
    AtMs(u64),
}

/// Lets fields expire at a Unix time in milliseconds. Tells what became of each, in their order; one that comes again is taken as
/// the first time has left it.
///
/// # Errors
/// See the module.
pub fn expire(db: &mut Db, at: &KeyAt, fields: &[Bytes], expire_at_ms: u64, only: ExpireOnly) -> Result<Vec<Expired>> {
    let now_ms = db.now_ms;
    let event = |answers: &[Expired]| {
        let any = |answer| answers.contains(&answer);
        if any(Expired::Set) { "hexpire" } else { "hdel" }
    };
    each(db, at, fields, Expired::NoField, event, |value| {
        if !only.allows(value.expire_at_ms, expire_at_ms) {
            return (Expired::NotAllowed, Fate::Stays);
        }
        if expire_at_ms > now_ms { (Expired::Set, Fate::Expires(Some(expire_at_ms))) } else { (Expired::Removed, Fate::Goes) }
    })
}

/// Takes the expiries of fields away. Tells for each, in their order, what its expiry was before.
///
/// # Errors
/// See the module.
pub fn persist(db: &mut Db, at: &KeyAt, fields: &[Bytes]) -> Result<Vec<Expiry>> {
    each(
        db,
        at,
        fields,
        Expiry::NoField,
        |_| "hpersist",
        |value| match value.expire_at_ms {
            None => (Expiry::Never, Fate::Stays),
            Some(expire_at_ms) => (Expiry::AtMs(expire_at_ms), Fate::Expires(None)),
        },
    )
}

/// The expiries of fields, in their order.
///
/// # Errors
/// See the module.
pub fn expiries(db: &mut Db, at: &KeyAt, fields: &[Bytes]) -> Result<Vec<Expiry>> {
    let expiry = |value: FieldValue| value.expire_at_ms.map_or(Expiry::Never, Expiry::AtMs);
    Ok(find_fields(db, at, fields)?.into_iter().map(|value| value.map_or(Expiry::NoField, expiry)).collect())
}

/// What is done with a field.
enum Fate {
    Stays,
    Goes,
    /// It gets this expiry, or loses the one that it has.
    Expires(Option<u64>),
}

/// Decides about fields one after the other, and does what was decided; `absent` is the answer for those that are not there. Where
/// anything has changed, the event that `event` makes of the answers tells of it.
fn each<T: Copy>(
    db: &mut Db,
    at: &KeyAt,
    fields: &[Bytes],
    absent: T,
    event: impl Fn(&[T]) -> &'static str,
    decide: impl Fn(&FieldValue) -> (T, Fate),
) -> Result<Vec<T>> {
    let Some(mut change) = Change::of(db, at)? else { return Ok(vec![absent; fields.len()]) };
    // One read for all of them: what is looked up below is known by then.
    change.read(db, distinct(fields))?;
    let mut answers = Vec::with_capacity(fields.len());
    let mut is_changed = false;
    for field in fields {
        let mut answer = absent;
        for stored in change.read(db, [field])? {
            let Some(value) = stored.live(db.now_ms).cloned() else { continue };
            let (decided, fate) = decide(&value);
            answer = decided;
            is_changed |= !matches!(fate, Fate::Stays);
            match fate {
                Fate::Stays => {}
                Fate::Goes => change.remove(db, stored)?,
                Fate::Expires(expire_at_ms) => change.put(db, stored, &FieldValue { expire_at_ms, value: value.value })?,
            }
        }
        answers.push(answer);
    }
    if is_changed {
        db.notify(Classes::HASH, event(&answers), at);
        change.finish(db)?;
    }
    Ok(answers)
}
