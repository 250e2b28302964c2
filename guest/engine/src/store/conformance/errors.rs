//! What a store has to refuse, and that it then changes nothing.

use super::Subject;
use super::fixture::{Check, Conn, Problem, ensure, equal, keys, owned, refused};
use crate::store::{Batch, Direction, KeyRange, Keyspace, PageLimit, Scope, StoreError};

/// Limits above this are believed: to exceed them costs too much memory.
const LARGEST_TRIED: u64 = 16 << 20;

/// Commits a batch that has to be refused, and makes sure that it changed nothing and that the transaction has ended.
fn refused_whole(conn: &mut Conn, what: &str, batch: &Batch) -> Check<StoreError> {
    conn.begin_on(b"lock")?;
    let error = refused(what, conn.store.commit(batch, &[0]))?;
    for keyspace in [conn.system, conn.meta, conn.data, conn.score] {
        let left = conn.read_range(keyspace, &KeyRange::all())?;
        ensure(left.is_empty(), || format!("{what} was refused, but left {} records", left.len()))?;
    }
    Ok(error)
}

fn too_large_error(what: &str, error: StoreError) -> Check {
    match error {
        StoreError::TooLarge { .. } => Ok(()),
        other => Err(Problem::Broken(format!("{what} was refused with another error: {other}"))),
    }
}

pub fn too_large(subject: &mut dyn Subject) -> Check {
    let mut conn = Conn::open(subject)?;
    let limits = conn.store.limits();
    let data = conn.data;
    let tried = |limit: u64| usize::try_from(limit).ok().filter(|_| limit <= LARGEST_TRIED);
    let beside = |batch: &mut Batch| batch.put(data, b"beside", b"lost with the rest");
    if let Some(limit) = tried(limits.max_key_bytes) {
        let mut batch = Batch::new();
        beside(&mut batch)?;
        batch.put(data, &vec![b'k'; limit + 1], b"")?;
        too_large_error("a key", refused_whole(&mut conn, "a key above the limit", &batch)?)?;
    }
    if let Some(limit) = tried(limits.max_value_bytes) {
        let mut batch = Batch::new();
        beside(&mut batch)?;
        batch.put(data, b"k", &vec![b'v'; limit + 1])?;
        too_large_error("a value", refused_whole(&mut conn, "a value above the limit", &batch)?)?;
    }
    if let Some(limit) = tried(limits.max_batch_ops) {
        let mut batch = Batch::new();
        for number in 0..=limit {
            batch.put(data, &number.to_be_bytes(), b"")?;
        }
        too_large_error("a batch", refused_whole(&mut conn, "a batch of more operations than the limit", &batch)?)?;
    }
    if let Some(limit) = tried(limits.max_batch_bytes) {
        let mut batch = Batch::new();
        let piece = vec![b'v'; limit / 4 + 1];
        for number in 0_u32..4 {
            batch.put(data, &number.to_be_bytes(), &piece)?;
        }
        too_large_error("a batch", refused_whole(&mut conn, "a batch of more bytes than the limit", &batch)?)?;
    }
    Ok(())
}

