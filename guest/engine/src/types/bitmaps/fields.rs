//! Integers of any width at any bit of a string ([BITFIELD](https://redis.io/docs/latest/commands/bitfield/)).

use super::Bitmap;
use crate::db::Db;
use crate::error::Result;
use crate::layout::KeyAt;
use crate::types::strings;

/// A place for an integer: highest bit first, two's complement where it is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its first bit.
    pub offset: u64,
    /// How many bits: 1 to 64, of an unsigned one 63 at most.
    pub bits: u8,
    /// Whether it can be negative.
    pub signed: bool,
}

impl Field {
    /// Its last bit.
    #[must_use]
    pub fn last_bit(self) -> u64 {
        self.offset.saturating_add(u64::from(self.bits)).saturating_sub(1)
    }

    /// The lowest and the highest number that fits.
    fn limits(self) -> (i128, i128) {
        if self.signed {
            let half = 1_i128 << self.bits.saturating_sub(1);
            (-half, half - 1)
        } else {
            (0, (1_i128 << self.bits) - 1)
        }
    }

    /// The number that the lowest bits of `number` are.
    fn wrap(self, number: i128) -> i128 {
        let low = number & ((1_i128 << self.bits) - 1);
        let (_, highest) = self.limits();
        if low > highest { low - (1_i128 << self.bits) } else { low }
    }

    /// The bytes that it is spread over: nine at most.
    fn bytes(self) -> std::ops::RangeInclusive<usize> {
        let byte = |bit: u64| usize::try_from(bit / 8).unwrap_or(usize::MAX);
        byte(self.offset)..=byte(self.last_bit())
    }

    /// How many bits follow it in its last byte.
    fn bits_behind(self) -> u64 {
        7 - self.last_bit() % 8
    }

    /// The integer in `value`; what is beyond its end is zero.
    pub(super) fn read(self, value: &[u8]) -> i128 {
        let byte = |index: usize| i128::from(value.get(index).copied().unwrap_or_default());
        let all = self.bytes().fold(0, |all, index| all << 8 | byte(index));
        self.wrap(all >> self.bits_behind())
    }

    /// Puts the lowest bits of `number` in its place. What is beyond the end of `value` is left out.
    pub(super) fn write(self, value: &mut [u8], number: i128) {
        let mask = ((1_i128 << self.bits) - 1) << self.bits_behind();
        let bits = number << self.bits_behind() & mask;
        for (shift, index) in (0..).step_by(8).zip(self.bytes().rev()) {
            let [mask, ..] = (mask >> shift).to_le_bytes();
            let [bits, ..] = (bits >> shift).to_le_bytes();
            if let Some(byte) = value.get_mut(index) {
                *byte = *byte & !mask | bits;
            }
        }
    }
}

/// What happens to a number that does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// Its lowest bits are kept.
    #[default]
    Wrap,
    /// It becomes the lowest or highest number that fits.
    Saturate,
    /// Nothing is written.
    Fail,
}

impl Overflow {
    /// What is written instead of `number`; `None`: nothing.
    fn apply(self, field: Field, number: i128) -> Option<i128> {
        let (lowest, highest) = field.limits();
        if (lowest..=highest).contains(&number) {
            return Some(number);
        }
        match self {
            Self::Wrap => Some(field.wrap(number)),
            Self::Saturate if number > highest => Some(highest),
            Self::Saturate => Some(lowest),
            Self::Fail => None,
        }
    }
}

/// What is done to a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Returns the number.
    Get,
    /// Writes a number, and returns the one before.
    Set(i64, Overflow),
    /// Adds to the number, and returns the sum.
    Add(i64, Overflow),
}

