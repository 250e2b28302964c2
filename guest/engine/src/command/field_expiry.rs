//! Expiries of hash fields: HEXPIRE and its kin of Redis 7.4. <https://redis.io/docs/latest/commands/hexpire/>

use super::expiry::{Time, Unit, invalid};
use super::flags::Flags;
use super::options::{integer, is_word, length};
use super::{Command, Context, Group};
use crate::error::{Error, Result};
use crate::layout::KeyAt;
use crate::number::parse_i64;
use crate::resp::reply::Reply;
use crate::types::hashes;
use crate::types::hashes::expiry::{self, Expired, Expiry};
use crate::types::keys::ExpireOnly;
use bytes::Bytes;

const READ: Flags = Flags::READONLY.and(Flags::FAST);
const WRITE: Flags = Flags::WRITE.and(Flags::FAST);
const GROWING_WRITE: Flags = WRITE.and(Flags::DENYOOM);

/// The rows of this file.
pub const COMMANDS: &[Command] = &[
    Group::Hash.row("hexpire", -6, GROWING_WRITE, "7.4.0", "Lets fields expire after some seconds.", hexpire),
    Group::Hash.row("hexpireat", -6, GROWING_WRITE, "7.4.0", "Lets fields expire at a Unix time in seconds.", hexpireat),
    Group::Hash.row("hexpiretime", -5, READ, "7.4.0", "Tells the Unix times in seconds when fields expire.", hexpiretime),
    Group::Hash.row("hpersist", -5, WRITE, "7.4.0", "Takes the expiries of fields away.", hpersist),
    Group::Hash.row("hpexpire", -6, GROWING_WRITE, "7.4.0", "Lets fields expire after some milliseconds.", hpexpire),
    Group::Hash.row("hpexpireat", -6, GROWING_WRITE, "7.4.0", "Lets fields expire at a Unix time in milliseconds.", hpexpireat),
    Group::Hash.row("hpexpiretime", -5, READ, "7.4.0", "Tells the Unix times in milliseconds when fields expire.", hpexpiretime),
    Group::Hash.row("hpttl", -5, READ, "7.4.0", "Tells in how many milliseconds fields expire.", hpttl),
    Group::Hash.row("httl", -5, READ, "7.4.0", "Tells in how many seconds fields expire.", httl),
];

/// The latest time at which a field may expire, in milliseconds (`HFE_MAX_ABS_TIME_MSEC` in Redis' `t_hash.c`).
const MAX_MS: i64 = (1 << 46) - 1;

/// The answer for a field that is not there.
const NO_FIELD: i64 = -2;
/// The answer for a field without an expiry.
const NO_EXPIRY: i64 = -1;

fn hexpire(context: &mut Context, reply: &mut Reply) -> Result<()> {
    set_expiries(context, Time::EX, "hexpire", reply)
}

fn hexpireat(context: &mut Context, reply: &mut Reply) -> Result<()> {
    set_expiries(context, Time::EXAT, "hexpireat", reply)
}

fn hpexpire(context: &mut Context, reply: &mut Reply) -> Result<()> {
    set_expiries(context, Time::PX, "hpexpire", reply)
}

fn hpexpireat(context: &mut Context, reply: &mut Reply) -> Result<()> {
    set_expiries(context, Time::PXAT, "hpexpireat", reply)
}

/// `key time [NX | XX | GT | LT] FIELDS numfields field [field ...]`; a key of another type comes before wrong arguments
/// (`hexpireGenericCommand` in Redis' `t_hash.c`).
fn set_expiries(context: &mut Context, time: Time, command: &str, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    hashes::check_kind(&mut context.db, &at)?;
    let expire_at_ms = at_ms(time, context.arg(2), context.db.now_ms, command)?;
    let only = condition(context.arg(3));
    let fields_at = if only.is_some() { 4 } else { 3 };
    let fields = fields(context, fields_at, "ERR Parameter `numFields` should be greater than 0")?;
    let expired = expiry::expire(&mut context.db, &at, fields, expire_at_ms, only.unwrap_or_default())?;
    answer(reply, expired, |expired| match expired {
        Expired::NoField => NO_FIELD,
        Expired::NotAllowed => 0,
        Expired::Set => 1,
        Expired::Removed => 2,
    });
    Ok(())
}

