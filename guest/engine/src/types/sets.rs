//! Sets: members under one key. <https://redis.io/docs/latest/commands/?group=set>
//!
//! Members are records of their own with empty values; the count in the key's meta record is exact. A set without members does not
//! exist: the last member takes the key with it. All functions fail with WRONGTYPE where the key holds another type, and with store
//! errors and corrupt records. What several sets have in common is in [`super::set_algebra`].

use super::draw::{self, Draw, Urn};
use crate::db::Db;
use crate::error::Result;
use crate::events::Classes;
use crate::few::Few;
use crate::layout::lots::Lot;
use crate::layout::{Collection, KeyAt, Kind, Meta, RecordKey, records};
use crate::scan::{self, Filter, Positions, Step};
use crate::store::Direction;
use bytes::Bytes;

/// The records of a larger set that is popped as a whole are left to the sweep.
const MAX_REMOVED_SINGLY: u64 = 1024;

/// The event of members that are drawn and removed.
const SPOP: &str = "spop";

/// How many members the set has; 0 where there is none.
///
/// # Errors
/// See the module.
pub fn len(db: &mut Db, at: &KeyAt) -> Result<u64> {
    Ok(db.find_counted(at, Kind::Set)?.map_or(0, |(_, set)| set.count))
}

/// Whether each of `members` is in the set, in one read; none is where there is no set.
///
/// # Errors
/// See the module.
pub fn contains(db: &mut Db, at: &KeyAt, members: &[Bytes]) -> Result<Vec<bool>> {
    match find(db, at)? {
        Some((_, set)) => are_members(db, at, set, members),
        None => Ok(vec![false; members.len()]),
    }
}

/// Whether `member` is in the set.
///
/// # Errors
/// See the module.
pub fn has(db: &mut Db, at: &KeyAt, member: &[u8]) -> Result<bool> {
    let Some((_, set)) = find(db, at)? else { return Ok(false) };
    let record = db.layout.member(at, &set, member);
    has_record(db, &set, &record)
}

/// Hands every member to `visit`, in byte order, some at a time.
///
/// # Errors
/// See the module.
pub fn each(db: &mut Db, at: &KeyAt, visit: &mut dyn FnMut(Lot<'_, '_, &[u8]>)) -> Result<()> {
    let Some((_, set)) = find(db, at)? else { return Ok(()) };
    let Walk(mut walk) = Walk::new(db, at, set);
    db.layout.each_member(db.transaction, &mut walk, visit)
}

/// Adds members. Returns how many are new; a member that comes more than once counts once.
///
/// # Errors
/// See the module.
pub fn add(db: &mut Db, at: &KeyAt, members: &[Bytes]) -> Result<u64> {
    let (old, set) = match find(db, at)? {
        Some((old, set)) => (Some(old), set),
        None => (None, db.new_collection(at, Kind::Set)?),
    };
    let absent = if old.is_some() { those_that_are(false, db, at, &set, members)? } else { with_records(db, at, &set, members) };
    let added = u64::try_from(absent.len()).unwrap_or(u64::MAX);
    if added == 0 {
        return Ok(0);
    }
    for (member, record) in absent {
        db.layout.write_member(db.transaction, at, &set, member, record, true)?;
    }
    db.write_collection(at, old.as_ref(), set.changed_by(added, 0))?;
    db.notify(Classes::SET, "sadd", at);
    Ok(added)
}

/// Removes members, and the key with the last one. Returns how many there were; a member that comes more than once counts once.
///
/// # Errors
/// See the module.
pub fn remove(db: &mut Db, at: &KeyAt, members: &[Bytes]) -> Result<u64> {
    let Some((old, set)) = find(db, at)? else { return Ok(0) };
    let present = those_that_are(true, db, at, &set, members)?;
    remove_members(db, at, (&old, set), present, "srem")
}

