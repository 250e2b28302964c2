//! OBJECT: how Redis would hold a value.

use crate::command::flags::Flags;
use crate::command::help::help;
use crate::command::keyspec::KeySpec;
use crate::command::parts::Parts;
use crate::command::{Command, Context, Group, Run};
use crate::error::{Error, Result};
use crate::layout::{KeyAt, Meta};
use crate::resp::reply::Reply;
use crate::types::encoding;

/// The rows of this file.
pub const COMMANDS: &[Command] = &[Command {
    name: "object",
    arity: -2,
    flags: Flags::NONE,
    keys: KeySpec::None,
    parts: Parts::None,
    group: Group::Generic,
    since: "2.2.3",
    summary: "Tells about a key's value.",
    subcommands: SUBCOMMANDS,
    run: Run::Container,
}];

const SUBCOMMANDS: &[Command] = &[
    Command {
        name: "object|encoding",
        arity: 3,
        flags: Flags::READONLY,
        keys: KeySpec::Range { first: 2, last: 2, step: 1 },
        parts: Parts::None,
        group: Group::Generic,
        since: "2.2.3",
        summary: "Tells the encoding that Redis would hold a value in.",
        subcommands: &[],
        run: Run::data(encoding_name),
    },
    Command {
        name: "object|freq",
        arity: 3,
        flags: Flags::READONLY,
        keys: KeySpec::Range { first: 2, last: 2, step: 1 },
        parts: Parts::None,
        group: Group::Generic,
        since: "4.0.0",
        summary: "Refuses to tell how often a key is accessed: that is not counted.",
        subcommands: &[],
        run: Run::data(frequency),
    },
    Command {
        name: "object|help",
        arity: 2,
        flags: Flags::LOADING.and(Flags::STALE),
        keys: KeySpec::None,
        parts: Parts::None,
        group: Group::Generic,
        since: "6.2.0",
        summary: "Lists the subcommands.",
        subcommands: &[],
        run: Run::Session(help),
    },
    Command {
        name: "object|idletime",
        arity: 3,
        flags: Flags::READONLY,
        keys: KeySpec::Range { first: 2, last: 2, step: 1 },
        parts: Parts::None,
        group: Group::Generic,
        since: "2.2.3",
        summary: "Tells for how long a key was not accessed: always 0.",
        subcommands: &[],
        run: Run::data(idle_time),
    },
    Command {
        name: "object|refcount",
        arity: 3,
        flags: Flags::READONLY,
        keys: KeySpec::Range { first: 2, last: 2, step: 1 },
        parts: Parts::None,
        group: Group::Generic,
        since: "2.2.3",
        summary: "Tells how many keys share a value.",
        subcommands: &[],
        run: Run::data(reference_count),
    },
];

fn find(context: &mut Context) -> Result<Option<(KeyAt, Meta)>> {
    let at = context.db.own_at(context.arg(2))?;
    Ok(context.db.look_at(&at)?.map(|meta| (at, meta)))
}

fn encoding_name(context: &mut Context, reply: &mut Reply) -> Result<()> {
    match find(context)? {
        Some((at, meta)) => reply.text(encoding::encoding(&mut context.db, &at, &meta)?),
        None => reply.null(),
    }
    Ok(())
}

/// Nothing is evicted, so nothing counts accesses.
fn frequency(context: &mut Context, reply: &mut Reply) -> Result<()> {
    if find(context)?.is_some() {
        return Err(Error::client(
            "ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between \
             policies at runtime LRU and LFU data will take some time to adjust.",
        ));
    }
    reply.null();
    Ok(())
}

/// No access times are kept: every key counts as accessed now.
fn idle_time(context: &mut Context, reply: &mut Reply) -> Result<()> {
    match find(context)? {
        Some(_) => reply.integer(0),
        None => reply.null(),
    }
    Ok(())
}

fn reference_count(context: &mut Context, reply: &mut Reply) -> Result<()> {
    match find(context)? {
        Some((_, meta)) => reply.integer(encoding::reference_count(&meta)),
        None => reply.null(),
    }
    Ok(())
}
