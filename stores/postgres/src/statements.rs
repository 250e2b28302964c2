//! Every statement that transactions run, prepared once for each connection. PostgreSQL, CockroachDB and YugabyteDB share this SQL.

use futures_util::future::{try_join4, try_join5};
use orbweaver_engine::store::Direction;
use std::slice;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Statement};

/// One snapshot for all reads.
pub const BEGIN_READ: &str = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";
/// One snapshot for all reads; who locks a row that has changed since gets 40001.
pub const BEGIN_WRITE: &str = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ";
/// Who has locked every stripe sees one state without a snapshot, as nobody else writes.
pub const BEGIN_EXCLUSIVE: &str = "BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED";
pub const COMMIT: &str = "COMMIT";
pub const ROLLBACK: &str = "ROLLBACK";

/// How many bytes of tokens a stripe's row keeps.
pub const TOKENS_BYTES: usize = 128;

/// The statements of one connection.
pub struct Statements {
    /// -> epoch.
    pub epoch: Statement,
    /// Stripes -> stripe, revision, epoch; locks them in ascending order.
    pub lock: Statement,
    /// -> as `lock`, of all stripes.
    pub lock_all: Statement,
    /// Stripe -> revision, epoch, tokens; locks it.
    pub recall: Statement,
    /// Stripes -> stripe, revision.
    pub revisions: Statement,
    /// Keyspace, key -> value.
    pub get: Statement,
    /// Keyspace, keys -> key, value.
    pub get_many: Statement,
    scan_forward: Statement,
    scan_forward_from: Statement,
    scan_reverse: Statement,
    scan_reverse_from: Statement,
    /// Keyspaces, keys, values.
    pub put: Statement,
    /// Keyspace, keys.
    pub delete: Statement,
    /// Keyspace, start, end.
    pub delete_range: Statement,
    /// Keyspace, start.
    pub delete_from: Statement,
    /// Stripes, token: counts a change of them.
    pub mark: Statement,
    /// Token: counts an exclusive change.
    pub mark_all: Statement,
}

impl Statements {
    /// Prepares all statements, for the tables of a schema.
    pub async fn prepare(client: &Client, schema: &str) -> Result<Self, Error> {
        let (stripes, records) = (format!("{schema}.stripes"), format!("{schema}.records"));
        let prepared = async |text: String, types: &[Type]| client.prepare_typed(&text, types).await;
        let range = "keyspace = $1 AND key >= $2 AND key < $3";
        let from = "keyspace = $1 AND key >= $2";
        let scan = |range: &str, order: &str, limit: &str| {
            format!("SELECT key, value FROM {records} WHERE {range} ORDER BY key {order} LIMIT {limit}")
        };
        let token = format!("tokens = substr($1 || tokens, 1, {TOKENS_BYTES})");
        let (int4, int8, bytea) = (Type::INT4, Type::INT8, Type::BYTEA);
        let (int4s, byteas) = (Type::INT4_ARRAY, Type::BYTEA_ARRAY);
        let in_point = [int4.clone(), bytea.clone()];
        let in_keyspace = [int4.clone(), byteas.clone()];
        let in_columns = [int4s.clone(), byteas.clone(), byteas];
        let in_range = [int4.clone(), bytea.clone(), bytea.clone(), int8.clone()];
        let in_tail = [int4.clone(), bytea.clone(), int8];
        let in_marks = [bytea.clone(), int4s.clone()];
        let locked = format!("SELECT stripe, revision, epoch FROM {stripes}");
        // CockroachDB may be set to refuse a statement that names no rows (sql_safe_updates).
        let every = "WHERE stripe >= 0";
        let put = format!(
            "INSERT INTO {records} (keyspace, key, value) SELECT * FROM unnest($1, $2, $3) \
             ON CONFLICT (keyspace, key) DO UPDATE SET value = excluded.value"
        );
        let mark = format!("UPDATE {stripes} SET revision = revision + 1, {token} WHERE stripe = ANY($2)");
        let of_stripes = try_join5(
            prepared(format!("SELECT epoch FROM {stripes} WHERE stripe = 0"), &[]),
            prepared(format!("{locked} WHERE stripe = ANY($1) ORDER BY stripe FOR UPDATE"), slice::from_ref(&int4s)),
            prepared(format!("{locked} {every} ORDER BY stripe FOR UPDATE"), &[]),
            prepared(format!("SELECT revision, epoch, tokens FROM {stripes} WHERE stripe = $1 FOR UPDATE"), slice::from_ref(&int4)),
            prepared(format!("SELECT stripe, revision FROM {stripes} WHERE stripe = ANY($1)"), slice::from_ref(&int4s)),
        );
        let of_keys = try_join4(
            prepared(format!("SELECT value FROM {records} WHERE keyspace = $1 AND key = $2"), &in_point),
            prepared(format!("SELECT key, value FROM {records} WHERE keyspace = $1 AND key = ANY($2)"), &in_keyspace),
            prepared(put, &in_columns),
            prepared(format!("DELETE FROM {records} WHERE keyspace = $1 AND key = ANY($2)"), &in_keyspace),
        );
        let of_ranges = try_join4(
            prepared(scan(range, "ASC", "$4"), &in_range),
            prepared(scan(from, "ASC", "$3"), &in_tail),
            prepared(scan(range, "DESC", "$4"), &in_range),
            prepared(scan(from, "DESC", "$3"), &in_tail),
        );
        let of_changes = try_join4(
            prepared(format!("DELETE FROM {records} WHERE {range}"), in_range.get(..3).unwrap_or_default()),
            prepared(format!("DELETE FROM {records} WHERE {from}"), &in_point),
            prepared(mark, &in_marks),
            prepared(format!("UPDATE {stripes} SET epoch = epoch + 1, {token} {every}"), slice::from_ref(&bytea)),
        );
        let (
            (epoch, lock, lock_all, recall, revisions),
            (get, get_many, put, delete),
            (scan_forward, scan_forward_from, scan_reverse, scan_reverse_from),
            (delete_range, delete_from, mark, mark_all),
        ) = try_join4(of_stripes, of_keys, of_ranges, of_changes).await?;
        Ok(Self {
            epoch,
            lock,
            lock_all,
            recall,
            revisions,
            get,
            get_many,
            scan_forward,
            scan_forward_from,
            scan_reverse,
            scan_reverse_from,
            put,
            delete,
            delete_range,
            delete_from,
            mark,
            mark_all,
        })
    }

    /// Keyspace, start, end where there is one, most rows -> key, value.
    pub const fn scan(&self, direction: Direction, has_end: bool) -> &Statement {
        match (direction, has_end) {
            (Direction::Forward, true) => &self.scan_forward,
            (Direction::Forward, false) => &self.scan_forward_from,
            (Direction::Reverse, true) => &self.scan_reverse,
            (Direction::Reverse, false) => &self.scan_reverse_from,
        }
    }
}
