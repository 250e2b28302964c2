//! Bitmap commands: <https://redis.io/docs/latest/commands/?group=bitmap>

use super::flags::Flags;
use super::keyspec::KeySpec;
use super::options::{integer, is_word, length};
use super::{Command, Context, Group};
use crate::db::Db;
use crate::error::{Error, Result, texts};
use crate::number::parse_i64;
use crate::resp::reply::Reply;
use crate::types::bitmaps::fields::{self, Action, Field, Overflow};
use crate::types::bitmaps::{self, OFFSET_OUT_OF_RANGE, Operation, Range, Unit};
use crate::types::strings;
use bytes::Bytes;

const READ: Flags = Flags::READONLY;
const FAST_READ: Flags = READ.and(Flags::FAST);
const WRITE: Flags = Flags::WRITE.and(Flags::DENYOOM);
/// The operation comes before the keys.
const BEHIND_THE_OPERATION: KeySpec = KeySpec::Range { first: 2, last: -1, step: 1 };

const NOT_A_BIT: Error = Error::client("ERR bit is not an integer or out of range");
const NOT_ONE_SOURCE: Error = Error::client("ERR BITOP NOT must be called with a single source key.");
const NOT_ZERO_OR_ONE: Error = Error::client("ERR The bit argument must be 1 or 0.");
const NO_FIELD_TYPE: Error =
    Error::client("ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.");
const NO_OVERFLOW: Error = Error::client("ERR Invalid OVERFLOW type specified");
const ONLY_GET: Error = Error::client("ERR BITFIELD_RO only supports the GET subcommand");

/// The rows of this group.
pub const COMMANDS: &[Command] = &[
    Group::Bitmap.row("bitcount", -2, READ, "2.6.0", "Counts the bits of a string that are set.", bitcount),
    Group::Bitmap.row("bitfield", -2, WRITE, "3.2.0", "Reads and changes integers of any width in a string.", bitfield),
    Group::Bitmap.row("bitfield_ro", -2, FAST_READ, "6.0.0", "Reads integers of any width in a string.", bitfield_ro),
    Group::Bitmap
        .row("bitop", -4, WRITE, "2.6.0", "Combines strings bit by bit and stores the result.", bitop)
        .with_keys(BEHIND_THE_OPERATION),
    Group::Bitmap.row("bitpos", -3, READ, "2.8.7", "Finds the first bit of a string that is set or clear.", bitpos),
    Group::Bitmap.row("getbit", 3, FAST_READ, "2.2.0", "Returns a bit of a string.", getbit),
    Group::Bitmap.row("setbit", 4, WRITE, "2.2.0", "Sets or clears a bit of a string.", setbit),
];

fn getbit(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let offset = bit_offset(&context.db, context.arg(2))?;
    let at = context.db.at(context.arg(1))?;
    reply.integer(i64::from(bitmaps::get(&mut context.db, &at, offset)?));
    Ok(())
}

fn setbit(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let offset = bit_offset(&context.db, context.arg(2))?;
    let bit = match parse_i64(context.arg(3)) {
        Some(0) => false,
        Some(1) => true,
        _ => return Err(NOT_A_BIT),
    };
    let at = context.db.at(context.arg(1))?;
    reply.integer(i64::from(bitmaps::set(&mut context.db, &at, offset, bit)?));
    Ok(())
}

fn bit_offset(db: &Db, argument: &[u8]) -> Result<u64> {
    bitmaps::offset(db, parse_i64(argument).ok_or(OFFSET_OUT_OF_RANGE)?)
}

fn bitcount(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    // A missing key and one of another type come before wrong arguments.
    let Some(value) = strings::get(&mut context.db, &at)? else {
        reply.integer(0);
        return Ok(());
    };
    let range = match context.args.get(2..).unwrap_or_default() {
        [] => Range::ALL,
        [start, end] => Range { start: integer(start)?, end: integer(end)?, unit: Unit::Byte },
        [start, end, unit] => {
            let range = Range { start: integer(start)?, end: integer(end)?, unit: Unit::Byte };
            // Nothing is in it whatever the unit: Redis does not look at that.
            if range.is_backwards() { range } else { Range { unit: read_unit(unit)?, ..range } }
        }
        _ => return Err(texts::SYNTAX),
    };
    reply.integer(length(bitmaps::count(&value, range)));
    Ok(())
}

/// Reads `BYTE` or `BIT`.
fn read_unit(word: &Bytes) -> Result<Unit> {
    match word {
        word if is_word(word, "bit") => Ok(Unit::Bit),
        word if is_word(word, "byte") => Ok(Unit::Byte),
        _ => Err(texts::SYNTAX),
    }
}

