//! String commands: <https://redis.io/docs/latest/commands/?group=string>.

mod lcs;
mod multiple;
mod numbers;
mod ranges;
mod set;
mod single;
mod straight;

use super::flags::Flags;
use super::keyspec::KeySpec;
use super::{Command, Group, reply_value};

/// The rows of this group.
pub const COMMANDS: &[Command] = &[
    Group::String.row("append", 3, FAST_UPDATE, "2.0.0", "Appends to the string value of a key.", ranges::append),
    Group::String
        .row("decr", 2, FAST_UPDATE, "1.0.0", "Subtracts one from the integer value of a key.", numbers::decr)
        .straight(straight::DECR),
    Group::String
        .row("decrby", 3, FAST_UPDATE, "1.0.0", "Subtracts a number from the integer value of a key.", numbers::decrby)
        .straight(straight::DECRBY),
    Group::String.row("get", 2, FAST_READ, "1.0.0", "Returns the string value of a key.", single::get).straight(straight::GET),
    Group::String
        .row("getdel", 2, FAST_WRITE, "6.2.0", "Returns the string value of a key and removes the key.", single::getdel)
        .straight(straight::GETDEL),
    Group::String.row("getex", -2, FAST_WRITE, "6.2.0", "Returns the string value of a key and sets its expiry.", single::getex),
    Group::String.row("getrange", 4, Flags::READONLY, "2.4.0", "Returns a part of the string value of a key.", ranges::getrange),
    Group::String
        .row("getset", 3, FAST_UPDATE, "1.0.0", "Sets the string value of a key and returns the old one.", set::getset)
        .straight(straight::GETSET),
    Group::String.row("incr", 2, FAST_UPDATE, "1.0.0", "Adds one to the integer value of a key.", numbers::incr).straight(straight::INCR),
    Group::String
        .row("incrby", 3, FAST_UPDATE, "1.0.0", "Adds a number to the integer value of a key.", numbers::incrby)
        .straight(straight::INCRBY),
    Group::String.row("incrbyfloat", 3, FAST_UPDATE, "2.6.0", "Adds a number to the float value of a key.", numbers::incrbyfloat),
    Group::String
        .row("lcs", -3, Flags::READONLY, "7.0.0", "Finds the longest common subsequence of two strings.", lcs::lcs)
        .with_keys(TWO_KEYS),
    Group::String
        .row("mget", -2, FAST_READ, "1.0.0", "Returns the string values of keys.", multiple::mget)
        .with_keys(KeySpec::ALL)
        .straight(straight::MGET),
    Group::String
        .row("mset", -3, UPDATE, "1.0.1", "Sets the string values of keys.", multiple::mset)
        .with_keys(PAIRS)
        .straight(straight::MSET),
    Group::String
        .row("msetnx", -3, UPDATE, "1.0.1", "Sets the string values of keys if none of them is there.", multiple::msetnx)
        .with_keys(PAIRS),
    Group::String
        .row("psetex", 4, UPDATE, "2.6.0", "Sets the string value of a key with an expiry in milliseconds.", set::psetex)
        .straight(straight::PSETEX),
    Group::String
        .row("set", -3, UPDATE, "1.0.0", "Sets the string value of a key.", set::set)
        .straight(straight::SET)
        .or_straight(straight::SET_WITH_OPTIONS),
    Group::String
        .row("setex", 4, UPDATE, "2.0.0", "Sets the string value of a key with an expiry in seconds.", set::setex)
        .straight(straight::SETEX),
    Group::String
        .row("setnx", 3, FAST_UPDATE, "1.0.0", "Sets the string value of a key that is not there.", set::setnx)
        .straight(straight::SETNX),
    Group::String.row("setrange", 4, UPDATE, "2.2.0", "Overwrites a part of the string value of a key.", ranges::setrange),
    Group::String
        .row("strlen", 2, FAST_READ, "2.2.0", "Returns the length of the string value of a key.", ranges::strlen)
        .straight(straight::STRLEN),
    Group::String.row("substr", 4, Flags::READONLY, "1.0.0", "Returns a part of the string value of a key.", ranges::getrange),
];

const FAST_READ: Flags = Flags::READONLY.and(Flags::FAST);
const FAST_WRITE: Flags = Flags::WRITE.and(Flags::FAST);
const UPDATE: Flags = Flags::WRITE.and(Flags::DENYOOM);
const FAST_UPDATE: Flags = UPDATE.and(Flags::FAST);

const TWO_KEYS: KeySpec = KeySpec::Range { first: 1, last: 2, step: 1 };
/// Keys, each with a value behind it.
const PAIRS: KeySpec = KeySpec::Range { first: 1, last: -1, step: 2 };
