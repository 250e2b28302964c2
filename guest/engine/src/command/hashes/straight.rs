//! The commands on one field that [go straight](crate::command::straight).

use crate::command::options::{integer, length};
use crate::command::reply_value;
use crate::command::straight::{Straight, StraightHandler, arg};
use crate::error::Result;
use crate::layout::Kind;
use crate::layout::straight::Value;
use crate::resp::reply::Reply;
use crate::types::hashes;
use bytes::Bytes;

pub(super) const HGET: Straight = on_field(3, hget);
pub(super) const HEXISTS: Straight = on_field(3, hexists);
pub(super) const HSTRLEN: Straight = on_field(3, hstrlen);
/// Of one field.
pub(super) const HSET: Straight = on_field(4, hset);
pub(super) const HSETNX: Straight = on_field(4, hsetnx);
pub(super) const HINCRBY: Straight = on_field(4, hincrby);

const fn on_field(args: usize, run: StraightHandler) -> Straight {
    Straight::on_member(args, Kind::Hash, 2, run)
}

fn hget<'a>(_: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Option<Value<'a>>> {
    let mut room = itoa::Buffer::new();
    reply_value(reply, value.map(|value| value.bytes(&mut room)));
    Ok(None)
}

fn hexists<'a>(_: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Option<Value<'a>>> {
    reply.integer(i64::from(value.is_some()));
    Ok(None)
}

fn hstrlen<'a>(_: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Option<Value<'a>>> {
    let mut room = itoa::Buffer::new();
    reply.integer(length(value.map_or(0, |value| value.bytes(&mut room).len())));
    Ok(None)
}

fn hset<'a>(args: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Option<Value<'a>>> {
    reply.integer(i64::from(value.is_none()));
    Ok(Some(Value::Bytes(arg(args, 3))))
}

fn hsetnx<'a>(args: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Option<Value<'a>>> {
    reply.integer(i64::from(value.is_none()));
    Ok(value.is_none().then(|| Value::Bytes(arg(args, 3))))
}

fn hincrby<'a>(args: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Option<Value<'a>>> {
    let (increment, mut room) = (integer(arg(args, 3))?, itoa::Buffer::new());
    let sum = hashes::sum(value.map(|value| value.bytes(&mut room)), increment)?;
    reply.integer(sum);
    Ok(Some(Value::Number(sum)))
}
