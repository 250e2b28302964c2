//! The layout of Camellia's proxy on a key-value store: rows in byte order, one namespace for all kinds. `docs/layouts/camellia.md` says what
//! it holds and where we differ from the original.
//!
//! The key version of a collection, the time at which it was made, is in the keys of all its rows, so that rows of another version are never
//! met. Heads of encode version 0 count, those of 1 do not; sorted sets of version 1 have their scores in a redis, for which a
//! keyspace stands.

mod anatomy;
mod check;
pub mod double;
mod keys;
mod lists;
mod members;
mod order;
pub mod records;
pub mod redis;
mod sweep;

use super::anatomy::Anatomy;
use super::expiry::ExpiryRules;
use super::lists::ListAlgorithm;
use super::pass::Progress;
use super::records::{Record, Records};
use super::{Catalog, Collection, Cut, Expired, FieldValue, Finding, KeyAt, Kind, Layout, Meta, Names, New, RecordKey, RecordRange, Swept};
use crate::codec::Flaw;
use crate::error::{Error, Result};
use crate::store::{Direction, KeyRange, Keyspace, Order, Scope, Store, prefix_end};
use crate::transaction::Transaction;
use bytes::Bytes;
use lists::{NO_LISTS, NoLists};
use members::{Scored, SortedSet, corrupt};
use order::{ByIndex, ByScore};
use records::{KeyMeta, LONG_MEMBER_BYTES, Rows, Tag};
use std::rc::Rc;

/// The layout's name.
pub const NAME: &str = "camellia";

/// Names of the keyspaces.
pub mod keyspace {
    /// The rows of the key-value store.
    pub const KV: &str = "camellia_kv";
    /// What is in the redis.
    pub const REDIS: &str = "camellia_redis";
}

/// The only space: there are no numbered dbs.
const SPACE: u32 = 1;

/// A collection that is written in parts is finished in this time, or refused.
const UNFINISHED_FOR_MS: u64 = 3_600_000;

/// How a head is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EncodeVersion {
    /// It counts.
    #[default]
    V0,
    /// It does not count. Sorted sets have their scores in the redis.
    V1,
}

/// How a database was made, which its rows do not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The namespace, which stands before every user key.
    pub namespace: Bytes,
    /// Rows begin with eight bytes that stand for the slot, as in HBase and `TiKV`.
    pub has_slot_prefix: bool,
    /// The encode version of new hashes (`kv.hash.encode.version`).
    pub hashes: EncodeVersion,
    /// That of new sets (`kv.set.encode.version`).
    pub sets: EncodeVersion,
    /// That of new sorted sets (`kv.zset.encode.version`).
    pub sorted_sets: EncodeVersion,
}

/// The layout, opened on a store.
#[derive(Debug)]
pub struct Camellia {
    kv: Keyspace,
    redis: Keyspace,
    rows: Rows,
    options: Options,
    lists: NoLists,
    progress: Progress,
}

impl Camellia {
    /// Opens the keyspaces. Nothing is written.
    ///
    /// # Errors
    /// Store errors; a client's mistake where the first row is not one of these options, or one of release 1.2.28 or older.
    pub fn open(store: &mut dyn Store, options: &Options) -> Result<Self> {
        let rows = Rows { namespace: options.namespace.clone(), has_slot_prefix: options.has_slot_prefix };
        let kv = store.open_keyspace(keyspace::KV, Order::Bytes)?;
        let redis = store.open_keyspace(keyspace::REDIS, Order::Bytes)?;
        let layout = Self { kv, redis, rows, options: options.clone(), lists: NoLists, progress: Progress::default() };
        layout.look_at_the_first_row(&mut Transaction::begin(store, Scope::Read)?)?;
        Ok(layout)
    }

