//! Comparing bytes sixteen at a time. The `memcmp` that comes with the target takes them one by one, and was a fifth of the time of
//! pipelined commands (docs/boundary.md): keys are compared all the time.

use core::arch::wasm32::{i8x16_bitmask, i8x16_eq, v128_load};

/// Negative, zero or positive as the `n` bytes at `a` are less than, equal to or greater than those at `b`.
///
/// # Safety
/// Both point to `n` bytes that can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    let mut at = 0;
    // SAFETY: every read is of bytes below `n`.
    unsafe {
        while n - at >= 16 {
            let (one, other) = (v128_load(a.add(at).cast()), v128_load(b.add(at).cast()));
            let equal = i8x16_bitmask(i8x16_eq(one, other));
            if equal != u16::MAX {
                at += equal.trailing_ones() as usize;
                return i32::from(a.add(at).read()) - i32::from(b.add(at).read());
            }
            at += 16;
        }
        if n - at >= 8 {
            let (one, other) = (a.add(at).cast::<u64>().read_unaligned(), b.add(at).cast::<u64>().read_unaligned());
            if one != other {
                return if one.swap_bytes() < other.swap_bytes() { -1 } else { 1 };
            }
            at += 8;
        }
        while at < n {
            let (one, other) = (a.add(at).read(), b.add(at).read());
            if one != other {
                return i32::from(one) - i32::from(other);
            }
            at += 1;
        }
    }
    0
}

/// Zero where the `n` bytes are equal.
///
/// # Safety
/// As [`memcmp`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    // SAFETY: the same contract.
    unsafe { memcmp(a, b, n) }
}
