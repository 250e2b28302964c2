//! What is stored, without its bytes: keys, what is under them, heads of collections.

use super::field_expiry::FieldExpiries;
use super::lists::ListHead;
use crate::arena;
use bytes::Bytes;

/// The data structures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A byte string.
    String,
    /// Fields with values.
    Hash,
    /// Elements by position.
    List,
    /// Members.
    Set,
    /// Members ordered by score.
    SortedSet,
}

impl Kind {
    /// The name that TYPE answers with.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Hash => "hash",
            Self::List => "list",
            Self::Set => "set",
            Self::SortedSet => "zset",
        }
    }

    /// The kind of that name, in any case.
    #[must_use]
    pub fn from_name(name: &[u8]) -> Option<Self> {
        let all = [Self::String, Self::Hash, Self::List, Self::Set, Self::SortedSet];
        all.into_iter().find(|kind| kind.name().as_bytes().eq_ignore_ascii_case(name))
    }
}

/// A user key and the space that it lives in. A *space* is what a db number stands for: FLUSHDB gives the db a new one, SWAPDB
/// exchanges two.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyAt {
    /// The space, see [`Catalog`].
    pub space: u32,
    /// The user key: any bytes, also none.
    pub key: Bytes,
    lock_key: Bytes,
}

impl KeyAt {
    /// A user key in a space.
    #[must_use]
    pub fn new(space: u32, key: Bytes) -> Self {
        let lock_key = lock_key(space, &key);
        Self { space, key, lock_key }
    }

    /// The user key that a lock key stands for; `None` for what is too short to be one.
    #[must_use]
    pub fn from_lock_key(lock_key: &Bytes) -> Option<Self> {
        let (space, _) = lock_key.split_first_chunk()?;
        Some(Self { space: u32::from_be_bytes(*space), key: lock_key.slice(space.len()..), lock_key: lock_key.clone() })
    }

    /// The key under which transactions declare this user key.
    #[must_use]
    pub const fn lock_key(&self) -> &Bytes {
        &self.lock_key
    }
}

/// `space (u32, big-endian) | name`. Space 0 is the engine's own.
#[must_use]
pub fn lock_key(space: u32, name: &[u8]) -> Bytes {
    arena::join([&space.to_be_bytes(), name])
}

/// What is stored under a user key, without the sub-records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Unix time in milliseconds; the key is gone when the clock is past it. `None`: it stays.
    pub expire_at_ms: Option<u64>,
    /// The value, or what leads to it.
    pub body: Body,
}

/// A string's value, or the head of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// The bytes of a string.
    String(Bytes),
    /// A collection, never empty.
    Collection(Collection),
}

/// The head of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection {
    /// Which structure; never [`Kind::String`].
    pub kind: Kind,
    /// Tells this collection's records from those of all others; see [`super::Layout::next_version`].
    pub version: u64,
    /// How many fields, members or elements it holds, fields that are past their time and not removed yet included. Where nobody
    /// has counted, `u64::MAX`: not more than that.
    pub count: u64,
    /// The head of the collection says how many there are. Always true of lists, and in layouts that keep every count.
    pub is_counted: bool,
    /// Where a list's elements are; [`ListHead::None`] for the other kinds.
    pub list: ListHead,
    /// The fields of a hash that expire; `None` where none does, and for the other kinds.
    pub expiries: Option<FieldExpiries>,
    /// How many levels the tree of a sorted set has that tells its ranks; 0 where there is none, and for the other kinds.
    pub rank_levels: u8,
    /// Its records are in its head, as the store had it when the transaction found it, which shows them where they would be otherwise.
    pub is_packed: bool,
}

impl Collection {
    /// An empty collection, which does not exist before it is written with something in it.
    #[must_use]
    pub const fn empty(kind: Kind, version: u64) -> Self {
        Self { kind, version, count: 0, is_counted: true, list: ListHead::None, expiries: None, rank_levels: 0, is_packed: false }
    }

    /// The collection as one whose head does not say how many it holds.
    #[must_use]
    pub const fn uncounted(self) -> Self {
        Self { count: u64::MAX, is_counted: false, ..self }
    }

    /// Whether there are records of an index that only some collections of the kind have.
    #[must_use]
    pub const fn has_index(self) -> bool {
        self.expiries.is_some() || self.rank_levels > 0
    }

    /// The collection with `added` more and `removed` fewer in it.
    #[must_use]
    pub const fn changed_by(self, added: u64, removed: u64) -> Self {
        let count = if self.is_counted { self.count.saturating_add(added).saturating_sub(removed) } else { u64::MAX };
        Self { count, ..self }
    }
}

impl Meta {
    /// The kind of the value.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match &self.body {
            Body::String(_) => Kind::String,
            Body::Collection(collection) => collection.kind,
        }
    }

    /// The head of the collection; `None` for a string.
    #[must_use]
    pub const fn collection(&self) -> Option<Collection> {
        match &self.body {
            Body::String(_) => None,
            Body::Collection(collection) => Some(*collection),
        }
    }
}

/// A hash field's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldValue {
    /// The field's own expiry, as in [`Meta::expire_at_ms`].
    pub expire_at_ms: Option<u64>,
    /// The value.
    pub value: Bytes,
}

impl FieldValue {
    /// Whether the field is gone at `now_ms`: past its time, as Redis has it, not at it.
    #[must_use]
    pub fn is_expired(&self, now_ms: u64) -> bool {
        is_expired(self.expire_at_ms, now_ms)
    }
}

impl LentField<'_> {
    /// As [`FieldValue::is_expired`].
    #[must_use]
    pub fn is_expired(&self, now_ms: u64) -> bool {
        is_expired(self.expire_at_ms, now_ms)
    }
}

fn is_expired(expire_at_ms: Option<u64>, now_ms: u64) -> bool {
    expire_at_ms.is_some_and(|at| now_ms > at)
}

/// A hash field that is only looked at, past its time or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LentField<'r> {
    /// Its name.
    pub name: &'r [u8],
    /// As in [`FieldValue`].
    pub expire_at_ms: Option<u64>,
    /// The value.
    pub value: &'r [u8],
}

/// A sorted set's member that is only looked at, with its score.
pub type LentScored<'r> = (&'r [u8], f64);

/// Which space each db number stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Catalog {
    /// By db number.
    pub spaces: Vec<u32>,
}

impl Catalog {
    /// The number of the db that stands for a space now.
    #[must_use]
    pub fn db_of(&self, space: u32) -> Option<usize> {
        self.spaces.iter().position(|&own| own == space)
    }
}
