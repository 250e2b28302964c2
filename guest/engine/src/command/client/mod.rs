//! The subcommands of CLIENT: names, lists, replies, and what the engine has not (tracking, pauses).

mod kill;
mod list;

use super::flags::Flags;
use super::help::{help, wrong_subcommand};
use super::options::is_word;
use super::peers::{count_answer, sum_of_answers};
use super::{Command, Group, Run};
use crate::error::{Error, Result, repeated, texts};
use crate::number::parse_i64;
use crate::resp::reply::Reply;
use crate::session::{ReplyMode, Session};

use bytes::Bytes;
pub use kill::kill_here;
pub use list::list_here;

/// The rows of this group.
pub const COMMANDS: &[Command] =
    &[Command::container(Group::Connection, "client", "2.4.0", "A container for client connection commands.", SUBCOMMANDS)];

const UNBLOCKED: Error = Error::client("UNBLOCKED client unblocked via CLIENT UNBLOCK");

const ANY: Flags = Flags::NOSCRIPT.and(Flags::LOADING).and(Flags::STALE);
const ADMIN: Flags = ANY.and(Flags::ADMIN);
const HELP: Flags = Flags::LOADING.and(Flags::STALE);

const SUBCOMMANDS: &[Command] = &[
    row("client|caching", 3, ANY, "6.0.0", "Tells whether to track the keys of the next command.", caching),
    row("client|getname", 2, ANY, "2.6.9", "Returns the name of the connection.", get_name),
    row("client|getredir", 2, ANY, "6.0.0", "Returns the client that tracking is redirected to.", get_redirection),
    row("client|help", 2, HELP, "5.0.0", "Lists the subcommands.", help),
    row("client|id", 2, ANY, "5.0.0", "Returns the number of the connection.", id),
    row("client|info", 2, ANY, "6.2.0", "Returns what is known of the connection.", list::info),
    row("client|kill", -3, ADMIN, "2.4.0", "Closes connections.", kill::kill),
    row("client|list", -2, ADMIN, "2.4.0", "Lists the open connections.", list::list),
    row("client|no-evict", 3, ADMIN, "7.0.0", "Sets whether the connection may be evicted.", no_evict),
    row("client|no-touch", 3, ANY, "7.2.0", "Sets whether the connection's commands count as uses of keys.", no_touch),
    row("client|pause", -3, ADMIN, "3.0.0", "Suspends the processing of commands.", pause),
    row("client|reply", 3, ANY, "3.2.0", "Tells which replies the client wants.", reply_mode),
    row("client|setinfo", 4, ANY, "7.2.0", "Sets what the connection tells of its client library.", set_info),
    row("client|setname", 3, ANY, "2.6.9", "Sets the name of the connection.", set_connection_name),
    row("client|tracking", -3, ANY, "6.0.0", "Switches the tracking of keys for caches of the client.", tracking),
    row("client|trackinginfo", 2, ANY, "6.2.0", "Returns the state of tracking.", tracking_info),
    row("client|unblock", -3, ADMIN, "5.0.0", "Unblocks a client that waits in a blocking command.", unblock),
    row("client|unpause", 2, ADMIN, "6.2.0", "Ends a pause.", unpause),
];

type Handler = fn(&mut Session, &[Bytes], &mut Reply) -> Result<()>;

const fn row(name: &'static str, arity: i32, flags: Flags, since: &'static str, summary: &'static str, run: Handler) -> Command {
    Command::without_keys(Group::Connection, name, arity, flags, since, summary, Run::Session(run))
}

/// The argument at `position`; the arity has been checked.
fn arg(args: &[Bytes], position: usize) -> &Bytes {
    static EMPTY: Bytes = Bytes::new();
    args.get(position).unwrap_or(&EMPTY)
}

/// A name without spaces and control characters, as Redis allows them.
fn printable(name: &Bytes) -> Option<String> {
    let is_printable = name.iter().all(u8::is_ascii_graphic);
    is_printable.then(|| String::from_utf8_lossy(name).into_owned())
}

/// The name of a connection; empty for none.
///
/// # Errors
/// Redis' error for names with spaces or control characters.
pub fn connection_name(name: &Bytes) -> Result<String> {
    printable(name).ok_or(Error::client("ERR Client names cannot contain spaces, newlines or special characters."))
}

fn set_connection_name(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    session.connection()?.name = connection_name(arg(args, 2))?;
    reply.ok();
    Ok(())
}

fn get_name(session: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    match session.connection()?.name.as_str() {
        "" => reply.null(),
        name => reply.text(name),
    }
    Ok(())
}

fn set_info(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    let attribute = arg(args, 2);
    let connection = session.connection()?;
    let (name, field) = if is_word(attribute, "lib-name") {
        ("lib-name", &mut connection.library_name)
    } else if is_word(attribute, "lib-ver") {
        ("lib-ver", &mut connection.library_version)
    } else {
        let attribute = repeated(attribute, attribute.len());
        return Err(Error::Client(format!("ERR Unrecognized option '{attribute}'").into()));
    };
    let error = || Error::Client(format!("ERR {name} cannot contain spaces, newlines or special characters.").into());
    *field = printable(arg(args, 3)).ok_or_else(error)?;
    reply.ok();
    Ok(())
}

