//! MGET, MSET and MSETNX.

use super::reply_value;
use crate::command::Context;
use crate::error::Result;
use crate::resp::reply::Reply;
use crate::session::wrong_arity;
use crate::types::strings::{self, Condition, Expiry};
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
    set_pairs(context, pairs(context.args, "mset")?)?;
    reply.ok();
    Ok(())
}

pub(super) fn msetnx(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let pairs = pairs(context.args, "msetnx")?;
    for [key, _] in pairs {
        let at = context.db.at(key)?;
        if context.db.find(&at)?.is_some() {
            reply.integer(0);
            return Ok(());
        }
    }
    set_pairs(context, pairs)?;
    reply.integer(1);
    Ok(())
}

/// Keys, each with its value.
fn pairs<'a>(args: &'a [Bytes], command: &str) -> Result<&'a [[Bytes; 2]]> {
    match args.get(1..).unwrap_or_default().as_chunks() {
        (pairs, []) => Ok(pairs),
        _ => Err(wrong_arity(command)),
    }
}

fn set_pairs(context: &mut Context, pairs: &[[Bytes; 2]]) -> Result<()> {
    for [key, value] in pairs {
        let at = context.db.at(key)?;
        strings::set(&mut context.db, &at, value.clone(), Condition::Always, Expiry::Never)?;
    }
    Ok(())
}
