//! List commands: <https://redis.io/docs/latest/commands/?group=list>

use super::flags::Flags;
use super::keyspec::KeySpec;
use super::options::{integer, is_word, length};
use super::parts::Parts;
use super::straight::{Straight, arg};
use super::{Command, Context, Group, reply_strings, reply_value};
use crate::error::{Error, Result, texts};
use crate::layout::lots::Lot;
use crate::layout::straight::{CollectionReader, Head};
use crate::layout::{KeyAt, Kind};
use crate::number::parse_i64;
use crate::resp::reply::Reply;
use crate::session::wrong_arity;
use crate::types::lists::{self, End, Insertion, Search, Side};
use bytes::Bytes;
use std::borrow::Cow;

const READ: Flags = Flags::READONLY;
const FAST_READ: Flags = READ.and(Flags::FAST);
const WRITE: Flags = Flags::WRITE.and(Flags::DENYOOM);
const FAST_WRITE: Flags = WRITE.and(Flags::FAST);
/// Frees memory, so Redis never refuses it for want of any.
const REMOVAL: Flags = Flags::WRITE;
const FAST_REMOVAL: Flags = REMOVAL.and(Flags::FAST);

const SOURCE_AND_DESTINATION: KeySpec = KeySpec::Range { first: 1, last: 2, step: 1 };
const COUNTED: KeySpec = KeySpec::Counted { count_at: 1, also: 0 };

/// The rows of this group.
pub const COMMANDS: &[Command] = &[
    Group::List.row("lindex", 3, READ, "1.0.0", "Returns the element at a position.", lindex).straight(Straight::element()),
    Group::List.row("linsert", 5, WRITE, "2.2.0", "Inserts an element beside another.", linsert),
    Group::List.row("llen", 2, FAST_READ, "1.0.0", "Returns how many elements a list has.", llen).straight(Straight::counting(Kind::List)),
    Group::List
        .row("lmove", 5, WRITE, "6.2.0", "Moves an element from an end of a list to one of another.", lmove)
        .with_keys(SOURCE_AND_DESTINATION),
    Group::List
        .row("lmpop", -4, REMOVAL.and(Flags::MOVABLEKEYS), "7.0.0", "Removes elements from an end of the first list that exists.", lmpop)
        .with_keys(COUNTED),
    Group::List
        .row("lpop", -2, FAST_REMOVAL, "1.0.0", "Removes and returns the first elements.", lpop)
        .naming(Parts::End(End::Head))
        .in_rows(lpop_row)
        .straight(Straight::popping_from(End::Head)),
    Group::List.row("lpos", -3, READ, "6.0.6", "Returns the positions of an element.", lpos),
    Group::List
        .row("lpush", -3, FAST_WRITE, "1.0.0", "Puts elements before the first one.", lpush)
        .in_rows(lpush_row)
        .straight(Straight::pushing_at(End::Head)),
    Group::List.row("lpushx", -3, FAST_WRITE, "2.2.0", "Puts elements before the first one of a list that exists.", lpushx),
    Group::List.row("lrange", 4, READ, "1.0.0", "Returns the elements between two positions.", lrange).straight(Straight::showing(
        4,
        Kind::List,
        lrange_straight,
    )),
    Group::List.row("lrem", 4, REMOVAL, "1.0.0", "Removes elements that equal one.", lrem),
    Group::List.row("lset", 4, WRITE, "1.0.0", "Replaces the element at a position.", lset),
    Group::List.row("ltrim", 4, REMOVAL, "1.0.0", "Keeps the elements between two positions only.", ltrim),
    Group::List
        .row("rpop", -2, FAST_REMOVAL, "1.0.0", "Removes and returns the last elements.", rpop)
        .naming(Parts::End(End::Tail))
        .in_rows(rpop_row)
        .straight(Straight::popping_from(End::Tail)),
    Group::List
        .row("rpoplpush", 3, WRITE, "1.2.0", "Moves the last element of a list before the first one of another.", rpoplpush)
        .with_keys(SOURCE_AND_DESTINATION),
    Group::List
        .row("rpush", -3, FAST_WRITE, "1.0.0", "Puts elements behind the last one.", rpush)
        .in_rows(rpush_row)
        .straight(Straight::pushing_at(End::Tail)),
    Group::List.row("rpushx", -3, FAST_WRITE, "2.2.0", "Puts elements behind the last one of a list that exists.", rpushx),
];

