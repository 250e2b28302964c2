//! The layout `blackwidow` on the databases of the original, and what it writes itself against the golden records.

use std::collections::BTreeSet;

use orbweaver_engine::layout::blackwidow::Blackwidow;
use orbweaver_tests::fixtures::{self, expected};
use orbweaver_tests::foreign::{self, Opened};
use orbweaver_tests::golden;
use orbweaver_tests::logical::Entry;
use orbweaver_tests::readers::{Record, read};

const LAYOUT: &str = "blackwidow";
const FIXTURES: [&str; 4] = ["a-flushed", "a-wal", "a-mixed", "a-quirks"];
/// A script of the only command that leaves a dead meta record where nothing was; no command can tell, and this layout leaves none.
const NOT_WRITTEN: &str = "set-store-of-nothing";
/// The clock of the tests that have no fixture's.
const NOW_MS: u64 = 1_700_000_000_000;

fn opened(records: &[Record], now_ms: u64) -> Opened {
    Opened::new(LAYOUT, records, now_ms, |store| Ok(Box::new(Blackwidow::open(store)?)))
}

fn fixture(name: &str) -> Opened {
    let now_ms = u64::try_from(expected(LAYOUT, name).now_ms).expect("a time of our days");
    opened(&fixtures::records(LAYOUT, name), now_ms)
}

#[test]
fn every_fixture_is_dumped_as_expected() {
    for name in FIXTURES {
        let found = fixture(name).contents();
        let wanted = expected(LAYOUT, name).live;
        for (found, wanted) in found.iter().zip(&wanted) {
            assert_eq!(found, wanted, "{name}");
        }
        assert_eq!(found.len(), wanted.len(), "{name}");
    }
}

#[test]
fn the_check_finds_the_known_flaw_of_the_quirks_and_no_other() {
    for name in FIXTURES {
        let known: &[&str] = match name {
            "a-quirks" => &["sets/default b\"srem:dup\": it counts 1 records, and there are 3"],
            _ => &[],
        };
        for budget in [1, 7, 10_000] {
            assert_eq!(fixture(name).findings(budget), known, "{name}, {budget} records a step");
        }
    }
}

#[test]
fn scripts_leave_the_golden_records() {
    let mut wrong = String::new();
    for golden in golden::all(LAYOUT).iter().filter(|golden| golden.name != NOT_WRITTEN) {
        let mut opened = opened(&[], 0);
        golden.replay(&mut opened.engine, &opened.clock);
        let records = foreign::records(&opened.store);
        let differences = golden.differences(&records);
        if !differences.is_empty() {
            wrong.push_str(&format!("{}\n{differences}", golden.name));
        }
        let now_ms = i64::try_from(golden.now_ms()).expect("a time of our days");
        assert_eq!(opened.contents(), read(LAYOUT, &records, now_ms).live, "{}", golden.name);
        assert_eq!(opened.findings(100), [""; 0], "{}", golden.name);
    }
    assert_eq!(wrong, "");
}

#[test]
fn a_sweep_removes_garbage_and_nothing_that_anybody_can_see() {
    for name in FIXTURES {
        let mut opened = fixture(name);
        let before = opened.contents();
        // Later, so that no garbage may still be somebody's work in progress; nothing expires meanwhile.
        opened.clock.wait_ms(7_200_000);
        let expired_meanwhile = |entry: &Entry| entry.expire_at_ms.is_some_and(|at| at < 1_700_010_000_000);
        let visible: Vec<&Entry> = before.iter().filter(|entry| !expired_meanwhile(entry)).collect();
        assert!(opened.sweep() > 0, "{name}");
        let after = opened.contents();
        assert_eq!(after.iter().collect::<Vec<_>>(), visible, "{name}");
        // All that is left belongs to a key that is there.
        let records = foreign::records(&opened.store);
        let keys: BTreeSet<&[u8]> = after.iter().map(|entry| entry.key.as_ref()).collect();
        for record in records.iter().filter(|record| record.keyspace.ends_with("/default")) {
            assert!(keys.contains(record.key.as_ref()), "{name}: {record:?}");
        }
        assert_eq!(opened.sweep(), 0, "{name}: it is not yet time for another pass");
        opened.clock.wait_ms(600_000);
        assert_eq!(opened.sweep(), 0, "{name}: there is nothing left to do");
    }
}
