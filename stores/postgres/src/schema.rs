//! The store's tables: made where they are not there, by any number of servers at once.

use crate::error::judge;
use crate::link::Session;
use crate::options::Options;
use crate::server::Product;
use orbweaver_engine::store::StoreError;
use orbweaver_remote::{Backoff, BackoffPolicy};
use std::time::Duration;
use tokio::time::sleep;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};

/// Lock keys share this many rows.
pub const STRIPES: u32 = 4096;

/// How long a statement is run again while other servers make the same tables.
const PATIENCE: Duration = Duration::from_secs(10);

/// Makes sure that the tables are there and whole.
pub async fn ensure(session: &Session, options: &Options) -> Result<(), StoreError> {
    let schema = &options.schema;
    let fault = |error: &Error| judge(&options.place, error).alone();
    let stripes = match count_stripes(session, schema).await {
        Err(error) if is_absent(&error) => None,
        other => Some(other.map_err(|error| fault(&error))?),
    };
    if stripes == Some(i64::from(STRIPES)) {
        return Ok(());
    }
    if session.server.is_read_only {
        return Err(StoreError::Io(format!("{} has no store in its schema {schema}, and makes none: it is read-only", options.place)));
    }
    create(session, schema).await.map_err(|error| match error.code() {
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => StoreError::Io(format!(
            "{} lets the user make no tables in the schema {schema}: {}; GRANT CREATE ON DATABASE, or make the schema and GRANT USAGE, \
             CREATE ON SCHEMA {schema}",
            options.place,
            error.as_db_error().map_or("", |told| told.message())
        )),
        _ => fault(&error),
    })?;
    match count_stripes(session, schema).await.map_err(|error| fault(&error))? {
        count if count == i64::from(STRIPES) => Ok(()),
        count => Err(StoreError::Corrupt(format!("{schema}.stripes at {} has {count} rows, not {STRIPES}", options.place))),
    }
}

async fn count_stripes(session: &Session, schema: &str) -> Result<i64, Error> {
    session.client.query_typed_one(&format!("SELECT count(*) FROM {schema}.stripes"), &[]).await?.try_get(0)
}

fn is_absent(error: &Error) -> bool {
    matches!(error.code(), Some(&SqlState::UNDEFINED_TABLE | &SqlState::INVALID_SCHEMA_NAME))
}

async fn create(session: &Session, schema: &str) -> Result<(), Error> {
    let find = format!("SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = '{schema}'");
    if session.client.query_typed_one(&find, &[]).await?.try_get::<_, i64>(0)? == 0 {
        execute(session, &format!("CREATE SCHEMA IF NOT EXISTS {schema}")).await?;
    }
    for statement in tables(session, schema) {
        execute(session, &statement).await?;
    }
    Ok(())
}

/// The stripes come last: where all of them are there, everything is.
fn tables(session: &Session, schema: &str) -> Vec<String> {
    let server = &session.server;
    let ascending = server.ascending();
    // Room on each page for new versions of its rows: they then need no new entries in the index, and are cleaned up as they are met.
    let roomy = |settings: &str| if server.product == Product::PostgreSql { format!(" WITH ({settings})") } else { String::new() };
    let mut statements = vec![
        format!("CREATE TABLE IF NOT EXISTS {schema}.keyspaces (name text NOT NULL PRIMARY KEY, id int4 NOT NULL UNIQUE)"),
        format!(
            "CREATE TABLE IF NOT EXISTS {schema}.records (keyspace int4 NOT NULL, key bytea NOT NULL, value bytea NOT NULL, \
             PRIMARY KEY (keyspace{ascending}, key{ascending})){}",
            roomy("fillfactor = 90")
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {schema}.stripes (stripe int4 NOT NULL, revision int8 NOT NULL, epoch int8 NOT NULL, \
             tokens bytea NOT NULL, PRIMARY KEY (stripe{ascending})){}",
            roomy("fillfactor = 20, autovacuum_vacuum_scale_factor = 0.1")
        ),
    ];
    // The first epoch is the time: a database that is dropped and made anew has another one than before.
    statements.push(format!(
        "INSERT INTO {schema}.stripes (stripe, revision, epoch, tokens) \
         SELECT n, 0, CAST(floor(extract(epoch FROM current_timestamp)) AS int8), CAST('' AS bytea) \
         FROM generate_series(0, {}) AS series(n) ON CONFLICT DO NOTHING",
        STRIPES - 1
    ));
    statements
}

/// Runs a statement alone, again where another server makes the same at the same time.
async fn execute(session: &Session, statement: &str) -> Result<(), Error> {
    retrying(async || session.client.batch_execute(statement).await).await
}

async fn retrying<T>(statement: impl AsyncFn() -> Result<T, Error>) -> Result<T, Error> {
    let mut attempts = Backoff::new(BackoffPolicy::unavailable(PATIENCE));
    loop {
        let error = match statement().await {
            Err(error) if is_made_by_others(&error) => error,
            other => return other,
        };
        attempts.failed();
        match attempts.next_delay() {
            Some(delay) => sleep(delay).await,
            None => return Err(error),
        }
    }
}

fn is_made_by_others(error: &Error) -> bool {
    let codes = [
        SqlState::UNIQUE_VIOLATION,
        SqlState::DUPLICATE_TABLE,
        SqlState::DUPLICATE_SCHEMA,
        SqlState::DUPLICATE_OBJECT,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
    ];
    error.code().is_some_and(|code| codes.contains(code))
}

/// The number of a keyspace, which is made where it is not there.
pub async fn keyspace(client: &Client, schema: &str, name: &str) -> Result<i32, Error> {
    let find = format!("SELECT id FROM {schema}.keyspaces WHERE name = $1");
    let make = format!(
        "INSERT INTO {schema}.keyspaces (name, id) SELECT $1, coalesce(max(id), 0) + 1 FROM {schema}.keyspaces ON CONFLICT DO NOTHING"
    );
    loop {
        if let Some(row) = client.query_typed_opt(&find, &[(&name, Type::TEXT)]).await? {
            return row.try_get(0);
        }
        // Where another keyspace has just got the number, nothing is inserted, and the next round finds the next number.
        retrying(async || client.execute_typed(&make, &[(&name, Type::TEXT)]).await).await?;
    }
}
