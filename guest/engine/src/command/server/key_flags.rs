//! What commands do to their keys, in the words of COMMAND: `RO`, `RW`, `OW` (overwrites) or `RM` (removes) the key, and accesses,
//! inserts, updates or deletes its value. See <https://redis.io/docs/latest/develop/reference/key-specs/>.

use crate::command::Command;
use crate::command::flags::Flags;

/// The flags of one key.
pub type KeyFlags = &'static [&'static str];

/// What does not follow from a command's own flags. More than one entry: the first is of the first key, the second of the second and of
/// those behind it.
const PARTICULAR: &[(&[&str], &[KeyFlags])] = &[
    (
        &[
            "exists",
            "hexists",
            "hlen",
            "hstrlen",
            "llen",
            "memory|usage",
            "object|encoding",
            "object|freq",
            "object|idletime",
            "object|refcount",
            "scard",
            "sismember",
            "strlen",
            "touch",
            "type",
            "zcard",
        ],
        &[&["RO"]],
    ),
    (&["append", "hsetnx"], &[&["RW", "insert"]]),
    (&["expire", "expireat", "geoadd", "hmset", "hset", "persist", "pexpire", "pexpireat", "setrange", "zadd"], &[&["RW", "update"]]),
    (&["bzmpop", "bzpopmax", "bzpopmin", "getdel", "zmpop", "zpopmax", "zpopmin"], &[&["RW", "access", "delete"]]),
    (&["hdel", "zrem", "zremrangebylex", "zremrangebyrank", "zremrangebyscore"], &[&["RW", "delete"]]),
    (&["del", "unlink"], &[&["RM", "delete"]]),
    (&["mset", "psetex", "restore", "setex"], &[&["OW", "update"]]),
    (&["msetnx", "setnx"], &[&["OW", "insert"]]),
    (&["linsert", "lpush", "lpushx", "pfadd", "rpush", "rpushx", "sadd"], &[&["RW", "insert"]]),
    (&["hexpire", "hexpireat", "hpersist", "hpexpire", "hpexpireat", "lset"], &[&["RW", "update"]]),
    (&["blmpop", "blpop", "brpop", "lmpop", "lpop", "rpop", "spop"], &[&["RW", "access", "delete"]]),
    (&["lrem", "ltrim", "srem"], &[&["RW", "delete"]]),
    (&["blmove", "brpoplpush", "lmove", "rpoplpush", "smove"], &[&["RW", "access", "delete"], &["RW", "insert"]]),
    (&["sinterstore"], &[&["RW", "update"], &["RO", "access"]]),
    (&["bitfield", "set"], &[&["RW", "access", "update", "variable_flags"]]),
    (&["pfcount"], &[&["RW", "access"]]),
    (&["pfmerge"], &[&["RW", "access", "insert"], &["RO", "access"]]),
    (&["bitop", "sdiffstore", "sunionstore"], &[&["OW", "update"], &["RO", "access"]]),
    (&["copy"], &[&["RO", "access"], &["OW", "update"]]),
    (&["georadius", "georadiusbymember", "sort"], &[&["RO", "access"], &["OW", "update"]]),
    (&["geosearchstore", "zdiffstore", "zinterstore", "zrangestore", "zunionstore"], &[&["OW", "update"], &["RO", "access"]]),
    (&["rename"], &[&["RW", "access", "delete"], &["OW", "update"]]),
    (&["renamenx"], &[&["RW", "access", "delete"], &["OW", "insert"]]),
    (&["spublish", "ssubscribe", "sunsubscribe"], &[&["not_key"]]),
];

/// What a command does to its keys: one entry for all of them, or one for each.
pub fn of(command: &Command) -> &'static [KeyFlags] {
    if let Some((_, flags)) = PARTICULAR.iter().find(|(names, _)| names.contains(&command.name)) {
        flags
    } else if command.flags.has(Flags::WRITE) {
        &[&["RW", "access", "update"]]
    } else if command.flags.has(Flags::READONLY) {
        &[&["RO", "access"]]
    } else {
        &[&["RO"]]
    }
}

#[cfg(test)]
mod tests {
    use super::PARTICULAR;
    use crate::command::table;

    #[test]
    fn particular_flags_are_of_commands_that_exist() {
        for name in PARTICULAR.iter().flat_map(|(names, _)| *names) {
            assert!(table::find_by_full_name(name.as_bytes()).is_some(), "{name}");
        }
    }
}
