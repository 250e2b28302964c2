//! The scripts in `regressions/`, each once the shortest way to show a fault, against Redis and against Orbweaver.

use std::path::Path;

use orbweaver_tests::engine_target::EngineTarget;
use orbweaver_tests::orbweaver_server::ServedTarget;
use orbweaver_tests::redis_server::RedisServer;
use orbweaver_tests::script::{parse, run};
use orbweaver_tests::target::{SocketTarget, Target};

/// Runs every script and reports all differences together.
fn run_all(target: &mut dyn Target) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions");
    let mut report = String::new();
    let mut scripts = 0;
    for entry in std::fs::read_dir(dir).expect("the directory of scripts") {
        let path = entry.expect("a directory entry").path();
        let text = std::fs::read_to_string(&path).expect("a script is text");
        let script = parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let differences = run(target, &script).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if !differences.is_empty() {
            report.push_str(&format!("{}:\n{differences}\n", path.display()));
        }
        scripts += 1;
    }
    assert!(scripts > 0, "there are no scripts");
    assert!(report.is_empty(), "{report}");
}

#[test]
fn redis_passes_the_scripts() {
    let redis = RedisServer::start(&[]);
    run_all(&mut SocketTarget::new(redis.address()));
}

#[test]
fn the_engine_in_this_process_passes_the_scripts() {
    run_all(&mut EngineTarget::default());
}

#[test]
fn the_server_passes_the_scripts() {
    run_all(&mut ServedTarget::start(&["--store", "memory"]));
}
