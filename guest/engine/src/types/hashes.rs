//! Hashes: fields with values under one key. <https://redis.io/docs/latest/commands/?group=hash>
//!
//! Fields are records of their own, read and written one by one. The key's meta record counts them exactly; a field that is past
//! its time is counted until it is removed, and is absent for all functions. A hash without
//! fields does not exist: the last field takes the key with it. All functions fail with WRONGTYPE where the key holds another
//! type, and with store errors and corrupt records.

mod change;
pub mod expiry;

use super::distinct;
use super::draw::{self, Draw, Only, Urn};
use crate::db::Db;
use crate::error::{Error, Result, texts};
use crate::events::Classes;
use crate::few::Few;
use crate::layout::lots::Lot;
use crate::layout::records::Record;
use crate::layout::{Collection, FieldValue, KeyAt, Kind, LentField, Meta, Names, RecordKey, field_expiry};
use crate::number::{LongDouble, format_i64, parse_i64};
use crate::scan::{self, Filter, Positions, Step};
use crate::store::Direction;
use bytes::Bytes;
use change::Change;

pub(crate) const VALUE_NOT_AN_INTEGER: Error = Error::client("ERR hash value is not an integer");
pub(crate) const VALUE_NOT_A_FLOAT: Error = Error::client("ERR hash value is not a float");

/// Makes sure that a key holds a hash or nothing.
///
/// # Errors
/// See the module.
pub fn check_kind(db: &mut Db, at: &KeyAt) -> Result<()> {
    find(db, at).map(|_| ())
}

/// How many fields the hash has; 0 where there is none. Exact at any time: what is past its time is taken off.
///
/// # Errors
/// See the module.
pub fn len(db: &mut Db, at: &KeyAt) -> Result<u64> {
    match find(db, at)? {
        Some((_, hash)) => live_count(db, at, &hash),
        None => Ok(0),
    }
}

/// The value of a field; `None` where there is no such field or no hash.
///
/// # Errors
/// See the module.
pub fn get(db: &mut Db, at: &KeyAt, field: &[u8]) -> Result<Option<Bytes>> {
    Ok(find_field(db, at, field)?.map(|found| found.value))
}

/// The values of several fields in one read, in their order.
///
/// # Errors
/// See the module.
pub fn get_many(db: &mut Db, at: &KeyAt, fields: &[Bytes]) -> Result<Vec<Option<Bytes>>> {
    Ok(find_fields(db, at, fields)?.into_iter().map(|found| found.map(|found| found.value)).collect())
}

/// Hands every field with its value to `visit`, in byte order of the fields.
///
/// # Errors
/// See the module.
pub fn each(db: &mut Db, at: &KeyAt, mut visit: impl FnMut(&[u8], &[u8])) -> Result<()> {
    each_field(db, at, &mut |fields| fields.rows().iter().for_each(|field| visit(field.name, field.value)))
}

/// As [`each`], some at a time, with the expiries of the fields.
///
/// # Errors
/// See the module.
pub fn each_field(db: &mut Db, at: &KeyAt, visit: &mut dyn FnMut(Lot<'_, '_, LentField<'_>>)) -> Result<()> {
    let Some((_, hash)) = find(db, at)? else { return Ok(()) };
    let expected = usize::try_from(hash.count).unwrap_or(usize::MAX);
    let mut walk = db.layout.fields(at, &hash, &Names::ALL).walk(Direction::Forward, expected);
    db.layout.each_field(db.transaction, &hash, &mut walk, db.now_ms, visit)
}

/// Sets fields, the last value of a field that comes more than once; they lose their expiries. Returns how many fields are new.
///
/// # Errors
/// See the module.
pub fn set<'p>(db: &mut Db, at: &KeyAt, pairs: impl IntoIterator<Item = (&'p Bytes, &'p Bytes)>) -> Result<u64> {
    let mut change = Change::of_or_new(db, at)?;
    let mut latest: Few<(&Bytes, &Bytes)> = pairs.into_iter().collect();
    latest.sort_by_key(|(field, _)| *field);
    latest.dedup_by(|later, kept| {
        let is_same = later.0 == kept.0;
        if is_same {
            *kept = *later;
        }
        is_same
    });
    let stored = change.read(db, latest.iter().map(|(field, _)| *field))?;
    let mut added = 0;
    for (stored, (_, value)) in stored.into_iter().zip(latest) {
        added += u64::from(stored.live(db.now_ms).is_none());
        change.put(db, stored, &FieldValue { expire_at_ms: None, value: value.clone() })?;
    }
    change.finish(db)?;
    db.notify(Classes::HASH, "hset", at);
    Ok(added)
}

