//! Which records stand for the lock keys of a transaction, where lock keys share a fixed number of them.

use orbweaver_engine::store::{Scope, stripe};
use std::collections::BTreeSet;

/// The stripes of a transaction on lock keys: one or more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stripes {
    /// Those that it relies on.
    pub declared: BTreeSet<u16>,
    /// Those that its commit writes: of the changed lock keys, or, where none is said to have changed, one of those declared, which is a
    /// false alarm at worst. One of them at least.
    pub changed: BTreeSet<u16>,
}

impl Stripes {
    /// Which of `count` stripes, 1 to 65,536, a lock key has: the same one for every process.
    #[must_use]
    pub fn of(lock_key: &[u8], count: u32) -> u16 {
        // Smaller than 2^16 by the count.
        u16::try_from(stripe(lock_key, u64::from(count))).unwrap_or_default()
    }

    /// The stripes of a scope, of `count` ones, with the positions of changed keys; `None` where the transaction is exclusive.
    #[must_use]
    pub fn new(scope: &Scope, changed: &[u32], count: u32) -> Option<Self> {
        let keys = match scope {
            Scope::Exclusive => return None,
            Scope::Keys(keys) => keys.as_slice(),
            Scope::Read => &[],
        };
        let mut declared: BTreeSet<u16> = keys.iter().map(|key| Self::of(key, count)).collect();
        if declared.is_empty() {
            declared.insert(Self::of(&[], count));
        }
        let changed_keys = changed.iter().filter_map(|&position| keys.get(usize::try_from(position).ok()?));
        let mut changed: BTreeSet<u16> = changed_keys.map(|key| Self::of(key, count)).collect();
        if changed.is_empty() {
            changed.extend(declared.first());
        }
        Some(Self { declared, changed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_writes_the_stripes_of_what_it_changes() {
        let scope = Scope::Keys(["a", "b", "c"].map(Into::into).to_vec());
        let of = |key: &str| Stripes::of(key.as_bytes(), 1 << 16);
        let stripes = Stripes::new(&scope, &[2, 9], 1 << 16).unwrap();
        assert_eq!(stripes.declared, [of("a"), of("b"), of("c")].into());
        assert_eq!(stripes.changed, [of("c")].into(), "a position that is none is left out");
    }

    #[test]
    fn every_commit_writes_one_at_least() {
        let none = Stripes::new(&Scope::Keys(Vec::new()), &[], 16).unwrap();
        assert_eq!((none.declared.len(), none.declared == none.changed), (1, true));
        let unsaid = Stripes::new(&Scope::Keys(vec!["a".into()]), &[], 16).unwrap();
        assert_eq!(unsaid.changed, unsaid.declared);
        assert_eq!(Stripes::new(&Scope::Exclusive, &[], 16), None);
    }
}
