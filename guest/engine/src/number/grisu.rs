//! The decimal digits of a double: Grisu2 of Florian Loitsch, "Printing Floating-Point Numbers Quickly and Accurately
//! with Integers" (2010).
//!
//! The digits always read back as the same double, but in about one of 300 cases they are not the shortest that do.
//! Redis shows these digits, so a routine that always finds the shortest would answer differently.

/// `significand * 2^exponent`.
#[derive(Clone, Copy)]
struct Scaled {
    significand: u64,
    exponent: i32,
}

/// Bits of a double's stored fraction.
const FRACTION_BITS: u32 = 52;
/// The bit above the fraction, which a normal double does not store.
const HIDDEN_BIT: u64 = 1 << FRACTION_BITS;
/// The exponent that a double stores for a significand of no scale.
const EXPONENT_BIAS: i32 = 1075;

/// The digits of a positive, finite `value` as an integer of at most 18 digits, and the power of ten it is to be
/// multiplied with.
pub(super) fn digits(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let fraction = bits & (HIDDEN_BIT - 1);
    let (significand, exponent) = match i32::try_from(bits >> FRACTION_BITS).unwrap_or(0) {
        0 => (fraction, 1 - EXPONENT_BIAS),
        stored => (fraction | HIDDEN_BIT, stored - EXPONENT_BIAS),
    };
    let middle = Scaled { significand, exponent }.normalized();
    // Halfway to the neighbours; below a power of two the neighbour is only half as far.
    let upper = Scaled { significand: 2 * significand + 1, exponent: exponent - 1 }.normalized();
    let lower = if significand == HIDDEN_BIT {
        Scaled { significand: 4 * significand - 1, exponent: exponent - 2 }
    } else {
        Scaled { significand: 2 * significand - 1, exponent: exponent - 1 }
    };
    let lower_significand = lower.significand << (lower.exponent - upper.exponent);
    let lower = Scaled { significand: lower_significand, exponent: upper.exponent };

    let (power, power_exponent) = cached_power(upper.exponent);
    let middle = middle.times(power);
    // One unit inwards, because the products are not exact.
    let upper = upper.times(power).significand - 1;
    let lower = lower.times(power).significand + 1;
    let (digits, exponent) = shortest_in(upper, lower, middle.significand, middle.exponent.unsigned_abs());
    (digits, exponent - power_exponent)
}

impl Scaled {
    /// The same number with the highest bit of the significand set.
    fn normalized(self) -> Self {
        let shift = self.significand.leading_zeros();
        let exponent = self.exponent.saturating_sub_unsigned(shift);
        Self { significand: self.significand << shift, exponent }
    }

    /// The product, rounded to 64 bits.
    fn times(self, other: Self) -> Self {
        let product = u128::from(self.significand) * u128::from(other.significand);
        let rounded = (product + (1 << 63)) >> 64;
        Self { significand: u64::try_from(rounded).unwrap_or(u64::MAX), exponent: self.exponent + other.exponent + 64 }
    }
}

/// The digits of a number between `lower` and `upper` that is close to `middle`, all three in units of `2^-scale`
/// with a scale from 32 to 60, and the power of ten of the last digit.
fn shortest_in(upper: u64, lower: u64, middle: u64, scale: u32) -> (u64, i32) {
    let one = 1_u64 << scale;
    let mut distance = upper - middle;
    let mut width = upper - lower;
    let mut whole = upper >> scale;
    let mut fraction = upper & (one - 1);
    let mut digits = 0;

    for power in (0..10).rev() {
        let unit = 10_u64.pow(power);
        digits = digits * 10 + whole / unit;
        whole %= unit;
        let rest = (whole << scale) + fraction;
        if rest <= width {
            let exponent = i32::try_from(power).unwrap_or(0);
            return (towards_middle(digits, distance, width, rest, unit << scale), exponent);
        }
    }
    let mut exponent = 0;
    loop {
        fraction *= 10;
        width *= 10;
        distance *= 10;
        exponent -= 1;
        digits = digits * 10 + (fraction >> scale);
        fraction &= one - 1;
        if fraction < width {
            return (towards_middle(digits, distance, width, fraction, one), exponent);
        }
    }
}

/// Lowers the last digit while that brings the number, which is `rest` below the upper end, closer to the middle,
/// which is `distance` below it.
fn towards_middle(mut digits: u64, distance: u64, width: u64, mut rest: u64, unit: u64) -> u64 {
    while rest < distance && width - rest >= unit && (rest + unit < distance || distance - rest > rest + unit - distance) {
        digits -= 1;
        rest += unit;
    }
    digits
}

/// A power of ten that brings a number of this exponent to one from -60 to -32, and the power's exponent of ten.
///
/// Often two powers do. Which one is taken decides the digits now and then, so the search starts where Redis starts it.
fn cached_power(exponent: i32) -> (Scaled, i32) {
    let estimate = -(exponent + 87) * 30103 / 100_000;
    let mut index = (estimate - FIRST_POWER) / POWER_STEP;
    loop {
        let power_of_ten = FIRST_POWER + index * POWER_STEP;
        // floor(power_of_ten * log2(10)), of a significand of 64 bits.
        let power_exponent = ((power_of_ten * 217_706) >> 16) - 63;
        let product_exponent = exponent + power_exponent + 64;
        if product_exponent < -60 {
            index += 1;
        } else if product_exponent > -32 {
            index -= 1;
        } else {
            let significand = usize::try_from(index).ok().and_then(|index| POWERS.get(index)).copied().unwrap_or(0);
            return (Scaled { significand, exponent: power_exponent }, power_of_ten);
        }
    }
}

