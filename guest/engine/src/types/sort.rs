//! Sorting the elements of a list, set or sorted set: <https://redis.io/docs/latest/commands/sort/>.
//!
//! Elements are sorted as numbers or as bytes, by themselves or by the values of other keys, whose names a [`Pattern`] makes of
//! them. Functions fail with store errors and corrupt records.

use super::sorted_sets::ranges::{self, Range, Selection};
use super::{hashes, lists, sets, strings};
use crate::db::Db;
use crate::error::{Error, Result, texts};
use crate::layout::lots::Lot;
use crate::layout::{Collection, KeyAt, Kind};
use crate::number::parse_double;
use crate::store::Direction;
use bytes::Bytes;
use std::cmp::Ordering;

const NOT_NUMBERS: Error = Error::client("ERR One or more scores can't be converted into double");

/// What an element leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// The element itself (`#`).
    Element,
    /// Nothing: the pattern has no `*`.
    Nothing,
    /// A string, or the field of a hash, under a key.
    Key {
        /// What is before the element in the key's name.
        prefix: Bytes,
        /// What is behind it.
        suffix: Bytes,
        /// The field.
        field: Option<Bytes>,
    },
}

impl Pattern {
    /// Reads a pattern: the first `*` stands for the element; behind it, the first `->` with anything following leads to a field. As
    /// in Redis, whose patterns are C strings, none of the three counts behind a NUL.
    #[must_use]
    pub fn new(text: &Bytes) -> Self {
        let visible = as_c_string(text);
        if visible == b"#" {
            return Self::Element;
        }
        let Some(star) = visible.iter().position(|&byte| byte == b'*') else { return Self::Nothing };
        let behind = star + 1;
        let arrow = visible.get(behind..).unwrap_or_default().windows(2).position(|two| two == b"->");
        let arrow = arrow.map(|arrow| behind + arrow).filter(|arrow| arrow + 2 < visible.len());
        let (suffix, field) = match arrow {
            Some(arrow) => (text.slice(behind..arrow), Some(text.slice(arrow + 2..))),
            None => (text.slice(behind..), None),
        };
        Self::Key { prefix: text.slice(..star), suffix, field }
    }

    /// What the element leads to; `None` where that does not exist or is of another type.
    fn value(&self, db: &mut Db, element: &Bytes) -> Result<Option<Bytes>> {
        let (prefix, suffix, field) = match self {
            Self::Element => return Ok(Some(element.clone())),
            Self::Nothing => return Ok(None),
            Self::Key { prefix, suffix, field } => (prefix, suffix, field),
        };
        let at = db.at(&[prefix.as_ref(), element, suffix].concat().into())?;
        match field {
            None => strings::get_if_string(db, &at),
            Some(field) => match db.find_in_place_of(&at, Kind::Hash)? {
                Some(meta) if meta.kind() == Kind::Hash => hashes::get(db, &at, field),
                Some(_) => Ok(None),
                None => {
                    db.notify_miss(&at);
                    Ok(None)
                }
            },
        }
    }
}

/// How to sort.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sorting {
    /// What elements are compared by.
    pub by: Pattern,
    /// Not at all: as lists and sorted sets have them, sets in byte order.
    pub is_unsorted: bool,
    /// As bytes, not as numbers.
    pub is_alphabetic: bool,
    /// Backwards.
    pub is_descending: bool,
    /// How many to leave out at the beginning; none for a negative number.
    pub offset: i64,
    /// How many to return at most; all for a negative number.
    pub limit: i64,
    /// The bytes that are compared end at a NUL, as with C's `strcoll`, which Redis uses where it does not store.
    pub ends_at_nul: bool,
}

/// The elements of a list, set or sorted set in order; none where there is no key. Equal elements by number are in byte order; those
/// with equal bytes under a pattern are in the order in which the list or sorted set has them.
///
/// # Errors
/// WRONGTYPE for keys of other types; `ERR One or more scores can't be converted into double`.
pub fn sorted(db: &mut Db, at: &KeyAt, sorting: &Sorting) -> Result<Vec<Bytes>> {
    let Some(meta) = db.find(at)? else {
        db.notify_miss(at);
        return Ok(Vec::new());
    };
    let collection = meta.collection().filter(|collection| collection.kind != Kind::Hash).ok_or(texts::WRONG_TYPE)?;
    let collection = Collection { count: db.count(at, &collection)?, ..collection };
    let start = u64::try_from(sorting.offset).unwrap_or(0).min(collection.count);
    let end = start.saturating_add(u64::try_from(sorting.limit).unwrap_or(u64::MAX)).min(collection.count);
    if sorting.is_unsorted && collection.kind != Kind::Set {
        let direction = if sorting.is_descending { Direction::Reverse } else { Direction::Forward };
        return elements(db, at, collection, start..end, direction);
    }
    let mut all = elements(db, at, collection, 0..collection.count, Direction::Forward)?;
    if !sorting.is_unsorted {
        all = if sorting.is_alphabetic { by_bytes(db, all, sorting)? } else { by_number(db, all, sorting)? };
    }
    let (start, end) = (usize::try_from(start).unwrap_or(usize::MAX), usize::try_from(end).unwrap_or(usize::MAX));
    Ok(all.get(start..end).unwrap_or_default().to_vec())
}

