//! Whether keys exist, of which type they are, and their removal.

use crate::command::flags::Flags;
use crate::command::keyspec::KeySpec;
use crate::command::parts::Parts;
use crate::command::straight::{self, Act, Replies, Straight};
use crate::command::{Command, Context, Group, Run};
use crate::error::Result;
use crate::layout::Kind;
use crate::resp::reply::Reply;

/// The rows of this file.
pub const COMMANDS: &[Command] = &[
    Command {
        name: "del",
        arity: -2,
        flags: Flags::WRITE,
        keys: KeySpec::ALL,
        parts: Parts::None,
        group: Group::Generic,
        since: "1.0.0",
        summary: "Removes keys.",
        subcommands: &[],
        run: Run::data(remove),
    }
    .straight(REMOVE)
    .or_straight(REMOVE_SEVERAL),
    Command {
        name: "exists",
        arity: -2,
        flags: Flags::READONLY.and(Flags::FAST),
        keys: KeySpec::ALL,
        parts: Parts::None,
        group: Group::Generic,
        since: "1.0.0",
        summary: "Counts the keys that exist.",
        subcommands: &[],
        run: Run::data(count_existing),
    }
    .straight(EXISTS),
    Command {
        name: "touch",
        arity: -2,
        flags: Flags::READONLY.and(Flags::FAST),
        keys: KeySpec::ALL,
        parts: Parts::None,
        group: Group::Generic,
        since: "3.2.1",
        summary: "Counts the keys that exist, as accessed now.",
        subcommands: &[],
        run: Run::data(count_existing),
    }
    .straight(EXISTS),
    Command {
        name: "type",
        arity: 2,
        flags: Flags::READONLY.and(Flags::FAST),
        keys: KeySpec::FIRST,
        parts: Parts::None,
        group: Group::Generic,
        since: "1.0.0",
        summary: "Tells the type of a key's value.",
        subcommands: &[],
        run: Run::data(kind),
    }
    .straight(Straight::telling(|present, _, reply| reply_kind(reply, present.map(|present| present.kind)))),
    Command {
        name: "unlink",
        arity: -2,
        flags: Flags::WRITE.and(Flags::FAST),
        keys: KeySpec::ALL,
        parts: Parts::None,
        group: Group::Generic,
        since: "4.0.0",
        summary: "Removes keys, as DEL does: neither waits for the space to be freed.",
        subcommands: &[],
        run: Run::data(remove),
    }
    .straight(REMOVE)
    .or_straight(REMOVE_SEVERAL),
];

fn remove(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let mut count = 0_u64;
    for key in context.args.iter().skip(1) {
        let at = context.db.at(key)?;
        count = count.saturating_add(context.db.remove(&at)?);
    }
    reply.length(count);
    Ok(())
}

/// A key that is given twice counts twice. No access times are kept, so that touching a key is nothing more.
fn count_existing(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let mut count = 0;
    for key in context.args.iter().skip(1) {
        let at = context.db.at(key)?;
        count += context.db.find_all(&at)?.len();
    }
    reply.length(u64::try_from(count).unwrap_or(u64::MAX));
    Ok(())
}

fn kind(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let kind = context.db.find(&at)?.map(|meta| meta.kind());
    reply_kind(reply, kind);
    Ok(())
}

fn reply_kind(reply: &mut Reply, kind: Option<Kind>) {
    reply.simple(kind.map_or("none", Kind::name));
}

/// Of one key, where that is a string, or nothing is there.
const REMOVE: Straight = Straight::removing_string(straight::remove);
/// The same of several.
const REMOVE_SEVERAL: Straight = Straight::on_strings(2, 1, true, Act::Run(|_, value, _| Ok(straight::removed(value))), Replies::Changed);
/// Of one key.
const EXISTS: Straight = Straight::telling(|present, _, reply| reply.integer(i64::from(present.is_some())));