const FIRST_POWER: i32 = -348;
const POWER_STEP: i32 = 8;

/// The leading 64 bits of `10^-348`, `10^-340` and so on to `10^340`, rounded to nearest.
#[rustfmt::skip]
const POWERS: [u64; 87] = [
    0xfa8fd5a0081c0288, 0xbaaee17fa23ebf76, 0x8b16fb203055ac76, 0xcf42894a5dce35ea,
    0x9a6bb0aa55653b2d, 0xe61acf033d1a45df, 0xab70fe17c79ac6ca, 0xff77b1fcbebcdc4f,
    0xbe5691ef416bd60c, 0x8dd01fad907ffc3c, 0xd3515c2831559a83, 0x9d71ac8fada6c9b5,
    0xea9c227723ee8bcb, 0xaecc49914078536d, 0x823c12795db6ce57, 0xc21094364dfb5637,
    0x9096ea6f3848984f, 0xd77485cb25823ac7, 0xa086cfcd97bf97f4, 0xef340a98172aace5,
    0xb23867fb2a35b28e, 0x84c8d4dfd2c63f3b, 0xc5dd44271ad3cdba, 0x936b9fcebb25c996,
    0xdbac6c247d62a584, 0xa3ab66580d5fdaf6, 0xf3e2f893dec3f126, 0xb5b5ada8aaff80b8,
    0x87625f056c7c4a8b, 0xc9bcff6034c13053, 0x964e858c91ba2655, 0xdff9772470297ebd,
    0xa6dfbd9fb8e5b88f, 0xf8a95fcf88747d94, 0xb94470938fa89bcf, 0x8a08f0f8bf0f156b,
    0xcdb02555653131b6, 0x993fe2c6d07b7fac, 0xe45c10c42a2b3b06, 0xaa242499697392d3,
    0xfd87b5f28300ca0e, 0xbce5086492111aeb, 0x8cbccc096f5088cc, 0xd1b71758e219652c,
    0x9c40000000000000, 0xe8d4a51000000000, 0xad78ebc5ac620000, 0x813f3978f8940984,
    0xc097ce7bc90715b3, 0x8f7e32ce7bea5c70, 0xd5d238a4abe98068, 0x9f4f2726179a2245,
    0xed63a231d4c4fb27, 0xb0de65388cc8ada8, 0x83c7088e1aab65db, 0xc45d1df942711d9a,
    0x924d692ca61be758, 0xda01ee641a708dea, 0xa26da3999aef774a, 0xf209787bb47d6b85,
    0xb454e4a179dd1877, 0x865b86925b9bc5c2, 0xc83553c5c8965d3d, 0x952ab45cfa97a0b3,
    0xde469fbd99a05fe3, 0xa59bc234db398c25, 0xf6c69a72a3989f5c, 0xb7dcbf5354e9bece,
    0x88fcf317f22241e2, 0xcc20ce9bd35c78a5, 0x98165af37b2153df, 0xe2a0b5dc971f303a,
    0xa8d9d1535ce3b396, 0xfb9b7cd9a4a7443c, 0xbb764c4ca7a44410, 0x8bab8eefb6409c1a,
    0xd01fef10a657842c, 0x9b10a4e5e9913129, 0xe7109bfba19c0c9d, 0xac2820d9623bf429,
    0x80444b5e7aa7cf85, 0xbf21e44003acdd2d, 0x8e679c2f5e44ff8f, 0xd433179d9c8cb841,
    0x9e19db92b4e31ba9, 0xeb96bf6ebadf77d9, 0xaf87023b9bf0ee6b,
];

#[cfg(test)]
mod tests {
    use num_bigint::BigUint;

    use super::*;

    #[test]
    fn the_cached_powers_are_correctly_rounded() {
        for (index, power) in POWERS.iter().enumerate() {
            let power_of_ten = FIRST_POWER + i32::try_from(index).unwrap() * POWER_STEP;
            let exponent = ((power_of_ten * 217_706) >> 16) - 63;
            // 10^k = significand * 2^exponent, brought to integers on both sides and one bit further.
            let ten = BigUint::from(10_u32).pow(power_of_ten.unsigned_abs());
            let doubled = match (power_of_ten < 0, exponent < 0) {
                (true, _) => (BigUint::from(1_u32) << (1 - exponent)) / ten,
                (false, true) => ten << (1 - exponent),
                (false, false) => (ten << 1) >> exponent,
            };
            assert_eq!((doubled + 1_u32) >> 1, BigUint::from(*power), "10^{power_of_ten}");
        }
    }

    #[test]
    fn digits_read_back_as_the_same_double() {
        // A multiplicative walk through all exponents and signs of the bit pattern.
        let mut bits = 1_u64;
        for _ in 0..20_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = f64::from_bits(bits).abs();
            if value.is_finite() && value != 0.0 {
                let (digits, exponent) = digits(value);
                assert_eq!(format!("{digits}e{exponent}").parse::<f64>(), Ok(value));
            }
        }
    }

    #[test]
    fn digits_are_not_always_the_shortest() {
        assert_eq!(digits(0.3), (3, -1));
        assert_eq!(digits(5_323.878_029_775_296), (53_238_780_297_752_965, -13));
    }
}
