//! ZPOPMIN, ZPOPMAX and ZMPOP.

use super::{Shape, at_least};
use crate::command::Context;
use crate::command::options::is_word;
use crate::error::{Result, texts};
use crate::layout::KeyAt;
use crate::resp::reply::{Protocol, Reply};
use crate::store::Direction;
use crate::types::sorted_sets;
use bytes::Bytes;

pub(super) fn zpopmin(context: &mut Context, reply: &mut Reply) -> Result<()> {
    pop(context, reply, Direction::Forward)
}

pub(super) fn zpopmax(context: &mut Context, reply: &mut Reply) -> Result<()> {
    pop(context, reply, Direction::Reverse)
}

fn pop(context: &mut Context, reply: &mut Reply, direction: Direction) -> Result<()> {
    let count = match context.args.get(2..).unwrap_or_default() {
        [] => None,
        [count] => Some(at_least(0, count, "ERR value is out of range, must be positive")?),
        _ => return Err(texts::SYNTAX),
    };
    let at = context.db.at(context.arg(1))?;
    let popped = sorted_sets::pop(&mut context.db, &at, direction, count.unwrap_or(1))?;
    // Without a count RESP3 has no pairs either.
    let shape = if count.is_some() && reply.protocol() == Protocol::Resp3 { Shape::Pairs } else { Shape::Flat };
    shape.append_all(reply, &popped);
    Ok(())
}

pub(super) fn zmpop(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let (keys, direction, count) = multiple(context.args.get(1..).unwrap_or_default())?;
    pop_multiple(context, reply, keys, direction, count).map(|_| ())
}

/// Answers with the sorted set that members were popped from, and these. False where none of the sorted sets exists.
pub fn pop_multiple(context: &mut Context, reply: &mut Reply, keys: &[Bytes], direction: Direction, count: u64) -> Result<bool> {
    let places: Vec<KeyAt> = keys.iter().map(|key| context.db.own_at(key)).collect::<Result<_>>()?;
    let popped = sorted_sets::pop_first(&mut context.db, &places, direction, count)?;
    match &popped {
        Some((position, popped)) => {
            reply.array(2);
            reply.bulk(keys.get(*position).map_or(b"", |key| key));
            Shape::Pairs.append_all(reply, popped);
        }
        None => reply.null_array(),
    }
    Ok(popped.is_some())
}

/// Reads `numkeys key [key ...] MIN|MAX [COUNT count]`.
pub fn multiple(arguments: &[Bytes]) -> Result<(&[Bytes], Direction, u64)> {
    let (count, rest) = arguments.split_first().ok_or(texts::SYNTAX)?;
    let count = at_least(1, count, "ERR numkeys should be greater than 0")?;
    let (keys, rest) = usize::try_from(count).ok().and_then(|count| rest.split_at_checked(count)).ok_or(texts::SYNTAX)?;
    let (end, options) = rest.split_first().ok_or(texts::SYNTAX)?;
    let direction = match end {
        end if is_word(end, "min") => Direction::Forward,
        end if is_word(end, "max") => Direction::Reverse,
        _ => return Err(texts::SYNTAX),
    };
    let count = match options {
        [] => 1,
        [word, count, rest @ ..] if is_word(word, "count") => {
            let count = at_least(1, count, "ERR count should be greater than 0")?;
            if rest.is_empty() { count } else { return Err(texts::SYNTAX) }
        }
        _ => return Err(texts::SYNTAX),
    };
    Ok((keys, direction, count))
}
