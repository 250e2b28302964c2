//! Pages: SQL bounds their rows, the contract their bytes. Rows are asked for as many as probably fill the page.

use orbweaver_engine::store::{Direction, KeyRange, Keyspace, Order, Page, PageBuilder, PageLimit};
use std::collections::BTreeMap;
use tokio_postgres::{Error, Row};

/// How large a record is taken to be before any was seen: a page of a mebibyte then begins with 128 rows.
const UNKNOWN_BYTES: usize = 8192;

/// Most rows of one request, however small the records have been: the next ones may be large.
const MOST_ROWS: usize = 2048;

/// How large the records of each keyspace have been, on average over the page that was read last.
#[derive(Debug, Default)]
pub struct Sizes(BTreeMap<Keyspace, usize>);

impl Sizes {
    pub fn of(&self, keyspace: Keyspace) -> usize {
        self.0.get(&keyspace).copied().unwrap_or(UNKNOWN_BYTES)
    }

    pub fn note(&mut self, keyspace: Keyspace, bytes: usize) {
        self.0.insert(keyspace, bytes);
    }
}

/// A page while it is read.
pub struct Walk {
    /// What is left of the range; `None` when nothing more is to be read.
    rest: Option<(Vec<u8>, Option<Vec<u8>>)>,
    direction: Direction,
    limit: PageLimit,
    page: PageBuilder,
    more: bool,
    /// Rows that the request asked for which is under way.
    asked: usize,
    records: usize,
    bytes: usize,
    record_bytes: usize,
}

impl Walk {
    /// A page of `range`, whose records are probably of `record_bytes` bytes.
    pub fn new(range: &KeyRange, direction: Direction, limit: PageLimit, record_bytes: usize) -> Self {
        let mut start = range.start.clone();
        if range.after_start {
            // The smallest key behind it.
            start.push(0);
        }
        let rest = KeyRange { start, after_start: false, end: range.end.clone() };
        let rest = (!rest.is_empty(Order::Bytes)).then_some((rest.start, rest.end));
        let (page, asked, records, bytes) = (PageBuilder::new(limit), 0, 0, 0);
        Self { rest, direction, limit, page, more: false, asked, records, bytes, record_bytes }
    }

    /// How many rows to ask for next; `None` when the page is complete.
    pub fn next_rows(&mut self) -> Option<i64> {
        self.rest.as_ref()?;
        let most = |limit: u32| usize::try_from(limit).unwrap_or(usize::MAX);
        let by_bytes = most(self.limit.max_bytes).saturating_sub(self.bytes) / self.record_bytes.max(1);
        let by_items = most(self.limit.max_items).saturating_sub(self.records);
        self.asked = by_bytes.saturating_add(1).min(by_items).clamp(1, MOST_ROWS);
        i64::try_from(self.asked).ok()
    }

    /// The bounds of what is left.
    pub fn range(&self) -> (&[u8], Option<&[u8]>) {
        self.rest.as_ref().map_or((&[], None), |(start, end)| (start.as_slice(), end.as_deref()))
    }

    /// Takes the rows that came.
    pub fn take(&mut self, rows: &[Row]) -> Result<(), Error> {
        let Some((mut start, mut end)) = self.rest.take() else { return Ok(()) };
        for row in rows {
            let (key, value): (&[u8], &[u8]) = (row.try_get(0)?, row.try_get(1)?);
            if self.page.is_full() || !self.page.push(key, value) {
                self.more = true;
                return Ok(());
            }
            self.records += 1;
            self.bytes += key.len() + value.len();
        }
        self.record_bytes = self.bytes.checked_div(self.records).unwrap_or(self.record_bytes).max(1);
        if rows.len() < self.asked {
            return Ok(());
        }
        self.more = true;
        if let Some(last) = rows.last().filter(|_| !self.page.is_full()) {
            let last: &[u8] = last.try_get(0)?;
            match self.direction {
                Direction::Forward => start = [last, &[0]].concat(),
                Direction::Reverse => end = Some(last.to_vec()),
            }
            self.rest = Some((start, end));
            self.more = false;
        }
        Ok(())
    }

    /// How large the records have been on average, or are still thought to be.
    pub const fn record_bytes(&self) -> usize {
        self.record_bytes
    }

    /// The page.
    pub fn finish(self) -> Page {
        self.page.finish(self.more)
    }
}
