//! The contract with the host's ordered key-value store: `orbweaver:kv` as a trait.
//!
//! A [`Store`] value is a *handle*: one conversation with one store, in which at most one transaction is open at a time. Hosts
//! with several threads open one handle for each. The functions are those of `wit/kv/store.wit`, so that the same
//! implementation serves the engine compiled natively and the component under wasmtime; those that are not there have an implementation here.
//!
//! # Obligations of an implementation
//! * Keys are ordered by the keyspace's [`Order`]; every range is half-open.
//! * All reads of a transaction see one state of the store: the one at [`Store::begin`] or later, before anybody else's next commit.
//! * Transactions that declare a common key, and exclusive ones, take effect as if one after the other. How is the store's
//!   business: it may block in `begin` (locks) or refuse in `commit` with [`StoreError::Conflict`].
//! * [`Store::commit`] is all or nothing over every keyspace, also across a crash.
//!
//! `orbweaver_engine::store::conformance` checks them.

mod batch;
mod changes;
pub mod conformance;
pub mod counting;
mod error;
pub mod fault;
mod known_pages;
mod memory;
mod order;
mod page;
mod revisions;
mod values;

pub use batch::{Batch, BatchOp};
pub use changes::Changes;
pub use error::StoreError;
pub use known_pages::{KnownPages, Question};
pub use memory::MemoryStore;
pub use order::Order;
pub use page::{Chunks, Headed, Lying, Numbered, Page, PageBuilder, PageLimit, Pieces, StringSink};
pub use revisions::{Revisions, stripe};
pub use values::{Values, lent};

use bytes::Bytes;

/// A keyspace that [`Store::open_keyspace`] opened: a small number, valid for the handle's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Keyspace(pub u32);

/// What a transaction may change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Nothing: the transaction only reads.
    Read,
    /// The records that belong to these lock keys. Also the lock keys of what is read in order to decide what to write.
    Keys(Vec<Bytes>),
    /// Anything (FLUSHALL, SWAPDB): no other transaction that writes runs beside it.
    Exclusive,
}

/// What a store can hold. A host reports the largest it can take; `u64::MAX` means that only memory limits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest key in bytes.
    pub max_key_bytes: u64,
    /// Longest value in bytes.
    pub max_value_bytes: u64,
    /// Most operations in one batch.
    pub max_batch_ops: u64,
    /// Most bytes (keys and values together) in one batch.
    pub max_batch_bytes: u64,
    /// The store refuses every commit with [`StoreError::ReadOnly`].
    pub read_only: bool,
}

impl Limits {
    /// Limited by memory alone.
    pub const NONE: Self =
        Self { max_key_bytes: u64::MAX, max_value_bytes: u64::MAX, max_batch_ops: u64::MAX, max_batch_bytes: u64::MAX, read_only: false };
}

/// Which way a scan walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the smallest key of the range upwards.
    Forward,
    /// From the largest key of the range downwards.
    Reverse,
}

/// The keys from `start` up to but not including `end`, in the keyspace's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRange {
    /// First key; empty means from the first key of the keyspace.
    pub start: Vec<u8>,
    /// Leave out `start` itself: how a forward scan goes on behind the last key of a page.
    pub after_start: bool,
    /// First key that is no longer in the range; `None` means to the end of the keyspace.
    pub end: Option<Vec<u8>>,
}

impl KeyRange {
    /// Every key of a keyspace.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// The keys that begin with `prefix`, in byte order.
    #[must_use]
    pub fn prefix(prefix: &[u8]) -> Self {
        Self { start: prefix.to_vec(), after_start: false, end: prefix_end(prefix) }
    }

    /// Makes it [`KeyRange::prefix`], in the memory that it has.
    pub fn refill(&mut self, prefix: &[u8]) {
        // With room for what follows in most keys.
        let room = 3 * prefix.len();
        self.start.clear();
        self.start.reserve(room);
        self.start.extend_from_slice(prefix);
        self.after_start = false;
        let end = self.end.get_or_insert_default();
        end.clear();
        end.reserve(room);
        if !put_prefix_end(prefix, end) {
            self.end = None;
        }
    }

    /// `key` and no other, in byte order.
    #[must_use]
    pub fn only(key: &[u8]) -> Self {
        Self::between(key, &[key, &[0]].concat())
    }

    /// The keys from `start` up to but not including `end`.
    #[must_use]
    pub fn between(start: &[u8], end: &[u8]) -> Self {
        Self { start: start.to_vec(), after_start: false, end: Some(end.to_vec()) }
    }

