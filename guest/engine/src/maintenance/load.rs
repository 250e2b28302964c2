//! Loads: the lines of a dump become keys again, whatever the layout.

use super::line::{Entry, Value};
use super::{MAX_ATTEMPTS, Workspace};
use crate::db::Versions;
use crate::error::{Error, Result, texts};
use crate::layout::lists::End;
use crate::layout::ranks::{Cutting, Tree};
use crate::layout::{Body, Catalog, Collection, KeyAt, Kind, Meta, New, field_expiry};
use crate::session::Engine;
use crate::store::{Scope, StoreError};
use crate::types::sorted_sets::ranks;
use bytes::Bytes;
use std::ops::Range;

/// Most operations of one batch.
const MAX_OPS: usize = 4096;
/// A batch is written once it holds this much.
const MAX_BYTES: usize = 1 << 20;
/// Operations for a key besides its records: meta, old and new expiry, those of its next field, what is left of an old
/// collection, a note.
const KEY_OPS: usize = 7;
/// A large sorted set has no more than one node of its tree of ranks for so many members: each is another operation.
const RECORDS_OF_A_NODE: usize = 64;
/// Nodes of such a tree that are made in one step: each reads more than a hundred records.
const NODES_OF_A_STEP: usize = 256;

/// What [`Engine::load`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Keys that were written.
    pub keys: u64,
    /// Keys that were left out because their time is past.
    pub expired: u64,
}

/// A sorted set, and what is still to be made of its tree.
type Grown = (Collection, Option<Cutting>);

/// A validated line, with its number.
struct Numbered {
    line: usize,
    entry: Entry,
}

impl Engine {
    /// Writes the keys of whole lines as [`Engine::dump`] makes them; empty lines are passed over. A key that exists is replaced,
    /// one whose time is past is left out (and what exists under it stays). Each key is written at once: one with many records
    /// in several batches, of which the last makes it visible.
    ///
    /// # Errors
    /// A client's mistake that begins with the line's number, counted from 1 within this call, where a line is not right or the
    /// store refuses its key: nothing of it is written, the lines before it are.
    pub fn load(&mut self, lines: &[u8]) -> Result<LoadReport> {
        let mut report = LoadReport::default();
        let mut group: Vec<Numbered> = Vec::new();
        let mut ops = 0;
        for (line, text) in (1..).zip(lines.split(|byte| *byte == b'\n')) {
            if text.trim_ascii().is_empty() {
                continue;
            }
            let mut entry = match self.parse(text) {
                Ok(entry) => entry,
                Err(error) => {
                    self.write_group(&mut group)?;
                    return Err(at_line(line, &error));
                }
            };
            let now_ms = self.environment.now_us() / 1000;
            let rules = self.layout.expiry_rules();
            if entry.expire_at_ms.is_some_and(|at| rules.is_past(at, now_ms)) || entry.value.leave_out_expired(now_ms) {
                report.expired += 1;
                continue;
            }
            let parts = self.parts(&entry.value);
            let entry_ops = entry.value.ops();
            if parts.len() > 1 || ops + entry_ops > self.max_ops() {
                self.write_group(&mut group)?;
                ops = 0;
            }
            if parts.len() > 1 {
                self.write_in_parts(&entry, &parts).map_err(|error| at_line(line, &error))?;
            } else {
                group.push(Numbered { line, entry });
                ops += entry_ops;
            }
            report.keys += 1;
        }
        self.write_group(&mut group)?;
        Ok(report)
    }

    fn parse(&self, line: &[u8]) -> Result<Entry> {
        let entry = Entry::parse(line).map_err(|reason| Error::Client(format!("ERR {reason}").into()))?;
        let settings = &self.server.settings;
        if entry.db >= settings.databases {
            return Err(texts::DB_OUT_OF_RANGE);
        }
        if matches!(&entry.value, Value::String(value) if value.len() > settings.max_string_bytes) {
            return Err(texts::STRING_TOO_LONG);
        }
        Ok(entry)
    }

    fn max_ops(&self) -> usize {
        usize::try_from(self.store.limits().max_batch_ops).unwrap_or(MAX_OPS).min(MAX_OPS)
    }

