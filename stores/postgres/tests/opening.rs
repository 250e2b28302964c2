//! Opening a store: by many servers at once, and what is said where it does not open.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use orbweaver_engine::store::{Order, Store};
use orbweaver_postgres::PostgresStore;
use orbweaver_servers::PostgresServer;

#[test]
fn a_store_is_made_by_many_servers_at_once() {
    let server = PostgresServer::start(&["fsync=off"]).unwrap();
    for round in 0..10 {
        let url = server.url(&format!("sslmode=disable&schema=test{round}"));
        std::thread::scope(|scope| {
            let opening: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        let store = PostgresStore::open(&url).unwrap();
                        let mut handle = store.handle();
                        ["one", "two", "three"].map(|name| handle.open_keyspace(name, Order::Bytes).unwrap())
                    })
                })
                .collect();
            let mut keyspaces: Vec<_> = opening.into_iter().map(|thread| thread.join().unwrap()).collect();
            keyspaces.dedup();
            assert_eq!(keyspaces.len(), 1, "a keyspace has one number: {keyspaces:?}");
            let [mut one, two, three] = keyspaces[0];
            for other in [two, three] {
                assert_ne!(std::mem::replace(&mut one, other), other);
            }
        });
    }
}
