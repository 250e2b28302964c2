//! COMMAND: the command table as clients see it.

use super::key_flags::{self, KeyFlags};
use super::tips;
use crate::command::keyspec::KeySpec;
use crate::command::options::is_word;
use crate::command::{Command, categories, table};
use crate::error::{Error, Result, texts};
use crate::glob;
use crate::resp::reply::Reply;
use crate::session::Session;
use bytes::Bytes;

/// `COMMAND`.
pub fn all(_: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    write_all(reply);
    Ok(())
}

fn write_all(reply: &mut Reply) {
    reply.array(table::all().len());
    table::all().iter().for_each(|command| write_details(command, reply));
}

/// `COMMAND COUNT`.
pub fn count(_: &mut Session, _: &[Bytes], reply: &mut Reply) -> Result<()> {
    reply.integer(i64::try_from(table::all().len()).unwrap_or(i64::MAX));
    Ok(())
}

/// `COMMAND INFO [name ...]`: null for unknown names.
pub fn info(_: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    let names = args.get(2..).unwrap_or_default();
    if names.is_empty() {
        write_all(reply);
        return Ok(());
    }
    reply.array(names.len());
    for name in names {
        match table::find_by_full_name(name) {
            Some(command) => write_details(command, reply),
            None => reply.null(),
        }
    }
    Ok(())
}

/// One command, as the [COMMAND](https://redis.io/docs/latest/commands/command/) page lays it out.
fn write_details(command: &Command, reply: &mut Reply) {
    let (first, last, step) = command.keys.bounds();
    reply.array(10);
    reply.text(command.name);
    reply.integer(command.arity.into());
    write_words(&command.flags.names(), reply);
    reply.integer(first);
    reply.integer(last);
    reply.integer(step);
    let categories: Vec<String> = categories::of(command).into_iter().map(|category| format!("@{category}")).collect();
    write_words(&categories, reply);
    let tips = tips::of(command.name);
    reply.set(tips.len());
    tips.iter().for_each(|tip| reply.text(tip));
    write_key_specifications(command, reply);
    reply.set(command.subcommands.len());
    command.subcommands.iter().for_each(|subcommand| write_details(subcommand, reply));
}

fn write_words<S: AsRef<str>>(words: &[S], reply: &mut Reply) {
    reply.set(words.len());
    words.iter().for_each(|word| reply.simple(word.as_ref()));
}

fn write_key_specifications(command: &Command, reply: &mut Reply) {
    let number = |position: usize| i64::try_from(position).unwrap_or(i64::MAX);
    let flags = key_flags::of(command);
    let for_all = flags.first().copied().unwrap_or_default();
    match command.keys {
        KeySpec::Range { first, last, step } if flags.len() == 1 => {
            reply.set(1);
            write_range(for_all, number(first), last.into(), number(step), reply);
        }
        KeySpec::Range { first, last, step } => {
            reply.set(flags.len());
            for (position, (key, own)) in (number(first)..).step_by(step.max(1)).zip(flags).enumerate() {
                let is_final = position + 1 == flags.len();
                write_range(own, key, if is_final { last.into() } else { key }, 1, reply);
            }
        }
        KeySpec::Counted { count_at, also } => {
            reply.set(if also > 0 { 2 } else { 1 });
            if also > 0 {
                write_range(for_all, number(also), number(also), 1, reply);
            }
            let counted = [("keynumidx", 0), ("firstkey", 1), ("keystep", 1)];
            write_key_specification(flags.last().copied().unwrap_or_default(), number(count_at), "keynum", &counted, reply);
        }
        KeySpec::Stored { from, words, others } => {
            // Options between others that take arguments may stand anywhere.
            let patterns = usize::from(!others.is_empty());
            let for_result = flags.last().copied().unwrap_or_default();
            reply.set(1 + patterns + words.len());
            write_range(for_all, 1, 1, 1, reply);
            if patterns > 0 {
                write_unknown(for_all, reply);
                words.iter().for_each(|_| write_unknown(for_result, reply));
            } else {
                words.iter().for_each(|word| write_keyword(for_result, word, number(from), reply));
            }
        }
        KeySpec::None => reply.set(0),
    }
}

/// In a specification the last key counts from the first one, or from the end.
fn write_range(flags: KeyFlags, first: i64, last: i64, step: i64, reply: &mut Reply) {
    let last = if last < 0 { last } else { last - first };
    write_key_specification(flags, first, "range", &[("lastkey", last), ("keystep", step), ("limit", 0)], reply);
}

fn write_key_specification(flags: KeyFlags, index: i64, find_keys: &str, numbers: &[(&str, i64)], reply: &mut Reply) {
    write_key_flags(flags, reply);
    reply.text("begin_search");
    write_step("index", &[("index", index)], reply);
    reply.text("find_keys");
    write_step(find_keys, numbers, reply);
}

/// A key behind a word.
fn write_keyword(flags: KeyFlags, word: &str, from: i64, reply: &mut Reply) {
    write_key_flags(flags, reply);
    reply.text("begin_search");
    reply.map(2);
    reply.text("type");
    reply.text("keyword");
    reply.text("spec");
    reply.map(2);
    reply.text("keyword");
    reply.text(&word.to_ascii_uppercase());
    reply.text("startfrom");
    reply.integer(from);
    reply.text("find_keys");
    write_step("range", &[("lastkey", 0), ("keystep", 1), ("limit", 0)], reply);
}

