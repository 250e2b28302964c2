//! Transactions: everything that a group of commands reads and writes, with its own writes visible at once.
//!
//! Reads go through an *overlay* of the changes so far (also under scans, both ways, and under range deletes); records that were
//! read once are kept, so that no record crosses the boundary twice within a transaction. [`Transaction::commit`] writes the
//! overlay as one batch. [`Transaction::savepoint`] and [`Transaction::undo_to`] take back what a failed command did. Whoever keeps its changes in mind
//! itself goes past the overlay (`straight.rs`).

mod census;
mod entries;
mod expected;
mod heads;
mod in_hand;
mod overlay;
mod scan;
mod sorted;
mod straight;
#[cfg(test)]
mod tests;

pub use census::{Census, Censuses, Parts};
pub use heads::{HeadForm, PackedHead, Packing, Room};
pub use scan::{Run, Scan};
pub use straight::{Found, Parked};

use crate::few::Few;
use crate::store::{Batch, KeyRange, Keyspace, Limits, Scope, Store, StoreError, lent};
use bytes::Bytes;
use expected::Expected;
use heads::Heads;
use in_hand::InHand;
use overlay::Overlay;
use std::ops::{Deref, DerefMut};

/// Room for more records than these is not kept from one transaction to the next.
const MAX_KEPT_ROOM: usize = 4096;
/// Nor is room for a batch of more bytes.
const MAX_KEPT_BATCH_BYTES: usize = 1 << 20;

/// An open transaction on a store.
pub struct Transaction<'s> {
    store: Opened<'s>,
    /// Lock keys that records may be changed of, sorted; empty in read-only and exclusive transactions.
    lock_keys: Vec<Bytes>,
    /// They are mostly asked for in the order in which they were declared.
    expected: Expected,
    exclusive: bool,
    read_only: bool,
    epoch: u64,
    limits: Limits,
    /// Whether a record that is read may be asked for again.
    keeps_reads: bool,
    memory: Box<Memory>,
    censuses: Option<&'s mut Censuses>,
}

/// A store that may have the transaction open.
struct Opened<'s> {
    store: &'s mut dyn Store,
    is_open: bool,
}

impl<'s> Deref for Opened<'s> {
    type Target = dyn Store + 's;

    fn deref(&self) -> &Self::Target {
        self.store
    }
}

impl DerefMut for Opened<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.store
    }
}

impl Drop for Opened<'_> {
    /// Ends the transaction where a commit has not done so.
    fn drop(&mut self) {
        if self.is_open {
            self.store.rollback();
        }
    }
}

/// What a transaction has in memory. One transaction after the other can use the same: its room is then there already.
#[derive(Debug, Default)]
pub struct Memory {
    seed: u64,
    overlay: Overlay,
    heads: Heads,
    /// Whether the records of the lock key at that position change.
    changed: Vec<bool>,
    /// The positions of those that do, in the order in which they were touched.
    touched: Vec<u32>,
    batch: Batch,
}

impl Memory {
    /// Nothing so far. Hashes depend on `seed`: those who choose keys are not to know it.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self { seed, overlay: Overlay::seeded(seed), ..Self::default() }
    }

    /// Forgets the contents, and the room that hardly any transaction needs.
    fn clear(&mut self) {
        if self.overlay.room().max(self.changed.capacity()).max(self.heads.room()) > MAX_KEPT_ROOM {
            *self = Self::seeded(self.seed);
        }
        if self.batch.room() > MAX_KEPT_BATCH_BYTES {
            self.batch = Batch::new();
        }
        self.overlay.clear();
        self.heads.clear();
        self.changed.clear();
        self.touched.clear();
        self.batch.clear();
    }
}

/// A point that [`Transaction::undo_to`] goes back to.
#[derive(Clone, Copy, Debug)]
pub struct Savepoint {
    steps: usize,
    touched: usize,
    in_hand: Option<InHand>,
}

impl<'s> Transaction<'s> {
    /// Begins a transaction. The scope's keys may come unsorted and more than once.
    ///
    /// # Errors
    /// What [`Store::begin`] returns.
    pub fn begin(store: &'s mut dyn Store, scope: Scope) -> Result<Self, StoreError> {
        Self::begin_with(store, scope, Box::default())
    }

