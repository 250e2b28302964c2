//! What one Txn of etcd takes, to the operation and to the byte, and what time takes away.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, missing_docs)]

mod common;

use common::{cluster, fresh_store, fresh_url, get, open, put, scope};
use orbweaver_engine::store::{Batch, Direction, KeyRange, Keyspace, Order, PageLimit, Scope, Store, StoreError};
use orbweaver_etcd::{EtcdHandle, EtcdStore};
use orbweaver_remote::block_on;
use orbweaver_servers::EtcdCluster;

fn commit(handle: &mut EtcdHandle, batch: &Batch) -> Result<(), StoreError> {
    handle.begin(&scope(b"lock"))?;
    handle.commit(batch, &[0])
}

fn puts(keyspace: Keyspace, count: u64) -> Batch {
    let mut batch = Batch::new();
    for number in 0..count {
        batch.put(keyspace, &number.to_be_bytes(), b"value").unwrap();
    }
    batch
}

fn count(handle: &mut EtcdHandle, keyspace: Keyspace) -> usize {
    handle.begin(&Scope::Read).unwrap();
    let page = handle.scan(keyspace, &KeyRange::all(), Direction::Forward, PageLimit { max_items: u32::MAX, max_bytes: u32::MAX });
    handle.rollback();
    page.unwrap().len()
}

#[test]
fn a_batch_may_have_as_many_operations_as_are_promised() {
    let cluster = cluster();
    let (mut handle, data) = open(&fresh_store(&cluster));
    let most = handle.limits().max_batch_ops;
    // One Txn of etcd has 128 operations, of which one is the stripe's.
    for ops in [1, 127, 128, 129, most] {
        commit(&mut handle, &puts(data, ops)).unwrap();
        assert_eq!(count(&mut handle, data), usize::try_from(ops).unwrap());
    }
    let outcome = commit(&mut handle, &puts(data, most + 1));
    assert_eq!(outcome, Err(StoreError::TooLarge { what: format!("a batch of {} operations", most + 1), limit: 2048 }));
}

#[test]
fn every_operation_may_belong_to_another_lock_key() {
    let cluster = cluster();
    let (mut handle, data) = open(&fresh_store(&cluster));
    let most = handle.limits().max_batch_ops;
    let scope = Scope::Keys((0..most).map(|number| format!("lock {number}").into()).collect());
    let changed: Vec<u32> = (0..u32::try_from(most).unwrap()).collect();
    handle.begin(&scope).unwrap();
    handle.commit(&puts(data, most), &changed).unwrap();
    assert_eq!(count(&mut handle, data), 2048);
}

#[test]
fn a_batch_may_have_as_many_bytes_as_are_promised() {
    let cluster = cluster();
    let (mut handle, data) = open(&fresh_store(&cluster));
    let limits = handle.limits();
    let value = vec![7; usize::try_from(limits.max_value_bytes).unwrap()];
    put(&mut handle, data, b"key", &value).unwrap();
    assert_eq!(get(&mut handle, data, b"key").unwrap().unwrap(), value);
    let key = vec![b'k'; usize::try_from(limits.max_key_bytes).unwrap()];
    put(&mut handle, data, &key, b"value").unwrap();
    assert_eq!(get(&mut handle, data, &key).unwrap().unwrap(), &b"value"[..]);

    let mut whole = Batch::new();
    let rest = |batch: &Batch| usize::try_from(limits.max_batch_bytes).unwrap() - batch.as_bytes().len();
    whole.put(data, b"one", &vec![1; rest(&whole) / 2]).unwrap();
    let overhead = Batch::new().as_bytes().len() + "two".len() + 13;
    whole.put(data, b"two", &vec![2; rest(&whole) - overhead]).unwrap();
    assert_eq!(u64::try_from(whole.as_bytes().len()), Ok(limits.max_batch_bytes));
    commit(&mut handle, &whole).unwrap();
    whole.put(data, b"", b"").unwrap();
    assert!(matches!(commit(&mut handle, &whole), Err(StoreError::TooLarge { limit: 1_048_576, .. })));
}

