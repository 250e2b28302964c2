//! Scans that see the overlay: the store's pages and the transaction's own changes, merged.

use super::Transaction;
use crate::store::{Direction, KeyRange, Keyspace, Page, PageLimit, StoreError};
use bytes::Bytes;

/// A position in a range, walked with [`Transaction::next`]. The transaction may change records between two steps: what it puts
/// ahead of the position is met, what it deletes there is not.
#[derive(Debug)]
pub struct Scan {
    keyspace: Keyspace,
    /// What is still to come: shrinks from the front (or, in reverse, from the end). Behind by `passed`.
    rest: KeyRange,
    /// The last record of the store that was returned, if `rest` does not know yet: only a scan that meets changes has to.
    passed: Option<Bytes>,
    /// What the store has still to be asked for.
    unread: KeyRange,
    direction: Direction,
    page: Page,
    /// Next record of `page`.
    position: usize,
    /// How many records the next page asks for: grows, so that a short look costs little and a long walk few calls.
    next_items: u32,
}

const MAX_PAGE_ITEMS: u32 = 1024;

impl Scan {
    /// A walk over `range`. `expected` is about how many records the caller wants: the size of the first page.
    #[must_use]
    pub fn new(keyspace: Keyspace, range: KeyRange, direction: Direction, expected: usize) -> Self {
        let next_items = u32::try_from(expected).unwrap_or(u32::MAX).clamp(1, MAX_PAGE_ITEMS);
        let page = Page { bytes: Bytes::new(), ends: Vec::new(), more: true };
        Self { keyspace, rest: range.clone(), passed: None, unread: range, direction, page, position: 0, next_items }
    }

    /// Leaves what has been passed behind.
    fn pass(range: &mut KeyRange, direction: Direction, key: &[u8]) {
        match direction {
            Direction::Forward => {
                range.start.clear();
                range.start.extend_from_slice(key);
                range.after_start = true;
            }
            Direction::Reverse => range.end = Some(key.to_vec()),
        }
    }
}

impl Transaction<'_> {
    /// The next record of a scan as this transaction has left it, or `None` at the end of the range.
    ///
    /// # Errors
    /// What [`crate::store::Store::scan`] returns.
    pub fn next(&mut self, scan: &mut Scan) -> Result<Option<(Bytes, Bytes)>, StoreError> {
        if !self.overlay.touches(scan.keyspace) {
            let stored = self.next_stored(scan)?;
            if let Some((key, _)) = &stored {
                scan.position += 1;
                scan.passed = Some(key.clone());
            }
            return Ok(stored);
        }
        if let Some(key) = scan.passed.take() {
            Scan::pass(&mut scan.rest, scan.direction, &key);
        }
        let order = self.store.order(scan.keyspace);
        if scan.rest.is_empty(order) {
            return Ok(None);
        }
        let stored = self.next_stored(scan)?;
        let reverse = scan.direction == Direction::Reverse;
        let set = self.overlay.next_set(scan.keyspace, &scan.rest, reverse);
        let own_first = match (&stored, set) {
            (Some((stored, _)), Some((own, _))) => {
                let own = order.compare(own, stored);
                if reverse { own.is_gt() } else { own.is_lt() }
            }
            (None, own) => own.is_some(),
            (Some(_), None) => false,
        };
        let next = if own_first {
            set.map(|(key, value)| (key.clone(), value.clone()))
        } else {
            scan.position += usize::from(stored.is_some());
            stored
        };
        if let Some((key, _)) = &next {
            Scan::pass(&mut scan.rest, scan.direction, key);
        }
        Ok(next)
    }

    /// The store's next record that the overlay says nothing about; it stays the next one until the position is moved on.
    fn next_stored(&mut self, scan: &mut Scan) -> Result<Option<(Bytes, Bytes)>, StoreError> {
        loop {
            while let Some((key, value)) = scan.page.record(scan.position) {
                if !self.overlay.decides(scan.keyspace, &key) {
                    return Ok(Some((key, value)));
                }
                scan.position += 1;
            }
            if !scan.page.more || scan.unread.is_empty(self.store.order(scan.keyspace)) {
                return Ok(None);
            }
            let limit = PageLimit::items(scan.next_items);
            let page = self.store.scan(scan.keyspace, &scan.unread, scan.direction, limit)?;
            scan.next_items = scan.next_items.saturating_mul(4).min(MAX_PAGE_ITEMS);
            match page.len().checked_sub(1).and_then(|last| page.record(last)) {
                Some((last, _)) => Scan::pass(&mut scan.unread, scan.direction, &last),
                None if page.more => return Err(StoreError::Corrupt("an empty page that says there is more".into())),
                None => {}
            }
            scan.page = page;
            scan.position = 0;
        }
    }

    /// The first record of a range, in the scan's direction.
    ///
    /// # Errors
    /// What [`crate::store::Store::scan`] returns.
    pub fn first(&mut self, keyspace: Keyspace, range: KeyRange, direction: Direction) -> Result<Option<(Bytes, Bytes)>, StoreError> {
        self.next(&mut Scan::new(keyspace, range, direction, 1))
    }
}
