use super::*;
use crate::layout::lock_key;
use crate::store::{MemoryStore, Scope};

const NOW_MS: u64 = 1_700_000_000_000;

fn opened() -> (MemoryStore, Blackwidow, KeyAt) {
    let mut store = MemoryStore::new();
    let layout = Blackwidow::open(&mut store).unwrap();
    (store, layout, KeyAt::new(SPACE, Bytes::from_static(b"s")))
}

fn set(version: u64, count: u64) -> Collection {
    Collection { count, ..Collection::empty(Kind::Set, version) }
}

fn meta(collection: Collection) -> Meta {
    Meta { expire_at_ms: None, body: Body::Collection(collection) }
}

fn members(store: &mut MemoryStore, layout: &Blackwidow, at: &KeyAt, version: u64) -> u64 {
    let mut transaction = Transaction::begin(store, Scope::Read).unwrap();
    layout.members(at, &set(version, 0)).count(&mut transaction).unwrap()
}

#[test]
fn a_collection_that_was_overtaken_while_it_was_written_is_not_stored() {
    let (mut store, layout, at) = opened();
    let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
    let mut write = |version| layout.write(&mut transaction, &at, None, New::Value(&meta(set(version, 1))), NOW_MS);
    assert_eq!(write(1_700_000_005), Ok(()));
    assert_eq!(write(1_700_000_004), Err(StoreError::Conflict.into()));
    assert_eq!(write(1_700_000_006), Ok(()));
}

#[test]
fn a_count_above_31_bits_is_refused() {
    let (mut store, layout, at) = opened();
    let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
    let mut write = |count| layout.write(&mut transaction, &at, None, New::Value(&meta(set(1, count))), NOW_MS);
    assert_eq!(write(2_147_483_647), Ok(()));
    assert_eq!(write(2_147_483_648), Err(TOO_MANY));
}

#[test]
fn the_first_part_of_a_collection_removes_what_another_writer_has_left_of_it() {
    let (mut store, layout, at) = opened();
    let unfinished = set(NOW_MS / 1000, 0);
    for (is_first, left) in [(true, 1), (false, 2), (true, 1)] {
        let member = if is_first { "a" } else { "b" };
        let mut transaction = Transaction::begin(&mut store, Scope::Keys(vec![lock_key(0, b"note")])).unwrap();
        layout.renew_unfinished(&mut transaction, &at, &unfinished, is_first, NOW_MS).unwrap();
        let record = layout.member(&at, &unfinished, member.as_bytes());
        layout.write_member(&mut transaction, &at, &unfinished, member.as_bytes(), record, true).unwrap();
        transaction.commit().unwrap();
        assert_eq!(members(&mut store, &layout, &at, unfinished.version), left);
    }
}

#[test]
fn a_collection_that_takes_too_long_to_write_is_refused_before_the_sweep_takes_its_records() {
    let (mut store, layout, at) = opened();
    let mut transaction = Transaction::begin(&mut store, Scope::Exclusive).unwrap();
    let mut renew = |seconds: u64| {
        let now_ms = NOW_MS + seconds * 1000;
        layout.renew_unfinished(&mut transaction, &at, &set(NOW_MS / 1000, 0), false, now_ms).map_err(|error| error.to_string())
    };
    assert_eq!(renew(3000), Ok(()));
    assert_eq!(renew(3001), Err("ERR the layout blackwidow takes no collection that is loaded for more than 3000 seconds".to_owned()));
}
