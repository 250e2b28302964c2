//! The store contract over PostgreSQL, and over the distributed engines that speak its protocol: CockroachDB and YugabyteDB.
//!
//! Records are rows of one table, in byte order of (keyspace, key). Transactions read one snapshot (REPEATABLE READ); those that write
//! lock the *stripes* of their lock keys first, so that two with a common key take effect one after the other. What a stripe's row
//! counts are the revisions of its lock keys. See docs/stores/postgres.md for the SQL, the guarantees and the limits.
//!
//! ```no_run
//! use orbweaver_engine::store::{Order, Scope, Store};
//! use orbweaver_postgres::PostgresStore;
//!
//! let store = PostgresStore::open("postgres://weaver:secret@localhost/orbweaver?sslmode=disable")?;
//! let mut handle = store.handle();
//! let keyspace = handle.open_keyspace("meta", Order::Bytes)?;
//! handle.begin(&Scope::Read)?;
//! assert_eq!(handle.get(keyspace, b"absent")?, None);
//! handle.rollback();
//! # Ok::<(), orbweaver_engine::store::StoreError>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing))]

mod changes;
mod commit;
mod error;
mod handle;
mod link;
mod options;
mod pool;
mod scan;
mod schema;
mod server;
mod statements;
mod store;
mod tls;

pub use handle::PostgresHandle;
pub use store::PostgresStore;
