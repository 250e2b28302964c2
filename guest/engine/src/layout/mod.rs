//! Layouts: how logical records (meta, field, member, score, element) become keys and values of a store, and back.
//!
//! The types and commands know no bytes; a layout knows no commands. Between them is [`Layout`]. A layout
//! * declares its keyspaces with their orders (when it is opened on a store),
//! * encodes and decodes meta records and the sub-records of collections,
//! * has the rule by which a collection gets its *version*, the number that tells its records from those of its predecessors,
//! * knows what a removed key leaves behind, and how to sweep it up.
//!
//! `docs/layouts.md` walks through what the foreign layouts will ask of this trait.

pub mod anatomy;
pub mod field_expiry;
pub mod orbweaver;

use crate::error::{Error, Result};
use crate::store::{KeyRange, Keyspace};
use crate::transaction::Transaction;
use anatomy::Anatomy;
use bytes::{BufMut, Bytes, BytesMut};
use field_expiry::{FieldExpiries, FieldIndex};

/// The data structures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A byte string.
    String,
    /// Fields with values.
    Hash,
    /// Elements by position.
    List,
    /// Members.
    Set,
    /// Members ordered by score.
    SortedSet,
}

impl Kind {
    /// The name that TYPE answers with.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Hash => "hash",
            Self::List => "list",
            Self::Set => "set",
            Self::SortedSet => "zset",
        }
    }

    /// The kind of that name, in any case.
    #[must_use]
    pub fn from_name(name: &[u8]) -> Option<Self> {
        let all = [Self::String, Self::Hash, Self::List, Self::Set, Self::SortedSet];
        all.into_iter().find(|kind| kind.name().as_bytes().eq_ignore_ascii_case(name))
    }
}

/// A user key and the space that it lives in. A *space* is what a db number stands for: FLUSHDB gives the db a new one, SWAPDB
/// exchanges two.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyAt {
    /// The space, see [`Catalog`].
    pub space: u32,
    /// The user key: any bytes, also none.
    pub key: Bytes,
    lock_key: Bytes,
}

impl KeyAt {
    /// A user key in a space.
    #[must_use]
    pub fn new(space: u32, key: Bytes) -> Self {
        let lock_key = lock_key(space, &key);
        Self { space, key, lock_key }
    }

    /// The user key that a lock key stands for; `None` for what is too short to be one.
    #[must_use]
    pub fn from_lock_key(lock_key: &Bytes) -> Option<Self> {
        let (space, _) = lock_key.split_first_chunk()?;
        Some(Self { space: u32::from_be_bytes(*space), key: lock_key.slice(space.len()..), lock_key: lock_key.clone() })
    }

    /// The key under which transactions declare this user key.
    #[must_use]
    pub const fn lock_key(&self) -> &Bytes {
        &self.lock_key
    }
}

/// `space (u32, big-endian) | name`. Space 0 is the engine's own.
#[must_use]
pub fn lock_key(space: u32, name: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(4 + name.len());
    bytes.put_u32(space);
    bytes.put_slice(name);
    bytes.freeze()
}

/// What is stored under a user key, without the sub-records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Unix time in milliseconds; the key is gone when the clock is past it. `None`: it stays.
    pub expire_at_ms: Option<u64>,
    /// The value, or what leads to it.
    pub body: Body,
}

/// A string's value, or the head of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The bytes of a string.
    String(Bytes),
    /// A collection, never empty.
    Collection(Collection),
}

/// The head of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection {
    /// Which structure; never [`Kind::String`].
    pub kind: Kind,
    /// Tells this collection's records from those of all others; see [`Layout::next_version`].
    pub version: u64,
    /// How many fields, members or elements it holds, fields that are past their time and not removed yet included. A list's are
    /// `tail - head`.
    pub count: u64,
    /// Index of a list's first element; 0 for the other kinds.
    pub head: u64,
    /// The fields of a hash that expire; `None` where none does, and for the other kinds.
    pub expiries: Option<FieldExpiries>,
}

impl Meta {
    /// The kind of the value.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match &self.body {
            Body::String(_) => Kind::String,
            Body::Collection(collection) => collection.kind,
        }
    }

    /// Whether the key is gone at `now_ms`: past its time, as Redis has it, not at it.
    #[must_use]
    pub fn is_expired(&self, now_ms: u64) -> bool {
        self.expire_at_ms.is_some_and(|at| now_ms > at)
    }

    /// The head of the collection; `None` for a string.
    #[must_use]
    pub const fn collection(&self) -> Option<Collection> {
        match &self.body {
            Body::String(_) => None,
            Body::Collection(collection) => Some(*collection),
        }
    }
}

/// A hash field's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldValue {
    /// The field's own expiry, as in [`Meta::expire_at_ms`].
    pub expire_at_ms: Option<u64>,
    /// The value.
    pub value: Bytes,
}

impl FieldValue {
    /// Whether the field is gone at `now_ms`, as in [`Meta::is_expired`].
    #[must_use]
    pub fn is_expired(&self, now_ms: u64) -> bool {
        self.expire_at_ms.is_some_and(|at| now_ms > at)
    }
}

