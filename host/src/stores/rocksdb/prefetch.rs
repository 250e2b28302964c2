//! Waiting for memory once instead of many times: who needs many things that are not in the processor's own caches touches all of them
//! first, and the processor fetches them side by side.

use std::hint::black_box;

/// So many are asked for together: more are in flight than a processor can wait for at once.
pub const GROUP: usize = 16;
/// What the processor fetches at once.
const LINE_BYTES: usize = 64;
/// What is longer is fetched ahead by the processor itself, when it is copied.
const MOST_LINES: usize = 8;

/// Has the processor fetch the bytes.
pub fn touch(bytes: &[u8]) {
    bytes.iter().step_by(LINE_BYTES).take(MOST_LINES).for_each(|byte| {
        black_box(*byte);
    });
}
