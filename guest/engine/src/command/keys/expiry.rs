//! When keys expire.

use crate::command::expiry::{Time, Unit};
use crate::command::flags::Flags;
use crate::command::keyspec::KeySpec;
use crate::command::parts::Parts;
use crate::command::straight::Straight;
use crate::command::{Command, Context, Group, Run};
use crate::error::{Error, Result, repeated};
use crate::resp::reply::Reply;
use crate::types::keys::{self, ExpireOnly};
use bytes::Bytes;

/// The rows of this file.
pub const COMMANDS: &[Command] = &[
    Command {
        name: "expire",
        arity: -3,
        flags: Flags::WRITE.and(Flags::FAST),
        keys: KeySpec::FIRST,
        parts: Parts::None,
        group: Group::Generic,
        since: "1.0.0",
        summary: "Lets a key expire after some seconds.",
        subcommands: &[],
        run: Run::data(expire),
    }
    .straight(Straight::expiring(Time::EX)),
    Command {
        name: "expireat",
        arity: -3,
        flags: Flags::WRITE.and(Flags::FAST),
        keys: KeySpec::FIRST,
        parts: Parts::None,
        group: Group::Generic,
        since: "1.2.0",
        summary: "Lets a key expire at a Unix time in seconds.",
        subcommands: &[],
        run: Run::data(expire_at),
    },
    Command {
        name: "expiretime",
        arity: 2,
        flags: Flags::READONLY.and(Flags::FAST),
        keys: KeySpec::FIRST,
        parts: Parts::None,
        group: Group::Generic,
        since: "7.0.0",
        summary: "Tells the Unix time in seconds when a key expires.",
        subcommands: &[],
        run: Run::data(expire_time),
    }
    .straight(Straight::telling(|present, base_ms, reply| {
        reply_expiry(reply, Time::EXAT, present.map(|present| present.expire_at_ms), base_ms)
    })),
    Command {
        name: "persist",
        arity: 2,
        flags: Flags::WRITE.and(Flags::FAST),
        keys: KeySpec::FIRST,
        parts: Parts::None,
        group: Group::Generic,
        since: "2.2.0",
        summary: "Takes a key's expiry away.",
        subcommands: &[],
        run: Run::data(persist),
    }
    .straight(Straight::persisting()),
    Command {
        name: "pexpire",
        arity: -3,
        flags: Flags::WRITE.and(Flags::FAST),
        keys: KeySpec::FIRST,
        parts: Parts::None,
        group: Group::Generic,
        since: "2.6.0",
        summary: "Lets a key expire after some milliseconds.",
        subcommands: &[],
        run: Run::data(pexpire),
    }
    .straight(Straight::expiring(Time::PX)),
    Command {
        name: "pexpireat",
        arity: -3,
        flags: Flags::WRITE.and(Flags::FAST),
        keys: KeySpec::FIRST,
        parts: Parts::None,
        group: Group::Generic,
        since: "2.6.0",
        summary: "Lets a key expire at a Unix time in milliseconds.",
        subcommands: &[],
        run: Run::data(pexpire_at),
    },
    Command {
        name: "pexpiretime",
        arity: 2,
        flags: Flags::READONLY.and(Flags::FAST),
        keys: KeySpec::FIRST,
        parts: Parts::None,
        group: Group::Generic,
        since: "7.0.0",
        summary: "Tells the Unix time in milliseconds when a key expires.",
        subcommands: &[],
        run: Run::data(pexpire_time),
    }
    .straight(Straight::telling(|present, base_ms, reply| {
        reply_expiry(reply, Time::PXAT, present.map(|present| present.expire_at_ms), base_ms)
    })),
    Command {
        name: "pttl",
        arity: 2,
        flags: Flags::READONLY.and(Flags::FAST),
        keys: KeySpec::FIRST,
        parts: Parts::None,
        group: Group::Generic,
        since: "2.6.0",
        summary: "Tells in how many milliseconds a key expires.",
        subcommands: &[],
        run: Run::data(pttl),
    }
    .straight(Straight::telling(|present, base_ms, reply| {
        reply_expiry(reply, Time::PX, present.map(|present| present.expire_at_ms), base_ms)
    })),
    Command {
        name: "ttl",
        arity: 2,
        flags: Flags::READONLY.and(Flags::FAST),
        keys: KeySpec::FIRST,
        parts: Parts::None,
        group: Group::Generic,
        since: "1.0.0",
        summary: "Tells in how many seconds a key expires.",
        subcommands: &[],
        run: Run::data(ttl),
    }
    .straight(Straight::telling(|present, base_ms, reply| {
        reply_expiry(reply, Time::EX, present.map(|present| present.expire_at_ms), base_ms)
    })),
];