    /// As [`Transaction::begin`], with what an earlier one has left ([`Transaction::commit_and_recycle`]).
    ///
    /// # Errors
    /// What [`Store::begin`] returns.
    pub fn begin_with(store: &'s mut dyn Store, scope: Scope, mut memory: Box<Memory>) -> Result<Self, StoreError> {
        let (scope, expected) = match scope {
            Scope::Keys(keys) if keys.len() > 1 => {
                let (keys, expected) = expected::sort(keys);
                (Scope::Keys(keys), Expected::new(expected))
            }
            other => (other, Expected::default()),
        };
        let epoch = store.begin(&scope)?;
        let (exclusive, read_only) = (scope == Scope::Exclusive, scope == Scope::Read);
        let lock_keys = match scope {
            Scope::Keys(keys) => keys,
            Scope::Read | Scope::Exclusive => Vec::new(),
        };
        memory.changed.resize(lock_keys.len(), false);
        let limits = store.limits();
        let store = Opened { store, is_open: true };
        Ok(Self { store, lock_keys, expected, exclusive, read_only, epoch, limits, keeps_reads: true, memory, censuses: None })
    }

    /// Lets records that are read one by one not be kept: for who asks for each of them once.
    pub fn forget_reads(&mut self) {
        self.keeps_reads = false;
    }

    /// Lets the transaction use censuses, and keep them right. Each transaction on the store's records must that may add any, once there are
    /// censuses.
    pub fn use_censuses(&mut self, censuses: &'s mut Censuses) {
        // The transaction before this one has not been committed.
        censuses.forget_tentative();
        self.censuses = Some(censuses);
    }

    /// A census of a range that has met no record yet, see [`Census`]. About `expected` will be counted.
    #[must_use]
    pub fn new_census(&self, (keyspace, range): (Keyspace, KeyRange), expected: u64) -> Census {
        Census::new(keyspace, range, self.store.order(keyspace), expected)
    }

    /// The census of a range, where one is kept: it is not any more. Nothing may be put until it is.
    pub fn take_census(&mut self, (keyspace, range): &(Keyspace, KeyRange)) -> Option<Census> {
        self.censuses.as_mut()?.take(*keyspace, range)
    }

    /// Whether a range that has no census was asked about before, not long ago; from now on it was.
    pub fn asks_again(&mut self, range: &(Keyspace, KeyRange)) -> bool {
        self.censuses.as_mut().is_some_and(|censuses| censuses.is_asked_again(range))
    }

    /// Keeps a census of the records as this transaction has left them.
    pub fn keep_census(&mut self, census: Census) {
        if let Some(censuses) = &mut self.censuses {
            censuses.keep(census, |keyspace| self.memory.overlay.touches(keyspace));
        }
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
        if let (Some(changed), Ok(position)) = (self.memory.changed.get_mut(position).filter(|changed| !**changed), position.try_into()) {
            *changed = true;
            self.memory.touched.push(position);
        }
        Ok(())
    }

    fn position(&self, lock_key: &[u8]) -> Option<usize> {
        let expected = self.expected.find(|position| self.lock_keys.get(position).is_some_and(|key| key == lock_key));
        expected.or_else(|| self.lock_keys.binary_search_by(|key| key.as_ref().cmp(lock_key)).ok())
    }

    /// The value of `key`, as this transaction has left it.
    ///
    /// # Errors
    /// What [`Store::get`] returns.
    pub fn get(&mut self, keyspace: Keyspace, key: &Bytes) -> Result<Option<Bytes>, StoreError> {
        self.look(keyspace, key, |value| value.cloned())
    }

    /// What `look` makes of the value of `key`: as [`Transaction::get`], without a share in the value.
    ///
    /// # Errors
    /// What [`Store::get`] returns.
    pub fn look<T>(&mut self, keyspace: Keyspace, key: &Bytes, look: impl FnOnce(Option<&Bytes>) -> T) -> Result<T, StoreError> {
        self.look_and_keep(keyspace, key, |_| false, look)
    }

    /// As [`Transaction::look`], of a record that is asked for again where `keeps` says so.
    ///
    /// # Errors
    /// As [`Transaction::look`].
    #[inline]
    pub fn look_and_keep<T>(
        &mut self,
        keyspace: Keyspace,
        key: &Bytes,
        keeps: impl FnOnce(&Bytes) -> bool,
        look: impl FnOnce(Option<&Bytes>) -> T,
    ) -> Result<T, StoreError> {
        let (number, known) = self.memory.overlay.known(keyspace, key);
        if let Some(known) = known {
            return Ok(look(known));
        }
        // Looked at in one place: what looks is compiled into each.
        let packed = if self.memory.heads.is_empty() { None } else { self.memory.heads.get(keyspace, key) };
        let is_packed = packed.is_some();
        let value = match packed {
            Some(value) => value,
            None => self.store.get(keyspace, key)?,
        };
        let looked = look(value.as_ref());
        if (self.keeps_reads || value.as_ref().is_some_and(keeps)) && !is_packed {
            self.memory.overlay.entries.keep(number, keyspace, key.clone(), value);
        }
        Ok(looked)
    }

