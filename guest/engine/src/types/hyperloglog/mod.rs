//! `HyperLogLog`: how many distinct elements were added, estimated with a standard error of 0.81 % from at most 12 KiB.
//!
//! The records are strings. Mostly they have the bytes that Redis has for the same commands (`src/hyperloglog.c`): either server reads
//! those of the other. Layouts that say so have those of Blackwidow (`bytes.rs`). See <https://redis.io/docs/latest/commands/?group=hyperloglog>.
//!
//! All functions take a key by its place ([`Db::at`]) and return `WRONGTYPE` where it holds another type, Redis' errors where
//! it holds a string that is no `HyperLogLog` or a damaged one, and pass on store errors and corrupt records.

mod bytes;
mod dense;
mod estimate;
mod hash;
mod sketch;
mod sparse;

use super::strings;
use crate::db::Db;
use crate::error::{Error, Result};
use crate::layout::{KeyAt, SketchFormat};
use ::bytes::Bytes;
use bytes::Registers;
use sketch::Sketch;

/// Bits of the hash that choose a register.
const INDEX_BITS: u32 = 14;
/// Registers of a sketch. Each holds the longest run of zeros seen among the hashes that chose it.
const REGISTERS: usize = 1 << INDEX_BITS;

const NO_SKETCH: Error = Error::client("WRONGTYPE Key is not a valid HyperLogLog string value.");
const DAMAGED: Error = Error::client("INVALIDOBJ Corrupted HLL object detected");

/// Adds elements. True where the estimate may have changed, and where the key is new: without elements it holds an empty one then.
/// The expiry stays (PFADD).
///
/// # Errors
/// See the module.
pub fn add(db: &mut Db, at: &KeyAt, elements: &[Bytes]) -> Result<bool> {
    if db.layout.sketches() == SketchFormat::Bytes {
        return add_to_registers(db, at, elements);
    }
    let (old, value) = db.find_string(at)?.unzip();
    let raised = with_elements(value.as_ref(), elements)?;
    let is_changed = raised.is_some();
    if let Some(raised) = raised {
        strings::update(db, at, old.as_ref(), raised, "pfadd")?;
    }
    Ok(is_changed)
}

/// A sketch with more elements in it, and a new one where there is none; `None` where that changes nothing.
///
/// # Errors
/// As for a key that holds it, see the module.
pub fn with_elements(value: Option<&Bytes>, elements: &[Bytes]) -> Result<Option<Bytes>> {
    let mut is_changed = value.is_none();
    let mut sketch = value.map_or_else(|| Ok(Sketch::new()), Sketch::read)?;
    for element in elements {
        let (register, run) = hash::register_and_run(element);
        is_changed |= sketch.raise(register, run)?;
    }
    if is_changed {
        sketch.forget_count();
    }
    Ok(is_changed.then(|| sketch.into_bytes()))
}

/// The estimate; 0 for an absent key. It is kept within the record, where the transaction may change the key, until elements are
/// added (PFCOUNT with one key).
///
/// # Errors
/// See the module.
pub fn count(db: &mut Db, at: &KeyAt) -> Result<u64> {
    if db.layout.sketches() == SketchFormat::Bytes {
        return count_union(db, std::slice::from_ref(at));
    }
    let Some((old, value)) = db.find_string(at)? else { return Ok(0) };
    let mut sketch = Sketch::read(&value)?;
    if let Some(count) = sketch.kept_count() {
        return Ok(count);
    }
    let count = estimate::cardinality(&sketch.histogram()?);
    if db.transaction.may_change(at.lock_key()) {
        sketch.keep_count(count);
        db.write_string(at, Some(&old), sketch.into_bytes(), old.expire_at_ms)?;
    }
    Ok(count)
}

/// The estimate of the union of all that was added under the keys; absent keys are empty (PFCOUNT with several keys).
///
/// # Errors
/// See the module.
pub fn count_union(db: &mut Db, keys: &[KeyAt]) -> Result<u64> {
    if db.layout.sketches() == SketchFormat::Bytes {
        return Ok(union_of_registers(db, keys)?.cardinality());
    }
    let (registers, _) = union(db, keys)?;
    let mut histogram = estimate::Histogram::default();
    registers.iter().for_each(|&run| histogram.add(run, 1));
    Ok(estimate::cardinality(&histogram))
}

/// Adds to `target` all that was added under `sources`; an absent target is made, absent sources are empty. The result is dense
/// where any of them is. The target's expiry stays (PFMERGE).
///
/// # Errors
/// See the module.
pub fn merge(db: &mut Db, target: &KeyAt, sources: &[KeyAt]) -> Result<()> {
    let mut keys = vec![target.clone()];
    keys.extend_from_slice(sources);
    if db.layout.sketches() == SketchFormat::Bytes {
        let registers = union_of_registers(db, &keys)?;
        let old = db.find_string(target)?.map(|(old, _)| old);
        return strings::update(db, target, old.as_ref(), registers.into_bytes(), "pfadd");
    }
    let (registers, is_dense) = union(db, &keys)?;
    let (old, value) = db.find_string(target)?.unzip();
    let mut sketch = value.map_or_else(|| Ok(Sketch::new()), |value| Sketch::read(&value))?;
    if is_dense {
        sketch.make_dense()?;
    }
    for (register, &run) in registers.iter().enumerate().filter(|&(_, &run)| run > 0) {
        sketch.raise(register, run)?;
    }
    sketch.forget_count();
    strings::update(db, target, old.as_ref(), sketch.into_bytes(), "pfadd")
}

/// The highest of each register under all keys, and whether any of them is dense.
fn union(db: &mut Db, keys: &[KeyAt]) -> Result<(Vec<u8>, bool)> {
    let mut registers = vec![0; REGISTERS];
    let mut is_dense = false;
    for key in keys {
        if let Some(value) = strings::get(db, key)? {
            let sketch = Sketch::read(&value)?;
            is_dense |= sketch.is_dense();
            sketch.raise_all(&mut registers)?;
        }
    }
    Ok((registers, is_dense))
}

/// [`add`] to sketches of plain registers.
fn add_to_registers(db: &mut Db, at: &KeyAt, elements: &[Bytes]) -> Result<bool> {
    let (old, value) = db.find_string(at)?.unzip();
    let mut registers = value.as_ref().map_or_else(|| Ok(Registers::new()), Registers::read)?;
    let mut is_changed = false;
    for element in elements {
        is_changed |= registers.add(element);
    }
    if is_changed {
        strings::update(db, at, old.as_ref(), registers.into_bytes(), "pfadd")?;
    } else if value.is_none() {
        strings::update(db, at, None, Bytes::new(), "pfadd")?;
    }
    Ok(is_changed || value.is_none())
}

/// The highest of each register under all keys.
fn union_of_registers(db: &mut Db, keys: &[KeyAt]) -> Result<Registers> {
    let mut union = Registers::new();
    for key in keys {
        if let Some(value) = strings::get(db, key)? {
            union.merge(&Registers::read(&value)?);
        }
    }
    Ok(union)
}
