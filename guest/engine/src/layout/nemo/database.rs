//! One of the four databases that hold collections: their meta records, and the elements that are of them.

use super::records::{self, Head, Tag, Trailer};
use super::{corrupt, keyspace, version_of};
use crate::codec::Flaw;
use crate::error::{Error, Result};
use crate::layout::lists::{LinkedRecords, Node};
use crate::layout::records::{Choice, Record, Verdict};
use crate::layout::{Body, Collection, KeyAt, Kind, Meta, Names, RecordKey, RecordRange};
use crate::store::{Direction, Keyspace, prefix_end};
use crate::transaction::Transaction;
use bytes::Bytes;

/// A database of collections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Database {
    pub keyspace: Keyspace,
    pub kind: Kind,
}

impl Database {
    /// The name of its keyspace.
    pub const fn name(self) -> &'static str {
        match self.kind {
            Kind::String => keyspace::KV,
            Kind::Hash => keyspace::HASH,
            Kind::List => keyspace::LIST,
            Kind::Set => keyspace::SET,
            Kind::SortedSet => keyspace::ZSET,
        }
    }

    /// The first byte of its meta records.
    pub fn tag(self) -> u8 {
        records::meta_tag(self.kind).unwrap_or_default()
    }

    /// Where the meta record of a key is.
    pub fn meta_record(self, at: &KeyAt) -> RecordKey {
        (self.keyspace, records::encode_meta_key(self.tag(), &at.key))
    }

    /// The meta records of the keys with these names.
    pub fn meta_records(self, names: &Names) -> RecordRange {
        let key = |name: &[u8]| records::encode_meta_key(self.tag(), name).to_vec();
        (self.keyspace, names.range(key, || prefix_end(&[self.tag()])))
    }

    /// What the meta record of a key says, of a collection that is there or of one that was.
    pub fn head(self, transaction: &mut Transaction<'_>, at: &KeyAt) -> Result<Option<Head>> {
        if !records::is_user_key(&at.key) {
            return Ok(None);
        }
        let (keyspace, key) = self.meta_record(at);
        let Some(value) = transaction.get(keyspace, &key)? else { return Ok(None) };
        records::decode_meta(self.kind, &value).map(Some).map_err(|flaw| corrupt(self.name(), &key, flaw))
    }

    pub fn put_head(self, transaction: &mut Transaction<'_>, at: &KeyAt, head: &Head) -> Result<()> {
        let (keyspace, key) = self.meta_record(at);
        Ok(transaction.put(keyspace, key, records::encode_meta(head))?)
    }

    /// A collection by its head.
    pub fn meta(self, head: &Head) -> Meta {
        let Head { count, list, trailer } = *head;
        let collection = Collection { count, list, ..Collection::empty(self.kind, u64::from(trailer.version)) };
        Meta { expire_at_ms: trailer.expire_at_ms(), body: Body::Collection(collection) }
    }

    /// The user key of a meta record, and what it says.
    pub fn decode_key(self, key: &Bytes, value: &Bytes) -> Result<(Bytes, Meta)> {
        let decoded =
            records::decode_meta_key(self.tag(), key).and_then(|user_key| Ok((user_key, records::decode_meta(self.kind, value)?)));
        let (user_key, head) = decoded.map_err(|flaw| corrupt(self.name(), key, flaw))?;
        Ok((user_key, self.meta(&head)))
    }

    /// What is behind the user key in an element's key.
    pub fn decode_element_key(self, tag: Tag, key: &Bytes) -> Result<Bytes> {
        records::decode_sub_key(tag, key).map(|(_, rest)| rest).map_err(|flaw| corrupt(self.name(), key, flaw))
    }

    /// The payload of an element; `None` where it is left from an earlier collection.
    pub fn decode_live(self, version: u64, key: &[u8], value: &Bytes) -> Result<Option<Bytes>> {
        let (payload, trailer) = Trailer::split(value).map_err(|flaw| corrupt(self.name(), key, flaw))?;
        Ok((u64::from(trailer.version) >= version).then_some(payload))
    }

    /// Stores an element. Its timestamp is a copy of the collection's, which nothing ever looks at.
    pub fn put_element(
        self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        collection: &Collection,
        key: Bytes,
        payload: &[u8],
    ) -> Result<()> {
        let version = version_of(collection.version);
        let continued = self.head(transaction, at)?.filter(|head| head.trailer.version == version);
        let timestamp = continued.map_or(0, |head| head.trailer.timestamp);
        Ok(transaction.put(self.keyspace, key, Trailer { version, timestamp }.behind(payload))?)
    }
}

impl LinkedRecords for Database {
    fn node(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, number: u64) -> Result<Node> {
        let key = records::encode_node_key(&at.key, number);
        let flaw = |flaw| corrupt(self.name(), &key, flaw);
        let missing = || flaw(Flaw { offset: 0, what: "a missing record" });
        let value = transaction.get(self.keyspace, &key)?.ok_or_else(missing)?;
        let payload = self.decode_live(list.version, &key, &value)?.ok_or_else(missing)?;
        records::decode_node(&payload).map_err(flaw)
    }

    fn put_node(&self, transaction: &mut Transaction<'_>, at: &KeyAt, list: &Collection, number: u64, node: &Node) -> Result<()> {
        let key = records::encode_node_key(&at.key, number);
        self.put_element(transaction, at, list, key, &records::encode_node(node))
    }

    fn not_linked_back(&self, at: &KeyAt, number: u64) -> Error {
        corrupt(
            self.name(),
            &records::encode_node_key(&at.key, number),
            Flaw { offset: 0, what: "a node that its neighbour does not know" },
        )
    }

    fn delete_node(&self, transaction: &mut Transaction<'_>, at: &KeyAt, number: u64) -> Result<()> {
        Ok(transaction.delete(self.keyspace, records::encode_node_key(&at.key, number))?)
    }
}

/// The elements of a collection, among those that earlier ones have left.
#[derive(Debug)]
pub(super) struct Live {
    database: Database,
    version: u64,
}

impl Live {
    pub fn new(database: Database, collection: &Collection) -> Self {
        Self { database, version: collection.version }
    }
}

impl Choice for Live {
    fn judge(&self, _transaction: &mut Transaction<'_>, record: &Record, _direction: Direction) -> Result<Verdict> {
        let live = self.database.decode_live(self.version, &record.key, &record.value)?;
        Ok(if live.is_some() { Verdict::Take } else { Verdict::Pass })
    }
}
