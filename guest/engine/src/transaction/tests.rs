use super::*;
use crate::store::conformance::orders::numbered;
use crate::store::counting::{Counter, Counting};
use crate::store::{Direction, MemoryStore, Order};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

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
    assert_eq!(transaction.get(keyspace, &"j".into()).unwrap(), None);
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
    let first = transaction.savepoint();
    transaction.put(keyspace, "b".into(), "kept".into()).unwrap();
    let savepoint = transaction.savepoint();
    transaction.touch(b"lock").unwrap();
    transaction.put(keyspace, "b".into(), "lost".into()).unwrap();
    transaction.delete_range(keyspace, KeyRange::all()).unwrap();
    transaction.put(keyspace, "z".into(), "lost".into()).unwrap();
    transaction.undo_to(savepoint);
    assert_eq!(transaction.memory.changed, [false]);
    assert_eq!(transaction.get(keyspace, &"b".into()).unwrap().unwrap(), "kept");
    assert_eq!(walk(&mut transaction, keyspace, KeyRange::all(), Direction::Forward), "a b* c");
    transaction.undo_to(first);
    assert!(transaction.is_unchanged());
}

#[test]
fn what_a_record_was_read_as_is_not_put_again() {
    let (store, keyspace) = seeded(&["again", "cleared", "other", "same", "unread"]);
    let counter = Counter::default();
    let mut store = Counting::new(store, counter.clone(), ());
    let mut transaction = Transaction::begin(&mut store, Scope::Keys(vec!["lock".into()])).unwrap();
    for key in ["cleared", "other", "same", "absent", "new"] {
        transaction.get(keyspace, &key.into()).unwrap();
    }
    transaction.touch(b"lock").unwrap();
    transaction.delete_range(keyspace, KeyRange::only(b"cleared")).unwrap();
    for (key, value) in [("cleared", "stored"), ("same", "new"), ("same", "stored"), ("unread", "stored"), ("other", "new"), ("new", "new")]
    {
        transaction.put(keyspace, key.into(), value.into()).unwrap();
    }
    transaction.delete(keyspace, "absent".into()).unwrap();
    let savepoint = transaction.savepoint();
    transaction.delete_range(keyspace, KeyRange::only(b"same")).unwrap();
    transaction.undo_to(savepoint);
    let again: Bytes = "again".into();
    transaction.get(keyspace, &again).unwrap();
    transaction.put(keyspace, again.clone(), "new".into()).unwrap();
    assert!(transaction.put_again(keyspace, &again, 6, |value| value.copy_from_slice(b"stored")));
    transaction.commit().unwrap();
    let written = counter.take();
    // All but "again", "same" and "absent".
    assert_eq!((written.puts, written.deletes, written.range_deletes), (4, 0, 1));
    let mut transaction = Transaction::begin(&mut store, Scope::Read).unwrap();
    assert_eq!(walk(&mut transaction, keyspace, KeyRange::all(), Direction::Forward), "again cleared new* other* same unread");
}

#[test]
fn a_value_is_forgotten_when_one_that_stays_has_come_over_it() {
    let (mut store, keyspace) = seeded(&[]);
    let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
    let values: Vec<Bytes> = (0..4).map(|number| Bytes::from(vec![number; 100])).collect();
    let mut savepoint = transaction.savepoint();
    for value in &values {
        transaction.settle();
        savepoint = transaction.savepoint();
        transaction.put(keyspace, "a".into(), value.clone()).unwrap();
    }
    let held: Vec<bool> = values.iter().map(|value| !value.is_unique()).collect();
    assert_eq!(held, [false, false, true, true], "the last one may be taken back");
    transaction.undo_to(savepoint);
    assert_eq!(transaction.get(keyspace, &"a".into()).unwrap().as_ref(), values.get(2));
}

/// Deletes a record, and keeps a census of what is left.
fn delete_and_count(transaction: &mut Transaction<'_>, keyspace: Keyspace) {
    transaction.delete(keyspace, "a".into()).unwrap();
    let census = transaction.new_census((keyspace, KeyRange::all()), 1);
    transaction.keep_census(census);
}

