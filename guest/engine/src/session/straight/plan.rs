//! What a group that may go straight consists of: its calls, their keys, the members that they name, and the elements that they pop or show.

use super::held::Held;
use crate::arena;
use crate::command::straight::{NewExpiry, On, Straight, arg, last};
use crate::command::{Command, Run, Ways};
use crate::distinct::{Distinct, are_same};
use crate::few::Few;
use crate::layout::ranks::MEMBERS_BEFORE_A_TREE;
use crate::layout::{Catalog, Kind};
use crate::session::plan::{Call, Job};
use crate::session::rows::{begin_a_row, call_of};
use crate::store::Limits;
use crate::transaction::Transaction;
use bytes::{BufMut, Bytes};
use smallvec::SmallVec;
use std::ops::Range;

/// What a record and its place in a batch have beside the arguments of a call, at most: the header of an operation, prefixes, the front of a head, or the
/// text of a number.
pub const MOST_AROUND: usize = 64;

/// What a packed record has beside the arguments of a call, at most: lengths, and an index, a score, or the text of a number.
const MOST_AROUND_PACKED: usize = 24;

/// Longer names do not go straight: to be told apart, some are [compared with many others](Distinct).
const MOST_NAME_BYTES: usize = 1024;

/// So many members, elements and keys a group names at most that goes straight.
const MOST_PARTS: usize = 4096;

/// The calls of a group, and their keys.
pub struct Plan<'j> {
    pub steps: Few<Step<'j>>,
    /// The keys that they name, each once where they only read: the space, and the name.
    keys: Few<Key<'j>>,
    /// How many members, elements or keys the steps name, each at least one.
    parts: usize,
    /// The numbers of the members of those steps that may name several, and of the keys where these are each [once](Plan::tell_keys_apart).
    pub several: Vec<usize>,
    pub writes: bool,
    /// They may make lists or sorted sets, which others may wait for.
    pub may_be_waited_for: bool,
    /// Some of them name fields or members.
    pub has_members: bool,
    /// Some of them take elements from lists, or show one.
    pub has_elements: bool,
    /// Some of them take strings, members or elements away.
    pub has_removals: bool,
    /// Some of them take strings away.
    pub removes_strings: bool,
    /// Some of them [show](Straight::shows) what the store has.
    pub has_shows: bool,
    /// Some of them show an element of a list.
    shows_elements: bool,
    /// Some of them tell of keys, whatever is under these.
    pub has_any_keys: bool,
    /// The most bytes that the key and the arguments of a member or an element have.
    pub longest: usize,
}

/// The calls of a job.
pub struct Step<'j> {
    pub call: &'j Call,
    pub straight: &'static Straight,
    pub times: usize,
    pub writes: bool,
    /// Which of the keys it names, or the first of [several](Plan::positions).
    pub key: usize,
    /// How many records each of its calls changes, at most, but for those of expiries.
    records: usize,
    /// How many bytes these have of its arguments, at most.
    bytes: usize,
    /// How many members, elements or keys each of its calls names.
    pub parts: usize,
    /// The number of the member that it names, or of the element that it shows, once these are known; any for a call that does neither. Where it may name
    /// several members, where their numbers begin among [those](Plan::several), or several keys in a group that only reads.
    pub part: usize,
}

/// What calls of a command with so many arguments do.
#[derive(Clone, Copy)]
struct Doing {
    command: &'static Command,
    straight: &'static Straight,
    args: usize,
    writes: bool,
    may_name_several: bool,
    /// How many members, elements or keys each of them names.
    parts: usize,
    /// How many records it changes, at most, but for those of expiries.
    records: usize,
    /// In how many of these its arguments are, at most.
    copies: usize,
}

/// A key: its space, and its name.
type Key<'j> = (u32, &'j [u8]);

impl<'j> Step<'j> {
    /// How many changes each of its calls makes to what is held, at most.
    pub fn most_ops(&self, held: &Held<'_>) -> usize {
        self.records + self.most_expiry_ops(held)
    }

    /// How many of these are of the record of its expiry.
    fn most_expiry_ops(&self, held: &Held<'_>) -> usize {
        let (gets, loses) = match self.straight.on {
            On::String { expiry: NewExpiry::Told(_), .. } | On::Expire(_) => (true, true),
            On::String { expiry: NewExpiry::Never, .. } | On::Persist => (false, true),
            _ => (false, self.straight.removes()),
        };
        // What has expired loses it to whatever is put in its place.
        let had_one = held.stored_expire_at_ms.is_some();
        usize::from(gets) + usize::from(had_one && (loses || held.expire_at_ms.is_none()))
    }

