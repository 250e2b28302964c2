//! Scans: pages from memory where they are known, otherwise from RocksDB's iterators.

use super::gaps::{Structure, WHOLE};
use super::handle::{OpenKeyspace, State, View};
use super::options::{Scanned, within_prefix};
use super::question::{Asked, Question};
use super::record_cache::RecordCache;
use super::resident_records::ResidentRecords;
use super::{Db, read_error, redo};
use orbweaver_engine::store::{Direction, KeyRange, Keyspace, Numbered, Order, Page, PageBuilder, PageLimit, StoreError};
use rocksdb::perf::{PerfContext, PerfMetric};
use rocksdb::properties::{
    MEM_TABLE_FLUSH_PENDING, NUM_DELETES_ACTIVE_MEM_TABLE, NUM_DELETES_IMM_MEM_TABLES, NUM_RUNNING_FLUSHES, PropName,
};
use rocksdb::{BoundColumnFamily, DBRawIteratorWithThreadMode, FlushOptions};
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

/// Where a scan passes more dead records than these before its first one, the next scan is to pass them in one step.
const FEW_DEAD: u64 = 32;

/// The end of a gap behind which there is nothing at all.
const BEHIND_ALL: [u8; 16] = [u8::MAX; 16];

/// Where a scan passes so many dead records, and memtables hold so many deletes, they are written, so that they are compacted sooner.
/// (RocksDB's own trigger waits for the next write.)
const MANY_DEAD: u64 = 2000;

/// What an iterator has added to a page.
#[derive(Default)]
struct Added {
    /// The page is full, and there is more.
    more: bool,
    /// The first key that it met.
    first: Option<Vec<u8>>,
    /// How many dead records it passed before.
    dead: u64,
    /// How many it passed in all.
    passed: u64,
}

impl<'db> State<'db> {
    /// A page of a range, in the state behind the commit `last`, for who knows the page with the number `known`, 0 of none.
    pub fn scan(&self, keyspace: Keyspace, asked: Asked<'_>, last: u64, known: u64) -> Result<Numbered, StoreError> {
        let keyspace = self.keyspace(keyspace)?;
        let Asked { range, direction, limit } = asked;
        self.write_back(keyspace, range)?;
        let question = keyspace.filter_prefix.and_then(|_| Question::new(range, direction, limit));
        match (&self.shared.cache, keyspace.cached, question) {
            (Some(cache), Some(space), Some(question)) => self.scan_structure((cache, space), keyspace, question, asked, (last, known)),
            (Some(cache), Some(space), None) if keyspace.scanned == Scanned::Whole => {
                Ok(self.read_around_gaps(cache, keyspace, (space, WHOLE), asked, last)?.0.into())
            }
            _ => {
                let mut page = PageBuilder::new(limit);
                let more = self.add_records(keyspace, asked, &mut page)?.more;
                Ok(page.finish(more).into())
            }
        }
    }

    /// A page of a range within one structure.
    fn scan_structure(
        &self,
        (cache, space): (&RecordCache, u32),
        keyspace: &OpenKeyspace<'db>,
        question: Question,
        asked: Asked<'_>,
        (last, known): (u64, u64),
    ) -> Result<Numbered, StoreError> {
        let structure = question.structure(space);
        // There are as many searches as places: a page of one record is seldom asked for again.
        let is_search = asked.limit.max_items == 1;
        if let Some((page, number)) = cache.resident_page(&structure, (asked, !is_search), last) {
            return Ok(Numbered { page: Some(page), number });
        }
        if let Some(page) = cache.page(space, &question, last, known) {
            return Ok(page);
        }
        if !is_search && let Some((page, number)) = cache.resident_page(&structure, (asked, false), last) {
            cache.keep_page(space, &question, last, &page);
            return Ok(Numbered { page: Some(page), number });
        }
        if let Some(small) = cache.small(&structure)
            && let Some(whole) = self.read_whole(cache, keyspace, structure, small, last)?
        {
            let page = whole.page(asked);
            cache.add_resident(structure, whole, last);
            return Ok(page.into());
        }
        let (page, passed) = self.read_around_gaps(cache, keyspace, structure, asked, last)?;
        cache.keep_page(space, &question, last, &page);
        if let Some(limit) = cache.missed(&structure, passed)
            && let Some(whole) = self.read_whole(cache, keyspace, structure, limit, last)?
        {
            cache.add_resident(structure, whole, last);
        }
        Ok(page.into())
    }

