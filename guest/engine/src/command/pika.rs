//! What [Pika](https://github.com/OpenAtomFoundation/pika) 3 has and Redis has not, under Pika's names and with its replies:
//! scans of keys and fields between two names, and strings that are changed only where they are what the client thinks they are.

use super::expiry::Time;
use super::flags::Flags;
use super::keyspec::KeySpec;
use super::options::{integer, is_word, length};
use super::{Command, Context, Group, Run};
use crate::error::{Error, Result, texts};
use crate::layout::{Body, Kind};
use crate::resp::reply::Reply;
use crate::scan::Filter;
use crate::store::Direction;
use crate::types::keys;
use crate::types::range_scans::{self, Bounds};
use crate::types::strings::{self, Comparison, Condition, Expiry};

const UPDATE: Flags = Flags::WRITE.and(Flags::DENYOOM);

/// The rows of this group.
pub const COMMANDS: &[Command] = &[
    row(
        "delvx",
        3,
        Flags::WRITE.and(Flags::FAST),
        KeySpec::FIRST,
        "`key value`: removes a string if it is that value. 1: removed; 0: there is no key; -1: it is another value.",
        delvx,
    ),
    row(
        "pkhrscanrange",
        -4,
        Flags::READONLY,
        KeySpec::FIRST,
        "`key start end [MATCH pattern] [LIMIT count]`: as PKHSCANRANGE from the greater field down to the less.",
        pkhrscanrange,
    ),
    row(
        "pkhscanrange",
        -4,
        Flags::READONLY,
        KeySpec::FIRST,
        "`key start end [MATCH pattern] [LIMIT count]`: the field to go on with (empty: over), and fields with values in byte order, both ends \
         included, an empty one open; visits 10 fields unless LIMIT says otherwise.",
        pkhscanrange,
    ),
    row(
        "pkpatternmatchdel",
        3,
        Flags::WRITE.and(Flags::EXCLUSIVE),
        KeySpec::None,
        "`pattern type`: removes the keys of a type (string, hash, list, set, zset) that match, at most 65536 a call. Returns how many.",
        pkpatternmatchdel,
    ),
    row(
        "pkrscanrange",
        -4,
        Flags::READONLY,
        KeySpec::None,
        "`type start end [MATCH pattern] [LIMIT count]`: as PKSCANRANGE from the greater key down to the less.",
        pkrscanrange,
    ),
    row(
        "pkscanrange",
        -4,
        Flags::READONLY,
        KeySpec::None,
        "`type start end [MATCH pattern] [LIMIT count]`: the key to go on with (empty: over), and keys of the type in byte order, both ends \
         included, an empty one open; visits 10 keys unless LIMIT says otherwise. Of type `string_with_value` each key with its value.",
        pkscanrange,
    ),
    row("pksetexat", 4, UPDATE, KeySpec::FIRST, "`key unix-seconds value`: sets a string that expires at that time; 0: never.", pksetexat),
    row(
        "setvx",
        -4,
        UPDATE,
        KeySpec::FIRST,
        "`key expected value [EX seconds]`: sets a string if it is the expected value, as `SET key value VX expected` does. 1: set; 0: there is \
         no key; -1: it is another value.",
        setvx,
    ),
];

const fn row(
    name: &'static str,
    arity: i32,
    flags: Flags,
    keys: KeySpec,
    summary: &'static str,
    run: fn(&mut Context, &mut Reply) -> Result<()>,
) -> Command {
    Command::without_keys(Group::Pika, name, arity, flags, "Pika 3", summary, Run::data(run)).with_keys(keys)
}

/// Keys of this type are strings, and come with their values.
const STRING_WITH_VALUE: &str = "string_with_value";

fn pkscanrange(context: &mut Context, reply: &mut Reply) -> Result<()> {
    scan_keys(context, Direction::Forward, reply)
}

fn pkrscanrange(context: &mut Context, reply: &mut Reply) -> Result<()> {
    scan_keys(context, Direction::Reverse, reply)
}

