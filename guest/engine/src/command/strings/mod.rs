//! String commands: <https://redis.io/docs/latest/commands/?group=string>.

mod lcs;
mod multiple;
mod numbers;
mod ranges;
mod set;
mod single;

use super::flags::Flags;
use super::keyspec::KeySpec;
use super::{Command, Context, Group, Run, reply_value};
use crate::error::Result;
use crate::resp::reply::Reply;

/// The rows of this group.
pub const COMMANDS: &[Command] = &[
    row("append", 3, FAST_UPDATE, KeySpec::FIRST, "2.0.0", "Appends to the string value of a key.", ranges::append),
    row("decr", 2, FAST_UPDATE, KeySpec::FIRST, "1.0.0", "Subtracts one from the integer value of a key.", numbers::decr),
    row("decrby", 3, FAST_UPDATE, KeySpec::FIRST, "1.0.0", "Subtracts a number from the integer value of a key.", numbers::decrby),
    row("get", 2, FAST_READ, KeySpec::FIRST, "1.0.0", "Returns the string value of a key.", single::get),
    row("getdel", 2, FAST_WRITE, KeySpec::FIRST, "6.2.0", "Returns the string value of a key and removes the key.", single::getdel),
    row("getex", -2, FAST_WRITE, KeySpec::FIRST, "6.2.0", "Returns the string value of a key and sets its expiry.", single::getex),
    row("getrange", 4, Flags::READONLY, KeySpec::FIRST, "2.4.0", "Returns a part of the string value of a key.", ranges::getrange),
    row("getset", 3, FAST_UPDATE, KeySpec::FIRST, "1.0.0", "Sets the string value of a key and returns the old one.", set::getset),
    row("incr", 2, FAST_UPDATE, KeySpec::FIRST, "1.0.0", "Adds one to the integer value of a key.", numbers::incr),
    row("incrby", 3, FAST_UPDATE, KeySpec::FIRST, "1.0.0", "Adds a number to the integer value of a key.", numbers::incrby),
    row("incrbyfloat", 3, FAST_UPDATE, KeySpec::FIRST, "2.6.0", "Adds a number to the float value of a key.", numbers::incrbyfloat),
    row("lcs", -3, Flags::READONLY, TWO_KEYS, "7.0.0", "Finds the longest common subsequence of two strings.", lcs::lcs),
    row("mget", -2, FAST_READ, KeySpec::ALL, "1.0.0", "Returns the string values of keys.", multiple::mget),
    row("mset", -3, UPDATE, PAIRS, "1.0.1", "Sets the string values of keys.", multiple::mset),
    row("msetnx", -3, UPDATE, PAIRS, "1.0.1", "Sets the string values of keys if none of them is there.", multiple::msetnx),
    row("psetex", 4, UPDATE, KeySpec::FIRST, "2.6.0", "Sets the string value of a key with an expiry in milliseconds.", set::psetex),
    row("set", -3, UPDATE, KeySpec::FIRST, "1.0.0", "Sets the string value of a key.", set::set),
    row("setex", 4, UPDATE, KeySpec::FIRST, "2.0.0", "Sets the string value of a key with an expiry in seconds.", set::setex),
    row("setnx", 3, FAST_UPDATE, KeySpec::FIRST, "1.0.0", "Sets the string value of a key that is not there.", set::setnx),
    row("setrange", 4, UPDATE, KeySpec::FIRST, "2.2.0", "Overwrites a part of the string value of a key.", ranges::setrange),
    row("strlen", 2, FAST_READ, KeySpec::FIRST, "2.2.0", "Returns the length of the string value of a key.", ranges::strlen),
    row("substr", 4, Flags::READONLY, KeySpec::FIRST, "1.0.0", "Returns a part of the string value of a key.", ranges::getrange),
];

const FAST_READ: Flags = Flags::READONLY.and(Flags::FAST);
const FAST_WRITE: Flags = Flags::WRITE.and(Flags::FAST);
const UPDATE: Flags = Flags::WRITE.and(Flags::DENYOOM);
const FAST_UPDATE: Flags = UPDATE.and(Flags::FAST);

const TWO_KEYS: KeySpec = KeySpec::Range { first: 1, last: 2, step: 1 };
/// Keys, each with a value behind it.
const PAIRS: KeySpec = KeySpec::Range { first: 1, last: -1, step: 2 };

type Handler = fn(&mut Context, &mut Reply) -> Result<()>;

const fn row(
    name: &'static str,
    arity: i32,
    flags: Flags,
    keys: KeySpec,
    since: &'static str,
    summary: &'static str,
    run: Handler,
) -> Command {
    Command { name, arity, flags, keys, group: Group::String, since, summary, subcommands: &[], run: Run::Data(run) }
}