/// Moves a member from one set to another, which is made where it does not exist. False, and nothing changed, where the first set
/// does not have the member. A member of the other set is only removed from the first; one that moves to its own set stays.
///
/// # Errors
/// See the module: also for the other key, unless the first does not exist.
pub fn move_member(db: &mut Db, from: &KeyAt, to: &KeyAt, member: &Bytes) -> Result<bool> {
    let member = std::slice::from_ref(member);
    if find(db, from)?.is_none() {
        return Ok(false);
    }
    find(db, to)?;
    if from == to {
        return Ok(contains(db, from, member)? == [true]);
    }
    if remove(db, from, member)? == 0 {
        return Ok(false);
    }
    add(db, to, member)?;
    Ok(true)
}

/// Hands members drawn at random, each with the same probability, to `visit`; none where there is no set. What it costs: see
/// [`draw`].
///
/// # Errors
/// See the module, and [`draw::records`].
pub fn random(db: &mut Db, at: &KeyAt, draw: Draw, mut visit: impl FnMut(&[u8])) -> Result<()> {
    let Some((_, set)) = db.find_counted(at, Kind::Set)? else { return Ok(()) };
    let (layout, records) = (db.layout, db.layout.members(at, &set));
    draw::records(db, &Urn { records: &records, total: set.count, only: None, seek: None }, draw, &mut |record| {
        visit(&layout.decode_member(&record.key)?);
        Ok(())
    })
}

/// Removes `count` members drawn at random, all of them where there are not so many, and hands them to `visit`, some at a time. Every
/// choice of members is equally likely. Costs what [`random`] does and a deletion for each.
///
/// # Errors
/// See the module.
pub fn pop(db: &mut Db, at: &KeyAt, count: u64, visit: &mut dyn FnMut(Lot<'_, '_, &[u8]>)) -> Result<()> {
    let Some((old, set)) = db.find_counted(at, Kind::Set)? else { return Ok(()) };
    if count >= set.count && count > MAX_REMOVED_SINGLY {
        each(db, at, visit)?;
        db.notify(Classes::SET, SPOP, at);
        return db.delete(at, &old);
    }
    let (layout, records) = (db.layout, db.layout.members(at, &set));
    let mut popped = Vec::new();
    draw::records(db, &Urn { records: &records, total: set.count, only: None, seek: None }, Draw::Distinct(count), &mut |record| {
        let member = layout.decode_member(&record.key)?;
        visit(Lot::Rows(&[&member]));
        // A copy: a slice would keep the whole page that it came with.
        popped.push(Bytes::copy_from_slice(&member));
        Ok(())
    })?;
    let popped = with_records(db, at, &set, &popped);
    remove_members(db, at, (&old, set), popped, SPOP)?;
    Ok(())
}

/// One step over the members: [SSCAN](https://redis.io/docs/latest/commands/sscan/).
///
/// # Errors
/// See the module.
pub fn scan(db: &mut Db, positions: &mut Positions, at: &KeyAt, cursor: u64, filter: &Filter) -> Result<Step<Bytes>> {
    let Some((_, set)) = find(db, at)? else { return Ok(Step::over()) };
    let records = db.layout.members(at, &set);
    let visited = scan::records(db.transaction, positions, &records, cursor, filter.count)?;
    let mut step = Step { elements: Vec::new(), cursor: visited.cursor };
    for record in &visited.elements {
        let member = db.layout.decode_member(&record.key)?;
        if filter.takes(&member) {
            step.elements.push(member);
        }
    }
    Ok(step)
}

/// The set under a key, with its meta.
pub(super) fn find(db: &mut Db, at: &KeyAt) -> Result<Option<(Meta, Collection)>> {
    db.find_collection(at, Kind::Set)
}

