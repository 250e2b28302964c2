//! The engine on each foreign layout against records: those of the real programs, those that golden scripts must leave, and those that
//! random sequences leave, as an independent reader sees them.

use orbweaver_engine::environment::{Environment as _, SystemEnvironment};
use orbweaver_engine::layout;
use orbweaver_engine::store::MemoryStore;
use orbweaver_tests::engine_target::EngineTarget;
use orbweaver_tests::fixtures::{self, expected};
use orbweaver_tests::foreign::{self, Opened, contents, findings};
use orbweaver_tests::generator;
use orbweaver_tests::golden;
use orbweaver_tests::layouts::fit::Fit;
use orbweaver_tests::layouts::{self, of_fixture, refusals, settings};
use orbweaver_tests::logical::Entry;
use orbweaver_tests::readers::LAYOUTS;
use orbweaver_tests::sequence::run;

/// Scripts that leave other records here, and why.
const NOT_WRITTEN: [(&str, &str, &str); 1] = [(
    "blackwidow",
    "set-store-of-nothing",
    "the only command that leaves a dead meta record where nothing was; no command can tell, and nothing is written here",
)];
const SEQUENCES: u64 = if cfg!(debug_assertions) { 20 } else { 100 };
const SEQUENCE_LENGTH: usize = 200;
/// Clocks of two runs are this far apart at most.
const TOLERANCE_MS: u64 = 60_000;

#[test]
fn scripts_leave_the_golden_records() {
    let mut wrong = String::new();
    for layout in LAYOUTS {
        let scripts = golden::all(layout);
        for golden in scripts.iter().filter(|golden| NOT_WRITTEN.iter().all(|(of, name, _)| (*of, *name) != (layout, &golden.name))) {
            let settings = settings(layout, &golden.options);
            let mut opened = Opened::open(&settings, &[], 0).expect("an empty store opens");
            golden.replay(&mut opened.engine, &opened.clock);
            let records = foreign::records(&opened.store);
            let now_ms = i64::try_from(golden.now_ms()).expect("a time of our days");
            assert_eq!(opened.contents(), layouts::read(&settings, &records, now_ms).live, "{layout} {}", golden.name);
            assert_eq!(opened.findings(100), [""; 0], "{layout} {}", golden.name);
            let differences = golden.differences(&records);
            if !differences.is_empty() {
                wrong.push_str(&format!("{layout} {}\n{differences}", golden.name));
            }
        }
        println!("{layout}: {} golden scripts", scripts.len());
    }
    assert_eq!(wrong, "");
}

fn fixture(layout: &str, name: &str) -> Opened {
    let now_ms = u64::try_from(expected(layout, name).now_ms).expect("a time of our days");
    Opened::open(&of_fixture(layout), &fixtures::records(layout, name), now_ms).expect("the layout opens")
}

#[test]
fn every_fixture_is_dumped_as_expected_and_reading_changes_no_record() {
    for (layout, name) in fixtures::ALL {
        let mut opened = fixture(layout, name);
        let before = foreign::records(&opened.store);
        let (found, wanted) = (opened.contents(), expected(layout, name).live);
        for (found, wanted) in found.iter().zip(&wanted) {
            assert_eq!(found, wanted, "{layout} {name}");
        }
        assert_eq!(found.len(), wanted.len(), "{layout} {name}");
        opened.findings(100);
        assert_eq!(foreign::records(&opened.store).len(), before.len(), "{layout} {name}");
        assert_eq!(foreign::records(&opened.store), before, "{layout} {name}");
    }
}

#[test]
fn the_check_of_a_fixture_names_what_is_known_to_be_wrong_and_nothing_else() {
    for (layout, name) in fixtures::ALL {
        let known: &[&str] = match (layout, name) {
            ("blackwidow", "a-quirks") => &["sets/default b\"srem:dup\": it counts 1 records, and there are 3"],
            _ => &[],
        };
        for budget in [1, 7, 10_000] {
            assert_eq!(fixture(layout, name).findings(budget), known, "{layout} {name}, {budget} records a step");
        }
    }
}

/// A command that adds to a value of each kind.
fn addition(kind: &str) -> &'static str {
    match kind {
        "string" => "APPEND",
        "hash" => "HSET",
        "list" => "RPUSH",
        "set" => "SADD",
        _ => "ZADD",
    }
}

