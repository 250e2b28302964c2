//! The sweep, over the memory store.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;
mod keeper;

use bytes::Bytes;
use common::Client;
use keeper::*;
use orbweaver_engine::environment::SystemEnvironment;
use orbweaver_engine::layout::{Collection, KeyAt, Kind, Layout, Swept};
use orbweaver_engine::session::Engine;
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::fault::{FaultPlan, FaultStore};
use orbweaver_engine::store::{
    Batch, Direction, KeyRange, Keyspace, Limits, MemoryStore, Order, Page, PageLimit, Scope, Store, StoreError,
};

#[test]
fn a_key_is_removed_when_its_time_is_past_and_not_at_it() {
    let mut keeper = Keeper::new();
    keeper.load(&line(0, "string", Some(NOW_MS), &string("v")));
    keeper.load(&line(3, "set", Some(NOW_MS), &set(5)));
    keeper.load(&line(0, "later", Some(NOW_MS + 1), &string("v")));
    keeper.load(&line(0, "never", None, &string("v")));
    assert_eq!(keeper.sweep(100), Swept::default());
    keeper.now_ms.set(NOW_MS + 1);
    let swept = keeper.sweep(100);
    assert_eq!((swept.expired_keys, swept.records, swept.ranges), (2, 6, 0));
    assert_eq!(keeper.sizes(), "meta 2, data 0, score 0, expiry 1, garbage 0, field-expiry 0, rank 0");
    assert_eq!(keeper.engine.server().stats.expired_keys, 2);
}

#[test]
fn with_nothing_to_do_a_sweep_costs_three_scans() {
    let (store, plan) = (MemoryStore::new(), FaultPlan::default());
    let mut keeper = Keeper::over(store.clone(), FaultStore::new(store, plan.clone(), StoreError::Conflict));
    keeper.load(&line(0, "k", Some(NOW_MS + 1), &hash(100)));
    plan.fail_at(0);
    assert_eq!(keeper.sweep(1000), Swept::default());
    // Three transactions are begun, each scans once.
    assert_eq!(plan.calls(), 6);
}

#[test]
fn fields_are_removed_when_their_time_is_past_in_steps_and_nobody_touches_them() {
    let mut keeper = Keeper::new();
    let times: Vec<Option<u64>> = (0..600).map(|n| [Some(NOW_MS), Some(NOW_MS + 1), None][n % 3]).collect();
    keeper.load(&line(0, "mixed", None, &expiring_hash(&times)));
    keeper.load(&line(2, "all", Some(NOW_MS + 9), &expiring_hash(&[Some(NOW_MS); 100])));
    assert_eq!(keeper.sweep(100), Swept::default());
    keeper.now_ms.set(NOW_MS + 1);
    let first = keeper.engine.sweep(60).unwrap();
    assert!(first.more && first.expired_keys == 1 && (1..=60).contains(&first.records), "{first:?}");
    assert_eq!(keeper.check(1000), Vec::<String>::new());
    keeper.sweep(60);
    assert_eq!(keeper.sizes(), "meta 1, data 400, score 0, expiry 0, garbage 0, field-expiry 201, rank 0");
    keeper.now_ms.set(NOW_MS + 2);
    keeper.sweep(7);
    assert_eq!(keeper.sizes(), "meta 1, data 200, score 0, expiry 0, garbage 0, field-expiry 0, rank 0");
    assert_eq!(keeper.check(1000), Vec::<String>::new());
}

#[test]
fn a_removed_hash_leaves_nothing_of_its_fields_that_expire() {
    for fields in [3, 300] {
        let mut keeper = Keeper::new();
        keeper.load(&line(0, "h", None, &expiring_hash(&vec![Some(NOW_MS + 5); fields])));
        keeper.load(&line(1, "flushed", None, &expiring_hash(&vec![Some(NOW_MS + 5); fields])));
        keeper.load(&line(0, "replaced", None, &expiring_hash(&vec![Some(NOW_MS + 5); fields])));
        assert!(keeper.remove("h") < 100);
        keeper.flush(1);
        keeper.load(&line(0, "replaced", None, &string("v")));
        assert_eq!(keeper.check(1000), Vec::<String>::new());
        keeper.sweep(50);
        assert_eq!(keeper.sizes(), "meta 1, data 0, score 0, expiry 0, garbage 0, field-expiry 0, rank 0");
    }
}

