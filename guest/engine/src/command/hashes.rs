//! Hash commands: <https://redis.io/docs/latest/commands/?group=hash>

mod straight;

use super::flags::Flags;
use super::options::{draw_with, integer, length};
use super::parts::Parts;
use super::scan;
use super::{Command, Context, Group, reply_value};
use crate::error::{Error, Result, texts};
use crate::layout::LentField;
use crate::layout::lots::{Lot, Stored};
use crate::number::LongDouble;
use crate::resp::reply::{Protocol, Reply};
use crate::scan::Step;
use crate::session::wrong_arity;
use crate::types::draw::Draw;
use crate::types::hashes;
use bytes::Bytes;

const READ: Flags = Flags::READONLY;
const FAST_READ: Flags = READ.and(Flags::FAST);
const FAST_WRITE: Flags = Flags::WRITE.and(Flags::DENYOOM).and(Flags::FAST);
/// Frees memory, so Redis never refuses it for want of any.
const FAST_REMOVAL: Flags = Flags::WRITE.and(Flags::FAST);

/// Fields with their values.
const PAIRS: Parts = Parts::Names { first: 2, last: -2, step: 2 };

/// The rows of this file.
pub const COMMANDS: &[Command] = &[
    Group::Hash
        .row("hdel", -3, FAST_REMOVAL, "2.0.0", "Removes fields.", hdel)
        .naming(Parts::REST)
        .straight(straight::HDEL)
        .or_straight(straight::HDEL_OF_SEVERAL),
    Group::Hash
        .row("hexists", 3, FAST_READ, "2.0.0", "Tells whether a field exists.", hexists)
        .naming(Parts::SECOND)
        .straight(straight::HEXISTS),
    Group::Hash.row("hget", 3, FAST_READ, "2.0.0", "Returns the value of a field.", hget).naming(Parts::SECOND).straight(straight::HGET),
    Group::Hash.row("hgetall", 2, READ, "2.0.0", "Returns all fields and values.", hgetall).straight(straight::HGETALL),
    Group::Hash
        .row("hincrby", 4, FAST_WRITE, "2.0.0", "Adds to the integer in a field.", hincrby)
        .naming(Parts::SECOND)
        .straight(straight::HINCRBY),
    Group::Hash
        .row("hincrbyfloat", 4, FAST_WRITE, "2.6.0", "Adds to the floating point number in a field.", hincrbyfloat)
        .naming(Parts::SECOND),
    Group::Hash.row("hkeys", 2, READ, "2.0.0", "Returns all fields.", hkeys).straight(straight::HKEYS),
    Group::Hash.row("hlen", 2, FAST_READ, "2.0.0", "Returns how many fields a hash has.", hlen).straight(straight::HLEN),
    Group::Hash
        .row("hmget", -3, FAST_READ, "2.0.0", "Returns the values of several fields.", hmget)
        .naming(Parts::REST)
        .straight(straight::HMGET),
    Group::Hash.row("hmset", -4, FAST_WRITE, "2.0.0", "Sets several fields.", hmset).naming(PAIRS).straight(straight::HMSET),
    Group::Hash.row("hrandfield", -2, READ, "6.2.0", "Returns fields drawn at random.", hrandfield),
    Group::Hash.row("hscan", -3, READ, "2.8.0", "Iterates over fields and values in steps.", hscan),
    Group::Hash
        .row("hset", -4, FAST_WRITE, "2.0.0", "Sets fields, and returns how many are new.", hset)
        .naming(PAIRS)
        .straight(straight::HSET)
        .or_straight(straight::HSET_OF_SEVERAL),
    Group::Hash
        .row("hsetnx", 4, FAST_WRITE, "2.0.0", "Sets a field that does not exist.", hsetnx)
        .naming(Parts::SECOND)
        .straight(straight::HSETNX),
    Group::Hash
        .row("hstrlen", 3, FAST_READ, "3.2.0", "Returns the length of a field's value.", hstrlen)
        .naming(Parts::SECOND)
        .straight(straight::HSTRLEN),
    Group::Hash.row("hvals", 2, READ, "2.0.0", "Returns all values.", hvals).straight(straight::HVALS),
];

/// A row of the group: every command has its one key in the first place.
fn hset(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let added = set_pairs(context)?;
    reply.integer(length(added));
    Ok(())
}

fn hmset(context: &mut Context, reply: &mut Reply) -> Result<()> {
    set_pairs(context)?;
    reply.ok();
    Ok(())
}

fn set_pairs(context: &mut Context) -> Result<u64> {
    let arguments = context.args.get(2..).unwrap_or_default();
    if arguments.len() % 2 == 1 {
        return Err(wrong_arity(&String::from_utf8_lossy(context.arg(0)).to_ascii_lowercase()));
    }
    let at = context.db.at(context.arg(1))?;
    let (pairs, _) = arguments.as_chunks();
    hashes::set(&mut context.db, &at, pairs.iter().map(|[field, value]| (field, value)))
}

fn hsetnx(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let (field, value) = (context.arg(2).clone(), context.arg(3).clone());
    let is_new = hashes::set_new(&mut context.db, &at, &field, &value)?;
    reply.integer(i64::from(is_new));
    Ok(())
}

fn hdel(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let removed = hashes::remove(&mut context.db, &at, context.args.get(2..).unwrap_or_default())?;
    reply.integer(length(removed));
    Ok(())
}

