//! The program as its reader starts it.

use std::path::Path;
use std::process::Command;

/// What the program prints where its database is in `folder`.
fn run(folder: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_leaderboard")).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn the_scores_are_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let best = "   120.5 ada\n    99.0 bob\n";
    assert_eq!([run(folder.path()), run(folder.path())], [best, best]);
    assert!(folder.path().join("scores.db").is_dir());
}

#[test]
fn docs_show_this_program() {
    let page = include_str!("../../../docs/embedding.md");
    assert!(page.contains(&format!("```rust\n{}```", include_str!("../src/main.rs"))));
}
