//! Lists: elements by position under one key. <https://redis.io/docs/latest/commands/?group=list>
//!
//! How elements are kept, and what a position costs, is the layout's affair ([`crate::layout::lists`]). A list without elements does
//! not exist: the last one takes the key with it.
//!
//! Positions count from 0 at the head, or from -1 at the tail backwards. All functions fail with WRONGTYPE where the key holds
//! another type, and with store errors and corrupt records.

use crate::db::Db;
use crate::error::{Error, Result, texts};
use crate::events::Classes;
use crate::layout::lots::Lot;
use crate::layout::{Body, Collection, KeyAt, Kind, Meta};
use crate::store::Direction;
use bytes::Bytes;
use std::ops::Range;

pub use crate::layout::lists::{End, Side};

pub(crate) const INDEX_OUT_OF_RANGE: Error = Error::client("ERR index out of range");

/// How many elements the first page of a search asks for.
const FIRST_SEARCHED: u64 = 64;

/// The way from an end into the list.
const fn inwards(end: End) -> Direction {
    match end {
        End::Head => Direction::Forward,
        End::Tail => Direction::Reverse,
    }
}

/// The event of a push to an end.
const fn push_event(end: End) -> &'static str {
    match end {
        End::Head => "lpush",
        End::Tail => "rpush",
    }
}

/// The event of a pop from an end.
const fn pop_event(end: End) -> &'static str {
    match end {
        End::Head => "lpop",
        End::Tail => "rpop",
    }
}

/// The ranks of the `count` elements next to an end, of all where there are not so many.
fn ranks_at(end: End, list: &Collection, count: u64) -> Range<u64> {
    match end {
        End::Head => 0..count.min(list.count),
        End::Tail => list.count.saturating_sub(count)..list.count,
    }
}

/// How many elements the list has; 0 where there is none.
///
/// # Errors
/// See the module.
pub fn len(db: &mut Db, at: &KeyAt) -> Result<u64> {
    Ok(find(db, at)?.map_or(0, |(_, list)| list.count))
}

/// The element at a position; `None` outside of the list, or where there is none.
///
/// # Errors
/// See the module.
pub fn get(db: &mut Db, at: &KeyAt, position: i64) -> Result<Option<Bytes>> {
    let Some((_, list)) = find(db, at)? else { return Ok(None) };
    let Some(rank) = rank(position, list.count) else { return Ok(None) };
    db.layout.lists().get(db.transaction, at, &list, rank).map(Some)
}

/// Hands the elements from `start` to `stop`, both included, to `visit`, in their order, some at a time. Positions outside of the list are cut off.
///
/// # Errors
/// See the module.
pub fn each(db: &mut Db, at: &KeyAt, start: i64, stop: i64, mut visit: impl FnMut(Lot<'_, '_, &[u8]>)) -> Result<()> {
    let Some((_, list)) = find(db, at)? else { return Ok(()) };
    db.layout.lists().each(db.transaction, at, &list, ranks(start, stop, list.count), &mut visit)
}

/// Appends elements one after the other at an end, and makes the list where there is none. Returns its length.
///
/// # Errors
/// See the module; `ERR list index overflow` where the end has no room left, after about 2⁶³ pushes.
pub fn push(db: &mut Db, at: &KeyAt, end: End, new: &[Bytes]) -> Result<u64> {
    let mut length = 0;
    push_each(db, at, end, std::iter::once(new), |count| length = count)?;
    Ok(length)
}

/// As [`push`] for each of `pushes`, one after the other; `pushed` is told the length behind each. The head is written once.
///
/// # Errors
/// As [`push`]: then some elements may be there, and the head is as before.
pub fn push_each<'n>(
    db: &mut Db,
    at: &KeyAt,
    end: End,
    pushes: impl Iterator<Item = &'n [Bytes]>,
    mut pushed: impl FnMut(u64),
) -> Result<()> {
    let found = find(db, at)?;
    let (old, mut list) = match &found {
        Some((old, list)) => (Some(old), *list),
        None => (None, db.new_collection(at, Kind::List)?),
    };
    for new in pushes {
        append(db, at, &mut list, end, new)?;
        pushed(list.count);
    }
    write(db, at, old, list)?;
    db.notify(Classes::LIST, push_event(end), at);
    Ok(())
}

