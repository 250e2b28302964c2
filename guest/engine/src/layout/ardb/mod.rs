//! The layout `ardb`: databases of Ardb 0.10 on RocksDB. `docs/layouts/ardb.md` says what it holds and where we differ from Ardb.
//!
//! Each db is a keyspace by its number, in an order of Ardb's own ([`Order::Ardb`]). The records of a user key are beside each other,
//! meta record first. There are no versions: what is removed is gone, and what is left over by accident belongs to the next
//! collection of its kind that is made under the key, so that this is looked for whenever one is.

mod anatomy;
mod check;
pub mod data;
mod elements;
pub mod merge;
pub mod records;
mod sweep;
mod walks;

use super::anatomy::Anatomy;
use super::expiry::ExpiryRules;
use super::lists::{ListAlgorithm, ListHead, Spread};
use super::pass::Progress;
use super::records::{Record, Records};
use super::{
    Body, Catalog, Collection, Cut, Expired, FieldValue, Finding, KeyAt, Kind, Layout, Meta, Names, New, RecordKey, RecordRange, Swept,
};
use crate::codec::Flaw;
use crate::error::{Error, Result, texts};
use crate::store::{Direction, KeyRange, Keyspace, Order, Store};
use crate::transaction::{Scan, Transaction};
use bytes::Bytes;
use data::Item;
use records::{Contents, Head, record};
use std::rc::Rc;
use std::sync::LazyLock;
use walks::FieldsByName;

/// The layout's name.
pub const NAME: &str = "ardb";

/// Most dbs that there can be.
pub const MAX_DATABASES: usize = 1024;

/// What a corrupt record's keyspace is called: a key does not tell which namespace it is in.
const ANY_NAMESPACE: &str = "namespace";

/// Collections that are known to be smaller are removed record by record, others as a range: Ardb's `range-delete-min-size`.
const MIN_RANGE_DELETE: u64 = 100;

/// The only version: records do not have one.
const VERSION: u64 = 1;

const STREAM: Error = Error::client("ERR the key holds a stream, which Orbweaver does not serve");

/// The names of the dbs' keyspaces.
static KEYSPACES: LazyLock<Vec<String>> = LazyLock::new(|| (0..MAX_DATABASES).map(|number| number.to_string()).collect());

/// The layout, opened on a store.
#[derive(Debug)]
pub struct Ardb {
    namespaces: Namespaces,
    lists: Spread<Namespaces>,
    progress: Progress,
}

/// The keyspaces of the dbs, by number.
#[derive(Clone, Debug)]
pub struct Namespaces(Rc<[Keyspace]>);

impl Ardb {
    /// Opens the keyspaces of so many dbs, at most [`MAX_DATABASES`]. Writes nothing.
    ///
    /// # Errors
    /// Store errors.
    pub fn open(store: &mut dyn Store, databases: usize) -> Result<Self> {
        let open = KEYSPACES.iter().take(databases).map(|name| store.open_keyspace(name, Order::Ardb));
        let namespaces = Namespaces(open.collect::<std::result::Result<_, _>>()?);
        Ok(Self { lists: Spread(namespaces.clone()), namespaces, progress: Progress::default() })
    }
}

/// The space of a db. Space 0 is the engine's own.
fn space_of(db: usize) -> u32 {
    u32::try_from(db).unwrap_or(u32::MAX).saturating_add(1)
}

impl Namespaces {
    /// The keyspace of a space; the store knows none for a space that no db stands for.
    fn keyspace(&self, space: u32) -> Keyspace {
        let db = space.checked_sub(1).and_then(|db| usize::try_from(db).ok());
        db.and_then(|db| self.0.get(db)).copied().unwrap_or(Keyspace(u32::MAX))
    }

    /// The space of a keyspace.
    fn space(&self, keyspace: Keyspace) -> u32 {
        self.0.iter().position(|own| *own == keyspace).map_or(0, space_of)
    }