pub fn empty_key(subject: &mut dyn Subject) -> Check {
    let mut conn = Conn::open(subject)?;
    let data = conn.data;
    let mut put = Batch::new();
    put.put(data, b"beside", b"kept with the rest")?;
    put.put(data, b"", b"value")?;
    let mut delete = Batch::new();
    delete.delete(data, b"beside")?;
    delete.delete(data, b"")?;
    conn.store.begin(&Scope::Exclusive)?;
    match conn.store.commit(&put, &[]) {
        Ok(()) => {}
        Err(StoreError::Io(_)) => {
            equal("what is left of a put of the empty key", &conn.read_range(data, &KeyRange::all())?, &Vec::new())?;
            refused_whole(&mut conn, "a delete of the empty key", &delete)?;
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    }
    let [empty, beside] = [(owned(b""), owned(b"value")), (owned(b"beside"), owned(b"kept with the rest"))];
    equal("a range with the empty key", &conn.read_range(data, &KeyRange::all())?, &vec![empty, beside.clone()])?;
    let behind = KeyRange { after_start: true, ..KeyRange::all() };
    equal("a range behind the empty key", &conn.read_range(data, &behind)?, &vec![beside])?;
    conn.begin_read()?;
    equal("the value of the empty key", &conn.store.get(data, b"")?, &Some(owned(b"value")))?;
    conn.store.rollback();
    conn.store.begin(&Scope::Exclusive)?;
    conn.store.commit(&delete, &[])?;
    equal("what is left of the empty key", &conn.read_range(data, &KeyRange::all())?, &Vec::new())
}

pub fn unknown_keyspace(subject: &mut dyn Subject) -> Check {
    let mut conn = Conn::open(subject)?;
    let data = conn.data;
    let unknown = Keyspace(0xffff_fff0);
    conn.begin_read()?;
    refused("a get in an unknown keyspace", conn.store.get(unknown, b"k"))?;
    refused("a get_many in an unknown keyspace", conn.store.get_many(&[(data, b"k"), (unknown, b"k")]))?;
    refused("a scan in an unknown keyspace", conn.store.scan(unknown, &KeyRange::all(), Direction::Forward, PageLimit::items(1)))?;
    conn.store.rollback();
    let mut batch = Batch::new();
    batch.put(data, b"beside", b"lost with the rest")?;
    batch.put(unknown, b"k", b"v")?;
    refused_whole(&mut conn, "a put in an unknown keyspace", &batch)?;
    let mut batch = Batch::new();
    batch.put(data, b"beside", b"lost with the rest")?;
    batch.delete_range(unknown, &KeyRange::all())?;
    refused_whole(&mut conn, "a range delete in an unknown keyspace", &batch)?;
    Ok(())
}

pub fn no_transaction(subject: &mut dyn Subject) -> Check {
    let mut conn = Conn::open(subject)?;
    let data = conn.data;
    let mut batch = Batch::new();
    batch.put(data, b"k", b"v")?;
    // Once on a new handle, once behind a transaction.
    for _ in 0..2 {
        refused("a get without a transaction", conn.store.get(data, b"k"))?;
        refused("a get_many without a transaction", conn.store.get_many(&[(data, b"k")]))?;
        refused("a scan without a transaction", conn.store.scan(data, &KeyRange::all(), Direction::Forward, PageLimit::items(1)))?;
        refused("a commit without a transaction", conn.store.commit(&batch, &[]))?;
        equal("what that left", &conn.read(data, b"k")?, &None)?;
        conn.begin_on(b"k")?;
        conn.store.commit(&Batch::new(), &[])?;
    }
    Ok(())
}

pub fn second_begin(subject: &mut dyn Subject) -> Check {
    let mut conn = Conn::open(subject)?;
    let data = conn.data;
    conn.begin_read()?;
    refused("a second begin", conn.store.begin(&Scope::Read))?;
    refused("a second begin", conn.store.begin(&keys(&[b"other"])))?;
    conn.store.rollback();
    conn.begin_on(b"k")?;
    refused("a second begin", conn.store.begin(&Scope::Read))?;
    // The first transaction goes on as if nothing had been asked.
    let mut batch = Batch::new();
    batch.put(data, b"k", b"v")?;
    conn.store.commit(&batch, &[0])?;
    equal("what the first transaction wrote", &conn.read(data, b"k")?, &Some(owned(b"v")))
}

pub fn read_scope(subject: &mut dyn Subject) -> Check {
    let mut conn = Conn::open(subject)?;
    let data = conn.data;
    let mut batch = Batch::new();
    batch.put(data, b"k", b"v")?;
    conn.begin_read()?;
    match refused("a batch in a transaction that reads", conn.store.commit(&batch, &[]))? {
        StoreError::ReadOnly => {}
        other => return Err(Problem::Broken(format!("a batch in a transaction that reads was refused with another error: {other}"))),
    }
    equal("what that left", &conn.read(data, b"k")?, &None)?;
    conn.begin_read()?;
    Ok(conn.store.commit(&Batch::new(), &[])?)
}