/// Keys that specifications have no words for.
fn write_unknown(flags: KeyFlags, reply: &mut Reply) {
    write_key_flags(flags, reply);
    reply.text("begin_search");
    write_step("unknown", &[], reply);
    reply.text("find_keys");
    write_step("unknown", &[], reply);
}

/// Begins a specification.
fn write_key_flags(flags: KeyFlags, reply: &mut Reply) {
    reply.map(3);
    reply.text("flags");
    write_words(flags, reply);
}

fn write_step(kind: &str, numbers: &[(&str, i64)], reply: &mut Reply) {
    reply.map(2);
    reply.text("type");
    reply.text(kind);
    reply.text("spec");
    reply.map(numbers.len());
    for (name, number) in numbers {
        reply.text(name);
        reply.integer(*number);
    }
}

/// `COMMAND DOCS [name ...]`: unknown names are left out. Arguments, histories and complexities are not told.
pub fn docs(_: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    let names = args.get(2..).unwrap_or_default();
    let commands: Vec<&Command> =
        if names.is_empty() { table::all().to_vec() } else { names.iter().filter_map(|name| table::find_by_full_name(name)).collect() };
    write_docs(&commands, reply);
    Ok(())
}

fn write_docs(commands: &[&Command], reply: &mut Reply) {
    reply.map(commands.len());
    for command in commands {
        reply.text(command.name);
        let texts = [("summary", command.summary), ("since", command.since), ("group", command.group.name())];
        reply.map(texts.len() + usize::from(!command.subcommands.is_empty()));
        for (name, text) in texts {
            reply.text(name);
            reply.text(text);
        }
        if !command.subcommands.is_empty() {
            reply.text("subcommands");
            write_docs(&command.subcommands.iter().collect::<Vec<_>>(), reply);
        }
    }
}

/// `COMMAND GETKEYS command arg ...`.
pub fn get_keys(_: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    let (_, keys) = keys_of(args.get(2..).unwrap_or_default())?;
    reply.array(keys.len());
    keys.into_iter().for_each(|key| reply.bulk(key));
    Ok(())
}

/// `COMMAND GETKEYSANDFLAGS command arg ...`.
pub fn get_keys_and_flags(_: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    let (command, keys) = keys_of(args.get(2..).unwrap_or_default())?;
    reply.array(keys.len());
    let flags = key_flags::of(command);
    for (position, key) in keys.into_iter().enumerate() {
        reply.array(2);
        reply.bulk(key);
        write_words(flags.get(position).or(flags.last()).copied().unwrap_or_default(), reply);
    }
    Ok(())
}

/// The command of a full request, and its keys.
fn keys_of(request: &[Bytes]) -> Result<(&'static Command, Vec<&Bytes>)> {
    let command = table::resolve(request).ok_or(Error::client("ERR Invalid command specified"))?;
    // Channels of shards stand where keys would.
    let has_keys = key_flags::of(command).iter().any(|flags| !flags.contains(&"not_key"));
    if matches!(command.keys, KeySpec::None) || !has_keys {
        return Err(Error::client("ERR The command has no key arguments"));
    }
    if !command.takes(request.len()) {
        return Err(Error::client("ERR Invalid number of arguments specified for command"));
    }
    let mut positions = command.keys.positions(request).peekable();
    if positions.peek().is_none() {
        return Err(Error::client("ERR Invalid arguments specified for command"));
    }
    Ok((command, positions.filter_map(|position| request.get(position)).collect()))
}

/// `COMMAND LIST [FILTERBY MODULE name | ACLCAT category | PATTERN pattern]`: subcommands are listed, and filtered, as commands are.
pub fn list(_: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    let with_subcommands = || table::all().iter().flat_map(|&command| std::iter::once(command).chain(command.subcommands));
    let names: Vec<&str> = match args.get(2..).unwrap_or_default() {
        [] => with_subcommands().map(|command| command.name).collect(),
        [filter_by, kind, _] if is_word(filter_by, "filterby") && is_word(kind, "module") => Vec::new(),
        [filter_by, kind, category] if is_word(filter_by, "filterby") && is_word(kind, "aclcat") => {
            let category = String::from_utf8_lossy(category).to_ascii_lowercase();
            let is_known = categories::ALL.contains(&category.as_str());
            let fits = |command: &&Command| is_known && categories::is_in(command, &category);
            with_subcommands().filter(fits).map(|command| command.name).collect()
        }
        [filter_by, kind, pattern] if is_word(filter_by, "filterby") && is_word(kind, "pattern") => {
            let fits = |command: &&Command| glob::matches(pattern, command.name.as_bytes(), true);
            with_subcommands().filter(fits).map(|command| command.name).collect()
        }
        _ => return Err(texts::SYNTAX),
    };
    reply.array(names.len());
    names.into_iter().for_each(|name| reply.text(name));
    Ok(())
}
