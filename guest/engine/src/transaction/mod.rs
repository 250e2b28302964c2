//! Transactions: everything that a group of commands reads and writes, with its own writes visible at once.
//!
//! Reads go through an *overlay* of the changes so far (also under scans, both ways, and under range deletes); records that were
//! read once are kept, so that no record crosses the boundary twice within a transaction. [`Transaction::commit`] writes the
//! overlay as one batch. [`Transaction::savepoint`] and [`Transaction::undo_to`] take back what a failed command did.

mod overlay;
mod scan;
#[cfg(test)]
mod tests;

pub use scan::Scan;

use crate::store::{KeyRange, Keyspace, Scope, Store, StoreError};
use bytes::Bytes;
use overlay::Overlay;
use std::collections::BTreeMap;

/// Most records kept by a transaction only because they were read.
const MAX_KEPT_READS: usize = 4096;

/// An open transaction on a store.
pub struct Transaction<'s> {
    store: &'s mut dyn Store,
    /// Lock keys that records may be changed of, sorted; empty in read-only and exclusive transactions.
    lock_keys: Vec<Bytes>,
    changed: Vec<bool>,
    exclusive: bool,
    read_only: bool,
    epoch: u64,
    overlay: Overlay,
    /// What was read from the store.
    reads: BTreeMap<(Keyspace, Bytes), Option<Bytes>>,
    /// Whether the store still has the transaction open.
    open: bool,
    undo: Vec<Undo>,
}

/// A point that [`Transaction::undo_to`] goes back to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint(usize);

enum Undo {
    Overlay(overlay::Step),
    Changed(usize),
}

impl<'s> Transaction<'s> {
    /// Begins a transaction. The scope's keys may come unsorted and more than once.
    ///
    /// # Errors
    /// What [`Store::begin`] returns.
    pub fn begin(store: &'s mut dyn Store, scope: Scope) -> Result<Self, StoreError> {
        let scope = match scope {
            Scope::Keys(mut keys) => {
                keys.sort_unstable();
                keys.dedup();
                Scope::Keys(keys)
            }
            other => other,
        };
        let epoch = store.begin(&scope)?;
        let (exclusive, read_only) = (scope == Scope::Exclusive, scope == Scope::Read);
        let lock_keys = match scope {
            Scope::Keys(keys) => keys,
            Scope::Read | Scope::Exclusive => Vec::new(),
        };
        let changed = vec![false; lock_keys.len()];
        let (overlay, reads, undo) = (Overlay::default(), BTreeMap::new(), Vec::new());
        Ok(Self { store, lock_keys, changed, exclusive, read_only, epoch, overlay, reads, open: true, undo })
    }

    /// The store's epoch, see [`Store::begin`].
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether records that belong to `lock_key` may be changed.
    #[must_use]
    pub fn may_change(&self, lock_key: &[u8]) -> bool {
        self.exclusive || self.position(lock_key).is_some()
    }

    /// Notes that records which belong to `lock_key` change, for watchers.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`] where the transaction did not declare the key: a mistake of the engine that must not be written.
    pub fn touch(&mut self, lock_key: &[u8]) -> Result<(), StoreError> {
        if self.exclusive {
            return Ok(());
        }
        let position = self.position(lock_key).ok_or(StoreError::ReadOnly)?;
        if let Some(changed) = self.changed.get_mut(position).filter(|changed| !**changed) {
            *changed = true;
            self.undo.push(Undo::Changed(position));
        }
        Ok(())
    }

    fn position(&self, lock_key: &[u8]) -> Option<usize> {
        self.lock_keys.binary_search_by(|key| key.as_ref().cmp(lock_key)).ok()
    }

    /// The value of `key`, as this transaction has left it.
    ///
    /// # Errors
    /// What [`Store::get`] returns.
    pub fn get(&mut self, keyspace: Keyspace, key: &Bytes) -> Result<Option<Bytes>, StoreError> {
        if let Some(known) = self.known(keyspace, key) {
            return Ok(known);
        }
        let value = self.store.get(keyspace, key)?;
        self.keep((keyspace, key.clone()), value.clone());
        Ok(value)
    }

    /// The values of several keys in one call to the store, as this transaction has left them. Of a single key it is [`Transaction::get`],
    /// which needs no lists at the boundary.
    ///
    /// # Errors
    /// What [`Store::get_many`] returns.
    pub fn get_many(&mut self, keys: &[(Keyspace, Bytes)]) -> Result<Vec<Option<Bytes>>, StoreError> {
        if let [(keyspace, key)] = keys {
            return Ok(vec![self.get(*keyspace, key)?]);
        }
        let mut values: Vec<Option<Option<Bytes>>> = keys.iter().map(|(keyspace, key)| self.known(*keyspace, key)).collect();
        let unknown = || keys.iter().zip(&values).filter(|(_, value)| value.is_none()).map(|(key, _)| key.clone());
        let missing: Vec<(Keyspace, Bytes)> = unknown().collect();
        if missing.is_empty() {
            return Ok(values.into_iter().flatten().collect());
        }
        let mut found = self.store.get_many(&missing)?.into_iter();
        let mut names = missing.into_iter();
        for value in values.iter_mut().filter(|value| value.is_none()) {
            let answer = found.next().ok_or_else(|| StoreError::Corrupt("get-many answered for fewer keys than asked".into()))?;
            if let Some(record) = names.next() {
                self.keep(record, answer.clone());
            }
            *value = Some(answer);
        }
        Ok(values.into_iter().flatten().collect())
    }

