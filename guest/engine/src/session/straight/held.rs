//! What is under the keys of a group, and what its members are, as the calls so far have left them.

use super::plan::{MOST_AROUND, Plan, Step};
use crate::command::straight::{Fate, On, Present};
use crate::db::Versions;
use crate::error::{Result, texts};
use crate::layout::Kind;
use crate::layout::expiry::ExpiryRules;
use crate::layout::lists::End;
use crate::layout::ranks::{MEMBERS_BEFORE_A_TREE, tells_ranks};
use crate::layout::straight::{self as records, Head, Under, Value};
use crate::number::parse_i64;
use crate::transaction::{PackedHead, Packing, Room, Transaction};
use crate::types::lists;
use bytes::Bytes;

/// What is under a key.
pub struct Held<'v> {
    /// The string that the store has.
    stored: Option<&'v [u8]>,
    /// The expiry that it has there.
    pub stored_expire_at_ms: Option<u64>,
    pub expire_at_ms: Option<u64>,
    /// What the calls look for.
    kind: Option<Kind>,
    pub body: Body<'v>,
    /// The records of the collection that the store has, where it is packed; otherwise none.
    pub packed: &'v [u8],
    /// The collection is none that the store has.
    is_new: bool,
    /// How many bytes calls may have added to it, or have noted at least, see [`Held::note_change`].
    added_bytes: usize,
    /// What belongs to the key has changed.
    pub is_touched: bool,
    /// The head of a collection is not as the store has it, or was not meanwhile.
    pub has_other_head: bool,
    /// What the calls will do to it.
    to_do: ToDo,
    /// Some of them show what the store has of it.
    is_shown: bool,
    /// How many elements [`Held::next_popped`] has told.
    planned_pops: u64,
}

/// How many members or elements calls add, and take away, at most; and at which ends of a list.
#[derive(Default)]
struct ToDo {
    adds: u64,
    removals: u64,
    pushes_at: ListEnds,
    pops_at: ListEnds,
}

/// Some ends of a list.
#[derive(Clone, Copy, Default)]
struct ListEnds {
    head: bool,
    tail: bool,
}

impl ListEnds {
    const fn add(&mut self, end: End) {
        match end {
            End::Head => self.head = true,
            End::Tail => self.tail = true,
        }
    }
}

/// See [`Held`].
pub enum Body<'v> {
    Nothing,
    String(Value<'v>),
    Collection(Head),
}

impl<'v> Held<'v> {
    /// What a record holds; `None` where the calls cannot go straight. Collections are packed where `packs`.
    #[inline]
    pub fn of(record: Option<&'v [u8]>, plan: &Plan<'_>, packs: bool, rules: ExpiryRules, now_ms: u64) -> Option<Self> {
        let (mut stored_expire_at_ms, mut expire_at_ms, mut stored, mut body) = (None, None, None, Body::Nothing);
        let mut packed: &[u8] = &[];
        if let Some(record) = record {
            let (at_ms, under) = records::read_head(record)?;
            let has_expired = at_ms.is_some_and(|at_ms| rules.is_past(at_ms, now_ms));
            if plan.writes || !has_expired {
                stored_expire_at_ms = at_ms;
                (stored, body) = match under {
                    Under::String(value) => (Some(value), Body::String(Value::Bytes(value))),
                    // The sweep would have its records to remove.
                    Under::Collection(..) if has_expired => return None,
                    // A change would give its records places of their own.
                    Under::Collection(_, [_, ..]) if plan.writes && !packs => return None,
                    Under::Collection(head, records) => {
                        packed = records;
                        (None, Body::Collection(head))
                    }
                };
                if has_expired {
                    body = Body::Nothing;
                } else {
                    expire_at_ms = at_ms;
                }
            }
        }
        Some(Self {
            stored,
            stored_expire_at_ms,
            expire_at_ms,
            kind: None,
            body,
            packed,
            is_new: false,
            added_bytes: 0,
            is_touched: false,
            has_other_head: false,
            to_do: ToDo::default(),
            is_shown: false,
            planned_pops: 0,
        })
    }