fn expire(context: &mut Context, reply: &mut Reply) -> Result<()> {
    set_expiry(context, Time::EX, "expire", reply)
}

fn expire_at(context: &mut Context, reply: &mut Reply) -> Result<()> {
    set_expiry(context, Time::EXAT, "expireat", reply)
}

fn pexpire(context: &mut Context, reply: &mut Reply) -> Result<()> {
    set_expiry(context, Time::PX, "pexpire", reply)
}

fn pexpire_at(context: &mut Context, reply: &mut Reply) -> Result<()> {
    set_expiry(context, Time::PXAT, "pexpireat", reply)
}

fn set_expiry(context: &mut Context, time: Time, command: &str, reply: &mut Reply) -> Result<()> {
    let only = options(context.args.get(3..).unwrap_or_default())?;
    let expire_at_ms = time.at_ms(context.arg(2), context.db.expiry_base_ms(), command)?;
    let at = context.db.at(context.arg(1))?;
    reply.length(keys::expire(&mut context.db, &at, expire_at_ms, only)?);
    Ok(())
}

fn options(words: &[Bytes]) -> Result<ExpireOnly> {
    let mut only = ExpireOnly::default();
    for word in words {
        match word.to_ascii_lowercase().as_slice() {
            b"nx" => only.nx = true,
            b"xx" => only.xx = true,
            b"gt" => only.gt = true,
            b"lt" => only.lt = true,
            _ => return Err(Error::Client(format!("ERR Unsupported option {}", repeated(word, word.len())).into())),
        }
    }
    if only.nx && (only.xx || only.gt || only.lt) {
        return Err(Error::client("ERR NX and XX, GT or LT options at the same time are not compatible"));
    }
    if only.gt && only.lt {
        return Err(Error::client("ERR GT and LT options at the same time are not compatible"));
    }
    Ok(only)
}

fn ttl(context: &mut Context, reply: &mut Reply) -> Result<()> {
    tell_expiry(context, Time::EX, reply)
}

fn pttl(context: &mut Context, reply: &mut Reply) -> Result<()> {
    tell_expiry(context, Time::PX, reply)
}

fn expire_time(context: &mut Context, reply: &mut Reply) -> Result<()> {
    tell_expiry(context, Time::EXAT, reply)
}

fn pexpire_time(context: &mut Context, reply: &mut Reply) -> Result<()> {
    tell_expiry(context, Time::PXAT, reply)
}

fn tell_expiry(context: &mut Context, time: Time, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let expiry = context.db.find(&at)?.map(|meta| meta.expire_at_ms);
    reply_expiry(reply, time, expiry, context.db.expiry_base_ms());
    Ok(())
}

/// -2 where there is no key, -1 where it does not expire. Seconds are rounded, half a second up.
fn reply_expiry(reply: &mut Reply, time: Time, expiry: Option<Option<u64>>, base_ms: u64) {
    reply.integer(match expiry {
        None => -2,
        Some(None) => -1,
        Some(Some(expire_at_ms)) => {
            let ms = if time.absolute { expire_at_ms } else { expire_at_ms.saturating_sub(base_ms) };
            let number = if time.unit == Unit::Seconds { ms.saturating_add(500) / 1000 } else { ms };
            i64::try_from(number).unwrap_or(i64::MAX)
        }
    });
}

fn persist(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    reply.length(keys::persist(&mut context.db, &at)?);
    Ok(())
}
