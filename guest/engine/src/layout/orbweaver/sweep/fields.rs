//! The sweep of single fields whose time is past.

use super::Sweep;
use crate::error::{Error, Result};
use crate::layout::field_expiry::{FieldExpiries, FieldIndex, is_gone};
use crate::layout::orbweaver::field_expiry::{decode, hashes_due, of_hash};
use crate::layout::orbweaver::{Orbweaver, records};
use crate::layout::{Body, Collection, Expired, KeyAt, Layout, Meta, New, Swept};
use crate::store::Direction;
use crate::transaction::{Scan, Transaction};
use bytes::Bytes;

/// A hash with a field that is due, and the record that led to it.
struct Due {
    record: Bytes,
    at: KeyAt,
}

impl Sweep<'_, '_> {
    /// Removes fields whose time is past, and keys of which nothing is left. Returns what is left of the budget.
    pub(super) fn expired_fields(&mut self, budget: usize) -> Result<usize> {
        let mut left = budget;
        let mut due = hashes_due(self.now_ms);
        while left > 0 {
            let limit = left.min(self.step);
            let found = self.read(self.layout.field_expiry, &mut due, limit)?;
            let (looked_at, is_last) = (found.len(), found.len() < limit);
            // What cannot be read is left to the check to name.
            let hashes: Vec<Due> = found.into_iter().filter_map(Due::from_record).collect();
            let step = self.remove_due_fields(&hashes, limit);
            left = left.saturating_sub(step.as_ref().map_or(0, removed_records).max(looked_at));
            self.count(step)?;
            if is_last {
                return Ok(left);
            }
        }
        self.swept.more |= self.swept != Swept::default();
        Ok(0)
    }

    /// Removes up to `room` due fields of these hashes.
    fn remove_due_fields(&mut self, hashes: &[Due], room: usize) -> Result<Swept> {
        let mut done = Swept::default();
        if hashes.is_empty() {
            return Ok(done);
        }
        let (layout, now_ms, mut room) = (self.layout, self.now_ms, room);
        let mut gone: Vec<(KeyAt, Expired)> = Vec::new();
        let mut transaction = layout.begin_on_keys(self.store, hashes.iter().map(|due| &due.at))?;
        for due in hashes {
            // A hash that was renamed meanwhile has its lock under another key; the next sweep goes there.
            if transaction.get(layout.field_expiry, &due.record)?.as_ref() != Some(due.at.lock_key()) {
                continue;
            }
            match layout.find_readable(&mut transaction, &due.at)?.filter(|meta| of_hash(Some(meta)).as_ref() == Some(&due.record)) {
                Some(meta) => {
                    let keys_before = done.expired_keys;
                    match layout.remove_fields(&mut transaction, &due.at, &meta, now_ms, room, &mut done) {
                        // Nothing of it is changed: the check will name what is wrong.
                        Err(Error::Corrupt(_)) => {}
                        left => {
                            let left = left?;
                            if done.expired_keys > keys_before {
                                gone.push((due.at.clone(), Expired::LastFields));
                            } else if left < room {
                                gone.push((due.at.clone(), Expired::Fields));
                            }
                            room = left;
                        }
                    }
                }
                // No hash has it: a program that does not know these records removed the key.
                None => {
                    transaction.delete(layout.field_expiry, due.record.clone())?;
                    done.records += 1;
                }
            }
        }
        transaction.commit()?;
        gone.into_iter().for_each(|(at, expired)| (self.on_expired)(at, expired));
        Ok(done)
    }
}

/// What a step counts towards its budget.
fn removed_records(done: &Swept) -> usize {
    usize::try_from(done.records).unwrap_or(usize::MAX)
}

impl Due {
    fn from_record((record, lock_key): (Bytes, Bytes)) -> Option<Self> {
        let mut reader = crate::codec::Reader::new(&lock_key);
        let space = reader.u32("a space is cut short").ok()?;
        let at = KeyAt::new(space, reader.rest());
        decode(&record).is_ok().then_some(Self { record, at })
    }
}

impl Orbweaver {
    /// Removes up to `room` due fields of a hash, or the key where all are due. Returns what is left of the room.
    fn remove_fields(
        &self,
        transaction: &mut Transaction<'_>,
        at: &KeyAt,
        meta: &Meta,
        now_ms: u64,
        room: usize,
        done: &mut Swept,
    ) -> Result<usize> {
        let Some(hash) = meta.collection() else { return Ok(room) };
        let Some(expiries) = hash.expiries else { return Ok(room) };
        if is_gone(self, transaction, at, meta, now_ms)? {
            self.write(transaction, at, Some(meta), New::Nothing, now_ms)?;
            done.expired_keys += 1;
            return Ok(room);
        }
        if room == 0 {
            done.more = true;
            return Ok(0);
        }
        let (keyspace, range) = self.records(at, hash.version);
        let mut scan = Scan::new(keyspace, range, Direction::Forward, room.saturating_add(1));
        let mut fields: Vec<(Bytes, Bytes)> = Vec::new();
        let mut next_ms = None;
        while let Some((key, _)) = transaction.next(&mut scan)? {
            let (expire_at_ms, field) = self.decode_expiring_field(&key)?;
            if now_ms <= expire_at_ms || fields.len() == room {
                next_ms = Some(expire_at_ms);
                done.more |= now_ms > expire_at_ms;
                break;
            }
            fields.push((key, field));
        }
        if fields.is_empty() {
            let (keyspace, range) = self.records(at, hash.version);
            return Err(self.missing(&(keyspace, range.start.into())));
        }
        let removed = u64::try_from(fields.len()).unwrap_or(u64::MAX);
        for (key, field) in &fields {
            transaction.delete(self.field_expiry, key.clone())?;
            transaction.delete(self.data, records::encode_sub_key(hash.version, field))?;
        }
        let expiries = next_ms.map(|next_ms| FieldExpiries { next_ms, count: expiries.count.saturating_sub(removed) });
        let new = Collection { count: hash.count.saturating_sub(removed), expiries, ..hash };
        let new = Meta { expire_at_ms: meta.expire_at_ms, body: Body::Collection(new) };
        self.write(transaction, at, Some(meta), New::Value(&new), now_ms)?;
        done.records += removed;
        Ok(room.saturating_sub(fields.len()))
    }
}
