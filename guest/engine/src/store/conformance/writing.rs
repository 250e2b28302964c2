//! Batches: what a commit changes, and that it changes all of it.

use super::Subject;
use super::contention::{Contest, PATIENCE};
use super::fixture::{Check, Conn, Problem, Records, ensure, equal, keys, owned};
use crate::store::{Direction, KeyRange, Scope};
use bytes::Bytes;
use std::time::{Duration, Instant};

pub fn a_commit_is_seen(subject: &mut dyn Subject) -> Check {
    let (mut writer, mut reader) = (Conn::open(subject)?, Conn::open(subject)?);
    let data = writer.data;
    writer.put_all(data, &[(owned(b"a"), owned(b"1")), (owned(b"b"), owned(b"2")), (owned(b"c"), owned(b"3"))])?;
    writer.write(|batch| {
        batch.put(data, b"a", b"new")?;
        batch.delete(data, b"b")?;
        batch.delete(data, b"never there")
    })?;
    let expected = vec![(owned(b"a"), owned(b"new")), (owned(b"c"), owned(b"3"))];
    equal("as the writer sees it", &writer.read_range(data, &KeyRange::all())?, &expected)?;
    equal("as another handle sees it", &reader.read_range(reader.data, &KeyRange::all())?, &expected)
}

pub fn a_rollback_leaves_nothing(subject: &mut dyn Subject) -> Check {
    let (mut conn, mut other) = (Conn::open(subject)?, Conn::open(subject)?);
    let data = conn.data;
    conn.put_all(data, &[(owned(b"kept"), owned(b"1"))])?;
    conn.store.rollback();
    for scope in [keys(&[b"kept"]), Scope::Exclusive] {
        conn.store.begin(&scope)?;
        conn.store.rollback();
        conn.store.rollback();
        conn.store.begin(&scope)?;
        drop(conn);
        conn = Conn::open(subject)?;
        // Neither a rollback nor a dropped handle keeps others out.
        other.transact(&scope, |_, _| Ok(Vec::new()))?;
    }
    equal("after rollbacks", &conn.read_range(data, &KeyRange::all())?, &vec![(owned(b"kept"), owned(b"1"))])
}

fn letters() -> Records {
    (b'a'..=b'z').map(|letter| (owned(&[letter]), owned(&[letter, letter]))).collect()
}

pub fn delete_range(subject: &mut dyn Subject) -> Check {
    let mut conn = Conn::open(subject)?;
    let (data, meta) = (conn.data, conn.meta);
    let to_the_end = |start: &[u8]| KeyRange { start: start.to_vec(), after_start: false, end: None };
    conn.put_all(meta, &letters())?;
    for (range, left) in [
        (KeyRange::between(b"c", b"e"), "abefghijklmnopqrstuvwxyz"),
        (KeyRange::between(b"", b"c"), "cdefghijklmnopqrstuvwxyz"),
        (to_the_end(b"d"), "abc"),
        (to_the_end(b"zz"), "abcdefghijklmnopqrstuvwxyz"),
        (KeyRange::all(), ""),
        (KeyRange::between(b"c", b"c"), "abcdefghijklmnopqrstuvwxyz"),
        (KeyRange::between(b"e", b"c"), "abcdefghijklmnopqrstuvwxyz"),
        (KeyRange::between(b"ba", b"da"), "abefghijklmnopqrstuvwxyz"),
    ] {
        conn.put_all(data, &letters())?;
        conn.write(|batch| batch.delete_range(data, &range))?;
        for direction in [Direction::Forward, Direction::Reverse] {
            conn.begin_read()?;
            let mut seen: Vec<u8> = conn.scan(data, &KeyRange::all(), direction)?.iter().flat_map(|(key, _)| key.to_vec()).collect();
            conn.store.rollback();
            seen.sort_unstable();
            equal(&format!("what a delete of {range:?} leaves"), &String::from_utf8_lossy(&seen).into_owned(), &left.to_owned())?;
        }
        for (letter, _) in letters() {
            let there = conn.read(data, &letter)?.is_some();
            let expected = left.as_bytes().contains(letter.first().unwrap_or(&0));
            equal(&format!("whether {letter:?} outlives a delete of {range:?}"), &there, &expected)?;
        }
    }
    equal("the same keys of another keyspace", &conn.read_range(meta, &KeyRange::all())?, &letters())
}

pub fn put_after_delete_range(subject: &mut dyn Subject) -> Check {
    let mut conn = Conn::open(subject)?;
    let data = conn.data;
    for range in [KeyRange::between(b"b", b"y"), KeyRange::all()] {
        conn.put_all(data, &letters())?;
        conn.write(|batch| {
            batch.delete_range(data, &range)?;
            batch.put(data, b"c", b"new")?;
            batch.put(data, b"zz", b"beyond")
        })?;
        equal(&format!("a put behind a delete of {range:?}"), &conn.read(data, b"c")?, &Some(owned(b"new")))?;
        equal("a put beyond the last key", &conn.read(data, b"zz")?, &Some(owned(b"beyond")))?;
        equal("a key that was only deleted", &conn.read(data, b"d")?, &None)?;
    }
    Ok(())
}

/// The first gives all records of three keyspaces one number after the other; nobody may ever see two.
pub const ATOMICITY: Contest = Contest {
    body: |conn, part| if part.number == 0 { write_generations(conn) } else { see_whole_generations(conn) },
    verdict: |conn, _| {
        let seen = generations(conn)?;
        ensure(seen.iter().all(|number| *number == GENERATIONS.to_le_bytes()[..]), || "the last batch is not the last".into())
    },
};

/// Records of each keyspace.
const RECORDS: u32 = 100;
const GENERATIONS: u64 = 40;
const PAUSE: Duration = Duration::from_millis(1);

fn write_generations(conn: &mut Conn) -> Check {
    let all = [conn.meta, conn.data, conn.score];
    (1..=GENERATIONS).try_for_each(|generation| {
        conn.transact(&keys(&[b"writer"]), |_, batch| {
            for keyspace in all {
                (0..RECORDS).try_for_each(|key| batch.put(keyspace, &key.to_be_bytes(), &generation.to_le_bytes()))?;
            }
            Ok(vec![0])
        })?;
        std::thread::sleep(PAUSE);
        Ok(())
    })
}

/// Looks until the last generation is there.
fn see_whole_generations(conn: &mut Conn) -> Check {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        let mut seen = generations(conn)?;
        let records = seen.len();
        seen.dedup();
        let whole = seen.is_empty() || (seen.len() == 1 && records == 3 * usize::try_from(RECORDS).unwrap_or(0));
        ensure(whole, || format!("a reader saw {records} records of {} batches at once", seen.len()))?;
        if seen.first().is_some_and(|number| *number == GENERATIONS.to_le_bytes()[..]) {
            return Ok(());
        }
    }
    Err(Problem::Broken(format!("the last batch was not to be seen within {PATIENCE:?}")))
}

/// The numbers of all records, in one transaction.
fn generations(conn: &mut Conn) -> Check<Vec<Bytes>> {
    let all = [conn.meta, conn.data, conn.score];
    let mut seen = Vec::new();
    conn.transact(&Scope::Read, |conn, _| {
        seen.clear();
        for keyspace in all {
            seen.extend(conn.scan(keyspace, &KeyRange::all(), Direction::Forward)?.into_iter().map(|(_, value)| value));
            // Others may commit before the next keyspace is read.
            std::thread::sleep(PAUSE);
        }
        Ok(Vec::new())
    })?;
    Ok(seen)
}
