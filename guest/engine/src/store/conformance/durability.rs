//! What is left when a store is closed and opened again.

use super::Subject;
use super::fixture::{Check, Conn, equal, many_records, owned};
use crate::store::{KeyRange, Scope};

pub fn committed(subject: &mut dyn Subject) -> Check {
    let mut conn = Conn::open(subject)?;
    let (meta, data) = (conn.meta, conn.data);
    let records = many_records();
    conn.put_all(data, &records)?;
    conn.write(|batch| {
        batch.delete_range(data, &KeyRange::between(b"record:00000010", b"record:00002000"))?;
        batch.put(data, b"record:00000500", b"back")?;
        batch.put(meta, b"in the same batch", b"")
    })?;
    let expected = conn.read_range(data, &KeyRange::all())?;
    equal("what is left of 3000 records", &expected.len(), &1011)?;
    for _ in 0..2 {
        drop(conn);
        if !subject.reopen()? {
            return Ok(());
        }
        conn = Conn::open(subject)?;
        equal("the data after reopening", &conn.read_range(conn.data, &KeyRange::all())?, &expected)?;
        equal("the other keyspace", &conn.read(conn.meta, b"in the same batch")?, &Some(owned(b"")))?;
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
