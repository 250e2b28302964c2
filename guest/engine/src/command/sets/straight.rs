//! The commands on one member, on several, or on all, that [go straight](crate::command::straight).

use super::set_of;
use crate::command::straight::{Act, Fate, Replies, Straight};
use crate::error::Result;
use crate::layout::Kind;
use crate::layout::straight::{CollectionReader, Head, Value};
use crate::resp::reply::Reply;
use bytes::Bytes;

/// Of one member.
pub(super) const SADD: Straight = Straight::on_member(3, Kind::Set, 2, Act::Run(sadd));
pub(super) const SADD_OF_SEVERAL: Straight =
    Straight::on_members(2, 1, Kind::Set, Act::Run(|_, member, _| Ok(added(member))), Replies::Changed);
/// Of one member.
pub(super) const SREM: Straight = Straight::removing(Kind::Set);
pub(super) const SREM_OF_SEVERAL: Straight = Straight::removing_several(Kind::Set);
pub(super) const SISMEMBER: Straight = Straight::on_member(3, Kind::Set, 2, Act::Tell);
pub(super) const SMISMEMBER: Straight = Straight::on_members(1, 1, Kind::Set, Act::Tell, Replies::Each);
pub(super) const SCARD: Straight = Straight::counting(Kind::Set);
pub(super) const SMEMBERS: Straight = Straight::showing(2, Kind::Set, smembers);

fn sadd<'a>(_: &'a [Bytes], member: Option<Value<'_>>, reply: &mut Reply) -> Result<Fate<'a>> {
    reply.integer(i64::from(member.is_none()));
    Ok(added(member))
}

/// What becomes of a member that is added.
const fn added<'a>(member: Option<Value<'_>>) -> Fate<'a> {
    if member.is_none() { Fate::Becomes(Value::Bytes(&[])) } else { Fate::Stays }
}

fn smembers(_: &[Bytes], set: Option<&Head>, reader: &mut CollectionReader<'_, '_>, reply: &mut Reply) -> Result<()> {
    set_of(reply, |some| set.map_or(Ok(()), |set| reader.members(set, some)))
}