/// As [`push`], but only to a list that exists; returns 0 where there is none.
///
/// # Errors
/// As [`push`].
pub fn push_to_existing(db: &mut Db, at: &KeyAt, end: End, new: &[Bytes]) -> Result<u64> {
    if find(db, at)?.is_none() {
        return Ok(0);
    }
    push(db, at, end, new)
}

/// Puts a list of these elements in the place of whatever is under the key, and tells the event; removes the key where there are none.
///
/// # Errors
/// Store errors.
pub fn replace(db: &mut Db, at: &KeyAt, elements: &[Bytes], event: &'static str) -> Result<()> {
    if elements.is_empty() {
        return db.remove_in_place_of(at, Kind::List).map(|_| ());
    }
    let old = db.find_in_place_of(at, Kind::List)?;
    let mut list = db.replacement(at, old.as_ref(), Kind::List)?;
    append(db, at, &mut list, End::Tail, elements)?;
    db.write(at, old.as_ref(), Some(&Meta { expire_at_ms: None, body: Body::Collection(list) }))?;
    db.notify(Classes::LIST, event, at);
    Ok(())
}

/// Removes up to `count` elements from an end and returns them, the outermost first; `None` where there is no list.
///
/// # Errors
/// See the module.
pub fn pop(db: &mut Db, at: &KeyAt, end: End, count: u64) -> Result<Option<Vec<Bytes>>> {
    let Some((old, list)) = find(db, at)? else { return Ok(None) };
    if count == 0 {
        return Ok(Some(Vec::new()));
    }
    let (popped, list) = take(db, at, &list, end, count)?;
    db.notify(Classes::LIST, pop_event(end), at);
    write(db, at, Some(&old), list)?;
    Ok(Some(popped))
}

/// As [`pop`] of one element, so many times; `popped` is told each, and `None` where there is no list any more. The head is written once.
///
/// # Errors
/// See the module: then some elements may be gone, and the head is as before.
pub fn pop_each(db: &mut Db, at: &KeyAt, end: End, times: usize, mut popped: impl FnMut(Option<&Bytes>)) -> Result<()> {
    let Some((old, mut list)) = find(db, at)? else {
        (0..times).for_each(|_| popped(None));
        return Ok(());
    };
    let mut is_emptied = false;
    for _ in 0..times {
        if is_emptied {
            popped(None);
            continue;
        }
        let (taken, rest) = take_one(db, at, &list, end)?;
        popped(Some(&taken));
        (list, is_emptied) = (rest, rest.count == 0);
    }
    db.notify(Classes::LIST, pop_event(end), at);
    write(db, at, Some(&old), list)
}

/// [`pop`] from the first of `lists` that exists, with its place among them; `None` where there is none. The keys behind it are not
/// looked at.
///
/// # Errors
/// See the module, for the keys up to that one.
pub fn pop_first(db: &mut Db, lists: &[KeyAt], end: End, count: u64) -> Result<Option<(usize, Vec<Bytes>)>> {
    for (place, at) in lists.iter().enumerate() {
        if let Some(popped) = pop(db, at, end, count)? {
            return Ok(Some((place, popped)));
        }
    }
    Ok(None)
}

/// Moves the element at an end of one list to an end of another, or of the same one, and returns it; `None` where there is no list
/// to take it from.
///
/// # Errors
/// See the module, for `from` and then, where it is a list, for `to`.
pub fn transfer(db: &mut Db, (from, from_end): (&KeyAt, End), (to, to_end): (&KeyAt, End)) -> Result<Option<Bytes>> {
    let Some((old, list)) = find(db, from)? else { return Ok(None) };
    find(db, to)?;
    if from == to {
        let moved = rotate(db, from, (&old, list), from_end, to_end)?;
        db.notify(Classes::LIST, push_event(to_end), to);
        db.notify(Classes::LIST, pop_event(from_end), from);
        return Ok(moved);
    }
    let (moved, rest) = take_one(db, from, &list, from_end)?;
    push(db, to, to_end, std::slice::from_ref(&moved))?;
    db.notify(Classes::LIST, pop_event(from_end), from);
    write(db, from, Some(&old), rest)?;
    Ok(Some(moved))
}