fn scan_keys(context: &mut Context, direction: Direction, reply: &mut Reply) -> Result<()> {
    let with_value = is_word(context.arg(1), STRING_WITH_VALUE);
    let kind = if with_value { Kind::String } else { kind(context, context.arg(1))? };
    let filter = options(context)?;
    let bounds = Bounds { first: context.arg(2).clone(), last: context.arg(3).clone(), direction };
    let step = range_scans::keys(&mut context.db, kind, &bounds, &filter)?;
    reply.array(2);
    reply.bulk(&step.next);
    reply.array(step.elements.len() * if with_value { 2 } else { 1 });
    for (key, meta) in &step.elements {
        reply.bulk(key);
        if let (true, Body::String(value)) = (with_value, &meta.body) {
            reply.bulk(value);
        }
    }
    Ok(())
}

fn pkhscanrange(context: &mut Context, reply: &mut Reply) -> Result<()> {
    scan_fields(context, Direction::Forward, reply)
}

fn pkhrscanrange(context: &mut Context, reply: &mut Reply) -> Result<()> {
    scan_fields(context, Direction::Reverse, reply)
}

fn scan_fields(context: &mut Context, direction: Direction, reply: &mut Reply) -> Result<()> {
    let filter = options(context)?;
    let at = context.db.at(context.arg(1))?;
    let bounds = Bounds { first: context.arg(2).clone(), last: context.arg(3).clone(), direction };
    let step = range_scans::fields(&mut context.db, &at, &bounds, &filter)?;
    reply.array(2);
    reply.bulk(&step.next);
    reply.array(step.elements.len() * 2);
    for (field, value) in &step.elements {
        reply.bulk(field);
        reply.bulk(value);
    }
    Ok(())
}

/// MATCH and LIMIT, in any order; the last of each counts.
fn options(context: &Context) -> Result<Filter> {
    let mut filter = Filter::default();
    for option in context.args.get(4..).unwrap_or_default().chunks(2) {
        match option {
            [word, pattern] if is_word(word, "match") => filter.pattern = (pattern != "*").then(|| pattern.clone()),
            [word, limit] if is_word(word, "limit") => {
                let limit = usize::try_from(integer(limit)?).ok().filter(|limit| *limit > 0);
                filter.count = limit.ok_or(texts::NOT_AN_INTEGER)?;
            }
            _ => return Err(texts::SYNTAX),
        }
    }
    Ok(filter)
}

/// The type of an argument, which Pika calls a db.
fn kind(context: &Context, name: &[u8]) -> Result<Kind> {
    let command = String::from_utf8_lossy(context.arg(0)).to_ascii_lowercase();
    Kind::from_name(name).ok_or_else(|| Error::Client(format!("ERR invalid DB for '{command}'").into()))
}

fn pkpatternmatchdel(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let kind = kind(context, context.arg(2))?;
    let pattern = context.arg(1).clone();
    reply.integer(length(keys::remove_matching(&mut context.db, kind, &pattern)?));
    Ok(())
}

fn pksetexat(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let expiry = match Time::EXAT.at_ms(context.arg(2), context.db.expiry_base_ms(), "pksetexat")? {
        0 if context.arg(2) == "0" => Expiry::Never,
        at_ms => Expiry::At(at_ms),
    };
    let at = context.db.at(context.arg(1))?;
    let value = context.arg(3).clone();
    strings::set(&mut context.db, &at, value, Condition::Always, expiry)?;
    reply.ok();
    Ok(())
}

fn setvx(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let expiry = match context.args.get(4..).unwrap_or_default() {
        [] => Expiry::Never,
        [word, seconds] if is_word(word, "ex") => Expiry::At(Time::EX.positive_at_ms(seconds, context.db.expiry_base_ms(), "setvx")?),
        _ => return Err(texts::SYNTAX),
    };
    let at = context.db.at(context.arg(1))?;
    let (expected, value) = (context.arg(2).clone(), context.arg(3).clone());
    let comparison = strings::compare_and_set(&mut context.db, &at, &expected, value, expiry)?;
    reply_comparison(reply, comparison);
    Ok(())
}

fn delvx(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let expected = context.arg(2).clone();
    let comparison = strings::compare_and_remove(&mut context.db, &at, &expected)?;
    reply_comparison(reply, comparison);
    Ok(())
}

/// Whether the string has been changed.
pub(super) fn reply_comparison(reply: &mut Reply, comparison: Comparison) {
    reply.integer(match comparison {
        Comparison::Equal => 1,
        Comparison::Absent => 0,
        Comparison::Different => -1,
    });
}
