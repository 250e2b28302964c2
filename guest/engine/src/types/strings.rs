//! Strings: values of any bytes up to `proto-max-bulk-len`, and the numbers written in them.
//!
//! All functions take a key by its place ([`crate::db::Db::at`]), return `WRONGTYPE` where it holds another type unless they say
//! otherwise, and pass on store errors and corrupt records. See <https://redis.io/docs/latest/commands/?group=string>.

use crate::db::Db;
use crate::error::{Result, texts};
use crate::events::Classes;
use crate::layout::{Body, KeyAt, Kind, Meta};
use crate::number::{LongDouble, format_i64, parse_i64};
use bytes::{Bytes, BytesMut};

/// When a write takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Whatever is there.
    Always,
    /// The key is absent (`NX`).
    IfAbsent,
    /// The key is there, of whatever type (`XX`).
    IfPresent,
}

impl Condition {
    /// Whether it holds for a key under which there is something, or nothing.
    #[must_use]
    pub const fn holds(self, is_there: bool) -> bool {
        match self {
            Self::Always => true,
            Self::IfAbsent => !is_there,
            Self::IfPresent => is_there,
        }
    }
}

/// What becomes of a key's expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// The key stays for ever.
    Never,
    /// As it was; a new key has none.
    Keep,
    /// Unix time in milliseconds. The key is gone once the clock is past it, which may be at once.
    At(u64),
}

impl Expiry {
    fn after(self, old: Option<&Meta>) -> Option<u64> {
        match self {
            Self::Never => None,
            Self::Keep => old.and_then(|old| old.expire_at_ms),
            Self::At(at_ms) => Some(at_ms),
        }
    }
}

/// The value; `None` for an absent key.
///
/// # Errors
/// See the module.
pub fn get(db: &mut Db, at: &KeyAt) -> Result<Option<Bytes>> {
    let Some(meta) = db.find_in_place_of(at, Kind::String)? else {
        db.notify_miss(at);
        return Ok(None);
    };
    match meta.body {
        Body::String(value) => Ok(Some(value)),
        Body::Collection(_) => Err(texts::WRONG_TYPE),
    }
}

/// The value; `None` for an absent key and for one of another type (MGET).
///
/// # Errors
/// See the module.
pub fn get_if_string(db: &mut Db, at: &KeyAt) -> Result<Option<Bytes>> {
    let found = db.find_in_place_of(at, Kind::String)?;
    if found.is_none() {
        db.notify_miss(at);
    }
    Ok(found.and_then(|meta| match meta.body {
        Body::String(value) => Some(value),
        Body::Collection(_) => None,
    }))
}

/// Stores a value in the place of whatever is there. False where the condition does not hold: then nothing changes.
///
/// # Errors
/// The value is too long; never `WRONGTYPE`.
pub fn set(db: &mut Db, at: &KeyAt, value: Bytes, condition: Condition, expiry: Expiry) -> Result<bool> {
    let old = db.find_in_place_of(at, Kind::String)?;
    replace(db, at, old.as_ref(), value, condition, expiry)
}

/// As [`set`], and returns the value from before, `None` if there was none, whether the condition holds or not (`SET` with `GET`).
///
/// # Errors
/// The value is too long, or see the module.
pub fn get_and_set(db: &mut Db, at: &KeyAt, value: Bytes, condition: Condition, expiry: Expiry) -> Result<Option<Bytes>> {
    let (old, old_value) = db.find_string(at)?.unzip();
    if old.is_none() {
        db.notify_miss(at);
    }
    replace(db, at, old.as_ref(), value, condition, expiry)?;
    Ok(old_value)
}

fn replace(db: &mut Db, at: &KeyAt, old: Option<&Meta>, value: Bytes, condition: Condition, expiry: Expiry) -> Result<bool> {
    let holds = condition.holds(old.is_some());
    if holds {
        db.write_string(at, old, value, expiry.after(old))?;
        db.notify(Classes::STRING, "set", at);
        if matches!(expiry, Expiry::At(_)) {
            db.notify(Classes::GENERIC, "expire", at);
        }
    }
    Ok(holds)
}