    /// The records of a value, cut into what one batch may hold.
    fn parts(&self, value: &Value) -> Vec<Range<usize>> {
        let max_bytes = usize::try_from(self.store.limits().max_batch_bytes / 2).unwrap_or(MAX_BYTES).min(MAX_BYTES);
        let max_ops = self.max_ops().saturating_sub(KEY_OPS);
        let max_records = (max_ops.saturating_sub(max_ops / RECORDS_OF_A_NODE) / value.ops_of_a_record()).max(1);
        let mut parts = Vec::new();
        let (mut start, mut bytes) = (0, 0);
        for (position, size) in value.record_sizes().enumerate() {
            if position > start && (position - start >= max_records || bytes + size > max_bytes) {
                parts.push(start..position);
                (start, bytes) = (position, 0);
            }
            bytes += size;
        }
        parts.push(start..usize::MAX);
        parts
    }

    /// Writes whole keys in one batch; where that fails, one by one, so that the error names a line.
    fn write_group(&mut self, group: &mut Vec<Numbered>) -> Result<()> {
        let group = std::mem::take(group);
        let together = self.write_together(&group);
        match (together, group.as_slice()) {
            (Ok(()), _) => Ok(()),
            (Err(error), [] | [_]) => Err(at_line(group.first().map_or(0, |only| only.line), &error)),
            (Err(_), several) => {
                several.iter().try_for_each(|one| self.write_together(std::slice::from_ref(one)).map_err(|error| at_line(one.line, &error)))
            }
        }
    }

    fn write_together(&mut self, group: &[Numbered]) -> Result<()> {
        if group.is_empty() {
            return Ok(());
        }
        let scope = |engine: &Self| {
            let keys = group.iter().map(|one| Ok(key_of(&engine.catalog, &one.entry)?.lock_key().clone()));
            Ok(Scope::Keys(keys.collect::<Result<_>>()?))
        };
        self.transact(scope, |workspace| {
            for Numbered { entry, .. } in group {
                let at = key_of(workspace.catalog, entry)?;
                workspace.check(entry)?;
                let mut old = workspace.find(&at, entry.value.kind())?;
                let collection = match entry.value.kind() {
                    Kind::String => None,
                    kind => {
                        workspace.make_way(&at, &mut old)?;
                        let collection = workspace.new_collection(&at, kind, &entry.value)?;
                        let collection = workspace.write_records(&at, collection, &entry.value, 0..usize::MAX)?;
                        Some(ranks::grown(&mut workspace.transaction, workspace.layout, collection)?)
                    }
                };
                workspace.replace(&at, entry, old.as_ref(), collection)?;
            }
            Ok(())
        })
    }

    /// Writes a collection batch by batch where nobody looks, and the key last.
    fn write_in_parts(&mut self, entry: &Entry, parts: &[Range<usize>]) -> Result<()> {
        let scope = |engine: &Self| Ok(Scope::Keys(vec![key_of(&engine.catalog, entry)?.lock_key().clone()]));
        for _ in 0..MAX_ATTEMPTS {
            let collection = self.transact(scope, |workspace| {
                let at = key_of(workspace.catalog, entry)?;
                workspace.check(entry)?;
                let mut old = workspace.find(&at, entry.value.kind())?;
                workspace.make_way(&at, &mut old)?;
                workspace.new_collection(&at, entry.value.kind(), &entry.value)
            })?;
            if self.try_in_parts(entry, collection, parts)? {
                return Ok(());
            }
        }
        Err(StoreError::Conflict.into())
    }

