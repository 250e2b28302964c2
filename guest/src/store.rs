//! The engine's store: the imported `orbweaver:kv/store`, one call for each call.

use crate::store_bindings::orbweaver::kv::store as wit;
use bytes::Bytes;
use orbweaver_engine::store::{
    Batch, Changes, Direction, KeyRange, Keyspace, KnownPages, Limits, Order, Page, PageLimit, Question, Scope, Store, StoreError, Values,
};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    static LAST: Cell<Last> = const { Cell::new(Last::IsEnded) };
    /// The epoch of a transaction of scope read that the host has begun, until one is asked for.
    static BEGUN: Cell<Option<u64>> = const { Cell::new(None) };
}

/// What becomes of a transaction that is not committed, where it is the last one of a call.
#[derive(Clone, Copy)]
enum Last {
    /// It is ended, as any other.
    IsEnded,
    /// The host ends it.
    MayStay,
    /// It has stayed open.
    Stayed,
}

/// Runs `work`, in front of which the host may have begun a transaction that reads, and behind which it ends the one that may still be open.
pub fn between_ends_of_the_host<T>(begun: Option<u64>, work: impl FnOnce() -> T) -> T {
    LAST.set(Last::MayStay);
    BEGUN.set(begun);
    let done = work();
    BEGUN.set(None);
    LAST.set(Last::IsEnded);
    done
}

/// A transaction has stayed open, and was not the last one; or the host has begun one, and it is not what is wanted.
fn end_what_is_open() {
    let begun = BEGUN.take().is_some();
    if begun || matches!(LAST.get(), Last::Stayed) {
        wit::rollback();
        LAST.set(Last::MayStay);
    }
}

/// What crosses beside calls, of pages that are kept here.
#[repr(C)]
struct KeptPages {
    /// The number of the page that is known, see `Store::scan_unless_known`.
    known: AtomicU64,
    /// The number of the page that the host gives.
    given: AtomicU64,
    /// Whether there are changes.
    are_changed: AtomicU64,
    /// Where, see `Store::take_changes`.
    changes: [AtomicU64; Changes::WORDS],
}

impl KeptPages {
    /// What has changed since this was last asked, if anything has.
    #[inline]
    fn take_changes(&self) -> Option<Changes> {
        if self.are_changed.load(Ordering::Relaxed) == 0 {
            return None;
        }
        self.are_changed.store(0, Ordering::Relaxed);
        Some(self.changes.each_ref().map(|word| word.swap(0, Ordering::Relaxed)).into())
    }
}

static KEPT_PAGES: KeptPages = KeptPages {
    known: AtomicU64::new(0),
    given: AtomicU64::new(0),
    are_changed: AtomicU64::new(0),
    changes: [const { AtomicU64::new(0) }; Changes::WORDS],
};

/// Where that is. The host, which calls the core module of this component, reads the first number and writes the second one while the component waits for a
/// page: a page that is known comes empty. Once it has given a number, it tells behind the beginning of each transaction what has changed (docs/boundary.md).
/// Others leave all of it as it is.
#[unsafe(export_name = "orbweaver:host/kept-pages@1")]
extern "C" fn kept_pages() -> *const KeptPages {
    &raw const KEPT_PAGES
}

/// The host's store.
pub struct HostStore {
    limits: Limits,
    /// What the host gives again.
    pages: KnownPages,
    /// What each keyspace was opened with.
    orders: Vec<(Keyspace, Order)>,
}

impl HostStore {
    /// The store, with its limits, which do not change.
    pub fn new() -> Self {
        let wit::Limits { max_key_bytes, max_value_bytes, max_batch_ops, max_batch_bytes, read_only } = wit::get_limits();
        Self {
            orders: Vec::new(),
            pages: KnownPages::default(),
            limits: Limits { max_key_bytes, max_value_bytes, max_batch_ops, max_batch_bytes, read_only },
        }
    }
}

fn error(error: wit::Error) -> StoreError {
    match error {
        wit::Error::Conflict => StoreError::Conflict,
        wit::Error::Expired => StoreError::Expired,
        wit::Error::TooLarge(wit::Excess { what, limit }) => StoreError::TooLarge { what, limit },
        wit::Error::UnknownOutcome(text) => StoreError::UnknownOutcome(text),
        wit::Error::ReadOnly => StoreError::ReadOnly,
        wit::Error::UnsupportedOrder(text) => StoreError::UnsupportedOrder(text),
        wit::Error::Corrupt(text) => StoreError::Corrupt(text),
        wit::Error::Io(text) => StoreError::Io(text),
    }
}

/// Byte strings, one behind the other.
struct Strings {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Strings {
    fn gather<'a>(strings: impl Iterator<Item = &'a [u8]> + Clone) -> Result<Self, StoreError> {
        let (count, length) = strings.clone().fold((0, 0), |(count, length), string| (count + 1, length + string.len()));
        let (mut bytes, mut ends) = (Vec::with_capacity(length), Vec::with_capacity(count));
        for string in strings {
            bytes.extend_from_slice(string);
            let end = u32::try_from(bytes.len());
            ends.push(end.map_err(|_| StoreError::TooLarge { what: "a list of keys".into(), limit: u64::from(u32::MAX) })?);
        }
        Ok(Self { bytes, ends })
    }

