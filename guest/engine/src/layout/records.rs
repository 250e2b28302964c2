//! Records in the order in which a layout's readers want them: mostly a range of a keyspace, as it is stored.

use super::{RecordKey, RecordRange, ordered_score};
use crate::error::Result;
use crate::store::{Chunks, Direction, Keyspace, Lying, Pieces, StringSink};
use crate::transaction::{Run, Scan, Transaction};
use arrayvec::ArrayVec;
use bytes::Bytes;
use std::fmt::Debug;
use std::ops::ControlFlow;
use std::rc::Rc;

/// A stored record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where it is.
    pub keyspace: Keyspace,
    /// Its key.
    pub key: Bytes,
    /// Its value.
    pub value: Bytes,
}

/// A stored record that is only looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LentRecord<'r> {
    /// Where it is.
    pub keyspace: Keyspace,
    /// Its key.
    pub key: &'r [u8],
    /// Its value.
    pub value: &'r [u8],
}

impl LentRecord<'_> {
    /// A copy.
    #[must_use]
    pub fn to_record(self) -> Record {
        let Self { keyspace, key, value } = self;
        Record { keyspace, key: Bytes::copy_from_slice(key), value: Bytes::copy_from_slice(value) }
    }
}

/// Records in an order, to be walked from either end.
#[derive(Clone, Debug)]
pub enum Records {
    /// All records of a range.
    Range(RecordRange),
    /// Those of a range that a choice takes.
    Chosen(RecordRange, Rc<dyn Choice>),
    /// Those of each part, one part after the other; no two parts are in the same keyspace.
    Chain(Vec<Records>),
    /// Records in an order that is not that of their keys.
    Own(Rc<dyn OwnOrder>),
}

/// Which records of a range belong to what is walked over. Formats that leave dead records beside the live ones, or that keep
/// other records between them, need it.
pub trait Choice: Debug {
    /// What is to be done about a record that a walk has come to.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    fn judge(&self, transaction: &mut Transaction<'_>, record: &Record, direction: Direction) -> Result<Verdict>;
}

/// See [`Choice::judge`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is one of them.
    Take,
    /// It is not.
    Pass,
    /// It is not, and neither is any on the way to this key. A walk forward goes on at the key, a walk backwards before it.
    Jump(Vec<u8>),
}

/// An order of the layout's own. The records that its walks come to need not be stored like this: they are what the layout's
/// decoding functions take.
pub trait OwnOrder: Debug {
    /// A walk. About `expected` records will be read.
    fn walk(&self, direction: Direction, expected: usize) -> Box<dyn OwnWalk>;

    /// A range that nothing else has: what walks in steps are told apart by.
    fn range(&self) -> RecordRange;

    /// The records behind one that a walk forward has come to.
    fn behind(&self, record: &RecordKey) -> Rc<dyn OwnOrder>;
}

/// See [`OwnOrder::walk`].
pub trait OwnWalk: Debug {
    /// The next record; `None` behind the last one.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    fn next(&mut self, transaction: &mut Transaction<'_>) -> Result<Option<Record>>;
}

impl Records {
    /// A walk from the first record forward, or from the last one backwards. About `expected` records will be read.
    #[must_use]
    pub fn walk(self, direction: Direction, expected: usize) -> Walk {
        match self {
            Self::Range((keyspace, range)) => Walk::Range(keyspace, Scan::new(keyspace, range, direction, expected)),
            Self::Chosen(range, choice) => Walk::Chosen(Chosen::new(range, choice, direction, expected)),
            Self::Chain(mut rest) => {
                if direction == Direction::Forward {
                    rest.reverse();
                }
                Walk::Chain(Box::new(Chain { current: None, rest, direction, expected }))
            }
            Self::Own(order) => Walk::Own(order.walk(direction, expected)),
        }
    }

    /// The first record in a direction.
    ///
    /// # Errors
    /// As [`Walk::next`].
    pub fn first(&self, transaction: &mut Transaction<'_>, direction: Direction) -> Result<Option<Record>> {
        self.clone().walk(direction, 1).next(transaction)
    }