    fn look_at_the_first_row(&self, transaction: &mut Transaction<'_>) -> Result<()> {
        let Some((key, _)) = transaction.first(self.kv, KeyRange::all(), Direction::Forward)? else { return Ok(()) };
        if self.rows.decode(&key).is_err() {
            let other = Rows { has_slot_prefix: !self.rows.has_slot_prefix, ..self.rows.clone() };
            return match (other.decode(&key), self.rows.has_slot_prefix) {
                (Ok(_), true) => Err(Error::client("ERR the rows of this database have no slot prefix")),
                (Ok(_), false) => Err(Error::client("ERR the rows of this database have a slot prefix")),
                // A damaged row is for the check to name.
                (Err(_), _) => Ok(()),
            };
        }
        let metas = KeyRange::prefix(&self.rows.tagged(Tag::Meta));
        let first = if self.rows.has_slot_prefix { None } else { transaction.first(self.kv, metas, Direction::Forward)? };
        match first.map(|(key, _)| self.rows.decode(&key)) {
            Some(Ok(Some(row))) if records::is_of_old_release(&row.user_key) => {
                Err(Error::client("ERR this database was written by release 1.2.28 of Camellia or an older one, whose layout is another"))
            }
            _ => Ok(()),
        }
    }

    /// What the meta row of a key says.
    fn key_meta(&self, transaction: &mut Transaction<'_>, at: &KeyAt) -> Result<Option<KeyMeta>> {
        let key = self.rows.meta_key(&at.key);
        let Some(value) = transaction.get(self.kv, &key)? else { return Ok(None) };
        KeyMeta::decode(&value).map(Some).map_err(|flaw| corrupt(keyspace::KV, &key, flaw))
    }

    fn sorted_set(&self, at: &KeyAt, set: &Collection) -> SortedSet {
        SortedSet {
            rows: self.rows.clone(),
            kv: self.kv,
            redis: self.redis,
            user_key: at.key.clone(),
            version: set.version,
            is_in_redis: !set.is_counted,
        }
    }

    /// Removes all rows of a collection but its meta row.
    fn remove_rows(&self, transaction: &mut Transaction<'_>, at: &KeyAt, collection: &Collection) -> Result<()> {
        for tag in Tag::of(collection.kind, collection.is_counted) {
            let prefix = self.rows.sub_key(*tag, &at.key, collection.version, &[]);
            transaction.delete_range(self.kv, KeyRange::prefix(&prefix))?;
        }
        if collection.kind == Kind::SortedSet && !collection.is_counted {
            let (keyspace, range) = self.sorted_set(at, collection).redis_rows();
            transaction.delete_range(keyspace, range)?;
        }
        Ok(())
    }

    fn put(&self, transaction: &mut Transaction<'_>, at: &KeyAt, old: Option<&Meta>, new: &Meta, now_ms: u64) -> Result<()> {
        // A string has a new version when it is set, but not when its expiry alone changes.
        let is_kept = old.is_some_and(|old| old.body == new.body);
        let kept = if is_kept { self.key_meta(transaction, at)? } else { None };
        let key_meta = KeyMeta::of(new, kept.map_or(now_ms, |kept| kept.key_version));
        let key_meta = key_meta.ok_or(Error::client("ERR the layout camellia keeps no more than 2147483647 elements"))?;
        Ok(transaction.put(self.kv, self.rows.meta_key(&at.key), key_meta.encode())?)
    }

    /// What is behind the key version in the key of a sub-row.
    fn rest_of(&self, key: &Bytes) -> Result<Bytes> {
        match self.rows.decode(key) {
            Ok(Some(row)) if row.tag == Tag::Sub => Ok(row.rest),
            Ok(_) => Err(corrupt(keyspace::KV, key, Flaw { offset: 0, what: "not the row of a field or member" })),
            Err(flaw) => Err(corrupt(keyspace::KV, key, flaw)),
        }
    }
}