#[test]
fn a_record_that_was_put_last_is_put_again_and_no_other() {
    let (mut store, keyspace) = seeded(&["a", "b"]);
    let (a, b) = (Bytes::from_static(b"a"), Bytes::from_static(b"b"));
    let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
    let again = |transaction: &mut Transaction<'_>, key: &Bytes, value: &str| {
        transaction.put_again(keyspace, key, value.len(), |bytes| bytes.copy_from_slice(value.as_bytes()))
    };
    assert!(!again(&mut transaction, &a, "too early") && !transaction.was_put_last(keyspace, &a));
    transaction.put(keyspace, a.clone(), "first".into()).unwrap();
    assert!(again(&mut transaction, &a, "second") && again(&mut transaction, &a, "third"));
    assert!(!transaction.was_put_last(keyspace, &Bytes::copy_from_slice(&a)), "elsewhere in memory it may be another key's turn");
    assert!(!again(&mut transaction, &b, "another") && !again(&mut transaction, &a, &"long".repeat(100)));
    let (savepoint, generation) = (transaction.savepoint(), transaction.generation(Some(keyspace)));
    assert!(again(&mut transaction, &a, "lost"));
    assert!(transaction.generation(Some(keyspace)) > generation);
    assert_eq!((transaction.get(keyspace, &a).unwrap().unwrap(), transaction.pending_ops()), (Bytes::from("lost"), 1));
    transaction.delete(keyspace, a.clone()).unwrap();
    assert!(!again(&mut transaction, &a, "too late"));
    transaction.undo_to(savepoint);
    assert_eq!(transaction.get(keyspace, &a).unwrap().unwrap(), "third");
    transaction.put(keyspace, b.clone(), "last".into()).unwrap();
    assert!(!again(&mut transaction, &a, "not the last any more"));
    transaction.commit().unwrap();
    let values: Vec<Bytes> = store.contents()[0].1.iter().map(|(_, value)| value.clone()).collect();
    assert_eq!(values, ["third", "last"]);
}

