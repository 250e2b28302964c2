//! Transactions beside one another.

use super::Subject;
use super::contention::{Contest, Part};
use super::fixture::{Check, Conn, Problem, Records, ensure, equal, keys, owned};
use crate::store::{Direction, KeyRange, Keyspace, Scope, StoreError, lent};
use bytes::Bytes;
use std::sync::mpsc;
use std::time::Duration;

/// How long a test waits for a transaction that the store may rightly hold up.
const PATIENCE: Duration = Duration::from_secs(2);

/// What each of those who count adds.
const ROUNDS: u64 = 60;

fn numbered(generation: u8) -> Records {
    (0_u32..2000).map(|number| (owned(&number.to_be_bytes()), owned(&[generation; 20]))).collect()
}

/// Others' commits, made between the reads of a transaction, stay out of its sight.
pub fn one_state(subject: &mut dyn Subject) -> Check {
    let mut reader = Conn::open(subject)?;
    let mut writer = Conn::open(subject)?;
    let data = reader.data;
    let before = numbered(1);
    writer.put_all(data, &before)?;
    for scope in [Scope::Read, keys(&[b"the reader's"])] {
        reader.store.begin(&scope)?;
        equal("the first read", &reader.store.get(data, &5_u32.to_be_bytes())?, &Some(owned(&[1; 20])))?;
        let (done, waiting) = mpsc::channel();
        let outcome: Check = std::thread::scope(|threads| {
            let writing = threads.spawn(|| {
                let outcome = writer.write(|batch| {
                    batch.delete_range(data, &KeyRange::between(&1000_u32.to_be_bytes(), &1500_u32.to_be_bytes()))?;
                    (0_u32..500).try_for_each(|number| batch.put(data, &number.to_be_bytes(), &[2; 20]))?;
                    batch.put(data, b"\xffnew", b"")
                });
                // Nobody waits any more where the reader has failed.
                done.send(()).unwrap_or(());
                outcome
            });
            // A store that holds the writer up until the reader has ended does right, too.
            waiting.recv_timeout(PATIENCE).unwrap_or(());
            let seen = sees(&mut reader, data, &before);
            reader.store.rollback();
            let written = writing.join().unwrap_or_else(|_| Err(Problem::Broken("the store panicked".into())));
            seen.and(written)
        });
        outcome?;
        equal("the next transaction", &reader.read(data, &5_u32.to_be_bytes())?, &Some(owned(&[2; 20])))?;
        writer.write(|batch| batch.delete(data, b"\xffnew"))?;
        writer.put_all(data, &before)?;
    }
    Ok(())
}

/// Fails where the open transaction sees other records than `expected`. A snapshot may have expired.
fn sees(conn: &mut Conn, data: Keyspace, expected: &Records) -> Check {
    let wanted: Vec<(Keyspace, Bytes)> = expected.iter().map(|(key, _)| (data, key.clone())).collect();
    let values: Vec<Option<Bytes>> = expected.iter().map(|(_, value)| Some(value.clone())).collect();
    match conn.store.get(data, &5_u32.to_be_bytes()) {
        Err(StoreError::Expired) => return Ok(()),
        got => equal("get", &got?, &Some(owned(&[1; 20])))?,
    }
    match conn.store.get_many(&lent(&wanted)) {
        Err(StoreError::Expired) => return Ok(()),
        got => ensure(got?.of_each(values.len())?.eq(values), || "get_many saw the commit of another transaction".into())?,
    }
    for direction in [Direction::Forward, Direction::Reverse] {
        let mut records = match conn.store.scan(data, &KeyRange::all(), direction, super::fixture::WHOLE) {
            Err(StoreError::Expired) => return Ok(()),
            page => page?.records().collect::<Records>(),
        };
        if direction == Direction::Reverse {
            records.reverse();
        }
        ensure(records == *expected, || format!("a {direction:?} scan saw the commit of another transaction"))?;
    }
    Ok(())
}

