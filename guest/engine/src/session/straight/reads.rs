//! What is read for a group that may go straight: what is under its keys, then the members that it names and the elements that it pops or shows.

use super::held::{Held, Part};
use super::plan::{ElementAt, Member, Plan, Step, ends};
use crate::arena;
use crate::command::straight::On;
use crate::error::Result;
use crate::few::Few;
use crate::layout::Kind;
use crate::layout::expiry::ExpiryRules;
use crate::layout::straight::{self as records, Head, PREFIX_BYTES, Value};
use crate::packed::Records;
use crate::store::Keyspace;
use crate::transaction::{Found, Transaction};

/// What has been read of collections.
#[derive(Default)]
pub struct Parts<'v> {
    /// Of the members that calls name, in the order of their numbers.
    pub members: Few<Part<'v>>,
    /// The elements that calls pop or show, in their order.
    pub elements: Few<&'v [u8]>,
}

/// Reads what is under the keys of a group. Returns how many keys these are, too.
#[inline(never)]
pub fn read_heads(heads: Keyspace, transaction: &mut Transaction<'_>, plan: &Plan<'_>, lock_keys: &[u8]) -> Result<(Found, usize)> {
    if plan.writes {
        return Ok((transaction.read_at_lock_keys(heads)?, transaction.lock_keys().len()));
    }
    let ends = plan.ends();
    Ok((transaction.read_straight(heads, lock_keys, &ends)?, ends.len()))
}

/// What is under the keys; fewer than these where one of them cannot go straight.
#[inline(never)]
pub fn hold<'v>(found: &'v Found, keys: usize, plan: &Plan<'_>, packs: bool, rules: ExpiryRules, now_ms: u64) -> Result<Few<Held<'v>>> {
    let mut held = Few::with_capacity(keys);
    found.for_each(keys, |record| {
        if let Some(under) = Held::of(record, plan, packs, rules, now_ms) {
            held.push(under);
        }
    })?;
    Ok(held)
}

/// Whether all calls of a group can go straight, by what is under their keys.
#[inline(never)]
pub fn are_straight(held: &mut [Held<'_>], keys: usize, plan: &Plan<'_>, transaction: &Transaction<'_>) -> bool {
    held.len() == keys
        && (!plan.writes || plan.fits(transaction.limits()))
        && plan.steps.iter().all(|step| match step.straight.on {
            On::Strings { .. } => are_all_straight(held, step, plan, transaction),
            _ => held.get_mut(plan.position(step, transaction)).is_some_and(|held| held.takes(step)),
        })
        && (!plan.has_removals || held.iter().all(Held::loses_simply))
        && (!plan.writes || !plan.has_shows || held.iter().all(Held::shows_what_is_stored))
}

/// Whether a call on several keys can go straight, by what is under them.
#[inline(never)]
fn are_all_straight(held: &mut [Held<'_>], step: &Step<'_>, plan: &Plan<'_>, transaction: &Transaction<'_>) -> bool {
    plan.positions(step, transaction).all(|position| held.get_mut(position).is_some_and(|held| held.takes(step)))
}

/// Reads the members that the calls of a group name, and the elements that they pop or show; `None` where they cannot go straight. `found` is where their records
/// are kept.
#[inline(never)]
pub fn read_parts<'v>(
    keyspace: Keyspace,
    transaction: &mut Transaction<'_>,
    members: &[Member<'_>],
    elements: &[ElementAt],
    held: &[Held<'v>],
    found: &'v mut Option<Found>,
) -> Result<Option<Parts<'v>>> {
    let place = |position: u32| Place::at(held, position);
    let head = |position: u32| if let Place::Records(head) = place(position) { Some(head) } else { None };
    let in_collections = || members.iter().filter_map(|&(position, name)| head(position).map(|head| (head, name)));
    let indexes = || elements.iter().filter_map(|&(position, index)| Some((head(position)?, records::index(index))));
    let element_bytes = PREFIX_BYTES + size_of::<u64>();
    let length = members.iter().map(|(_, name)| PREFIX_BYTES + name.len()).sum::<usize>() + elements.len() * element_bytes;
    let bytes = arena::bytes(length, |bytes| {
        for (head, name) in in_collections() {
            bytes.extend_from_slice(&records::prefix(head.version));
            bytes.extend_from_slice(name);
        }
        for (head, index) in indexes() {
            bytes.extend_from_slice(&records::prefix(head.version));
            bytes.extend_from_slice(&index);
        }
    });
    let lengths = in_collections().map(|(_, name)| PREFIX_BYTES + name.len()).chain(indexes().map(|_| element_bytes));
    let ends = ends(lengths);
    let mut parts: Few<Part<'_>> = Few::with_capacity(members.len());
    let mut found_elements = Few::with_capacity(elements.len());
    let mut are_known = true;
    let (mut next, mut next_element) = (members.iter(), elements.iter());
    if !ends.is_empty() {
        let found = found.insert(transaction.read_straight(keyspace, &bytes, &ends)?);
        found.for_each(ends.len(), |record| {
            for &(position, name) in next.by_ref() {
                let place = place(position);
                let value = place.find(name, record);
                // What is packed was looked at when its head was read.
                are_known &= !matches!(place, Place::Records(_)) || record.is_none() || value.is_some();
                parts.push(Part::of(value));
                if let Place::Records(_) = place {
                    return;
                }
            }
            for &(position, index) in next_element.by_ref() {
                let place = place(position);
                found_elements.extend(place.element(index, record));
                if let Place::Records(_) = place {
                    return;
                }
            }
        })?;
    }
    parts.extend(next.map(|&(position, name)| Part::of(place(position).find(name, None))));
    found_elements.extend(next_element.filter_map(|&(position, index)| place(position).element(index, None)));
    are_known &= found_elements.len() == elements.len();
    Ok(are_known.then_some(Parts { members: parts, elements: found_elements }))
}

/// Where the members or elements of a collection are.
#[derive(Clone, Copy)]
enum Place<'h, 'v> {
    /// Nowhere: it has none.
    Nowhere,
    /// In the head, which is of this kind.
    Head(Kind, Records<'v>),
    /// Each in a record.
    Records(&'h Head),
}

impl<'h, 'v> Place<'h, 'v> {
    /// Of the collection under the key at that position.
    fn at(held: &'h [Held<'v>], position: u32) -> Self {
        let held = usize::try_from(position).ok().and_then(|position| held.get(position));
        match held.and_then(|held| Some((held, held.head()?))) {
            None => Self::Nowhere,
            Some((held, head)) if held.packed.is_empty() => Self::Records(head),
            Some((held, head)) => Self::Head(head.kind, Records::of(held.packed)),
        }
    }

    /// What a member is, which has this record if it is in one.
    fn find(self, name: &[u8], record: Option<&'v [u8]>) -> Option<Value<'v>> {
        match self {
            Self::Nowhere => None,
            Self::Head(kind, records) => records.value_of(name).and_then(|record| records::read_part(kind, record)),
            Self::Records(head) => record.and_then(|record| records::read_part(head.kind, record)),
        }
    }

    /// The same of an element.
    fn element(self, index: u64, record: Option<&'v [u8]>) -> Option<&'v [u8]> {
        match self {
            Self::Nowhere => None,
            Self::Head(_, records) => records.value_of(&records::index(index)),
            Self::Records(_) => record,
        }
    }
}
