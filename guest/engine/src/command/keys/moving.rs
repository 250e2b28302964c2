//! Keys that get another name, another db or a copy.

use super::db_number;
use crate::command::flags::Flags;
use crate::command::keyspec::KeySpec;
use crate::command::options::is_word;
use crate::command::parts::Parts;
use crate::command::{Command, Context, Group, Run};
use crate::error::{Result, texts};
use crate::resp::reply::Reply;
use crate::types::keys;

/// The rows of this file.
pub const COMMANDS: &[Command] = &[
    Command {
        name: "copy",
        arity: -3,
        flags: Flags::WRITE.and(Flags::DENYOOM).and(Flags::CROSS_DB),
        keys: KeySpec::Range { first: 1, last: 2, step: 1 },
        parts: Parts::None,
        group: Group::Generic,
        since: "6.2.0",
        summary: "Copies the value of a key to another key.",
        subcommands: &[],
        run: Run::data(copy),
    },
    Command {
        name: "move",
        arity: 3,
        flags: Flags::WRITE.and(Flags::FAST).and(Flags::CROSS_DB),
        keys: KeySpec::FIRST,
        parts: Parts::None,
        group: Group::Generic,
        since: "1.0.0",
        summary: "Moves a key to another db.",
        subcommands: &[],
        run: Run::data(move_key),
    },
    Command {
        name: "rename",
        arity: 3,
        flags: Flags::WRITE,
        keys: KeySpec::Range { first: 1, last: 2, step: 1 },
        parts: Parts::None,
        group: Group::Generic,
        since: "1.0.0",
        summary: "Renames a key, over an existing one if need be.",
        subcommands: &[],
        run: Run::data(rename),
    },
    Command {
        name: "renamenx",
        arity: 3,
        flags: Flags::WRITE.and(Flags::FAST),
        keys: KeySpec::Range { first: 1, last: 2, step: 1 },
        parts: Parts::None,
        group: Group::Generic,
        since: "1.0.0",
        summary: "Renames a key where the new name is free.",
        subcommands: &[],
        run: Run::data(rename_if_free),
    },
];

fn copy(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let (mut db, mut replace) = (context.db.index, false);
    let mut options = context.args.iter().skip(3);
    while let Some(option) = options.next() {
        if is_word(option, "replace") {
            replace = true;
        } else if is_word(option, "db") {
            db = db_number(context, options.next().ok_or(texts::SYNTAX)?)?;
        } else {
            return Err(texts::SYNTAX);
        }
    }
    let (from, to) = (context.db.at(context.arg(1))?, context.db.at_db(db, context.arg(2))?);
    if from == to {
        return Err(texts::SAME_OBJECT);
    }
    reply.integer(i64::from(keys::copy(&mut context.db, &from, &to, replace)?));
    Ok(())
}

fn move_key(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let db = db_number(context, context.arg(2))?;
    let (from, to) = (context.db.at(context.arg(1))?, context.db.at_db(db, context.arg(1))?);
    if from == to {
        return Err(texts::SAME_OBJECT);
    }
    let moved = context.db.find(&from)?.is_some() && keys::rename(&mut context.db, &from, &to, true)?;
    reply.integer(i64::from(moved));
    Ok(())
}

fn rename(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let (from, to) = (context.db.at(context.arg(1))?, context.db.at(context.arg(2))?);
    keys::rename(&mut context.db, &from, &to, false)?;
    reply.ok();
    Ok(())
}

fn rename_if_free(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let (from, to) = (context.db.at(context.arg(1))?, context.db.at(context.arg(2))?);
    reply.integer(i64::from(keys::rename(&mut context.db, &from, &to, true)?));
    Ok(())
}
