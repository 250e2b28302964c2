//! Commands on ranges: by rank, by score, by member.

use super::{Shape, bounds};
use crate::command::options::{integer, is_word, length};
use crate::command::straight::Straight;
use crate::command::{Context, reply_strings};
use crate::error::{Error, Result, texts};
use crate::layout::straight::{CollectionReader, Head};
use crate::layout::{Cut, Kind};
use crate::resp::reply::Reply;
use crate::store::Direction;
use crate::types::sorted_sets;
use crate::types::sorted_sets::ranges::{self, Range, Selection, copied};
use crate::types::sorted_sets::ranks::WALKED;
use bytes::Bytes;

const LIMIT_OF_RANKS: Error = Error::client("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX");
const SCORES_OF_MEMBERS: Error = Error::client("ERR syntax error, WITHSCORES not supported in combination with BYLEX");

/// What a range is a range of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Rank,
    Score,
    Member,
}

impl By {
    fn range(self, min: &Bytes, max: &Bytes) -> Result<Range> {
        match self {
            Self::Rank => Ok(Range::Ranks(integer(min)?, integer(max)?)),
            Self::Score => bounds::scores(min, max),
            Self::Member => bounds::members(min, max),
        }
    }
}

/// What the name of a command says already. Options cannot say it again.
#[derive(Clone, Copy, Debug, Default)]
struct Fixed {
    by: Option<By>,
    direction: Option<Direction>,
}

impl Fixed {
    const fn new(by: By, direction: Direction) -> Self {
        Self { by: Some(by), direction: Some(direction) }
    }
}

pub(super) fn zrange(context: &mut Context, reply: &mut Reply) -> Result<()> {
    show(context, reply, Fixed::default())
}

pub(super) fn zrevrange(context: &mut Context, reply: &mut Reply) -> Result<()> {
    show(context, reply, Fixed::new(By::Rank, Direction::Reverse))
}

pub(super) fn zrangebyscore(context: &mut Context, reply: &mut Reply) -> Result<()> {
    show(context, reply, Fixed::new(By::Score, Direction::Forward))
}

pub(super) fn zrevrangebyscore(context: &mut Context, reply: &mut Reply) -> Result<()> {
    show(context, reply, Fixed::new(By::Score, Direction::Reverse))
}

pub(super) fn zrangebylex(context: &mut Context, reply: &mut Reply) -> Result<()> {
    show(context, reply, Fixed::new(By::Member, Direction::Forward))
}

pub(super) fn zrevrangebylex(context: &mut Context, reply: &mut Reply) -> Result<()> {
    show(context, reply, Fixed::new(By::Member, Direction::Reverse))
}

fn show(context: &mut Context, reply: &mut Reply, fixed: Fixed) -> Result<()> {
    let (selection, with_scores) = selection(context.args.get(2..).unwrap_or_default(), fixed, true)?;
    let at = context.db.at(context.arg(1))?;
    let shape = Shape::of(reply, with_scores);
    let header = reply.deferred();
    let mut members = 0;
    ranges::each(&mut context.db, &at, &selection, |some| {
        members += match shape {
            Shape::Members => reply_strings(reply, some, |(member, _)| member),
            _ => {
                let rows = some.rows();
                rows.iter().for_each(|(member, score)| shape.append(reply, member, *score));
                rows.len()
            }
        };
    })?;
    reply.end_array(header, shape.len(members));
    Ok(())
}

// What goes straight is without options.
pub(super) const ZRANGE: Straight = Straight::showing_near(4, Kind::SortedSet, is_near, |args, set, reader, reply| {
    show_straight(args, set, reader, reply, Fixed::default())
});
pub(super) const ZREVRANGE: Straight = Straight::showing_near(4, Kind::SortedSet, is_near, |args, set, reader, reply| {
    show_straight(args, set, reader, reply, Fixed::new(By::Rank, Direction::Reverse))
});
pub(super) const ZRANGEBYSCORE: Straight = Straight::showing(4, Kind::SortedSet, |args, set, reader, reply| {
    show_straight(args, set, reader, reply, Fixed::new(By::Score, Direction::Forward))
});
pub(super) const ZREVRANGEBYSCORE: Straight = Straight::showing(4, Kind::SortedSet, |args, set, reader, reply| {
    show_straight(args, set, reader, reply, Fixed::new(By::Score, Direction::Reverse))
});

/// Whether the first of the ranks is near the end that they count from, and not nearer to the other one: then a walk from there reads the fewest records.
fn is_near(args: &[Bytes], set: &Head) -> bool {
    // What is wrong is told.
    let Ok((selection, _)) = selection(args.get(2..).unwrap_or_default(), Fixed::default(), true) else { return true };
    let Range::Ranks(first, last) = selection.range else { return false };
    let middle = set.count.saturating_sub(1) / 2;
    ranges::ranks_of(&selection, first, last, set.count).is_none_or(|(first, _)| first <= WALKED.min(middle))
}

