//! `scheme://[user[:password]@]host[:port],host[:port].../path?option=value&...`: where servers are, and how to speak to them.
//!
//! As URLs are (RFC 3986), with several hosts as the clients of etcd and PostgreSQL write them.

use orbweaver_engine::store::StoreError;
use percent_encoding::percent_decode_str;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;
use url::Url;

/// A server's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// A name or an address; IPv6 addresses within brackets.
    pub name: String,
    /// TCP port.
    pub port: u16,
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.port)
    }
}

/// The URL of a store in its parts. `Display` leaves the password and the options out; `Debug` shows no more.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl {
    /// What stands before `://`, in lower case.
    pub scheme: String,
    /// Decoded.
    pub user: Option<String>,
    /// Decoded.
    pub password: Option<String>,
    /// In their order, at least one.
    pub hosts: Vec<Host>,
    /// Decoded, without the slash that begins it; empty where there is none.
    pub path: String,
    options: BTreeMap<String, String>,
}

fn invalid(what: impl fmt::Display) -> StoreError {
    StoreError::Io(format!("the store's URL: {what}"))
}

fn decoded(text: &str) -> Result<String, StoreError> {
    percent_decode_str(text).decode_utf8().map(Into::into).map_err(|_| invalid("a name, a password or a path that is not UTF-8"))
}

impl StoreUrl {
    /// Takes a URL apart. Hosts without a port get `default_port`.
    ///
    /// # Errors
    /// [`StoreError::Io`] with what is wrong; passwords are not repeated.
    pub fn parse(text: &str, default_port: u16) -> Result<Self, StoreError> {
        let (scheme, rest) = text.split_once("://").ok_or_else(|| invalid("it begins with a scheme and ://"))?;
        let authority_end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(authority_end);
        let (credentials, hosts) = authority.rsplit_once('@').map_or((None, authority), |(user, hosts)| (Some(user), hosts));
        let hosts: Vec<Host> = hosts.split(',').map(|host| parse_host(scheme, host, default_port)).collect::<Result<_, _>>()?;

        let shown = Url::parse(&format!("{scheme}://host{tail}")).map_err(invalid)?;
        if shown.fragment().is_some() {
            return Err(invalid("it has a part behind #; write %23 for a # in a name or a password"));
        }
        let (user, password) = match credentials.map(|text| text.split_once(':').map_or((text, None), |(user, word)| (user, Some(word)))) {
            None => (None, None),
            Some((user, password)) => (Some(decoded(user)?), password.map(decoded).transpose()?),
        };
        let mut options = BTreeMap::new();
        for (name, value) in shown.query_pairs() {
            if options.insert(name.clone().into_owned(), value.into_owned()).is_some() {
                return Err(invalid(format_args!("option {name} comes twice")));
            }
        }
        let path = decoded(shown.path().strip_prefix('/').unwrap_or_default())?;
        Ok(Self { scheme: shown.scheme().to_owned(), user, password, hosts, path, options })
    }

    /// Takes the option out.
    pub fn take(&mut self, name: &str) -> Option<String> {
        self.options.remove(name)
    }

