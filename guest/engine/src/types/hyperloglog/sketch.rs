//! A sketch in its bytes: a header of 16 bytes, then the registers in one of two representations.
//!
//! | bytes | content |
//! |---|---|
//! | 0 to 3 | `HYLL` |
//! | 4 | 0: dense, 1: sparse |
//! | 5 to 7 | unused |
//! | 8 to 15 | the last estimate, little-endian; with the highest bit set it is out of date |

use super::estimate::Histogram;
use super::sparse::{self, Raised};
use super::{DAMAGED, NO_SKETCH, REGISTERS, dense};
use crate::error::Result;
use bytes::Bytes;

const MAGIC: &[u8] = b"HYLL";
const HEADER: usize = 16;
const DENSE: u8 = 0;
const SPARSE: u8 = 1;
const ENCODING_AT: usize = 4;
const COUNT_AT: usize = 8;
const OUT_OF_DATE: u64 = 1 << 63;

/// A sketch.
pub(super) struct Sketch {
    bytes: Vec<u8>,
}

impl Sketch {
    /// An empty one.
    pub(super) fn new() -> Self {
        let mut bytes = MAGIC.to_vec();
        bytes.push(SPARSE);
        bytes.resize(HEADER, 0);
        bytes.extend(sparse::empty());
        Self { bytes }
    }

    /// The sketch in a string.
    ///
    /// # Errors
    /// It has no header, or not the length of a dense one.
    pub(super) fn read(value: &Bytes) -> Result<Self> {
        let encoding = value.get(ENCODING_AT).filter(|_| value.starts_with(MAGIC) && value.len() >= HEADER);
        match encoding {
            Some(&SPARSE) => {}
            Some(&DENSE) if value.len() == HEADER + dense::BYTES => {}
            _ => return Err(NO_SKETCH),
        }
        Ok(Self { bytes: value.to_vec() })
    }

    pub(super) fn into_bytes(self) -> Bytes {
        self.bytes.into()
    }

    pub(super) fn is_dense(&self) -> bool {
        self.bytes.get(ENCODING_AT) == Some(&DENSE)
    }

    fn registers(&self) -> &[u8] {
        self.bytes.get(HEADER..).unwrap_or_default()
    }

    fn count_field(&self) -> u64 {
        let field = self.bytes.get(COUNT_AT..).and_then(<[u8]>::first_chunk);
        field.map_or(OUT_OF_DATE, |field| u64::from_le_bytes(*field))
    }

    /// The estimate that was kept; `None` where it is out of date.
    pub(super) fn kept_count(&self) -> Option<u64> {
        Some(self.count_field()).filter(|count| count & OUT_OF_DATE == 0)
    }

    /// Keeps an estimate.
    pub(super) fn keep_count(&mut self, count: u64) {
        if let Some(field) = self.bytes.get_mut(COUNT_AT..HEADER) {
            field.copy_from_slice(&count.to_le_bytes());
        }
    }

    /// Marks the estimate that is kept as out of date.
    pub(super) fn forget_count(&mut self) {
        self.keep_count(self.count_field() | OUT_OF_DATE);
    }

    /// Raises a register to `value`. False where it is as high.
    ///
    /// # Errors
    /// The sparse registers are damaged.
    pub(super) fn raise(&mut self, register: usize, value: u8) -> Result<bool> {
        if !self.is_dense() {
            match sparse::raise(&mut self.bytes, HEADER, register, value)? {
                Raised::No => return Ok(false),
                Raised::Yes => return Ok(true),
                Raised::NoRoom => self.make_dense()?,
            }
        }
        let registers = self.bytes.get_mut(HEADER..).unwrap_or_default();
        let is_raised = dense::get(registers, register) < value;
        if is_raised {
            dense::set(registers, register, value);
        }
        Ok(is_raised)
    }

    /// Raises `registers` to those of the sketch.
    ///
    /// # Errors
    /// The sparse registers are damaged.
    pub(super) fn raise_all(&self, registers: &mut [u8]) -> Result<()> {
        if self.is_dense() {
            registers.iter_mut().zip(dense::all(self.registers())).for_each(|(highest, value)| *highest = value.max(*highest));
            return Ok(());
        }
        let mut rest = registers;
        for (_, run) in sparse::runs(self.registers()) {
            let (covered, behind) = rest.split_at_mut_checked(run.length).ok_or(DAMAGED)?;
            covered.iter_mut().for_each(|highest| *highest = run.value.max(*highest));
            rest = behind;
        }
        if rest.is_empty() { Ok(()) } else { Err(DAMAGED) }
    }

    /// How many registers have each value.
    ///
    /// # Errors
    /// The sparse registers are damaged.
    pub(super) fn histogram(&self) -> Result<Histogram> {
        let mut histogram = Histogram::default();
        if self.is_dense() {
            dense::all(self.registers()).for_each(|value| histogram.add(value, 1));
            return Ok(histogram);
        }
        let mut covered = 0;
        for (_, run) in sparse::runs(self.registers()) {
            covered += run.length;
            let length = u32::try_from(run.length).ok().filter(|_| covered <= REGISTERS).ok_or(DAMAGED)?;
            histogram.add(run.value, length);
        }
        if covered == REGISTERS { Ok(histogram) } else { Err(DAMAGED) }
    }

    /// Changes to the dense representation. The header stays.
    ///
    /// # Errors
    /// The sparse registers are damaged.
    pub(super) fn make_dense(&mut self) -> Result<()> {
        if self.is_dense() {
            return Ok(());
        }
        let mut registers = vec![0; REGISTERS];
        self.raise_all(&mut registers)?;
        self.bytes.truncate(HEADER);
        self.bytes.resize(HEADER + dense::BYTES, 0);
        if let Some(encoding) = self.bytes.get_mut(ENCODING_AT) {
            *encoding = DENSE;
        }
        let packed = self.bytes.get_mut(HEADER..).unwrap_or_default();
        registers.iter().enumerate().for_each(|(register, &value)| dense::set(packed, register, value));
        Ok(())
    }
}
