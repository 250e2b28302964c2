//! Clients that wait: who is parked for which keys, and in which order they are served.
//!
//! A blocking command that finds nothing to take parks its connection: its request stays unconsumed, with what is behind it, until it
//! is answered. A command of the group that makes a list or a sorted set is followed by the calls of those who wait for it, within
//! the same transaction, so that the commands behind see what Redis would show them (`handleClientsBlockedOnKeys` in Redis'
//! `blocked.c`). What an attempt decides holds when its transaction is committed.

use super::Engine;
use super::answers::Answers;
use super::peers::{DbKey, PeerMessage};
use super::plan::Call;
use super::pubsub::Push;
use super::run::{Message, Runner};
use crate::command::Wait;
use crate::error::Result;
use crate::layout::{Catalog, KeyAt, Kind, lock_key};
use crate::resp::reply::Reply;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A call that waits where there is nothing to take, with what is to be known when it is answered.
#[derive(Clone)]
pub struct BlockingCall {
    /// The connection that it came on.
    pub connection: u64,
    /// How many bytes its request has: they are consumed with the answer.
    pub length: usize,
    /// The reply is not wanted (CLIENT REPLY).
    pub silent: bool,
    /// The command.
    pub call: Call,
}

impl BlockingCall {
    /// A copy that does not hold the input that the arguments are slices of.
    fn detached(&self) -> Self {
        let args = self.call.args.iter().map(|arg| Bytes::copy_from_slice(arg)).collect();
        Self { call: Call { args, ..self.call }, ..*self }
    }
}

/// A parked call.
pub struct Waiter {
    /// What it is.
    pub parked: BlockingCall,
    kind: Kind,
    keys: Vec<DbKey>,
    deadline_ms: Option<u64>,
}

impl Waiter {
    /// All keys that the call may read or change when it runs again, in the space of its db.
    fn lock_keys(&self, catalog: &Catalog) -> Vec<Bytes> {
        let Call { command, args, db, .. } = &self.parked.call;
        let Some(&space) = catalog.spaces.get(*db) else { return Vec::new() };
        let keys = command.keys.positions(args).filter_map(|position| args.get(position));
        keys.map(|key| lock_key(space, key)).collect()
    }
}

/// Who waits, by a ticket that says in which order they came.
#[derive(Default)]
pub struct Waiters {
    by_ticket: BTreeMap<u64, Rc<Waiter>>,
    next_ticket: u64,
    by_connection: BTreeMap<u64, u64>,
    by_key: BTreeMap<DbKey, BTreeSet<u64>>,
    /// Keys for which the first has come or the last has gone since other instances were told; `None` where there are none.
    changed: Option<BTreeSet<DbKey>>,
    by_deadline: BTreeSet<(u64, u64)>,
    /// Replies to those who wait no more, until the call to the engine ends.
    answered: Vec<(Rc<Waiter>, Vec<u8>)>,
}

impl Waiters {
    /// None yet. Changes are kept for other instances where there are some.
    pub(super) fn new(keeps_changes: bool) -> Self {
        Self { changed: keeps_changes.then(BTreeSet::new), ..Self::default() }
    }

