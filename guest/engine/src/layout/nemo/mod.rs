//! The layout of Nemo, the store of Pika 2: five databases, one for each kind. `docs/layouts/nemo.md` says what it holds and where we
//! differ from the original.
//!
//! A removed collection leaves its meta record, with a count of 0 and a version above those of its elements, and the elements too: all that
//! walk over elements pass over those whose version is below that of the meta record.

mod anatomy;
mod check;
mod database;
pub mod records;
mod sweep;

use super::anatomy::Anatomy;
use super::expiry::ExpiryRules;
use super::lists::{Linked, ListAlgorithm, ListHead, NO_HEAD};
use super::pass::Progress;
use super::records::{Choice, Record, Records, Verdict};
use super::{
    Body, Catalog, Collection, Cut, Expired, FieldValue, Finding, KeyAt, Kind, Layout, Meta, Names, New, RecordKey, RecordRange,
    SketchFormat, Swept,
};
use crate::codec::Flaw;
use crate::error::{Error, Result};
use crate::store::{Direction, KeyRange, Keyspace, Order, Scope, Store, StoreError, prefix_end};
use crate::transaction::Transaction;
use bytes::Bytes;
use database::{Database, Live};
use records::{Head, Tag, Trailer};
use std::rc::Rc;

/// The layout's name.
pub const NAME: &str = "nemo";

/// Names of the keyspaces: each is the only column family of a database.
pub mod keyspace {
    /// Strings.
    pub const KV: &str = "kv/default";
    /// Hashes.
    pub const HASH: &str = "hash/default";
    /// Lists.
    pub const LIST: &str = "list/default";
    /// Sorted sets.
    pub const ZSET: &str = "zset/default";
    /// Sets.
    pub const SET: &str = "set/default";
}

/// The only space: there are no numbered dbs.
const SPACE: u32 = 1;

/// A collection whose writer has not written for this long is taken for given up.
const UNFINISHED_FOR_MS: u64 = 3_600_000;

/// The layout, opened on a store.
#[derive(Debug)]
pub struct Nemo {
    kv: Keyspace,
    hash: Database,
    lists: Linked<Database>,
    zset: Database,
    set: Database,
    progress: Progress,
}

impl Nemo {
    /// Opens the five databases. A store that is still empty gets the separator records that Nemo puts there; one that has any record
    /// is left as it is.
    ///
    /// # Errors
    /// Store errors.
    pub fn open(store: &mut dyn Store) -> Result<Self> {
        let mut open = |name| store.open_keyspace(name, Order::Bytes);
        let kv = open(keyspace::KV)?;
        let mut database = |name, kind| Ok::<_, Error>(Database { keyspace: open(name)?, kind });
        let layout = Self {
            kv,
            hash: database(keyspace::HASH, Kind::Hash)?,
            lists: Linked(database(keyspace::LIST, Kind::List)?),
            zset: database(keyspace::ZSET, Kind::SortedSet)?,
            set: database(keyspace::SET, Kind::Set)?,
            progress: Progress::default(),
        };
        layout.separate(store)?;
        Ok(layout)
    }

    /// Puts the separator records into an empty store.
    fn separate(&self, store: &mut dyn Store) -> Result<()> {
        if store.limits().read_only || !self.is_empty(&mut Transaction::begin(store, Scope::Read)?)? {
            return Ok(());
        }
        let mut transaction = Transaction::begin(store, Scope::Exclusive)?;
        // Another instance may have opened it meanwhile.
        if self.is_empty(&mut transaction)? {
            self.put_separators(&mut transaction)?;
        }
        Ok(transaction.commit()?)
    }

