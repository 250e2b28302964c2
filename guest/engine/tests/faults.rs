//! A store that fails at any one call leaves each command wholly there or wholly absent, and its reply says which.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use bytes::Bytes;
use orbweaver_engine::environment::HeldEnvironment;
use orbweaver_engine::resp::decode::{Value, decode_reply};
use orbweaver_engine::session::{Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::fault::{FaultPlan, FaultStore};
use orbweaver_engine::store::{MemoryStore, Store, StoreError};

/// One request a line; each line is one thing that must be whole. `MULTI` to `EXEC` share a line.
const SCRIPT: &[&str] = &[
    "SET a 1",
    "SET b 2 PX 100000",
    "MSET c 3 d 4 e 5",
    "INCRBY a 41",
    "HSET h f1 v1 f2 v2 f3 v3",
    "HDEL h f1 f2",
    "HINCRBY h n 7",
    "APPEND e tail",
    "HPEXPIRE h 100000 FIELDS 2 n f3",
    "HSET h n 8 m 9",
    "RENAME h i",
    "COPY i j",
    "EXPIRE c 1000",
    "SET i overwritten",
    "DEL d j",
    "MULTI;SET m 1;HSET n f v;INCR a;EXEC",
    "MOVE b 3",
    "FLUSHDB",
    "SET after flush",
    "HSET again f v",
    "HEXPIRE again 100 FIELDS 1 f",
    "MULTI;HSET new f v g v;HEXPIRE new 50 FIELDS 2 f g;EXEC",
    "HPERSIST new FIELDS 1 f",
    "COPY new more",
    "HEXPIRE more 0 FIELDS 2 f g",
    "HDEL new g",
    "SWAPDB 0 5",
    "SET last 1",
];

fn engine(store: Box<dyn Store>) -> Engine {
    let environment = HeldEnvironment::new(1_700_000_000_000, 7);
    let mut engine = Engine::open(store, Box::new(environment), Settings::default()).unwrap();
    engine.connect(1, "test", None);
    engine
}

fn request(line: &str) -> Vec<u8> {
    line.split(';').flat_map(|command| [command.as_bytes(), b"\r\n"].concat()).collect()
}

/// The replies to some input, decoded.
fn exchange(engine: &mut Engine, input: Vec<u8>) -> Vec<Value> {
    let outcome = engine.exchange(&[Delivery { connection: 1, input: input.into() }]);
    let mut rest = Bytes::from(outcome.answers[0].output.clone());
    let mut values = Vec::new();
    while let Some((value, used)) = decode_reply(&rest).unwrap() {
        values.push(value);
        rest = rest.slice(used..);
    }
    values
}

/// Whether the last of a line's replies says that it failed.
fn failed(replies: &[Value]) -> bool {
    matches!(replies.last(), Some(Value::Error(_)))
}

fn contents(engine: &mut Engine) -> String {
    let (mut cursor, mut lines) = (Vec::new(), Vec::new());
    loop {
        lines.extend(engine.dump(&mut cursor, 1 << 20).unwrap());
        if cursor.is_empty() {
            break;
        }
    }
    let findings = engine.check(&mut cursor, 1 << 20).unwrap();
    assert_eq!(findings, []);
    String::from_utf8(lines).unwrap()
}

/// What a database holds after the lines that succeeded, and no others.
fn expected(done: &[&str]) -> String {
    let mut engine = engine(Box::new(MemoryStore::new()));
    for line in done {
        assert!(!failed(&exchange(&mut engine, request(line))), "{line}");
    }
    contents(&mut engine)
}

fn errors() -> [StoreError; 6] {
    let too_large = StoreError::TooLarge { what: "a test".into(), limit: 1 };
    let unknown = StoreError::UnknownOutcome("a test".into());
    [StoreError::Io("a test".into()), StoreError::Conflict, StoreError::Expired, too_large, unknown, StoreError::ReadOnly]
}

/// How many calls of the store the script makes.
fn calls(run: &dyn Fn(&mut Engine)) -> u64 {
    let plan = FaultPlan::default();
    let mut engine = engine(Box::new(FaultStore::new(MemoryStore::new(), plan.clone(), StoreError::Conflict)));
    plan.fail_at(0);
    run(&mut engine);
    plan.calls()
}

#[test]
fn a_failure_at_any_call_leaves_each_command_wholly_there_or_wholly_absent() {
    let one_by_one = |engine: &mut Engine| SCRIPT.iter().for_each(|line| drop(exchange(engine, request(line))));
    let calls = calls(&one_by_one);
    assert!(calls > 60, "the script makes only {calls} calls");
    for error in errors() {
        for call in 1..=calls {
            let (store, plan) = (MemoryStore::new(), FaultPlan::default());
            let mut engine = engine(Box::new(FaultStore::new(store, plan.clone(), error.clone())));
            plan.fail_at(call);
            let done: Vec<&str> = SCRIPT.iter().copied().filter(|line| !failed(&exchange(&mut engine, request(line)))).collect();
            plan.fail_at(0);
            assert!(done.len() + 1 >= SCRIPT.len(), "{error} at call {call} failed more than one command");
            if matches!(error, StoreError::Conflict | StoreError::Expired) {
                assert_eq!(done.len(), SCRIPT.len(), "{error} at call {call}: the engine runs such commands again");
            }
            assert_eq!(contents(&mut engine), expected(&done), "{error} at call {call}");
        }
    }
}

#[test]
fn a_failure_in_a_pipeline_is_told_to_every_command_that_it_took_with_it() {
    let input = || SCRIPT.iter().flat_map(|line| request(line)).collect::<Vec<u8>>();
    let calls = calls(&|engine| drop(exchange(engine, input())));
    for error in errors() {
        for call in 1..=calls {
            let plan = FaultPlan::default();
            let mut engine = engine(Box::new(FaultStore::new(MemoryStore::new(), plan.clone(), error.clone())));
            plan.fail_at(call);
            let mut replies = exchange(&mut engine, input()).into_iter();
            plan.fail_at(0);
            let mut done = Vec::new();
            for line in SCRIPT {
                let own: Vec<Value> = replies.by_ref().take(line.split(';').count()).collect();
                if !failed(&own) {
                    done.push(*line);
                }
            }
            assert_eq!(contents(&mut engine), expected(&done), "{error} at call {call}");
        }
    }
}
