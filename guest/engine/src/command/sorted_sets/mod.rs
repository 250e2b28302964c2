//! Sorted set commands: <https://redis.io/docs/latest/commands/?group=sorted-set>

mod adding;
mod algebra;
mod bounds;
mod members;
mod popping;
mod ranges;
mod straight;

pub(super) use popping::{multiple, pop_multiple};

use super::flags::Flags;
use super::keyspec::KeySpec;
use super::parts::Parts;
use super::straight::Straight;
use super::{Command, Group};
use crate::error::{Error, Result};
use crate::number::parse_i64;
use crate::resp::reply::{Protocol, Reply};
use crate::store::Direction;
use crate::types::sorted_sets::Member;

const READ: Flags = Flags::READONLY;
const FAST_READ: Flags = READ.and(Flags::FAST);
const FAST_WRITE: Flags = Flags::WRITE.and(Flags::DENYOOM).and(Flags::FAST);
/// Frees memory, so Redis never refuses it for want of any.
const REMOVAL: Flags = Flags::WRITE;
const FAST_REMOVAL: Flags = REMOVAL.and(Flags::FAST);
const READ_OF_MANY: Flags = READ.and(Flags::MOVABLEKEYS);
const STORE: Flags = Flags::WRITE.and(Flags::DENYOOM);
const STORE_OF_MANY: Flags = STORE.and(Flags::MOVABLEKEYS);

/// Keys behind their number.
const KEYS: KeySpec = KeySpec::Counted { count_at: 1, also: 0 };
/// The key of the result, and keys behind their number.
const DESTINATION_AND_KEYS: KeySpec = KeySpec::Counted { count_at: 2, also: 1 };
/// The key of the result and the one that is read.
const DESTINATION_AND_KEY: KeySpec = KeySpec::Range { first: 1, last: 2, step: 1 };

/// Members behind their scores.
const PAIRS: Parts = Parts::Names { first: 3, last: -1, step: 2 };

