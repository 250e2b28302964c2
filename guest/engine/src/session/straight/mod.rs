//! Groups that go straight: calls of commands that look at one value each, and at most [put another in its place](crate::command::straight). The heads of
//! all keys are read in one call, the fields and members in another, each once; the commands run on what was read and on what those before them have
//! left; and each record that has changed is put. Nothing else of a transaction is needed: nobody scans, no call is taken back, and names are compared
//! once, when the group is planned.
//!
//! Where it is not as simple, because a key holds something else, or has expired, or loses an expiry, or somebody is told of events, the group runs as
//! others do (`run.rs`), with the same outcome. All of that is known before the first command has run.

mod held;
mod plan;

use super::plan::{Call, Job};
use super::run::{Done, Pending, Product, room};
use super::{Engine, Server};
use crate::arena;
use crate::command::straight::{On, last};
use crate::db::Versions;
use crate::error::{Error, Result, texts};
use crate::events::Classes;
use crate::few::Few;
use crate::layout::Kind;
use crate::layout::expiry::ExpiryRules;
use crate::layout::lists::pushed;
use crate::layout::straight::{Head, Keyspaces, PREFIX_BYTES, StraightRecords, Value};
use crate::resp::reply::Reply;
use crate::store::{Keyspace, Scope, StoreError};
use crate::transaction::{Found, Parked, Transaction};
use held::{Body, Held, Part};
use plan::{Member, Plan, Step};

/// So many groups are not tried behind one that could not go straight: the next ones most likely cannot either, and to find that out takes a part of
/// their time.
const RESTS: u32 = 8;

/// What has become of a group.
pub(super) enum Attempt {
    /// It has run, as far as should be committed at once.
    Done,
    /// It cannot go straight, and nothing has happened. What was begun for it, if that is to go on.
    NotStraight(Option<Parked>),
}

/// An element to put: the position of the list's key, the index, and the element.
type Element<'j> = (u32, u64, &'j [u8]);

/// The state of a group while its calls run.
struct State<'v> {
    held: Few<Held<'v>>,
    parts: Few<Part<'v>>,
    elements: Vec<Element<'v>>,
}

impl Engine {
    /// Runs jobs, which come behind the call `last`, in one transaction and commits it, as [`Engine::attempt`] does, if they can go straight.
    /// The catalog is there.
    #[inline(never)]
    pub(super) fn attempt_straight<'j>(
        &mut self,
        last: Option<&'j Call>,
        jobs: &'j [Job],
        now_ms: u64,
        done: &mut Vec<Done>,
        reply: &mut Reply,
    ) -> Result<Attempt> {
        if self.straight_rests > 0 || self.layout.straight().is_none() || self.server.wanted_events() != Classes::NONE {
            self.straight_rests = self.straight_rests.saturating_sub(1);
            return Ok(Attempt::NotStraight(None));
        }
        let Some(mut plan) = Plan::of(last, jobs, &self.catalog) else { return Ok(Attempt::NotStraight(None)) };
        let may_wait = !self.waiters.is_empty() || self.server.peers.may_wait();
        if plan.may_be_waited_for && may_wait {
            return Ok(Attempt::NotStraight(None));
        }
        let Self { store, layout, environment, catalog_epoch, versions, server, memory, censuses, .. } = self;
        let Some(records) = layout.straight().filter(|records| !plan.has_collections || records.makes_collections()) else {
            return Ok(Attempt::NotStraight(None));
        };
        let lock_keys = plan.lock_keys();
        let scope = if plan.writes { Scope::Keys(plan.list_of(lock_keys.clone())) } else { Scope::Read };
        let mut transaction = Transaction::begin_with(store.as_mut(), scope, room(memory, environment.as_ref()))?;
        transaction.use_censuses(censuses);
        if *catalog_epoch != Some(transaction.epoch()) {
            // Somebody has changed what the lock keys were made from.
            drop(transaction);
            self.load_catalog()?;
            return Err(StoreError::Conflict.into());
        }
        let (found, keys) = read_heads(records.keyspaces().heads, &mut transaction, &plan, &lock_keys)?;
        let mut found_parts = None;
        let rules = layout.expiry_rules();
        let mut held = hold(&found, keys, records, &plan, (rules, rules.clock(now_ms)))?;
        let (mut members, mut parts) = (Few::new(), None);
        if are_straight(&mut held, keys, &plan, &transaction) {
            if plan.has_members {
                members = plan.find_members(&transaction);
                parts = read_parts(records, &mut transaction, &members, &held, &mut found_parts)?;
            } else {
                parts = Some(Few::new());
            }
        }
        let Some(parts) = parts else {
            self.straight_rests = RESTS;
            // Those that wait have lock keys that are declared, too, where something is written.
            if plan.writes && may_wait {
                self.memory = Some(transaction.commit_and_recycle()?);
                return Ok(Attempt::NotStraight(None));
            }
            drop((held, parts));
            let keys = if plan.writes { transaction.lock_keys().to_vec() } else { plan.list_of(lock_keys) };
            return Ok(Attempt::NotStraight(Some(transaction.park(records.keyspaces().heads, keys, found)?)));
        };
        let mut state = State { held, parts, elements: Vec::new() };
        let (ops, bytes) = state.run_all(&plan, &transaction, records, versions, server, done, reply)?;
        if plan.writes {
            transaction.expect_changes(ops, bytes);
            state.put(records, &mut transaction, &members)?;
        }
        self.memory = Some(transaction.commit_and_recycle()?);
        Ok(Attempt::Done)
    }
}