    fn is_empty(&self, transaction: &mut Transaction<'_>) -> Result<bool> {
        for keyspace in self.keyspaces() {
            if transaction.first(keyspace, KeyRange::all(), Direction::Forward)?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn put_separators(&self, transaction: &mut Transaction<'_>) -> Result<()> {
        for database in self.databases() {
            for tag in Tag::of_kind(database.kind) {
                let (key, value) = (Bytes::copy_from_slice(&tag.separator()), Bytes::from_static(records::SEPARATOR_VALUE));
                transaction.put(database.keyspace, key, value)?;
            }
        }
        Ok(())
    }

    const fn databases(&self) -> [Database; 4] {
        [self.hash, self.lists.0, self.zset, self.set]
    }

    fn keyspaces(&self) -> impl Iterator<Item = Keyspace> {
        std::iter::once(self.kv).chain(self.databases().map(|database| database.keyspace))
    }

    /// The database of a kind of collection; `None` for strings.
    const fn database(&self, kind: Kind) -> Option<Database> {
        match kind {
            Kind::String => None,
            Kind::Hash => Some(self.hash),
            Kind::List => Some(self.lists.0),
            Kind::Set => Some(self.set),
            Kind::SortedSet => Some(self.zset),
        }
    }

    /// The database in a keyspace; `None` for that of the strings.
    fn database_at(&self, keyspace: Keyspace) -> Option<Database> {
        self.databases().into_iter().find(|database| database.keyspace == keyspace)
    }

    /// The database of the members of a set or sorted set, and the tag of their records.
    const fn of_members(&self, set: &Collection) -> (Database, Tag) {
        match set.kind {
            Kind::SortedSet => (self.zset, Tag::Scored),
            _ => (self.set, Tag::Member),
        }
    }

    /// Stores what a key is to be from now on.
    fn put(&self, transaction: &mut Transaction<'_>, at: &KeyAt, meta: &Meta) -> Result<()> {
        if let Some(at_ms) = meta.expire_at_ms {
            self.expiry_rules().check(NAME, at_ms)?;
        }
        let timestamp = Trailer::timestamp_of(meta.expire_at_ms).unwrap_or(i32::MAX);
        match (&meta.body, self.database(meta.kind())) {
            (Body::Collection(collection), Some(database)) => {
                check_user_key(&at.key)?;
                let Collection { count, list, version, .. } = *collection;
                database.put_head(transaction, at, &Head { count, list, trailer: Trailer { version: version_of(version), timestamp } })
            }
            (Body::String(value), _) => {
                let value = Trailer { version: 0, timestamp }.behind(value);
                Ok(transaction.put(self.kv, at.key.clone(), value)?)
            }
            (Body::Collection(_), None) => Ok(()),
        }
    }

    /// Removes what is under a key: a string, or a collection together with all its elements.
    fn remove(&self, transaction: &mut Transaction<'_>, at: &KeyAt, kind: Kind, now_ms: u64) -> Result<()> {
        let Some(database) = self.database(kind) else { return Ok(transaction.delete(self.kv, at.key.clone())?) };
        let Some(old) = database.head(transaction, at)? else { return Ok(()) };
        let version = seconds(now_ms).max(next(old.trailer.version)?);
        database.put_head(transaction, at, &self.dead(database, Trailer { version, timestamp: 0 }))
    }

    /// Removes the head of a list without elements, unless its version is ahead of the clock: the next list would begin with a lower one, to
    /// which the nodes of removed lists are its own.
    fn remove_head(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, now_ms: u64) -> Result<()> {
        if list.version > u64::from(seconds(now_ms)) {
            let list = Collection { list: self.lists.empty(), ..*list };
            return self.put(transaction, at, &Meta { expire_at_ms: None, body: Body::Collection(list) });
        }
        let (keyspace, key) = self.lists.0.meta_record(at);
        Ok(transaction.delete(keyspace, key)?)
    }

    /// The head of a collection without elements.
    fn dead(&self, database: Database, trailer: Trailer) -> Head {
        let list = if database.kind == Kind::List { self.lists.empty() } else { ListHead::None };
        Head { count: 0, list, trailer }
    }

    /// The note that a collection is being written in parts: the head of one without elements, of the next version, so that nothing
    /// takes the elements written so far for its own, with a time at which the writer is taken for gone.
    fn note(&self, transaction: &mut Transaction<'_>, at: &KeyAt, collection: &Collection) -> Result<Option<Head>> {
        let Some(database) = self.database(collection.kind) else { return Ok(None) };
        let version = next(version_of(collection.version))?;
        let head = database.head(transaction, at)?;
        Ok(head.filter(|head| head.count == 0 && head.trailer.version == version && head.trailer.timestamp != 0))
    }
}

/// A corrupt-record error of this layout.
fn corrupt(keyspace: &'static str, key: &[u8], flaw: Flaw) -> Error {
    Error::corrupt(NAME, keyspace, key, flaw)
}

fn check_user_key(user_key: &[u8]) -> Result<()> {
    if records::is_user_key(user_key) {
        return Ok(());
    }
    Err(Error::client("ERR the layout nemo keeps hashes, lists, sets and sorted sets under keys of 1 to 254 bytes"))
}

fn check_score(score: f64) -> Result<()> {
    if (-records::MAX_SCORE..=records::MAX_SCORE).contains(&score) {
        return Ok(());
    }
    Err(Error::client("ERR the layout nemo keeps scores from -1e13 to 1e13"))
}

/// The clock in full seconds, as versions count them.
fn seconds(now_ms: u64) -> u32 {
    u32::try_from(now_ms / 1000).unwrap_or(u32::MAX)
}

/// The version of a collection of this layout, which come from 32 bits.
fn version_of(version: u64) -> u32 {
    u32::try_from(version).unwrap_or(u32::MAX)
}

/// The version behind another one.
fn next(version: u32) -> Result<u32> {
    version.checked_add(1).ok_or(Error::client("ERR the layout nemo has no version left for this key"))
}

/// The collections that are there: those that were removed, or emptied, have left meta records.
#[derive(Debug)]
struct Existing(Database);

impl Choice for Existing {
    fn judge(&self, _transaction: &mut Transaction<'_>, record: &Record, _direction: Direction) -> Result<Verdict> {
        // What cannot be read is for the reader to see.
        let is_dead = records::decode_meta(self.0.kind, &record.value).is_ok_and(|head| head.count == 0);
        Ok(if is_dead { Verdict::Pass } else { Verdict::Take })
    }
}

impl Layout for Nemo {
    fn name(&self) -> &'static str {
        NAME
    }

    fn max_databases(&self) -> usize {
        1
    }

    fn namespaces(&self) -> &'static [Kind] {
        &[Kind::String, Kind::Hash, Kind::List, Kind::SortedSet, Kind::Set]
    }

