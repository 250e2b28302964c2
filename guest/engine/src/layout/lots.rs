//! What walks over records hand over at once: rows, or records that are taken as they lie.

use super::ordered_score;
use super::records::{LentRecord, LentRecords};
use crate::error::Result;
use crate::store::{Chunks, Lying, Pieces, StringSink};
use arrayvec::ArrayVec;
use std::ops::ControlFlow;

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
        if let (Some(pieces), Some(form)) = (records.stored(), form())
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

#[cfg(test)]
mod tests;