    /// The name of a keyspace.
    fn name(&self, keyspace: Keyspace) -> &'static str {
        let db = self.0.iter().position(|own| *own == keyspace);
        db.and_then(|db| KEYSPACES.get(db)).map_or(ANY_NAMESPACE, String::as_str)
    }

    fn record<const N: usize>(&self, at: &KeyAt, kind: u8, elements: [&Item; N]) -> RecordKey {
        (self.keyspace(at.space), records::encode_key(&at.key, kind, elements))
    }

    /// The records of a key that have a type from `first` up to but not including `end`.
    fn types(&self, at: &KeyAt, first: u8, end: u8) -> RecordRange {
        (self.keyspace(at.space), records::types(&at.key, first, end))
    }
}

/// The types of the records that a collection of that kind has beside its meta record: from the first up to but not including the last.
const fn sub_types(kind: Kind) -> (u8, u8) {
    match kind {
        Kind::String => (record::END, record::END),
        Kind::Hash => (record::FIELD, record::FIELD + 1),
        Kind::List => (record::ELEMENT, record::ELEMENT + 1),
        Kind::Set => (record::MEMBER, record::MEMBER + 1),
        Kind::SortedSet => (record::SCORED, record::SCORE + 1),
    }
}

/// A corrupt-record error of this layout.
fn corrupt(key: &[u8], flaw: Flaw) -> Error {
    Error::corrupt(NAME, ANY_NAMESPACE, key, flaw)
}

fn missing((_, key): &RecordKey) -> Error {
    corrupt(key, Flaw { offset: 0, what: "a missing record" })
}

/// The meta of a head. A list without bounds does not come out of the decoder. Hashes are not taken as counted: Ardb gives up counting
/// with the second HSET, and so do we.
fn meta(head: Head) -> Meta {
    let body = match head.contents {
        Contents::Text(text) => Body::String(text.into_bytes()),
        Contents::Collection { kind, size, is_sequential, bounds } => {
            let ends = bounds.and_then(|[first, last]| Some((elements::index(&first)?, elements::index(&last)?)));
            let list = match ends {
                Some((first, last)) if kind == Kind::List => ListHead::Spread { first, last, is_sequential },
                _ => ListHead::None,
            };
            let size = size.filter(|_| kind != Kind::Hash);
            let count = size.unwrap_or(u64::MAX);
            Body::Collection(Collection { count, is_counted: size.is_some(), list, ..Collection::empty(kind, VERSION) })
        }
    };
    Meta { expire_at_ms: head.expire_at_ms, body }
}

