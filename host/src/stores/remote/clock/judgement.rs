//! What comparisons of clocks say.

use std::time::Duration;

/// How far this clock is ahead of another one, in milliseconds: somewhere between two bounds. Negative: behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skew {
    low_ms: i64,
    high_ms: i64,
}

impl Skew {
    /// From an event that both clocks saw: this one, and the other one, between their two times each.
    #[must_use]
    pub fn new(this: (u64, u64), other: (u64, u64)) -> Self {
        let difference = |left: u64, right: u64| i64::try_from(i128::from(left) - i128::from(right)).unwrap_or(i64::MAX);
        Self { low_ms: difference(this.0, other.1), high_ms: difference(this.1, other.0) }
    }

    /// What is certain of it: the bound nearer to zero; zero where it may be zero.
    #[must_use]
    pub const fn certain_ms(self) -> i64 {
        if self.low_ms > 0 {
            self.low_ms
        } else if self.high_ms < 0 {
            self.high_ms
        } else {
            0
        }
    }
}

/// Whether a clock is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// It differs too much.
    pub is_wrong: bool,
    /// The median of what is certain of its skews.
    pub skew_ms: i64,
}

/// A clock is wrong where it differs from most others by more than `max`: of three servers the one that is off, of two both, for
/// neither can know which one it is.
pub fn judge(skews: &[Skew], max: Duration) -> Judgement {
    let mut certain: Vec<i64> = skews.iter().map(|skew| skew.certain_ms()).collect();
    certain.sort_unstable();
    let skew_ms = certain.get(certain.len() / 2).copied().unwrap_or_default();
    let beyond = certain.iter().filter(|skew| u128::from(skew.unsigned_abs()) > max.as_millis()).count();
    Judgement { is_wrong: beyond * 2 > certain.len(), skew_ms }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX: Duration = Duration::from_millis(500);

    fn exactly(ms: i64) -> Skew {
        Skew { low_ms: ms, high_ms: ms }
    }

    #[test]
    fn only_what_is_certain_counts() {
        // The other clock showed 1000 when this one was somewhere from 900 to 1900.
        let skew = Skew::new((900, 1900), (1000, 1000));
        assert_eq!((skew, skew.certain_ms()), (Skew { low_ms: -100, high_ms: 900 }, 0));
        assert_eq!(Skew::new((2000, 2100), (1000, 1010)).certain_ms(), 990);
        assert_eq!(Skew::new((1000, 1100), (2000, 2010)).certain_ms(), -900);
    }

    #[test]
    fn of_three_servers_the_one_that_is_off_is_wrong() {
        assert!(judge(&[exactly(2000), exactly(2010)], MAX).is_wrong);
        assert!(!judge(&[exactly(-2000), exactly(10)], MAX).is_wrong);
    }

    #[test]
    fn of_two_servers_both_are_wrong_and_one_alone_is_right() {
        assert_eq!(judge(&[exactly(-501)], MAX), Judgement { is_wrong: true, skew_ms: -501 });
        assert!(!judge(&[exactly(500)], MAX).is_wrong);
        assert_eq!(judge(&[], MAX), Judgement::default());
    }
}