    /// How many records there are. Walks over all of them.
    ///
    /// # Errors
    /// As [`Walk::next`].
    pub fn count(self, transaction: &mut Transaction<'_>) -> Result<u64> {
        let mut walk = self.walk(Direction::Forward, 64);
        let mut count = 0;
        while walk.next(transaction)?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// The records behind one of them that a walk forward has come to.
    #[must_use]
    pub fn behind(&self, record: &RecordKey) -> Self {
        let cut = |(keyspace, range): &RecordRange| {
            let mut range = range.clone();
            (range.start, range.after_start) = (record.1.to_vec(), true);
            (*keyspace, range)
        };
        match self {
            Self::Range(range) => Self::Range(cut(range)),
            Self::Chosen(range, choice) => Self::Chosen(cut(range), Rc::clone(choice)),
            Self::Chain(parts) => {
                let mut rest = parts.iter().skip_while(|part| part.range().0 != record.0);
                let first = rest.next().map(|part| part.behind(record));
                Self::Chain(first.into_iter().chain(rest.cloned()).collect())
            }
            Self::Own(order) => Self::Own(order.behind(record)),
        }
    }

    /// Those from one key up to another, which is not among them; `None`: from or to the end. `None` where there is more than one range, or
    /// an order of the layout's own.
    #[must_use]
    pub fn between(&self, start: Option<&[u8]>, end: Option<&[u8]>) -> Option<Self> {
        let cut = |(keyspace, range): &RecordRange| {
            let mut range = range.clone();
            if let Some(start) = start {
                (range.start, range.after_start) = (start.to_vec(), false);
            }
            if let Some(end) = end {
                range.end = Some(end.to_vec());
            }
            (*keyspace, range)
        };
        match self {
            Self::Range(range) => Some(Self::Range(cut(range))),
            Self::Chosen(range, choice) => Some(Self::Chosen(cut(range), Rc::clone(choice))),
            Self::Chain(_) | Self::Own(_) => None,
        }
    }

    /// A range by which these records are told from others: that of the first part.
    #[must_use]
    pub fn range(&self) -> RecordRange {
        match self {
            Self::Range(range) | Self::Chosen(range, _) => range.clone(),
            Self::Chain(parts) => parts.first().map_or_else(|| (Keyspace(0), crate::store::KeyRange::all()), Self::range),
            Self::Own(order) => order.range(),
        }
    }
}

/// A walk over [`Records`]. The transaction may change records between two steps, see [`Scan`].
#[derive(Debug)]
pub enum Walk {
    /// Over a range.
    Range(Keyspace, Scan),
    /// Over what a choice takes.
    Chosen(Chosen),
    /// Over parts.
    Chain(Box<Chain>),
    /// In an order of the layout's own.
    Own(Box<dyn OwnWalk>),
}

impl Walk {
    /// The next record as the transaction has left it; `None` behind the last one.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    pub fn next(&mut self, transaction: &mut Transaction<'_>) -> Result<Option<Record>> {
        match self {
            Self::Range(keyspace, scan) => {
                let next = transaction.next(scan)?;
                Ok(next.map(|(key, value)| Record { keyspace: *keyspace, key, value }))
            }
            Self::Chosen(chosen) => chosen.next(transaction),
            Self::Chain(chain) => chain.next(transaction),
            Self::Own(walk) => walk.next(transaction),
        }
    }

