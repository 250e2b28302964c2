//! Typed operations: each says what the command of the protocol says of the same data, and a list of them is whole or not there.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod compare;
mod pairs;

use bytes::Bytes;
use compare::agrees;
use orbweaver_engine::environment::HeldEnvironment;
use orbweaver_engine::resp::decode::{Value, decode_reply};
use orbweaver_engine::session::{Delivery, Engine};
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::fault::{FaultPlan, FaultStore};
use orbweaver_engine::store::{MemoryStore, Store, StoreError};
use orbweaver_engine::typed::hashes::{self, Action as Hash};
use orbweaver_engine::typed::keys::Operation as Keys;
use orbweaver_engine::typed::strings::{Action as Text, Operation as Strings};
use orbweaver_engine::typed::{Blobs, Failure, KeyExpiry, Operation, OperationError, Outcome, UnexpectedOutcome};
use orbweaver_engine::types::strings::{Condition, Expiry};
use pairs::random_pair;

const NOW_MS: u64 = 1_700_000_000_000;
const DB: usize = 3;

fn engine(store: Box<dyn Store>) -> Engine {
    let mut engine = Engine::open(store, Box::new(HeldEnvironment::new(NOW_MS, 7)), Settings::default()).unwrap();
    engine.connect(1, "test", None);
    engine
}

