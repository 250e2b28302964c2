//! Passes over all records of some keyspaces, in steps: what the foreign layouts check and sweep by. They keep no records of what is
//! dead, so that each record has to be judged by itself.

use super::records::Record;
use super::{Expired, KeyAt, Swept};
use crate::codec::{Flaw, Reader, read_cursor};
use crate::error::{Error, Result};
use crate::store::{Direction, KeyRange, Keyspace, Scope, Store};
use crate::transaction::{Scan, Transaction};
use bytes::{BufMut, Bytes};
use std::cell::RefCell;

/// About how many records a transaction of a sweep looks at.
const STEP_RECORDS: usize = 128;
/// A sweep begins a pass when the last one began this long ago, or more.
const PASS_EVERY_MS: u64 = 600_000;

/// How many records a step of a sweep may remove where each takes five operations at most.
pub fn step_records(store: &dyn Store) -> usize {
    let allowed = usize::try_from(store.limits().max_batch_ops / 5).unwrap_or(usize::MAX);
    allowed.clamp(1, STEP_RECORDS)
}

/// What a visitor counts, carried along from record to record, also from step to step; empty at the beginning of a keyspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// What is counted, in the visitor's own words; mostly the beginning of the keys of a collection's records.
    pub of: Bytes,
    /// How many there were so far.
    pub count: u64,
}

/// Looks at the records of a pass.
pub trait Visitor {
    /// The next record.
    ///
    /// # Errors
    /// Store errors, which end the step.
    fn record(&mut self, transaction: &mut Transaction<'_>, record: &Record, tally: &mut Tally) -> Result<()>;

    /// All records of a keyspace have been passed.
    ///
    /// # Errors
    /// Store errors, which end the step.
    fn end(&mut self, _transaction: &mut Transaction<'_>, _keyspace: Keyspace, _tally: &Tally) -> Result<()> {
        Ok(())
    }
}

/// Leads a visitor over about `budget` records of these keyspaces (255 at most), from where `cursor` left off: as
/// [`super::Layout::check`] has it.
///
/// # Errors
/// Store errors; a client's mistake where the cursor is none of a pass.
pub fn visit(
    transaction: &mut Transaction<'_>,
    keyspaces: &[Keyspace],
    cursor: &mut Vec<u8>,
    budget: usize,
    visitor: &mut dyn Visitor,
) -> Result<()> {
    let mut position = Position::decode(cursor)?;
    let mut left = budget.max(1);
    while let Some(&keyspace) = keyspaces.get(usize::from(position.part)) {
        let mut scan = Scan::new(keyspace, position.rest(), Direction::Forward, left);
        while left > 0
            && let Some((key, value)) = transaction.next(&mut scan)?
        {
            left -= 1;
            position.behind = Some(key.clone());
            visitor.record(transaction, &Record { keyspace, key, value }, &mut position.tally)?;
        }
        if left == 0 {
            *cursor = position.encode();
            return Ok(());
        }
        visitor.end(transaction, keyspace, &position.tally)?;
        position = Position::at(position.part.saturating_add(1));
    }
    cursor.clear();
    Ok(())
}

/// A position in a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Position {
    /// Which of the keyspaces.
    part: u8,
    /// The last record that was passed; `None` before the first one.
    behind: Option<Bytes>,
    tally: Tally,
}

impl Position {
    /// The beginning of a keyspace.
    fn at(part: u8) -> Self {
        Self { part, ..Self::default() }
    }

    /// What is still to come of the keyspace.
    fn rest(&self) -> KeyRange {
        match &self.behind {
            Some(key) => KeyRange { start: key.to_vec(), after_start: true, end: None },
            None => KeyRange::all(),
        }
    }