/// Reads what is under the keys of a group. Returns how many keys these are, too.
#[inline(never)]
fn read_heads(heads: Keyspace, transaction: &mut Transaction<'_>, plan: &Plan<'_>, lock_keys: &[u8]) -> Result<(Found, usize)> {
    if plan.writes {
        return Ok((transaction.read_at_lock_keys(heads)?, transaction.lock_keys().len()));
    }
    let keys: Few<(Keyspace, &[u8])> = plan.each_of(lock_keys).map(|key| (heads, key)).collect();
    Ok((transaction.read_straight(&keys)?, keys.len()))
}

/// What is under the keys; fewer than these where one of them cannot go straight.
#[inline(never)]
fn hold<'v>(
    found: &'v Found,
    keys: usize,
    records: &dyn StraightRecords,
    plan: &Plan<'_>,
    (rules, now_ms): (ExpiryRules, u64),
) -> Result<Few<Held<'v>>> {
    let mut held = Few::with_capacity(keys);
    found.for_each(keys, |record| {
        if let Some(under) = Held::of(record, records, plan, rules, now_ms) {
            held.push(under);
        }
    })?;
    Ok(held)
}

/// Whether all calls of a group can go straight, by what is under their keys.
#[inline(never)]
fn are_straight(held: &mut [Held<'_>], keys: usize, plan: &Plan<'_>, transaction: &Transaction<'_>) -> bool {
    held.len() == keys
        && (!plan.writes || plan.fits(transaction.limits()))
        && plan.steps.iter().all(|step| held.get_mut(plan.position(step, transaction)).is_some_and(|held| held.takes(step, plan)))
}

/// Reads the members that the calls of a group name; `None` where they cannot go straight. `found` is where their records are kept.
#[inline(never)]
fn read_parts<'v>(
    records: &dyn StraightRecords,
    transaction: &mut Transaction<'_>,
    members: &[Member<'_>],
    held: &[Held<'_>],
    found: &'v mut Option<Found>,
) -> Result<Option<Few<Part<'v>>>> {
    let head = |position: u32| held.get(usize::try_from(position).ok()?).and_then(Held::head);
    let in_collections = || members.iter().filter_map(|&(position, name)| head(position).map(|head| (head, name)));
    let bytes = arena::bytes(members.iter().map(|(_, name)| PREFIX_BYTES + name.len()).sum(), |bytes| {
        for (head, name) in in_collections() {
            bytes.extend_from_slice(&records.prefix(head.version));
            bytes.extend_from_slice(name);
        }
    });
    let (mut rest, parts) = (bytes.as_ref(), records.keyspaces().parts);
    let mut keys: Few<(Keyspace, &[u8])> = Few::with_capacity(members.len());
    keys.extend(in_collections().filter_map(|(_, name)| Some((parts, rest.split_off(..PREFIX_BYTES + name.len())?))));
    let mut parts: Few<Part<'_>> = Few::with_capacity(members.len());
    if keys.is_empty() {
        parts.extend(members.iter().map(|_| Part::default()));
        return Ok(Some(parts));
    }
    let mut are_known = true;
    let mut next = members.iter().map(|&(position, _)| head(position));
    let found = found.insert(transaction.read_straight(&keys)?);
    found.for_each(keys.len(), |record| {
        // The members of what is not there have no records.
        for head in next.by_ref() {
            let Some(head) = head else {
                parts.push(Part::default());
                continue;
            };
            let value = record.and_then(|record| records.read_part(head.kind, record));
            are_known &= record.is_none() || value.is_some();
            parts.push(Part::of(value));
            break;
        }
    })?;
    parts.extend(next.map(|_| Part::default()));
    Ok(are_known.then_some(parts))
}

impl<'v> State<'v> {
    /// Runs the calls of a group in their order, as far as should be committed at once. Returns how many changes these are, at most, and of how many
    /// bytes, about.
    #[inline(never)]
    #[allow(clippy::too_many_arguments, reason = "what calls look at, and where what comes of them goes")]
    fn run_all<'j: 'v>(
        &mut self,
        plan: &Plan<'j>,
        transaction: &Transaction<'_>,
        records: &dyn StraightRecords,
        versions: &mut Versions,
        server: &mut Server,
        done: &mut Vec<Done>,
        reply: &mut Reply,
    ) -> Result<(usize, usize)> {
        let pending = Pending::within(transaction.limits());
        let (mut ops, mut bytes) = (0_usize, 0_usize);
        for step in &plan.steps {
            let start = reply.len();
            let position = plan.position(step, transaction);
            for _ in 0..step.times {
                reply.set_protocol(step.call.protocol);
                let start = reply.len();
                match self.run(step, position, records, versions, server.settings.max_string_bytes, reply) {
                    Ok(()) => {}
                    Err(error @ Error::OutOfVersions) => return Err(error),
                    Err(error) => {
                        reply.truncate(start);
                        server.error(reply, &error);
                    }
                }
            }
            if step.writes {
                ops = ops.saturating_add(step.times.saturating_mul(step.most_ops()));
                bytes = bytes.saturating_add(step.times.saturating_mul(step.most_bytes()));
            }
            done.push(Done { product: Product::Reply(start..reply.len()), messages: Vec::new() });
            if pending.is_exceeded_by(ops, bytes) {
                break;
            }
        }
        Ok((ops, bytes))
    }

    /// Runs a call. `position` is that of its key.
    fn run(
        &mut self,
        step: &Step<'v>,
        position: usize,
        records: &dyn StraightRecords,
        versions: &mut Versions,
        max_string_bytes: usize,
        reply: &mut Reply,
    ) -> Result<()> {
        let args = step.call.args.as_slice();
        let Some(held) = self.held.get_mut(position) else { return Err(StoreError::ReadOnly.into()) };
        match step.straight.on {
            On::String { run, .. } => {
                let value = if let Body::String(value) = held.body { Some(value) } else { None };
                let Some(new) = run(args, value, reply)? else { return Ok(()) };
                if new.bytes(&mut itoa::Buffer::new()).len() > max_string_bytes {
                    return Err(texts::STRING_TOO_LONG);
                }
                (held.body, held.is_touched) = (Body::String(new), true);
            }
            On::Member { kind, run, .. } => {
                let Some(part) = self.parts.get_mut(step.member) else { return Err(StoreError::ReadOnly.into()) };
                let Some(new) = run(args, part.value, reply)? else { return Ok(()) };
                let head = held.head_or_new(kind, records, versions)?;
                if part.value.is_none() {
                    head.count = head.count.saturating_add(1);
                    held.has_other_head = true;
                }
                (part.value, held.is_touched) = (Some(new), true);
            }
            On::End(end) => {
                let head = held.head_or_new(Kind::List, records, versions)?;
                let (index, first) = pushed(head.first, head.count, end)?;
                (head.first, head.count) = (first, head.count.saturating_add(1));
                reply.length(head.count);
                (held.is_touched, held.has_other_head) = (true, true);
                self.elements.push((u32::try_from(position).unwrap_or(u32::MAX), index, last(args)));
            }
        }
        Ok(())
    }

    fn head(&self, position: u32) -> Option<&Head> {
        self.held.get(usize::try_from(position).ok()?).and_then(Held::head)
    }

    /// Puts what has changed.
    #[inline(never)]
    fn put(&self, records: &dyn StraightRecords, transaction: &mut Transaction<'_>, members: &[Member<'_>]) -> Result<()> {
        let Keyspaces { heads, parts, scores } = records.keyspaces();
        for (position, held) in self.held.iter().enumerate().filter(|(_, held)| held.is_touched) {
            transaction.touch_at(position);
            if held.is_as_stored() {
                continue;
            }
            transaction.put_at_lock_key(heads, position, |record| match &held.body {
                Body::Nothing => {}
                Body::String(value) => records.write_string(record, held.expire_at_ms, value.bytes(&mut itoa::Buffer::new())),
                Body::Collection(head) => records.write_collection(record, held.expire_at_ms, *head),
            })?;
        }
        for (part, &(position, name)) in self.parts.iter().zip(members) {
            let (Some(new), Some(&Head { kind, version, .. })) = (part.changed(), self.head(position)) else { continue };
            let prefix = records.prefix(version);
            transaction.put_straight(parts, [&prefix, name], |record| records.write_part(kind, record, new))?;
            if let Value::Score(score) = new {
                let (old, score_at) = (part.stored.and_then(Value::score).map(|old| records.ordered(old)), records.ordered(score));
                // Zeros of either sign are at one place.
                if let Some(old) = old.filter(|old| *old != score_at) {
                    transaction.delete_straight(scores, [&prefix, &old, name])?;
                }
                transaction.put_straight(scores, [&prefix, &score_at, name], |record| records.write_score(record, score))?;
            }
        }
        for &(position, index, element) in &self.elements {
            let Some(&Head { version, .. }) = self.head(position) else { continue };
            let key = [records.prefix(version), records.index(index)];
            transaction.put_straight(parts, [key.as_flattened()], |record| record.extend_from_slice(element))?;
        }
        Ok(())
    }
}
