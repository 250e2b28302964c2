//! Waiting for memory once instead of many times: who needs many things that are not in the processor's own caches touches all of them
//! first, and the processor fetches them side by side.

/// So many are asked for together: more are in flight than a processor can wait for at once.
pub const GROUP: usize = 16;
/// What the processor fetches at once.
const LINE_BYTES: usize = 64;
/// What is longer is fetched ahead by the processor itself, when it is copied.
const MOST_LINES: usize = 8;

/// Has the processor fetch the bytes.
pub fn touch(bytes: &[u8]) {
    for byte in bytes.iter().step_by(LINE_BYTES).take(MOST_LINES) {
        fetch(byte);
        #[cfg(not(target_arch = "x86_64"))]
        std::hint::black_box(*byte);
    }
}

/// Has the processor fetch what is there, where it can be told. Nothing waits for it, however much is fetched at once.
#[inline]
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "a hint: it shows nothing to the program, whatever the address"))]
pub fn fetch<T>(place: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has it, and it never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = place;
}
