//! Commands on the connection and the server.

use super::words::Words;
use super::{Rules, args};
use crate::client::Args;

pub const RULES: Rules = &[
    (2, |w| args!["AUTH", w.value()]),
    (2, |w| args!["AUTH", w.one(&["default", "nobody"]), w.value()]),
    (3, |w| args!["CLIENT", "SETNAME", w.one(&["me", "", "with space", "new\nline", "caf\u{e9}"])]),
    (3, |_| args!["CLIENT", "GETNAME"]),
    (1, |_| args!["CLIENT", "ID"]),
    (1, |_| args!["CLIENT", "INFO"]),
    (2, |w| {
        let command = args!["CLIENT", "LIST"];
        w.optional(command, 1, client_list_option)
    }),
    (1, |w| args!["CLIENT", "NO-EVICT", w.one(&["ON", "OFF", "maybe"])]),
    (1, |w| args!["CLIENT", "KILL", w.one(&["127.0.0.1:1", "nowhere"])]),
    (1, |w| args!["CLIENT", "KILL", w.one(&["ID", "TYPE", "ADDR", "WHAT"]), w.one(&["0", "999999999", "pubsub", "what"])]),
    (1, |w| args!["CLIENT", "KILL", "ID", "999999999", w.one(&["SKIPME", "USER", "LADDR", "WHAT"]), w.one(&["no", "yes", "nobody", "x"])]),
    (1, |w| args!["CLIENT", "UNBLOCK", w.one(&["999999999", "abc"])]),
    (1, |w| args!["CLIENT", "UNBLOCK", "999999999", w.one(&["TIMEOUT", "error", "what"])]),
    (1, |w| args!["CLIENT", w.one(&["GETREDIR", "TRACKINGINFO", "CACHING"])]),
    (1, |w| args!["CLIENT", w.one(&["TRACKING", "CACHING"]), w.one(&["OFF", "NO", "maybe"])]),
    (1, |_| args!["CLIENT", "UNPAUSE"]),
    (1, |w| args!["CLIENT", w.one(&["HELP", "NOTHING", ""])]),
    (1, |_| args!["COMMAND", "COUNT"]),
    (1, |w| args!["COMMAND", "INFO", w.one(&["get", "HSET", "nothing"])]),
    (6, |w| {
        let mut command = args!["COMMAND", "GETKEYS"];
        command.extend(super::sound_command(w));
        command
    }),
    (2, |w| {
        let mut command = args!["COMMAND", "GETKEYSANDFLAGS"];
        command.extend(super::sound_command(w));
        command
    }),
    (1, |w| [args!["COMMAND", w.one(&["GETKEYS", "GETKEYSANDFLAGS"])], super::sort::command(w)].concat()),
    (1, |w| args!["COMMAND", "DOCS", w.one(&["get", "nothing"])]),
    (1, |w| args!["COMMAND", "LIST", "FILTERBY", w.one(&["PATTERN", "ACLCAT", "MODULE", "WHAT"]), w.one(&["h*", "hash", "nothing"])]),
    (1, |w| args!["ACL", w.one(&["WHOAMI", "USERS", "HELP", "NOTHING"])]),
    (1, |w| args!["ACL", "CAT", w.one(&["nothing", "@hash"])]),
    (1, |w| args!["SLOWLOG", w.one(&["RESET", "HELP", "NOTHING"])]),
    (1, |w| args!["SLOWLOG", "GET", w.one(&["-2", "abc"])]),
    (1, |w| args!["CONFIG", "GET", w.one(&["DATABASES", "proto-max-bulk-len", "sav?"])]),
    (1, |w| args!["COMMAND", w.one(&["HELP", "NOTHING", "GETKEYS", "LIST"])]),
    (1, |w| args!["CONFIG", w.one(&["GET", "SET", "HELP", "NOTHING"])]),
    (1, |w| args!["CONFIG", "GET", w.one(&["no-such-parameter", "no-such-*"])]),
    (1, |w| args!["CONFIG", "SET", "no-such-parameter", w.value()]),
    (1, |_| args!["CONFIG", "RESETSTAT"]),
    (3, |w| args!["ECHO", w.value()]),
    (3, |w| {
        let command = args!["HELLO"];
        w.optional(command, 1, |w| args![w.one(&["2", "3", "3", "1", "4", "abc", ""])])
    }),
    (3, |w| {
        let command = args!["HELLO", w.one(&["2", "3"])];
        w.repeated(command, 2, hello_option)
    }),
    (2, |w| args!["INFO", w.one(&["server", "clients", "memory", "nothing", "everything"])]),
    (1, |w| args!["MEMORY", w.one(&["HELP", "NOTHING"])]),
    (3, |_| args!["PING"]),
    (2, |w| args!["PING", w.value()]),
    (2, |_| args!["QUIT"]),
    (2, |_| args!["RESET"]),
    (1, |_| args!["TIME"]),
    (1, |_| args!["MULTI"]),
    (3, |_| args!["EXEC"]),
    (2, |_| args!["DISCARD"]),
    (2, |w| w.repeated(args!["WATCH"], 2, |w| args![w.key()])),
    (2, |_| args!["UNWATCH"]),
];

fn client_list_option(w: &mut Words) -> Args {
    match w.below(3) {
        0 => args!["ID", w.one(&["999999999", "abc", "0"])],
        1 => args!["TYPE", w.one(&["normal", "pubsub", "what"])],
        _ => args!["WHAT"],
    }
}

fn hello_option(w: &mut Words) -> Args {
    match w.below(4) {
        0 => args!["AUTH", w.one(&["default", "nobody"]), w.value()],
        1 => args!["AUTH", "default"],
        2 => args!["SETNAME", w.one(&["me", "with space", ""])],
        _ => args!["WHAT"],
    }
}
