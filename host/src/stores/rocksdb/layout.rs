//! Which databases and column families the keyspaces of a layout are, and in which orders.
//!
//! Blackwidow and Nemo keep five RocksDB databases side by side: their keyspaces are named DATABASE/COLUMN-FAMILY. The others have one
//! database, whose column families are the keyspaces. Sections 1 of the formats' descriptions are the source.

use orbweaver_engine::store::Order;
use std::path::{Path, PathBuf};

/// A layout, as far as a directory shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Our own.
    #[default]
    Orbweaver,
    /// Pika 3.0 to 3.5.
    Blackwidow,
    /// Pika 2.
    Nemo,
    /// Ardb 0.10 on RocksDB.
    Ardb,
    /// Camellia's rows, which have no directory of their own: in a database of ours.
    Camellia,
}

/// A database within the directory of a store: its folder, empty for the directory itself, and its column families beside
/// `default`, in the order in which they are created.
#[derive(Debug)]
pub struct Plan {
    pub folder: &'static str,
    pub families: &'static [(&'static str, Order)],
}

impl Plan {
    /// Where the database is in the directory of a store.
    pub fn path(&self, store: &Path) -> PathBuf {
        if self.folder.is_empty() { store.to_owned() } else { store.join(self.folder) }
    }

    /// The name of the keyspace that a column family is: what [`Layout::locate`] takes apart.
    pub fn keyspace(&self, family: &str) -> String {
        if self.folder.is_empty() { family.to_owned() } else { format!("{}/{family}", self.folder) }
    }
}

const fn plan(folder: &'static str, families: &'static [(&'static str, Order)]) -> Plan {
    Plan { folder, families }
}

const ORBWEAVER: &[Plan] = &[plan(
    "",
    &[
        ("system", Order::Bytes),
        ("meta", Order::Bytes),
        ("data", Order::Bytes),
        ("score", Order::Bytes),
        ("expiry", Order::Bytes),
        ("garbage", Order::Bytes),
        ("field-expiry", Order::Bytes),
        ("rank", Order::Bytes),
        ("redo-0", Order::Bytes),
        ("redo-1", Order::Bytes),
    ],
)];

const BLACKWIDOW: &[Plan] = &[
    plan("strings", &[]),
    plan("hashes", &[("data_cf", Order::Bytes)]),
    plan("sets", &[("member_cf", Order::Bytes)]),
    plan("lists", &[("data_cf", Order::BlackwidowLists)]),
    plan("zsets", &[("data_cf", Order::Bytes), ("score_cf", Order::BlackwidowScores)]),
];

const NEMO: &[Plan] = &[plan("kv", &[]), plan("hash", &[]), plan("list", &[]), plan("zset", &[]), plan("set", &[])];

const ARDB: &[Plan] = &[plan("", &[])];

const CAMELLIA: &[Plan] = &[plan("", &[("camellia_kv", Order::Bytes), ("camellia_redis", Order::Bytes)])];

impl Layout {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Orbweaver, Self::Blackwidow, Self::Nemo, Self::Ardb, Self::Camellia];

    /// The name by which the engine's setting `layout` and the option `--layout` know it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Orbweaver => "orbweaver",
            Self::Blackwidow => "blackwidow",
            Self::Nemo => "nemo",
            Self::Ardb => "ardb",
            Self::Camellia => "camellia",
        }
    }

    /// The databases of a directory of this layout.
    pub(super) const fn databases(self) -> &'static [Plan] {
        match self {
            Self::Orbweaver => ORBWEAVER,
            Self::Blackwidow => BLACKWIDOW,
            Self::Nemo => NEMO,
            Self::Ardb => ARDB,
            Self::Camellia => CAMELLIA,
        }
    }

    /// Whether the program of another system reads and writes the same directory.
    pub(super) const fn is_foreign(self) -> bool {
        matches!(self, Self::Blackwidow | Self::Nemo | Self::Ardb)
    }

    /// Whether keyspaces of other names than those of the plans may be made: Ardb's are namespaces, and a database of ours
    /// keeps what it is given.
    pub(super) const fn is_open(self) -> bool {
        !matches!(self, Self::Blackwidow | Self::Nemo)
    }

    /// The order of a column family that the plans do not name.
    pub(super) const fn other_order(self) -> Option<Order> {
        match self {
            Self::Ardb => Some(Order::Ardb),
            Self::Blackwidow | Self::Nemo => Some(Order::Bytes),
            Self::Orbweaver | Self::Camellia => None,
        }
    }

    /// Where a keyspace is: the position of its database, and its column family.
    pub(super) fn locate(self, keyspace: &str) -> Option<(usize, &str)> {
        let databases = self.databases();
        if let [_] = databases {
            return Some((0, keyspace));
        }
        let (folder, family) = keyspace.split_once('/')?;
        let position = databases.iter().position(|plan| plan.folder == folder)?;
        Some((position, family))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyspaces_are_found_under_the_names_that_they_are_given() {
        for layout in Layout::ALL {
            for (position, plan) in layout.databases().iter().enumerate() {
                for family in plan.families.iter().map(|(name, _)| *name).chain(["default"]) {
                    assert_eq!(layout.locate(&plan.keyspace(family)), Some((position, family)));
                }
            }
        }
        assert_eq!(Layout::Blackwidow.locate("zsets/score_cf"), Some((4, "score_cf")));
        assert_eq!(Layout::Blackwidow.locate("streams/default"), None);
        assert_eq!(Layout::Nemo.locate("kv"), None);
    }
}
