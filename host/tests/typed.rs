//! The typed interfaces, through the component: arguments and results cross the boundary whole, and errors keep their case.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use orbweaver::runtime::typed::batch::{Operation, Outcome};
use orbweaver::runtime::typed::keys::{ExpireWhen, KeyExpiry, Kind};
use orbweaver::runtime::typed::lists::{End, Search, Side};
use orbweaver::runtime::typed::sorted_sets::{
    Aggregate, Combination, Comparison, Direction, MemberBound, MemberRange, ScoreBound, Selection, Update, Which,
};
use orbweaver::runtime::typed::strings::{Expiry, SetOptions};
use orbweaver::runtime::typed::types::{Algebra, Blobs, Condition, Draw, Error, Filter};
use orbweaver::runtime::typed::{TypedError, batch};
use orbweaver::runtime::{Component, Orbweaver};
use orbweaver_engine::resp::decode::Value;
use orbweaver_engine::store::MemoryStore;
use std::sync::OnceLock;

const ALWAYS: SetOptions = SetOptions { condition: Condition::Always, expiry: Expiry::Never };
const ANY: Update = Update { which: Which::Any, comparison: Comparison::Any };
const FAR_AHEAD_MS: u64 = 32_503_680_000_000;

fn open() -> Orbweaver {
    static COMPONENT: OnceLock<Component> = OnceLock::new();
    let component = COMPONENT.get_or_init(|| Component::load().unwrap());
    Orbweaver::builder().open(component, Box::new(MemoryStore::new())).unwrap()
}

fn vecs<const N: usize>(strings: [&str; N]) -> Vec<Vec<u8>> {
    strings.iter().map(|string| string.as_bytes().to_vec()).collect()
}

fn shown(blobs: &Blobs) -> Vec<String> {
    blobs.iter().map(|string| String::from_utf8_lossy(string).into_owned()).collect()
}

fn all(count: u32) -> Filter {
    Filter { pattern: None, count }
}

fn failure<T>(result: Result<T, TypedError<Error>>) -> Error {
    match result {
        Err(TypedError::Failed(error)) => error,
        Err(TypedError::Lost(error)) => unreachable!("{error}"),
        Ok(_) => unreachable!("the call went well"),
    }
}

#[test]
fn strings_are_stored_read_and_counted_with() {
    let mut orbweaver = open();
    let binary = [0, 255, b'\r', b'\n'];
    assert!(orbweaver.strings().set(0, b"k", &binary, ALWAYS).unwrap());
    assert_eq!(orbweaver.strings().get(0, b"k").unwrap().unwrap(), binary);
    assert_eq!(orbweaver.strings().get(1, b"k").unwrap(), None, "another db");
    let absent = SetOptions { condition: Condition::IfAbsent, expiry: Expiry::Keep };
    assert!(!orbweaver.strings().set(0, b"k", b"other", absent).unwrap());
    assert_eq!(orbweaver.strings().get_set(0, b"k", b"10", ALWAYS).unwrap().unwrap(), binary);
    assert_eq!(orbweaver.strings().increment(0, b"k", 5).unwrap(), 15);
    assert_eq!(orbweaver.strings().increment_float(0, b"k", 0.25).unwrap().to_bits(), 15.25_f64.to_bits());
    assert_eq!(orbweaver.strings().append(0, b"k", b"!").unwrap(), 6);
    assert_eq!(orbweaver.strings().range(0, b"k", -3, -1).unwrap().unwrap(), b"25!");
    assert_eq!(orbweaver.strings().set_range(0, b"k", 0, b"99").unwrap(), 6);
    assert_eq!(orbweaver.strings().length(0, b"k").unwrap(), 6);
    assert!(matches!(failure(orbweaver.strings().increment(0, b"k", 1)), Error::NotAnInteger));
    assert!(!orbweaver.strings().compare_and_set(0, b"k", None, Some(b"x")).unwrap());
    assert!(orbweaver.strings().compare_and_set(0, b"k", Some(b"99.25!"), Some(b"x")).unwrap());
    let pairs = [(b"l".to_vec(), b"y".to_vec())];
    assert!(orbweaver.strings().set_many(0, &pairs, Condition::IfAbsent).unwrap());
    let found = orbweaver.strings().get_many(0, &vecs(["k", "none", "l"])).unwrap();
    assert_eq!(found.iter().collect::<Vec<_>>(), [Some(&b"x"[..]), None, Some(b"y")]);
    assert_eq!(orbweaver.strings().get_delete(0, b"k").unwrap().unwrap(), b"x");
    assert!(matches!(failure(orbweaver.strings().get(99, b"k")), Error::Invalid(_)));
}

