//! Keys of any type: expiry, renaming, copying, listing.

use crate::db::Db;
use crate::error::{Result, texts};
use crate::events::Classes;
use crate::glob;
use crate::key_count::KeyCount;
use crate::layout::lists::End;
use crate::layout::records::{Record, Records};
use crate::layout::{Body, Collection, KeyAt, Kind, Meta, Names, field_expiry};
use crate::scan::{self, Filter, Positions, Step};
use crate::store::{Direction, prefix_end};
use crate::types::sorted_sets::ranks;
use bytes::Bytes;
use std::ops::{ControlFlow, Range};

/// How many records a walk over keys asks for first.
const FIRST_PAGE: usize = 64;
/// How many keys [`remove_matching`] removes at most, so that one transaction can hold it.
pub const MAX_REMOVED: usize = 1 << 16;

/// When EXPIRE may change a key's expiry ([EXPIRE](https://redis.io/docs/latest/commands/expire/)). All that are set must hold;
/// none is set by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpireOnly {
    /// Only a key without an expiry.
    pub nx: bool,
    /// Only a key with an expiry.
    pub xx: bool,
    /// Only to a later time. No expiry counts as the latest time of all.
    pub gt: bool,
    /// Only to an earlier time. No expiry counts as the latest time of all.
    pub lt: bool,
}

impl ExpireOnly {
    /// Whether an expiry may be changed from `old` to `new`.
    #[must_use]
    pub fn allows(self, old: Option<u64>, new: u64) -> bool {
        let later = old.is_some_and(|old| new > old);
        let earlier = old.is_none_or(|old| new < old);
        !(self.nx && old.is_some() || self.xx && old.is_none() || self.gt && !later || self.lt && !earlier)
    }
}

/// Lets a key expire at a Unix time in milliseconds; a time that is not ahead removes it at once. Returns how many values under the key
/// that has changed: none where there is no key or `only` does not allow it, one otherwise, in layouts with several namespaces up to one in
/// each.
///
/// # Errors
/// A client's mistake for a time that the layout has no room for; store errors, corrupt records.
pub fn expire(db: &mut Db, at: &KeyAt, expire_at_ms: u64, only: ExpireOnly) -> Result<u64> {
    let mut changed = 0;
    for old in db.find_all(at)? {
        if !only.allows(old.expire_at_ms, expire_at_ms) {
            continue;
        }
        changed += 1;
        if expire_at_ms <= db.expiry_base_ms() {
            db.delete(at, &old)?;
            continue;
        }
        let new = Meta { expire_at_ms: Some(expire_at_ms), body: old.body.clone() };
        db.write(at, Some(&old), Some(&new))?;
        db.notify(Classes::GENERIC, "expire", at);
    }
    Ok(changed)
}

/// Takes a key's expiry away. Returns as [`expire`] how many values have lost one.
///
/// # Errors
/// Store errors, corrupt records.
pub fn persist(db: &mut Db, at: &KeyAt) -> Result<u64> {
    let mut changed = 0;
    for old in db.find_all(at)?.into_iter().filter(|old| old.expire_at_ms.is_some()) {
        let new = Meta { expire_at_ms: None, body: old.body.clone() };
        db.write(at, Some(&old), Some(&new))?;
        db.notify(Classes::GENERIC, "persist", at);
        changed += 1;
    }
    Ok(changed)
}

/// Moves what is stored under `from`, expiry and all, to `to`. What was there is removed, or with `keep` kept: then nothing
/// happens and the answer is false. A key that is moved onto itself stays as it is. Costs the same for a value of any size, but in
/// layouts that must copy it.
///
/// # Errors
/// `ERR no such key`; store errors, corrupt records.
pub fn rename(db: &mut Db, from: &KeyAt, to: &KeyAt, keep: bool) -> Result<bool> {
    let found = db.find_all(from)?;
    if found.is_empty() {
        return Err(texts::NO_SUCH_KEY);
    }
    if from == to {
        return Ok(!keep);
    }
    let there = db.find_all(to)?;
    if keep && !there.is_empty() {
        return Ok(false);
    }
    for old in &there {
        db.write(to, Some(old), None)?;
    }
    for meta in &found {
        if !db.rename(from, to, meta)? {
            copy_value(db, from, meta, to, None)?;
            db.write(from, Some(meta), None)?;
        }
    }
    let (gone, come) = if from.space == to.space { ("rename_from", "rename_to") } else { ("move_from", "move_to") };
    db.notify(Classes::NEW, "new", to);
    db.notify(Classes::GENERIC, gone, from);
    db.notify(Classes::GENERIC, come, to);
    Ok(true)
}

