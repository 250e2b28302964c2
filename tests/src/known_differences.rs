//! Where Orbweaver is meant to answer otherwise than Redis 7.0.15: it has the texts of Redis 7.2, and a few ways of its own, which
//! `docs/commands.md` lists.

use orbweaver_engine::resp::Value;

use crate::compare::{Exchange, Watch};

/// A difference that is wanted.
#[derive(Clone, Copy)]
pub struct KnownDifference {
    /// Why.
    pub reason: &'static str,
    /// Whether it explains this exchange. As narrow as possible: the command, and both replies.
    pub explains: fn(&Exchange<'_>) -> bool,
}

/// The one that must stay rare: it would hide a WATCH that takes everything for a change.
pub const SHARED_REVISION: &str = "a change of another key counts as one of the watched key where the store counts both together";

/// All of them.
pub const KNOWN_DIFFERENCES: &[KnownDifference] = &[
    KnownDifference {
        reason: "error texts are UTF-8: U+FFFD stands for bytes that are not, where Redis repeats the bytes",
        explains: |exchange| match errors(exchange) {
            Some((redis, other)) => std::str::from_utf8(redis).is_err() && String::from_utf8_lossy(redis).as_bytes() == other,
            None => false,
        },
    },
    KnownDifference {
        reason: "HELLO of Redis 7.2 understands all of its options before it looks at the password",
        explains: |exchange| {
            exchange.name() == "HELLO"
                && errors(exchange).is_some_and(|(redis, other)| {
                    redis.starts_with(b"WRONGPASS ")
                        && (other.starts_with(b"ERR Syntax error in HELLO option ")
                            || other.starts_with(b"ERR Client names cannot contain "))
                })
        },
    },
    KnownDifference {
        reason: "COMMAND GETKEYSANDFLAGS shows the flags of the keys of BITFIELD and SET as COMMAND INFO does, whatever the options",
        explains: |exchange| {
            exchange.name() == "COMMAND GETKEYSANDFLAGS"
                && [&b"BITFIELD"[..], b"SET"].iter().any(|name| exchange.command[2].eq_ignore_ascii_case(name))
                && matches!((exchange.redis, exchange.other), (Value::Array(redis), Value::Array(other)) if redis.len() == other.len())
        },
    },
    KnownDifference {
        reason: "COMMAND GETKEYS takes PFMERGE without sources, which PFMERGE itself does, too",
        explains: |exchange| {
            exchange.name().starts_with("COMMAND GETKEYS")
                && exchange.command.len() == 4
                && exchange.command[2].eq_ignore_ascii_case(b"PFMERGE")
                && matches!(exchange.redis, Value::Error(text) if text.starts_with(b"ERR Invalid arguments specified"))
        },
    },
    KnownDifference {
        reason: "COMMAND GETKEYS names the key that GEORADIUS stores in, not one for each of STORE and STOREDIST",
        explains: |exchange| {
            let has = |word: &[u8]| exchange.command.iter().filter(|own| own.eq_ignore_ascii_case(word)).count();
            exchange.name().starts_with("COMMAND GETKEYS")
                && [&b"GEORADIUS"[..], b"GEORADIUSBYMEMBER"].iter().any(|name| exchange.command[2].eq_ignore_ascii_case(name))
                && has(b"STORE") + has(b"STOREDIST") > 1
        },
    },
    KnownDifference {
        reason: "COMMAND GETKEYS refuses a number of keys that has something behind its digits, as the command does",
        explains: |exchange| {
            exchange.name().starts_with("COMMAND GETKEYS")
                && exchange
                    .command
                    .iter()
                    .skip(3)
                    .any(|word| word.first().is_some_and(u8::is_ascii_digit) && word.iter().any(|byte| !byte.is_ascii_digit()))
                && matches!(exchange.other, Value::Error(text) if text.starts_with(b"ERR Invalid arguments specified"))
        },
    },
    KnownDifference {
        reason: "COMMAND GETKEYS takes the word behind SORT's STORE for a key, also where it is STORE",
        explains: |exchange| {
            let is_store = |word: &Vec<u8>| word.eq_ignore_ascii_case(b"STORE");
            exchange.name().starts_with("COMMAND GETKEYS")
                && exchange.command[2].eq_ignore_ascii_case(b"SORT")
                && exchange.command.windows(2).any(|pair| pair.iter().all(is_store))
        },
    },
    KnownDifference {
        reason: "LPOS refuses the RANK that has no positive counterpart",
        explains: |exchange| {
            let is_least = |pair: &[Vec<u8>]| pair[0].eq_ignore_ascii_case(b"RANK") && pair[1] == i64::MIN.to_string().as_bytes();
            exchange.name() == "LPOS"
                && exchange.command.windows(2).any(is_least)
                && matches!(exchange.other, Value::Error(text) if text.starts_with(b"ERR value is out of range, value must between "))
        },
    },
    KnownDifference {
        reason: "DUMP writes the encodings that every Redis since 5.0 takes; what they restore is compared in a test of its own",
        explains: |exchange| exchange.name() == "DUMP" && matches!((exchange.redis, exchange.other), (Value::Bulk(_), Value::Bulk(_))),
    },
    KnownDifference {
        reason: "FLUSHALL, FLUSHDB, SWAPDB and SORT with patterns that stores count as a change of every watched key, also of those that are not concerned",
        explains: |exchange| exchange.is_false_alarm() && exchange.watch == Watch::AllChanged,
    },
    KnownDifference { reason: SHARED_REVISION, explains: |exchange| exchange.is_false_alarm() && exchange.watch == Watch::Keys },
];

/// Both replies, where both are errors.
fn errors<'a>(exchange: &Exchange<'a>) -> Option<(&'a [u8], &'a [u8])> {
    match (exchange.redis, exchange.other) {
        (Value::Error(redis), Value::Error(other)) => Some((redis, other)),
        _ => None,
    }
}

/// The known difference that explains this exchange.
#[must_use]
pub fn explanation(exchange: &Exchange<'_>) -> Option<&'static KnownDifference> {
    KNOWN_DIFFERENCES.iter().find(|known| (known.explains)(exchange))
}