    /// Whether a call can go straight, as far as it and those before it tell: what it looks for is here, or nothing is, it changes no tree of ranks and
    /// nothing that has one, or that they give one, what it reads has not expired, and what it shows is near.
    /// What it will do is noted for the calls behind it, for [`Held::loses_simply`] and [`Held::shows_what_is_stored`].
    #[inline(always)]
    pub fn takes(&mut self, step: &Step<'_>) -> bool {
        // Whether those remove it that only read depends on what they are committed with.
        if !step.writes && self.has_expired() {
            return false;
        }
        let Some(kind) = step.straight.kind() else {
            return !step.writes || self.head().is_none_or(|head| head.rank_levels == 0);
        };
        let (is_right, rank_levels, count) = match &self.body {
            Body::Nothing => (true, 0, 0),
            Body::String(_) => (kind == Kind::String, 0, 0),
            Body::Collection(head) => (head.kind == kind, head.rank_levels, head.count),
        };
        let is_more = match (step.straight.on, &self.body) {
            (On::Shown { is_near, .. }, Body::Collection(head)) => is_right && !is_near(&step.call.args, head),
            (On::Rank(_), Body::Collection(_)) => !tells_ranks(rank_levels, count),
            _ => false,
        };
        if is_more {
            return false;
        }
        let is_taken = is_right && *self.kind.get_or_insert(kind) == kind;
        self.is_shown |= step.straight.shows();
        if step.writes {
            let named = u64::try_from(step.times.saturating_mul(step.parts)).unwrap_or(u64::MAX);
            let sum = if step.straight.removes() { &mut self.to_do.removals } else { &mut self.to_do.adds };
            *sum = sum.saturating_add(named);
            let may_get_a_tree = !step.straight.removes() && count.saturating_add(self.to_do.adds) > MEMBERS_BEFORE_A_TREE;
            if kind == Kind::SortedSet && (rank_levels > 0 || may_get_a_tree) {
                return false;
            }
            match step.straight.on {
                On::Push(end) => self.to_do.pushes_at.add(end),
                On::Pop(end) => self.to_do.pops_at.add(end),
                _ => {}
            }
        }
        is_taken
    }

    /// Whether calls show the records that are packed in its head.
    pub const fn shows_packed(&self) -> bool {
        self.is_shown && !self.packed.is_empty()
    }

    /// Lets what is packed be seen by those who show it.
    #[inline(never)]
    pub fn show_packed(&self, packing: Packing, transaction: &mut Transaction<'_>) {
        let Some(head) = self.head() else { return };
        let (value, has_seconds) = (Bytes::copy_from_slice(self.packed), head.kind == Kind::SortedSet);
        // Nothing changes it, so that nobody asks for the whole head.
        transaction.show_packed(packing, head.version, || PackedHead { key: Bytes::new(), value, records_at: 0, has_seconds });
    }

    /// Whether its records are packed, or may be.
    pub const fn may_be_packed(&self) -> bool {
        self.is_new || !self.packed.is_empty()
    }

    /// Notes that calls add so many bytes to it, at most. Returns how many changes come of that to what was packed already, and how many bytes they have: with the
    /// first one all of it is written anew, and once there may be no room for it in its head, maybe record by record.
    pub fn note_change(&mut self, bytes: usize, room: Room) -> (usize, usize) {
        let (packed, before) = (self.packed.len(), self.added_bytes);
        self.added_bytes = before.saturating_add(bytes.max(1));
        if packed == 0 {
            return (0, 0);
        }
        let Some(head) = self.head() else { return (0, 0) };
        let most_bytes = records::most_packed_bytes(head.kind, room.bytes);
        let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let are_many = size(head.count.saturating_add(self.to_do.adds)) > room.records;
        let is_too_much = |added: usize| added > 0 && (are_many || packed.saturating_add(added) > most_bytes);
        let again = if before == 0 { packed } else { 0 };
        if is_too_much(before) || !is_too_much(self.added_bytes) {
            return (0, again);
        }
        // In sorted sets they are two each, and what was added may be counted twice.
        let records = size(head.count).saturating_mul(2);
        (records, records.saturating_mul(MOST_AROUND).saturating_add(again).saturating_add(packed.saturating_mul(2)))
    }

    /// Whether what the calls show, which [`Held::takes`] has been asked for, is what the store has: none of them changes it.
    pub const fn shows_what_is_stored(&self) -> bool {
        !self.is_shown || self.to_do.adds == 0 && self.to_do.removals == 0
    }

    /// Whether all that the calls take away, which [`Held::takes`] has been asked for, is simple: the collection does not come back behind its last member,
    /// and what is popped is what the store has.
    pub fn loses_simply(&self) -> bool {
        let ToDo { adds, removals, pushes_at, pops_at } = self.to_do;
        let stays = removals < self.head().map_or(0, |head| head.count);
        let are_apart = !(pops_at.head && (pops_at.tail || pushes_at.head) || pops_at.tail && pushes_at.tail);
        self.kind == Some(Kind::String) || removals == 0 || are_apart && (stays || adds == 0)
    }

    /// The index of the next element that is popped of the list that the store has; `None` where there is none.
    pub fn next_popped(&mut self, end: End) -> Option<u64> {
        let &Head { first, count, .. } = self.head()?;
        let rank = self.planned_pops;
        let behind = count.checked_sub(rank)?.checked_sub(1)?;
        self.planned_pops += 1;
        Some(first.saturating_add(if end == End::Head { rank } else { behind }))
    }

    /// The index of the element at a position of the list, as a command has it; `None` where there is none, or where that is no position.
    pub fn shown_at(&self, position: &[u8]) -> Option<u64> {
        let &Head { first, count, .. } = self.head()?;
        Some(first.saturating_add(lists::rank(parse_i64(position)?, count)?))
    }

