//! The command table.

use super::{Command, hashes, keys, scan, strings};
use std::sync::LazyLock;

static BY_NAME: LazyLock<Vec<&'static Command>> = LazyLock::new(|| {
    let groups = [
        hashes::COMMANDS,
        keys::dbs::COMMANDS,
        keys::existence::COMMANDS,
        keys::expiry::COMMANDS,
        keys::listing::COMMANDS,
        keys::moving::COMMANDS,
        keys::object::COMMANDS,
        scan::COMMANDS,
        strings::COMMANDS,
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

fn compare(own: &str, name: &[u8]) -> std::cmp::Ordering {
    own.bytes().cmp(name.iter().map(u8::to_ascii_lowercase))
}
