//! What is left when a store is closed and opened again.

use super::Subject;
use super::fixture::{Check, Conn, equal, many_records, owned};
use crate::store::{KeyRange, Scope};

const FIRST_DELETED: &[u8] = b"record:00000010";
const FIRST_KEPT: &[u8] = b"record:00002000";
const RESTORED: &[u8] = b"record:00000500";

/// Commits what [`find`] looks for.
pub fn leave(subject: &mut dyn Subject) -> Check {
    let mut conn = Conn::open(subject)?;
    let (meta, data) = (conn.meta, conn.data);
    conn.put_all(data, &many_records())?;
    conn.write(|batch| {
        batch.delete_range(data, &KeyRange::between(FIRST_DELETED, FIRST_KEPT))?;
        batch.put(data, RESTORED, b"back")?;
        batch.put(meta, b"in the same batch", b"")
    })
}

pub fn find(subject: &mut dyn Subject) -> Check {
    let mut conn = Conn::open(subject)?;
    let (meta, data) = (conn.meta, conn.data);
    let is_kept = |key: &[u8]| key < FIRST_DELETED || key >= FIRST_KEPT || key == RESTORED;
    let mut expected = many_records();
    expected.retain(|(key, _)| is_kept(key));
    expected.iter_mut().filter(|(key, _)| key == RESTORED).for_each(|(_, value)| *value = owned(b"back"));
    equal("the data after reopening", &conn.read_range(data, &KeyRange::all())?, &expected)?;
    equal("the other keyspace", &conn.read(meta, b"in the same batch")?, &Some(owned(b"")))
}

pub fn committed(subject: &mut dyn Subject) -> Check {
    leave(subject)?;
    find(subject)?;
    for _ in 0..2 {
        if !subject.reopen()? {
            return Ok(());
        }
        find(subject)?;
    }
    Ok(())
}

pub fn rolled_back(subject: &mut dyn Subject) -> Check {
    let mut conn = Conn::open(subject)?;
    conn.put_all(conn.data, &[(owned(b"kept"), owned(b"1"))])?;
    conn.store.begin(&Scope::Exclusive)?;
    conn.store.rollback();
    conn.begin_on(b"left open when the handle is dropped")?;
    drop(conn);
    if !subject.reopen()? {
        return Ok(());
    }
    let mut conn = Conn::open(subject)?;
    equal("the data after reopening", &conn.read_range(conn.data, &KeyRange::all())?, &vec![(owned(b"kept"), owned(b"1"))])
}
