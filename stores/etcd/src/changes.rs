//! What a batch changes, as etcd takes it: no key twice, and no range over a key that is put or over another range.

use crate::options::OP_BYTES;
use etcd_client::{DeleteOptions, TxnOp};
use orbweaver_engine::store::BatchOp;
use orbweaver_remote::Keys;
use std::collections::BTreeMap;
use std::ops::Range;

/// One change; keys are those of etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Put(Vec<u8>, Vec<u8>),
    Delete(Vec<u8>),
    DeleteRange(Range<Vec<u8>>),
}

impl Change {
    /// The most bytes that it takes in a request.
    pub fn bytes(&self) -> usize {
        OP_BYTES
            + match self {
                Self::Put(key, value) => key.len() + value.len(),
                Self::Delete(key) => key.len(),
                Self::DeleteRange(range) => range.start.len() + range.end.len(),
            }
    }

    pub fn into_op(self) -> TxnOp {
        match self {
            Self::Put(key, value) => TxnOp::put(key, value, None),
            Self::Delete(key) => TxnOp::delete(key, None),
            Self::DeleteRange(range) => TxnOp::delete(range.start, Some(DeleteOptions::new().with_range(range.end))),
        }
    }
}

/// The changes that have the effect of the operations in their order.
pub fn changes(keys: &Keys, ops: &[BatchOp<'_>]) -> Vec<Change> {
    let (mut points, mut ranges) = (BTreeMap::new(), Vec::new());
    for op in ops {
        match *op {
            BatchOp::Put { keyspace, key, value } => drop(points.insert(keys.record(keyspace, key), Some(value.to_vec()))),
            BatchOp::Delete { keyspace, key } => drop(points.insert(keys.record(keyspace, key), None)),
            BatchOp::DeleteRange { keyspace, start, end } => {
                let range = keys.records(keyspace, start, (!end.is_empty()).then_some(end));
                if range.start < range.end {
                    points.retain(|key, _| !range.contains(key));
                    ranges.push(range);
                }
            }
        }
    }
    let ranges = merged(ranges);
    let mut changes = pieces(ranges.clone(), &points);
    let is_in_range = |key: &Vec<u8>| {
        let after = ranges.partition_point(|range| range.start <= *key);
        after.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|range| range.contains(key))
    };
    changes.extend(points.into_iter().filter_map(|(key, value)| match value {
        Some(value) => Some(Change::Put(key, value)),
        None if is_in_range(&key) => None,
        None => Some(Change::Delete(key)),
    }));
    changes
}

/// The same keys in ranges that neither overlap nor touch, in their order.
fn merged(mut ranges: Vec<Range<Vec<u8>>>) -> Vec<Range<Vec<u8>>> {
    ranges.sort_unstable_by(|one, other| one.start.cmp(&other.start));
    let mut merged: Vec<Range<Vec<u8>>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = range.end.max(std::mem::take(&mut last.end)),
            _ => merged.push(range),
        }
    }
    merged
}

/// The ranges without the keys that are put.
fn pieces(ranges: Vec<Range<Vec<u8>>>, points: &BTreeMap<Vec<u8>, Option<Vec<u8>>>) -> Vec<Change> {
    let mut pieces = Vec::with_capacity(ranges.len());
    let mut add = |start: Vec<u8>, end: Vec<u8>| {
        if start < end {
            pieces.push(Change::DeleteRange(start..end));
        }
    };
    for Range { mut start, end } in ranges {
        let put = points.range(start.clone()..end.clone()).filter(|(_, value)| value.is_some());
        for (key, _) in put {
            // The first key behind it.
            let behind = [key.as_slice(), &[0]].concat();
            add(std::mem::replace(&mut start, behind), key.clone());
        }
        add(start, end);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use orbweaver_engine::store::Keyspace;

    const KEYSPACE: Keyspace = Keyspace(1);

    fn key(key: &str) -> Vec<u8> {
        Keys::new("").record(KEYSPACE, key.as_bytes())
    }

    fn put<'a>(key: &'a str, value: &'a str) -> BatchOp<'a> {
        BatchOp::Put { keyspace: KEYSPACE, key: key.as_bytes(), value: value.as_bytes() }
    }

    fn delete(key: &str) -> BatchOp<'_> {
        BatchOp::Delete { keyspace: KEYSPACE, key: key.as_bytes() }
    }

    fn clear<'a>(start: &'a str, end: &'a str) -> BatchOp<'a> {
        BatchOp::DeleteRange { keyspace: KEYSPACE, start: start.as_bytes(), end: end.as_bytes() }
    }

    fn of(ops: &[BatchOp<'_>]) -> Vec<Change> {
        changes(&Keys::new(""), ops)
    }

    #[test]
    fn a_range_leaves_out_what_is_put_into_it() {
        let expected = [
            Change::DeleteRange(key("b")..key("c")),
            Change::DeleteRange(key("c\0")..key("f")),
            Change::Put(key("c"), b"1".to_vec()),
            Change::Put(key("f"), b"2".to_vec()),
        ];
        assert_eq!(of(&[clear("b", "f"), put("c", "1"), put("f", "2"), delete("d")]), expected);
    }

    #[test]
    fn a_range_that_begins_with_what_is_put_begins_behind_it() {
        assert_eq!(of(&[clear("b", "b\0"), put("b", "")]), [Change::Put(key("b"), Vec::new())]);
    }

    #[test]
    fn ranges_that_overlap_or_touch_become_one() {
        let expected =
            [Change::DeleteRange(key("a")..key("e")), Change::DeleteRange(key("x")..Keys::new("").records(KEYSPACE, b"", None).end)];
        assert_eq!(of(&[clear("c", "e"), clear("x", ""), clear("a", "c"), clear("b", "d"), clear("y", "z"), clear("z", "b")]), expected);
    }

    #[test]
    fn the_last_word_on_a_key_counts() {
        assert_eq!(
            of(&[put("a", "1"), delete("a"), put("b", "1"), put("b", "2")]),
            [Change::Delete(key("a")), Change::Put(key("b"), b"2".to_vec())]
        );
        assert_eq!(of(&[put("b", "1"), clear("a", "c")]), [Change::DeleteRange(key("a")..key("c"))]);
    }
}
