//! Parts and lengths of strings: APPEND, GETRANGE (SUBSTR), SETRANGE, STRLEN.

use crate::command::Context;
use crate::command::options::{integer, length};
use crate::error::{Error, Result};
use crate::resp::reply::Reply;
use crate::types::strings;

pub(super) fn append(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let tail = context.arg(2).clone();
    reply.integer(length(strings::append(&mut context.db, &at, &tail)?));
    Ok(())
}

/// Also SUBSTR, its name before Redis 2.4.
pub(super) fn getrange(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let (start, end) = (integer(context.arg(2))?, integer(context.arg(3))?);
    let at = context.db.at(context.arg(1))?;
    let value = strings::get(&mut context.db, &at)?.unwrap_or_default();
    reply.bulk(&strings::range(&value, start, end));
    Ok(())
}

pub(super) fn setrange(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let offset = integer(context.arg(2))?;
    let offset = u64::try_from(offset).map_err(|_| Error::client("ERR offset is out of range"))?;
    let at = context.db.at(context.arg(1))?;
    let patch = context.arg(3).clone();
    reply.integer(length(strings::set_range(&mut context.db, &at, offset, &patch)?));
    Ok(())
}

pub(super) fn strlen(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let value = strings::get(&mut context.db, &at)?.unwrap_or_default();
    reply.integer(length(value.len()));
    Ok(())
}
