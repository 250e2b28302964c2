//! The commands on one field that [go straight](crate::command::straight).

use crate::command::options::integer;
use crate::command::straight::{self, Fate, Straight, StraightHandler, last};
use crate::error::Result;
use crate::layout::Kind;
use crate::layout::straight::Value;
use crate::resp::reply::Reply;
use crate::types::hashes;
use bytes::Bytes;

pub(super) const HGET: Straight = on_field(3, straight::value);
pub(super) const HEXISTS: Straight = on_field(3, straight::is_there);
pub(super) const HSTRLEN: Straight = on_field(3, straight::value_length);
/// Of one field.
pub(super) const HSET: Straight = on_field(4, hset);
pub(super) const HSETNX: Straight = on_field(4, straight::put_new);
pub(super) const HINCRBY: Straight = on_field(4, hincrby);
/// Of one field.
pub(super) const HDEL: Straight = Straight::removing(Kind::Hash);

const fn on_field(args: usize, run: StraightHandler) -> Straight {
    Straight::on_member(args, Kind::Hash, 2, run)
}

fn hset<'a>(args: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Fate<'a>> {
    reply.integer(i64::from(value.is_none()));
    Ok(Fate::Becomes(Value::Bytes(last(args))))
}

fn hincrby<'a>(args: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Fate<'a>> {
    let (increment, mut room) = (integer(last(args))?, itoa::Buffer::new());
    let sum = hashes::sum(value.map(|value| value.bytes(&mut room)), increment)?;
    reply.integer(sum);
    Ok(Fate::Becomes(Value::Number(sum)))
}