/// The rows of this group.
pub const COMMANDS: &[Command] = &[
    Group::SortedSet
        .row("zadd", -4, FAST_WRITE, "1.2.0", "Adds members, or changes their scores.", adding::zadd)
        .naming(PAIRS)
        .in_rows(adding::zadd_row)
        .straight(straight::ZADD)
        .or_straight(straight::ZADD_OF_SEVERAL),
    Group::SortedSet
        .row("zcard", 2, FAST_READ, "1.2.0", "Returns how many members a sorted set has.", members::zcard)
        .straight(straight::ZCARD),
    Group::SortedSet.row("zcount", 4, FAST_READ, "2.0.0", "Returns how many members have scores in a range.", ranges::zcount),
    Group::SortedSet.row("zdiff", -3, READ_OF_MANY, "6.2.0", "Returns the difference of sorted sets.", algebra::zdiff).with_keys(KEYS),
    Group::SortedSet
        .row("zdiffstore", -4, STORE_OF_MANY, "6.2.0", "Stores the difference of sorted sets.", algebra::zdiffstore)
        .with_keys(DESTINATION_AND_KEYS),
    Group::SortedSet
        .row("zincrby", 4, FAST_WRITE, "1.2.0", "Adds to the score of a member.", adding::zincrby)
        .naming(Parts::Names { first: 3, last: 3, step: 1 })
        .in_rows(adding::zincrby_row)
        .straight(straight::ZINCRBY),
    Group::SortedSet.row("zinter", -3, READ_OF_MANY, "6.2.0", "Returns the intersection of sorted sets.", algebra::zinter).with_keys(KEYS),
    Group::SortedSet
        .row("zintercard", -3, READ_OF_MANY, "7.0.0", "Returns how many members several sorted sets have in common.", algebra::zintercard)
        .with_keys(KEYS),
    Group::SortedSet
        .row("zinterstore", -4, STORE_OF_MANY, "2.0.0", "Stores the intersection of sorted sets.", algebra::zinterstore)
        .with_keys(DESTINATION_AND_KEYS),
    Group::SortedSet.row("zlexcount", 4, FAST_READ, "2.8.9", "Returns how many members are between two in byte order.", ranges::zlexcount),
    Group::SortedSet
        .row(
            "zmpop",
            -4,
            REMOVAL.and(Flags::MOVABLEKEYS),
            "7.0.0",
            "Removes members from an end of the first sorted set that has any.",
            popping::zmpop,
        )
        .with_keys(KEYS),
    Group::SortedSet
        .row("zmscore", -3, FAST_READ, "6.2.0", "Returns the scores of several members.", members::zmscore)
        .naming(Parts::REST)
        .straight(straight::ZMSCORE),
    Group::SortedSet.row(
        "zpopmax",
        -2,
        FAST_REMOVAL,
        "5.0.0",
        "Removes and returns the members with the highest scores.",
        popping::zpopmax,
    ),
    Group::SortedSet.row("zpopmin", -2, FAST_REMOVAL, "5.0.0", "Removes and returns the members with the lowest scores.", popping::zpopmin),
    Group::SortedSet.row("zrandmember", -2, READ, "6.2.0", "Returns members drawn at random.", members::zrandmember),
    Group::SortedSet.row("zrange", -4, READ, "1.2.0", "Returns the members of a range.", ranges::zrange).straight(ranges::ZRANGE),
    Group::SortedSet.row("zrangebylex", -4, READ, "2.8.9", "Returns the members between two in byte order.", ranges::zrangebylex),
    Group::SortedSet
        .row("zrangebyscore", -4, READ, "1.0.5", "Returns the members with scores in a range.", ranges::zrangebyscore)
        .straight(ranges::ZRANGEBYSCORE),
    Group::SortedSet
        .row("zrangestore", -5, STORE, "6.2.0", "Stores the members of a range.", ranges::zrangestore)
        .with_keys(DESTINATION_AND_KEY),
    Group::SortedSet
        .row("zrank", -3, FAST_READ, "2.0.0", "Returns the rank of a member, from the lowest score.", members::zrank)
        .naming(Parts::SECOND)
        .straight(Straight::ranking(Direction::Forward)),
    Group::SortedSet
        .row("zrem", -3, FAST_REMOVAL, "1.2.0", "Removes members.", members::zrem)
        .naming(Parts::REST)
        .straight(straight::ZREM)
        .or_straight(straight::ZREM_OF_SEVERAL),
    Group::SortedSet.row("zremrangebylex", 4, REMOVAL, "2.8.9", "Removes the members between two in byte order.", ranges::zremrangebylex),
    Group::SortedSet.row("zremrangebyrank", 4, REMOVAL, "2.0.0", "Removes the members with ranks in a range.", ranges::zremrangebyrank),
    Group::SortedSet.row("zremrangebyscore", 4, REMOVAL, "1.2.0", "Removes the members with scores in a range.", ranges::zremrangebyscore),
    Group::SortedSet
        .row("zrevrange", -4, READ, "1.2.0", "Returns members by rank, from the highest score downwards.", ranges::zrevrange)
        .straight(ranges::ZREVRANGE),
    Group::SortedSet.row(
        "zrevrangebylex",
        -4,
        READ,
        "2.8.9",
        "Returns the members between two in reverse byte order.",
        ranges::zrevrangebylex,
    ),
    Group::SortedSet
        .row("zrevrangebyscore", -4, READ, "2.2.0", "Returns the members with scores in a range, downwards.", ranges::zrevrangebyscore)
        .straight(ranges::ZREVRANGEBYSCORE),
    Group::SortedSet
        .row("zrevrank", -3, FAST_READ, "2.0.0", "Returns the rank of a member, from the highest score.", members::zrevrank)
        .naming(Parts::SECOND)
        .straight(Straight::ranking(Direction::Reverse)),
    Group::SortedSet.row("zscan", -3, READ, "2.8.0", "Iterates over members and scores in steps.", members::zscan),
    Group::SortedSet
        .row("zscore", 3, FAST_READ, "1.2.0", "Returns the score of a member.", members::zscore)
        .naming(Parts::SECOND)
        .straight(straight::ZSCORE),
    Group::SortedSet.row("zunion", -3, READ_OF_MANY, "6.2.0", "Returns the union of sorted sets.", algebra::zunion).with_keys(KEYS),
    Group::SortedSet
        .row("zunionstore", -4, STORE_OF_MANY, "2.0.0", "Stores the union of sorted sets.", algebra::zunionstore)
        .with_keys(DESTINATION_AND_KEYS),
];

/// A number of at least `least`.
///
/// # Errors
/// The error with that text for what is no 64-bit integer, or less.
fn at_least(least: u64, argument: &[u8], text: &'static str) -> Result<u64> {
    let number = parse_i64(argument).and_then(|number| u64::try_from(number).ok());
    number.filter(|&number| number >= least).ok_or(Error::client(text))
}

/// The shape of members with their scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Members without scores.
    Members,
    /// Member, score, member, score.
    Flat,
    /// A pair for each member.
    Pairs,
}

impl Shape {
    /// With scores RESP3 has pairs, RESP2 a flat array.
    fn of(reply: &Reply, with_scores: bool) -> Self {
        match reply.protocol() {
            _ if !with_scores => Self::Members,
            Protocol::Resp2 => Self::Flat,
            Protocol::Resp3 => Self::Pairs,
        }
    }

    /// How many elements the array of `members` members has.
    fn len(self, members: usize) -> usize {
        if self == Self::Flat { members.saturating_mul(2) } else { members }
    }

    fn append(self, reply: &mut Reply, member: &[u8], score: f64) {
        if self == Self::Pairs {
            reply.array(2);
        }
        reply.bulk(member);
        if self != Self::Members {
            reply.double(score);
        }
    }

    /// The whole array.
    fn append_all(self, reply: &mut Reply, members: &[Member]) {
        reply.array(self.len(members.len()));
        members.iter().for_each(|(member, score)| self.append(reply, member, *score));
    }
}

/// Appends a score, or that there is none.
fn reply_score(reply: &mut Reply, score: Option<f64>) {
    match score {
        Some(score) => reply.double(score),
        None => reply.null(),
    }
}
