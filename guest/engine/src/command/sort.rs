//! SORT and SORT_RO: <https://redis.io/docs/latest/commands/sort/>

use super::flags::Flags;
use super::keyspec::KeySpec;
use super::options::{integer, is_word, length};
use super::parts::Parts;
use super::{Command, Context, Group, Run, reply_value};
use crate::error::{Result, texts};
use crate::layout::Kind;
use crate::resp::reply::Reply;
use crate::types::lists;
use crate::types::sort::{self, Pattern, Sorting};
use bytes::Bytes;

/// The options with arguments, but for STORE.
const WITH_ARGUMENTS: &[(&str, usize)] = &[("limit", 2), ("by", 1), ("get", 1)];

/// The rows of this group.
pub const COMMANDS: &[Command] = &[
    Command {
        name: "sort",
        arity: -2,
        flags: Flags::WRITE.and(Flags::DENYOOM).and(Flags::MOVABLEKEYS),
        keys: KeySpec::Stored { from: 2, words: &["store"], others: WITH_ARGUMENTS },
        parts: Parts::None,
        group: Group::Generic,
        since: "1.0.0",
        summary: "Returns or stores the elements of a list, set or sorted set in order.",
        subcommands: &[],
        run: Run::data(sort),
    },
    Command {
        name: "sort_ro",
        arity: -2,
        flags: Flags::READONLY.and(Flags::MOVABLEKEYS),
        keys: KeySpec::Stored { from: 2, words: &[], others: WITH_ARGUMENTS },
        parts: Parts::None,
        group: Group::Generic,
        since: "7.0.0",
        summary: "Returns the elements of a list, set or sorted set in order.",
        subcommands: &[],
        run: Run::data(sort_ro),
    },
];

fn sort(context: &mut Context, reply: &mut Reply) -> Result<()> {
    run(context, reply, true)
}

fn sort_ro(context: &mut Context, reply: &mut Reply) -> Result<()> {
    run(context, reply, false)
}

fn run(context: &mut Context, reply: &mut Reply, may_store: bool) -> Result<()> {
    let Options { mut sorting, gets, destination } = Options::parse(context.args.get(2..).unwrap_or_default(), may_store)?;
    let at = context.db.at(context.arg(1))?;
    if let Some(destination) = destination {
        sorting.ends_at_nul = false;
        // What is stored does not depend on the order in which a set happens to be.
        if sorting.is_unsorted && context.db.look_at(&at)?.is_some_and(|meta| meta.kind() == Kind::Set) {
            sorting = Sorting { by: Pattern::Element, is_unsorted: false, is_alphabetic: true, ..sorting };
        }
        let mut elements = sort::sorted(&mut context.db, &at, &sorting)?;
        if !gets.is_empty() {
            let values = sort::values(&mut context.db, &elements, &gets)?;
            elements = values.into_iter().map(Option::unwrap_or_default).collect();
        }
        let destination = context.db.at(&destination)?;
        lists::replace(&mut context.db, &destination, &elements, "sortstore")?;
        reply.integer(length(elements.len()));
        return Ok(());
    }
    let elements = sort::sorted(&mut context.db, &at, &sorting)?;
    if gets.is_empty() {
        reply.array(elements.len());
        elements.iter().for_each(|element| reply.bulk(element));
    } else {
        let values = sort::values(&mut context.db, &elements, &gets)?;
        reply.array(values.len());
        values.iter().for_each(|value| reply_value(reply, value.as_deref()));
    }
    Ok(())
}

struct Options {
    sorting: Sorting,
    gets: Vec<Pattern>,
    destination: Option<Bytes>,
}

impl Options {
    /// Reads `[BY pattern] [LIMIT offset count] [GET pattern ...] [ASC | DESC] [ALPHA] [STORE destination]` in any order.
    fn parse(arguments: &[Bytes], may_store: bool) -> Result<Self> {
        let mut sorting = Sorting {
            by: Pattern::Element,
            is_unsorted: false,
            is_alphabetic: false,
            is_descending: false,
            offset: 0,
            limit: -1,
            ends_at_nul: true,
        };
        let (mut gets, mut destination) = (Vec::new(), None);
        let mut rest = arguments;
        while let Some((word, behind)) = rest.split_first() {
            rest = match behind {
                _ if is_word(word, "asc") => {
                    sorting.is_descending = false;
                    behind
                }
                _ if is_word(word, "desc") => {
                    sorting.is_descending = true;
                    behind
                }
                _ if is_word(word, "alpha") => {
                    sorting.is_alphabetic = true;
                    behind
                }
                [offset, limit, behind @ ..] if is_word(word, "limit") => {
                    (sorting.offset, sorting.limit) = (integer(offset)?, integer(limit)?);
                    behind
                }
                [key, behind @ ..] if may_store && is_word(word, "store") => {
                    destination = Some(key.clone());
                    behind
                }
                [pattern, behind @ ..] if is_word(word, "by") => {
                    sorting.by = Pattern::new(pattern);
                    // Once and for all: a later pattern does not take it back.
                    sorting.is_unsorted |= !matches!(sorting.by, Pattern::Key { .. });
                    behind
                }
                [pattern, behind @ ..] if is_word(word, "get") => {
                    gets.push(Pattern::new(pattern));
                    behind
                }
                _ => return Err(texts::SYNTAX),
            };
        }
        Ok(Self { sorting, gets, destination })
    }
}