/// Copies what is stored under `from`, expiry and all, to `to`, another place. What was there is replaced, or without `replace`
/// kept: then nothing happens and the answer is false, as it is where there is no key. A collection's records are copied
/// one by one.
///
/// # Errors
/// Store errors (the copy is one batch), corrupt records.
pub fn copy(db: &mut Db, from: &KeyAt, to: &KeyAt, replace: bool) -> Result<bool> {
    let found = db.find_all(from)?;
    if found.is_empty() {
        db.notify_miss(from);
        return Ok(false);
    }
    if !db.find_all(to)?.is_empty() && !replace {
        return Ok(false);
    }
    for meta in &found {
        let old = db.find_in_place_of(to, meta.kind())?;
        if old.is_some() {
            // Redis removes what is replaced first, though without an event.
            db.note_appeared(to, meta.kind());
        }
        copy_value(db, from, meta, to, old.as_ref())?;
        if old.is_some() {
            db.notify(Classes::NEW, "new", to);
        }
    }
    db.notify(Classes::GENERIC, "copy_to", to);
    Ok(true)
}

/// Copies what is stored under `from` to `to`, in the place of `old`.
fn copy_value(db: &mut Db, from: &KeyAt, meta: &Meta, to: &KeyAt, old: Option<&Meta>) -> Result<()> {
    let body = match &meta.body {
        Body::String(value) => Body::String(value.clone()),
        Body::Collection(collection) => {
            let target = db.replacement(to, old, collection.kind)?;
            Body::Collection(copy_records(db, from, collection, to, target)?)
        }
    };
    db.write(to, old, Some(&Meta { expire_at_ms: meta.expire_at_ms, body }))
}

/// Copies the records of a collection into `target`, and returns it with them.
fn copy_records(db: &mut Db, from: &KeyAt, source: &Collection, to: &KeyAt, mut target: Collection) -> Result<Collection> {
    let (layout, expected) = (db.layout, usize::try_from(source.count).unwrap_or(usize::MAX));
    if source.kind == Kind::List {
        let mut walk = layout.lists().walk(from, source, 0..source.count, Direction::Forward, source.count)?;
        while let Some((_, element)) = walk.next(db.transaction)? {
            layout.lists().push(db.transaction, to, &mut target, End::Tail, element)?;
        }
        return Ok(target);
    }
    let records = if source.kind == Kind::Hash { layout.fields(from, source, &Names::ALL) } else { layout.members(from, source) };
    let mut walk = records.walk(Direction::Forward, expected);
    while let Some(Record { key, value, .. }) = walk.next(db.transaction)? {
        if source.kind == Kind::Hash {
            let Some(value) = layout.decode_field_value(source, &key, &value)? else { continue };
            let field = layout.decode_field(&key)?;
            if let Some(expire_at_ms) = value.expire_at_ms {
                let (keyspace, key) = field_expiry::index(layout)?.record(to, target.version, expire_at_ms, &field);
                db.transaction.put(keyspace, key, Bytes::new())?;
            }
            let record = layout.field(to, &target, &field);
            layout.write_field(db.transaction, to, &target, &field, record, Some(&value))?;
        } else {
            let Some(score) = layout.decode_score(source, &key, &value)? else { continue };
            let member = layout.decode_member(&key)?;
            let record = layout.member(to, &target, &member);
            match source.kind {
                Kind::SortedSet => layout.write_score(db.transaction, to, &target, &member, record, None, Some(score))?,
                _ => layout.write_member(db.transaction, to, &target, &member, record, true)?,
            }
        }
        target = target.changed_by(1, 0);
    }
    ranks::grown(db.transaction, layout, Collection { expiries: source.expiries, ..target })
}

/// The records of the space's user keys that begin with `prefix`, from `start` on: of one kind where the layout keeps kinds apart.
pub(super) fn key_records(db: &Db, space: u32, kind: Option<Kind>, prefix: &[u8], start: &[u8]) -> Records {
    let names = Names { start: Bytes::copy_from_slice(start), end: prefix_end(prefix).map(Bytes::from) };
    db.layout.keys(space, kind, &names)
}

