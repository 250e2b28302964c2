//! ACL categories, by Redis' rules: from a command's flags and group. There is one user, who may do everything; the categories
//! are what COMMAND and ACL CAT show.

use super::flags::Flags;
use super::{Command, Group, Run};

/// All categories, in Redis' order.
pub const ALL: [&str; 21] = [
    "keyspace",
    "read",
    "write",
    "set",
    "sortedset",
    "list",
    "hash",
    "string",
    "bitmap",
    "hyperloglog",
    "geo",
    "stream",
    "pubsub",
    "admin",
    "fast",
    "slow",
    "blocking",
    "dangerous",
    "connection",
    "transaction",
    "scripting",
];

/// Commands that are `dangerous` without being `admin`.
const DANGEROUS: [&str; 8] = ["flushall", "flushdb", "info", "keys", "restore", "sort", "sort_ro", "swapdb"];
/// Commands of the group `server` that are about keys.
const ABOUT_KEYS: [&str; 4] = ["dbsize", "flushall", "flushdb", "swapdb"];
/// Commands of the group `generic` that are about the elements of some types.
const ABOUT_ELEMENTS: [&str; 2] = ["sort", "sort_ro"];
/// Commands of the group `server` that are about the connection.
const ABOUT_CONNECTIONS: &str = "command";

/// The categories of a command, in Redis' order.
#[must_use]
pub fn of(command: &Command) -> Vec<&'static str> {
    ALL.into_iter().filter(|category| is_in(command, category)).collect()
}

/// Whether a command is in a category.
#[must_use]
pub fn is_in(command: &Command, category: &str) -> bool {
    let Command { name, flags, group, .. } = command;
    let first_word = name.split('|').next().unwrap_or_default();
    // A row that only holds subcommands does nothing by itself.
    let is_container = matches!(command.run, Run::Container);
    match category {
        "read" => flags.has(Flags::READONLY),
        "write" => flags.has(Flags::WRITE),
        "pubsub" => flags.has(Flags::PUBSUB),
        "admin" => flags.has(Flags::ADMIN),
        "fast" => flags.has(Flags::FAST),
        "slow" => !flags.has(Flags::FAST),
        "blocking" => flags.has(Flags::BLOCKING),
        "dangerous" => flags.has(Flags::ADMIN) || DANGEROUS.contains(name),
        _ if is_container => false,
        "set" | "sortedset" | "list" if ABOUT_ELEMENTS.contains(name) => true,
        "keyspace" if ABOUT_ELEMENTS.contains(name) => false,
        "keyspace" => *group == Group::Generic || ABOUT_KEYS.contains(name),
        "connection" => *group == Group::Connection || first_word == ABOUT_CONNECTIONS,
        "transaction" => *group == Group::Transactions,
        other => group.name().replace('-', "") == other,
    }
}
