//! What a group that may go straight consists of: its calls, their keys, and the members that they name.

use crate::arena;
use crate::command::straight::{On, Straight, arg};
use crate::command::{Run, Ways};
use crate::few::Few;
use crate::layout::{Catalog, Kind};
use crate::session::plan::{Call, Job};
use crate::session::rows::{begin_a_row, call_of};
use crate::store::Limits;
use crate::transaction::Transaction;
use bytes::{BufMut, Bytes};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::{BuildHasher, Hasher};

/// What a record has beside a value, and its key beside a name, at most.
pub const MOST_AROUND: usize = 32;

/// The calls of a group, and their keys.
pub struct Plan<'j> {
    pub steps: Few<Step<'j>>,
    /// How many keys they name, and how many bytes their lock keys have: one that is named again right behind counts once.
    pub keys: usize,
    key_bytes: usize,
    /// How many calls they are.
    pub calls: usize,
    pub writes: bool,
    pub ends_expiries: bool,
    /// They may make lists or sorted sets, which others may wait for.
    pub may_be_waited_for: bool,
    /// Not all of them are on strings.
    pub has_collections: bool,
    /// The most bytes that the arguments of a call have.
    pub longest: usize,
}

/// The calls of a job.
pub struct Step<'j> {
    pub call: &'j Call,
    pub straight: Straight,
    pub times: usize,
    pub writes: bool,
    space: u32,
    key_name: &'j Bytes,
    /// Which of the keys that is.
    pub key: usize,
    /// The number of the member that it names, once members are known; any for a call that names none.
    pub member: usize,
}

impl<'j> Step<'j> {
    /// The field or the member that it names.
    pub fn name(&self) -> Option<&'j [u8]> {
        if let On::Member { name, .. } = self.straight.on { Some(arg(&self.call.args, name)) } else { None }
    }
}

impl<'j> Plan<'j> {
    /// The plan of jobs, which come behind the call `last`; `None` where one of them is no call that goes straight, or where they are run in a row.
    pub fn of(last: Option<&'j Call>, jobs: &'j [Job], catalog: &Catalog) -> Option<Self> {
        let mut plan = Self {
            steps: Few::new(),
            keys: 0,
            key_bytes: 0,
            calls: 0,
            writes: false,
            ends_expiries: false,
            may_be_waited_for: false,
            has_collections: false,
            longest: 0,
        };
        // What is run as one writes the head of its key once.
        if begin_a_row(last, jobs) {
            return None;
        }
        let mut last = last;
        for job in jobs {
            let (call, times) = (call_of(job, last)?, job.times());
            let Run::Data(_, Ways { straight: Some(straight), .. }) = call.command.run else { return None };
            let key_name = call.args.get(1).filter(|_| call.args.len() == straight.args)?;
            let space = *catalog.spaces.get(call.db)?;
            if plan.steps.is_empty() {
                plan.steps.reserve_exact(jobs.len());
            }
            last = Some(call);
            let writes = call.command.writes(&call.args);
            plan.calls += times;
            plan.writes |= writes;
            plan.ends_expiries |= matches!(straight.on, On::String { ends_expiry: true, .. });
            plan.may_be_waited_for |= writes && matches!(straight.kind(), Kind::List | Kind::SortedSet);
            plan.has_collections |= straight.kind() != Kind::String;
            plan.longest = plan.longest.max(call.args.iter().skip(1).map(Bytes::len).sum());
            if plan.steps.last().is_none_or(|before| before.space != space || before.key_name != key_name) {
                plan.keys += 1;
                plan.key_bytes += size_of::<u32>() + key_name.len();
            }
            plan.steps.push(Step { call, straight, times, writes, space, key_name, key: plan.keys - 1, member: 0 });
        }
        Some(plan)
    }

    /// The lock keys of all calls.
    pub fn lock_keys(&self) -> LockKeys {
        let mut ends = Few::with_capacity(self.keys);
        let bytes = arena::bytes(self.key_bytes, |bytes| {
            let start = bytes.len();
            for step in &self.steps {
                if step.key == ends.len() {
                    bytes.put_u32(step.space);
                    bytes.extend_from_slice(step.key_name);
                    ends.push(bytes.len() - start);
                }
            }
        });
        LockKeys { bytes, ends }
    }

    /// Whether a store surely takes each record that these calls put.
    pub fn fits(&self, limits: &Limits) -> bool {
        let most = u64::try_from(self.longest + MOST_AROUND).unwrap_or(u64::MAX);
        most <= limits.max_key_bytes && most <= limits.max_value_bytes
    }

    /// Where among the keys of the transaction that of a call is.
    #[inline]
    pub fn position(&self, step: &Step<'_>, transaction: &Transaction<'_>) -> usize {
        position(self.writes, step.key, transaction)
    }
}

fn position(writes: bool, key: usize, transaction: &Transaction<'_>) -> usize {
    if writes { transaction.position_of_given(key) } else { key }
}

/// Lock keys, one behind the other.
pub struct LockKeys {
    bytes: Bytes,
    ends: Few<usize>,
}

impl LockKeys {
    /// Each of them.
    pub fn each(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        slices(&self.bytes, &self.ends)
    }

    /// All of them, to be declared.
    pub fn into_list(self) -> Vec<Bytes> {
        if self.ends.len() == 1 {
            return vec![self.bytes];
        }
        let mut start = 0;
        self.ends.iter().map(|&end| self.bytes.slice(std::mem::replace(&mut start, end)..end)).collect()
    }
}

/// The pieces of bytes that have these ends.
pub fn slices<'b>(bytes: &'b [u8], ends: &'b [usize]) -> impl ExactSizeIterator<Item = &'b [u8]> {
    let mut start = 0;
    ends.iter().map(move |&end| bytes.get(std::mem::replace(&mut start, end)..end).unwrap_or_default())
}

/// A field or a member that calls of a group name: the position of the key, and the name.
pub type Member<'j> = (usize, &'j [u8]);

impl<'j> Plan<'j> {
    /// The members that the calls name, where they may change them each once, and tells the calls their numbers.
    pub fn find_members(&mut self, transaction: &Transaction<'_>) -> Few<Member<'j>> {
        let mut members: Few<Member<'j>> = Few::with_capacity(self.steps.len());
        let is_distinct = !self.writes || self.steps.len() == 1;
        // Names that share a hash make a group slow, so clients are not to know the seed.
        let (state, mut index) =
            (FixedState::with_seed(transaction.seed()), HashTable::with_capacity(if is_distinct { 0 } else { self.steps.len() }));
        for step in &mut self.steps {
            let Some(name) = step.name() else { continue };
            let member = (position(self.writes, step.key, transaction), name);
            let next = members.len();
            step.member = if members.last() == Some(&member) {
                next - 1
            } else if is_distinct {
                next
            } else {
                let hash = |(position, name): (usize, &[u8])| {
                    let mut hasher = state.build_hasher();
                    hasher.write_usize(position);
                    hasher.write(name);
                    hasher.finish()
                };
                let known = |number: &usize| members.get(*number).copied().unwrap_or_default();
                match index.entry(hash(member), |number| known(number) == member, |number| hash(known(number))) {
                    Entry::Occupied(before) => *before.get(),
                    Entry::Vacant(slot) => *slot.insert(next).get(),
                }
            };
            if step.member == next {
                members.push(member);
            }
        }
        members
    }
}
