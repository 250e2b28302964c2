//! Payloads of [DUMP](https://redis.io/docs/latest/commands/dump/) and RESTORE: one value as Redis' RDB files have it, with a footer.
//!
//! ```text
//! type (1 byte) | value | RDB version (u16, little-endian) | CRC-64 of all before it (u64, little-endian)
//! ```
//!
//! Pure codecs, one file a format. [`decode`] takes every encoding that Redis 2.6 to 7.4 writes for strings, lists, sets, sorted sets
//! and hashes; [`Encoder`] writes the plainest of them, which every Redis since 5.0 takes. Nothing in a payload is trusted: lengths
//! are compared with the bytes that are there before anything is allocated, and what a payload unpacks to has a limit. (`orbweaver
//! dump` and `load` have nothing to do with it: their JSON lines are in [`crate::maintenance`].)
//!
//! The formats are Redis' own: `src/rdb.c`, `src/listpack.c`, `src/ziplist.c`, `src/zipmap.c`, `src/intset.c`.

mod decode;
mod encode;
mod footer;
mod integers;
mod intset;
mod listpack;
mod lzf;
mod strings;
#[cfg(test)]
mod tests;
mod ziplist;
mod zipmap;

pub use decode::decode;
pub use encode::Encoder;

use crate::codec::Flaw;
use bytes::Bytes;

/// What a payload holds. Collections are not empty, and no member or field comes twice.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A string.
    String(Bytes),
    /// A list's elements, from its head on.
    List(Vec<Bytes>),
    /// A set's members, in any order.
    Set(Vec<Bytes>),
    /// A sorted set's members with their scores, in any order; no score is NaN.
    SortedSet(Vec<(Bytes, f64)>),
    /// A hash's fields, in any order.
    Hash(Vec<Field>),
}

/// A field of a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: Bytes,
    /// Its value.
    pub value: Bytes,
    /// Its own expiry (Redis 7.4): Unix time in milliseconds. `None`: it stays as long as the hash.
    pub expire_at_ms: Option<u64>,
}

/// Why a payload is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The footer is missing, of a version that is not known, or its checksum is another.
    Footer,
    /// The value is not what its type says, or of a type that is not known.
    Format(Flaw),
    /// What it unpacks to is above the limit.
    TooLarge,
}

impl From<Flaw> for Refusal {
    fn from(flaw: Flaw) -> Self {
        Self::Format(flaw)
    }
}

/// What every reader says of bytes that end too early.
const TRUNCATED: &str = "more bytes";

/// Memory that an element takes beside its bytes: a payload of very many empty ones is large as well.
const ELEMENT_BYTES: usize = 64;

/// How much a payload may still unpack to.
#[derive(Debug)]
struct Budget {
    left: usize,
}

impl Budget {
    /// Takes `bytes` off, before they are allocated.
    fn charge(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.left = self.left.checked_sub(bytes).ok_or(Refusal::TooLarge)?;
        Ok(())
    }

    /// Adds an element to `elements`.
    fn keep(&mut self, elements: &mut Vec<Bytes>, element: Bytes) -> Result<(), Refusal> {
        self.charge(element.len().saturating_add(ELEMENT_BYTES))?;
        elements.push(element);
        Ok(())
    }
}

/// The value types, as the first byte of a payload has them (`src/rdb.h`).
mod kind {
    pub const STRING: u8 = 0;
    pub const LIST: u8 = 1;
    pub const SET: u8 = 2;
    /// Scores are texts.
    pub const SORTED_SET: u8 = 3;
    pub const HASH: u8 = 4;
    /// Scores are binary, since RDB version 8.
    pub const SORTED_SET_2: u8 = 5;
    pub const HASH_ZIPMAP: u8 = 9;
    pub const LIST_ZIPLIST: u8 = 10;
    pub const SET_INTSET: u8 = 11;
    pub const SORTED_SET_ZIPLIST: u8 = 12;
    pub const HASH_ZIPLIST: u8 = 13;
    /// Nodes are ziplists.
    pub const LIST_QUICKLIST: u8 = 14;
    pub const HASH_LISTPACK: u8 = 16;
    pub const SORTED_SET_LISTPACK: u8 = 17;
    /// Nodes are listpacks or single elements.
    pub const LIST_QUICKLIST_2: u8 = 18;
    pub const SET_LISTPACK: u8 = 20;
    /// Fields have expiries, since RDB version 12 (Redis 7.4).
    pub const HASH_METADATA: u8 = 24;
    /// As [`HASH_METADATA`], in a listpack of name, value and expiry.
    pub const HASH_LISTPACK_EX: u8 = 25;
}
