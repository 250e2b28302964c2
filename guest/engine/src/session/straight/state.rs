//! A group that goes straight while its calls run: what they have been told, and what is to be put of what they have left.

use super::held::{Body, Held};
use super::packed::{Change, Packer};
use super::plan::{ElementAt, Member, Plan, Step};
use super::reads::Parts;
use crate::command::options::integer;
use crate::command::reply_value;
use crate::command::straight::{Expires, Fate, On, last};
use crate::db::Versions;
use crate::error::{Error, Result, texts};
use crate::few::Few;
use crate::layout::lists::{End, pushed};
use crate::layout::ranks::{RankRecords, Tree};
use crate::layout::straight::{self as records, CollectionReader, Head, Keyspaces, Value};
use crate::layout::{Collection, Kind};
use crate::resp::reply::Reply;
use crate::session::Server;
use crate::session::run::{Done, Pending, Product};
use crate::store::{KeyRange, StoreError};
use crate::transaction::Transaction;
use crate::types::lists;
use crate::types::sorted_sets::ranks::counted_from;

/// An element to put: the position of the list's key, the index, and the element.
type Element<'j> = (u32, u64, &'j [u8]);

/// The state of a group while its calls run.
pub struct State<'v> {
    pub held: Few<Held<'v>>,
    pub parts: Parts<'v>,
    /// What calls push.
    pub pushed: Vec<Element<'v>>,
    /// How many elements they have popped so far.
    pub popped: usize,
    /// Where records are.
    pub keyspaces: Keyspaces,
    /// The time by which fields expire.
    pub now_ms: u64,
    /// What times to live count from.
    pub base_ms: u64,
    /// The records of trees that tell ranks.
    pub ranks: Option<&'v dyn RankRecords>,
    /// How many bytes strings have that are put again as they are, with another expiry.
    pub put_again: usize,
    /// What was asked for last of what is shown.
    pub range: KeyRange,
}

impl<'v> State<'v> {
    /// Runs the calls of a group in their order, as far as should be committed at once. Returns how many changes these are, at most, and of how many
    /// bytes, about.
    #[inline(never)]
    #[allow(clippy::too_many_arguments, reason = "what calls look at, and where what comes of them goes")]
    pub fn run_all<'j: 'v>(
        &mut self,
        plan: &Plan<'j>,
        transaction: &mut Transaction<'_>,
        versions: &mut Versions,
        server: &mut Server,
        done: &mut Vec<Done>,
        reply: &mut Reply,
    ) -> Result<(usize, usize)> {
        let pending = Pending::within(transaction.limits());
        let (mut ops, mut bytes) = (0_usize, 0_usize);
        let packing = self.keyspaces.packing;
        let room = packing.room(transaction.limits());
        for step in &plan.steps {
            let start = reply.len();
            let position = plan.position(step, transaction);
            for _ in 0..step.times {
                reply.set_protocol(step.call.protocol);
                let start = reply.len();
                match self.run(step, position, plan, transaction, versions, server.settings.max_string_bytes, reply) {
                    Ok(()) => self.held.get_mut(position).into_iter().for_each(Held::look),
                    Err(error) if error.is_transient() || error == Error::OutOfVersions => return Err(error),
                    Err(error) => {
                        reply.truncate(start);
                        server.error(reply, &error);
                    }
                }
            }
            if let Some(held) = self.held.get_mut(position).filter(|_| step.writes) {
                ops = ops.saturating_add(step.times.saturating_mul(step.most_ops(held)));
                bytes = bytes.saturating_add(step.times.saturating_mul(step.most_bytes(held)));
                if packing.packs() {
                    let (more_ops, more_bytes) = held.note_change(step.most_packed_bytes(), room);
                    (ops, bytes) = (ops.saturating_add(more_ops), bytes.saturating_add(more_bytes));
                }
            }
            done.push(Done { product: Product::Reply(start..reply.len()), messages: Vec::new() });
            if pending.is_exceeded_by(ops, bytes.saturating_add(self.put_again)) {
                break;
            }
        }
        Ok((ops, bytes.saturating_add(self.put_again)))
    }

