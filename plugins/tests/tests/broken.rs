//! Stores with a flaw under the contract's test-suite, as a host author runs it: each is caught, and by the right obligation.
#![allow(clippy::unwrap_used, missing_docs)]

use orbweaver_engine::store::conformance::flaws::{Flaw, TABLE};
use orbweaver_engine::store::conformance::{Needs, TESTS};
use orbweaver_plugin_tests::{Outcome, conform_on_broken, contend, outcome};

/// The obligations that the suite says have failed.
fn failed(outcome: &Outcome) -> Vec<&'static str> {
    let failures: Vec<&str> = outcome.output.lines().filter_map(|line| line.strip_prefix("FAIL  ")).collect();
    let is_failed = |name: &str| failures.iter().any(|failure| failure.starts_with(&format!("{name}: ")));
    TESTS.iter().map(|test| test.name).filter(|name| is_failed(name)).collect()
}

/// Those of the obligations that one conversation shows.
fn shown_alone(tests: &[&'static str]) -> Vec<&'static str> {
    let is_alone = |name: &&str| TESTS.iter().any(|test| test.name == *name && test.needs == Needs::Nothing);
    tests.iter().copied().filter(is_alone).collect()
}

#[test]
fn every_flaw_that_one_conversation_shows_fails_the_obligations_that_are_meant_for_it() {
    let mut wrong = Vec::new();
    for (flaw, tests) in TABLE {
        let expected = shown_alone(tests);
        let outcome = outcome(&mut conform_on_broken(&format!("{flaw:?}"))).unwrap();
        let (failed, code) = (failed(&outcome), i32::from(!expected.is_empty()));
        if failed != expected || outcome.code != Some(code) {
            wrong.push((flaw, expected, outcome));
        }
    }
    assert!(wrong.is_empty(), "flaw, expected, outcome: {wrong:#?}");
}

#[test]
fn the_flaws_that_one_conversation_cannot_show_are_those_of_the_page() {
    let hidden: Vec<Flaw> = TABLE.iter().filter(|(_, tests)| shown_alone(tests).is_empty()).map(|(flaw, _)| *flaw).collect();
    // The first two are of what the component's contract does not have: stores called as the trait show them.
    let expected = [
        Flaw::NumbersQuestions,
        Flaw::TellsNoChanges,
        Flaw::TearsBatches,
        Flaw::ReadsTheLatest,
        Flaw::LosesUpdates,
        Flaw::ForgetsOnReopening,
    ];
    assert_eq!(hidden, expected);
}

#[test]
fn the_same_store_without_a_flaw_passes() {
    let passed = outcome(&mut conform_on_broken("None")).unwrap();
    assert_eq!((failed(&passed), passed.code), (vec![], Some(0)), "{passed:#?}");
}

#[test]
fn a_flaw_that_does_not_exist_is_refused() {
    let refused = outcome(&mut conform_on_broken("Nonsense")).unwrap();
    assert_eq!(refused.code, Some(1));
    assert!(refused.errors.contains("there is no flaw \"Nonsense\""), "{}", refused.errors);
}

const PARTICIPANTS: usize = 3;
/// A flaw shows where participants get into each other's way, which one run may miss.
const MOST_RUNS: usize = 10;

#[test]
fn instances_that_share_a_store_see_it_pass() {
    let passed = outcome(&mut contend(PARTICIPANTS, None)).unwrap();
    let contests = TESTS.iter().filter(|test| test.needs == Needs::Company).count();
    assert_eq!((failed(&passed), passed.code), (vec![], Some(0)), "{passed:#?}");
    assert_eq!(passed.output.lines().filter(|line| line.starts_with("ok    ")).count(), contests * PARTICIPANTS, "{passed:#?}");
}

#[test]
fn instances_that_share_a_store_find_what_one_conversation_cannot() {
    for (flaw, expected) in [
        ("TearsBatches", "a batch is seen whole or not at all"),
        ("ReadsTheLatest", "a batch is seen whole or not at all"),
        ("LosesUpdates", "colliding transactions lose no update"),
        ("SharesExclusive", "an exclusive transaction runs alone"),
    ] {
        let is_found = (0..MOST_RUNS).any(|_| {
            let run = outcome(&mut contend(PARTICIPANTS, Some(flaw))).unwrap();
            run.code == Some(1) && failed(&run).contains(&expected)
        });
        assert!(is_found, "{flaw} shows in none of {MOST_RUNS} runs");
    }
}