    /// How many bytes these have, about: the key is in that of each expiry.
    pub fn most_bytes(&self, held: &Held<'_>) -> usize {
        let expiries = arg(&self.call.args, 1).len() * self.most_expiry_ops(held);
        self.bytes.saturating_add(expiries).saturating_add(MOST_AROUND * self.most_ops(held))
    }

    /// How many bytes all its calls add to a packed collection, at most.
    pub fn most_packed_bytes(&self) -> usize {
        let args: usize = self.call.args.iter().skip(2).map(Bytes::len).sum();
        args.saturating_add(MOST_AROUND_PACKED * self.parts).saturating_mul(self.times)
    }

    /// How many keys its calls may name that name several; 0 for all others.
    #[inline]
    fn several_keys(&self) -> usize {
        if let On::Strings { .. } = self.straight.on { self.parts } else { 0 }
    }

    /// The field or the member that it names, where it is one.
    pub fn name(&self) -> Option<&'j [u8]> {
        self.straight.name().map(|name| arg(&self.call.args, name).as_ref())
    }
}

impl<'j> Plan<'j> {
    /// The plan of jobs, which come behind the call `last`; `None` where one of them is no call that goes straight, where they are run in a row,
    /// where they name too many members, elements or keys, or some that are not told apart soon, and where they remove strings while that rests for so many
    /// groups.
    #[inline(never)]
    pub fn of(last: Option<&'j Call>, jobs: &'j [Job], catalog: &Catalog, removal_rests: &mut u32) -> Option<Self> {
        let mut plan = Self {
            steps: Few::new(),
            keys: Few::new(),
            parts: 0,
            several: Vec::new(),
            writes: false,
            may_be_waited_for: false,
            has_members: false,
            has_elements: false,
            has_removals: false,
            removes_strings: false,
            has_shows: false,
            shows_elements: false,
            has_any_keys: false,
            longest: 0,
        };
        // They would write the head of their key once, too; but a row may be long.
        if begin_a_row(last, jobs) {
            return None;
        }
        let (mut last, mut doing): (_, Option<Doing>) = (last, None);
        for job in jobs {
            let (call, times) = (call_of(job, last)?, job.times());
            // Most calls of a group are of one command.
            let Doing { straight, may_name_several, writes, parts, records, copies, .. } = match doing {
                Some(doing) if std::ptr::eq(doing.command, call.command) && doing.args == call.args.len() => doing,
                _ => *doing.insert(plan.take_command(call, removal_rests)?),
            };
            plan.parts += parts;
            if plan.parts > MOST_PARTS {
                return None;
            }
            let name = call.args.get(1).filter(|_| straight.is_meant_by(&call.args))?;
            let key: Key<'_> = (*catalog.spaces.get(call.db)?, name);
            let member = straight.name().map_or(0, |name| arg(&call.args, name).len());
            if name.len().max(member) > MOST_NAME_BYTES {
                return None;
            }
            let bytes: usize = call.args.iter().skip(1).map(Bytes::len).sum();
            let mut longest = bytes;
            if may_name_several {
                if straight.names(&call.args).any(|name| name.len() > MOST_NAME_BYTES) {
                    return None;
                }
                longest = name.len() + straight.longest_part(&call.args);
            }
            if plan.steps.is_empty() {
                plan.steps.reserve_exact(jobs.len());
                plan.keys.reserve_exact(jobs.len());
            }
            last = Some(call);
            plan.longest = plan.longest.max(longest);
            let is_last = plan.keys.last().is_some_and(|last| last.0 == key.0 && are_same(last.1, key.1));
            let mut first = plan.keys.len() - usize::from(is_last);
            if let On::Strings { .. } = straight.on {
                first = plan.keys.len();
                plan.keys.extend(straight.names(&call.args).map(|name| (key.0, name.as_ref())));
            } else if !is_last {
                plan.keys.push(key);
            }
            plan.steps.push(Step {
                call,
                straight,
                times,
                writes,
                key: first,
                records,
                bytes: bytes.saturating_mul(copies),
                parts,
                part: 0,
            });
        }
        if !plan.writes && plan.keys.len() > 1 {
            // The keys of those that write are sorted anyhow, see `position`.
            plan.tell_keys_apart()?;
        }
        Some(plan)
    }