impl Layout for Ardb {
    fn name(&self) -> &'static str {
        NAME
    }

    fn max_databases(&self) -> usize {
        self.namespaces.0.len()
    }

    fn expiry_rules(&self) -> ExpiryRules {
        ExpiryRules { latest_ms: i64::MAX.unsigned_abs(), ..ExpiryRules::REDIS }
    }

    fn names_are_in_byte_order(&self) -> bool {
        false
    }

    fn load_catalog(&self, _transaction: &mut Transaction<'_>, databases: usize) -> Result<Catalog> {
        Ok(Catalog { spaces: (0..databases).map(space_of).collect() })
    }

    fn flush(&self, transaction: &mut Transaction<'_>, catalog: &mut Catalog, db: usize) -> Result<()> {
        let space = *catalog.spaces.get(db).ok_or(texts::DB_OUT_OF_RANGE)?;
        Ok(transaction.delete_range(self.namespaces.keyspace(space), KeyRange::all())?)
    }

    fn next_version(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        _kind: Kind,
        _now_ms: u64,
        _reserved: &mut dyn FnMut() -> Result<u64>,
    ) -> Result<u64> {
        if transaction.may_change(at.lock_key()) {
            self.remove_left_over(transaction, at)?;
        }
        Ok(VERSION)
    }

    fn meta_records(&self, at: &KeyAt, _kind: Option<Kind>, records: &mut Vec<RecordKey>) {
        records.push(self.meta_record(at));
    }

    fn find(&self, transaction: &mut Transaction<'_>, at: &KeyAt, _kind: Kind) -> Result<Option<Meta>> {
        let Some(head) = self.find_head(transaction, at)? else { return Ok(None) };
        let is_empty = walks::is_empty(transaction, (self.namespaces.keyspace(at.space), &at.key), &head)?;
        Ok((!is_empty).then(|| meta(head)))
    }

    fn write(&self, transaction: &mut Transaction<'_>, at: &KeyAt, old: Option<&Meta>, new: New<'_>, _now_ms: u64) -> Result<()> {
        transaction.touch(at.lock_key())?;
        let old_collection = old.and_then(Meta::collection);
        match new {
            New::Value(new) => {
                if let Some(old) = old_collection.filter(|old| old.kind != new.kind()) {
                    self.remove_sub_records(transaction, at, &old)?;
                }
                let head = self.head(transaction, at, new)?;
                let (keyspace, key) = self.meta_record(at);
                transaction.put(keyspace, key, records::encode_meta(&head))?;
            }
            New::Emptied(_) | New::Nothing => {
                if let (Some(old), New::Nothing) = (old_collection, new) {
                    self.remove_sub_records(transaction, at, &old)?;
                }
                let (keyspace, key) = self.meta_record(at);
                transaction.delete(keyspace, key)?;
            }
        }
        Ok(())
    }

    fn keep_as_text(&self, transaction: &mut Transaction<'_>, at: &KeyAt) -> Result<()> {
        let Some(mut head) = self.find_head(transaction, at)? else { return Ok(()) };
        if let Contents::Text(text) = &mut head.contents {
            *text = Item::Text(text.clone().into_bytes());
            let (keyspace, key) = self.meta_record(at);
            transaction.put(keyspace, key, records::encode_meta(&head))?;
        }
        Ok(())
    }

    fn keys(&self, space: u32, _kind: Option<Kind>, names: &Names) -> Records {
        let key = |name: &[u8]| records::encode_key(name, record::META, []).to_vec();
        Records::Chosen((self.namespaces.keyspace(space), names.range(key, || None)), Rc::new(walks::Keys))
    }

    fn decode_key(&self, record: &Record) -> Result<(Bytes, Meta)> {
        let decode = || {
            let (user_key, _) = records::decode_prefix(&record.key)?;
            match records::decode_meta(&record.value)? {
                records::Meta::Head(head) => Ok((user_key, meta(head))),
                records::Meta::Nothing | records::Meta::Stream => Err(Flaw { offset: 0, what: "no key that is served" }),
            }
        };
        decode().map_err(|flaw| corrupt(&record.key, flaw))
    }

    fn field(&self, at: &KeyAt, _hash: &Collection, field: &[u8]) -> RecordKey {
        self.namespaces.record(at, record::FIELD, [&Item::of(field)])
    }

    fn decode_field_value(&self, _hash: &Collection, key: &[u8], value: &Bytes) -> Result<Option<FieldValue>> {
        let found = records::decode_value(record::FIELD, value).map_err(|flaw| corrupt(key, flaw))?;
        Ok(found.map(|[value]| FieldValue { expire_at_ms: None, value: value.into_bytes() }))
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
        if value.is_some_and(|value| value.expire_at_ms.is_some()) {
            return Err(texts::NO_FIELD_EXPIRY);
        }
        Ok(transaction.set(record, value.map(|value| records::encode_value(record::FIELD, [&Item::of(&value.value)])))?)
    }

    fn fields(&self, at: &KeyAt, hash: &Collection, names: &Names) -> Records {
        if *names == Names::ALL {
            return Records::Range(self.namespaces.types(at, record::FIELD, record::FIELD + 1));
        }
        self.fields_by_name(at, hash, names)
    }

    fn fields_by_name(&self, at: &KeyAt, _hash: &Collection, names: &Names) -> Records {
        Records::Own(Rc::new(FieldsByName::new(&self.namespaces, at, names)))
    }

    fn decode_field(&self, key: &Bytes) -> Result<Bytes> {
        let [field] = records::decode_elements(record::FIELD, key).map_err(|flaw| corrupt(key, flaw))?;
        Ok(field.into_bytes())
    }

    fn member(&self, at: &KeyAt, set: &Collection, member: &[u8]) -> RecordKey {
        match set.kind {
            Kind::Set => self.namespaces.record(at, record::MEMBER, [&Item::of(member)]),
            _ => self.namespaces.record(at, record::SCORE, [&Item::text(member)]),
        }
    }

    fn decode_score(&self, set: &Collection, key: &[u8], value: &Bytes) -> Result<Option<f64>> {
        let decode = || match set.kind {
            Kind::Set => Ok(records::decode_value(record::MEMBER, value)?.map(|[]| 0.0)),
            _ => records::decode_value(record::SCORE, value)?.map(|[score]| records::score(&score)).transpose(),
        };
        decode().map_err(|flaw| corrupt(key, flaw))
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
        Ok(transaction.set(record, is_there.then(|| records::encode_value(record::MEMBER, [])))?)
    }

    fn members(&self, at: &KeyAt, set: &Collection) -> Records {
        let kind = member_type(set.kind);
        Records::Range(self.namespaces.types(at, kind, kind + 1))
    }

    fn decode_member(&self, key: &Bytes) -> Result<Bytes> {
        let decode = || match records::decode_prefix(key)?.1 {
            record::MEMBER => records::decode_elements(record::MEMBER, key),
            _ => records::decode_elements(record::SCORE, key),
        };
        let [member] = decode().map_err(|flaw| corrupt(key, flaw))?;
        Ok(member.into_bytes())
    }

    fn write_score(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        _set: &Collection,
        member: &[u8],
        (keyspace, key): RecordKey,
        old: Option<f64>,
        new: Option<f64>,
    ) -> Result<()> {
        let scored = |score| records::encode_key(&at.key, record::SCORED, [&Item::Float(score), &Item::text(member)]);
        if let Some(old) = old {
            transaction.delete(keyspace, scored(old))?;
        }
        match new {
            Some(new) => {
                transaction.put(keyspace, key, records::encode_value(record::SCORE, [&Item::Float(new)]))?;
                transaction.put(keyspace, scored(new), records::encode_value(record::SCORED, []))?;
            }
            None => {
                transaction.delete(keyspace, key)?;
                self.remove_number(transaction, at, member, old)?;
            }
        }
        Ok(())
    }

    fn scores(&self, at: &KeyAt, _set: &Collection, from: &Cut, to: &Cut) -> Records {
        let (keyspace, all) = self.namespaces.types(at, record::SCORED, record::SCORED + 1);
        let key = |cut: &Cut| {
            let (score, member) = scored(cut)?;
            Some(records::encode_key(&at.key, record::SCORED, [&Item::Float(score), &member]).to_vec())
        };
        Records::Range((keyspace, Cut::range(from, to, all, key)))
    }

    fn decode_scored(&self, record: &Record) -> Result<(f64, Bytes)> {
        let decode = || {
            let [score, member] = records::decode_elements(record::SCORED, &record.key)?;
            Ok((records::score(&score)?, member.into_bytes()))
        };
        decode().map_err(|flaw| corrupt(&record.key, flaw))
    }

    fn lists(&self) -> &dyn ListAlgorithm {
        &self.lists
    }

    fn missing(&self, record: &RecordKey) -> Error {
        missing(record)
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
        _collection: &Collection,
        is_first: bool,
        _now_ms: u64,
    ) -> Result<()> {
        if is_first { self.remove_left_over(transaction, at) } else { Ok(()) }
    }

    fn sweep(&self, store: &mut dyn Store, now_ms: u64, budget: usize, on_expired: &mut dyn FnMut(KeyAt, Expired)) -> Result<Swept> {
        self.progress.sweep(self, store, now_ms, budget, on_expired)
    }

    fn check(&self, transaction: &mut Transaction<'_>, cursor: &mut Vec<u8>, budget: usize) -> Result<Vec<Finding>> {
        self.check_step(transaction, cursor, budget)
    }

    fn keyspace_name(&self, keyspace: Keyspace) -> &str {
        self.namespaces.name(keyspace)
    }

    fn records_of(&self, at: &KeyAt, _metas: &[Meta]) -> Vec<RecordRange> {
        vec![self.namespaces.types(at, record::META, record::END)]
    }

    fn describe(&self, keyspace: &str, key: &[u8], value: &[u8], _kind: Option<Kind>) -> Anatomy {
        anatomy::describe(keyspace, key, value)
    }
}

