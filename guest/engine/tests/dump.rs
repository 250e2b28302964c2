//! Dumps and loads.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod keeper;

use keeper::*;
use orbweaver_engine::environment::Environment;
use orbweaver_engine::maintenance::LoadReport;
use orbweaver_engine::session::Engine;
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::fault::{FaultPlan, FaultStore};
use orbweaver_engine::store::{Limits, MemoryStore, StoreError};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const EVERY_KIND: &str = r#"{"db":0,"key":"","type":"string","expire_at_ms":null,"value":"AP8="}
{"db":0,"key":"aA==","type":"hash","expire_at_ms":4102444800000,"fields":[["","ZW1wdHk="],["Zg==",""]]}
{"db":0,"key":"bA==","type":"list","expire_at_ms":null,"items":["b25l","","b25l"]}
{"db":0,"key":"cw==","type":"set","expire_at_ms":null,"members":["","YQ==","YWI="]}
{"db":0,"key":"eg==","type":"zset","expire_at_ms":null,"members":[["bG93","-inf","fff0000000000000"],["YQ==","0","0000000000000000"],["Yg==","-0","8000000000000000"],["Yw==","0.1","3fb999999999999a"],["ZA==","3","4008000000000000"],["aGlnaA==","inf","7ff0000000000000"]]}
{"db":15,"key":"aw==","type":"string","expire_at_ms":1700000000000,"value":""}
"#;

#[test]
fn a_dump_has_every_kind_in_its_documented_form_and_loads_into_the_same() {
    let mut keeper = Keeper::new();
    assert_eq!(keeper.engine.load(EVERY_KIND.as_bytes()), Ok(LoadReport { keys: 6, expired: 0 }));
    assert_eq!(keeper.dump(1 << 20), EVERY_KIND);
    assert_eq!(keeper.check(100), Vec::<String>::new());
}

#[test]
fn the_documented_example_is_a_dump() {
    let page = include_str!("../../../docs/dump.md");
    let example = page.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let mut keeper = Keeper::new();
    keeper.load(example);
    assert_eq!(keeper.dump(100), example);
}

#[test]
fn an_empty_database_has_an_empty_dump_and_an_empty_dump_loads() {
    let mut keeper = Keeper::new();
    assert_eq!(keeper.dump(100), "");
    assert_eq!(keeper.engine.load(b""), Ok(LoadReport::default()));
    assert_eq!(keeper.engine.load(b"\n  \r\n"), Ok(LoadReport::default()));
}

#[test]
fn pieces_of_any_size_make_the_same_dump() {
    let mut keeper = Keeper::new();
    random_life(&mut keeper, 7, 80);
    let whole = keeper.dump(1 << 30);
    assert!(whole.len() > 5000, "{}", whole.len());
    for max_bytes in [1, 10, 100, 5000] {
        assert!(keeper.dump(max_bytes) == whole, "{max_bytes}");
    }
    let mut cursor = Vec::new();
    let longest_record = 100;
    let first = keeper.engine.dump(&mut cursor, 1000).unwrap();
    assert!((1000..1000 + longest_record).contains(&first.len()), "{}", first.len());
}

#[test]
fn random_databases_come_back_from_their_dumps() {
    for seed in 0..10 {
        let mut keeper = Keeper::new();
        random_life(&mut keeper, seed, 100);
        let dump = keeper.dump(1000);
        let mut other = Keeper::new();
        other.now_ms.set(keeper.now_ms.get());
        other.load(&dump);
        assert!(other.dump(1 << 20) == dump, "seed {seed}");
        assert_eq!(other.check(1000), Vec::<String>::new(), "seed {seed}");
        // Over what is there already, too: the old collections are garbage then.
        random_life(&mut other, seed + 100, 30);
        (0..3).for_each(|db| other.flush(db));
        other.now_ms.set(keeper.now_ms.get());
        other.load(&dump);
        assert!(other.dump(1 << 20) == dump, "seed {seed}");
        assert_eq!(other.check(1000), Vec::<String>::new(), "seed {seed}");
    }
}

