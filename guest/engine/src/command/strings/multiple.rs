//! MGET, MSET and MSETNX.

use super::reply_value;
use crate::command::Context;
use crate::error::Result;
use crate::layout::KeyAt;
use crate::resp::reply::Reply;
use crate::session::wrong_arity;
use crate::types::strings::{self, Condition};
use bytes::Bytes;

pub(super) fn mget(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let keys = context.args.get(1..).unwrap_or_default();
    reply.array(keys.len());
    for key in keys {
        let at = context.db.at(key)?;
        reply_value(reply, strings::get_if_string(&mut context.db, &at)?.as_deref());
    }
    Ok(())
}

pub(super) fn mset(context: &mut Context, reply: &mut Reply) -> Result<()> {
    set_pairs(context, "mset", Condition::Always)?;
    reply.ok();
    Ok(())
}

pub(super) fn msetnx(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let is_set = set_pairs(context, "msetnx", Condition::IfAbsent)?;
    reply.integer(i64::from(is_set));
    Ok(())
}

fn set_pairs(context: &mut Context, command: &str, condition: Condition) -> Result<bool> {
    let (pairs, []) = context.args.get(1..).unwrap_or_default().as_chunks() else { return Err(wrong_arity(command)) };
    let place = |[key, value]: &[Bytes; 2]| Ok((context.db.own_at(key)?, value.clone()));
    let pairs = pairs.iter().map(place).collect::<Result<Vec<(KeyAt, Bytes)>>>()?;
    strings::set_many(&mut context.db, &pairs, condition)
}