/// The type of the records that have the members of a set or a sorted set as their only elements.
const fn member_type(kind: Kind) -> u8 {
    if matches!(kind, Kind::Set) { record::MEMBER } else { record::SCORE }
}

/// Where a cut is among the scored members; `None` at an edge. Nothing comes before every member.
fn scored(cut: &Cut) -> Option<(f64, Item)> {
    match cut {
        Cut::Edge | Cut::Behind(f64::INFINITY) => None,
        Cut::Before(score) => Some((*score, Item::Nil)),
        // Where the members of the next score begin.
        Cut::Behind(score) => Some((score.next_up(), Item::Nil)),
        Cut::BeforeMember(score, member) => Some((*score, Item::text(member))),
        // In byte order nothing is between a member and itself with a zero byte.
        Cut::BehindMember(score, member) => Some((*score, Item::text(&[member.as_ref(), &[0]].concat()))),
    }
}

impl Ardb {
    fn meta_record(&self, at: &KeyAt) -> RecordKey {
        self.namespaces.record(at, record::META, [])
    }

    /// What the meta record of a key says, also of an empty collection.
    fn find_head(&self, transaction: &mut Transaction<'_>, at: &KeyAt) -> Result<Option<Head>> {
        let (keyspace, key) = self.meta_record(at);
        let Some(value) = transaction.get(keyspace, &key)? else { return Ok(None) };
        match records::decode_meta(&value).map_err(|flaw| corrupt(&key, flaw))? {
            records::Meta::Head(head) => Ok(Some(head)),
            records::Meta::Nothing => Ok(None),
            records::Meta::Stream => Err(STREAM),
        }
    }

