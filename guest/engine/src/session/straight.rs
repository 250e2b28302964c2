//! Groups that go straight: calls of commands that look at one string each, and at most [put another in its place](crate::command::straight). What is
//! under all keys is read in one call, the commands run on what was read and on what those before them have left, and what has changed is put,
//! record by record. Nothing else of a transaction is needed: nobody scans, no call is taken back, and no key is looked for.
//!
//! Where it is not as simple, because a key holds something else, or has expired, or loses an expiry, or somebody is told of events, the group runs as
//! others do (`run.rs`), with the same outcome. All of that is known before the first command has run.

use super::Engine;
use super::plan::{Call, Job, Work};
use super::run::{Done, Pending, Product};
use crate::arena;
use crate::command::Run;
use crate::command::flags::Flags;
use crate::command::straight::{NewString, Straight};
use crate::error::{Result, texts};
use crate::events::Classes;
use crate::few::Few;
use crate::layout::expiry::ExpiryRules;
use crate::layout::{Catalog, StringForm};
use crate::resp::reply::Reply;
use crate::store::{Limits, Scope, StoreError};
use crate::transaction::{Memory, Transaction};
use bytes::{BufMut, Bytes};

/// So many groups are not tried behind one that could not go straight: the next ones most likely cannot either.
const RESTS: u32 = 32;
/// What a record has beside its value, and a lock key beside its key, at most.
const MOST_AROUND: usize = 32;

/// The calls of a group, and their keys.
struct Plan<'j> {
    steps: Few<Step<'j>>,
    /// How many keys they name, and how many bytes their lock keys have: one that is named again right behind counts once.
    keys: usize,
    key_bytes: usize,
    writes: bool,
    ends_expiries: bool,
    /// The most bytes that the arguments of a call have.
    longest: usize,
}

/// The calls of a job.
struct Step<'j> {
    call: &'j Call,
    straight: Straight,
    times: usize,
    space: u32,
    name: &'j Bytes,
    /// Which of the keys that is.
    key: usize,
}

impl<'j> Plan<'j> {
    /// The plan of jobs, which come behind the call `last`; `None` where one of them is no call that goes straight.
    fn of(last: Option<&'j Call>, jobs: &'j [Job], catalog: &Catalog) -> Option<Self> {
        let mut plan = Self { steps: Few::new(), keys: 0, key_bytes: 0, writes: false, ends_expiries: false, longest: 0 };
        let mut last = last;
        for job in jobs {
            let (call, times) = match &job.work {
                Work::Call(call) => (call, 1),
                Work::Again(times) => (last?, *times),
                _ => return None,
            };
            last = Some(call);
            let Run::DataStraight(_, straight) = call.command.run else { return None };
            let name = call.args.get(1).filter(|_| call.args.len() == straight.args)?;
            let space = *catalog.spaces.get(call.db)?;
            if plan.steps.is_empty() {
                plan.steps.reserve_exact(jobs.len());
            }
            plan.writes |= call.command.flags.has(Flags::WRITE);
            plan.ends_expiries |= straight.ends_expiry;
            plan.longest = plan.longest.max(call.args.iter().skip(1).map(Bytes::len).sum());
            if plan.steps.last().is_none_or(|before| before.space != space || before.name != name) {
                plan.keys += 1;
                plan.key_bytes += size_of::<u32>() + name.len();
            }
            plan.steps.push(Step { call, straight, times, space, name, key: plan.keys - 1 });
        }
        Some(plan)
    }

    /// The lock keys of all calls.
    fn lock_keys(&self) -> LockKeys {
        let mut ends = Few::with_capacity(self.keys);
        let bytes = arena::bytes(self.key_bytes, |bytes| {
            let start = bytes.len();
            for step in &self.steps {
                if step.key == ends.len() {
                    bytes.put_u32(step.space);
                    bytes.extend_from_slice(step.name);
                    ends.push(bytes.len() - start);
                }
            }
        });
        LockKeys { bytes, ends }
    }

    /// Whether a store surely takes each record that these calls put.
    fn fits(&self, limits: &Limits) -> bool {
        let most = u64::try_from(self.longest + MOST_AROUND).unwrap_or(u64::MAX);
        most <= limits.max_key_bytes && most <= limits.max_value_bytes
    }
}

/// Lock keys, one behind the other.
struct LockKeys {
    bytes: Bytes,
    ends: Few<usize>,
}

impl LockKeys {
    fn each(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| self.bytes.get(std::mem::replace(&mut start, end)..end).unwrap_or_default())
    }

    /// All of them, to be declared.
    fn into_list(self) -> Vec<Bytes> {
        if self.ends.len() == 1 {
            return vec![self.bytes];
        }
        let mut start = 0;
        self.ends.iter().map(|&end| self.bytes.slice(std::mem::replace(&mut start, end)..end)).collect()
    }
}

/// A string, as the commands so far have left it.
struct Held<'v> {
    /// Its expiry and its value as the store has them.
    stored: Option<(Option<u64>, &'v [u8])>,
    expire_at_ms: Option<u64>,
    value: Option<NewString<'v>>,
    is_put: bool,
}

