//! The orders of the foreign layouts: a store has them, or says that it does not.

use super::Subject;
use super::fixture::{Check, Conn, Records, WHOLE, equal, owned};
use crate::store::{Direction, KeyRange, Keyspace, Order, StoreError};
use bytes::Bytes;

/// The key of a number, in an order that sorts these keys by their numbers. In byte order the keys of the foreign orders would be
/// mixed up.
pub(crate) fn numbered(order: Order, number: u8) -> Bytes {
    let signed = i16::from(number) - 100;
    match order {
        Order::Bytes => vec![number],
        Order::BlackwidowLists => [b"\x01\0\0\0k\0\0\0\0".as_slice(), &(u64::from(number) * 100).to_le_bytes()].concat(),
        Order::BlackwidowScores => [b"\x01\0\0\0k\0\0\0\0".as_slice(), &f64::from(signed).to_le_bytes()].concat(),
        // A varint of two groups, the sign in its lowest bit.
        Order::Ardb => {
            let [high, low] = ((signed << 1) ^ (signed >> 15)).to_be_bytes();
            [b"\x01k\x06\x01\x01".as_slice(), &[low | 0x80, high << 1 | low >> 7]].concat()
        }
    }
    .into()
}

/// The keyspaces that [`kept`] writes to where the store has their orders.
pub fn keyspaces() -> impl Iterator<Item = (String, Order)> {
    let foreign = Order::ALL.into_iter().filter(|order| *order != Order::Bytes);
    foreign.map(|order| (format!("in order {}", order.name()), order))
}

pub fn kept(subject: &mut dyn Subject) -> Check {
    let mut conn = Conn::open(subject)?;
    for (name, order) in keyspaces() {
        match conn.store.open_keyspace(&name, order) {
            Ok(keyspace) => check(&mut conn, keyspace, order)?,
            Err(StoreError::UnsupportedOrder(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn check(conn: &mut Conn, keyspace: Keyspace, order: Order) -> Check {
    let even = |numbers: std::ops::Range<u8>| -> Records {
        numbers.filter(|number| number % 2 == 0).map(|number| (numbered(order, number), owned(&[number]))).collect()
    };
    let mut mixed = even(0..200);
    mixed.sort_by_key(|(_, value)| value.first().map(|number| number.wrapping_mul(89)));
    conn.put_all(keyspace, &mixed)?;
    for (from, to) in [(0, 200), (50, 150), (51, 151), (90, 110), (100, 100), (110, 90)] {
        let range = KeyRange::between(&numbered(order, from), &numbered(order, to));
        let mut expected = even(from..to);
        equal(&format!("numbers {from} to {to} in order {}", order.name()), &conn.read_range(keyspace, &range)?, &expected)?;
        let behind = KeyRange { after_start: true, ..range.clone() };
        let behind_expected: Records = expected.iter().filter(|(key, _)| *key != numbered(order, from)).cloned().collect();
        equal(&format!("numbers behind {from} in order {}", order.name()), &conn.read_range(keyspace, &behind)?, &behind_expected)?;
        let backwards = conn.page(keyspace, &range, Direction::Reverse, WHOLE)?;
        expected.reverse();
        equal(&format!("numbers {to} to {from} in order {}", order.name()), &backwards.records().collect(), &expected)?;
    }
    conn.write(|batch| batch.delete_range(keyspace, &KeyRange::between(&numbered(order, 80), &numbered(order, 120))))?;
    let left: Records = even(0..80).into_iter().chain(even(120..200)).collect();
    equal(&format!("what a range delete in order {} leaves", order.name()), &conn.read_range(keyspace, &KeyRange::all())?, &left)?;
    // Without an end, with what the batch itself has put behind the last one; and without a start, with a put that comes later.
    let (behind_all, after) = (numbered(order, 210), numbered(order, 4));
    conn.write(|batch| {
        batch.put(keyspace, &behind_all, b"gone")?;
        batch.delete_range(keyspace, &KeyRange { start: numbered(order, 150).to_vec(), ..KeyRange::all() })
    })?;
    let left: Records = even(0..80).into_iter().chain(even(120..150)).collect();
    let what = format!("what a range delete without an end in order {} leaves", order.name());
    equal(&what, &conn.read_range(keyspace, &KeyRange::all())?, &left)?;
    conn.write(|batch| {
        batch.delete_range(keyspace, &KeyRange::all())?;
        batch.put(keyspace, &after, b"kept")
    })?;
    let what = format!("what a range delete of everything in order {} leaves", order.name());
    equal(&what, &conn.read_range(keyspace, &KeyRange::all())?, &vec![(after, owned(b"kept"))])
}
