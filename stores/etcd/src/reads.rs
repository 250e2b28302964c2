//! What a transaction reads: everything at one revision of etcd, that of its first read.

use crate::EtcdStore;
use crate::cluster::{Failure, Route};
use etcd_client::{GetOptions, GetResponse, KeyValue, SortOrder, SortTarget, Txn, TxnOp, TxnOpResponse, TxnResponse};
use futures_util::future::try_join_all;
use orbweaver_engine::store::{Direction, StoreError};
use orbweaver_remote::Meter;
use std::ops::Range;

/// The state that a transaction sees.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot {
    /// The revision of etcd; `None` before the first read.
    pub revision: Option<i64>,
    /// The epoch that the transaction began with; `None` where it does not matter.
    pub epoch: Option<i64>,
}

/// Records to read.
#[derive(Clone, Debug)]
pub struct Wanted {
    key: Vec<u8>,
    range: Option<Span>,
}

/// The end of a range, and what is wanted of it.
#[derive(Clone, Debug)]
enum Span {
    /// At most so many records, from one of its ends.
    Records(Vec<u8>, i64, Direction),
    /// How many there are.
    Count(Vec<u8>),
}

impl Wanted {
    pub fn one(key: Vec<u8>) -> Self {
        Self { key, range: None }
    }

    /// Backwards, etcd reads and sorts the whole range before it looks at the limit.
    pub fn range(range: Range<Vec<u8>>, limit: i64, direction: Direction) -> Self {
        Self { key: range.start, range: Some(Span::Records(range.end, limit, direction)) }
    }

    /// How many records a range has.
    pub fn count(range: Range<Vec<u8>>) -> Self {
        Self { key: range.start, range: Some(Span::Count(range.end)) }
    }

    fn into_op(self, revision: Option<i64>, serializable: bool) -> TxnOp {
        let mut options = GetOptions::new();
        if let Some(revision) = revision {
            options = options.with_revision(revision);
        }
        if serializable {
            options = options.with_serializable();
        }
        options = match self.range {
            None => options,
            Some(Span::Count(end)) => options.with_range(end).with_count_only(),
            Some(Span::Records(end, limit, Direction::Forward)) => options.with_range(end).with_limit(limit),
            Some(Span::Records(end, limit, Direction::Reverse)) => {
                options.with_range(end).with_limit(limit).with_sort(SortTarget::Key, SortOrder::Descend)
            }
        };
        TxnOp::get(self.key, Some(options))
    }
}

/// The revision at which the only record of an answer was last changed; 0 where there is none.
pub fn mod_revision(answer: &GetResponse) -> i64 {
    answer.kvs().first().map_or(0, KeyValue::mod_revision)
}

/// The revision of etcd that an answer is from.
pub fn revision(answer: &TxnResponse) -> Result<i64, StoreError> {
    answer.header().map(etcd_client::ResponseHeader::revision).ok_or_else(|| damaged("an answer without a header"))
}

pub fn damaged(what: &str) -> StoreError {
    StoreError::Corrupt(format!("etcd: {what}"))
}

/// The answers of a Txn that reads.
pub fn answers(answer: &TxnResponse) -> Vec<GetResponse> {
    let gets = answer.op_responses().into_iter().filter_map(|answer| match answer {
        TxnOpResponse::Get(get) => Some(get),
        _ => None,
    });
    gets.collect()
}

impl EtcdStore {
    /// Reads at the snapshot, which the first read makes: together with the epoch, in one Txn. What does not fit one Txn is asked for
    /// by several at once.
    pub(crate) async fn read(
        &self,
        route: &Route,
        meter: &Meter,
        snapshot: &mut Snapshot,
        wanted: Vec<Wanted>,
    ) -> Result<Vec<GetResponse>, StoreError> {
        let (at_once, mut wanted, mut found) = (self.inner.sizes.txn_ops, wanted.into_iter(), Vec::new());
        let revision = match snapshot.revision {
            Some(revision) => revision,
            None => {
                let first = wanted.by_ref().take(at_once.saturating_sub(1));
                let ops: Vec<TxnOp> =
                    std::iter::once(Wanted::one(self.inner.keys.epoch())).chain(first).map(|wanted| wanted.into_op(None, false)).collect();
                meter.count_read();
                let answer = self.inner.cluster.repeat_txn(route, &Txn::new().and_then(ops)).await;
                let answer = answer.map_err(|failure| self.inner.cluster.error(failure))?;
                let revision = revision(&answer)?;
                let mut answers = answers(&answer).into_iter();
                let epoch = answers.next().map_or(0, |answer| mod_revision(&answer));
                self.inner.learn_epoch(epoch);
                if snapshot.epoch.is_some_and(|known| known != epoch) {
                    return Err(StoreError::Conflict);
                }
                snapshot.revision = Some(revision);
                found.extend(answers);
                revision
            }
        };
        let rest: Vec<Wanted> = wanted.collect();
        if !rest.is_empty() {
            meter.count_read();
            let chunks = rest.chunks(at_once).map(|chunk| self.read_at(route, revision, chunk));
            let chunks = try_join_all(chunks).await.map_err(|failure| self.inner.cluster.error(failure))?;
            found.extend(chunks.into_iter().flatten());
        }
        Ok(found)
    }

    /// Reads at a revision. Every node that has it knows all of it, and asks no other.
    async fn read_at(&self, route: &Route, revision: i64, wanted: &[Wanted]) -> Result<Vec<GetResponse>, Failure> {
        let txn = |serializable: bool| {
            let ops: Vec<TxnOp> = wanted.iter().map(|wanted| wanted.clone().into_op(Some(revision), serializable)).collect();
            Txn::new().and_then(ops)
        };
        let answer = match self.inner.cluster.repeat_txn(route, &txn(true)).await {
            Err(failure) if failure.is_of_the_future() => self.inner.cluster.repeat_txn(route, &txn(false)).await,
            outcome => outcome,
        };
        answer.map(|answer| answers(&answer))
    }
}
