//! Contents of every layout in every other one and back, through dumps and loads: what both can hold survives.

use std::collections::BTreeMap;

use orbweaver_engine::layout;
use orbweaver_engine::session::Engine;
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::MemoryStore;
use orbweaver_tests::engine_target::EngineTarget;
use orbweaver_tests::fixtures::{self, expected};
use orbweaver_tests::foreign::{self, Opened};
use orbweaver_tests::generator;
use orbweaver_tests::layouts::{self, fit::Fit};
use orbweaver_tests::logical::{self, Entry, Value};
use orbweaver_tests::sequence::run;

const SEQUENCES: u64 = 20;
const SEQUENCE_LENGTH: usize = 200;
/// The order in which a key that is several is looked through.
const KINDS: [&str; 5] = ["string", "hash", "list", "zset", "set"];

/// Why a layout does not hold a key: it says so, or the key is not what it may be there.
const REASONS: [&str; 4] = [": the layout ", "DB index is out of range", "a key of several kinds", "an expired key"];

/// Contents with the time at which they are true.
struct Source {
    name: String,
    settings: Settings,
    now_ms: u64,
    lines: Vec<String>,
}

fn lines_of(engine: &mut Engine) -> Vec<String> {
    let dump = engine.dump(&mut Vec::new(), 1 << 30).expect("the database is sound");
    String::from_utf8(dump).expect("JSON").lines().map(str::to_owned).collect()
}

fn entries(lines: &[String]) -> Vec<Entry> {
    in_one_order(logical::from_dump(lines.iter().map(String::as_str)).expect("lines of a dump"))
}

/// Nemo has scores that differ little in the order of their members: sorted sets in the order of their scores.
fn in_one_order(mut entries: Vec<Entry>) -> Vec<Entry> {
    for entry in &mut entries {
        if let Value::SortedSet(members) = &mut entry.value {
            entry.value = Value::sorted_set(std::mem::take(members));
        }
    }
    entries
}

fn fixture(layout: &str, name: &str) -> Source {
    let now_ms = u64::try_from(expected(layout, name).now_ms).expect("a time of our days");
    let settings = layouts::of_fixture(layout);
    let mut opened = Opened::open(&settings, &fixtures::records(layout, name), now_ms).expect("the layout opens");
    Source { name: format!("{layout} {name}"), settings, now_ms, lines: lines_of(&mut opened.engine) }
}

/// What random sequences leave in a layout, each sequence in one of its dbs where there are several.
fn random(settings: Settings) -> Source {
    let fit = Fit::of(layout::open(&settings, &mut MemoryStore::new()).expect("an empty store opens").as_ref());
    let mut target = EngineTarget::new(settings.clone());
    let mut lines: BTreeMap<(String, Vec<u8>), String> = BTreeMap::new();
    for seed in 0..SEQUENCES {
        let mut blocks = generator::sequence(seed, SEQUENCE_LENGTH);
        fit.apply(seed, &mut blocks);
        run(&mut target, &blocks.concat()).expect("the engine lives");
        for line in lines_of(target.engine()) {
            let entry = entries(std::slice::from_ref(&line)).remove(0);
            lines.insert((format!("{} {}", entry.db, entry.value.kind()), entry.key.to_vec()), line);
        }
    }
    let now_ms = 1_790_000_000_000;
    let mut opened = Opened::open(&settings, &[], now_ms).expect("an empty store opens");
    for line in lines.values() {
        let _ = opened.engine.load(line.as_bytes());
    }
    Source { name: layouts::name(&settings), settings, now_ms, lines: lines_of(&mut opened.engine) }
}

/// Loads the lines one by one. Returns those that the layout can hold; `refused` counts what it says of others.
fn load(opened: &mut Opened, lines: &[String], refused: &mut BTreeMap<String, usize>) -> Vec<String> {
    let mut held = Vec::new();
    for line in lines {
        match opened.engine.load(line.as_bytes()) {
            Ok(report) if report.keys == 1 => held.push(line.clone()),
            // By its rule, the moment of the expiry is past.
            Ok(_) => *refused.entry("an expired key".into()).or_default() += 1,
            Err(error) => *refused.entry(error.to_string()).or_default() += 1,
        }
    }
    held
}

/// The first kind of each key, for layouts that have no namespace for each.
fn one_kind_each(lines: &[String], refused: &mut BTreeMap<String, usize>) -> Vec<String> {
    let rank = |entry: &Entry| KINDS.iter().position(|kind| *kind == entry.value.kind());
    let all: Vec<Entry> = lines.iter().map(|line| entries(std::slice::from_ref(line)).remove(0)).collect();
    let is_first = |entry: &Entry| all.iter().all(|other| (&other.db, &other.key) != (&entry.db, &entry.key) || rank(other) >= rank(entry));
    let first: Vec<String> = lines.iter().zip(&all).filter(|(_, entry)| is_first(entry)).map(|(line, _)| line.clone()).collect();
    if first.len() < lines.len() {
        refused.insert("a key of several kinds".into(), lines.len() - first.len());
    }
    first
}

fn assert_same(found: &[Entry], expected: &[Entry], context: &str) {
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected, "{context}");
    }
    assert_eq!(found.len(), expected.len(), "{context}");
}

#[test]
fn what_two_layouts_can_hold_survives_the_way_from_one_to_the_other_and_back() {
    let packed = || Settings { max_packed_bytes: Some(100), ..Settings::default() };
    let all = || [Settings::default(), packed()].into_iter().chain(layouts::all());
    let sources = fixtures::ALL.into_iter().map(|(layout, name)| fixture(layout, name)).chain(all().map(random));
    for source in sources {
        assert!(source.lines.len() > 10, "{}: {} keys", source.name, source.lines.len());
        for settings in all() {
            let context = format!("{} to {}", source.name, layouts::name(&settings));
            let mut refused = BTreeMap::new();
            let mut target = Opened::open(&settings, &[], source.now_ms).expect("an empty store opens");
            let has_namespaces = !layout::open(&settings, &mut MemoryStore::new()).expect("an empty store opens").namespaces().is_empty();
            let lines = if has_namespaces { source.lines.clone() } else { one_kind_each(&source.lines, &mut refused) };
            let held = load(&mut target, &lines, &mut refused);
            assert_same(&in_one_order(target.contents()), &entries(&held), &context);
            assert_eq!(target.findings(1_000), [""; 0], "{context}");
            if settings.layout != "orbweaver" {
                let now_ms = i64::try_from(source.now_ms).expect("a time of our days");
                let seen = layouts::read(&settings, &foreign::records(&target.store), now_ms);
                assert_eq!(seen.flaws, [], "{context}");
                assert_same(&in_one_order(seen.live), &entries(&held), &context);
            }
            let mut back = Opened::open(&source.settings, &[], source.now_ms).expect("an empty store opens");
            back.engine.load(&target.engine.dump(&mut Vec::new(), 1 << 30).expect("it is sound")).expect("the source can hold it");
            assert_same(&in_one_order(back.contents()), &entries(&held), &format!("{context} and back"));
            println!("{context}: {} of {} keys; {refused:?}", held.len(), source.lines.len());
            let is_reason = |text: &String| REASONS.iter().any(|reason| text.contains(reason));
            assert!(refused.keys().all(is_reason), "{context}: {refused:?}");
        }
    }
}
