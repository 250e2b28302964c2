//! Heads that are written back later. The head of a key changes with nearly every command that changes the key, and each put of it is a
//! search of the memtable, a place there, in a file and in compactions, for a record that the next command replaces. So where many are
//! written together, they are put into a table in memory, and into the log as one record, the redo ([`super::redo`]). When the table is
//! full, another one takes its place, and it is written back, a part with each of the next writes; then its redo is deleted.
//!
//! # What holds at any time
//! * The last value of a head is in the table that is filled, else in the one that is written back, else in its keyspace.
//! * The redo that is there, carried out in its order, gives every head its last value, so a crash loses nothing. Therefore no head is
//!   put past the tables while they, or the redo, hold an older value: who wants to has all written back before, or knows that they hold
//!   none, as all that they hold lies elsewhere ([`bounds`]).
//! * What a commit puts beside its heads is written together with its redo.
//!
//! Where most heads are new ones, as in a load, there is nothing to spare: then they are put past the tables until they come again. And writes of
//! few heads begin nothing, but follow where something waits, and where only they come have it written back little by little: all at once in
//! the middle of a request, it would take the time of the request.

mod bounds;
mod repeats;

use self::bounds::Bounds;
use self::repeats::Repeats;
use super::Db;
use super::heads_table::{ENTRY_BYTES, Head, Tables};
use super::raw_batch::{Family, FamilyNumber, RawBatch};
use super::redo;
use bytes::Bytes;
use orbweaver_engine::store::KeyRange;
use parking_lot::{Mutex, MutexGuard, RwLock};
use rocksdb::{FlushOptions, WriteOptions};
use std::mem;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The keyspace of heads.
pub const HEADS: &str = "meta";

/// So many heads in one write are worth a redo.
pub const MANY_HEADS: u64 = 16;
/// So many writes of fewer heads in a row, and all is written back.
const FEW_AFTER_MANY: u32 = 256;
/// With each write so many times as much is written back, in bytes: a table is written long before the next one is full.
const BACK_PER_WRITE: usize = 3;
/// So little is written back at once, in bytes of memory.
const LITTLE: usize = 256 << 10;
/// So many records of redo fill a table, too: they are deleted in one write.
const MOST_RECORDS: usize = 4096;
/// Heads of one write that take more than this part of a table are put past it.
const LARGE_SHARE: usize = 2;
/// The memtable of a redo is emptied once it has taken this part of what its table may write.
const EMPTIED_SHARE: usize = 4;

/// How much waits to be written back.
#[derive(Clone, Copy, Debug)]
pub struct Most {
    /// Memory of each of the two tables, but for one write; 0 where every head is put into its keyspace at once.
    pub table_bytes: usize,
    /// What is written while a table is filled.
    pub log_bytes: usize,
}

impl Most {
    /// Whether a table is full that takes so much memory, with which so much was written, and whose redo has so many records.
    const fn is_reached(&self, table_bytes: usize, log_bytes: usize, records: usize) -> bool {
        table_bytes >= self.table_bytes || log_bytes >= self.log_bytes || records >= MOST_RECORDS
    }
}

/// The heads of a database that are not in their keyspace yet.
pub struct WriteBack {
    most: Most,
    tables: RwLock<Tables>,
    /// Whether the tables may hold any.
    is_holding: AtomicBool,
    writing: Mutex<Writing>,
    numbers: OnceLock<Numbers>,
}

/// What only who writes asks for.
#[derive(Default)]
pub struct Writing {
    state: State,
    /// A write has failed: what is in the log, nobody knows. Nothing is written any more.
    has_failed: bool,
    /// How many writes of few heads have come in a row.
    few_in_a_row: u32,
    /// Of the table that is filled.
    filled: Redo,
    /// Of the table that is written back: none once all of it is.
    written: Redo,
    /// What the memtables of both redos have taken since they were emptied.
    memtable_bytes: [usize; 2],
}

/// The redo of a table.
#[derive(Default)]
struct Redo {
    /// Which of the two keyspaces it is in.
    side: Side,
    /// Its records.
    numbers: Vec<u64>,
    /// What was written while the table was filled.
    log_bytes: usize,
    /// Of all heads that it has.
    bounds: Bounds,
}

