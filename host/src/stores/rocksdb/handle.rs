//! One conversation with the database: reads from the transaction's state, and its commit.

use super::late::LateWriter;
use super::options::Scanned;
use super::question::Asked;
use super::raw_batch::Family;
use super::reclaim::Stretch;
use super::records::Name;
use super::watches::Watch;
use super::write_back::HEADS;
use super::{Db, Inner, LIMITS, Layout, Shared, neighbours, options, read_error, redo};
use crate::stores::locks::Held;
use bytes::Bytes;
use orbweaver_engine::store::{
    Batch, Changes, Direction, KeyRange, Keyspace, Limits, Numbered, Order, Page, PageLimit, Scope, Store, StoreError, Values,
};
use rocksdb::{BoundColumnFamily, ReadOptions, SnapshotWithThreadMode};
use self_cell::self_cell;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// So many dead records are passed by the search for the last key of a keyspace.
const MOST_SKIPPED: u64 = 1000;

/// A handle on a [`super::RocksStore`], for one thread at a time. Dropping it rolls its transaction back.
pub struct RocksHandle {
    // Dropped first: its locks are released while the store is there for sure.
    open: Option<Open>,
    /// From when it first asks for changes.
    watch: Option<Arc<Watch>>,
    session: Session,
}

/// The open transaction.
pub(super) struct Open {
    pub kind: Kind,
    pub held: Held,
    /// The last commit when the state was taken.
    last: u64,
    /// How many commits had started when the state was taken. A state without a snapshot ends with the next one.
    started: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Keys,
    Exclusive,
}

self_cell!(
    struct Session {
        owner: Arc<Inner>,
        #[covariant]
        dependent: State,
    }
);

/// What a handle borrows from the databases.
pub(super) struct State<'db> {
    pub shared: &'db Arc<Shared>,
    pub keyspaces: Vec<OpenKeyspace<'db>>,
    /// One for each database, `None` where it was not there; empty while the state is read without.
    snapshots: Vec<Option<SnapshotWithThreadMode<'db, Db>>>,
    /// Commits may be late, see [`Store::let_commits_be_late`].
    pub may_be_late: bool,
    /// Up to which of them the store was settled.
    pub settled: u64,
    /// Writes them.
    pub late_writer: Option<LateWriter>,
}

pub(super) struct OpenKeyspace<'db> {
    pub order: Order,
    /// The position of its database.
    pub database: usize,
    pub family_name: String,
    /// `None` where it was not there when the transaction began: there are no records.
    pub family: Option<Family<'db>>,
    pub filter_prefix: Option<usize>,
    /// What is kept of its scans.
    pub scanned: Scanned,
    /// Its number in the cache of records. Only byte order says by the bytes alone which keys are the same.
    pub cached: Option<u32>,
    /// It is that of heads, which may be written back later.
    pub is_written_back: bool,
}

impl OpenKeyspace<'_> {
    /// A range of it, for who compacts it; to the last key where it has no end.
    pub fn stretch(&self, start: Vec<u8>, end: Option<Vec<u8>>) -> Stretch {
        Stretch { database: self.database, family: self.family_name.clone(), start, end }
    }
}

/// A keyspace, and how the transaction's state of it is read.
pub(super) struct View<'s, 'db> {
    pub db: &'db Db,
    pub family: &'s Arc<BoundColumnFamily<'db>>,
    pub read: ReadOptions,
}

