//! The commands on one member, or on several, that [go straight](crate::command::straight).

use super::{adding, reply_score};
use crate::command::straight::{Act, Fate, Replies, Straight, arg};
use crate::error::Result;
use crate::layout::Kind;
use crate::layout::straight::Value;
use crate::resp::reply::Reply;
use crate::types::sorted_sets;
use bytes::Bytes;

/// Of one member, without options.
pub(super) const ZADD: Straight = Straight::on_member(4, Kind::SortedSet, 3, Act::Run(zadd));
/// The same of several members.
pub(super) const ZADD_OF_SEVERAL: Straight = Straight::on_members(2, 2, Kind::SortedSet, Act::Run(zadd_part), Replies::Changed)
    .where_meant(|part| adding::lone_score(arg(part, 0)).is_ok());
pub(super) const ZINCRBY: Straight = Straight::on_member(4, Kind::SortedSet, 3, Act::Run(zincrby));
/// Of one member.
pub(super) const ZREM: Straight = Straight::removing(Kind::SortedSet);
pub(super) const ZREM_OF_SEVERAL: Straight = Straight::removing_several(Kind::SortedSet);
pub(super) const ZCARD: Straight = Straight::counting(Kind::SortedSet);
pub(super) const ZSCORE: Straight = Straight::on_member(3, Kind::SortedSet, 2, Act::Run(zscore));

pub(super) const ZMSCORE: Straight = Straight::on_members(1, 1, Kind::SortedSet, Act::Run(zscore), Replies::Each);

/// What becomes of a score: it stays where it is equal to the new one.
fn changed<'a>(score: Option<f64>, new: f64) -> Fate<'a> {
    if score == Some(new) { Fate::Stays } else { Fate::Becomes(Value::Score(new)) }
}

fn zadd<'a>(args: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Fate<'a>> {
    let new = adding::lone_score(arg(args, 2))?;
    reply.integer(i64::from(value.is_none()));
    Ok(changed(value.and_then(Value::score), new))
}

/// Of the arguments of one member, replies nothing.
fn zadd_part<'a>(args: &'a [Bytes], value: Option<Value<'_>>, _: &mut Reply) -> Result<Fate<'a>> {
    Ok(changed(value.and_then(Value::score), adding::lone_score(arg(args, 0))?))
}

fn zincrby<'a>(args: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Fate<'a>> {
    let score = value.and_then(Value::score);
    let sum = sorted_sets::sum(score, adding::lone_score(arg(args, 2))?)?;
    reply_score(reply, Some(sum));
    Ok(changed(score, sum))
}

fn zscore<'a>(_: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Fate<'a>> {
    reply_score(reply, value.and_then(Value::score));
    Ok(Fate::Stays)
}
