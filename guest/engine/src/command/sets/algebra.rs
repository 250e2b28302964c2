//! Commands on several sets.

use super::set_of;
use crate::command::Context;
use crate::command::options::{integer, is_word, length};
use crate::error::{Error, Result, texts};
use crate::layout::KeyAt;
use crate::layout::lots::Lot;
use crate::resp::reply::Reply;
use crate::types::set_algebra::{self, Members, Operation};
use bytes::Bytes;

pub fn sinter(context: &mut Context, reply: &mut Reply) -> Result<()> {
    show(context, reply, Operation::Intersection)
}

pub fn sunion(context: &mut Context, reply: &mut Reply) -> Result<()> {
    show(context, reply, Operation::Union)
}

pub fn sdiff(context: &mut Context, reply: &mut Reply) -> Result<()> {
    show(context, reply, Operation::Difference)
}

fn show(context: &mut Context, reply: &mut Reply, operation: Operation) -> Result<()> {
    let keys = keys(context, context.args.get(1..).unwrap_or_default())?;
    set_of(reply, |some| {
        let mut members = Members::new(&mut context.db, operation, &keys)?;
        while let Some(next) = members.next(&mut context.db)? {
            some(Lot::Rows(&[&next]));
        }
        Ok(())
    })
}

pub fn sinterstore(context: &mut Context, reply: &mut Reply) -> Result<()> {
    store(context, reply, Operation::Intersection)
}

pub fn sunionstore(context: &mut Context, reply: &mut Reply) -> Result<()> {
    store(context, reply, Operation::Union)
}

pub fn sdiffstore(context: &mut Context, reply: &mut Reply) -> Result<()> {
    store(context, reply, Operation::Difference)
}

fn store(context: &mut Context, reply: &mut Reply, operation: Operation) -> Result<()> {
    let destination = context.db.at(context.arg(1))?;
    let keys = keys(context, context.args.get(2..).unwrap_or_default())?;
    let count = set_algebra::store(&mut context.db, operation, &destination, &keys)?;
    reply.integer(length(count));
    Ok(())
}

/// `SINTERCARD numkeys key [key ...] [LIMIT limit]`; a limit of 0 is none.
pub fn sintercard(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let count = integer(context.arg(1)).ok().filter(|&count| count > 0);
    let count = count.ok_or(Error::client("ERR numkeys should be greater than 0"))?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let arguments = context.args.get(2..).unwrap_or_default();
    let (keys_given, options) =
        arguments.split_at_checked(count).ok_or(Error::client("ERR Number of keys can't be greater than number of args"))?;
    let limit = limit(options)?;
    let keys = keys(context, keys_given)?;
    let count = set_algebra::intersection_len(&mut context.db, &keys, limit)?;
    reply.integer(length(count));
    Ok(())
}

fn limit(options: &[Bytes]) -> Result<u64> {
    let mut limit = 0;
    for option in options.chunks(2) {
        let [word, number] = option else { return Err(texts::SYNTAX) };
        if !is_word(word, "limit") {
            return Err(texts::SYNTAX);
        }
        let number = integer(number).ok().and_then(|number| u64::try_from(number).ok());
        limit = number.ok_or(Error::client("ERR LIMIT can't be negative"))?;
    }
    Ok(if limit == 0 { u64::MAX } else { limit })
}

fn keys(context: &Context, arguments: &[Bytes]) -> Result<Vec<KeyAt>> {
    arguments.iter().map(|key| context.db.own_at(key)).collect()
}