    fn lent(&self) -> wit::PiecesParam<'_> {
        wit::PiecesParam { bytes: &self.bytes, ends: &self.ends }
    }
}

fn read(keyspaces: &[u32], keys: wit::PiecesParam<'_>) -> Result<Values, StoreError> {
    let found = wit::get_many(keyspaces, keys).map_err(error)?;
    Ok(Values { bytes: found.values.bytes, ends: found.values.ends, absent: found.absent })
}

impl Store for HostStore {
    fn limits(&self) -> Limits {
        self.limits
    }

    fn open_keyspace(&mut self, name: &str, order: Order) -> Result<Keyspace, StoreError> {
        end_what_is_open();
        let keyspace = wit::open_keyspace(name, order.name()).map(Keyspace).map_err(error)?;
        self.orders.push((keyspace, order));
        Ok(keyspace)
    }

    fn order(&self, keyspace: Keyspace) -> Order {
        self.orders.iter().find(|(opened, _)| *opened == keyspace).map_or(Order::Bytes, |(_, order)| *order)
    }

    fn begin(&mut self, scope: &Scope) -> Result<u64, StoreError> {
        let keys;
        let scope = match scope {
            Scope::Read if let Some(epoch) = BEGUN.take() => return Ok(epoch),
            Scope::Read => wit::ScopeParam::Read,
            Scope::Keys(named) => {
                keys = Strings::gather(named.iter().map(Bytes::as_ref))?;
                wit::ScopeParam::Keys(keys.lent())
            }
            Scope::Exclusive => wit::ScopeParam::Exclusive,
        };
        // What the host has begun is ended by its `begin`.
        BEGUN.set(None);
        end_what_is_open();
        wit::begin(scope).map_err(error)
    }

    fn get(&mut self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        wit::get(keyspace.0, key).map(|value| value.map(Bytes::from)).map_err(error)
    }

    fn get_many(&mut self, keys: &[(Keyspace, &[u8])]) -> Result<Values, StoreError> {
        let keyspaces: Vec<u32> = keys.iter().map(|(keyspace, _)| keyspace.0).collect();
        read(&keyspaces, Strings::gather(keys.iter().map(|(_, key)| *key))?.lent())
    }

    fn get_adjacent(&mut self, keyspace: Keyspace, bytes: &[u8], ends: &[u32]) -> Result<Values, StoreError> {
        // They lie as they cross the boundary.
        read(&vec![keyspace.0; ends.len()], wit::PiecesParam { bytes, ends })
    }

    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        let range = wit::KeyRangeParam { start: &range.start, after_start: range.after_start, end: range.end.as_deref() };
        let direction = match direction {
            Direction::Forward => wit::Direction::Forward,
            Direction::Reverse => wit::Direction::Reverse,
        };
        let page = wit::scan(keyspace.0, range, direction, limit.max_items, limit.max_bytes).map_err(error)?;
        Ok(Page { bytes: page.records.bytes.into(), ends: page.records.ends, more: page.more })
    }

    fn scan_and_look(
        &mut self,
        keyspace: Keyspace,
        range: &KeyRange,
        direction: Direction,
        limit: PageLimit,
        look: &mut dyn FnMut(&Page),
    ) -> Result<(), StoreError> {
        if let Some(changes) = KEPT_PAGES.take_changes() {
            self.pages.follow(&changes);
        }
        let question = Question { keyspace, range, direction, limit };
        let slot = question.slot();
        if let Some(page) = self.pages.unchanged(slot, &question) {
            look(page);
            return Ok(());
        }
        let known = self.pages.number(slot);
        // Nothing is left of what another scan was given, which asked for no number.
        KEPT_PAGES.given.store(0, Ordering::Relaxed);
        KEPT_PAGES.known.store(known, Ordering::Relaxed);
        let page = self.scan(keyspace, range, direction, limit);
        KEPT_PAGES.known.store(0, Ordering::Relaxed);
        let (page, given) = (page?, KEPT_PAGES.given.load(Ordering::Relaxed));
        let is_known = given > 0 && given == known && page.is_empty() && !page.more;
        match self.pages.page(slot, given, &question).filter(|_| is_known) {
            Some(known) => look(known),
            None => {
                look(&page);
                self.pages.keep(slot, given, &question, page);
            }
        }
        Ok(())
    }

    fn revisions(&mut self, keys: &[Bytes]) -> Result<Vec<u64>, StoreError> {
        end_what_is_open();
        wit::revisions(Strings::gather(keys.iter().map(Bytes::as_ref))?.lent()).map_err(error)
    }

    fn commit(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        wit::commit(batch.as_bytes(), changed).map_err(error)
    }

    fn rollback(&mut self) {
        match LAST.get() {
            Last::IsEnded => wit::rollback(),
            Last::MayStay | Last::Stayed => LAST.set(Last::Stayed),
        }
    }
}
