//! The default layout: Blackwidow's model made portable. `docs/format.md` specifies every byte.
//!
//! All keyspaces are in byte order. A collection's records are keyed by its version alone, which is never given twice in a
//! database: so DEL of any size is one small write, RENAME moves nothing but the meta record, and no dead record can be taken
//! for a live one.

mod anatomy;
mod catalog;
mod check;
pub mod field_expiry;
mod packed;
pub mod rank;
pub mod records;
pub(in crate::layout) mod shown;
pub(in crate::layout) mod straight;
mod sweep;

use super::anatomy::Anatomy;
use super::field_expiry::FieldIndex;
use super::lists::{ArrayRecords, ListAlgorithm};
use super::lots::{Form, Lot};
use super::ranks::RankRecords;
use super::records::{Record, Records, Walk};
use super::straight::Keyspaces;
use super::{
    Body, Catalog, Collection, Cut, Expired, FieldValue, Finding, KeyAt, Kind, Layout, LentField, LentScored, Meta, Names, New, RecordKey,
    RecordRange, Swept, lock_key,
};
use crate::codec::Flaw;
use crate::error::{Error, Result};
use crate::settings::{MAX_PACKED_BYTES, USUAL_PACKED_BYTES};
use crate::store::{KeyRange, Keyspace, Order, Scope, Store, StoreError, prefix_end};
use crate::transaction::Transaction;
use bytes::Bytes;
use records::Garbage;
use std::ops::{ControlFlow, Range};

/// The layout's name.
pub const NAME: &str = "orbweaver";

/// How often opening an empty store is tried again while others open it as well.
const MAX_ATTEMPTS: u32 = 100;

/// Names of the keyspaces, as hosts see them.
pub mod keyspace {
    /// Format marker, reserved numbers, dbs.
    pub const SYSTEM: &str = "system";
    /// User keys: strings whole, collections by their meta records.
    pub const META: &str = "meta";
    /// Fields, members and elements.
    pub const DATA: &str = "data";
    /// Sorted sets in the order of their scores.
    pub const SCORE: &str = "score";
    /// When which key expires.
    pub const EXPIRY: &str = "expiry";
    /// What removed keys have left behind.
    pub const GARBAGE: &str = "garbage";
    /// When which field of a hash expires.
    pub const FIELD_EXPIRY: &str = "field-expiry";
    /// Ranks of large sorted sets.
    pub const RANK: &str = "rank";
    /// All of them, in the order in which they are opened.
    pub const ALL: [&str; 8] = [SYSTEM, META, DATA, SCORE, EXPIRY, GARBAGE, FIELD_EXPIRY, RANK];
}

/// The layout, opened on a store.
#[derive(Clone, Copy, Debug)]
pub struct Orbweaver {
    system: Keyspace,
    meta: Keyspace,
    data: Keyspace,
    score: Keyspace,
    expiry: Keyspace,
    garbage: Keyspace,
    field_expiry: Keyspace,
    rank: Keyspace,
    /// Collections of up to so many bytes are packed; 0: none are.
    max_packed_bytes: usize,
}

impl Orbweaver {
    /// Opens the layout's keyspaces, and marks a store that is still empty as written by this layout. Collections that are packed stay so until
    /// they change.
    ///
    /// # Errors
    /// Store errors; [`Error::Corrupt`] where the store's marker is of another layout or of a newer format.
    pub fn open(store: &mut dyn Store) -> Result<Self> {
        Self::open_packing(store, Some(0))
    }

    /// As [`Orbweaver::open`]; new collections are packed as long as their records take up to `max_packed_bytes`, as
    /// [`Settings`](crate::settings::Settings) have it, see `docs/format.md`. Programs that do not know this refuse the store from then on, unless none are.
    ///
    /// # Errors
    /// As [`Orbweaver::open`].
    pub fn open_packing(store: &mut dyn Store, max_packed_bytes: Option<usize>) -> Result<Self> {
        let mut open = |name| store.open_keyspace(name, Order::Bytes);
        let mut layout = Self {
            system: open(keyspace::SYSTEM)?,
            meta: open(keyspace::META)?,
            data: open(keyspace::DATA)?,
            score: open(keyspace::SCORE)?,
            expiry: open(keyspace::EXPIRY)?,
            garbage: open(keyspace::GARBAGE)?,
            field_expiry: open(keyspace::FIELD_EXPIRY)?,
            rank: open(keyspace::RANK)?,
            max_packed_bytes: 0,
        };
        layout.check_marker(store, max_packed_bytes)?;
        Ok(layout)
    }