/// Performs actions in their order on the string under a key and returns a number for each; `None` where an overflow made it fail.
/// The string is first made long enough for everything that may be written; an absent key counts as empty. The expiry stays.
///
/// # Errors
/// The string would be too long; `WRONGTYPE`; store errors, corrupt records.
pub fn perform(db: &mut Db, at: &KeyAt, actions: &[(Field, Action)]) -> Result<Vec<Option<i64>>> {
    let written = actions.iter().filter(|(_, action)| *action != Action::Get);
    let Some(last_bit) = written.map(|(field, _)| field.last_bit()).max() else {
        let value = strings::get(db, at)?.unwrap_or_default();
        return Ok(actions.iter().map(|(field, _)| narrow(field.read(&value))).collect());
    };
    let mut bitmap = Bitmap::open(db, at, last_bit)?;
    let results = actions.iter().map(|(field, action)| {
        let field = *field;
        let old = field.read(&bitmap.value);
        let (new, result) = match *action {
            Action::Get => (old, old),
            Action::Set(number, overflow) => (overflow.apply(field, as_argument(field, number))?, old),
            Action::Add(increment, overflow) => {
                let sum = overflow.apply(field, old + i128::from(increment))?;
                (sum, sum)
            }
        };
        if *action != Action::Get {
            bitmap.write(field, old, new);
        }
        narrow(result)
    });
    let results = results.collect();
    bitmap.store(db, at)?;
    Ok(results)
}

/// A number to be set, as Redis takes it. For an unsigned field a negative one stands for its 64 bits, which are too many. For a
/// signed one its distance to the highest has 64 bits as well: far below the lowest it wraps, and the number counts as too high.
fn as_argument(field: Field, number: i64) -> i128 {
    let (lowest, highest) = field.limits();
    let number = i128::from(number);
    let is_too_high = if field.signed { number < lowest && highest - number > i128::from(i64::MAX) } else { number < 0 };
    if is_too_high { number + (1_i128 << 64) } else { number }
}

/// A number of a field, which always fits.
fn narrow(number: i128) -> Option<i64> {
    i64::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::{Field, Overflow, as_argument};

    #[test]
    fn what_is_written_is_read_back_and_its_neighbours_stay() {
        for background in [0x00, 0xff, 0x5a] {
            for signed in [false, true] {
                for bits in 1..=if signed { 64 } else { 63 } {
                    for offset in 0..20 {
                        let field = Field { offset, bits, signed };
                        let (lowest, highest) = field.limits();
                        for number in [lowest, highest, 0, (lowest + highest) / 3] {
                            let mut value = vec![background; 12];
                            field.write(&mut value, number);
                            assert_eq!(field.read(&value), number, "{field:?}");
                            let before = Field { offset: 0, bits: u8::try_from(offset).unwrap(), signed: false };
                            let behind = Field { offset: field.last_bit() + 1, bits: 8, signed: false };
                            let untouched = vec![background; 12];
                            assert_eq!(behind.read(&value), behind.read(&untouched), "{field:?}");
                            assert!(offset == 0 || before.read(&value) == before.read(&untouched), "{field:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn bits_beyond_the_end_are_zero_and_stay_away() {
        let field = Field { offset: 4, bits: 8, signed: true };
        assert_eq!(field.read(b"\x0f"), -16);
        assert_eq!(field.read(b""), 0);
        let mut value = [0];
        field.write(&mut value, -1);
        assert_eq!(value, [0x0f]);
    }

    #[test]
    fn an_overflow_wraps_saturates_or_fails() {
        let signed = Field { offset: 0, bits: 8, signed: true };
        let unsigned = Field { offset: 0, bits: 8, signed: false };
        let cases = [
            (signed, 127, Some(127), Some(127), Some(127)),
            (signed, 128, Some(-128), Some(127), None),
            (signed, -129, Some(127), Some(-128), None),
            (signed, i64::MIN.into(), Some(0), Some(-128), None),
            (signed, as_argument(signed, i64::MIN), Some(0), Some(127), None),
            (signed, as_argument(signed, i64::MIN + 127), Some(127), Some(127), None),
            (signed, as_argument(signed, i64::MIN + 128), Some(-128), Some(-128), None),
            (unsigned, 255, Some(255), Some(255), Some(255)),
            (unsigned, 256, Some(0), Some(255), None),
            (unsigned, -1, Some(255), Some(0), None),
            (unsigned, as_argument(unsigned, -1), Some(255), Some(255), None),
        ];
        for (field, number, wrapped, saturated, checked) in cases {
            assert_eq!(Overflow::Wrap.apply(field, number), wrapped, "{number}");
            assert_eq!(Overflow::Saturate.apply(field, number), saturated, "{number}");
            assert_eq!(Overflow::Fail.apply(field, number), checked, "{number}");
        }
    }
}
