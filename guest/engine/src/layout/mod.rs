//! Layouts: how logical records (meta, field, member, score, element) become keys and values of a store, and back.
//!
//! The types and commands know no bytes; a layout knows no commands. Between them is [`Layout`]. A layout
//! * declares its keyspaces with their orders (when it is opened on a store),
//! * encodes and decodes meta records and the sub-records of collections,
//! * has the rule by which a collection gets its *version*, the number that tells its records from those of its predecessors,
//! * knows what a removed key leaves behind, and how to sweep it up.
//!
//! `docs/layouts.md` says how the layouts differ and what follows for this trait.

pub mod anatomy;
pub mod ardb;
pub mod blackwidow;
pub mod camellia;
pub mod expiry;
pub mod field_expiry;
pub mod lists;
pub mod lots;
mod model;
pub mod nemo;
mod open;
pub mod orbweaver;
pub mod ordered_score;
pub mod pass;
pub mod ranks;
pub mod records;
pub mod straight;

pub use model::{Body, Catalog, Collection, FieldValue, KeyAt, Kind, LentField, LentScored, Meta, lock_key};
pub use open::{NAMES, open};

use crate::error::{Error, Result};
use crate::store::{KeyRange, Keyspace};
use crate::transaction::Transaction;
use anatomy::Anatomy;
use bytes::Bytes;
use expiry::ExpiryRules;
use field_expiry::FieldIndex;
use lists::{ListAlgorithm, ListHead};
use lots::Lot;
use ranks::RankRecords;
use records::{Record, Records, Walk};
use std::ops::ControlFlow;
use straight::Keyspaces;

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

/// A kind for each namespace of a layout, in the order in which they are looked through.
#[must_use]
pub fn namespaces(layout: &dyn Layout) -> &'static [Kind] {
    match layout.namespaces() {
        // All kinds are in one: any of them leads there.
        [] => &[Kind::String],
        several => several,
    }
}

/// What takes the place of something that is stored under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum New<'m> {
    /// This.
    Value(&'m Meta),
    /// Nothing: the last of a collection's records has been removed. This is its head, with a count of 0.
    Emptied(&'m Meta),
    /// Nothing.
    Nothing,
}

impl<'m> New<'m> {
    /// What is there afterwards.
    #[must_use]
    pub const fn value(self) -> Option<&'m Meta> {
        match self {
            Self::Value(meta) => Some(meta),
            Self::Emptied(_) | Self::Nothing => None,
        }
    }
}

/// Names in byte order, of keys or fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The first one.
    pub start: Bytes,
    /// The first one that is none of them; `None`: they go on to the last name of all.
    pub end: Option<Bytes>,
}

impl Names {
    /// Every name.
    pub const ALL: Self = Self { start: Bytes::new(), end: None };

    /// The range of the records with these names, whose keys `key` makes. `behind_all` is where it ends without an end.
    pub fn range(&self, key: impl Fn(&[u8]) -> Vec<u8>, behind_all: impl FnOnce() -> Option<Vec<u8>>) -> KeyRange {
        let end = self.end.as_deref().map(&key).or_else(behind_all);
        KeyRange { start: key(&self.start), after_start: false, end }
    }
}

/// A place in a sorted set, between two members: where its order is cut.
#[derive(Clone, Debug, PartialEq)]
pub enum Cut {
    /// Before the first member, or behind the last one.
    Edge,
    /// Before the members of a score.
    Before(f64),
    /// Behind the members of a score.
    Behind(f64),
    /// Before a member.
    BeforeMember(f64, Bytes),
    /// Behind a member.
    BehindMember(f64, Bytes),
}

impl Cut {
    /// The part of `all`, the records of a sorted set, between two cuts. `key` is where a cut is; `None` at an edge.
    pub fn range(from: &Self, to: &Self, mut all: KeyRange, key: impl Fn(&Self) -> Option<Vec<u8>>) -> KeyRange {
        Self::narrow(from, to, &mut all, |cut, place| {
            key(cut).is_some_and(|key| {
                *place = key;
                true
            })
        });
        all
    }

    /// Narrows `all`, the range of all records of a sorted set, to the part between two cuts. `put` puts where a cut is in the place of a key; `false`, and
    /// nothing put, at an edge.
    pub fn narrow(from: &Self, to: &Self, all: &mut KeyRange, put: impl Fn(&Self, &mut Vec<u8>) -> bool) {
        if !put(from, &mut all.start) && matches!(from, Self::Behind(_)) {
            // Behind the highest score: nothing.
            all.start = all.end.clone().unwrap_or_default();
        }
        let has_end = all.end.is_some();
        if !put(to, all.end.get_or_insert_default()) && !has_end {
            all.end = None;
        }
    }
}

