//! That a WIT package which changes gets a new version: `wit/versions.txt` records the texts that each version stands for.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::wit::PACKAGES;
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The text without comments, its words separated by single spaces: what a change of words alone leaves as it is.
fn essence(text: &str) -> String {
    assert!(!text.contains("/*"), "comments in WIT packages begin with //");
    let code = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    code.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// What a package is recorded as: `name version hash`.
fn record(files: &[String]) -> String {
    let essences: Vec<String> = files.iter().map(|text| essence(text)).collect();
    let declared = essences.iter().find_map(|text| text.strip_prefix("package ")?.split_once(';'));
    let Some((name, version)) = declared.and_then(|(declared, _)| declared.split_once('@')) else { panic!("no file declares its package") };
    let digest = Sha256::digest(essences.join("\n"));
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{name} {version} {hash}")
}

/// What is wrong with a package whose record is `record`, and what to do about it.
fn objection(record: &str, recorded: &str) -> Option<String> {
    if recorded.lines().any(|line| line == record) {
        return None;
    }
    let version = record.rsplit_once(' ').map_or(record, |(version, _)| version);
    let line = recorded.lines().find(|line| line.rsplit_once(' ').is_some_and(|(other, _)| other == version));
    Some(match line {
        None => format!("{version} is not recorded yet: add this line to wit/versions.txt:\n{record}"),
        Some(line) => format!(
            "{version} has changed since it was recorded in wit/versions.txt. If it has been released, raise the version of the package \
             and @since of what is new, and add a line for it; if it has not, replace\n{line}\nby\n{record}"
        ),
    })
}

#[test]
fn every_wit_package_is_the_recorded_text_of_its_version() {
    let recorded = fs::read_to_string(workspace().join("wit/versions.txt")).unwrap();
    for (folder, _) in PACKAGES.iter().filter(|(_, name)| name.starts_with("orbweaver")) {
        let mut paths: Vec<PathBuf> = fs::read_dir(workspace().join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "wit"));
        paths.sort_unstable();
        let files: Vec<String> = paths.iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        assert_eq!(objection(&record(&files), &recorded), None);
    }
}

const FILES: [&str; 2] =
    ["// Other words.\ninterface a {\n  f: func(); // also here\n}\n", "/// What it is.\npackage x:y@0.1.0;\n\nworld w {}\n"];

fn record_of(files: [&str; 2]) -> String {
    record(&files.map(str::to_owned))
}

#[test]
fn comments_and_line_breaks_do_not_count() {
    assert_eq!(record_of(FILES), record_of(["interface a { f: func(); }", "package x:y@0.1.0; world w {}"]));
    assert!(record_of(FILES).starts_with("x:y 0.1.0 "));
}

#[test]
fn a_change_without_a_version_is_refused_with_what_to_do() {
    let released = record_of(FILES);
    let changed = record_of([FILES[0], "package x:y@0.1.0; world v {}"]);
    assert_eq!(objection(&released, &released), None);
    let objected = objection(&changed, &released).unwrap();
    assert!(objected.contains("raise the version") && objected.contains(&changed) && objected.contains(&released), "{objected}");
}

#[test]
fn a_new_version_is_to_be_recorded_beside_the_old_ones() {
    let new = record_of([FILES[0], "package x:y@0.2.0; world v {}"]);
    assert_eq!(
        objection(&new, &record_of(FILES)).unwrap(),
        format!("x:y 0.2.0 is not recorded yet: add this line to wit/versions.txt:\n{new}")
    );
}