impl<'db> State<'db> {
    pub fn keyspace(&self, keyspace: Keyspace) -> Result<&OpenKeyspace<'db>, StoreError> {
        let position = usize::try_from(keyspace.0).ok();
        position.and_then(|at| self.keyspaces.get(at)).ok_or_else(|| StoreError::Io(format!("keyspace {} is not open", keyspace.0)))
    }

    /// The database of a keyspace; `None` where it is not there yet.
    pub fn database(&self, keyspace: &OpenKeyspace<'db>) -> Option<&'db Db> {
        self.shared.databases.get(keyspace.database)?.get()
    }

    fn open_keyspace(&mut self, name: &str, order: Order) -> Result<Keyspace, StoreError> {
        let layout = self.shared.options.layout;
        let is_record = !redo::is_redo(layout, name);
        let place = layout.locate(name).filter(|_| is_record).and_then(|(at, family)| Some((at, family, self.shared.databases.get(at)?)));
        let (at, family, database) = place.ok_or_else(|| StoreError::Io(format!("the layout {} has no keyspace {name}", layout.name())))?;
        let is_open = |open: &OpenKeyspace<'_>| open.database == at && open.family_name == family && open.order == order;
        let position = match self.keyspaces.iter().position(is_open) {
            Some(position) => position,
            None => {
                database.declare(layout, family, order)?;
                let cache = self.shared.cache.as_ref().filter(|_| order == Order::Bytes);
                self.keyspaces.push(OpenKeyspace {
                    order,
                    database: at,
                    family_name: family.to_owned(),
                    family: database.family(family).map(Family::new).transpose()?,
                    filter_prefix: options::filter_prefix(layout, name),
                    scanned: options::scanned(layout, name),
                    cached: cache.map(|cache| cache.space(at, family)),
                    is_written_back: layout == Layout::Orbweaver && name == HEADS && order == Order::Bytes,
                });
                self.keyspaces.len() - 1
            }
        };
        u32::try_from(position).map(Keyspace).map_err(|_| StoreError::Io("too many keyspaces".into()))
    }

    /// Creates a keyspace that is not there, and what has to be there before it.
    pub fn create(&mut self, keyspace: Keyspace) -> Result<(), StoreError> {
        let open = usize::try_from(keyspace.0).ok().and_then(|at| self.keyspaces.get_mut(at));
        let Some(open) = open else { return Ok(()) };
        open.family = Some(Family::new(self.shared.create(open.database, &open.family_name, open.order)?)?);
        Ok(())
    }

    /// Looks for the keyspaces that were not there: others may have created them.
    fn find_created(&mut self) -> Result<(), StoreError> {
        for keyspace in self.keyspaces.iter_mut().filter(|keyspace| keyspace.family.is_none()) {
            let database = self.shared.databases.get(keyspace.database);
            let family = database.and_then(|database| database.family(&keyspace.family_name));
            keyspace.family = family.map(Family::new).transpose()?;
        }
        Ok(())
    }

    /// How the transaction's state of a keyspace is read; `None` where it holds nothing because it is not there.
    pub fn view<'s>(&'s self, keyspace: &'s OpenKeyspace<'db>) -> Option<View<'s, 'db>> {
        self.view_in(self.database(keyspace)?, keyspace)
    }

    /// As [`State::view`], to read these keys alone: late commits that do not change them need not be waited for.
    fn view_of<'s, 'k>(&'s self, keyspace: &'s OpenKeyspace<'db>, keys: impl IntoIterator<Item = &'k [u8]>) -> Option<View<'s, 'db>> {
        let writer = self.late_writer.as_ref().filter(|writer| !writer.is_idle());
        let (Some(writer), Some(cache), Some(space)) = (writer, &self.shared.cache, keyspace.cached) else {
            return self.view(keyspace);
        };
        if keys.into_iter().any(|bytes| writer.is_on_its_way(cache.hash(&Name { space, bytes }))) {
            return self.view(keyspace);
        }
        self.view_in(self.shared.databases.get(keyspace.database)?.get_at_once()?, keyspace)
    }

    fn view_in<'s>(&'s self, db: &'db Db, keyspace: &'s OpenKeyspace<'db>) -> Option<View<'s, 'db>> {
        let family = &keyspace.family.as_ref()?.handle;
        let mut read = ReadOptions::default();
        if !self.snapshots.is_empty() {
            read.set_snapshot(self.snapshots.get(keyspace.database)?.as_ref()?);
        }
        Some(View { db, family, read })
    }

    /// The last value of a head which is not in its keyspace yet, in the state of the transaction.
    fn unwritten(&self, keyspace: &OpenKeyspace<'db>, key: &[u8]) -> Option<Option<Bytes>> {
        let database = self.shared.databases.get(keyspace.database).filter(|_| keyspace.is_written_back)?;
        match self.left_redo(keyspace) {
            Some(heads) => heads.get(key).map(|value| value.as_deref().map(Bytes::copy_from_slice)),
            // Where there are snapshots, they have it all.
            None if self.snapshots.is_empty() => database.write_back.get(key),
            None => None,
        }
    }

    /// Of a store that is only read: what is to be looked at before the keyspace, if there is anything.
    pub fn left_redo(&self, keyspace: &OpenKeyspace<'db>) -> Option<&'db redo::Heads> {
        self.shared.databases.get(keyspace.database).filter(|_| keyspace.is_written_back)?.left_redo.get().filter(|heads| !heads.is_empty())
    }

    /// Has all heads written back, where the keyspace is theirs, and any may be within a range that is to be searched.
    pub fn write_back(&self, keyspace: &OpenKeyspace<'db>, range: &KeyRange) -> Result<(), StoreError> {
        let is_waiting = || {
            // Behind all commits that are late.
            let database = self.shared.databases.get(keyspace.database).filter(|database| database.get().is_some());
            database.is_some_and(|database| database.write_back.may_hold_within(range))
        };
        if keyspace.is_written_back && is_waiting() { self.shared.write_back().map(drop) } else { Ok(()) }
    }

    /// What the cache knows of a record in the transaction's state.
    fn cached(&self, keyspace: &OpenKeyspace<'db>, key: &[u8], open: &Open) -> Option<Option<Bytes>> {
        self.shared.cache.as_ref()?.get(keyspace.cached?, key, open.last, open.kind != Kind::Read)
    }

    /// A value that the transaction has read, left in the cache for the next one who asks. Not that an element is absent, if the transaction
    /// writes: it has mostly asked because it is about to put it there, and few elements are asked for again.
    fn keep(&self, keyspace: &OpenKeyspace<'db>, key: &[u8], open: &Open, value: Option<&[u8]>) -> Option<Bytes> {
        if let (Some(cache), Some(space)) = (&self.shared.cache, keyspace.cached)
            && (value.is_some() || open.kind == Kind::Read || keyspace.filter_prefix.is_none())
        {
            cache.keep(space, key, open.last, value);
        }
        value.map(Bytes::copy_from_slice)
    }

    fn get(&self, keyspace: Keyspace, key: &[u8], open: &Open) -> Result<Option<Bytes>, StoreError> {
        let keyspace = self.keyspace(keyspace)?;
        if let Some(known) = self.cached(keyspace, key, open) {
            return Ok(known);
        }
        if self.are_absent(keyspace, [key], open).next() == Some(true) {
            return Ok(self.keep_absent(keyspace, key, open));
        }
        if let Some(known) = self.of_resident(keyspace, key, open) {
            return Ok(known);
        }
        let Some(view) = self.view_of(keyspace, [key]) else { return Ok(None) };
        if let Some(value) = self.unwritten(keyspace, key) {
            return Ok(self.keep(keyspace, key, open, value.as_deref()));
        }
        let value = view.db.get_pinned_cf_opt(view.family, key, &view.read).map_err(|error| read_error(&error))?;
        if value.is_none() {
            self.find_frontier(keyspace);
        }
        Ok(self.keep(keyspace, key, open, value.as_deref()))
    }

    /// The value of a record of a structure that is resident; `None` where it is not.
    fn of_resident(&self, keyspace: &OpenKeyspace<'db>, key: &[u8], open: &Open) -> Option<Option<Bytes>> {
        keyspace.filter_prefix?;
        let structure = (keyspace.cached?, *key.first_chunk()?);
        self.shared.cache.as_ref()?.resident_record(&structure, key, open.last)
    }

    /// Which of these records are known to be absent by the frontier of their keyspace; nothing of a keyspace that is not cached.
    fn are_absent<'k>(
        &self,
        keyspace: &OpenKeyspace<'db>,
        keys: impl IntoIterator<Item = &'k [u8]>,
        open: &Open,
    ) -> impl Iterator<Item = bool> {
        let cache = self.shared.cache.as_ref().zip(keyspace.cached);
        let names = |space| keys.into_iter().map(move |bytes| Name { space, bytes });
        cache.map(|(cache, space)| cache.are_absent(names(space), open.last)).into_iter().flatten()
    }

    /// What a frontier has told is left in the cache for who is about to put it there, and needs no place otherwise.
    fn keep_absent(&self, keyspace: &OpenKeyspace<'db>, key: &[u8], open: &Open) -> Option<Bytes> {
        if open.kind == Kind::Read { None } else { self.keep(keyspace, key, open, None) }
    }

    /// RocksDB looked for a record in vain.
    fn find_frontier(&self, keyspace: &OpenKeyspace<'db>) {
        let (Some(cache), Some(space), Some(family)) = (&self.shared.cache, keyspace.cached, &keyspace.family) else { return };
        cache.find_frontier(space, || {
            let mut read = ReadOptions::default();
            // Where many were deleted at the end, it is not worth the search, and commits wait for it.
            read.set_max_skippable_internal_keys(MOST_SKIPPED);
            self.write_back(keyspace, &KeyRange::all()).ok()?;
            if self.left_redo(keyspace).is_some() {
                return None;
            }
            let last = last_committed_key(self.database(keyspace)?, family, read).ok()?;
            Some((last, self.shared.revisions.started()))
        });
    }

    /// What the cache knows, and reads of the other keys.
    fn get_many(&self, keys: &[(Keyspace, &[u8])], open: &Open) -> Result<Values, StoreError> {
        let Some(cache) = &self.shared.cache else {
            let all: Vec<usize> = (0..keys.len()).collect();
            return Values::from_each(&self.get_unknown(keys, &all, open)?);
        };
        let names = keys.iter().map(|(keyspace, key)| Some(Name { space: self.keyspace(*keyspace).ok()?.cached?, bytes: key }));
        let (mut known, mut unknown, mut fits) = (Values::with_capacity(keys.len()), Vec::new(), Ok(()));
        cache.get_many(names, open.last, |value| {
            if value.is_none() {
                unknown.push(known.ends.len());
            }
            if fits.is_ok() {
                fits = known.push(value.flatten());
            }
        });
        fits?;
        if unknown.is_empty() {
            return Ok(known);
        }
        let mut read = self.get_unknown(keys, &unknown, open)?.into_iter();
        let mut unknown = unknown.into_iter().peekable();
        let known = known.of_each(keys.len())?.enumerate();
        let whole = known.map(|(position, value)| if unknown.next_if_eq(&position).is_some() { read.next().flatten() } else { value });
        Values::from_each(&whole.collect::<Vec<_>>())
    }

    /// The values of the keys at these positions: for each keyspace a walk along those that follow each other, and one batched read of the
    /// others.
    fn get_unknown(&self, keys: &[(Keyspace, &[u8])], positions: &[usize], open: &Open) -> Result<Vec<Option<Bytes>>, StoreError> {
        let mut values = vec![None; positions.len()];
        let slots = positions.iter().zip(&mut values);
        let wanted = slots.filter_map(|(&position, slot)| keys.get(position).map(|&(keyspace, key)| (keyspace, key, slot)));
        let mut wanted: Vec<Unknown<'_, '_>> = wanted.collect();
        // Of many clients that take from lists, elements which follow each other come in any order.
        wanted.sort_unstable_by(|(one, key, _), (other, next, _)| (one, key).cmp(&(other, next)));
        for group in wanted.chunk_by_mut(|(one, ..), (other, ..)| one == other) {
            let Some((name, ..)) = group.first() else { continue };
            self.get_of(self.keyspace(*name)?, group, open)?;
        }
        Ok(values)
    }

    /// Reads keys of one keyspace.
    fn get_of(&self, keyspace: &OpenKeyspace<'db>, group: &mut [Unknown<'_, '_>], open: &Open) -> Result<(), StoreError> {
        let mut scattered = Vec::with_capacity(group.len());
        for run in group.chunk_by_mut(|(_, key, _), (_, next, _)| neighbours::follow_each_other(key, next)) {
            if run.len() < neighbours::LEAST || keyspace.order != Order::Bytes || keyspace.is_written_back {
                scattered.extend(run);
                continue;
            }
            let Some(view) = self.view(keyspace) else { return Ok(()) };
            let keys: Vec<&[u8]> = run.iter().map(|(_, key, _)| *key).collect();
            // Not kept: whoever takes elements from a list does not ask for them again.
            run.iter_mut().zip(neighbours::get(view, &keys)?).for_each(|((.., slot), value)| **slot = value);
        }
        let are_absent: SmallVec<[bool; 64]> = self.are_absent(keyspace, scattered.iter().map(|(_, key, _)| *key), open).collect();
        let mut are_absent = are_absent.into_iter();
        scattered.retain_mut(|(_, key, slot)| {
            if are_absent.next() == Some(true) {
                self.keep_absent(keyspace, key, open);
                return false;
            }
            let Some(value) = self.of_resident(keyspace, key, open) else { return true };
            **slot = value;
            false
        });
        if scattered.is_empty() {
            return Ok(());
        }
        let Some(view) = self.view_of(keyspace, scattered.iter().map(|(_, key, _)| *key)) else { return Ok(()) };
        if keyspace.is_written_back {
            scattered.retain_mut(|(_, key, slot)| {
                let unwritten = self.unwritten(keyspace, key);
                if let Some(value) = &unwritten {
                    **slot = self.keep(keyspace, key, open, value.as_deref());
                }
                unwritten.is_none()
            });
        }
        let got = view.db.batched_multi_get_cf_opt(view.family, scattered.iter().map(|(_, key, _)| *key), false, &view.read);
        let mut is_missed = false;
        for ((_, key, slot), value) in scattered.into_iter().zip(got) {
            let value = value.map_err(|error| read_error(&error))?;
            is_missed |= value.is_none();
            **slot = self.keep(keyspace, key, open, value.as_deref());
        }
        if is_missed {
            self.find_frontier(keyspace);
        }
        Ok(())
    }
}

