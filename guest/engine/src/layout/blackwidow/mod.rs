//! The layout of Blackwidow, the library beneath Pika 3.0 to 3.5. `docs/layouts/blackwidow.md` describes it.
//!
//! Each type has keyspaces, and user keys, of its own. A collection's records carry its user key and its version, which is about the
//! second in which the collection was made: a removed key leaves a meta record with a count of 0 and a higher version, and its records
//! stay until the sweep finds them. Numbers have 32 bits and expiries are full seconds.

mod anatomy;
mod check;
pub mod records;
mod sweep;
#[cfg(test)]
mod tests;

use super::lists::{ArrayRecords, ListAlgorithm, Moves};
use super::pass::Progress;
use super::records::{Choice, Record, Records, Verdict};
use super::{
    Body, Catalog, Collection, Cut, Expired, FieldValue, Finding, KeyAt, Kind, Layout, Meta, Names, New, RecordKey, RecordRange,
    SketchFormat, Swept,
};
use crate::codec::Flaw;
use crate::error::{Error, Result};
use crate::layout::anatomy::Anatomy;
use crate::layout::expiry::ExpiryRules;
use crate::store::{Direction, KeyRange, Keyspace, Store, StoreError, prefix_end};
use crate::transaction::Transaction;
use bytes::Bytes;
use records::{DataKey, MetaRecord};
use std::ops::Range;
use std::rc::Rc;

/// The layout's name.
pub const NAME: &str = "blackwidow";

/// The space of the only db.
const SPACE: u32 = 1;

const NO_VERSION: Error = Error::client("ERR the layout blackwidow has no versions behind 2147483647");
const TOO_MANY: Error = Error::client("ERR the layout blackwidow counts no more than 2147483647 members");

/// Names of the keyspaces, as hosts see them: database and column family.
pub mod keyspace {
    use crate::store::Order;

    /// Strings.
    pub const STRINGS: &str = "strings/default";
    /// Meta records of hashes.
    pub const HASHES: &str = "hashes/default";
    /// Fields of hashes.
    pub const FIELDS: &str = "hashes/data_cf";
    /// Meta records of sets.
    pub const SETS: &str = "sets/default";
    /// Members of sets.
    pub const MEMBERS: &str = "sets/member_cf";
    /// Meta records of lists.
    pub const LISTS: &str = "lists/default";
    /// Elements of lists.
    pub const ELEMENTS: &str = "lists/data_cf";
    /// Meta records of sorted sets.
    pub const SORTED_SETS: &str = "zsets/default";
    /// Members of sorted sets, with their scores.
    pub const SORTED_MEMBERS: &str = "zsets/data_cf";
    /// Members of sorted sets in the order of their scores.
    pub const SCORES: &str = "zsets/score_cf";
    /// All of them, with their orders.
    pub const ALL: [(&str, Order); 10] = [
        (STRINGS, Order::Bytes),
        (HASHES, Order::Bytes),
        (FIELDS, Order::Bytes),
        (SETS, Order::Bytes),
        (MEMBERS, Order::Bytes),
        (LISTS, Order::Bytes),
        (ELEMENTS, Order::BlackwidowLists),
        (SORTED_SETS, Order::Bytes),
        (SORTED_MEMBERS, Order::Bytes),
        (SCORES, Order::BlackwidowScores),
    ];
}

/// The records that a keyspace holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Strings,
    Metas(Kind),
    /// Fields, members or elements.
    Data(Kind),
    Scores,
}

/// What each of [`keyspace::ALL`] holds.
const ROLES: [Role; 10] = [
    Role::Strings,
    Role::Metas(Kind::Hash),
    Role::Data(Kind::Hash),
    Role::Metas(Kind::Set),
    Role::Data(Kind::Set),
    Role::Metas(Kind::List),
    Role::Data(Kind::List),
    Role::Metas(Kind::SortedSet),
    Role::Data(Kind::SortedSet),
    Role::Scores,
];