impl Redo {
    /// One that has nothing.
    fn on(side: Side) -> Self {
        Self { side, ..Self::default() }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Side {
    #[default]
    One,
    Other,
}

impl Side {
    const fn other(self) -> Self {
        match self {
            Self::One => Self::Other,
            Self::Other => Self::One,
        }
    }

    const fn of<T>(self, [one, other]: &[T; 2]) -> &T {
        match self {
            Self::One => one,
            Self::Other => other,
        }
    }

    const fn of_mut<T>(self, [one, other]: &mut [T; 2]) -> &mut T {
        match self {
            Self::One => one,
            Self::Other => other,
        }
    }
}

#[derive(Default)]
enum State {
    /// Heads are put into the tables.
    #[default]
    Gather,
    /// They still are, until all is written back; then they are put past the tables, or gathered again as soon as a write has many.
    Empty { then_past: bool },
    /// Heads are put past the tables, until many come again.
    Past(Repeats),
}

impl Writing {
    /// Where heads wait, or the redo has what they were.
    const fn bounds(&self) -> [Bounds; 2] {
        [self.filled.bounds, self.written.bounds]
    }

    /// Whether a write does nothing but delete, and none of what waits: it need not, as hardly any of it comes again.
    fn only_deletes_others(&self, heads: &RawBatch) -> bool {
        let bounds = self.bounds();
        heads.changes().all(|(key, value)| value.is_none() && !bounds.iter().any(|bounds| bounds.may_hold(key)))
    }

    fn write(&mut self, db: &Db, batch: &RawBatch, options: &WriteOptions) -> Result<(), String> {
        if self.has_failed {
            return Err("a write has failed before".into());
        }
        if batch.is_empty() {
            return Ok(());
        }
        let written = db.write_opt(batch.to_batch(), options);
        self.has_failed = written.is_err();
        written.map_err(String::from)
    }
}

impl WriteBack {
    pub fn new(most: Most) -> Self {
        let (tables, writing) = (RwLock::default(), Mutex::default());
        Self { most, tables, is_holding: AtomicBool::new(false), writing, numbers: OnceLock::new() }
    }

    /// The last value of a head; `None` where that is in its keyspace.
    pub fn get(&self, key: &[u8]) -> Option<Option<Bytes>> {
        if !self.is_holding() {
            return None;
        }
        self.tables.read().get(key).map(|value| value.map(Bytes::copy_from_slice))
    }

    /// Whether there may be heads that are not in their keyspace.
    pub fn is_holding(&self) -> bool {
        self.is_holding.load(Ordering::SeqCst)
    }

    /// False: no head of the range waits.
    pub fn may_hold_within(&self, range: &KeyRange) -> bool {
        self.is_holding() && {
            let writing = self.writing.lock();
            writing.has_failed || writing.bounds().iter().any(|bounds| bounds.may_meet(range))
        }
    }

    /// Writes a commit, the heads that it changes apart from the rest; adds to the batch what is written with it. To be called while nobody else changes the same heads.
    ///
    /// # Errors
    /// RocksDB's; nobody knows then what is written.
    pub fn write(&self, db: &Db, batch: &mut RawBatch, heads: &RawBatch, options: &WriteOptions) -> Result<(), String> {
        let writing = &mut *self.writing.lock();
        let numbers = if self.gathers(writing, db, batch, heads)? { self.numbers(db) } else { None };
        let Some(numbers) = numbers else {
            batch.append(heads);
            return writing.write(db, batch, options);
        };
        let weight = weight(batch, heads);
        if !heads.is_empty() {
            // Above all before it, as each of these writes has raised RocksDB's number, which outlives the process: a record of the redo is
            // put once and deleted once, which is what `SingleDelete` asks for.
            let number = db.latest_sequence_number() + 1;
            batch.put(*writing.filled.side.of(&numbers.redo), &number.to_be_bytes(), heads.as_bytes());
            writing.filled.numbers.push(number);
            heads.changes().for_each(|(key, _)| writing.filled.bounds.add(key));
            *writing.filled.side.of_mut(&mut writing.memtable_bytes) += heads.as_bytes().len();
        }
        writing.filled.log_bytes += batch.as_bytes().len();
        let (mut parts, mut is_last) = (0, false);
        if !writing.written.numbers.is_empty() {
            let tables = self.tables.read();
            let (next, back) = tables.next_parts(weight.saturating_mul(BACK_PER_WRITE));
            numbers.put(batch, back);
            (parts, is_last) = (next, next == tables.parts_left());
        }
        if is_last {
            numbers.delete(batch, &writing.written);
        }
        writing.write(db, batch, options)?;
        let mut tables = self.tables.write();
        let taken = tables.take_parts(parts);
        tables.put(heads.changes());
        self.is_holding.store(true, Ordering::SeqCst);
        drop(tables);
        drop(taken);
        if is_last {
            writing.written = Redo::on(writing.written.side);
            self.empty_memtable(writing, db, writing.written.side);
        }
        Ok(())
    }

    /// Whether the heads of the next write go into the tables. Makes room for them.
    fn gathers(&self, writing: &mut Writing, db: &Db, batch: &RawBatch, heads: &RawBatch) -> Result<bool, String> {
        if self.most.table_bytes == 0 {
            return Ok(false);
        }
        if heads.as_bytes().len() > self.most.table_bytes / LARGE_SHARE {
            self.write_all(writing, db)?;
            return Ok(false);
        }
        let has_many = u64::from(heads.operations()) >= MANY_HEADS;
        writing.few_in_a_row = if has_many { 0 } else { writing.few_in_a_row.saturating_add(1) };
        if has_many && writing.only_deletes_others(heads) {
            return Ok(false);
        }
        match &mut writing.state {
            State::Past(repeats) => {
                if repeats.are_many(heads.changes(), batch.as_bytes().len() + heads.as_bytes().len()) {
                    writing.state = State::Gather;
                }
                return Ok(false);
            }
            State::Gather if !has_many && !self.is_holding() => return Ok(false),
            State::Gather if writing.few_in_a_row >= FEW_AFTER_MANY => writing.state = State::Empty { then_past: false },
            State::Empty { then_past: false } if has_many => writing.state = State::Gather,
            State::Gather | State::Empty { .. } => {}
        }
        if !writing.written.numbers.is_empty() {
            return Ok(true);
        }
        let (bytes, spares_little) = {
            let tables = self.tables.read();
            (tables.bytes(), tables.spares_little())
        };
        let Redo { log_bytes, numbers, .. } = &writing.filled;
        let is_full = self.most.is_reached(bytes, *log_bytes, numbers.len());
        match writing.state {
            State::Gather if is_full && spares_little => {
                writing.state = State::Empty { then_past: true };
            }
            State::Gather if is_full => {}
            // What is left to do is little, or not more than this write.
            State::Empty { then_past } if bytes <= LITTLE.max(weight(batch, heads).saturating_mul(2)) => {
                self.write_all(writing, db)?;
                writing.state = if then_past { State::Past(Repeats::new(self.most)) } else { State::Gather };
                return Ok(false);
            }
            State::Empty { .. } => {}
            State::Gather | State::Past(_) => return Ok(true),
        }
        self.tables.write().swap();
        let filled = Redo::on(writing.filled.side.other());
        writing.written = mem::replace(&mut writing.filled, filled);
        Ok(true)
    }

    /// Writes all heads back. There are no others, but for those of who holds what it returns.
    ///
    /// # Errors
    /// RocksDB's, and where a write has failed before, whose outcome nobody knows: the redo is there for who opens the database next.
    pub fn finish(&self, db: &Db) -> Result<MutexGuard<'_, Writing>, String> {
        let mut writing = self.writing.lock();
        self.write_all(&mut writing, db)?;
        Ok(writing)
    }

    fn write_all(&self, writing: &mut Writing, db: &Db) -> Result<(), String> {
        let (true, Some(numbers)) = (self.is_holding(), self.numbers(db)) else { return Ok(()) };
        let mut batch = RawBatch::with_room(0);
        numbers.put(&mut batch, self.tables.read().all());
        numbers.delete(&mut batch, &writing.written);
        numbers.delete(&mut batch, &writing.filled);
        // Not synced: if it is lost, the redo is there.
        writing.write(db, &batch, &WriteOptions::default())?;
        let written = mem::take(&mut *self.tables.write());
        self.is_holding.store(false, Ordering::SeqCst);
        drop(written);
        for redo in [&mut writing.written, &mut writing.filled] {
            *redo = Redo::on(redo.side);
        }
        for side in [Side::One, Side::Other] {
            self.empty_memtable(writing, db, side);
        }
        Ok(())
    }

    /// To be called when a redo is deleted: its memtable holds nothing that is needed, and makes no file. Otherwise it would keep the
    /// log, and be written when that is too long, together with redo that is needed then.
    fn empty_memtable(&self, writing: &mut Writing, db: &Db, side: Side) {
        let bytes = side.of_mut(&mut writing.memtable_bytes);
        if *bytes < self.most.log_bytes / EMPTIED_SHARE {
            return;
        }
        *bytes = 0;
        let Some(family) = db.cf_handle(side.of::<&str>(&redo::KEYSPACES)) else { return };
        let mut flush = FlushOptions::default();
        flush.set_wait(false);
        // Where it fails, the log is too long some time.
        let _ = db.flush_cf_opt(&family, &flush);
    }

    /// `None` in a database that has no such keyspaces.
    fn numbers(&self, db: &Db) -> Option<&Numbers> {
        if self.numbers.get().is_none() {
            let number = |name| Some(Family::new(db.cf_handle(name)?).ok()?.number);
            let [one, other] = redo::KEYSPACES;
            let _first = self.numbers.set(Numbers { heads: number(HEADS)?, redo: [number(one)?, number(other)?] });
        }
        self.numbers.get()
    }
}

/// What batches know the keyspaces by.
struct Numbers {
    heads: FamilyNumber,
    redo: [FamilyNumber; 2],
}

impl Numbers {
    /// Puts heads into their keyspace.
    fn put(&self, batch: &mut RawBatch, heads: Vec<Head<'_>>) {
        for (key, value) in heads {
            match value {
                Some(value) => batch.put(self.heads, key, value),
                None => batch.delete(self.heads, key),
            }
        }
    }

    /// Deletes the redo of a table.
    fn delete(&self, batch: &mut RawBatch, redo: &Redo) {
        redo.numbers.iter().for_each(|number| batch.single_delete(*redo.side.of(&self.redo), &number.to_be_bytes()));
    }
}

/// What a write takes of the log and of a table together, in bytes.
fn weight(batch: &RawBatch, heads: &RawBatch) -> usize {
    let entries = usize::try_from(heads.operations()).unwrap_or(usize::MAX);
    batch.as_bytes().len() + heads.as_bytes().len() + entries.saturating_mul(ENTRY_BYTES)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