    /// Notes what calls of a command do; `None` where that does not go straight.
    #[inline(never)]
    fn take_command(&mut self, call: &Call, removal_rests: &mut u32) -> Option<Doing> {
        let Run::Data(_, Ways { straight, .. }) = &call.command.run else { return None };
        let straight = straight.iter().flatten().find(|straight| straight.takes(call.args.len()))?;
        // The arguments decide that of commands only that do not go straight.
        let (kind, writes) = (straight.kind(), call.command.writes(&call.args));
        self.writes |= writes;
        self.may_be_waited_for |= writes && !straight.removes() && matches!(kind, Some(Kind::List | Kind::SortedSet));
        self.has_members |= straight.name().is_some() || matches!(straight.on, On::Members { .. });
        self.has_elements |= matches!(straight.on, On::Pop(_) | On::Element);
        self.has_removals |= straight.removes();
        if straight.removes() && kind == Some(Kind::String) {
            self.removes_strings = true;
            if *removal_rests > 0 {
                *removal_rests -= 1;
                return None;
            }
        }
        self.has_shows |= straight.shows();
        self.shows_elements |= matches!(straight.on, On::Element);
        self.has_any_keys |= kind.is_none();
        let (args, parts) = (call.args.len(), straight.count(&call.args));
        if writes && makes_a_tree(straight, parts) {
            return None;
        }
        let (may_name_several, records, copies) = (straight.may_name_several(), most_records(straight, parts), copies(straight));
        let doing = Doing { command: call.command, straight, args, writes, may_name_several, parts, records, copies };
        // What is popped and what is shown would be found together: by order, and by number.
        (!self.writes || !self.shows_elements).then_some(doing)
    }

    /// Has each key once; `None` where they are not told apart soon.
    #[inline(never)]
    fn tell_keys_apart(&mut self) -> Option<()> {
        let given = std::mem::take(&mut self.keys);
        let mut distinct = Distinct::with_capacity(given.len());
        let mut position_of = |key: usize| {
            let (space, name) = given.get(key).copied().unwrap_or_default();
            distinct.position_of(space, name)
        };
        for step in &mut self.steps {
            let keys = step.key..step.key + step.several_keys();
            if !keys.is_empty() {
                step.part = self.several.len();
                self.several.extend(keys.map(&mut position_of));
            }
            step.key = position_of(step.key);
        }
        self.keys = distinct.into_list()?;
        Some(())
    }

    /// The lock keys of all calls, one behind the other.
    pub fn lock_keys(&self) -> Bytes {
        let length = self.places().last().map_or(0, |place| place.end);
        arena::bytes(length, |bytes| {
            for (space, name) in &self.keys {
                bytes.put_u32(*space);
                bytes.extend_from_slice(name);
            }
        })
    }

    /// All of them, to be declared.
    pub fn list_of(&self, lock_keys: Bytes) -> Vec<Bytes> {
        if self.keys.len() == 1 {
            return vec![lock_keys];
        }
        self.places().map(|place| lock_keys.slice(place)).collect()
    }

    /// Where each of them is.
    fn places(&self) -> impl ExactSizeIterator<Item = Range<usize>> {
        let mut start = 0;
        self.keys.iter().map(move |(_, name)| {
            let end = start + size_of::<u32>() + name.len();
            std::mem::replace(&mut start, end)..end
        })
    }

    /// Where the name of each of them ends, among the lock keys.
    pub fn ends(&self) -> Ends {
        ends(self.places().map(|place| place.len()))
    }

    /// Whether a store surely takes each record that these calls put, as far as their arguments tell: what gets an expiry was taken without one.
    pub fn fits(&self, limits: &Limits) -> bool {
        let most = u64::try_from(self.longest + MOST_AROUND).unwrap_or(u64::MAX);
        most <= limits.max_key_bytes && most <= limits.max_value_bytes
    }

    /// Where among the keys of the transaction that of a call is.
    #[inline]
    pub fn position(&self, step: &Step<'_>, transaction: &Transaction<'_>) -> usize {
        position(self.writes, step.key, transaction)
    }

    /// Where the keys of a call are that may name several.
    #[inline]
    pub fn positions(&self, step: &Step<'_>, transaction: &Transaction<'_>) -> impl Iterator<Item = usize> {
        (0..step.several_keys()).map(move |number| match self.keys.len() {
            _ if self.writes => transaction.position_of_given(step.key + number),
            1 => step.key,
            _ => self.several.get(step.part + number).copied().unwrap_or(usize::MAX),
        })
    }
}

