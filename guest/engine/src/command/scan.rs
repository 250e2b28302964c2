//! SCAN, and what its kin (HSCAN) have in common with it: <https://redis.io/docs/latest/commands/scan/>

use super::flags::Flags;
use super::keyspec::KeySpec;
use super::options::{integer, is_word};
use super::parts::Parts;
use super::{Command, Context, Group, Run};
use crate::error::{Error, Result, texts};
use crate::layout::Kind;
use crate::number::parse_u64;
use crate::resp::reply::Reply;
use crate::scan::{Filter, Step};
use crate::types::keys;
use bytes::Bytes;

/// The rows of this file.
pub const COMMANDS: &[Command] = &[Command {
    name: "scan",
    arity: -2,
    flags: Flags::READONLY,
    keys: KeySpec::None,
    parts: Parts::None,
    group: Group::Generic,
    since: "2.8.0",
    summary: "Iterates over the keys of the db in steps.",
    subcommands: &[],
    run: Run::data(scan),
}];

fn scan(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let cursor = cursor(context.arg(1))?;
    let (filter, type_name) = options(context.args.get(2..), true)?;
    let kind = type_name.as_deref().map(Kind::from_name);
    let step = match kind {
        // No key is of a type that does not exist.
        Some(None) => Step::over(),
        Some(Some(_)) | None => keys::scan(&mut context.db, &mut context.server.scan_positions, cursor, &filter, kind.flatten())?,
    };
    begin_step(reply, step.cursor);
    reply.array(step.elements.len());
    step.elements.iter().for_each(|key| reply.bulk(key));
    Ok(())
}

/// The cursor of SCAN and its kin.
///
/// # Errors
/// `ERR invalid cursor`.
pub(super) fn cursor(argument: &[u8]) -> Result<u64> {
    parse_u64(argument).ok_or(Error::client("ERR invalid cursor"))
}

/// The options MATCH and COUNT, and TYPE where it is allowed, in any order; the last of each kind counts.
///
/// # Errors
/// Redis' syntax error, also for a COUNT below 1; the error for a COUNT that is not an integer.
pub(super) fn options(arguments: Option<&[Bytes]>, allow_type: bool) -> Result<(Filter, Option<Bytes>)> {
    let (mut filter, mut type_name) = (Filter::default(), None);
    for option in arguments.unwrap_or_default().chunks(2) {
        match option {
            [word, value] if is_word(word, "count") => {
                let count = integer(value)?;
                if count < 1 {
                    return Err(texts::SYNTAX);
                }
                filter.count = usize::try_from(count).unwrap_or(usize::MAX);
            }
            // `*` takes every name, the empty one too, which no glob pattern but the empty one does.
            [word, pattern] if is_word(word, "match") => filter.pattern = (pattern != "*").then(|| pattern.clone()),
            [word, name] if allow_type && is_word(word, "type") => type_name = Some(name.clone()),
            _ => return Err(texts::SYNTAX),
        }
    }
    Ok((filter, type_name))
}

/// Begins the reply to a step: the cursor. The array of the elements follows.
pub(super) fn begin_step(reply: &mut Reply, cursor: u64) {
    reply.array(2);
    reply.text(&cursor.to_string());
}
