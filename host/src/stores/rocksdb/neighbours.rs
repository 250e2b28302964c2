//! Reads of keys that follow each other, the elements that a pipeline takes from the end of a list: one search for all of
//! them, and a step for each. A read of each by itself searches memtables and files anew.

use super::handle::View;
use super::options::PREFIX_BYTES;
use super::{Db, read_error};
use bytes::Bytes;
use orbweaver_engine::store::StoreError;
use rocksdb::DBRawIteratorWithThreadMode;

/// So many in a row are worth an iterator.
pub const LEAST: usize = 4;

/// Whether these are keys of a structure's neighbouring elements: its number, and theirs (docs/format.md, list elements).
pub fn follow_each_other(key: &[u8], next: &[u8]) -> bool {
    match (as_element(key), as_element(next)) {
        (Some((structure, number)), Some((of_next, next))) => structure == of_next && number.checked_add(1) == Some(next),
        _ => false,
    }
}

fn as_element(key: &[u8]) -> Option<(&[u8; PREFIX_BYTES], u64)> {
    let (structure, number) = key.split_first_chunk()?;
    Some((structure, u64::from_be_bytes(number.try_into().ok()?)))
}

/// The values of keys that follow each other, in a keyspace in byte order.
pub fn get(view: View<'_, '_>, keys: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StoreError> {
    let View { db, family, mut read } = view;
    if let Some(last) = keys.last() {
        read.set_iterate_upper_bound([*last, &[0]].concat());
    }
    let mut records = db.raw_iterator_cf_opt(family, read);
    records.seek(keys.first().copied().unwrap_or_default());
    let mut values = Vec::with_capacity(keys.len());
    for &wanted in keys {
        if is_before(&records, wanted) {
            records.next();
        }
        if is_before(&records, wanted) {
            // Longer keys stand between them.
            records.seek(wanted);
        }
        values.push(records.item().filter(|(key, _)| *key == wanted).map(|(_, value)| Bytes::copy_from_slice(value)));
    }
    records.status().map_err(|error| read_error(&error))?;
    Ok(values)
}

fn is_before(records: &DBRawIteratorWithThreadMode<'_, Db>, wanted: &[u8]) -> bool {
    records.key().is_some_and(|key| key < wanted)
}

#[cfg(test)]
mod tests {
    use super::follow_each_other;

    #[test]
    fn only_the_next_number_of_the_same_structure_follows() {
        let key = |structure: u64, number: u64| [structure.to_be_bytes(), number.to_be_bytes()].concat();
        assert!(follow_each_other(&key(7, 0xff), &key(7, 0x100)));
        let longer = [key(7, 0x100).as_slice(), b"x"].concat();
        for other in [key(7, 0xff), key(7, 0xfe), key(7, 0x101), key(8, 0x100), longer, b"short".to_vec()] {
            assert!(!follow_each_other(&key(7, 0xff), &other), "{other:?}");
        }
        assert!(!follow_each_other(&key(7, u64::MAX), &key(7, 0)));
    }
}
