//! A sorted set that is being changed: members get scores one after the other, and are written once.

use super::{Added, Condition, Members, ranks, score_of, write};
use crate::db::Db;
use crate::error::Result;
use crate::events::Classes;
use crate::layout::{Collection, KeyAt, Kind, Meta, RecordKey};
use crate::types::distinct;
use bytes::Bytes;

/// Members under change, written by [`Change::finish`].
pub(super) struct Change<'c> {
    at: &'c KeyAt,
    /// What was stored before; `None` for a new sorted set.
    old: Option<Meta>,
    set: Collection,
    /// In byte order, each once.
    members: Vec<Changed<'c>>,
    done: Added,
}

/// A member with its record, and its score as it is stored and as it is to be.
struct Changed<'c> {
    member: &'c Bytes,
    record: RecordKey,
    before: Option<f64>,
    after: Option<f64>,
}

impl<'c> Change<'c> {
    /// Of members of the sorted set that was found under a key, or of a new one. Their scores are read at once.
    pub fn of(db: &mut Db, at: &'c KeyAt, found: Option<(Meta, Collection)>, members: impl IntoIterator<Item = &'c Bytes>) -> Result<Self> {
        let (old, set) = match found {
            Some((old, set)) => (Some(old), set),
            None => (None, db.new_collection(at, Kind::SortedSet)?),
        };
        let unread = |member| Changed { member, record: db.layout.member(at, &set, member), before: None, after: None };
        let mut members: Vec<Changed<'c>> = distinct(members).into_iter().map(unread).collect();
        if let (Some(_), [only]) = (&old, members.as_mut_slice()) {
            only.before = score_of(db, &set, &only.record)?;
            only.after = only.before;
        } else if old.is_some() {
            let values = db.transaction.get_many(members.iter().map(|changed| &changed.record))?;
            for (changed, value) in members.iter_mut().zip(values) {
                if let Some(value) = value {
                    changed.before = db.layout.decode_score(&set, &changed.record.1, &value)?;
                    changed.after = changed.before;
                }
            }
        }
        Ok(Self { at, old, set, members, done: Added::default() })
    }

    fn member(&self, member: &Bytes) -> Option<usize> {
        self.members.binary_search_by(|changed| changed.member.cmp(member)).ok()
    }

    /// The score of one of the members, as it is to be; `None` where it is not there.
    pub fn score(&self, member: &Bytes) -> Option<f64> {
        self.members.get(self.member(member)?)?.after
    }

    /// Gives one of the members a score, where the condition allows it. One that is equal to the one that it has changes nothing.
    pub fn set(&mut self, member: &Bytes, score: f64, condition: Condition) {
        let Some(changed) = self.member(member).and_then(|position| self.members.get_mut(position)) else { return };
        if !condition.allows(changed.after, score) {
            return;
        }
        match changed.after {
            None => self.done.added += 1,
            Some(current) if current == score => return,
            Some(_) => self.done.updated += 1,
        }
        changed.after = Some(score);
    }

    /// Adds to the score of one of the members, and returns the sum; one that is not there counts as 0. `None`, and nothing changed, where the
    /// condition does not allow the sum.
    pub fn increment(&mut self, member: &Bytes, increment: f64, condition: Condition) -> Result<Option<f64>> {
        let current = self.score(member);
        let sum = match super::sum(current, increment) {
            Err(_) if condition.members == Members::New => f64::NAN,
            sum => sum?,
        };
        if !condition.allows(current, sum) {
            return Ok(None);
        }
        self.set(member, sum, Condition::default());
        Ok(Some(sum))
    }

    /// What has been done so far.
    pub const fn done(&self) -> Added {
        self.done
    }

    /// Writes what has changed, with the head, and tells the event.
    pub fn finish(self, db: &mut Db, event: &'static str) -> Result<Added> {
        let Self { at, old, set, members, done } = self;
        if done == Added::default() {
            return Ok(done);
        }
        let bits = |score: Option<f64>| score.map(f64::to_bits);
        let changed = || members.iter().filter(|changed| bits(changed.after) != bits(changed.before));
        for Changed { member, record, before, after } in changed() {
            db.layout.write_score(db.transaction, at, &set, member, record.clone(), *before, *after)?;
        }
        let new = ranks::follow(db, set, set.changed_by(done.added, 0), || {
            let leaves = |changed: &Changed<'c>| changed.before.map(|score| (score, changed.member, false));
            let comes = |changed: &Changed<'c>| changed.after.map(|score| (score, changed.member, true));
            changed().flat_map(|changed| [leaves(changed), comes(changed)]).flatten().collect()
        })?;
        write(db, at, old.as_ref(), new)?;
        db.notify(Classes::SORTED_SET, event, at);
        Ok(done)
    }
}