    /// Hands the records that are left to `visit`, run by run, as [`Transaction::each_run`] does. Costs less than [`Walk::next`] for each.
    ///
    /// # Errors
    /// As [`Walk::next`], and those of `visit`.
    pub fn each_run(
        &mut self,
        transaction: &mut Transaction<'_>,
        mut visit: impl FnMut(&mut LentRecords<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        if let Self::Range(keyspace, scan) = self {
            let keyspace = *keyspace;
            return transaction.each_run(scan, |run| {
                let mut records = LentRecords { keyspace, run: run.clone() };
                let flow = visit(&mut records);
                *run = records.run;
                flow
            });
        }
        while let Some(Record { keyspace, key, value }) = self.next(transaction)? {
            if visit(&mut LentRecords { keyspace, run: Run::of(&key, &value) })?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Hands each of the records that are left to `visit`.
    ///
    /// # Errors
    /// As [`Walk::next`].
    pub fn each(&mut self, transaction: &mut Transaction<'_>, mut visit: impl FnMut(LentRecord<'_>)) -> Result<()> {
        self.each_run(transaction, |records| {
            records.for_each(&mut visit);
            Ok(ControlFlow::Continue(()))
        })
    }
}

/// Records of a walk, one behind the other.
#[derive(Clone, Debug)]
pub struct LentRecords<'r> {
    keyspace: Keyspace,
    run: Run<'r>,
}

impl<'r> LentRecords<'r> {
    /// Those of a run.
    #[must_use]
    pub const fn of(keyspace: Keyspace, run: Run<'r>) -> Self {
        Self { keyspace, run }
    }
}

impl<'r> Iterator for LentRecords<'r> {
    type Item = LentRecord<'r>;

    #[inline(always)]
    fn next(&mut self) -> Option<LentRecord<'r>> {
        self.run.next().map(|(key, value)| LentRecord { keyspace: self.keyspace, key, value })
    }
}

/// How much of records is handed over at once. (One call for each record costs a component as much as the rest: a call waits for the stack
/// pointer, which is in memory there, and for what the caller has put aside.)
const ROWS: usize = 128;

/// How many bytes are handed over at once as they lie: room is made for all of them before any is looked at. (Strings that are long on the average
/// gain nothing by it.)
const MOST_LYING_BYTES: usize = 32 << 10;

/// Hands what `lend` makes of `records` to `visit`, some at a time, `left` of them at most, until it breaks off.
///
/// # Errors
/// Those of `lend`.
#[inline(always)]
fn lend_rows<'r, T: Copy>(
    records: &mut LentRecords<'r>,
    left: &mut u64,
    mut lend: impl FnMut(LentRecord<'r>) -> Result<Option<T>>,
    mut visit: impl FnMut(&[T]) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let mut rows = ArrayVec::<T, ROWS>::new();
    let mut are_more = true;
    while are_more && *left > 0 {
        let wanted = usize::try_from(*left).unwrap_or(usize::MAX).min(ROWS);
        rows.clear();
        // In registers: where the caller looks at them, each step would wait for what the one before it has stored.
        let mut next = records.clone();
        while rows.len() < wanted {
            let Some(record) = next.next() else {
                are_more = false;
                break;
            };
            if let Some(row) = lend(record)? {
                rows.push(row);
            }
        }
        *records = next;
        *left = left.saturating_sub(u64::try_from(rows.len()).unwrap_or(u64::MAX));
        if !rows.is_empty() && visit(&rows).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(if are_more { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
}

/// What a walk hands over at once.
#[derive(Debug)]
pub enum Lot<'l, 'r, T> {
    /// Records of which some may be taken as they lie. Those that are not come as rows.
    Stored(&'l mut Stored<'r>),
    /// Rows.
    Rows(&'l [T]),
}

impl<'l, T> Lot<'l, '_, T> {
    /// The rows, for whoever takes nothing else.
    #[must_use]
    pub const fn rows(&self) -> &'l [T] {
        match self {
            Self::Stored(_) => &[],
            Self::Rows(rows) => rows,
        }
    }
}

/// Strings up to this are copied with what lies behind them, in one loop.
const SHORT: usize = 32;
/// And up to this in another one.
const LONG: usize = 128;

/// Stored records of a [`Form`]: what can be handed over without a look at anything else.
#[derive(Debug)]
pub struct Stored<'r> {
    pieces: Pieces<'r>,
    form: Form,
    /// How many may be taken.
    most: usize,
    /// How many have been.
    taken: usize,
}

/// What such a record is. Those that are not of the form are not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// The key is a number and a member; there is no value.
    Member,
    /// The key is a number, a score in its [ordered form](super::ordered_score), and a member; there is no value.
    ScoredMember,
    /// The key is a number and the name of a field, the value a zero and what the field holds.
    Field,
    /// The key is a number and an index, the value is the element. Indexes follow each other from this one on.
    Element(u64),
}