    /// Runs a call. `position` is that of its key.
    #[allow(clippy::too_many_arguments, reason = "what a call looks at, and where what comes of it goes")]
    fn run(
        &mut self,
        step: &Step<'v>,
        position: usize,
        plan: &Plan<'_>,
        transaction: &mut Transaction<'_>,
        versions: &mut Versions,
        max_string_bytes: usize,
        reply: &mut Reply,
    ) -> Result<()> {
        let args = step.call.args.as_slice();
        let Some(held) = self.held.get_mut(position) else { return Err(StoreError::ReadOnly.into()) };
        match step.straight.on {
            On::String { expiry, act, .. } => {
                let value = if let Body::String(value) = held.body { Some(value) } else { None };
                let new = match act.on(args, value, reply)? {
                    Fate::Stays => return Ok(()),
                    Fate::Becomes(new) => new,
                    Fate::Goes => {
                        held.become_string(None, None);
                        return Ok(());
                    }
                };
                let expire_at_ms = match expiry.of(args).ok_or(texts::SYNTAX)? {
                    Expires::AsBefore => held.expire_at_ms,
                    Expires::Never => None,
                    Expires::After(time, number) => Some(time.positive_at_ms(number, self.base_ms, step.call.command.name)?),
                };
                if new.bytes(&mut itoa::Buffer::new()).len() > max_string_bytes {
                    return Err(texts::STRING_TOO_LONG);
                }
                held.become_string(Some(new), expire_at_ms);
            }
            On::Strings { .. } => return self.run_strings(step, plan, transaction, max_string_bytes, reply),
            On::Member { kind, act, .. } => {
                let Some(part) = self.parts.members.get_mut(step.part) else { return Err(StoreError::ReadOnly.into()) };
                let fate = act.on(args, part.value, reply)?;
                return held.leave(part, fate, kind, versions);
            }
            On::Members { .. } => {
                let numbers = plan.several.get(step.part..).unwrap_or_default();
                return self.run_members(step, position, numbers, versions, reply);
            }
            On::Push(end) => {
                let head = held.head_or_new(Kind::List, versions)?;
                let (mut first, mut count, before) = (head.first, head.count, self.pushed.len());
                let position = u32::try_from(position).unwrap_or(u32::MAX);
                for element in args.iter().skip(2) {
                    let (index, new_first) = pushed(first, count, end).inspect_err(|_| self.pushed.truncate(before))?;
                    (first, count) = (new_first, count.saturating_add(1));
                    self.pushed.push((position, index, element));
                }
                (head.first, head.count) = (first, count);
                reply.length(count);
                (held.is_touched, held.has_other_head) = (true, true);
            }
            On::Pop(end) => {
                let Some(head) = held.head_mut().filter(|head| head.count > 0) else {
                    reply_value(reply, None);
                    return Ok(());
                };
                let Some(element) = self.parts.elements.get(self.popped) else { return Err(StoreError::ReadOnly.into()) };
                reply_value(reply, Some(element));
                head.count -= 1;
                if end == End::Head {
                    head.first = head.first.saturating_add(1);
                }
                self.popped += 1;
                (held.is_touched, held.has_other_head) = (true, true);
            }
            On::Count(_) => reply.length(held.head().map_or(0, |head| head.count)),
            On::Expire(time) => {
                let at_ms = time.at_ms(last(args), self.base_ms, step.call.command.name)?;
                let is_there = held.present().is_some();
                if is_there {
                    self.put_again = self.put_again.saturating_add(held.become_expiring(Some(at_ms)));
                }
                reply.integer(i64::from(is_there));
            }
            On::Persist => {
                let has_expiry = held.present().is_some_and(|present| present.expire_at_ms.is_some());
                if has_expiry {
                    self.put_again = self.put_again.saturating_add(held.become_expiring(None));
                }
                reply.integer(i64::from(has_expiry));
            }
            On::Key(tell) => tell(held.present(), self.base_ms, reply),
            On::Element => {
                let Some(list) = held.head().filter(|list| list.count > 0) else {
                    reply_value(reply, None);
                    return Ok(());
                };
                let is_there = lists::rank(integer(last(args))?, list.count).is_some();
                reply_value(reply, self.parts.elements.get(step.part).copied().filter(|_| is_there));
            }
            On::Rank(direction) => {
                let score = self.parts.members.get(step.part).and_then(|part| part.value?.score());
                let (Some(set), Some(score)) = (held.head(), score) else {
                    reply.null();
                    return Ok(());
                };
                let Some(ranks) = self.ranks else { return Err(StoreError::ReadOnly.into()) };
                let set = Collection { count: set.count, rank_levels: set.rank_levels, ..Collection::empty(set.kind, set.version) };
                let rank = Tree::on(ranks, set).rank(transaction, score, last(args))?;
                reply.length(counted_from(direction, rank, set.count));
            }
            On::Shown { show, .. } => {
                let Self { keyspaces, now_ms, ref mut range, .. } = *self;
                return show(args, held.head(), &mut CollectionReader { transaction, keyspaces, now_ms, range }, reply);
            }
        }
        Ok(())
    }

