//! Groups that go straight: calls of commands that look at one value each, and at most [put another in its place](crate::command::straight). The heads of
//! all keys are read in one call, the fields and members in another, each once; the commands run on what was read and on what those before them have
//! left; and each record that has changed is put. Nothing else of a transaction is needed: nobody scans, no call is taken back, and names are compared
//! once, when the group is planned.
//!
//! Where it is not as simple, because a key holds something else, or has expired, or loses an expiry, or somebody is told of events, the group runs as
//! others do (`run.rs`), with the same outcome. All of that is known before the first command has run.

mod held;
mod plan;

use super::Engine;
use super::plan::{Call, Job};
use super::run::{Done, Pending, Product, room};
use crate::arena;
use crate::command::straight::{On, last};
use crate::db::Versions;
use crate::error::{Error, Result, texts};
use crate::events::Classes;
use crate::few::Few;
use crate::layout::Kind;
use crate::layout::lists::pushed;
use crate::layout::straight::{Head, StraightRecords, Value};
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
type Element<'j> = (usize, u64, &'j [u8]);

/// The state of a group while its calls run.
struct State<'v> {
    held: Few<Held<'v>>,
    parts: Few<Part<'v>>,
    elements: Vec<Element<'v>>,
}

impl Engine {
    /// Runs jobs, which come behind the call `last`, in one transaction and commits it, as [`Engine::attempt`] does, if they can go straight.
    /// The catalog is there.
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
        let seed = self.memory.as_ref().map_or(0, |memory| memory.seed());
        let Some(mut plan) = Plan::of(last, jobs, &self.catalog, seed) else { return Ok(Attempt::NotStraight(None)) };
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
        let (found, keys) = if plan.writes {
            (transaction.read_at_lock_keys(records.heads())?, transaction.lock_keys().len())
        } else {
            let keys: Few<(Keyspace, &[u8])> = plan.each_of(&lock_keys).map(|key| (records.heads(), key)).collect();
            (transaction.read_straight(&keys)?, keys.len())
        };
        let rules = layout.expiry_rules();
        let now_ms = rules.clock(now_ms);
        let mut found_parts = None;
        let mut held: Few<Held<'_>> = Few::with_capacity(keys);
        for record in found.each(keys)? {
            held.extend(Held::of(record, records, &plan, rules, now_ms));
        }
        let limits = *transaction.limits();
        let is_straight = held.len() == keys
            && (!plan.writes || plan.fits(&limits))
            && plan.steps.iter().all(|step| {
                let held = held.get_mut(plan.position(step, &transaction));
                held.is_some_and(|held| held.takes(step, &plan))
            });
        let members = if is_straight && plan.has_members { plan.find_members(&transaction) } else { Few::new() };
        let parts = match is_straight {
            true if plan.has_members => read_parts(records, &mut transaction, &members, &held, &mut found_parts)?,
            true => Some(Few::new()),
            false => None,
        };
        let Some(parts) = parts else {
            self.straight_rests = RESTS;
            // Those that wait have lock keys that are declared, too, where something is written.
            if plan.writes && may_wait {
                self.memory = Some(transaction.commit_and_recycle()?);
                return Ok(Attempt::NotStraight(None));
            }
            drop((held, parts));
            let keys = if plan.writes { transaction.lock_keys().to_vec() } else { plan.list_of(lock_keys) };
            return Ok(Attempt::NotStraight(Some(transaction.park(records.heads(), keys, found)?)));
        };
        let mut state = State { held, parts, elements: Vec::new() };
        let pending = Pending::within(&limits);
        let (mut ops, mut bytes) = (0_usize, 0_usize);
        for step in &plan.steps {
            let start = reply.len();
            let position = plan.position(step, &transaction);
            for _ in 0..step.times {
                reply.set_protocol(step.call.protocol);
                let start = reply.len();
                match state.run(step, position, records, versions, server.settings.max_string_bytes, reply) {
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
        if plan.writes {
            transaction.expect_changes(ops, bytes);
            state.put(records, &mut transaction, &members)?;
        }
        self.memory = Some(transaction.commit_and_recycle()?);
        Ok(Attempt::Done)
    }
}

/// Reads the members that the calls of a group name; `None` where they cannot go straight. `found` is where their records are kept.
fn read_parts<'v>(
    records: &dyn StraightRecords,
    transaction: &mut Transaction<'_>,
    members: &[Member<'_>],
    held: &[Held<'_>],
    found: &'v mut Option<Found>,
) -> Result<Option<Few<Part<'v>>>> {
    let head = |position: usize| held.get(position).and_then(Held::head);
    let stored = || members.iter().filter_map(|&(position, name)| head(position).map(|head| (records.prefix(head.version), name)));
    let length = stored().map(|(prefix, name)| prefix.len() + name.len()).sum();
    let bytes = arena::bytes(length, |bytes| {
        for (prefix, name) in stored() {
            bytes.extend_from_slice(&prefix);
            bytes.extend_from_slice(name);
        }
    });
    let mut rest = bytes.as_ref();
    let mut keys: Few<(Keyspace, &[u8])> = Few::with_capacity(members.len());
    keys.extend(stored().filter_map(|(prefix, name)| Some((records.parts(), rest.split_off(..prefix.len() + name.len())?))));
    if keys.is_empty() {
        return Ok(Some(members.iter().map(|_| Part::default()).collect()));
    }
    let found = found.insert(transaction.read_straight(&keys)?);
    let mut read = found.each(keys.len())?;
    let mut parts = Few::with_capacity(members.len());
    for &(position, _) in members {
        let Some(head) = head(position) else {
            parts.push(Part::default());
            continue;
        };
        let record = read.next().flatten();
        let value = record.and_then(|record| records.read_part(head.kind, record));
        if record.is_some() && value.is_none() {
            return Ok(None);
        }
        parts.push(Part::of(value));
    }
    Ok(Some(parts))
}

impl<'v> State<'v> {
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
                self.elements.push((position, index, last(args)));
            }
        }
        Ok(())
    }

    fn head(&self, position: usize) -> Option<&Head> {
        self.held.get(position).and_then(Held::head)
    }

    /// Puts what has changed.
    fn put(&self, records: &dyn StraightRecords, transaction: &mut Transaction<'_>, members: &[Member<'_>]) -> Result<()> {
        for (position, held) in self.held.iter().enumerate().filter(|(_, held)| held.is_touched) {
            transaction.touch_at(position);
            if held.is_as_stored() {
                continue;
            }
            transaction.put_at_lock_key(records.heads(), position, |record| match &held.body {
                Body::Nothing => {}
                Body::String(value) => records.write_string(record, held.expire_at_ms, value.bytes(&mut itoa::Buffer::new())),
                Body::Collection(head) => records.write_collection(record, held.expire_at_ms, *head),
            })?;
        }
        for (part, &(position, name)) in self.parts.iter().zip(members) {
            let (Some(new), Some(&Head { kind, version, .. })) = (part.changed(), self.head(position)) else { continue };
            let prefix = records.prefix(version);
            transaction.put_straight(records.parts(), [&prefix, name], |record| records.write_part(kind, record, new))?;
            if let Value::Score(score) = new {
                let (old, score_at) = (part.stored.and_then(Value::score).map(|old| records.ordered(old)), records.ordered(score));
                // Zeros of either sign are at one place.
                if let Some(old) = old.filter(|old| *old != score_at) {
                    transaction.delete_straight(records.scores(), [&prefix, &old, name])?;
                }
                transaction.put_straight(records.scores(), [&prefix, &score_at, name], |record| records.write_score(record, score))?;
            }
        }
        for &(position, index, element) in &self.elements {
            let Some(&Head { version, .. }) = self.head(position) else { continue };
            let key = [records.prefix(version), records.index(index)];
            transaction.put_straight(records.parts(), [key.as_flattened()], |record| record.extend_from_slice(element))?;
        }
        Ok(())
    }
}