#[test]
fn hashes_keep_fields_with_values() {
    let mut orbweaver = open();
    let pairs = [(b"a".to_vec(), b"1".to_vec()), (b"b".to_vec(), b"2".to_vec())];
    assert_eq!(orbweaver.hashes().set(0, b"h", &pairs).unwrap(), 2);
    assert!(!orbweaver.hashes().set_if_absent(0, b"h", b"a", b"9").unwrap());
    assert_eq!(orbweaver.hashes().get(0, b"h", b"a").unwrap().unwrap(), b"1");
    assert_eq!(orbweaver.hashes().increment(0, b"h", b"b", 40).unwrap(), 42);
    assert_eq!(orbweaver.hashes().increment_float(0, b"h", b"c", 0.5).unwrap().to_bits(), 0.5_f64.to_bits());
    assert_eq!(shown(&orbweaver.hashes().get_all(0, b"h").unwrap()), ["a", "1", "b", "42", "c", "0.5"]);
    assert_eq!(shown(&orbweaver.hashes().fields(0, b"h").unwrap()), ["a", "b", "c"]);
    assert_eq!(shown(&orbweaver.hashes().values(0, b"h").unwrap()), ["1", "42", "0.5"]);
    assert_eq!(orbweaver.hashes().get_many(0, b"h", &vecs(["z", "a"])).unwrap().iter().collect::<Vec<_>>(), [None, Some(&b"1"[..])]);
    assert_eq!(shown(&orbweaver.hashes().random(0, b"h", Draw::Distinct(9)).unwrap()).len(), 6);
    let page = orbweaver.hashes().scan(0, b"h", 0, &all(2)).unwrap();
    assert_eq!((shown(&page.elements).len(), page.cursor == 0), (4, false));
    let rest = orbweaver.hashes().scan(0, b"h", page.cursor, &all(2)).unwrap();
    assert_eq!((shown(&rest.elements), rest.cursor), (vec!["c".to_owned(), "0.5".to_owned()], 0));
    assert_eq!(orbweaver.hashes().delete(0, b"h", &vecs(["a", "z"])).unwrap(), 1);
    assert!(!orbweaver.hashes().exists(0, b"h", b"a").unwrap());
    assert_eq!(orbweaver.hashes().length(0, b"h").unwrap(), 2);
    assert!(matches!(failure(orbweaver.lists().length(0, b"h")), Error::WrongType));
}

#[test]
fn lists_keep_elements_in_their_order() {
    let mut orbweaver = open();
    assert_eq!(orbweaver.lists().push_if_exists(0, b"l", End::Tail, &vecs(["a"])).unwrap(), 0);
    assert_eq!(orbweaver.lists().push(0, b"l", End::Tail, &vecs(["a", "b", "a", "c"])).unwrap(), 4);
    assert_eq!(orbweaver.lists().insert(0, b"l", Side::After, b"b", b"x").unwrap(), Some(5));
    assert_eq!(orbweaver.lists().insert(0, b"l", Side::After, b"none", b"x").unwrap(), None);
    orbweaver.lists().set(0, b"l", -1, b"z").unwrap();
    assert!(matches!(failure(orbweaver.lists().set(0, b"l", 9, b"z")), Error::OutOfRange));
    assert!(matches!(failure(orbweaver.lists().set(0, b"none", 0, b"z")), Error::NoSuchKey));
    assert_eq!(shown(&orbweaver.lists().range(0, b"l", 0, -1).unwrap()), ["a", "b", "x", "a", "z"]);
    let search = Search { start: End::Tail, skipped: 0, most: None, compared: None };
    assert_eq!(orbweaver.lists().find(0, b"l", b"a", search).unwrap(), [3, 0]);
    assert_eq!(orbweaver.lists().get(0, b"l", 2).unwrap().unwrap(), b"x");
    assert_eq!(orbweaver.lists().move_element(0, b"l", End::Head, b"m", End::Tail).unwrap().unwrap(), b"a");
    assert_eq!(orbweaver.lists().remove(0, b"l", b"x", End::Head, None).unwrap(), 1);
    orbweaver.lists().trim(0, b"l", 0, 1).unwrap();
    assert_eq!(shown(&orbweaver.lists().pop(0, b"l", End::Tail, 9).unwrap()), ["a", "b"]);
    assert_eq!(orbweaver.lists().length(0, b"l").unwrap(), 0);
}

