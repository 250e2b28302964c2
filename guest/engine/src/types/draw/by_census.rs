//! Draws by a census of the records ([`Census`]).
//!
//! A part is drawn with the probability that its bound has among all bounds, and a rank below the bound. The part's records are read: the
//! one at that rank is drawn, and where the part has not so many records, nothing is and the next try begins. So each record is drawn by a try
//! with the same probability, one in the sum of the bounds, however uneven the parts are. What was read corrects the bound.

use super::{Record, Urn, are_few, takes};
use crate::db::Db;
use crate::environment::random_below;
use crate::error::Result;
use crate::layout::records::Records;
use crate::store::Direction;
use crate::transaction::{Census, Parts};

/// Fewer records are walked over: half of them is a small page.
const MIN_RECORDS: u64 = 256;
/// Records that it takes to draw one, about.
const RECORDS_OF_A_DRAW: u64 = 48;
/// No census is made of more: its parts would be large, and who counts them waits long.
const MAX_RECORDS: u64 = 1 << 24;
/// Tries that may fail, and those that may for each draw: more do where most of the records were removed, or are not drawn from.
const MAX_FAILURES: u64 = 64;
const MAX_FAILURES_OF_A_DRAW: u64 = 8;

/// Takes a record that was drawn, or refuses it: then another one is drawn in its place.
type Take<'t> = dyn FnMut(Record) -> Result<bool> + 't;

/// Hands `count` records drawn from an urn, copied, to `take`. Returns how many are left to be drawn where a walk to their ranks is the
/// better way to them.
///
/// # Errors
/// Store errors, corrupt records, and those of `take`.
pub(super) fn draw(db: &mut Db, urn: &Urn<'_>, count: u64, take: &mut Take<'_>) -> Result<u64> {
    let Some(mut census) = census(db, urn, count)? else { return Ok(count) };
    let (mut left, mut failures_left) = (count, MAX_FAILURES.saturating_add(count.saturating_mul(MAX_FAILURES_OF_A_DRAW)));
    while left > 0 {
        let drawn = attempt(db, urn, &mut census)?;
        if drawn.map_or(Ok(false), &mut *take)? {
            left -= 1;
        } else if failures_left == 0 {
            // The census is forgotten.
            return Ok(left);
        } else {
            failures_left -= 1;
        }
    }
    db.transaction.keep_census(census);
    Ok(0)
}

/// A census to draw so many records by; `None` where they are to be walked to.
fn census(db: &mut Db, urn: &Urn<'_>, count: u64) -> Result<Option<Census>> {
    let is_of_use =
        count > 0 && urn.seek.is_none() && are_few(urn, count, RECORDS_OF_A_DRAW) && (MIN_RECORDS..=MAX_RECORDS).contains(&urn.total);
    if !is_of_use || urn.records.between(None, None).is_none() {
        return Ok(None);
    }
    // Where there are more records than the bounds allow, others have added some.
    let is_right = |census: &Census| census.total() >= urn.total;
    let range = urn.records.range();
    match db.transaction.take_census(&range) {
        Some(kept) if is_right(&kept) => return Ok(Some(kept)),
        None if !db.transaction.asks_again(&range) => return Ok(None),
        _ => {}
    }
    let mut census = db.transaction.new_census(range, urn.total);
    urn.records.clone().walk(Direction::Forward, usize::MAX).each(db.transaction, |record| census.push(record.key))?;
    Ok(Some(census).filter(is_right))
}

/// The record that a try draws; `None` where it draws none.
fn attempt(db: &mut Db, urn: &Urn<'_>, census: &mut Census) -> Result<Option<Record>> {
    let Some((part, rank)) = census.part_at(random_below(db.environment, census.total())) else { return Ok(None) };
    let (bound, (start, end)) = (census.bound(part), census.ends(part));
    let Some(records) = urn.records.between(start, end) else { return Ok(None) };
    let (mut drawn, counted) = read(db, &records, (bound, rank), census)?;
    if counted.total() > bound {
        // Others have added records: each shares in what the part was drawn with.
        let rank = random_below(db.environment, counted.total());
        drawn = read(db, &records, (counted.total(), rank), census)?.0;
    }
    census.correct(part, counted);
    match drawn {
        Some(record) if takes(urn.only, &record)? => Ok(Some(record)),
        _ => Ok(None),
    }
}

/// The record at a rank of a part that has `bound` of them, about, and the part counted.
fn read(db: &mut Db, part: &Records, (bound, rank): (u64, u64), census: &Census) -> Result<(Option<Record>, Parts)> {
    let (mut counted, mut found) = (census.recount(), None);
    // One more than there are: a page that is not full is the last one.
    let expected = usize::try_from(bound).unwrap_or(usize::MAX).saturating_add(1);
    part.clone().walk(Direction::Forward, expected).each(db.transaction, |record| {
        if counted.total() == rank {
            found = Some(record.to_record());
        }
        counted.push(record.key);
    })?;
    Ok((found, counted))
}
