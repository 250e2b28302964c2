//! Buckets: what both drafts do with them.

use crate::bindings::orbweaver::engine::{control, keys, strings};
use crate::{Error, Result};
use std::cell::Cell;

/// The db of all buckets.
pub(crate) const DB: u32 = 0;

/// Between a bucket's identifier and a key.
const SEPARATOR: char = ':';

/// How often [`Bucket::increment_unsigned`] begins again because others changed the key.
const ATTEMPTS: u32 = 100;

const ALWAYS: strings::SetOptions = strings::SetOptions { condition: strings::Condition::Always, expiry: strings::Expiry::Never };

/// An open bucket.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// What its keys begin with in the engine.
    pub(crate) prefix: String,
}

impl Bucket {
    /// Opens a bucket. It holds nothing, and need not be made: each one that can be named is there.
    ///
    /// # Errors
    /// [`Error::NoSuchStore`] for an identifier with a colon; [`Error::Other`] where the engine does not open.
    pub fn open(identifier: &str) -> Result<Self> {
        if identifier.contains(SEPARATOR) {
            return Err(Error::NoSuchStore);
        }
        open_engine()?;
        Ok(Self::named(identifier))
    }

    fn named(identifier: &str) -> Self {
        Self { prefix: if identifier.is_empty() { String::new() } else { format!("{identifier}{SEPARATOR}") } }
    }

    /// The key's name in the engine.
    pub(crate) fn name(&self, key: &str) -> Vec<u8> {
        [self.prefix.as_bytes(), key.as_bytes()].concat()
    }

    fn names(&self, keys: &[String]) -> Vec<Vec<u8>> {
        keys.iter().map(|key| self.name(key)).collect()
    }

    /// The value of a key; none for an absent one.
    ///
    /// # Errors
    /// As in the engine's `strings`, also in what follows.
    pub fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        Ok(strings::get(DB, &self.name(key))?)
    }

    /// Stores a value, for ever, over whatever the key holds.
    pub fn set(&self, key: &str, value: &[u8]) -> Result<()> {
        strings::set(DB, &self.name(key), value, ALWAYS)?;
        Ok(())
    }

    /// Removes a key, of whatever type, where it exists.
    pub fn delete(&self, key: &str) -> Result<()> {
        keys::delete(DB, &[self.name(key)])?;
        Ok(())
    }

    /// Whether there is such a key, of whatever type.
    pub fn exists(&self, key: &str) -> Result<bool> {
        Ok(keys::exists(DB, &[self.name(key)])? > 0)
    }

    /// The keys with their values as they are at one moment.
    pub fn get_many(&self, keys: Vec<String>) -> Result<Vec<(String, Option<Vec<u8>>)>> {
        let found = strings::get_many(DB, &self.names(&keys))?;
        let mut absent = found.absent.into_iter().peekable();
        let values = crate::listing::pieces(&found.blobs).zip(0..).map(|(value, position)| {
            let is_absent = absent.next_if_eq(&position).is_some();
            (!is_absent).then(|| value.to_vec())
        });
        Ok(keys.into_iter().zip(values).collect())
    }

    /// Stores all values or none; of several for one key the last.
    pub fn set_many(&self, pairs: Vec<(String, Vec<u8>)>) -> Result<()> {
        let pairs: Vec<_> = pairs.into_iter().map(|(key, value)| (self.name(&key), value)).collect();
        strings::set_many(DB, &pairs, strings::Condition::Always)?;
        Ok(())
    }

    /// Removes all of the keys that exist, or none.
    pub fn delete_many(&self, keys: &[String]) -> Result<()> {
        keys::delete(DB, &self.names(keys))?;
        Ok(())
    }

    /// Adds to the integer in decimal digits that the key holds, and returns the sum; an absent key counts as 0.
    pub fn increment(&self, key: &str, delta: i64) -> Result<i64> {
        Ok(strings::increment(DB, &self.name(key), delta)?)
    }

    /// As [`Bucket::increment`] for 0 to 2^64 - 1. The engine's integers have a sign, so that this one is read and replaced.
    pub fn increment_unsigned(&self, key: &str, delta: u64) -> Result<u64> {
        for _ in 0..ATTEMPTS {
            let value = self.get(key)?;
            let sum = unsigned(value.as_deref())?.checked_add(delta).ok_or(Error::other("the sum does not fit 64 bits"))?;
            if self.replace(key, value.as_deref(), sum.to_string().as_bytes())? {
                return Ok(sum);
            }
        }
        Err(Error::other("others changed the key again and again: try again later"))
    }

    /// Puts a value in the place of the one that is expected, none for an absent key; false where there is another one.
    pub fn replace(&self, key: &str, expected: Option<&[u8]>, value: &[u8]) -> Result<bool> {
        Ok(strings::compare_and_set(DB, &self.name(key), expected, Some(value))?)
    }
}

/// Opens the engine, once, and only where nobody else in the composition has done so.
fn open_engine() -> Result<()> {
    thread_local! {
        static IS_OPEN: Cell<bool> = const { Cell::new(false) };
    }
    if !IS_OPEN.get() {
        let is_open = keys::exists(DB, &[]).is_ok();
        if !is_open {
            control::open(&[]).map_err(Error::Other)?;
        }
        IS_OPEN.set(true);
    }
    Ok(())
}

/// Digits as the engine writes them, without a plus or leading zeros; 0 for an absent key.
fn unsigned(value: Option<&[u8]>) -> Result<u64> {
    let Some(value) = value else { return Ok(0) };
    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<u64>().ok());
    let number = number.filter(|number| number.to_string().as_bytes() == value);
    number.ok_or(Error::other("the value is not an integer from 0 to 2^64 - 1 in decimal digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_the_keys_behind_its_identifier_and_a_colon() {
        assert_eq!(Bucket::named("").name("users:ada"), b"users:ada");
        assert_eq!(Bucket::named("users").name("ada"), b"users:ada");
        assert!(matches!(Bucket::open("users:ada"), Err(Error::NoSuchStore)));
    }

    #[test]
    fn only_plain_digits_are_a_counter() {
        assert_eq!(unsigned(None), Ok(0));
        assert_eq!(unsigned(Some(b"18446744073709551615")), Ok(u64::MAX));
        for value in ["", "-1", "+1", "01", " 1", "1.0", "18446744073709551616"] {
            assert!(unsigned(Some(value.as_bytes())).is_err(), "{value}");
        }
    }
}