/// The reply to a command.
fn command(engine: &mut Engine, words: &[String]) -> Value {
    let mut input = format!("*{}\r\n", words.len());
    words.iter().for_each(|word| input.push_str(&format!("${}\r\n{word}\r\n", word.len())));
    let outcome = engine.exchange(&[Delivery { connection: 1, input: input.into() }]);
    decode_reply(&Bytes::from(outcome.answers[0].output.clone())).unwrap().unwrap().0
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// Everything that an engine holds, as JSON lines.
fn dump(engine: &mut Engine) -> String {
    let (mut cursor, mut lines) = (Vec::new(), Vec::new());
    loop {
        lines.extend(engine.dump(&mut cursor, 1 << 20).unwrap());
        if cursor.is_empty() {
            return String::from_utf8(lines).unwrap();
        }
    }
}

#[test]
fn random_operations_say_what_commands_say_and_leave_the_same_data() {
    for seed in 0..20 {
        let (mut typed, mut spoken) = (engine(Box::new(MemoryStore::new())), engine(Box::new(MemoryStore::new())));
        assert_eq!(command(&mut spoken, &words(&format!("SELECT {DB}"))), Value::Simple("OK".into()));
        let mut random = HeldEnvironment::new(0, seed);
        for step in 0..400 {
            let (operation, words) = random_pair(&mut random);
            let outcomes = typed.perform(DB, vec![operation.clone()]);
            let reply = command(&mut spoken, &words);
            assert!(agrees(&outcomes, &reply), "seed {seed}, step {step}: {operation:?} {outcomes:?}, {words:?} {reply:?}");
        }
        assert_eq!(dump(&mut typed), dump(&mut spoken), "seed {seed}");
    }
}

#[test]
fn every_operation_agrees_with_its_command_at_least_once_without_an_error() {
    let mut engine = engine(Box::new(MemoryStore::new()));
    let mut random = HeldEnvironment::new(0, 1);
    let mut done = std::collections::BTreeSet::new();
    for _ in 0..10_000 {
        let (operation, words) = random_pair(&mut random);
        if engine.perform(DB, vec![operation]).is_ok() {
            done.insert(words[0].clone());
        }
    }
    assert_eq!(done.into_iter().collect::<Vec<_>>(), pairs::COMMANDS);
}

fn set(key: &str, value: &str) -> Operation {
    let action = Text::Set(Bytes::copy_from_slice(value.as_bytes()), Condition::Always, Expiry::Never);
    Strings::One(Bytes::copy_from_slice(key.as_bytes()), action).into()
}

fn get(key: &'static str) -> Operation {
    Strings::One(key.into(), Text::Get).into()
}

fn increment(key: &'static str, field: &'static str) -> Operation {
    hashes::Operation { key: key.into(), action: Hash::Increment(field.into(), 1) }.into()
}

#[test]
fn each_operation_sees_what_those_before_it_have_done() {
    let mut engine = engine(Box::new(MemoryStore::new()));
    let outcomes = engine.perform(DB, vec![set("a", "1"), increment("h", "n"), increment("h", "n"), get("a")]).unwrap();
    let expected = [Outcome::Flag(true), Outcome::Integer(1), Outcome::Integer(2), Outcome::Value(Some("1".into()))];
    assert_eq!(outcomes, expected);
    assert_eq!(engine.perform(DB, Vec::new()), Ok(Vec::new()));
}

#[test]
fn a_failing_operation_in_the_middle_leaves_nothing() {
    let mut engine = engine(Box::new(MemoryStore::new()));
    engine.perform(DB, vec![set("a", "old"), set("b", "old")]).unwrap();
    let before = dump(&mut engine);
    let operations =
        vec![set("a", "new"), increment("h", "n"), Keys::Remove(vec!["b".into()]).into(), increment("a", "n"), set("c", "new")];
    let error = OperationError { position: Some(3), failure: Failure::WrongType };
    assert_eq!(engine.perform(DB, operations), Err(error));
    assert_eq!(dump(&mut engine), before);
}

#[test]
fn a_flush_is_undone_with_the_operations_beside_it() {
    let mut engine = engine(Box::new(MemoryStore::new()));
    engine.perform(DB, vec![set("a", "old")]).unwrap();
    let flush = || Operation::from(Keys::Flush);
    let error = OperationError { position: Some(2), failure: Failure::WrongType };
    assert_eq!(engine.perform(DB, vec![flush(), set("b", "new"), increment("b", "n")]), Err(error));
    assert_eq!(engine.perform(DB, vec![get("a"), get("b")]), Ok(vec![Outcome::Value(Some("old".into())), Outcome::Value(None)]));
    assert_eq!(engine.perform(DB, vec![flush(), get("a")]), Ok(vec![Outcome::Done(()), Outcome::Value(None)]));
}

#[test]
fn a_db_that_does_not_exist_is_refused() {
    let mut engine = engine(Box::new(MemoryStore::new()));
    let failure = Failure::Invalid("DB index is out of range".into());
    for operation in [set("a", "1"), get("a"), Keys::Count.into(), Keys::Flush.into()] {
        let error = OperationError { position: Some(0), failure: failure.clone() };
        assert_eq!(engine.perform(16, vec![operation]), Err(error));
    }
}

#[test]
fn conflicts_are_run_again_and_failures_of_the_store_leave_nothing() {
    let (store, plan) = (MemoryStore::new(), FaultPlan::default());
    for error in [StoreError::Conflict, StoreError::Io("the disk is gone".into())] {
        let mut engine = engine(Box::new(FaultStore::new(store.clone(), plan.clone(), error.clone())));
        let operations = || vec![set("a", "1"), increment("h", "n"), get("a")];
        let expected = [Outcome::Flag(true), Outcome::Integer(1), Outcome::Value(Some("1".into()))];
        for call in 1.. {
            plan.fail_at(0);
            engine.perform(DB, vec![Keys::Flush.into()]).unwrap();
            plan.fail_at(call);
            let outcomes = engine.perform(DB, operations());
            let has_failed = plan.calls() >= call;
            plan.fail_at(0);
            let exist = engine.perform_one(DB, Keys::Exist(vec!["a".into(), "h".into()]));
            match &outcomes {
                Ok(outcomes) => {
                    assert_eq!((&outcomes[..], exist), (&expected[..], Ok(Outcome::Count(2))));
                    assert!(!has_failed || error == StoreError::Conflict, "call {call} was to fail");
                }
                Err(OperationError { failure: Failure::Storage(_), .. }) => {
                    assert_eq!((exist, &error), (Ok(Outcome::Count(0)), &StoreError::Io("the disk is gone".into())));
                }
                Err(_) => panic!("call {call}: {outcomes:?}"),
            }
            if !has_failed {
                assert!(call > 3, "a transaction begins, reads and commits");
                break;
            }
        }
    }
}

#[test]
fn keys_are_listed_in_order_behind_one_of_them() {
    let mut engine = engine(Box::new(MemoryStore::new()));
    let names = ["a", "a:", "a:1", "a:2", "b", "c"];
    engine.perform(DB, names.iter().map(|name| set(name, "v")).collect()).unwrap();
    let mut list = |prefix: &'static str, after: Option<&'static str>, most| {
        let operation = Keys::List { prefix: prefix.into(), after: after.map(Bytes::from), most };
        let found: Blobs = engine.perform_one(DB, operation).unwrap().try_into().unwrap();
        found.iter().map(|key| String::from_utf8(key.to_vec()).unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(list("", None, 100), names);
    assert_eq!(list("a:", None, 100), ["a:", "a:1", "a:2"]);
    assert_eq!(list("a:", Some("a:"), 1), ["a:1"]);
    assert_eq!(list("a:", Some("a"), 1), ["a:"], "behind one that is before the prefix");
    assert_eq!(list("a:", Some("b"), 100), [""; 0], "behind one that is after the prefix");
    assert_eq!(list("", Some("b"), 100), ["c"]);
    assert_eq!(list("", None, 0), [""; 0]);
}

#[test]
fn a_string_is_compared_before_it_is_replaced() {
    let mut engine = engine(Box::new(MemoryStore::new()));
    let mut compare_and_set = |expected: Option<&'static str>, new: Option<&'static str>| {
        let action = Text::CompareAndSet(expected.map(Bytes::from), new.map(Bytes::from));
        engine.perform_one(DB, Strings::One("k".into(), action)) == Ok(Outcome::Flag(true))
    };
    assert!(compare_and_set(None, None));
    assert!(!compare_and_set(Some("a"), Some("b")));
    assert!(compare_and_set(None, Some("a")));
    assert!(!compare_and_set(None, Some("b")));
    assert!(compare_and_set(Some("a"), Some("b")));
    assert!(!compare_and_set(Some("a"), None));
    assert!(compare_and_set(Some("b"), None));
    assert_eq!(engine.perform(DB, vec![get("k")]), Ok(vec![Outcome::Value(None)]));
}

#[test]
fn a_replaced_string_keeps_its_expiry() {
    let mut engine = engine(Box::new(MemoryStore::new()));
    let on = |action| Operation::from(Strings::One("k".into(), action));
    engine
        .perform(
            DB,
            vec![
                on(Text::Set("a".into(), Condition::Always, Expiry::At(NOW_MS + 5))),
                on(Text::CompareAndSet(Some("a".into()), Some("b".into()))),
            ],
        )
        .unwrap();
    let expiry = engine.perform_one(DB, Keys::Expiry("k".into()));
    assert_eq!(expiry, Ok(Outcome::Expiry(KeyExpiry::At(NOW_MS + 5))));
}

#[test]
fn an_outcome_of_another_kind_is_an_error() {
    assert_eq!(u64::try_from(Outcome::Flag(true)), Err(UnexpectedOutcome));
    assert_eq!(bool::try_from(Outcome::Flag(true)), Ok(true));
}
