//! `docs/commands.md`, made from the command table.
//!
//! The rows say what there is; [`DIFFERENCES`] says where a command is not what it is in Redis 7.2, and why.

use super::keyspec::KeySpec;
use super::{Command, table};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Where a command differs from Redis 7.2, with the reason. Names are those of the table's rows, sorted.
pub const DIFFERENCES: &[(&str, &str)] = &[
    ("acl", "there is one user, `default`, who may do everything: no users can be made"),
    ("blmove", "as BLPOP"),
    ("blmpop", "as BLPOP"),
    (
        "blpop",
        "those who wait on the worker that pushes are served before those on others, and elements of other servers on the store wake nobody; where an \
         instance is lost its clients wait anew, in the order in which they connected and with their full timeouts",
    ),
    ("brpop", "as BLPOP"),
    ("brpoplpush", "as BLPOP"),
    ("bzmpop", "as BLPOP"),
    ("bzpopmax", "as BLPOP"),
    ("bzpopmin", "as BLPOP"),
    ("client|list", "`laddr` is what the host tells; sizes of buffers are 0 and `fd` is -1, for sockets are the host's"),
    ("client|no-evict", "kept and shown only: nobody is evicted"),
    ("client|no-touch", "kept and shown only: uses of keys are not counted"),
    ("client|pause", "refused: the engine cannot hold commands back"),
    ("client|tracking", "`ON` is refused: there is no invalidation"),
    ("client|unpause", "always `OK`: nothing is paused"),
    ("command|docs", "summary, since, group and subcommands; no arguments, history and complexity"),
    (
        "command|getkeys",
        "the key that GEORADIUS stores in, where STORE and STOREDIST name two; a number of keys with anything behind its digits is refused, as the \
         command itself does",
    ),
    ("command|getkeysandflags", "flags that depend on options (those of BITFIELD and SET) are shown as COMMAND INFO shows them"),
    ("command|info", "key specifications have no notes"),
    ("config|get", "the parameters that clients ask for; those of the host are as it tells them"),
    ("config|rewrite", "refused: there is no configuration file"),
    (
        "config|set",
        "sets `notify-keyspace-events`, and `proto-max-bulk-len` up to what the host allows, as long as this instance lives. Other parameters take the value that they have and \
         refuse others with the reason: a password that is lost with an instance would open the server",
    ),
    (
        "debug",
        "`ERROR`, `OBJECT`, `SET-ACTIVE-EXPIRE`, `PANIC` (where the host allows it); `SLEEP` is refused: there is nothing to wait on",
    ),
    (
        "dump",
        "the plainest encodings, uncompressed, of RDB version 9: Redis 5.0 and later restore them; hashes with fields that expire need 7.4. A payload above `proto-max-bulk-len` is refused: \
         no client could send it back",
    ),
    ("georadius", "as GEOSEARCHSTORE"),
    ("georadius_ro", "as GEOSEARCH"),
    ("georadiusbymember", "as GEOSEARCHSTORE"),
    ("georadiusbymember_ro", "as GEOSEARCH"),
    ("geosearch", "sorted places at the same distance stay in the order in which the search meets them; with `COUNT` Redis leaves it open"),
    ("geosearchstore", "as GEOSEARCH; `STOREDIST`: the last digit of a distance depends on the machine's sine, in Redis too"),
    (
        "hexpire",
        "of Redis 7.4. What is past its time is absent at once, and is not past it before its time is over; Redis counts such fields in HLEN, and such \
         hashes in EXISTS, until it has removed them, and its small encoding answers HTTL with -2 in the last millisecond",
    ),
    ("hexpireat", "as HEXPIRE"),
    ("hlen", "exact where fields expire, see HEXPIRE"),
    ("hpexpire", "as HEXPIRE"),
    ("hpexpireat", "as HEXPIRE"),
    (
        "hrandfield",
        "more than 1,048,576 repeated draws, or more bytes of them than `proto-max-bulk-len`, are refused: they would only fill \
         the memory",
    ),
    (
        "info",
        "`keyspace` walks the keys, at most 100,000 a db; `more=1` says that there are more. Of 10,000 and more it may be some seconds old: a \
         millisecond for 16 keys. Memory, processor and process are as the host tells; \
         `commandstats` and `latencystats` are empty: the engine measures no times",
    ),
    ("memory|doctor", "nothing to diagnose: data is in the store"),
    ("memory|stats", "only what the host tells of its memory"),
    ("memory|usage", "bytes of the records in the store before compression; hashes are estimated from the first `SAMPLES` fields"),
    ("object|encoding", "the encoding that Redis would choose by its defaults; records have one encoding for each type"),
    ("object|freq", "accesses are not counted: always the error of a Redis without an LFU policy"),
    ("object|idletime", "always 0: access times are not kept"),
    ("pkpatternmatchdel", "Pika removes all that match in one call, however many: here it is called again until it returns 0"),
    (
        "pkscanrange",
        "a call reads at most 65,536 records or 16 MB, of keys of other types as well: it may return less than LIMIT and still a key to go on with",
    ),
    ("publish", "reaches the subscribers of this server, not those of others on the same store"),
    (
        "restore",
        "encodings of Redis 2.x to 7.4; streams and modules are refused, so are bytes behind the value, which Redis passes over, and what unpacks to more \
         than `proto-max-bulk-len`. `IDLETIME` and `FREQ` are checked and not kept",
    ),
    (
        "set",
        "has Pika's option `VX expected` as well: sets a string if it is the expected value, and replies 1; 0 where there is no key, -1 where it is \
         another value",
    ),
    ("shutdown", "`SAVE` and `NOSAVE` are the same: what was acknowledged is in the store"),
    ("slowlog", "always empty: the engine measures no times"),
    (
        "sort",
        "what Redis leaves open is settled: sets that are not sorted are in byte order; with `BY` and `ALPHA`, elements of equal weight stay in the \
         order of the list or sorted set. With `STORE`, patterns keep other writers waiting: the keys that are read cannot be known before",
    ),
    ("sort_ro", "as SORT"),
    ("spublish", "as PUBLISH"),
    ("srandmember", "as HRANDFIELD"),
    (
        "watch",
        "false alarms: FLUSHALL, FLUSHDB, SWAPDB and SORT with patterns and `STORE` that change anything count as a change of every watched key, in \
         whatever db; so does, rarely, a change of another key, for stores count the changes of several keys together",
    ),
    (
        "zadd",
        "a score of -0 stays -0; Redis makes it 0 in sorted sets of its small encoding, and keeps it in larger ones. Both are equal in every comparison",
    ),
    ("zrandmember", "as HRANDFIELD"),
    ("zrank", "logarithmic in the default layout; in those of other systems it walks from the nearer end of the sorted set"),
    ("zrevrank", "as ZRANK"),
    ("zscan", "scores as ZSCORE shows them; Redis shows 17 digits in sorted sets of its large encoding"),
];

