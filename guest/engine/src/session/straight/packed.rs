//! Packed collections of a group that goes straight: what its calls have changed is merged into their heads, or, where that becomes too much, all records
//! get places of their own, as [`Heads::fold`](crate::transaction) does it for all other groups (docs/format.md, section "Packed collections").

use super::held::Held;
use crate::error::Result;
use crate::few::Few;
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
    changes: Few<Change<'c>>,
    /// The changes in the order of positions: these, and their numbers behind them.
    order: Few<u64>,
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
    pub fn of(changes: Few<Change<'c>>, keyspaces: Keyspaces, transaction: &Transaction<'_>) -> Self {
        let mut order: Few<u64> =
            changes.iter().zip(0..).map(|(change, number)| u64::from(change.position) << u32::BITS | number).collect();
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
        let (own, is_changed) = (own.iter().filter_map(change), {
            let own = &*own;
            move |name: &[u8]| own.binary_search_by(|order| change(order).map(|change| change.name).cmp(&Some(name))).is_ok()
        });
        let prefix = records::prefix(head.version);
        for (name, new) in own.clone().filter_map(|change| Some((change.name, change.new?))) {
            transaction.note_put(keyspaces.parts, [&prefix, name]);
            if let Value::Score(score) = new {
                transaction.note_put(keyspaces.scores, [&prefix, &records::ordered(score), name]);
            }
        }
        let stored = left_of(head, held.packed);
        let most_bytes = records::most_packed_bytes(head.kind, room.bytes);
        merged.reserve(most_bytes);
        let are_few = usize::try_from(head.count).is_ok_and(|count| count <= room.records);
        if are_few && merge(head.kind, stored, own.clone(), most_bytes, record, merged) {
            let packed = merged;
            return Ok(transaction.put_at_lock_key(heads, position, |record| {
                records::write_packed(record, held.expire_at_ms, *head, packed);
            })?);
        }
        transaction.put_at_lock_key(heads, position, |record| records::write_collection(record, held.expire_at_ms, *head))?;
        let mut put = |name: &[u8], record: &[u8]| put_part(transaction, keyspaces, head, name, record);
        for (name, stored) in Records::of(stored).filter(|(name, _)| !is_changed(name)) {
            put(name, stored)?;
        }
        for (name, new) in own.filter_map(|change| Some((change.name, change.new?))) {
            record.clear();
            records::write_part(head.kind, record, new);
            put(name, record)?;
        }
        Ok(())
    }
}

/// What is left of packed records but for changes: of a list, which is popped at its ends, what is within its bounds.
fn left_of<'r>(head: &Head, stored: &'r [u8]) -> &'r [u8] {
    if head.kind != Kind::List {
        return stored;
    }
    let mut left = Records::of(stored);
    left.skip_to(&records::index(head.first));
    let start = left.bytes();
    left.skip_to(&records::index(head.first.saturating_add(head.count)));
    start.get(..start.len() - left.bytes().len()).unwrap_or_default()
}

/// Merges changes, in the order of their names, into packed records. False where that comes to more than so many bytes.
fn merge<'c>(
    kind: Kind,
    stored: &[u8],
    changes: impl Iterator<Item = &'c Change<'c>>,
    most_bytes: usize,
    record: &mut Vec<u8>,
    merged: &mut Vec<u8>,
) -> bool {
    merged.clear();
    let mut rest = Records::of(stored);
    for Change { name, new, .. } in changes {
        let before = rest.bytes();
        rest.skip_to(name);
        // What lies between changes is copied at once.
        merged.extend_from_slice(before.get(..before.len() - rest.bytes().len()).unwrap_or_default());
        if { rest }.next().is_some_and(|(own, _)| own == *name) {
            rest.next();
        }
        if let Some(new) = *new {
            // What is long by itself is not even written.
            if matches!(new, Value::Bytes(new) if new.len() > most_bytes) {
                return false;
            }
            record.clear();
            records::write_part(kind, record, new);
            if !packed::push(merged, name, record) || merged.len() > most_bytes {
                return false;
            }
        }
    }
    merged.extend_from_slice(rest.bytes());
    merged.len() <= most_bytes
}

/// Puts a record of a collection that has its own place.
fn put_part(transaction: &mut Transaction<'_>, keyspaces: &Keyspaces, head: &Head, name: &[u8], record: &[u8]) -> Result<()> {
    let prefix = records::prefix(head.version);
    transaction.put_straight(keyspaces.parts, [&prefix, name], |value| value.extend_from_slice(record))?;
    if head.kind == Kind::SortedSet
        && let Some(score) = records::read_part(head.kind, record).and_then(Value::score)
    {
        let score_at = records::ordered(score);
        transaction.put_straight(keyspaces.scores, [&prefix, &score_at, name], |value| records::write_score(value, score))?;
    }
    Ok(())
}
