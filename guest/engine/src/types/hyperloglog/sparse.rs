//! The sparse representation: runs of registers with the same value, for as long as most of them are zero.
//!
//! | bytes | run |
//! |---|---|
//! | `00xxxxxx` | `x` + 1 zeros |
//! | `01xxxxxx yyyyyyyy` | `xy` + 1 zeros |
//! | `1vvvvvxx` | `x` + 1 times the value `v` + 1 |

use super::{DAMAGED, REGISTERS};
use crate::error::Result;

/// Zeros of the shorter form.
const MAX_SHORT_ZEROS: usize = 64;
/// Registers of one run that are not zero.
const MAX_VALUES: usize = 4;
/// The highest value.
const MAX_VALUE: u8 = 32;
/// Bytes of a sketch from which on it is dense, its header included (`hll-sparse-max-bytes`).
const MAX_BYTES: usize = 3000;
/// After a change, so many runs are looked at for neighbours that can be one.
const MERGED_RUNS: usize = 5;

/// A run of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub value: u8,
    /// 1 to 16384; of a value other than 0, at most 4.
    pub length: usize,
    /// How many bytes it takes.
    bytes: usize,
}

impl Run {
    /// The run at `offset`; `None` at the end, and where the last one is cut short.
    fn read(runs: &[u8], offset: usize) -> Option<Self> {
        let first = *runs.get(offset)?;
        let low = usize::from(first & 0x3f);
        Some(match first >> 6 {
            0 => Self { value: 0, length: low + 1, bytes: 1 },
            1 => {
                let second = usize::from(*runs.get(offset + 1)?);
                Self { value: 0, length: (low << 8 | second) + 1, bytes: 2 }
            }
            _ => Self { value: (first >> 2 & 0x1f) + 1, length: usize::from(first & 3) + 1, bytes: 1 },
        })
    }
}

/// Appends a run of that value; nothing where it is empty.
fn push(runs: &mut Vec<u8>, value: u8, length: usize) {
    let Some(more) = length.checked_sub(1).and_then(|more| u16::try_from(more).ok()) else { return };
    let [high, low] = more.to_be_bytes();
    match value {
        0 if length > MAX_SHORT_ZEROS => runs.extend([0x40 | high, low]),
        0 => runs.push(low),
        value => runs.push(0x80 | (value - 1) << 2 | low),
    }
}

/// No register has a value.
pub(super) fn empty() -> Vec<u8> {
    let mut runs = Vec::new();
    push(&mut runs, 0, REGISTERS);
    runs
}

/// The runs, each with its offset in bytes.
pub(super) fn runs(runs: &[u8]) -> impl Iterator<Item = (usize, Run)> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let run = Run::read(runs, offset)?;
        let at = offset;
        offset += run.bytes;
        Some((at, run))
    })
}

/// What raising a register has led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Raised {
    /// Nothing: it is as high.
    No,
    /// It is raised.
    Yes,
    /// There is no room: the sketch must become dense first.
    NoRoom,
}

/// Raises a register to `value`, in the runs behind the first `header` bytes of `sketch`.
///
/// # Errors
/// No run covers the register.
pub(super) fn raise(sketch: &mut Vec<u8>, header: usize, register: usize, value: u8) -> Result<Raised> {
    if value > MAX_VALUE {
        return Ok(Raised::NoRoom);
    }
    let (mut first, mut before, mut found) = (0, header, None);
    for (offset, run) in runs(sketch.get(header..).unwrap_or_default()) {
        let offset = header + offset;
        if register < first + run.length {
            found = Some((offset, run));
            break;
        }
        first += run.length;
        before = offset;
    }
    let (offset, run) = found.ok_or(DAMAGED)?;
    if run.value >= value {
        return Ok(Raised::No);
    }
    let mut split = Vec::with_capacity(5);
    push(&mut split, run.value, register - first);
    push(&mut split, value, 1);
    push(&mut split, run.value, first + run.length - register - 1);
    if split.len() > run.bytes && sketch.len() + split.len() - run.bytes > MAX_BYTES {
        return Ok(Raised::NoRoom);
    }
    sketch.splice(offset..offset + run.bytes, split);
    merge_neighbours(sketch, before);
    Ok(Raised::Yes)
}

/// Makes one run of neighbours with the same value, as long as it is not too long, among the few runs from `offset` on.
fn merge_neighbours(sketch: &mut Vec<u8>, mut offset: usize) {
    for _ in 0..MERGED_RUNS {
        let Some(run) = Run::read(sketch, offset) else { return };
        let next = Run::read(sketch, offset + run.bytes).filter(|next| run.value > 0 && next.value == run.value);
        match next.map(|next| run.length + next.length) {
            Some(length) if length <= MAX_VALUES => {
                let mut merged = Vec::with_capacity(1);
                push(&mut merged, run.value, length);
                sketch.splice(offset..offset + 2, merged);
            }
            _ => offset += run.bytes,
        }
    }
}