/// The registers behind PFADD and its kin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SketchFormat {
    /// A string as Redis makes it.
    Redis,
    /// A string of 131,072 registers of a byte each: Blackwidow's and Nemo's.
    Bytes,
}

/// Encodes logical records, and decodes them. All functions that read bytes return a [`crate::error::CorruptRecord`] where they
/// are not what the layout's format says; all that write fail with store errors, and with a client's mistake where the format has no
/// room for what they are given.
pub trait Layout {
    /// The layout's name, as options and error texts have it.
    fn name(&self) -> &'static str;

    // What the format has room for.

    /// How many dbs there can be.
    fn max_databases(&self) -> usize {
        usize::MAX
    }

    /// The kinds that have a namespace of their own each: a key may exist once in each of them. In the order in which they are looked
    /// through for a key of any kind. None: all kinds share one namespace.
    fn namespaces(&self) -> &'static [Kind] {
        &[]
    }

    /// Which expiries there are.
    fn expiry_rules(&self) -> ExpiryRules {
        ExpiryRules::REDIS
    }

    /// Whether a key that is found expired by who may change it is removed. If not, it stays as it is until it is written to or swept.
    fn removes_expired(&self) -> bool {
        true
    }

    /// Whether keys come in byte order.
    fn keys_are_in_byte_order(&self) -> bool {
        true
    }

    /// Whether the names of fields and members come in byte order.
    fn names_are_in_byte_order(&self) -> bool {
        true
    }

    /// How PFADD and its kin store their registers.
    fn sketches(&self) -> SketchFormat {
        SketchFormat::Redis
    }

    // Dbs and versions.

    /// Which space each db number stands for.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    fn load_catalog(&self, transaction: &mut Transaction<'_>, databases: usize) -> Result<Catalog>;

    /// Empties a db. Exclusive transactions only.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    fn flush(&self, transaction: &mut Transaction<'_>, catalog: &mut Catalog, db: usize) -> Result<()>;

    /// Exchanges two dbs. Exclusive transactions only.
    ///
    /// # Errors
    /// Store errors; a client's mistake in layouts that cannot.
    fn swap(&self, _transaction: &mut Transaction<'_>, _catalog: &mut Catalog, _a: usize, _b: usize) -> Result<()> {
        Err(Error::Client(format!("ERR the layout {} cannot exchange dbs", self.name()).into()))
    }

    /// The lock key that [`Layout::reserve_versions`] declares.
    fn versions_lock_key(&self) -> Bytes {
        lock_key(0, b"")
    }

    /// Takes `count` versions that nobody else will be given, and returns the first of them.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    fn reserve_versions(&self, _transaction: &mut Transaction<'_>, _count: u64) -> Result<u64> {
        Ok(1)
    }

    /// The version of a collection that is about to be made under a key. `reserved` hands out reserved versions.
    ///
    /// # Errors
    /// Whatever `reserved` returns; store errors, corrupt records.
    fn next_version(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        kind: Kind,
        now_ms: u64,
        reserved: &mut dyn FnMut() -> Result<u64>,
    ) -> Result<u64>;

    /// The head of a collection that nothing is in yet.
    fn empty_collection(&self, kind: Kind, version: u64) -> Collection {
        let list = if kind == Kind::List { self.lists().empty() } else { ListHead::None };
        Collection { list, ..Collection::empty(kind, version) }
    }

    // Keys.

    /// The records that tell whether a user key exists, as that kind or as any: what a group of commands reads ahead together.
    fn meta_records(&self, at: &KeyAt, kind: Option<Kind>, records: &mut Vec<RecordKey>);

    /// What is stored under a user key, expired or not; `None` where nothing is. `kind` is the namespace, in layouts that have several:
    /// they are asked for each.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    fn find(&self, transaction: &mut Transaction<'_>, at: &KeyAt, kind: Kind) -> Result<Option<Meta>>;

    /// Replaces `old`, which is what [`Layout::find`] returned, by `new`. Of a collection of `old` that is not continued in `new`
    /// nothing can be found any more.
    ///
    /// # Errors
    /// Store errors.
    fn write(&self, transaction: &mut Transaction<'_>, at: &KeyAt, old: Option<&Meta>, new: New<'_>, now_ms: u64) -> Result<()>;

    /// Whether the head of a collection may be written behind several commands that add to it, or take from it, instead of behind each of
    /// them. Not where the record of an element says what the head said when it was put, as its timestamp does in Nemo's format.
    fn takes_rows(&self) -> bool {
        false
    }

    /// The keyspace that [`Layout::find`] looks into, where it looks into no other and gives what [`Layout::write`] was given, whole and for
    /// any kind: it need not be asked then before that keyspace changes.
    fn heads(&self) -> Option<Keyspace> {
        None
    }

    /// Where the records are of what may [go straight](crate::command::straight); only where they are those of the [default layout](straight).
    fn straight(&self) -> Option<Keyspaces> {
        None
    }

    /// Takes the string that was just stored for a text, even if it looks like a number: it was put together from pieces (APPEND, SETRANGE).
    /// Matters to layouts that store numbers in another form.
    ///
    /// # Errors
    /// Store errors.
    fn keep_as_text(&self, _transaction: &mut Transaction<'_>, _at: &KeyAt) -> Result<()> {
        Ok(())
    }

    /// Moves what is stored under `from` to `to`, where nothing is stored (any more). False, and nothing done, in layouts whose records
    /// all have the user key in them: it must be copied.
    ///
    /// # Errors
    /// Store errors.
    fn rename(&self, _transaction: &mut Transaction<'_>, _from: &KeyAt, _to: &KeyAt, _meta: &Meta) -> Result<bool> {
        Ok(false)
    }

    /// The records of a space's user keys, in the order in which the layout has them: of one kind, or of all. They may be of keys that
    /// have expired.
    fn keys(&self, space: u32, kind: Option<Kind>, names: &Names) -> Records;

    /// The user key and meta of a record of [`Layout::keys`].
    ///
    /// # Errors
    /// Corrupt records.
    fn decode_key(&self, record: &Record) -> Result<(Bytes, Meta)>;

    // Sub-records, of the collection that is under `at`.

    /// The record of a hash field.
    fn field(&self, at: &KeyAt, hash: &Collection, field: &[u8]) -> RecordKey;

    /// The value of a hash field from its record; `None` where the record is left from an earlier hash.
    ///
    /// # Errors
    /// Corrupt records.
    fn decode_field_value(&self, hash: &Collection, key: &[u8], value: &Bytes) -> Result<Option<FieldValue>>;

    /// Stores a hash field, or removes it. `record` is its record.
    ///
    /// # Errors
    /// Store errors.
    fn write_field(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        hash: &Collection,
        field: &[u8],
        record: RecordKey,
        value: Option<&FieldValue>,
    ) -> Result<()>;

    /// The records of a hash's fields, in the order in which the layout has them.
    fn fields(&self, at: &KeyAt, hash: &Collection, names: &Names) -> Records;

    /// The records of a hash's fields in byte order, also where [`Layout::fields`] has them in another one.
    fn fields_by_name(&self, at: &KeyAt, hash: &Collection, names: &Names) -> Records {
        self.fields(at, hash, names)
    }

    /// The field of a record of [`Layout::fields`].
    ///
    /// # Errors
    /// Corrupt records.
    fn decode_field(&self, key: &Bytes) -> Result<Bytes>;

    /// Hands the fields that a walk over [`Layout::fields`] has still to come to `visit`, some at a time, each with its value and its expiry,
    /// but those whose time is past. Layouts whose records hold fields and values as they are do it [without a copy](lots::lend_lots).
    ///
    /// # Errors
    /// As [`Walk::each_run`].
    fn each_field(
        &self,
        transaction: &mut Transaction<'_>,
        hash: &Collection,
        walk: &mut Walk,
        now_ms: u64,
        visit: &mut dyn FnMut(Lot<'_, '_, LentField<'_>>),
    ) -> Result<()> {
        while let Some(Record { key, value, .. }) = walk.next(transaction)? {
            if let Some(found) = self.decode_field_value(hash, &key, &value)?.filter(|found| !found.is_expired(now_ms)) {
                let name = self.decode_field(&key)?;
                visit(Lot::Rows(&[LentField { name: &name, expire_at_ms: found.expire_at_ms, value: &found.value }]));
            }
        }
        Ok(())
    }

    /// The index of the fields that expire; `None` where the layout cannot hold expiries of fields.
    fn field_index(&self) -> Option<&dyn FieldIndex> {
        None
    }

    /// The record of a set's or a sorted set's member.
    fn member(&self, at: &KeyAt, set: &Collection, member: &[u8]) -> RecordKey;

    /// The exact score of a member from its record, 0 in a set; `None` where the record is left from an earlier set.
    ///
    /// # Errors
    /// Corrupt records.
    fn decode_score(&self, set: &Collection, key: &[u8], value: &Bytes) -> Result<Option<f64>>;

    /// Stores a set's member, or removes it. `record` is its record.
    ///
    /// # Errors
    /// Store errors.
    fn write_member(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        set: &Collection,
        member: &[u8],
        record: RecordKey,
        is_there: bool,
    ) -> Result<()>;

    /// The records of a set's or a sorted set's members, in the order in which the layout has them.
    fn members(&self, at: &KeyAt, set: &Collection) -> Records;

    /// The member of a record of [`Layout::members`].
    ///
    /// # Errors
    /// Corrupt records.
    fn decode_member(&self, key: &Bytes) -> Result<Bytes>;

    /// As [`Layout::each_field`], the members of a walk over [`Layout::members`].
    ///
    /// # Errors
    /// As [`Walk::each_run`].
    fn each_member(&self, transaction: &mut Transaction<'_>, walk: &mut Walk, visit: &mut dyn FnMut(Lot<'_, '_, &[u8]>)) -> Result<()> {
        while let Some(record) = walk.next(transaction)? {
            visit(Lot::Rows(&[&self.decode_member(&record.key)?]));
        }
        Ok(())
    }

    /// Changes a sorted set's member from one score to another; `None`: it is not there. `record` is its record. NaN is no score.
    ///
    /// # Errors
    /// Store errors.
    #[allow(clippy::too_many_arguments, reason = "two scores of one member, and where they are")]
    fn write_score(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        set: &Collection,
        member: &[u8],
        record: RecordKey,
        old: Option<f64>,
        new: Option<f64>,
    ) -> Result<()>;

    /// The records of a sorted set between two cuts, in the order of the scores, members with equal scores in byte order.
    fn scores(&self, at: &KeyAt, set: &Collection, from: &Cut, to: &Cut) -> Records;

    /// Whether [`Layout::decode_scored`] tells the exact scores.
    fn score_index_is_exact(&self) -> bool {
        true
    }

    /// The score by which a record of [`Layout::scores`] is in its place, and the member.
    ///
    /// # Errors
    /// Corrupt records.
    fn decode_scored(&self, record: &Record) -> Result<(f64, Bytes)>;

    /// The records that tell the ranks of large sorted sets; `None` in layouts that find them by walking over the scores.
    fn rank_records(&self) -> Option<&dyn RankRecords> {
        None
    }

    /// As [`Layout::each_field`], the next `most` members of a walk over [`Layout::scores`] with their scores, until `visit` breaks off. The walk
    /// has then passed those that `visit` was given.
    ///
    /// # Errors
    /// As [`Walk::each_run`].
    fn each_scored(
        &self,
        transaction: &mut Transaction<'_>,
        walk: &mut Walk,
        most: u64,
        visit: &mut dyn FnMut(Lot<'_, '_, LentScored<'_>>) -> ControlFlow<()>,
    ) -> Result<()> {
        for _ in 0..most {
            let Some(record) = walk.next(transaction)? else { break };
            let (score, member) = self.decode_scored(&record)?;
            if visit(Lot::Rows(&[(&member, score)])).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// What lists do.
    fn lists(&self) -> &dyn ListAlgorithm;

    /// The error for a sub-record that its collection counts and that is not there.
    fn missing(&self, record: &RecordKey) -> Error;

    // Collections that are written in several transactions before their meta record is.

    /// Whether records of a collection whose meta record is not written yet cannot be seen while another one is under its key.
    fn hides_unfinished(&self) -> bool {
        true
    }

    /// The lock key that a transaction declares which writes a part of a collection.
    fn unfinished_lock_key(&self, _at: &KeyAt, collection: &Collection) -> Bytes {
        lock_key(0, &collection.version.to_be_bytes())
    }

    /// Notes, with each part that is written, that a collection is being written, where nothing else is under its key. Where the
    /// writer gives up, the sweep removes what it has left. With the first part the layout makes sure that there are no records that
    /// the collection would take for its own.
    ///
    /// # Errors
    /// Store errors.
    fn renew_unfinished(
        &self,
        _transaction: &mut Transaction<'_>,
        _at: &KeyAt,
        _collection: &Collection,
        _is_first: bool,
        _now_ms: u64,
    ) -> Result<()> {
        Ok(())
    }

    /// Whether the note is still there: the sweep has not taken the writer for gone.
    ///
    /// # Errors
    /// Store errors.
    fn is_unfinished(&self, _transaction: &mut Transaction<'_>, _at: &KeyAt, _collection: &Collection) -> Result<bool> {
        Ok(true)
    }

    /// Takes the note back, in the transaction that writes the meta record.
    ///
    /// # Errors
    /// Store errors.
    fn finish(&self, _transaction: &mut Transaction<'_>, _at: &KeyAt, _collection: &Collection) -> Result<()> {
        Ok(())
    }

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

    /// All ranges that hold records of a user key, those of `metas` (what [`Layout::find`] returned, for each namespace) first: the meta
    /// record, sub-records, indexes, garbage. Dead ones too, where the user key leads to them. Ranges may turn out to be empty.
    fn records_of(&self, at: &KeyAt, metas: &[Meta]) -> Vec<RecordRange>;

    /// Takes a record apart, also a damaged one or one of another keyspace. `kind` is that of the collection which a sub-record belongs to,
    /// where the caller knows it; a layout whose records do not tell guesses without, and says so in the note.
    fn describe(&self, keyspace: &str, key: &[u8], value: &[u8], kind: Option<Kind>) -> Anatomy;
}