    fn expiry_rules(&self) -> ExpiryRules {
        ExpiryRules { lingers_ms: 1000, ..ExpiryRules::SECONDS }
    }

    fn removes_expired(&self) -> bool {
        false
    }

    fn sketches(&self) -> SketchFormat {
        SketchFormat::Bytes
    }

    fn score_index_is_exact(&self) -> bool {
        false
    }

    fn load_catalog(&self, _transaction: &mut Transaction<'_>, _databases: usize) -> Result<Catalog> {
        Ok(Catalog { spaces: vec![SPACE] })
    }

    fn flush(&self, transaction: &mut Transaction<'_>, _catalog: &mut Catalog, _db: usize) -> Result<()> {
        for keyspace in self.keyspaces() {
            transaction.delete_range(keyspace, KeyRange::all())?;
        }
        self.put_separators(transaction)
    }

    fn next_version(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        kind: Kind,
        now_ms: u64,
        _reserved: &mut dyn FnMut() -> Result<u64>,
    ) -> Result<u64> {
        let Some(database) = self.database(kind) else { return Ok(0) };
        let now = seconds(now_ms);
        let version = match database.head(transaction, at)? {
            None => now,
            Some(old) if old.trailer.expire_at_ms().is_some_and(|at_ms| self.expiry_rules().is_past(at_ms, now_ms)) => {
                next(old.trailer.version)?
            }
            Some(old) if old.count == 0 => old.trailer.version,
            // It is about to be replaced.
            Some(old) => now.max(next(old.trailer.version)?),
        };
        Ok(u64::from(version))
    }

    fn meta_records(&self, at: &KeyAt, kind: Option<Kind>, records: &mut Vec<RecordKey>) {
        if kind.is_none_or(|kind| kind == Kind::String) {
            records.push((self.kv, at.key.clone()));
        }
        if records::is_user_key(&at.key) {
            let asked = self.databases().into_iter().filter(|database| kind.is_none_or(|kind| kind == database.kind));
            records.extend(asked.map(|database| database.meta_record(at)));
        }
    }

    fn find(&self, transaction: &mut Transaction<'_>, at: &KeyAt, kind: Kind) -> Result<Option<Meta>> {
        let Some(database) = self.database(kind) else {
            let Some(value) = transaction.get(self.kv, &at.key)? else { return Ok(None) };
            return decode_string(&at.key, &value).map(Some);
        };
        let head = database.head(transaction, at)?;
        Ok(head.filter(|head| head.count > 0).map(|head| database.meta(&head)))
    }

    fn write(&self, transaction: &mut Transaction<'_>, at: &KeyAt, old: Option<&Meta>, new: New<'_>, now_ms: u64) -> Result<()> {
        transaction.touch(at.lock_key())?;
        let new_kind = match new {
            New::Value(meta) | New::Emptied(meta) => Some(meta.kind()),
            New::Nothing => None,
        };
        if let Some(old) = old.map(Meta::kind).filter(|old| Some(*old) != new_kind) {
            self.remove(transaction, at, old, now_ms)?;
        }
        match new {
            New::Emptied(meta) => match meta.collection().filter(|list| list.list == NO_HEAD) {
                Some(list) => self.remove_head(transaction, at, &list, now_ms),
                None => self.put(transaction, at, meta),
            },
            New::Value(meta) => self.put(transaction, at, meta),
            New::Nothing => Ok(()),
        }
    }

