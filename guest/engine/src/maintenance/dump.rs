//! Dumps: every live key as a line of JSON, whatever the layout. `docs/dump.md` has the format.

use super::Workspace;
use crate::codec::{Flaw, Reader, read_cursor};
use crate::error::Result;
use crate::layout::records::{Record, Records, Walk};
use crate::layout::{Body, Collection, Cut, KeyAt, Kind, Names, RecordKey, field_expiry};
use crate::number::format_double;
use crate::session::Engine;
use crate::store::{Direction, Keyspace, Scope};
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
    last: Option<RecordKey>,
    /// The collection under way.
    within: Option<Within>,
}

/// A collection whose line is begun.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Within {
    key: Bytes,
    kind: Kind,
    version: u64,
    /// What was written of it last.
    last: Option<Place>,
}

/// A place in a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// A record.
    Record(RecordKey),
    /// An element of a list, by its distance from the head.
    Rank(u64),
}

impl Cursor {
    /// `db u32 | last | has within [key | kind | version u64 | has place [rank u64, of a list, or record]]`; keys and the kind have their
    /// length (u32) before them, a record its keyspace (u32), and a missing record is empty.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.put_u32(self.db);
        put_record(&mut bytes, self.last.as_ref());
        bytes.put_u8(u8::from(self.within.is_some()));
        if let Some(Within { key, kind, version, last }) = &self.within {
            put(&mut bytes, key);
            put(&mut bytes, kind.name().as_bytes());
            bytes.put_u64(*version);
            bytes.put_u8(u8::from(last.is_some()));
            match last {
                None => {}
                Some(Place::Rank(rank)) => bytes.put_u64(*rank),
                Some(Place::Record(record)) => put_record(&mut bytes, Some(record)),
            }
        }
        bytes
    }

    /// The inverse of [`Cursor::encode`]; the beginning where there are no bytes.
    fn decode(bytes: &[u8]) -> Result<Self> {
        read_cursor(bytes, Self::default(), Self::read)
    }

    fn read(bytes: &Bytes) -> std::result::Result<Self, Flaw> {
        let mut reader = Reader::new(bytes);
        let db = reader.u32(SHORT)?;
        let last = read_record(&mut reader)?;
        let mut within = None;
        if reader.u8(SHORT)? != 0 {
            let key = reader.bytes(SHORT)?;
            let kind = Kind::from_name(&reader.bytes(SHORT)?).ok_or(reader.flaw("an unknown kind"))?;
            let version = reader.u64(SHORT)?;
            let last = match (reader.u8(SHORT)?, kind) {
                (0, _) => None,
                (_, Kind::List) => Some(Place::Rank(reader.u64(SHORT)?)),
                _ => read_record(&mut reader)?.map(Place::Record),
            };
            within = Some(Within { key, kind, version, last });
        }
        reader.end()?;
        Ok(Self { db, last, within })
    }
}

const SHORT: &str = "a cursor is cut short";

fn put(bytes: &mut Vec<u8>, piece: &[u8]) {
    bytes.put_u32(u32::try_from(piece.len()).unwrap_or(u32::MAX));
    bytes.put_slice(piece);
}

fn put_record(bytes: &mut Vec<u8>, record: Option<&RecordKey>) {
    bytes.put_u8(u8::from(record.is_some()));
    if let Some((keyspace, key)) = record {
        bytes.put_u32(keyspace.0);
        put(bytes, key);
    }
}