/// The layout, opened on a store.
#[derive(Debug)]
pub struct Blackwidow {
    /// As [`keyspace::ALL`] has them.
    keyspaces: [Keyspace; 10],
    progress: Progress,
}

impl Blackwidow {
    /// Opens the layout's keyspaces. Writes nothing: databases of this format have no marker.
    ///
    /// # Errors
    /// Store errors.
    pub fn open(store: &mut dyn Store) -> Result<Self> {
        let mut keyspaces = [Keyspace(0); 10];
        for (keyspace, (name, order)) in keyspaces.iter_mut().zip(keyspace::ALL) {
            *keyspace = store.open_keyspace(name, order)?;
        }
        Ok(Self { keyspaces, progress: Progress::default() })
    }

    fn keyspace(&self, role: Role) -> Keyspace {
        let found = self.keyspaces.iter().zip(ROLES).find(|(_, own)| *own == role);
        found.map_or(Keyspace(u32::MAX), |(keyspace, _)| *keyspace)
    }

    fn role(&self, keyspace: Keyspace) -> Role {
        let found = self.keyspaces.iter().zip(ROLES).find(|(own, _)| **own == keyspace);
        found.map_or(Role::Strings, |(_, role)| role)
    }

    fn name_of(&self, keyspace: Keyspace) -> &'static str {
        let found = self.keyspaces.iter().zip(keyspace::ALL).find(|(own, _)| **own == keyspace);
        found.map_or("", |(_, (name, _))| name)
    }

    /// The keyspace of the strings, or of a kind's meta records.
    fn keys_of(&self, kind: Kind) -> Keyspace {
        self.keyspace(if kind == Kind::String { Role::Strings } else { Role::Metas(kind) })
    }

    fn corrupt(&self, keyspace: Keyspace, key: &[u8], flaw: Flaw) -> Error {
        Error::corrupt(NAME, self.name_of(keyspace), key, flaw)
    }

    /// The meta record of a user key, dead or alive.
    fn meta_record(&self, transaction: &mut Transaction<'_>, kind: Kind, key: &Bytes) -> Result<Option<MetaRecord>> {
        let keyspace = self.keys_of(kind);
        let Some(value) = transaction.get(keyspace, key)? else { return Ok(None) };
        MetaRecord::decode(kind, &value).map(Some).map_err(|flaw| self.corrupt(keyspace, key, flaw))
    }

    /// What the record of a user key says; `None` where the key does not exist.
    fn decode_meta(&self, record: &Record) -> Result<Option<Meta>> {
        let decoded = match self.role(record.keyspace) {
            Role::Metas(kind) => MetaRecord::decode(kind, &record.value).map(|meta| meta.meta(kind)),
            _ => records::decode_string(&record.value).map(|(value, timestamp)| {
                let expire_at_ms = records::expire_at_ms(timestamp);
                Some(Meta { expire_at_ms, body: Body::String(value) })
            }),
        };
        decoded.map_err(|flaw| self.corrupt(record.keyspace, &record.key, flaw))
    }

    fn put_meta(&self, transaction: &mut Transaction<'_>, at: &KeyAt, kind: Kind, record: MetaRecord) -> Result<()> {
        Ok(transaction.put(self.keys_of(kind), at.key.clone(), record.encode())?)
    }

    fn decode_data_key(&self, role: Role, key: &Bytes) -> Result<DataKey> {
        DataKey::decode(key).map_err(|flaw| self.corrupt(self.keyspace(role), key, flaw))
    }

    /// The records of a collection in one of its keyspaces, of the names alone.
    fn range_of(&self, role: Role, at: &KeyAt, collection: &Collection, names: &Names) -> RecordRange {
        let version = records::version_of(collection.version);
        let key = |name: &[u8]| records::encode_data_key(&at.key, version, name).to_vec();
        (self.keyspace(role), names.range(key, || prefix_end(&key(b""))))
    }

    /// The record of a field or member.
    fn data_record(&self, at: &KeyAt, collection: &Collection, name: &[u8]) -> RecordKey {
        let key = records::encode_data_key(&at.key, records::version_of(collection.version), name);
        (self.keyspace(Role::Data(collection.kind)), key.freeze())
    }
}

