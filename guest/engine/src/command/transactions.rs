//! The commands that steer transactions. The session runs them: see [`crate::session`].

use super::flags::Flags;
use super::keyspec::KeySpec;
use super::{Command, Group, Run, TransactionCommand};

const EVERYWHERE: Flags = Flags::NOSCRIPT.and(Flags::LOADING).and(Flags::STALE);
const AT_ONCE: Flags = EVERYWHERE.and(Flags::FAST).and(Flags::ALLOW_BUSY);

/// The rows of this group.
pub const COMMANDS: &[Command] = &[
    row("discard", 1, AT_ONCE, "2.0.0", "Discards a transaction.", TransactionCommand::Discard),
    row("exec", 1, EVERYWHERE.and(Flags::SKIP_SLOWLOG), "1.2.0", "Executes all commands of a transaction.", TransactionCommand::Exec),
    row("multi", 1, AT_ONCE, "1.2.0", "Starts a transaction.", TransactionCommand::Multi),
    row("unwatch", 1, AT_ONCE, "2.2.0", "Forgets about all watched keys.", TransactionCommand::Unwatch),
    Command {
        keys: KeySpec::ALL,
        ..row("watch", -2, AT_ONCE, "2.2.0", "Lets the next transaction depend on keys being unchanged.", TransactionCommand::Watch)
    },
];

const fn row(
    name: &'static str,
    arity: i32,
    flags: Flags,
    since: &'static str,
    summary: &'static str,
    command: TransactionCommand,
) -> Command {
    Command::without_keys(Group::Transactions, name, arity, flags, since, summary, Run::Transaction(command))
}