/// Which space each db number stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalog {
    /// By db number.
    pub spaces: Vec<u32>,
}

impl Catalog {
    /// The number of the db that stands for a space now.
    #[must_use]
    pub fn db_of(&self, space: u32) -> Option<usize> {
        self.spaces.iter().position(|&own| own == space)
    }
}

/// A key of a store, with its keyspace.
pub type RecordKey = (Keyspace, Bytes);

/// A range of a keyspace.
pub type RecordRange = (Keyspace, KeyRange);

/// What one step of [`Layout::sweep`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Keys that were removed because their time, or that of all their fields, is past.
    pub expired_keys: u64,
    /// Dead records, and fields past their time, that were removed one by one.
    pub records: u64,
    /// Dead ranges that were removed as a whole.
    pub ranges: u64,
    /// Whether there may be more to do at once.
    pub more: bool,
}

/// What the sweep has removed because its time was past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// A key.
    Key,
    /// Fields of a hash.
    Fields,
    /// The last fields of a hash, and the key with them.
    LastFields,
}

/// What [`Layout::check`] found wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The keyspace of the record.
    pub keyspace: &'static str,
    /// The record's key.
    pub key: Bytes,
    /// What is wrong, for people.
    pub what: String,
}

/// Encodes logical records, and decodes them. All functions that read bytes return a [`crate::error::CorruptRecord`] where they
/// are not what the layout's format says.
pub trait Layout {
    /// The layout's name, as options and error texts have it.
    fn name(&self) -> &'static str;

    // Dbs and versions.

    /// Which space each db number stands for.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    fn load_catalog(&self, transaction: &mut Transaction<'_>, databases: usize) -> Result<Catalog>;

    /// Empties a db: it gets a new space, the old one is left to the sweep. Exclusive transactions only.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    fn flush(&self, transaction: &mut Transaction<'_>, catalog: &mut Catalog, db: usize) -> Result<()>;

