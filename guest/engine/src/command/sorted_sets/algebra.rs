//! Unions, intersections and differences.

use super::{Shape, at_least};
use crate::command::Context;
use crate::command::options::{integer, is_word, length};
use crate::error::{Error, Result, texts};
use crate::number::parse_double;
use crate::resp::reply::Reply;
use crate::types::sorted_sets::algebra::{self, Aggregate, Source};
use crate::types::sorted_sets::{self, Member};
use bytes::Bytes;

const WEIGHT_NOT_A_FLOAT: Error = Error::client("ERR weight value is not a float");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Union,
    Intersection,
    Difference,
}

/// The arguments behind the keys.
#[derive(Clone, Copy, Debug, Default)]
struct Options {
    aggregate: Aggregate,
    with_scores: bool,
}

pub(super) fn zunion(context: &mut Context, reply: &mut Reply) -> Result<()> {
    show(context, reply, Operation::Union)
}

pub(super) fn zinter(context: &mut Context, reply: &mut Reply) -> Result<()> {
    show(context, reply, Operation::Intersection)
}

pub(super) fn zdiff(context: &mut Context, reply: &mut Reply) -> Result<()> {
    show(context, reply, Operation::Difference)
}

pub(super) fn zunionstore(context: &mut Context, reply: &mut Reply) -> Result<()> {
    store(context, reply, Operation::Union)
}

pub(super) fn zinterstore(context: &mut Context, reply: &mut Reply) -> Result<()> {
    store(context, reply, Operation::Intersection)
}

pub(super) fn zdiffstore(context: &mut Context, reply: &mut Reply) -> Result<()> {
    store(context, reply, Operation::Difference)
}

pub(super) fn zintercard(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let (sources, options) = sources(context, 1)?;
    let mut limit = 0;
    for option in options.chunks(2) {
        match option {
            [word, number] if is_word(word, "limit") => limit = at_least(0, number, "ERR LIMIT can't be negative")?,
            _ => return Err(texts::SYNTAX),
        }
    }
    let limit = if limit == 0 { u64::MAX } else { limit };
    reply.integer(length(algebra::intersection_len(&mut context.db, &sources, limit)?));
    Ok(())
}

fn show(context: &mut Context, reply: &mut Reply, operation: Operation) -> Result<()> {
    let (members, with_scores) = members(context, 1, operation, true)?;
    Shape::of(reply, with_scores).append_all(reply, &members);
    Ok(())
}

fn store(context: &mut Context, reply: &mut Reply, operation: Operation) -> Result<()> {
    let (members, _) = members(context, 2, operation, false)?;
    let destination = context.db.at(context.arg(1))?;
    let event = match operation {
        Operation::Union => "zunionstore",
        Operation::Intersection => "zinterstore",
        Operation::Difference => "zdiffstore",
    };
    sorted_sets::replace(&mut context.db, &destination, &members, event)?;
    reply.integer(length(members.len()));
    Ok(())
}

/// The result of the operation whose number of keys is at `count_at`, and whether its scores are asked for.
fn members(context: &mut Context, count_at: usize, operation: Operation, may_show: bool) -> Result<(Vec<Member>, bool)> {
    let (mut sources, options) = sources(context, count_at)?;
    let Options { aggregate, with_scores } = options_of(options, &mut sources, operation, may_show)?;
    let db = &mut context.db;
    let members = match operation {
        Operation::Union => algebra::union(db, &sources, aggregate)?,
        Operation::Intersection => algebra::intersection(db, &sources, aggregate)?,
        Operation::Difference => algebra::difference(db, &sources)?,
    };
    Ok((members, with_scores))
}

/// Reads `numkeys key [key ...]`, looks the keys up, and returns the arguments behind them. A wrong type comes before wrong options,
/// as in Redis.
fn sources<'c>(context: &mut Context<'c, '_, '_>, count_at: usize) -> Result<(Vec<Source>, &'c [Bytes])> {
    let count = integer(context.arg(count_at))?;
    if count < 1 {
        let name = String::from_utf8_lossy(context.arg(0)).to_ascii_lowercase();
        return Err(Error::Client(format!("ERR at least 1 input key is needed for '{name}' command").into()));
    }
    let behind = context.args.get(count_at + 1..).unwrap_or_default();
    let (keys, options) = usize::try_from(count).ok().and_then(|count| behind.split_at_checked(count)).ok_or(texts::SYNTAX)?;
    let find = |key| {
        let at = context.db.own_at(key)?;
        Source::find(&mut context.db, at)
    };
    Ok((keys.iter().map(find).collect::<Result<_>>()?, options))
}

/// Reads `[WEIGHTS weight ...] [AGGREGATE SUM|MIN|MAX] [WITHSCORES]`, and gives the sources their weights.
fn options_of(mut rest: &[Bytes], sources: &mut [Source], operation: Operation, may_show: bool) -> Result<Options> {
    let mut options = Options::default();
    let may_weigh = operation != Operation::Difference;
    while let Some((word, behind)) = rest.split_first() {
        rest = if may_weigh && is_word(word, "weights") {
            let (weights, behind) = behind.split_at_checked(sources.len()).ok_or(texts::SYNTAX)?;
            for (source, weight) in sources.iter_mut().zip(weights) {
                source.weight = parse_double(weight).ok_or(WEIGHT_NOT_A_FLOAT)?;
            }
            behind
        } else if may_weigh && is_word(word, "aggregate") {
            let (name, behind) = behind.split_first().ok_or(texts::SYNTAX)?;
            let named = [("sum", Aggregate::Sum), ("min", Aggregate::Min), ("max", Aggregate::Max)];
            let found = named.into_iter().find(|(own, _)| is_word(name, own));
            options.aggregate = found.ok_or(texts::SYNTAX)?.1;
            behind
        } else if may_show && is_word(word, "withscores") {
            options.with_scores = true;
            behind
        } else {
            return Err(texts::SYNTAX);
        };
    }
    Ok(options)
}
