//! How Redis would hold a value in memory: what OBJECT ENCODING answers with. Our records have one encoding for each kind; clients
//! and tests of Redis expect its names, by its default thresholds.

use super::sets::Walk;
use crate::db::Db;
use crate::error::Result;
use crate::layout::records::Record;
use crate::layout::{Body, Collection, KeyAt, Kind, Meta, Names};
use crate::number::parse_i64;
use crate::store::Direction;

/// Longest text of a 64-bit integer.
const MAX_INTEGER_BYTES: usize = 20;
/// Longest string that Redis allocates together with its header.
const MAX_EMBEDDED_BYTES: usize = 44;
/// `hash-max-listpack-entries`.
const MAX_HASH_LISTPACK: u64 = 512;
/// `hash-max-listpack-value`, in bytes, for fields and values.
const MAX_HASH_LISTPACK_BYTES: usize = 64;
/// `set-max-intset-entries`.
const MAX_INTSET: u64 = 512;
/// `set-max-listpack-value`, in bytes.
const MAX_SET_LISTPACK_BYTES: usize = 64;
/// `zset-max-listpack-value`, in bytes.
const MAX_SORTED_SET_LISTPACK_BYTES: usize = 64;
/// `set-max-listpack-entries` and `zset-max-listpack-entries`.
const MAX_LISTPACK: u64 = 128;
/// `list-max-listpack-size`, in bytes.
const MAX_LIST_BYTES: usize = 8192;
/// Bytes of a listpack without elements.
const EMPTY_LISTPACK_BYTES: usize = 7;
/// So many of the shortest elements fill [`MAX_LIST_BYTES`]: two bytes each.
const MAX_LIST_ELEMENTS: usize = MAX_LIST_BYTES / 2;
/// Integers below this are shared by all keys that hold them.
const SHARED_INTEGERS: i64 = 10_000;

/// The name of the encoding. Looks at up to 512 fields of a hash or members of a set, 8 kB of a list and 128 members of a sorted set.
///
/// # Errors
/// Store errors, corrupt records.
pub fn encoding(db: &mut Db, at: &KeyAt, meta: &Meta) -> Result<&'static str> {
    let collection = match &meta.body {
        Body::String(value) if integer(value).is_some() => return Ok("int"),
        Body::String(value) if value.len() <= MAX_EMBEDDED_BYTES => return Ok("embstr"),
        Body::String(_) => return Ok("raw"),
        Body::Collection(collection) => collection,
    };
    let small = match collection.kind {
        Kind::Set => return set_encoding(db, at, collection),
        Kind::Hash => is_small_hash(db, at, collection)?,
        Kind::List => is_small_list(db, at, collection)?,
        Kind::SortedSet => is_small_sorted_set(db, at, collection)?,
        Kind::String => false,
    };
    Ok(match collection.kind {
        // The name as of Redis 7.4.
        Kind::Hash if small && collection.expiries.is_some() => "listpackex",
        _ if small => "listpack",
        Kind::List => "quicklist",
        Kind::SortedSet => "skiplist",
        Kind::Hash | Kind::Set | Kind::String => "hashtable",
    })
}

/// How many keys share the value in Redis: `i32::MAX` stands for the small integers, which it makes once.
#[must_use]
pub fn reference_count(meta: &Meta) -> i64 {
    let shared = match &meta.body {
        Body::String(value) => integer(value).is_some_and(|number| (0..SHARED_INTEGERS).contains(&number)),
        Body::Collection(_) => false,
    };
    if shared { i64::from(i32::MAX) } else { 1 }
}

fn integer(value: &[u8]) -> Option<i64> {
    if value.len() <= MAX_INTEGER_BYTES { parse_i64(value) } else { None }
}

fn is_small_hash(db: &mut Db, at: &KeyAt, collection: &Collection) -> Result<bool> {
    let count = db.count(at, collection)?;
    if count > MAX_HASH_LISTPACK {
        return Ok(false);
    }
    let mut walk = db.layout.fields(at, collection, &Names::ALL).walk(Direction::Forward, usize::try_from(count).unwrap_or(usize::MAX));
    while let Some(Record { key, value, .. }) = walk.next(db.transaction)? {
        let value_bytes = db.layout.decode_field_value(collection, &key, &value)?.map_or(0, |found| found.value.len());
        if db.layout.decode_field(&key)?.len().max(value_bytes) > MAX_HASH_LISTPACK_BYTES {
            return Ok(false);
        }
    }
    Ok(true)
}

fn is_small_sorted_set(db: &mut Db, at: &KeyAt, collection: &Collection) -> Result<bool> {
    let count = db.count(at, collection)?;
    if count > MAX_LISTPACK {
        return Ok(false);
    }
    let mut walk = db.layout.members(at, collection).walk(Direction::Forward, usize::try_from(count).unwrap_or(usize::MAX));
    while let Some(record) = walk.next(db.transaction)? {
        if db.layout.decode_member(&record.key)?.len() > MAX_SORTED_SET_LISTPACK_BYTES {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the list fits a listpack. (Redis goes back to one only when half of it is enough, so with it the past counts as well.)
fn is_small_list(db: &mut Db, at: &KeyAt, list: &Collection) -> Result<bool> {
    let count = usize::try_from(list.count).unwrap_or(usize::MAX);
    if count > MAX_LIST_ELEMENTS {
        return Ok(false);
    }
    let mut walk = db.layout.lists().walk(at, list, 0..list.count, Direction::Forward, list.count)?;
    let mut bytes = EMPTY_LISTPACK_BYTES;
    while let Some((_, element)) = walk.next(db.transaction)? {
        bytes = bytes.saturating_add(listpack_bytes(&element));
        if bytes > MAX_LIST_BYTES {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Bytes of an element of a listpack (`src/listpack.c`, `lpEncodeGetType`), exact up to what a list may have at most.
fn listpack_bytes(element: &[u8]) -> usize {
    let encoded = match (integer(element), element.len()) {
        (Some(0..=127), _) => 1,
        (Some(-4096..=4095), _) => 2,
        (Some(-32_768..=32_767), _) => 3,
        (Some(-8_388_608..=8_388_607), _) => 4,
        (Some(-2_147_483_648..=2_147_483_647), _) => 5,
        (Some(_), _) => 9,
        (None, length @ ..=63) => 1 + length,
        (None, length @ ..=4095) => 2 + length,
        (None, length) => length.saturating_add(5),
    };
    // Its length again, to walk backwards by, in steps of seven bits.
    encoded.saturating_add(if encoded < 128 { 1 } else { 2 })
}

fn set_encoding(db: &mut Db, at: &KeyAt, set: &Collection) -> Result<&'static str> {
    let count = db.count(at, set)?;
    if count > MAX_INTSET {
        return Ok("hashtable");
    }
    let may_be_listpack = count <= MAX_LISTPACK;
    let mut encoding = "intset";
    let mut walk = Walk::new(db, at, *set);
    while let Some(member) = walk.next(db)? {
        if integer(&member).is_some() {
            continue;
        }
        if !may_be_listpack || member.len() > MAX_SET_LISTPACK_BYTES {
            return Ok("hashtable");
        }
        encoding = "listpack";
    }
    Ok(encoding)
}
