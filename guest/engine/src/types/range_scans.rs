//! Scans of the keys of a db, or of the fields of a hash, between two names: in byte order, either way, without a state between two
//! steps but the name at which the next one begins. Blackwidow has them as PKScanRange and PKHScanRange, Redis has nothing like it.

use crate::db::Db;
use crate::error::{Error, Result};
use crate::layout::records::{Record, Records};
use crate::layout::{KeyAt, Kind, Meta, Names};
use crate::scan::Filter;
use crate::store::Direction;
use bytes::Bytes;

/// Pika's text.
const REVERSED_RANGE: Error = Error::client("ERR Invalid argument: error in given range");

/// Most records that one step reads, those of other types and expired ones included.
const MAX_STEP_RECORDS: usize = 1 << 16;
/// A step ends once it has read this many bytes of records.
const MAX_STEP_BYTES: usize = 16 << 20;

/// Names from one to another, both included; an empty one leaves its end open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The first name on the way: the greater one where the scan goes backwards.
    pub first: Bytes,
    /// The last one.
    pub last: Bytes,
    /// The way.
    pub direction: Direction,
}

/// What one step found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step<T> {
    /// The elements that the filter takes, in the order of the scan.
    pub elements: Vec<T>,
    /// Where the next step begins. Empty: the scan is over.
    pub next: Bytes,
}

/// One step over the keys of `kind`, with what is under them. The filter's count is of keys visited, also of those that its pattern
/// leaves out. A step ends earlier where it has read too many other records.
///
/// # Errors
/// Pika's error for a first key behind the last one; a client's mistake in layouts without an order of keys; store errors, corrupt
/// records.
pub fn keys(db: &mut Db, kind: Kind, bounds: &Bounds, filter: &Filter) -> Result<Step<(Bytes, Meta)>> {
    let (layout, space) = (db.layout, db.at(&Bytes::new())?.space);
    if !layout.keys_are_in_byte_order() {
        return Err(Error::Client(format!("ERR the layout {} keeps keys in no order of their names", layout.name()).into()));
    }
    let records = layout.keys(space, Some(kind), &names(bounds)?);
    step(db, records, bounds.direction, filter, |db, record| {
        let (key, meta) = layout.decode_key(record)?;
        let is_wanted = meta.kind() == kind && !db.is_gone(&KeyAt::new(space, key.clone()), &meta)?;
        Ok((key.clone(), is_wanted.then_some((key, meta))))
    })
}

/// One step over the fields of a hash, with their values; over at once where there is no hash. The filter's count is of fields
/// visited.
///
/// # Errors
/// As [`keys`]; WRONGTYPE where the key holds another type.
pub fn fields(db: &mut Db, at: &KeyAt, bounds: &Bounds, filter: &Filter) -> Result<Step<(Bytes, Bytes)>> {
    let layout = db.layout;
    let Some((_, hash)) = db.find_collection(at, Kind::Hash)? else {
        names(bounds)?;
        return Ok(Step { elements: Vec::new(), next: Bytes::new() });
    };
    let records = layout.fields_by_name(at, &hash, &names(bounds)?);
    step(db, records, bounds.direction, filter, |db, record| {
        let field = layout.decode_field(&record.key)?;
        let found = layout.decode_field_value(&hash, &record.key, &record.value)?.filter(|found| !found.is_expired(db.now_ms));
        Ok((field.clone(), found.map(|found| (field, found.value))))
    })
}

/// The names within bounds.
fn names(bounds: &Bounds) -> Result<Names> {
    let (low, high) = match bounds.direction {
        Direction::Forward => (&bounds.first, &bounds.last),
        Direction::Reverse => (&bounds.last, &bounds.first),
    };
    if !high.is_empty() && low > high {
        return Err(REVERSED_RANGE);
    }
    // In byte order nothing is between a name and itself with a zero byte.
    let end = (!high.is_empty()).then(|| Bytes::from([high.as_ref(), &[0]].concat()));
    Ok(Names { start: low.clone(), end })
}

/// Visits records until the filter's count is reached. `decode` tells a record's name, and the element unless it is to be passed over.
fn step<T>(
    db: &mut Db,
    records: Records,
    direction: Direction,
    filter: &Filter,
    decode: impl Fn(&mut Db, &Record) -> Result<(Bytes, Option<T>)>,
) -> Result<Step<T>> {
    let mut step = Step { elements: Vec::new(), next: Bytes::new() };
    let (mut visited, mut read, mut bytes) = (0, 0, 0);
    // One more than asked for: it tells whether the scan is over.
    let mut walk = records.walk(direction, filter.count.saturating_add(1));
    while let Some(record) = walk.next(db.transaction)? {
        let (name, element) = decode(db, &record)?;
        let is_full = visited >= filter.count && element.is_some() || read >= MAX_STEP_RECORDS || bytes >= MAX_STEP_BYTES;
        // The empty name would say that the scan is over: it is the last one then, and this step takes it along.
        if is_full && !name.is_empty() {
            step.next = name;
            break;
        }
        read += 1;
        bytes += record.key.len() + record.value.len();
        let Some(element) = element else { continue };
        visited += 1;
        if filter.takes(&name) {
            step.elements.push(element);
        }
    }
    Ok(step)
}
