//! The parameters of CONFIG: which there are, what they are, and which can be set.
//!
//! Only `notify-keyspace-events` and `proto-max-bulk-len` can be set. The others are there because clients ask for them. What a host decides (`port`, `dir`,
//! `appendfsync`) it tells as a fact `config.name`; the value here is what holds where it says nothing.

use crate::session::Server;

/// A parameter.
pub struct Parameter {
    /// Its name, in lower case.
    pub name: &'static str,
    /// Where its value comes from.
    pub value: Value,
    /// What CONFIG SET does.
    pub on_set: OnSet,
}

/// Where a value comes from.
pub enum Value {
    /// The host's fact `config.name`, or else this.
    Told(&'static str),
    /// How many dbs there are.
    Databases,
    /// The password.
    Password,
    /// The longest string in bytes.
    MaxStringBytes,
    /// Which keyspace events are told.
    KeyspaceEvents,
}

/// What CONFIG SET does.
pub enum OnSet {
    /// It sets the longest string.
    MaxStringBytes,
    /// It sets which keyspace events are told.
    KeyspaceEvents,
    /// It refuses whatever the value is: as Redis does.
    Immutable,
    /// It takes the value that the parameter has, and refuses others with this reason.
    Fixed(&'static str),
}

const HOST: OnSet = OnSet::Fixed("it is set where the server is started");
const ENCODING: OnSet = OnSet::Fixed("every type has one encoding");
const MEMORY: OnSet = OnSet::Fixed("data is not held in memory");
const LAZY: OnSet = OnSet::Fixed("removing is always lazy");
const ABSENT: OnSet = OnSet::Fixed("what it configures is not supported");

const fn told(name: &'static str, value: &'static str, on_set: OnSet) -> Parameter {
    Parameter { name, value: Value::Told(value), on_set }
}

/// All parameters, by name.
pub const PARAMETERS: &[Parameter] = &[
    told("activedefrag", "no", MEMORY),
    told("appendfsync", "no", HOST),
    told("appendonly", "no", HOST),
    told("bind", "", HOST),
    told("busy-reply-threshold", "0", ABSENT),
    told("cluster-enabled", "no", OnSet::Immutable),
    Parameter { name: "databases", value: Value::Databases, on_set: OnSet::Immutable },
    told("dir", "", HOST),
    told("hash-max-listpack-entries", "512", ENCODING),
    told("hash-max-listpack-value", "64", ENCODING),
    told("hash-max-ziplist-entries", "512", ENCODING),
    told("hash-max-ziplist-value", "64", ENCODING),
    told("io-threads", "1", OnSet::Immutable),
    told("latency-monitor-threshold", "0", ABSENT),
    told("lazyfree-lazy-expire", "yes", LAZY),
    told("lazyfree-lazy-server-del", "yes", LAZY),
    told("lazyfree-lazy-user-del", "yes", LAZY),
    told("lazyfree-lazy-user-flush", "yes", LAZY),
    told("list-compress-depth", "0", ENCODING),
    told("list-max-listpack-size", "-2", ENCODING),
    told("list-max-ziplist-size", "-2", ENCODING),
    told("logfile", "", OnSet::Immutable),
    told("loglevel", "notice", HOST),
    told("lua-time-limit", "0", ABSENT),
    told("maxclients", "0", HOST),
    told("maxmemory", "0", MEMORY),
    told("maxmemory-policy", "noeviction", MEMORY),
    told("min-replicas-to-write", "0", ABSENT),
    Parameter { name: "notify-keyspace-events", value: Value::KeyspaceEvents, on_set: OnSet::KeyspaceEvents },
    told("port", "0", HOST),
    told("protected-mode", "no", HOST),
    Parameter { name: "proto-max-bulk-len", value: Value::MaxStringBytes, on_set: OnSet::MaxStringBytes },
    Parameter { name: "requirepass", value: Value::Password, on_set: HOST },
    told("save", "", HOST),
    told("set-max-intset-entries", "512", ENCODING),
    told("set-max-listpack-entries", "128", ENCODING),
    told("set-max-listpack-value", "64", ENCODING),
    told("slowlog-log-slower-than", "-1", ABSENT),
    told("slowlog-max-len", "0", ABSENT),
    told("tcp-keepalive", "0", HOST),
    told("timeout", "0", HOST),
    told("tls-port", "0", ABSENT),
    told("unixsocket", "", OnSet::Immutable),
    told("zset-max-listpack-entries", "128", ENCODING),
    told("zset-max-listpack-value", "64", ENCODING),
    told("zset-max-ziplist-entries", "128", ENCODING),
    told("zset-max-ziplist-value", "64", ENCODING),
];

/// The value that a parameter has.
pub fn value_of(parameter: &Parameter, server: &Server) -> String {
    match parameter.value {
        Value::Told(otherwise) => {
            let fact = server.facts.get(&format!("config.{}", parameter.name));
            fact.map_or_else(|| otherwise.to_owned(), Clone::clone)
        }
        Value::Databases => server.settings.databases.to_string(),
        Value::Password => server.settings.password.clone().unwrap_or_default(),
        Value::MaxStringBytes => server.settings.max_string_bytes.to_string(),
        Value::KeyspaceEvents => server.settings.notify_keyspace_events.text(),
    }
}

/// The number of bytes of a text such as `1048576`, `1mb` or `1g` (`memtoull` in Redis): `k` is 1000 bytes, `kb` 1024.
pub fn parse_bytes(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let number: u64 = std::str::from_utf8(number).ok()?.parse().ok()?;
    let factor: u64 = match unit.to_ascii_lowercase().as_slice() {
        b"" | b"b" => 1,
        b"k" => 1000,
        b"kb" => 1 << 10,
        b"m" => 1_000_000,
        b"mb" => 1 << 20,
        b"g" => 1_000_000_000,
        b"gb" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::{PARAMETERS, parse_bytes};

    #[test]
    fn parameters_are_sorted_and_there_once() {
        assert!(PARAMETERS.is_sorted_by(|left, right| left.name < right.name));
    }

    #[test]
    fn units_of_memory_are_read_as_redis_reads_them() {
        let cases: [(&[u8], Option<u64>); 11] = [
            (b"0", Some(0)),
            (b"12b", Some(12)),
            (b"3k", Some(3000)),
            (b"3KB", Some(3072)),
            (b"2m", Some(2_000_000)),
            (b"2mb", Some(2 << 20)),
            (b"1G", Some(1_000_000_000)),
            (b"1gb", Some(1 << 30)),
            (b"1zb", None),
            (b"-1", None),
            (b"18446744073709551615gb", None),
        ];
        for (text, bytes) in cases {
            assert_eq!(parse_bytes(text), bytes, "{}", text.escape_ascii());
        }
    }
}
