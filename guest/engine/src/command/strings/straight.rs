//! The commands on one string that [go straight](crate::command::straight).

use super::reply_value;
use crate::command::options::{integer, length};
use crate::command::straight::{NewString, Straight, StraightHandler};
use crate::error::Result;
use crate::resp::reply::Reply;
use crate::types::strings;
use bytes::Bytes;

pub(super) const GET: Straight = keeping_expiry(2, get);
pub(super) const STRLEN: Straight = keeping_expiry(2, strlen);
pub(super) const INCR: Straight = keeping_expiry(2, |_, value, reply| add(value, 1, reply));
pub(super) const DECR: Straight = keeping_expiry(2, |_, value, reply| add(value, -1, reply));
pub(super) const INCRBY: Straight = keeping_expiry(3, |args, value, reply| add(value, integer(arg(args, 2))?, reply));
pub(super) const DECRBY: Straight = keeping_expiry(3, |args, value, reply| add(value, super::numbers::decrement(arg(args, 2))?, reply));
pub(super) const SETNX: Straight = keeping_expiry(3, setnx);
/// Without options.
pub(super) const SET: Straight = Straight { args: 3, ends_expiry: true, run: set };

const fn keeping_expiry(args: usize, run: StraightHandler) -> Straight {
    Straight { args, ends_expiry: false, run }
}

fn arg(args: &[Bytes], position: usize) -> &Bytes {
    static EMPTY: Bytes = Bytes::new();
    args.get(position).unwrap_or(&EMPTY)
}

fn get<'a>(_: &'a [Bytes], value: Option<&[u8]>, reply: &mut Reply) -> Result<Option<NewString<'a>>> {
    reply_value(reply, value);
    Ok(None)
}

fn strlen<'a>(_: &'a [Bytes], value: Option<&[u8]>, reply: &mut Reply) -> Result<Option<NewString<'a>>> {
    reply.integer(length(value.map_or(0, <[u8]>::len)));
    Ok(None)
}

fn add<'a>(value: Option<&[u8]>, increment: i64, reply: &mut Reply) -> Result<Option<NewString<'a>>> {
    let sum = strings::sum(value, increment)?;
    reply.integer(sum);
    Ok(Some(NewString::Number(sum)))
}

fn set<'a>(args: &'a [Bytes], _: Option<&[u8]>, reply: &mut Reply) -> Result<Option<NewString<'a>>> {
    reply.ok();
    Ok(Some(NewString::Lent(arg(args, 2))))
}

fn setnx<'a>(args: &'a [Bytes], value: Option<&[u8]>, reply: &mut Reply) -> Result<Option<NewString<'a>>> {
    reply.integer(i64::from(value.is_none()));
    Ok(value.is_none().then(|| NewString::Lent(arg(args, 2))))
}