    /// The version of the format that this writes.
    const fn format_version(&self) -> u32 {
        if self.max_packed_bytes > 0 { records::PACKED_FORMAT_VERSION } else { records::FORMAT_VERSION }
    }

    /// Marks the store, and settles how many bytes are packed.
    fn check_marker(&mut self, store: &mut dyn Store, max_packed_bytes: Option<usize>) -> Result<()> {
        for _ in 0..MAX_ATTEMPTS {
            let marked = self.marked_version(&mut Transaction::begin(store, Scope::Read)?)?;
            self.max_packed_bytes = match max_packed_bytes {
                Some(bytes) => bytes.min(MAX_PACKED_BYTES),
                None if marked == Some(records::FORMAT_VERSION) => 0,
                None => USUAL_PACKED_BYTES,
            };
            if marked >= Some(self.format_version()) || store.limits().read_only {
                return Ok(());
            }
            // Another instance may be opening the same store.
            match self.mark(store, marked) {
                Err(error) if error.is_transient() => {}
                other => return other,
            }
        }
        Err(StoreError::Conflict.into())
    }

    /// The version of the format that the store is marked with; `None` where it is empty.
    fn marked_version(&self, transaction: &mut Transaction<'_>) -> Result<Option<u32>> {
        let key = Bytes::from_static(records::system_key::FORMAT);
        let marker = transaction.get(self.system, &key)?;
        let version = marker.map(|marker| records::version_of_marker(&marker)).transpose();
        version.map_err(|flaw| corrupt(keyspace::SYSTEM, &key, flaw))
    }

    /// Marks a store that has that marker; a conflict where it has another one by now.
    fn mark(&self, store: &mut dyn Store, marked: Option<u32>) -> Result<()> {
        let mut transaction = Transaction::begin(store, Scope::Exclusive)?;
        if self.marked_version(&mut transaction)? != marked {
            return Err(StoreError::Conflict.into());
        }
        let key = Bytes::from_static(records::system_key::FORMAT);
        transaction.put(self.system, key, records::marker(self.format_version()))?;
        Ok(transaction.commit()?)
    }

    /// Changes the expiry record of a key from one expiry to another.
    fn move_expiry(&self, transaction: &mut Transaction<'_>, lock_key: &[u8], old: Option<u64>, new: Option<u64>) -> Result<()> {
        if old == new {
            return Ok(());
        }
        if let Some(at) = old {
            transaction.delete(self.expiry, records::encode_expiry_key(at, lock_key))?;
        }
        if let Some(at) = new {
            transaction.put(self.expiry, records::encode_expiry_key(at, lock_key), Bytes::new())?;
        }
        Ok(())
    }

    fn put_garbage(&self, transaction: &mut Transaction<'_>, garbage: &Garbage) -> Result<()> {
        let (key, value) = records::encode_garbage(garbage);
        Ok(transaction.put(self.garbage, key, value)?)
    }

    /// Leaves a collection's records to the sweep, unless `new` continues it.
    fn retire(&self, transaction: &mut Transaction<'_>, old: &Meta, new: Option<&Meta>) -> Result<()> {
        let Body::Collection(old) = &old.body else { return Ok(()) };
        let continued = new.and_then(Meta::collection).is_some_and(|new| new.version == old.version);
        // What was emptied by its own commands has no records left.
        if continued || old.count == 0 {
            return Ok(());
        }
        // What is packed has none but changes of this transaction, which are left out. Only an index is not.
        if transaction.knows_packed(old.version) && !old.has_index() {
            return Ok(());
        }
        self.leave_to_the_sweep(transaction, old)
    }

    fn leave_to_the_sweep(&self, transaction: &mut Transaction<'_>, old: &Collection) -> Result<()> {
        let Collection { version, kind, count, .. } = *old;
        self.put_garbage(transaction, &Garbage::Collection { version, kind, count, has_index: old.has_index() })
    }
}

