//! Walks over the meta rows of a namespace, and its removal as a whole.

use super::records::{KeyMeta, Rows, SLOT_PREFIX_BYTES, Tag};
use super::{Camellia, redis};
use crate::error::Result;
use crate::layout::records::{Choice, Record, Records, Verdict};
use crate::layout::{Body, Names};
use crate::store::{Direction, KeyRange, prefix_end};
use crate::transaction::{Scan, Transaction};
use bytes::Bytes;
use std::rc::Rc;

/// The meta rows of keys with these names. Where slots come first, they are between other rows all over the keyspace.
#[derive(Debug)]
struct MetaRows {
    rows: Rows,
    names: Names,
}

impl Choice for MetaRows {
    fn judge(&self, _transaction: &mut Transaction<'_>, record: &Record, direction: Direction) -> Result<Verdict> {
        let Ok((slot, key)) = self.rows.behind_slot(&record.key) else { return Ok(Verdict::Pass) };
        let tagged = self.rows.tagged(Tag::Meta);
        if let Some(name) = key.strip_prefix(tagged.as_slice()) {
            let is_asked = *name >= *self.names.start && self.names.end.as_ref().is_none_or(|end| *name < **end);
            return Ok(if is_asked && !is_dead(&record.value) { Verdict::Take } else { Verdict::Pass });
        }
        // To the meta rows of this slot, or past the slot.
        let target = match (direction, key < tagged.as_slice()) {
            (Direction::Forward, true) => Some([slot, &tagged].concat()),
            (Direction::Forward, false) => prefix_end(slot),
            (Direction::Reverse, true) => Some(slot.to_vec()),
            (Direction::Reverse, false) => prefix_end(&[slot, &tagged].concat()),
        };
        Ok(target.filter(|target| !target.is_empty()).map_or(Verdict::Pass, Verdict::Jump))
    }
}

/// Whether a meta row counts nothing. What cannot be read is for the reader to see.
fn is_dead(value: &Bytes) -> bool {
    let meta = KeyMeta::decode(value).and_then(|meta| meta.meta());
    meta.is_ok_and(|meta| matches!(meta.body, Body::Collection(collection) if collection.count == 0))
}

impl Camellia {
    pub(super) fn meta_rows(&self, names: &Names) -> Records {
        let range = if self.rows.has_slot_prefix {
            KeyRange::all()
        } else {
            let tagged = self.rows.tagged(Tag::Meta);
            names.range(|name| [tagged.as_slice(), name].concat(), || prefix_end(&tagged))
        };
        Records::Chosen((self.kv, range), Rc::new(MetaRows { rows: self.rows.clone(), names: names.clone() }))
    }

    /// Removes all rows of the namespace, slot by slot.
    pub(super) fn remove_all(&self, transaction: &mut Transaction<'_>) -> Result<()> {
        let slot_bytes = if self.rows.has_slot_prefix { SLOT_PREFIX_BYTES } else { 0 };
        let mut range = KeyRange::all();
        while let Some((key, _)) = transaction.first(self.kv, range.clone(), Direction::Forward)? {
            let slot = key.get(..slot_bytes).unwrap_or(&key);
            for tag in Tag::ALL {
                transaction.delete_range(self.kv, KeyRange::prefix(&[slot, &self.rows.tagged(tag)].concat()))?;
            }
            match prefix_end(slot) {
                Some(next) => range.start = next,
                None => break,
            }
        }
        self.remove_redis(transaction)
    }

    /// Removes the sorted sets in the redis.
    fn remove_redis(&self, transaction: &mut Transaction<'_>) -> Result<()> {
        let mut scan = Scan::new(self.redis, KeyRange::all(), Direction::Forward, 1);
        while let Some((row, _)) = transaction.next(&mut scan)? {
            let Ok((key, _)) = redis::decode(&row) else { continue };
            let all = KeyRange::prefix(&redis::prefix(&key));
            let rest = KeyRange { start: all.end.clone().unwrap_or_default(), after_start: false, end: None };
            if redis::decode_key(&self.rows.namespace, &key).is_some() {
                transaction.delete_range(self.redis, all)?;
            }
            scan = Scan::new(self.redis, rest, Direction::Forward, 1);
        }
        Ok(())
    }
}
