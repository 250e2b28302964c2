//! Scans that see the overlay: the store's pages and the transaction's own changes, merged.

use super::Transaction;
use crate::store::{Direction, KeyRange, Keyspace, Order, Page, PageLimit, Pieces, StoreError};
use bytes::Bytes;
use std::ops::ControlFlow;

/// A position in a range, walked with [`Transaction::next`]. The transaction may change records between two steps: what it puts
/// ahead of the position is met, what it deletes there is not.
#[derive(Debug)]
pub struct Scan {
    keyspace: Keyspace,
    /// What is still to come: shrinks from the front (or, in reverse, from the end). Behind by `passed`.
    rest: KeyRange,
    /// The record of `page` that was returned last, if `rest` does not know yet: only a scan that meets changes has to.
    passed: Option<usize>,
    /// What the store has still to be asked for.
    unread: KeyRange,
    items: PageItems,
    direction: Direction,
    page: Page,
    /// Next record of `page`.
    position: usize,
    /// The transaction's own record that was returned last.
    own: Option<Box<(Bytes, Bytes)>>,
}

/// How many records the next page asks for: grows, so that a short look costs little and a long walk few calls.
#[derive(Debug)]
struct PageItems(u32);

impl PageItems {
    fn expecting(records: usize) -> Self {
        Self(u32::try_from(records).unwrap_or(u32::MAX).clamp(1, MAX_PAGE_ITEMS))
    }

    /// The limit of the next page. The one behind it is higher, up to a bound.
    fn next(&mut self) -> PageLimit {
        let limit = PageLimit::items(self.0);
        self.0 = self.0.saturating_mul(4).min(MAX_PAGE_ITEMS);
        limit
    }
}

/// The key of the last record of a page, behind which the store is to be asked for more; `None` where there is no more.
fn last_of(page: &Page) -> Result<Option<&[u8]>, StoreError> {
    if !page.more {
        return Ok(None);
    }
    let last = page.len().checked_sub(1).and_then(|last| page.pieces(last));
    last.map(|(key, _)| Some(key)).ok_or_else(|| StoreError::Corrupt("an empty page that says there is more".into()))
}

/// Where a scan finds the record that it has come to.
enum Place {
    /// At a position of its page.
    Page(usize),
    /// In [`Scan::own`].
    Own,
}

/// What a scan comes to of the transaction's own changes.
enum Ahead {
    Nothing,
    /// The next record that is put or deleted.
    Change(Bytes),
    /// Ranges are deleted, here or elsewhere in the keyspace.
    Ranges,
}

/// A key and a value that are only looked at.
type Lent<'c> = (&'c [u8], &'c [u8]);

/// Records that a scan has come to, one behind the other, which are only looked at.
#[derive(Clone, Debug)]
pub struct Run<'p> {
    /// One of the transaction's own, or one that does not lie in a page: alone.
    own: Option<Lent<'p>>,
    pieces: Pieces<'p>,
}

impl<'p> Run<'p> {
    /// Of one record.
    #[must_use]
    pub fn of(key: &'p [u8], value: &'p [u8]) -> Self {
        Self { own: Some((key, value)), pieces: Pieces::default() }
    }

    /// Those of a page.
    #[must_use]
    pub const fn lying(pieces: Pieces<'p>) -> Self {
        Self { own: None, pieces }
    }

    /// As [`Pieces::take_before`].
    pub fn take_before(&mut self, is_before: impl Fn(&[u8]) -> bool) -> usize {
        match self.own {
            Some((key, _)) if is_before(key) => {
                self.own = None;
                1 + self.pieces.take_before(is_before)
            }
            Some(_) => 0,
            None => self.pieces.take_before(is_before),
        }
    }

    /// Whether there is none left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.own.is_none() && self.pieces.left() == 0
    }

    /// Those that lie in a page, where they are the next ones.
    pub fn stored(&mut self) -> Option<&mut Pieces<'p>> {
        self.own.is_none().then_some(&mut self.pieces)
    }
}

impl<'p> Iterator for Run<'p> {
    type Item = Lent<'p>;

    #[inline(always)]
    fn next(&mut self) -> Option<Lent<'p>> {
        self.own.take().or_else(|| self.pieces.next())
    }
}

const MAX_PAGE_ITEMS: u32 = 1024;