    /// The values of several keys in one call to the store, as this transaction has left them. Of a single key it is [`Transaction::get`],
    /// which needs no lists at the boundary.
    ///
    /// # Errors
    /// What [`Store::get_many`] returns.
    pub fn get_many<'k, K>(&mut self, keys: K) -> Result<Few<Option<Bytes>>, StoreError>
    where
        K: IntoIterator<Item = &'k (Keyspace, Bytes), IntoIter: ExactSizeIterator>,
    {
        let keys = keys.into_iter();
        if keys.len() == 1 {
            return keys.map(|(keyspace, key)| self.get(*keyspace, key)).collect();
        }
        let (mut values, mut missing, mut places) = (Few::with_capacity(keys.len()), Vec::new(), Vec::new());
        for (place, record) in keys.enumerate() {
            let (number, known) = self.memory.overlay.known(record.0, &record.1);
            let known = known.map(Option::<&Bytes>::cloned).or_else(|| self.memory.heads.get(record.0, &record.1));
            if known.is_none() {
                missing.push(record.clone());
                places.push((place, number));
            }
            values.push(known.flatten());
        }
        if missing.is_empty() {
            return Ok(values);
        }
        let found = read(&mut self.store, &missing)?;
        for (((place, number), (keyspace, key)), value) in places.into_iter().zip(missing).zip(found) {
            if let Some(own) = values.get_mut(place) {
                own.clone_from(&value);
            }
            self.memory.overlay.entries.keep(number, keyspace, key, value);
        }
        Ok(values)
    }

    /// Reads records in one call to the store: they will be asked for, one after the other. Those that come more than once are read once.
    ///
    /// # Errors
    /// What [`Store::get_many`] returns.
    pub fn read_ahead(&mut self, mut records: Vec<(Keyspace, Bytes)>) -> Result<(), StoreError> {
        if !self.memory.heads.is_empty() {
            self.leave_out_packed(&mut records);
        }
        match records.as_slice() {
            [] => return Ok(()),
            [(keyspace, key)] => return self.look(*keyspace, key, |_| ()),
            _ => {}
        }
        let Self { memory, store, .. } = self;
        memory.overlay.entries.keep_ahead(records, |names| read(store, names))
    }

    /// Leaves out what is in a head. Apart, as most who read ahead know none.
    #[inline(never)]
    fn leave_out_packed(&self, records: &mut Vec<(Keyspace, Bytes)>) {
        records.retain(|(keyspace, key)| !self.memory.heads.knows(*keyspace, key));
    }

    /// What was read ahead will be asked for again, from the first record on.
    pub fn rewind(&self) {
        self.memory.overlay.entries.rewind();
    }

    /// Stores `value` under `key`.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`] in a read-only transaction, [`StoreError::TooLarge`] above the store's limits.
    pub fn put(&mut self, keyspace: Keyspace, key: Bytes, value: Bytes) -> Result<(), StoreError> {
        self.check_writable()?;
        check_length("a key", key.len(), self.limits.max_key_bytes)?;
        check_length("a value", value.len(), self.limits.max_value_bytes)?;
        if let Some(censuses) = &mut self.censuses {
            censuses.note_put(keyspace, &key);
        }
        self.memory.overlay.set(keyspace, || self.store.order(keyspace), key, Some(value));
        Ok(())
    }

    /// Whether the record was the last one of its keyspace that was changed, and was put, under a key that shares its memory with this one.
    #[must_use]
    #[inline]
    pub fn was_put_last(&self, keyspace: Keyspace, key: &[u8]) -> bool {
        self.memory.overlay.last_put(keyspace, key).is_some()
    }

    /// As [`Transaction::put`], of a record that [was put last](Transaction::was_put_last): this costs little, however often it comes. False, and
    /// nothing done, for other records, and where the value is long. `write` writes it, `length` bytes.
    pub fn put_again(&mut self, keyspace: Keyspace, key: &[u8], length: usize, write: impl FnOnce(&mut [u8])) -> bool {
        let Some(number) = self.memory.overlay.last_put(keyspace, key).filter(|_| length <= in_hand::MAX_BYTES) else { return false };
        write(self.memory.overlay.put_over(keyspace, number, length));
        true
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
        self.memory.overlay.set(keyspace, || self.store.order(keyspace), key, None);
        Ok(())
    }

