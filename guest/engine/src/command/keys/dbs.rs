//! Whole dbs, emptied and exchanged.

use super::known_db;
use crate::command::flags::Flags;
use crate::command::keyspec::KeySpec;
use crate::command::options::{integer, is_word};
use crate::command::parts::Parts;
use crate::command::{Command, Context, Group, Run};
use crate::error::{Error, Result, texts};
use crate::resp::reply::Reply;
use crate::types::keys;
use std::ops::Range;

/// The rows of this file.
pub const COMMANDS: &[Command] = &[
    Command {
        name: "flushall",
        arity: -1,
        flags: Flags::WRITE.and(Flags::EXCLUSIVE),
        keys: KeySpec::None,
        parts: Parts::None,
        group: Group::Server,
        since: "1.0.0",
        summary: "Removes all keys of all dbs.",
        subcommands: &[],
        run: Run::data(flush_all),
    },
    Command {
        name: "flushdb",
        arity: -1,
        flags: Flags::WRITE.and(Flags::EXCLUSIVE),
        keys: KeySpec::None,
        parts: Parts::None,
        group: Group::Server,
        since: "1.0.0",
        summary: "Removes all keys of the db.",
        subcommands: &[],
        run: Run::data(flush_db),
    },
    Command {
        name: "swapdb",
        arity: 3,
        flags: Flags::WRITE.and(Flags::FAST).and(Flags::EXCLUSIVE),
        keys: KeySpec::None,
        parts: Parts::None,
        group: Group::Server,
        since: "4.0.0",
        summary: "Exchanges two dbs.",
        subcommands: &[],
        run: Run::data(swap_db),
    },
];

fn flush_all(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let all = 0..context.db.catalog.spaces.len();
    flush(context, all, reply)
}

fn flush_db(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let selected = context.db.index..context.db.index + 1;
    flush(context, selected, reply)
}

/// ASYNC and SYNC make no difference: the keys are gone at once, and the sweep frees their space.
fn flush(context: &mut Context, dbs: Range<usize>, reply: &mut Reply) -> Result<()> {
    let known = |option| is_word(option, "async") || is_word(option, "sync");
    if context.args.len() > 2 || !context.args.iter().skip(1).all(known) {
        return Err(texts::SYNTAX);
    }
    keys::flush(&mut context.db, dbs)?;
    reply.ok();
    Ok(())
}

fn swap_db(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let number = |position, text| {
        let number = integer(context.arg(position)).ok().and_then(|number| i32::try_from(number).ok());
        number.ok_or(Error::client(text))
    };
    let (a, b) = (number(1, "ERR invalid first DB index")?, number(2, "ERR invalid second DB index")?);
    let (a, b) = (known_db(context, a)?, known_db(context, b)?);
    if a != b {
        // As in a flush: the catalog must not have changed where the command fails.
        let mut catalog = context.db.catalog.clone();
        context.db.layout.swap(context.db.transaction, &mut catalog, a, b)?;
        *context.db.catalog = catalog;
    }
    reply.ok();
    Ok(())
}