    /// All records of a structure, where they are within a limit.
    fn read_whole(
        &self,
        cache: &RecordCache,
        keyspace: &OpenKeyspace<'db>,
        structure: Structure,
        limit: PageLimit,
        last: u64,
    ) -> Result<Option<ResidentRecords>, StoreError> {
        let asked = Asked { range: &KeyRange::prefix(&structure.1), direction: Direction::Forward, limit };
        let (page, _) = self.read_around_gaps(cache, keyspace, structure, asked, last)?;
        // The last record of a page may be a large one.
        let is_within = !page.more && u32::try_from(page.bytes.len()).is_ok_and(|bytes| bytes <= limit.max_bytes);
        Ok(is_within.then(|| ResidentRecords::of(&page)))
    }

    /// A page of a range within one structure, or a keyspace that is one, from RocksDB, which goes around what is known to hold nothing; and
    /// how many dead records it has passed.
    fn read_around_gaps(
        &self,
        cache: &RecordCache,
        keyspace: &OpenKeyspace<'db>,
        structure: Structure,
        asked: Asked<'_>,
        last: u64,
    ) -> Result<(Page, u64), StoreError> {
        let Asked { range, direction, limit } = asked;
        let mut pieces = cache.around_gaps(&structure, range.clone(), last);
        if direction == Direction::Reverse {
            pieces.reverse();
        }
        let (mut page, mut more, mut passed) = (PageBuilder::new(limit), false, 0);
        for piece in pieces {
            let added = self.add_records(keyspace, Asked { range: &piece, ..asked }, &mut page)?;
            passed += added.passed;
            if added.dead > FEW_DEAD {
                let start = first_key(&piece, Order::Bytes);
                let (start, end) = match (direction, added.first) {
                    (Direction::Forward, first) => (start, first.or(piece.end)),
                    (Direction::Reverse, first) => (first.map_or(start, |key| [key.as_slice(), &[0]].concat()), piece.end),
                };
                cache.add_gap(structure, start, end.unwrap_or_else(|| BEHIND_ALL.to_vec()), last);
            }
            more = added.more;
            if more {
                break;
            }
        }
        Ok((page.finish(more), passed))
    }

    /// Adds records of a range to a page, from RocksDB itself.
    fn add_records(&self, keyspace: &OpenKeyspace<'db>, asked: Asked<'_>, page: &mut PageBuilder) -> Result<Added, StoreError> {
        let Asked { range, direction, .. } = asked;
        let (first, mut added) = (first_key(range, keyspace.order), Added::default());
        let Some(View { db, family, mut read }) = self.view(keyspace) else { return Ok(added) };
        if range.end.as_ref().is_some_and(|end| keyspace.order.compare(end, &first).is_le()) {
            return Ok(added);
        }
        read.set_total_order_seek(direction == Direction::Reverse || !within_prefix(&first, range.end.as_deref(), keyspace.filter_prefix));
        // Both bounds: tombstones outside of the range are not walked over.
        if !first.is_empty() {
            read.set_iterate_lower_bound(first.as_slice());
        }
        if let Some(end) = &range.end {
            read.set_iterate_upper_bound(end.as_slice());
        }
        let mut records = db.raw_iterator_cf_opt(family, read);
        // RocksDB's counts of this thread.
        let counts = PerfContext::default();
        let deletes_passed = || counts.metric(PerfMetric::InternalDeleteSkippedCount);
        let passed = || deletes_passed() + counts.metric(PerfMetric::InternalKeySkippedCount);
        let (before, deletes_before, items_before) = (passed(), deletes_passed(), page.items());
        match direction {
            Direction::Forward if first.is_empty() => records.seek_to_first(),
            Direction::Forward => records.seek(&first),
            Direction::Reverse => records.seek_to_last(),
        }
        added.dead = passed().saturating_sub(before);
        if added.dead > FEW_DEAD {
            added.first = records.key().map(<[u8]>::to_vec);
        }
        added.more = match self.left_redo(keyspace) {
            Some(heads) => fill_with_heads(&mut records, heads, asked, page),
            None => fill(&mut records, keyspace.order, asked, page),
        };
        added.passed = passed().saturating_sub(before);
        records.status().map_err(|error| read_error(&error))?;
        let deletes = deletes_passed().saturating_sub(deletes_before);
        let are_counted = !self.shared.options.layout.is_foreign() && !self.shared.options.read_only;
        if are_counted && deletes > FEW_DEAD.max((page.items() - items_before) as u64) {
            let end = || range.end.clone();
            let (start, end) = match (direction, records.key().map(<[u8]>::to_vec)) {
                (Direction::Forward, stopped) => (first, stopped.or_else(end)),
                (Direction::Reverse, stopped) => (stopped.unwrap_or(first), end()),
            };
            self.shared.reclaim.add_walked(keyspace.stretch(start, end), deletes);
        }
        if added.passed >= MANY_DEAD && deletes_in_memory(db, family) >= MANY_DEAD {
            let mut flush = FlushOptions::default();
            flush.set_wait(false);
            // The scan has what it wants. Where it fails, the next one tries again.
            let _ = db.flush_cf_opt(family, &flush);
        }
        Ok(added)
    }
}