/// A record that is not there, although the head says so.
const MISSING: Flaw = Flaw { offset: 0, what: "a missing record" };

/// A corrupt-record error of this layout.
fn corrupt(keyspace: &'static str, key: &[u8], flaw: Flaw) -> Error {
    Error::corrupt(NAME, keyspace, key, flaw)
}

impl Layout for Orbweaver {
    fn name(&self) -> &'static str {
        NAME
    }

    fn load_catalog(&self, transaction: &mut Transaction<'_>, databases: usize) -> Result<Catalog> {
        self.load_spaces(transaction, databases)
    }

    fn flush(&self, transaction: &mut Transaction<'_>, catalog: &mut Catalog, db: usize) -> Result<()> {
        self.flush_space(transaction, catalog, db)
    }

    fn swap(&self, transaction: &mut Transaction<'_>, catalog: &mut Catalog, a: usize, b: usize) -> Result<()> {
        self.swap_spaces(transaction, catalog, a, b)
    }

    fn versions_lock_key(&self) -> Bytes {
        lock_key(0, records::system_key::NEXT_VERSION)
    }

    fn reserve_versions(&self, transaction: &mut Transaction<'_>, count: u64) -> Result<u64> {
        self.take_versions(transaction, count)
    }

    fn next_version(
        &self,
        transaction: &mut Transaction<'_>,
        _at: &KeyAt,
        _kind: Kind,
        _now_ms: u64,
        reserved: &mut dyn FnMut() -> Result<u64>,
    ) -> Result<u64> {
        let version = reserved()?;
        if self.max_packed_bytes > 0 {
            transaction.pack_new(self.packing(), version);
        }
        Ok(version)
    }

    fn meta_records(&self, at: &KeyAt, _kind: Option<Kind>, records: &mut Vec<RecordKey>) {
        records.push((self.meta, at.lock_key().clone()));
    }

    fn find(&self, transaction: &mut Transaction<'_>, at: &KeyAt, _kind: Kind) -> Result<Option<Meta>> {
        self.find_meta(transaction, at)
    }

    fn write(&self, transaction: &mut Transaction<'_>, at: &KeyAt, old: Option<&Meta>, new: New<'_>, _now_ms: u64) -> Result<()> {
        let key = at.lock_key();
        if transaction.was_put_last(self.meta, key)
            && let (Some(old), New::Value(new)) = (old, new)
            && is_continued(old, new)
            && transaction.put_again(self.meta, key, records::meta_bytes(new), |mut bytes| records::write_meta(&mut bytes, new))
        {
            return Ok(());
        }
        transaction.touch(key)?;
        match (old, new) {
            (Some(old), New::Value(_) | New::Nothing) => self.retire(transaction, old, new.value())?,
            // The tree of a large sorted set that one command has emptied.
            (_, New::Emptied(Meta { body: Body::Collection(emptied), .. })) if emptied.rank_levels > 0 => {
                self.leave_to_the_sweep(transaction, emptied)?;
            }
            _ => {}
        }
        let new = new.value();
        let expiry = |meta: Option<&Meta>| meta.and_then(|meta| meta.expire_at_ms);
        self.move_expiry(transaction, key, expiry(old), expiry(new))?;
        self.move_field_expiry(transaction, key, old, new)?;
        Ok(transaction.set((self.meta, key.clone()), new.map(records::encode_meta))?)
    }

    fn takes_rows(&self) -> bool {
        true
    }

    fn heads(&self) -> Option<Keyspace> {
        Some(self.meta)
    }

    fn straight(&self) -> Option<Keyspaces> {
        Some(Keyspaces { heads: self.meta, parts: self.data, scores: self.score, expiries: self.expiry, packing: self.packing() })
    }

    fn rename(&self, transaction: &mut Transaction<'_>, from: &KeyAt, to: &KeyAt, meta: &Meta) -> Result<bool> {
        let (from, to) = (from.lock_key(), to.lock_key());
        transaction.touch(from)?;
        transaction.touch(to)?;
        self.move_expiry(transaction, from, meta.expire_at_ms, None)?;
        self.move_expiry(transaction, to, None, meta.expire_at_ms)?;
        self.move_field_expiry(transaction, to, None, Some(meta))?;
        transaction.delete(self.meta, from.clone())?;
        transaction.put(self.meta, to.clone(), records::encode_meta(meta))?;
        Ok(true)
    }

    fn keys(&self, space: u32, _kind: Option<Kind>, names: &Names) -> Records {
        Records::Range((self.meta, names.range(|name| lock_key(space, name).to_vec(), || prefix_end(&space.to_be_bytes()))))
    }

    fn decode_key(&self, record: &Record) -> Result<(Bytes, Meta)> {
        let decode = || {
            let mut reader = crate::codec::Reader::new(&record.key);
            reader.u32("a space is cut short")?;
            Ok((reader.rest(), records::decode_meta(&record.value)?))
        };
        decode().map_err(|flaw| corrupt(keyspace::META, &record.key, flaw))
    }

    fn field(&self, _at: &KeyAt, hash: &Collection, field: &[u8]) -> RecordKey {
        (self.data, records::encode_sub_key(hash.version, field))
    }

    fn decode_field_value(&self, _hash: &Collection, key: &[u8], value: &Bytes) -> Result<Option<FieldValue>> {
        records::decode_field_value(value).map(Some).map_err(|flaw| corrupt(keyspace::DATA, key, flaw))
    }

    fn write_field(
        &self,
        transaction: &mut Transaction<'_>,
        _at: &KeyAt,
        _hash: &Collection,
        _field: &[u8],
        record: RecordKey,
        value: Option<&FieldValue>,
    ) -> Result<()> {
        Ok(transaction.set(record, value.map(records::encode_field_value))?)
    }

    fn fields(&self, _at: &KeyAt, hash: &Collection, names: &Names) -> Records {
        let version = hash.version.to_be_bytes();
        Records::Range((self.data, names.range(|name| [version.as_slice(), name].concat(), || prefix_end(&version))))
    }

    fn decode_field(&self, key: &Bytes) -> Result<Bytes> {
        records::decode_sub_key(key).map(|(_, field)| field).map_err(|flaw| corrupt(keyspace::DATA, key, flaw))
    }

    fn each_field(
        &self,
        transaction: &mut Transaction<'_>,
        _hash: &Collection,
        walk: &mut Walk,
        now_ms: u64,
        visit: &mut dyn FnMut(Lot<'_, '_, LentField<'_>>),
    ) -> Result<()> {
        let mut left = u64::MAX;
        walk.each_run(transaction, |records| shown::lend_fields(records, &mut left, now_ms, visit))
    }

    fn field_index(&self) -> Option<&dyn FieldIndex> {
        Some(self)
    }

    fn member(&self, _at: &KeyAt, set: &Collection, member: &[u8]) -> RecordKey {
        (self.data, records::encode_sub_key(set.version, member))
    }

    fn decode_score(&self, set: &Collection, key: &[u8], value: &Bytes) -> Result<Option<f64>> {
        if set.kind == Kind::Set {
            return Ok(Some(0.0));
        }
        records::decode_score(value).map(Some).map_err(|flaw| corrupt(keyspace::DATA, key, flaw))
    }

    fn write_member(
        &self,
        transaction: &mut Transaction<'_>,
        _at: &KeyAt,
        _set: &Collection,
        _member: &[u8],
        record: RecordKey,
        is_there: bool,
    ) -> Result<()> {
        Ok(transaction.set(record, is_there.then(Bytes::new))?)
    }

    fn members(&self, _at: &KeyAt, set: &Collection) -> Records {
        Records::Range((self.data, KeyRange::prefix(&set.version.to_be_bytes())))
    }

    fn decode_member(&self, key: &Bytes) -> Result<Bytes> {
        records::decode_sub_key(key).map(|(_, member)| member).map_err(|flaw| corrupt(keyspace::DATA, key, flaw))
    }

    fn each_member(&self, transaction: &mut Transaction<'_>, walk: &mut Walk, visit: &mut dyn FnMut(Lot<'_, '_, &[u8]>)) -> Result<()> {
        let mut left = u64::MAX;
        walk.each_run(transaction, |records| shown::lend_members(records, &mut left, visit))
    }

    fn write_score(
        &self,
        transaction: &mut Transaction<'_>,
        _at: &KeyAt,
        set: &Collection,
        member: &[u8],
        (keyspace, key): RecordKey,
        old: Option<f64>,
        new: Option<f64>,
    ) -> Result<()> {
        if let Some(old) = old {
            transaction.delete(self.score, records::encode_scored(set.version, old, member).0)?;
        }
        match new {
            Some(new) => {
                transaction.put(keyspace, key, records::encode_score(new))?;
                let (key, value) = records::encode_scored(set.version, new, member);
                transaction.put(self.score, key, value)?;
            }
            None => transaction.delete(keyspace, key)?,
        }
        Ok(())
    }

    fn scores(&self, _at: &KeyAt, set: &Collection, from: &Cut, to: &Cut) -> Records {
        let mut all = KeyRange::prefix(&set.version.to_be_bytes());
        Cut::narrow(from, to, &mut all, |cut, key| put_score_key(set.version, cut, key));
        Records::Range((self.score, all))
    }

    fn decode_scored(&self, record: &Record) -> Result<(f64, Bytes)> {
        let scored = records::decode_scored(&record.key, &record.value).map(|(_, score, member)| (score, member));
        scored.map_err(|flaw| corrupt(keyspace::SCORE, &record.key, flaw))
    }

    fn rank_records(&self) -> Option<&dyn RankRecords> {
        Some(self)
    }

    fn each_scored(
        &self,
        transaction: &mut Transaction<'_>,
        walk: &mut Walk,
        most: u64,
        visit: &mut dyn FnMut(Lot<'_, '_, LentScored<'_>>) -> ControlFlow<()>,
    ) -> Result<()> {
        if most == 0 {
            return Ok(());
        }
        let mut left = most;
        walk.each_run(transaction, |records| shown::lend_scored(records, &mut left, visit))
    }

    fn lists(&self) -> &dyn ListAlgorithm {
        self
    }

    fn missing(&self, (keyspace, key): &RecordKey) -> Error {
        corrupt(self.sub_keyspace_name(*keyspace), key, MISSING)
    }

    fn unfinished_lock_key(&self, _at: &KeyAt, collection: &Collection) -> Bytes {
        lock_key(0, &records::encode_unfinished_key(collection.version))
    }

    fn renew_unfinished(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        collection: &Collection,
        _is_first: bool,
        now_ms: u64,
    ) -> Result<()> {
        let Collection { version, kind, .. } = *collection;
        transaction.touch(&self.unfinished_lock_key(at, collection))?;
        let unfinished = Garbage::Unfinished { version, kind, renewed_at_ms: now_ms, has_index: collection.has_index() };
        self.put_garbage(transaction, &unfinished)
    }

    fn is_unfinished(&self, transaction: &mut Transaction<'_>, _at: &KeyAt, collection: &Collection) -> Result<bool> {
        Ok(transaction.get(self.garbage, &records::encode_unfinished_key(collection.version))?.is_some())
    }

    fn finish(&self, transaction: &mut Transaction<'_>, at: &KeyAt, collection: &Collection) -> Result<()> {
        transaction.touch(&self.unfinished_lock_key(at, collection))?;
        Ok(transaction.delete(self.garbage, records::encode_unfinished_key(collection.version))?)
    }

    fn sweep(&self, store: &mut dyn Store, now_ms: u64, budget: usize, on_expired: &mut dyn FnMut(KeyAt, Expired)) -> Result<Swept> {
        self.sweep_step(store, now_ms, budget, on_expired)
    }

    fn check(&self, transaction: &mut Transaction<'_>, cursor: &mut Vec<u8>, budget: usize) -> Result<Vec<Finding>> {
        self.check_step(transaction, cursor, budget)
    }

    fn keyspace_name(&self, keyspace: Keyspace) -> &str {
        let opened = [self.system, self.meta, self.data, self.score, self.expiry, self.garbage, self.field_expiry, self.rank];
        opened.into_iter().zip(keyspace::ALL).find(|(own, _)| *own == keyspace).map_or("", |(_, name)| name)
    }

    fn records_of(&self, at: &KeyAt, metas: &[Meta]) -> Vec<RecordRange> {
        self.records_of_key(at, metas.first())
    }

    fn describe(&self, keyspace: &str, key: &[u8], value: &[u8], kind: Option<Kind>) -> Anatomy {
        anatomy::describe(keyspace, key, value, kind)
    }
}

impl ArrayRecords for Orbweaver {
    fn first_index(&self) -> u64 {
        records::FIRST_INDEX
    }

    fn element(&self, _at: &KeyAt, version: u64, index: u64) -> RecordKey {
        (self.data, records::encode_element_key(version, index))
    }

    fn elements(&self, _at: &KeyAt, version: u64, indexes: Range<u64>) -> RecordRange {
        (self.data, shown::elements_at(version, &indexes))
    }

    fn decode_element(&self, key: &[u8]) -> Result<u64> {
        records::decode_element_key(key).map(|(_, index)| index).map_err(|flaw| corrupt(keyspace::DATA, key, flaw))
    }

    fn form_of_element(&self, index: u64) -> Option<Form> {
        Some(Form::Element(index))
    }

    fn missing_element(&self, record: &RecordKey) -> Error {
        self.missing(record)
    }
}

/// Whether nothing but the meta record changes where `new` takes the place of `old`.
fn is_continued(old: &Meta, new: &Meta) -> bool {
    let is_same = match (&old.body, &new.body) {
        (Body::String(_), Body::String(_)) => true,
        (Body::Collection(old), Body::Collection(new)) => old.version == new.version && old.expiries == new.expiries,
        _ => false,
    };
    is_same && old.expire_at_ms == new.expire_at_ms
}

/// Puts where a cut is in the keyspace of the scores in the place of a key; `false`, and nothing put, at an edge.
fn put_score_key(version: u64, cut: &Cut, key: &mut Vec<u8>) -> bool {
    let (score, member, end): (_, &[u8], &[u8]) = match cut {
        Cut::Edge | Cut::Behind(f64::INFINITY) => return false,
        Cut::Before(score) => (*score, b"", b""),
        // Where the members of the next score begin.
        Cut::Behind(score) => (score.next_up(), b"", b""),
        Cut::BeforeMember(score, member) => (*score, member, b""),
        // In byte order nothing is between a member and itself with a zero byte.
        Cut::BehindMember(score, member) => (*score, member, b"\0"),
    };
    key.clear();
    key.extend_from_slice(&straight::prefix(version));
    key.extend_from_slice(&straight::ordered(score));
    key.extend_from_slice(member);
    key.extend_from_slice(end);
    true
}

impl Orbweaver {
    fn find_meta(&self, transaction: &mut Transaction<'_>, at: &KeyAt) -> Result<Option<Meta>> {
        let key = at.lock_key();
        let meta = transaction.look_and_keep(
            self.meta,
            key,
            |value| records::is_packed(value),
            |value| value.map(records::decode_meta).transpose(),
        )?;
        if let Ok(Some(meta @ Meta { body: Body::Collection(Collection { is_packed: true, .. }), .. })) = &meta {
            self.show_packed(transaction, key, meta)?;
        }
        meta.map_err(|flaw| corrupt(keyspace::META, key, flaw))
    }

    /// The records of a space's user keys.
    fn space(&self, space: u32) -> RecordRange {
        (self.meta, KeyRange::prefix(&space.to_be_bytes()))
    }

    /// The name of a keyspace that holds sub-records.
    fn sub_keyspace_name(&self, keyspace: Keyspace) -> &'static str {
        if keyspace == self.score {
            keyspace::SCORE
        } else if keyspace == self.field_expiry {
            keyspace::FIELD_EXPIRY
        } else if keyspace == self.rank {
            keyspace::RANK
        } else {
            keyspace::DATA
        }
    }

    /// The ranges that hold the records of a version.
    fn records_of_version(&self, version: u64, kind: Kind, has_index: bool) -> Vec<RecordRange> {
        let range = KeyRange::prefix(&version.to_be_bytes());
        match kind {
            Kind::String => Vec::new(),
            Kind::Hash if has_index => vec![(self.data, range), (self.field_expiry, field_expiry::fields_of(version))],
            Kind::SortedSet if has_index => vec![(self.data, range.clone()), (self.score, range.clone()), (self.rank, range)],
            Kind::Hash | Kind::List | Kind::Set => vec![(self.data, range)],
            Kind::SortedSet => vec![(self.data, range.clone()), (self.score, range)],
        }
    }
}