fn id(session: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    reply.integer(i64::try_from(session.id).unwrap_or(i64::MAX));
    Ok(())
}

/// `on` or `off`.
fn switch(word: &Bytes) -> Result<bool> {
    match () {
        () if is_word(word, "on") => Ok(true),
        () if is_word(word, "off") => Ok(false),
        () => Err(texts::SYNTAX),
    }
}

fn no_evict(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    session.connection()?.no_evict = switch(arg(args, 2))?;
    reply.ok();
    Ok(())
}

fn no_touch(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    session.connection()?.no_touch = switch(arg(args, 2))?;
    reply.ok();
    Ok(())
}

fn reply_mode(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    let word = arg(args, 2);
    let mode = &mut session.connection()?.reply_mode;
    if is_word(word, "on") {
        *mode = ReplyMode::On;
        reply.ok();
    } else if is_word(word, "off") {
        *mode = ReplyMode::Off;
    } else if !is_word(word, "skip") {
        return Err(texts::SYNTAX);
    } else if *mode != ReplyMode::Off {
        *mode = ReplyMode::SkipNext;
    }
    Ok(())
}

/// The engine cannot hold commands back: it has nothing to wait on. The arguments are checked as Redis does.
fn pause(_: &mut Session, args: &[Bytes], _: &mut Reply) -> Result<()> {
    let is_mode = |mode: &Bytes| is_word(mode, "write") || is_word(mode, "all");
    if args.get(3).is_some_and(|mode| !is_mode(mode)) {
        return Err(Error::client("ERR CLIENT PAUSE mode must be WRITE or ALL"));
    }
    let timeout = parse_i64(arg(args, 2)).ok_or(Error::client("ERR timeout is not an integer or out of range"))?;
    if timeout < 0 {
        return Err(Error::client("ERR timeout is negative"));
    }
    Err(Error::client("ERR CLIENT PAUSE is not supported"))
}

/// Nothing is ever paused.
fn unpause(_: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    reply.ok();
    Ok(())
}

/// `CLIENT UNBLOCK id [TIMEOUT | ERROR]`.
fn unblock(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    if args.len() > 4 {
        return Err(wrong_subcommand(args));
    }
    if args.get(3).is_some_and(|reason| !is_word(reason, "timeout") && !is_word(reason, "error")) {
        return Err(Error::client("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"));
    }
    parse_i64(arg(args, 2)).ok_or(texts::NOT_AN_INTEGER)?;
    let unblocked = release(session, args) || sum_of_answers(session.server) > 0;
    reply.integer(i64::from(unblocked));
    Ok(())
}

/// Ends the wait that the arguments of CLIENT UNBLOCK name, if it is one of this instance.
fn release(session: &mut Session, args: &[Bytes]) -> bool {
    let id = parse_i64(arg(args, 2)).and_then(|id| u64::try_from(id).ok());
    let by_error = args.get(3).is_some_and(|reason| is_word(reason, "error"));
    let Session { waiters, server, .. } = session;
    id.is_some_and(|id| waiters.release(id, |reply| if by_error { server.error(reply, &UNBLOCKED) } else { reply.null_array() }))
}

/// This instance's part of CLIENT UNBLOCK on another one.
pub fn unblock_here(session: &mut Session, args: &[Bytes]) -> Vec<u8> {
    count_answer(usize::from(release(session, args)))
}

/// `CLIENT TRACKING ON | OFF [REDIRECT id] [PREFIX prefix ...] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]`: the options are checked first.
fn tracking(session: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    let mut options = args.get(3..).unwrap_or_default();
    loop {
        options = match options {
            [] => break,
            [option, id, rest @ ..] if is_word(option, "redirect") => {
                let id = parse_i64(id).ok_or(texts::NOT_AN_INTEGER)?;
                let target = u64::try_from(id).ok().and_then(|id| session.connections.get(id));
                target.ok_or(Error::client("ERR The client ID you want redirect to does not exist"))?;
                rest
            }
            [option, _, rest @ ..] if is_word(option, "prefix") => rest,
            [option, rest @ ..] if ["bcast", "optin", "optout", "noloop"].iter().any(|known| is_word(option, known)) => rest,
            _ => return Err(texts::SYNTAX),
        }
    }
    if switch(arg(args, 2))? {
        return Err(Error::client("ERR CLIENT TRACKING ON is not supported"));
    }
    reply.ok();
    Ok(())
}

/// Tracking is always off.
fn caching(_: &mut Session, _: &[Bytes], _: &mut Reply) -> Result<()> {
    Err(Error::client("ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled"))
}

fn tracking_info(_: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    reply.map(3);
    reply.text("flags");
    reply.set(1);
    reply.text("off");
    reply.text("redirect");
    reply.integer(-1);
    reply.text("prefixes");
    reply.array(0);
    Ok(())
}

fn get_redirection(_: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    reply.integer(-1);
    Ok(())
}
