//! Reads and puts of records past what a transaction knows: for who asks for each record once, keeps its own changes in mind until all are known,
//! and then puts or deletes each record once.

use super::expected::Expected;
use super::{Censuses, MAX_KEPT_BATCH_BYTES, Memory, Opened, Transaction};
use crate::few::Few;
use crate::store::{Batch, Keyspace, Limits, Store, StoreError, Values};
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
    /// Shows the value of each of the keys, `None` where there is no record.
    ///
    /// # Errors
    /// As [`Values::each`].
    #[inline]
    pub fn for_each<'v>(&'v self, keys: usize, mut show: impl FnMut(Option<&'v [u8]>)) -> Result<(), StoreError> {
        match self {
            Self::One(value) => show(value.as_deref()),
            Self::Several(values) => values.each(keys)?.for_each(show),
        }
        Ok(())
    }
}

impl Transaction<'_> {
    /// The lock keys that the transaction was begun with, in their order, each once. None of one that only reads.
    #[must_use]
    pub fn lock_keys(&self) -> &[Bytes] {
        &self.lock_keys
    }

    /// Which of them was given at that position of the scope.
    #[must_use]
    pub fn position_of_given(&self, position: usize) -> usize {
        self.expected.number(position).unwrap_or(position)
    }

    /// What the store takes.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The values of some keys, as they were when the transaction began. They lie one behind the other, each up to its end, the last one up to
    /// the end of the bytes.
    ///
    /// # Errors
    /// What [`Store::get_adjacent`] returns.
    pub fn read_straight(&mut self, keyspace: Keyspace, keys: &[u8], ends: &[u32]) -> Result<Found, StoreError> {
        match ends {
            [_] => Ok(Found::One(self.store.get(keyspace, keys)?)),
            ends => Ok(Found::Several(self.store.get_adjacent(keyspace, keys, ends)?)),
        }
    }

    /// As [`Transaction::read_straight`], of the keys that are the lock keys.
    ///
    /// # Errors
    /// What [`Store::get_many`] returns.
    pub fn read_at_lock_keys(&mut self, keyspace: Keyspace) -> Result<Found, StoreError> {
        if let [key] = self.lock_keys.as_slice() {
            return Ok(Found::One(self.store.get(keyspace, key)?));
        }
        let keys: Few<(Keyspace, &[u8])> = self.lock_keys.iter().map(|key| (keyspace, key.as_ref())).collect();
        Ok(Found::Several(self.store.get_many(&keys)?))
    }

    /// Makes room for about so many changes, of so many bytes together.
    pub fn expect_changes(&mut self, changes: usize, bytes: usize) {
        self.memory.batch.reserve(changes, bytes.min(MAX_KEPT_BATCH_BYTES));
    }

    /// Notes that what belongs to the lock key at that position changes.
    pub fn touch_at(&mut self, position: usize) {
        self.memory.touched.extend(u32::try_from(position).ok());
    }

    /// As [`Transaction::put_straight`], under the lock key at that position.
    ///
    /// # Errors
    /// As [`Transaction::put_straight`].
    pub fn put_at_lock_key(&mut self, keyspace: Keyspace, position: usize, value: impl FnOnce(&mut Vec<u8>)) -> Result<(), StoreError> {
        let Some(key) = self.lock_keys.get(position) else { return Err(StoreError::ReadOnly) };
        put(&mut self.memory.batch, &mut self.censuses, keyspace, [key], value)
    }

    /// As [`Transaction::delete_straight`], under the lock key at that position.
    ///
    /// # Errors
    /// As [`Transaction::delete_straight`].
    pub fn delete_at_lock_key(&mut self, keyspace: Keyspace, position: usize) -> Result<(), StoreError> {
        let Some(key) = self.lock_keys.get(position) else { return Err(StoreError::ReadOnly) };
        self.memory.batch.delete_with(keyspace, [key])
    }

    /// As [`Transaction::put_straight`], of an empty record under a key that ends with the lock key at that position.
    ///
    /// # Errors
    /// As [`Transaction::put_straight`].
    pub fn put_ending_with_lock_key(&mut self, keyspace: Keyspace, front: [u8; 8], position: usize) -> Result<(), StoreError> {
        let Some(key) = self.lock_keys.get(position) else { return Err(StoreError::ReadOnly) };
        put(&mut self.memory.batch, &mut self.censuses, keyspace, [&front, key], |_| {})
    }

    /// As [`Transaction::delete_straight`], under a key that ends with the lock key at that position.
    ///
    /// # Errors
    /// As [`Transaction::delete_straight`].
    pub fn delete_ending_with_lock_key(&mut self, keyspace: Keyspace, front: [u8; 8], position: usize) -> Result<(), StoreError> {
        let Some(key) = self.lock_keys.get(position) else { return Err(StoreError::ReadOnly) };
        self.memory.batch.delete_with(keyspace, [&front, key])
    }

    /// Puts a record that is put only once, under a key of these pieces. `value` appends its value.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] above 4 GiB.
    pub fn put_straight<const N: usize>(
        &mut self,
        keyspace: Keyspace,
        key: [&[u8]; N],
        value: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), StoreError> {
        put(&mut self.memory.batch, &mut self.censuses, keyspace, key, value)
    }

    /// Notes that a record is put under a key of these pieces, which lies in a head.
    pub fn note_put<const N: usize>(&mut self, keyspace: Keyspace, key: [&[u8]; N]) {
        if let Some(censuses) = self.censuses.as_mut().filter(|censuses| !censuses.is_empty()) {
            censuses.note_put(keyspace, &key.concat());
        }
    }

    /// Deletes a record that is not put, under a key of these pieces.
    ///
    /// # Errors
    /// As [`Transaction::put_straight`].
    pub fn delete_straight<const N: usize>(&mut self, keyspace: Keyspace, key: [&[u8]; N]) -> Result<(), StoreError> {
        self.memory.batch.delete_with(keyspace, key)
    }
}