/// A row of the group: most commands have their one key in the first place.
fn lpush(context: &mut Context, reply: &mut Reply) -> Result<()> {
    push(context, reply, End::Head)
}

fn rpush(context: &mut Context, reply: &mut Reply) -> Result<()> {
    push(context, reply, End::Tail)
}

fn push(context: &mut Context, reply: &mut Reply, end: End) -> Result<()> {
    let at = key(context)?;
    let count = lists::push(&mut context.db, &at, end, context.args.get(2..).unwrap_or_default())?;
    reply.integer(length(count));
    Ok(())
}

/// The arguments of calls in a row.
type Calls<'c, 'a> = &'c mut dyn Iterator<Item = &'a [Bytes]>;

fn lpush_row(context: &mut Context, calls: Calls<'_, '_>, reply: &mut Reply, answered: &mut dyn FnMut(usize)) -> Result<()> {
    push_row(context, calls, reply, answered, End::Head)
}

fn rpush_row(context: &mut Context, calls: Calls<'_, '_>, reply: &mut Reply, answered: &mut dyn FnMut(usize)) -> Result<()> {
    push_row(context, calls, reply, answered, End::Tail)
}

fn push_row(context: &mut Context, calls: Calls<'_, '_>, reply: &mut Reply, answered: &mut dyn FnMut(usize), end: End) -> Result<()> {
    let at = key(context)?;
    let pushes = calls.map(|args| args.get(2..).unwrap_or_default());
    lists::push_each(&mut context.db, &at, end, pushes, |count| {
        reply.integer(length(count));
        answered(reply.len());
    })
}

fn lpushx(context: &mut Context, reply: &mut Reply) -> Result<()> {
    push_to_existing(context, reply, End::Head)
}

fn rpushx(context: &mut Context, reply: &mut Reply) -> Result<()> {
    push_to_existing(context, reply, End::Tail)
}

fn push_to_existing(context: &mut Context, reply: &mut Reply, end: End) -> Result<()> {
    let at = key(context)?;
    let count = lists::push_to_existing(&mut context.db, &at, end, context.args.get(2..).unwrap_or_default())?;
    reply.integer(length(count));
    Ok(())
}

fn lpop(context: &mut Context, reply: &mut Reply) -> Result<()> {
    pop(context, reply, End::Head)
}

fn rpop(context: &mut Context, reply: &mut Reply) -> Result<()> {
    pop(context, reply, End::Tail)
}

fn pop(context: &mut Context, reply: &mut Reply, end: End) -> Result<()> {
    let count = match context.args {
        [_, _] => None,
        [_, _, count] => Some(at_least(count, 0, "ERR value is out of range, must be positive")?),
        _ => return Err(wrong_arity(&String::from_utf8_lossy(context.arg(0)).to_ascii_lowercase())),
    };
    let at = key(context)?;
    let popped = lists::pop(&mut context.db, &at, end, count.unwrap_or(1))?;
    match (popped, count) {
        (Some(popped), Some(_)) => write_elements(&popped, reply),
        (None, Some(_)) => reply.null_array(),
        (popped, None) => reply_value(reply, popped.as_deref().and_then(<[Bytes]>::first).map(AsRef::as_ref)),
    }
    Ok(())
}

fn lpop_row(context: &mut Context, calls: Calls<'_, '_>, reply: &mut Reply, answered: &mut dyn FnMut(usize)) -> Result<()> {
    pop_row(context, calls, reply, answered, End::Head)
}

fn rpop_row(context: &mut Context, calls: Calls<'_, '_>, reply: &mut Reply, answered: &mut dyn FnMut(usize)) -> Result<()> {
    pop_row(context, calls, reply, answered, End::Tail)
}

fn pop_row(context: &mut Context, calls: Calls<'_, '_>, reply: &mut Reply, answered: &mut dyn FnMut(usize), end: End) -> Result<()> {
    let mut times = 0;
    for args in calls {
        if args.len() > 2 {
            // Together they could remove more than is committed at once. Nobody sees the error: they are run one by one.
            return Err(Error::client("ERR pops that are told a count are not run as one"));
        }
        times += 1;
    }
    let at = key(context)?;
    lists::pop_each(&mut context.db, &at, end, times, |popped| {
        reply_value(reply, popped.map(AsRef::as_ref));
        answered(reply.len());
    })
}

