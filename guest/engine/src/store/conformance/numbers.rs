//! Pages that come with numbers: what those who keep them go by.

use super::Subject;
use super::fixture::{Check, Conn, ensure, owned};
use crate::store::{Batch, Changes, Direction, KeyRange, Page, PageLimit, StoreError};

/// So often a page is asked for until it has a number: a store need not keep what is asked for once.
const TRIES: usize = 8;
/// A small structure, which a store may keep in another way, and another one.
const SIZES: [u8; 2] = [10, 100];
/// One that is not there at first.
const NEW: u8 = 200;
/// All of it is one page.
const LIMIT: PageLimit = PageLimit::items(1000);

/// A key of a structure, which has a version of eight bytes.
fn key(version: u64, record: u8) -> Vec<u8> {
    [version.to_be_bytes().as_slice(), &[record]].concat()
}

/// What one commit changes.
type Change = fn(&mut Batch, &Conn) -> Result<(), StoreError>;

const CHANGES: [(&str, Change); 7] = [
    ("another structure is changed", |batch, conn| batch.put(conn.data, &key(8, 1), b"new")),
    ("a record is changed", |batch, conn| batch.put(conn.data, &key(7, 1), b"new")),
    ("a record comes", |batch, conn| batch.put(conn.data, &key(7, NEW), b"new")),
    ("a record is deleted", |batch, conn| batch.delete(conn.data, &key(7, 2))),
    ("a range of it is deleted", |batch, conn| batch.delete_range(conn.data, &KeyRange::between(&key(7, 5), &key(7, 9)))),
    ("all of it is deleted", |batch, conn| batch.delete_range(conn.data, &KeyRange::prefix(&7_u64.to_be_bytes()))),
    ("everything is deleted", |batch, conn| batch.delete_range(conn.data, &KeyRange::all())),
];

/// A page with its number, asked for until it has one.
fn numbered(conn: &mut Conn, range: &KeyRange) -> Check<Option<(Page, u64)>> {
    for _ in 0..TRIES {
        conn.begin_read()?;
        conn.store.take_changes();
        let found = conn.store.scan_unless_known(conn.data, range, Direction::Forward, LIMIT, 0)?;
        conn.store.rollback();
        if let Some(page) = found.page.filter(|_| found.number > 0) {
            return Ok(Some((page, found.number)));
        }
    }
    Ok(None)
}

/// After each change, by this handle or by another one: the page that was kept is told of, or it is the answer still, and its number is told for no other.
pub fn keeping(subject: &mut dyn Subject) -> Check {
    let (mut conn, mut other) = (Conn::open(subject)?, Conn::open(subject)?);
    let (data, range) = (conn.data, KeyRange::prefix(&7_u64.to_be_bytes()));
    let mut are_numbered = false;
    for (size, (what, change)) in SIZES.into_iter().flat_map(|size| CHANGES.map(|change| (size, change))) {
        let records: Vec<_> = (0..size).flat_map(|record| [7, 8].map(|version| (owned(&key(version, record)), owned(b"old")))).collect();
        for is_own in [false, true] {
            conn.write(|batch| batch.delete(data, &key(7, NEW)))?;
            conn.put_all(data, &records)?;
            let Some((page, number)) = numbered(&mut conn, &range)? else {
                if are_numbered {
                    continue;
                }
                return Ok(());
            };
            are_numbered = true;
            let mut batch = Batch::new();
            change(&mut batch, &conn)?;
            let writer = if is_own { &mut conn } else { &mut other };
            writer.write(|written| {
                *written = batch;
                Ok(())
            })?;
            conn.begin_read()?;
            let changes = conn.store.take_changes();
            let now = conn.store.scan(data, &range, Direction::Forward, LIMIT)?;
            let known = conn.store.scan_unless_known(data, &range, Direction::Forward, LIMIT, number)?;
            conn.store.rollback();
            let is_told = changes.places().any(|place| place == Changes::place(&range.start));
            ensure(is_told || now == page, || format!("{what}, and nothing is told of it (by another handle: {})", !is_own))?;
            let is_answer = known.page.as_ref().map_or(known.number == number && now == page, |known| *known == now);
            ensure(is_answer, || format!("{what}, and page {number} is taken for the answer"))?;
        }
    }
    Ok(())
}
