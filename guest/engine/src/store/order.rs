//! The orders of keys that a layout may ask a store for.

use std::borrow::Cow;
use std::cmp::Ordering;

/// How the keys of a keyspace are ordered.
///
/// The default layout needs bytes only. The foreign layouts bring their own orders with them; each is a case here, so that the
/// overlay, the memory store and a host's comparator share one definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Unsigned bytes, the shorter first where one is a prefix of the other.
    Bytes,
}

impl Order {
    /// The name by which the contract `orbweaver:kv` knows the order.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
        }
    }

    /// The order of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        (name == Self::Bytes.name()).then_some(Self::Bytes)
    }

    /// A byte string whose plain byte order among sort keys is this order among keys.
    #[must_use]
    pub fn sort_key(self, key: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Self::Bytes => Cow::Borrowed(key),
        }
    }

    /// Compares two keys.
    #[must_use]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        self.sort_key(a).cmp(&self.sort_key(b))
    }
}
