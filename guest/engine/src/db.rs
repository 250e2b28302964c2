//! One Redis db within a transaction: what the types and commands work on.
//!
//! A [`Db`] knows which keys are there at the transaction's clock, replaces and removes them, and hands out the tools that the
//! types need (layout, transaction, versions, randomness). It knows no bytes and no commands.

use crate::environment::Environment;
use crate::error::{Error, Result, texts};
use crate::events::{Classes, Events};
use crate::key_count::KeyCount;
use crate::last_found::LastFound;
use crate::layout::records::Records;
use crate::layout::{Body, Catalog, Collection, Cut, KeyAt, Kind, Layout, Meta, Names, New, field_expiry, namespaces};
use crate::store::Direction;
use crate::transaction::Transaction;
use bytes::Bytes;
use std::borrow::Cow;
use std::cell::Cell;

/// Versions that were reserved and not given yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    /// The next one to give.
    pub next: u64,
    /// The first one that is not ours.
    pub end: u64,
}

impl Versions {
    /// The next version.
    ///
    /// # Errors
    /// [`Error::OutOfVersions`] where more must be reserved first.
    pub fn take(&mut self) -> Result<u64> {
        if self.next >= self.end {
            return Err(Error::OutOfVersions);
        }
        self.next += 1;
        Ok(self.next - 1)
    }
}

/// How many keys a search among the named ones looks at.
const MAX_LOOKED_AT: usize = 4;

/// The keys that the commands of a group name, in their order: what is made of them once is not made again.
#[derive(Debug, Default)]
pub struct Named<'j> {
    /// Where they live: once, where one is named several times, one behind the other.
    places: Vec<KeyAt>,
    /// Each as it is in memory, with the position of its place.
    names: Vec<(&'j [u8], usize)>,
    /// The one that was found last, and the one behind it.
    last: Cell<usize>,
    next: Cell<usize>,
}

impl<'j> Named<'j> {
    /// None, with room for so many.
    #[must_use]
    pub fn with_capacity(keys: usize) -> Self {
        Self { places: Vec::with_capacity(keys), names: Vec::with_capacity(keys), last: Cell::new(0), next: Cell::new(0) }
    }

    /// Adds a key that is named behind those before it.
    pub fn add(&mut self, space: u32, key: &'j Bytes) {
        if self.places.last().is_none_or(|last| last.space != space || last.key != key) {
            self.places.push(KeyAt::new(space, key.clone()));
        }
        self.names.push((key, self.places.len() - 1));
    }

    /// Where they live, in their order.
    #[must_use]
    pub fn places(&self) -> &[KeyAt] {
        &self.places
    }

    /// How many names there are: no fewer than places.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Begins with the first one again.
    pub fn rewind(&mut self) {
        self.last.set(0);
        self.next.set(0);
    }

    /// Which ones come next, for [`Named::go_back`].
    #[must_use]
    pub fn place(&self) -> (usize, usize) {
        (self.last.get(), self.next.get())
    }

    /// Those that came next at a place do so again.
    pub fn go_back(&self, (last, next): (usize, usize)) {
        self.last.set(last);
        self.next.set(next);
    }

    /// The one that was found last will be asked for again.
    pub fn step_back(&self) {
        self.next.set(self.last.get());
    }

    /// The key at this place in memory, if it is among those that come next.
    fn find(&self, space: u32, key: &Bytes) -> Option<&KeyAt> {
        let next = self.next.get();
        for (name, &(named, place)) in self.names.get(next..)?.iter().take(MAX_LOOKED_AT).enumerate() {
            if std::ptr::eq(named, &**key)
                && let Some(at) = self.places.get(place).filter(|at| at.space == space)
            {
                self.last.set(next + name);
                self.next.set(next + name + 1);
                return Some(at);
            }
        }
        None
    }
}

/// A db, seen by one command.
pub struct Db<'t, 's> {
    /// The records.
    pub transaction: &'t mut Transaction<'s>,
    /// How they are encoded.
    pub layout: &'t dyn Layout,
    /// Randomness.
    pub environment: &'t mut dyn Environment,
    /// Which space each db number stands for.
    pub catalog: &'t mut Catalog,
    /// Reserved versions.
    pub versions: &'t mut Versions,
    /// What has happened to keys.
    pub events: &'t mut Events,
    /// Longest string in bytes (`proto-max-bulk-len`).
    pub max_string_bytes: usize,
    /// The clock of this call in the steps of the layout's expiries: Unix time in milliseconds.
    pub now_ms: u64,
    /// The clock of this call: Unix time in milliseconds.
    pub clock_ms: u64,
    /// The db's number.
    pub index: usize,
    /// The keys that the commands of the group name.
    pub named: &'t Named<'t>,
    /// What was found under a key last.
    pub last_found: &'t mut LastFound,
    /// How many keys there were when they were counted last.
    pub key_count: &'t mut Option<KeyCount>,
    /// Where keys are noted that become lists or sorted sets, in that order; `None` where nobody waits for any.
    pub appeared: Option<&'t mut Vec<KeyAt>>,
}