fn lmpop(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let (keys, end, count) = multiple(context.args.get(1..).unwrap_or_default())?;
    pop_multiple(context, reply, keys, end, count).map(|_| ())
}

/// Reads `numkeys key [key ...] LEFT|RIGHT [COUNT count]`.
pub(super) fn multiple(arguments: &[Bytes]) -> Result<(&[Bytes], End, u64)> {
    let (count, arguments) = arguments.split_first().ok_or(texts::SYNTAX)?;
    let count = at_least(count, 1, "ERR numkeys should be greater than 0")?;
    let key_count = usize::try_from(count).map_err(|_| texts::SYNTAX)?;
    let (keys, options) = arguments.split_at_checked(key_count).ok_or(texts::SYNTAX)?;
    let (end, options) = options.split_first().ok_or(texts::SYNTAX)?;
    let end = end_named(end)?;
    let mut count = None;
    for option in options.chunks(2) {
        match option {
            [word, argument] if is_word(word, "count") && count.is_none() => {
                count = Some(at_least(argument, 1, "ERR count should be greater than 0")?);
            }
            _ => return Err(texts::SYNTAX),
        }
    }
    Ok((keys, end, count.unwrap_or(1)))
}

/// Answers with the list that elements were popped from, and these. False where none of the lists exists.
pub(super) fn pop_multiple(context: &mut Context, reply: &mut Reply, keys: &[Bytes], end: End, count: u64) -> Result<bool> {
    let lists = keys.iter().map(|key| context.db.own_at(key)).collect::<Result<Vec<KeyAt>>>()?;
    let popped = lists::pop_first(&mut context.db, &lists, end, count)?;
    match &popped {
        Some((place, popped)) => {
            reply.array(2);
            reply.bulk(keys.get(*place).map(AsRef::as_ref).unwrap_or_default());
            write_elements(popped, reply);
        }
        None => reply.null_array(),
    }
    Ok(popped.is_some())
}

fn lmove(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let (from, to) = (end_named(context.arg(3))?, end_named(context.arg(4))?);
    transfer(context, reply, from, to)
}

fn rpoplpush(context: &mut Context, reply: &mut Reply) -> Result<()> {
    transfer(context, reply, End::Tail, End::Head)
}

fn transfer(context: &mut Context, reply: &mut Reply, from_end: End, to_end: End) -> Result<()> {
    let (from, to) = (key(context)?, context.db.at(context.arg(2))?);
    let moved = lists::transfer(&mut context.db, (&from, from_end), (&to, to_end))?;
    reply_value(reply, moved.as_deref());
    Ok(())
}

fn llen(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = key(context)?;
    reply.integer(length(lists::len(&mut context.db, &at)?));
    Ok(())
}

fn lindex(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = key(context)?;
    // A missing key and one of another type come before a wrong position.
    let element = if lists::len(&mut context.db, &at)? > 0 {
        let position = integer(context.arg(2))?;
        lists::get(&mut context.db, &at, position)?
    } else {
        None
    };
    reply_value(reply, element.as_deref());
    Ok(())
}

fn lset(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = key(context)?;
    // As in LINDEX.
    if lists::len(&mut context.db, &at)? == 0 {
        return Err(texts::NO_SUCH_KEY);
    }
    let (position, element) = (integer(context.arg(2))?, context.arg(3).clone());
    lists::set(&mut context.db, &at, position, element)?;
    reply.ok();
    Ok(())
}

fn linsert(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let side = match context.arg(2) {
        word if is_word(word, "before") => Side::Before,
        word if is_word(word, "after") => Side::After,
        _ => return Err(texts::SYNTAX),
    };
    let (at, pivot, element) = (key(context)?, context.arg(3).clone(), context.arg(4).clone());
    reply.integer(match lists::insert(&mut context.db, &at, side, &pivot, element)? {
        Insertion::Done(count) => length(count),
        Insertion::NoPivot => -1,
        Insertion::NoList => 0,
    });
    Ok(())
}

fn lrange(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let (start, stop) = (integer(context.arg(2))?, integer(context.arg(3))?);
    let at = key(context)?;
    elements_of(reply, |some| lists::each(&mut context.db, &at, start, stop, some))
}

