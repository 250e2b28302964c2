//! Groups that go straight: calls of commands that look at values, and at most [put others in their place or take them away](crate::command::straight).
//! The heads of all keys are read in one call, the fields, members and elements in another, each once; the commands run on what was read and on what those
//! before them have left; and each record that has changed is put or deleted. Nothing else of a transaction is needed: no call is taken back, and names are
//! compared once, when the group is planned. Who shows a collection scans it: nothing in the group changes it, so that what the store has is what is shown.
//!
//! Where it is not as simple, because a key holds something else, or has expired where something is written, unless it was a string that all of them change,
//! or may lose its last member and get another one, or ranks are shown that a tree knows better, or what is shown is changed, or somebody is told of events,
//! or very many names share their places, the group runs as others do (`run.rs`), with the same outcome. All of that is known before the first command has run.

mod held;
mod packed;
mod plan;
mod reads;
mod state;

use super::Engine;
use super::plan::{Call, Job};
use super::run::{Done, room};
use crate::error::Result;
use crate::events::Classes;
use crate::few::Few;
use crate::resp::reply::Reply;
use crate::store::{KeyRange, Scope, StoreError};
use crate::transaction::{Parked, Transaction};
use held::Held;
use plan::Plan;
use reads::{Parts, are_straight, hold, read_heads, read_parts};
use state::State;

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
        let Some(keyspaces) = self.layout.straight() else { return Ok(Attempt::NotStraight(None)) };
        if self.straight_rests > 0 || self.server.wanted_events() != Classes::NONE {
            self.straight_rests = self.straight_rests.saturating_sub(1);
            return Ok(Attempt::NotStraight(None));
        }
        let Some(mut plan) = Plan::of(last, jobs, &self.catalog, &mut self.removal_rests) else { return Ok(Attempt::NotStraight(None)) };
        let may_wait = !self.waiters.is_empty() || self.server.peers.may_wait();
        if plan.may_be_waited_for && may_wait {
            return Ok(Attempt::NotStraight(None));
        }
        let Self { store, layout, environment, catalog_epoch, versions, server, memory, censuses, .. } = self;
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
        let (found, keys) = read_heads(keyspaces.heads, &mut transaction, &plan, &lock_keys)?;
        let mut found_parts = None;
        let rules = layout.expiry_rules();
        let now_ms = rules.clock(now_ms);
        let mut held = hold(&found, keys, &plan, keyspaces.packing.packs(), rules, now_ms)?;
        let are_straight = are_straight(&mut held, keys, &plan, &transaction);
        let members = if are_straight && plan.has_members { plan.find_members(&transaction) } else { Some(Few::new()) };
        let elements = if are_straight && plan.has_elements && members.is_some() {
            plan.find_elements(&transaction, &mut held)
        } else {
            Some(Few::new())
        };
        let parts = match (&members, &elements) {
            (Some(members), Some(elements)) if are_straight && (plan.has_members || plan.has_elements) => {
                read_parts(keyspaces.parts, &mut transaction, members, elements, &held, &mut found_parts)?
            }
            (Some(_), Some(_)) if are_straight => Some(Parts::default()),
            _ => None,
        };
        let (Some(parts), Some(members), Some(elements)) = (parts, members, elements) else {
            // What takes away is looked at anew, as whether it is simple depends on how much there is; so is what is shown, which depends on arguments
            // and on what is changed beside it, and what tells of any key; and what has expired is gone soon.
            if plan.removes_strings {
                self.removal_rests = RESTS;
            }
            let may_be_simpler = plan.has_removals || plan.has_shows || plan.has_any_keys || held.iter().any(Held::has_expired);
            self.straight_rests = if may_be_simpler { 0 } else { RESTS };
            // Those that wait have lock keys that are declared, too, where something is written.
            if plan.writes && may_wait {
                self.memory = Some(transaction.commit_and_recycle()?);
                return Ok(Attempt::NotStraight(None));
            }
            drop(held);
            let keys = if plan.writes { transaction.lock_keys().to_vec() } else { plan.list_of(lock_keys) };
            return Ok(Attempt::NotStraight(Some(transaction.park(keyspaces.heads, keys, found)?)));
        };
        for held in held.iter().filter(|held| held.shows_packed()) {
            held.show_packed(keyspaces.packing, &mut transaction);
        }
        let (base_ms, ranks) = (rules.base_ms(now_ms), layout.rank_records());
        let range = KeyRange::all();
        let mut state = State { held, parts, pushed: Vec::new(), popped: 0, put_again: 0, keyspaces, now_ms, base_ms, ranks, range };
        let (ops, bytes) = state.run_all(&plan, &mut transaction, versions, server, done, reply)?;
        if plan.writes {
            transaction.expect_changes(ops, bytes);
            state.put(&mut transaction, &members, &elements)?;
        }
        self.memory = Some(transaction.commit_and_recycle()?);
        Ok(Attempt::Done)
    }
}