    /// False where the sweep has taken the load for given up, and its records away.
    fn try_in_parts(&mut self, entry: &Entry, mut collection: Collection, parts: &[Range<usize>]) -> Result<bool> {
        let begun = collection;
        let note = |engine: &Self| Ok::<_, Error>(engine.layout.unfinished_lock_key(&key_of(&engine.catalog, entry)?, &begun));
        for part in parts {
            let scope = |engine: &Self| Ok(Scope::Keys(vec![note(engine)?]));
            let written = self.transact(scope, |workspace| {
                let at = key_of(workspace.catalog, entry)?;
                if !workspace.renew(&at, &collection, part.start == 0)? {
                    return Ok(None);
                }
                workspace.write_records(&at, collection, &entry.value, part.clone()).map(Some)
            })?;
            let Some(written) = written else { return Ok(false) };
            collection = written;
        }
        let mut growing = Tree::of(self.layout.as_ref(), collection).and_then(|tree| tree.wants());
        while growing.is_some() {
            let max_nodes = NODES_OF_A_STEP.min(self.max_ops().saturating_sub(KEY_OPS).max(1));
            let scope = |engine: &Self| Ok(Scope::Keys(vec![note(engine)?]));
            let grown = self.transact(scope, |workspace| {
                let at = key_of(workspace.catalog, entry)?;
                workspace.grow(&at, collection, growing.clone(), max_nodes)
            })?;
            let Some(grown) = grown else { return Ok(false) };
            (collection, growing) = grown;
        }
        let scope = |engine: &Self| Ok(Scope::Keys(vec![note(engine)?, key_of(&engine.catalog, entry)?.lock_key().clone()]));
        self.transact(scope, |workspace| {
            let Workspace { transaction, layout, .. } = workspace;
            let at = key_of(workspace.catalog, entry)?;
            if !layout.is_unfinished(transaction, &at, &collection)? {
                return Ok(false);
            }
            layout.finish(transaction, &at, &collection)?;
            let old = workspace.find(&at, entry.value.kind())?;
            workspace.replace(&at, entry, old.as_ref(), Some(collection))?;
            Ok(true)
        })
    }
}

impl Workspace<'_, '_> {
    /// Makes sure that the layout has room for the key's expiry.
    fn check(&self, entry: &Entry) -> Result<()> {
        entry.expire_at_ms.map_or(Ok(()), |at_ms| self.layout.expiry_rules().check(self.layout.name(), at_ms))
    }

    /// What a value of that kind takes the place of.
    fn find(&mut self, at: &KeyAt, kind: Kind) -> Result<Option<Meta>> {
        self.layout.find(&mut self.transaction, at, kind)
    }

    /// Removes what is there, where its records could not be told from the new ones.
    fn make_way(&mut self, at: &KeyAt, old: &mut Option<Meta>) -> Result<()> {
        if old.is_some() && !self.layout.hides_unfinished() {
            self.layout.write(&mut self.transaction, at, old.as_ref(), New::Nothing, self.now_ms)?;
            *old = None;
        }
        Ok(())
    }

    /// The head of a collection for the records of `value`.
    fn new_collection(&mut self, at: &KeyAt, kind: Kind, value: &Value) -> Result<Collection> {
        let Self { transaction, layout, versions, now_ms, .. } = self;
        let version = layout.next_version(transaction, at, kind, *now_ms, &mut || Versions::take(versions))?;
        Ok(Collection { expiries: value.expiries(), ..layout.empty_collection(kind, version) })
    }

    /// Puts the key in the place of what is there.
    fn replace(&mut self, at: &KeyAt, entry: &Entry, old: Option<&Meta>, collection: Option<Collection>) -> Result<()> {
        let body = match (&entry.value, collection) {
            (Value::String(value), _) => Body::String(value.clone()),
            (_, Some(collection)) => Body::Collection(collection),
            (_, None) => return Ok(()),
        };
        let new = Meta { expire_at_ms: entry.expire_at_ms, body };
        self.layout.write(&mut self.transaction, at, old, New::Value(&new), self.now_ms)
    }

    /// Notes that the collection is still being written; false where the sweep has taken the load for given up.
    fn renew(&mut self, at: &KeyAt, collection: &Collection, is_first: bool) -> Result<bool> {
        let Self { transaction, layout, now_ms, .. } = self;
        if !is_first && !layout.is_unfinished(transaction, at, collection)? {
            return Ok(false);
        }
        layout.renew_unfinished(transaction, at, collection, is_first, *now_ms)?;
        Ok(true)
    }

