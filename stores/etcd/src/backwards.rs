//! Scans from the end of a range. etcd reads and sorts a whole range before it looks at the limit of a request that is sorted downwards:
//! what it is asked to sort must be small. Counting costs it far less, as it needs no values.

use crate::reads::{Wanted, damaged};
use etcd_client::{GetResponse, KeyValue};
use orbweaver_engine::store::{Direction, StoreError};
use orbweaver_remote::Found;
use std::ops::Range;

/// A range of at most so many records is read whole, upwards.
const SMALL: i64 = 256;
/// Most records that etcd is asked to sort.
const MOST_SORTED: i64 = 4096;
/// Most times that a range is narrowed.
const MOST_STEPS: u32 = 16;
/// Into how many slices a range is cut in one request.
const SLICES: u64 = 64;
/// How many bytes of a key are varied in one request.
const DEPTH: usize = 56;

/// At most `most` records from the end of a range.
pub fn read_backwards(
    range: Range<Vec<u8>>,
    most: i64,
    mut read: impl FnMut(Vec<Wanted>) -> Result<Vec<GetResponse>, StoreError>,
) -> Result<Found, StoreError> {
    let mut read_one = |wanted: Wanted| read(vec![wanted])?.pop().ok_or_else(|| damaged("a range without an answer"));
    let mut answer = read_one(Wanted::range(range.clone(), most.max(SMALL), Direction::Forward))?;
    if !answer.more() {
        let whole = answer.take_kvs().into_iter().rev();
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let more = whole.len() > most;
        return Ok(Found { records: whole.take(most).map(KeyValue::into_key_value).collect(), more });
    }
    let start = match answer.take_kvs().pop() {
        Some(known) if answer.count() > MOST_SORTED => near_the_end(known.key(), range.clone(), &mut read)?,
        _ => range.start.clone(),
    };
    let is_whole = start == range.start;
    let wanted = Wanted::range(start..range.end, most, Direction::Reverse);
    let mut answer = read(vec![wanted])?.pop().ok_or_else(|| damaged("a range without an answer"))?;
    let more = !is_whole || answer.more();
    Ok(Found { records: answer.take_kvs().into_iter().map(KeyValue::into_key_value).collect(), more })
}

/// Where a part of the range begins that goes to its end, holds some of its records, and few enough to be sorted: as long as keys differ
/// in the bytes that are looked at. `known` is the key of a record in the range, whose bytes others are likely to share.
fn near_the_end(
    known: &[u8],
    mut range: Range<Vec<u8>>,
    read: &mut impl FnMut(Vec<Wanted>) -> Result<Vec<GetResponse>, StoreError>,
) -> Result<Vec<u8>, StoreError> {
    for _ in 0..MOST_STEPS {
        let points = points(known, &range);
        if points.is_empty() {
            break;
        }
        let counts = read(points.iter().map(|point| Wanted::count(point.clone()..range.end.clone())).collect())?;
        for (point, count) in points.into_iter().zip(counts.iter().map(GetResponse::count)) {
            match count {
                0 => {
                    range.end = point;
                    break;
                }
                1..=MOST_SORTED => return Ok(point),
                _ => range.start = point,
            }
        }
    }
    Ok(range.start)
}

/// Keys between the ends of a range, upwards: at equal distances, and the first keys that differ from a known one in each of its bytes.
fn points(known: &[u8], range: &Range<Vec<u8>>) -> Vec<Vec<u8>> {
    let Range { start, end } = range;
    let shared = start.iter().zip(end).take_while(|(one, other)| one == other).count();
    let head = |key: &[u8]| {
        let mut head = [0; 8];
        head.iter_mut().zip(key.iter().skip(shared)).for_each(|(to, from)| *to = *from);
        u64::from_be_bytes(head)
    };
    let (low, high) = (head(start), head(end));
    let slice = high.saturating_sub(low) / SLICES;
    let prefix = start.get(..shared).unwrap_or_default();
    let slices = (1..SLICES).map(|number| [prefix, &low.saturating_add(slice.saturating_mul(number)).to_be_bytes()].concat());
    let varied = known.iter().enumerate().skip(shared).take(DEPTH);
    let successors = varied.filter_map(|(at, byte)| Some([known.get(..at)?, &[byte.checked_add(1)?]].concat()));
    let mut points: Vec<Vec<u8>> = slices.chain(successors).filter(|point| range.start < *point && *point < range.end).collect();
    points.sort_unstable();
    points.dedup();
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_go_upwards_between_the_ends() {
        for (start, end) in
            [(&b"records:a"[..], &b"records:b"[..]), (b"a", b"z"), (b"aa\x01\xff", b"aa\x02"), (b"a\0\0\0\0\0\0\0\x05", b"b")]
        {
            let points = points(b"", &(start.to_vec()..end.to_vec()));
            assert!(points.len() > 20, "{points:?}");
            assert!(points.iter().all(|point| point.as_slice() > start && point.as_slice() < end), "{points:?}");
            assert!(points.is_sorted(), "{points:?}");
        }
        assert_eq!(points(b"", &(b"a".to_vec()..b"c".to_vec())).get(31).map(Vec::as_slice), Some(&b"b\0\0\0\0\0\0\0"[..]));
    }

    #[test]
    fn a_known_key_leads_to_those_that_share_its_bytes() {
        let points = points(b"k1/member 017", &(b"k1/".to_vec()..b"k2".to_vec()));
        for expected in [&b"k1/member 018"[..], b"k1/member 02", b"k1/member 1", b"k1/n"] {
            assert!(points.iter().any(|point| point == expected), "{expected:?}");
        }
    }

    #[test]
    fn keys_that_are_next_to_each_other_have_nothing_between_them() {
        assert!(points(b"", &(b"x\x01\xff\xff\xff\xff\xff\xff\xff".to_vec()..b"x\x02".to_vec())).is_empty());
    }
}