impl Layout for Camellia {
    fn name(&self) -> &'static str {
        NAME
    }

    fn max_databases(&self) -> usize {
        1
    }

    fn empty_collection(&self, kind: Kind, version: u64) -> Collection {
        let encoded = match kind {
            Kind::Hash => self.options.hashes,
            Kind::Set => self.options.sets,
            Kind::SortedSet => self.options.sorted_sets,
            Kind::String | Kind::List => EncodeVersion::V0,
        };
        let empty = Collection::empty(kind, version);
        if encoded == EncodeVersion::V0 { empty } else { empty.uncounted() }
    }

    fn expiry_rules(&self) -> ExpiryRules {
        ExpiryRules { gone_at: true, latest_ms: i64::MAX.cast_unsigned(), ..ExpiryRules::REDIS }
    }

    fn keys_are_in_byte_order(&self) -> bool {
        !self.rows.has_slot_prefix
    }

    fn load_catalog(&self, _transaction: &mut Transaction<'_>, _databases: usize) -> Result<Catalog> {
        Ok(Catalog { spaces: vec![SPACE] })
    }

    fn flush(&self, transaction: &mut Transaction<'_>, _catalog: &mut Catalog, _db: usize) -> Result<()> {
        self.remove_all(transaction)
    }

    fn next_version(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        kind: Kind,
        now_ms: u64,
        _reserved: &mut dyn FnMut() -> Result<u64>,
    ) -> Result<u64> {
        if kind == Kind::List {
            return Err(NO_LISTS);
        }
        let old = self.key_meta(transaction, at)?.filter(|old| records::kind_of(old.key_type) != Some(Kind::String));
        Ok(old.map_or(now_ms, |old| now_ms.max(old.key_version.saturating_add(1))))
    }

    fn meta_records(&self, at: &KeyAt, _kind: Option<Kind>, records: &mut Vec<RecordKey>) {
        records.push((self.kv, self.rows.meta_key(&at.key)));
    }

    fn find(&self, transaction: &mut Transaction<'_>, at: &KeyAt, _kind: Kind) -> Result<Option<Meta>> {
        let Some(key_meta) = self.key_meta(transaction, at)? else { return Ok(None) };
        let meta = key_meta.meta().map_err(|flaw| corrupt(keyspace::KV, &self.rows.meta_key(&at.key), flaw))?;
        Ok(Some(meta).filter(|meta| meta.collection().is_none_or(|collection| collection.count > 0)))
    }

    fn write(&self, transaction: &mut Transaction<'_>, at: &KeyAt, old: Option<&Meta>, new: New<'_>, now_ms: u64) -> Result<()> {
        transaction.touch(at.lock_key())?;
        if let Some(old) = old.and_then(Meta::collection) {
            let is_continued = new.value().and_then(Meta::collection).is_some_and(|new| new.version == old.version);
            // Of sorted sets there may be rows that say earlier scores.
            let is_without_rows = matches!(new, New::Emptied(_)) && old.kind != Kind::SortedSet;
            if !is_continued && !is_without_rows {
                self.remove_rows(transaction, at, &old)?;
            }
        }
        match new.value() {
            Some(new) => self.put(transaction, at, old, new, now_ms),
            None => Ok(transaction.delete(self.kv, self.rows.meta_key(&at.key))?),
        }
    }

    fn keys(&self, _space: u32, _kind: Option<Kind>, names: &Names) -> Records {
        self.meta_rows(names)
    }

    fn decode_key(&self, record: &Record) -> Result<(Bytes, Meta)> {
        let decode = || {
            let row = self.rows.decode(&record.key)?.filter(|row| row.tag == Tag::Meta);
            let row = row.ok_or(Flaw { offset: 0, what: "not a meta row" })?;
            if records::is_of_old_release(&row.user_key) {
                return Err(Flaw { offset: 0, what: "a row of release 1.2.28 or older" });
            }
            Ok((row.user_key, KeyMeta::decode(&record.value)?.meta()?))
        };
        decode().map_err(|flaw| corrupt(keyspace::KV, &record.key, flaw))
    }

    fn field(&self, at: &KeyAt, hash: &Collection, field: &[u8]) -> RecordKey {
        (self.kv, self.rows.sub_key(Tag::Sub, &at.key, hash.version, &[field]))
    }

    fn decode_field_value(&self, _hash: &Collection, _key: &[u8], value: &Bytes) -> Result<Option<FieldValue>> {
        Ok(Some(FieldValue { expire_at_ms: None, value: value.clone() }))
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
        Ok(transaction.set(record, value.map(|value| value.value.clone()))?)
    }

    fn fields(&self, at: &KeyAt, hash: &Collection, names: &Names) -> Records {
        let key = |name: &[u8]| self.field(at, hash, name).1.to_vec();
        Records::Range((self.kv, names.range(key, || prefix_end(&self.rows.sub_key(Tag::Sub, &at.key, hash.version, &[])))))
    }

    fn decode_field(&self, key: &Bytes) -> Result<Bytes> {
        self.rest_of(key)
    }

    fn member(&self, at: &KeyAt, set: &Collection, member: &[u8]) -> RecordKey {
        match set.kind {
            Kind::SortedSet => self.sorted_set(at, set).member_row(member),
            _ => self.field(at, set, member),
        }
    }

    fn decode_score(&self, set: &Collection, key: &[u8], value: &Bytes) -> Result<Option<f64>> {
        match set.kind {
            Kind::SortedSet => members::decode_score(!set.is_counted, key, value).map(Some),
            _ => Ok(Some(0.0)),
        }
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

    fn members(&self, at: &KeyAt, set: &Collection) -> Records {
        if set.kind == Kind::SortedSet && !set.is_counted {
            return Records::Own(Rc::new(ByIndex { set: self.sorted_set(at, set), behind: None }));
        }
        Records::Range((self.kv, KeyRange::prefix(&self.rows.sub_key(Tag::Sub, &at.key, set.version, &[]))))
    }

    fn decode_member(&self, key: &Bytes) -> Result<Bytes> {
        self.rest_of(key)
    }

    fn write_score(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        set: &Collection,
        member: &[u8],
        (keyspace, key): RecordKey,
        old: Option<f64>,
        new: Option<f64>,
    ) -> Result<()> {
        let set = self.sorted_set(at, set);
        if let Some(old) = old {
            let (keyspace, key) = set.score_row(old, member);
            transaction.delete(keyspace, key)?;
        }
        match new {
            Some(new) => {
                transaction.put(keyspace, key, set.encode_score(new))?;
                let (keyspace, key) = set.score_row(new, member);
                transaction.put(keyspace, key, Bytes::new())?;
            }
            None => transaction.delete(keyspace, key)?,
        }
        if !set.is_in_redis || member.len() < LONG_MEMBER_BYTES {
            return Ok(());
        }
        let (keyspace, key) = set.long_row(&records::index_of(member));
        match (old, new) {
            (None, Some(_)) => transaction.put(keyspace, key, Bytes::copy_from_slice(member))?,
            (_, None) => transaction.delete(keyspace, key)?,
            (Some(_), Some(_)) => {}
        }
        Ok(())
    }

    fn scores(&self, at: &KeyAt, set: &Collection, from: &Cut, to: &Cut) -> Records {
        Records::Own(Rc::new(ByScore { set: self.sorted_set(at, set), from: from.clone(), to: to.clone() }))
    }

    fn decode_scored(&self, record: &Record) -> Result<(f64, Bytes)> {
        let Scored { score, member } = members::decode_scored(&self.rows, &record.key)?;
        Ok((score, member))
    }

    fn lists(&self) -> &dyn ListAlgorithm {
        &self.lists
    }

    fn missing(&self, (keyspace, key): &RecordKey) -> Error {
        let name = if *keyspace == self.redis { keyspace::REDIS } else { keyspace::KV };
        corrupt(name, key, Flaw { offset: 0, what: "a missing record" })
    }

    fn renew_unfinished(
        &self,
        _transaction: &mut Transaction<'_>,
        _at: &KeyAt,
        collection: &Collection,
        _is_first: bool,
        now_ms: u64,
    ) -> Result<()> {
        // There is no place for a note: the sweep goes by the version alone, and later than this.
        if now_ms > collection.version.saturating_add(UNFINISHED_FOR_MS) {
            return Err(Error::client("ERR the layout camellia takes no collection that is longer than an hour in writing"));
        }
        Ok(())
    }

    fn sweep(&self, store: &mut dyn Store, now_ms: u64, budget: usize, on_expired: &mut dyn FnMut(KeyAt, Expired)) -> Result<Swept> {
        self.progress.sweep(self, store, now_ms, budget, on_expired)
    }

    fn check(&self, transaction: &mut Transaction<'_>, cursor: &mut Vec<u8>, budget: usize) -> Result<Vec<Finding>> {
        self.check_step(transaction, cursor, budget)
    }

    fn keyspace_name(&self, keyspace: Keyspace) -> &str {
        if keyspace == self.redis { keyspace::REDIS } else { keyspace::KV }
    }

    fn records_of(&self, at: &KeyAt, metas: &[Meta]) -> Vec<RecordRange> {
        self.records_of_key(at, metas)
    }

    fn describe(&self, keyspace: &str, key: &[u8], value: &[u8], kind: Option<Kind>) -> Anatomy {
        self.take_apart(keyspace, key, value, kind)
    }
}