fn show_straight(args: &[Bytes], set: Option<&Head>, reader: &mut CollectionReader<'_, '_>, reply: &mut Reply, fixed: Fixed) -> Result<()> {
    let (selection, _) = selection(args.get(2..).unwrap_or_default(), fixed, true)?;
    let header = reply.deferred();
    let place = set.and_then(|set| {
        let (cuts, window) = match selection.range {
            Range::Ranks(first, last) => ((Cut::Edge, Cut::Edge), ranges::ranks_of(&selection, first, last, set.count)?),
            Range::Scores(min, max) => (ranges::by_score(min, max), (selection.offset, selection.limit)),
            // None of these goes straight.
            Range::Members(..) => return None,
        };
        Some((set, cuts, window))
    });
    let mut members = 0;
    if let Some((set, (from, to), window)) = place {
        reader.scored(set, (&from, &to), selection.direction, window, &mut |some| {
            members += reply_strings(reply, some, |(member, _)| member);
        })?;
    }
    reply.end_array(header, members);
    Ok(())
}

pub(super) fn zrangestore(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let (selection, _) = selection(context.args.get(3..).unwrap_or_default(), Fixed::default(), false)?;
    let (destination, source) = (context.db.at(context.arg(1))?, context.db.at(context.arg(2))?);
    let mut members = Vec::new();
    ranges::each(&mut context.db, &source, &selection, |some| members.extend(some.rows().iter().map(copied)))?;
    sorted_sets::replace(&mut context.db, &destination, &members, "zrangestore")?;
    reply.integer(length(members.len()));
    Ok(())
}

/// Reads `min max [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]`, as far as the command has it: what it selects, and whether
/// with scores.
fn selection(arguments: &[Bytes], fixed: Fixed, may_show: bool) -> Result<(Selection, bool)> {
    let [first, last, options @ ..] = arguments else { return Err(texts::SYNTAX) };
    let Fixed { mut by, mut direction } = fixed;
    let (mut offset, mut limit, mut with_scores) = (0, -1, false);
    let mut rest = options;
    while let Some((word, behind)) = rest.split_first() {
        rest = behind;
        match behind {
            _ if may_show && is_word(word, "withscores") => with_scores = true,
            [first, count, behind @ ..] if is_word(word, "limit") => {
                (offset, limit) = (integer(first)?, integer(count)?);
                rest = behind;
            }
            _ if direction.is_none() && is_word(word, "rev") => direction = Some(Direction::Reverse),
            _ if by.is_none() && is_word(word, "bylex") => by = Some(By::Member),
            _ if by.is_none() && is_word(word, "byscore") => by = Some(By::Score),
            _ => return Err(texts::SYNTAX),
        }
    }
    let (by, direction) = (by.unwrap_or(By::Rank), direction.unwrap_or(Direction::Forward));
    if limit != -1 && by == By::Rank {
        return Err(LIMIT_OF_RANKS);
    }
    if with_scores && by == By::Member {
        return Err(SCORES_OF_MEMBERS);
    }
    let is_from_max = direction == Direction::Reverse && by != By::Rank;
    let range = if is_from_max { by.range(last, first)? } else { by.range(first, last)? };
    Ok((Selection { direction, ..limited(range, offset, limit) }, with_scores))
}

/// A range with a LIMIT: nothing behind a negative offset, all that follows for a negative count. Without one ranks have no offset.
fn limited(range: Range, offset: i64, limit: i64) -> Selection {
    let all = Selection::all_of(range);
    let limit = u64::try_from(limit).unwrap_or(u64::MAX);
    match u64::try_from(offset) {
        _ if matches!(all.range, Range::Ranks(..)) => all,
        Ok(offset) => Selection { offset, limit, ..all },
        Err(_) => Selection { limit: 0, ..all },
    }
}

pub(super) fn zcount(context: &mut Context, reply: &mut Reply) -> Result<()> {
    count(context, reply, By::Score)
}

pub(super) fn zlexcount(context: &mut Context, reply: &mut Reply) -> Result<()> {
    count(context, reply, By::Member)
}

fn count(context: &mut Context, reply: &mut Reply, by: By) -> Result<()> {
    let range = by.range(context.arg(2), context.arg(3))?;
    let at = context.db.at(context.arg(1))?;
    let count = ranges::count(&mut context.db, &at, range)?;
    reply.integer(length(count));
    Ok(())
}

pub(super) fn zremrangebyrank(context: &mut Context, reply: &mut Reply) -> Result<()> {
    remove(context, reply, By::Rank)
}

pub(super) fn zremrangebyscore(context: &mut Context, reply: &mut Reply) -> Result<()> {
    remove(context, reply, By::Score)
}

pub(super) fn zremrangebylex(context: &mut Context, reply: &mut Reply) -> Result<()> {
    remove(context, reply, By::Member)
}

fn remove(context: &mut Context, reply: &mut Reply, by: By) -> Result<()> {
    let range = by.range(context.arg(2), context.arg(3))?;
    let at = context.db.at(context.arg(1))?;
    let removed = ranges::remove(&mut context.db, &at, range)?;
    reply.integer(length(removed));
    Ok(())
}
