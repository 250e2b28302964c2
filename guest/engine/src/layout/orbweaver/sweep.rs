//! The sweep: removes expired keys and fields and what removed keys have left, step by step.
//!
//! Each step reads in a transaction of its own what there is to do, and does it in one that declares the locks of what it
//! changes and looks again. So several sweepers, and commands, may run beside each other, and a crash leaves whole steps.

mod fields;

use super::Orbweaver;
use super::records::{Garbage, decode_expiry_key, decode_garbage};
use crate::error::{Error, Result};
use crate::layout::pass::step_records;
use crate::layout::{Expired, KeyAt, Layout, Meta, New, RecordRange, Swept, lock_key};
use crate::store::{Direction, KeyRange, Keyspace, Scope, Store};
use crate::transaction::{Scan, Transaction};
use bytes::Bytes;

/// Collections up to this size are removed record by record: a deleted range is one operation, but weighs on later reads of
/// many stores.
const MAX_SINGLE_RECORDS: usize = 64;
/// A collection whose writer has not written for this long is taken for given up.
const UNFINISHED_FOR_MS: u64 = 3_600_000;

/// A garbage record and what it says.
type Found = (Bytes, Garbage);

impl Orbweaver {
    pub(super) fn sweep_step(
        &self,
        store: &mut dyn Store,
        now_ms: u64,
        budget: usize,
        on_expired: &mut dyn FnMut(KeyAt, Expired),
    ) -> Result<Swept> {
        let step = step_records(store);
        let mut sweep = Sweep { layout: self, store, now_ms, step, on_expired, swept: Swept::default() };
        // None of them may starve the others.
        let third = budget.div_ceil(3);
        let expired = sweep.expired(third).and_then(|left| sweep.expired_fields(third.min(budget.saturating_sub(third)) + left));
        let result = expired.and_then(|left| sweep.garbage(budget.saturating_sub(2 * third) + left));
        sweep.pass_over_conflict(result)?;
        Ok(sweep.swept)
    }
}

struct Sweep<'l, 's> {
    layout: &'l Orbweaver,
    store: &'s mut dyn Store,
    now_ms: u64,
    step: usize,
    on_expired: &'s mut dyn FnMut(KeyAt, Expired),
    swept: Swept,
}

impl Sweep<'_, '_> {
    /// Up to `limit` records of a range, which is moved on behind them.
    fn read(&mut self, keyspace: Keyspace, range: &mut KeyRange, limit: usize) -> Result<Vec<(Bytes, Bytes)>> {
        let mut transaction = Transaction::begin(self.store, Scope::Read)?;
        let mut scan = Scan::new(keyspace, range.clone(), Direction::Forward, limit);
        let mut found = Vec::new();
        while found.len() < limit
            && let Some(record) = transaction.next(&mut scan)?
        {
            found.push(record);
        }
        if let Some((key, _)) = found.last() {
            (range.start, range.after_start) = (key.to_vec(), true);
        }
        Ok(found)
    }

    /// Adds up what a step did.
    fn count(&mut self, step: Result<Swept>) -> Result<()> {
        let counted = step.map(|done| {
            self.swept.expired_keys += done.expired_keys;
            self.swept.records += done.records;
            self.swept.ranges += done.ranges;
            self.swept.more |= done.more;
        });
        self.pass_over_conflict(counted)
    }

    /// Where another transaction got in between, the next call meets the same records again.
    fn pass_over_conflict(&mut self, result: Result<()>) -> Result<()> {
        match result {
            Err(error) if error.is_transient() => {
                self.swept.more = true;
                Ok(())
            }
            other => other,
        }
    }

    /// Removes keys whose time is past. Returns what is left of the budget.
    fn expired(&mut self, budget: usize) -> Result<usize> {
        let mut left = budget;
        // Gone is what is before now, not at it.
        let mut due = KeyRange { end: Some(self.now_ms.to_be_bytes().to_vec()), ..KeyRange::all() };
        while left > 0 {
            let limit = left.min(self.step);
            let records = self.read(self.layout.expiry, &mut due, limit)?;
            left -= records.len();
            // What cannot be read is left to the check to name.
            let keys = records.iter().filter_map(|(record, _)| {
                let (_, space, key) = decode_expiry_key(record).ok()?;
                Some((record.clone(), KeyAt::new(space, key)))
            });
            let keys: Vec<(Bytes, KeyAt)> = keys.collect();
            if !keys.is_empty() {
                let step = self.remove_expired(&keys);
                self.count(step)?;
            }
            if records.len() < limit {
                return Ok(left);
            }
        }
        self.swept.more |= self.swept != Swept::default();
        Ok(0)
    }

