//! Hashes: fields with values under one key. <https://redis.io/docs/latest/commands/?group=hash>
//!
//! Fields are records of their own, read and written one by one; the count in the key's meta record is exact. A hash without
//! fields does not exist: the last field takes the key with it. All functions fail with WRONGTYPE where the key holds another
//! type, and with store errors and corrupt records.

use super::draw::{self, Draw};
use crate::db::Db;
use crate::error::{Error, Result, texts};
use crate::layout::{Collection, FieldValue, KeyAt, Kind, Meta, RecordKey};
use crate::number::{LongDouble, parse_i64};
use crate::scan::{self, Filter, Positions, Step};
use crate::store::Direction;
use crate::transaction::Scan;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const VALUE_NOT_AN_INTEGER: Error = Error::client("ERR hash value is not an integer");
pub(crate) const VALUE_NOT_A_FLOAT: Error = Error::client("ERR hash value is not a float");

/// How many fields the hash has; 0 where there is none.
///
/// # Errors
/// See the module.
pub fn len(db: &mut Db, at: &KeyAt) -> Result<u64> {
    Ok(find(db, at)?.map_or(0, |(_, hash)| hash.count))
}

/// The value of a field; `None` where there is no such field or no hash.
///
/// # Errors
/// See the module.
pub fn get(db: &mut Db, at: &KeyAt, field: &[u8]) -> Result<Option<Bytes>> {
    let Some((_, hash)) = find(db, at)? else { return Ok(None) };
    let (keyspace, key) = db.layout.field(at, hash.version, field);
    let value = db.transaction.get(keyspace, &key)?;
    value.map(|value| decode(db, &key, &value)).transpose()
}

/// The values of several fields in one read, in their order.
///
/// # Errors
/// See the module.
pub fn get_many(db: &mut Db, at: &KeyAt, fields: &[Bytes]) -> Result<Vec<Option<Bytes>>> {
    let Some((_, hash)) = find(db, at)? else { return Ok(vec![None; fields.len()]) };
    let records: Vec<RecordKey> = fields.iter().map(|field| db.layout.field(at, hash.version, field)).collect();
    let values = db.transaction.get_many(&records)?;
    let decode = |key: &Bytes, value: Option<Bytes>| value.map(|value| decode(db, key, &value)).transpose();
    records.iter().zip(values).map(|((_, key), value)| decode(key, value)).collect()
}

/// Hands every field with its value to `visit`, in byte order of the fields.
///
/// # Errors
/// See the module.
pub fn each(db: &mut Db, at: &KeyAt, mut visit: impl FnMut(&Bytes, &Bytes)) -> Result<()> {
    let Some((_, hash)) = find(db, at)? else { return Ok(()) };
    let mut scan = fields(db, at, hash, hash.count);
    while let Some((key, value)) = db.transaction.next(&mut scan)? {
        visit(&db.layout.decode_field(&key)?, &decode(db, &key, &value)?);
    }
    Ok(())
}

/// Sets fields, the last value of a field that comes more than once. Returns how many fields are new.
///
/// # Errors
/// See the module.
pub fn set(db: &mut Db, at: &KeyAt, pairs: &[(Bytes, Bytes)]) -> Result<u64> {
    let (old, hash) = find_or_new(db, at)?;
    let latest: BTreeMap<&Bytes, &Bytes> = pairs.iter().map(|(field, value)| (field, value)).collect();
    let records: Vec<RecordKey> = latest.keys().map(|field| db.layout.field(at, hash.version, field)).collect();
    let added = records.len() - if old.is_some() { present(db, &records)?.len() } else { 0 };
    for ((keyspace, key), value) in records.into_iter().zip(latest.into_values()) {
        db.transaction.put(keyspace, key, encode(db, value))?;
    }
    let added = u64::try_from(added).unwrap_or(u64::MAX);
    write(db, at, old.as_ref(), Collection { count: hash.count.saturating_add(added), ..hash })?;
    Ok(added)
}

/// Sets a field that does not exist. False where it does: nothing is changed then.
///
/// # Errors
/// See the module.
pub fn set_new(db: &mut Db, at: &KeyAt, field: Bytes, value: Bytes) -> Result<bool> {
    if get(db, at, &field)?.is_some() {
        return Ok(false);
    }
    set(db, at, &[(field, value)])?;
    Ok(true)
}

/// Removes fields, and the key with the last one. Returns how many there were; a field that comes twice counts once.
///
/// # Errors
/// See the module.
pub fn remove(db: &mut Db, at: &KeyAt, fields: &[Bytes]) -> Result<u64> {
    let Some((old, hash)) = find(db, at)? else { return Ok(0) };
    let distinct: BTreeSet<&Bytes> = fields.iter().collect();
    let records: Vec<RecordKey> = distinct.into_iter().map(|field| db.layout.field(at, hash.version, field)).collect();
    let present = present(db, &records)?;
    let removed = u64::try_from(present.len()).unwrap_or(u64::MAX);
    if removed == 0 {
        return Ok(0);
    }
    for (keyspace, key) in present {
        db.transaction.delete(keyspace, key)?;
    }
    write(db, at, Some(&old), Collection { count: hash.count.saturating_sub(removed), ..hash })?;
    Ok(removed)
}