/// Visits the db's keys that begin with `prefix` and have not expired, from `start` on and in their order, with what is under them, until
/// `visit` breaks off. Reads the records of all keys on its way: also the values of strings, which are stored with their keys.
///
/// # Errors
/// Store errors, corrupt records.
pub fn walk(db: &mut Db, prefix: &[u8], start: &[u8], visit: &mut dyn FnMut(&Bytes, &Meta) -> ControlFlow<()>) -> Result<()> {
    let space = db.at(&Bytes::new())?.space;
    let mut walk = key_records(db, space, None, prefix, start).walk(Direction::Forward, FIRST_PAGE);
    while let Some(record) = walk.next(db.transaction)? {
        let (key, meta) = db.layout.decode_key(&record)?;
        let at = KeyAt::new(space, key);
        if !db.is_gone(&at, &meta)? && visit(&at.key, &meta).is_break() {
            break;
        }
    }
    Ok(())
}

/// One step over the keys of the db, those of `kind` where it is given: [SCAN](https://redis.io/docs/latest/commands/scan/). Only
/// keys that begin as the pattern does are visited; expired ones are, and are left out.
///
/// # Errors
/// Store errors, corrupt records.
pub fn scan(db: &mut Db, positions: &mut Positions, cursor: u64, filter: &Filter, kind: Option<Kind>) -> Result<Step<Bytes>> {
    let is_of_kind = |meta: &Meta| kind.is_none_or(|kind| kind == meta.kind());
    let (prefix, is_whole) = filter.pattern.as_deref().map_or((Vec::new(), false), glob::literal_prefix);
    if is_whole {
        let at = db.at(&prefix.into())?;
        let found = db.look_at_all(&at)?;
        return Ok(Step { elements: found.iter().filter(|meta| is_of_kind(meta)).map(|_| at.key.clone()).collect(), cursor: 0 });
    }
    let space = db.at(&Bytes::new())?.space;
    let records = key_records(db, space, kind, &prefix, &prefix);
    let visited = scan::records(db.transaction, positions, &records, cursor, filter.count)?;
    let mut step = Step { elements: Vec::new(), cursor: visited.cursor };
    for record in &visited.elements {
        let (key, meta) = db.layout.decode_key(record)?;
        let at = KeyAt::new(space, key);
        if is_of_kind(&meta) && filter.takes(&at.key) && !db.is_gone(&at, &meta)? {
            step.elements.push(at.key);
        }
    }
    Ok(step)
}

/// Removes keys of `kind` that match the glob `pattern`, in byte order and at most [`MAX_REMOVED`] of them. Returns how many there were:
/// fewer than that only where no more match. Exclusive transactions only.
///
/// # Errors
/// Store errors, corrupt records.
pub fn remove_matching(db: &mut Db, kind: Kind, pattern: &Bytes) -> Result<usize> {
    let filter = Filter { pattern: Some(pattern.clone()).filter(|pattern| pattern != "*"), count: MAX_REMOVED };
    let (prefix, _) = filter.pattern.as_deref().map_or((Vec::new(), false), glob::literal_prefix);
    let mut matching = Vec::new();
    walk(db, &prefix, &prefix, &mut |key, meta| {
        if meta.kind() == kind && filter.takes(key) {
            // A copy: a slice would keep the whole page that it came with.
            matching.push(Bytes::copy_from_slice(key));
        }
        if matching.len() < filter.count { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    for key in &matching {
        let at = db.at(key)?;
        db.remove_in_place_of(&at, kind)?;
    }
    Ok(matching.len())
}

/// How many keys the db holds that have not expired. Walks over all of them, see [`walk`], once for all commands of a group between which
/// nothing is written: unlike in Redis, the time grows with the db ([`crate::key_count`] says why).
///
/// # Errors
/// Store errors, corrupt records.
pub fn count(db: &mut Db) -> Result<u64> {
    let (space, generation) = (db.at(&Bytes::new())?.space, db.transaction.generation(None));
    if let Some(known) = db.key_count.filter(|known| (known.space, known.generation) == (space, generation)) {
        return Ok(known.keys);
    }
    let mut keys = 0;
    walk(db, b"", b"", &mut |_, _| {
        keys += 1;
        ControlFlow::Continue(())
    })?;
    *db.key_count = Some(KeyCount { space, generation, keys });
    Ok(keys)
}

/// Removes all keys of these dbs at once; the sweep frees their space later. For exclusive transactions.
///
/// # Errors
/// Redis' error for a db number out of range; store errors.
pub fn flush(db: &mut Db, dbs: Range<usize>) -> Result<()> {
    // The transaction forgets what a failed command did; the catalog must not have changed by then.
    let mut catalog = db.catalog.clone();
    for index in dbs {
        db.at_db(index, &Bytes::new())?;
        db.layout.flush(db.transaction, &mut catalog, index)?;
    }
    *db.catalog = catalog;
    Ok(())
}