impl<'v> Held<'v> {
    /// What a record holds for calls; `None` where they cannot go straight.
    fn of(record: Option<&'v [u8]>, form: StringForm, plan: &Plan<'_>, rules: ExpiryRules, now_ms: u64) -> Option<Self> {
        let Some(record) = record else { return Some(Self { stored: None, expire_at_ms: None, value: None, is_put: false }) };
        let (expire_at_ms, value) = (form.read)(record)?;
        let is_gone = expire_at_ms.is_some_and(|at_ms| rules.is_past(at_ms, now_ms));
        if expire_at_ms.is_some() && plan.ends_expiries || is_gone && plan.writes {
            return None;
        }
        let value = (!is_gone).then_some(NewString::Lent(value));
        Some(Self { stored: (form.read)(record), expire_at_ms, value, is_put: false })
    }

    fn is_as_stored(&self, value: &[u8]) -> bool {
        self.stored == Some((self.expire_at_ms, value))
    }
}

impl Engine {
    /// Runs jobs, which come behind the call `last`, in one transaction and commits it, as [`Engine::attempt`] does. False, and nothing done, where
    /// they cannot go straight.
    pub(super) fn attempt_straight<'j>(
        &mut self,
        last: Option<&'j Call>,
        jobs: &'j [Job],
        now_ms: u64,
        done: &mut Vec<Done>,
        reply: &mut Reply,
    ) -> Result<bool> {
        let Some(form) = self.layout.strings().filter(|_| self.server.wanted_events() == Classes::NONE) else { return Ok(false) };
        if self.straight_rests > 0 {
            self.straight_rests -= 1;
            return Ok(false);
        }
        if self.catalog_epoch.is_none() {
            self.load_catalog()?;
        }
        let Some(plan) = Plan::of(last, jobs, &self.catalog) else { return Ok(false) };
        let Self { store, layout, environment, catalog_epoch, server, memory, censuses, .. } = self;
        // When the first group ran, to the microsecond, is nothing that clients know.
        let room = memory.take().unwrap_or_else(|| Box::new(Memory::seeded(environment.now_us())));
        let lock_keys = plan.lock_keys();
        let (scope, read_keys) = if plan.writes { (Scope::Keys(lock_keys.into_list()), None) } else { (Scope::Read, Some(lock_keys)) };
        let mut transaction = Transaction::begin_with(store.as_mut(), scope, room)?;
        transaction.use_censuses(censuses);
        if *catalog_epoch != Some(transaction.epoch()) {
            // Somebody has changed what the lock keys were made from.
            drop(transaction);
            self.load_catalog()?;
            return Err(StoreError::Conflict.into());
        }
        let (found, keys) = match &read_keys {
            Some(keys) => (transaction.read_straight(form.keyspace, keys.each())?, plan.keys),
            None => (transaction.read_at_lock_keys(form.keyspace)?, transaction.lock_keys()),
        };
        let (rules, limits) = (layout.expiry_rules(), *transaction.limits());
        let now_ms = rules.clock(now_ms);
        let mut held = Few::with_capacity(keys);
        for record in found.each(keys)? {
            held.extend(Held::of(record, form, &plan, rules, now_ms));
        }
        if held.len() < keys || plan.writes && !plan.fits(&limits) {
            self.memory = Some(transaction.commit_and_recycle()?);
            self.straight_rests = RESTS;
            return Ok(false);
        }
        let pending = Pending::within(&limits);
        let (mut puts, mut bytes) = (0, 0);
        for step in &plan.steps {
            let start = reply.len();
            let position = if plan.writes { transaction.position_of_given(step.key) } else { step.key };
            let Some(held) = held.get_mut(position) else { return Err(StoreError::ReadOnly.into()) };
            for _ in 0..step.times {
                reply.set_protocol(step.call.protocol);
                let (start, mut room) = (reply.len(), itoa::Buffer::new());
                let value = held.value.as_ref().map(|value| value.bytes(&mut room));
                match (step.straight.run)(&step.call.args, value, reply) {
                    Ok(None) => {}
                    Ok(Some(NewString::Lent(new))) if new.len() > server.settings.max_string_bytes => {
                        reply.truncate(start);
                        server.error(reply, &texts::STRING_TOO_LONG);
                    }
                    Ok(Some(new)) => {
                        (held.value, held.is_put) = (Some(new), true);
                        if step.straight.ends_expiry {
                            held.expire_at_ms = None;
                        }
                        (puts, bytes) = (puts + 1, bytes + plan.longest);
                    }
                    Err(error) => {
                        reply.truncate(start);
                        server.error(reply, &error);
                    }
                }
            }
            done.push(Done { product: Product::Reply(start..reply.len()), messages: Vec::new() });
            if pending.is_exceeded_by(puts, bytes) {
                break;
            }
        }
        for (position, held) in held.iter().enumerate().filter(|(_, held)| held.is_put) {
            let mut room = itoa::Buffer::new();
            let value = held.value.as_ref().map(|value| value.bytes(&mut room)).unwrap_or_default();
            let is_as_stored = held.is_as_stored(value);
            let write = (!is_as_stored).then_some(|bytes: &mut Vec<u8>| (form.write)(bytes, held.expire_at_ms, value));
            transaction.put_straight(form.keyspace, position, write)?;
        }
        self.memory = Some(transaction.commit_and_recycle()?);
        Ok(true)
    }
}