impl<'r> Stored<'r> {
    /// Some of the first of these, `left` at most; `None` where not even one is to be handed over like this.
    fn new(pieces: &Pieces<'r>, form: Form, left: u64) -> Option<Self> {
        let mut most = usize::try_from(left).unwrap_or(usize::MAX).min(ROWS).min(pieces.left());
        while pieces.bytes_of(most) > MOST_LYING_BYTES {
            most /= 2;
        }
        (most > 0).then(|| Self { pieces: pieces.clone(), form, most, taken: 0 })
    }

    /// How many may be taken at most.
    #[must_use]
    pub const fn most(&self) -> usize {
        self.most.saturating_sub(self.taken)
    }

    /// How many bytes the strings have that are in these, at most. (Fewer than they have only beside records of another form, which are not
    /// taken; what there is no room for is not either.)
    #[must_use]
    pub fn bytes(&self) -> usize {
        let others = match self.form {
            Form::Member => 8,
            Form::Field => 9,
            Form::ScoredMember | Form::Element(_) => 16,
        };
        self.pieces.bytes_of(self.most()).saturating_sub(self.most() * others)
    }

    /// Puts members or elements to `sink`, as long as it takes them. Returns how many it has taken.
    #[inline]
    pub fn take_strings(&mut self, sink: &mut impl StringSink) -> usize {
        match self.form {
            Form::Member => self.take_behind(sink, |lying, _: &[u8; 8]| lying.value_bytes() == 0),
            Form::ScoredMember => self.take_behind(sink, |lying, &[_, _, _, _, _, _, _, _, ref score @ ..]: &[u8; 16]| {
                lying.value_bytes() == 0 && ordered_score::is_one(u64::from_be_bytes(*score))
            }),
            Form::Element(first) => self.take_behind(sink, |lying, &[_, _, _, _, _, _, _, _, ref index @ ..]: &[u8; 16]| {
                let is_next = u64::from_be_bytes(*index).wrapping_sub(first) == lying.before as u64;
                is_next && lying.key_bytes() == 16
            }),
            Form::Field => 0,
        }
    }

    /// Puts what fields hold to `sink`, behind their names where these are wanted, as long as it takes them. Returns how many it has taken.
    #[inline]
    pub fn take_fields(&mut self, with_names: bool, sink: &mut impl StringSink) -> usize {
        match (self.form, with_names) {
            (Form::Field, true) => self.in_turns(|fields, before| {
                fields.pairs::<SHORT, SHORT>(sink);
                fields.pairs::<SHORT, LONG>(sink);
                fields.take(fields.alone(before), |bytes, lying| split_field(bytes, lying).is_some_and(|field| sink.put_any(field)));
            }),
            (Form::Field, false) => self.in_turns(|fields, before| {
                fields.values::<LONG>(sink);
                fields.take(fields.alone(before), |bytes, lying| split_field(bytes, lying).is_some_and(|[_, value]| sink.put_any([value])));
            }),
            _ => 0,
        }
    }

    /// Puts what follows the first `KEY` bytes of each record to `sink`, as long as it takes that and the record is of the form.
    fn take_behind<const KEY: usize>(
        &mut self,
        sink: &mut impl StringSink,
        is_of_form: impl Fn(Lying, &[u8; KEY]) -> bool + Copy,
    ) -> usize {
        self.in_turns(|records, before| {
            records.behind::<KEY, SHORT>(sink, is_of_form);
            records.behind::<KEY, LONG>(sink, is_of_form);
            records.take(records.alone(before), |bytes, lying| {
                let record = bytes.get(lying.start..lying.end).and_then(|record| record.split_first_chunk());
                record.is_some_and(|(key, string)| is_of_form(lying, key) && sink.put_any([string]))
            });
        })
    }

    /// How many of the next are put one by one, where `before` were taken before the last turn of the loops: where these took none, the next most likely are
    /// too long as well.
    const fn alone(&self, before: usize) -> usize {
        if self.taken == before { 8 } else { 1 }
    }

