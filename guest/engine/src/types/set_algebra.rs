//! Intersection, union and difference of sets. <https://redis.io/docs/latest/commands/?group=set>
//!
//! Results are streamed in byte order and never held as a whole: a walk needs a page of records for each set that it reads through.
//! All functions fail with WRONGTYPE where one of the keys holds another type, and with store errors and corrupt records. Keys that
//! do not exist are empty sets; a key may come more than once.

use super::sets::{self, Walk};
use crate::db::Db;
use crate::error::Result;
use crate::events::Classes;
use crate::layout::{Body, Collection, KeyAt, Kind, Meta};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// So many members are looked up in the other sets together.
const CHUNK: usize = 256;
/// A point read costs about as much as so many steps of a walk.
const STEPS_PER_READ: u64 = 8;

/// What is made of several sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The members that all sets have.
    Intersection,
    /// The members that any set has.
    Union,
    /// The members of the first set that no other has.
    Difference,
}

impl Operation {
    /// The event of a result that is stored.
    const fn event(self) -> &'static str {
        match self {
            Self::Intersection => "sinterstore",
            Self::Union => "sunionstore",
            Self::Difference => "sdiffstore",
        }
    }
}

/// A set with the key that it is under.
type Source = (KeyAt, Collection);

/// The members of a result that are still to come.
#[derive(Debug)]
pub enum Members {
    /// A union.
    Merged(Merged),
    /// An intersection or a difference.
    Filtered(Box<Filtered>),
    /// All of them, in memory.
    Collected(std::vec::IntoIter<Bytes>),
}

impl Members {
    const NONE: Self = Self::Merged(Merged { heads: BTreeMap::new() });

    /// The members of the result, in byte order.
    ///
    /// # Errors
    /// See the module.
    pub fn new(db: &mut Db, operation: Operation, keys: &[KeyAt]) -> Result<Self> {
        let mut found: Vec<Option<Source>> = Vec::with_capacity(keys.len());
        for at in keys {
            let set = sets::find(db, at)?.map(|(_, set)| (at.clone(), set));
            if set.is_none() {
                db.notify_miss(at);
            }
            found.push(set);
        }
        let some_missing = found.iter().any(Option::is_none);
        let first_missing = found.first().is_none_or(Option::is_none);
        let mut sources: Vec<Source> = found.into_iter().flatten().collect();
        match operation {
            Operation::Intersection if some_missing => Ok(Self::NONE),
            Operation::Difference if first_missing => Ok(Self::NONE),
            Operation::Union if db.layout.names_are_in_byte_order() => Ok(Self::Merged(Merged::new(db, &sources)?)),
            Operation::Union => Self::united(db, &sources),
            Operation::Difference => Self::filtered(db, sources, false),
            Operation::Intersection => {
                sources.sort_by_key(|(_, set)| set.count);
                Self::filtered(db, sources, true)
            }
        }
    }

    /// The members of the first set that all others have, or with `wanted` false none of them.
    fn filtered(db: &mut Db, sources: Vec<Source>, wanted: bool) -> Result<Self> {
        let mut sources = sources.into_iter();
        let Some((at, base)) = sources.next() else { return Ok(Self::NONE) };
        let others = sources.map(|other| Other::new(db, other, base.count)).collect::<Result<_>>()?;
        let base = Walk::new(db, &at, base);
        Ok(Self::Filtered(Box::new(Filtered { base, others, wanted, ready: VecDeque::new() })))
    }

    /// The next member; `None` behind the last one.
    ///
    /// # Errors
    /// See the module.
    pub fn next(&mut self, db: &mut Db) -> Result<Option<Bytes>> {
        match self {
            Self::Merged(merged) => merged.next(db),
            Self::Filtered(filtered) => filtered.next(db),
            Self::Collected(members) => Ok(members.next()),
        }
    }

    /// The members that are still to come, in memory.
    fn collect(mut self, db: &mut Db) -> Result<Self> {
        let mut members = Vec::new();
        while let Some(member) = self.next(db)? {
            members.push(member);
        }
        Ok(Self::Collected(members.into_iter()))
    }

    /// A union of sets whose members do not come in byte order: held in memory.
    fn united(db: &mut Db, sources: &[Source]) -> Result<Self> {
        let mut members = BTreeSet::new();
        for (at, set) in sources {
            let mut walk = Walk::new(db, at, *set);
            while let Some(member) = walk.next(db)? {
                members.insert(member);
            }
        }
        Ok(Self::Collected(members.into_iter().collect::<Vec<_>>().into_iter()))
    }
}

/// A merge of walks over several sets.
#[derive(Debug)]
pub struct Merged {
    /// The walks by the member that each is at.
    heads: BTreeMap<Bytes, Vec<Walk>>,
}

impl Merged {
    fn new(db: &mut Db, sources: &[Source]) -> Result<Self> {
        let mut merged = Self { heads: BTreeMap::new() };
        for (at, set) in sources {
            let walk = Walk::new(db, at, *set);
            merged.advance(db, walk)?;
        }
        Ok(merged)
    }

