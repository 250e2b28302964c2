//! The command table.

use super::{
    Command, bitmaps, blocking, client, connection, field_expiry, geo, hashes, hyperloglog, keys, lists, pika, pubsub, scan, server, sets,
    sort, sorted_sets, strings, transactions,
};
use bytes::Bytes;
use std::sync::LazyLock;

static BY_NAME: LazyLock<Vec<&'static Command>> = LazyLock::new(|| {
    let groups = [
        bitmaps::COMMANDS,
        blocking::COMMANDS,
        client::COMMANDS,
        connection::COMMANDS,
        field_expiry::COMMANDS,
        geo::COMMANDS,
        hashes::COMMANDS,
        hyperloglog::COMMANDS,
        keys::dbs::COMMANDS,
        keys::existence::COMMANDS,
        keys::expiry::COMMANDS,
        keys::listing::COMMANDS,
        keys::moving::COMMANDS,
        keys::object::COMMANDS,
        keys::payloads::COMMANDS,
        lists::COMMANDS,
        pika::COMMANDS,
        pubsub::COMMANDS,
        scan::COMMANDS,
        server::COMMANDS,
        sets::COMMANDS,
        sort::COMMANDS,
        sorted_sets::COMMANDS,
        strings::COMMANDS,
        transactions::COMMANDS,
    ];
    let mut all: Vec<&'static Command> = groups.into_iter().flatten().collect();
    all.sort_by_key(|command| command.name);
    all
});

/// Every command, by name.
#[must_use]
pub fn all() -> &'static [&'static Command] {
    &BY_NAME
}

/// The command of that name, in any case.
#[must_use]
pub fn find(name: &[u8]) -> Option<&'static Command> {
    let position = BY_NAME.binary_search_by(|command| compare(command.name, name)).ok()?;
    BY_NAME.get(position).copied()
}

/// The subcommand of that name (the second word alone), in any case.
#[must_use]
pub fn find_subcommand(command: &'static Command, name: &[u8]) -> Option<&'static Command> {
    let second_word = |subcommand: &Command| subcommand.name.rsplit('|').next().unwrap_or_default();
    command.subcommands.iter().find(|subcommand| compare(second_word(subcommand), name).is_eq())
}

/// A command by its name, a subcommand by both words: `config|get`. In any case.
#[must_use]
pub fn find_by_full_name(name: &[u8]) -> Option<&'static Command> {
    let mut words = name.splitn(2, |&byte| byte == b'|');
    let command = find(words.next()?)?;
    match words.next() {
        Some(second) => find_subcommand(command, second),
        None => Some(command),
    }
}

/// The command of a full request: the subcommand where the command has subcommands and the second argument names one.
#[must_use]
pub fn resolve(request: &[Bytes]) -> Option<&'static Command> {
    let command = find(request.first()?)?;
    match request.get(1) {
        Some(second) if !command.subcommands.is_empty() => find_subcommand(command, second),
        _ => Some(command),
    }
}

fn compare(own: &str, name: &[u8]) -> std::cmp::Ordering {
    own.bytes().cmp(name.iter().map(u8::to_ascii_lowercase))
}
