//! LCS.

use crate::command::Context;
use crate::command::options::{integer, is_word, length};
use crate::error::{Error, Result, texts};
use crate::layout::{Body, Meta};
use crate::resp::reply::Reply;
use crate::types::lcs::{self, Match};
use bytes::Bytes;
use std::ops::Range;

const NOT_STRINGS: Error = Error::client("ERR The specified keys must contain string values");
const LENGTH_AND_INDEXES: Error = Error::client("ERR If you want both the length and indexes, please just use IDX.");

#[derive(Default)]
struct Options {
    len: bool,
    idx: bool,
    min_match_len: i64,
    with_match_len: bool,
}

impl Options {
    fn parse(args: &[Bytes]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = args.iter().skip(3);
        while let Some(word) = words.next() {
            if is_word(word, "idx") {
                options.idx = true;
            } else if is_word(word, "len") {
                options.len = true;
            } else if is_word(word, "withmatchlen") {
                options.with_match_len = true;
            } else if is_word(word, "minmatchlen") {
                options.min_match_len = integer(words.next().ok_or(texts::SYNTAX)?)?;
            } else {
                return Err(texts::SYNTAX);
            }
        }
        if options.len && options.idx { Err(LENGTH_AND_INDEXES) } else { Ok(options) }
    }
}

pub(super) fn lcs(context: &mut Context, reply: &mut Reply) -> Result<()> {
    // Redis looks at the values before it looks at the options.
    let (a, b) = (find(context, 1)?, find(context, 2)?);
    let (a, b) = (value(a)?, value(b)?);
    let options = Options::parse(context.args)?;
    let max_table_bytes = context.db.max_string_bytes;
    if options.len {
        reply.integer(lcs::length(&a, &b, max_table_bytes)?.into());
        return Ok(());
    }
    let matches = lcs::matches(&a, &b, max_table_bytes)?;
    if options.idx {
        reply_indexes(reply, &matches, &options);
    } else {
        let parts: Vec<&[u8]> = matches.iter().rev().filter_map(|found| a.get(found.a.clone())).collect();
        reply.bulk(&parts.concat());
    }
    Ok(())
}

fn find(context: &mut Context, position: usize) -> Result<Option<Meta>> {
    let at = context.db.at(context.arg(position))?;
    context.db.find(&at)
}

/// The string under a key; an absent key counts as empty.
fn value(meta: Option<Meta>) -> Result<Bytes> {
    match meta.map(|meta| meta.body) {
        None => Ok(Bytes::new()),
        Some(Body::String(value)) => Ok(value),
        Some(Body::Collection(_)) => Err(NOT_STRINGS),
    }
}

fn reply_indexes(reply: &mut Reply, matches: &[Match], options: &Options) {
    let shown = || matches.iter().filter(|found| length(found.a.len()) >= options.min_match_len);
    reply.map(2);
    reply.text("matches");
    reply.array(shown().count());
    for found in shown() {
        reply.array(if options.with_match_len { 3 } else { 2 });
        reply_range(reply, &found.a);
        reply_range(reply, &found.b);
        if options.with_match_len {
            reply.integer(length(found.a.len()));
        }
    }
    reply.text("len");
    reply.integer(length(matches.iter().map(|found| found.a.len()).sum::<usize>()));
}

/// First and last position; a match is never empty.
fn reply_range(reply: &mut Reply, range: &Range<usize>) {
    reply.array(2);
    reply.integer(length(range.start));
    reply.integer(length(range.end.saturating_sub(1)));
}
