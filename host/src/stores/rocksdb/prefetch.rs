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
    bytes.iter().step_by(LINE_BYTES).take(MOST_LINES).for_each(|byte| fetch(byte, |byte| *byte));
}

/// Has the processor fetch what is there, for which nothing waits, however much is fetched at once. Where it cannot be told to, what is there is read by
/// `load`, which nobody looks at.
#[inline]
#[cfg_attr(target_arch = "x86_64", expect(unsafe_code, reason = "a hint: it shows nothing to the program, whatever the address"))]
pub fn fetch<T, V>(place: &T, load: impl FnOnce(&T) -> V) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has it, and it never faults.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(place).cast());
    }
    if cfg!(not(target_arch = "x86_64")) {
        std::hint::black_box(load(place));
    }
}