    /// Runs a call that may name several strings. One that is too long is found before the first is put.
    #[inline(never)]
    fn run_strings(
        &mut self,
        step: &Step<'v>,
        plan: &Plan<'_>,
        transaction: &Transaction<'_>,
        max_string_bytes: usize,
        reply: &mut Reply,
    ) -> Result<()> {
        let On::Strings { act, replies, removes, .. } = step.straight.on else { return Ok(()) };
        if step.writes && !removes && step.straight.parts(&step.call.args).any(|args| last(args).len() > max_string_bytes) {
            return Err(texts::STRING_TOO_LONG);
        }
        replies.start(step.parts, reply);
        let mut changed = 0;
        for (args, position) in step.straight.parts(&step.call.args).zip(plan.positions(step, transaction)) {
            let Some(held) = self.held.get_mut(position) else { return Err(StoreError::ReadOnly.into()) };
            let value = if let Body::String(value) = held.body { Some(value) } else { None };
            let fate = act.on(args, value, reply)?;
            changed += u64::from(fate != Fate::Stays);
            match fate {
                Fate::Stays => {}
                Fate::Becomes(new) => held.become_string(Some(new), None),
                Fate::Goes => held.become_string(None, None),
            }
            held.look();
        }
        replies.finish(changed, reply);
        Ok(())
    }

    /// Runs a call that may name several members, which have these numbers, and more may follow.
    #[inline(never)]
    fn run_members(
        &mut self,
        step: &Step<'v>,
        position: usize,
        numbers: &[usize],
        versions: &mut Versions,
        reply: &mut Reply,
    ) -> Result<()> {
        let Some(held) = self.held.get_mut(position) else { return Err(StoreError::ReadOnly.into()) };
        let On::Members { kind, act, replies, .. } = step.straight.on else { return Ok(()) };
        replies.start(step.parts, reply);
        let mut changed = 0;
        for (args, &number) in step.straight.parts(&step.call.args).zip(numbers) {
            let Some(part) = self.parts.members.get_mut(number) else { return Err(StoreError::ReadOnly.into()) };
            let was_there = part.value.is_some();
            let fate = act.on(args, part.value, reply)?;
            held.leave(part, fate, kind, versions)?;
            changed += u64::from(part.value.is_some() != was_there);
        }
        replies.finish(changed, reply);
        Ok(())
    }

    /// The head of the collection under the key at that position, where it has a record for each member.
    fn head_of_records(&self, position: u32) -> Option<&Head> {
        let held = self.held.get(usize::try_from(position).ok()?)?;
        held.head().filter(|_| !self.keyspaces.packing.packs() || !held.may_be_packed())
    }

