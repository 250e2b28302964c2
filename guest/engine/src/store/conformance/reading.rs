//! Gets, and scans that fit into one page.

use super::Subject;
use super::fixture::{Check, Conn, KEYSPACES, Records, WHOLE, equal, owned};
use crate::store::{Direction, KeyRange, Order, Values, lent};
use bytes::Bytes;

/// Keys that stores with another idea of order would mix up, in byte order.
const ORDERED: [&[u8]; 22] = [
    b"\x00",
    b"\x00\x00",
    b"\x00\x01",
    b"\x00\xff",
    b"\x01",
    b"10",
    b"9",
    b"A",
    b"a",
    b"a\x00",
    b"a\x00\x00",
    b"a\x00b",
    b"aa",
    b"ab",
    b"b",
    b"\x7f",
    b"\x7f\xff",
    b"\x80",
    b"\xc3\xa4",
    b"\xfe\xff",
    b"\xff",
    b"\xff\xff\xff",
];

/// Bounds on, between and beyond the keys of [`ORDERED`].
const BOUNDS: [&[u8]; 12] =
    [b"\x00", b"\x00\x00\x00", b"0", b"9", b"a", b"a\x00", b"aaa", b"b", b"\x80", b"\xff", b"\xff\xff\xff", b"\xff\xff\xff\xff"];

fn ordered_records() -> Records {
    ORDERED.iter().map(|key| (owned(key), Bytes::from(format!("value of {key:?}")))).collect()
}

/// The records in an order that is no order.
fn shuffled(mut records: Records) -> Records {
    records.sort_by_key(|(key, _)| key.iter().fold(7_u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(*byte)));
    records
}

/// A handle on a store that holds [`ORDERED`].
fn with_ordered(subject: &dyn Subject) -> Check<Conn> {
    let mut conn = Conn::open(subject)?;
    let data = conn.data;
    conn.put_all(data, &shuffled(ordered_records()))?;
    Ok(conn)
}

pub fn get(subject: &mut dyn Subject) -> Check {
    let mut conn = Conn::open(subject)?;
    let data = conn.data;
    conn.put_all(data, &[(owned(b"full"), owned(b"value")), (owned(b"empty"), Bytes::new()), (owned(b"\x00\xff"), owned(b"\xff\x00\n"))])?;
    conn.begin_read()?;
    for (key, expected) in [
        (b"full".as_slice(), Some(b"value".as_slice())),
        (b"empty", Some(b"")),
        (b"\x00\xff", Some(b"\xff\x00\n")),
        (b"absent", None),
        (b"ful", None),
        (b"fulll", None),
    ] {
        let got = conn.store.get(data, key)?;
        equal(&format!("get of {key:?}"), &got.as_deref(), &expected)?;
    }
    conn.store.rollback();
    Ok(())
}

