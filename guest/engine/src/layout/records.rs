//! Records in the order in which a layout's readers want them: mostly a range of a keyspace, as it is stored.

use super::{RecordKey, RecordRange};
use crate::error::Result;
use crate::store::{Direction, Keyspace, Pieces};
use crate::transaction::{Run, Scan, Transaction};
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

    /// The next ones, where they lie in a page.
    pub fn stored(&mut self) -> Option<&mut Pieces<'r>> {
        self.run.stored()
    }
}

impl<'r> Iterator for LentRecords<'r> {
    type Item = LentRecord<'r>;

    #[inline(always)]
    fn next(&mut self) -> Option<LentRecord<'r>> {
        self.run.next().map(|(key, value)| LentRecord { keyspace: self.keyspace, key, value })
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