/// Stores several strings, without expiry. False, and nothing changed, where the condition does not hold for one of the keys (MSETNX).
/// Where a key comes more than once, its last value stays.
///
/// # Errors
/// A string would be too long; store errors, corrupt records.
pub fn set_many(db: &mut Db, pairs: &[(KeyAt, Bytes)], condition: Condition) -> Result<bool> {
    if condition != Condition::Always {
        for (at, _) in pairs {
            if !condition.holds(db.find_in_place_of(at, Kind::String)?.is_some()) {
                return Ok(false);
            }
        }
    }
    for (at, value) in pairs {
        set(db, at, value.clone(), Condition::Always, Expiry::Never)?;
    }
    Ok(true)
}

/// Removes a string and returns its value; `None` for an absent key (GETDEL).
///
/// # Errors
/// See the module.
pub fn take(db: &mut Db, at: &KeyAt) -> Result<Option<Bytes>> {
    let Some((old, value)) = db.find_string(at)? else {
        db.notify_miss(at);
        return Ok(None);
    };
    db.delete(at, &old)?;
    Ok(Some(value))
}

/// What a comparison of a string with an expected value has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The value is the expected one.
    Equal,
    /// The value is another.
    Different,
    /// There is no key.
    Absent,
}

/// Stores a value in the place of the expected one. Nothing changes where another is there, or none (Blackwidow's Setvx).
///
/// # Errors
/// The value is too long, or see the module.
pub fn compare_and_set(db: &mut Db, at: &KeyAt, expected: &[u8], value: Bytes, expiry: Expiry) -> Result<Comparison> {
    let (old, comparison) = compare(db, at, expected)?;
    if comparison == Comparison::Equal {
        replace(db, at, old.as_ref(), value, Condition::Always, expiry)?;
    }
    Ok(comparison)
}

/// Removes a string that is the expected one. Nothing changes where another is there (Blackwidow's Delvx).
///
/// # Errors
/// See the module.
pub fn compare_and_remove(db: &mut Db, at: &KeyAt, expected: &[u8]) -> Result<Comparison> {
    let (old, comparison) = compare(db, at, expected)?;
    if let (Some(old), Comparison::Equal) = (&old, comparison) {
        db.delete(at, old)?;
    }
    Ok(comparison)
}

fn compare(db: &mut Db, at: &KeyAt, expected: &[u8]) -> Result<(Option<Meta>, Comparison)> {
    Ok(match db.find_string(at)? {
        None => (None, Comparison::Absent),
        Some((old, value)) if value == expected => (Some(old), Comparison::Equal),
        Some((old, _)) => (Some(old), Comparison::Different),
    })
}

/// Adds `tail` to the end of a string and returns the new length; an absent key counts as empty. The expiry stays.
///
/// # Errors
/// The string would be too long, or see the module.
pub fn append(db: &mut Db, at: &KeyAt, tail: &Bytes) -> Result<usize> {
    let Some((old, value)) = db.find_string(at)? else {
        update_text(db, at, None, tail.clone(), "append")?;
        return Ok(tail.len());
    };
    let length = length_within_limit(db, value.len(), tail.len())?;
    let mut joined = BytesMut::with_capacity(length);
    joined.extend_from_slice(&value);
    joined.extend_from_slice(tail);
    update_text(db, at, Some(&old), joined.freeze(), "append")?;
    Ok(length)
}

/// Writes `patch` over a string from `offset` on and returns the new length. What is missing before `offset` is filled with zero
/// bytes; an absent key counts as empty. Nothing changes where `patch` is empty. The expiry stays.
///
/// # Errors
/// The string would be too long, or see the module.
pub fn set_range(db: &mut Db, at: &KeyAt, offset: u64, patch: &[u8]) -> Result<usize> {
    let (old, value) = db.find_string(at)?.unzip();
    let value = value.unwrap_or_default();
    if patch.is_empty() {
        return Ok(value.len());
    }
    let offset = usize::try_from(offset).map_err(|_| texts::STRING_TOO_LONG)?;
    let end = length_within_limit(db, offset, patch.len())?;
    let length = end.max(value.len());
    let mut patched = BytesMut::with_capacity(length);
    patched.extend_from_slice(value.get(..offset).unwrap_or(&value));
    patched.resize(offset, 0);
    patched.extend_from_slice(patch);
    patched.extend_from_slice(value.get(end..).unwrap_or_default());
    update_text(db, at, old.as_ref(), patched.freeze(), "setrange")?;
    Ok(length)
}

