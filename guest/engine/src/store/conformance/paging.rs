//! Scans over more than one page.

use super::Subject;
use super::fixture::{Check, Conn, Problem, Records, ensure, equal, many_records, owned};
use crate::store::{Direction, KeyRange, Keyspace, Page, PageLimit};

/// Limits that cut by records, by bytes, and by neither.
const LIMITS: [PageLimit; 6] = [
    PageLimit { max_items: 1, max_bytes: 1 << 20 },
    PageLimit { max_items: 7, max_bytes: 1 << 20 },
    PageLimit { max_items: 1000, max_bytes: 1 << 20 },
    PageLimit { max_items: u32::MAX, max_bytes: 1 },
    PageLimit { max_items: u32::MAX, max_bytes: 5000 },
    PageLimit { max_items: u32::MAX, max_bytes: 1 << 20 },
];

pub fn forward(subject: &mut dyn Subject) -> Check {
    in_pages(subject, Direction::Forward)
}

pub fn reverse(subject: &mut dyn Subject) -> Check {
    in_pages(subject, Direction::Reverse)
}

fn in_pages(subject: &dyn Subject, direction: Direction) -> Check {
    let mut conn = Conn::open(subject)?;
    let data = conn.data;
    let mut records = many_records();
    conn.put_all(data, &records)?;
    if direction == Direction::Reverse {
        records.reverse();
    }
    for limit in LIMITS {
        walk(&mut conn, data, KeyRange::all(), direction, limit, &records)?;
    }
    let part = KeyRange::between(b"record:00000100", b"record:00000600");
    let expected: Records =
        records.iter().filter(|(key, _)| part.start <= key.to_vec() && part.end > Some(key.to_vec())).cloned().collect();
    for limit in LIMITS {
        walk(&mut conn, data, part.clone(), direction, limit, &expected)?;
    }
    Ok(())
}

/// Reads `range` page by page in one transaction and compares with what it holds.
fn walk(conn: &mut Conn, data: Keyspace, mut range: KeyRange, direction: Direction, limit: PageLimit, expected: &Records) -> Check {
    let mut got = Records::new();
    conn.begin_read()?;
    loop {
        let page = conn.store.scan(data, &range, direction, limit)?;
        check_limit(&page, limit)?;
        if got.len() < OTHER_WAYS {
            check_other_ways(conn, data, (&range, direction, limit), &page)?;
        }
        got.extend(page.records());
        let Some((last, _)) = page.record(page.len().wrapping_sub(1)) else { break };
        ensure(got.len() <= expected.len(), || format!("{direction:?} pages of {limit:?} repeat records"))?;
        if !page.more {
            break;
        }
        match direction {
            Direction::Forward => {
                range.start = last.to_vec();
                range.after_start = true;
            }
            Direction::Reverse => range.end = Some(last.to_vec()),
        }
    }
    conn.store.rollback();
    equal(&format!("the number of records in {direction:?} pages of {limit:?}"), &got.len(), &expected.len())?;
    let wrong = got.iter().zip(expected).position(|(got, expected)| got != expected);
    wrong.map_or(Ok(()), |position| Err(Problem::Broken(format!("record {position} of {direction:?} pages of {limit:?} is another one"))))
}

/// So many records are read in other ways as well: behind a network each page of each of them is a round trip.
const OTHER_WAYS: usize = 40;

/// Who only looks at a page sees the same one, once; and so does who knows none, or has it.
fn check_other_ways(conn: &mut Conn, data: Keyspace, (range, direction, limit): (&KeyRange, Direction, PageLimit), page: &Page) -> Check {
    let mut seen = Vec::new();
    conn.store.scan_and_look(data, range, direction, limit, &mut |page| seen.push(page.clone()))?;
    ensure(seen == [page.clone()], || format!("who only looks at a {direction:?} page of {limit:?} sees {} others", seen.len()))?;
    let found = conn.store.scan_unless_known(data, range, direction, limit, 0)?;
    ensure(found.page.as_ref() == Some(page), || format!("who knows no {direction:?} page of {limit:?} is given another one"))?;
    let again = conn.store.scan_unless_known(data, range, direction, limit, found.number)?;
    let is_same = again.page.as_ref().map_or(found.number > 0 && again.number == found.number, |again| again == page);
    ensure(is_same, || format!("who knows a {direction:?} page of {limit:?} is given another one"))
}

/// A page keeps to its limit: only its last record may cross the limit of bytes.
fn check_limit(page: &Page, limit: PageLimit) -> Check {
    let items = u32::try_from(page.len()).unwrap_or(u32::MAX);
    ensure(items <= limit.max_items, || format!("a page of {limit:?} holds {items} records"))?;
    let before_last: usize = page.records().take(page.len().saturating_sub(1)).map(|(key, value)| key.len() + value.len()).sum();
    let within = page.len() < 2 || u32::try_from(before_last).is_ok_and(|bytes| bytes < limit.max_bytes);
    ensure(within, || format!("a page of {limit:?} goes on behind {before_last} bytes"))?;
    ensure(page.records().count() == page.len(), || "a page's ends contradict its bytes".into())
}

pub fn at_least_one_record(subject: &mut dyn Subject) -> Check {
    let mut conn = Conn::open(subject)?;
    let data = conn.data;
    conn.put_all(data, &[(owned(b"a"), owned(&[1; 5000])), (owned(b"b"), owned(&[2; 5000]))])?;
    let limits = [(0, 0), (0, 100), (100, 0), (100, 4000)].map(|(max_items, max_bytes)| PageLimit { max_items, max_bytes });
    for limit in limits {
        for direction in [Direction::Forward, Direction::Reverse] {
            let page = conn.page(data, &KeyRange::all(), direction, limit)?;
            ensure(page.len() == 1 && page.more, || {
                format!("of two records, a {direction:?} page of {limit:?} holds {} and says more = {}", page.len(), page.more)
            })?;
        }
    }
    let page = conn.page(data, &KeyRange::between(b"c", b"d"), Direction::Forward, PageLimit::items(1))?;
    ensure(page.is_empty() && !page.more, || "an empty range gave a record, or promised one".into())
}
