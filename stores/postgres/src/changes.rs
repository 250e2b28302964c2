//! A batch as few statements.

use orbweaver_engine::store::BatchOp;
use std::collections::BTreeMap;

/// A statement takes no more rows than this, and stops at the row that makes it larger than [`MOST_BYTES`].
const MOST_ROWS: usize = 8192;
/// CockroachDB takes messages of 16 MiB; its largest values (8 MiB) still fit behind this many bytes.
const MOST_BYTES: usize = 4 << 20;

/// What one statement does.
#[derive(Debug, PartialEq, Eq)]
pub enum Change<'b> {
    /// Stores records: three columns, with no (keyspace, key) twice.
    Put { keyspaces: Vec<i32>, keys: Vec<&'b [u8]>, values: Vec<&'b [u8]> },
    /// Removes keys.
    Delete { keyspace: i32, keys: Vec<&'b [u8]> },
    /// Removes the keys from `start` up to but not including `end`.
    DeleteRange { keyspace: i32, start: &'b [u8], end: Option<&'b [u8]> },
}

/// The statements that have the effect of the operations in their order. Keyspaces are numbered below `i32::MAX`.
pub fn changes<'b>(ops: &[BatchOp<'b>]) -> Vec<Change<'b>> {
    let mut changes = Vec::new();
    // Of each key only the last operation counts, up to the next range delete.
    let mut points: BTreeMap<(i32, &[u8]), Option<&[u8]>> = BTreeMap::new();
    for op in ops {
        let keyspace = i32::try_from(op.keyspace().0).unwrap_or(i32::MAX);
        match *op {
            BatchOp::Put { key, value, .. } => drop(points.insert((keyspace, key), Some(value))),
            BatchOp::Delete { key, .. } => drop(points.insert((keyspace, key), None)),
            BatchOp::DeleteRange { start, end, .. } => {
                flush(&mut points, &mut changes);
                changes.push(Change::DeleteRange { keyspace, start, end: (!end.is_empty()).then_some(end) });
            }
        }
    }
    flush(&mut points, &mut changes);
    changes
}

fn flush<'b>(points: &mut BTreeMap<(i32, &'b [u8]), Option<&'b [u8]>>, changes: &mut Vec<Change<'b>>) {
    let (mut keyspaces, mut keys, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let mut deletes: BTreeMap<i32, Vec<&[u8]>> = BTreeMap::new();
    let mut bytes = 0;
    for ((keyspace, key), value) in std::mem::take(points) {
        let Some(value) = value else {
            deletes.entry(keyspace).or_default().push(key);
            continue;
        };
        keyspaces.push(keyspace);
        keys.push(key);
        values.push(value);
        bytes += key.len() + value.len();
        if keys.len() >= MOST_ROWS || bytes >= MOST_BYTES {
            let (keyspaces, keys, values) = (std::mem::take(&mut keyspaces), std::mem::take(&mut keys), std::mem::take(&mut values));
            changes.push(Change::Put { keyspaces, keys, values });
            bytes = 0;
        }
    }
    if !keys.is_empty() {
        changes.push(Change::Put { keyspaces, keys, values });
    }
    for (keyspace, keys) in deletes {
        changes.extend(stretches(keys).into_iter().map(|keys| Change::Delete { keyspace, keys }));
    }
}

/// Keys for statements that name many, as many as one takes.
pub fn stretches<'k>(keys: impl IntoIterator<Item = &'k [u8]>) -> Vec<Vec<&'k [u8]>> {
    let mut stretches: Vec<Vec<&[u8]>> = Vec::new();
    let mut bytes = 0;
    for key in keys {
        match stretches.last_mut().filter(|last| last.len() < MOST_ROWS && bytes < MOST_BYTES) {
            Some(last) => last.push(key),
            None => {
                stretches.push(vec![key]);
                bytes = 0;
            }
        }
        bytes += key.len();
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;
    use orbweaver_engine::store::{Batch, KeyRange, Keyspace};

    fn of(batch: &Batch) -> Vec<Change<'_>> {
        changes(&batch.ops().collect::<Result<Vec<_>, _>>().unwrap())
    }

    #[test]
    fn puts_and_deletes_are_a_statement_each_and_the_last_of_a_key_counts() {
        let mut batch = Batch::new();
        batch.put(Keyspace(2), b"b", b"old").unwrap();
        batch.delete(Keyspace(1), b"gone").unwrap();
        batch.put(Keyspace(2), b"b", b"new").unwrap();
        batch.put(Keyspace(1), b"a", b"").unwrap();
        batch.put(Keyspace(1), b"c", b"for a while").unwrap();
        batch.delete(Keyspace(1), b"c").unwrap();
        let put = Change::Put { keyspaces: vec![1, 2], keys: vec![b"a", b"b"], values: vec![b"", b"new"] };
        assert_eq!(of(&batch), [put, Change::Delete { keyspace: 1, keys: vec![b"c", b"gone"] }]);
    }

    #[test]
    fn a_range_delete_stays_between_what_is_before_and_behind_it() {
        let mut batch = Batch::new();
        batch.put(Keyspace(1), b"a", b"1").unwrap();
        batch.delete_range(Keyspace(1), &KeyRange::all()).unwrap();
        batch.put(Keyspace(1), b"b", b"2").unwrap();
        let put = |key: &'static [u8], value: &'static [u8]| Change::Put { keyspaces: vec![1], keys: vec![key], values: vec![value] };
        assert_eq!(of(&batch), [put(b"a", b"1"), Change::DeleteRange { keyspace: 1, start: b"", end: None }, put(b"b", b"2")]);
    }

    #[test]
    fn many_keys_and_long_ones_are_cut_into_stretches() {
        let lengths = |key: &[u8], count: usize| stretches(std::iter::repeat_n(key, count)).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lengths(b"k", 20_000), [8192, 8192, 3616]);
        assert_eq!(lengths(&[0; 1 << 20], 9), [4, 4, 1]);
        assert!(lengths(b"k", 0).is_empty());
    }

    #[test]
    fn a_large_batch_is_cut_into_statements() {
        let mut batch = Batch::new();
        let value = vec![0; 3 << 20];
        (0_u8..5).for_each(|key| batch.put(Keyspace(1), &[key], &value).unwrap());
        let rows: Vec<usize> = of(&batch).iter().map(|change| if let Change::Put { keys, .. } = change { keys.len() } else { 0 }).collect();
        assert_eq!(rows, [2, 2, 1]);
    }
}
