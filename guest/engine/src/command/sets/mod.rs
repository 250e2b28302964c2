//! Set commands: <https://redis.io/docs/latest/commands/?group=set>

mod algebra;
mod random;
mod straight;

use super::flags::Flags;
use super::keyspec::KeySpec;
use super::options::length;
use super::parts::Parts;
use super::scan;
use super::{Command, Context, Group, reply_strings};
use crate::error::Result;
use crate::layout::lots::Lot;
use crate::resp::reply::Reply;
use crate::scan::Step;
use crate::types::sets;

const READ: Flags = Flags::READONLY;
const FAST_READ: Flags = READ.and(Flags::FAST);
const WRITE: Flags = Flags::WRITE.and(Flags::DENYOOM);
/// Frees memory, so Redis never refuses it for want of any.
const FAST_REMOVAL: Flags = Flags::WRITE.and(Flags::FAST);

const ONE: KeySpec = KeySpec::FIRST;
const TWO: KeySpec = KeySpec::Range { first: 1, last: 2, step: 1 };
const ALL: KeySpec = KeySpec::ALL;
const COUNTED: KeySpec = KeySpec::Counted { count_at: 1, also: 0 };

/// The rows of this group.
pub const COMMANDS: &[Command] = &[
    Group::Set
        .row("sadd", -3, WRITE.and(Flags::FAST), "1.0.0", "Adds members, and returns how many are new.", sadd)
        .naming(Parts::REST)
        .with_keys(ONE)
        .straight(straight::SADD)
        .or_straight(straight::SADD_OF_SEVERAL),
    Group::Set.row("scard", 2, FAST_READ, "1.0.0", "Returns how many members a set has.", scard).with_keys(ONE).straight(straight::SCARD),
    Group::Set.row("sdiff", -2, READ, "1.0.0", "Returns the members of the first set that no other has.", algebra::sdiff).with_keys(ALL),
    Group::Set.row("sdiffstore", -3, WRITE, "1.0.0", "Stores the difference of sets.", algebra::sdiffstore).with_keys(ALL),
    Group::Set.row("sinter", -2, READ, "1.0.0", "Returns the members that all sets have.", algebra::sinter).with_keys(ALL),
    Group::Set
        .row("sintercard", -3, READ.and(Flags::MOVABLEKEYS), "7.0.0", "Counts the members that all sets have.", algebra::sintercard)
        .with_keys(COUNTED),
    Group::Set.row("sinterstore", -3, WRITE, "1.0.0", "Stores the intersection of sets.", algebra::sinterstore).with_keys(ALL),
    Group::Set
        .row("sismember", 3, FAST_READ, "1.0.0", "Tells whether a set has a member.", sismember)
        .naming(Parts::SECOND)
        .with_keys(ONE)
        .straight(straight::SISMEMBER),
    Group::Set.row("smembers", 2, READ, "1.0.0", "Returns all members.", smembers).with_keys(ONE).straight(straight::SMEMBERS),
    Group::Set
        .row("smismember", -3, FAST_READ, "6.2.0", "Tells which of several members a set has.", smismember)
        .naming(Parts::REST)
        .with_keys(ONE)
        .straight(straight::SMISMEMBER),
    Group::Set.row("smove", 4, FAST_REMOVAL, "1.0.0", "Moves a member from one set to another.", smove).with_keys(TWO),
    Group::Set.row("spop", -2, FAST_REMOVAL, "1.0.0", "Removes members drawn at random and returns them.", random::spop).with_keys(ONE),
    Group::Set.row("srandmember", -2, READ, "1.0.0", "Returns members drawn at random.", random::srandmember).with_keys(ONE),
    Group::Set
        .row("srem", -3, FAST_REMOVAL, "1.0.0", "Removes members.", srem)
        .naming(Parts::REST)
        .with_keys(ONE)
        .straight(straight::SREM)
        .or_straight(straight::SREM_OF_SEVERAL),
    Group::Set.row("sscan", -3, READ, "2.8.0", "Iterates over members in steps.", sscan).with_keys(ONE),
    Group::Set.row("sunion", -2, READ, "1.0.0", "Returns the members that any set has.", algebra::sunion).with_keys(ALL),
    Group::Set.row("sunionstore", -3, WRITE, "1.0.0", "Stores the union of sets.", algebra::sunionstore).with_keys(ALL),
];

/// A row of the group.
fn sadd(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let added = sets::add(&mut context.db, &at, context.args.get(2..).unwrap_or_default())?;
    reply.integer(length(added));
    Ok(())
}

fn srem(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let removed = sets::remove(&mut context.db, &at, context.args.get(2..).unwrap_or_default())?;
    reply.integer(length(removed));
    Ok(())
}

fn smove(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let (from, to) = (context.db.at(context.arg(1))?, context.db.at(context.arg(2))?);
    let member = context.arg(3).clone();
    let moved = sets::move_member(&mut context.db, &from, &to, &member)?;
    reply.integer(i64::from(moved));
    Ok(())
}

fn scard(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let count = sets::len(&mut context.db, &at)?;
    reply.integer(length(count));
    Ok(())
}

fn sismember(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let member = context.arg(2).clone();
    reply.integer(i64::from(sets::has(&mut context.db, &at, &member)?));
    Ok(())
}

fn smismember(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let are_members = are_members(context)?;
    reply.array(are_members.len());
    are_members.into_iter().for_each(|is_member| reply.integer(i64::from(is_member)));
    Ok(())
}

/// Whether each of the arguments behind the key is a member.
fn are_members(context: &mut Context) -> Result<Vec<bool>> {
    let at = context.db.at(context.arg(1))?;
    sets::contains(&mut context.db, &at, context.args.get(2..).unwrap_or_default())
}

fn smembers(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    set_of(reply, |some| sets::each(&mut context.db, &at, some))
}

fn sscan(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let cursor = scan::cursor(context.arg(2))?;
    let at = context.db.at(context.arg(1))?;
    // A missing key and one of another type come before wrong options.
    let exists = sets::len(&mut context.db, &at)? > 0;
    let step = if exists {
        let (filter, _) = scan::options(context.args.get(3..), false)?;
        sets::scan(&mut context.db, &mut context.server.scan_positions, &at, cursor, &filter)?
    } else {
        Step::over()
    };
    scan::begin_step(reply, step.cursor);
    reply.array(step.elements.len());
    step.elements.iter().for_each(|member| reply.bulk(member));
    Ok(())
}

/// Appends a set of the members that `members` hands over, some at a time.
fn set_of(reply: &mut Reply, members: impl FnOnce(&mut dyn FnMut(Lot<'_, '_, &[u8]>)) -> Result<()>) -> Result<()> {
    let header = reply.deferred();
    let mut len = 0;
    members(&mut |some| len += reply_strings(reply, some, |member| member))?;
    reply.end_set(header, len);
    Ok(())
}
