//! One connection: how it comes about, and the requests that are made on it.

use crate::error::{Failure, judge, judge_connect};
use crate::options::Options;
use crate::server::{Product, Server};
use crate::statements::{ROLLBACK, Statements};
use futures_util::FutureExt;
use futures_util::future::try_join;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::{Client, Error};

/// How long a transaction waits for the stripes that others have locked.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// After which a server rolls the transaction of a silent client back: the locks of a machine that has gone without a word. Shorter than
/// [`LOCK_TIMEOUT`], so that others get them in time.
const SILENCE: Duration = Duration::from_secs(20);

/// A connection on which nothing was prepared.
pub struct Session {
    pub client: Client,
    pub server: Server,
    /// Moves the bytes.
    driver: JoinHandle<()>,
}

/// A connection for transactions.
pub struct Link {
    pub client: Client,
    pub statements: Statements,
    driver: JoinHandle<()>,
}

impl Session {
    /// Connects, and asks what the server is.
    pub async fn open(options: &Options) -> Result<Self, Failure> {
        let place = &options.place;
        let connecting = options.config.connect(options.tls.clone());
        // The time limit of the configuration is that of the socket alone.
        let connected = timeout(options.connect_timeout, connecting).await;
        let late =
            || Failure::Lost(format!("no server answers at {place} within {:?}; start it, or check the URL", options.connect_timeout));
        let (client, connection) = connected.map_err(|_| late())?.map_err(|error| judge_connect(place, &error))?;
        let driver = tokio::spawn(async move {
            // Whoever waits for an answer on this connection is told as well.
            connection.await.unwrap_or(());
        });
        let asked = async {
            let (version, read_only) = try_join(
                client.query_typed_one("SELECT version()", &[]),
                // Not a statement that can be prepared everywhere.
                client.simple_query("SHOW transaction_read_only"),
            )
            .await?;
            let is_read_only = read_only.iter().any(|message| match message {
                tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0) == Some("on"),
                _ => false,
            });
            Ok::<_, Error>(Server::new(version.try_get(0)?, is_read_only))
        };
        let server = asked.await.map_err(|error| judge(place, &error))?;
        Ok(Self { client, server, driver })
    }

    /// Makes the connection ready for transactions on the tables of the schema, which are there.
    pub async fn prepare(self, options: &Options) -> Result<Link, Failure> {
        let Self { client, server, driver } = self;
        let settings = settings(&server, options);
        let ready = try_join(client.batch_execute(&settings), Statements::prepare(&client, &options.schema)).await;
        let ((), statements) = ready.map_err(|error| judge(&options.place, &error))?;
        Ok(Link { client, statements, driver })
    }
}

/// What a session's statements may take, in milliseconds.
fn settings(server: &Server, options: &Options) -> String {
    let mut settings = String::new();
    for (name, time) in
        [("statement_timeout", options.statement_timeout), ("lock_timeout", LOCK_TIMEOUT), ("idle_in_transaction_session_timeout", SILENCE)]
    {
        settings.push_str(&format!("SET {name} = '{}ms';", time.as_millis()));
    }
    if server.product == Product::PostgreSql {
        // Every statement here is best served by the primary key, whatever the statistics say; planned once, not at each execution.
        settings
            .push_str("SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off;");
    }
    settings
}

impl Link {
    /// Whether the connection is gone.
    pub fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Ends the open transaction, without waiting for the answer: the next request on this connection comes after it.
    pub fn send_rollback(&self) {
        // The first look at the future sends the request; the answer is for nobody.
        drop(self.client.batch_execute(ROLLBACK).now_or_never());
    }

    /// See [`crate::pool::Lease::abandon`].
    pub fn abandon(self) {
        self.driver.abort();
    }
}