/// Whether each of `members` is in `set`, in one read.
pub(super) fn are_members(db: &mut Db, at: &KeyAt, set: Collection, members: &[Bytes]) -> Result<Vec<bool>> {
    let records: Vec<RecordKey> = members.iter().map(|member| db.layout.member(at, &set, member)).collect();
    let values = db.transaction.get_many(&records)?;
    records.iter().zip(values).map(|((_, key), value)| is_there(db, &set, key, value)).collect()
}

/// Whether the record of a member is there, and is one of the set.
fn has_record(db: &mut Db, set: &Collection, (keyspace, key): &RecordKey) -> Result<bool> {
    let layout = db.layout;
    let score = db.transaction.look(*keyspace, key, |value| value.map(|value| layout.decode_score(set, key, value)))?;
    Ok(score.transpose()?.flatten().is_some())
}

/// Whether the record of a member, as it was read, is one of the set.
fn is_there(db: &Db, set: &Collection, key: &[u8], value: Option<Bytes>) -> Result<bool> {
    match value {
        Some(value) => Ok(db.layout.decode_score(set, key, &value)?.is_some()),
        None => Ok(false),
    }
}

/// A member with its record.
type Recorded<'m> = (&'m Bytes, RecordKey);

/// Each of the members once, in byte order.
fn with_records<'m>(db: &Db, at: &KeyAt, set: &Collection, members: &'m [Bytes]) -> Few<Recorded<'m>> {
    let mut recorded: Few<Recorded<'m>> = members.iter().map(|member| (member, db.layout.member(at, set, member))).collect();
    recorded.sort_unstable_by_key(|(member, _)| *member);
    recorded.dedup_by_key(|(member, _)| *member);
    recorded
}

/// Those of the members, each once and in byte order, that are in the set, or that are not.
fn those_that_are<'m>(present: bool, db: &mut Db, at: &KeyAt, set: &Collection, members: &'m [Bytes]) -> Result<Few<Recorded<'m>>> {
    if let [member] = members {
        // As most requests have it: nothing to sort.
        let record = db.layout.member(at, set, member);
        let is_chosen = has_record(db, set, &record)? == present;
        return Ok(is_chosen.then_some((member, record)).into_iter().collect());
    }
    let mut chosen = with_records(db, at, set, members);
    let values = db.transaction.get_many(chosen.iter().map(|(_, record)| record))?;
    let (mut values, mut failure) = (values.into_iter(), Ok(()));
    chosen.retain(|(_, (_, key))| match is_there(db, set, key, values.next().flatten()) {
        Ok(is_there) => is_there == present,
        Err(error) => {
            failure = Err(error);
            false
        }
    });
    failure.map(|()| chosen)
}

/// Removes members that the set has, and tells the event where there are any. Returns how many.
fn remove_members(
    db: &mut Db,
    at: &KeyAt,
    (old, set): (&Meta, Collection),
    members: Few<Recorded<'_>>,
    event: &'static str,
) -> Result<u64> {
    let removed = u64::try_from(members.len()).unwrap_or(u64::MAX);
    if removed == 0 {
        return Ok(0);
    }
    for (member, record) in members {
        db.layout.write_member(db.transaction, at, &set, member, record, false)?;
    }
    db.notify(Classes::SET, event, at);
    db.write_collection(at, Some(old), set.changed_by(0, removed))?;
    Ok(removed)
}

/// A walk over the members of a set, in byte order. It holds one page of records.
#[derive(Debug)]
pub(super) struct Walk(records::Walk);

impl Walk {
    /// A walk from the first member on.
    pub fn new(db: &Db, at: &KeyAt, set: Collection) -> Self {
        Self(db.layout.members(at, &set).walk(Direction::Forward, usize::try_from(set.count).unwrap_or(usize::MAX)))
    }

    /// The next member; `None` behind the last one.
    pub fn next(&mut self, db: &mut Db) -> Result<Option<Bytes>> {
        let record = self.0.next(db.transaction)?;
        record.map(|record| db.layout.decode_member(&record.key)).transpose()
    }
}