#[test]
fn a_census_outlives_the_commit_of_what_it_counted_and_neither_an_undo_nor_a_rollback() {
    let (mut store, keyspace) = seeded(&["a", "b"]);
    let mut censuses = Censuses::default();
    let range = (keyspace, KeyRange::all());
    for is_committed in [false, true] {
        let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
        transaction.use_censuses(&mut censuses);
        let savepoint = transaction.savepoint();
        delete_and_count(&mut transaction, keyspace);
        transaction.undo_to(savepoint);
        assert!(transaction.take_census(&range).is_none());
        delete_and_count(&mut transaction, keyspace);
        let changed = transaction.savepoint();
        transaction.undo_to(changed);
        let census = transaction.take_census(&range).unwrap();
        transaction.keep_census(census);
        if is_committed {
            transaction.commit().unwrap();
        } else {
            drop(transaction);
        }
        let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
        transaction.use_censuses(&mut censuses);
        transaction.put(keyspace, "c".into(), "new".into()).unwrap();
        let census = transaction.take_census(&range);
        assert_eq!(census.map(|census| census.total()), is_committed.then_some(1));
    }
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

/// Walks over a range run by run, which are broken off here and there, and now and then over a record alone; in between the transaction changes records on
/// both sides, and takes some of that back. Each record that is met is the next one of the model.
fn check_runs(
    transaction: &mut Transaction<'_>,
    (keyspace, keys): (Keyspace, &[Bytes]),
    model: &mut BTreeMap<u8, &'static str>,
    (from, to, direction): (u8, u8, Direction),
    random: &mut impl FnMut(u8) -> u8,
) {
    let at = |number: u8| &keys[usize::from(number)];
    let mut scan = Scan::new(keyspace, KeyRange::between(at(from), at(to)), direction, 1 + usize::from(random(9)));
    let mut rest = from..to.max(from);
    loop {
        let mut met = Vec::new();
        let mut is_broken_off = false;
        let whole = transaction.each_run::<StoreError>(&mut scan, |run| {
            for (key, value) in run {
                met.push((Bytes::copy_from_slice(key), Bytes::copy_from_slice(value)));
                is_broken_off = random(4) == 0;
                if is_broken_off {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        });
        whole.unwrap();
        if is_broken_off {
            met.extend(transaction.next(&mut scan).unwrap());
        }
        for (key, value) in met {
            let mut ahead = model.range(rest.clone());
            let (&number, &expected) = if direction == Direction::Forward { ahead.next() } else { ahead.next_back() }.unwrap();
            assert_eq!((&key, value), (at(number), Bytes::from(expected)), "{direction:?}");
            rest = if direction == Direction::Forward { number + 1..rest.end } else { rest.start..number };
        }
        if !is_broken_off {
            assert_eq!(model.range(rest).next(), None, "{direction:?}");
            return;
        }
        let (savepoint, before) = (transaction.savepoint(), model.clone());
        for _ in 0..random(4) {
            let number = random(30);
            if random(2) == 0 {
                transaction.put(keyspace, at(number).clone(), "on the way".into()).unwrap();
                model.insert(number, "on the way");
            } else {
                transaction.delete(keyspace, at(number).clone()).unwrap();
                model.remove(&number);
            }
        }
        if random(4) == 0 {
            transaction.undo_to(savepoint);
            *model = before;
        }
    }
}

/// Random changes, then every read compared with a plain map that had the same changes.
fn check_random_overlays(order: Order) {
    let mut seed = 42_u64;
    let mut random = move |below: u8| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        u8::try_from((seed >> 33) % u64::from(below)).unwrap()
    };
    // Around the number at which the keys of scores and of Ardb change their sign.
    let key = |number: u8| numbered(order, 85 + number);
    let range = |from: u8, to: u8| KeyRange::between(&key(from), &key(to));
    for _ in 0..200 {
        let mut store = MemoryStore::new();
        let keyspace = store.open_keyspace("test", order).unwrap();
        let mut model: BTreeMap<u8, &str> = (0..30).filter(|_| random(2) == 0).map(|number| (number, "stored")).collect();
        let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
        for &number in model.keys() {
            transaction.put(keyspace, key(number), "stored".into()).unwrap();
        }
        transaction.commit().unwrap();

        let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
        let mut savepoint = (transaction.savepoint(), model.clone());
        let mut last = (0, key(0));
        let clears_ranges = random(2) == 0;
        for _ in 0..random(50) {
            let number = random(30);
            match random(9) {
                0 if clears_ranges => {
                    let end = random(31);
                    model.retain(|&other, _| other < number || other >= end);
                    transaction.delete_range(keyspace, range(number, end)).unwrap();
                }
                1 => {
                    model.remove(&number);
                    transaction.delete(keyspace, key(number)).unwrap();
                }
                2 => {
                    if random(2) == 0 {
                        transaction.settle();
                    }
                    savepoint = (transaction.savepoint(), model.clone());
                }
                3 => {
                    transaction.undo_to(savepoint.0);
                    model.clone_from(&savepoint.1);
                }
                4..=6 => {
                    let value = ["again", "and again"][usize::from(random(2))];
                    if transaction.put_again(keyspace, &last.1, value.len(), |bytes| bytes.copy_from_slice(value.as_bytes())) {
                        assert!(model.insert(last.0, value).is_some(), "only what is there is put again");
                    }
                }
                7 => assert_eq!(
                    transaction.get(keyspace, &key(number)).unwrap().as_deref(),
                    model.get(&number).map(|value| value.as_bytes())
                ),
                _ => {
                    last = (number, key(number));
                    model.insert(number, "new");
                    transaction.put(keyspace, last.1.clone(), "new".into()).unwrap();
                }
            }
        }
        let (from, to) = (random(30), random(31));
        let inside = model.iter().filter(|&(&number, _)| number >= from && number < to);
        let expected: Vec<_> = inside.map(|(&number, &value)| (key(number), Bytes::from(value))).collect();
        for (direction, expected) in
            [(Direction::Forward, expected.clone()), (Direction::Reverse, expected.into_iter().rev().collect::<Vec<_>>())]
        {
            let mut scan = Scan::new(keyspace, range(from, to), direction, 1);
            let met: Vec<_> = std::iter::from_fn(|| transaction.next(&mut scan).unwrap()).collect();
            assert_eq!(met, expected, "{order:?}, {direction:?}");
        }
        for direction in [Direction::Forward, Direction::Reverse] {
            let keys: Vec<Bytes> = (0..=31).map(key).collect();
            check_runs(&mut transaction, (keyspace, &keys), &mut model, (from, to, direction), &mut random);
        }
        transaction.commit().unwrap();
        let left: Vec<_> = store.contents()[0].1.clone();
        let expected: Vec<_> = model.into_iter().map(|(number, value)| (key(number), Bytes::from(value))).collect();
        assert_eq!(left, expected, "{order:?}");
    }
}

#[test]
fn a_random_overlay_reads_like_a_map_in_every_order() {
    for order in Order::ALL {
        check_random_overlays(order);
    }
}

#[test]
fn a_generation_ends_with_each_change_and_when_changes_are_taken_back() {
    let (mut store, keyspace) = seeded(&["a", "b"]);
    let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
    let mut generations = vec![transaction.generation(None)];
    let savepoint = transaction.savepoint();
    transaction.put(keyspace, "b".into(), "new".into()).unwrap();
    generations.push(transaction.generation(None));
    transaction.delete(keyspace, "a".into()).unwrap();
    generations.push(transaction.generation(None));
    transaction.delete_range(keyspace, KeyRange::between(b"a", b"c")).unwrap();
    generations.push(transaction.generation(None));
    transaction.undo_to(savepoint);
    generations.push(transaction.generation(None));
    assert!(generations.is_sorted_by(|before, after| before < after), "{generations:?}");
    transaction.get(keyspace, &"a".into()).unwrap();
    assert_eq!(Some(&transaction.generation(None)), generations.last());
    let of_another = transaction.generation(Some(Keyspace(keyspace.0 + 1)));
    let of_its_own = transaction.generation(Some(keyspace));
    transaction.put(keyspace, "b".into(), "new".into()).unwrap();
    assert_eq!(transaction.generation(Some(Keyspace(keyspace.0 + 1))), of_another);
    assert!(transaction.generation(Some(keyspace)) > of_its_own);
}

#[test]
fn keys_that_an_order_takes_for_the_same_are_one_record() {
    // The scores 0 and -0 of one member.
    let scored = |score: f64| {
        let mut key = 1_u32.to_le_bytes().to_vec();
        key.extend_from_slice(b"z");
        key.extend_from_slice(&7_i32.to_le_bytes());
        key.extend_from_slice(&score.to_le_bytes());
        key.extend_from_slice(b"member");
        Bytes::from(key)
    };
    let (zero, negative) = (scored(0.0), scored(-0.0));
    assert!(zero != negative && Order::BlackwidowScores.compare(&zero, &negative).is_eq());
    for (before, after) in [(&zero, &negative), (&negative, &zero)] {
        for scans in [false, true] {
            let mut store = MemoryStore::new();
            let keyspace = store.open_keyspace("test", Order::BlackwidowScores).unwrap();
            let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
            transaction.put(keyspace, before.clone(), "stored".into()).unwrap();
            transaction.commit().unwrap();
            let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
            assert_eq!(transaction.get(keyspace, after).unwrap().unwrap(), "stored");
            transaction.delete(keyspace, before.clone()).unwrap();
            assert_eq!((transaction.get(keyspace, before).unwrap(), transaction.get(keyspace, after).unwrap()), (None, None));
            if scans {
                assert_eq!(transaction.first(keyspace, KeyRange::all(), Direction::Forward).unwrap(), None);
            }
            let savepoint = transaction.savepoint();
            transaction.put(keyspace, after.clone(), "new".into()).unwrap();
            transaction.undo_to(savepoint);
            assert_eq!(transaction.get(keyspace, after).unwrap(), None);
            transaction.put(keyspace, after.clone(), "new".into()).unwrap();
            assert_eq!(transaction.get(keyspace, before).unwrap().unwrap(), "new");
            let first = transaction.first(keyspace, KeyRange::all(), Direction::Reverse).unwrap();
            assert_eq!(first.filter(|_| scans), scans.then(|| (after.clone(), Bytes::from("new"))));
            transaction.commit().unwrap();
            let values: Vec<Bytes> = store.contents()[0].1.iter().map(|(_, value)| value.clone()).collect();
            assert_eq!(values, ["new"], "{before:?}, scans: {scans}");
        }
    }
}