    fn advance(&mut self, db: &mut Db, mut walk: Walk) -> Result<()> {
        if let Some(member) = walk.next(db)? {
            self.heads.entry(member).or_default().push(walk);
        }
        Ok(())
    }

    fn next(&mut self, db: &mut Db) -> Result<Option<Bytes>> {
        let Some((member, walks)) = self.heads.pop_first() else { return Ok(None) };
        for walk in walks {
            self.advance(db, walk)?;
        }
        Ok(Some(member))
    }
}

/// A walk over one set, of which the other sets let some members through.
#[derive(Debug)]
pub struct Filtered {
    base: Walk,
    others: Vec<Other>,
    /// Whether a member must be in all other sets, or in none.
    wanted: bool,
    /// Members that have been let through.
    ready: VecDeque<Bytes>,
}

impl Filtered {
    fn next(&mut self, db: &mut Db) -> Result<Option<Bytes>> {
        while self.ready.is_empty() {
            let mut chunk = self.chunk(db)?;
            if chunk.is_empty() {
                return Ok(None);
            }
            for other in &mut self.others {
                let mut has = other.has(db, &chunk)?.into_iter();
                chunk.retain(|_| has.next() == Some(self.wanted));
            }
            self.ready = chunk.into();
        }
        Ok(self.ready.pop_front())
    }

    fn chunk(&mut self, db: &mut Db) -> Result<Vec<Bytes>> {
        let mut chunk = Vec::new();
        while chunk.len() < CHUNK
            && let Some(member) = self.base.next(db)?
        {
            chunk.push(member);
        }
        Ok(chunk)
    }
}

/// How members are looked up in a set.
#[derive(Debug)]
enum Other {
    /// One by one: it is much larger than what is looked up in it.
    Probed(Source),
    /// By a walk beside the one whose members are looked up, and the member that it is at.
    Walked(Walk, Option<Bytes>),
}

impl Other {
    /// The cheaper way to look up `count` members in a set.
    fn new(db: &mut Db, (at, set): Source, count: u64) -> Result<Self> {
        // Two walks take the same way only where both are in byte order.
        if set.count > count.saturating_mul(STEPS_PER_READ) || !db.layout.names_are_in_byte_order() {
            return Ok(Self::Probed((at, set)));
        }
        let mut walk = Walk::new(db, &at, set);
        let head = walk.next(db)?;
        Ok(Self::Walked(walk, head))
    }

    /// Whether the set has each of `members`, which are in byte order and behind those looked up before.
    fn has(&mut self, db: &mut Db, members: &[Bytes]) -> Result<Vec<bool>> {
        let (walk, head) = match self {
            Self::Probed((at, set)) => return sets::are_members(db, at, *set, members),
            Self::Walked(walk, head) => (walk, head),
        };
        let mut has = Vec::with_capacity(members.len());
        for member in members {
            while head.as_ref().is_some_and(|head| head < member) {
                *head = walk.next(db)?;
            }
            has.push(head.as_ref() == Some(member));
        }
        Ok(has)
    }
}

/// Stores a result as the set under `destination`, in the place of whatever was there, expiry and all; `destination` may be one of
/// the keys. An empty result removes the key. Returns how many members the result has.
///
/// # Errors
/// See the module; store errors for a result above what one batch can hold.
pub fn store(db: &mut Db, operation: Operation, destination: &KeyAt, keys: &[KeyAt]) -> Result<u64> {
    let mut members = Members::new(db, operation, keys)?;
    if !db.layout.hides_unfinished() {
        // What is written would be met by the walks.
        members = members.collect(db)?;
    }
    let old = db.find_in_place_of(destination, Kind::Set)?;
    let mut next = members.next(db)?;
    if next.is_none() {
        if let Some(old) = old {
            db.delete(destination, &old)?;
        }
        return Ok(0);
    }
    // The new version's records are no members of the old one's, which may still be walked over.
    let set = db.replacement(destination, old.as_ref(), Kind::Set)?;
    let mut count = 0;
    while let Some(member) = next {
        let record = db.layout.member(destination, &set, &member);
        db.layout.write_member(db.transaction, destination, &set, &member, record, true)?;
        count += 1;
        next = members.next(db)?;
    }
    let new = Meta { expire_at_ms: None, body: Body::Collection(set.changed_by(count, 0)) };
    db.write(destination, old.as_ref(), Some(&new))?;
    db.notify(Classes::SET, operation.event(), destination);
    Ok(count)
}

/// How many members the sets have in common, counted up to `limit`: no more are looked for.
///
/// # Errors
/// See the module.
pub fn intersection_len(db: &mut Db, keys: &[KeyAt], limit: u64) -> Result<u64> {
    let mut members = Members::new(db, Operation::Intersection, keys)?;
    let mut count = 0;
    while count < limit && members.next(db)?.is_some() {
        count += 1;
    }
    Ok(count)
}