    /// What has changed of collections that are packed, or may be. The elements that were pushed have these indexes.
    #[inline(never)]
    fn packed_changes<'c>(&'c self, members: &[Member<'c>], indexes: &'c [[u8; 8]]) -> Few<Change<'c>> {
        let held = |position: u32| usize::try_from(position).ok().and_then(|position| self.held.get(position));
        let is_packed = |position: u32| held(position).is_some_and(|held| held.is_touched && held.may_be_packed());
        let members = self.parts.members.iter().zip(members).filter(|(_, (position, _))| is_packed(*position));
        let members = members.filter_map(|(part, &(position, name))| match part.fate() {
            Fate::Stays => None,
            Fate::Becomes(new) => Some(Change { position, name, new: Some(new) }),
            Fate::Goes => Some(Change { position, name, new: None }),
        });
        let pushed = self.pushed.iter().zip(indexes).filter(|((position, ..), _)| is_packed(*position));
        let pushed = pushed.map(|(&(position, _, element), index)| Change { position, name: index, new: Some(Value::Bytes(element)) });
        members.chain(pushed).collect()
    }

    /// Puts what has changed. Behind all calls: those that show collections look at what the store has.
    #[inline(never)]
    pub fn put(&self, transaction: &mut Transaction<'_>, members: &[Member<'_>], elements: &[ElementAt]) -> Result<()> {
        let Keyspaces { heads, parts, scores, expiries, packing } = self.keyspaces;
        let indexes: Vec<[u8; 8]> =
            if packing.packs() { self.pushed.iter().map(|pushed| records::index(pushed.1)).collect() } else { Vec::new() };
        let mut packer = packing.packs().then(|| Packer::of(self.packed_changes(members, &indexes), self.keyspaces, transaction));
        for (position, held) in self.held.iter().enumerate().filter(|(_, held)| held.is_touched) {
            transaction.touch_at(position);
            let (old, new) = (held.stored_expire_at_ms, held.left_expire_at_ms());
            if old != new {
                if let Some(at_ms) = old {
                    transaction.delete_ending_with_lock_key(expiries, records::expiry_prefix(at_ms), position)?;
                }
                if let Some(at_ms) = new {
                    transaction.put_ending_with_lock_key(expiries, records::expiry_prefix(at_ms), position)?;
                }
            }
            if let Some(packer) = packer.as_mut().filter(|_| held.may_be_packed()) {
                packer.put(transaction, position, held)?;
                continue;
            }
            if held.is_as_stored() {
                continue;
            }
            if held.is_left_with_nothing() {
                transaction.delete_at_lock_key(heads, position)?;
                continue;
            }
            transaction.put_at_lock_key(heads, position, |record| match &held.body {
                Body::Nothing => {}
                Body::String(value) => records::write_string(record, held.expire_at_ms, value.bytes(&mut itoa::Buffer::new())),
                Body::Collection(head) => records::write_collection(record, held.expire_at_ms, *head),
            })?;
        }
        for (part, &(position, name)) in self.parts.members.iter().zip(members) {
            let Some(&Head { kind, version, .. }) = self.head_of_records(position) else { continue };
            let prefix = records::prefix(version);
            let new = match part.fate() {
                Fate::Stays => continue,
                Fate::Becomes(new) => new,
                Fate::Goes => {
                    transaction.delete_straight(parts, [&prefix, name])?;
                    if let Some(score) = part.stored.and_then(Value::score) {
                        transaction.delete_straight(scores, [&prefix, &records::ordered(score), name])?;
                    }
                    continue;
                }
            };
            transaction.put_straight(parts, [&prefix, name], |record| records::write_part(kind, record, new))?;
            if let Value::Score(score) = new {
                let (old, score_at) = (part.stored.and_then(Value::score).map(records::ordered), records::ordered(score));
                // Zeros of either sign are at one place.
                if let Some(old) = old.filter(|old| *old != score_at) {
                    transaction.delete_straight(scores, [&prefix, &old, name])?;
                }
                transaction.put_straight(scores, [&prefix, &score_at, name], |record| records::write_score(record, score))?;
            }
        }
        for &(position, index) in elements.iter().take(self.popped) {
            let Some(&Head { version, .. }) = self.head_of_records(position) else { continue };
            transaction.delete_straight(parts, [&records::prefix(version), &records::index(index)])?;
        }
        for &(position, index, element) in &self.pushed {
            let Some(&Head { version, .. }) = self.head_of_records(position) else { continue };
            let key = [records::prefix(version), records::index(index)];
            transaction.put_straight(parts, [key.as_flattened()], |record| record.extend_from_slice(element))?;
        }
        Ok(())
    }
}
