//! Which expiries a layout can hold, and when a key that has one is gone.

use crate::error::{Error, Result};

/// The expiries of a layout: Unix times in milliseconds, as far as its format has room for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpiryRules {
    /// The steps in which the format counts. The clock of the engine makes the same steps: in a layout of seconds, it is always a full
    /// second.
    pub unit_ms: u64,
    /// For how long a key stays behind its expiry, beside the unit in which the clock equals it.
    pub lingers_ms: u64,
    /// The key is gone when the clock shows its expiry, and not only when it is past it.
    pub gone_at: bool,
    /// The latest expiry that fits.
    pub latest_ms: u64,
}

impl ExpiryRules {
    /// Those of Redis: milliseconds, and gone when the clock is past them.
    pub const REDIS: Self = Self { unit_ms: 1, lingers_ms: 0, gone_at: false, latest_ms: u64::MAX };
    /// Those of layouts with 32 bits of seconds: until 2038-01-19.
    pub const SECONDS: Self = Self { unit_ms: 1000, latest_ms: 0x7fff_ffff * 1000, ..Self::REDIS };

    /// The clock, in the steps of the format.
    #[must_use]
    pub const fn clock(&self, now_ms: u64) -> u64 {
        match now_ms.checked_rem(self.unit_ms) {
            Some(rest) => now_ms - rest,
            None => now_ms,
        }
    }

    /// Whether what expires at `at_ms` is gone at `now_ms`.
    #[must_use]
    pub const fn is_past(&self, at_ms: u64, now_ms: u64) -> bool {
        let now_ms = self.clock(now_ms);
        now_ms > at_ms || self.gone_at && now_ms == at_ms
    }

    /// What a time to live counts from: `base + ttl` is the expiry.
    #[must_use]
    pub const fn base_ms(&self, now_ms: u64) -> u64 {
        self.clock(now_ms).saturating_sub(self.lingers_ms)
    }

    /// Makes sure that an expiry fits.
    ///
    /// # Errors
    /// A client's mistake that names the limit.
    pub fn check(&self, layout: &str, at_ms: u64) -> Result<()> {
        if at_ms.checked_rem(self.unit_ms).is_some_and(|rest| rest != 0) {
            return Err(Error::Client(format!("ERR the layout {layout} keeps expiries in full seconds").into()));
        }
        if at_ms > self.latest_ms {
            let latest = self.latest_ms / 1000;
            return Err(Error::Client(format!("ERR the layout {layout} keeps no expiry behind the Unix time {latest}").into()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::ExpiryRules;

    #[test]
    fn a_clock_of_seconds_stands_still_within_a_second() {
        let rules = ExpiryRules::SECONDS;
        assert_eq!(rules.clock(1_999), 1_000);
        assert!(!rules.is_past(1_000, 1_999));
        assert!(rules.is_past(1_000, 2_000));
        assert_eq!(rules.base_ms(1_999), 1_000);
    }

    #[test]
    fn an_expiry_that_does_not_fit_is_refused_with_its_limit() {
        let check = |at_ms| ExpiryRules::SECONDS.check("blackwidow", at_ms).map_err(|error| error.to_string());
        assert_eq!(check(2_147_483_647_000), Ok(()));
        assert_eq!(check(1_500), Err("ERR the layout blackwidow keeps expiries in full seconds".to_owned()));
        assert_eq!(check(2_147_483_648_000), Err("ERR the layout blackwidow keeps no expiry behind the Unix time 2147483647".to_owned()));
        assert_eq!(ExpiryRules::REDIS.check("orbweaver", u64::MAX), Ok(()));
    }

    #[test]
    fn what_is_gone_at_its_expiry_is_gone_a_step_earlier() {
        let rules = ExpiryRules { gone_at: true, ..ExpiryRules::REDIS };
        assert!(rules.is_past(5, 5) && !rules.is_past(5, 4));
        assert!(!ExpiryRules::REDIS.is_past(5, 5) && ExpiryRules::REDIS.is_past(5, 6));
    }
}
