//! Times at which keys expire, as commands give them: in seconds or milliseconds, from now on or as a Unix time.

use super::options::{integer, is_word};
use crate::error::{Error, Result, texts};
use bytes::Bytes;

/// What the number of an expiry argument counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
}

/// How an expiry argument is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    /// What the number counts.
    pub unit: Unit,
    /// Counted from 1970 on; otherwise from now on.
    pub absolute: bool,
}

impl Time {
    /// Seconds from now on: `EX`, SETEX, EXPIRE.
    pub const EX: Self = Self { unit: Unit::Seconds, absolute: false };
    /// Milliseconds from now on: `PX`, PSETEX, PEXPIRE.
    pub const PX: Self = Self { unit: Unit::Milliseconds, absolute: false };
    /// Unix time in seconds: `EXAT`, EXPIREAT.
    pub const EXAT: Self = Self { unit: Unit::Seconds, absolute: true };
    /// Unix time in milliseconds: `PXAT`, PEXPIREAT.
    pub const PXAT: Self = Self { unit: Unit::Milliseconds, absolute: true };

    /// The time that an option word announces, in any case.
    #[must_use]
    pub fn from_word(word: &Bytes) -> Option<Self> {
        let words = [("ex", Self::EX), ("px", Self::PX), ("exat", Self::EXAT), ("pxat", Self::PXAT)];
        words.into_iter().find(|(name, _)| is_word(word, name)).map(|(_, time)| time)
    }

    /// The Unix time in milliseconds that `argument` stands for, as the EXPIRE family reads it: any number, also one of the past.
    /// What is before 1970 is 0, which is past as well. `command` is the name for the error text, in lower case.
    ///
    /// # Errors
    /// What is no integer; `ERR invalid expire time in '...' command` where the time does not fit 64 bits
    /// (`expireGenericCommand` in Redis' `expire.c`).
    pub fn at_ms(self, argument: &[u8], now_ms: u64, command: &str) -> Result<u64> {
        self.to_ms(integer(argument)?, now_ms).ok_or_else(|| invalid(command))
    }

    /// As [`Time::at_ms`], for the options of SET and GETEX and for SETEX and PSETEX, which take positive numbers alone
    /// (`getExpireMillisecondsOrReply` in Redis' `t_string.c`).
    ///
    /// # Errors
    /// As [`Time::at_ms`], and the same error for zero and negative numbers.
    pub fn positive_at_ms(self, argument: &[u8], now_ms: u64, command: &str) -> Result<u64> {
        let number = integer(argument)?;
        let at = if number > 0 { self.to_ms(number, now_ms) } else { None };
        at.ok_or_else(|| invalid(command))
    }

    /// The Unix time in milliseconds of a number. `None` where it is beyond the largest `i64`, or the number cannot be multiplied.
    #[must_use]
    pub fn to_ms(self, number: i64, now_ms: u64) -> Option<u64> {
        let ms = match self.unit {
            Unit::Seconds => number.checked_mul(1000)?,
            Unit::Milliseconds => number,
        };
        let base = if self.absolute { 0 } else { i64::try_from(now_ms).ok()? };
        let at = ms.checked_add(base)?;
        Some(u64::try_from(at).unwrap_or(0))
    }
}

/// What SET and GETEX are told about the expiry: at most one of the times or of the word that excludes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpiryOption<'a> {
    /// Nothing.
    None,
    /// `KEEPTTL` of SET, `PERSIST` of GETEX.
    Word,
    /// `EX`, `PX`, `EXAT` or `PXAT`, and the number behind it.
    Time(Time, &'a [u8]),
}

impl<'a> ExpiryOption<'a> {
    /// Takes one option `word`, with the number among the `words` behind it where it is a time. `own_word` is the one for
    /// [`ExpiryOption::Word`]. The same option may come again; the last one counts.
    ///
    /// # Errors
    /// `ERR syntax error` for other words, for a missing number, and where another option excludes this one.
    pub fn read(&mut self, own_word: &str, word: &Bytes, words: &mut impl Iterator<Item = &'a Bytes>) -> Result<()> {
        let option = if is_word(word, own_word) {
            Self::Word
        } else {
            let time = Time::from_word(word).ok_or(texts::SYNTAX)?;
            Self::Time(time, words.next().ok_or(texts::SYNTAX)?)
        };
        let is_alone = match (*self, option) {
            (Self::None, _) | (Self::Word, Self::Word) => true,
            (Self::Time(before, _), Self::Time(now, _)) => before == now,
            _ => false,
        };
        if !is_alone {
            return Err(texts::SYNTAX);
        }
        *self = option;
        Ok(())
    }
}

/// Redis' error for a time out of range. `command` is the name in lower case.
#[must_use]
pub fn invalid(command: &str) -> Error {
    Error::Client(format!("ERR invalid expire time in '{command}' command").into())
}

#[cfg(test)]
mod tests {
    use super::Time;
    use crate::error::texts;

    const NOW_MS: u64 = 1_000_000;

    #[test]
    fn seconds_and_milliseconds_count_from_now_or_from_1970() {
        let cases = [(Time::EX, 1_007_000), (Time::PX, 1_000_007), (Time::EXAT, 7_000), (Time::PXAT, 7)];
        for (time, at_ms) in cases {
            assert_eq!(time.at_ms(b"7", NOW_MS, "expire"), Ok(at_ms));
            assert_eq!(time.positive_at_ms(b"7", NOW_MS, "set"), Ok(at_ms));
        }
    }

    #[test]
    fn only_the_expire_family_takes_times_of_the_past() {
        for number in ["0", "-1", "-1000000000"] {
            let refused = Time::EX.positive_at_ms(number.as_bytes(), NOW_MS, "getex").unwrap_err();
            assert_eq!(refused.to_string(), "ERR invalid expire time in 'getex' command");
        }
        assert_eq!(Time::EX.at_ms(b"-1", NOW_MS, "expire"), Ok(999_000));
        assert_eq!(Time::PX.at_ms(b"-1000001", NOW_MS, "pexpire"), Ok(0));
        assert_eq!(Time::PXAT.at_ms(b"-9223372036854775808", NOW_MS, "pexpireat"), Ok(0));
    }

    #[test]
    fn a_time_that_does_not_fit_64_bits_is_refused() {
        let fits = |time: Time, number: i64| time.at_ms(number.to_string().as_bytes(), NOW_MS, "expire").is_ok();
        assert!(fits(Time::PXAT, i64::MAX));
        assert!(!fits(Time::PX, i64::MAX));
        assert!(fits(Time::PX, i64::MAX - 1_000_000));
        assert!(!fits(Time::PX, i64::MAX - 999_999));
        assert!(fits(Time::EXAT, i64::MAX / 1000));
        assert!(!fits(Time::EXAT, i64::MAX / 1000 + 1));
        assert!(fits(Time::EX, i64::MIN / 1000));
        assert!(!fits(Time::EX, i64::MIN / 1000 - 1));
    }

    #[test]
    fn what_is_no_integer_is_told_before_the_range() {
        assert_eq!(Time::EX.at_ms(b"1.5", NOW_MS, "expire"), Err(texts::NOT_AN_INTEGER));
        assert_eq!(Time::EX.positive_at_ms(b"9223372036854775808", NOW_MS, "set"), Err(texts::NOT_AN_INTEGER));
    }

    #[test]
    fn an_option_word_is_read_in_any_case() {
        assert_eq!(Time::from_word(&"pXaT".into()), Some(Time::PXAT));
        assert_eq!(Time::from_word(&"exa".into()), None);
    }
}