/// Adds records from where an iterator stands. Whether there may be more of them behind.
fn fill(
    records: &mut DBRawIteratorWithThreadMode<'_, Db>,
    order: Order,
    Asked { range, direction, limit }: Asked<'_>,
    page: &mut PageBuilder,
) -> bool {
    let is_start = |key: &[u8]| range.after_start && order != Order::Bytes && order.compare(key, &range.start).is_eq();
    while let Some((key, value)) = records.item() {
        if is_start(key) {
            match direction {
                Direction::Forward => records.next(),
                Direction::Reverse => return false,
            }
            continue;
        }
        if page.is_full() || !page.push(key, value) {
            return true;
        }
        if limit.max_items == 1 {
            // Who asks for one record seldom wants the next: a step, above all backwards, costs as much as the search.
            return true;
        }
        match direction {
            Direction::Forward => records.next(),
            Direction::Reverse => records.prev(),
        }
    }
    false
}

/// As [`fill`], in byte order, with heads that a process which writes has yet to put there.
fn fill_with_heads(
    records: &mut DBRawIteratorWithThreadMode<'_, Db>,
    heads: &redo::Heads,
    Asked { range, direction, .. }: Asked<'_>,
    page: &mut PageBuilder,
) -> bool {
    let end = range.end.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
    let mut heads = heads.range((Bound::Included(first_key(range, Order::Bytes)), end.cloned()));
    let mut next_head = || match direction {
        Direction::Forward => heads.next(),
        Direction::Reverse => heads.next_back(),
    };
    let mut head = next_head();
    loop {
        // Which one is next: of one key the head, which is newer.
        let next = match (records.key(), head, direction) {
            (None, None, _) => return false,
            (None, ..) => Ordering::Greater,
            (_, None, _) => Ordering::Less,
            (Some(stored), Some((key, _)), Direction::Forward) => stored.cmp(key),
            (Some(stored), Some((key, _)), Direction::Reverse) => key.as_slice().cmp(stored),
        };
        let record = if next.is_lt() { records.item() } else { head.and_then(|(key, value)| Some((key.as_slice(), value.as_deref()?))) };
        if let Some((key, value)) = record
            && (page.is_full() || !page.push(key, value))
        {
            return true;
        }
        if next.is_ge() {
            head = next_head();
        }
        match direction {
            Direction::Forward if next.is_le() => records.next(),
            Direction::Reverse if next.is_le() => records.prev(),
            _ => {}
        }
    }
}

/// How many deletes the memtables of a keyspace hold; 0 while they are being written.
fn deletes_in_memory(db: &Db, family: &Arc<BoundColumnFamily<'_>>) -> u64 {
    let number = |property: &PropName| db.property_int_value_cf(family, property).ok().flatten().unwrap_or(0);
    if number(NUM_RUNNING_FLUSHES) > 0 || number(MEM_TABLE_FLUSH_PENDING) > 0 {
        return 0;
    }
    number(NUM_DELETES_ACTIVE_MEM_TABLE) + number(NUM_DELETES_IMM_MEM_TABLES)
}

/// The first key that a range can hold.
fn first_key(range: &KeyRange, order: Order) -> Vec<u8> {
    let mut first = range.start.clone();
    if range.after_start && order == Order::Bytes {
        // The smallest key behind another one. The other orders have no such thing: there the first key is passed over.
        first.push(0);
    }
    first
}
