//! Keys of any type: expiry, renaming, copying, listing.

use crate::db::Db;
use crate::error::{Result, texts};
use crate::events::Classes;
use crate::glob;
use crate::layout::{Body, Collection, KeyAt, Kind, Meta, RecordRange};
use crate::scan::{self, Filter, Positions, Step};
use crate::store::{Direction, prefix_end};
use crate::transaction::Scan;
use bytes::Bytes;
use std::ops::{ControlFlow, Range};

/// How many records a walk over keys asks for first.
const FIRST_PAGE: usize = 64;
/// How many keys [`remove_matching`] removes at most, so that one transaction can hold it.
pub const MAX_REMOVED: usize = 1 << 16;
/// How many sub-records a copy asks for first.
const FIRST_COPIED: usize = 256;

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

/// Lets a key expire at a Unix time in milliseconds; a time that is not ahead removes it at once. False, and nothing changed,
/// where there is no key or `only` does not allow it.
///
/// # Errors
/// Store errors, corrupt records.
pub fn expire(db: &mut Db, at: &KeyAt, expire_at_ms: u64, only: ExpireOnly) -> Result<bool> {
    let Some(old) = db.find(at)? else { return Ok(false) };
    if !only.allows(old.expire_at_ms, expire_at_ms) {
        return Ok(false);
    }
    if expire_at_ms <= db.now_ms {
        db.delete(at, &old)?;
        return Ok(true);
    }
    let new = Meta { expire_at_ms: Some(expire_at_ms), body: old.body.clone() };
    db.write(at, Some(&old), Some(&new))?;
    db.notify(Classes::GENERIC, "expire", at);
    Ok(true)
}

/// Takes a key's expiry away. False where there is no key, or none that expires.
///
/// # Errors
/// Store errors, corrupt records.
pub fn persist(db: &mut Db, at: &KeyAt) -> Result<bool> {
    let Some(old) = db.find(at)?.filter(|old| old.expire_at_ms.is_some()) else { return Ok(false) };
    let new = Meta { expire_at_ms: None, body: old.body.clone() };
    db.write(at, Some(&old), Some(&new))?;
    db.notify(Classes::GENERIC, "persist", at);
    Ok(true)
}

/// Moves what is stored under `from`, expiry and all, to `to`. What was there is removed, or with `keep` kept: then nothing
/// happens and the answer is false. A key that is moved onto itself stays as it is. Costs the same for a value of any size.
///
/// # Errors
/// `ERR no such key`; store errors, corrupt records.
pub fn rename(db: &mut Db, from: &KeyAt, to: &KeyAt, keep: bool) -> Result<bool> {
    let meta = db.find(from)?.ok_or(texts::NO_SUCH_KEY)?;
    if from == to {
        return Ok(!keep);
    }
    if let Some(old) = db.find(to)? {
        if keep {
            return Ok(false);
        }
        db.write(to, Some(&old), None)?;
    }
    db.rename(from, to, &meta)?;
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
    let Some(meta) = db.find(from)? else {
        db.notify_miss(from);
        return Ok(false);
    };
    let old = db.find(to)?;
    if old.is_some() && !replace {
        return Ok(false);
    }
    let body = match &meta.body {
        Body::String(value) => Body::String(value.clone()),
        Body::Collection(collection) => {
            let version = db.new_collection(collection.kind, old.as_ref())?.version;
            copy_sub_records(db, from, collection, to, version)?;
            Body::Collection(Collection { version, ..*collection })
        }
    };
    if old.is_some() {
        // Redis removes what is replaced first.
        db.note_appeared(to, meta.kind());
    }
    db.write(to, old.as_ref(), Some(&Meta { expire_at_ms: meta.expire_at_ms, body }))?;
    if old.is_some() {
        // Redis removes it first, though without an event.
        db.notify(Classes::NEW, "new", to);
    }
    db.notify(Classes::GENERIC, "copy_to", to);
    Ok(true)
}

fn copy_sub_records(db: &mut Db, from: &KeyAt, collection: &Collection, to: &KeyAt, version: u64) -> Result<()> {
    for (keyspace, range) in db.layout.sub_records(from, collection) {
        let mut scan = Scan::new(keyspace, range, Direction::Forward, FIRST_COPIED);
        while let Some((key, value)) = db.transaction.next(&mut scan)? {
            let key = db.layout.move_sub_key(&(keyspace, key), to, version)?;
            db.transaction.put(keyspace, key, value)?;
        }
    }
    Ok(())
}

/// The records of the db's user keys that begin with `prefix`, from `start` on.
pub(super) fn key_records(db: &Db, space: u32, prefix: &[u8], start: &[u8]) -> RecordRange {
    let (keyspace, mut range) = db.layout.keys(space, start);
    if let Some(end) = prefix_end(prefix) {
        let (_, behind) = db.layout.keys(space, &end);
        range.end = Some(behind.start);
    }
    (keyspace, range)
}

/// Visits the db's keys that begin with `prefix` and have not expired, from `start` on and in their order, with what is under them, until
/// `visit` breaks off. Reads the records of all keys on its way: also the values of strings, which are stored with their keys.
///
/// # Errors
/// Store errors, corrupt records.
pub fn walk(db: &mut Db, prefix: &[u8], start: &[u8], visit: &mut dyn FnMut(&Bytes, &Meta) -> ControlFlow<()>) -> Result<()> {
    let space = db.at(&Bytes::new())?.space;
    let (keyspace, range) = key_records(db, space, prefix, start);
    let mut scan = Scan::new(keyspace, range, Direction::Forward, FIRST_PAGE);
    while let Some((key, value)) = db.transaction.next(&mut scan)? {
        let (key, meta) = db.layout.decode_key(&key, &value)?;
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
        let found = db.look_at(&at)?.filter(is_of_kind);
        return Ok(Step { elements: found.map(|_| at.key).into_iter().collect(), cursor: 0 });
    }
    let space = db.at(&Bytes::new())?.space;
    let range = key_records(db, space, &prefix, &prefix);
    let visited = scan::records(db.transaction, positions, range, cursor, filter.count)?;
    let mut step = Step { elements: Vec::new(), cursor: visited.cursor };
    for (key, value) in &visited.elements {
        let (key, meta) = db.layout.decode_key(key, value)?;
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
        db.remove(&at)?;
    }
    Ok(matching.len())
}

/// How many keys the db holds that have not expired. Walks over all of them, see [`walk`]: unlike in Redis, the time grows with
/// the db. A stored count would be one record that every command which adds or removes a key had to change, and so no two such
/// commands could run beside each other.
///
/// # Errors
/// Store errors, corrupt records.
pub fn count(db: &mut Db) -> Result<u64> {
    let mut count = 0;
    walk(db, b"", b"", &mut |_, _| {
        count += 1;
        ControlFlow::Continue(())
    })?;
    Ok(count)
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