/// Moves the element at an end of a list to an end of the same one, and returns it. A list of one stays as it is.
fn rotate(db: &mut Db, at: &KeyAt, (old, list): (&Meta, Collection), from: End, to: End) -> Result<Option<Bytes>> {
    if list.count == 1 {
        let only = db.layout.lists().get(db.transaction, at, &list, 0)?;
        write(db, at, Some(old), list)?;
        return Ok(Some(only));
    }
    let (moved, mut rotated) = take_one(db, at, &list, from)?;
    append(db, at, &mut rotated, to, std::slice::from_ref(&moved))?;
    write(db, at, Some(old), rotated)?;
    Ok(Some(moved))
}

/// Replaces the element at a position.
///
/// # Errors
/// See the module; `ERR no such key`, `ERR index out of range`.
pub fn set(db: &mut Db, at: &KeyAt, position: i64, element: Bytes) -> Result<()> {
    let (old, list) = find(db, at)?.ok_or(texts::NO_SUCH_KEY)?;
    let rank = rank(position, list.count).ok_or(INDEX_OUT_OF_RANGE)?;
    db.layout.lists().put(db.transaction, at, &list, rank, element)?;
    db.notify(Classes::LIST, "lset", at);
    write(db, at, Some(&old), list)
}

/// What [`insert`] has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertion {
    /// The list has this length now.
    Done(u64),
    /// Nothing: the pivot is not in the list.
    NoPivot,
    /// Nothing: there is no list.
    NoList,
}

/// Inserts an element beside the first one that equals `pivot`.
///
/// # Errors
/// As [`push`].
pub fn insert(db: &mut Db, at: &KeyAt, side: Side, pivot: &[u8], element: Bytes) -> Result<Insertion> {
    let Some((old, list)) = find(db, at)? else { return Ok(Insertion::NoList) };
    let first = Search { max_matches: 1, ..Search::ALL };
    let Some(&found) = search(db, at, &list, pivot, first)?.first() else { return Ok(Insertion::NoPivot) };
    let list = db.layout.lists().insert(db.transaction, at, &list, found, side, element)?;
    db.notify(Classes::LIST, "linsert", at);
    write(db, at, Some(&old), list)?;
    Ok(Insertion::Done(list.count))
}

/// Removes up to `max_removed` elements that equal `element`, the nearest to `from` first. Returns how many there were.
/// What it holds in memory is their positions and the elements that move.
///
/// # Errors
/// See the module.
pub fn remove(db: &mut Db, at: &KeyAt, element: &[u8], from: End, max_removed: u64) -> Result<u64> {
    let Some((old, list)) = find(db, at)? else { return Ok(0) };
    let mut gaps = search(db, at, &list, element, Search { from, max_matches: max_removed, ..Search::ALL })?;
    if gaps.is_empty() {
        return Ok(0);
    }
    gaps.sort_unstable();
    let rest = db.layout.lists().remove(db.transaction, at, &list, &gaps)?;
    db.notify(Classes::LIST, "lrem", at);
    write(db, at, Some(&old), rest)?;
    Ok(list.count - rest.count)
}

/// Keeps the elements from `start` to `stop`, both included, and removes the others. Positions outside of the list are cut off;
/// where nothing is left of the range, the list is removed. No error where there is none.
///
/// # Errors
/// See the module.
pub fn trim(db: &mut Db, at: &KeyAt, start: i64, stop: i64) -> Result<()> {
    let Some((old, list)) = find(db, at)? else { return Ok(()) };
    let kept = ranks(start, stop, list.count);
    if kept.is_empty() {
        db.notify(Classes::LIST, "ltrim", at);
        return db.delete(at, &old);
    }
    let list = db.layout.lists().keep(db.transaction, at, &list, kept)?;
    db.notify(Classes::LIST, "ltrim", at);
    // Also where nothing is removed: Redis counts that as a change.
    db.write_collection(at, Some(&old), list)
}

/// What [`positions`] looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// Where it begins.
    pub from: End,
    /// How many matches it passes over.
    pub skipped: u64,
    /// How many matches it returns at most.
    pub max_matches: u64,
    /// How many elements it looks at at most.
    pub max_compared: u64,
}

impl Search {
    /// Every match, from the head.
    pub const ALL: Self = Self { from: End::Head, skipped: 0, max_matches: u64::MAX, max_compared: u64::MAX };
}