/// The Unix time in milliseconds. Other limits hold than for keys, see [`Time::at_ms`].
fn at_ms(time: Time, argument: &[u8], now_ms: u64, command: &str) -> Result<u64> {
    let number = integer(argument)?;
    if number < 0 {
        return Err(Error::client("ERR invalid expire time, must be >= 0"));
    }
    let at = time.to_ms(number, now_ms).filter(|at| i64::try_from(*at).is_ok_and(|at| at <= MAX_MS));
    at.ok_or_else(|| invalid(command))
}

fn condition(word: &Bytes) -> Option<ExpireOnly> {
    let none = ExpireOnly::default();
    let conditions = [
        ("nx", ExpireOnly { nx: true, ..none }),
        ("xx", ExpireOnly { xx: true, ..none }),
        ("gt", ExpireOnly { gt: true, ..none }),
        ("lt", ExpireOnly { lt: true, ..none }),
    ];
    conditions.into_iter().find(|(name, _)| is_word(word, name)).map(|(_, only)| only)
}

/// The fields behind the word FIELDS and their number, which are the last arguments. `no_number` is the error for a number that is
/// none or not positive.
fn fields<'c>(context: &Context<'c, '_, '_>, fields_at: usize, no_number: &'static str) -> Result<&'c [Bytes]> {
    if !is_word(context.arg(fields_at), "fields") {
        return Err(Error::client("ERR Mandatory argument FIELDS is missing or not at the right position"));
    }
    let count = parse_i64(context.arg(fields_at + 1)).filter(|count| *count > 0).ok_or(Error::client(no_number))?;
    let fields = context.args.get(fields_at + 2..).unwrap_or_default();
    if length(fields.len()) != count {
        return Err(Error::client("ERR The `numfields` parameter must match the number of arguments"));
    }
    Ok(fields)
}

fn answer<T: Copy>(reply: &mut Reply, found: Vec<T>, number: impl Fn(T) -> i64) {
    reply.array(found.len());
    found.into_iter().for_each(|found| reply.integer(number(found)));
}

fn httl(context: &mut Context, reply: &mut Reply) -> Result<()> {
    tell_expiries(context, Time::EX, reply)
}

fn hpttl(context: &mut Context, reply: &mut Reply) -> Result<()> {
    tell_expiries(context, Time::PX, reply)
}

fn hexpiretime(context: &mut Context, reply: &mut Reply) -> Result<()> {
    tell_expiries(context, Time::EXAT, reply)
}

fn hpexpiretime(context: &mut Context, reply: &mut Reply) -> Result<()> {
    tell_expiries(context, Time::PXAT, reply)
}

/// `key FIELDS numfields field [field ...]`. Seconds are rounded up, other than those of keys.
fn tell_expiries(context: &mut Context, time: Time, reply: &mut Reply) -> Result<()> {
    let (at, fields) = key_and_fields(context)?;
    let expiries = expiry::expiries(&mut context.db, &at, fields)?;
    let base_ms = if time.absolute { 0 } else { context.db.now_ms };
    answer(reply, expiries, |expiry| match expiry {
        Expiry::NoField => NO_FIELD,
        Expiry::Never => NO_EXPIRY,
        Expiry::AtMs(at) => {
            let ms = at.saturating_sub(base_ms);
            length(if time.unit == Unit::Seconds { ms.div_ceil(1000) } else { ms })
        }
    });
    Ok(())
}

/// The arguments of the commands without a time; a key of another type comes before wrong ones.
fn key_and_fields<'c>(context: &mut Context<'c, '_, '_>) -> Result<(KeyAt, &'c [Bytes])> {
    let at = context.db.own_at(context.arg(1))?;
    hashes::check_kind(&mut context.db, &at)?;
    Ok((at, fields(context, 2, "ERR Number of fields must be a positive integer")?))
}

fn hpersist(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let (at, fields) = key_and_fields(context)?;
    let before = expiry::persist(&mut context.db, &at, fields)?;
    answer(reply, before, |expiry| match expiry {
        Expiry::NoField => NO_FIELD,
        Expiry::Never => NO_EXPIRY,
        Expiry::AtMs(_) => 1,
    });
    Ok(())
}
