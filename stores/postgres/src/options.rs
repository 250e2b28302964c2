//! What the URL says: where the servers are, how to speak to them, and which tables are the store's.

use crate::tls;
use orbweaver_engine::store::StoreError;
use orbweaver_remote::StoreUrl;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{LoadBalanceHosts, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

const OPTIONS: [&str; 9] = [
    "application_name",
    "connect_timeout",
    "load_balance_hosts",
    "pool",
    "schema",
    "sslmode",
    "sslrootcert",
    "statement_timeout",
    "target_session_attrs",
];

/// Everything that the URL says.
#[derive(Clone)]
pub struct Options {
    pub config: Config,
    pub tls: MakeRustlsConnect,
    /// The URL without its password: for people.
    pub place: String,
    /// The schema of the store's tables: a name that needs no quotes.
    pub schema: String,
    /// Most connections.
    pub pool: usize,
    /// How long to wait for a server that does not answer.
    pub connect_timeout: Duration,
    /// How long a statement may take.
    pub statement_timeout: Duration,
}

fn invalid(what: impl std::fmt::Display) -> StoreError {
    StoreError::Io(format!("the store's URL: {what}"))
}

impl Options {
    /// Reads `postgres://user:password@host:port,host:port/database?option=value`, with `postgresql` as the other name of the scheme.
    ///
    /// # Errors
    /// [`StoreError::Io`] saying what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        let mut url = StoreUrl::parse(text, 5432)?;
        if !["postgres", "postgresql"].contains(&url.scheme.as_str()) {
            return Err(invalid(format_args!("{}:// is not postgres://", url.scheme)));
        }
        let (mode, tls) = tls::connector(url.take("sslmode").as_deref(), url.take("sslrootcert").as_deref())?;
        let connect_timeout = url.take_duration("connect_timeout")?.unwrap_or(Duration::from_secs(10));
        let statement_timeout = url.take_duration("statement_timeout")?.unwrap_or(Duration::from_secs(60));
        let pool = url.take_number("pool", 1..=1000)?.unwrap_or(16);
        let schema = url.take("schema").unwrap_or_else(|| "orbweaver".into());
        if !is_plain(&schema) {
            return Err(invalid(format_args!("schema={schema} is not of a-z, 0-9 and _, at most 63 of them, without a digit in front")));
        }
        let mut config = Config::new();
        config.application_name(url.take("application_name").unwrap_or_else(|| "orbweaver".into()));
        config.target_session_attrs(match url.take("target_session_attrs").as_deref() {
            None | Some("any") => TargetSessionAttrs::Any,
            Some("read-write") => TargetSessionAttrs::ReadWrite,
            Some("read-only") => TargetSessionAttrs::ReadOnly,
            Some(other) => return Err(invalid(format_args!("target_session_attrs={other} is none of any, read-write, read-only"))),
        });
        config.load_balance_hosts(match url.take("load_balance_hosts").as_deref() {
            None | Some("disable") => LoadBalanceHosts::Disable,
            Some("random") => LoadBalanceHosts::Random,
            Some(other) => return Err(invalid(format_args!("load_balance_hosts={other} is none of disable, random"))),
        });
        url.finish(&OPTIONS)?;
        for host in &url.hosts {
            config.host(host.name.trim_matches(['[', ']'])).port(host.port);
        }
        if let Some(user) = &url.user {
            config.user(user);
        }
        if let Some(password) = &url.password {
            config.password(password);
        }
        if !url.path.is_empty() {
            config.dbname(&url.path);
        }
        // Peers that are gone without a word are noticed in time.
        config.ssl_mode(mode).connect_timeout(connect_timeout).tcp_user_timeout(statement_timeout);
        config.keepalives_idle(Duration::from_secs(30)).keepalives_interval(Duration::from_secs(10)).keepalives_retries(3);
        let pool = usize::try_from(pool).map_err(invalid)?;
        Ok(Self { config, tls, place: url.to_string(), schema, pool, connect_timeout, statement_timeout })
    }
}

/// Whether a name means the same with and without quotes.
fn is_plain(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    name.len() <= 63 && name.bytes().next().is_some_and(is_letter) && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_postgres::config::{Host, SslMode};

    #[test]
    fn a_url_names_servers_database_and_options() {
        let text = "postgres://weaver:p%40ss@one:1,[::1]:2/things?sslmode=require&schema=mine_2&pool=3&statement_timeout=250ms";
        let options = Options::parse(text).unwrap();
        assert_eq!(options.place, "postgres://weaver@one:1,[::1]:2/things");
        assert_eq!((options.schema.as_str(), options.pool), ("mine_2", 3));
        assert_eq!(options.statement_timeout, Duration::from_millis(250));
        let config = options.config;
        assert_eq!(config.get_hosts(), [Host::Tcp("one".into()), Host::Tcp("::1".into())]);
        assert_eq!(config.get_ports(), [1, 2]);
        assert_eq!((config.get_user(), config.get_dbname()), (Some("weaver"), Some("things")));
        assert_eq!(config.get_password(), Some(b"p@ss".as_slice()));
        assert_eq!(config.get_ssl_mode(), SslMode::Require);
    }

    #[test]
    fn tls_is_preferred_where_nothing_is_said() {
        assert_eq!(Options::parse("postgresql://host").unwrap().config.get_ssl_mode(), SslMode::Prefer);
    }

    #[test]
    fn what_is_wrong_is_named_and_passwords_are_not() {
        for (text, named) in [
            ("mysql://u:secret@h", "mysql://"),
            ("postgres://u:secret@h?sslmode=allow", "sslmode=allow"),
            ("postgres://u:secret@h?schema=a%22b", "schema=a\"b"),
            ("postgres://u:secret@h?schema=1a", "schema=1a"),
            ("postgres://u:secret@h?pool=0", "pool=0"),
            ("postgres://u:secret@h?poll=1", "poll"),
            ("postgres://u:secret@h?target_session_attrs=primary", "target_session_attrs=primary"),
            ("postgres://u:secret@h?sslmode=verify-full&sslrootcert=/nowhere.pem", "/nowhere.pem"),
        ] {
            let error = Options::parse(text).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(named) && !error.contains("secret"), "{text}: {error}");
        }
    }
}
