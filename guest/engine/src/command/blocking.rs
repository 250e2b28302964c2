//! Commands that wait for something to pop: the blocking variants of list and sorted set commands.
//!
//! A handler takes what there is. Where there is nothing it writes what Redis answers where it must not wait (within MULTI), and
//! says what there is to wait for: the session decides. Who waits is answered by running the same handler again.

use super::flags::Flags;
use super::keyspec::KeySpec;
use super::{Command, Context, Group, Run, lists, reply_value, sorted_sets};
use crate::error::{Error, Result};
use crate::layout::{KeyAt, Kind};
use crate::number::LongDouble;
use crate::resp::reply::Reply;
use crate::store::Direction;
use crate::types::lists::{End, pop_first, transfer};
use crate::types::sorted_sets as zsets;
use bytes::Bytes;

/// What a command waits for that found nothing to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The keys that are to appear, in the db of the call.
    pub keys: Vec<Bytes>,
    /// What one of them is to hold.
    pub kind: Kind,
    /// Unix time in milliseconds; the wait is over when the clock is past it. `None`: never.
    pub deadline_ms: Option<u64>,
}

const REMOVAL: Flags = Flags::WRITE.and(Flags::BLOCKING);
const FAST_REMOVAL: Flags = REMOVAL.and(Flags::FAST);
const REMOVAL_OF_MANY: Flags = REMOVAL.and(Flags::MOVABLEKEYS);
const TRANSFER: Flags = REMOVAL.and(Flags::DENYOOM);

/// All arguments but the last, which is the timeout.
const KEYS_AND_TIMEOUT: KeySpec = KeySpec::Range { first: 1, last: -2, step: 1 };
const SOURCE_AND_DESTINATION: KeySpec = KeySpec::Range { first: 1, last: 2, step: 1 };
const COUNTED: KeySpec = KeySpec::Counted { count_at: 2, also: 0 };

/// The rows of this file.
pub const COMMANDS: &[Command] = &[
    row("blmove", 6, TRANSFER, SOURCE_AND_DESTINATION, "6.2.0", "LMOVE that waits for an element.", blmove),
    row("blmpop", -5, REMOVAL_OF_MANY, COUNTED, "7.0.0", "LMPOP that waits for an element.", blmpop),
    row("blpop", -3, REMOVAL, KEYS_AND_TIMEOUT, "2.0.0", "Removes the first element of the first list that gets one.", blpop),
    row("brpop", -3, REMOVAL, KEYS_AND_TIMEOUT, "2.0.0", "Removes the last element of the first list that gets one.", brpop),
    row("brpoplpush", 4, TRANSFER, SOURCE_AND_DESTINATION, "2.2.0", "RPOPLPUSH that waits for an element.", brpoplpush),
    sorted_set(row("bzmpop", -5, REMOVAL_OF_MANY, COUNTED, "7.0.0", "ZMPOP that waits for a member.", bzmpop)),
    sorted_set(row(
        "bzpopmax",
        -3,
        FAST_REMOVAL,
        KEYS_AND_TIMEOUT,
        "5.0.0",
        "ZPOPMAX on the first sorted set that gets a member.",
        bzpopmax,
    )),
    sorted_set(row(
        "bzpopmin",
        -3,
        FAST_REMOVAL,
        KEYS_AND_TIMEOUT,
        "5.0.0",
        "ZPOPMIN on the first sorted set that gets a member.",
        bzpopmin,
    )),
];

type Handler = fn(&mut Context, &mut Reply) -> Result<Option<Wait>>;

const fn row(
    name: &'static str,
    arity: i32,
    flags: Flags,
    keys: KeySpec,
    since: &'static str,
    summary: &'static str,
    run: Handler,
) -> Command {
    Command::without_keys(Group::List, name, arity, flags, since, summary, Run::Blocking(run)).with_keys(keys)
}

const fn sorted_set(row: Command) -> Command {
    Command { group: Group::SortedSet, ..row }
}

fn blpop(context: &mut Context, reply: &mut Reply) -> Result<Option<Wait>> {
    pop_element(context, reply, End::Head)
}

fn brpop(context: &mut Context, reply: &mut Reply) -> Result<Option<Wait>> {
    pop_element(context, reply, End::Tail)
}

fn pop_element(context: &mut Context, reply: &mut Reply, end: End) -> Result<Option<Wait>> {
    let (keys, deadline_ms) = keys_and_timeout(context)?;
    let lists = places(context, keys)?;
    let Some((place, popped)) = pop_first(&mut context.db, &lists, end, 1)? else {
        reply.null_array();
        return Ok(Some(wait(keys, Kind::List, deadline_ms)));
    };
    reply.array(2);
    reply_value(reply, keys.get(place).map(AsRef::as_ref));
    reply_value(reply, popped.first().map(AsRef::as_ref));
    Ok(None)
}