    /// Removes every key of the range.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`] in a read-only transaction.
    pub fn delete_range(&mut self, keyspace: Keyspace, range: KeyRange) -> Result<(), StoreError> {
        self.check_writable()?;
        self.memory.overlay.clear_range(keyspace, || self.store.order(keyspace), range);
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
        Savepoint { steps: self.memory.overlay.steps(), touched: self.memory.touched.len(), in_hand: self.memory.overlay.in_hand() }
    }

    /// No change so far is taken back any more: what they have put can be forgotten once other values have come over it twice.
    pub fn settle(&mut self) {
        self.memory.overlay.settle();
    }

    /// Takes back every change since `savepoint`.
    pub fn undo_to(&mut self, savepoint: Savepoint) {
        if let Some(censuses) = self.censuses.as_mut().filter(|_| self.memory.overlay.steps() > savepoint.steps) {
            censuses.forget_tentative();
        }
        let Memory { overlay, changed, touched, .. } = &mut *self.memory;
        overlay.undo_to(savepoint.steps, savepoint.in_hand);
        for position in touched.drain(savepoint.touched.min(touched.len())..) {
            if let Some(changed) = usize::try_from(position).ok().and_then(|position| changed.get_mut(position)) {
                *changed = false;
            }
        }
    }

    /// As long as it is the same, every record is as it was: of a keyspace, or of all.
    #[must_use]
    pub fn generation(&self, keyspace: Option<Keyspace>) -> u64 {
        self.memory.overlay.generation(keyspace)
    }

    /// Whether nothing has been changed so far.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        self.memory.overlay.steps() == 0 && self.memory.touched.is_empty()
    }

    /// How many bytes the changes hold so far, roughly: what a caller looks at to end a large group early.
    #[must_use]
    pub fn pending_bytes(&self) -> usize {
        self.memory.overlay.bytes()
    }

    /// Tells that a collection is packed: its head has its records in it. They are seen where they would lie otherwise.
    pub fn show_packed(&mut self, packing: Packing, version: u64, head: impl FnOnce() -> PackedHead) {
        self.memory.heads.add(packing, version, || Some(head()));
    }

    /// Whether the store has the collection packed, and this transaction has found it so.
    #[must_use]
    pub fn knows_packed(&self, version: u64) -> bool {
        self.memory.heads.is_packed(version)
    }

    /// Tells that a collection is made: if its head is put in this transaction, and its records are few, they are packed.
    pub fn pack_new(&mut self, packing: Packing, version: u64) {
        self.memory.heads.add(packing, version, || None);
    }

    /// How many operations the changes are so far, as [`Transaction::pending_bytes`].
    #[must_use]
    pub fn pending_ops(&self) -> usize {
        self.memory.overlay.ops()
    }

    /// Writes the changes as one batch. Without changes nothing is asked of the store but to end the transaction.
    ///
    /// # Errors
    /// What [`Store::commit`] returns; [`StoreError::TooLarge`] before anything is sent where the batch is above the limits.
    pub fn commit(self) -> Result<(), StoreError> {
        self.commit_and_recycle().map(drop)
    }

    /// As [`Transaction::commit`], and returns what the next transaction may use again.
    ///
    /// # Errors
    /// As [`Transaction::commit`].
    // Those that only read need none of it.
    #[inline(never)]
    pub fn commit_and_recycle(mut self) -> Result<Box<Memory>, StoreError> {
        if !self.memory.overlay.is_unchanged() || !self.memory.touched.is_empty() {
            let limits = self.limits;
            let Memory { overlay, heads, batch, touched, .. } = &mut *self.memory;
            if !heads.is_empty() && !overlay.is_unchanged() {
                heads.fold(overlay, &limits);
            }
            overlay.fill(batch)?;
            if batch.len() > limits.max_batch_ops {
                return Err(StoreError::TooLarge { what: format!("a batch of {} operations", batch.len()), limit: limits.max_batch_ops });
            }
            check_length("a batch", batch.as_bytes().len(), limits.max_batch_bytes)?;
            touched.sort_unstable();
            self.store.is_open = false;
            self.store.commit(batch, touched)?;
        }
        if let Some(censuses) = self.censuses {
            censuses.settle();
        }
        self.memory.clear();
        Ok(self.memory)
    }
}

/// The values of several keys.
fn read(store: &mut Opened<'_>, names: &[(Keyspace, Bytes)]) -> Result<impl Iterator<Item = Option<Bytes>> + use<>, StoreError> {
    store.get_many(&lent(names))?.of_each(names.len())
}

fn check_length(what: &str, length: usize, limit: u64) -> Result<(), StoreError> {
    let fits = u64::try_from(length).is_ok_and(|length| length <= limit);
    if fits { Ok(()) } else { Err(StoreError::TooLarge { what: format!("{what} of {length} bytes"), limit }) }
}
