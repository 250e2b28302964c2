//! What SCAN and HSCAN promise while others write: an element that is there from the start to the end is returned, and one that is
//! never there is not.

use std::collections::BTreeSet;

use orbweaver_engine::resp::Value;
use orbweaver_tests::client::{Args, args};
use orbweaver_tests::engine_target::EngineTarget;
use orbweaver_tests::orbweaver_server::ServedTarget;
use orbweaver_tests::sequence::as_page;
use orbweaver_tests::target::Target;

/// Elements that stay, and as many that come and go.
const ELEMENTS: usize = 500;
const COUNT: &str = "7";

/// A kind of scan and the writes that disturb it.
struct Scan {
    /// The command up to the cursor.
    prefix: &'static [&'static str],
    add: fn(&str) -> Args,
    remove: fn(&str) -> Args,
    /// How many words a page has for an element.
    width: usize,
}

const SCAN: Scan = Scan { prefix: &["SCAN"], add: |name| args(["SET", name, "v"]), remove: |name| args(["DEL", name]), width: 1 };
const HSCAN: Scan =
    Scan { prefix: &["HSCAN", "h"], add: |name| args(["HSET", "h", name, "v"]), remove: |name| args(["HDEL", "h", name]), width: 2 };

fn execute(target: &mut dyn Target, connection: usize, commands: &[Args]) -> Vec<Value> {
    target.execute(connection, &commands.iter().collect::<Vec<_>>()).expect("the target lives")
}

/// Scans from the first connection, while the second adds and removes between any two pages.
fn scan_while_others_write(target: &mut dyn Target, scan: &Scan) -> BTreeSet<String> {
    let mut rng = fastrand::Rng::with_seed(7);
    let mut seen = BTreeSet::new();
    let mut cursor = "0".to_owned();
    loop {
        let mut command: Args = scan.prefix.iter().map(|word| word.as_bytes().to_vec()).collect();
        command.extend(args([&cursor, "COUNT", COUNT]));
        let reply = execute(target, 0, &[command]).remove(0);
        let (next, elements) = as_page(&reply).unwrap_or_else(|| panic!("not a page: {reply:?}"));
        for element in elements.chunks(scan.width) {
            match &element[0] {
                Value::Bulk(name) => seen.insert(String::from_utf8(name.to_vec()).expect("a name of this test")),
                other => panic!("not a name: {other:?}"),
            };
        }
        if next == b"0" {
            return seen;
        }
        cursor = String::from_utf8(next.to_vec()).expect("a cursor is a number");
        let writes: Vec<Args> = (0..10)
            .map(|_| {
                let name = format!("fickle{}", rng.usize(..ELEMENTS));
                if rng.bool() { (scan.add)(&name) } else { (scan.remove)(&name) }
            })
            .collect();
        execute(target, 1, &writes);
    }
}

fn assert_guarantees(target: &mut dyn Target, scan: &Scan) {
    target.reset().expect("the target lives");
    let stable: BTreeSet<String> = (0..ELEMENTS).map(|number| format!("stable{number}")).collect();
    let fickle = (0..ELEMENTS).step_by(2).map(|number| format!("fickle{number}"));
    let all: Vec<Args> = stable.iter().cloned().chain(fickle).map(|name| (scan.add)(&name)).collect();
    execute(target, 0, &all);
    let seen = scan_while_others_write(target, scan);
    let missed: Vec<&String> = stable.difference(&seen).collect();
    assert!(missed.is_empty(), "missed although they were there all the time: {missed:?}");
    let invented: Vec<&String> = seen.iter().filter(|name| !name.starts_with("stable") && !name.starts_with("fickle")).collect();
    assert!(invented.is_empty(), "never there: {invented:?}");
}

#[test]
fn scan_keeps_its_promises_in_the_engine() {
    assert_guarantees(&mut EngineTarget::default(), &SCAN);
}

#[test]
fn hscan_keeps_its_promises_in_the_engine() {
    assert_guarantees(&mut EngineTarget::default(), &HSCAN);
}

#[test]
fn both_scans_keep_their_promises_on_the_server() {
    let mut served = ServedTarget::start(&["--store", "rocksdb"]);
    assert_guarantees(&mut served, &SCAN);
    assert_guarantees(&mut served, &HSCAN);
}