    /// Makes some nodes of the tree of a large sorted set. Returns the collection with them, and where the next step goes on; `None` where
    /// the sweep has taken the load for given up.
    fn grow(&mut self, at: &KeyAt, collection: Collection, growing: Option<Cutting>, max_nodes: usize) -> Result<Option<Grown>> {
        let Some(mut tree) = Tree::of(self.layout, collection) else { return Ok(Some((collection, None))) };
        // What the note says of the tree must be there before the tree is.
        if !self.renew(at, &Collection { rank_levels: 1, ..collection }, false)? {
            return Ok(None);
        }
        let growing = tree.grow(&mut self.transaction, growing, max_nodes)?;
        Ok(Some((tree.set, growing)))
    }

    /// Writes the records of a collection whose positions are in `part`. Returns the collection with them.
    fn write_records(&mut self, at: &KeyAt, mut collection: Collection, value: &Value, part: Range<usize>) -> Result<Collection> {
        let (layout, transaction) = (self.layout, &mut self.transaction);
        let mut added = 0;
        match value {
            Value::String(_) => {}
            Value::Hash(fields) => {
                for (field, value) in slice(fields, &part) {
                    if let Some(expire_at_ms) = value.expire_at_ms {
                        let index = field_expiry::index(layout)?;
                        let (keyspace, key) = index.record(at, collection.version, expire_at_ms, field);
                        transaction.put(keyspace, key, Bytes::new())?;
                    }
                    let record = layout.field(at, &collection, field);
                    layout.write_field(transaction, at, &collection, field, record, Some(value))?;
                    added += 1;
                }
            }
            Value::List(items) => {
                for item in slice(items, &part) {
                    layout.lists().push(transaction, at, &mut collection, End::Tail, item.clone())?;
                }
            }
            Value::Set(members) => {
                for member in slice(members, &part) {
                    let record = layout.member(at, &collection, member);
                    layout.write_member(transaction, at, &collection, member, record, true)?;
                    added += 1;
                }
            }
            Value::SortedSet(members) => {
                for (member, score) in slice(members, &part) {
                    let record = layout.member(at, &collection, member);
                    layout.write_score(transaction, at, &collection, member, record, None, Some(*score))?;
                    added += 1;
                }
            }
        }
        Ok(collection.changed_by(added, 0))
    }
}

impl Value {
    const fn kind(&self) -> Kind {
        match self {
            Self::String(_) => Kind::String,
            Self::Hash(_) => Kind::Hash,
            Self::List(_) => Kind::List,
            Self::Set(_) => Kind::Set,
            Self::SortedSet(_) => Kind::SortedSet,
        }
    }

    /// About how many bytes each record takes in a batch.
    fn record_sizes(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        match self {
            Self::String(value) => Box::new(std::iter::once(value.len())),
            Self::Hash(fields) => Box::new(fields.iter().map(|(field, value)| 2 * field.len() + value.value.len() + 64)),
            Self::List(names) | Self::Set(names) => Box::new(names.iter().map(|name| name.len() + 32)),
            Self::SortedSet(members) => Box::new(members.iter().map(|(member, _)| 2 * member.len() + 64)),
        }
    }

    fn ops_of_a_record(&self) -> usize {
        if matches!(self, Self::SortedSet(_)) || self.expiries().is_some() { 2 } else { 1 }
    }

    fn ops(&self) -> usize {
        let records = self.record_sizes().count();
        KEY_OPS + records * self.ops_of_a_record() + records / RECORDS_OF_A_NODE
    }
}

fn key_of(catalog: &Catalog, entry: &Entry) -> Result<KeyAt> {
    let space = *catalog.spaces.get(entry.db).ok_or(texts::DB_OUT_OF_RANGE)?;
    Ok(KeyAt::new(space, entry.key.clone()))
}

fn slice<'v, T>(records: &'v [T], part: &Range<usize>) -> &'v [T] {
    records.get(part.start..part.end.min(records.len())).unwrap_or_default()
}

fn at_line(line: usize, error: &Error) -> Error {
    let text = error.to_string();
    Error::Client(format!("ERR line {line}: {}", text.strip_prefix("ERR ").unwrap_or(&text)).into())
}