/// Groups of Redis' commands that are not here at all, with the reason. Names as in COMMAND DOCS, sorted.
pub const ABSENT_GROUPS: &[(&str, &str)] = &[
    ("cluster", "a store that is distributed divides the keys by itself: there are no slots to move"),
    (
        "scripting",
        "no interpreter of Lua: MULTI with WATCH, Pika's compare-and-set commands or the typed batches do several things at once",
    ),
    ("stream", "none of the layouts has streams"),
];

/// Further commands of Redis that are not here, with the reason; a container stands for its subcommands. Sorted by the first name.
pub const ABSENT_COMMANDS: &[(&[&str], &str)] = &[
    (
        &["acl|deluser", "acl|dryrun", "acl|genpass", "acl|getuser", "acl|list", "acl|load", "acl|log", "acl|save", "acl|setuser"],
        "there is one user, `default`",
    ),
    (&["bgrewriteaof", "bgsave", "lastsave", "save"], "there is nothing to save: what was acknowledged is in the store"),
    (
        &["failover", "psync", "replconf", "replicaof", "role", "slaveof", "sync", "wait", "waitaof"],
        "no replication: it is the store's affair",
    ),
    (&["latency"], "the engine measures no times"),
    (&["lolwut"], "a picture that tells the version of Redis"),
    (&["migrate"], "the engine opens no connections: DUMP and RESTORE move keys (`operations.md` has a script)"),
    (&["module"], "no modules"),
    (&["monitor"], "commands are not shown to other clients"),
    (&["pfdebug", "pfselftest", "restore-asking"], "Redis' own tests and cluster use them, clients do not"),
];