/// The same of what [goes straight](super::straight).
fn lrange_straight(args: &[Bytes], list: Option<&Head>, reader: &mut CollectionReader<'_, '_>, reply: &mut Reply) -> Result<()> {
    let (start, stop) = (integer(arg(args, 2))?, integer(arg(args, 3))?);
    elements_of(reply, |some| list.map_or(Ok(()), |list| reader.elements(list, lists::ranks(start, stop, list.count), some)))
}

/// Appends the elements that `elements` hands over, some at a time.
fn elements_of(reply: &mut Reply, elements: impl FnOnce(&mut dyn FnMut(Lot<'_, '_, &[u8]>)) -> Result<()>) -> Result<()> {
    let header = reply.deferred();
    let mut visited = 0;
    elements(&mut |some| visited += reply_strings(reply, some, |element| element))?;
    reply.end_array(header, visited);
    Ok(())
}

fn ltrim(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let (start, stop) = (integer(context.arg(2))?, integer(context.arg(3))?);
    let at = key(context)?;
    lists::trim(&mut context.db, &at, start, stop)?;
    reply.ok();
    Ok(())
}

fn lrem(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let count = integer(context.arg(2))?;
    let from = if count < 0 { End::Tail } else { End::Head };
    let (at, element) = (key(context)?, context.arg(3).clone());
    let removed = lists::remove(&mut context.db, &at, &element, from, unlimited_if_zero(count.unsigned_abs()))?;
    reply.integer(length(removed));
    Ok(())
}

fn lpos(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let (wanted, count) = search(context.args.get(3..).unwrap_or_default())?;
    let (at, element) = (key(context)?, context.arg(2).clone());
    let positions = lists::positions(&mut context.db, &at, &element, wanted)?;
    match (count, positions.first()) {
        (Some(_), _) => {
            reply.array(positions.len());
            positions.iter().for_each(|position| reply.integer(length(*position)));
        }
        (None, Some(position)) => reply.integer(length(*position)),
        (None, None) => reply.null(),
    }
    Ok(())
}

/// Reads `[RANK rank] [COUNT count] [MAXLEN max_compared]`. Returns the count apart: without one the reply is no array.
fn search(options: &[Bytes]) -> Result<(Search, Option<u64>)> {
    let mut wanted = Search { max_matches: 1, ..Search::ALL };
    let mut count = None;
    for option in options.chunks(2) {
        match option {
            [word, argument] if is_word(word, "rank") => {
                let rank = rank(argument)?;
                wanted.from = if rank < 0 { End::Tail } else { End::Head };
                wanted.skipped = rank.unsigned_abs().saturating_sub(1);
            }
            [word, argument] if is_word(word, "count") => {
                let number = at_least(argument, 0, "ERR COUNT can't be negative")?;
                wanted.max_matches = unlimited_if_zero(number);
                count = Some(number);
            }
            [word, argument] if is_word(word, "maxlen") => {
                wanted.max_compared = unlimited_if_zero(at_least(argument, 0, "ERR MAXLEN can't be negative")?);
            }
            _ => return Err(texts::SYNTAX),
        }
    }
    Ok((wanted, count))
}

fn rank(argument: &[u8]) -> Result<i64> {
    match integer(argument)? {
        0 => Err(Error::client(
            "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end \
             of the list",
        )),
        i64::MIN => Err(Error::client("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807")),
        rank => Ok(rank),
    }
}

fn key<'t>(context: &Context<'_, 't, '_>) -> Result<Cow<'t, KeyAt>> {
    context.db.at(context.arg(1))
}

/// LEFT or RIGHT.
pub(super) fn end_named(word: &Bytes) -> Result<End> {
    match word {
        word if is_word(word, "left") => Ok(End::Head),
        word if is_word(word, "right") => Ok(End::Tail),
        _ => Err(texts::SYNTAX),
    }
}

/// An integer that is `least` or more; whatever else there is gets the one error text.
fn at_least(argument: &[u8], least: u64, otherwise: &'static str) -> Result<u64> {
    let number = parse_i64(argument).and_then(|number| u64::try_from(number).ok());
    number.filter(|&number| number >= least).ok_or(Error::client(otherwise))
}

const fn unlimited_if_zero(number: u64) -> u64 {
    if number == 0 { u64::MAX } else { number }
}

fn write_elements(elements: &[Bytes], reply: &mut Reply) {
    reply.array(elements.len());
    elements.iter().for_each(|element| reply.bulk(element));
}
