//! What has become of a commit whose answer was lost.
//!
//! A commit puts its mark, which nobody else has, to a record that it compares: one of its stripes, or the epoch record. Whether it has
//! happened is asked by a Txn that changes this record unless somebody has done so since the transaction's revision:
//! * The Txn changes it: the commit has not happened, and never will, wherever its request may be: what it compares is no longer so.
//! * Somebody has changed it: the record's earlier values, which etcd keeps for a while, hold the mark, or they do not.

use crate::EtcdStore;
use crate::cluster::{Failure, Route};
use crate::reads::answers;
use etcd_client::{Compare, CompareOp, GetOptions, KeyValue, Txn, TxnOp};
use orbweaver_engine::store::StoreError;
use orbweaver_remote::Meter;

/// How many values of the record are looked at. On a record that so many others have changed in the meantime, nobody waits for more.
const MAX_VALUES: u32 = 256;

/// A commit whose answer was lost.
pub struct Lost<'c> {
    /// The record that has its mark if it happened.
    pub marked: &'c [u8],
    pub mark: &'c [u8],
    /// The transaction's.
    pub revision: i64,
}

impl EtcdStore {
    /// Finds out. [`StoreError::Conflict`] where the commit has not happened, and will not.
    pub(crate) async fn resolve(&self, route: &Route, meter: &Meter, lost: &Lost<'_>, why: &str) -> Result<(), StoreError> {
        let unknown = |failure: Failure| StoreError::UnknownOutcome(format!("{why}; {}", self.inner.cluster.error(failure)));
        let unchanged = Compare::mod_revision(lost.marked, CompareOp::Less, lost.revision.saturating_add(1));
        let fence = TxnOp::put(lost.marked, self.inner.next_mark(), None);
        let txn = Txn::new().when([unchanged]).and_then([fence]).or_else([TxnOp::get(lost.marked, None)]);
        meter.count_commit();
        let answer = self.inner.cluster.repeat_txn(route, &txn).await.map_err(unknown)?;
        if answer.succeeded() {
            return Err(StoreError::Conflict);
        }
        let mut value = answers(&answer).first().and_then(|answer| answer.kvs().first().cloned());
        for _ in 0..MAX_VALUES {
            let Some(record) = value.filter(|record| record.mod_revision() > lost.revision) else {
                return Err(StoreError::Conflict);
            };
            if record.value() == lost.mark {
                return Ok(());
            }
            value = self.value_before(route, meter, &record).await.map_err(unknown)?;
        }
        Err(StoreError::UnknownOutcome(format!("{why}; too much has changed since")))
    }

    /// The record as it was before it became this one.
    async fn value_before(&self, route: &Route, meter: &Meter, record: &KeyValue) -> Result<Option<KeyValue>, Failure> {
        let options = GetOptions::new().with_revision(record.mod_revision().saturating_sub(1));
        meter.count_read();
        let answer = self.inner.cluster.repeat_txn(route, &Txn::new().and_then([TxnOp::get(record.key(), Some(options))])).await?;
        Ok(answers(&answer).first().and_then(|answer| answer.kvs().first().cloned()))
    }
}
