use super::*;
use crate::store::{Direction, MemoryStore, Order};

fn seeded(keys: &[&str]) -> (MemoryStore, Keyspace) {
    let mut store = MemoryStore::new();
    let keyspace = store.open_keyspace("test", Order::Bytes).unwrap();
    let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
    for key in keys {
        transaction.put(keyspace, Bytes::copy_from_slice(key.as_bytes()), Bytes::from("stored")).unwrap();
    }
    transaction.commit().unwrap();
    (store, keyspace)
}

fn walk(transaction: &mut Transaction<'_>, keyspace: Keyspace, range: KeyRange, direction: Direction) -> String {
    let mut scan = Scan::new(keyspace, range, direction, 1);
    let mut met = String::new();
    while let Some((key, value)) = transaction.next(&mut scan).unwrap() {
        let own = if value == "stored" { "" } else { "*" };
        met.push_str(&format!("{}{own} ", String::from_utf8_lossy(&key)));
    }
    met.trim_end().to_owned()
}

#[test]
fn a_scan_sees_puts_deletes_and_cleared_ranges_both_ways() {
    let (mut store, keyspace) = seeded(&["a", "c", "e", "g", "i", "k"]);
    let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
    transaction.put(keyspace, "b".into(), "new".into()).unwrap();
    transaction.put(keyspace, "e".into(), "new".into()).unwrap();
    transaction.delete(keyspace, "g".into()).unwrap();
    transaction.put(keyspace, "j".into(), "new".into()).unwrap();
    transaction.delete_range(keyspace, KeyRange::between(b"i", b"k")).unwrap();
    transaction.put(keyspace, "ii".into(), "new".into()).unwrap();
    assert_eq!(walk(&mut transaction, keyspace, KeyRange::all(), Direction::Forward), "a b* c e* ii* k");
    assert_eq!(walk(&mut transaction, keyspace, KeyRange::all(), Direction::Reverse), "k ii* e* c b* a");
    assert_eq!(walk(&mut transaction, keyspace, KeyRange::between(b"b", b"e"), Direction::Reverse), "c b*");
    assert_eq!(transaction.get(keyspace, b"j").unwrap(), None);
}

#[test]
fn a_scan_meets_what_is_put_ahead_of_it_and_not_what_is_deleted() {
    let (mut store, keyspace) = seeded(&["a", "b", "c", "d"]);
    let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
    let mut scan = Scan::new(keyspace, KeyRange::all(), Direction::Forward, 10);
    assert_eq!(transaction.next(&mut scan).unwrap().unwrap().0, "a");
    transaction.put(keyspace, "aa".into(), "new".into()).unwrap();
    transaction.delete(keyspace, "b".into()).unwrap();
    let rest: Vec<_> = std::iter::from_fn(|| transaction.next(&mut scan).unwrap()).map(|(key, _)| key).collect();
    assert_eq!(rest, ["aa", "c", "d"]);
}

#[test]
fn undo_takes_back_everything_since_the_savepoint_and_nothing_else() {
    let (mut store, keyspace) = seeded(&["a", "b", "c"]);
    let scope = Scope::Keys(vec!["lock".into()]);
    let mut transaction = Transaction::begin(&mut store, scope).unwrap();
    transaction.put(keyspace, "b".into(), "kept".into()).unwrap();
    let savepoint = transaction.savepoint();
    transaction.touch(b"lock").unwrap();
    transaction.put(keyspace, "b".into(), "lost".into()).unwrap();
    transaction.delete_range(keyspace, KeyRange::all()).unwrap();
    transaction.put(keyspace, "z".into(), "lost".into()).unwrap();
    transaction.undo_to(savepoint);
    assert_eq!(transaction.changed, [false]);
    assert_eq!(transaction.get(keyspace, b"b").unwrap().unwrap(), "kept");
    assert_eq!(walk(&mut transaction, keyspace, KeyRange::all(), Direction::Forward), "a b* c");
    transaction.undo_to(Savepoint(0));
    assert!(transaction.is_unchanged());
}

#[test]
fn a_transaction_that_is_dropped_writes_nothing() {
    let (mut store, keyspace) = seeded(&["a"]);
    let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
    transaction.put(keyspace, "b".into(), "lost".into()).unwrap();
    drop(transaction);
    assert_eq!(store.contents()[0].1.len(), 1);
}

#[test]
fn a_key_that_was_not_declared_cannot_be_touched() {
    let (mut store, _) = seeded(&[]);
    let mut transaction = Transaction::begin(&mut store, Scope::Keys(vec!["k".into()])).unwrap();
    assert!(transaction.touch(b"k").is_ok());
    assert_eq!(transaction.touch(b"other"), Err(StoreError::ReadOnly));
}

/// Random changes, then every read compared with a plain map that had the same changes.
#[test]
fn a_random_overlay_reads_like_a_map() {
    let mut seed = 42_u64;
    let mut random = move |below: u64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) % below
    };
    for _ in 0..200 {
        let key = |n: u64| format!("{n:02}");
        let stored: Vec<String> = (0..30).filter(|_| random(2) == 0).map(key).collect();
        let (mut store, keyspace) = seeded(&stored.iter().map(String::as_str).collect::<Vec<_>>());
        let mut model: BTreeMap<String, &str> = stored.into_iter().map(|key| (key, "stored")).collect();
        let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
        for _ in 0..random(25) {
            let name = key(random(30));
            match random(5) {
                0 => {
                    let end = key(random(31));
                    model.retain(|key, _| *key < name || *key >= end);
                    transaction.delete_range(keyspace, KeyRange::between(name.as_bytes(), end.as_bytes())).unwrap();
                }
                1 => {
                    model.remove(&name);
                    transaction.delete(keyspace, name.into()).unwrap();
                }
                _ => {
                    model.insert(name.clone(), "new");
                    transaction.put(keyspace, name.into(), "new".into()).unwrap();
                }
            }
        }
        let (from, to) = (key(random(30)), key(random(31)));
        let range = || KeyRange::between(from.as_bytes(), to.as_bytes());
        let inside: Vec<_> = model.iter().filter(|(key, _)| **key >= from && **key < to).collect();
        let show = |(key, value): &(&String, &&str)| format!("{key}{}", if **value == "stored" { "" } else { "*" });
        let forward: Vec<_> = inside.iter().map(show).collect();
        let reverse: Vec<_> = inside.iter().rev().map(show).collect();
        assert_eq!(walk(&mut transaction, keyspace, range(), Direction::Forward), forward.join(" "));
        assert_eq!(walk(&mut transaction, keyspace, range(), Direction::Reverse), reverse.join(" "));
        transaction.commit().unwrap();
        let left: Vec<String> = store.contents()[0].1.iter().map(|(key, _)| String::from_utf8_lossy(key).into_owned()).collect();
        assert_eq!(left, model.into_keys().collect::<Vec<_>>());
    }
}