    /// What is to be stored of a key: with the size and the bounds as Ardb keeps them.
    fn head(&self, transaction: &mut Transaction<'_>, at: &KeyAt, new: &Meta) -> Result<Head> {
        let collection = match &new.body {
            Body::String(text) => return Ok(Head { expire_at_ms: new.expire_at_ms, contents: Contents::Text(Item::of(text)) }),
            Body::Collection(collection) => collection,
        };
        let kind = collection.kind;
        let stored = self
            .find_head(transaction, at)?
            .filter(|head| matches!(head.contents, Contents::Collection { kind: stored, .. } if stored == kind));
        let known = collection.is_counted.then_some(collection.count);
        let (size, is_sequential, bounds) = match (kind, collection.list) {
            (Kind::List, ListHead::Spread { first, last, is_sequential }) => {
                (known, is_sequential, Some([elements::item(first), elements::item(last)]))
            }
            (Kind::Hash, _) => (hash_size(stored.as_ref(), new.expire_at_ms, known), false, None),
            _ => (known, false, self.bounds(transaction, at, collection, stored.as_ref())?),
        };
        Ok(Head { expire_at_ms: new.expire_at_ms, contents: Contents::Collection { kind, size, is_sequential, bounds } })
    }

    /// The bounds of a set's or a sorted set's members. They are only widened.
    fn bounds(&self, transaction: &mut Transaction<'_>, at: &KeyAt, set: &Collection, stored: Option<&Head>) -> Result<Option<[Item; 2]>> {
        let stored = match stored.map(|head| &head.contents) {
            // No command adds members and takes others away.
            Some(Contents::Collection { bounds, size: Some(size), .. }) if set.is_counted && set.count <= *size => {
                return Ok(bounds.clone());
            }
            // Whoever did not count it did not look at its members either.
            Some(Contents::Collection { bounds: None, size: None, .. }) => return Ok(None),
            Some(Contents::Collection { bounds, .. }) => bounds.clone(),
            _ => None,
        };
        let kind = member_type(set.kind);
        let (keyspace, range) = self.namespaces.types(at, kind, kind + 1);
        let mut outermost = |direction| match transaction.first(keyspace, range.clone(), direction)? {
            Some((key, _)) => {
                let [member] = records::decode_elements(kind, &key).map_err(|flaw| corrupt(&key, flaw))?;
                Ok::<_, Error>(Some(member))
            }
            None => Ok(None),
        };
        let (Some(first), Some(last)) = (outermost(Direction::Forward)?, outermost(Direction::Reverse)?) else { return Ok(stored) };
        let is_before = |a: &Item, b: &Item| {
            let key = |item| records::encode_key(b"", kind, [item]);
            Order::Ardb.compare(&key(a), &key(b)).is_lt()
        };
        Ok(Some(match stored {
            None => [first, last],
            Some([low, high]) => [if is_before(&first, &low) { first } else { low }, if is_before(&high, &last) { last } else { high }],
        }))
    }

