//! SET and the commands that it has taken over: SETNX, SETEX, PSETEX, GETSET.

use super::reply_value;
use crate::command::Context;
use crate::command::expiry::{ExpiryOption, Time};
use crate::command::options::is_word;
use crate::command::pika::reply_comparison;
use crate::error::{Result, texts};
use crate::resp::reply::Reply;
use crate::types::strings::{self, Condition, Expiry};
use bytes::Bytes;

/// What SET is told behind the value.
pub(super) struct Options<'a> {
    pub condition: Condition,
    pub get: bool,
    pub expiry: ExpiryOption<'a>,
    /// The value to compare with: an option of Pika.
    pub expected: Option<&'a Bytes>,
}

impl<'a> Options<'a> {
    pub fn parse(args: &'a [Bytes]) -> Result<Self> {
        let mut options = Self { condition: Condition::Always, get: false, expiry: ExpiryOption::None, expected: None };
        let mut words = args.iter().skip(3);
        while let Some(word) = words.next() {
            if is_word(word, "nx") && options.condition != Condition::IfPresent {
                options.condition = Condition::IfAbsent;
            } else if is_word(word, "xx") && options.condition != Condition::IfAbsent {
                options.condition = Condition::IfPresent;
            } else if is_word(word, "get") {
                options.get = true;
            } else if is_word(word, "vx") {
                options.expected = Some(words.next().ok_or(texts::SYNTAX)?);
            } else {
                options.expiry.read("keepttl", word, &mut words)?;
            }
        }
        if options.expected.is_some() && (options.get || options.condition != Condition::Always) {
            return Err(texts::SYNTAX);
        }
        Ok(options)
    }
}

pub(super) fn set(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let options = Options::parse(context.args)?;
    let expiry = match options.expiry {
        ExpiryOption::None => Expiry::Never,
        ExpiryOption::Word => Expiry::Keep,
        ExpiryOption::Time(time, number) => Expiry::At(time.positive_at_ms(number, context.db.expiry_base_ms(), "set")?),
    };
    let at = context.db.at(context.arg(1))?;
    let value = context.arg(2).clone();
    if let Some(expected) = options.expected {
        let comparison = strings::compare_and_set(&mut context.db, &at, expected, value, expiry)?;
        reply_comparison(reply, comparison);
    } else if options.get {
        let old = strings::get_and_set(&mut context.db, &at, value, options.condition, expiry)?;
        reply_value(reply, old.as_deref());
    } else if strings::set(&mut context.db, &at, value, options.condition, expiry)? {
        reply.ok();
    } else {
        reply.null();
    }
    Ok(())
}

pub(super) fn setnx(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let value = context.arg(2).clone();
    let is_set = strings::set(&mut context.db, &at, value, Condition::IfAbsent, Expiry::Never)?;
    reply.integer(i64::from(is_set));
    Ok(())
}

pub(super) fn setex(context: &mut Context, reply: &mut Reply) -> Result<()> {
    set_with_expiry(context, reply, Time::EX, "setex")
}

pub(super) fn psetex(context: &mut Context, reply: &mut Reply) -> Result<()> {
    set_with_expiry(context, reply, Time::PX, "psetex")
}

fn set_with_expiry(context: &mut Context, reply: &mut Reply, time: Time, command: &str) -> Result<()> {
    let expiry = Expiry::At(time.positive_at_ms(context.arg(2), context.db.expiry_base_ms(), command)?);
    let at = context.db.at(context.arg(1))?;
    let value = context.arg(3).clone();
    strings::set(&mut context.db, &at, value, Condition::Always, expiry)?;
    reply.ok();
    Ok(())
}

pub(super) fn getset(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let value = context.arg(2).clone();
    let old = strings::get_and_set(&mut context.db, &at, value, Condition::Always, Expiry::Never)?;
    reply_value(reply, old.as_deref());
    Ok(())
}
