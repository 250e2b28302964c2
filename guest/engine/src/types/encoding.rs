//! How Redis would hold a value in memory: what OBJECT ENCODING answers with. Our records have one encoding for each kind; clients
//! and tests of Redis expect its names, by its default thresholds.

use crate::db::Db;
use crate::error::Result;
use crate::layout::{Body, Collection, KeyAt, Kind, Meta};
use crate::number::parse_i64;
use crate::store::Direction;
use crate::transaction::Scan;

/// Longest text of a 64-bit integer.
const MAX_INTEGER_BYTES: usize = 20;
/// Longest string that Redis allocates together with its header.
const MAX_EMBEDDED_BYTES: usize = 44;
/// `hash-max-listpack-entries`.
const MAX_HASH_LISTPACK: u64 = 512;
/// `hash-max-listpack-value`, in bytes, for fields and values.
const MAX_HASH_LISTPACK_BYTES: usize = 64;
/// `set-max-listpack-entries` and `zset-max-listpack-entries`; `list-max-listpack-size` is in bytes, about as many short elements.
const MAX_LISTPACK: u64 = 128;
/// Integers below this are shared by all keys that hold them.
const SHARED_INTEGERS: i64 = 10_000;

/// The name of the encoding. Looks at up to 512 fields of a hash; the other collections are told by their counts alone.
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
    let small = if collection.kind == Kind::Hash { is_small_hash(db, at, collection)? } else { collection.count <= MAX_LISTPACK };
    Ok(match collection.kind {
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
    if collection.count > MAX_HASH_LISTPACK {
        return Ok(false);
    }
    let (keyspace, range) = db.layout.fields(at, collection.version);
    let expected = usize::try_from(collection.count).unwrap_or(usize::MAX);
    let mut scan = Scan::new(keyspace, range, Direction::Forward, expected);
    while let Some((key, value)) = db.transaction.next(&mut scan)? {
        let (field, value) = (db.layout.decode_field(&key)?, db.layout.decode_field_value(&key, &value)?.value);
        if field.len().max(value.len()) > MAX_HASH_LISTPACK_BYTES {
            return Ok(false);
        }
    }
    Ok(true)
}
