//! SLOWLOG: the engine measures no times, so the log is always empty.

use crate::command::help::wrong_subcommand;
use crate::error::{Error, Result};
use crate::number::parse_i64;
use crate::resp::reply::Reply;
use crate::session::Session;
use bytes::Bytes;

pub fn get(_: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    if args.len() > 3 {
        return Err(wrong_subcommand(args));
    }
    if args.get(2).is_some_and(|count| parse_i64(count).is_none_or(|count| count < -1)) {
        return Err(Error::client("ERR count should be greater than or equal to -1"));
    }
    reply.array(0);
    Ok(())
}

pub fn len(_: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    reply.integer(0);
    Ok(())
}

pub fn reset(_: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    reply.ok();
    Ok(())
}