/// Sets a field that does not exist. False where it does: nothing is changed then.
///
/// # Errors
/// See the module.
pub fn set_new(db: &mut Db, at: &KeyAt, field: &Bytes, value: &Bytes) -> Result<bool> {
    if get(db, at, field)?.is_some() {
        return Ok(false);
    }
    set(db, at, [(field, value)])?;
    Ok(true)
}

/// Removes fields, and the key with the last one. Returns how many there were; a field that comes twice counts once.
///
/// # Errors
/// See the module.
pub fn remove(db: &mut Db, at: &KeyAt, fields: &[Bytes]) -> Result<u64> {
    let Some(mut change) = Change::of(db, at)? else { return Ok(0) };
    let stored = change.read(db, distinct(fields))?;
    if stored.iter().all(|stored| stored.value.is_none()) {
        return Ok(0);
    }
    let mut removed = 0;
    for stored in stored {
        removed += u64::from(stored.live(db.now_ms).is_some());
        change.remove(db, stored)?;
    }
    db.notify(Classes::HASH, "hdel", at);
    change.finish(db)?;
    Ok(removed)
}

/// Adds to the 64-bit integer in a field, which keeps its expiry, and returns the sum; an absent field counts as 0.
///
/// # Errors
/// See the module; `ERR hash value is not an integer`, `ERR increment or decrement would overflow`.
pub fn add_integer(db: &mut Db, at: &KeyAt, field: &Bytes, increment: i64) -> Result<i64> {
    let old = find_field(db, at, field)?;
    let sum = sum(old.as_ref().map(|old| old.value.as_ref()), increment)?;
    set_kept(db, at, field, old.as_ref(), format_i64(sum), "hincrby")?;
    Ok(sum)
}

/// The sum of the integer in a field, 0 where there is none, and another one.
///
/// # Errors
/// As [`add_integer`].
pub fn sum(value: Option<&[u8]>, increment: i64) -> Result<i64> {
    let number = value.map_or(Ok(0), |value| parse_i64(value).ok_or(VALUE_NOT_AN_INTEGER))?;
    number.checked_add(increment).ok_or(texts::OVERFLOW)
}

/// Adds to the number in a field, which keeps its expiry, and returns the sum as it is stored; an absent field counts as 0. Numbers
/// are those of [`LongDouble`].
///
/// # Errors
/// See the module; `ERR hash value is not a float`, `ERR increment would produce NaN or Infinity`.
pub fn add_float(db: &mut Db, at: &KeyAt, field: &Bytes, increment: LongDouble) -> Result<Bytes> {
    let old = find_field(db, at, field)?;
    let number = old.as_ref().map_or(Ok(LongDouble::ZERO), |old| LongDouble::parse(&old.value).ok_or(VALUE_NOT_A_FLOAT))?;
    let sum = number + increment;
    if sum.is_nan() || sum.is_infinite() {
        return Err(texts::NOT_FINITE);
    }
    let text = Bytes::from(sum.format_human());
    set_kept(db, at, field, old.as_ref(), text.clone(), "hincrbyfloat")?;
    Ok(text)
}

/// Gives a field, which is `old`, another value and lets it keep its expiry. `event` tells of it.
fn set_kept(db: &mut Db, at: &KeyAt, field: &Bytes, old: Option<&FieldValue>, value: Bytes, event: &'static str) -> Result<()> {
    let new = FieldValue { expire_at_ms: old.and_then(|old| old.expire_at_ms), value };
    let mut change = Change::of_or_new(db, at)?;
    for stored in change.read(db, [field])? {
        change.put(db, stored, &new)?;
    }
    change.finish(db)?;
    db.notify(Classes::HASH, event, at);
    Ok(())
}

