//! The names of keyspaces, kept in the store with their numbers and orders.

use crate::EtcdStore;
use crate::cluster::Route;
use crate::reads::{answers, damaged};
use etcd_client::{Compare, CompareOp, GetOptions, Txn, TxnOp};
use orbweaver_engine::store::{Keyspace, Order, StoreError};
use orbweaver_remote::{Backoff, BackoffPolicy, Meter, decode_keyspace, encode_keyspace};

impl EtcdStore {
    /// The keyspace of that name; a new one takes the next number.
    pub(crate) async fn keyspace(&self, route: &Route, meter: &Meter, name: &str, order: Order) -> Result<Keyspace, StoreError> {
        if order != Order::Bytes {
            return Err(StoreError::UnsupportedOrder(format!("etcd orders keys by their bytes, not by {}", order.name())));
        }
        let inner = &self.inner;
        let (key, all) = (inner.keys.keyspace(name), inner.keys.keyspaces());
        let list = Txn::new().and_then([TxnOp::get(all.start.clone(), Some(GetOptions::new().with_range(all.end.clone())))]);
        let mut backoff = Backoff::new(BackoffPolicy::CONFLICTS);
        loop {
            backoff.pause()?;
            meter.count_read();
            let answer = inner.cluster.repeat_txn(route, &list).await.map_err(|failure| inner.cluster.error(failure))?;
            let mut next = 0;
            for record in answers(&answer).iter().flat_map(|answer| answer.kvs()) {
                let (number, known) = decode_keyspace(record.value()).ok_or_else(|| damaged("a keyspace's record without a number"))?;
                if record.key() == key {
                    let text = || format!("keyspace {name} exists with another order than {}", order.name());
                    return if known == order.name().as_bytes() { Ok(Keyspace(number)) } else { Err(StoreError::UnsupportedOrder(text())) };
                }
                next = next.max(number.saturating_add(1));
            }
            // Nobody has made any keyspace since: names and numbers are new.
            let seen = crate::reads::revision(&answer)?;
            let unchanged = Compare::mod_revision(all.start.clone(), CompareOp::Less, seen.saturating_add(1)).with_range(all.end.clone());
            let put = TxnOp::put(key.clone(), encode_keyspace(next, order), None);
            meter.count_commit();
            let made = inner.cluster.repeat_txn(route, &Txn::new().when([unchanged]).and_then([put])).await;
            made.map_err(|failure| inner.cluster.error(failure))?;
            // The next look finds it, whoever made it.
            backoff.failed();
        }
    }
}
