//! DUMP and RESTORE: values as payloads that Redis reads and writes as well.

use crate::command::flags::Flags;
use crate::command::keyspec::KeySpec;
use crate::command::options::{integer, is_word};
use crate::command::parts::Parts;
use crate::command::{Command, Context, Group, Run};
use crate::error::{Error, Result, texts};
use crate::events::Classes;
use crate::rdb;
use crate::resp::reply::Reply;
use crate::types::payloads;
use bytes::Bytes;

/// The rows of this file.
pub const COMMANDS: &[Command] = &[
    Command {
        name: "dump",
        arity: 2,
        flags: Flags::READONLY,
        keys: KeySpec::FIRST,
        parts: Parts::None,
        group: Group::Generic,
        since: "2.6.0",
        summary: "Returns the value of a key as a payload for RESTORE.",
        subcommands: &[],
        run: Run::data(dump),
    },
    Command {
        name: "restore",
        arity: -4,
        flags: Flags::WRITE.and(Flags::DENYOOM),
        keys: KeySpec::FIRST,
        parts: Parts::None,
        group: Group::Generic,
        since: "2.6.0",
        summary: "Creates a key from a payload of DUMP.",
        subcommands: &[],
        run: Run::data(restore),
    },
];

const BUSY_KEY: Error = Error::client("BUSYKEY Target key name already exists.");

fn dump(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    match context.db.find(&at)? {
        Some(meta) => reply.bulk_with(|out| payloads::dump(&mut context.db, &at, &meta, out)),
        None => {
            reply.null();
            Ok(())
        }
    }
}

fn restore(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let options = Options::parse(context.args.get(4..).unwrap_or_default())?;
    let at = context.db.at(context.arg(1))?;
    if !options.replace && context.db.find(&at)?.is_some() {
        return Err(BUSY_KEY);
    }
    let ttl = u64::try_from(integer(context.arg(2))?).map_err(|_| Error::client("ERR Invalid TTL value, must be >= 0"))?;
    let value = rdb::decode(context.arg(3), context.db.max_string_bytes)?;
    let replaced = context.db.find_all(&at)?;
    for old in &replaced {
        // Redis tells of it only where nothing follows.
        context.db.write(&at, Some(old), None)?;
    }
    let now_ms = context.db.expiry_base_ms();
    let expire_at_ms = (ttl > 0).then(|| if options.absolute { ttl } else { ttl.saturating_add(now_ms) });
    // What has expired already is not created; with REPLACE it still takes the place of what was there. A time beyond 64 bits with a sign
    // is one of the past to Redis.
    let is_ahead = |at_ms: u64| at_ms > now_ms && i64::try_from(at_ms).is_ok();
    if expire_at_ms.is_none_or(is_ahead) {
        payloads::restore(&mut context.db, &at, value, expire_at_ms)?;
    } else if !replaced.is_empty() {
        context.db.notify(Classes::GENERIC, "del", &at);
    }
    reply.ok();
    Ok(())
}

/// What RESTORE is told behind the payload. IDLETIME and FREQ are checked and not kept: nothing is evicted by them.
#[derive(Default)]
struct Options {
    replace: bool,
    absolute: bool,
}

impl Options {
    fn parse(words: &[Bytes]) -> Result<Self> {
        let mut options = Self::default();
        let (mut has_idle_time, mut has_frequency) = (false, false);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if is_word(word, "replace") {
                options.replace = true;
            } else if is_word(word, "absttl") {
                options.absolute = true;
            } else if is_word(word, "idletime") && !has_frequency {
                has_idle_time = true;
                if integer(words.next().ok_or(texts::SYNTAX)?)? < 0 {
                    return Err(Error::client("ERR Invalid IDLETIME value, must be >= 0"));
                }
            } else if is_word(word, "freq") && !has_idle_time {
                has_frequency = true;
                if !(0..=255).contains(&integer(words.next().ok_or(texts::SYNTAX)?)?) {
                    return Err(Error::client("ERR Invalid FREQ value, must be >= 0 and <= 255"));
                }
            } else {
                return Err(texts::SYNTAX);
            }
        }
        Ok(options)
    }
}
