//! ZADD and ZINCRBY.

use super::reply_score;
use crate::command::Context;
use crate::command::options::{is_word, length};
use crate::error::{Error, Result, texts};
use crate::few::Few;
use crate::number::parse_double;
use crate::resp::reply::Reply;
use crate::types::sorted_sets::{self, Added, Condition, Members, Scores};
use bytes::Bytes;

const NX_AND_XX: Error = Error::client("ERR XX and NX options at the same time are not compatible");
const CONTRADICTING: Error = Error::client("ERR GT, LT, and/or NX options at the same time are not compatible");
const TOO_MANY_PAIRS: Error = Error::client("ERR INCR option supports a single increment-element pair");

/// The options of ZADD.
#[derive(Clone, Copy, Debug, Default)]
struct Options {
    new: bool,
    existing: bool,
    greater: bool,
    less: bool,
    count_changes: bool,
    increment: bool,
}

impl Options {
    /// Takes an option word; false where it is none.
    fn take(&mut self, word: &Bytes) -> bool {
        if !word.first().is_some_and(u8::is_ascii_alphabetic) {
            // A score, mostly.
            return false;
        }
        let options = [
            ("nx", &mut self.new),
            ("xx", &mut self.existing),
            ("gt", &mut self.greater),
            ("lt", &mut self.less),
            ("ch", &mut self.count_changes),
            ("incr", &mut self.increment),
        ];
        match options.into_iter().find(|(name, _)| is_word(word, name)) {
            Some((_, option)) => *option = true,
            None => return false,
        }
        true
    }

    fn reply(self, reply: &mut Reply, done: Added) {
        reply.integer(length(if self.count_changes { done.added + done.updated } else { done.added }));
    }

    fn condition(self) -> Result<Condition> {
        let Self { new, existing, greater, less, .. } = self;
        let members = match (new, existing) {
            (true, true) => return Err(NX_AND_XX),
            (true, false) => Members::New,
            (false, true) => Members::Existing,
            (false, false) => Members::Any,
        };
        let scores = match (greater, less) {
            (true, true) => return Err(CONTRADICTING),
            (true, false) | (false, true) if new => return Err(CONTRADICTING),
            (true, false) => Scores::Greater,
            (false, true) => Scores::Less,
            (false, false) => Scores::Any,
        };
        Ok(Condition { members, scores })
    }
}

pub(super) fn zadd(context: &mut Context, reply: &mut Reply) -> Result<()> {
    add(context, reply, Options::default())
}

/// Takes the options of ZADD too, as Redis does, but its arity leaves no room for them.
pub(super) fn zincrby(context: &mut Context, reply: &mut Reply) -> Result<()> {
    add(context, reply, Options { increment: true, ..Options::default() })
}

/// ZADDs in a row. One with INCR is no part of it: its reply is a score.
pub(super) fn zadd_row(
    context: &mut Context,
    calls: &mut dyn Iterator<Item = &[Bytes]>,
    reply: &mut Reply,
    answered: &mut dyn FnMut(usize),
) -> Result<()> {
    let additions = calls.map(|args| match addition(args, Options::default())? {
        Addition { options: Options { increment: true, .. }, .. } => Err(texts::SYNTAX),
        addition => Ok(addition),
    });
    let additions: Vec<Addition> = additions.collect::<Result<_>>()?;
    let at = context.db.at(context.arg(1))?;
    let mut options = additions.iter().map(|addition| addition.options);
    sorted_sets::add_each(&mut context.db, &at, additions.iter().map(|addition| (&*addition.pairs, addition.condition)), |done| {
        if let Some(options) = options.next() {
            options.reply(reply, done);
        }
        answered(reply.len());
    })
}

/// ZINCRBYs in a row.
pub(super) fn zincrby_row(
    context: &mut Context,
    calls: &mut dyn Iterator<Item = &[Bytes]>,
    reply: &mut Reply,
    answered: &mut dyn FnMut(usize),
) -> Result<()> {
    let increments: Vec<Addition> =
        calls.map(|args| addition(args, Options { increment: true, ..Options::default() })).collect::<Result<_>>()?;
    let at = context.db.at(context.arg(1))?;
    // Its arity leaves no room for a second member.
    let pairs = increments.iter().flat_map(|increment| increment.pairs.as_slice()).map(|(increment, member)| (*increment, member));
    sorted_sets::increment_each(&mut context.db, &at, pairs, |sum| {
        reply_score(reply, Some(sum));
        answered(reply.len());
    })
}

/// The score of a ZADD or ZINCRBY that has no room for options beside its one member.
pub(super) fn lone_score(score: &Bytes) -> Result<f64> {
    if Options::default().take(score) {
        return Err(texts::SYNTAX);
    }
    parse_double(score).ok_or(texts::NOT_A_FLOAT)
}

/// What ZADD is to do.
struct Addition {
    options: Options,
    condition: Condition,
    pairs: Few<(f64, Bytes)>,
}

/// Reads the arguments of ZADD, from the name of the command on.
fn addition(args: &[Bytes], mut options: Options) -> Result<Addition> {
    let arguments = args.get(2..).unwrap_or_default();
    let count = arguments.iter().take_while(|word| options.take(word)).count();
    let pairs = arguments.get(count..).unwrap_or_default();
    if pairs.is_empty() || pairs.len() % 2 == 1 {
        return Err(texts::SYNTAX);
    }
    let condition = options.condition()?;
    if options.increment && pairs.len() > 2 {
        return Err(TOO_MANY_PAIRS);
    }
    let pair = |[score, member]: &[Bytes; 2]| Ok((parse_double(score).ok_or(texts::NOT_A_FLOAT)?, member.clone()));
    let pairs = pairs.as_chunks().0.iter().map(pair).collect::<Result<_>>()?;
    Ok(Addition { options, condition, pairs })
}

fn add(context: &mut Context, reply: &mut Reply, options: Options) -> Result<()> {
    let Addition { options, condition, pairs } = addition(context.args, options)?;
    let at = context.db.at(context.arg(1))?;
    match pairs.as_slice() {
        [(increment, member)] if options.increment => {
            let sum = sorted_sets::increment(&mut context.db, &at, member, *increment, condition)?;
            reply_score(reply, sum);
        }
        pairs => {
            let done = sorted_sets::add(&mut context.db, &at, pairs, condition)?;
            options.reply(reply, done);
        }
    }
    Ok(())
}