/// Hands fields drawn at random, each with the same probability, to `visit`, with their values; none where there is no hash. What
/// it costs: see [`draw`].
///
/// # Errors
/// See the module, and [`draw::records`].
pub fn random(db: &mut Db, at: &KeyAt, draw: Draw, mut visit: impl FnMut(&Bytes, &Bytes)) -> Result<()> {
    let Some((_, hash)) = find(db, at)? else { return Ok(()) };
    let (layout, now_ms, records) = (db.layout, db.now_ms, db.layout.fields(at, &hash, &Names::ALL));
    let total = live_count(db, at, &hash)?;
    let live = |record: &Record| -> Result<Option<FieldValue>> {
        let found = layout.decode_field_value(&hash, &record.key, &record.value)?;
        Ok(found.filter(|found| !found.is_expired(now_ms)))
    };
    let is_live = |record: &Record| Ok(live(record)?.is_some());
    let only: Option<&Only<'_>> = if hash.is_counted && total == hash.count { None } else { Some(&is_live) };
    draw::records(db, &Urn { records: &records, total, only, seek: None }, draw, &mut |record| {
        if let Some(found) = live(record)? {
            visit(&layout.decode_field(&record.key)?, &found.value);
        }
        Ok(())
    })
}

/// One step over the fields, with their values: [HSCAN](https://redis.io/docs/latest/commands/hscan/).
///
/// # Errors
/// See the module.
pub fn scan(db: &mut Db, positions: &mut Positions, at: &KeyAt, cursor: u64, filter: &Filter) -> Result<Step<(Bytes, Bytes)>> {
    let Some((_, hash)) = find(db, at)? else { return Ok(Step::over()) };
    let records = db.layout.fields(at, &hash, &Names::ALL);
    let visited = scan::records(db.transaction, positions, &records, cursor, filter.count)?;
    let mut step = Step { elements: Vec::new(), cursor: visited.cursor };
    for Record { key, value, .. } in &visited.elements {
        let field = db.layout.decode_field(key)?;
        if filter.takes(&field)
            && let Some(found) = decode_live(db, &hash, key, value)?
        {
            step.elements.push((field, found.value));
        }
    }
    Ok(step)
}

fn find(db: &mut Db, at: &KeyAt) -> Result<Option<(Meta, Collection)>> {
    db.find_collection(at, Kind::Hash)
}

/// How many fields are not past their time. Costs nothing where none is.
fn live_count(db: &mut Db, at: &KeyAt, hash: &Collection) -> Result<u64> {
    let due = field_expiry::count_due(db.layout, db.transaction, at, hash, db.now_ms)?;
    Ok(db.count(at, hash)?.saturating_sub(due))
}

fn find_field(db: &mut Db, at: &KeyAt, field: &[u8]) -> Result<Option<FieldValue>> {
    let Some((_, hash)) = find(db, at)? else { return Ok(None) };
    let (keyspace, key) = db.layout.field(at, &hash, field);
    match db.transaction.get(keyspace, &key)? {
        Some(value) => decode_live(db, &hash, &key, &value),
        None => Ok(None),
    }
}

/// Several fields in one read, in their order.
fn find_fields(db: &mut Db, at: &KeyAt, fields: &[Bytes]) -> Result<Vec<Option<FieldValue>>> {
    let Some((_, hash)) = find(db, at)? else { return Ok(vec![None; fields.len()]) };
    let records: Vec<RecordKey> = fields.iter().map(|field| db.layout.field(at, &hash, field)).collect();
    let values = db.transaction.get_many(&records)?;
    let decode = |key: &Bytes, value: Option<Bytes>| value.map_or(Ok(None), |value| decode_live(db, &hash, key, &value));
    records.iter().zip(values).map(|((_, key), value)| decode(key, value)).collect()
}

/// The field of a record, unless it is past its time.
fn decode_live(db: &Db, hash: &Collection, key: &[u8], value: &Bytes) -> Result<Option<FieldValue>> {
    Ok(db.layout.decode_field_value(hash, key, value)?.filter(|found| !found.is_expired(db.now_ms)))
}