    /// The keys for which the first has come or the last has gone.
    pub(super) fn take_changed(&mut self) -> BTreeSet<DbKey> {
        self.changed.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The keys that are waited for.
    pub(super) fn keys(&self) -> impl Iterator<Item = &DbKey> {
        self.by_key.keys()
    }

    /// Whether anybody waits for a key.
    pub(super) fn are_for(&self, key: &DbKey) -> bool {
        self.by_key.contains_key(key)
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.by_ticket.len()
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.by_ticket.is_empty()
    }

    /// Whether the connection waits.
    pub fn is_waiting(&self, connection: u64) -> bool {
        self.by_connection.contains_key(&connection)
    }

    /// Whether the connection waits, or did when this call to the engine began: its input is for a later one.
    pub(super) fn holds(&self, connection: u64) -> bool {
        self.is_waiting(connection) || self.answered.iter().any(|(waiter, _)| waiter.parked.connection == connection)
    }

    /// When the first wait ends, in Unix milliseconds.
    pub(super) fn first_deadline_ms(&self) -> Option<u64> {
        self.by_deadline.first().map(|(deadline_ms, _)| *deadline_ms)
    }

    /// The ticket of who comes next.
    pub(super) const fn next_ticket(&self) -> u64 {
        self.next_ticket
    }

    fn park(&mut self, call: &BlockingCall, wait: Wait) {
        let (ticket, db) = (self.next_ticket, call.call.db);
        self.next_ticket += 1;
        let keys: Vec<DbKey> = wait.keys.iter().map(|key| (db, Bytes::copy_from_slice(key))).collect();
        for key in &keys {
            let tickets = self.by_key.entry(key.clone()).or_default();
            if let Some(changed) = self.changed.as_mut().filter(|_| tickets.is_empty()) {
                changed.insert(key.clone());
            }
            tickets.insert(ticket);
        }
        self.by_deadline.extend(wait.deadline_ms.map(|deadline_ms| (deadline_ms, ticket)));
        self.by_connection.insert(call.connection, ticket);
        let waiter = Waiter { parked: call.detached(), kind: wait.kind, keys, deadline_ms: wait.deadline_ms };
        self.by_ticket.insert(ticket, Rc::new(waiter));
    }

    fn remove(&mut self, ticket: u64) -> Option<Rc<Waiter>> {
        let waiter = self.by_ticket.remove(&ticket)?;
        for key in &waiter.keys {
            if let Some(tickets) = self.by_key.get_mut(key) {
                tickets.remove(&ticket);
                if tickets.is_empty() {
                    self.by_key.remove(key);
                    if let Some(changed) = &mut self.changed {
                        changed.insert(key.clone());
                    }
                }
            }
        }
        if let Some(deadline_ms) = waiter.deadline_ms {
            self.by_deadline.remove(&(deadline_ms, ticket));
        }
        self.by_connection.remove(&waiter.parked.connection);
        Some(waiter)
    }

    /// Forgets who was parked with this ticket or a later one: the attempt that did it is not committed.
    pub(super) fn forget_since(&mut self, ticket: u64) {
        let late: Vec<u64> = self.by_ticket.range(ticket..).map(|(ticket, _)| *ticket).collect();
        for ticket in late {
            self.remove(ticket);
        }
    }

    /// Forgets what a connection waits for, without a word.
    pub fn forget(&mut self, connection: u64) {
        if let Some(&ticket) = self.by_connection.get(&connection) {
            self.remove(ticket);
        }
    }

    pub(super) fn answer(&mut self, ticket: u64, reply: Vec<u8>) {
        if let Some(waiter) = self.remove(ticket) {
            self.answered.push((waiter, reply));
        }
    }

    /// Ends a connection's wait with the reply that `write` appends. False where it does not wait.
    pub fn release(&mut self, connection: u64, write: impl FnOnce(&mut Reply)) -> bool {
        let Some(&ticket) = self.by_connection.get(&connection) else { return false };
        let Some(waiter) = self.by_ticket.get(&ticket) else { return false };
        let mut reply = Reply::new(waiter.parked.call.protocol);
        write(&mut reply);
        self.answer(ticket, reply.into_bytes());
        true
    }

    /// Ends the waits whose time is up.
    pub(super) fn time_out(&mut self, now_ms: u64) {
        while let Some(&(deadline_ms, ticket)) = self.by_deadline.first().filter(|(deadline_ms, _)| now_ms > *deadline_ms) {
            self.by_deadline.remove(&(deadline_ms, ticket));
            if let Some(waiter) = self.by_ticket.get(&ticket).cloned() {
                self.release(waiter.parked.connection, Reply::null_array);
            }
        }
    }

    /// Adds, to the lock keys of a group, those of every waiter that they may wake, and of those that these may wake in turn.
    pub(super) fn extend_scope(&self, catalog: &Catalog, lock_keys: &mut Vec<Bytes>) {
        let mut woken = BTreeSet::new();
        let mut position = 0;
        while let Some(at) = lock_keys.get(position).map(KeyAt::from_lock_key) {
            position += 1;
            for ticket in at.map(|at| self.waiting_for(catalog, &at)).unwrap_or_default() {
                if let Some(waiter) = self.by_ticket.get(&ticket).filter(|_| woken.insert(ticket)) {
                    lock_keys.extend(waiter.lock_keys(catalog));
                }
            }
        }
    }

    /// The tickets of those who wait for a key, in their order.
    fn waiting_for(&self, catalog: &Catalog, at: &KeyAt) -> Vec<u64> {
        let db = catalog.db_of(at.space);
        let tickets = db.and_then(|db| self.by_key.get(&(db, at.key.clone())));
        tickets.map(|tickets| tickets.iter().copied().collect()).unwrap_or_default()
    }

    /// All keys that are waited for, in the order in which their first waiters came.
    fn all_keys(&self, catalog: &Catalog) -> Vec<KeyAt> {
        let keys = self.by_ticket.values().flat_map(|waiter| &waiter.keys);
        keys.filter_map(|(db, key)| Some(KeyAt::new(*catalog.spaces.get(*db)?, key.clone()))).collect()
    }
}

impl Engine {
    /// Hands out the replies to those who wait no more.
    pub(super) fn answer_waiters(&mut self, answers: &mut Answers) {
        for (waiter, reply) in std::mem::take(&mut self.waiters.answered) {
            let BlockingCall { connection, length, silent, .. } = waiter.parked;
            if let Some(answer) = answers.of(connection) {
                answer.take(length, &reply, silent);
            }
        }
    }
}

impl Runner<'_, '_> {
    /// Runs a call that waits where there is nothing to take. False: it is parked, and there is no reply yet.
    pub(super) fn call_or_park(&mut self, blocking: &BlockingCall, reply: &mut Reply) -> Result<bool> {
        let Some(wait) = self.call(&blocking.call, reply)? else { return Ok(true) };
        self.waiters.park(blocking, wait);
        self.count_blocked();
        Ok(false)
    }