#[test]
fn loading_replaces_keys_and_leaves_their_old_records_to_the_sweep() {
    let mut keeper = Keeper::new();
    keeper.load(&line(0, "k", Some(NOW_MS + 5), &sorted_set(&[1.0, 2.0])));
    keeper.load(&line(0, "k", None, &set(1)));
    assert_eq!(keeper.sizes(), "meta 1, data 3, score 2, expiry 0, garbage 1, field-expiry 0, rank 0");
    assert_eq!(keeper.check(100), Vec::<String>::new());
    keeper.load(&line(0, "k", None, &string("v")));
    keeper.sweep(100);
    assert_eq!(keeper.sizes(), "meta 1, data 0, score 0, expiry 0, garbage 0, field-expiry 0, rank 0");
}

#[test]
fn expired_keys_are_neither_dumped_nor_loaded() {
    let mut keeper = Keeper::new();
    let due = line(0, "k", Some(NOW_MS), &set(2));
    keeper.load(&due);
    assert_ne!(keeper.dump(100), "");
    keeper.now_ms.set(NOW_MS + 1);
    assert_eq!(keeper.dump(100), "");
    let mut other = Keeper::new();
    other.now_ms.set(NOW_MS + 1);
    other.load(&line(0, "k", None, &string("stays")));
    assert_eq!(other.engine.load(due.as_bytes()), Ok(LoadReport { keys: 0, expired: 1 }));
    assert_eq!(other.sizes(), "meta 1, data 0, score 0, expiry 0, garbage 0, field-expiry 0, rank 0");
}

#[test]
fn expired_fields_are_neither_dumped_nor_loaded() {
    let mut keeper = Keeper::new();
    let times = [Some(NOW_MS), Some(NOW_MS + 9), Some(NOW_MS), None];
    let (mixed, due) = (line(0, "a", None, &expiring_hash(&times)), line(0, "b", None, &expiring_hash(&times[..1])));
    keeper.load(&(mixed.clone() + &due));
    keeper.now_ms.set(NOW_MS + 1);
    let live = r#"{"db":0,"key":"YQ==","type":"hash","expire_at_ms":null,"fields":[["ZjE=","djE=",1700000000009],["ZjM=","djM="]]}"#;
    for max_bytes in [1, 1000] {
        assert_eq!(keeper.dump(max_bytes), format!("{live}\n"));
    }
    let mut other = Keeper::new();
    other.now_ms.set(NOW_MS + 1);
    assert_eq!(other.engine.load((mixed + &due).as_bytes()), Ok(LoadReport { keys: 1, expired: 1 }));
    assert_eq!(other.sizes(), "meta 1, data 2, score 0, expiry 0, garbage 0, field-expiry 2, rank 0");
    assert_eq!(other.dump(1000), format!("{live}\n"));
    assert_eq!(other.check(100), Vec::<String>::new());
}

#[test]
fn a_line_that_is_begun_has_its_first_field_also_where_the_clock_goes_on() {
    let mut keeper = Keeper::new();
    keeper.load(&line(0, "a", None, &expiring_hash(&[Some(NOW_MS); 3])));
    let mut cursor = Vec::new();
    let mut dump = keeper.engine.dump(&mut cursor, 1).unwrap();
    keeper.now_ms.set(NOW_MS + 1);
    while !cursor.is_empty() {
        dump.extend(keeper.engine.dump(&mut cursor, 1).unwrap());
    }
    assert_eq!(Keeper::new().engine.load(&dump), Ok(LoadReport { keys: 1, expired: 0 }));
}

#[test]
fn a_collection_that_changes_under_a_dump_still_makes_a_whole_line() {
    let mut keeper = Keeper::new();
    keeper.load(&line(0, "a", None, &hash(500)));
    keeper.load(&line(0, "b", None, &string("v")));
    let mut cursor = Vec::new();
    let mut dump = keeper.engine.dump(&mut cursor, 1000).unwrap();
    keeper.remove("a");
    keeper.sweep(100);
    while !cursor.is_empty() {
        dump.extend(keeper.engine.dump(&mut cursor, 1000).unwrap());
    }
    assert_eq!(Keeper::new().engine.load(&dump), Ok(LoadReport { keys: 2, expired: 0 }));
}

