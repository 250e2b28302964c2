//! Dumps: every live key as a line of JSON, whatever the layout. `docs/dump.md` has the format.

use super::Workspace;
use crate::codec::{Flaw, Reader};
use crate::error::{Error, Result};
use crate::layout::{Body, Collection, KeyAt, Kind, RecordRange, field_expiry};
use crate::number::format_double;
use crate::session::Engine;
use crate::store::{Direction, Scope};
use crate::transaction::Scan;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::{BufMut, Bytes};
use std::fmt::Write;

/// About how many bytes of a dump a record makes: how far the first page of a scan reads ahead.
const RECORD_BYTES: usize = 64;

impl Engine {
    /// The next piece of a dump: about `max_bytes` of JSON lines, more only to finish a record. Lines are sorted by db and key; a
    /// piece may end within a line. Begin with an empty cursor; it is moved on, and empty again once all is dumped. Expired keys
    /// are left out. Of a database that changes between two calls, each record is as it was at one of them.
    ///
    /// # Errors
    /// Store errors, corrupt records; a client's mistake where the cursor is none of this function's.
    pub fn dump(&mut self, cursor: &mut Vec<u8>, max_bytes: usize) -> Result<Vec<u8>> {
        let start = Cursor::decode(cursor)?;
        let (piece, next) = self.transact(
            |_| Ok(Scope::Read),
            |workspace| {
                let mut dump = Dump { workspace, out: String::new(), max_bytes: max_bytes.max(1) };
                let next = dump.go_on(start.clone())?;
                Ok((dump.out, next))
            },
        )?;
        *cursor = next.map(|next| next.encode()).unwrap_or_default();
        Ok(piece.into_bytes())
    }
}

/// Where a dump goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Cursor {
    db: u32,
    /// The record of the last key that was begun in this db.
    last: Option<Bytes>,
    /// The collection under way.
    within: Option<Within>,
}

/// A collection whose line is begun.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Within {
    key: Bytes,
    collection: Collection,
    /// The last of its records that was written.
    last: Option<Bytes>,
}

impl Cursor {
    /// `db u32 | last | has within [key | kind | version u64 | count u64 | head u64 | last]`; kind and keys have their length
    /// (u32) before them, a missing key is empty.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.put_u32(self.db);
        put(&mut bytes, self.last.as_deref().unwrap_or_default());
        bytes.put_u8(u8::from(self.within.is_some()));
        if let Some(Within { key, collection, last }) = &self.within {
            put(&mut bytes, key);
            put(&mut bytes, collection.kind.name().as_bytes());
            bytes.put_u64(collection.version);
            bytes.put_u64(collection.count);
            bytes.put_u64(collection.head);
            put(&mut bytes, last.as_deref().unwrap_or_default());
        }
        bytes
    }

    /// The inverse of [`Cursor::encode`]; the beginning where there are no bytes.
    fn decode(bytes: &[u8]) -> Result<Self> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        Self::read(&Bytes::copy_from_slice(bytes)).map_err(|_| Error::client("ERR invalid cursor"))
    }

    fn read(bytes: &Bytes) -> std::result::Result<Self, Flaw> {
        const SHORT: &str = "a cursor is cut short";
        let mut reader = Reader::new(bytes);
        let db = reader.u32(SHORT)?;
        let last = Some(reader.bytes(SHORT)?).filter(|key| !key.is_empty());
        let mut within = None;
        if reader.u8(SHORT)? != 0 {
            let key = reader.bytes(SHORT)?;
            let kind = Kind::from_name(&reader.bytes(SHORT)?).ok_or(reader.flaw("an unknown kind"))?;
            let (version, count, head) = (reader.u64(SHORT)?, reader.u64(SHORT)?, reader.u64(SHORT)?);
            let last = Some(reader.bytes(SHORT)?).filter(|key| !key.is_empty());
            // A dump reads expiries from the fields themselves.
            within = Some(Within { key, collection: Collection { kind, version, count, head, expiries: None }, last });
        }
        reader.end()?;
        Ok(Self { db, last, within })
    }
}

fn put(bytes: &mut Vec<u8>, piece: &[u8]) {
    bytes.put_u32(u32::try_from(piece.len()).unwrap_or(u32::MAX));
    bytes.put_slice(piece);
}

struct Dump<'w, 'e, 's> {
    workspace: &'w mut Workspace<'e, 's>,
    out: String,
    max_bytes: usize,
}