fn read_record(reader: &mut Reader) -> std::result::Result<Option<RecordKey>, Flaw> {
    if reader.u8(SHORT)? == 0 {
        return Ok(None);
    }
    Ok(Some((Keyspace(reader.u32(SHORT)?), reader.bytes(SHORT)?)))
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

    /// About how many records the rest of the piece has room for.
    fn expected(&self) -> usize {
        (self.max_bytes.saturating_sub(self.out.len()) / RECORD_BYTES).saturating_add(1)
    }

    fn walk(&self, records: &Records, last: Option<&RecordKey>) -> Walk {
        match last {
            Some(last) => records.behind(last).walk(Direction::Forward, self.expected()),
            None => records.clone().walk(Direction::Forward, self.expected()),
        }
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
            let mut walk = self.walk(&self.workspace.layout.keys(space, None, &Names::ALL), cursor.last.as_ref());
            while !self.is_full()
                && let Some(record) = walk.next(&mut self.workspace.transaction)?
            {
                let (key, meta) = self.workspace.layout.decode_key(&record)?;
                cursor.last = Some((record.keyspace, record.key));
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
                        let Collection { kind, version, .. } = collection;
                        cursor.within = self.items(space, Within { key, kind, version, last: None })?;
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

    /// Writes the records of a collection, and the end of its line. Returns where to go on if the piece is full before. Where it has been
    /// replaced since the line was begun, nothing follows.
    fn items(&mut self, space: u32, within: Within) -> Result<Option<Within>> {
        let at = KeyAt::new(space, within.key.clone());
        let Workspace { layout, transaction, .. } = &mut *self.workspace;
        let found = layout.find(transaction, &at, within.kind)?.and_then(|meta| meta.collection());
        let left = match found {
            Some(collection) if (collection.kind, collection.version) == (within.kind, within.version) => {
                if within.kind == Kind::List {
                    self.elements(&at, &collection, within)?
                } else {
                    self.records(&at, &collection, within)?
                }
            }
            _ => None,
        };
        if left.is_none() {
            self.out.push_str("]}\n");
        }
        Ok(left)
    }

    fn elements(&mut self, at: &KeyAt, list: &Collection, mut within: Within) -> Result<Option<Within>> {
        let layout = self.workspace.layout;
        let start = if let Some(Place::Rank(rank)) = within.last { rank.saturating_add(1).min(list.count) } else { 0 };
        let expected = u64::try_from(self.expected()).unwrap_or(u64::MAX);
        let mut walk = layout.lists().walk(at, list, start..list.count, Direction::Forward, expected)?;
        while let Some((rank, element)) = walk.next(&mut self.workspace.transaction)? {
            if self.is_full_before_the_next(&within) {
                return Ok(Some(within));
            }
            self.bytes(&element);
            within.last = Some(Place::Rank(rank));
        }
        Ok(None)
    }

    fn records(&mut self, at: &KeyAt, collection: &Collection, mut within: Within) -> Result<Option<Within>> {
        let layout = self.workspace.layout;
        let records = match collection.kind {
            Kind::Set | Kind::List => layout.members(at, collection),
            Kind::SortedSet => layout.scores(at, collection, &Cut::Edge, &Cut::Edge),
            Kind::String | Kind::Hash => layout.fields(at, collection, &Names::ALL),
        };
        let last = if let Some(Place::Record(record)) = &within.last { Some(record) } else { None };
        let mut walk = self.walk(&records, last);
        while let Some(record) = walk.next(&mut self.workspace.transaction)? {
            let item = self.item(at, collection, &record)?;
            let Some(item) = item else { continue };
            if self.is_full_before_the_next(&within) {
                return Ok(Some(within));
            }
            self.out.push_str(&item);
            within.last = Some(Place::Record((record.keyspace, record.key)));
        }
        Ok(None)
    }

    /// Whether the next item is for the next piece; writes a comma if not. The first one stands in the piece that its line begins in: later it
    /// might be past its time.
    fn is_full_before_the_next(&mut self, within: &Within) -> bool {
        if within.last.is_none() {
            return false;
        }
        if self.is_full() {
            return true;
        }
        self.out.push(',');
        false
    }

    /// A record as it is written; `None` where it is past its time.
    fn item(&mut self, at: &KeyAt, collection: &Collection, record: &Record) -> Result<Option<String>> {
        let Record { key, value, .. } = record;
        let Workspace { layout, transaction, now_ms, .. } = &mut *self.workspace;
        let mut item = String::new();
        match collection.kind {
            Kind::String | Kind::Hash => {
                let found = layout.decode_field_value(collection, key, value)?;
                let Some(field) = found.filter(|field| !field.is_expired(*now_ms)) else { return Ok(None) };
                item.push('[');
                push_bytes(&mut item, &layout.decode_field(key)?);
                item.push(',');
                push_bytes(&mut item, &field.value);
                if let Some(at) = field.expire_at_ms {
                    push_text(&mut item, format_args!(",{at}"));
                }
                item.push(']');
            }
            Kind::Set | Kind::List => push_bytes(&mut item, &layout.decode_member(key)?),
            Kind::SortedSet => {
                let (mut score, member) = layout.decode_scored(record)?;
                if !layout.score_index_is_exact() {
                    let (keyspace, key) = layout.member(at, collection, &member);
                    if let Some(value) = transaction.get(keyspace, &key)? {
                        score = layout.decode_score(collection, &key, &value)?.unwrap_or(score);
                    }
                }
                item.push('[');
                push_bytes(&mut item, &member);
                push_text(&mut item, format_args!(",\"{}\",\"{:016x}\"]", format_double(score), score.to_bits()));
            }
        }
        Ok(Some(item))
    }

    fn bytes(&mut self, bytes: &[u8]) {
        push_bytes(&mut self.out, bytes);
    }

    fn text(&mut self, text: std::fmt::Arguments<'_>) {
        push_text(&mut self.out, text);
    }
}

fn push_bytes(out: &mut String, bytes: &[u8]) {
    out.push('"');
    STANDARD.encode_string(bytes, out);
    out.push('"');
}

fn push_text(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}

/// What begins the list of a collection's records.
const fn list_name(kind: Kind) -> &'static str {
    match kind {
        Kind::String | Kind::Hash => "\"fields\":[",
        Kind::List => "\"items\":[",
        Kind::Set | Kind::SortedSet => "\"members\":[",
    }
}
