//! Keyspace events: what commands tell of their changes, and which of it is wanted.
//! <https://redis.io/docs/latest/develop/use/keyspace-notifications/>
//!
//! Commands add to [`Events`] while they run, in Redis' order. The session takes the events of a command that has succeeded, and
//! publishes them when they are committed. Where nothing is wanted, an event costs one comparison.

use crate::layout::{Catalog, KeyAt};
use bytes::Bytes;

/// The event of a key that is looked for and not there.
const MISS: &str = "keymiss";

/// A set of classes of events, and of the two ways to tell them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classes(u16);

impl Classes {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Told by key: `__keyspace@0__:key`.
    pub const KEYSPACE: Self = Self(1);
    /// Told by event: `__keyevent@0__:set`.
    pub const KEYEVENT: Self = Self(1 << 1);
    /// Commands on keys of any type.
    pub const GENERIC: Self = Self(1 << 2);
    /// String commands.
    pub const STRING: Self = Self(1 << 3);
    /// List commands.
    pub const LIST: Self = Self(1 << 4);
    /// Set commands.
    pub const SET: Self = Self(1 << 5);
    /// Hash commands.
    pub const HASH: Self = Self(1 << 6);
    /// Sorted set commands.
    pub const SORTED_SET: Self = Self(1 << 7);
    /// Keys that are removed because their time is past.
    pub const EXPIRED: Self = Self(1 << 8);
    /// Keys that are evicted: never.
    pub const EVICTED: Self = Self(1 << 9);
    /// Stream commands.
    pub const STREAM: Self = Self(1 << 10);
    /// Types of modules: never.
    pub const MODULE: Self = Self(1 << 11);
    /// Keys that are looked for and not there.
    pub const MISS: Self = Self(1 << 12);
    /// New keys.
    pub const NEW: Self = Self(1 << 13);

    /// The classes that `A` stands for: neither misses nor new keys are among them.
    const ALL: Self = Self(0b1111_1111_1100);

    /// With their letters, in the order in which Redis shows them.
    const LETTERS: [(Self, char); 14] = [
        (Self::GENERIC, 'g'),
        (Self::STRING, '$'),
        (Self::LIST, 'l'),
        (Self::SET, 's'),
        (Self::HASH, 'h'),
        (Self::SORTED_SET, 'z'),
        (Self::EXPIRED, 'x'),
        (Self::EVICTED, 'e'),
        (Self::STREAM, 't'),
        (Self::MODULE, 'd'),
        (Self::NEW, 'n'),
        (Self::KEYSPACE, 'K'),
        (Self::KEYEVENT, 'E'),
        (Self::MISS, 'm'),
    ];

    /// The classes of a text such as `KEA` or `Kgx` (`notify-keyspace-events`); `None` where a letter is none of Redis'.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.chars().try_fold(Self::NONE, |classes, letter| {
            let known = Self::LETTERS.into_iter().find(|(_, own)| *own == letter).map(|(class, _)| class);
            let class = if letter == 'A' { Self::ALL } else { known? };
            Some(Self(classes.0 | class.0))
        })
    }

    /// The text that Redis shows for the classes: `A` for all that it stands for, and then `n` is not shown, either.
    #[must_use]
    pub fn text(self) -> String {
        let has_all = self.has(Self::ALL);
        let hidden = |class: Self| has_all && (Self::ALL.has(class) || class == Self::NEW);
        let shown = Self::LETTERS.into_iter().filter(|(class, _)| self.has(*class) && !hidden(*class)).map(|(_, letter)| letter);
        has_all.then_some('A').into_iter().chain(shown).collect()
    }

    /// Whether every class of `other` is among these.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any event would be told: classes alone are not, without a way to tell them.
    #[must_use]
    pub const fn tell_anything(self) -> bool {
        self.has(Self::KEYSPACE) || self.has(Self::KEYEVENT)
    }
}

/// Something that has happened to a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The number of the key's db.
    pub db: usize,
    /// What has happened, in Redis' word: `set`, `del`, `expired`.
    pub name: &'static str,
    /// The key.
    pub key: Bytes,
}

/// The events of a command that runs.
#[derive(Debug, Default)]
pub struct Events {
    wanted: Classes,
    /// The command only reads: keys that it looks for and does not find are misses.
    pub reads_only: bool,
    happened: Vec<Event>,
}

impl Events {
    /// No events, to collect those of `wanted`.
    #[must_use]
    pub fn new(wanted: Classes) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Whether any are wanted.
    #[must_use]
    pub fn are_wanted(&self) -> bool {
        self.wanted != Classes::NONE
    }

    /// Adds an event of a key, unless its class is not wanted.
    pub fn notify(&mut self, catalog: &Catalog, class: Classes, name: &'static str, at: &KeyAt) {
        if self.wanted.has(class)
            && let Some(db) = catalog.spaces.iter().position(|&space| space == at.space)
        {
            self.happened.push(Event { db, name, key: at.key.clone() });
        }
    }

    /// Notes that a key is not there.
    pub fn notify_miss(&mut self, catalog: &Catalog, at: &KeyAt) {
        self.notify(catalog, Classes::MISS, MISS, at);
    }

    /// How much has happened so far, for [`Events::forget_since`].
    #[must_use]
    pub fn mark(&self) -> usize {
        self.happened.len()
    }

    /// Takes back what has happened since a mark.
    pub fn forget_since(&mut self, mark: usize) {
        self.happened.truncate(mark);
    }

    /// Whether nothing has happened.
    #[must_use]
    pub fn are_none(&self) -> bool {
        self.happened.is_empty()
    }

    /// Takes what has happened so far.
    pub fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.happened)
    }

    /// Takes back what has happened so far, as the command has failed: it has missed what it has missed.
    pub fn undo(&mut self) {
        self.happened.retain(|event| event.name == MISS);
    }
}

#[cfg(test)]
mod tests {
    use super::Classes;

    #[test]
    fn classes_are_read_and_shown_as_redis_does() {
        let cases = [
            ("", ""),
            ("KEA", "AKE"),
            ("AKE", "AKE"),
            ("KEAm", "AKEm"),
            ("KEAmn", "AKEm"),
            ("g$lshzxetdKE", "AKE"),
            ("Knm", "nKm"),
            ("gKx", "gxK"),
            ("KK", "K"),
            ("n", "n"),
            ("$", "$"),
            ("A", "A"),
        ];
        for (given, shown) in cases {
            assert_eq!(Classes::parse(given).unwrap().text(), shown, "{given}");
        }
        assert_eq!(Classes::parse("Kq"), None);
    }

    #[test]
    fn all_classes_are_neither_new_keys_nor_misses_nor_ways_to_tell() {
        let all = Classes::parse("A").unwrap();
        let outside = [Classes::NEW, Classes::MISS, Classes::KEYSPACE, Classes::KEYEVENT];
        assert!(outside.into_iter().all(|class| !all.has(class)));
        assert!(!all.tell_anything());
        assert!(Classes::parse("Kx").unwrap().tell_anything());
    }
}
