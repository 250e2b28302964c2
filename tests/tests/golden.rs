//! The golden records themselves: a plain reader finds in them what the engine's own layout holds after the same script.

use orbweaver_engine::session::Engine;
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::MemoryStore;
use orbweaver_tests::golden::{self, Clock, Golden, Step};
use orbweaver_tests::logical::{self, Entry};
use orbweaver_tests::readers::{Contents, LAYOUTS, camellia, read};

/// Scripts that mean something else in a layout than in Redis.
const NOT_AS_IN_REDIS: [(&str, &str); 5] = [
    // One key of several types.
    ("blackwidow", "one-key-five-types"),
    ("nemo", "one-key-five-types"),
    // Another representation of the sketch.
    ("blackwidow", "hyperloglog"),
    ("nemo", "hyperloglog"),
    // The time is stored a second short.
    ("nemo", "expire-relative"),
];

/// What the engine's own layout holds after the script.
fn own_contents(golden: &Golden) -> Vec<Entry> {
    let clock = Clock::default();
    let mut engine =
        Engine::open(Box::new(MemoryStore::new()), Box::new(clock.clone()), Settings::default()).expect("an empty store opens");
    golden.replay(&mut engine, &clock);
    let dump = engine.dump(&mut Vec::new(), 1 << 30).expect("a sound database");
    logical::from_dump(std::str::from_utf8(&dump).expect("JSON").lines()).expect("a dump")
}

fn golden_contents(layout: &str, golden: &Golden) -> Contents {
    let now_ms = golden.now_ms().try_into().expect("a time of our days");
    if layout != "camellia" {
        return read(layout, &golden.records, now_ms);
    }
    let rows =
        camellia::Rows { namespace: golden.options["namespace"].clone().into(), have_slot_prefix: golden.options["slot-prefix"] == "yes" };
    camellia::read(&golden.records, &rows, now_ms)
}

#[test]
fn golden_records_hold_what_the_script_writes() {
    for layout in LAYOUTS {
        for golden in golden::all(layout) {
            let contents = golden_contents(layout, &golden);
            assert_eq!(contents.flaws, [], "{layout} {}", golden.name);
            if !NOT_AS_IN_REDIS.contains(&(layout, &golden.name)) {
                assert_eq!(contents.live, own_contents(&golden), "{layout} {}", golden.name);
            }
        }
    }
}

#[test]
fn golden_records_are_sorted_and_there_are_enough_scripts() {
    let mut scripts = 0;
    for layout in LAYOUTS {
        for golden in golden::all(layout) {
            assert!(matches!(golden.steps[0], Step::Clock(_)), "{layout} {}", golden.name);
            assert!(
                golden.records.is_sorted_by(|one, other| (&one.keyspace, &one.key) < (&other.keyspace, &other.key)),
                "{layout} {}",
                golden.name
            );
            scripts += 1;
        }
    }
    assert!(scripts >= 58, "{scripts}");
}
