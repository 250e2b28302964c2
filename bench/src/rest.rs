//! Waits for work in the background to end: a side answers for its own work only.

use std::thread::sleep;
use std::time::Duration;

/// Most looks.
const LOOKS: usize = 200;

/// Waits until `worked`, in seconds of CPU time, grows by less than `little` from one look to the next, or 200 looks are over. Returns what
/// it is then.
pub fn until_little(little: f64, pause: Duration, mut worked: impl FnMut() -> f64) -> f64 {
    let mut before = worked();
    for _ in 0..LOOKS {
        sleep(pause);
        let now = worked();
        let grown = now - before;
        before = now;
        if grown < little {
            break;
        }
    }
    before
}
