//! How records lie of what commands do that [go straight](crate::command::straight): for layouts whose head of a key is one record under its lock key,
//! and whose members are one record each, so that whoever knows the head knows where they are.

use super::Kind;
use crate::store::Keyspace;

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
    /// A collection of any other kind.
    Collection(Head),
}

/// The head of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The kind.
    pub kind: Kind,
    /// Whether there are records of a tree that tells ranks. What changes members must not be straight then.
    pub has_tree: bool,
    /// The version.
    pub version: u64,
    /// How many members or elements there are.
    pub count: u64,
    /// The index of a list's first element.
    pub first: u64,
}

/// Where records are.
#[derive(Clone, Copy, Debug)]
pub struct Keyspaces {
    /// Those of heads.
    pub heads: Keyspace,
    /// Those of fields, members and elements.
    pub parts: Keyspace,
    /// Those of sorted sets in the order of their scores.
    pub scores: Keyspace,
}

/// How many bytes the keys of the records of a collection have in common.
pub const PREFIX_BYTES: usize = 8;

/// See the module. All keyspaces are in byte order. Nothing beside the head and the records of members changes where a string is put in the place of
/// another, or a member is put, as long as no expiry comes, goes or moves. A member that is taken away loses its records, and a key its head with the
/// last one; where the key has neither an expiry nor a tree, that is all.
pub trait StraightRecords {
    /// Where records are.
    fn keyspaces(&self) -> Keyspaces;

    /// Whether new collections, empty ones with a reserved version, are kept like this.
    fn makes_collections(&self) -> bool;

    /// When a key expires, Unix time in milliseconds, and what is under it; `None` where its record says more than this knows, as that fields expire,
    /// or where it is corrupt.
    fn read_head<'r>(&self, record: &'r [u8]) -> Option<(Option<u64>, Under<'r>)>;

    /// A collection without members, which is not stored.
    fn empty(&self, kind: Kind, version: u64) -> Head;

    /// Appends the head of a string.
    fn write_string(&self, record: &mut Vec<u8>, expire_at_ms: Option<u64>, value: &[u8]);

    /// Appends the head of a collection.
    fn write_collection(&self, record: &mut Vec<u8>, expire_at_ms: Option<u64>, head: Head);

    /// What the keys of the records of a collection begin with: the name of the field or the member comes next, or [`StraightRecords::index`], or
    /// [`StraightRecords::ordered`] and the name of the member.
    fn prefix(&self, version: u64) -> [u8; PREFIX_BYTES];

    /// The index of an element.
    fn index(&self, index: u64) -> [u8; 8];

    /// The place of a score among others.
    fn ordered(&self, score: f64) -> [u8; 8];

    /// What the record of a field or a member says; as [`StraightRecords::read_head`].
    fn read_part<'r>(&self, kind: Kind, record: &'r [u8]) -> Option<Value<'r>>;

    /// Appends the record of a field or a member.
    fn write_part(&self, kind: Kind, record: &mut Vec<u8>, value: Value<'_>);

    /// Appends the record of a sorted set's member in the order of the scores.
    fn write_score(&self, record: &mut Vec<u8>, score: f64);
}
