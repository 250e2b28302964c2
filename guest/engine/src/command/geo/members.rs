//! GEOADD, GEODIST, GEOHASH and GEOPOS.

use super::{metres, position, reply_distance, reply_position};
use crate::command::options::{is_word, length};
use crate::command::{Context, reply_value};
use crate::error::{Result, texts};
use crate::resp::reply::Reply;
use crate::types::geo::{Position, members};
use crate::types::sorted_sets::{self, Condition, Members};
use bytes::Bytes;

pub(super) fn geoadd(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let (mut new, mut existing, mut count_changes) = (false, false, false);
    let mut places = context.args.get(2..).unwrap_or_default();
    while let Some((word, rest)) = places.split_first() {
        match word {
            word if is_word(word, "nx") => new = true,
            word if is_word(word, "xx") => existing = true,
            word if is_word(word, "ch") => count_changes = true,
            _ => break,
        }
        places = rest;
    }
    if places.is_empty() || places.len() % 3 != 0 {
        return Err(texts::SYNTAX);
    }
    let members = match (new, existing) {
        (true, true) => return Err(texts::SYNTAX),
        (true, false) => Members::New,
        (false, true) => Members::Existing,
        (false, false) => Members::Any,
    };
    let scored = |place: &[Bytes]| match place {
        [longitude, latitude, member] => Some(position(longitude, latitude).map(|at| (members::score(at.score()), member.clone()))),
        _ => None,
    };
    let pairs: Vec<(f64, Bytes)> = places.chunks_exact(3).filter_map(scored).collect::<Result<_>>()?;
    let at = context.db.at(context.arg(1))?;
    let done = sorted_sets::add(&mut context.db, &at, &pairs, Condition { members, ..Condition::default() })?;
    reply.integer(length(if count_changes { done.added + done.updated } else { done.added }));
    Ok(())
}

pub(super) fn geodist(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let unit_m = match context.args.get(4..).unwrap_or_default() {
        [] => 1.0,
        [unit] => metres(unit)?,
        _ => return Err(texts::SYNTAX),
    };
    match positions(context, context.args.get(2..4).unwrap_or_default())?.as_slice() {
        [Some(one), Some(other)] => reply_distance(reply, one.distance_m(*other) / unit_m),
        _ => reply.null(),
    }
    Ok(())
}

pub(super) fn geohash(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let positions = positions(context, context.args.get(2..).unwrap_or_default())?;
    reply.array(positions.len());
    for position in positions {
        let geohash = position.map(Position::geohash);
        reply_value(reply, geohash.as_ref().map(String::as_bytes));
    }
    Ok(())
}

pub(super) fn geopos(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let positions = positions(context, context.args.get(2..).unwrap_or_default())?;
    reply.array(positions.len());
    for position in positions {
        match position {
            Some(position) => reply_position(reply, position),
            None => reply.null_array(),
        }
    }
    Ok(())
}

/// The positions of members of the sorted set under the first key.
fn positions(context: &mut Context, members: &[Bytes]) -> Result<Vec<Option<Position>>> {
    let at = context.db.at(context.arg(1))?;
    members::positions(&mut context.db, &at, members)
}
