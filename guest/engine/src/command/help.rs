//! The HELP subcommands, made from the command table.

use super::{Command, table};
use crate::error::{Error, Result, repeated};
use crate::resp::reply::Reply;
use crate::session::Session;
use bytes::Bytes;

/// `CONTAINER HELP`: the subcommands with what they do.
pub fn help(_: &mut Session, args: &[Bytes], reply: &mut Reply) -> Result<()> {
    let container = args.first().and_then(|name| table::find(name));
    let subcommands = container.map_or(&[][..], |container| container.subcommands);
    let name = container.map_or("", |container| container.name);
    write(name, subcommands.iter().map(line_of), reply);
    Ok(())
}

fn line_of(subcommand: &Command) -> (&str, &str) {
    (subcommand.name.rsplit('|').next().unwrap_or_default(), subcommand.summary)
}

/// Writes the subcommands of `name`: each with what it does, in Redis' form.
pub fn write<'a>(name: &str, subcommands: impl ExactSizeIterator<Item = (&'a str, &'a str)>, reply: &mut Reply) {
    reply.array(1 + 2 * subcommands.len());
    reply.simple(&format!("{} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:", name.to_ascii_uppercase()));
    for (subcommand, summary) in subcommands {
        reply.simple(&subcommand.to_ascii_uppercase());
        reply.simple(&format!("    {summary}"));
    }
}

/// The error of subcommands that check the number of their arguments themselves (`addReplySubcommandSyntaxError` in Redis'
/// `networking.c`).
pub fn wrong_subcommand(args: &[Bytes]) -> Error {
    let word = |position, most| args.get(position).map(|word: &Bytes| repeated(word, most)).unwrap_or_default();
    let (command, subcommand) = (word(0, usize::MAX).to_ascii_uppercase(), word(1, 128));
    Error::Client(format!("ERR unknown subcommand or wrong number of arguments for '{subcommand}'. Try {command} HELP.").into())
}