/// What each of the elements leads to by each of the patterns: all of the first element, then all of the second. `None` where
/// there is nothing.
///
/// # Errors
/// See the module.
pub fn values(db: &mut Db, elements: &[Bytes], patterns: &[Pattern]) -> Result<Vec<Option<Bytes>>> {
    let mut values = Vec::with_capacity(elements.len().saturating_mul(patterns.len()));
    for element in elements {
        for pattern in patterns {
            values.push(pattern.value(db, element)?);
        }
    }
    Ok(values)
}

/// The elements of a range of ranks. A set has no ranks: all of it, in byte order.
fn elements(db: &mut Db, at: &KeyAt, collection: Collection, ranks: std::ops::Range<u64>, direction: Direction) -> Result<Vec<Bytes>> {
    let mut elements = Vec::new();
    if ranks.is_empty() {
        return Ok(elements);
    }
    let position = |rank: u64| i64::try_from(rank).unwrap_or(i64::MAX);
    let (first, last) = (position(ranks.start), position(ranks.end - 1));
    let mut copy = |some: Lot<'_, '_, &[u8]>| elements.extend(some.rows().iter().map(|element| Bytes::copy_from_slice(element)));
    match (collection.kind, direction) {
        (Kind::List, Direction::Forward) => lists::each(db, at, first, last, copy)?,
        (Kind::List, Direction::Reverse) => {
            lists::each(db, at, -1 - last, -1 - first, copy)?;
            elements.reverse();
        }
        (Kind::SortedSet, direction) => {
            let selection = Selection { direction, ..Selection::all_of(Range::Ranks(first, last)) };
            ranges::each(db, at, &selection, |some| elements.extend(some.rows().iter().map(|(member, _)| Bytes::copy_from_slice(member))))?;
        }
        _ => sets::each(db, at, &mut copy)?,
    }
    Ok(elements)
}

fn by_number(db: &mut Db, elements: Vec<Bytes>, sorting: &Sorting) -> Result<Vec<Bytes>> {
    let mut weighed = Vec::with_capacity(elements.len());
    for element in elements {
        let weight = sorting.by.value(db, &element)?.map_or(Some(0.0), |value| number(&value));
        weighed.push((weight.ok_or(NOT_NUMBERS)?, element));
    }
    let compare = |(left, own): &(f64, Bytes), (right, other): &(f64, Bytes)| {
        left.partial_cmp(right).unwrap_or(Ordering::Equal).then_with(|| own.cmp(other))
    };
    Ok(in_order(weighed, compare, sorting.is_descending))
}

fn by_bytes(db: &mut Db, elements: Vec<Bytes>, sorting: &Sorting) -> Result<Vec<Bytes>> {
    let mut weighed = Vec::with_capacity(elements.len());
    for element in elements {
        let weight = sorting.by.value(db, &element)?;
        let compared = weight.map(|weight| if sorting.ends_at_nul { weight.slice(..as_c_string(&weight).len()) } else { weight });
        weighed.push((compared, element));
    }
    let compare = |(left, _): &(Option<Bytes>, Bytes), (right, _): &(Option<Bytes>, Bytes)| left.cmp(right);
    Ok(in_order(weighed, compare, sorting.is_descending))
}

/// The elements in the order of what they are compared by. What is equal stays in its order, also backwards.
fn in_order<W>(mut weighed: Vec<(W, Bytes)>, compare: impl Fn(&(W, Bytes), &(W, Bytes)) -> Ordering, is_descending: bool) -> Vec<Bytes> {
    weighed.sort_by(|left, right| if is_descending { compare(right, left) } else { compare(left, right) });
    weighed.into_iter().map(|(_, element)| element).collect()
}

/// A number as C's `strtod` reads it: spaces before it and anything behind a NUL do not count, no text at all is 0. `None` for what
/// is no number, or none that a double can hold to its full precision.
fn number(text: &[u8]) -> Option<f64> {
    let text = as_c_string(text);
    if text.is_empty() {
        return Some(0.0);
    }
    // C's `isspace` has the vertical tab, too.
    let spaces = text.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == 0x0b).count();
    parse_double(text.get(spaces..)?).filter(|number| !number.is_subnormal())
}

/// What C sees of a text: the bytes before a NUL.
fn as_c_string(text: &[u8]) -> &[u8] {
    text.split(|&byte| byte == 0).next().unwrap_or_default()
}