#[test]
fn a_line_that_is_wrong_is_refused_with_its_number_and_the_reason() {
    let good = line(0, "good", None, &set(1));
    let table = [
        ("nonsense", "not a JSON object: expected ident at line 1 column 2"),
        ("[1]", "not a JSON object: invalid type: sequence, expected a map at line 1 column 0"),
        ("{}", "db is missing"),
        (r#"{"db":-1}"#, "db is not a number"),
        (r#"{"db":0,"key":7}"#, "key is not a text"),
        (r#"{"db":0,"key":"a"}"#, "key is not base64: Invalid input length: 1"),
        (r#"{"db":0,"key":""}"#, "expire_at_ms is missing"),
        (r#"{"db":0,"key":"","expire_at_ms":-5}"#, "expire_at_ms is neither null nor a number of milliseconds"),
        (r#"{"db":0,"key":"","expire_at_ms":null}"#, "type is missing"),
        (r#"{"db":0,"key":"","expire_at_ms":null,"type":"tree"}"#, "unknown type \"tree\""),
        (r#"{"db":0,"key":"","expire_at_ms":null,"type":"string"}"#, "value is missing"),
        (r#"{"db":0,"key":"","expire_at_ms":null,"type":"string","value":"","more":1}"#, "unknown name \"more\""),
        (r#"{"db":99,"key":"","expire_at_ms":null,"type":"string","value":""}"#, "DB index is out of range"),
        (r#"{"db":0,"key":"","expire_at_ms":null,"type":"hash","fields":{}}"#, "fields is not an array"),
        (r#"{"db":0,"key":"","expire_at_ms":null,"type":"hash","fields":[]}"#, "fields is empty"),
        (
            r#"{"db":0,"key":"","expire_at_ms":null,"type":"hash","fields":[["YQ=="]]}"#,
            "a field is not an array of two texts and, where it expires, a number",
        ),
        (
            r#"{"db":0,"key":"","expire_at_ms":null,"type":"hash","fields":[["YQ==","",-1]]}"#,
            "a field's expiry is not a number of milliseconds",
        ),
        (
            r#"{"db":0,"key":"","expire_at_ms":null,"type":"hash","fields":[["YQ==",""],["YQ==","a"]]}"#,
            "a field's value is not base64: Invalid input length: 1",
        ),
        (r#"{"db":0,"key":"","expire_at_ms":null,"type":"hash","fields":[["YQ==",""],["YQ==",""]]}"#, "\"a\" is there twice"),
        (r#"{"db":0,"key":"","expire_at_ms":null,"type":"set","members":["YQ==","","YQ=="]}"#, "\"a\" is there twice"),
        (r#"{"db":0,"key":"","expire_at_ms":null,"type":"list","items":[null]}"#, "an item is not a text"),
        (r#"{"db":0,"key":"","expire_at_ms":null,"type":"zset","members":[["YQ==","1"]]}"#, "a member is not an array of three texts"),
        (
            r#"{"db":0,"key":"","expire_at_ms":null,"type":"zset","members":[["YQ==","1","3ff8"]]}"#,
            "a score's bits are not 16 hex digits of a number",
        ),
        (
            r#"{"db":0,"key":"","expire_at_ms":null,"type":"zset","members":[["YQ==","nan","7ff8000000000000"]]}"#,
            "a score's bits are not 16 hex digits of a number",
        ),
        (r#"{"db":0,"key":"","expire_at_ms":null,"type":"zset","members":[["YQ==","one","3ff8000000000000"]]}"#, "a score is not a number"),
        (
            r#"{"db":0,"key":"","expire_at_ms":null,"type":"zset","members":[["YQ==","1.4","3ff8000000000000"]]}"#,
            "a score of 1.4 has the bits of 1.5",
        ),
    ];
    for (bad, reason) in table {
        let mut keeper = Keeper::new();
        let error = keeper.engine.load(format!("{good}\n{bad}\n{good}").as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), format!("ERR line 3: {reason}"), "{bad}");
        // The line before it is written, and nothing else.
        assert_eq!(keeper.sizes(), "meta 1, data 1, score 0, expiry 0, garbage 0, field-expiry 0, rank 0", "{bad}");
    }
}

#[test]
fn what_the_store_refuses_is_named_by_its_line_and_the_lines_before_it_are_written() {
    let limits = Limits { max_value_bytes: 50, ..Limits::NONE };
    let store = MemoryStore::with_limits(limits);
    let mut keeper = Keeper::over(store.clone(), store);
    let lines = [line(0, "a", None, &string("v")), line(0, "b", None, &string(&"v".repeat(60))), line(0, "c", None, &string("v"))];
    let error = keeper.engine.load(lines.concat().as_bytes()).unwrap_err();
    assert_eq!(error.to_string(), "ERR line 2: storage: a value of 62 bytes is above the store's limit of 50");
    assert_eq!(keeper.sizes(), "meta 1, data 0, score 0, expiry 0, garbage 0, field-expiry 0, rank 0");
}

/// A store that takes few operations at once, and fails when the plan says so.
fn small_batches(error: StoreError) -> (Keeper, FaultPlan) {
    let store = MemoryStore::with_limits(Limits { max_batch_ops: 24, ..Limits::NONE });
    let plan = FaultPlan::default();
    (Keeper::over(store.clone(), FaultStore::new(store, plan.clone(), error)), plan)
}

#[test]
fn a_large_collection_is_loaded_in_several_batches() {
    for value in [hash(100), items(100), set(100), sorted_set(&[0.5; 100])] {
        let (mut keeper, _) = small_batches(StoreError::Conflict);
        keeper.load(&line(0, "k", Some(NOW_MS + 9), &value));
        assert_eq!(keeper.check(1000), Vec::<String>::new());
        let mut other = Keeper::new();
        other.load(&line(0, "k", Some(NOW_MS + 9), &value));
        assert_eq!(keeper.dump(100), other.dump(100));
    }
}

#[test]
fn wherever_a_load_is_interrupted_a_key_is_there_whole_or_not_at_all() {
    for error in [StoreError::Conflict, StoreError::Io("unplugged".into())] {
        let mut interrupted = 0;
        for call in 1..200 {
            let (mut keeper, plan) = small_batches(error.clone());
            keeper.load(&line(0, "before", None, &set(2)));
            plan.fail_at(call);
            let loaded = keeper.engine.load(line(0, "k", None, &sorted_set(&[0.5; 50])).as_bytes());
            if plan.calls() < call {
                break;
            }
            interrupted += 1;
            assert_eq!(keeper.check(1000), Vec::<String>::new(), "call {call}");
            keeper.now_ms.set(NOW_MS + HOUR_MS + 1);
            keeper.sweep(1000);
            // A conflict is tried again; what is given up is swept.
            let whole = if loaded.is_ok() {
                "meta 2, data 52, score 50, expiry 0, garbage 0, field-expiry 0, rank 0"
            } else {
                "meta 1, data 2, score 0, expiry 0, garbage 0, field-expiry 0, rank 0"
            };
            assert_eq!(keeper.sizes(), whole, "call {call}");
            assert_eq!(loaded.is_ok(), error == StoreError::Conflict, "call {call}: {loaded:?}");
        }
        assert!(interrupted > 20, "{interrupted}");
    }
}

/// A clock that lets a sweeper in when it is looked at for the n-th time: one that takes every writer for gone.
struct SweptBetween {
    sweeper: RefCell<Keeper>,
    looks: Cell<u32>,
    sweep_at: u32,
    ranges: Rc<Cell<u64>>,
}

impl Environment for SweptBetween {
    fn now_us(&self) -> u64 {
        self.looks.set(self.looks.get() + 1);
        if self.looks.get() == self.sweep_at {
            self.ranges.set(self.sweeper.borrow_mut().sweep(1000).ranges);
        }
        NOW_MS * 1000
    }

    fn random(&mut self) -> u64 {
        0
    }
}

#[test]
fn a_load_that_is_taken_for_given_up_begins_again() {
    let lines = line(0, "k", None, &sorted_set(&[0.5; 50]));
    let mut swept = 0;
    for sweep_at in 1..15 {
        let store = MemoryStore::with_limits(Limits { max_batch_ops: 24, ..Limits::NONE });
        let sweeper = Keeper::over(store.clone(), store.clone());
        sweeper.now_ms.set(NOW_MS + HOUR_MS + 1);
        let ranges = Rc::new(Cell::new(0));
        let clock = SweptBetween { sweeper: RefCell::new(sweeper), looks: Cell::new(0), sweep_at, ranges: Rc::clone(&ranges) };
        let mut engine = Engine::open(Box::new(store.clone()), Box::new(clock), Settings::default()).unwrap();
        assert_eq!(engine.load(lines.as_bytes()), Ok(LoadReport { keys: 1, expired: 0 }));
        swept += ranges.get();
        let keeper = Keeper::over(store.clone(), store);
        assert_eq!(keeper.sizes(), "meta 1, data 50, score 50, expiry 0, garbage 0, field-expiry 0, rank 0", "look {sweep_at}");
    }
    assert!(swept > 8, "{swept}");
}
