//! Packed collections of a group that goes straight: what its calls have changed is merged into their heads, or, where that becomes too much, all records
//! get places of their own, as [`Heads::fold`](crate::transaction) does it for all other groups (docs/format.md, section "Packed collections").

use super::held::Held;
use crate::error::Result;
use crate::layout::Kind;
use crate::layout::straight::{self as records, Head, Keyspaces, Value};
use crate::packed::{self, Records};
use crate::transaction::{Room, Transaction};

/// What calls have left of a member or an element.
pub struct Change<'c> {
    /// The position of its key.
    pub position: u32,
    /// What its key has behind the version.
    pub name: &'c [u8],
    /// `None` where it was taken away.
    pub new: Option<Value<'c>>,
}

/// Puts packed collections, one after the other.
pub struct Packer<'c> {
    changes: Vec<Change<'c>>,
    /// The changes in the order of positions: these, and their numbers behind them.
    order: Vec<u64>,
    /// So many of them belong to keys that were put.
    passed: usize,
    keyspaces: Keyspaces,
    room: Room,
    /// What is put, and the record that is added to it: their memory is used again.
    merged: Vec<u8>,
    record: Vec<u8>,
}

impl<'c> Packer<'c> {
    /// With all changes of packed collections.
    pub fn of(changes: Vec<Change<'c>>, keyspaces: Keyspaces, transaction: &Transaction<'_>) -> Self {
        let mut order: Vec<u64> = changes.iter().zip(0..).map(|(change, number)| u64::from(change.position) << u32::BITS | number).collect();
        order.sort_unstable();
        let room = keyspaces.packing.room(transaction.limits());
        Self { changes, order, passed: 0, keyspaces, room, merged: Vec::new(), record: Vec::new() }
    }

    /// Puts the collection under the key at that position, behind those before it.
    #[inline(never)]
    pub fn put(&mut self, transaction: &mut Transaction<'_>, position: usize, held: &Held<'_>) -> Result<()> {
        let Self { changes, order, passed, keyspaces, room, merged, record } = self;
        let rest = order.get_mut(*passed..).unwrap_or_default();
        let is_own = |order: &&u64| usize::try_from(**order >> u32::BITS).is_ok_and(|own| own <= position);
        let count = rest.iter().take_while(is_own).count();
        *passed += count;
        let own = rest.get_mut(..count).unwrap_or_default();
        let change = |order: &u64| usize::try_from(*order & u64::from(u32::MAX)).ok().and_then(|number| changes.get(number));
        if own.len() > 1 {
            own.sort_unstable_by_key(|order| change(order).map(|change| change.name));
        }
        let heads = keyspaces.heads;
        let Some(head) = held.head().filter(|_| !held.is_left_with_nothing()) else {
            return Ok(transaction.delete_at_lock_key(heads, position)?);
        };
        if held.is_as_stored() && own.is_empty() {
            return Ok(());
        }
        let own = own.iter().filter_map(change);
        for Change { name, .. } in own.clone().filter(|change| change.new.is_some()) {
            transaction.note_put(keyspaces.parts, [&records::prefix(head.version), name]);
        }
        let (mut count, mut fits) = (0, true);
        merged.clear();
        each_left(head, held.packed, own.clone(), record, &mut |name, record| {
            count += 1;
            fits = packed::push(merged, name, record) && merged.len() <= room.bytes && count <= room.records;
            Ok(fits)
        })?;
        if fits {
            return Ok(transaction.put_at_lock_key(heads, position, |record| {
                records::write_packed(record, held.expire_at_ms, *head, merged);
            })?);
        }
        transaction.put_at_lock_key(heads, position, |record| records::write_collection(record, held.expire_at_ms, *head))?;
        each_left(head, held.packed, own, record, &mut |name, record| {
            put_part(transaction, keyspaces, head, name, record)?;
            Ok(true)
        })
    }
}

/// Puts a record of a collection that has its own place.
fn put_part(transaction: &mut Transaction<'_>, keyspaces: &Keyspaces, head: &Head, name: &[u8], record: &[u8]) -> Result<()> {
    let prefix = records::prefix(head.version);
    transaction.put_straight(keyspaces.parts, [&prefix, name], |value| value.extend_from_slice(record))?;
    if head.kind == Kind::SortedSet
        && let Some(score) = records::read_part(head.kind, record).and_then(Value::score)
    {
        let place = [&prefix, &records::ordered(score), name];
        transaction.put_straight(keyspaces.scores, place, |value| records::write_score(value, score))?;
    }
    Ok(())
}

/// Shows what is left of packed records behind changes, all in the order of their names, each name and record, until `show` says false. `record` is where those are
/// written that have changed.
fn each_left<'c>(
    head: &Head,
    stored: &[u8],
    changes: impl Iterator<Item = &'c Change<'c>>,
    record: &mut Vec<u8>,
    show: &mut dyn FnMut(&[u8], &[u8]) -> Result<bool>,
) -> Result<()> {
    let bounds = [head.first, head.first.saturating_add(head.count)].map(records::index);
    // Elements are popped, which is told by the bounds alone.
    let is_left = |name: &[u8]| head.kind != Kind::List || (bounds[0].as_slice()..&bounds[1]).contains(&name);
    let mut before = Records::of(stored).filter(|(name, _)| is_left(name)).peekable();
    for Change { name, new, .. } in changes {
        while let Some((own, stored)) = before.next_if(|(own, _)| own < name) {
            if !show(own, stored)? {
                return Ok(());
            }
        }
        before.next_if(|(own, _)| own == name);
        if let Some(new) = *new {
            record.clear();
            records::write_part(head.kind, record, new);
            if !show(name, record)? {
                return Ok(());
            }
        }
    }
    for (own, stored) in before {
        if !show(own, stored)? {
            break;
        }
    }
    Ok(())
}