impl Dump<'_, '_, '_> {
    fn is_full(&self) -> bool {
        self.out.len() >= self.max_bytes
    }

    fn scan(&self, records: RecordRange, last: Option<&Bytes>) -> Scan {
        let (keyspace, mut range) = records;
        if let Some(last) = last {
            (range.start, range.after_start) = (last.to_vec(), true);
        }
        let expected = (self.max_bytes.saturating_sub(self.out.len()) / RECORD_BYTES).saturating_add(1);
        Scan::new(keyspace, range, Direction::Forward, expected)
    }

    /// Writes lines from a position on. Returns where to go on, or `None` at the end.
    fn go_on(&mut self, mut cursor: Cursor) -> Result<Option<Cursor>> {
        while let Some(space) = usize::try_from(cursor.db).ok().and_then(|db| self.workspace.catalog.spaces.get(db)).copied() {
            if let Some(within) = cursor.within.take() {
                cursor.within = self.items(space, within)?;
                if cursor.within.is_some() {
                    return Ok(Some(cursor));
                }
            }
            let mut scan = self.scan(self.workspace.layout.keys(space, b""), cursor.last.as_ref());
            while !self.is_full()
                && let Some((record, value)) = self.workspace.transaction.next(&mut scan)?
            {
                let (key, meta) = self.workspace.layout.decode_key(&record, &value)?;
                cursor.last = Some(record);
                let (at, Workspace { layout, transaction, now_ms, .. }) = (KeyAt::new(space, key), &mut *self.workspace);
                if field_expiry::is_gone(*layout, transaction, &at, &meta, *now_ms)? {
                    continue;
                }
                let key = at.key;
                self.head(cursor.db, &key, meta.kind(), meta.expire_at_ms);
                match meta.body {
                    Body::String(value) => {
                        self.out.push_str("\"value\":");
                        self.bytes(&value);
                        self.out.push_str("}\n");
                    }
                    Body::Collection(collection) => {
                        self.out.push_str(list_name(collection.kind));
                        cursor.within = self.items(space, Within { key, collection, last: None })?;
                    }
                }
            }
            if self.is_full() {
                return Ok(Some(cursor));
            }
            cursor = Cursor { db: cursor.db.saturating_add(1), ..Cursor::default() };
        }
        Ok(None)
    }

    fn head(&mut self, db: u32, key: &[u8], kind: Kind, expire_at_ms: Option<u64>) {
        self.text(format_args!("{{\"db\":{db},\"key\":"));
        self.bytes(key);
        let expiry = expire_at_ms.map_or_else(|| "null".to_owned(), |at| at.to_string());
        self.text(format_args!(",\"type\":\"{}\",\"expire_at_ms\":{expiry},", kind.name()));
    }

    /// Writes the records of a collection, and the end of its line. Returns where to go on if the piece is full before.
    fn items(&mut self, space: u32, mut within: Within) -> Result<Option<Within>> {
        let at = KeyAt::new(space, within.key.clone());
        let (layout, collection) = (self.workspace.layout, within.collection);
        let records = match collection.kind {
            Kind::String | Kind::Hash => layout.fields(&at, collection.version),
            Kind::List => layout.elements(&at, &collection),
            Kind::Set => layout.members(&at, collection.version),
            Kind::SortedSet => layout.scores(&at, collection.version),
        };
        let mut scan = self.scan(records, within.last.as_ref());
        while let Some((record, value)) = self.workspace.transaction.next(&mut scan)? {
            if self.is_past_its_time(collection.kind, &record, &value)? {
                continue;
            }
            if within.last.is_some() {
                // The first one stands in the piece that its line begins in: later it might be past its time.
                if self.is_full() {
                    return Ok(Some(within));
                }
                self.out.push(',');
            }
            self.item(collection.kind, &record, &value)?;
            within.last = Some(record);
        }
        self.out.push_str("]}\n");
        Ok(None)
    }

    fn is_past_its_time(&self, kind: Kind, record: &Bytes, value: &Bytes) -> Result<bool> {
        let Workspace { layout, now_ms, .. } = &*self.workspace;
        Ok(kind == Kind::Hash && layout.decode_field_value(record, value)?.is_expired(*now_ms))
    }

    fn item(&mut self, kind: Kind, record: &Bytes, value: &Bytes) -> Result<()> {
        let layout = self.workspace.layout;
        match kind {
            Kind::String | Kind::Hash => {
                let field = layout.decode_field_value(record, value)?;
                self.out.push('[');
                self.bytes(&layout.decode_field(record)?);
                self.out.push(',');
                self.bytes(&field.value);
                if let Some(at) = field.expire_at_ms {
                    self.text(format_args!(",{at}"));
                }
                self.out.push(']');
            }
            Kind::List => self.bytes(value),
            Kind::Set => self.bytes(&layout.decode_member(record)?),
            Kind::SortedSet => {
                let (score, member) = layout.decode_scored(record, value)?;
                self.out.push('[');
                self.bytes(&member);
                self.text(format_args!(",\"{}\",\"{:016x}\"]", format_double(score), score.to_bits()));
            }
        }
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.out.push('"');
        STANDARD.encode_string(bytes, &mut self.out);
        self.out.push('"');
    }

    fn text(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.out.write_fmt(text);
    }
}

/// What begins the list of a collection's records.
const fn list_name(kind: Kind) -> &'static str {
    match kind {
        Kind::String | Kind::Hash => "\"fields\":[",
        Kind::List => "\"items\":[",
        Kind::Set | Kind::SortedSet => "\"members\":[",
    }
}
