//! The keys of a store that has one space of keys in byte order, all of them under the prefix of its URL:
//!
//! ```text
//! <prefix>/f                       the format of these keys: the store's name and a number
//! <prefix>/e                       the epoch record: written by every exclusive commit
//! <prefix>/k<name>                 a keyspace: its number (4 bytes), the name of its order
//! <prefix>/l<stripe>               a stripe of lock keys (2 bytes): written by every commit that changes one of them
//! <prefix>/d<number><key>          a record: the keyspace's number (4 bytes), the key as it is
//! ```
//! Numbers are big-endian, so that bytes are in their order. The values of the epoch record and of stripes are the marks of the
//! transactions that wrote them last.
//!
//! Lock keys share a fixed number of stripes because records of their own would have to be removed at some time, and a lock record that
//! was removed in between looks like one that was never written. Stripes stay, and are few.

use orbweaver_engine::store::{Keyspace, Order, prefix_end};
use std::ops::Range;

const FORMAT_TAG: u8 = b'f';
const EPOCH_TAG: u8 = b'e';
const KEYSPACE_TAG: u8 = b'k';
const STRIPE_TAG: u8 = b'l';
const RECORD_TAG: u8 = b'd';

/// Tag and number.
const RECORD_HEAD_BYTES: usize = 5;

/// The keys of one store. Stores of different prefixes share no key, unless one prefix begins with the other one and a slash.
#[derive(Clone, Debug)]
pub struct Keys {
    prefix: Vec<u8>,
}

impl Keys {
    /// Those below a prefix.
    #[must_use]
    pub fn new(prefix: &str) -> Self {
        Self { prefix: format!("{prefix}/").into_bytes() }
    }

    fn tagged(&self, tag: u8, rest: &[&[u8]]) -> Vec<u8> {
        let length = self.prefix.len() + 1 + rest.iter().map(|piece| piece.len()).sum::<usize>();
        let mut key = Vec::with_capacity(length);
        key.extend_from_slice(&self.prefix);
        key.push(tag);
        rest.iter().for_each(|piece| key.extend_from_slice(piece));
        key
    }

    /// How many bytes the store puts before the key of a record.
    #[must_use]
    pub fn record_overhead(&self) -> usize {
        self.prefix.len() + RECORD_HEAD_BYTES
    }

    /// The format record.
    #[must_use]
    pub fn format(&self) -> Vec<u8> {
        self.tagged(FORMAT_TAG, &[])
    }

    /// The epoch record.
    #[must_use]
    pub fn epoch(&self) -> Vec<u8> {
        self.tagged(EPOCH_TAG, &[])
    }

    /// The record of a keyspace's name.
    #[must_use]
    pub fn keyspace(&self, name: &str) -> Vec<u8> {
        self.tagged(KEYSPACE_TAG, &[name.as_bytes()])
    }

    /// The records of all keyspaces' names.
    #[must_use]
    pub fn keyspaces(&self) -> Range<Vec<u8>> {
        all_with(self.tagged(KEYSPACE_TAG, &[]))
    }

    /// The record of a stripe.
    #[must_use]
    pub fn stripe(&self, stripe: u16) -> Vec<u8> {
        self.tagged(STRIPE_TAG, &[&stripe.to_be_bytes()])
    }

    /// The stripes from the first up to and with the last one.
    #[must_use]
    pub fn stripes(&self, first: u16, last: u16) -> Range<Vec<u8>> {
        // A key that goes on behind the last one's is the first behind it.
        self.stripe(first)..self.tagged(STRIPE_TAG, &[&last.to_be_bytes(), &[0]])
    }

    /// The record of a key.
    #[must_use]
    pub fn record(&self, keyspace: Keyspace, key: &[u8]) -> Vec<u8> {
        self.tagged(RECORD_TAG, &[&keyspace.0.to_be_bytes(), key])
    }

    /// The records of a keyspace from `start` up to but not including `end`; `None`: to the last one.
    #[must_use]
    pub fn records(&self, keyspace: Keyspace, start: &[u8], end: Option<&[u8]>) -> Range<Vec<u8>> {
        let end = match end {
            Some(end) => self.record(keyspace, end),
            None => all_with(self.record(keyspace, &[])).end,
        };
        self.record(keyspace, start)..end
    }

    /// The key of a record without what the store put before it; `None` where it is none of a record.
    #[must_use]
    pub fn user_key<'k>(&self, key: &'k [u8]) -> Option<&'k [u8]> {
        key.get(self.record_overhead()..)
    }
}

/// The keys that begin with a prefix, which is not made of 0xff alone.
fn all_with(prefix: Vec<u8>) -> Range<Vec<u8>> {
    let end = prefix_end(&prefix).unwrap_or_default();
    prefix..end
}

/// The value of a keyspace's record.
#[must_use]
pub fn encode_keyspace(number: u32, order: Order) -> Vec<u8> {
    [&number.to_be_bytes()[..], order.name().as_bytes()].concat()
}

/// The number of a keyspace, and the name of its order; `None` where the value is none of a keyspace's record.
#[must_use]
pub fn decode_keyspace(value: &[u8]) -> Option<(u32, &[u8])> {
    let (number, order) = value.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*number), order))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_records_are_in_the_order_of_users_keys_and_come_back() {
        let keys = Keys::new("shop");
        assert_eq!(keys.record(Keyspace(1), b"key"), b"shop/d\0\0\0\x01key");
        assert_eq!(keys.user_key(b"shop/d\0\0\0\x01key"), Some(&b"key"[..]));
        assert_eq!(keys.user_key(&keys.record(Keyspace(1), b"")), Some(&b""[..]), "the empty key is one like others");
        assert_eq!(keys.records(Keyspace(0xff), b"a", None), b"shop/d\0\0\0\xffa".to_vec()..b"shop/d\0\0\x01".to_vec());
    }

    #[test]
    fn keyspaces_keep_their_numbers_and_orders() {
        assert_eq!(encode_keyspace(258, Order::Bytes), b"\0\0\x01\x02bytes");
        assert_eq!(decode_keyspace(b"\0\0\x01\x02bytes"), Some((258, &b"bytes"[..])));
        assert_eq!(decode_keyspace(b"abc"), None);
    }

    #[test]
    fn a_range_of_stripes_holds_its_last_one() {
        let keys = Keys::new("");
        let all = keys.stripes(0, u16::MAX);
        assert_eq!(all, b"/l\0\0".to_vec()..b"/l\xff\xff\0".to_vec());
        assert!(all.contains(&keys.stripe(u16::MAX)) && !all.contains(&keys.epoch()));
    }
}
