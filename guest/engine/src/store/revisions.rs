//! What stores that check at the commit keep in memory: revisions of lock keys, the epoch, and what a transaction relies on.

use super::Scope;

/// Lock keys share this many counters; a shared counter is at worst a false alarm.
const STRIPES: u64 = 4096;

/// The counters of one store, for one process. They begin anew when the store is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revisions {
    stripes: Vec<u64>,
    commits: u64,
    epoch: u64,
}

impl Default for Revisions {
    fn default() -> Self {
        Self::new()
    }
}

impl Revisions {
    /// The counters of a store that has just been opened.
    #[must_use]
    pub fn new() -> Self {
        Self { stripes: (0..STRIPES).map(|_| 0).collect(), commits: 0, epoch: 1 }
    }

    /// What [`super::Store::begin`] returns.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// What [`super::Store::revisions`] returns for a lock key.
    #[must_use]
    pub fn revision(&self, key: &[u8]) -> u64 {
        self.stripes.get(position(key)).copied().unwrap_or(0)
    }

    /// What a transaction of this scope relies on: taken at its begin, and equal at its commit unless it has met a conflict.
    #[must_use]
    pub fn witness(&self, scope: &Scope) -> Vec<u64> {
        match scope {
            Scope::Read => Vec::new(),
            Scope::Keys(keys) => std::iter::once(self.epoch).chain(keys.iter().map(|key| self.revision(key))).collect(),
            Scope::Exclusive => vec![self.epoch, self.commits],
        }
    }

    /// Counts a commit that changed the keys at the positions `changed` of its scope.
    pub fn committed(&mut self, scope: &Scope, changed: &[u32]) {
        self.commits += 1;
        match scope {
            Scope::Read => {}
            Scope::Exclusive => self.epoch += 1,
            Scope::Keys(keys) => {
                for key in changed.iter().filter_map(|&position| keys.get(usize::try_from(position).ok()?)) {
                    if let Some(revision) = self.stripes.get_mut(position(key)) {
                        *revision += 1;
                    }
                }
            }
        }
    }
}

fn position(key: &[u8]) -> usize {
    usize::try_from(stripe(key, STRIPES)).unwrap_or(0)
}

/// Which of `stripes` counters, 1 or more, a lock key shares: the same one on every machine and in every version (FNV-1a modulo their
/// number).
#[must_use]
pub fn stripe(key: &[u8], stripes: u64) -> u64 {
    let hash = key.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    hash.checked_rem(stripes).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn keys(names: &[&'static str]) -> Scope {
        Scope::Keys(names.iter().map(|name| Bytes::from_static(name.as_bytes())).collect())
    }

    #[test]
    fn a_commit_is_a_conflict_for_those_who_declared_what_it_changed() {
        let mut revisions = Revisions::new();
        let (both, other) = (keys(&["a", "b"]), keys(&["b"]));
        let before = [&both, &other, &Scope::Exclusive].map(|scope| revisions.witness(scope));
        revisions.committed(&both, &[0]);
        let after = [&both, &other, &Scope::Exclusive].map(|scope| revisions.witness(scope));
        assert_eq!(before.iter().zip(&after).map(|(before, after)| before == after).collect::<Vec<_>>(), [false, true, false]);
    }

    #[test]
    fn a_stripe_is_the_same_for_everybody() {
        assert_eq!(stripe(b"", 1 << 16), 0x2325);
        assert_eq!(stripe(b"a", 1 << 16), 0xec8c);
        assert_eq!(stripe(b"a", 1), 0);
    }

    #[test]
    fn an_exclusive_commit_is_a_conflict_for_everybody_who_writes() {
        let mut revisions = Revisions::new();
        let before = [keys(&["a"]), Scope::Read].map(|scope| revisions.witness(&scope));
        revisions.committed(&Scope::Exclusive, &[]);
        assert_ne!(revisions.witness(&keys(&["a"])), before[0]);
        assert_eq!(revisions.witness(&Scope::Read), before[1]);
    }
}