impl<'t> Db<'t, '_> {
    /// Where `key` lives in this db.
    ///
    /// # Errors
    /// Redis' error for a db number out of range.
    pub fn at(&self, key: &Bytes) -> Result<Cow<'t, KeyAt>> {
        self.at_db(self.index, key)
    }

    /// As [`Db::at`], for who keeps it.
    ///
    /// # Errors
    /// As [`Db::at`].
    pub fn own_at(&self, key: &Bytes) -> Result<KeyAt> {
        self.at(key).map(Cow::into_owned)
    }

    /// Where `key` lives in db number `index`.
    ///
    /// # Errors
    /// Redis' error for a db number out of range.
    pub fn at_db(&self, index: usize, key: &Bytes) -> Result<Cow<'t, KeyAt>> {
        let Some(&space) = self.catalog.spaces.get(index) else { return Err(texts::DB_OUT_OF_RANGE) };
        let named = self.named.find(space, key).map(Cow::Borrowed);
        Ok(named.unwrap_or_else(|| Cow::Owned(KeyAt::new(space, key.clone()))))
    }

    /// What is stored under a key, in the first namespace that has it; `None` where nothing is, or only what has expired. A transaction
    /// that may change the key removes it when it finds it expired, as Redis does.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    pub fn find(&mut self, at: &KeyAt) -> Result<Option<Meta>> {
        let found = self.look_at(at);
        self.tell_of_a_miss(at, matches!(found, Ok(None)));
        found
    }

    /// As [`Db::find`], but nobody is told of a miss: for what Redis does not count as a use of the key.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    pub fn look_at(&mut self, at: &KeyAt) -> Result<Option<Meta>> {
        for &kind in namespaces(self.layout) {
            if let Some(meta) = self.look_in(at, kind)? {
                return Ok(Some(meta));
            }
        }
        Ok(None)
    }

    /// What is stored where a value of that kind would be: it is of that kind itself in layouts with a namespace for each, and may be of
    /// any in the others. As [`Db::find`] otherwise.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    pub fn find_in_place_of(&mut self, at: &KeyAt, kind: Kind) -> Result<Option<Meta>> {
        let found = self.look_in(at, kind);
        self.tell_of_a_miss(at, matches!(found, Ok(None)));
        found
    }

    /// Everything that is stored under a key: one value at most, but in layouts with several namespaces.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    pub fn find_all(&mut self, at: &KeyAt) -> Result<Vec<Meta>> {
        let found = self.look_at_all(at)?;
        self.tell_of_a_miss(at, found.is_empty());
        Ok(found)
    }

    /// As [`Db::find_all`], but nobody is told of a miss.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    pub fn look_at_all(&mut self, at: &KeyAt) -> Result<Vec<Meta>> {
        let mut found = Vec::new();
        for &kind in namespaces(self.layout) {
            found.extend(self.look_in(at, kind)?);
        }
        Ok(found)
    }

    fn tell_of_a_miss(&mut self, at: &KeyAt, is_missed: bool) {
        if is_missed && self.events.reads_only {
            self.events.notify_miss(self.catalog, at);
        }
    }

    fn look_in(&mut self, at: &KeyAt, kind: Kind) -> Result<Option<Meta>> {
        // A meta is large. It stays where it was made: taken apart and put together again, it would be copied.
        let mut found = self.search(at, kind);
        if let Ok(Some(meta)) = &found {
            match self.is_gone(at, meta) {
                Ok(false) => {}
                Ok(true) => found = self.remove_gone(at, meta).map(|()| None),
                Err(error) => found = Err(error),
            }
        }
        found
    }

    /// Removes a key that is past its time, where the transaction may do so.
    #[cold]
    fn remove_gone(&mut self, at: &KeyAt, meta: &Meta) -> Result<()> {
        if self.transaction.may_change(at.lock_key()) && self.layout.removes_expired() {
            self.layout.write(self.transaction, at, Some(meta), New::Nothing, self.now_ms)?;
            if meta.expire_at_ms.is_some_and(|at_ms| self.layout.expiry_rules().is_past(at_ms, self.now_ms)) {
                self.notify(Classes::EXPIRED, "expired", at);
            } else {
                self.notify(Classes::HASH, "hexpired", at);
                self.notify(Classes::GENERIC, "del", at);
            }
        }
        Ok(())
    }

    /// What is stored under a key, past its time or not.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    #[inline]
    pub fn search(&mut self, at: &KeyAt, kind: Kind) -> Result<Option<Meta>> {
        if self.last_found.is_on() { self.search_unless_known(at, kind) } else { self.layout.find(self.transaction, at, kind) }
    }

    fn search_unless_known(&mut self, at: &KeyAt, kind: Kind) -> Result<Option<Meta>> {
        let heads = self.last_found.heads();
        if let Some(found) = self.last_found.get(self.transaction.generation(heads), at, kind) {
            return Ok(found.clone());
        }
        let found = self.layout.find(self.transaction, at, kind)?;
        self.last_found.keep(self.transaction.generation(heads), at, kind, found.as_ref());
        Ok(found)
    }

    /// What a time to live counts from: `base + ttl` is the expiry. The clock, in most layouts.
    #[must_use]
    pub fn expiry_base_ms(&self) -> u64 {
        self.layout.expiry_rules().base_ms(self.now_ms)
    }

    /// Whether what is stored under a key has expired as a whole, see [`field_expiry::is_gone`].
    ///
    /// # Errors
    /// Store errors, corrupt records.
    pub fn is_gone(&mut self, at: &KeyAt, meta: &Meta) -> Result<bool> {
        field_expiry::is_gone(self.layout, self.transaction, at, meta, self.now_ms)
    }

    /// The string under a key, with its meta; `None` where there is no key.
    ///
    /// # Errors
    /// WRONGTYPE where the key holds another type; store errors, corrupt records.
    pub fn find_string(&mut self, at: &KeyAt) -> Result<Option<(Meta, Bytes)>> {
        let Some(meta) = self.find_in_place_of(at, Kind::String)? else { return Ok(None) };
        match &meta.body {
            Body::String(value) => {
                let value = value.clone();
                Ok(Some((meta, value)))
            }
            Body::Collection(_) => Err(texts::WRONG_TYPE),
        }
    }

    /// The collection of that kind under a key, with its meta; `None` where there is no key.
    ///
    /// # Errors
    /// As [`Db::find_string`].
    pub fn find_collection(&mut self, at: &KeyAt, kind: Kind) -> Result<Option<(Meta, Collection)>> {
        if let Some(collection) = self.last_collection(at, kind) {
            return Ok(Some((Meta { expire_at_ms: None, body: Body::Collection(*collection) }, *collection)));
        }
        let Some(meta) = self.find_in_place_of(at, kind)? else { return Ok(None) };
        match meta.body {
            Body::Collection(collection) if collection.kind == kind => Ok(Some((meta, collection))),
            _ => Err(texts::WRONG_TYPE),
        }
    }

    /// The collection of that kind that was found under the key last, and that cannot be past its time: most of those that are asked for again.
    fn last_collection(&self, at: &KeyAt, kind: Kind) -> Option<&Collection> {
        if !self.last_found.is_on() {
            return None;
        }
        match self.last_found.get(self.transaction.generation(self.last_found.heads()), at, kind)? {
            Some(Meta { expire_at_ms: None, body: Body::Collection(collection) }) => {
                Some(collection).filter(|collection| collection.kind == kind && collection.expiries.is_none())
            }
            _ => None,
        }
    }

    /// As [`Db::find_collection`], with its records counted where the layout keeps no count.
    ///
    /// # Errors
    /// As [`Db::find_string`].
    pub fn find_counted(&mut self, at: &KeyAt, kind: Kind) -> Result<Option<(Meta, Collection)>> {
        let Some((meta, mut collection)) = self.find_collection(at, kind)? else { return Ok(None) };
        collection.count = self.count(at, &collection)?;
        Ok(Some((meta, collection)))
    }

    /// How many records a collection has: walks over them where its head does not say it.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    pub fn count(&mut self, at: &KeyAt, collection: &Collection) -> Result<u64> {
        if collection.is_counted {
            return Ok(collection.count);
        }
        self.records(at, collection).count(self.transaction)
    }

    /// Tells that something has happened to a key. `name` is Redis' word for it, and events come in Redis' order: `new` goes before
    /// the event of the command that makes a key, `del` behind that of the command which takes a key's last element.
    pub fn notify(&mut self, class: Classes, name: &'static str, at: &KeyAt) {
        self.events.notify(self.catalog, class, name, at);
    }

    /// Tells that a key is not there which a command that writes others would only have read. Where commands only read, [`Db::find`]
    /// tells it.
    pub fn notify_miss(&mut self, at: &KeyAt) {
        if !self.events.reads_only {
            self.events.notify_miss(self.catalog, at);
        }
    }

    /// Replaces `old`, which is what [`Db::find`] returned for the key, by `new`; `None` removes the key. Tells of new keys only.
    ///
    /// # Errors
    /// Store errors.
    pub fn write(&mut self, at: &KeyAt, old: Option<&Meta>, new: Option<&Meta>) -> Result<()> {
        if let (None, Some(new)) = (old, new) {
            self.note_appeared(at, new.kind());
        }
        self.check_expiry(old, new)?;
        self.layout.write(self.transaction, at, old, new.map_or(New::Nothing, New::Value), self.now_ms)?;
        if let (true, Some(new), heads @ Some(_)) = (self.last_found.is_on(), new, self.last_found.heads()) {
            self.last_found.keep(self.transaction.generation(heads), at, new.kind(), Some(new));
        }
        if old.is_none() && new.is_some() {
            self.notify(Classes::NEW, "new", at);
        }
        Ok(())
    }

    fn check_expiry(&self, old: Option<&Meta>, new: Option<&Meta>) -> Result<()> {
        let expiry = |meta: Option<&Meta>| meta.and_then(|meta| meta.expire_at_ms);
        match expiry(new) {
            Some(at_ms) if expiry(old) != Some(at_ms) => self.layout.expiry_rules().check(self.layout.name(), at_ms),
            _ => Ok(()),
        }
    }

    /// Notes, for clients that wait for it, that a key is there that was not there before. [`Db::write`] does so by itself; a command
    /// that removes a key and makes it anew in one step does it by this.
    pub fn note_appeared(&mut self, at: &KeyAt, kind: Kind) {
        if let (Some(appeared), Kind::List | Kind::SortedSet) = (&mut self.appeared, kind) {
            appeared.push(at.clone());
        }
    }

    /// Moves what [`Db::find`] returned for `from` to `to`, where nothing is stored (any more). False, and nothing done, where the layout
    /// cannot: it must be copied.
    ///
    /// # Errors
    /// Store errors.
    pub fn rename(&mut self, from: &KeyAt, to: &KeyAt, meta: &Meta) -> Result<bool> {
        let is_moved = self.layout.rename(self.transaction, from, to, meta)?;
        if is_moved {
            self.note_appeared(to, meta.kind());
        }
        Ok(is_moved)
    }

    /// Stores a string under a key, in the place of `old`.
    ///
    /// # Errors
    /// Redis' error for strings above `proto-max-bulk-len`; store errors.
    pub fn write_string(&mut self, at: &KeyAt, old: Option<&Meta>, value: Bytes, expire_at_ms: Option<u64>) -> Result<()> {
        if value.len() > self.max_string_bytes {
            return Err(texts::STRING_TOO_LONG);
        }
        let new = Meta { expire_at_ms, body: Body::String(value) };
        self.write(at, old, Some(&new))
    }

    /// The head of a new, still empty collection under a key. It is stored by [`Db::write`] once it has elements.
    ///
    /// # Errors
    /// [`Error::OutOfVersions`]; store errors, corrupt records.
    pub fn new_collection(&mut self, at: &KeyAt, kind: Kind) -> Result<Collection> {
        let Self { layout, transaction, versions, now_ms, .. } = self;
        let version = layout.next_version(transaction, at, kind, *now_ms, &mut || versions.take())?;
        Ok(layout.empty_collection(kind, version))
    }

    /// The head of a new, still empty collection that takes the place of `old`. Whether what `old` is can still be read until it is
    /// written depends on the layout: not, where its records could not be told from the new ones.
    ///
    /// # Errors
    /// As [`Db::new_collection`].
    pub fn replacement(&mut self, at: &KeyAt, old: Option<&Meta>, kind: Kind) -> Result<Collection> {
        if old.is_some() && !self.layout.hides_unfinished() {
            self.layout.write(self.transaction, at, old, New::Nothing, self.now_ms)?;
        }
        self.new_collection(at, kind)
    }

    /// Stores a changed head of a collection: removes the key where nothing is left in it, keeps its expiry otherwise.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    pub fn write_collection(&mut self, at: &KeyAt, old: Option<&Meta>, collection: Collection) -> Result<()> {
        let expire_at_ms = old.and_then(|old| old.expire_at_ms);
        let mut new = Meta { expire_at_ms, body: Body::Collection(collection) };
        if !self.is_emptied(at, &collection)? {
            return self.write(at, old, Some(&new));
        }
        new.body = Body::Collection(Collection { count: 0, ..collection });
        self.notify(Classes::GENERIC, "del", at);
        self.layout.write(self.transaction, at, old, New::Emptied(&new), self.now_ms)
    }

    fn is_emptied(&mut self, at: &KeyAt, collection: &Collection) -> Result<bool> {
        if collection.is_counted {
            return Ok(collection.count == 0);
        }
        Ok(self.records(at, collection).first(self.transaction, Direction::Forward)?.is_none())
    }

    /// How many bytes the record takes that tells what is under a key, as that kind.
    ///
    /// # Errors
    /// Store errors.
    pub fn meta_bytes(&mut self, at: &KeyAt, kind: Kind) -> Result<u64> {
        let mut records = Vec::new();
        self.layout.meta_records(at, Some(kind), &mut records);
        let values = self.transaction.get_many(&records)?;
        let sizes = records.iter().zip(values).map(|((_, key), value)| value.map_or(0, |value| key.len() + value.len()));
        Ok(u64::try_from(sizes.sum::<usize>()).unwrap_or(u64::MAX))
    }

    /// The records of a collection that is no list, with those of its indexes.
    #[must_use]
    pub fn parts(&self, at: &KeyAt, collection: &Collection) -> Vec<Records> {
        let mut parts = vec![self.records(at, collection)];
        if collection.kind == Kind::SortedSet {
            parts.push(self.layout.scores(at, collection, &Cut::Edge, &Cut::Edge));
        }
        if let (Some(index), Some(_)) = (self.layout.field_index(), collection.expiries) {
            parts.push(Records::Range(index.records(at, collection.version)));
        }
        parts
    }

    /// The records of a collection that is no list.
    fn records(&self, at: &KeyAt, collection: &Collection) -> Records {
        match collection.kind {
            Kind::Hash => self.layout.fields(at, collection, &Names::ALL),
            _ => self.layout.members(at, collection),
        }
    }

    /// Removes a key, from all namespaces. Returns how many values there were.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    pub fn remove(&mut self, at: &KeyAt) -> Result<u64> {
        let found = self.find_all(at)?;
        for old in &found {
            self.delete(at, old)?;
        }
        Ok(u64::try_from(found.len()).unwrap_or(u64::MAX))
    }

    /// Removes what a value of that kind would take the place of. False where there is nothing.
    ///
    /// # Errors
    /// Store errors, corrupt records.
    pub fn remove_in_place_of(&mut self, at: &KeyAt, kind: Kind) -> Result<bool> {
        let Some(old) = self.find_in_place_of(at, kind)? else { return Ok(false) };
        self.delete(at, &old)?;
        Ok(true)
    }

    /// Removes a key under which [`Db::find`] has found `old`.
    ///
    /// # Errors
    /// Store errors.
    pub fn delete(&mut self, at: &KeyAt, old: &Meta) -> Result<()> {
        self.notify(Classes::GENERIC, "del", at);
        self.write(at, Some(old), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_named_again_lives_in_one_place_and_is_found_by_each_of_its_names() {
        let names: Vec<Bytes> = ["a", "a", "b", "a"].map(|name| Bytes::copy_from_slice(name.as_bytes())).into();
        let mut named = Named::with_capacity(names.len());
        names.iter().for_each(|name| named.add(7, name));
        let keys = |places: &[KeyAt]| -> Vec<Bytes> { places.iter().map(|at| at.key.clone()).collect() };
        assert_eq!((named.len(), keys(named.places())), (4, vec![names[0].clone(), names[2].clone(), names[3].clone()]));
        let places: Vec<&KeyAt> = names.iter().map(|name| named.find(7, name).unwrap()).collect();
        assert!(std::ptr::eq(places[0], places[1]) && !std::ptr::eq(places[0], places[3]));
        assert_eq!(places[2].key, "b");
        // All have been asked for; and an equal key elsewhere in memory is not one of them, nor is one of another space.
        assert!(named.find(7, &names[0]).is_none());
        named.rewind();
        assert!(named.find(7, &Bytes::copy_from_slice(b"a")).is_none() && named.find(8, &names[0]).is_none());
        assert!(named.find(7, &names[0]).is_some());
    }
}