fn blmpop(context: &mut Context, reply: &mut Reply) -> Result<Option<Wait>> {
    let (keys, end, count) = lists::multiple(context.args.get(2..).unwrap_or_default())?;
    let deadline_ms = deadline(context.arg(1), context.db.clock_ms)?;
    let found = lists::pop_multiple(context, reply, keys, end, count)?;
    Ok((!found).then(|| wait(keys, Kind::List, deadline_ms)))
}

fn blmove(context: &mut Context, reply: &mut Reply) -> Result<Option<Wait>> {
    let (from, to) = (lists::end_named(context.arg(3))?, lists::end_named(context.arg(4))?);
    let deadline_ms = deadline(context.arg(5), context.db.clock_ms)?;
    move_element(context, reply, from, to, deadline_ms)
}

fn brpoplpush(context: &mut Context, reply: &mut Reply) -> Result<Option<Wait>> {
    let deadline_ms = deadline(context.arg(3), context.db.clock_ms)?;
    move_element(context, reply, End::Tail, End::Head, deadline_ms)
}

fn move_element(context: &mut Context, reply: &mut Reply, from_end: End, to_end: End, deadline_ms: Option<u64>) -> Result<Option<Wait>> {
    let (from, to) = (context.db.at(context.arg(1))?, context.db.at(context.arg(2))?);
    let moved = transfer(&mut context.db, (&from, from_end), (&to, to_end))?;
    reply_value(reply, moved.as_deref());
    Ok(moved.is_none().then(|| wait(std::slice::from_ref(&from.key), Kind::List, deadline_ms)))
}

fn bzpopmin(context: &mut Context, reply: &mut Reply) -> Result<Option<Wait>> {
    pop_member(context, reply, Direction::Forward)
}

fn bzpopmax(context: &mut Context, reply: &mut Reply) -> Result<Option<Wait>> {
    pop_member(context, reply, Direction::Reverse)
}

fn pop_member(context: &mut Context, reply: &mut Reply, direction: Direction) -> Result<Option<Wait>> {
    let (keys, deadline_ms) = keys_and_timeout(context)?;
    let sets = places(context, keys)?;
    let found = zsets::pop_first(&mut context.db, &sets, direction, 1)?;
    let Some((place, (member, score))) = found.and_then(|(place, popped)| Some((place, popped.into_iter().next()?))) else {
        reply.null_array();
        return Ok(Some(wait(keys, Kind::SortedSet, deadline_ms)));
    };
    reply.array(3);
    reply_value(reply, keys.get(place).map(AsRef::as_ref));
    reply.bulk(&member);
    reply.double(score);
    Ok(None)
}

fn bzmpop(context: &mut Context, reply: &mut Reply) -> Result<Option<Wait>> {
    let (keys, direction, count) = sorted_sets::multiple(context.args.get(2..).unwrap_or_default())?;
    let deadline_ms = deadline(context.arg(1), context.db.clock_ms)?;
    let found = sorted_sets::pop_multiple(context, reply, keys, direction, count)?;
    Ok((!found).then(|| wait(keys, Kind::SortedSet, deadline_ms)))
}

/// Reads `key [key ...] timeout`.
fn keys_and_timeout<'c>(context: &Context<'c, '_, '_>) -> Result<(&'c [Bytes], Option<u64>)> {
    let (timeout, keys) = context.args.get(1..).and_then(<[Bytes]>::split_last).unwrap_or((context.arg(1), &[]));
    Ok((keys, deadline(timeout, context.db.clock_ms)?))
}

fn places(context: &Context, keys: &[Bytes]) -> Result<Vec<KeyAt>> {
    keys.iter().map(|key| context.db.own_at(key)).collect()
}

fn wait(keys: &[Bytes], kind: Kind, deadline_ms: Option<u64>) -> Wait {
    Wait { keys: keys.to_vec(), kind, deadline_ms }
}

/// When a wait of so many seconds from now ends, in Unix milliseconds, rounded up; `None` for 0 seconds: never
/// (`getTimeoutFromObjectOrReply` in Redis' `timeout.c`).
fn deadline(seconds: &[u8], now_ms: u64) -> Result<Option<u64>> {
    let seconds = LongDouble::parse(seconds).ok_or(Error::client("ERR timeout is not a float or out of range"))?;
    let timeout_ms = u64::try_from(seconds.ceil_of_thousandfold()).map_err(|_| Error::client("ERR timeout is negative"))?;
    if timeout_ms == 0 {
        return Ok(None);
    }
    let deadline_ms = timeout_ms.checked_add(now_ms).filter(|&deadline_ms| deadline_ms <= i64::MAX.unsigned_abs());
    deadline_ms.map(Some).ok_or(Error::client("ERR timeout is out of range"))
}