/// Adds one to the counter `key` within the open transaction, with a pause in which others can get in between.
fn increment(conn: &mut Conn, batch: &mut crate::store::Batch, key: &[u8]) -> Check {
    let data = conn.data;
    let number = conn.number(data, key)?;
    std::thread::yield_now();
    Ok(batch.put(data, key, &(number + 1).to_le_bytes())?)
}

fn read_number(conn: &mut Conn, key: &[u8]) -> Check<u64> {
    let (data, mut number) = (conn.data, 0);
    conn.transact(&Scope::Read, |conn, _| {
        number = conn.number(data, key)?;
        Ok(Vec::new())
    })?;
    Ok(number)
}

/// Everybody counts with one counter.
pub const COLLIDING: Contest = Contest {
    body: |conn, _| {
        let scope = keys(&[b"counter"]);
        (0..ROUNDS).try_for_each(|_| {
            conn.transact(&scope, |conn, batch| {
                increment(conn, batch, b"counter")?;
                Ok(vec![0])
            })
        })
    },
    verdict: |conn, of| equal("the counter that all incremented", &read_number(conn, b"counter")?, &(of * ROUNDS)),
};

/// All name the same keys in different orders, some twice, some with many others: neither deadlock nor lost update.
pub const SEVERAL_KEYS: Contest = Contest {
    body: |conn, part| {
        let mut names = match part.number {
            0 => vec![owned(b"left"), owned(b"right")],
            1 => vec![owned(b"right"), owned(b"left")],
            2 => vec![owned(b"left"), owned(b"left"), owned(b"right"), owned(b"left")],
            _ => vec![owned(b"right"), owned(b"right"), owned(b"left")],
        };
        let changed: Vec<u32> = (0..).take(names.len()).collect();
        if part.number + 1 == part.of {
            names.extend((0..3000).map(|number| Bytes::from(format!("bystander {number}"))));
        }
        let scope = Scope::Keys(names);
        (0..ROUNDS).try_for_each(|_| {
            conn.transact(&scope, |conn, batch| {
                increment(conn, batch, b"left")?;
                increment(conn, batch, b"right")?;
                Ok(changed.clone())
            })
        })
    },
    verdict: |conn, of| {
        equal("the left counter", &read_number(conn, b"left")?, &(of * ROUNDS))?;
        equal("the right counter", &read_number(conn, b"right")?, &(of * ROUNDS))
    },
};

/// Adds [`ROUNDS`] to a counter that nobody else increments.
fn count_alone(conn: &mut Conn, part: Part) -> Check {
    let key = part.number.to_be_bytes();
    (0..ROUNDS).try_for_each(|_| {
        conn.transact(&keys(&[&key]), |conn, batch| {
            increment(conn, batch, &key)?;
            Ok(vec![0])
        })
    })
}

/// Everybody has a counter.
pub const DISJOINT: Contest = Contest {
    body: count_alone,
    verdict: |conn, of| (0..of).try_for_each(|number| equal("a counter", &read_number(conn, &number.to_be_bytes())?, &ROUNDS)),
};

/// The first moves all counters to a total in exclusive transactions while the others count.
pub const EXCLUSIVE: Contest = Contest {
    body: |conn, part| {
        if part.number > 0 {
            return count_alone(conn, part);
        }
        (0..ROUNDS).try_for_each(|_| {
            conn.transact(&Scope::Exclusive, |conn, batch| {
                let data = conn.data;
                let mut total = conn.number(data, b"total")?;
                for key in 1..part.of {
                    total += conn.number(data, &key.to_be_bytes())?;
                    batch.put(data, &key.to_be_bytes(), &0_u64.to_le_bytes())?;
                }
                std::thread::yield_now();
                batch.put(data, b"total", &total.to_le_bytes())?;
                Ok(Vec::new())
            })
        })
    },
    verdict: |conn, of| {
        let mut sum = read_number(conn, b"total")?;
        for key in 1..of {
            sum += read_number(conn, &key.to_be_bytes())?;
        }
        equal("everything counted", &sum, &((of - 1) * ROUNDS))
    },
};
