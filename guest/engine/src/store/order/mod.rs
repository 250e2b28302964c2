//! The orders of keys that a layout may ask a store for.
//!
//! The default layout needs bytes only. The foreign layouts bring their own orders with them: each is a case of [`Order`], so
//! that the overlay, the memory store and a host's comparator share one definition.
//!
//! A foreign order is written down once, as the *sort key* of a key: the pieces that it compares, in its order of importance,
//! each in a form that compares as bytes. Keys of no valid form have a place as well: a store orders whatever it holds.

mod ardb;
mod blackwidow;

use std::borrow::Cow;
use std::cmp::Ordering;

/// How the keys of a keyspace are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Unsigned bytes, the shorter first where one is a prefix of the other.
    Bytes,
    /// The elements of Blackwidow's lists: user key, version, index (section 4.2 of its format).
    BlackwidowLists,
    /// The members of Blackwidow's sorted sets by score (section 4.3 of its format).
    BlackwidowScores,
    /// All records of Ardb (section 2 of its format).
    Ardb,
}

impl Order {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Bytes, Self::BlackwidowLists, Self::BlackwidowScores, Self::Ardb];

    /// The name by which the contract `orbweaver:kv` knows the order. Those of the foreign ones are the names that RocksDB keeps
    /// of their comparators.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::BlackwidowLists => "blackwidow.ListsDataKeyComparator",
            Self::BlackwidowScores => "blackwidow.ZSetsScoreKeyComparator",
            Self::Ardb => "ardb.comparator",
        }
    }

    /// The order of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.name() == name)
    }

    /// A byte string whose plain byte order among sort keys is this order among keys. Keys that the order takes for equal have
    /// the same one.
    #[must_use]
    #[inline]
    pub fn sort_key(self, key: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Self::Bytes => Cow::Borrowed(key),
            Self::BlackwidowLists => Cow::Owned(blackwidow::element_sort_key(key)),
            Self::BlackwidowScores => Cow::Owned(blackwidow::score_sort_key(key)),
            Self::Ardb => Cow::Owned(ardb::sort_key(key)),
        }
    }

    /// Compares two keys.
    #[must_use]
    #[inline]
    pub fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Self::Bytes => a.cmp(b),
            _ => self.sort_key(a).cmp(&self.sort_key(b)),
        }
    }
}

/// Appends bytes so that what follows them does not matter unless they are equal: 00 becomes 00 ff, and 00 00 ends them.
fn push_text(sort_key: &mut Vec<u8>, text: &[u8]) {
    for &byte in text {
        sort_key.push(byte);
        if byte == 0 {
            sort_key.push(0xff);
        }
    }
    sort_key.extend_from_slice(&[0, 0]);
}

/// Appends a number: -0 equals 0, NaN comes behind infinity.
fn push_number(sort_key: &mut Vec<u8>, number: f64) {
    const SIGN: u64 = 1 << 63;
    let bits = if number == 0.0 { 0 } else { number.to_bits() };
    let ordered = match (number.is_nan(), bits & SIGN) {
        (true, _) => u64::MAX,
        (false, 0) => bits | SIGN,
        (false, _) => !bits,
    };
    sort_key.extend_from_slice(&ordered.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_found_by_its_name() {
        for order in Order::ALL {
            assert_eq!(Order::from_name(order.name()), Some(order));
        }
        assert_eq!(Order::from_name("leveldb.BytewiseComparator"), None);
    }

    #[test]
    fn texts_compare_as_bytes_whatever_follows_them() {
        let texts: [&[u8]; 7] = [b"", b"\0", b"\0\0", b"\0\x01", b"a", b"a\0", b"aa"];
        let sort_key = |text: &[u8], behind: u8| {
            let mut key = Vec::new();
            push_text(&mut key, text);
            key.push(behind);
            key
        };
        for pair in texts.windows(2) {
            assert!(sort_key(pair[0], 0xff) < sort_key(pair[1], 0), "{pair:?}");
        }
    }

    #[test]
    fn numbers_compare_as_numbers() {
        let numbers = [f64::NEG_INFINITY, f64::MIN, -1.5, -f64::MIN_POSITIVE, -5e-324, 0.0, 5e-324, 1.0, f64::MAX, f64::INFINITY, f64::NAN];
        let sort_key = |number| {
            let mut key = Vec::new();
            push_number(&mut key, number);
            key
        };
        assert!(numbers.windows(2).all(|pair| sort_key(pair[0]) < sort_key(pair[1])));
        assert_eq!(sort_key(0.0), sort_key(-0.0));
    }
}