    /// Has `take` take some of the records, each kind in its own loop, until it takes none; it is told how many were taken before. Returns how many it has
    /// taken.
    fn in_turns(&mut self, mut take: impl FnMut(&mut Self, usize)) -> usize {
        let start = self.taken;
        loop {
            let before = self.taken;
            take(self, before);
            if self.taken == before || self.taken == self.most {
                return self.taken.saturating_sub(start);
            }
        }
    }

    /// Has `take` take the next records, `most` at most, as long as it takes them: it is told the bytes of the page, and where the record lies in them.
    #[inline(always)]
    fn take(&mut self, most: usize, mut take: impl FnMut(&'r [u8], Lying) -> bool) {
        let (bytes, before) = (self.pieces.bytes(), self.taken);
        let most = most.min(self.most());
        self.taken += self.pieces.take_lying(most, |lying| take(bytes, Lying { before: before + lying.before, ..lying }));
    }

    /// As [`Stored::take_behind`], of strings that are in a chunk.
    // A function for each of these loops: all registers are its own.
    #[inline(never)]
    fn behind<const KEY: usize, const C: usize>(&mut self, sink: &mut impl StringSink, is_of_form: impl Fn(Lying, &[u8; KEY]) -> bool) {
        let (Some(chunks), Some(last)) = (Chunks::of(self.pieces.bytes(), KEY + C), sink.last_for(1, C)) else { return };
        // What it counts is in a register then, not in its place in memory.
        let mut own = std::mem::take(sink);
        self.take(usize::MAX, |_, lying| {
            let mut put = || {
                let (key, chunk) = chunks.at(lying.start)?.split_first_chunk()?;
                let string = (chunk.first_chunk::<C>()?, lying.end.wrapping_sub(lying.start).wrapping_sub(KEY));
                Some(is_of_form(lying, key) && own.put(last, string))
            };
            put().unwrap_or_default()
        });
        *sink = own;
    }

    /// Puts fields with what they hold, both of which are in a chunk.
    #[inline(never)]
    fn pairs<const NAME: usize, const VALUE: usize>(&mut self, sink: &mut impl StringSink) {
        let bytes = self.pieces.bytes();
        let (names, values) = (Chunks::of(bytes, PREFIX + NAME), Chunks::of(bytes, 1 + VALUE));
        let (Some(names), Some(values), Some(last)) = (names, values, sink.last_for(2, NAME + VALUE)) else { return };
        let mut own = std::mem::take(sink);
        self.take(usize::MAX, |_, lying| {
            let mut put = || {
                let name = names.at(lying.start)?.get(PREFIX..)?.first_chunk::<NAME>()?;
                let [0, value @ ..] = values.at(lying.key_end)? else { return None };
                let value = (value.first_chunk::<VALUE>()?, lying.value_bytes().wrapping_sub(1));
                Some(own.put_pair(last, (name, lying.key_bytes().wrapping_sub(PREFIX)), value))
            };
            put().unwrap_or_default()
        });
        *sink = own;
    }

    /// Puts what fields hold, where that is in a chunk.
    #[inline(never)]
    fn values<const VALUE: usize>(&mut self, sink: &mut impl StringSink) {
        let (Some(values), Some(last)) = (Chunks::of(self.pieces.bytes(), 1 + VALUE), sink.last_for(1, VALUE)) else { return };
        let mut own = std::mem::take(sink);
        self.take(usize::MAX, |_, lying| {
            let mut put = || {
                let [0, value @ ..] = values.at(lying.key_end)? else { return None };
                let has_name = lying.start.checked_add(PREFIX).is_some_and(|name| name <= lying.key_end);
                let value = (value.first_chunk::<VALUE>()?, lying.value_bytes().wrapping_sub(1));
                Some(has_name && own.put(last, value))
            };
            put().unwrap_or_default()
        });
        *sink = own;
    }
}

/// The bytes of the number that the key of a field begins with.
const PREFIX: usize = 8;

/// The name of a field and what it holds; `None` where the record is none of [that form](Form::Field).
fn split_field(bytes: &[u8], lying: Lying) -> Option<[&[u8]; 2]> {
    let name = bytes.get(lying.start..lying.key_end)?.get(PREFIX..)?;
    let [0, value @ ..] = bytes.get(lying.key_end..lying.end)? else { return None };
    Some([name, value])
}

/// Hands records to `visit`, some at a time, `left` of them at most, until it breaks off: those that are of a form as they lie, others as what
/// `lend` makes of them.
///
/// # Errors
/// Those of `lend`.
#[inline(always)]
pub fn lend_lots<'r, T: Copy>(
    records: &mut LentRecords<'r>,
    left: &mut u64,
    form: impl Fn() -> Option<Form>,
    mut lend: impl FnMut(LentRecord<'r>) -> Result<Option<T>>,
    mut visit: impl FnMut(Lot<'_, '_, T>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    loop {
        if let (Some(pieces), Some(form)) = (records.run.stored(), form())
            && let Some(mut stored) = Stored::new(pieces, form, *left)
        {
            let flow = visit(Lot::Stored(&mut stored));
            *pieces = stored.pieces;
            *left = left.saturating_sub(u64::try_from(stored.taken).unwrap_or(u64::MAX));
            if flow.is_break() || *left == 0 {
                return Ok(ControlFlow::Break(()));
            }
            if stored.taken == stored.most {
                continue;
            }
        }
        // One lot of rows, and then stored records again.
        let some = (*left).min(ROWS as u64);
        let (mut some_left, mut flow) = (some, ControlFlow::Continue(()));
        let rest = lend_rows(records, &mut some_left, &mut lend, |rows| {
            flow = visit(Lot::Rows(rows));
            flow
        })?;
        *left = left.saturating_sub(some - some_left);
        if flow.is_break() || *left == 0 {
            return Ok(ControlFlow::Break(()));
        }
        if rest.is_continue() {
            return Ok(rest);
        }
    }
}

/// See [`Walk::Chosen`].
#[derive(Debug)]
pub struct Chosen {
    range: RecordRange,
    scan: Scan,
    choice: Rc<dyn Choice>,
    direction: Direction,
    expected: usize,
}

impl Chosen {
    fn new(range: RecordRange, choice: Rc<dyn Choice>, direction: Direction, expected: usize) -> Self {
        let scan = Scan::new(range.0, range.1.clone(), direction, expected);
        Self { range, scan, choice, direction, expected }
    }

    fn next(&mut self, transaction: &mut Transaction<'_>) -> Result<Option<Record>> {
        let keyspace = self.range.0;
        while let Some((key, value)) = transaction.next(&mut self.scan)? {
            let record = Record { keyspace, key, value };
            match self.choice.judge(transaction, &record, self.direction)? {
                Verdict::Take => return Ok(Some(record)),
                Verdict::Pass => {}
                Verdict::Jump(to) => self.jump(to),
            }
        }
        Ok(None)
    }

    fn jump(&mut self, to: Vec<u8>) {
        let range = &mut self.range.1;
        match self.direction {
            Direction::Forward => (range.start, range.after_start) = (to, false),
            Direction::Reverse => range.end = Some(to),
        }
        // What is between two records that are taken is read for nothing.
        self.scan = Scan::new(self.range.0, range.clone(), self.direction, self.expected.min(1));
    }
}

/// See [`Walk::Chain`].
#[derive(Debug)]
pub struct Chain {
    current: Option<Walk>,
    /// The parts to come, the next one last.
    rest: Vec<Records>,
    direction: Direction,
    expected: usize,
}

impl Chain {
    fn next(&mut self, transaction: &mut Transaction<'_>) -> Result<Option<Record>> {
        loop {
            if let Some(current) = &mut self.current
                && let Some(record) = current.next(transaction)?
            {
                return Ok(Some(record));
            }
            let Some(part) = self.rest.pop() else { return Ok(None) };
            self.current = Some(part.walk(self.direction, self.expected));
        }
    }
}

#[cfg(test)]
mod tests;
