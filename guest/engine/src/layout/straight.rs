//! How records lie of what commands do that [go straight](crate::command::straight), and how collections are read that they show: the head of a key is one
//! record under its lock key, and members are one record each, so that whoever knows the head knows where they are. So it is in the default layout, and in no other: its own functions are
//! called, and not those of any layout, as they are small and called for each member.
//!
//! A packed collection has the records of its members in its head, which is all that changes then, unless they become too many for that. Of others,
//! nothing beside the head and the records of members changes where a string is put in the place of another, or a member is put, but the record of an expiry
//! that comes, goes or moves. A member that is taken away loses its records, and a key its head and its expiry with the last one; where it has no tree, that
//! is all.

use super::Kind;
pub use super::orbweaver::shown::CollectionReader;
pub use super::orbweaver::straight::{
    PREFIX_BYTES, empty, expiry_prefix, index, most_packed_bytes, ordered, prefix, read_head, read_part, write_collection, write_packed,
    write_part, write_score, write_string,
};
use crate::store::Keyspace;
use crate::transaction::Packing;

/// A value of a string, of a field, or of a member.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// These bytes. Those of a set's member are none.
    Bytes(&'a [u8]),
    /// The text of a number.
    Number(i64),
    /// The score of a sorted set's member, never NaN.
    Score(f64),
}

impl<'a> Value<'a> {
    /// Its bytes; none of a score. `room` is for the text of a number.
    #[inline]
    #[must_use]
    pub fn bytes<'b>(self, room: &'b mut itoa::Buffer) -> &'b [u8]
    where
        'a: 'b,
    {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Number(number) => room.format(number).as_bytes(),
            Self::Score(_) => &[],
        }
    }

    /// Itself, where it is a score.
    #[must_use]
    pub const fn score(self) -> Option<f64> {
        if let Self::Score(score) = self { Some(score) } else { None }
    }

    /// Whether its record is the same as that of another one.
    #[must_use]
    pub fn is_stored_as(self, other: Value<'_>) -> bool {
        match (self, other) {
            (Self::Score(score), Value::Score(other)) => score.to_bits() == other.to_bits(),
            _ => self.bytes(&mut itoa::Buffer::new()) == other.bytes(&mut itoa::Buffer::new()),
        }
    }
}

/// What is under a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Under<'r> {
    /// A string, whole.
    String(&'r [u8]),
    /// A collection of any other kind, and its records where it is packed; otherwise none.
    Collection(Head, &'r [u8]),
}

/// The head of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The kind.
    pub kind: Kind,
    /// How many levels the tree has that tells ranks; 0 where there is none. What changes members must not be straight where there is one.
    pub rank_levels: u8,
    /// The version.
    pub version: u64,
    /// How many members or elements there are.
    pub count: u64,
    /// The index of a list's first element.
    pub first: u64,
}

/// Where such records are. All keyspaces are in byte order.
#[derive(Clone, Copy, Debug)]
pub struct Keyspaces {
    /// Those of heads.
    pub heads: Keyspace,
    /// Those of fields, members and elements.
    pub parts: Keyspace,
    /// Those of sorted sets in the order of their scores.
    pub scores: Keyspace,
    /// Those of keys that expire, in the order in which they do.
    pub expiries: Keyspace,
    /// How collections are packed. New ones are empty ones with a reserved version.
    pub packing: Packing,
}
