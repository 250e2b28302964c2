//! The commands on one member, or on all, that [go straight](crate::command::straight).

use super::set_of;
use crate::command::straight::{Act, Fate, Straight};
use crate::error::Result;
use crate::layout::Kind;
use crate::layout::straight::{CollectionReader, Head, Value};
use crate::resp::reply::Reply;
use bytes::Bytes;

/// Of one member.
pub(super) const SADD: Straight = Straight::on_member(3, Kind::Set, 2, Act::Run(sadd));
/// Of one member.
pub(super) const SREM: Straight = Straight::removing(Kind::Set);
pub(super) const SISMEMBER: Straight = Straight::on_member(3, Kind::Set, 2, Act::Tell);
pub(super) const SCARD: Straight = Straight::counting(Kind::Set);
pub(super) const SMEMBERS: Straight = Straight::showing(2, Kind::Set, smembers);

fn sadd<'a>(_: &'a [Bytes], member: Option<Value<'_>>, reply: &mut Reply) -> Result<Fate<'a>> {
    reply.integer(i64::from(member.is_none()));
    Ok(if member.is_none() { Fate::Becomes(Value::Bytes(&[])) } else { Fate::Stays })
}

fn smembers(_: &[Bytes], set: Option<&Head>, reader: &mut CollectionReader<'_, '_>, reply: &mut Reply) -> Result<()> {
    set_of(reply, |some| set.map_or(Ok(()), |set| reader.members(set, some)))
}
