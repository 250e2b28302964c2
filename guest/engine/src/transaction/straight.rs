//! Reads and puts of records past what a transaction knows: for who asks for each record once, keeps its own changes in mind until all are known,
//! and then puts each record once, in their order.

use super::{Opened, Transaction};
use crate::store::{Keyspace, Limits, StoreError, Values};
use bytes::Bytes;

/// The values of several keys.
#[derive(Debug)]
pub enum Found {
    /// That of one key.
    One(Option<Bytes>),
    /// Those of all keys.
    Several(Values),
}

impl Found {
    /// The value of each of the keys, `None` where there is no record.
    ///
    /// # Errors
    /// As [`Values::each`].
    pub fn each(&self, keys: usize) -> Result<impl Iterator<Item = Option<&[u8]>>, StoreError> {
        let (one, several) = match self {
            Self::One(value) => (Some(value.as_deref()), None),
            Self::Several(values) => (None, Some(values.each(keys)?)),
        };
        Ok(one.into_iter().chain(several.into_iter().flatten()))
    }
}

impl Transaction<'_> {
    /// How many lock keys the transaction was begun with, of which each counts once. None of one that only reads.
    #[must_use]
    pub fn lock_keys(&self) -> usize {
        self.lock_keys.len()
    }

    /// Which of them, in their order, was given at that position of the scope.
    #[must_use]
    pub fn position_of_given(&self, position: usize) -> usize {
        self.expected.number(position).unwrap_or(position)
    }

    /// What the store takes.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The values of some keys, as they were when the transaction began.
    ///
    /// # Errors
    /// What [`Store::get_many`](crate::store::Store::get_many) returns.
    pub fn read_straight<'k>(&mut self, keyspace: Keyspace, keys: impl ExactSizeIterator<Item = &'k [u8]>) -> Result<Found, StoreError> {
        read(&mut self.store, keyspace, keys)
    }

    /// As [`Transaction::read_straight`], of the keys that are the lock keys.
    ///
    /// # Errors
    /// As [`Transaction::read_straight`].
    pub fn read_at_lock_keys(&mut self, keyspace: Keyspace) -> Result<Found, StoreError> {
        read(&mut self.store, keyspace, self.lock_keys.iter().map(Bytes::as_ref))
    }

    /// Puts a record, behind those put before, under the lock key at that position. `write` appends its value; `None`: it has that already.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] above 4 GiB.
    pub fn put_straight(&mut self, keyspace: Keyspace, position: usize, write: Option<impl FnOnce(&mut Vec<u8>)>) -> Result<(), StoreError> {
        let (Some(key), Ok(touched)) = (self.lock_keys.get(position), position.try_into()) else { return Err(StoreError::ReadOnly) };
        if let Some(censuses) = &mut self.censuses {
            censuses.note_put(keyspace, key);
        }
        self.memory.touched.push(touched);
        write.map_or(Ok(()), |write| self.memory.batch.put_with(keyspace, key, write))
    }
}

fn read<'k>(store: &mut Opened<'_>, keyspace: Keyspace, keys: impl ExactSizeIterator<Item = &'k [u8]>) -> Result<Found, StoreError> {
    let (count, mut keys) = (keys.len(), keys);
    if count == 1
        && let Some(key) = keys.next()
    {
        return Ok(Found::One(store.get(keyspace, key)?));
    }
    Ok(Found::Several(store.get_many(&keys.map(|key| (keyspace, key)).collect::<Vec<_>>())?))
}