    /// `part | count u64 | length u32 | of | is behind a record | its key`.
    fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![self.part];
        bytes.put_u64(self.tally.count);
        bytes.put_u32(u32::try_from(self.tally.of.len()).unwrap_or(u32::MAX));
        bytes.put_slice(&self.tally.of);
        bytes.put_u8(u8::from(self.behind.is_some()));
        bytes.put_slice(self.behind.as_deref().unwrap_or_default());
        bytes
    }

    /// The inverse of [`Position::encode`]; the beginning where there are no bytes.
    fn decode(bytes: &[u8]) -> Result<Self> {
        read_cursor(bytes, Self::default(), Self::read)
    }

    fn read(bytes: &Bytes) -> std::result::Result<Self, Flaw> {
        const SHORT: &str = "a cursor is cut short";
        let mut reader = Reader::new(bytes);
        let part = reader.u8(SHORT)?;
        let count = reader.u64(SHORT)?;
        let of = reader.bytes(SHORT)?;
        let behind = (reader.u8(SHORT)? != 0).then(|| reader.rest());
        Ok(Self { part, behind, tally: Tally { of, count } })
    }
}

/// A dead record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dead {
    /// The user key by which a transaction declares that it changes the record.
    pub owner: KeyAt,
    /// It is what made its key exist, until the key's time was past.
    pub is_expired_key: bool,
}

/// Tells the dead records of a layout from the living ones.
pub trait Judge {
    /// The keyspaces that a pass goes through, in that order.
    fn keyspaces(&self) -> Vec<Keyspace>;

    /// What is dead about a record; `None`: it is alive.
    ///
    /// # Errors
    /// Store errors. A record is left alone where it, or another one that decides about it, is corrupt.
    fn judge(&self, transaction: &mut Transaction<'_>, record: &Record, now_ms: u64) -> Result<Option<Dead>>;

    /// Removes a dead record, and what must go with it: five records at most.
    ///
    /// # Errors
    /// Store errors.
    fn remove(&self, transaction: &mut Transaction<'_>, record: &Record) -> Result<()> {
        Ok(transaction.delete(record.keyspace, record.key.clone())?)
    }
}

/// How far the passes of a sweep are.
#[derive(Debug, Default)]
pub struct Progress(RefCell<Passes>);

#[derive(Debug, Default)]
struct Passes {
    /// Where the pass that is under way goes on.
    position: Option<Position>,
    /// When the last pass began.
    began_at_ms: Option<u64>,
}

impl Progress {
    /// A step of a sweep, as [`super::Layout::sweep`] has it: looks at about `budget` records. Between two passes it reads nothing.
    ///
    /// # Errors
    /// Store errors.
    pub fn sweep(
        &self,
        judge: &dyn Judge,
        store: &mut dyn Store,
        now_ms: u64,
        budget: usize,
        on_expired: &mut dyn FnMut(KeyAt, Expired),
    ) -> Result<Swept> {
        let mut passes = self.0.take();
        if passes.position.is_none() && passes.began_at_ms.is_none_or(|began| now_ms.abs_diff(began) >= PASS_EVERY_MS) {
            passes = Passes { position: Some(Position::default()), began_at_ms: Some(now_ms) };
        }
        let mut sweep = Sweep { judge, store, now_ms, on_expired, swept: Swept::default() };
        let result = sweep.steps(&mut passes.position, budget);
        sweep.swept.more = passes.position.is_some();
        let swept = sweep.swept;
        self.0.replace(passes);
        match result {
            // Another transaction got in between: the next call comes to the same records again.
            Err(error) if !error.is_transient() => Err(error),
            _ => Ok(swept),
        }
    }
}

struct Sweep<'j, 's> {
    judge: &'j dyn Judge,
    store: &'s mut dyn Store,
    now_ms: u64,
    on_expired: &'s mut dyn FnMut(KeyAt, Expired),
    swept: Swept,
}

impl Sweep<'_, '_> {
    /// Moves the position on over `budget` records; `None`: the pass is at its end.
    fn steps(&mut self, position: &mut Option<Position>, budget: usize) -> Result<()> {
        let keyspaces = self.judge.keyspaces();
        let mut left = budget;
        while left > 0
            && let Some(at) = position
        {
            let Some(&keyspace) = keyspaces.get(usize::from(at.part)) else {
                *position = None;
                return Ok(());
            };
            let limit = left.min(step_records(self.store));
            let (last, looked_at) = self.step(keyspace, at.rest(), limit)?;
            left -= looked_at;
            match last {
                Some(last) => at.behind = Some(last),
                None => *at = Position::at(at.part.saturating_add(1)),
            }
        }
        Ok(())
    }