    /// What a call tells of the key.
    pub fn present(&self) -> Option<Present> {
        let kind = match &self.body {
            Body::Nothing => None,
            Body::String(_) => Some(Kind::String),
            // Its last member may have gone.
            Body::Collection(head) => Some(head.kind).filter(|_| head.count > 0 || !self.has_other_head),
        };
        kind.map(|kind| Present { kind, expire_at_ms: self.expire_at_ms })
    }

    /// Whether there is nothing, and the store has what has expired or is removed.
    pub const fn has_expired(&self) -> bool {
        matches!(self.body, Body::Nothing) && self.stored_expire_at_ms.is_some()
    }

    /// Notes that a call has looked at it: what has expired is removed then.
    pub const fn look(&mut self) {
        self.is_touched |= self.has_expired();
    }

    /// Leaves that string under the key, or none.
    #[inline]
    pub const fn become_string(&mut self, new: Option<Value<'v>>, expire_at_ms: Option<u64>) {
        self.body = match new {
            Some(new) => Body::String(new),
            None => Body::Nothing,
        };
        (self.expire_at_ms, self.is_touched) = (expire_at_ms, true);
    }

    /// Leaves a member of the collection as a call has it.
    #[inline]
    pub fn leave(&mut self, part: &mut Part<'v>, fate: Fate<'v>, kind: Kind, versions: &mut Versions) -> Result<()> {
        let new = match fate {
            Fate::Stays => return Ok(()),
            Fate::Becomes(new) => Some(new),
            Fate::Goes => None,
        };
        let head = self.head_or_new(kind, versions)?;
        let count = head.count.saturating_add(u64::from(new.is_some())).saturating_sub(u64::from(part.value.is_some()));
        let is_other = std::mem::replace(&mut head.count, count) != count;
        self.has_other_head |= is_other;
        (part.value, self.is_touched) = (new, true);
        Ok(())
    }

    /// Leaves what is under the key with that expiry, or with none. Returns how many bytes of a string are put again by that, as they were.
    pub fn become_expiring(&mut self, expire_at_ms: Option<u64>) -> usize {
        let put_again = self.stored.filter(|_| self.is_as_stored()).map_or(0, <[u8]>::len);
        (self.expire_at_ms, self.is_touched) = (expire_at_ms, true);
        put_again
    }

    /// Whether nothing is left: a collection goes with its last member.
    pub const fn is_left_with_nothing(&self) -> bool {
        match &self.body {
            Body::Nothing => true,
            Body::String(_) => false,
            Body::Collection(head) => head.count == 0,
        }
    }

    /// When what is left expires.
    pub fn left_expire_at_ms(&self) -> Option<u64> {
        self.expire_at_ms.filter(|_| !self.is_left_with_nothing())
    }

    /// Whether the record of the head is as the store has it.
    pub fn is_as_stored(&self) -> bool {
        if self.expire_at_ms != self.stored_expire_at_ms {
            return false;
        }
        match &self.body {
            Body::Nothing => self.stored.is_none(),
            Body::String(value) => self.stored.is_some_and(|stored| value.is_stored_as(Value::Bytes(stored))),
            Body::Collection(_) => !self.has_other_head,
        }
    }

    /// The head of the collection under the key.
    pub const fn head(&self) -> Option<&Head> {
        if let Body::Collection(head) = &self.body { Some(head) } else { None }
    }

    pub const fn head_mut(&mut self) -> Option<&mut Head> {
        if let Body::Collection(head) = &mut self.body { Some(head) } else { None }
    }

    /// As [`Held::head`], of a new one where there is nothing.
    pub fn head_or_new(&mut self, kind: Kind, versions: &mut Versions) -> Result<&mut Head> {
        if let Body::Nothing = self.body {
            self.body = Body::Collection(records::empty(kind, versions.take()?));
            self.is_new = true;
        }
        match &mut self.body {
            Body::Collection(head) => Ok(head),
            Body::Nothing | Body::String(_) => Err(texts::WRONG_TYPE),
        }
    }
}

/// A field or a member.
#[derive(Default)]
pub struct Part<'v> {
    /// As the store has it.
    pub stored: Option<Value<'v>>,
    pub value: Option<Value<'v>>,
}

impl<'v> Part<'v> {
    /// As the store has it.
    pub const fn of(stored: Option<Value<'v>>) -> Self {
        Self { stored, value: stored }
    }

    /// What becomes of its record.
    pub fn fate(&self) -> Fate<'v> {
        match (self.stored, self.value) {
            (Some(stored), Some(value)) if value.is_stored_as(stored) => Fate::Stays,
            (_, Some(value)) => Fate::Becomes(value),
            (Some(_), None) => Fate::Goes,
            (None, None) => Fate::Stays,
        }
    }
}