/// How many records a call changes, at most, that names so many members, elements or keys, but for those of expiries.
fn most_records(straight: &Straight, parts: usize) -> usize {
    match (straight.on, straight.kind()) {
        // Each may lose an expiry.
        (On::Strings { .. }, _) => 2 * parts,
        (_, None | Some(Kind::String)) => 1,
        (_, Some(Kind::Hash | Kind::List | Kind::Set)) => 1 + parts,
        // A member that is there has another place by its score, one that is new has the head changed.
        (_, Some(Kind::SortedSet)) => 3 * parts,
    }
}

/// In how many records the arguments of a call are, at most.
fn copies(straight: &Straight) -> usize {
    match (straight.on, straight.kind()) {
        (On::Strings { .. }, _) => 2,
        (_, Some(Kind::SortedSet)) => 3,
        _ => 1,
    }
}

/// Whether a sorted set has a tree of ranks that a call adds so many members to, unless it names some of them twice.
fn makes_a_tree(straight: &Straight, parts: usize) -> bool {
    straight.kind() == Some(Kind::SortedSet) && !straight.removes() && u64::try_from(parts).is_ok_and(|parts| parts > MEMBERS_BEFORE_A_TREE)
}

/// Where keys end that lie one behind the other. Most groups have no more than these.
type Ends = SmallVec<[u32; 32]>;

/// Where each of these keys ends, of these lengths: they are those of a group, [some thousands](MOST_PARTS) at most, of [names that are not long](MOST_NAME_BYTES), so
/// that no end is above 4 GiB.
pub fn ends(lengths: impl Iterator<Item = usize>) -> Ends {
    let mut end = 0_u32;
    let ends = lengths.map(|length| {
        end = end.saturating_add(u32::try_from(length).unwrap_or(u32::MAX));
        end
    });
    ends.collect()
}

fn position(writes: bool, key: usize, transaction: &Transaction<'_>) -> usize {
    if writes { transaction.position_of_given(key) } else { key }
}

/// A field or a member that calls of a group name: the position of the key, and the name.
pub type Member<'j> = (u32, &'j [u8]);
/// An element that calls of a group pop or show: the position of the key, and the index.
pub type ElementAt = (u32, u64);

impl<'j> Plan<'j> {
    /// The members that the calls name, each once; tells the calls their numbers. `None` where they are not told apart soon.
    #[inline(never)]
    pub fn find_members(&mut self, transaction: &Transaction<'_>) -> Option<Few<Member<'j>>> {
        let mut members = Distinct::with_capacity(self.parts);
        for step in &mut self.steps {
            let position = u32::try_from(position(self.writes, step.key, transaction)).unwrap_or(u32::MAX);
            if let Some(name) = step.name() {
                step.part = members.position_of(position, name);
            } else if let On::Members { .. } = step.straight.on {
                step.part = self.several.len();
                self.several.extend(step.straight.names(&step.call.args).map(|name| members.position_of(position, name)));
            }
        }
        members.into_list()
    }

    /// The elements that the calls pop, in their order, or show, each once; tells those that show one its number. Calls that pop write, so no group does both.
    /// `None` where they are not told apart soon.
    #[inline(never)]
    pub fn find_elements(&mut self, transaction: &Transaction<'_>, held: &mut [Held<'_>]) -> Option<Few<ElementAt>> {
        let mut elements = Few::new();
        let showing = self.steps.iter().filter(|step| matches!(step.straight.on, On::Element)).count();
        let mut shown = Distinct::with_capacity(showing);
        for step in &mut self.steps {
            let position = position(self.writes, step.key, transaction);
            let Some(list) = held.get_mut(position) else { continue };
            let position = u32::try_from(position).unwrap_or(u32::MAX);
            match step.straight.on {
                On::Pop(end) => elements.extend((0..step.times).map_while(|_| list.next_popped(end)).map(|index| (position, index))),
                On::Element => {
                    let place = last(&step.call.args);
                    let Some(index) = list.shown_at(place) else { continue };
                    step.part = shown.position_of(position, place);
                    if step.part == elements.len() {
                        elements.push((position, index));
                    }
                }
                _ => {}
            }
        }
        shown.into_list()?;
        Some(elements)
    }
}