    /// Takes an option that is a number within `range`.
    ///
    /// # Errors
    /// [`StoreError::Io`] naming the option where its value is something else.
    pub fn take_number(&mut self, name: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, StoreError> {
        self.take_as(name, &format!("a number from {} to {}", range.start(), range.end()), |text| {
            text.parse().ok().filter(|number| range.contains(number))
        })
    }

    /// Takes an option that is `true` or `false`.
    ///
    /// # Errors
    /// [`StoreError::Io`] naming the option where its value is something else.
    pub fn take_flag(&mut self, name: &str) -> Result<Option<bool>, StoreError> {
        self.take_as(name, "true or false", |text| text.parse().ok())
    }

    /// Takes an option that is a time: `5s`, `250ms`, or a number of seconds; more than nothing and at most a day.
    ///
    /// # Errors
    /// [`StoreError::Io`] naming the option where its value is something else.
    pub fn take_duration(&mut self, name: &str) -> Result<Option<Duration>, StoreError> {
        const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
        self.take_as(name, "a time such as 5s or 250ms, at most a day", |text| {
            let time = match text.strip_suffix("ms") {
                Some(millis) => Duration::from_millis(millis.parse().ok()?),
                None => Duration::from_secs(text.strip_suffix('s').unwrap_or(text).parse().ok()?),
            };
            (!time.is_zero() && time <= LONGEST).then_some(time)
        })
    }

    fn take_as<T>(&mut self, name: &str, expected: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, StoreError> {
        let Some(text) = self.options.remove(name) else { return Ok(None) };
        parse(&text).map(Some).ok_or_else(|| invalid(format_args!("option {name}={text} is not {expected}")))
    }

    /// Ends the reading of options.
    ///
    /// # Errors
    /// [`StoreError::Io`] naming an option that nobody took, beside those that are `known`.
    pub fn finish(&self, known: &[&str]) -> Result<(), StoreError> {
        match self.options.keys().next() {
            None => Ok(()),
            Some(name) => Err(invalid(format_args!("there is no option {name}; there are {}", known.join(", ")))),
        }
    }
}

fn parse_host(scheme: &str, text: &str, default_port: u16) -> Result<Host, StoreError> {
    let url = Url::parse(&format!("{scheme}://{text}")).map_err(|error| invalid(format_args!("host {text:?}: {error}")))?;
    let name = url.host_str().filter(|name| !name.is_empty()).ok_or_else(|| invalid(format_args!("host {text:?}: no name")))?;
    Ok(Host { name: name.to_owned(), port: url.port().unwrap_or(default_port) })
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = self.hosts.iter().map(Host::to_string).collect();
        let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        let slash = if self.path.is_empty() { "" } else { "/" };
        write!(f, "{}://{user}{}{slash}{}", self.scheme, hosts.join(","), self.path)
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_comes_apart() {
        let text = "etcd://o%40b:p%3Aw@one:1,two,[::1]:3/pre%20fix?timeout=250ms&n=7&tls=true&name=a+b";
        let mut url = StoreUrl::parse(text, 2379).unwrap();
        let hosts: Vec<String> = url.hosts.iter().map(Host::to_string).collect();
        assert_eq!(hosts, ["one:1", "two:2379", "[::1]:3"]);
        assert_eq!((url.scheme.as_str(), url.path.as_str()), ("etcd", "pre fix"));
        assert_eq!((url.user.as_deref(), url.password.as_deref()), (Some("o@b"), Some("p:w")));
        assert_eq!(url.to_string(), "etcd://o@b@one:1,two:2379,[::1]:3/pre fix");
        assert_eq!(format!("{url:?}"), url.to_string(), "no password in logs");
        assert_eq!(url.take_duration("timeout").unwrap(), Some(Duration::from_millis(250)));
        assert_eq!(url.take_number("n", 1..=7).unwrap(), Some(7));
        assert_eq!(url.take_flag("tls").unwrap(), Some(true));
        assert_eq!(url.take("name"), Some("a b".into()));
        assert_eq!(url.take("name"), None);
        url.finish(&[]).unwrap();
    }

    #[test]
    fn what_is_left_out_is_empty() {
        let url = StoreUrl::parse("postgres://host", 5432).unwrap();
        assert_eq!((url.user, url.password, url.path.as_str()), (None, None, ""));
        assert_eq!(url.hosts, [Host { name: "host".into(), port: 5432 }]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| StoreUrl::parse(text, 1).unwrap_err().to_string();
        assert!(error("host:1").contains("scheme"));
        assert!(error("etcd://one:99999").contains("one:99999"));
        assert!(error("etcd://one,,two").contains("host \"\""));
        assert!(error("etcd://one?a=1&a=2").contains("option a comes twice"));
        assert!(error("etcd://one/#x").contains('#'));
        let secret = error("etcd://user:se%FFcret@one");
        assert!(secret.contains("UTF-8"), "{secret}");
    }

    #[test]
    fn options_that_are_wrong_are_named_with_what_they_should_be() {
        let mut url = StoreUrl::parse("etcd://h?n=8&flag=yes&t=0s&u=2d&typo=1", 1).unwrap();
        let told = |outcome: Result<(), StoreError>| outcome.unwrap_err().to_string();
        assert_eq!(told(url.take_number("n", 1..=7).map(drop)), "the store's URL: option n=8 is not a number from 1 to 7");
        assert!(told(url.take_flag("flag").map(drop)).contains("option flag=yes is not true or false"));
        assert!(told(url.take_duration("t").map(drop)).contains("option t=0s"));
        assert!(told(url.take_duration("u").map(drop)).contains("option u=2d"));
        assert_eq!(told(url.finish(&["n", "flag"])), "the store's URL: there is no option typo; there are n, flag");
    }
}