#[test]
fn damaged_records_of_expiries_do_not_stop_the_sweep() {
    let mut keeper = Keeper::new();
    keeper.load(&line(0, "a", None, &expiring_hash(&[Some(NOW_MS), None])));
    keeper.load(&line(0, "b", None, &expiring_hash(&[Some(NOW_MS + 1), None])));
    let stale = |key, value| ("field-expiry", hex(key), Some(hex(value)));
    keeper.damage(&[
        stale("02 0000000000000001 0000000000000007", "00000001 6e6f6e65"),
        stale("02 0000000000000001 0000000000000008", "00"),
        stale("02 0000000000000001", "00000001 61"),
        // The hash `b` has lost the record of its field.
        ("field-expiry", hex("01 0000000000000002 0000018bcfe56801 6630"), None),
    ]);
    keeper.now_ms.set(NOW_MS + 2);
    assert_eq!(keeper.sweep(100).records, 2);
    assert_eq!(keeper.sizes(), "meta 2, data 3, score 0, expiry 0, garbage 0, field-expiry 3, rank 0");
}

#[test]
fn a_large_collection_goes_with_one_small_write_and_one_range_for_each_keyspace() {
    let (store, plan) = (MemoryStore::new(), FaultPlan::default());
    let mut keeper = Keeper::over(store.clone(), FaultStore::new(store, plan.clone(), StoreError::Conflict));
    keeper.load(&line(0, "hash", None, &hash(20_000)));
    keeper.load(&line(0, "zset", None, &sorted_set(&vec![1.5; 20_000])));
    assert!(keeper.remove("hash") < 50);
    assert!(keeper.remove("zset") < 50);
    assert_eq!(keeper.sizes(), "meta 0, data 40000, score 20000, expiry 0, garbage 2, field-expiry 0, rank 156");
    plan.fail_at(0);
    assert_eq!(keeper.sweep(100), Swept { expired_keys: 0, records: 2, ranges: 4, more: false });
    assert!(plan.calls() < 12, "{}", plan.calls());
    assert_eq!(keeper.sizes(), NOTHING);
}

#[test]
fn small_collections_go_record_by_record_also_where_their_count_is_wrong() {
    let mut keeper = Keeper::new();
    keeper.load(&line(0, "hash", None, &hash(64)));
    keeper.load(&line(0, "zset", None, &sorted_set(&[1.0, 2.0])));
    keeper.remove("hash");
    keeper.remove("zset");
    assert_eq!(keeper.sweep(10), Swept { expired_keys: 0, records: 64 + 4 + 2, ranges: 0, more: false });
    assert_eq!(keeper.sizes(), NOTHING);
    keeper.load(&line(0, "hash", None, &hash(10)));
    let garbage = ("garbage", hex("01 0000000000000003"), Some(hex("02 0000000000000001")));
    keeper.damage(&[("meta", hex("00000001 68617368"), None), garbage]);
    assert_eq!(keeper.sweep(10), Swept { expired_keys: 0, records: 2, ranges: 1, more: false });
    assert_eq!(keeper.sizes(), NOTHING);
}

#[test]
fn the_keys_of_an_emptied_db_go_page_by_page() {
    let mut keeper = Keeper::new();
    let lines: String = (0..300).map(|n| line(2, &format!("k{n}"), (n % 2 == 0).then_some(NOW_MS + 5), &set(2))).collect();
    keeper.load(&lines);
    keeper.load(&line(0, "kept", None, &set(2)));
    keeper.flush(2);
    keeper.load(&line(2, "new", None, &set(2)));
    let first = keeper.engine.sweep(20).unwrap();
    assert!(first.more && first.records <= 20, "{first:?}");
    keeper.sweep(20);
    assert_eq!(keeper.sizes(), "meta 2, data 4, score 0, expiry 0, garbage 0, field-expiry 0, rank 0");
    assert_eq!(keeper.check(1000), Vec::<String>::new());
}

