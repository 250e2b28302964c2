//! The elements of lists: an integer or a float is their index, see [`crate::layout::lists::Spread`].

use super::data::Item;
use super::records::{self, record};
use super::{Namespaces, corrupt};
use crate::codec::Flaw;
use crate::error::{Error, Result};
use crate::layout::lists::{Index, SpreadRecords};
use crate::layout::{KeyAt, RecordKey, RecordRange};
use bytes::Bytes;

/// The item of an index.
pub fn item(index: Index) -> Item {
    match index {
        Index::Integer(number) => Item::Integer(number),
        Index::Float(bits) => Item::Float(f64::from_bits(bits)),
    }
}

/// The inverse of [`item`]; `None` for what is no index.
pub fn index(item: &Item) -> Option<Index> {
    match *item {
        Item::Integer(number) => Some(Index::Integer(number)),
        Item::Float(number) if !number.is_nan() => Some(Index::Float(number.to_bits())),
        _ => None,
    }
}

/// The index in the key of an element's record.
///
/// # Errors
/// A flaw where it is no such key.
pub fn decode_index(key: &Bytes) -> std::result::Result<Index, Flaw> {
    let [item] = records::decode_elements(record::ELEMENT, key)?;
    index(&item).ok_or(Flaw { offset: 0, what: "an index that is not a number" })
}

impl SpreadRecords for Namespaces {
    fn element(&self, at: &KeyAt, index: Index) -> RecordKey {
        self.record(at, record::ELEMENT, [&item(index)])
    }

    fn elements(&self, at: &KeyAt) -> RecordRange {
        self.types(at, record::ELEMENT, record::ELEMENT + 1)
    }

    fn decode_index(&self, key: &Bytes) -> Result<Index> {
        decode_index(key).map_err(|flaw| corrupt(key, flaw))
    }

    fn encode_element(&self, element: &[u8]) -> Bytes {
        records::encode_value(record::ELEMENT, [&Item::of(element)])
    }

    fn decode_element(&self, key: &Bytes, value: &Bytes) -> Result<Bytes> {
        let [element] = records::decode_plain_value(record::ELEMENT, value).map_err(|flaw| corrupt(key, flaw))?;
        Ok(element.into_bytes())
    }

    fn missing_element(&self, record: &RecordKey) -> Error {
        super::missing(record)
    }
}