/// A key that the cache does not know, and where its value is to go.
type Unknown<'k, 'v> = (Keyspace, &'k [u8], &'v mut Option<Bytes>);

/// The last key that a keyspace has now, in whatever state.
pub(super) fn last_committed_key(db: &Db, family: &Family<'_>, mut read: ReadOptions) -> Result<Option<Vec<u8>>, StoreError> {
    read.set_total_order_seek(true);
    let mut records = db.raw_iterator_cf_opt(&family.handle, read);
    records.seek_to_last();
    records.status().map_err(|error| read_error(&error))?;
    Ok(records.key().map(<[u8]>::to_vec))
}

fn no_transaction() -> StoreError {
    StoreError::Io("no transaction is open".into())
}

impl RocksHandle {
    pub(super) fn new(store: Arc<Inner>) -> Self {
        store.shared.handles.fetch_add(1, Ordering::SeqCst);
        let session = Session::new(store, |store| State {
            shared: &store.shared,
            keyspaces: Vec::new(),
            snapshots: Vec::new(),
            may_be_late: false,
            settled: 0,
            late_writer: None,
        });
        Self { open: None, watch: None, session }
    }

    /// Takes the state that the transaction reads, and returns the epoch.
    fn take_state(&mut self, kind: Kind, held: Held) -> Result<u64, StoreError> {
        self.session.with_dependent_mut(|_, state| {
            let shared = state.shared;
            // Before the handles are counted: a commit of a handle that comes later is noticed.
            let started = shared.revisions.started();
            // Nobody else commits beside an exclusive transaction, or beside the only handle.
            let is_only = shared.handles.load(Ordering::SeqCst) == 1;
            let alone = kind == Kind::Exclusive || is_only;
            let _publishing = (!alone).then(|| shared.publishing.read());
            let (last, epoch) = (shared.revisions.last(), shared.revisions.epoch());
            // Behind the last number: late commits up to it are waited for. In the cache even an exclusive transaction would find
            // those of another handle.
            let written_back = if is_only { SmallVec::new() } else { shared.write_back()? };
            state.snapshots.clear();
            if !alone {
                state.snapshots.extend(shared.databases.iter().map(|database| database.get_at_once().map(Db::snapshot)));
            }
            drop(written_back);
            state.find_created()?;
            self.open = Some(Open { kind, held, last, started });
            Ok(epoch)
        })
    }