fn bitpos(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let bit = match integer(context.arg(2))? {
        0 => false,
        1 => true,
        _ => return Err(NOT_ZERO_OR_ONE),
    };
    let at = context.db.at(context.arg(1))?;
    let Some(value) = strings::get(&mut context.db, &at)? else {
        // No key is an endless row of zeros.
        reply.integer(if bit { -1 } else { 0 });
        return Ok(());
    };
    // Without an end, the string counts as followed by zeros.
    let (range, padded) = match context.args.get(3..).unwrap_or_default() {
        [] => (Range::ALL, true),
        [start] => (Range { start: integer(start)?, ..Range::ALL }, true),
        [start, end] => (Range { start: integer(start)?, end: integer(end)?, unit: Unit::Byte }, false),
        [start, end, unit] => {
            // The end comes last.
            let (start, unit) = (integer(start)?, read_unit(unit)?);
            (Range { start, end: integer(end)?, unit }, false)
        }
        _ => return Err(texts::SYNTAX),
    };
    reply.integer(bitmaps::position(&value, bit, range, padded).map_or(-1, length));
    Ok(())
}

fn bitop(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let word = context.arg(1);
    let operations = [("and", Operation::And), ("or", Operation::Or), ("xor", Operation::Xor), ("not", Operation::Not)];
    let operation = operations.into_iter().find(|(name, _)| is_word(word, name)).map(|(_, operation)| operation);
    let operation = operation.ok_or(texts::SYNTAX)?;
    let sources = context.args.get(3..).unwrap_or_default();
    if operation == Operation::Not && sources.len() != 1 {
        return Err(NOT_ONE_SOURCE);
    }
    let target = context.db.at(context.arg(2))?;
    let sources = sources.iter().map(|key| context.db.own_at(key)).collect::<Result<Vec<_>>>()?;
    reply.integer(length(bitmaps::combine(&mut context.db, operation, &target, &sources)?));
    Ok(())
}

fn bitfield(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let actions = actions(context)?;
    perform(context, &actions, reply)
}

fn bitfield_ro(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let actions = actions(context)?;
    if actions.iter().any(|(_, action)| *action != Action::Get) {
        return Err(ONLY_GET);
    }
    perform(context, &actions, reply)
}

fn perform(context: &mut Context, actions: &[(Field, Action)], reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let results = fields::perform(&mut context.db, &at, actions)?;
    reply.array(results.len());
    for result in results {
        match result {
            Some(number) => reply.integer(number),
            None => reply.null(),
        }
    }
    Ok(())
}

/// Reads `GET type offset`, `SET type offset value`, `INCRBY type offset increment` and `OVERFLOW`, which holds for what follows it.
fn actions(context: &Context) -> Result<Vec<(Field, Action)>> {
    let mut actions = Vec::new();
    let mut overflow = Overflow::default();
    let mut words = context.args.get(2..).unwrap_or_default();
    loop {
        words = match words {
            [] => return Ok(actions),
            [word, kind, offset, rest @ ..] if is_word(word, "get") => {
                actions.push((field(&context.db, kind, offset)?, Action::Get));
                rest
            }
            [word, kind, offset, number, rest @ ..] if is_word(word, "set") => {
                actions.push((field(&context.db, kind, offset)?, Action::Set(integer(number)?, overflow)));
                rest
            }
            [word, kind, offset, number, rest @ ..] if is_word(word, "incrby") => {
                actions.push((field(&context.db, kind, offset)?, Action::Add(integer(number)?, overflow)));
                rest
            }
            [word, name, rest @ ..] if is_word(word, "overflow") => {
                let names = [("wrap", Overflow::Wrap), ("sat", Overflow::Saturate), ("fail", Overflow::Fail)];
                overflow = names.into_iter().find(|(known, _)| is_word(name, known)).ok_or(NO_OVERFLOW)?.1;
                rest
            }
            _ => return Err(texts::SYNTAX),
        };
    }
}

/// Reads a type such as `u8` and an offset in bits, or with `#` in fields of that width.
fn field(db: &Db, kind: &Bytes, offset: &Bytes) -> Result<Field> {
    let (signed, max_bits, digits) = match kind.as_ref() {
        [b'i', digits @ ..] => (true, 64, digits),
        [b'u', digits @ ..] => (false, 63, digits),
        _ => return Err(NO_FIELD_TYPE),
    };
    // Redis reads the type as a C string.
    let digits = digits.split(|&byte| byte == 0).next().unwrap_or_default();
    let bits = parse_i64(digits).and_then(|bits| u8::try_from(bits).ok()).filter(|bits| (1..=max_bits).contains(bits));
    let bits = bits.ok_or(NO_FIELD_TYPE)?;
    let offset = match offset.strip_prefix(b"#") {
        // A product beyond 64 bits wraps in Redis, too.
        Some(number) => parse_i64(number).map(|number| number.wrapping_mul(bits.into())),
        None => parse_i64(offset),
    };
    Ok(Field { offset: bitmaps::offset(db, offset.ok_or(OFFSET_OUT_OF_RANGE)?)?, bits, signed })
}