    /// Tells INFO how many wait.
    pub(super) fn count_blocked(&mut self) {
        self.server.blocked_clients = self.waiters.len().saturating_sub(self.served.len());
    }

    /// Serves those who wait for the keys that have appeared since the last job, or for any key where dbs have been exchanged.
    /// Key by key in the order in which they appeared, those who wait for a key in the order in which they came. Who is served may
    /// make keys appear as well.
    pub(super) fn serve_waiters(&mut self, dbs_are_others: bool) -> Result<()> {
        if dbs_are_others {
            if self.server.peers.may_wait() {
                self.tell_peers(&PeerMessage::DbsExchanged);
            }
            self.appeared = self.waiters.all_keys(self.catalog);
        }
        while !self.appeared.is_empty() {
            for at in std::mem::take(&mut self.appeared) {
                let key = self.catalog.db_of(at.space).map(|db| (db, at.key.clone()));
                if let Some(key) = key.filter(|key| self.server.peers.may_wait_for(key)) {
                    self.tell_peers(&PeerMessage::Appeared(key));
                }
                self.serve_all(&at)?;
            }
        }
        Ok(())
    }

    /// Serves those who wait for keys that another instance has told of.
    pub(super) fn wake(&mut self, keys: &[DbKey]) -> Result<()> {
        for (db, key) in keys {
            if let Some(&space) = self.catalog.spaces.get(*db) {
                self.serve_all(&KeyAt::new(space, key.clone()))?;
            }
        }
        Ok(())
    }

    fn serve_all(&mut self, at: &KeyAt) -> Result<()> {
        let tickets = self.waiters.waiting_for(self.catalog, at);
        tickets.into_iter().try_for_each(|ticket| self.serve(ticket, at))
    }

    /// Tells the other instances something when the job is committed.
    fn tell_peers(&mut self, message: &PeerMessage) {
        let bytes = self.server.peers.encode(message);
        self.messages.push(Message::Pushes(vec![Push::Peers(bytes)]));
    }

    /// Runs a waiter's call again where the key is what it waits for. A mistake that only shows now, as a destination of the wrong type,
    /// is its answer.
    fn serve(&mut self, ticket: u64, at: &KeyAt) -> Result<()> {
        let Some(waiter) = self.waiters.by_ticket.get(&ticket).filter(|_| !self.served.contains_key(&ticket)).cloned() else {
            return Ok(());
        };
        let call = &waiter.parked.call;
        let is_there = match self.db(call.db).0.find(at) {
            Err(error) if error.is_transient() => return Err(error),
            found => found.ok().flatten().is_some_and(|meta| meta.kind() == waiter.kind),
        };
        let mut reply = Reply::new(call.protocol);
        if is_there && self.call(call, &mut reply)?.is_none() {
            self.served.insert(ticket, reply.into_bytes());
            self.count_blocked();
        }
        Ok(())
    }
}