/// A transaction that is open, for who goes on with it by [`Transaction::resume`].
#[derive(Debug)]
pub struct Parked {
    lock_keys: Vec<Bytes>,
    expected: Expected,
    exclusive: bool,
    read_only: bool,
    epoch: u64,
    limits: Limits,
    memory: Box<Memory>,
}

impl<'s> Transaction<'s> {
    /// Lets go of the store without an end of the transaction, in which nothing has been put. What was read under these keys stays known. Whoever has
    /// it must resume it.
    ///
    /// # Errors
    /// As [`Values::of_each`].
    pub fn park(mut self, keyspace: Keyspace, keys: Vec<Bytes>, found: Found) -> Result<Parked, StoreError> {
        let (one, several) = match found {
            Found::One(value) => (Some(value), None),
            Found::Several(values) => (None, Some(values.of_each(keys.len())?)),
        };
        for (key, value) in keys.into_iter().zip(one.into_iter().chain(several.into_iter().flatten())) {
            self.memory.overlay.entries.keep(None, keyspace, key, value);
        }
        self.store.is_open = false;
        let Self { lock_keys, expected, exclusive, read_only, epoch, limits, memory, .. } = self;
        Ok(Parked { lock_keys, expected, exclusive, read_only, epoch, limits, memory })
    }

    /// Goes on with a transaction that is open on the store.
    #[must_use]
    pub fn resume(store: &'s mut dyn Store, parked: Parked) -> Self {
        let Parked { lock_keys, expected, exclusive, read_only, epoch, limits, memory } = parked;
        let store = Opened { store, is_open: true };
        Self { store, lock_keys, expected, exclusive, read_only, epoch, limits, keeps_reads: true, memory, censuses: None }
    }
}

fn put<const N: usize>(
    batch: &mut Batch,
    censuses: &mut Option<&mut Censuses>,
    keyspace: Keyspace,
    key: [&[u8]; N],
    value: impl FnOnce(&mut Vec<u8>),
) -> Result<(), StoreError> {
    let key = batch.put_with(keyspace, key, value)?;
    if let Some(censuses) = censuses {
        censuses.note_put(keyspace, key);
    }
    Ok(())
}