    /// Reads from the state of the open transaction.
    fn read<T>(&self, read: impl FnOnce(&State<'_>, &Open) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let open = self.open.as_ref().ok_or_else(no_transaction)?;
        let state = self.session.borrow_dependent();
        let outcome = read(state, open)?;
        if state.snapshots.is_empty() && state.shared.revisions.started() != open.started {
            return Err(StoreError::Expired);
        }
        Ok(outcome)
    }
}

impl Drop for RocksHandle {
    fn drop(&mut self) {
        self.rollback();
        // Before another handle is the only one. Nobody is left who could be told of a failure, which poisons the store.
        let _settled = self.settle(u64::MAX);
        if let (Some(cache), Some(watch)) = (&self.session.borrow_owner().shared.cache, &self.watch) {
            cache.end_watch(watch);
        }
        self.session.borrow_owner().shared.handles.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Store for RocksHandle {
    fn limits(&self) -> Limits {
        Limits { read_only: self.session.borrow_owner().shared.options.read_only, ..LIMITS }
    }

    fn open_keyspace(&mut self, name: &str, order: Order) -> Result<Keyspace, StoreError> {
        self.session.with_dependent_mut(|_, state| state.open_keyspace(name, order))
    }

    fn order(&self, keyspace: Keyspace) -> Order {
        self.session.borrow_dependent().keyspace(keyspace).map_or(Order::Bytes, |keyspace| keyspace.order)
    }

    fn begin(&mut self, scope: &Scope) -> Result<u64, StoreError> {
        if self.open.is_some() {
            return Err(StoreError::Io("a transaction is open already".into()));
        }
        let kind = match scope {
            Scope::Read => Kind::Read,
            Scope::Keys(_) => Kind::Keys,
            Scope::Exclusive => Kind::Exclusive,
        };
        let shared = &self.session.borrow_owner().shared;
        if kind != Kind::Read && shared.options.read_only {
            return Err(StoreError::ReadOnly);
        }
        let held = shared.locks.acquire(scope);
        self.take_state(kind, held)
    }

    fn get(&mut self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.read(|state, open| state.get(keyspace, key, open))
    }

    fn get_many(&mut self, keys: &[(Keyspace, &[u8])]) -> Result<Values, StoreError> {
        self.read(|state, open| state.get_many(keys, open))
    }

    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        let found = self.scan_unless_known(keyspace, range, direction, limit, 0)?;
        found.page.ok_or_else(|| StoreError::Corrupt("a page is taken for known that nobody knows".into()))
    }

    fn scan_unless_known(
        &mut self,
        keyspace: Keyspace,
        range: &KeyRange,
        direction: Direction,
        limit: PageLimit,
        known: u64,
    ) -> Result<Numbered, StoreError> {
        self.read(|state, open| state.scan(keyspace, Asked { range, direction, limit }, open.last, known))
    }

    fn take_changes(&mut self) -> Changes {
        match (&self.session.borrow_owner().shared.cache, &self.watch) {
            (_, Some(watch)) => watch.take(),
            (Some(cache), None) => {
                self.watch = Some(cache.watch());
                Changes::ALL
            }
            // No page has a number.
            (None, None) => Changes::NONE,
        }
    }

    fn revisions(&mut self, keys: &[Bytes]) -> Result<Vec<u64>, StoreError> {
        let shared = &self.session.borrow_owner().shared;
        let last = self.open.as_ref().map_or(u64::MAX, |open| open.last);
        Ok(keys.iter().map(|key| shared.revisions.revision(shared.locks.stripe(key), last)).collect())
    }

    fn commit(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        let open = self.open.take().ok_or_else(no_transaction)?;
        self.session.with_dependent_mut(|_, state| {
            state.snapshots.clear();
            state.write(&open, batch, changed)
        })
    }

    fn let_commits_be_late(&mut self, may_be_late: bool) {
        self.session.with_dependent_mut(|_, state| state.may_be_late = may_be_late);
    }

    fn last_late_commit(&mut self) -> u64 {
        self.session.with_dependent_mut(|_, state| {
            let last = state.late_writer.as_ref().map_or(0, LateWriter::hand_over);
            // Whether one that is done has failed, nobody has heard before it is settled.
            if last <= state.settled { 0 } else { last }
        })
    }

    fn settle(&mut self, up_to: u64) -> Result<(), StoreError> {
        self.session.with_dependent_mut(|_, state| state.settle(up_to))
    }

    fn rollback(&mut self) {
        self.open = None;
        self.session.with_dependent_mut(|_, state| state.snapshots.clear());
    }

    fn begins_reads_for_nothing(&self) -> bool {
        // With others every transaction takes snapshots, and may wait for a commit.
        self.session.borrow_owner().shared.handles.load(Ordering::SeqCst) == 1
    }
}
