//! Waits for work in the background to end: a side answers for its own work only.

use std::thread::sleep;
use std::time::Duration;

/// Most looks.
const LOOKS: usize = 200;

/// So many looks in a row that find nothing: what works in the background may itself have to wait for a processor.
const QUIET_LOOKS: usize = 3;

/// Waits until `worked`, in seconds of CPU time, grows by less than `little` from one look to the next, some times in a row, or 200 looks are over.
/// Returns what it is then.
pub fn until_little(little: f64, pause: Duration, mut worked: impl FnMut() -> f64) -> f64 {
    let (mut before, mut quiet) = (worked(), 0);
    for _ in 0..LOOKS {
        sleep(pause);
        let now = worked();
        quiet = if now - before < little { quiet + 1 } else { 0 };
        before = now;
        if quiet == QUIET_LOOKS {
            break;
        }
    }
    before
}
