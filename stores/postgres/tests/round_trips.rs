//! How often a transaction waits for the server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use bytes::Bytes;
use orbweaver_engine::store::{Batch, Direction, KeyRange, Keyspace, Order, PageLimit, Scope, Store, StoreError, lent};
use orbweaver_postgres::{PostgresHandle, PostgresStore};
use orbweaver_servers::PostgresServer;

struct Conversation {
    handle: PostgresHandle,
    meta: Keyspace,
    data: Keyspace,
    _server: PostgresServer,
}

impl Conversation {
    fn new() -> Self {
        let server = PostgresServer::start(&["fsync=off"]).unwrap();
        let mut handle = PostgresStore::open(&server.url("sslmode=disable")).unwrap().handle();
        let [meta, data] = ["meta", "data"].map(|name| handle.open_keyspace(name, Order::Bytes).unwrap());
        Self { handle, meta, data, _server: server }
    }

    /// Round trips that read, and that commit.
    fn count(&mut self, work: impl FnOnce(&mut PostgresHandle) -> Result<(), StoreError>) -> (u64, u64) {
        let before = self.handle.round_trips();
        work(&mut self.handle).unwrap();
        self.handle.rollback();
        let since = self.handle.round_trips().since(before);
        (since.reads, since.commits)
    }
}

fn keys(names: &[&'static str]) -> Scope {
    Scope::Keys(names.iter().map(|name| Bytes::from_static(name.as_bytes())).collect())
}

#[test]
fn operations_take_the_documented_round_trips() {
    let mut conversation = Conversation::new();
    let (meta, data) = (conversation.meta, conversation.data);
    let several: Vec<(Keyspace, Bytes)> = (0..100_u8).map(|n| (if n % 2 == 0 { meta } else { data }, Bytes::from(vec![n]))).collect();

    let nothing = conversation.count(|handle| handle.begin(&keys(&["k"])).map(drop));
    assert_eq!(nothing, (0, 0), "a transaction that does nothing");

    let lone_read = conversation.count(|handle| {
        handle.begin(&Scope::Read)?;
        handle.get(meta, b"k").map(drop)
    });
    assert_eq!(lone_read, (1, 0), "a lone read, with the transaction around it");

    let many = conversation.count(|handle| {
        handle.begin(&Scope::Read)?;
        handle.get_many(&lent(&several)).map(drop)
    });
    assert_eq!(many, (1, 0), "many keys of two keyspaces");

    let increment = conversation.count(|handle| {
        handle.begin(&keys(&["k"]))?;
        handle.get(meta, b"k")?;
        let mut batch = Batch::new();
        batch.put(meta, b"k", b"1")?;
        handle.commit(&batch, &[0])
    });
    assert_eq!(increment, (1, 1), "a read and a write, with locks and transaction");

    let mut batch = Batch::new();
    batch.delete_range(data, &KeyRange::prefix(b"x")).unwrap();
    batch.delete_range(meta, &KeyRange::between(b"y", b"z")).unwrap();
    several.iter().for_each(|(keyspace, key)| batch.put(*keyspace, key, b"v").unwrap());
    (200..250_u8).for_each(|n| batch.delete(data, &[n]).unwrap());
    let large = conversation.count(|handle| {
        handle.begin(&keys(&["a", "b", "c"]))?;
        handle.get_many(&lent(&several))?;
        handle.get(meta, b"k")?;
        handle.commit(&batch, &[0, 2])
    });
    assert_eq!(large, (2, 1), "two reads, and a commit of everything");

    let blind = conversation.count(|handle| {
        handle.begin(&keys(&["a"]))?;
        handle.commit(&batch, &[0])
    });
    assert_eq!(blind, (1, 1), "a commit without reads: the locks come first");

    let exclusive = conversation.count(|handle| {
        handle.begin(&Scope::Exclusive)?;
        handle.get(meta, b"k")?;
        handle.commit(&batch, &[])
    });
    assert_eq!(exclusive, (1, 1), "an exclusive transaction");

    let watch = conversation.count(|handle| {
        handle.begin(&Scope::Read)?;
        handle.revisions(&[Bytes::from_static(b"a"), Bytes::from_static(b"b")])?;
        handle.get(meta, b"k").map(drop)
    });
    assert_eq!(watch, (2, 0), "revisions, and a read");
    let alone = conversation.count(|handle| handle.revisions(&[Bytes::from_static(b"a")]).map(drop));
    assert_eq!(alone, (1, 0), "revisions without a transaction");
}

#[test]
fn a_page_is_one_round_trip_where_its_records_are_of_like_sizes() {
    let mut conversation = Conversation::new();
    let data = conversation.data;
    let mut batch = Batch::new();
    (0..5000_u32).for_each(|n| batch.put(data, &n.to_be_bytes(), &[7; 100]).unwrap());
    conversation.count(|handle| {
        handle.begin(&keys(&["k"]))?;
        handle.commit(&batch, &[0])
    });
    let mut scan = |direction: Direction, items: u32| {
        let mut read = 0;
        let trips = conversation.count(|handle| {
            handle.begin(&Scope::Read)?;
            read = handle.scan(data, &KeyRange::all(), direction, PageLimit::items(items))?.len();
            Ok(())
        });
        (trips.0, read)
    };
    assert_eq!(scan(Direction::Forward, 100), (1, 100), "a short page");
    assert_eq!(scan(Direction::Forward, 1000), (1, 1000), "a page of records whose sizes are known by now");
    assert_eq!(scan(Direction::Reverse, 1000), (1, 1000), "backwards as well");
    assert_eq!(scan(Direction::Forward, 5000), (3, 5000), "2,048 rows a round trip");
}