    fn remove_expired(&mut self, keys: &[(Bytes, KeyAt)]) -> Result<Swept> {
        let (mut done, mut expired) = (Swept::default(), Vec::new());
        let (layout, now_ms) = (self.layout, self.now_ms);
        let mut transaction = layout.begin_on_keys(self.store, keys.iter().map(|(_, at)| at))?;
        for (record, at) in keys {
            match layout.find_readable(&mut transaction, at)? {
                Some(meta) if meta.expire_at_ms.is_some_and(|at_ms| now_ms > at_ms) => {
                    layout.write(&mut transaction, at, Some(&meta), New::Nothing, now_ms)?;
                    done.expired_keys += 1;
                    expired.push(at.clone());
                }
                // The key has another expiry by now, or none.
                _ => done.records += 1,
            }
            transaction.delete(layout.expiry, record.clone())?;
        }
        transaction.commit()?;
        expired.into_iter().for_each(|at| (self.on_expired)(at, Expired::Key));
        Ok(done)
    }

    /// Removes what removed keys, flushed dbs and writers that gave up have left.
    fn garbage(&mut self, budget: usize) -> Result<()> {
        let mut left = budget;
        let mut rest = KeyRange::all();
        while left > 0 {
            let limit = left.min(self.step);
            let records = self.read(self.layout.garbage, &mut rest, limit)?;
            let readable = records.iter().filter_map(|(key, value)| Some((key.clone(), decode_garbage(key, value).ok()?)));
            let mut group: Vec<Found> = Vec::new();
            let mut group_cost = 0;
            for (key, garbage) in readable {
                match garbage {
                    Garbage::Space(space) => left = self.space(&key, space, left)?,
                    Garbage::Unfinished { renewed_at_ms, .. } if self.now_ms <= renewed_at_ms.saturating_add(UNFINISHED_FOR_MS) => {}
                    Garbage::Collection { .. } | Garbage::Unfinished { .. } => {
                        group_cost += self.cost(&garbage);
                        group.push((key, garbage));
                    }
                }
                if group_cost >= self.step.min(left) {
                    left = self.remove_group(&mut group, &mut group_cost, left)?;
                }
                if left == 0 {
                    break;
                }
            }
            left = self.remove_group(&mut group, &mut group_cost, left)?;
            if records.len() < limit {
                break;
            }
        }
        self.swept.more |= left == 0 && self.swept != Swept::default();
        Ok(())
    }

    fn remove_group(&mut self, group: &mut Vec<Found>, cost: &mut usize, left: usize) -> Result<usize> {
        let (group, cost) = (std::mem::take(group), std::mem::take(cost));
        if !group.is_empty() {
            let step = self.remove_collections(&group);
            self.count(step)?;
        }
        Ok(left.saturating_sub(cost))
    }

    /// How many operations remove it, about.
    fn cost(&self, garbage: &Garbage) -> usize {
        self.single_records(garbage).unwrap_or(0).max(1)
    }

    /// How many records a collection has where they are removed one by one; `None` where its range is removed as a whole.
    fn single_records(&self, garbage: &Garbage) -> Option<usize> {
        let Garbage::Collection { count, .. } = garbage else { return None };
        usize::try_from(*count).ok().filter(|count| *count <= MAX_SINGLE_RECORDS.min(self.step))
    }

    /// Removes the records of collections, and the garbage records that stand for them, in one transaction.
    fn remove_collections(&mut self, group: &[Found]) -> Result<Swept> {
        let mut done = Swept::default();
        let layout = self.layout;
        let single: Vec<Option<usize>> = group.iter().map(|(_, garbage)| self.single_records(garbage)).collect();
        let scope = Scope::Keys(group.iter().map(|(key, _)| lock_key(0, key)).collect());
        let mut transaction = Transaction::begin(self.store, scope)?;
        for ((key, garbage), single) in group.iter().zip(single) {
            // Another sweeper may have been here, or the writer may have come back.
            let Some(value) = transaction.get(layout.garbage, key)? else { continue };
            if decode_garbage(key, &value).ok().as_ref() != Some(garbage) {
                continue;
            }
            let (Garbage::Collection { version, kind, has_index, .. } | Garbage::Unfinished { version, kind, has_index, .. }) = *garbage
            else {
                continue;
            };
            layout.remove_records(&mut transaction, layout.records_of_version(version, kind, has_index), single, &mut done)?;
            transaction.touch(&lock_key(0, key))?;
            transaction.delete(layout.garbage, key.clone())?;
            done.records += 1;
        }
        transaction.commit()?;
        Ok(done)
    }

