//! Server commands: what the server tells of itself, and how it is steered.

mod acl;
mod command;
mod config;
mod debug;
mod info;
mod key_flags;
mod memory;
mod parameters;
mod slowlog;
mod tips;

pub use info::totals_here;

use super::flags::Flags;
use super::help::help;
use super::keyspec::KeySpec;
use super::options::is_word;
use super::{Command, Context, Group, Run};
use crate::error::{Error, Result, texts};
use crate::resp::reply::Reply;
use crate::session::Session;
use bytes::Bytes;

const ANY: Flags = Flags::LOADING.and(Flags::STALE);
const ADMIN: Flags = ANY.and(Flags::ADMIN);
const UNSCRIPTED: Flags = ANY.and(Flags::NOSCRIPT);
const UNSCRIPTED_ADMIN: Flags = ADMIN.and(Flags::NOSCRIPT);

/// The rows of this group.
pub const COMMANDS: &[Command] = &[
    container("acl", "6.0.0", "A container for access list commands.", ACL),
    Command {
        arity: -1,
        flags: ANY,
        run: Run::Session(command::all),
        ..container("command", "2.8.13", "Returns details of all commands.", COMMAND)
    },
    container("config", "2.0.0", "A container for configuration commands.", CONFIG),
    data("debug", -2, UNSCRIPTED_ADMIN, "1.0.0", "A container for debugging commands.", debug::debug),
    data("info", -1, ANY, "1.0.0", "Returns information and counters of the server.", info::info),
    container("memory", "4.0.0", "A container for memory diagnostics commands.", MEMORY),
    row("shutdown", -1, UNSCRIPTED_ADMIN.and(Flags::NO_MULTI).and(Flags::ALLOW_BUSY), "1.0.0", "Stops the server.", shutdown),
    container("slowlog", "2.2.12", "A container for slow log commands.", SLOWLOG),
    row("time", 1, ANY.and(Flags::FAST), "2.6.0", "Returns the server's time.", time),
];

const ACL: &[Command] = &[
    row("acl|cat", -2, UNSCRIPTED, "6.0.0", "Lists the categories, or the commands of one.", acl::cat),
    row("acl|help", 2, ANY, "6.0.0", "Lists the subcommands.", help),
    row("acl|users", 2, UNSCRIPTED_ADMIN, "6.0.0", "Lists the users: there is one.", acl::users),
    row("acl|whoami", 2, UNSCRIPTED, "6.0.0", "Returns the user of the connection.", acl::who_am_i),
];

const COMMAND: &[Command] = &[
    row("command|count", 2, ANY, "2.8.13", "Returns how many commands there are.", command::count),
    row("command|docs", -2, ANY, "7.0.0", "Returns what commands do.", command::docs),
    row("command|getkeys", -3, ANY, "2.8.13", "Returns the keys among the arguments of a command.", command::get_keys),
    row(
        "command|getkeysandflags",
        -3,
        ANY,
        "7.0.0",
        "Returns the keys of a command and what it does to them.",
        command::get_keys_and_flags,
    ),
    row("command|help", 2, ANY, "5.0.0", "Lists the subcommands.", help),
    row("command|info", -2, ANY, "2.8.13", "Returns details of commands.", command::info),
    row("command|list", -2, ANY, "7.0.0", "Lists the names of commands.", command::list),
];

const CONFIG: &[Command] = &[
    row("config|get", -3, UNSCRIPTED_ADMIN, "2.0.0", "Returns the parameters that match patterns.", config::get),
    row("config|help", 2, ANY, "5.0.0", "Lists the subcommands.", help),
    row("config|resetstat", 2, UNSCRIPTED_ADMIN, "2.0.0", "Sets the counters of INFO to zero.", config::reset_statistics),
    row("config|rewrite", 2, UNSCRIPTED_ADMIN, "2.8.0", "Writes the parameters to the configuration file.", config::rewrite),
    row("config|set", -4, UNSCRIPTED_ADMIN, "2.0.0", "Sets parameters.", config::set),
];

const MEMORY: &[Command] = &[
    row("memory|doctor", 2, Flags::NONE, "4.0.0", "Returns a report of memory problems.", memory::doctor),
    row("memory|help", 2, ANY, "4.0.0", "Lists the subcommands.", help),
    row("memory|malloc-stats", 2, Flags::NONE, "4.0.0", "Returns the statistics of the allocator.", memory::allocator_statistics),
    row("memory|purge", 2, Flags::NONE, "4.0.0", "Asks the allocator to give memory back.", memory::purge),
    row("memory|stats", 2, Flags::NONE, "4.0.0", "Returns how much memory is used for what.", memory::statistics),
    Command {
        keys: KeySpec::Range { first: 2, last: 2, step: 1 },
        ..data("memory|usage", -3, Flags::READONLY, "4.0.0", "Estimates how many bytes a key takes.", memory::usage)
    },
];

const SLOWLOG: &[Command] = &[
    row("slowlog|get", -2, ADMIN, "2.2.12", "Returns the entries of the slow log.", slowlog::get),
    row("slowlog|help", 2, ANY, "6.2.0", "Lists the subcommands.", help),
    row("slowlog|len", 2, ADMIN, "2.2.12", "Returns how many entries the slow log has.", slowlog::len),
    row("slowlog|reset", 2, ADMIN, "2.2.12", "Empties the slow log.", slowlog::reset),
];

const fn container(name: &'static str, since: &'static str, summary: &'static str, subcommands: &'static [Command]) -> Command {
    Command::container(Group::Server, name, since, summary, subcommands)
}

type SessionHandler = fn(&mut Session, &[Bytes], &mut Reply) -> Result<()>;

const fn row(name: &'static str, arity: i32, flags: Flags, since: &'static str, summary: &'static str, run: SessionHandler) -> Command {
    Command::without_keys(Group::Server, name, arity, flags, since, summary, Run::Session(run))
}

type DataHandler = fn(&mut Context, &mut Reply) -> Result<()>;

const fn data(name: &'static str, arity: i32, flags: Flags, since: &'static str, summary: &'static str, run: DataHandler) -> Command {
    Command::without_keys(Group::Server, name, arity, flags, since, summary, Run::data(run))
}

/// Seconds and microseconds since the epoch, as two texts.
fn time(session: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    let now_us = session.environment.now_us();
    reply.array(2);
    reply.text(&(now_us / 1_000_000).to_string());
    reply.text(&(now_us % 1_000_000).to_string());
    Ok(())
}

/// `SHUTDOWN [NOSAVE | SAVE] [NOW] [FORCE] [ABORT]`. What is acknowledged is in the store already, so that there is nothing to save;
/// the host closes everything. There is no reply.
fn shutdown(session: &mut Session, args: &[Bytes], _: &mut Reply) -> Result<()> {
    let options = args.get(1..).unwrap_or_default();
    let has = |word: &str| options.iter().any(|option| is_word(option, word));
    let is_known = |option: &Bytes| ["nosave", "save", "now", "force", "abort"].iter().any(|word| is_word(option, word));
    if !options.iter().all(is_known) || (has("save") && has("nosave")) || (has("abort") && options.len() > 1) {
        return Err(texts::SYNTAX);
    }
    if has("abort") {
        return Err(Error::client("ERR No shutdown in progress."));
    }
    session.server.shutdown = true;
    Ok(())
}