#[test]
fn sets_keep_members_and_are_combined() {
    let mut orbweaver = open();
    assert_eq!(orbweaver.sets().add(0, b"s", &vecs(["a", "b", "c", "a"])).unwrap(), 3);
    assert_eq!(orbweaver.sets().add(0, b"t", &vecs(["b", "d"])).unwrap(), 2);
    assert!(orbweaver.sets().contains(0, b"s", b"a").unwrap());
    assert_eq!(orbweaver.sets().contains_many(0, b"s", &vecs(["d", "b"])).unwrap(), [false, true]);
    let keys = vecs(["s", "t"]);
    assert_eq!(shown(&orbweaver.sets().combine(0, Algebra::Union, &keys).unwrap()), ["a", "b", "c", "d"]);
    assert_eq!(shown(&orbweaver.sets().combine(0, Algebra::Difference, &keys).unwrap()), ["a", "c"]);
    assert_eq!(orbweaver.sets().combine_to(0, b"u", Algebra::Intersection, &keys).unwrap(), 1);
    assert_eq!(orbweaver.sets().count_common(0, &keys, None).unwrap(), 1);
    assert!(orbweaver.sets().move_member(0, b"s", b"t", b"a").unwrap());
    assert_eq!(shown(&orbweaver.sets().members(0, b"t").unwrap()), ["a", "b", "d"]);
    assert_eq!(shown(&orbweaver.sets().random(0, b"u", Draw::Repeated(3)).unwrap()), ["b", "b", "b"]);
    let filter = Filter { pattern: Some(b"[bd]".to_vec()), count: 100 };
    assert_eq!(shown(&orbweaver.sets().scan(0, b"t", 0, &filter).unwrap().elements), ["b", "d"]);
    assert_eq!(orbweaver.sets().remove(0, b"t", &vecs(["a", "z"])).unwrap(), 1);
    assert_eq!(orbweaver.sets().pop(0, b"t", 9).unwrap().iter().count(), 2);
    assert_eq!(orbweaver.sets().count(0, b"t").unwrap(), 0);
}

#[test]
fn sorted_sets_keep_members_by_score() {
    let mut orbweaver = open();
    let scores = [(1.5, b"a".to_vec()), (f64::INFINITY, b"c".to_vec()), (2.0, b"b".to_vec())];
    let done = orbweaver.sorted_sets().add(0, b"z", &scores, ANY).unwrap();
    assert_eq!((done.added, done.updated), (3, 0));
    let existing = Update { which: Which::Existing, comparison: Comparison::Any };
    assert_eq!(orbweaver.sorted_sets().increment(0, b"z", b"none", 1.0, existing).unwrap(), None);
    assert_eq!(orbweaver.sorted_sets().increment(0, b"z", b"b", 1.0, ANY).unwrap(), Some(3.0));
    assert!(matches!(failure(orbweaver.sorted_sets().increment(0, b"z", b"b", f64::NAN, ANY)), Error::NotAFloat));
    assert!(matches!(failure(orbweaver.sorted_sets().increment(0, b"z", b"c", f64::NEG_INFINITY, ANY)), Error::Overflow));
    assert_eq!(orbweaver.sorted_sets().scores(0, b"z", &vecs(["c", "none"])).unwrap(), [Some(f64::INFINITY), None]);
    assert_eq!(orbweaver.sorted_sets().score(0, b"z", b"a").unwrap(), Some(1.5));
    assert_eq!(orbweaver.sorted_sets().rank(0, b"z", b"a", Direction::Descending).unwrap(), Some(2));
    let finite = MemberRange::Scores((ScoreBound::Unbounded, ScoreBound::Exclusive(f64::INFINITY)));
    assert_eq!(orbweaver.sorted_sets().count_range(0, b"z", &finite).unwrap(), 2);
    let selection = Selection { range: finite, direction: Direction::Descending, offset: 1, limit: Some(5) };
    assert_eq!(shown(&orbweaver.sorted_sets().range(0, b"z", &selection).unwrap().members), ["a"]);
    assert_eq!(orbweaver.sorted_sets().range_to(0, b"y", b"z", &selection).unwrap(), 1);
    let combination =
        Combination { algebra: Algebra::Union, sources: vec![(b"z".to_vec(), 1.0), (b"y".to_vec(), 2.0)], aggregate: Aggregate::Max };
    assert_eq!(orbweaver.sorted_sets().combine(0, &combination).unwrap().scores, [3.0, 3.0, f64::INFINITY]);
    assert_eq!(orbweaver.sorted_sets().combine_to(0, b"x", &combination).unwrap(), 3);
    assert_eq!(orbweaver.sorted_sets().count_common(0, &vecs(["x", "y"]), Some(9)).unwrap(), 1);
    let page = orbweaver.sorted_sets().scan(0, b"z", 0, &all(10)).unwrap();
    assert_eq!((shown(&page.elements.members).len(), page.cursor), (3, 0));
    assert_eq!(orbweaver.sorted_sets().random(0, b"y", Draw::Distinct(5)).unwrap().scores, [1.5]);
    assert_eq!(orbweaver.sorted_sets().pop(0, b"z", Direction::Descending, 1).unwrap().scores, [f64::INFINITY]);
    let from_b = MemberRange::Members((MemberBound::Inclusive(b"b".to_vec()), MemberBound::Unbounded));
    assert_eq!(orbweaver.sorted_sets().remove_range(0, b"z", &from_b).unwrap(), 1);
    assert_eq!(orbweaver.sorted_sets().remove(0, b"z", &vecs(["a"])).unwrap(), 1);
    assert_eq!(orbweaver.sorted_sets().count(0, b"z").unwrap(), 0);
}