#[test]
fn an_expiry_record_that_no_key_has_any_more_goes_and_its_key_stays() {
    let mut keeper = Keeper::new();
    keeper.load(&line(0, "k", Some(NOW_MS + 50), &string("v")));
    let stale = |key| ("expiry", hex(key), Some(hex("")));
    keeper.damage(&[stale("0000000000000005 00000001 6b"), stale("0000000000000005 00000001 6c"), stale("0000000000000005 00")]);
    assert_eq!(keeper.sweep(100).records, 2);
    // The last one names no key at all: the sweep leaves it to the check.
    assert_eq!(keeper.check(100), ["expiry \\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x05\\x00: a space is cut short at offset 8"]);
    assert_eq!(keeper.sizes(), "meta 1, data 0, score 0, expiry 2, garbage 0, field-expiry 0, rank 0");
}

#[test]
fn records_that_cannot_be_read_do_not_stop_the_sweep() {
    let mut keeper = Keeper::new();
    keeper.load(&line(0, "a", Some(NOW_MS), &string("v")));
    keeper.load(&line(0, "b", Some(NOW_MS), &string("v")));
    let garbage: Vec<Damage> = (0..9).map(|n| ("garbage", hex(&format!("00 0{n}")), Some(hex("")))).collect();
    keeper.damage(&garbage);
    keeper.damage(&[("meta", hex("00000001 61"), Some(hex("99")))]);
    keeper.load(&line(0, "c", None, &set(3)));
    keeper.remove("c");
    keeper.now_ms.set(NOW_MS + 1);
    assert_eq!(keeper.sweep(1000).expired_keys, 1);
    assert_eq!(keeper.sizes(), "meta 1, data 0, score 0, expiry 0, garbage 9, field-expiry 0, rank 0");
}

#[test]
fn an_unfinished_collection_is_left_alone_for_an_hour() {
    let mut keeper = Keeper::new();
    let collection = Collection::empty(Kind::Set, 1).changed_by(9, 0);
    let at = KeyAt::new(1, "s".into());
    keeper.change(Scope::Exclusive, |transaction, layout| {
        assert_eq!(layout.reserve_versions(transaction, 10), Ok(1));
        layout.renew_unfinished(transaction, &at, &collection, true, NOW_MS).unwrap();
    });
    keeper.damage(&[("data", hex("0000000000000001 61"), Some(hex("")))]);
    keeper.now_ms.set(NOW_MS + HOUR_MS);
    assert_eq!(keeper.sweep(100), Swept::default());
    assert_eq!(keeper.check(100), Vec::<String>::new());
    keeper.now_ms.set(NOW_MS + HOUR_MS + 1);
    assert_eq!(keeper.sweep(100).ranges, 1);
    assert_eq!(keeper.sizes(), NOTHING);
}

#[test]
fn wherever_a_sweep_is_interrupted_the_next_one_finishes_it() {
    for error in [StoreError::Conflict, StoreError::Io("unplugged".into())] {
        for call in 1.. {
            let (store, plan) = (MemoryStore::new(), FaultPlan::default());
            let mut keeper = Keeper::over(store.clone(), FaultStore::new(store, plan.clone(), error.clone()));
            keeper.load(&line(0, "expired", Some(NOW_MS), &hash(100)));
            keeper.load(&line(0, "removed", None, &sorted_set(&[1.0, 2.0])));
            keeper.load(&line(1, "flushed", None, &set(3)));
            keeper.load(&line(0, "kept", None, &items(3)));
            keeper.load(&line(0, "gone", None, &expiring_hash(&[Some(NOW_MS); 4])));
            keeper.load(&line(0, "fading", None, &expiring_hash(&[[Some(NOW_MS); 20].as_slice(), &[None, Some(NOW_MS + 1)]].concat())));
            keeper.remove("removed");
            keeper.flush(1);
            keeper.now_ms.set(NOW_MS + 1);
            plan.fail_at(call);
            let failed = (0..20).find_map(|_| keeper.engine.sweep(8).err());
            let struck = plan.calls() >= call;
            assert_eq!(failed.is_some(), struck && error != StoreError::Conflict, "call {call}");
            assert_eq!(keeper.check(100), Vec::<String>::new(), "call {call}");
            keeper.sweep(8);
            assert_eq!(keeper.sizes(), "meta 2, data 5, score 0, expiry 0, garbage 0, field-expiry 2, rank 0", "call {call}");
            if call > 100 {
                break;
            }
        }
    }
}