/// Takes the meta records of keys that exist, and those that cannot be read.
#[derive(Debug)]
struct Existing {
    kind: Kind,
    /// Where the fields, members or elements are.
    data: Keyspace,
}

impl Choice for Existing {
    fn judge(&self, transaction: &mut Transaction<'_>, record: &Record, _: Direction) -> Result<Verdict> {
        let exists = match MetaRecord::decode(self.kind, &record.value) {
            Ok(MetaRecord { count: 0, .. }) => false,
            Ok(MetaRecord { count: ..0, version, .. }) => {
                let range = KeyRange::prefix(&records::encode_data_key(&record.key, version, b""));
                transaction.first(self.data, range, Direction::Forward)?.is_some()
            }
            Ok(_) | Err(_) => true,
        };
        Ok(if exists { Verdict::Take } else { Verdict::Pass })
    }
}

impl Layout for Blackwidow {
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
        ExpiryRules::SECONDS
    }

    fn removes_expired(&self) -> bool {
        false
    }

    fn sketches(&self) -> SketchFormat {
        SketchFormat::Bytes
    }

    fn load_catalog(&self, _transaction: &mut Transaction<'_>, _databases: usize) -> Result<Catalog> {
        Ok(Catalog { spaces: vec![SPACE] })
    }

    fn flush(&self, transaction: &mut Transaction<'_>, _catalog: &mut Catalog, _db: usize) -> Result<()> {
        for keyspace in self.keyspaces {
            transaction.delete_range(keyspace, KeyRange::all())?;
        }
        Ok(())
    }

    fn next_version(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        kind: Kind,
        now_ms: u64,
        _reserved: &mut dyn FnMut() -> Result<u64>,
    ) -> Result<u64> {
        let now = records::seconds(now_ms).ok_or(NO_VERSION)?;
        let version = match self.meta_record(transaction, kind, &at.key)? {
            Some(old) => records::next_version(old.version, now).ok_or(NO_VERSION)?,
            None => now,
        };
        Ok(records::version_number(version))
    }

    fn meta_records(&self, at: &KeyAt, kind: Option<Kind>, records: &mut Vec<RecordKey>) {
        let kinds = self.namespaces().iter().filter(|own| kind.is_none_or(|kind| kind == **own));
        records.extend(kinds.map(|kind| (self.keys_of(*kind), at.key.clone())));
    }

    fn find(&self, transaction: &mut Transaction<'_>, at: &KeyAt, kind: Kind) -> Result<Option<Meta>> {
        let keyspace = self.keys_of(kind);
        let Some(value) = transaction.get(keyspace, &at.key)? else { return Ok(None) };
        let Some(mut meta) = self.decode_meta(&Record { keyspace, key: at.key.clone(), value })? else { return Ok(None) };
        if let Body::Collection(collection) = &mut meta.body
            && !collection.is_counted
        {
            let records = self.range_of(Role::Data(kind), at, collection, &Names::ALL);
            collection.count = Records::Range(records).count(transaction)?;
            collection.is_counted = true;
            return Ok((collection.count > 0).then_some(meta));
        }
        Ok(Some(meta))
    }

    fn write(&self, transaction: &mut Transaction<'_>, at: &KeyAt, old: Option<&Meta>, new: New<'_>, now_ms: u64) -> Result<()> {
        transaction.touch(at.lock_key())?;
        let (New::Value(meta) | New::Emptied(meta)) = new else {
            return old.map_or(Ok(()), |old| self.remove(transaction, at, old, now_ms));
        };
        let collection = match &meta.body {
            Body::String(value) => {
                let value = records::encode_string(value, meta.expire_at_ms);
                return Ok(transaction.put(self.keyspace(Role::Strings), at.key.clone(), value)?);
            }
            Body::Collection(collection) => collection,
        };
        if collection.kind != Kind::List && i32::try_from(collection.count).is_err() {
            return Err(TOO_MANY);
        }
        let record = MetaRecord::of(collection, meta.expire_at_ms);
        // Versions never go back: a collection that was written in several transactions may have been overtaken.
        if self.meta_record(transaction, collection.kind, &at.key)?.is_some_and(|old| old.version > record.version) {
            return Err(StoreError::Conflict.into());
        }
        self.put_meta(transaction, at, collection.kind, record)
    }

    fn keys(&self, _space: u32, kind: Option<Kind>, names: &Names) -> Records {
        let range = names.range(<[u8]>::to_vec, || None);
        let of_kind = |kind| match kind {
            Kind::String => Records::Range((self.keys_of(kind), range.clone())),
            _ => {
                let existing = Existing { kind, data: self.keyspace(Role::Data(kind)) };
                Records::Chosen((self.keys_of(kind), range.clone()), Rc::new(existing))
            }
        };
        match kind {
            Some(kind) => of_kind(kind),
            // The order of SCAN and KEYS.
            None => Records::Chain([Kind::String, Kind::Hash, Kind::Set, Kind::List, Kind::SortedSet].map(of_kind).into()),
        }
    }

    fn decode_key(&self, record: &Record) -> Result<(Bytes, Meta)> {
        let removed = Flaw { offset: 0, what: "the key does not exist" };
        let meta = self.decode_meta(record)?.ok_or_else(|| self.corrupt(record.keyspace, &record.key, removed))?;
        Ok((record.key.clone(), meta))
    }

    fn field(&self, at: &KeyAt, hash: &Collection, field: &[u8]) -> RecordKey {
        self.data_record(at, hash, field)
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
        Records::Range(self.range_of(Role::Data(Kind::Hash), at, hash, names))
    }

    fn decode_field(&self, key: &Bytes) -> Result<Bytes> {
        self.decode_data_key(Role::Data(Kind::Hash), key).map(|key| key.rest)
    }

    fn member(&self, at: &KeyAt, set: &Collection, member: &[u8]) -> RecordKey {
        self.data_record(at, set, member)
    }

    fn decode_score(&self, set: &Collection, key: &[u8], value: &Bytes) -> Result<Option<f64>> {
        if set.kind == Kind::Set {
            return Ok(Some(0.0));
        }
        let score = records::decode_score(value);
        score.map(Some).map_err(|flaw| self.corrupt(self.keyspace(Role::Data(Kind::SortedSet)), key, flaw))
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
        Records::Range(self.range_of(Role::Data(set.kind), at, set, &Names::ALL))
    }

    fn decode_member(&self, key: &Bytes) -> Result<Bytes> {
        self.decode_data_key(Role::Data(Kind::Set), key).map(|key| key.rest)
    }

    fn write_score(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        set: &Collection,
        member: &[u8],
        record: RecordKey,
        old: Option<f64>,
        new: Option<f64>,
    ) -> Result<()> {
        let scores = self.keyspace(Role::Scores);
        let key = |score| records::encode_scored(&at.key, records::version_of(set.version), score, member).freeze();
        if let Some(old) = old {
            transaction.delete(scores, key(old))?;
        }
        if let Some(new) = new {
            transaction.put(scores, key(new), Bytes::new())?;
        }
        Ok(transaction.set(record, new.map(records::encode_score))?)
    }

    fn scores(&self, at: &KeyAt, set: &Collection, from: &Cut, to: &Cut) -> Records {
        let (keyspace, all) = self.range_of(Role::Scores, at, set, &Names::ALL);
        let key = |score: f64, member: &[u8]| records::encode_scored(&at.key, records::version_of(set.version), score, member).to_vec();
        let place = |cut: &Cut| match cut {
            Cut::Edge => None,
            Cut::Before(score) => Some(key(*score, b"")),
            // NaN is behind all numbers.
            Cut::Behind(f64::INFINITY) => Some(key(f64::NAN, b"")),
            Cut::Behind(score) => Some(key(score.next_up(), b"")),
            Cut::BeforeMember(score, member) => Some(key(*score, member)),
            // In byte order nothing is between a member and itself with a zero byte.
            Cut::BehindMember(score, member) => Some(key(*score, &[member.as_ref(), &[0]].concat())),
        };
        Records::Range((keyspace, Cut::range(from, to, all, place)))
    }

    fn decode_scored(&self, record: &Record) -> Result<(f64, Bytes)> {
        let key = self.decode_data_key(Role::Scores, &record.key)?;
        key.scored().map_err(|flaw| self.corrupt(record.keyspace, &record.key, flaw))
    }

    fn lists(&self) -> &dyn ListAlgorithm {
        self
    }

    fn missing(&self, (keyspace, key): &RecordKey) -> Error {
        self.corrupt(*keyspace, key, Flaw { offset: 0, what: "a missing record" })
    }

    fn renew_unfinished(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        collection: &Collection,
        is_first: bool,
        now_ms: u64,
    ) -> Result<()> {
        sweep::check_age(collection, now_ms)?;
        if is_first {
            // A writer who gave up within the second has left them.
            for role in [Some(Role::Data(collection.kind)), (collection.kind == Kind::SortedSet).then_some(Role::Scores)] {
                let records = role.map(|role| self.range_of(role, at, collection, &Names::ALL));
                records.map_or(Ok(()), |(keyspace, range)| transaction.delete_range(keyspace, range))?;
            }
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
        self.name_of(keyspace)
    }

    fn records_of(&self, at: &KeyAt, metas: &[Meta]) -> Vec<RecordRange> {
        self.records_of_key(at, metas)
    }

    fn describe(&self, keyspace: &str, key: &[u8], value: &[u8], _kind: Option<Kind>) -> Anatomy {
        anatomy::describe(keyspace, key, value)
    }
}

