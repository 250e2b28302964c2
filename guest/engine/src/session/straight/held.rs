//! What is under the keys of a group, and what its members are, as the calls so far have left them.

use super::plan::{Plan, Step};
use crate::db::Versions;
use crate::error::{Result, texts};
use crate::layout::Kind;
use crate::layout::expiry::ExpiryRules;
use crate::layout::ranks::MEMBERS_BEFORE_A_TREE;
use crate::layout::straight::{Head, StraightRecords, Under, Value};

/// What is under a key.
pub struct Held<'v> {
    /// The string that the store has, which has the same expiry.
    stored: Option<&'v [u8]>,
    pub expire_at_ms: Option<u64>,
    /// What the calls look for.
    kind: Option<Kind>,
    pub body: Body<'v>,
    /// What belongs to the key has changed.
    pub is_touched: bool,
    /// The head of a collection is not as the store has it.
    pub has_other_head: bool,
}

/// See [`Held`].
pub enum Body<'v> {
    Nothing,
    String(Value<'v>),
    Collection(Head),
}

impl<'v> Held<'v> {
    /// What a record holds; `None` where the calls cannot go straight.
    #[inline]
    pub fn of(record: Option<&'v [u8]>, records: &dyn StraightRecords, plan: &Plan<'_>, rules: ExpiryRules, now_ms: u64) -> Option<Self> {
        let (mut expire_at_ms, mut stored, mut body) = (None, None, Body::Nothing);
        if let Some(record) = record {
            let (at_ms, under) = records.read_head(record)?;
            let is_gone = at_ms.is_some_and(|at_ms| rules.is_past(at_ms, now_ms));
            if at_ms.is_some() && (plan.ends_expiries || is_gone && plan.writes) {
                return None;
            }
            if !is_gone {
                expire_at_ms = at_ms;
                body = match under {
                    Under::String(value) => {
                        stored = Some(value);
                        Body::String(Value::Bytes(value))
                    }
                    Under::Collection(head) => Body::Collection(head),
                };
            }
        }
        Some(Self { stored, expire_at_ms, kind: None, body, is_touched: false, has_other_head: false })
    }

    /// Whether a call can go straight: what it looks for is here, or nothing is, and it does not concern a tree of ranks.
    pub fn takes(&mut self, step: &Step<'_>, plan: &Plan<'_>) -> bool {
        let kind = step.straight.kind();
        let (is_right, has_tree, count) = match &self.body {
            Body::Nothing => (true, false, 0),
            Body::String(_) => (kind == Kind::String, false, 0),
            Body::Collection(head) => (head.kind == kind, head.has_tree, head.count),
        };
        let calls = u64::try_from(plan.calls).unwrap_or(u64::MAX);
        let may_have_a_tree = kind == Kind::SortedSet && (has_tree || count.saturating_add(calls) > MEMBERS_BEFORE_A_TREE);
        is_right && !(step.writes && may_have_a_tree) && *self.kind.get_or_insert(kind) == kind
    }

    /// Whether the record of the head is as the store has it.
    pub fn is_as_stored(&self) -> bool {
        match &self.body {
            Body::Nothing => true,
            Body::String(value) => self.stored.is_some_and(|stored| value.is_stored_as(Value::Bytes(stored))),
            Body::Collection(_) => !self.has_other_head,
        }
    }

    /// The head of the collection under the key.
    pub const fn head(&self) -> Option<&Head> {
        if let Body::Collection(head) = &self.body { Some(head) } else { None }
    }

    /// As [`Held::head`], of a new one where there is nothing.
    pub fn head_or_new(&mut self, kind: Kind, records: &dyn StraightRecords, versions: &mut Versions) -> Result<&mut Head> {
        if let Body::Nothing = self.body {
            self.body = Body::Collection(records.empty(kind, versions.take()?));
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

    /// What is to be put; `None` where it is as the store has it.
    pub fn changed(&self) -> Option<Value<'v>> {
        self.value.filter(|value| self.stored.is_none_or(|stored| !value.is_stored_as(stored)))
    }
}