    fn keys(&self, _space: u32, kind: Option<Kind>, names: &Names) -> Records {
        let of_kind = |kind: &Kind| match self.database(*kind) {
            Some(database) => Records::Chosen(database.meta_records(names), Rc::new(Existing(database))),
            None => Records::Range((self.kv, names.range(<[u8]>::to_vec, || None))),
        };
        match kind {
            Some(kind) => of_kind(&kind),
            None => Records::Chain(self.namespaces().iter().map(of_kind).collect()),
        }
    }

    fn decode_key(&self, record: &Record) -> Result<(Bytes, Meta)> {
        let Some(database) = self.database_at(record.keyspace) else {
            return Ok((record.key.clone(), decode_string(&record.key, &record.value)?));
        };
        database.decode_key(&record.key, &record.value)
    }

    fn field(&self, at: &KeyAt, _hash: &Collection, field: &[u8]) -> RecordKey {
        (self.hash.keyspace, records::encode_named_key(Tag::Field, &at.key, field))
    }

    fn decode_field_value(&self, hash: &Collection, key: &[u8], value: &Bytes) -> Result<Option<FieldValue>> {
        let payload = self.hash.decode_live(hash.version, key, value)?;
        Ok(payload.map(|value| FieldValue { expire_at_ms: None, value }))
    }

    fn write_field(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        hash: &Collection,
        _field: &[u8],
        (keyspace, key): RecordKey,
        value: Option<&FieldValue>,
    ) -> Result<()> {
        match value {
            Some(value) => self.hash.put_element(transaction, at, hash, key, &value.value),
            None => Ok(transaction.delete(keyspace, key)?),
        }
    }

    fn fields(&self, at: &KeyAt, hash: &Collection, names: &Names) -> Records {
        let name = |name: &[u8]| records::encode_named_key(Tag::Field, &at.key, name).to_vec();
        let range = names.range(name, || prefix_end(&records::encode_prefix(Tag::Field, &at.key)));
        Records::Chosen((self.hash.keyspace, range), Rc::new(Live::new(self.hash, hash)))
    }

    fn decode_field(&self, key: &Bytes) -> Result<Bytes> {
        self.hash.decode_element_key(Tag::Field, key)
    }

    fn member(&self, at: &KeyAt, set: &Collection, member: &[u8]) -> RecordKey {
        let (database, tag) = self.of_members(set);
        (database.keyspace, records::encode_named_key(tag, &at.key, member))
    }

    fn decode_score(&self, set: &Collection, key: &[u8], value: &Bytes) -> Result<Option<f64>> {
        let (database, tag) = self.of_members(set);
        let Some(payload) = database.decode_live(set.version, key, value)? else { return Ok(None) };
        if tag == Tag::Member {
            return Ok(Some(0.0));
        }
        records::decode_score(&payload).map(Some).map_err(|flaw| corrupt(database.name(), key, flaw))
    }

    fn write_member(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        set: &Collection,
        _member: &[u8],
        (keyspace, key): RecordKey,
        is_there: bool,
    ) -> Result<()> {
        if is_there { self.set.put_element(transaction, at, set, key, b"") } else { Ok(transaction.delete(keyspace, key)?) }
    }

    fn members(&self, at: &KeyAt, set: &Collection) -> Records {
        let (database, tag) = self.of_members(set);
        let range = KeyRange::prefix(&records::encode_prefix(tag, &at.key));
        Records::Chosen((database.keyspace, range), Rc::new(Live::new(database, set)))
    }

    fn decode_member(&self, key: &Bytes) -> Result<Bytes> {
        // A member's record has the same parts in both databases.
        let is_of_set = key.first() == Some(&Tag::Member.byte());
        let (database, tag) = if is_of_set { (self.set, Tag::Member) } else { (self.zset, Tag::Scored) };
        database.decode_element_key(tag, key)
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
        if let Some(old) = old {
            // The score of a slot does not always lead back to it where there are fewer doubles than slots.
            let stored = transaction.get(keyspace, &key)?;
            let exact = stored.map(|value| self.decode_score(set, &key, &value)).transpose()?.flatten();
            let slot = records::slot(exact.unwrap_or(old));
            transaction.delete(keyspace, records::encode_slot_key(&at.key, slot, member))?;
        }
        let Some(new) = new else { return Ok(transaction.delete(keyspace, key)?) };
        check_score(new)?;
        self.zset.put_element(transaction, at, set, key, &records::encode_score(new))?;
        self.zset.put_element(transaction, at, set, records::encode_slot_key(&at.key, records::slot(new), member), b"")
    }