/// Adds to the 64-bit integer in a field and returns the sum; an absent field counts as 0.
///
/// # Errors
/// See the module; `ERR hash value is not an integer`, `ERR increment or decrement would overflow`.
pub fn add_integer(db: &mut Db, at: &KeyAt, field: Bytes, increment: i64) -> Result<i64> {
    let value = get(db, at, &field)?;
    let number = value.map_or(Ok(0), |value| parse_i64(&value).ok_or(VALUE_NOT_AN_INTEGER))?;
    let sum = number.checked_add(increment).ok_or(texts::OVERFLOW)?;
    set(db, at, &[(field, sum.to_string().into())])?;
    Ok(sum)
}

/// Adds to the number in a field and returns the sum as it is stored; an absent field counts as 0. Numbers are those of
/// [`LongDouble`].
///
/// # Errors
/// See the module; `ERR hash value is not a float`, `ERR increment would produce NaN or Infinity`.
pub fn add_float(db: &mut Db, at: &KeyAt, field: Bytes, increment: LongDouble) -> Result<Bytes> {
    let value = get(db, at, &field)?;
    let number = value.map_or(Ok(LongDouble::ZERO), |value| LongDouble::parse(&value).ok_or(VALUE_NOT_A_FLOAT))?;
    let sum = number + increment;
    if sum.is_nan() || sum.is_infinite() {
        return Err(texts::NOT_FINITE);
    }
    let text = Bytes::from(sum.format_human());
    set(db, at, &[(field, text.clone())])?;
    Ok(text)
}

/// Hands fields drawn at random, each with the same probability, to `visit`, with their values; none where there is no hash. What
/// it costs: see [`draw`].
///
/// # Errors
/// See the module, and [`draw::records`].
pub fn random(db: &mut Db, at: &KeyAt, draw: Draw, mut visit: impl FnMut(&Bytes, &Bytes)) -> Result<()> {
    let Some((_, hash)) = find(db, at)? else { return Ok(()) };
    let (layout, range) = (db.layout, db.layout.fields(at, hash.version));
    draw::records(db, &range, hash.count, draw, &mut |key, value| {
        visit(&layout.decode_field(key)?, &layout.decode_field_value(key, value)?.value);
        Ok(())
    })
}

/// One step over the fields, with their values: [HSCAN](https://redis.io/docs/latest/commands/hscan/).
///
/// # Errors
/// See the module.
pub fn scan(db: &mut Db, positions: &mut Positions, at: &KeyAt, cursor: u64, filter: &Filter) -> Result<Step<(Bytes, Bytes)>> {
    let Some((_, hash)) = find(db, at)? else { return Ok(Step::over()) };
    let range = db.layout.fields(at, hash.version);
    let visited = scan::records(db.transaction, positions, range, cursor, filter.count)?;
    let mut step = Step { elements: Vec::new(), cursor: visited.cursor };
    for (key, value) in &visited.elements {
        let field = db.layout.decode_field(key)?;
        if filter.takes(&field) {
            step.elements.push((field, decode(db, key, value)?));
        }
    }
    Ok(step)
}

fn find(db: &mut Db, at: &KeyAt) -> Result<Option<(Meta, Collection)>> {
    db.find_collection(at, Kind::Hash)
}

/// The hash with its meta, or the head of a new one.
fn find_or_new(db: &mut Db, at: &KeyAt) -> Result<(Option<Meta>, Collection)> {
    match find(db, at)? {
        Some((old, hash)) => Ok((Some(old), hash)),
        None => Ok((None, db.new_collection(Kind::Hash, None)?)),
    }
}

/// Stores the head after fields have changed: for watchers only where its count is the same.
fn write(db: &mut Db, at: &KeyAt, old: Option<&Meta>, hash: Collection) -> Result<()> {
    if old.and_then(Meta::collection) == Some(hash) {
        return Ok(db.transaction.touch(&at.lock_key())?);
    }
    db.write_collection(at, old, hash)
}

/// A scan over the fields, of which about `expected` will be read.
fn fields(db: &Db, at: &KeyAt, hash: Collection, expected: u64) -> Scan {
    let (keyspace, range) = db.layout.fields(at, hash.version);
    Scan::new(keyspace, range, Direction::Forward, usize::try_from(expected).unwrap_or(usize::MAX))
}

/// Those of the records that exist.
fn present(db: &mut Db, records: &[RecordKey]) -> Result<Vec<RecordKey>> {
    let values = db.transaction.get_many(records)?;
    Ok(records.iter().zip(values).filter(|(_, value)| value.is_some()).map(|(record, _)| record.clone()).collect())
}

fn encode(db: &Db, value: &Bytes) -> Bytes {
    db.layout.encode_field_value(&FieldValue { expire_at_ms: None, value: value.clone() })
}

fn decode(db: &Db, key: &[u8], value: &Bytes) -> Result<Bytes> {
    Ok(db.layout.decode_field_value(key, value)?.value)
}
