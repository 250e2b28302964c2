//! SCAN and its kin: walks that clients take in steps, with cursors that need no memory of the server.
//!
//! Elements are walked in the store's order of their records. The cursor that a step answers with is a hash of the record that it
//! returned last, in 63 bits and never 0: 0 begins a walk, and says that it is over. The next step finds that record again
//! 1. in a small table of the instance ([`Positions`]), which only saves time,
//! 2. or else by walking from the start of the range and hashing every record on the way: after a restart, on another server,
//! 3. and where the record is gone by then, the walk starts over.
//!
//! None of these ever leaves out what lies between the old place and the new one, which is what SCAN guarantees: an element
//! that is there from the first step to the last is returned, if need be more than once. `docs/scan.md` has the reasoning and
//! the costs. Record keys begin with the space or the collection's version, so a cursor of one walk says nothing in another.

use crate::error::Result;
use crate::glob;
use crate::layout::records::{Record, Records, Walk};
use crate::layout::{RecordKey, RecordRange};
use crate::store::Direction;
use crate::transaction::Transaction;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};

/// Places in the table of positions.
const SLOTS: u64 = 1024;
/// A position of more bytes is not kept: the table stays below `SLOTS` times this.
const MAX_POSITION_BYTES: usize = 4096;
/// Most elements that one step visits, whatever COUNT says, so that a step's memory is bounded.
const MAX_STEP_ELEMENTS: usize = 1 << 16;
/// A step ends once it has visited this many bytes of records.
const MAX_STEP_BYTES: usize = 16 << 20;

/// Where recent steps left off, by cursor. It only saves walking: any of it may be missing at any time.
#[derive(Clone, Debug, Default)]
pub struct Positions {
    /// By cursor modulo [`SLOTS`].
    slots: BTreeMap<u64, Position>,
}

#[derive(Clone, Debug)]
struct Position {
    cursor: u64,
    /// The walk that the cursor belongs to.
    range: RecordRange,
    /// The record that was returned last.
    last: RecordKey,
}

impl Positions {
    fn find(&self, range: &RecordRange, cursor: u64) -> Option<&Position> {
        self.slots.get(&(cursor % SLOTS)).filter(|position| position.cursor == cursor && position.range == *range)
    }

    fn remember(&mut self, range: RecordRange, cursor: u64, last: &Record) {
        let end = range.1.end.as_ref().map_or(0, Vec::len);
        if last.key.len() + range.1.start.len() + end <= MAX_POSITION_BYTES {
            // A copy: a slice would keep the whole page that it came with.
            let last = (last.keyspace, Bytes::copy_from_slice(&last.key));
            self.slots.insert(cursor % SLOTS, Position { cursor, range, last });
        }
    }
}

/// What one step of a walk found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step<T> {
    /// The elements, in the order of their records.
    pub elements: Vec<T>,
    /// Where the next step goes on; 0: the walk is over.
    pub cursor: u64,
}

impl<T> Step<T> {
    /// A walk over nothing.
    #[must_use]
    pub const fn over() -> Self {
        Self { elements: Vec::new(), cursor: 0 }
    }
}

/// Which elements a step returns, of how many that it visits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Glob pattern of the name; `None`: every name.
    pub pattern: Option<Bytes>,
    /// How many elements to visit; those that the pattern leaves out count too. Values above 65536 mean that.
    pub count: usize,
}

impl Default for Filter {
    fn default() -> Self {
        Self { pattern: None, count: 10 }
    }
}

impl Filter {
    /// Whether the pattern takes this name.
    #[must_use]
    pub fn takes(&self, name: &[u8]) -> bool {
        self.pattern.as_ref().is_none_or(|pattern| glob::matches(pattern, name, false))
    }
}

/// One step over records, from where `cursor` left off.
///
/// # Errors
/// Store errors.
pub fn records(
    transaction: &mut Transaction<'_>,
    positions: &mut Positions,
    records: &Records,
    cursor: u64,
    count: usize,
) -> Result<Step<Record>> {
    let count = count.min(MAX_STEP_ELEMENTS);
    // One more than asked for: it tells whether the walk is over.
    let mut walk = resume(transaction, positions, records, cursor, count + 1)?;
    let mut step: Step<Record> = Step::over();
    let mut bytes = 0;
    while let Some(record) = walk.next(transaction)? {
        let is_full = step.elements.len() >= count || bytes >= MAX_STEP_BYTES;
        if is_full && let Some(last) = step.elements.last() {
            step.cursor = cursor_behind(last);
            positions.remember(records.range(), step.cursor, last);
            break;
        }
        bytes += record.key.len() + record.value.len();
        step.elements.push(record);
    }
    Ok(step)
}

/// A walk that goes on where `cursor` left off; see the module's documentation.
fn resume(transaction: &mut Transaction<'_>, positions: &Positions, records: &Records, cursor: u64, expected: usize) -> Result<Walk> {
    let walk = |records: &Records, expected| records.clone().walk(Direction::Forward, expected);
    if cursor == 0 {
        return Ok(walk(records, expected));
    }
    if let Some(Position { last, .. }) = positions.find(&records.range(), cursor) {
        return Ok(records.behind(last).walk(Direction::Forward, expected));
    }
    let mut passing = walk(records, usize::MAX);
    while let Some(record) = passing.next(transaction)? {
        // The first of several with the same hash: too early repeats elements, too late would leave some out.
        if cursor_behind(&record) == cursor {
            return Ok(passing);
        }
    }
    Ok(walk(records, expected))
}

/// The cursor of a step with this last record. A build that hashes differently finds no record for it and starts over,
/// so it need not be the same for ever.
fn cursor_behind(record: &Record) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u32(record.keyspace.0);
    hasher.write(&record.key);
    (hasher.finish() >> 1).max(1)
}
