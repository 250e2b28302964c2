//! The limits are what the server takes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use orbweaver_engine::store::{Batch, Direction, KeyRange, Keyspace, Order, PageLimit, Scope, Store, StoreError};
use orbweaver_postgres::{PostgresHandle, PostgresStore};
use orbweaver_servers::PostgresServer;

/// Bytes that no compression makes shorter.
fn noise(length: usize, mut seed: u64) -> Vec<u8> {
    let next = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(length).collect()
}

fn commit(handle: &mut PostgresHandle, fill: impl FnOnce(&mut Batch)) -> Result<(), StoreError> {
    let mut batch = Batch::new();
    fill(&mut batch);
    handle.begin(&Scope::Exclusive).unwrap();
    handle.commit(&batch, &[])
}

fn get(handle: &mut PostgresHandle, data: Keyspace, key: &[u8]) -> Option<bytes::Bytes> {
    handle.begin(&Scope::Read).unwrap();
    let value = handle.get(data, key).unwrap();
    handle.rollback();
    value
}

#[test]
fn the_longest_key_is_the_longest_that_the_server_takes() {
    let server = PostgresServer::start(&["fsync=off"]).unwrap();
    let mut handle = PostgresStore::open(&server.url("sslmode=disable")).unwrap().handle();
    let data = handle.open_keyspace("data", Order::Bytes).unwrap();
    let longest = usize::try_from(handle.limits().max_key_bytes).unwrap();
    let keys: Vec<Vec<u8>> = (0..200).map(|seed| noise(longest, seed)).collect();
    commit(&mut handle, |batch| keys.iter().for_each(|key| batch.put(data, key, b"v").unwrap())).unwrap();
    assert!(keys.iter().all(|key| get(&mut handle, data, key).is_some()));

    let longer = noise(longest + 1, 1);
    assert!(matches!(commit(&mut handle, |batch| batch.put(data, &longer, b"v").unwrap()), Err(StoreError::TooLarge { .. })));
    assert_eq!(get(&mut handle, data, &longer), None, "what is not there may be asked for");
    let hex: String = longer.iter().map(|byte| format!("{byte:02x}")).collect();
    let error = server.run_sql(&format!("INSERT INTO orbweaver.records VALUES (1, '\\x{hex}', '')")).unwrap_err().to_string();
    assert!(error.contains("index row size"), "{error}");
}

#[test]
fn a_value_of_the_limit_comes_back() {
    let server = PostgresServer::start(&["fsync=off"]).unwrap();
    let mut handle = PostgresStore::open(&server.url("sslmode=disable")).unwrap().handle();
    let data = handle.open_keyspace("data", Order::Bytes).unwrap();
    let value = noise(usize::try_from(handle.limits().max_value_bytes).unwrap(), 7);
    commit(&mut handle, |batch| {
        batch.put(data, b"large", &value).unwrap();
        batch.put(data, b"small", b"beside it").unwrap();
    })
    .unwrap();
    assert!(get(&mut handle, data, b"large").unwrap() == value);
    // A page that begins with it holds nothing else.
    handle.begin(&Scope::Read).unwrap();
    let page = handle.scan(data, &KeyRange::all(), Direction::Forward, PageLimit::items(10)).unwrap();
    assert_eq!((page.len(), page.more), (1, true));
    handle.rollback();
    let longer = [value.as_slice(), b"x"].concat();
    assert!(matches!(commit(&mut handle, |batch| batch.put(data, b"large", &longer).unwrap()), Err(StoreError::TooLarge { .. })));
}

#[test]
fn a_batch_of_many_operations_is_one_commit() {
    const OPS: u32 = 100_000;
    let server = PostgresServer::start(&["fsync=off"]).unwrap();
    let mut handle = PostgresStore::open(&server.url("sslmode=disable")).unwrap().handle();
    let data = handle.open_keyspace("data", Order::Bytes).unwrap();
    let before = handle.round_trips();
    commit(&mut handle, |batch| (0..OPS).for_each(|n| batch.put(data, &n.to_be_bytes(), b"v").unwrap())).unwrap();
    assert_eq!(handle.round_trips().since(before).commits, 1);
    commit(&mut handle, |batch| (0..OPS).step_by(2).for_each(|n| batch.delete(data, &n.to_be_bytes()).unwrap())).unwrap();
    handle.begin(&Scope::Read).unwrap();
    let whole = PageLimit { max_items: u32::MAX, max_bytes: u32::MAX };
    assert_eq!(handle.scan(data, &KeyRange::all(), Direction::Reverse, whole).unwrap().len(), usize::try_from(OPS / 2).unwrap());
}
