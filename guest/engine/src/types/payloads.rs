//! Values as payloads of DUMP, and back. The bytes are [`crate::rdb`]'s affair.

use super::hashes::expiry;
use super::keys::{self, ExpireOnly};
use super::lists::{self, End};
use super::sorted_sets::ranges::{self, Range, Selection};
use super::strings::{self, Condition, Expiry};
use super::{hashes, sets, sorted_sets};
use crate::db::Db;
use crate::error::{Error, Result, texts};
use crate::events::Classes;
use crate::layout::{Body, KeyAt, Kind, Meta};
use crate::rdb::{Encoder, Field, Refusal, Value};
use bytes::Bytes;

const WRONG_FOOTER: Error = Error::client("ERR DUMP payload version or checksum are wrong");
const BAD_FORMAT: Error = Error::client("ERR Bad data format");

impl From<Refusal> for Error {
    /// Redis' texts; its own reasons are in its log only.
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Footer => WRONG_FOOTER,
            Refusal::Format(_) => BAD_FORMAT,
            Refusal::TooLarge => texts::STRING_TOO_LONG,
        }
    }
}

/// Appends the payload of what is under a key, of which `meta` is the meta, to `out`, element by element.
///
/// # Errors
/// `ERR string exceeds maximum allowed size (proto-max-bulk-len)` for a payload that no client could send back; store errors,
/// corrupt records. What has been appended is no payload then.
pub fn dump(db: &mut Db, at: &KeyAt, meta: &Meta, out: &mut Vec<u8>) -> Result<()> {
    let max_bytes = db.max_string_bytes;
    if meta.collection().is_some_and(|hash| hash.expiries.is_some()) {
        let mut payload = Encoder::expiring_hash(out, max_bytes);
        payload.length(hashes::len(db, at)?);
        hashes::each_field(db, at, &mut |fields| {
            for field in fields.rows() {
                payload.expiry(field.expire_at_ms);
                payload.string(field.name);
                payload.string(field.value);
            }
        })?;
        return Ok(payload.finish()?);
    }
    let mut payload = Encoder::new(out, max_bytes, meta.kind());
    match &meta.body {
        Body::String(value) => payload.string(value),
        Body::Collection(collection) => {
            payload.length(db.count(at, collection)?);
            match collection.kind {
                Kind::List => lists::each(db, at, 0, -1, |elements| elements.rows().iter().for_each(|element| payload.string(element)))?,
                Kind::Set => sets::each(db, at, &mut |members| members.rows().iter().for_each(|member| payload.string(member)))?,
                Kind::SortedSet => ranges::each(db, at, &Selection::all_of(Range::Ranks(0, -1)), |members| {
                    for (member, score) in members.rows() {
                        payload.string(member);
                        payload.score(*score);
                    }
                })?,
                Kind::Hash => hashes::each(db, at, |name, value| {
                    payload.string(name);
                    payload.string(value);
                })?,
                Kind::String => {}
            }
        }
    }
    Ok(payload.finish()?)
}

/// Stores a value under a key that is absent, with an expiry that is ahead.
///
/// # Errors
/// The error for strings above `proto-max-bulk-len`; the one of layouts that cannot hold the expiry of a field; store errors.
pub fn restore(db: &mut Db, at: &KeyAt, value: Value, expire_at_ms: Option<u64>) -> Result<()> {
    let before = db.events.mark();
    match value {
        Value::String(value) => {
            strings::set(db, at, value, Condition::Always, Expiry::Never)?;
        }
        Value::List(elements) => {
            lists::push(db, at, End::Tail, &elements)?;
        }
        Value::Set(members) => {
            sets::add(db, at, &members)?;
        }
        Value::SortedSet(members) => sorted_sets::replace(db, at, &members, "zadd")?,
        Value::Hash(fields) => restore_hash(db, at, fields)?,
    }
    if let Some(expire_at_ms) = expire_at_ms {
        keys::expire(db, at, expire_at_ms, ExpireOnly::default())?;
    }
    // How the value was made is nobody's concern.
    db.events.forget_since(before);
    db.notify(Classes::NEW, "new", at);
    db.notify(Classes::GENERIC, "restore", at);
    Ok(())
}

/// Fields that are past their time are left out; a hash of which all are is not made.
fn restore_hash(db: &mut Db, at: &KeyAt, mut fields: Vec<Field>) -> Result<()> {
    fields.retain(|field| field.expire_at_ms.is_none_or(|at_ms| at_ms >= db.now_ms));
    let pairs: Vec<(Bytes, Bytes)> = fields.iter().map(|field| (field.name.clone(), field.value.clone())).collect();
    if pairs.is_empty() {
        return Ok(());
    }
    hashes::set(db, at, pairs.iter().map(|(field, value)| (field, value)))?;
    for field in fields {
        if let Some(expire_at_ms) = field.expire_at_ms {
            expiry::expire(db, at, &[field.name], expire_at_ms, ExpireOnly::default())?;
        }
    }
    Ok(())
}