/// The positions of elements that equal `element`, counted from the head, in the order in which the search meets them.
///
/// # Errors
/// See the module.
pub fn positions(db: &mut Db, at: &KeyAt, element: &[u8], wanted: Search) -> Result<Vec<u64>> {
    match find(db, at)? {
        Some((_, list)) => search(db, at, &list, element, wanted),
        None => Ok(Vec::new()),
    }
}

fn search(db: &mut Db, at: &KeyAt, list: &Collection, element: &[u8], wanted: Search) -> Result<Vec<u64>> {
    let (mut found, mut skipped) = (Vec::new(), wanted.skipped);
    let mut matches_left = wanted.max_matches;
    let ranks = ranks_at(wanted.from, list, wanted.max_compared);
    let mut walk = db.layout.lists().walk(at, list, ranks, inwards(wanted.from), FIRST_SEARCHED)?;
    while matches_left > 0
        && let Some((rank, candidate)) = walk.next(db.transaction)?
    {
        if candidate != element {
            continue;
        }
        if skipped > 0 {
            skipped -= 1;
        } else {
            found.push(rank);
            matches_left -= 1;
        }
    }
    Ok(found)
}

fn find(db: &mut Db, at: &KeyAt) -> Result<Option<(Meta, Collection)>> {
    db.find_collection(at, Kind::List)
}

/// Stores the head after elements have changed: for watchers only where the bounds are the same.
fn write(db: &mut Db, at: &KeyAt, old: Option<&Meta>, list: Collection) -> Result<()> {
    if old.is_some_and(|old| old.body == Body::Collection(list)) {
        return Ok(db.transaction.touch(at.lock_key())?);
    }
    db.write_collection(at, old, list)
}

/// Adds elements one after the other at an end.
fn append(db: &mut Db, at: &KeyAt, list: &mut Collection, end: End, new: &[Bytes]) -> Result<()> {
    for element in new {
        db.layout.lists().push(db.transaction, at, list, end, element.clone())?;
    }
    Ok(())
}

/// Takes up to `count` elements from an end. Returns them, the outermost first, and the list without them.
fn take(db: &mut Db, at: &KeyAt, list: &Collection, end: End, count: u64) -> Result<(Vec<Bytes>, Collection)> {
    if count == 1 {
        let (element, rest) = take_one(db, at, list, end)?;
        return Ok((vec![element], rest));
    }
    let ranks = ranks_at(end, list, count);
    let (expected, rest) = (ranks.end - ranks.start, rest_of(end, list, &ranks));
    let mut taken = Vec::new();
    let mut walk = db.layout.lists().walk(at, list, ranks, inwards(end), expected)?;
    while let Some((_, element)) = walk.next(db.transaction)? {
        taken.push(element);
    }
    Ok((taken, db.layout.lists().keep(db.transaction, at, list, rest)?))
}

/// As [`take`], of one element: a read of one record costs a store less than a scan.
fn take_one(db: &mut Db, at: &KeyAt, list: &Collection, end: End) -> Result<(Bytes, Collection)> {
    let ranks = ranks_at(end, list, 1);
    let rest = rest_of(end, list, &ranks);
    let element = db.layout.lists().get(db.transaction, at, list, ranks.start)?;
    Ok((element, db.layout.lists().keep(db.transaction, at, list, rest)?))
}

/// The ranks of a list without those next to an end.
fn rest_of(end: End, list: &Collection, taken: &Range<u64>) -> Range<u64> {
    match end {
        End::Head => taken.end..list.count,
        End::Tail => 0..taken.start,
    }
}

/// How far the element at a position is from the head; `None` outside of the list.
#[must_use]
pub fn rank(position: i64, count: u64) -> Option<u64> {
    let distance = position.unsigned_abs();
    let rank = if position < 0 { count.checked_sub(distance)? } else { distance };
    (rank < count).then_some(rank)
}

/// The ranks from `start` to `stop`, both included, that a list of `count` elements has.
#[must_use]
pub fn ranks(start: i64, stop: i64, count: u64) -> Range<u64> {
    // The rank of a position, shifted by one: those before the head are 0.
    let shifted = |position: i64| {
        let distance = position.unsigned_abs();
        if position < 0 { count.saturating_add(1).saturating_sub(distance) } else { distance.saturating_add(1) }
    };
    let end = shifted(stop).min(count);
    let start = shifted(start).saturating_sub(1).min(end);
    start..end
}
