//! The commands on one string that [go straight](crate::command::straight).

use super::numbers;
use super::set::Options;
use crate::command::expiry::{ExpiryOption, Time};
use crate::command::options::integer;
use crate::command::straight::{self, Act, Expires, Fate, NewExpiry, Replies, Straight, arg};
use crate::error::Result;
use crate::layout::straight::Value;
use crate::number::parse_i64;
use crate::resp::reply::Reply;
use crate::types::strings;
use bytes::Bytes;
use std::ops::RangeInclusive;

/// Times to live that come to a time that fits 64 bits, in seconds and in milliseconds, whenever that is for thousands of years.
const TIMES_TO_LIVE: RangeInclusive<i64> = 1..=i64::MAX / 2000;

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
/// What `EXAT` and `PXAT` tell may be past, and does not go straight.
pub(super) const SET_WITH_OPTIONS: Straight = Straight::setting(4, NewExpiry::Told(expiry_of_set), set_with_options).with_options();
pub(super) const SETEX: Straight = Straight::setting(4, NewExpiry::Told(|args| Some(Expires::After(Time::EX, arg(args, 2)))), set_last);
pub(super) const PSETEX: Straight = Straight::setting(4, NewExpiry::Told(|args| Some(Expires::After(Time::PX, arg(args, 2)))), set_last);
pub(super) const MGET: Straight = Straight::showing_strings();
pub(super) const MSET: Straight = Straight::on_strings(1, 2, false, Act::Run(straight::put_last), Replies::Ok);
pub(super) const GETSET: Straight = Straight::setting(3, NewExpiry::Never, |args, value, reply| {
    Act::Show.on(args, value, reply)?;
    straight::put_last(args, value, reply)
});
pub(super) const GETDEL: Straight = Straight::removing_string(|args, value, reply| {
    Act::Show.on(args, value, reply)?;
    Ok(straight::removed(value))
});

/// The time to live that is all that SET is told behind the value, as it is mostly, and the number.
fn lone_time_of_set(args: &[Bytes]) -> Option<(Time, &Bytes)> {
    let [_, _, _, word, number] = args else { return None };
    Time::from_word(word).map(|time| (time, number))
}

fn expiry_of_set(args: &[Bytes]) -> Option<Expires<'_>> {
    if let Some((time, number)) = lone_time_of_set(args) {
        return (!time.absolute).then_some(Expires::After(time, number));
    }
    let options = Options::parse(args).ok().filter(|options| options.expected.is_none())?;
    match options.expiry {
        ExpiryOption::None => Some(Expires::Never),
        ExpiryOption::Word => Some(Expires::AsBefore),
        // What is no time is an error, also where nothing is set.
        ExpiryOption::Time(time, number) if !time.absolute && parse_i64(number).is_some_and(|number| TIMES_TO_LIVE.contains(&number)) => {
            Some(Expires::After(time, number))
        }
        ExpiryOption::Time(..) => None,
    }
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

fn set_with_options<'a>(args: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Fate<'a>> {
    if lone_time_of_set(args).is_some() {
        return set(args, value, reply);
    }
    let Options { condition, get, .. } = Options::parse(args)?;
    let is_set = condition.holds(value.is_some());
    if get {
        Act::Show.on(args, value, reply)?;
    } else if is_set {
        reply.ok();
    } else {
        reply.null();
    }
    Ok(if is_set { Fate::Becomes(Value::Bytes(arg(args, 2))) } else { Fate::Stays })
}

fn set_last<'a>(args: &'a [Bytes], value: Option<Value<'_>>, reply: &mut Reply) -> Result<Fate<'a>> {
    reply.ok();
    straight::put_last(args, value, reply)
}
