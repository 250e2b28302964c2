//! `HyperLogLog` commands: <https://redis.io/docs/latest/commands/?group=hyperloglog>

use super::flags::Flags;
use super::keyspec::KeySpec;
use super::{Command, Context, Group, Run};
use crate::error::Result;
use crate::layout::KeyAt;
use crate::resp::reply::Reply;
use crate::types::hyperloglog;

const WRITE: Flags = Flags::WRITE.and(Flags::DENYOOM);

/// The rows of this group.
pub const COMMANDS: &[Command] = &[
    row("pfadd", -2, WRITE.and(Flags::FAST), KeySpec::FIRST, "Adds elements to a HyperLogLog.", pfadd),
    row(
        "pfcount",
        -2,
        Flags::READONLY.and(Flags::KEEPS_RESULT),
        KeySpec::ALL,
        "Estimates how many distinct elements HyperLogLogs have.",
        pfcount,
    ),
    row("pfmerge", -2, WRITE, KeySpec::ALL, "Adds all of several HyperLogLogs to one.", pfmerge),
];

type Handler = fn(&mut Context, &mut Reply) -> Result<()>;

/// A row of the group: it came as a whole.
const fn row(name: &'static str, arity: i32, flags: Flags, keys: KeySpec, summary: &'static str, run: Handler) -> Command {
    Command::without_keys(Group::HyperLogLog, name, arity, flags, "2.8.9", summary, Run::data(run)).with_keys(keys)
}

fn pfadd(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let is_changed = hyperloglog::add(&mut context.db, &at, context.args.get(2..).unwrap_or_default())?;
    reply.integer(i64::from(is_changed));
    Ok(())
}

fn pfcount(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let count = match keys(context)?.as_slice() {
        [at] => hyperloglog::count(&mut context.db, at)?,
        several => hyperloglog::count_union(&mut context.db, several)?,
    };
    // As Redis: an estimate beyond all numbers is negative.
    reply.integer(count.cast_signed());
    Ok(())
}

fn pfmerge(context: &mut Context, reply: &mut Reply) -> Result<()> {
    if let Some((target, sources)) = keys(context)?.split_first() {
        hyperloglog::merge(&mut context.db, target, sources)?;
    }
    reply.ok();
    Ok(())
}

/// Where all the arguments' keys are.
fn keys(context: &Context) -> Result<Vec<KeyAt>> {
    context.args.iter().skip(1).map(|key| context.db.own_at(key)).collect()
}
