//! A commit as one Txn: it compares what the transaction relied on, and puts all or nothing.

use crate::changes::Change;
use crate::options::{OP_BYTES, Sizes};
use etcd_client::{Compare, CompareOp, Txn, TxnOp};
use orbweaver_engine::store::StoreError;
use orbweaver_remote::Keys;
use std::collections::BTreeSet;

/// What etcd and gRPC add to a request: header, user, and the Txns around operations.
const REQUEST_BYTES: usize = 512;
/// What a nested Txn adds.
const NESTED_BYTES: usize = 16;

/// What a transaction relies on: that nobody has changed it since its revision.
#[derive(Clone, Debug)]
pub struct Reliance<'t> {
    /// Of its lock keys; `None`: all, it is exclusive.
    pub stripes: Option<&'t BTreeSet<u16>>,
    /// What was read is from here.
    pub revision: i64,
}

/// The Txn that commits changes, and puts the mark of the transaction to the keys of `marked`. [`StoreError::TooLarge`] where etcd would not
/// take it.
pub fn txn(
    keys: &Keys,
    sizes: Sizes,
    reliance: &Reliance<'_>,
    changes: Vec<Change>,
    marked: Vec<Vec<u8>>,
    mark: &[u8],
) -> Result<Txn, StoreError> {
    let marks = marked.into_iter().map(|key| Change::Put(key, mark.to_vec()));
    let changes: Vec<Change> = changes.into_iter().chain(marks).collect();
    let too_large = |what: &str, size: usize, limit: usize| {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        Err(StoreError::TooLarge { what: format!("a transaction of {size} {what} in etcd"), limit })
    };
    let ops = changes.len();
    if ops > sizes.all_ops() {
        return too_large("operations", ops, sizes.all_ops());
    }
    let (compares, compare_bytes) = compares(keys, sizes, reliance);
    let nested = ops.div_ceil(sizes.half().max(1));
    let bytes = REQUEST_BYTES + compare_bytes + nested * NESTED_BYTES + changes.iter().map(Change::bytes).sum::<usize>();
    if bytes > sizes.request_bytes {
        return too_large("bytes", bytes, sizes.request_bytes);
    }
    let ops = changes.into_iter().map(Change::into_op).collect();
    // Who fails learns the epoch, and needs not ask for it.
    Ok(Txn::new().when(compares).and_then(nest(ops, sizes)).or_else([TxnOp::get(keys.epoch(), None)]))
}

/// Operations as one Txn takes them: more than it may have become Txns within it, which etcd applies with it, or not at all.
fn nest(ops: Vec<TxnOp>, sizes: Sizes) -> Vec<TxnOp> {
    if ops.len() <= sizes.txn_ops {
        return ops;
    }
    ops.chunks(sizes.half().max(1)).map(|chunk| TxnOp::txn(Txn::new().and_then(chunk))).collect()
}

/// The compares, and the most bytes that they take in a request.
fn compares(keys: &Keys, sizes: Sizes, reliance: &Reliance<'_>) -> (Vec<Compare>, usize) {
    let unchanged = |key: Vec<u8>| Compare::mod_revision(key, CompareOp::Less, reliance.revision.saturating_add(1));
    let stripes = match reliance.stripes {
        None => vec![(0, u16::MAX)],
        Some(stripes) => groups(stripes, sizes.half().saturating_sub(1)),
    };
    let epoch = keys.epoch();
    let bytes = (stripes.len() + 1) * 2 * (epoch.len() + OP_BYTES);
    let stripes = stripes.into_iter().map(|(first, last)| match keys.stripes(first, last) {
        range if first < last => unchanged(range.start).with_range(range.end),
        range => unchanged(range.start),
    });
    (std::iter::once(unchanged(epoch)).chain(stripes).collect(), bytes)
}

/// The stripes in at most `most` groups, each from its first to its last: where they are more, those that are closest to one another
/// share a group, and what lies between them may cause conflicts that are none.
fn groups(stripes: &BTreeSet<u16>, most: usize) -> Vec<(u16, u16)> {
    let mut gaps: Vec<(u16, u16)> = stripes.iter().zip(stripes.iter().skip(1)).map(|(&before, &after)| (before, after)).collect();
    // The widest gaps are where groups end.
    gaps.sort_unstable_by_key(|(before, after)| std::cmp::Reverse(after.saturating_sub(*before)));
    gaps.truncate(most.saturating_sub(1));
    gaps.sort_unstable();
    let (Some(&first), Some(&last)) = (stripes.first(), stripes.last()) else { return Vec::new() };
    let starts = std::iter::once(first).chain(gaps.iter().map(|&(_, after)| after));
    let ends = gaps.iter().map(|&(before, _)| before).chain(std::iter::once(last));
    starts.zip(ends).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_stripes_have_groups_of_their_own() {
        assert_eq!(groups(&[7, 3, 9].into(), 3), [(3, 3), (7, 7), (9, 9)]);
        assert_eq!(groups(&BTreeSet::new(), 3), []);
    }

    #[test]
    fn many_stripes_share_groups_with_their_neighbours() {
        assert_eq!(groups(&[1, 2, 10, 11, 13, 50].into(), 3), [(1, 2), (10, 13), (50, 50)]);
        let all: BTreeSet<u16> = (0..=u16::MAX).collect();
        let groups = groups(&all, 63);
        assert_eq!(groups.len(), 63);
        assert_eq!(groups.iter().map(|(first, last)| usize::from(last - first) + 1).sum::<usize>(), all.len());
    }
}
