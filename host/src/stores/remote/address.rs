//! `etcd://...`, `postgres://...`, `tikv://...`: which store, where, and the password, which is shown to nobody.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::fmt;
use std::str::FromStr;

/// What stands in a URL as it is (RFC 3986, 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A kind of store behind a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// etcd, version 3.
    Etcd,
    /// PostgreSQL, and what speaks its protocol.
    Postgres,
    /// TiKV, in transactions.
    Tikv,
}

impl Kind {
    /// By the schemes of URLs; `etcds` is etcd with TLS.
    const BY_SCHEME: [(&'static str, Self); 5] =
        [("etcd", Self::Etcd), ("etcds", Self::Etcd), ("postgres", Self::Postgres), ("postgresql", Self::Postgres), ("tikv", Self::Tikv)];

    /// As URLs, INFO and messages name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Postgres => "postgres",
            Self::Tikv => "tikv",
        }
    }
}

/// The URL of a store. Shown without its password and its options.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    kind: Kind,
    url: String,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        let (scheme, rest) = url.split_once("://").ok_or("a URL is needed, such as postgres://user@host/database")?;
        let kind = Kind::BY_SCHEME.iter().find(|(name, _)| *name == scheme);
        let &(_, kind) = kind.ok_or_else(|| format!("no store is named {scheme}: there are etcd, postgres and tikv"))?;
        if rest.is_empty() || rest.starts_with('/') {
            return Err(format!("a host is missing behind {scheme}://"));
        }
        Ok(Self { kind, url: url.to_owned() })
    }
}

impl Address {
    /// What kind of store it names.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The whole URL, for whoever connects.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The same with another password.
    ///
    /// # Errors
    /// A text for people, where the URL names no user.
    pub fn with_password(&self, password: &str) -> Result<Self, String> {
        let Parts { scheme, user, hosts, rest } = self.parts();
        let user = user.ok_or_else(|| format!("there is a password for {self}, and no user: write {scheme}://USER@{hosts}"))?;
        let password = utf8_percent_encode(password, RESERVED);
        Ok(Self { kind: self.kind, url: format!("{scheme}://{user}:{password}@{hosts}{rest}") })
    }

    fn parts(&self) -> Parts<'_> {
        let (scheme, behind) = self.url.split_once("://").unwrap_or_default();
        let (authority, rest) = behind.split_at(behind.find(['/', '?', '#']).unwrap_or(behind.len()));
        let (user, hosts) = authority.rsplit_once('@').map_or((None, authority), |(user, hosts)| (Some(user), hosts));
        let user = user.map(|user| user.split_once(':').map_or(user, |(name, _)| name));
        Parts { scheme, user, hosts, rest }
    }
}

/// The parts of a URL, the password left out.
struct Parts<'a> {
    scheme: &'a str,
    user: Option<&'a str>,
    hosts: &'a str,
    /// Path and options.
    rest: &'a str,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Parts { scheme, user, hosts, rest } = self.parts();
        // Options may hold secrets as well.
        let path = rest.split(['?', '#']).next().unwrap_or_default();
        let user = user.map(|user| format!("{user}@")).unwrap_or_default();
        write!(f, "{scheme}://{user}{hosts}{path}")
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_taken_in_and_shown_to_nobody() {
        let address: Address = "postgres://ada:old@h:5432/db?sslmode=require&password=x".parse().unwrap();
        let with = address.with_password("a b/@:%").unwrap();
        assert_eq!(with.url(), "postgres://ada:a%20b%2F%40%3A%25@h:5432/db?sslmode=require&password=x");
        for shown in [address.to_string(), with.to_string(), format!("{with:?}")] {
            assert_eq!(shown, "postgres://ada@h:5432/db");
        }
    }

    #[test]
    fn several_hosts_and_no_user_are_an_address_too() {
        let address: Address = "etcd://a:2379,b:2379,c:2379/prefix".parse().unwrap();
        assert_eq!((address.kind(), address.to_string().as_str()), (Kind::Etcd, address.url()));
        assert!(address.with_password("x").unwrap_err().contains("etcd://USER@a:2379,b:2379,c:2379"));
    }

    #[test]
    fn what_is_no_address_is_refused_with_a_reason() {
        for (wrong, reason) in [("redis://h", "no store is named redis"), ("h:2379", "a URL is needed"), ("etcd://", "a host is missing")] {
            let error = wrong.parse::<Address>().unwrap_err();
            assert!(error.contains(reason), "{wrong}: {error}");
        }
    }
}
