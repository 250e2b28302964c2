//! The commands on one string that [go straight](crate::command::straight).

use super::numbers;
use crate::command::expiry::Time;
use crate::command::options::integer;
use crate::command::straight::{self, Act, Fate, NewExpiry, Straight, StraightHandler, TimeOf, arg, last};
use crate::error::Result;
use crate::layout::straight::Value;
use crate::resp::reply::Reply;
use crate::types::strings;
use bytes::Bytes;

pub(super) const GET: Straight = Straight::on_string(2, Act::Show);
pub(super) const STRLEN: Straight = Straight::on_string(2, Act::Run(straight::value_length));
pub(super) const INCR: Straight = Straight::on_string(2, Act::Run(|_, value, reply| add(value, 1, reply)));
pub(super) const DECR: Straight = Straight::on_string(2, Act::Run(|_, value, reply| add(value, -1, reply)));
pub(super) const INCRBY: Straight = Straight::on_string(3, Act::Run(|args, value, reply| add(value, integer(arg(args, 2))?, reply)));
pub(super) const DECRBY: Straight =
    Straight::on_string(3, Act::Run(|args, value, reply| add(value, numbers::decrement(arg(args, 2))?, reply)));
pub(super) const SETNX: Straight = Straight::on_string(3, Act::Run(straight::put_new));
/// Without options.
pub(super) const SET: Straight = Straight::setting(3, NewExpiry::Never, set);
/// With `EX` or `PX` alone. What `EXAT` and `PXAT` tell may be past.
pub(super) const SET_EXPIRING: Straight = setting_expiring(5, time_of_set, set);
pub(super) const SETEX: Straight = setting_expiring(4, |args| Some((Time::EX, arg(args, 2))), set_last);
pub(super) const PSETEX: Straight = setting_expiring(4, |args| Some((Time::PX, arg(args, 2))), set_last);
pub(super) const GETSET: Straight = Straight::setting(3, NewExpiry::Never, |args, value, reply| {
    Act::Show.on(args, value, reply)?;
    Ok(Fate::Becomes(Value::Bytes(last(args))))
});
pub(super) const GETDEL: Straight = Straight::removing_string(|args, value, reply| {
    Act::Show.on(args, value, reply)?;
    Ok(if value.is_some() { Fate::Goes } else { Fate::Stays })
});

const fn setting_expiring(args: usize, after: TimeOf, run: StraightHandler) -> Straight {
    Straight::setting(args, NewExpiry::After(after), run)
}

fn time_of_set(args: &[Bytes]) -> Option<(Time, &Bytes)> {
    let time = Time::from_word(arg(args, 3)).filter(|time| !time.absolute)?;
    Some((time, arg(args, 4)))
}

fn add<'a>(value: Option<Value<'_>>, increment: i64, reply: &mut Reply) -> Result<Fate<'a>> {
    let mut room = itoa::Buffer::new();
    let sum = strings::sum(value.map(|value| value.bytes(&mut room)), increment)?;
    reply.integer(sum);
    Ok(Fate::Becomes(Value::Number(sum)))
}

fn set<'a>(args: &'a [Bytes], _: Option<Value<'_>>, reply: &mut Reply) -> Result<Fate<'a>> {
    reply.ok();
    Ok(Fate::Becomes(Value::Bytes(arg(args, 2))))
}

fn set_last<'a>(args: &'a [Bytes], _: Option<Value<'_>>, reply: &mut Reply) -> Result<Fate<'a>> {
    reply.ok();
    Ok(Fate::Becomes(Value::Bytes(last(args))))
}
