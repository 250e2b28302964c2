//! The commands on one field, on several, or on all, that [go straight](crate::command::straight).

use super::{Shown, show};
use crate::command::options::integer;
use crate::command::straight::{self, Act, Fate, Replies, Straight, last};
use crate::error::Result;
use crate::layout::Kind;
use crate::layout::straight::{CollectionReader, Head, Value};
use crate::resp::reply::Reply;
use crate::types::hashes;
use bytes::Bytes;

pub(super) const HGET: Straight = on_field(3, Act::Show);
pub(super) const HEXISTS: Straight = on_field(3, Act::Tell);
pub(super) const HSTRLEN: Straight = on_field(3, Act::Run(straight::value_length));
/// Of one field.
pub(super) const HSET: Straight = on_field(4, Act::Run(hset));
pub(super) const HSET_OF_SEVERAL: Straight = Straight::on_pairs(2, Kind::Hash, Act::Run(straight::put_last), Replies::Changed);
pub(super) const HMSET: Straight = Straight::on_pairs(1, Kind::Hash, Act::Run(straight::put_last), Replies::Ok);
pub(super) const HMGET: Straight = Straight::on_members(1, 1, Kind::Hash, Act::Show, Replies::Each);
pub(super) const HSETNX: Straight = on_field(4, Act::Run(straight::put_new));
pub(super) const HINCRBY: Straight = on_field(4, Act::Run(hincrby));
/// Of one field.
pub(super) const HDEL: Straight = Straight::removing(Kind::Hash);
pub(super) const HDEL_OF_SEVERAL: Straight = Straight::removing_several(Kind::Hash);
pub(super) const HLEN: Straight = Straight::counting(Kind::Hash);
pub(super) const HGETALL: Straight = Straight::showing(2, Kind::Hash, |_, hash, reader, reply| fields(hash, reader, reply, Shown::Both));
pub(super) const HKEYS: Straight = Straight::showing(2, Kind::Hash, |_, hash, reader, reply| fields(hash, reader, reply, Shown::Names));
pub(super) const HVALS: Straight = Straight::showing(2, Kind::Hash, |_, hash, reader, reply| fields(hash, reader, reply, Shown::Values));

const fn on_field(args: usize, act: Act) -> Straight {
    Straight::on_member(args, Kind::Hash, 2, act)
}

fn hset<'a>(args: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Fate<'a>> {
    reply.integer(i64::from(value.is_none()));
    straight::put_last(args, value, reply)
}

fn hincrby<'a>(args: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Fate<'a>> {
    let (increment, mut room) = (integer(last(args))?, itoa::Buffer::new());
    let sum = hashes::sum(value.map(|value| value.bytes(&mut room)), increment)?;
    reply.integer(sum);
    Ok(Fate::Becomes(Value::Number(sum)))
}

fn fields(hash: Option<&Head>, reader: &mut CollectionReader<'_, '_>, reply: &mut Reply, shown: Shown) -> Result<()> {
    show(reply, shown, |some| hash.map_or(Ok(()), |hash| reader.fields(hash, some)))
}
