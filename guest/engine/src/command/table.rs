//! The command table.

use super::{
    Command, bitmaps, blocking, client, connection, field_expiry, geo, hashes, hyperloglog, keys, lists, pika, pubsub, scan, server, sets,
    sort, sorted_sets, strings, transactions,
};
use bytes::Bytes;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
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

/// The names are ours alone, so nobody can choose them to collide.
static BY_HASH: LazyLock<HashMap<Name, &'static Command, BuildHasherDefault<NameHasher>>> =
    LazyLock::new(|| BY_NAME.iter().filter_map(|command| Some((padded(command.name.as_bytes())?, *command))).collect());

thread_local! {
    /// What was found last: a pipeline mostly has many requests of one command.
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// A name as it was sent, and its command.
struct Last {
    sent: Name,
    command: &'static Command,
}

/// No command's name is longer.
const MAX_NAME_BYTES: usize = 32;

/// A name in lower case with zeros behind it: compared and hashed by words instead of bytes.
type Name = [u8; MAX_NAME_BYTES];

fn padded(name: &[u8]) -> Option<Name> {
    let mut padded = [0; MAX_NAME_BYTES];
    padded.get_mut(..name.len())?.copy_from_slice(name);
    padded.make_ascii_lowercase();
    Some(padded)
}

/// Hashes names in few steps: multiplies by word, as FxHash.
#[derive(Default)]
struct NameHasher(u64);

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, _) = bytes.as_chunks();
        for word in words {
            self.0 = (self.0.rotate_left(5) ^ u64::from_le_bytes(*word)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    // An array hashes its length first, which is always the same.
    fn write_usize(&mut self, _length: usize) {}

    fn finish(&self) -> u64 {
        // The table looks at the lowest bits, which are the least mixed.
        self.0.rotate_left(26)
    }
}

/// Every command, by name.
#[must_use]
pub fn all() -> &'static [&'static Command] {
    &BY_NAME
}

/// The command of that name, in any case.
#[must_use]
#[inline]
pub fn find(name: &[u8]) -> Option<&'static Command> {
    let is_it = |last: &Last| last.command.name.len() == name.len() && last.sent.starts_with(name);
    if let Some(command) = LAST.with_borrow(|last| last.as_ref().filter(|last| is_it(last)).map(|last| last.command)) {
        return Some(command);
    }
    search(name)
}

fn search(name: &[u8]) -> Option<&'static Command> {
    // A zero at the end of what was sent is not one that was put there.
    let command = BY_HASH.get(&padded(name)?).copied().filter(|command| command.name.len() == name.len())?;
    let mut sent = [0; MAX_NAME_BYTES];
    sent.get_mut(..name.len())?.copy_from_slice(name);
    LAST.replace(Some(Last { sent, command }));
    Some(command)
}

/// The subcommand of that name (the second word alone), in any case.
#[must_use]
pub fn find_subcommand(command: &'static Command, name: &[u8]) -> Option<&'static Command> {
    let second_word = |subcommand: &Command| subcommand.name.rsplit('|').next().unwrap_or_default();
    command.subcommands.iter().find(|subcommand| second_word(subcommand).as_bytes().eq_ignore_ascii_case(name))
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

#[cfg(test)]
mod tests {
    use crate::command::flags::Flags;
    use crate::command::{Run, Ways};

    #[test]
    fn whether_a_command_that_goes_straight_writes_is_not_decided_by_its_arguments() {
        let straight = |run: &Run| matches!(run, Run::Data(_, Ways { straight: [Some(_), _], .. }));
        let all: Vec<_> = super::all().iter().filter(|command| straight(&command.run)).collect();
        assert!(all.len() > 20);
        for command in all {
            assert_eq!(command.writes(&[]), command.flags.has(Flags::WRITE), "{}", command.name);
        }
    }

    #[test]
    fn every_command_is_found_in_any_case() {
        for command in super::all() {
            let found = super::find(command.name.to_ascii_uppercase().as_bytes()).unwrap();
            assert_eq!(found.name, command.name);
        }
        assert!(super::find(b"").is_none());
        assert!(super::find(b"get\0").is_none());
        assert!(super::find(&[b'a'; 1000]).is_none());
    }
}