fn hincrby(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let increment = integer(context.arg(3))?;
    let (at, field) = (context.db.at(context.arg(1))?, context.arg(2).clone());
    reply.integer(hashes::add_integer(&mut context.db, &at, &field, increment)?);
    Ok(())
}

fn hincrbyfloat(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let increment = LongDouble::parse(context.arg(3)).ok_or(texts::NOT_A_FLOAT)?;
    if increment.is_nan() || increment.is_infinite() {
        return Err(Error::client("ERR value is NaN or Infinity"));
    }
    let (at, field) = (context.db.at(context.arg(1))?, context.arg(2).clone());
    reply.bulk(&hashes::add_float(&mut context.db, &at, &field, increment)?);
    Ok(())
}

fn hget(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let value = value(context)?;
    reply_value(reply, value.as_deref());
    Ok(())
}

fn hexists(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let exists = value(context)?.is_some();
    reply.integer(i64::from(exists));
    Ok(())
}

fn hstrlen(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let bytes = value(context)?.map_or(0, |value| value.len());
    reply.integer(length(bytes));
    Ok(())
}

/// The value of the field that the second argument names.
fn value(context: &mut Context) -> Result<Option<Bytes>> {
    let (at, field) = (context.db.at(context.arg(1))?, context.arg(2).clone());
    hashes::get(&mut context.db, &at, &field)
}

fn hmget(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let values = hashes::get_many(&mut context.db, &at, context.args.get(2..).unwrap_or_default())?;
    reply.array(values.len());
    values.iter().for_each(|value| reply_value(reply, value.as_deref()));
    Ok(())
}

fn hlen(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let count = hashes::len(&mut context.db, &at)?;
    reply.integer(length(count));
    Ok(())
}

fn hgetall(context: &mut Context, reply: &mut Reply) -> Result<()> {
    each(context, reply, Shown::Both)
}

fn hkeys(context: &mut Context, reply: &mut Reply) -> Result<()> {
    each(context, reply, Shown::Names)
}

fn hvals(context: &mut Context, reply: &mut Reply) -> Result<()> {
    each(context, reply, Shown::Values)
}

/// What a command shows of each field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Names,
    Values,
    Both,
}

/// Appends the whole hash.
fn each(context: &mut Context, reply: &mut Reply, shown: Shown) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    show(reply, shown, |some| hashes::each_field(&mut context.db, &at, some))
}

/// Appends the fields that `fields` hands over, some at a time.
fn show(reply: &mut Reply, shown: Shown, fields: impl FnOnce(&mut dyn FnMut(Lot<'_, '_, LentField<'_>>)) -> Result<()>) -> Result<()> {
    let header = reply.deferred();
    let mut visited = 0;
    fields(&mut |some| {
        visited += match some {
            Lot::Stored(fields) => reply_stored(reply, fields, shown),
            Lot::Rows(fields) => {
                match shown {
                    Shown::Names => reply.bulks(fields, |field| [field.name]),
                    Shown::Values => reply.bulks(fields, |field| [field.value]),
                    Shown::Both => reply.bulks(fields, |field| [field.name, field.value]),
                }
                fields.len()
            }
        };
    })?;
    if shown == Shown::Both {
        reply.end_map(header, visited);
    } else {
        reply.end_array(header, visited);
    }
    Ok(())
}

fn reply_stored(reply: &mut Reply, fields: &mut Stored<'_>, shown: Shown) -> usize {
    let with_names = match shown {
        // Room would be made for the values, which may be much longer.
        Shown::Names => return 0,
        Shown::Values => false,
        Shown::Both => true,
    };
    let strings = if with_names { fields.most() * 2 } else { fields.most() };
    reply.lying_bulks(strings, fields.bytes(), |bulks| fields.take_fields(with_names, bulks))
}

fn hrandfield(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let Some(argument) = context.args.get(2) else {
        let mut drawn = None;
        hashes::random(&mut context.db, &at, Draw::Distinct(1), |field, _| drawn = Some(field.clone()))?;
        reply_value(reply, drawn.as_deref());
        return Ok(());
    };
    let (draw, with_values) = draw_with(argument, context.args.get(3..).unwrap_or_default(), "withvalues")?;
    let in_pairs = with_values && reply.protocol() == Protocol::Resp3;
    let header = reply.deferred();
    let mut drawn = 0;
    hashes::random(&mut context.db, &at, draw, |field, value| {
        if in_pairs {
            reply.array(2);
        }
        reply.bulk(field);
        if with_values {
            reply.bulk(value);
        }
        drawn += 1;
    })?;
    reply.end_array(header, if with_values && !in_pairs { drawn * 2 } else { drawn });
    Ok(())
}

fn hscan(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let cursor = scan::cursor(context.arg(2))?;
    let at = context.db.at(context.arg(1))?;
    // A missing key and one of another type come before wrong options.
    let exists = hashes::len(&mut context.db, &at)? > 0;
    let step = if exists {
        let (filter, _) = scan::options(context.args.get(3..), false)?;
        hashes::scan(&mut context.db, &mut context.server.scan_positions, &at, cursor, &filter)?
    } else {
        Step::over()
    };
    scan::begin_step(reply, step.cursor);
    reply.array(step.elements.len() * 2);
    for (field, value) in &step.elements {
        reply.bulk(field);
        reply.bulk(value);
    }
    Ok(())
}
