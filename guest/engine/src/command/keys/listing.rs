//! The keys of a db.

use crate::command::flags::Flags;
use crate::command::keyspec::KeySpec;
use crate::command::parts::Parts;
use crate::command::{Command, Context, Group, Run};
use crate::error::Result;
use crate::glob;
use crate::resp::reply::Reply;
use crate::types::{keys as all_keys, random_key};
use std::ops::ControlFlow;

/// The rows of this file.
pub const COMMANDS: &[Command] = &[
    Command {
        name: "dbsize",
        arity: 1,
        flags: Flags::READONLY.and(Flags::FAST),
        keys: KeySpec::None,
        parts: Parts::None,
        group: Group::Server,
        since: "1.0.0",
        summary: "Counts the keys of the db, by walking over them.",
        subcommands: &[],
        run: Run::data(db_size),
    },
    Command {
        name: "keys",
        arity: 2,
        flags: Flags::READONLY,
        keys: KeySpec::None,
        parts: Parts::None,
        group: Group::Generic,
        since: "1.0.0",
        summary: "Lists the keys that match a pattern.",
        subcommands: &[],
        run: Run::data(keys),
    },
    Command {
        name: "randomkey",
        arity: 1,
        flags: Flags::READONLY,
        keys: KeySpec::None,
        parts: Parts::None,
        group: Group::Generic,
        since: "1.0.0",
        summary: "Returns a random key of the db.",
        subcommands: &[],
        run: Run::data(random),
    },
];

fn db_size(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let count = all_keys::count(&mut context.db)?;
    reply.integer(i64::try_from(count).unwrap_or(i64::MAX));
    Ok(())
}

fn keys(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let pattern = context.arg(1).clone();
    let (prefix, is_whole) = glob::literal_prefix(&pattern);
    if is_whole {
        let at = context.db.at(&prefix.into())?;
        let found = context.db.look_at_all(&at)?.len();
        reply.array(found);
        (0..found).for_each(|_| reply.bulk(&at.key));
        return Ok(());
    }
    // Alone, a star matches the empty key as well.
    let is_all = pattern.as_ref() == b"*";
    let mut count = 0;
    let header = reply.deferred();
    all_keys::walk(&mut context.db, &prefix, &prefix, &mut |key, _| {
        if is_all || glob::matches(&pattern, key, false) {
            reply.bulk(key);
            count += 1;
        }
        ControlFlow::Continue(())
    })?;
    reply.end_array(header, count);
    Ok(())
}

fn random(context: &mut Context, reply: &mut Reply) -> Result<()> {
    match random_key::random(&mut context.db)? {
        Some(key) => reply.bulk(&key),
        None => reply.null(),
    }
    Ok(())
}
