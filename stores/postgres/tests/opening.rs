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
            let mut numbers: Vec<_> = keyspaces.into_iter().flatten().collect();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(numbers.len(), 3, "and no two have the same");
        });
    }
}

/// What is said about a URL that does not open.
fn refusal(url: &str) -> String {
    let error = PostgresStore::open(url).unwrap_err().to_string();
    assert!(!error.contains("s3cret"), "no error repeats a password: {error}");
    error
}

fn assert_says(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "{part:?} is missing from: {error}");
    }
}

#[test]
fn what_is_refused_is_said_with_what_to_do() {
    let server = PostgresServer::start(&["fsync=off"]).unwrap();
    let port = server.port();
    server.run_sql("CREATE USER weaver PASSWORD 's3cret'").unwrap();
    let url = |user: &str, database: &str| format!("postgres://{user}@127.0.0.1:{port}/{database}?sslmode=disable");

    let wrong = refusal(&url("weaver:s3cret2", "postgres"));
    assert_says(&wrong, &[&format!("weaver@127.0.0.1:{port}/postgres"), "28P01", "check the user and the password"]);
    let without = refusal(&url("weaver", "postgres"));
    assert_says(&without, &["the user and the password in the URL"]);
    let nobody = refusal(&url("nobody:s3cret", "postgres"));
    assert_says(&nobody, &["28P01", "nobody"]);
    let absent = refusal(&url("weaver:s3cret", "nowhere"));
    assert_says(&absent, &["3D000", "database \"nowhere\" does not exist", "create the database"]);
    let not_allowed = refusal(&url("weaver:s3cret", "postgres"));
    assert_says(&not_allowed, &["make no tables in the schema orbweaver", "GRANT CREATE ON DATABASE"]);

    // What the errors ask for helps, and no more is needed.
    server.run_sql("CREATE SCHEMA orbweaver; GRANT USAGE, CREATE ON SCHEMA orbweaver TO weaver").unwrap();
    let store = PostgresStore::open(&url("weaver:s3cret", "postgres")).unwrap();
    assert_says(store.describe(), &["PostgreSQL 1"]);
    assert!(!format!("{store:?}").contains("s3cret"));

    // A user who came later has not made the tables.
    server.run_sql("CREATE USER late PASSWORD 's3cret'; GRANT USAGE ON SCHEMA orbweaver TO late").unwrap();
    assert_says(&refusal(&url("late:s3cret", "postgres")), &["42501", "SELECT, INSERT, UPDATE and DELETE on its tables"]);
    server.run_sql("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA orbweaver TO late").unwrap();
    let late = PostgresStore::open(&url("late:s3cret", "postgres")).unwrap();
    late.handle().open_keyspace("data", Order::Bytes).unwrap();
}

#[test]
fn a_server_that_does_not_answer_is_waited_for_and_named() {
    let [port] = orbweaver_servers::free_ports().unwrap();
    let error = refusal(&format!("postgres://weaver:s3cret@127.0.0.1:{port}/postgres?connect_timeout=500ms"));
    assert_says(&error, &[&format!("127.0.0.1:{port}"), "no server answers", "start it, or check the URL"]);
}

#[test]
fn a_read_only_server_is_read_and_not_written() {
    use orbweaver_engine::store::{Batch, Scope, StoreError};
    let server = PostgresServer::start(&["fsync=off"]).unwrap();
    let url = server.url("sslmode=disable");
    let mut writer = PostgresStore::open(&url).unwrap().handle();
    let data = writer.open_keyspace("data", Order::Bytes).unwrap();
    let mut batch = Batch::new();
    batch.put(data, b"k", b"v").unwrap();
    writer.begin(&Scope::Exclusive).unwrap();
    writer.commit(&batch, &[]).unwrap();

    server.run_sql("ALTER DATABASE postgres SET default_transaction_read_only = on").unwrap();
    let mut reader = PostgresStore::open(&url).unwrap().handle();
    assert!(reader.limits().read_only);
    let data = reader.open_keyspace("data", Order::Bytes).unwrap();
    assert_eq!(reader.begin(&Scope::Exclusive), Err(StoreError::ReadOnly));
    reader.begin(&Scope::Read).unwrap();
    assert_eq!(reader.get(data, b"k").unwrap().unwrap(), &b"v"[..]);
    assert_says(&refusal(&server.url("sslmode=disable&schema=not_there")), &["no store in its schema not_there", "read-only"]);
}

#[test]
fn the_server_s_clock_is_the_machine_s() {
    let server = PostgresServer::start(&["fsync=off"]).unwrap();
    let store = PostgresStore::open(&server.url("sslmode=disable")).unwrap();
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let (before, told, after) = (now(), u128::from(store.server_clock_ms().unwrap()), now());
    assert!(before <= told && told <= after, "{before} {told} {after}");
}
