//! SPOP and SRANDMEMBER.

use super::set_of;
use crate::command::options::{draw, integer};
use crate::command::{Context, reply_value};
use crate::error::{Error, Result, texts};
use crate::resp::reply::Reply;
use crate::types::draw::Draw;
use crate::types::sets;
use bytes::Bytes;

pub fn spop(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let count = count(context)?.map(|argument| {
        let count = integer(argument).ok().and_then(|count| u64::try_from(count).ok());
        count.ok_or(Error::client("ERR value is out of range, must be positive"))
    });
    let at = context.db.at(context.arg(1))?;
    if let Some(count) = count.transpose()? {
        return set_of(reply, |some| sets::pop(&mut context.db, &at, count, some));
    }
    let mut popped = None;
    sets::pop(&mut context.db, &at, 1, &mut |members| popped = members.rows().first().map(|member| member.to_vec()))?;
    reply_value(reply, popped.as_deref());
    Ok(())
}

pub fn srandmember(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let draw = count(context)?.map(|argument| draw(argument)).transpose()?;
    let at = context.db.at(context.arg(1))?;
    let Some(draw) = draw else {
        let mut drawn = None;
        sets::random(&mut context.db, &at, Draw::Distinct(1), |member| drawn = Some(member.to_vec()))?;
        reply_value(reply, drawn.as_deref());
        return Ok(());
    };
    let header = reply.deferred();
    let mut drawn = 0;
    sets::random(&mut context.db, &at, draw, |member| {
        reply.bulk(member);
        drawn += 1;
    })?;
    reply.end_array(header, drawn);
    Ok(())
}

/// The optional count, which nothing may follow.
fn count<'c>(context: &Context<'c, '_, '_>) -> Result<Option<&'c Bytes>> {
    match context.args {
        [_, _, _, _, ..] => Err(texts::SYNTAX),
        args => Ok(args.get(2)),
    }
}