    /// Whether no key can be in the range, by its ends.
    #[must_use]
    #[inline]
    pub fn is_empty(&self, order: Order) -> bool {
        self.end.as_deref().is_some_and(|end| order.compare(&self.start, end).is_ge())
    }

    /// Whether `key` is in the range.
    #[must_use]
    pub fn contains(&self, order: Order, key: &[u8]) -> bool {
        let from_start = order.compare(&self.start, key);
        let behind_start = from_start.is_lt() || (from_start.is_eq() && !self.after_start);
        behind_start && self.end.as_deref().is_none_or(|end| order.compare(key, end).is_lt())
    }
}

/// The smallest byte string above every string that begins with `prefix`; `None` when there is none (all bytes 0xff, or empty).
#[must_use]
pub fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut end = Vec::with_capacity(prefix.len());
    put_prefix_end(prefix, &mut end).then_some(end)
}

/// As [`prefix_end`], in the place of what is in `end`. `false`: there is none.
fn put_prefix_end(prefix: &[u8], end: &mut Vec<u8>) -> bool {
    end.clear();
    let Some(last) = prefix.iter().rposition(|&byte| byte < u8::MAX) else { return false };
    end.extend_from_slice(prefix.get(..=last).unwrap_or_default());
    end.last_mut().is_some_and(|last| {
        *last += 1;
        true
    })
}

/// A handle on an ordered key-value store. See the module's documentation for the obligations.
pub trait Store {
    /// What the store can hold.
    fn limits(&self) -> Limits;

    /// Opens the keyspace `name`, creating it where it does not exist. Not within a transaction.
    ///
    /// # Errors
    /// [`StoreError::UnsupportedOrder`] where the store cannot order keys so, or where the keyspace exists with another order.
    fn open_keyspace(&mut self, name: &str, order: Order) -> Result<Keyspace, StoreError>;

    /// The order that a keyspace was opened with. Asked within a transaction.
    fn order(&self, keyspace: Keyspace) -> Order;

    /// Begins the handle's transaction and returns the store's *epoch*: a number that differs from an earlier one whenever an
    /// exclusive transaction of anybody has committed in between, and stays the same otherwise. It lets the engine keep what
    /// only those may change.
    ///
    /// A store behind a network may return the epoch that it knew last, and save a round trip: where it is another one by now, the
    /// transaction's first read, or its commit, answers [`StoreError::Conflict`], and the next `begin` returns the other one.
    ///
    /// # Errors
    /// [`StoreError::ReadOnly`] where the scope is not [`Scope::Read`] and the store cannot write; I/O errors. On an error no
    /// transaction is open.
    fn begin(&mut self, scope: &Scope) -> Result<u64, StoreError>;

