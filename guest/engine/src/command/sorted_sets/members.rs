//! Commands on members by name: their scores and ranks, removal, random draws, ZSCAN.

use super::{Shape, reply_score};
use crate::command::options::{draw_with, is_word, length};
use crate::command::{Context, reply_value, scan};
use crate::error::{Result, texts};
use crate::number::lend_double;
use crate::resp::reply::Reply;
use crate::scan::Step;
use crate::session::wrong_arity;
use crate::store::Direction;
use crate::types::draw::Draw;
use crate::types::sorted_sets;

pub(super) fn zcard(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let count = sorted_sets::len(&mut context.db, &at)?;
    reply.integer(length(count));
    Ok(())
}

pub(super) fn zscore(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let (at, member) = (context.db.at(context.arg(1))?, context.arg(2).clone());
    let score = sorted_sets::score(&mut context.db, &at, &member)?;
    reply_score(reply, score);
    Ok(())
}

pub(super) fn zmscore(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let scores = sorted_sets::scores(&mut context.db, &at, context.args.get(2..).unwrap_or_default())?;
    reply.array(scores.len());
    scores.into_iter().for_each(|score| reply_score(reply, score));
    Ok(())
}

pub(super) fn zrank(context: &mut Context, reply: &mut Reply) -> Result<()> {
    rank(context, reply, Direction::Forward)
}

pub(super) fn zrevrank(context: &mut Context, reply: &mut Reply) -> Result<()> {
    rank(context, reply, Direction::Reverse)
}

fn rank(context: &mut Context, reply: &mut Reply, direction: Direction) -> Result<()> {
    let with_score = match context.args.get(3..).unwrap_or_default() {
        [] => false,
        [word] if is_word(word, "withscore") => true,
        [_] => return Err(texts::SYNTAX),
        _ => return Err(wrong_arity(if direction == Direction::Forward { "zrank" } else { "zrevrank" })),
    };
    let (at, member) = (context.db.at(context.arg(1))?, context.arg(2).clone());
    match (sorted_sets::rank(&mut context.db, &at, &member, direction)?, with_score) {
        (Some((rank, score)), true) => {
            reply.array(2);
            reply.integer(length(rank));
            reply.double(score);
        }
        (Some((rank, _)), false) => reply.integer(length(rank)),
        (None, true) => reply.null_array(),
        (None, false) => reply.null(),
    }
    Ok(())
}

pub(super) fn zrem(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let removed = sorted_sets::remove(&mut context.db, &at, context.args.get(2..).unwrap_or_default())?;
    reply.integer(length(removed));
    Ok(())
}

pub(super) fn zrandmember(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let at = context.db.at(context.arg(1))?;
    let Some(argument) = context.args.get(2) else {
        let mut drawn = None;
        sorted_sets::random(&mut context.db, &at, Draw::Distinct(1), |member, _| drawn = Some(member.clone()))?;
        reply_value(reply, drawn.as_deref());
        return Ok(());
    };
    let (draw, with_scores) = draw_with(argument, context.args.get(3..).unwrap_or_default(), "withscores")?;
    let shape = Shape::of(reply, with_scores);
    let header = reply.deferred();
    let mut drawn = 0;
    sorted_sets::random(&mut context.db, &at, draw, |member, score| {
        shape.append(reply, member, score);
        drawn += 1;
    })?;
    reply.end_array(header, shape.len(drawn));
    Ok(())
}

pub(super) fn zscan(context: &mut Context, reply: &mut Reply) -> Result<()> {
    let cursor = scan::cursor(context.arg(2))?;
    let at = context.db.at(context.arg(1))?;
    // A missing key and one of another type come before wrong options.
    let exists = sorted_sets::len(&mut context.db, &at)? > 0;
    let step = if exists {
        let (filter, _) = scan::options(context.args.get(3..), false)?;
        sorted_sets::scan(&mut context.db, &mut context.server.scan_positions, &at, cursor, &filter)?
    } else {
        Step::over()
    };
    scan::begin_step(reply, step.cursor);
    reply.array(step.elements.len() * 2);
    for (member, score) in &step.elements {
        reply.bulk(member);
        // A text in RESP3 too.
        lend_double(*score, |digits| reply.text(digits));
    }
    Ok(())
}
