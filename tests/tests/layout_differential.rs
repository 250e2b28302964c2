//! The engine on each foreign layout against Debian's redis-server, over random command sequences in this process.
//!
//! What the layout has no room for is refused: its documentation must have the text, and the sequence goes on without. The variables of
//! `tests/differential.rs` choose another run: `ORBWEAVER_COMMANDS=200000`, say.

use orbweaver_engine::layout;
use orbweaver_engine::settings::Settings;
use orbweaver_engine::store::MemoryStore;
use orbweaver_tests::differential::{ForeignLayout, Plan, Summary, compare};
use orbweaver_tests::engine_target::EngineTarget;
use orbweaver_tests::known_differences::SHARED_REVISION;
use orbweaver_tests::layouts::fit::Fit;
use orbweaver_tests::layouts::{self, of_fixture, page};
use orbweaver_tests::orbweaver_server::ServedTarget;
use orbweaver_tests::redis_server::RedisServer;
use orbweaver_tests::target::{SocketTarget, Target};

const COMMANDS_COMPARED: usize = 20_000;
const COMMANDS_SERVED: usize = 4_000;

/// A row of the table: what was compared, what was refused, what is known to differ.
fn print(name: &str, summary: &Summary) {
    let refused: usize = summary.refusals.values().sum();
    println!("{name}: {} commands compared, {refused} refused", summary.commands);
    for ((command, text), count) in &summary.refusals {
        println!("{name}: {count} times refused: {command}: {text}");
    }
    for (reason, count) in &summary.known {
        println!("{name}: {count} times: {reason}");
    }
}

/// Refusals are documented, and there is more than refusals.
fn assert_refusals_are_few_and_documented(name: &str, summary: &Summary) {
    let page = page(name);
    for (command, text) in summary.refusals.keys() {
        assert!(page.contains(text), "{command} is refused with a text that is not in the layout's page: {text}");
    }
    let refused: usize = summary.refusals.values().sum();
    assert!(refused * 3 < summary.commands, "{refused} refused of {}", summary.commands);
}

fn assert_as_redis(settings: Settings) {
    let name = layouts::name(&settings);
    assert_as_redis_on(&mut EngineTarget::new(settings.clone()), &name, &settings, COMMANDS_COMPARED);
}

/// The same on RocksDB, through the server.
fn assert_served_as_redis(settings: &Settings) {
    let mut options = vec!["--store", "rocksdb", "--layout", &settings.layout];
    let namespace = String::from_utf8(settings.camellia.namespace.to_vec()).expect("a namespace is a text");
    if settings.layout == "camellia" {
        options.extend(["--camellia-namespace", &namespace]);
        options.extend(settings.camellia.has_slot_prefix.then_some("--camellia-slot-prefix"));
    }
    let name = format!("{} on RocksDB", layouts::name(settings));
    assert_as_redis_on(&mut ServedTarget::start(&options), &name, settings, COMMANDS_SERVED);
}

fn assert_as_redis_on(ours: &mut dyn Target, name: &str, settings: &Settings, commands: usize) {
    let layout = layout::open(settings, &mut MemoryStore::new()).expect("an empty store opens");
    let databases = layout.max_databases().min(settings.databases).to_string();
    let redis = RedisServer::start(&["--databases", &databases]);
    let foreign = ForeignLayout { name: settings.layout.clone(), fit: Fit::of(layout.as_ref()) };
    let plan = Plan { layout: Some(foreign), ..Plan::from_environment(commands) };
    let summary = compare(&mut SocketTarget::new(redis.address()), ours, &plan).expect("the server lives");
    print(name, &summary);
    assert!(summary.reports.is_empty(), "replies differ:\n\n{}", summary.reports.join("\n"));
    assert!(summary.known.get(SHARED_REVISION).is_none_or(|alarms| *alarms <= 2), "changes of other keys fail EXECs");
    assert_refusals_are_few_and_documented(layout.name(), &summary);
}

#[test]
fn blackwidow_answers_as_redis_does() {
    assert_as_redis(of_fixture("blackwidow"));
}

#[test]
fn nemo_answers_as_redis_does() {
    assert_as_redis(of_fixture("nemo"));
}

#[test]
fn ardb_answers_as_redis_does() {
    assert_as_redis(of_fixture("ardb"));
}

#[test]
fn each_layout_answers_as_redis_does_on_rocksdb_too() {
    for layout in ["blackwidow", "nemo", "ardb", "camellia"] {
        assert_served_as_redis(&of_fixture(layout));
    }
}

#[test]
fn camellia_answers_as_redis_does_in_every_encode_version() {
    layouts::all().filter(|settings| settings.layout == "camellia").for_each(assert_as_redis);
}