    /// The value of `key`, or `None` where there is no such record.
    ///
    /// # Errors
    /// [`StoreError::Expired`] where the snapshot is too old; [`StoreError::Conflict`] where the epoch was, see [`Store::begin`]; I/O errors.
    fn get(&mut self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Bytes>, StoreError>;

    /// The values of several keys, in their order and in one buffer: one round trip where the store is remote.
    ///
    /// # Errors
    /// As [`Store::get`]; [`StoreError::TooLarge`] where the values together are 4 GiB or more.
    fn get_many(&mut self, keys: &[(Keyspace, &[u8])]) -> Result<Values, StoreError> {
        let mut values = Values::with_capacity(keys.len());
        for (keyspace, key) in keys {
            values.push(self.get(*keyspace, key)?.as_deref())?;
        }
        Ok(values)
    }

    /// As [`Store::get_many`], of keys of one keyspace that lie one behind the other in `bytes`, each up to its end: for who has them like this. A store
    /// may leave it as it is; the component's own is `get-many`, in which keys lie like this.
    ///
    /// # Errors
    /// As [`Store::get_many`]. Ends that are none of the bytes are the caller's mistake: [`StoreError::Corrupt`], or in the component a trap.
    fn get_adjacent(&mut self, keyspace: Keyspace, bytes: &[u8], ends: &[u32]) -> Result<Values, StoreError> {
        let (mut keys, mut start) = (Vec::with_capacity(ends.len()), 0);
        for &end in ends {
            let end = usize::try_from(end).unwrap_or(usize::MAX);
            let key = bytes.get(start..end).ok_or_else(|| StoreError::Corrupt("keys that end where their bytes do not".into()))?;
            keys.push((keyspace, key));
            start = end;
        }
        self.get_many(&keys)
    }

    /// One page of the records in `range`: at least one record where there is one, otherwise as many as `limit` allows.
    /// [`Page::more`] is false only where the range holds nothing behind the page.
    ///
    /// # Errors
    /// As [`Store::get`].
    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError>;

    /// As [`Store::scan`], for who only looks at the page: it is handed to `look`, once, and stays where it is. The component's own keeps pages that its
    /// host gives again.
    ///
    /// # Errors
    /// As [`Store::get`]; `look` has not been called then.
    fn scan_and_look(
        &mut self,
        keyspace: Keyspace,
        range: &KeyRange,
        direction: Direction,
        limit: PageLimit,
        look: &mut dyn FnMut(&Page),
    ) -> Result<(), StoreError> {
        look(&self.scan(keyspace, range, direction, limit)?);
        Ok(())
    }

    /// As [`Store::scan`], for who may have the page: `known` is the number that one came with, 0 of none. There is no
    /// [page](Numbered::page) only where that one is the answer. For hosts: the component does not ask for it. A store that keeps no pages leaves it as it is.
    ///
    /// # Errors
    /// As [`Store::get`].
    fn scan_unless_known(
        &mut self,
        keyspace: Keyspace,
        range: &KeyRange,
        direction: Direction,
        limit: PageLimit,
        _known: u64,
    ) -> Result<Numbered, StoreError> {
        self.scan(keyspace, range, direction, limit).map(Numbered::from)
    }

    /// Where structures may have changed since this was last asked, or, if it never was, since ever. A page that has come with a number, or was known by it, is of
    /// one structure, as its range has one [place](Changes::place), and is the answer to its question in every transaction of the handle, until one of them is
    /// told of that place. To be asked behind [`Store::begin`]. For hosts: the component does not ask for it. A store that numbers no pages leaves it as it is.
    fn take_changes(&mut self) -> Changes {
        Changes::ALL
    }

    /// For each lock key its *revision*: a number that differs from an earlier one whenever a transaction has committed in
    /// between that named the key in `changed`. (What an exclusive one changes shows in the epoch.) False alarms are allowed,
    /// missed changes are not. Works within a transaction (as of its state, or later) and outside of one.
    ///
    /// # Errors
    /// As [`Store::get`].
    fn revisions(&mut self, keys: &[Bytes]) -> Result<Vec<u64>, StoreError>;

    /// Writes the batch, all or nothing, and ends the transaction, also on an error. `changed` holds the positions, within the
    /// scope's keys, of those whose records were written; it is empty in an exclusive transaction. It may name some where the batch is
    /// empty: what was written was there already.
    ///
    /// # Errors
    /// [`StoreError::Conflict`]: nothing written, run again. [`StoreError::TooLarge`]: nothing written. [`StoreError::UnknownOutcome`]:
    /// may or may not be written; a store that cannot tell its own state afterwards refuses to write until it is reopened, one whose
    /// servers can goes on. [`StoreError::ReadOnly`].
    fn commit(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError>;

    /// Ends the transaction without writing. Does nothing where none is open.
    fn rollback(&mut self);

    /// Whether to begin a transaction that reads, and to end it, takes next to nothing, so that it may be done on a guess. For hosts: the
    /// component does not ask for it.
    fn begins_reads_for_nothing(&self) -> bool {
        false
    }

    /// Lets the commits that follow be late, or not any more: such a commit returns before it is written, and it is written while the handle's
    /// next transactions run. These have what it changes, as ever; nobody else has it before it is written. Whoever says so tells nobody of
    /// the commits, nor of what was read behind them, before [`Store::settle`]. For hosts: the component does not ask for it. A store
    /// need not be late.
    fn let_commits_be_late(&mut self, _may_be_late: bool) {}

    /// The number of the last late commit; 0 where the store is [settled](Store::settle). They are written in the order of their numbers. What has
    /// been gathered for a write is handed over.
    fn last_late_commit(&mut self) -> u64 {
        0
    }

    /// Waits until the late commits up to the one with that number are written; `u64::MAX`: all of them.
    ///
    /// # Errors
    /// [`StoreError::UnknownOutcome`], as [`Store::commit`]: some of the late commits may not be written.
    fn settle(&mut self, _up_to: u64) -> Result<(), StoreError> {
        Ok(())
    }
}