#[test]
fn keys_have_types_names_and_expiries() {
    let mut orbweaver = open();
    for key in ["a:1", "a:2", "b"] {
        assert!(orbweaver.strings().set(0, key.as_bytes(), b"v", ALWAYS).unwrap());
    }
    assert_eq!(orbweaver.sets().add(0, b"s", &vecs(["m"])).unwrap(), 1);
    assert!(matches!(orbweaver.keys().kind_of(0, b"s").unwrap(), Some(Kind::Set)));
    assert!(orbweaver.keys().kind_of(0, b"none").unwrap().is_none());
    assert_eq!(shown(&orbweaver.keys().list_keys(0, b"a:", None, 1).unwrap()), ["a:1"]);
    assert_eq!(shown(&orbweaver.keys().list_keys(0, b"a:", Some(b"a:1"), 9).unwrap()), ["a:2"]);
    assert!(shown(&orbweaver.keys().list_keys(0, b"a:", Some(b"zz"), 9).unwrap()).is_empty());
    let sets = orbweaver.keys().scan(0, 0, &all(100), Some(Kind::Set)).unwrap();
    assert_eq!((shown(&sets.elements), sets.cursor), (vec!["s".to_owned()], 0));
    assert!(orbweaver.keys().expire_at(0, b"b", FAR_AHEAD_MS, ExpireWhen::NEVER).unwrap());
    assert!(!orbweaver.keys().expire_at(0, b"b", FAR_AHEAD_MS, ExpireWhen::NEVER).unwrap());
    assert!(!orbweaver.keys().expire_at(0, b"b", FAR_AHEAD_MS, ExpireWhen::EXPIRES | ExpireWhen::LATER).unwrap());
    assert!(matches!(orbweaver.keys().expiry(0, b"b").unwrap(), KeyExpiry::AtMs(FAR_AHEAD_MS)));
    assert!(orbweaver.keys().persist(0, b"b").unwrap());
    assert!(matches!(orbweaver.keys().expiry(0, b"b").unwrap(), KeyExpiry::Never));
    assert!(matches!(orbweaver.keys().expiry(0, b"none").unwrap(), KeyExpiry::Absent));
    assert!(orbweaver.keys().rename(0, b"b", b"c", true).unwrap());
    assert!(matches!(failure(orbweaver.keys().rename(0, b"b", b"c", false)), Error::NoSuchKey));
    assert!(orbweaver.keys().copy(0, b"s", b"t", false).unwrap());
    assert!(matches!(failure(orbweaver.keys().copy(0, b"s", b"s", false)), Error::Invalid(_)));
    assert_eq!(orbweaver.keys().exists(0, &vecs(["s", "t", "b"])).unwrap(), 2);
    assert_eq!(orbweaver.keys().delete(0, &vecs(["a:1", "b"])).unwrap(), 1);
    assert!(orbweaver.keys().random(0).unwrap().is_some());
    assert_eq!(orbweaver.keys().count(0).unwrap(), 4);
    orbweaver.keys().flush(0).unwrap();
    assert_eq!(orbweaver.keys().count(0).unwrap(), 0);
}

#[test]
fn a_batch_runs_whole_or_not_at_all_and_clients_of_the_protocol_see_it() {
    let mut orbweaver = open();
    let key = |name: &str| name.as_bytes().to_vec();
    let operations = [
        Operation::StringSet((key("s"), b"1".to_vec(), ALWAYS)),
        Operation::StringIncrement((key("s"), 4)),
        Operation::ListPush((key("l"), End::Tail, vecs(["x", "y"]))),
        Operation::ListRange((key("l"), 0, -1)),
        Operation::KeyKindOf(key("l")),
    ];
    let outcomes = orbweaver.batch().run(0, &operations).unwrap();
    assert!(matches!(outcomes[..2], [Outcome::Flag(true), Outcome::Integer(5)]));
    let (Outcome::Blobs(elements), Outcome::Kind(Some(Kind::List))) = (&outcomes[3], &outcomes[4]) else { unreachable!("{outcomes:?}") };
    assert_eq!(shown(elements), ["x", "y"]);
    let failing = [Operation::StringIncrement((key("s"), 1)), Operation::SetAdd((key("l"), vecs(["m"])))];
    let Err(TypedError::Failed(batch::Failure { position: Some(1), error: Error::WrongType })) = orbweaver.batch().run(0, &failing) else {
        unreachable!("the second operation fails")
    };
    assert_eq!(orbweaver.command(&[b"GET", b"s"]).unwrap(), Value::Bulk("5".into()));
}