pub fn get_many(subject: &mut dyn Subject) -> Check {
    let mut conn = Conn::open(subject)?;
    let (data, meta) = (conn.data, conn.meta);
    let records: Records = (0..400).map(|number| (Bytes::from(format!("key {number}")), Bytes::from(format!("value {number}")))).collect();
    conn.put_all(data, &records)?;
    conn.put_all(meta, &[(owned(b"key 7"), owned(b"of meta")), (owned(b"empty"), Bytes::new())])?;
    // Descending, every key twice, with absent keys and another keyspace in between.
    let mut wanted = Vec::new();
    let mut expected = Vec::new();
    for (key, value) in records.iter().rev() {
        wanted.extend([(data, key.clone()), (data, Bytes::from(format!("no {key:?}"))), (meta, owned(b"key 7")), (data, key.clone())]);
        expected.extend([Some(value.clone()), None, Some(owned(b"of meta")), Some(value.clone())]);
    }
    wanted.push((meta, owned(b"empty")));
    expected.push(Some(Bytes::new()));
    conn.begin_read()?;
    let got: Vec<Option<Bytes>> = conn.store.get_many(&lent(&wanted))?.of_each(expected.len())?.collect();
    let none = conn.store.get_many(&[])?;
    // The same of those that are in one keyspace, one behind the other.
    let (mut adjacent, mut ends, mut each) = (Vec::new(), Vec::new(), Vec::new());
    for ((_, key), expected) in wanted.iter().zip(&expected).filter(|((keyspace, _), _)| *keyspace == data) {
        adjacent.extend_from_slice(key);
        ends.extend(u32::try_from(adjacent.len()));
        each.push(expected.clone());
    }
    let got_adjacent: Vec<Option<Bytes>> = conn.store.get_adjacent(data, &adjacent, &ends)?.of_each(ends.len())?.collect();
    let none_adjacent = conn.store.get_adjacent(data, &adjacent, &[])?;
    let refused = [[2, 1], [1, u32::MAX]].map(|ends| conn.store.get_adjacent(data, &adjacent, &ends).is_err());
    conn.store.rollback();
    for (position, (got, expected)) in got.iter().zip(&expected).enumerate() {
        equal(&format!("value {position} of get_many"), got, expected)?;
    }
    equal("get_many of nothing", &none, &Values::default())?;
    equal("the values of adjacent keys", &got_adjacent, &each)?;
    equal("those of none", &none_adjacent, &Values::default())?;
    equal("whether ends are refused that are none of the bytes", &refused, &[true, true])
}

pub fn keyspaces_are_separate(subject: &mut dyn Subject) -> Check {
    let mut conn = Conn::open(subject)?;
    let all = [conn.system, conn.meta, conn.data, conn.score];
    conn.write(|batch| all.iter().zip(KEYSPACES).try_for_each(|(keyspace, name)| batch.put(*keyspace, b"same", name.as_bytes())))?;
    for (keyspace, name) in all.into_iter().zip(KEYSPACES) {
        equal(name, &conn.read_range(keyspace, &KeyRange::all())?, &vec![(owned(b"same"), owned(name.as_bytes()))])?;
    }
    let again = conn.store.open_keyspace("data", Order::Bytes)?;
    equal("a keyspace opened twice", &conn.read(again, b"same")?, &Some(owned(b"data")))
}

pub fn order(subject: &mut dyn Subject) -> Check {
    let mut conn = with_ordered(subject)?;
    let got = conn.read_range(conn.data, &KeyRange::all())?;
    equal("the whole keyspace", &got, &ordered_records())
}

pub fn reverse_order(subject: &mut dyn Subject) -> Check {
    let mut conn = with_ordered(subject)?;
    let page = conn.page(conn.data, &KeyRange::all(), Direction::Reverse, WHOLE)?;
    let expected: Records = ordered_records().into_iter().rev().collect();
    equal("the whole keyspace backwards", &page.records().collect(), &expected)
}

pub fn ranges(subject: &mut dyn Subject) -> Check {
    every_range(subject, Direction::Forward)
}

pub fn reverse_ranges(subject: &mut dyn Subject) -> Check {
    every_range(subject, Direction::Reverse)
}

/// Scans from every bound to every bound, also where that is empty.
fn every_range(subject: &dyn Subject, direction: Direction) -> Check {
    let mut conn = with_ordered(subject)?;
    let records = ordered_records();
    conn.begin_read()?;
    let starts = std::iter::once(b"".as_slice()).chain(BOUNDS);
    for (start, after_start) in starts.flat_map(|start| [(start, false), (start, true)]) {
        for end in std::iter::once(None).chain(BOUNDS.map(Some)) {
            let range = KeyRange { start: start.to_vec(), after_start, end: end.map(<[u8]>::to_vec) };
            let within = |key: &[u8]| {
                let from = if after_start { key > start } else { key >= start };
                from && end.is_none_or(|end| key < end)
            };
            let mut expected: Records = records.iter().filter(|(key, _)| within(key)).cloned().collect();
            if direction == Direction::Reverse {
                expected.reverse();
            }
            let got = conn.scan(conn.data, &range, direction)?;
            equal(&format!("{direction:?} scan of {range:?}"), &got, &expected)?;
        }
    }
    conn.store.rollback();
    Ok(())
}