    /// Removes keys of a space that no db stands for; the space's record once there are none. What their collections leave is
    /// garbage in turn. Returns what is left of the budget.
    fn space(&mut self, record: &Bytes, space: u32, budget: usize) -> Result<usize> {
        let mut left = budget;
        let (meta, mut rest) = self.layout.space(space);
        while left > 0 {
            let limit = left.min(self.step);
            let found = self.read(meta, &mut rest, limit)?;
            left = left.saturating_sub(found.len());
            if !found.is_empty() {
                let keys: Vec<KeyAt> = found.iter().map(|(key, _)| KeyAt::new(space, key.slice(4.min(key.len())..))).collect();
                let step = self.remove_keys(&keys);
                self.count(step)?;
                self.swept.more = true;
            }
            if found.len() < limit {
                let step = self.remove_space(record, space);
                self.count(step)?;
                break;
            }
        }
        Ok(left)
    }

    fn remove_keys(&mut self, keys: &[KeyAt]) -> Result<Swept> {
        let mut done = Swept::default();
        let layout = self.layout;
        let mut transaction = layout.begin_on_keys(self.store, keys.iter())?;
        for at in keys {
            // Their db was emptied: what cannot be read goes as well.
            let meta = layout.find_readable(&mut transaction, at)?;
            layout.write(&mut transaction, at, meta.as_ref(), New::Nothing, self.now_ms)?;
            done.records += 1;
        }
        transaction.commit()?;
        Ok(done)
    }

    fn remove_space(&mut self, record: &Bytes, space: u32) -> Result<Swept> {
        let layout = self.layout;
        let lock = lock_key(0, record);
        let mut transaction = Transaction::begin(self.store, Scope::Keys(vec![lock.clone()]))?;
        let (meta, range) = layout.space(space);
        if transaction.first(meta, range, Direction::Forward)?.is_some() {
            return Ok(Swept::default());
        }
        transaction.touch(&lock)?;
        transaction.delete(layout.garbage, record.clone())?;
        transaction.commit()?;
        Ok(Swept { records: 1, ..Swept::default() })
    }
}

impl Orbweaver {
    /// A transaction that may change these keys, with their meta records read ahead.
    fn begin_on_keys<'s, 'a>(&self, store: &'s mut dyn Store, keys: impl Iterator<Item = &'a KeyAt> + Clone) -> Result<Transaction<'s>> {
        let scope = Scope::Keys(keys.clone().map(KeyAt::lock_key).cloned().collect());
        let mut transaction = Transaction::begin(store, scope)?;
        let mut metas = Vec::new();
        keys.for_each(|at| self.meta_records(at, None, &mut metas));
        transaction.get_many(&metas)?;
        Ok(transaction)
    }

    /// What is stored under a key; `None` also where it cannot be read.
    fn find_readable(&self, transaction: &mut Transaction<'_>, at: &KeyAt) -> Result<Option<Meta>> {
        match self.find_meta(transaction, at) {
            Err(Error::Corrupt(_)) => Ok(None),
            other => other,
        }
    }

    /// Removes a collection's records: the `single` ones that it is said to have one by one, or whole ranges.
    fn remove_records(
        &self,
        transaction: &mut Transaction<'_>,
        records: Vec<RecordRange>,
        single: Option<usize>,
        done: &mut Swept,
    ) -> Result<()> {
        for (keyspace, range) in records {
            let mut scan = Scan::new(keyspace, range.clone(), Direction::Forward, single.map_or(1, |count| count.saturating_add(1)));
            let mut removed = 0;
            while single.is_some_and(|count| removed < count)
                && let Some((key, _)) = transaction.next(&mut scan)?
            {
                transaction.delete(keyspace, key)?;
                removed += 1;
                done.records += 1;
            }
            let all_removed = single.is_some() && transaction.next(&mut scan)?.is_none();
            if !all_removed {
                transaction.delete_range(keyspace, range)?;
                done.ranges += 1;
            }
        }
        Ok(())
    }
}