/// The part of `value` from `start` to `end`, both included. Negative positions count from the end (-1 is the last byte); what is
/// outside of the value is left out (GETRANGE).
#[must_use]
pub fn range(value: &Bytes, start: i64, end: i64) -> Bytes {
    if start < 0 && end < 0 && start > end {
        return Bytes::new();
    }
    let length = i64::try_from(value.len()).unwrap_or(i64::MAX);
    let from_start = |position: i64| if position < 0 { position.saturating_add(length).max(0) } else { position };
    let first = usize::try_from(from_start(start)).unwrap_or(usize::MAX);
    let behind = usize::try_from(from_start(end)).unwrap_or(usize::MAX).saturating_add(1).min(value.len());
    if first < behind { value.slice(first..behind) } else { Bytes::new() }
}

/// Adds to the integer in a string and returns the sum; an absent key counts as 0. The expiry stays (INCRBY).
///
/// # Errors
/// The value is no 64-bit integer, or the sum would be none; or see the module.
pub fn add(db: &mut Db, at: &KeyAt, increment: i64) -> Result<i64> {
    let (old, value) = db.find_string(at)?.unzip();
    let sum = sum(value.as_deref(), increment)?;
    update(db, at, old.as_ref(), format_i64(sum), "incrby")?;
    Ok(sum)
}

/// The sum of the integer in a string, 0 where there is none, and another one.
///
/// # Errors
/// The value is no 64-bit integer, or the sum would be none.
pub fn sum(value: Option<&[u8]>, increment: i64) -> Result<i64> {
    let number = value.map_or(Ok(0), |value| parse_i64(value).ok_or(texts::NOT_AN_INTEGER))?;
    number.checked_add(increment).ok_or(texts::OVERFLOW)
}

/// Adds to the number in a string and returns the sum as it is stored; an absent key counts as 0. The expiry stays (INCRBYFLOAT).
/// `increment` is the number's text: it is read after the value, as Redis does.
///
/// # Errors
/// One of the two is no number, or the sum is not finite; or see the module.
pub fn add_float(db: &mut Db, at: &KeyAt, increment: &[u8]) -> Result<Bytes> {
    let (old, value) = db.find_string(at)?.unzip();
    let parse = |text: &[u8]| LongDouble::parse(text).ok_or(texts::NOT_A_FLOAT);
    let number = value.map_or(Ok(LongDouble::ZERO), |value| parse(&value))?;
    let sum = number + parse(increment)?;
    if sum.is_nan() || sum.is_infinite() {
        return Err(texts::NOT_FINITE);
    }
    let text = Bytes::from(sum.format_human());
    update(db, at, old.as_ref(), text.clone(), "incrbyfloat")?;
    Ok(text)
}

/// Stores a changed value, with the expiry of the old one, and tells the event.
pub(super) fn update(db: &mut Db, at: &KeyAt, old: Option<&Meta>, value: Bytes, event: &'static str) -> Result<()> {
    db.write_string(at, old, value, Expiry::Keep.after(old))?;
    db.notify(Classes::STRING, event, at);
    Ok(())
}

/// As [`update`], for what is not to be taken for a number.
pub(super) fn update_text(db: &mut Db, at: &KeyAt, old: Option<&Meta>, value: Bytes, event: &'static str) -> Result<()> {
    update(db, at, old, value, event)?;
    db.layout.keep_as_text(db.transaction, at)
}

/// The sum of two lengths: looked at before a string of that length is made.
fn length_within_limit(db: &Db, length: usize, more: usize) -> Result<usize> {
    let sum = length.checked_add(more).filter(|&sum| sum <= db.max_string_bytes);
    sum.ok_or(texts::STRING_TOO_LONG)
}

#[cfg(test)]
mod tests {
    use super::range;
    use bytes::Bytes;

    #[test]
    fn a_range_counts_from_both_ends_and_stays_within_the_value() {
        let value = Bytes::from_static(b"hello");
        let cases = [
            (0, 4, "hello"),
            (1, 3, "ell"),
            (-3, -2, "ll"),
            (-100, 1, "he"),
            (3, 100, "lo"),
            (5, 9, ""),
            (3, 2, ""),
            (-2, -3, ""),
            (-100, -100, "h"),
            (-100, -200, ""),
            (2, -100, ""),
            (i64::MIN, i64::MAX, "hello"),
            (i64::MAX, i64::MAX, ""),
            (i64::MIN, i64::MIN, "h"),
        ];
        for (start, end, part) in cases {
            assert_eq!(range(&value, start, end), part, "{start} to {end}");
            assert_eq!(range(&Bytes::new(), start, end), "");
        }
    }
}