    fn scores(&self, at: &KeyAt, set: &Collection, from: &Cut, to: &Cut) -> Records {
        let all = KeyRange::prefix(&records::encode_prefix(Tag::Slot, &at.key));
        let range = Cut::range(from, to, all, |cut| slot_key(&at.key, cut).map(Vec::from));
        Records::Chosen((self.zset.keyspace, range), Rc::new(Live::new(self.zset, set)))
    }

    fn decode_scored(&self, record: &Record) -> Result<(f64, Bytes)> {
        let rest = self.zset.decode_element_key(Tag::Slot, &record.key)?;
        let (slot, member) = records::decode_slot(&rest).map_err(|flaw| corrupt(keyspace::ZSET, &record.key, flaw))?;
        Ok((records::score_of_slot(slot), member))
    }

    fn lists(&self) -> &dyn ListAlgorithm {
        &self.lists
    }

    fn missing(&self, (keyspace, key): &RecordKey) -> Error {
        corrupt(
            self.database_at(*keyspace).map_or(keyspace::KV, |database| database.name()),
            key,
            Flaw { offset: 0, what: "a missing record" },
        )
    }

    fn hides_unfinished(&self) -> bool {
        false
    }

    fn unfinished_lock_key(&self, at: &KeyAt, _collection: &Collection) -> Bytes {
        at.lock_key().clone()
    }

    fn renew_unfinished(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        collection: &Collection,
        is_first: bool,
        now_ms: u64,
    ) -> Result<()> {
        transaction.touch(at.lock_key())?;
        let Some(database) = self.database(collection.kind) else { return Ok(()) };
        check_user_key(&at.key)?;
        // Somebody has made the key meanwhile: its elements could not be told from the ones to come.
        let is_taken = |head: Head| head.count > 0 || u64::from(head.trailer.version) > collection.version;
        if is_first && database.head(transaction, at)?.is_some_and(is_taken) {
            return Err(StoreError::Conflict.into());
        }
        let until_ms = now_ms.saturating_add(UNFINISHED_FOR_MS);
        let timestamp = Trailer::timestamp_of(Some(until_ms)).unwrap_or(i32::MAX);
        let version = next(version_of(collection.version))?;
        database.put_head(transaction, at, &self.dead(database, Trailer { version, timestamp }))
    }

    fn is_unfinished(&self, transaction: &mut Transaction<'_>, at: &KeyAt, collection: &Collection) -> Result<bool> {
        Ok(self.note(transaction, at, collection)?.is_some())
    }

    fn sweep(&self, store: &mut dyn Store, now_ms: u64, budget: usize, on_expired: &mut dyn FnMut(KeyAt, Expired)) -> Result<Swept> {
        self.progress.sweep(self, store, now_ms, budget, on_expired)
    }

    fn check(&self, transaction: &mut Transaction<'_>, cursor: &mut Vec<u8>, budget: usize) -> Result<Vec<Finding>> {
        self.check_step(transaction, cursor, budget)
    }

    fn keyspace_name(&self, keyspace: Keyspace) -> &str {
        self.database_at(keyspace).map_or(keyspace::KV, Database::name)
    }

    fn records_of(&self, at: &KeyAt, metas: &[Meta]) -> Vec<RecordRange> {
        self.records_of_key(at, metas)
    }

    fn describe(&self, keyspace: &str, key: &[u8], value: &[u8], _kind: Option<Kind>) -> Anatomy {
        anatomy::describe(keyspace, key, value)
    }
}

fn decode_string(key: &Bytes, value: &Bytes) -> Result<Meta> {
    let (payload, trailer) = Trailer::split(value).map_err(|flaw| corrupt(keyspace::KV, key, flaw))?;
    Ok(Meta { expire_at_ms: trailer.expire_at_ms(), body: Body::String(payload) })
}

/// Where a cut is among the slots of a sorted set; `None` at an edge.
fn slot_key(user_key: &[u8], cut: &Cut) -> Option<Bytes> {
    let key = |slot: u64, member: &[u8]| records::encode_slot_key(user_key, slot, member);
    match cut {
        Cut::Edge => None,
        Cut::Before(score) => Some(key(records::slot(*score), b"")),
        // Below the lowest score nothing is passed.
        Cut::Behind(score) if *score < -records::MAX_SCORE => Some(key(0, b"")),
        Cut::Behind(score) => Some(key(records::slot(*score).saturating_add(1), b"")),
        Cut::BeforeMember(score, member) => Some(key(records::slot(*score), member)),
        // In byte order nothing is between a member and itself with a zero byte.
        Cut::BehindMember(score, member) => Some(key(records::slot(*score), &[member.as_ref(), &[0]].concat())),
    }
}
