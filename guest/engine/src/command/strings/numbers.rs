//! INCR, DECR, INCRBY, DECRBY and INCRBYFLOAT.

use crate::command::Context;
use crate::command::options::integer;
use crate::error::{Error, Result};
use crate::resp::reply::Reply;
use crate::types::strings;

pub(super) fn incr(context: &mut Context, reply: &mut Reply) -> Result<()> {
    add(context, reply, 1)
}

pub(super) fn decr(context: &mut Context, reply: &mut Reply) -> Result<()> {
    add(context, reply, -1)
}

pub(super) fn incrby(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let increment = integer(context.arg(2))?;
    add(context, reply, increment)
}

pub(super) fn decrby(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let increment = decrement(context.arg(2))?;
    add(context, reply, increment)
}

/// What DECRBY adds.
pub(super) fn decrement(text: &[u8]) -> Result<i64> {
    integer(text)?.checked_neg().ok_or(Error::client("ERR decrement would overflow"))
}

fn add(context: &mut Context, reply: &mut Reply, increment: i64) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    reply.integer(strings::add(&mut context.db, &at, increment)?);
    Ok(())
}

pub(super) fn incrbyfloat(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let increment = context.arg(2).clone();
    reply.bulk(&strings::add_float(&mut context.db, &at, &increment)?);
    Ok(())
}
