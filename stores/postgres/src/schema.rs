//! The store's tables: made where they are not there, by any number of servers at once.

use crate::error::judge;
use crate::link::Session;
use crate::options::Options;
use crate::server::Product;
use orbweaver_engine::store::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// Lock keys share this many rows.
pub const STRIPES: u16 = 4096;

/// How often a statement is run again when other servers make the same tables.
const ATTEMPTS: u32 = 20;

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
    let mut statements = vec![
        format!("CREATE TABLE IF NOT EXISTS {schema}.keyspaces (name text NOT NULL PRIMARY KEY, id int4 NOT NULL UNIQUE)"),
        format!(
            "CREATE TABLE IF NOT EXISTS {schema}.records (keyspace int4 NOT NULL, key bytea NOT NULL, value bytea NOT NULL, \
             PRIMARY KEY (keyspace{ascending}, key{ascending}))"
        ),
        format!(
            "CREATE TABLE IF NOT EXISTS {schema}.stripes (stripe int4 NOT NULL, revision int8 NOT NULL, epoch int8 NOT NULL, \
             tokens bytea NOT NULL, PRIMARY KEY (stripe{ascending}))"
        ),
    ];
    if server.product == Product::PostgreSql {
        // Room on each page for new versions of its rows: they then need no new entries in the index, and are cleaned up as they are met.
        statements.push(format!("ALTER TABLE {schema}.records SET (fillfactor = 90)"));
        statements.push(format!("ALTER TABLE {schema}.stripes SET (fillfactor = 20, autovacuum_vacuum_scale_factor = 0.1)"));
    }
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
    let mut attempts = 0;
    loop {
        attempts += 1;
        match session.client.batch_execute(statement).await {
            Err(error) if attempts < ATTEMPTS && is_made_by_others(&error) => {}
            other => return other,
        }
    }
}

fn is_made_by_others(error: &Error) -> bool {
    let codes = [
        SqlState::UNIQUE_VIOLATION,
        SqlState::DUPLICATE_TABLE,
        SqlState::DUPLICATE_SCHEMA,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        // "tuple concurrently updated", of ALTER TABLE.
        SqlState::INTERNAL_ERROR,
    ];
    error.code().is_some_and(|code| codes.contains(code))
}

/// The number of a keyspace, which is made where it is not there.
pub async fn keyspace(session: &tokio_postgres::Client, schema: &str, name: &str) -> Result<i32, Error> {
    use tokio_postgres::types::Type;
    let find = format!("SELECT id FROM {schema}.keyspaces WHERE name = $1");
    let make = format!(
        "INSERT INTO {schema}.keyspaces (name, id) SELECT $1, coalesce(max(id), 0) + 1 FROM {schema}.keyspaces ON CONFLICT DO NOTHING"
    );
    let mut attempts = 0;
    loop {
        attempts += 1;
        if let Some(row) = session.query_typed_opt(&find, &[(&name, Type::TEXT)]).await? {
            return row.try_get(0);
        }
        match session.execute_typed(&make, &[(&name, Type::TEXT)]).await {
            Err(error) if attempts < ATTEMPTS && is_made_by_others(&error) => {}
            other => drop(other?),
        }
    }
}