    /// Removes the sub-records of a collection.
    fn remove_sub_records(&self, transaction: &mut Transaction<'_>, at: &KeyAt, old: &Collection) -> Result<()> {
        let (first, end) = sub_types(old.kind);
        let (keyspace, range) = self.namespaces.types(at, first, end);
        if !old.is_counted || old.count >= MIN_RANGE_DELETE {
            return Ok(transaction.delete_range(keyspace, range)?);
        }
        let mut scan = Scan::new(keyspace, range, Direction::Forward, usize::try_from(old.count).unwrap_or(usize::MAX));
        while let Some((key, _)) = transaction.next(&mut scan)? {
            transaction.delete(keyspace, key)?;
        }
        Ok(())
    }

    /// Removes a sorted set's member that is stored as a number. Ardb's ZUNIONSTORE makes such members of those of sets; a walk over the
    /// scores comes to them, although they are not found by their names.
    fn remove_number(&self, transaction: &mut Transaction<'_>, at: &KeyAt, member: &[u8], score: Option<f64>) -> Result<()> {
        let (number @ Item::Integer(_), Some(score)) = (Item::of(member), score) else { return Ok(()) };
        let (keyspace, key) = self.namespaces.record(at, record::SCORE, [&number]);
        if transaction.get(keyspace, &key)?.is_some() {
            transaction.delete(keyspace, key)?;
            transaction.delete(keyspace, records::encode_key(&at.key, record::SCORED, [&Item::Float(score), &number]))?;
        }
        Ok(())
    }

    /// Removes sub-records that are there although their key is not: a collection that is made under the key would take them for its own.
    fn remove_left_over(&self, transaction: &mut Transaction<'_>, at: &KeyAt) -> Result<()> {
        let (keyspace, range) = self.namespaces.types(at, record::META + 1, record::END);
        if transaction.first(keyspace, range.clone(), Direction::Forward)?.is_some() {
            transaction.delete_range(keyspace, range)?;
        }
        Ok(())
    }
}

/// The size that Ardb stores of a hash: 1 where a field makes it, and unknown after any other change but that of the expiry.
fn hash_size(stored: Option<&Head>, expire_at_ms: Option<u64>, known: Option<u64>) -> Option<u64> {
    match stored {
        None => known.filter(|count| *count == 1),
        Some(head) if head.expire_at_ms == expire_at_ms => None,
        Some(Head { contents: Contents::Collection { size, .. }, .. }) => *size,
        Some(_) => None,
    }
}
