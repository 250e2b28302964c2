//! String commands.

use super::flags::Flags;
use super::keyspec::KeySpec;
use super::{Command, Context, Group, Run};
use crate::error::Result;
use crate::resp::reply::Reply;

/// The rows of this group.
pub const COMMANDS: &[Command] = &[
    Command {
        name: "get",
        arity: 2,
        flags: Flags::READONLY.and(Flags::FAST),
        keys: KeySpec::FIRST,
        group: Group::String,
        since: "1.0.0",
        summary: "Returns the string value of a key.",
        subcommands: &[],
        run: Run::Data(get),
    },
    Command {
        name: "set",
        arity: -3,
        flags: Flags::WRITE.and(Flags::DENYOOM),
        keys: KeySpec::FIRST,
        group: Group::String,
        since: "1.0.0",
        summary: "Sets the string value of a key.",
        subcommands: &[],
        run: Run::Data(set),
    },
];

fn get(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    match context.db.find_string(&at)? {
        Some((_, value)) => reply.bulk(&value),
        None => reply.null(),
    }
    Ok(())
}

fn set(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let old = context.db.find(&at)?;
    context.db.write_string(&at, old.as_ref(), context.arg(2).clone(), None)?;
    reply.ok();
    Ok(())
}
