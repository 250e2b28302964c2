//! Hashes: fields with values under one key. <https://redis.io/docs/latest/commands/?group=hash>
//!
//! Fields are records of their own, read and written one by one; the count in the key's meta record is exact. A hash without
//! fields does not exist: the last field takes the key with it. All functions fail with WRONGTYPE where the key holds another
//! type, and with store errors and corrupt records.

use crate::db::Db;
use crate::environment::random_below;
use crate::error::{Error, Result, texts};
use crate::layout::{Collection, FieldValue, KeyAt, Kind, Meta, RecordKey};
use crate::number::{LongDouble, parse_i64};
use crate::scan::{self, Filter, Positions, Step};
use crate::store::Direction;
use crate::transaction::Scan;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

const VALUE_NOT_AN_INTEGER: Error = Error::client("ERR hash value is not an integer");
const VALUE_NOT_A_FLOAT: Error = Error::client("ERR hash value is not a float");

/// Most fields that [`random`] returns with repetition: what is above would only fill the memory.
const MAX_REPEATED: u64 = 1 << 20;

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

/// How many fields [`random`] draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// This many different ones, all of them where there are not so many.
    Distinct(u64),
    /// This many, each drawn from all fields.
    Repeated(u64),
}

/// Fields drawn at random, each with the same probability, with their values; none where there is no hash.
///
/// A store in byte order has no positions to jump to. So ranks are drawn, and the hash is read from its first field up to the
/// highest rank: half of it on average for a single field, nearly all of it for many. The memory needed is that of what is
/// returned.
///
/// # Errors
/// See the module; `ERR value is out of range` for more than 1,048,576 repeated draws, and where what they return would be above
/// `proto-max-bulk-len`.
pub fn random(db: &mut Db, at: &KeyAt, draw: Draw) -> Result<Vec<(Bytes, Bytes)>> {
    let Some((_, hash)) = find(db, at)? else { return Ok(Vec::new()) };
    let ranks: Vec<u64> = match draw {
        Draw::Distinct(count) if count >= hash.count => {
            let mut all = Vec::new();
            each(db, at, |field, value| all.push((field.clone(), value.clone())))?;
            return Ok(all);
        }
        Draw::Distinct(count) => distinct_ranks(db, hash.count, count).into_iter().collect(),
        Draw::Repeated(count) if count > MAX_REPEATED => return Err(texts::OUT_OF_RANGE),
        Draw::Repeated(count) => (0..count).map(|_| random_below(db.environment, hash.count)).collect(),
    };
    let by_rank = at_ranks(db, at, hash, &ranks)?;
    let drawn = || ranks.iter().filter_map(|rank| by_rank.get(rank));
    let bytes = drawn().fold(0_usize, |sum, (field, value)| sum.saturating_add(field.len() + value.len()));
    if matches!(draw, Draw::Repeated(_)) && bytes > db.max_string_bytes {
        return Err(texts::OUT_OF_RANGE);
    }
    Ok(drawn().cloned().collect())
}

/// `count` different numbers below `limit`, every set of them equally likely (Floyd's algorithm: Bentley, Programming Pearls,
/// Communications of the ACM 30/9, 1987).
fn distinct_ranks(db: &mut Db, limit: u64, count: u64) -> BTreeSet<u64> {
    let mut ranks = BTreeSet::new();
    for last in limit.saturating_sub(count)..limit {
        let rank = random_below(db.environment, last + 1);
        if !ranks.insert(rank) {
            ranks.insert(last);
        }
    }
    ranks
}

/// The fields at these positions in byte order.
fn at_ranks(db: &mut Db, at: &KeyAt, hash: Collection, ranks: &[u64]) -> Result<BTreeMap<u64, (Bytes, Bytes)>> {
    let mut found = BTreeMap::new();
    let wanted: BTreeSet<u64> = ranks.iter().copied().collect();
    let Some(&highest) = wanted.last() else { return Ok(found) };
    let mut scan = fields(db, at, hash, highest + 1);
    for rank in 0..=highest {
        let Some((key, value)) = db.transaction.next(&mut scan)? else { break };
        if wanted.contains(&rank) {
            // Copies: a slice would keep the whole page that it came with.
            let field = Bytes::copy_from_slice(&db.layout.decode_field(&key)?);
            found.insert(rank, (field, Bytes::copy_from_slice(&decode(db, &key, &value)?)));
        }
    }
    Ok(found)
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