/// The page: a table for each group.
#[must_use]
pub fn markdown() -> String {
    let mut groups: BTreeMap<&str, Vec<&Command>> = BTreeMap::new();
    for command in table::all() {
        groups.entry(command.group.name()).or_default().push(command);
    }
    let mut page = String::from(
        "# Commands\n\n\
         Replies and error texts are those of Redis 7.2, in RESP2 and RESP3; the last column says where they are not, and why. *Since* is the version \
         of Redis that brought the command; those of the group Pika are not in Redis. HELP subcommands list what there is here, in words of their own. Error texts \
         are UTF-8: where they repeat a client's bytes that are not, they have U+FFFD.\n\n\
         This page is made from the engine's command table: `cargo run -p orbweaver-engine --example generate_docs` writes it, a test compares it.\n",
    );
    for (group, commands) in groups {
        // Writing to a string cannot fail.
        let _ = write!(page, "\n## {}\n\n", heading(group));
        page.push_str("| command | since | what it does | keys | differs from Redis 7.2 |\n|---|---|---|---|---|\n");
        for command in commands.into_iter().flat_map(|command| std::iter::once(command).chain(command.subcommands)) {
            page.push_str(&row(command));
        }
    }
    page.push_str(&absent());
    page
}

/// What Redis has and this engine has not.
fn absent() -> String {
    let mut section = String::from("\n## Not here\n\n| commands of Redis | why they are not here |\n|---|---|\n");
    for (group, reason) in ABSENT_GROUPS {
        section.push_str(&format!("| all of the group {} | {reason} |\n", heading(group)));
    }
    for (names, reason) in ABSENT_COMMANDS {
        section.push_str(&format!("| {} | {reason} |\n", names.join(", ").replace('|', " ").to_ascii_uppercase()));
    }
    section
}

fn heading(group: &str) -> String {
    let mut letters = group.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

fn row(command: &Command) -> String {
    let name = command.name.replace('|', " ").to_ascii_uppercase();
    let difference = DIFFERENCES.iter().find(|(name, _)| *name == command.name).map_or("", |(_, difference)| difference);
    format!("| {name} | {} | {} | {} | {difference} |\n", command.since, command.summary, keys(command.keys))
}

/// Which arguments are keys, in words. Positions count from the name, which is 0.
fn keys(keys: KeySpec) -> String {
    match keys {
        KeySpec::Range { first, last, .. } if i32::try_from(first) == Ok(last) => first.to_string(),
        KeySpec::Range { first, last: -1, step: 1 } => format!("{first} and all behind"),
        KeySpec::Range { first, last: -2, step: 1 } => format!("{first} and all behind but the last"),
        KeySpec::Range { first, last: -1, step } => format!("{first} and every {step}. behind"),
        KeySpec::Range { first, last, .. } => format!("{first} to {last}"),
        KeySpec::Stored { words: [], .. } => "1".to_owned(),
        KeySpec::Stored { words, .. } => format!("1, and the one behind {}", words.join(" or ").to_ascii_uppercase()),
        KeySpec::Counted { count_at, also: 0 } => format!("as many as {count_at} says"),
        KeySpec::Counted { count_at, also } => format!("{also}, and as many as {count_at} says"),
        KeySpec::None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{ABSENT_COMMANDS, ABSENT_GROUPS, DIFFERENCES, table};

    #[test]
    fn differences_are_sorted_and_of_commands_that_exist() {
        assert!(DIFFERENCES.is_sorted_by(|left, right| left.0 < right.0));
        for (name, _) in DIFFERENCES {
            assert!(table::find_by_full_name(name.as_bytes()).is_some(), "{name}");
        }
    }

    #[test]
    fn what_is_absent_is_sorted_and_not_in_the_table() {
        assert!(ABSENT_GROUPS.is_sorted() && ABSENT_COMMANDS.is_sorted());
        for name in ABSENT_COMMANDS.iter().flat_map(|(names, _)| *names) {
            assert!(table::find_by_full_name(name.as_bytes()).is_none(), "{name}");
        }
        for command in table::all() {
            assert!(!ABSENT_GROUPS.iter().any(|(group, _)| *group == command.group.name()), "{}", command.name);
        }
    }
}