impl Blackwidow {
    /// Removes a string; of a collection it leaves a meta record that hides all records of the old version.
    fn remove(&self, transaction: &mut Transaction<'_>, at: &KeyAt, old: &Meta, now_ms: u64) -> Result<()> {
        let Some(collection) = old.collection() else {
            return Ok(transaction.delete(self.keyspace(Role::Strings), at.key.clone())?);
        };
        let now = records::seconds(now_ms).ok_or(NO_VERSION)?;
        let old_version = records::version_of(collection.version);
        let removed = MetaRecord::removed(collection.kind, old_version, now).ok_or(NO_VERSION)?;
        self.put_meta(transaction, at, collection.kind, removed)
    }
}

impl ArrayRecords for Blackwidow {
    fn first_index(&self) -> u64 {
        records::FIRST_INDEX
    }

    fn moves(&self) -> Moves {
        Moves::OneSide
    }

    fn element(&self, at: &KeyAt, version: u64, index: u64) -> RecordKey {
        let key = records::encode_data_key(&at.key, records::version_of(version), &index.to_le_bytes());
        (self.keyspace(Role::Data(Kind::List)), key.freeze())
    }

    fn elements(&self, at: &KeyAt, version: u64, indexes: Range<u64>) -> RecordRange {
        let key = |index| self.element(at, version, index).1;
        (self.keyspace(Role::Data(Kind::List)), KeyRange::between(&key(indexes.start), &key(indexes.end)))
    }

    fn decode_element(&self, key: &[u8]) -> Result<u64> {
        let role = Role::Data(Kind::List);
        self.decode_data_key(role, &Bytes::copy_from_slice(key))?.index().map_err(|flaw| self.corrupt(self.keyspace(role), key, flaw))
    }

    fn missing_element(&self, record: &RecordKey) -> Error {
        self.missing(record)
    }
}