/// A store on which another client runs a command before the first transaction that writes.
struct RunBetween {
    inner: MemoryStore,
    client: Client,
    command: Option<&'static str>,
}

impl Store for RunBetween {
    fn limits(&self) -> Limits {
        self.inner.limits()
    }

    fn open_keyspace(&mut self, name: &str, order: Order) -> Result<Keyspace, StoreError> {
        self.inner.open_keyspace(name, order)
    }

    fn order(&self, keyspace: Keyspace) -> Order {
        self.inner.order(keyspace)
    }

    fn begin(&mut self, scope: &Scope) -> Result<u64, StoreError> {
        if *scope != Scope::Read
            && let Some(command) = self.command.take()
        {
            assert_eq!(self.client.run(command), "+OK");
        }
        self.inner.begin(scope)
    }

    fn get(&mut self, keyspace: Keyspace, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(keyspace, key)
    }

    fn scan(&mut self, keyspace: Keyspace, range: &KeyRange, direction: Direction, limit: PageLimit) -> Result<Page, StoreError> {
        self.inner.scan(keyspace, range, direction, limit)
    }

    fn revisions(&mut self, keys: &[Bytes]) -> Result<Vec<u64>, StoreError> {
        self.inner.revisions(keys)
    }

    fn commit(&mut self, batch: &Batch, changed: &[u32]) -> Result<(), StoreError> {
        self.inner.commit(batch, changed)
    }

    fn rollback(&mut self) {
        self.inner.rollback();
    }
}

#[test]
fn a_hash_that_is_renamed_under_a_sweep_keeps_what_leads_to_its_fields() {
    let store = MemoryStore::new();
    let mut keeper = Keeper::over(store.clone(), store.clone());
    keeper.load(&line(0, "from", None, &expiring_hash(&[Some(NOW_MS), None])));
    let between = RunBetween { inner: store.clone(), client: Client::on(&store), command: Some("RENAME from to") };
    let mut sweeper = Keeper::over(store, between);
    sweeper.now_ms.set(NOW_MS + 1);
    assert_eq!(sweeper.engine.sweep(100).unwrap().records, 0);
    assert_eq!(keeper.check(100), Vec::<String>::new());
    sweeper.sweep(100);
    assert_eq!(keeper.sizes(), "meta 1, data 1, score 0, expiry 0, garbage 0, field-expiry 0, rank 0");
}

#[test]
fn sweepers_beside_each_other_and_beside_a_writer_leave_everything_in_order() {
    let store = MemoryStore::new();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let store = store.clone();
            scope.spawn(move || {
                let mut engine = Engine::open(Box::new(store), Box::new(SystemEnvironment::default()), Settings::default()).unwrap();
                for _ in 0..400 {
                    engine.sweep(40).unwrap();
                }
            });
        }
        let mut keeper = Keeper::over(store.clone(), store.clone());
        // The sweepers' clock is the real one, far ahead of the expiries that the writer gives.
        for round in 0..400 {
            let expire_at_ms = (round % 3 == 0).then_some(NOW_MS + 1000);
            keeper.load(&line(0, &format!("k{}", round % 7), expire_at_ms, &sorted_set(&vec![1.0; round % 90 + 1])));
        }
    });
    let mut keeper = Keeper::over(store.clone(), store);
    keeper.sweep(1000);
    assert_eq!(keeper.check(1000), Vec::<String>::new());
    let garbage = keeper.store.contents().into_iter().find(|(name, _)| name == "garbage").unwrap().1;
    assert!(garbage.is_empty());
}