    /// Looks at up to `limit` records and removes the dead ones. Returns the last one, `None` where the keyspace ends, and how many
    /// they were.
    fn step(&mut self, keyspace: Keyspace, rest: KeyRange, limit: usize) -> Result<(Option<Bytes>, usize)> {
        let (judge, now_ms) = (self.judge, self.now_ms);
        let mut transaction = Transaction::begin(self.store, Scope::Read)?;
        let mut scan = Scan::new(keyspace, rest, Direction::Forward, limit);
        let (mut last, mut looked_at, mut dead) = (None, 0, Vec::new());
        while looked_at < limit
            && let Some((key, value)) = transaction.next(&mut scan)?
        {
            let record = Record { keyspace, key, value };
            if let Some(found) = judge_readable(judge, &mut transaction, &record, now_ms)? {
                dead.push((record.key.clone(), found.owner));
            }
            last = Some(record.key);
            looked_at += 1;
        }
        drop(transaction);
        if !dead.is_empty() {
            self.remove(keyspace, &dead)?;
        }
        Ok((last.filter(|_| looked_at == limit), looked_at))
    }

    /// Removes what is still dead now that nobody else may change it.
    fn remove(&mut self, keyspace: Keyspace, dead: &[(Bytes, KeyAt)]) -> Result<()> {
        let scope = Scope::Keys(dead.iter().map(|(_, owner)| owner.lock_key().clone()).collect());
        let (judge, now_ms) = (self.judge, self.now_ms);
        let mut transaction = Transaction::begin(self.store, scope)?;
        let (mut removed, mut expired) = (0, Vec::new());
        for (key, owner) in dead {
            let Some(value) = transaction.get(keyspace, key)? else { continue };
            let record = Record { keyspace, key: key.clone(), value };
            let found = judge_readable(judge, &mut transaction, &record, now_ms)?;
            let Some(found) = found.filter(|found| found.owner == *owner) else { continue };
            transaction.touch(owner.lock_key())?;
            judge.remove(&mut transaction, &record)?;
            removed += u64::from(!found.is_expired_key);
            expired.extend(found.is_expired_key.then_some(found.owner));
        }
        transaction.commit()?;
        self.swept.records += removed;
        for key in expired {
            self.swept.expired_keys += 1;
            (self.on_expired)(key, Expired::Key);
        }
        Ok(())
    }
}

/// As [`Judge::judge`]; what cannot be read is left to the check to name.
fn judge_readable(judge: &dyn Judge, transaction: &mut Transaction<'_>, record: &Record, now_ms: u64) -> Result<Option<Dead>> {
    match judge.judge(transaction, record, now_ms) {
        Err(Error::Corrupt(_)) => Ok(None),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{MemoryStore, Order};

    /// Records of two keyspaces: `1` to `9` in each.
    fn store() -> (MemoryStore, [Keyspace; 2]) {
        let mut store = MemoryStore::new();
        let keyspaces = ["a", "b"].map(|name| store.open_keyspace(name, Order::Bytes).unwrap());
        let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
        for keyspace in keyspaces {
            for digit in b'1'..=b'9' {
                transaction.put(keyspace, Bytes::copy_from_slice(&[digit]), Bytes::new()).unwrap();
            }
        }
        transaction.commit().unwrap();
        (store, keyspaces)
    }

    /// Notes what it sees, and counts.
    #[derive(Default)]
    struct Notes(String);

    impl Visitor for Notes {
        fn record(&mut self, _: &mut Transaction<'_>, record: &Record, tally: &mut Tally) -> Result<()> {
            self.0.push_str(std::str::from_utf8(&record.key).unwrap());
            tally.of = record.key.clone();
            tally.count += 1;
            Ok(())
        }

        fn end(&mut self, _: &mut Transaction<'_>, keyspace: Keyspace, tally: &Tally) -> Result<()> {
            self.0.push_str(&format!(" end of {}: {} to {}; ", keyspace.0, tally.count, std::str::from_utf8(&tally.of).unwrap()));
            Ok(())
        }
    }

    #[test]
    fn a_pass_in_steps_of_any_size_sees_every_record_once_and_keeps_its_tally() {
        let (mut store, keyspaces) = store();
        for budget in 1..20 {
            let (mut cursor, mut notes) = (Vec::new(), Notes::default());
            loop {
                let mut transaction = Transaction::begin(&mut store, Scope::Read).unwrap();
                visit(&mut transaction, &keyspaces, &mut cursor, budget, &mut notes).unwrap();
                if cursor.is_empty() {
                    break;
                }
            }
            assert_eq!(notes.0, "123456789 end of 0: 9 to 9; 123456789 end of 1: 9 to 9; ", "{budget}");
        }
    }

    #[test]
    fn a_position_comes_back_from_its_bytes_and_what_is_none_is_refused() {
        let tally = Tally { of: Bytes::from_static(b"of"), count: 7 };
        for behind in [None, Some(Bytes::new()), Some(Bytes::from_static(b"key"))] {
            let position = Position { part: 3, behind, tally: tally.clone() };
            assert_eq!(Position::decode(&position.encode()), Ok(position));
        }
        let whole = Position { part: 3, behind: None, tally }.encode();
        for cut in 1..whole.len() {
            assert!(Position::decode(&whole[..cut]).is_err(), "{cut}");
        }
    }

    /// Odd digits are dead, `5` is an expired key.
    struct Odd([Keyspace; 2]);

    impl Judge for Odd {
        fn keyspaces(&self) -> Vec<Keyspace> {
            self.0.to_vec()
        }

        fn judge(&self, _: &mut Transaction<'_>, record: &Record, _: u64) -> Result<Option<Dead>> {
            let digit = record.key.first().copied().unwrap_or_default();
            Ok((digit % 2 == 1).then(|| Dead { owner: KeyAt::new(1, record.key.clone()), is_expired_key: digit == b'5' }))
        }
    }

    #[test]
    fn a_sweep_removes_what_is_dead_and_passes_again_after_ten_minutes() {
        let (mut store, keyspaces) = store();
        let (progress, mut expired) = (Progress::default(), Vec::new());
        let mut sweep = |store: &mut MemoryStore, now_ms, budget| {
            progress.sweep(&Odd(keyspaces), store, now_ms, budget, &mut |key, _| expired.push(key.key.clone())).unwrap()
        };
        assert_eq!(sweep(&mut store, 1000, 7), Swept { expired_keys: 1, records: 3, ranges: 0, more: true });
        assert_eq!(sweep(&mut store, 2000, 100), Swept { expired_keys: 1, records: 5, ranges: 0, more: false });
        assert_eq!(sweep(&mut store, 600_999, 100), Swept::default(), "it is not yet time for another pass");
        let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
        transaction.put(keyspaces[0], Bytes::from_static(b"3"), Bytes::new()).unwrap();
        transaction.commit().unwrap();
        assert_eq!(sweep(&mut store, 601_000, 100), Swept { records: 1, ..Swept::default() });
        assert_eq!(expired, ["5", "5"]);
        let mut notes = Notes::default();
        let mut transaction = Transaction::begin(&mut store, Scope::Read).unwrap();
        visit(&mut transaction, &keyspaces, &mut Vec::new(), 100, &mut notes).unwrap();
        assert_eq!(notes.0, "2468 end of 0: 4 to 8; 2468 end of 1: 4 to 8; ");
    }
}
