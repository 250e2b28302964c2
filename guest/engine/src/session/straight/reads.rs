//! What is read for a group that may go straight: what is under its keys, then the members that it names and the elements that it pops or shows.

use super::held::{Held, Part, head_at};
use super::plan::{ElementAt, Member, Plan, Step, ends};
use crate::arena;
use crate::command::straight::On;
use crate::error::Result;
use crate::few::Few;
use crate::layout::expiry::ExpiryRules;
use crate::layout::straight::{self as records, PREFIX_BYTES};
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
pub fn hold<'v>(found: &'v Found, keys: usize, plan: &Plan<'_>, rules: ExpiryRules, now_ms: u64) -> Result<Few<Held<'v>>> {
    let mut held = Few::with_capacity(keys);
    found.for_each(keys, |record| {
        if let Some(under) = Held::of(record, plan, rules, now_ms) {
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
    held: &[Held<'_>],
    found: &'v mut Option<Found>,
) -> Result<Option<Parts<'v>>> {
    let head = |position: u32| head_at(held, position);
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
    if ends.is_empty() {
        parts.extend(members.iter().map(|_| Part::default()));
        return Ok(Some(Parts { members: parts, elements: found_elements }));
    }
    let mut are_known = true;
    let mut next = members.iter().map(|&(position, _)| head(position));
    let found = found.insert(transaction.read_straight(keyspace, &bytes, &ends)?);
    found.for_each(ends.len(), |record| {
        // The members of what is not there have no records.
        for head in next.by_ref() {
            let Some(head) = head else {
                parts.push(Part::default());
                continue;
            };
            let value = record.and_then(|record| records::read_part(head.kind, record));
            are_known &= record.is_none() || value.is_some();
            parts.push(Part::of(value));
            return;
        }
        are_known &= record.is_some();
        found_elements.extend(record);
    })?;
    parts.extend(next.map(|_| Part::default()));
    Ok(are_known.then_some(Parts { members: parts, elements: found_elements }))
}