#[test]
fn keys_of_every_kind_in_a_fixture_can_be_written_to() {
    for (layout, name) in fixtures::ALL {
        let mut opened = fixture(layout, name);
        let before = opened.contents();
        let mut changed = 0;
        let in_first_db: Vec<&Entry> = before.iter().filter(|entry| entry.db == "0").collect();
        for entry in &in_first_db {
            if changed_by_write(&mut opened, entry) {
                changed += 1;
            }
        }
        assert!(changed * 10 > in_first_db.len() * 9, "{layout} {name}: {changed} of {} keys", in_first_db.len());
        let after = opened.contents();
        assert_eq!(after.len(), before.len(), "{layout} {name}");
        let now_ms = expected(layout, name).now_ms;
        let seen = layouts::read(&of_fixture(layout), &foreign::records(&opened.store), now_ms);
        for (found, seen) in after.iter().zip(&seen.live) {
            assert_eq!(found, seen, "{layout} {name}");
        }
        println!("{layout} {name}: {changed} of {} keys were written to", in_first_db.len());
    }
}

/// Adds to a key, and looks whether its value is another one then.
fn changed_by_write(opened: &mut Opened, entry: &Entry) -> bool {
    let mut command = vec![addition(entry.value.kind()).into(), entry.key.to_vec()];
    command.extend(match entry.value.kind() {
        "hash" => vec![b"a new field".to_vec(), b"v".to_vec()],
        "zset" => vec![b"1".to_vec(), b"a new member".to_vec()],
        _ => vec![b"a new one".to_vec()],
    });
    let reply = opened.call(&command);
    assert!(!reply.starts_with(b"-") || reply.starts_with(b"-ERR the layout "), "{:?}: {:?}", entry.key, reply.escape_ascii().to_string());
    reply.starts_with(b":")
}

/// The same but for expiries, which depend on the clock.
fn assert_same(one: &[Entry], other: &[Entry], context: &str) {
    assert_eq!(one.len(), other.len(), "{context}");
    for (one, other) in one.iter().zip(other) {
        let (expires, otherwise) = (one.expire_at_ms.unwrap_or(0), other.expire_at_ms.unwrap_or(0));
        assert!(expires.abs_diff(otherwise) <= TOLERANCE_MS, "{context}: {one:?} {other:?}");
        assert_eq!((&one.db, &one.key, &one.value), (&other.db, &other.key, &other.value), "{context}");
    }
}

#[test]
fn random_sequences_leave_what_a_plain_reader_finds_and_refused_commands_leave_nothing() {
    for settings in layouts::all() {
        let name = layouts::name(&settings);
        let fit = Fit::of(layout::open(&settings, &mut MemoryStore::new()).expect("an empty store opens").as_ref());
        let mut target = EngineTarget::new(settings.clone());
        let (mut commands, mut keys, mut refused) = (0, 0, 0);
        for seed in 0..SEQUENCES {
            let context = format!("{name}, seed {seed}");
            let mut blocks = generator::sequence(seed, SEQUENCE_LENGTH);
            fit.apply(seed, &mut blocks);
            let steps = blocks.concat();
            run(&mut target, &steps).expect("the engine lives");
            let now_ms = i64::try_from(SystemEnvironment::default().now_us() / 1000).expect("a time of our days");
            let found = contents(target.engine());
            let seen = layouts::read(&settings, &foreign::records(target.store()), now_ms);
            assert_eq!(seen.flaws, [], "{context}");
            for (seen, found) in seen.live.iter().zip(&found) {
                assert_eq!(seen, found, "{context}");
            }
            assert_eq!(seen.live.len(), found.len(), "{context}");
            assert_eq!(findings(target.engine(), 100), [""; 0], "{context}");
            let is_one_kind = |two: &[Entry]| (&two[0].db, &two[0].key) != (&two[1].db, &two[1].key);
            assert!(found.windows(2).all(is_one_kind), "{context}: a key holds two kinds");
            commands += steps.len();
            keys += found.len();
            let mut refusals = 0;
            refusals::run_without(&mut target, steps, &mut |_, _| refusals += 1).expect("the engine lives");
            if refusals > 0 {
                assert_same(&found, &contents(target.engine()), &context);
            }
            refused += refusals;
        }
        println!("{name}: {commands} commands, {keys} keys read; {refused} refusals changed nothing");
    }
}