/// Where a store is told that nodes take more than they do, they refuse it: the flags must agree.
#[test]
fn nodes_that_take_less_than_the_url_says_refuse_and_change_nothing() {
    let cluster = cluster();
    let store = EtcdStore::open(&format!("{}?max-txn-ops=4096&max-request-bytes=8000000", fresh_url(&cluster))).unwrap();
    let (mut handle, data) = open(&store);
    assert!(
        matches!(commit(&mut handle, &puts(data, 129)), Err(StoreError::TooLarge { what, limit: 4096 }) if what.contains("too many operations"))
    );
    let large = put(&mut handle, data, b"key", &vec![0; 1_572_864]);
    assert!(matches!(large, Err(StoreError::TooLarge { what, limit: 8_000_000 }) if what.contains("too large")));
    assert_eq!(count(&mut handle, data), 0);
}

#[test]
fn nodes_with_other_flags_take_more() {
    let cluster = EtcdCluster::start(&["--max-txn-ops=1000", "--max-request-bytes=4000000"]).unwrap();
    let store = EtcdStore::open(&format!("{}?max-txn-ops=1000&max-request-bytes=4000000", fresh_url(&cluster))).unwrap();
    let (mut handle, data) = open(&store);
    commit(&mut handle, &puts(data, 5000)).unwrap();
    assert_eq!(count(&mut handle, data), 5000);
    put(&mut handle, data, b"key", &vec![0; 2_000_000]).unwrap();
}

#[test]
fn orders_other_than_that_of_bytes_are_refused() {
    let cluster = cluster();
    let mut handle = fresh_store(&cluster).handle();
    let outcome = handle.open_keyspace("lists", Order::BlackwidowLists);
    assert!(matches!(outcome, Err(StoreError::UnsupportedOrder(_))), "{outcome:?}");
}

#[test]
fn keyspaces_keep_their_numbers() {
    let cluster = cluster();
    let url = fresh_url(&cluster);
    let names = ["meta", "data", "score"];
    let open = || {
        let mut handle = EtcdStore::open(&url).unwrap().handle();
        names.map(|name| handle.open_keyspace(name, Order::Bytes).unwrap())
    };
    let first = open();
    assert_eq!(first, [Keyspace(0), Keyspace(1), Keyspace(2)]);
    assert_eq!(open(), first);
}

#[test]
fn a_state_that_was_compacted_away_has_expired() {
    let cluster = cluster();
    let (mut handle, data) = open(&fresh_store(&cluster));
    put(&mut handle, data, b"key", b"old").unwrap();
    handle.begin(&scope(b"key")).unwrap();
    handle.get(data, b"other").unwrap();
    let hosts = cluster.hosts();
    block_on(async {
        let mut client = etcd_client::Client::connect(hosts.split(',').collect::<Vec<_>>(), None).await.unwrap();
        let revision = client.put("elsewhere", "", None).await.unwrap().header().unwrap().revision();
        client.compact(revision, Some(etcd_client::CompactionOptions::new().with_physical())).await.unwrap();
    })
    .unwrap();
    assert_eq!(handle.get(data, b"key"), Err(StoreError::Expired));
    handle.rollback();
    assert_eq!(get(&mut handle, data, b"key").unwrap().unwrap(), &b"old"[..], "the next transaction sees the next state");
}

#[test]
fn a_store_tells_what_it_is() {
    let cluster = cluster();
    let description = fresh_store(&cluster).describe().unwrap();
    assert!(description.version.starts_with("3."), "{description:?}");
    assert_eq!(description.members.len(), 3);
    assert!(description.to_string().starts_with(&format!("etcd {}, 3 members (node", description.version)), "{description}");
    assert!(description.database_bytes > 0);
}