impl Scan {
    /// A walk over `range`. `expected` is about how many records the caller wants: the size of the first page.
    #[must_use]
    pub fn new(keyspace: Keyspace, range: KeyRange, direction: Direction, expected: usize) -> Self {
        let page = Page { bytes: Bytes::new(), ends: Vec::new(), more: true };
        let items = PageItems::expecting(expected);
        Self { keyspace, rest: range.clone(), passed: None, unread: range, items, direction, page, position: 0, own: None }
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

    /// Lets `rest` know what has been passed.
    fn catch_up(&mut self) {
        if let Some((key, _)) = self.passed.take().and_then(|passed| self.page.pieces(passed)) {
            Self::pass(&mut self.rest, self.direction, key);
        }
    }
}

impl Transaction<'_> {
    /// The next record of a scan as this transaction has left it, or `None` at the end of the range.
    ///
    /// # Errors
    /// What [`crate::store::Store::scan`] returns.
    pub fn next(&mut self, scan: &mut Scan) -> Result<Option<(Bytes, Bytes)>, StoreError> {
        Ok(self.step(scan)?.and_then(|place| match place {
            Place::Page(position) => scan.page.record(position),
            Place::Own => scan.own.as_deref().cloned(),
        }))
    }

    /// As [`Transaction::next`], for who only looks at the record.
    fn next_lent<'c>(&mut self, scan: &'c mut Scan) -> Result<Option<Lent<'c>>, StoreError> {
        Ok(self.step(scan)?.and_then(|place| match place {
            Place::Page(position) => scan.page.pieces(position),
            Place::Own => scan.own.as_deref().map(|(key, value)| (key.as_ref(), value.as_ref())),
        }))
    }

    /// Hands the records that are left of a scan to `visit`, run by run, of each of which it takes all, until it breaks off: then the next
    /// one is the one behind those that it has taken.
    ///
    /// # Errors
    /// As [`Transaction::next`], and those of `visit`.
    pub fn each_run<E: From<StoreError>>(
        &mut self,
        scan: &mut Scan,
        mut visit: impl FnMut(&mut Run<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        loop {
            // How many of the records that come next are as the store has them.
            let untouched = match self.ahead(scan) {
                Ahead::Nothing => {
                    if self.next_stored(scan, None)?.is_none() {
                        return Ok(());
                    }
                    usize::MAX
                }
                Ahead::Change(key) => {
                    let stored = self.next_stored(scan, Some(&key))?;
                    stored.map_or(0, |position| self.count_before(scan, position, &key))
                }
                Ahead::Ranges => 0,
            };
            if untouched == 0 {
                let Some((key, value)) = self.next_lent(scan)? else { return Ok(()) };
                if visit(&mut Run::of(key, value))?.is_break() {
                    return Ok(());
                }
                continue;
            }
            let mut run = Run::lying(scan.page.pieces_from(scan.position).first(untouched));
            let before = run.pieces.left();
            let flow = visit(&mut run);
            let taken = before - run.pieces.left();
            if taken > 0 {
                scan.position += taken;
                scan.passed = scan.position.checked_sub(1);
            }
            if flow?.is_break() {
                return Ok(());
            }
        }
    }

    /// Hands the records of a range to `visit`, page by page, each of which it takes whole, until it breaks off: for who has changed nothing in the
    /// keyspace, which is in byte order. About `expected` records will be read. What is left in `range` is of no use but for its memory.
    ///
    /// # Errors
    /// As [`Transaction::next`], and those of `visit`.
    pub fn each_page<E: From<StoreError>>(
        &mut self,
        keyspace: Keyspace,
        range: &mut KeyRange,
        direction: Direction,
        expected: usize,
        mut visit: impl FnMut(Run<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        debug_assert_eq!(self.store.order(keyspace), Order::Bytes);
        let mut items = PageItems::expecting(expected);
        while !range.is_empty(Order::Bytes) {
            let mut last = Ok(None);
            let mut see = |page: &Page| {
                last = last_of(page).map_err(E::from).and_then(|last| {
                    let flow = visit(Run::lying(page.pieces_from(0)))?;
                    Ok(last.filter(|_| flow.is_continue()).map(<[u8]>::to_vec))
                });
            };
            // Seen in one place: what sees is compiled into each.
            let see: &mut dyn FnMut(&Page) = &mut see;
            let packed = if self.memory.heads.is_empty() { None } else { self.memory.heads.page(keyspace, range, direction) };
            match packed {
                Some(page) => see(&page),
                None => self.store.scan_and_look(keyspace, range, direction, items.next(), see)?,
            }
            let Some(last) = last? else { break };
            Scan::pass(range, direction, &last);
        }
        Ok(())
    }

    /// As [`Transaction::each_run`], of all records of a range of a keyspace in byte order. About `expected` records will be read.
    ///
    /// # Errors
    /// As [`Transaction::each_run`].
    pub fn each_run_of<E: From<StoreError>>(
        &mut self,
        (keyspace, mut range): (Keyspace, KeyRange),
        direction: Direction,
        expected: usize,
        visit: &mut dyn FnMut(&mut Run<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        if self.memory.overlay.touches(keyspace) || !self.memory.heads.is_empty() {
            return self.each_run(&mut Scan::new(keyspace, range, direction, expected), visit);
        }
        self.each_page(keyspace, &mut range, direction, expected, |mut run| visit(&mut run))
    }

    /// What a scan comes to of the transaction's own changes.
    fn ahead(&mut self, scan: &mut Scan) -> Ahead {
        if !self.memory.overlay.touches(scan.keyspace) {
            return Ahead::Nothing;
        }
        if self.memory.overlay.clears_ranges(scan.keyspace) {
            return Ahead::Ranges;
        }
        scan.catch_up();
        self.memory.overlay.sort(scan.keyspace);
        let next = self.memory.overlay.next_changed(scan.keyspace, &scan.rest, scan.direction == Direction::Reverse);
        next.map_or(Ahead::Nothing, |key| Ahead::Change(key.clone()))
    }

    /// How many records of a page from a position on the scan comes to before a key.
    fn count_before(&self, scan: &Scan, position: usize, key: &[u8]) -> usize {
        let (order, reverse) = (self.store.order(scan.keyspace), scan.direction == Direction::Reverse);
        let comes_before = |stored: &[u8]| {
            let stored = order.compare(stored, key);
            if reverse { stored.is_gt() } else { stored.is_lt() }
        };
        scan.page.pieces_from(position).take_while(|(stored, _)| comes_before(stored)).count()
    }

    /// Moves on to the next record.
    // Large, and called from several places.
    #[inline(never)]
    fn step(&mut self, scan: &mut Scan) -> Result<Option<Place>, StoreError> {
        if !self.memory.overlay.touches(scan.keyspace) {
            let stored = self.next_stored(scan, None)?;
            if stored.is_some() {
                scan.passed = stored;
                scan.position += 1;
            }
            return Ok(stored.map(Place::Page));
        }
        scan.catch_up();
        let order = self.store.order(scan.keyspace);
        if scan.rest.is_empty(order) {
            return Ok(None);
        }
        let reverse = scan.direction == Direction::Reverse;
        self.memory.overlay.sort(scan.keyspace);
        let set = self.memory.overlay.next_set(scan.keyspace, &scan.rest, reverse).map(|(key, value)| (key.clone(), value.clone()));
        let stored = self.next_stored(scan, set.as_ref().map(|(own, _)| own.as_ref()))?;
        let own_first = match (stored.and_then(|position| scan.page.pieces(position)), &set) {
            (Some((stored, _)), Some((own, _))) => {
                let own = order.compare(own, stored);
                if reverse { own.is_gt() } else { own.is_lt() }
            }
            (None, own) => own.is_some(),
            (Some(_), None) => false,
        };
        if let Some((key, value)) = set.filter(|_| own_first) {
            Scan::pass(&mut scan.rest, scan.direction, &key);
            scan.own = Some(Box::new((key, value)));
            return Ok(Some(Place::Own));
        }
        scan.position += usize::from(stored.is_some());
        scan.passed = stored;
        scan.catch_up();
        Ok(stored.map(Place::Page))
    }

    /// Where in the page the store's next record is that the overlay says nothing about; it stays the next one until the position is
    /// moved on. `None` also where the overlay's next record, `own`, comes before it: what is behind that is not read in vain.
    fn next_stored(&mut self, scan: &mut Scan, own: Option<&[u8]>) -> Result<Option<usize>, StoreError> {
        let is_touched = self.memory.overlay.touches(scan.keyspace);
        let (order, reverse) = (self.store.order(scan.keyspace), scan.direction == Direction::Reverse);
        let own_is_reached = |key: &[u8]| {
            own.is_some_and(|own| {
                let stored = order.compare(key, own);
                if reverse { stored.is_le() } else { stored.is_ge() }
            })
        };
        loop {
            while let Some((key, _)) = scan.page.pieces(scan.position) {
                if !is_touched || !self.memory.overlay.decides(scan.keyspace, key) {
                    return Ok(Some(scan.position));
                }
                if own_is_reached(key) {
                    return Ok(None);
                }
                scan.position += 1;
            }
            if !scan.page.more || scan.unread.is_empty(order) {
                return Ok(None);
            }
            let (keyspace, direction) = (scan.keyspace, scan.direction);
            let limit = scan.items.next();
            let page = match self.memory.heads.page(keyspace, &scan.unread, direction) {
                Some(page) => page,
                None => self.store.scan(keyspace, &scan.unread, direction, limit)?,
            };
            if let Some(last) = last_of(&page)? {
                Scan::pass(&mut scan.unread, direction, last);
            }
            scan.catch_up();
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