    /// Exchanges two dbs. Exclusive transactions only.
    ///
    /// # Errors
    /// Store errors.
    fn swap(&self, transaction: &mut Transaction<'_>, catalog: &mut Catalog, a: usize, b: usize) -> Result<()>;

    /// The lock key that [`Layout::reserve_versions`] declares.
    fn versions_lock_key(&self) -> Bytes;

    /// Takes `count` versions that nobody else will be given, and returns the first of them.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    fn reserve_versions(&self, transaction: &mut Transaction<'_>, count: u64) -> Result<u64>;

    /// The version of a collection that is about to be made where `old` was; `reserved` hands out reserved versions.
    ///
    /// # Errors
    /// Whatever `reserved` returns.
    fn next_version(&self, old: Option<&Meta>, now_ms: u64, reserved: &mut dyn FnMut() -> Result<u64>) -> Result<u64>;

    // Keys.

    /// The record that tells whether a user key exists: what a group of commands reads ahead together.
    fn meta_record(&self, at: &KeyAt) -> RecordKey;

    /// What is stored under a user key, expired or not; `None` where nothing is.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    fn find(&self, transaction: &mut Transaction<'_>, at: &KeyAt) -> Result<Option<Meta>>;

    /// Replaces `old`, which is what [`Layout::find`] returned, by `new`; `None` removes the key. What belongs to a collection of
    /// `old` that is not continued in `new` is left to the sweep.
    ///
    /// # Errors
    /// Store errors.
    fn write(&self, transaction: &mut Transaction<'_>, at: &KeyAt, old: Option<&Meta>, new: Option<&Meta>) -> Result<()>;

    /// Moves what is stored under `from` to `to`, where nothing is stored (any more).
    ///
    /// # Errors
    /// Store errors.
    fn rename(&self, transaction: &mut Transaction<'_>, from: &KeyAt, to: &KeyAt, meta: &Meta) -> Result<()>;

    /// The records of a space's user keys from `start` on, in the order of the keys.
    fn keys(&self, space: u32, start: &[u8]) -> RecordRange;

    /// The user key and meta of a record of [`Layout::keys`].
    ///
    /// # Errors
    /// Corrupt records.
    fn decode_key(&self, key: &Bytes, value: &Bytes) -> Result<(Bytes, Meta)>;

    // Sub-records. `version` is that of the collection under `at`.

    /// The ranges that hold all sub-records of a collection, and nothing else.
    fn sub_records(&self, at: &KeyAt, collection: &Collection) -> Vec<RecordRange>;

    /// The key that a record of [`Layout::sub_records`] has in a collection of the same kind under `to`; its value is the same.
    ///
    /// # Errors
    /// Corrupt records.
    fn move_sub_key(&self, record: &RecordKey, to: &KeyAt, version: u64) -> Result<Bytes>;

    /// The record of a hash field.
    fn field(&self, at: &KeyAt, version: u64, field: &[u8]) -> RecordKey;

    /// The records of a hash's fields, in byte order.
    fn fields(&self, at: &KeyAt, version: u64) -> RecordRange;

    /// The field of a record of [`Layout::fields`].
    ///
    /// # Errors
    /// Corrupt records.
    fn decode_field(&self, key: &Bytes) -> Result<Bytes>;

    /// The value of a hash field's record.
    fn encode_field_value(&self, value: &FieldValue) -> Bytes;

    /// The value of a hash field from its record.
    ///
    /// # Errors
    /// Corrupt records.
    fn decode_field_value(&self, key: &[u8], value: &Bytes) -> Result<FieldValue>;

    /// The index of the fields that expire; `None` where the layout cannot hold expiries of fields.
    fn field_index(&self) -> Option<&dyn FieldIndex> {
        None
    }

    /// The record of a set's or a sorted set's member.
    fn member(&self, at: &KeyAt, version: u64, member: &[u8]) -> RecordKey;

    /// The records of a set's or a sorted set's members, in byte order. A set's have an empty value.
    fn members(&self, at: &KeyAt, version: u64) -> RecordRange;

    /// The member of a record of [`Layout::members`].
    ///
    /// # Errors
    /// Corrupt records.
    fn decode_member(&self, key: &Bytes) -> Result<Bytes>;

    /// The value of a sorted set member's record. NaN is no score.
    fn encode_score(&self, score: f64) -> Bytes;

    /// The exact score from a sorted set member's record.
    ///
    /// # Errors
    /// Corrupt records.
    fn decode_score(&self, key: &[u8], value: &Bytes) -> Result<f64>;

    /// The record that stands for a sorted set's member in the order of the scores, and its value.
    fn scored(&self, at: &KeyAt, version: u64, score: f64, member: &[u8]) -> (RecordKey, Bytes);

    /// The records of a sorted set in the order of the scores, members with equal scores in byte order.
    fn scores(&self, at: &KeyAt, version: u64) -> RecordRange;

    /// The exact score and the member of a record of [`Layout::scores`].
    ///
    /// # Errors
    /// Corrupt records.
    fn decode_scored(&self, key: &Bytes, value: &Bytes) -> Result<(f64, Bytes)>;

    /// The head of a list that is made by appending.
    fn first_index(&self) -> u64;

    /// The record of a list's element; its value is the element. `index` counts from the list's `head`.
    fn element(&self, at: &KeyAt, version: u64, index: u64) -> RecordKey;

    /// The error for a sub-record that its collection counts and that is not there.
    fn missing(&self, record: &RecordKey) -> Error;

    /// The records of a list's elements, from head to tail.
    fn elements(&self, at: &KeyAt, list: &Collection) -> RecordRange;

    /// The index of a record of [`Layout::elements`].
    ///
    /// # Errors
    /// Corrupt records.
    fn decode_element(&self, key: &Bytes) -> Result<u64>;

    // Collections that are written in several transactions before their meta record is.

    /// The lock key that a transaction declares which writes a part of the collection with that version.
    fn unfinished_lock_key(&self, version: u64) -> Bytes;

    /// Notes, with each part that is written, that a collection is being written. Where the writer gives up, the sweep removes
    /// what it has left.
    ///
    /// # Errors
    /// Store errors.
    fn renew_unfinished(&self, transaction: &mut Transaction<'_>, collection: &Collection, now_ms: u64) -> Result<()>;

    /// Whether the note is still there: the sweep has not taken the writer for gone.
    ///
    /// # Errors
    /// Store errors.
    fn is_unfinished(&self, transaction: &mut Transaction<'_>, version: u64) -> Result<bool>;

    /// Takes the note back, in the transaction that writes the meta record.
    ///
    /// # Errors
    /// Store errors.
    fn finish(&self, transaction: &mut Transaction<'_>, version: u64) -> Result<()>;

    // Maintenance.

    /// Removes expired keys and fields and what removed keys have left, about `budget` records, in transactions of its own.
    /// `on_expired` is told each key that something of has expired, once the removal is committed.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    fn sweep(
        &self,
        store: &mut dyn crate::store::Store,
        now_ms: u64,
        budget: usize,
        on_expired: &mut dyn FnMut(KeyAt, Expired),
    ) -> Result<Swept>;

    /// Verifies records from where `cursor` left off (empty: from the beginning), about `budget` of them, and moves the cursor on;
    /// an empty cursor afterwards means that all is checked.
    ///
    /// # Errors
    /// Store errors. What is wrong with records is a finding, not an error.
    fn check(&self, transaction: &mut Transaction<'_>, cursor: &mut Vec<u8>, budget: usize) -> Result<Vec<Finding>>;

    // Records as people see them.

    /// The name of one of the layout's keyspaces.
    fn keyspace_name(&self, keyspace: Keyspace) -> &str;

    /// All ranges that hold records of a user key, those of `meta` (what [`Layout::find`] returned) first: the meta record, sub-records,
    /// indexes, garbage. Dead ones too, where the user key leads to them. Ranges may turn out to be empty.
    fn records_of(&self, at: &KeyAt, meta: Option<&Meta>) -> Vec<RecordRange>;

    /// Takes a record apart, also a damaged one or one of another keyspace. `kind` is that of the collection which a sub-record belongs to,
    /// where the caller knows it; a layout whose records do not tell guesses without, and says so in the note.
    fn describe(&self, keyspace: &str, key: &[u8], value: &[u8], kind: Option<Kind>) -> Anatomy;
}