    /// Reads records that will be asked for in one call to the store; with no records it does nothing.
    ///
    /// # Errors
    /// What [`Store::get_many`] returns.
    pub fn read_ahead(&mut self, keys: Vec<(Keyspace, Bytes)>) -> Result<(), StoreError> {
        match keys.as_slice() {
            [] => Ok(()),
            [(keyspace, key)] => self.get(*keyspace, key).map(|_| ()),
            several => {
                let values = self.store.get_many(several)?;
                keys.into_iter().zip(values).for_each(|(record, value)| self.keep(record, value));
                Ok(())
            }
        }
    }

    /// What is known of a record without asking the store.
    fn known(&self, keyspace: Keyspace, key: &Bytes) -> Option<Option<Bytes>> {
        self.overlay.get(keyspace, key).or_else(|| self.reads.get(&(keyspace, key.clone())).cloned())
    }

    fn keep(&mut self, record: (Keyspace, Bytes), value: Option<Bytes>) {
        if self.reads.len() < MAX_KEPT_READS {
            self.reads.insert(record, value);
        }
    }

    /// Stores `value` under `key`.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`] in a read-only transaction, [`StoreError::TooLarge`] above the store's limits.
    pub fn put(&mut self, keyspace: Keyspace, key: Bytes, value: Bytes) -> Result<(), StoreError> {
        self.check_writable()?;
        let limits = self.store.limits();
        check_length("a key", key.len(), limits.max_key_bytes)?;
        check_length("a value", value.len(), limits.max_value_bytes)?;
        self.undo.push(Undo::Overlay(self.overlay.set(keyspace, self.store.order(keyspace), key, Some(value))));
        Ok(())
    }

    /// Stores a value under `key`, or removes the key where there is none.
    ///
    /// # Errors
    /// As [`Transaction::put`].
    pub fn set(&mut self, (keyspace, key): (Keyspace, Bytes), value: Option<Bytes>) -> Result<(), StoreError> {
        match value {
            Some(value) => self.put(keyspace, key, value),
            None => self.delete(keyspace, key),
        }
    }

    /// Removes `key`; no error where there is none.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`] in a read-only transaction.
    pub fn delete(&mut self, keyspace: Keyspace, key: Bytes) -> Result<(), StoreError> {
        self.check_writable()?;
        self.undo.push(Undo::Overlay(self.overlay.set(keyspace, self.store.order(keyspace), key, None)));
        Ok(())
    }

    /// Removes every key of the range.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`] in a read-only transaction.
    pub fn delete_range(&mut self, keyspace: Keyspace, range: KeyRange) -> Result<(), StoreError> {
        self.check_writable()?;
        self.undo.push(Undo::Overlay(self.overlay.clear(keyspace, self.store.order(keyspace), range)));
        Ok(())
    }

    fn check_writable(&self) -> Result<(), StoreError> {
        if self.read_only { Err(StoreError::ReadOnly) } else { Ok(()) }
    }

    /// The revisions of lock keys, see [`Store::revisions`].
    ///
    /// # Errors
    /// What [`Store::revisions`] returns.
    pub fn revisions(&mut self, lock_keys: &[Bytes]) -> Result<Vec<u64>, StoreError> {
        self.store.revisions(lock_keys)
    }

    /// A point to come back to.
    #[must_use]
    pub fn savepoint(&self) -> Savepoint {
        Savepoint(self.undo.len())
    }

    /// Takes back every change since `savepoint`.
    pub fn undo_to(&mut self, savepoint: Savepoint) {
        while self.undo.len() > savepoint.0 {
            match self.undo.pop() {
                Some(Undo::Overlay(step)) => self.overlay.undo(step),
                Some(Undo::Changed(position)) => {
                    if let Some(changed) = self.changed.get_mut(position) {
                        *changed = false;
                    }
                }
                None => return,
            }
        }
    }

    /// Whether nothing has been changed so far.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        self.undo.is_empty()
    }

    /// How many bytes the changes hold so far, roughly: what a caller looks at to end a large group early.
    #[must_use]
    pub fn pending_bytes(&self) -> usize {
        self.overlay.bytes()
    }

    /// How many operations the changes are so far, as [`Transaction::pending_bytes`].
    #[must_use]
    pub fn pending_ops(&self) -> usize {
        self.overlay.ops()
    }

    /// Writes the changes as one batch. Without changes nothing is asked of the store but to end the transaction.
    ///
    /// # Errors
    /// What [`Store::commit`] returns; [`StoreError::TooLarge`] before anything is sent where the batch is above the limits.
    pub fn commit(mut self) -> Result<(), StoreError> {
        if self.overlay.is_empty() {
            return Ok(());
        }
        let batch = self.overlay.batch()?;
        let limits = self.store.limits();
        if batch.len() > limits.max_batch_ops {
            return Err(StoreError::TooLarge { what: format!("a batch of {} operations", batch.len()), limit: limits.max_batch_ops });
        }
        check_length("a batch", batch.as_bytes().len(), limits.max_batch_bytes)?;
        let positions = self.changed.iter().zip(0_u32..).filter(|(changed, _)| **changed);
        let changed: Vec<u32> = positions.map(|(_, position)| position).collect();
        self.open = false;
        self.store.commit(&batch, &changed)
    }
}

impl Drop for Transaction<'_> {
    /// Ends the transaction in the store where [`Transaction::commit`] has not done so.
    fn drop(&mut self) {
        if self.open {
            self.store.rollback();
        }
    }
}

fn check_length(what: &str, length: usize, limit: u64) -> Result<(), StoreError> {
    let fits = u64::try_from(length).is_ok_and(|length| length <= limit);
    if fits { Ok(()) } else { Err(StoreError::TooLarge { what: format!("{what} of {length} bytes"), limit }) }
}
