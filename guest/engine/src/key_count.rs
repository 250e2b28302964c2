//! How many keys there are. No record says so (each command that adds or removes a key would have to change it, and no two such commands could
//! run beside each other): the keys are walked over, and what a walk has found is known for a while.

use std::collections::BTreeMap;

/// Of so many keys and more, what INFO has found is not looked for anew each time: a walk over 100,000 takes some 70 ms.
const MANY: u64 = 10_000;
/// It is told again for a millisecond for so many keys: walks take about a hundredth of the time then.
const KEYS_A_MS: u64 = 16;

/// How many keys a space holds, within a transaction.
#[derive(Clone, Copy, Debug)]
pub struct KeyCount {
    /// The space.
    pub space: u32,
    /// The generation of the transaction when they were counted.
    pub generation: u64,
    /// How many there were.
    pub keys: u64,
}

/// What INFO tells of the keys of a space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyStatistics {
    /// How many there are.
    pub keys: u64,
    /// How many of them expire.
    pub expiring: u64,
    /// The sum of the times that these have left, in milliseconds.
    pub ttl_sum_ms: u64,
    /// Not all were counted.
    pub more: bool,
}

/// What was found of large spaces lately.
#[derive(Clone, Debug, Default)]
pub struct RecentStatistics(BTreeMap<u32, Recent>);

#[derive(Clone, Copy, Debug)]
struct Recent {
    /// The store's epoch.
    epoch: u64,
    at_ms: u64,
    statistics: KeyStatistics,
}

impl RecentStatistics {
    /// What was found of a space, if it was not long ago, in the store's epoch.
    #[must_use]
    pub fn get(&self, space: u32, epoch: u64, now_ms: u64) -> Option<KeyStatistics> {
        let Recent { epoch: of_epoch, at_ms, statistics } = *self.0.get(&space)?;
        // Nor is it told again where the clock was put back.
        let age_ms = now_ms.checked_sub(at_ms)?;
        (of_epoch == epoch && age_ms < statistics.keys / KEYS_A_MS).then_some(statistics)
    }

    /// Keeps what was found, where it took long, and no more than that of the spaces that were large lately.
    pub fn keep(&mut self, space: u32, epoch: u64, now_ms: u64, statistics: KeyStatistics) {
        self.0.retain(|_, recent| recent.epoch == epoch);
        if statistics.keys >= MANY {
            self.0.insert(space, Recent { epoch, at_ms: now_ms, statistics });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(keys: u64) -> KeyStatistics {
        KeyStatistics { keys, ..KeyStatistics::default() }
    }

    #[test]
    fn statistics_of_many_keys_are_told_again_for_a_time_that_grows_with_them() {
        let mut recent = RecentStatistics::default();
        recent.keep(1, 5, 1000, of(MANY));
        recent.keep(2, 5, 1000, of(10 * MANY));
        recent.keep(3, 5, 1000, of(MANY - 1));
        let known = |recent: &RecentStatistics, now_ms| [1, 2, 3].map(|space| recent.get(space, 5, now_ms).map(|found| found.keys));
        assert_eq!(known(&recent, 1000), [Some(MANY), Some(10 * MANY), None]);
        assert_eq!(known(&recent, 1624), [Some(MANY), Some(10 * MANY), None]);
        assert_eq!(known(&recent, 1625), [None, Some(10 * MANY), None]);
        assert_eq!(known(&recent, 7249), [None, Some(10 * MANY), None]);
        assert_eq!(known(&recent, 7250), [None; 3]);
        assert_eq!(known(&recent, 999), [None; 3]);
    }

    #[test]
    fn statistics_end_with_the_epoch() {
        let mut recent = RecentStatistics::default();
        recent.keep(1, 5, 0, of(MANY));
        assert_eq!(recent.get(1, 6, 0), None);
        recent.keep(2, 6, 0, of(MANY));
        assert_eq!((recent.get(1, 5, 0), recent.0.len()), (None, 1));
    }
}
